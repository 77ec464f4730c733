"""Small instances with intervals, and who blocks in some and in every matrix within them, by
enumeration: whole numbers, agents one by one, every corner of a box (on pytest's path: see
pyproject.toml).
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from cotenant.analysis.colocation.recommender import Advice, recommend
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs
from cotenant.instances.colocation.objective import mean_penalty, worst_case
from cotenant.instances.colocation.stability import Uncertainty, stable_alpha, undecided_pairs
from cotenant.instances.problem import InvalidInstance
from cotenant.solvers.colocation import optimal
from cotenant.solvers.colocation.aggregate_relaxation import SHARE_LIMITS, ShareLimits
from cotenant.solvers.colocation.robust import RobustLimits, breakpoints, robust_alpha
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.outcome import Status
from support.oracles.matchings import every_matching

UNIT = 1000
"""Penalties are whole numbers of this part."""

FEW_TYPES = 2
"""Types up to which every corner of the whole box is a matrix to look at: 16 of them."""


@dataclass(frozen=True)
class Case:
    """Colocation instance with penalty intervals, and the integers it was made of."""

    instance: Colocation
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    alpha: int

    @property
    def least_gain(self) -> float:
        """Alpha as a decimal (the integer over `UNIT`)."""
        return self.alpha / UNIT


def draw(rng: np.random.Generator) -> Case | None:
    """Random colocation case of at most eight agents with penalty intervals; None if it is invalid."""
    different = rng.random() < 0.25
    types = int(rng.integers(2, 7 if different else 5))
    count = np.ones(types, dtype=int) if different else rng.integers(0, 5, types)
    if not 2 <= count.sum() <= 8:
        return None
    middle = rng.integers(-5, 60, (types, types)) * int(rng.choice([1, 10]))
    half = rng.integers(0, 4, (2, types, types)) * int(rng.choice([0, 1, 5, 10, 40]))
    low, high = middle - half[0], middle + half[rng.integers(0, 2)]
    forbidden = rng.random((types, types)) < rng.choice([0, 0.15])
    settings: dict[str, float] = {}
    if count.sum() % 2 or rng.random() < 0.25:
        settings = {"machines": float(count.sum())} if rng.random() < 0.5 else {"unpaired": 1.0}

    def decimals(whole: np.ndarray) -> np.ndarray:
        return np.where(forbidden, np.inf, whole / UNIT)

    try:
        made = Colocation(
            decimals(middle), count, low=decimals(low), high=decimals(high), **settings
        )
    except InvalidInstance:
        return None
    return Case(made, low, middle, high, int(rng.choice([0, 0, 1, 5, 10, 20, 50])))


def pairings(instance: Colocation) -> list[tuple[np.ndarray, Pairing]]:
    """Every feasible pairing of types once, with the partners of the agents in one pairing of
    agents that it represents.
    """
    kind = instance.agent_types()
    found: dict[tuple[object, ...], tuple[np.ndarray, Pairing]] = {}
    for mate in every_matching(instance.agents):
        paired = np.flatnonzero(mate > np.arange(len(mate)))
        if not instance.allowed[kind[paired], kind[mate[paired]]].all():
            continue
        if (mate < 0).sum() > instance.singles_allowed:
            continue
        made = Pairing.from_partners(kind, mate, instance.types)
        key = (*made.first, -1, *made.second, -1, *made.pairs, -1, *made.single)
        found.setdefault(key, (mate, made))
    return list(found.values())


def blocking(case: Case, mate: np.ndarray, alpha: int | None = None) -> tuple[int, int, int, bool]:
    """Number of pairs of agents that block for certain, as measured and possibly, and whether the
    pairing is stable for every matrix within the intervals.
    """
    instance, kind = case.instance, case.instance.agent_types()
    least = case.alpha if alpha is None else alpha
    number, certain, measured, possible = instance.agents, 0, 0, 0
    stable = True
    whole = list(_corners(case, list(np.ndindex(case.low.shape)))) if _few(case) else None
    for i, j in itertools.combinations(range(number), 2):
        a, c = int(kind[i]), int(kind[j])
        content = instance.unpaired is None and (mate[i] < 0 or mate[j] < 0)
        if not instance.allowed[a, c] or content:
            continue
        entries = {(a, c), (c, a)}
        entries |= {(int(kind[k]), int(kind[mate[k]])) for k in (i, j) if mate[k] >= 0}
        matrices = _corners(case, sorted(entries)) if whole is None else whole
        blocks = [_blocks(case, matrix, mate, i, j, least) for matrix in matrices]
        certain, possible = certain + all(blocks), possible + any(blocks)
        stable = stable and not any(blocks)
        middle = {place: int(case.middle[place]) for place in np.ndindex(case.middle.shape)}
        measured += _blocks(case, middle, mate, i, j, least)
    return certain, measured, possible, stable


def _few(case: Case) -> bool:
    return case.instance.types <= FEW_TYPES


def _corners(case: Case, entries: list[tuple[int, ...]]) -> list[dict[tuple[int, ...], int]]:
    ends = [(int(case.low[place]), int(case.high[place])) for place in entries]
    return [dict(zip(entries, corner, strict=True)) for corner in itertools.product(*ends)]


def _blocks(
    case: Case, matrix: dict[tuple[int, ...], int], mate: np.ndarray, i: int, j: int, least: int
) -> bool:
    kind = case.instance.agent_types()

    def gains(one: int, other: int) -> bool:
        own = UNIT if mate[one] < 0 else matrix[int(kind[one]), int(kind[mate[one]])]
        return own - matrix[int(kind[one]), int(kind[other])] > least

    return gains(i, j) and gains(j, i)


def advised_agents_and_pairs(advice: tuple[Advice, ...]) -> tuple[int, int]:
    """Number of agents advised to break away, and number of blocking pairs that they form."""
    agents = sum(entry.agents for entry in advice if entry.action == "break away")
    pairs = sum(entry.agents * other.willing for entry in advice for other in entry.alternatives)
    return agents, pairs // 2


def compare(case: Case, shares: ShareLimits = SHARE_LIMITS, *, solve: bool = True) -> Counter[str]:
    """Compare metrics, and with `solve` exact methods, with enumeration on one instance; return
    what was compared.
    """
    instance, alpha = case.instance, case.least_gain
    every = pairings(instance)
    seen = Counter({"instances": 1, "pairings": len(every)})
    if not every:
        return seen
    counts = []
    for mate, pairing in every:
        *expected, stable_everywhere = blocking(case, mate)
        found = [blocking_pairs(instance, pairing, alpha, uncertainty=u) for u in _KINDS]
        assert [one.count for one in found] == expected, case
        assert stable_everywhere == (found[2].count == 0), case
        for kind, one in zip(_KINDS, found, strict=True):
            advice = recommend(instance, pairing, alpha=alpha, uncertainty=kind)
            assert advised_agents_and_pairs(advice) == (one.agents, one.count), case
        again = sum(e["pairs"] for e in undecided_pairs(instance, pairing, alpha))
        assert again == expected[2] - expected[0], case
        counts.append(expected)
    return seen + _compare_solved(case, every, np.array(counts), shares) if solve else seen


def _compare_solved(
    case: Case, every: list[tuple[np.ndarray, Pairing]], counts: np.ndarray, shares: ShareLimits
) -> Counter[str]:
    instance, alpha = case.instance, case.least_gain
    penalty = np.array([mean_penalty(instance, pairing) for _, pairing in every])
    seen = Counter({"solved": 1})
    for column, kind in ((0, "certain"), (2, "possible")):
        answer = stable(
            instance, alpha=alpha, uncertainty=kind, limits=StableLimits(shares=shares)  # type: ignore[arg-type]
        )  # fmt: skip
        fewest = int(counts[:, column].min())
        first, second = answer.certificate["levels"]
        assert (answer.status, answer.bound, first["value"]) == (Status.OPTIMAL, fewest, fewest), (
            case, kind, fewest, answer,
        )  # fmt: skip
        least = penalty[counts[:, column] == fewest].min()
        assert second["value"] >= least - 1e-9, (case, kind)
        assert second["bound"] <= least + 1e-9, (case, kind)
        if second["status"] == "optimal":
            assert abs(second["value"] - least) < 1e-8, (case, kind)
        seen[f"fewest {kind} above 0"] += fewest > 0
    worst = [mean_penalty(worst_case(instance), pairing) for _, pairing in every]
    bound = optimal(instance, worst=True).bound
    assert bound is not None
    assert abs(bound - min(worst)) < 1e-8, case
    return seen + _compare_robust(case, every, shares)


def _compare_robust(
    case: Case, every: list[tuple[np.ndarray, Pairing]], shares: ShareLimits
) -> Counter[str]:
    """Compare `robust_alpha` with the least alpha of every pairing."""
    instance = case.instance
    least = [stable_alpha(instance, pairing, "possible") for _, pairing in every]
    for (mate, _), own in zip(every, least, strict=True):
        whole = round(own * UNIT)
        assert whole / UNIT == own, case
        assert blocking(case, mate, whole)[2] == 0, case
        assert whole == 0 or blocking(case, mate, whole - 1)[2] > 0, case
    found = robust_alpha(instance, limits=RobustLimits(shares=shares))
    assert (found.alpha, found.status) == (min(least), Status.OPTIMAL), case
    assert found.pairing is not None
    assert stable_alpha(instance, found.pairing, "possible") <= min(least), case
    assert (found.below is None) == (found.alpha == 0), case
    if found.below is not None:
        between = [a for a in breakpoints(instance) if found.below < a < min(least)]
        assert not between, case
    fitting = [p for (_, p), own in zip(every, least, strict=True) if own <= min(least)]
    cheapest = min(mean_penalty(instance, pairing) for pairing in fitting)
    assert found.penalty is not None
    assert abs(found.penalty - cheapest) < 1e-9, case
    return Counter({"robust alpha above 0": int(min(least) > 0)})


_KINDS: tuple[Uncertainty, ...] = ("certain", "none", "possible")
