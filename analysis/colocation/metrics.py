"""Metrics of a pairing: penalty, stability, and fairness with respect to bandwidth. `parts` gives
the requirements that can conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.instance import LEAST_PENALTY, blocks
from ...instances.colocation.lists import has_strict_lists
from ...instances.colocation.missing import computed_penalty
from ...instances.colocation.objective import (
    agent_penalties,
    attribution_slack,
    mean_penalty,
    type_penalties,
    worst_case,
)
from ...instances.colocation.stability import (
    UNCERTAINTIES,
    AlphaMode,
    require_intervals,
    stable_alpha,
)
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ..manipulation import Floats, Misreport, Reports
from ..metric import BLOCKING_SHARE, Facts, Metric, Stated
from ..statistics import quantile, rank_correlation

TOLERATED = 0.10
"""The penalty that threshold schemes tolerate (Cooper section IV.C)."""

DRAWS = 200
"""Matrices drawn within the intervals for the expected number of blocking pairs."""

MOST_TYPES = 200
"""Types up to which they are drawn: a matrix of more takes a while to count in."""

METRICS: tuple[Metric, ...] = (
    Metric("penalty", "mean penalty", short="mean penalty"),
    Metric("penalty_p50", "median penalty", compared=False),
    Metric("penalty_p95", "95th percentile of penalty", compared=False),
    Metric("worst_penalty", "worst penalty", short="worst"),
    Metric("within_tolerance", "share of agents under 10 %", "max", digits=3, compared=False),
    Metric("machines", "processors in use", digits=0, whole=True, compared=False),
    Metric("blocking_pairs", "blocking pairs", digits=0, whole=True, short="blocking pairs"),
    BLOCKING_SHARE,
    Metric("blocking_agents", "agents in a blocking pair", digits=0, whole=True, compared=False),
    Metric(
        "most_blocking",
        "most blocking pairs of one agent",
        digits=0,
        whole=True,
        short="most of one agent",
        compared=False,
    ),
    Metric(
        "certain_blocking_pairs",
        "blocking pairs for every matrix within the intervals",
        digits=0,
        whole=True,
        short="certainly blocking",
    ),
    Metric(
        "possible_blocking_pairs",
        "blocking pairs for some matrix within the intervals",
        digits=0,
        whole=True,
        short="possibly blocking",
    ),
    Metric(
        "expected_blocking_pairs",
        f"blocking pairs, mean over {DRAWS} matrices within the intervals",
        digits=1,
        short="expected blocking",
    ),
    Metric(
        "robust_alpha",
        "alpha from which on no pair possibly blocks",
        short="robust from alpha",
    ),
    Metric(
        "worst_case_penalty",
        "mean penalty with every penalty at the upper end of its interval",
        short="worst-case mean penalty",
    ),
    Metric("slack", "attribution slack", short="slack"),
    Metric(
        "attribution",
        "rank correlation of penalty with bandwidth",
        "max",
        digits=3,
        short="attribution",
    ),
)


@validate_options
def metrics(
    instance: Colocation,
    pairing: Pairing,
    *,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of a feasible pairing.

    `penalty`, `penalty_p50`, `penalty_p95`, `worst_penalty` are taken over agents (percentiles
    interpolate linearly, as numpy does); `within_tolerance` is the share of agents whose penalty is
    below 10 %; `blocking_pairs` and `blocking_agents` at `alpha`; `slack` and `attribution` only
    when bandwidths are known; `blocking_share` is the part of the pairs that could block, which may
    share and do not. `most_blocking` is the number of blocking pairs of the agent that is
    in most. Attribution is Spearman's coefficient, ties at average ranks, over the types present,
    of mean penalty against bandwidth (Cooper fig. 8, 13); left out when either is constant.

    With intervals also `certain_blocking_pairs` and `possible_blocking_pairs`, those for every and
    for some matrix within them (see `instances.colocation.stability`), `expected_blocking_pairs`
    (up to `MOST_TYPES` types), `robust_alpha`, the least alpha in points of penalty at which none
    is possible, and `worst_case_penalty`, the mean with every penalty at its upper end. They hold
    with the confidence of the intervals.

    Parameters
    ----------
    only : the metrics that are needed; of the others those that take long are left out.
    """
    _, value, number = agent_penalties(instance, pairing)
    blocking = blocking_pairs(instance, pairing, alpha, alpha_mode)
    result = {
        "penalty": mean_penalty(instance, pairing),
        "penalty_p50": quantile(value, number, 0.50),
        "penalty_p95": quantile(value, number, 0.95),
        "worst_penalty": float(value.max()),
        "within_tolerance": float(number[value < TOLERATED].sum() / instance.agents),
        "machines": float(pairing.machines),
        "blocking_pairs": float(blocking.count),
        "blocking_share": blocking.count / max(1, could_block(instance, pairing)),
        "blocking_agents": float(blocking.agents),
        "most_blocking": float(blocking.most),
    }
    if instance.low is not None:
        read = (alpha, alpha_mode)
        for which in UNCERTAINTIES[1:]:
            count = blocking_pairs(instance, pairing, *read, which).count
            result[f"{which}_blocking_pairs"] = float(count)
        if instance.types <= MOST_TYPES and (only is None or "expected_blocking_pairs" in only):
            result["expected_blocking_pairs"] = expected_blocking_pairs(instance, pairing, *read)
        result["robust_alpha"] = stable_alpha(instance, pairing, "possible")
        result["worst_case_penalty"] = mean_penalty(worst_case(instance), pairing)
    if instance.bandwidth is not None:
        result["slack"] = attribution_slack(instance, pairing)
        if (correlation := attribution(instance, pairing)) is not None:
            result["attribution"] = correlation
    return result


