"""The time of an advice, its progress, and what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..solvers.outcome import Clock, Report
from .optimum import Found

SOLVING = 0.9
"""The part of the time for fewest nodes and moves; the rest is for order and check."""

Say = Callable[[str], None]
"""Progress, in a few words."""

_Any = TypeVar("_Any")


class SolveBudget:
    """The time of an advice, its progress, and whether it was interrupted: then only what makes a
    plan of what was found is still done.
    """

    def __init__(self, time_limit: float | None, say: Say, parts: int = 1) -> None:
        self.whole, self.say = Clock(time_limit), say
        self.solving = Clock(None if time_limit is None else SOLVING * time_limit / parts)
        self.interrupted = False
        self.cut: list[str] = []

    def share(self, parts: float) -> float | None:
        """Seconds for one of so many parts of the solving to come."""
        return self.solving.time_slice(parts)

    def part(self, words: str, work: Callable[[Report], _Any], otherwise: _Any) -> _Any:
        """What a part of the work returns; something else after an interrupt."""
        if self.interrupted:
            return otherwise
        self.say(words)
        try:
            return work(self._reporting(words))
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise

    def find(self, words: str, work: Callable[[Report], Found]) -> Found:
        """The same of a search that returns its best answer when it is interrupted."""
        found = self.part(words, work, Found(None, 0, None))
        self.interrupted |= found.interrupted
        return found

    def _reporting(self, words: str) -> Report:
        def report(
            seconds: float, objective: float | None, bound: float | None, text: str = ""
        ) -> None:
            value = "none yet" if objective is None else f"{objective:.0f}"
            least = "" if bound is None else f", at least {bound:.0f}"
            self.say(f"{words}: {value}{least}")

        return report
