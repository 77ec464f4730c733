"""The fewest servers at the peak and the least server-time when all lives are known beforehand."""

from __future__ import annotations

import numpy as np

from ...instances.lifetimes import Hosts, Lifetimes
from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Outcome, Report
from .search import Search

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
    search = Search(instance, start, Clock(time_limit, report), peak=True)
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
    search = Search(instance, start, Clock(time_limit, report), peak=False)
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

    search = Search(instance, start, Clock(time_limit, report), peak=False)
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
