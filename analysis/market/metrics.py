"""The metrics of an allocation: work, distance from equilibrium, envy, and whether sharing pays."""

from __future__ import annotations

from collections.abc import Collection

from ...instances.market.envy import MOST_PAIRS, envy_index, pairs_on_servers
from ...instances.market.equilibrium import residuals
from ...instances.market.families import Family, family_named
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.market.sharing import least_ratio
from ...instances.market.utility import user_utilities
from ...instances.market.welfare import nash_welfare
from ...instances.problem.option_types import validate_options
from ..metric import Metric

METRICS: tuple[Metric, ...] = (
    Metric("total_utility", "total utility", "max", digits=3, short="total utility"),
    Metric("nash_welfare", "Nash welfare", "max", short="Nash welfare"),
    Metric("equilibrium_error", "equilibrium error", digits=-2, compared=False),
    Metric("regret", "worst regret", digits=-2, short="regret"),
    Metric("excess_demand", "excess demand", digits=-2, short="excess demand"),
    Metric("envy_index", "envy index", "max", short="envy index"),
    Metric("sharing_index", "sharing index, endowment", "max", short="sharing index"),
    Metric("sharing_index_tenants", "sharing index, tenants", "max", compared=False),
    Metric("sharing_index_jobs", "sharing index, jobs", "max", short="against ES"),
)


@validate_options
def metrics(
    instance: Market,
    allocation: Allocation,
    *,
    utility: Family = "amdahl",
    rho: float = 0.5,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of a feasible allocation.

    `total_utility` sums users' utilities. `nash_welfare` is their geometric mean weighted by
    budgets, over users with a useful job. `regret`, `excess_demand` and `equilibrium_error` (the
    largest of clearing, overspending and regret) only when there are prices; see
    `instances.market.equilibrium`. `envy_index` is thesis eq. 3.5 for the worst pair (left out
    beyond 4 million pairs of users on a server, seconds of work), and the three sharing indices eq.
    3.6; see `instances.market.sharing`.

    Parameters
    ----------
    utility : "amdahl", or a homogeneous family (see `instances.market.families`), for which only
        the welfare, the regret and the equilibrium's error are measured.
    rho : exponent of the family "ces".
    only : the metrics that are needed; of the others those that take long are left out.
    """
    family = family_named(utility, rho)
    if family is not None:
        worth = family.utilities(instance, allocation.cores)
        result = _welfare(instance, worth)
        error = family.residuals(instance, allocation)
        if error is not None:
            result |= {
                "equilibrium_error": error.worst,
                "regret": error.regret,
                "excess_demand": error.excess_demand,
            }
        return result
    worth = user_utilities(instance, allocation.cores)
    result = _welfare(instance, worth)
    error = residuals(instance, allocation)
    if error is not None:
        result |= {
            "equilibrium_error": error.worst,
            "regret": error.regret,
            "excess_demand": error.excess_demand,
        }
    if not instance.active.any():
        return result
    if pairs_on_servers(instance) <= MOST_PAIRS and (only is None or "envy_index" in only):
        result["envy_index"] = envy_index(instance, allocation)
    result["sharing_index"] = least_ratio(instance, worth, "endowment")
    result["sharing_index_tenants"] = least_ratio(instance, worth, "tenants")
    result["sharing_index_jobs"] = least_ratio(instance, worth, "jobs")
    return result


def _welfare(market: Market, worth: Floats) -> dict[str, float]:
    return {"total_utility": float(worth.sum()), "nash_welfare": nash_welfare(market, worth)}
