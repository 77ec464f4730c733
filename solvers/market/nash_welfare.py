"""Allocation with the most Nash welfare, for every family of utilities."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ...instances.market.equilibrium import money_spent
from ...instances.market.families import Family, family_named, scale
from ...instances.market.instance import Allocation, Floats, Market, require_memory
from ...instances.market.utility import nash_welfare as welfare_of
from ...instances.market.utility import user_utilities
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ..incumbent import conclude
from ..outcome import Clock, Outcome, Report, Status, Stop
from .homogeneous import equilibrium
from .scaled_market import ScaledMarket
from .welfare_central_path import most_welfare, raised

_BYTES_PER_JOB = 250  # arrays of eight bytes alive at the widest point, counted generously


@validate_options
def nash_welfare(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    utility: Family = "amdahl",
    rho: float = 0.5,
    whole: bool = False,
) -> Outcome:
    """Maximize the Nash welfare: the Eisenberg-Gale program itself.

    By Newton steps, along a central path for Amdahl utilities (`welfare_central_path`), whose bound
    is: log u is concave, so log welfare is at most its value here plus (max sum_i (B_i / u_i)
    u_i(x) - sum B) / sum B, and the maximum is a `utilitarian` problem whose dual is a closed form.
    For the other families, on log prices (`homogeneous`).

    Parameters
    ----------
    utility : "amdahl", or "linear", "ces", "cobb-douglas", "leontief" with `work` as weights, for
        which the answer is the market equilibrium: the certificate then says how near. The bound is
        then the Lagrangian dual at its prices. "quasi-linear" is "linear" with users who may keep
        money, and then `work` is what a core is worth in that money.
    rho : exponent of "ces", from -20 to below 1 and at least 0.05 from 0.
    whole : whole cores, by a MIP with tangent cuts (small cases; "amdahl" only).

    Returns
    -------
    Outcome
        `optimal` when welfare and bound agree (`solvers.outcome.agree`).

    Raises
    ------
    InvalidOption
        An option out of range, or more jobs than there is memory for.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "nash-welfare")
    >>> print(result.status, round(result.objective, 3))
    optimal 4.448
    """
    # 1. whole cores, which are another algorithm
    family = family_named(utility, rho)
    if whole:
        if family is not None:
            raise InvalidOption("whole=True is for Amdahl utilities; leave utility at amdahl")
        from .integer_cores import whole_nash_welfare

        return whole_nash_welfare(instance, time_limit=time_limit, report=report)
    # 2. without jobs that can use more than a sliver there is one allocation
    clock = Clock(time_limit, report)
    if family is None:
        scaled_market = ScaledMarket.of(instance)
        if len(scaled_market.job) == 0:
            empty = scaled_market.allocation(np.zeros(0), scaled_market.price_of(np.zeros(0)))
            value = welfare_of(instance, user_utilities(instance, empty.cores))
            return Outcome(Allocation(empty.cores), value, Status.OPTIMAL)
    elif not instance.active.any():
        return Outcome(Allocation(np.zeros(instance.jobs)), 1.0, Status.OPTIMAL)
    # 3. cores, their welfare and a bound
    certificate: dict[str, Any]
    if family is None:
        allocation, value, bound, stop, steps = most_welfare(instance, clock)
        certificate = {"steps": steps, **_spending(scaled_market, allocation)}
        allocation = Allocation(allocation.cores)
    else:
        require_memory(_BYTES_PER_JOB * instance.jobs, f"the program of {instance.jobs} jobs")
        allocation, steps, stop = equilibrium(instance, utility, rho, lambda: clock.expired)
        assert allocation.price is not None
        error, best = family.measure(instance, allocation)
        value = welfare_of(instance, family.utilities(instance, allocation.cores))
        bound = family_bound(instance, allocation.price, best)
        certificate = {"steps": steps, **asdict(error)}
    try:
        clock.note(value, bound, "program")
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    largest = scale(instance, "nash_welfare", utility=utility, rho=rho)
    least = bound if np.isfinite(bound) else None
    return conclude(allocation, value, least, stop, certificate, clock, sense="max", scale=largest)


def _spending(scaled_market: ScaledMarket, allocation: Allocation) -> dict[str, float]:
    """Least and largest fraction of its budget that a user would spend with the multipliers as
    prices: both are 1 only for homogeneous utilities.
    """
    assert allocation.price is not None
    active = np.unique(scaled_market.user)
    part = (
        money_spent(scaled_market.market, allocation.cores, allocation.price)
        / scaled_market.market.budget
    )[active]
    return {"least_spent": float(part.min()), "most_spent": float(part.max())}


def family_bound(market: Market, price: Floats, best: Floats) -> float:
    """Upper bound on the Nash welfare of the families of `instances.market.families`, from prices
    (m,) and the largest utility (n,) of each user at them.

    For any prices, sum B_i log u_i(x_i) <= sum B_i log v_i - sum B_i + sum p C over all
    allocations, v_i the utility of the best reply to p and B_i (Lagrangian dual of Eisenberg-Gale).
    """
    total = float(market.budget[market.active].sum())
    excess = (float(price @ market.capacity) - total) / total
    return raised(welfare_of(market, best), excess)
