"""Fewest servers at the peak and least server-time of VMs with known lifetimes."""

from __future__ import annotations

import numpy as np

from ...instances.lifetimes import Hosts, Lifetimes
from ...instances.problem.option_types import validate_options
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report
from .static_bound import StaticBound


@validate_options
def min_peak(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, start: Hosts | None = None,
    time_limit: float | None = None, report: Report | None = None,
) -> Outcome:  # fmt: skip
    """Minimize the servers at the peak when all lifetimes are known.

    Parameters
    ----------
    start : an answer to begin with.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("lifetimes/tiny"), "min-peak")
    >>> print(result.status, result.objective)
    optimal 2.0
    """
    return _solve(instance, start, rng, Clock(time_limit, report), peak=True)


@validate_options
def hindsight(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, start: Hosts | None = None,
    time_limit: float | None = None, report: Report | None = None,
) -> Outcome:  # fmt: skip
    """Minimize the server-time when all lifetimes are known, with a bound from prices of VM types.

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
    return _solve(instance, start, rng, Clock(time_limit, report), peak=False)


def _solve(
    instance: Lifetimes, start: Hosts | None, rng: np.random.Generator | None, clock: Clock,
    *, peak: bool,
) -> Outcome:  # fmt: skip
    """Minimize the servers at the peak, or the server-time; the certificate proves the bound."""
    from .placing import FIRST, clairvoyant, placed_as_they_come

    def worth(answer: Hosts) -> int:
        use = answer.in_use(instance)
        return int(use.max() if peak else use @ instance.length)

    incumbent = Incumbent(instance, clock, worth, bound=0)
    static = StaticBound(instance, clock)
    answers = clairvoyant(instance, rng or np.random.default_rng(0), worth, clock)
    with incumbent.keeping_best():
        # 1. an answer, and the prices of VM types that bound it
        incumbent.offer(start, "a start")
        first = placed_as_they_come(instance, FIRST, -instance.end, instance.end)
        incumbent.offer(first, "first fit")
        incumbent.offer(next(answers, None), "whole lives placed")
        assert incumbent.best is not None
        use = incumbent.best.in_use(instance)
        for bound in static.tighten(use, None if peak else instance.length):
            incumbent.raise_bound(bound, "prices of VM types")
        # 2. better answers
        for answer in answers:
            if not incumbent.open:
                break
            incumbent.offer(answer, "whole lives placed")
    return incumbent.finish({"steps": static.steps})
