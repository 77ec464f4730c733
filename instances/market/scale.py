"""What the objectives of a market could be at most: what gaps and agreement are relative to."""

from __future__ import annotations

from typing import Any

from .families import Family, family_named
from .instance import Market
from .sharing import Share, least_ratio
from .utility import user_utilities
from .welfare import nash_welfare

_SHARES: dict[str, Share] = {
    "sharing_index": "endowment",
    "sharing_index_tenants": "tenants",
    "sharing_index_jobs": "jobs",
}


def scale(
    market: Market, objective: str, *, utility: Family = "amdahl", rho: float = 0.5, **options: Any
) -> float:
    """The objective if every job had its server to itself; 1 for errors and indices from 0 to 1,
    and without useful jobs.

    Parameters
    ----------
    utility, rho : as of `nash-welfare`.
    """
    if objective not in ("total_utility", "nash_welfare", *_SHARES) or not market.active.any():
        return 1.0
    family = family_named(utility, rho)
    alone = market.capacity[market.server]
    worth = user_utilities(market, alone) if family is None else family.utilities(market, alone)
    if objective == "total_utility":
        return float(worth.sum())
    if objective == "nash_welfare":
        return nash_welfare(market, worth)
    return least_ratio(market, worth, _SHARES[objective])
