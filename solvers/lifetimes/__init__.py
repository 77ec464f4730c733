"""The fewest servers at the peak and the least server-time when all lives are known beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...instances.lifetimes import Hosts, Lifetimes
from ...instances.problem.option_types import validate_options
from ...verify.frame import ProofCase
from ...verify.lifetimes import Trace, best_answer
from ...verify.reading import Refused
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report
from ..proofs import patience
from .placing import clairvoyant, improved
from .static_bound import StaticBound

MOST_SEARCHED = 12
"""VMs of which every answer may be looked at."""

FEW = 8
"""VMs of the least size that a server holds at once, at most, where its lives are listed."""


@validate_options
def min_peak(
    instance: Lifetimes,
    *,
    rng: np.random.Generator | None = None,
    start: Hosts | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Find the fewest servers at the peak, when all lives are known beforehand.

    The bound is the most servers that prices of VM types prove to be needed at some instant.

    Parameters
    ----------
    start : an answer to begin with.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("lifetimes/tiny"), "min-peak")
    >>> print(result.status, result.objective)
    optimal 3.0
    """
    search = _Search(instance, start, Clock(time_limit, report), peak=True)
    with search.ending():
        search.begin()
        search.tighten()
    return search.finish()


@validate_options
def hindsight(
    instance: Lifetimes,
    *,
    rng: np.random.Generator | None = None,
    start: Hosts | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Find the least server-time when all lives are known beforehand, as nearly as can be, with a
    bound from the static bounds of all instants.

    Parameters
    ----------
    start : an answer to begin with.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("lifetimes/tiny"), "hindsight")
    >>> print(result.status, result.objective)
    optimal 17.0
    """
    search = _Search(instance, start, Clock(time_limit, report), peak=False)
    with search.ending():
        search.begin()
        search.tighten()
        search.improve(rng or np.random.default_rng(0))
    return search.finish()


@validate_options
def lives(
    instance: Lifetimes,
    *,
    rng: np.random.Generator | None = None,
    start: Hosts | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Find the least server-time where few VMs fit on a server at once, with a bound from a linear
    program over all lives of a server.

    Parameters
    ----------
    start : an answer to begin with.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "lives").objective
    17.0
    """
    from .life_columns import generate_lives

    search = _Search(instance, start, Clock(time_limit, report), peak=False)
    with search.ending():
        search.begin()
        search.tighten()
        if search.incumbent.open:
            generate_lives(instance, search.trace, search.incumbent, search.steps)
    return search.finish()


def few_at_once(instance: Lifetimes) -> bool:
    """Whether only few VMs fit on a server at once."""
    with np.errstate(divide="ignore"):
        fit = instance.capacity // np.where(instance.demand, instance.demand, 1)
    fit = np.where(instance.demand, fit, np.iinfo(np.int64).max).min(axis=1)
    return bool(fit.max() <= FEW)


class _Search:
    """What the three have in common: an incumbent, static bounds and, of few VMs, every answer."""

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
