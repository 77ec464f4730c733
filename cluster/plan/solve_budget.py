"""The time of an advice, its progress, and what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...solvers.outcome import Clock
from .assembly import Translation
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

    def part(self, words: str, work: Callable[[], _Any], otherwise: _Any) -> _Any:
        """What a part of the work returns; something else after an interrupt."""
        if self.interrupted:
            return otherwise
        self.say(words)
        try:
            return work()
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise

    def find(
        self, words: str, parts: float, search: Callable[..., Found], plan: Translation, *asked: Any
    ) -> Found:
        """What a search of `optimum` finds in one of so many parts of the time: its best answer
        where it is interrupted, none after that.
        """
        found: Found = self.search(words, parts, search, Found(plan), plan, *asked)
        self.interrupted |= found.interrupted
        return found

    def bound(self, words: str, parts: float, search: Callable[..., int], *asked: Any) -> int:
        """The same of a search for a bound; 0 after an interrupt."""
        return self.search(words, parts, search, 0, *asked)

    def search(
        self, words: str, parts: float, search: Callable[..., _Any], otherwise: _Any, *asked: Any
    ) -> _Any:
        """What a search returns in one of so many parts of the time; `otherwise` as in `part`."""

        def work() -> _Any:
            return search(*asked, time_limit=self.share(parts), report=self.report(words))

        return self.part(words, work, otherwise)

    def report(self, words: str) -> Callable[..., None]:
        """Progress of a search, after a few words."""

        def says(
            seconds: float, objective: float | None, bound: float | None, text: str = ""
        ) -> None:
            value = "none yet" if objective is None else f"{objective:.0f}"
            least = "" if bound is None else f", at least {bound:.0f}"
            self.say(f"{words}: {value}{least}")

        return says
