"""The exact methods on groups against enumeration, and against colocation where both say the
same.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.group_cases import Counted, wrongs
from support.messages import approved, refused
from support.seeds import ranges

from cotenant.baselines.groups import hierarchical
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs
from cotenant.instances.colocation.objective import mean_penalty as mean_of_pairs
from cotenant.instances.groups import Grouping, Groups, blocking_groups, check, groups_from
from cotenant.instances.groups.generators import additive
from cotenant.instances.groups.instance import UNIT
from cotenant.instances.groups.stability import mean_penalty
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution
from cotenant.models.groups.columns import columns_of
from cotenant.solvers.colocation import optimal as optimal_pairs
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.engines import solve_program
from cotenant.solvers.groups.core import CoreLimits, core, least_alpha
from cotenant.solvers.groups.optimal import GroupLimits, optimal

EMPTY = Groups(
    count=[1, 3, 1, 1], seats=[3], machines=[2],
    penalty=[[0.2, 0.1, 0.0, 0.3], [0.0, 0.1, 0.3, 0.3], [0.0, 0.2, 0.3, 0.1], [0.3, 0.3, 0.1, 0.2]],
)  # fmt: skip
"""Six jobs on two machines of three seats: each of the four groupings has a group that blocks it
below alpha 0.1.
"""


def drawn(types: int, jobs: int, seats: int, seed: int = 0) -> Groups:
    """Penalties that add."""
    return additive(types=types, jobs=jobs, seats=seats, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("seeds", ranges(400, 4, 20))
def test_group_methods_equal_enumeration(seeds: range) -> None:
    assert [(seed, *wrongs(seed)) for seed in seeds] == [(seed,) for seed in seeds]


@pytest.mark.slow
def test_restricted_group_programs_give_valid_bounds() -> None:
    few = GroupLimits(near=1)
    for seed in range(100, 112):
        assert list(wrongs(seed, CoreLimits(near=1, relaxation=few))) == []
    for seed in range(4):
        instance = drawn(6, 24, 3, seed)
        least = solve_program(columns_of(instance).program(instance)).objective
        bound = optimal(instance, limits=few).bound
        assert bound * 24 == pytest.approx(least, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", ranges(1000, 4, 40))
def test_groups_of_two_seats_equal_colocation(seeds: range) -> None:
    for seed in seeds:
        two_seats(seed)


def two_seats(seed: int) -> None:
    """Optimum, blocking pairs and whether there are none, by both problems."""
    rng = np.random.default_rng(seed)
    types = int(rng.integers(1, 6))
    count = rng.integers(0, 5, size=types)
    count[0] += 1
    agents = int(count.sum())
    machines = None if agents % 2 == 0 and rng.random() < 0.6 else float(rng.integers(
        -(-agents // 2), agents + 1))  # fmt: skip
    penalty = rng.integers(-3, 60, size=(types, types)) / 100
    penalty[rng.random((types, types)) < 0.05 * (seed % 3)] = np.inf
    try:
        pairs = Colocation(penalty, count, machines=machines)
    except InvalidInstance:  # some type has no partner, which groups find out by solving
        alone = Groups(count, 2, machines, penalty=penalty)
        assert optimal(alone).status == core(alone).status == "infeasible"
        return
    instance = groups_from(pairs, seats=2, machines=machines)
    alpha = float(rng.choice([0, 0.02, 0.1]))
    by_pairs, by_groups = optimal_pairs(pairs), optimal(instance)
    assert by_pairs.status == by_groups.status
    if by_pairs.solution is None:
        return
    assert mean_of_pairs(pairs, by_pairs.solution) == pytest.approx(
        mean_penalty(instance, by_groups.solution), abs=1e-12
    )
    for found in (by_groups.solution, core(instance, alpha=alpha).solution):
        assert blocking_groups(instance, found, alpha).count == (
            blocking_pairs(pairs, paired(found, types), alpha).count
        )
    if seed % 4:
        return
    none = stable(pairs, alpha=alpha)
    groups = core(instance, alpha=alpha)
    assert (none.bound == 0) == (groups.bound == 0)
    if none.bound == 0 and none.certificate["levels"][1]["status"] == "optimal":
        assert groups.certificate["levels"][1]["value"] == pytest.approx(
            none.certificate["levels"][1]["value"], abs=1e-9
        )


def paired(grouping: Grouping, types: int) -> Pairing:
    """A grouping on two seats as a pairing."""
    rows = np.pad(grouping.members, ((0, 0), (0, 2 - grouping.members.shape[1])),
                  constant_values=-1)  # fmt: skip
    both = rows[:, 1] >= 0
    single = np.bincount(rows[~both, 0], weights=grouping.number[~both], minlength=types)
    return Pairing(rows[both, 0], rows[both, 1], grouping.number[both], single.astype(int))


def test_empty_core_is_proved_by_both_engines() -> None:
    outcome = core(EMPTY)
    counted = Counted(EMPTY)
    least = min(map(counted.least_alpha, counted.groupings()))
    assert least == Fraction(1, 10)
    assert (outcome.bound, outcome.certificate["confirmed"]) == (1, True)
    assert outcome.certificate["least_alpha"] == {"value": float(least), "bound": float(least)}
    # at the least alpha itself nobody gains more than it
    assert core(EMPTY, alpha=float(least)).bound == 0
    assert core(EMPTY, alpha=float(least - Fraction(1, UNIT))).bound == 1


@pytest.mark.parametrize("seed", [2, 5])
def test_undecided_core_returns_least_blocked_grouping(seed: int) -> None:
    # the one of least alpha may be blocked by more groups
    none = CoreLimits(full_seconds=1e9)  # no time for any program
    instance = drawn(8, 60, 4, seed)
    start = hierarchical(instance)
    outcome = core(instance, start=start, limits=none, time_limit=60)
    count = blocking_groups(instance, outcome.solution).count
    assert 0 < count <= blocking_groups(instance, start).count
    assert outcome.certificate["levels"][0]["value"] == count
    approved(outcome.certificate["proof"])
    assert (outcome.status, outcome.bound) == ("feasible", 0)


def test_more_than_ten_million_group_types_are_refused() -> None:
    instance = drawn(100, 1000, 6)
    for method in (optimal, core, least_alpha):
        with refused(InvalidOption):
            method(instance)


def test_group_table_without_grouping_is_infeasible() -> None:
    pairs_only = Groups(
        count=[2, 1], seats=[3], machines=[1], members=[[0, 1, -1]], losses=[[0.1, 0.1, 0]],
        names=("web", "batch"),
    )  # fmt: skip
    for method in (optimal, core, least_alpha):
        outcome = method(pairs_only)
        assert (outcome.status, outcome.solution) == ("infeasible", None)
        approved(outcome.certificate["proof"])
    from cotenant.baselines.groups import serpentine

    with refused(NoSolution):
        serpentine(pairs_only)


def test_equal_machine_classes_are_merged() -> None:
    one, two = EMPTY, EMPTY.replace(seats=[3, 3], machines=[1, 1], classes=())
    for found in (optimal(two).solution, core(two).solution):
        merged = Grouping(found.members, np.zeros_like(found.where), found.number)
        check(two, found)
        assert blocking_groups(two, found).count == blocking_groups(one, merged).count
    assert optimal(one).bound == optimal(two).bound
    assert least_alpha(one).bound == least_alpha(two).bound
