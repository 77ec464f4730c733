"""Frontier of total utility and guaranteed multiples of the users' endowment utilities."""

from __future__ import annotations

import numpy as np

from ...instances.market.families import Family
from ...instances.market.instance import Market
from ...instances.problem.option_types import validate_options
from ...solvers.market.guaranteed import PROVED, Divided, Guarantees
from ...solvers.outcome import Clock, Stop
from ..frontier import Points, PriceFrontier, PricePoint, settled

_BEFORE_THE_END = 1e-3
"""How far below the largest index, relative to the range, the tightest limit is when the largest
itself is not proved: there the guarantees leave no choice, and multipliers may be infinite.
"""


@validate_options
def price_frontiers(
    instance: Market,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    utility: Family = "amdahl",
) -> tuple[PriceFrontier, ...]:
    """Maximum total utility such that every user has at least sigma times its endowment utility.

    sigma runs from the index of the allocation with the most total utility to the largest index any
    allocation has; see `solvers.market.guaranteed` for the proof. The sharing index is thesis eq.
    3.6 against C_j B_i / sum B.

    Parameters
    ----------
    time_limit : seconds in all.
    points : values of sigma, at least 2.
    utility : for other families than "amdahl" there is no frontier.

    Raises
    ------
    InvalidOption
        An option is out of range.
    """
    clock = Clock(time_limit)
    if utility != "amdahl" or not instance.active.any():
        return ()
    search, stop = Guarantees(instance, clock), Stop.FINISHED
    found: dict[float, Divided | None] = {}  # by limit on the sharing index
    try:
        search.raise_index()
        low, high = search.best.index, search.fairest.index
        wide = high - low > PROVED * high
        for limit in np.linspace(low, high, points).tolist()[1:] if wide else ():
            found[limit] = search.most(limit)
        if wide and not _proved(search, high, found[high]):
            limit = high - _BEFORE_THE_END * (high - low)
            found[limit] = search.most(limit)
            if _proved(search, limit, found[limit]):
                del found[high]
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    if stop is Stop.FINISHED and clock.expired:
        stop = Stop.TIME_LIMIT
    marks = []
    for limit, answer in sorted(found.items(), reverse=True):
        value, reached = (None, None) if answer is None else (answer.total, answer.index)
        marks.append(PricePoint(limit, value, search.bound(limit), reached))
    marks.append(PricePoint(None, search.best.total, search.bound(0.0), search.best.index))
    note = (
        "Each limit: every user has at least so many times the utility of its endowment "
        "(its budget's part of every server)."
    )
    if np.isfinite(search.highest):
        note += (
            f" Proved: no allocation has an index above {search.highest:.6g}; the largest "
            f"found is {search.fairest.index:.6g}."
        )
    return (
        PriceFrontier(
            "total_utility", "sharing_index", settled(marks, "max", PROVED, unit=0.0), note, stop
        ),
    )


def _proved(search: Guarantees, limit: float, found: Divided | None) -> bool:
    return found is not None and search.bound(limit) - found.total <= PROVED * found.total
