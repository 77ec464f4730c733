"""What the exact methods have in common: an incumbent, static bounds, every answer of few VMs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...instances.lifetimes import Hosts, Lifetimes
from ...verify.frame import ProofCase
from ...verify.lifetimes import Trace, best_answer
from ...verify.reading import Refused
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome
from ..proofs import patience
from .placing import clairvoyant, improved
from .static_bound import StaticBound

MOST_SEARCHED = 12
"""VMs of which every answer may be looked at."""


class Search:
    """The best answer of an instance, the bound, and the steps of its proof."""

    def __init__(self, instance: Lifetimes, start: Hosts | None, clock: Clock, *, peak: bool):
        self.instance, self.peak = instance, peak
        self.incumbent: Incumbent[Hosts, int] = Incumbent(instance, clock, self.worth, bound=0)
        self.steps: list[dict[str, Any]] = []
        self.start = start

    def worth(self, answer: Hosts) -> int:
        """Servers at the peak, or server-time."""
        use = answer.in_use(self.instance)
        return int(use.max() if self.peak else use @ self.instance.length)

    @property
    def trace(self) -> Trace:
        """The instance as the verifier reads it."""
        return Trace(ProofCase(self.instance.document(), {}, None, []))

    def begin(self) -> None:
        """Take the start and the clairvoyant answer."""
        self.incumbent.offer(self.start, "a start")
        self.incumbent.offer(clairvoyant(self.instance), "last end first")

    def tighten(self) -> None:
        """Raise the static bounds where the answer has more servers on."""
        static = StaticBound(self.instance, self.incumbent.clock)
        assert self.incumbent.best is not None
        use = self.incumbent.best.in_use(self.instance)
        try:
            static.tighten(use, None if self.peak else self.instance.length)
        finally:
            self.steps += static.steps
            best = static.bound.max() if self.peak else static.bound @ self.instance.length
            self.incumbent.raise_bound(int(best), "prices of VM types")

    def improve(self, rng: np.random.Generator) -> None:
        """Take VMs off and place them anew, as long as it helps."""
        for answer in improved(self.instance, self.incumbent, rng):
            self.incumbent.offer(answer, "placed anew")

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Keep the best answer at Ctrl-C; look at every answer where VMs are few."""
        with self.incumbent.keeping_best():
            yield
            if self.incumbent.open and len(self.instance.kind) <= MOST_SEARCHED:
                try:
                    with patience(0.1):
                        value, host = best_answer(self.trace, self.peak)
                except Refused:  # longer than the verifier has patience for
                    return
                self.steps.append({"kind": "search"})
                self.incumbent.offer(Hosts(np.array(host)), "every answer")
                self.incumbent.raise_bound(value, "every answer")

    def finish(self) -> Outcome:
        """The outcome, with the steps of its proof."""
        return self.incumbent.finish({"steps": self.steps})
