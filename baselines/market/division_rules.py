"""Policies that share each server by a rule, without a market: ES, PF, G-II."""

from __future__ import annotations

import numpy as np

from ...instances.market.instance import Allocation, Floats, Market, ratio, total_by
from ...instances.market.sharing import equal_cores
from ...instances.problem.option_types import validate_options
from ...solvers.market.rounding import Rounding, round_until
from ...solvers.market.utilitarian import greedy_cores
from ...solvers.outcome import Outcome, Status


@validate_options
def equal_share(
    instance: Market, *, time_limit: float | None = None, rounding: Rounding = "none"
) -> Allocation | Outcome:
    """ES: a server's cores split equally among the jobs on it.

    The thesis (section 3.4.1) apportions "to applications equally"; jobs of work 0 get nothing
    here. It does not say how whole cores come about: fractions by default, see `rounding`. With
    "least-envy", which may be cut short, an Outcome that says why it stopped.

    Parameters
    ----------
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.
    time_limit : seconds, for "least-envy".

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "ES", rounding="largest-remainder")
    >>> print(result.status, round(result.objective, 3))
    feasible 15.591
    """
    return _rounded(instance, equal_cores(instance), rounding, time_limit)


@validate_options
def proportional_share(
    instance: Market, *, time_limit: float | None = None, rounding: Rounding = "none"
) -> Allocation | Outcome:
    """PF: a server's cores split in proportion to the jobs' parallel fractions.

    Thesis section 3.4.1. A server whose useful jobs all have f = 0 is split equally: the text does
    not say. With `rounding` "least-envy", which may be cut short, an Outcome that says why it
    stopped.

    Parameters
    ----------
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.
    time_limit : seconds, for "least-envy".

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "PF")
    >>> print(result.status, round(result.objective, 3))
    feasible 16.443
    """
    weight = np.where(instance.useful, instance.parallel_fraction, 0.0)
    total = total_by(instance.server, weight, instance.servers)
    share = ratio(instance.capacity, total)
    cores = np.where(
        (total > 0)[instance.server], weight * share[instance.server], equal_cores(instance)
    )
    return _rounded(instance, cores, rounding, time_limit)


@validate_options
def greedy_oracle(instance: Market) -> Allocation:
    """G-II: each core in turn to the job whose utility it raises most, utilities known.

    Thesis section 3.4.1. Exact for whole cores (`utilitarian` with `whole` proves it and gives the
    bound); ties go to the lowest job, which the text leaves open.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "G-II")
    >>> print(result.status, round(result.objective, 3))
    feasible 17.766
    """
    return greedy_cores(instance)


def _rounded(
    market: Market, cores: Floats, rounding: Rounding, time_limit: float | None
) -> Allocation | Outcome:
    """Allocation with shares rounded to integer cores if requested, and why rounding stopped."""
    allocation, stop = round_until(market, Allocation(cores), rounding, time_limit)
    return (
        Outcome(allocation, None, Status.FEASIBLE, stop) if rounding == "least-envy" else allocation
    )
