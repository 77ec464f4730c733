"""Rounding of fractional cores: every job's cores are rounded down or up, and every server gives as
many as before.

The thesis (section 3.4.4) says that rounding brings slight envy, and not how it rounds. With fewer
cores than jobs no rounding can be fair: somebody gets nothing.
"""

from __future__ import annotations

from typing import Literal

from ...instances.market.instance import Allocation, Market
from ...instances.problem.option_types import validate_options
from ..outcome import Stop
from .least_envy import least_envy, validate_least_envy
from .quick_rounding import round_by

Quick = Literal["none", "largest-remainder", "user-deficit"]
Rounding = Literal["none", "largest-remainder", "user-deficit", "least-envy"]


def validate_rounding(market: Market, rounding: str, time_limit: float | None = None) -> None:
    """Refuse a rounding that the market does not allow, or that may run forever without a time
    limit.
    """
    if rounding == "least-envy":
        validate_least_envy(market, time_limit)


@validate_options
def round_cores(
    market: Market, allocation: Allocation, rounding: Rounding, time_limit: float | None = None
) -> Allocation:
    """Allocation in integer cores, with unchanged prices.

    Parameters
    ----------
    rounding : "largest-remainder": a server's spare cores go to its jobs with the largest fractions
        (ties: lowest job). "user-deficit": the user furthest below the utility it had takes the
        spare core that helps it most, again and again. "least-envy": exact, the rounding with the
        best envy index (small cases, see `least_envy`).
    time_limit : seconds, for "least-envy".
    """
    return round_until(market, allocation, rounding, time_limit)[0]


def round_until(
    market: Market,
    allocation: Allocation,
    rounding: Rounding,
    time_limit: float | None = None,
    stop: Stop = Stop.FINISHED,
) -> tuple[Allocation, Stop]:
    """Rounding as of `round_cores` after a method that ended with `stop`; also returns the stop of
    both together.

    After an interrupt the least envy is no longer sought: the user-deficit rule takes its place.
    """
    if rounding == "least-envy" and stop is Stop.INTERRUPTED:
        return round_until(market, allocation, "user-deficit", stop=stop)
    validate_rounding(market, rounding, time_limit)
    if rounding == "none":
        return allocation, stop
    if rounding == "least-envy":
        run = least_envy(market, allocation, time_limit=time_limit)
        assert isinstance(run.solution, Allocation)
        return run.solution, run.stop if run.stop is not Stop.FINISHED else stop
    return round_by(market, allocation, rounding), stop
