"""Metrics of an allocation: work, distance from equilibrium, envy, and sharing incentive."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from math import e
from typing import Any

import numpy as np

from ...instances.market.envy import MOST_PAIRS, envy_index, pairs_on_servers
from ...instances.market.equilibrium import residuals
from ...instances.market.families import Family, Homogeneous, family_named
from ...instances.market.instance import Allocation, Floats, Market, ratio, total_by
from ...instances.market.sharing import WholeRatios, least_ratio
from ...instances.market.utility import nash_welfare, user_utilities
from ...instances.problem.option_types import validate_options
from ..manipulation import Misreport, Reports
from ..metric import Facts, Metric, Stated

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
    worth = utilities_in(family, instance, allocation.cores)
    result = {"total_utility": float(worth.sum()), "nash_welfare": nash_welfare(instance, worth)}
    error = (residuals if family is None else family.residuals)(instance, allocation)
    if error is not None:
        result |= {
            "equilibrium_error": error.worst,
            "regret": error.regret,
            "excess_demand": error.excess_demand,
        }
    if family is not None or not instance.active.any():
        return result
    if pairs_on_servers(instance) <= MOST_PAIRS and (only is None or "envy_index" in only):
        result["envy_index"] = envy_index(instance, allocation)
    result["sharing_index"] = least_ratio(instance, worth, "endowment")
    result["sharing_index_tenants"] = least_ratio(instance, worth, "tenants")
    result["sharing_index_jobs"] = least_ratio(instance, worth, "jobs")
    return result


def utilities_in(family: Homogeneous | None, market: Market, cores: Floats) -> Floats:
    """Utilities of the users from cores by job, in a family of utilities; without one, Amdahl's."""
    return user_utilities(market, cores) if family is None else family.utilities(market, cores)


RATIOS = {"linear": 2.0, "ces": 2.0, "cobb-douglas": e ** (1 / e), "leontief": 2.0}
"""What a misreport at most multiplies a user's utility by in an equilibrium, see N. Chen, X. Deng,
B. Tang, H. Zhang and J. Zhang, Information and Computation 284 (2022); of ces where rho > 0.
"""


SHIFTS = (-2.0, -1.0, -0.5, -0.2, -0.1, 0.1, 0.2, 0.5, 1.0, 2.0)
"""What reports of the kind "odds" add to log(f / (1 - f)) of all jobs of a user."""


class _Reports(Reports):
    """Reports of users of a market: the work and, where not all are linear, the parallel fractions
    of their jobs, any of which may be split in two. It has the budget that it has. Where only
    "odds" are asked for, the best of ten shifts of all its fractions is found.
    """

    unit, fields, changes = "work", ("work", "parallel_fraction"), ("split", "odds")

    def mine(self, instance: Market, name: str, agent: int) -> Any:
        return instance.user == agent

    def utilities(
        self, truth: Market, shown: Misreport, solution: Allocation, *, utility: Family = "amdahl",
        rho: float = 0.5,
    ) -> Floats:  # fmt: skip
        parts = np.arange(truth.jobs) if shown.parts is None else shown.parts
        cores = total_by(parts, solution.cores, truth.jobs)
        worth = utilities_in(family_named(utility, rho), truth, cores)
        return np.where(truth.active, worth, np.nan)

    def most(
        self, truth: Market, agent: int, honest: float, method: str, *, utility: Family = "amdahl",
        rho: float = 0.5, **others: object,
    ) -> tuple[float, str]:  # fmt: skip
        here, cores = Misreport(truth), Allocation(truth.capacity[truth.server])
        alone = float(self.utilities(truth, here, cores, utility=utility, rho=rho)[agent])
        ratio = RATIOS.get("linear" if _linear(truth, utility) else utility, np.inf)
        # others solve for Amdahl's utilities, and options may ask for no equilibrium
        own = method == "nash-welfare" or bool((truth.parallel_fraction == 1).all())
        proved = own and method in ("fisher", "nash-welfare") and not others
        proved &= method == "nash-welfare" or utility in ("amdahl", "linear")
        if not proved or (utility == "ces" and rho < 0) or ratio * honest > alone:
            return alone, "all cores of its servers"
        return ratio * honest, f"incentive ratio {ratio:.4g} (Chen and others 2022)"

    def near(
        self, truth: Market, here: Misreport, agent: int, *, kinds: Sequence[str] | None = None,
        utility: Family = "amdahl",
    ) -> Iterator[Misreport]:  # fmt: skip
        homogeneous, market = utility != "amdahl" or _linear(truth, utility), here.instance
        yield from super().near(truth, here, agent, kinds=("work",) if homogeneous else kinds)
        if not homogeneous and kinds is not None and "odds" in kinds and market is truth:
            fraction = market.parallel_fraction
            shifted = (market.user == agent) & (fraction > 0) & (fraction < 1)
            for odds in [ratio(fraction, 1 - fraction) * np.exp(shift) for shift in SHIFTS]:
                changed = np.where(shifted, odds / (1 + odds), fraction)
                yield from here.changed(parallel_fraction=changed)
        if homogeneous or (kinds is not None and "split" not in kinds):
            return
        parts = np.arange(market.jobs) if here.parts is None else here.parts
        for job in np.flatnonzero(market.user == agent).tolist():
            names = ("user", "server", "parallel_fraction", "work")
            twice = {name: np.append(own := getattr(market, name), own[job]) for name in names}
            twice["work"][[job, -1]] /= 2
            yield from here.changed(np.append(parts, parts[job]), **twice)


def _linear(market: Market, utility: Family) -> bool:
    """Return whether all jobs have linear utility."""
    whole = bool((market.parallel_fraction == 1).all())
    return utility == "linear" or (utility == "amdahl" and whole)


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Certificate entries computed from the answer: residuals of an equilibrium, levels of leximin
    as exact ratios.
    """
    from ...solvers.market.leximin import LEVEL

    options, market, allocation = stated.options, stated.instance, stated.answer
    if allocation is None:
        return {}
    if stated.method == "utilitarian":
        return {"cores": "whole" if options["whole"] else "fractional"}
    if stated.method == "leximin":
        ratios = sorted(WholeRatios(market).all(np.round(allocation.cores)))
        own = [(float(ratio), len(list(users))) for ratio, users in groupby(ratios)]
        reached = len(stated.certificate["levels"])
        levels = [
            {"objective": LEVEL, "value": at, "users": users, "bound": at, "status": "optimal"}
            for at, users in own[:reached]
        ]
        return {"leximin": reached == len(own), "levels": levels}
    facts = stated.echoed("tolerance") if stated.method == "fisher" else {}
    family = family_named(options.get("utility", "amdahl"), options.get("rho", 0.5))
    error = (residuals if family is None else family.residuals)(market, allocation)
    needed = family is not None or facts or stated.method == "PRD"
    if error is None or not needed or options.get("rounding", "none") != "none":
        return facts
    return facts | asdict(error)