def could_block(instance: Colocation, pairing: Pairing) -> int:
    """Number of pairs of agents that may share a processor and do not. O(T^2)."""
    number, allowed = instance.count, instance.allowed
    met = sum(int(number[rows] @ (allowed[rows] @ number)) for rows in blocks(instance.types))
    return (met - int(number @ allowed.diagonal()) - 2 * int(pairing.pairs.sum())) // 2


def expected_blocking_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """Mean number of blocking pairs over matrices drawn uniformly and independently within the
    intervals.

    Intervals that hold together are wider than what is likely of a single entry, so the number is
    rather too high.

    Raises
    ------
    InvalidOption
        There are no intervals.
    """
    low, high = require_intervals(instance, "draws", draws)
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(instance.penalty)
    width = np.where(known, np.where(known, high, 0.0) - np.where(known, low, 0.0), 0.0)
    base = np.where(known, low, instance.penalty)
    rng, total = np.random.default_rng(seed), 0
    for _ in range(draws):
        # within the ends whatever the rounding
        drawn = np.minimum(base + width * rng.random(base.shape), np.where(known, high, np.inf))
        total += blocking_pairs(
            instance.without_intervals(penalty=drawn), pairing, alpha, alpha_mode
        ).count
    return total / draws


def attribution(instance: Colocation, pairing: Pairing) -> float | None:
    """Spearman's correlation of the types' mean penalty with bandwidth; None if undefined."""
    if instance.bandwidth is None:
        return None
    present = instance.count > 0
    # equal means must tie, whatever the order of addition
    penalty = np.round(type_penalties(instance, pairing)[present], 12)
    return rank_correlation(penalty, instance.bandwidth[present])


class _Reports(Reports):
    """Possible misreports of job types, which report their penalties. Agents with strict lists
    (penalty = rank / n) report their list.
    """

    unit, fields, best, worst = "1 - penalty", ("penalty",), LEAST_PENALTY, 1.0

    def mine(self, instance: Colocation, name: str, agent: int) -> Any:
        if instance.low is not None:
            raise InvalidOption("nobody reports intervals; give the instance without_intervals()")
        return super().mine(instance, name, agent) & instance.allowed

    def utilities(self, truth: Colocation, shown: Misreport, solution: Pairing) -> Floats:
        return 1 - type_penalties(truth, solution)

    def most(self, truth: Colocation, agent: int, honest: float, method: str) -> tuple[float, str]:
        there = truth.allowed[agent] & (truth.count > 0)
        alone = [truth.single_penalty] if truth.singles_allowed > 0 else []
        return 1 - min([*truth.penalty[agent, there].tolist(), *alone]), "beside whom it likes best"

    def every(self, truth: Colocation) -> str:
        listed = np.where(np.isfinite(truth.penalty), truth.penalty, np.inf)
        ranks = np.array([1 + np.searchsorted(np.sort(row), row) for row in listed])
        same = (computed_penalty(ranks / truth.agents) == listed) | np.isinf(listed)
        return "strict lists, also cut short" * (has_strict_lists(truth) and bool(same.all()))

    def orders(self, truth: Colocation, agent: int) -> Iterator[Misreport]:
        def lists(row: Floats) -> Iterator[Floats]:
            shortest = len(row) if truth.unpaired is None else 0
            for length in range(len(row), shortest - 1, -1):
                for order in permutations(range(len(row)), length):
                    rank = np.full(len(row), np.inf)
                    rank[list(order)] = np.arange(length) + 1
                    yield computed_penalty(rank / truth.agents)

        every = self.every(truth)
        return self.rows(Misreport(truth), "penalty", agent, lists if every else permutations)

    def words(self, truth: Colocation, shown: Misreport, agent: int) -> str:
        if not self.every(truth):
            return super().words(truth, shown, agent)
        row = np.where(shown.instance.allowed[agent], shown.instance.penalty[agent], np.inf)
        first = np.argsort(row, kind="stable")[: np.isfinite(row).sum()]
        return f"list {', '.join(truth.names[other] for other in first)}"


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Blocking pairs of the answer and the allowed slack, as a certificate states them."""
    from ...solvers.colocation.common import Blocking

    if stated.method == "fair" and stated.options["slack"] is not None and stated.answer:
        return {"slack_allowed": stated.options["slack"]}
    hints = stated.together("stable_partition", "odd_parties")
    if stated.method != "stable" or stated.answer is None:
        return hints
    blocking = Blocking(*(stated.options[it] for it in ("alpha", "alpha_mode", "uncertainty")))
    return hints | blocking.facts_of(stated.instance, stated.answer)


def parts(instance: Colocation) -> tuple[list[str], Callable[[list[int]], Colocation]]:
    """Texts of the colocation requirements (which types a type may share with), and a function that
    makes the instance with a subset of them, where types without a requirement may share at no
    penalty.
    """
    present = instance.present
    allowed = instance.allowed[np.ix_(present, present)]
    ruled = present[~(allowed | np.eye(len(present), dtype=bool)).all(axis=1)]
    labels = []
    for kind in ruled.tolist():
        others = [instance.names[each] for each in present if instance.allowed[kind, each]]
        beside = f"beside {', '.join(others)} only" if others else "beside nobody"
        labels.append(f"{instance.names[kind]} runs {beside}")

    def keep(kept: list[int]) -> Colocation:
        bound = np.zeros(instance.types, dtype=bool)
        bound[ruled[kept]] = True
        open_now = ~instance.allowed & ~(bound[:, None] | bound[None, :])
        penalty = np.where(open_now & ~np.eye(instance.types, dtype=bool), 0.0, instance.penalty)
        return instance.without_intervals(penalty=penalty)

    return labels, keep
