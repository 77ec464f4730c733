"""Exact methods on groups and pairs of different jobs, and their proofs (prices, and trees over the
groups they leave), against enumeration.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.group_cases import Counted, wrongs
from support.messages import approved, refused
from support.proved import Document, case_of, content_of, judged, proved
from support.seeds import ranges
from support.small_groups import different, drawn, every_cost

from cotenant.baselines.groups import hierarchical
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs
from cotenant.instances.colocation.objective import mean_penalty as mean_of_pairs
from cotenant.instances.groups import Grouping, Groups, blocking_groups, check, groups_from
from cotenant.instances.groups.generators import additive
from cotenant.instances.groups.instance import UNIT
from cotenant.instances.groups.stability import mean_penalty, total_units
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution
from cotenant.instances.problem.files import read
from cotenant.models.groups.columns import columns_of
from cotenant.solvers.blossom import MATCHED_FROM
from cotenant.solvers.colocation import optimal as optimal_pairs
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.engines import solve_program
from cotenant.solvers.groups.core import CoreLimits, core, least_alpha
from cotenant.solvers.groups.optimal import GroupLimits, mates, optimal
from cotenant.solvers.outcome import Clock, Status
from cotenant.solvers.proofs import patience
from cotenant.solvers.proofs.groups import pairing_step
from cotenant.verify.groups import Groups as CheckedGroups
from cotenant.verify.groups import groups_optimal
from cotenant.verify.reading import Refused

EMPTY = Groups(
    count=[1, 3, 1, 1], seats=[3], machines=[2],
    penalty=[[0.2, 0.1, 0.0, 0.3], [0.0, 0.1, 0.3, 0.3], [0.0, 0.2, 0.3, 0.1], [0.3, 0.3, 0.1, 0.2]],
)  # fmt: skip
"""Six jobs on two machines of three seats: each of the four groupings has a group that blocks it
below alpha 0.1.
"""


def additive_groups(types: int, jobs: int, seats: int, seed: int = 0) -> Groups:
    """Penalties that add."""
    return additive(types=types, jobs=jobs, seats=seats, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("seeds", ranges(400, 4, 20))
def test_group_methods_equal_enumeration(seeds: range) -> None:
    assert [(seed, *wrongs(seed)) for seed in seeds] == [(seed,) for seed in seeds]


@pytest.mark.slow
def test_group_programs_with_few_columns_per_type_give_valid_bounds() -> None:
    few = GroupLimits(near=1)
    for seed in range(100, 112):
        assert list(wrongs(seed, CoreLimits(near=1, relaxation=few))) == []
    for seed in range(4):
        instance = additive_groups(6, 24, 3, seed)
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


def test_empty_core_of_groups_is_proved_and_confirmed_by_second_engine() -> None:
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
    instance = additive_groups(8, 60, 4, seed)
    start = hierarchical(instance)
    outcome = core(instance, start=start, limits=none, time_limit=60)
    count = blocking_groups(instance, outcome.solution).count
    assert 0 < count <= blocking_groups(instance, start).count
    assert outcome.certificate["levels"][0]["value"] == count
    approved(outcome.certificate["proof"])
    assert (outcome.status, outcome.bound) == ("feasible", 0)


def test_more_than_ten_million_group_types_are_refused() -> None:
    instance = additive_groups(100, 1000, 6)
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


NEVER, ALWAYS = GroupLimits(routes=frozenset()), GroupLimits(pairs=0)


@pytest.mark.parametrize("seeds", ranges(1_500, 24, 300))
def test_blossom_matching_equals_enumeration(seeds: range) -> None:
    matched = 0
    for seed in seeds:
        instance = different(seed)
        found, every = optimal(instance, limits=ALWAYS), every_cost(instance)
        if not every:
            assert found.status is Status.INFEASIBLE, seed
            continue
        check(instance, found.solution)
        total = Fraction(total_units(instance, found.solution), UNIT * instance.jobs)
        assert found.status is Status.OPTIMAL, seed
        assert total == min(every), seed
        assert 0 <= total - Fraction(found.bound) <= Fraction(1, 2**53), seed  # below, as a float
        matched += found.certificate.get("engine") == "blossoms"
    assert matched > len(seeds) // 3


def colocated(jobs: int, machines: int, seed: int = 0) -> Colocation:
    """Different agents whose penalties are whole numbers of units, even and odd."""
    penalty = np.random.default_rng(seed).integers(1, UNIT, (jobs, jobs)) / UNIT
    return Colocation(penalty, np.ones(jobs, dtype=int), machines=machines)


@pytest.mark.parametrize(("jobs", "machines"), [(200, 100), (201, 101), (200, 103)])
def test_groups_of_two_equal_colocation_for_hundreds(jobs: int, machines: int) -> None:
    assert jobs >= MATCHED_FROM
    pairs = colocated(jobs, machines)
    instance = groups_from(pairs, seats=2, machines=machines)
    found = optimal(instance)
    assert found.certificate["engine"] == "blossoms"
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(optimal_pairs(pairs).bound, abs=1e-12)
    if machines == -(-jobs // 2):  # a policy that matches stage by stage has one, if it needs all
        assert total_units(instance, hierarchical(instance)) == total_units(
            instance, found.solution
        )


@pytest.mark.slow
@pytest.mark.parametrize("draw", [different, drawn])
@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 400), marks=pytest.mark.slow)])
def test_proved_group_bound_equals_enumeration(seeds: range, draw: Any) -> None:
    by_pairs = 0
    for seed in seeds:
        proof, every = proved(draw(seed), "optimal"), every_cost(draw(seed))
        kind = proof.document["claim"]["claim_kind"]
        assert kind == ("optimal" if every else "infeasible"), seed
        assert not every or proof.bound == min(every), seed
        by_pairs += proof.document["steps"][0]["kind"] == "dual"
    assert by_pairs > (len(seeds) // 2 if draw is different else 0)


def in_pairs(seed: int) -> Groups | None:
    """Jobs alike and unlike on classes of one and two seats; None where there is no grouping."""
    instance = drawn(seed // 2) if seed % 2 else different(seed // 2)
    places = np.minimum(instance.seats, 2 if seed % 4 else [2, 1][: len(instance.seats)])
    machines: Any = np.full(len(places), instance.jobs - seed % 3)
    made = instance.replace(seats=places, machines=np.maximum(machines, -(-instance.jobs // 2)))
    return made if every_cost(made) else None


@pytest.mark.slow
@pytest.mark.parametrize("seeds", ranges(400, 20, 100))
def test_cost_bound_of_groups_of_two_at_any_dual_prices_is_valid(seeds: range) -> None:
    for instance in filter(None, map(in_pairs, seeds)):
        rng, least = np.random.default_rng(len(instance.names)), min(every_cost(instance))
        given = CheckedGroups(case_of(instance))
        for _ in range(20):
            prices = rng.integers(-30, 60, instance.types) * given.unit // 100
            inside = np.flatnonzero(rng.random(instance.types) < 0.5).tolist()
            odd = sum(given.count[a] for a in inside) % 2
            sets = [[given.unit // 9, *inside]] if odd else []
            rent = int(rng.integers(0, 2)) * given.unit // 7
            step: Document = {"kind": "dual", "over": 2, "prices": prices.tolist(),
                              "rent": rent, "sets": sets}  # fmt: skip
            assert bound_by(instance, step) <= least
        if max(given.count) < 2:  # and the best there are
            begin = mates(instance, optimal(instance).solution)
            best = pairing_step(given, begin, Clock())
            assert best is not None
            assert bound_by(instance, best) <= least


def bound_by(instance: Groups, step: Document) -> Fraction:
    """What the verifier makes of a step."""
    [level] = groups_optimal(case_of(instance, None, {}, [step]))
    assert level.bound is not None
    return level.bound


def test_cost_bound_of_groups_of_two_uses_cheapest_machine_class() -> None:
    alike = Groups([2], 2, penalty=[[0.3]])
    step: Document = {"kind": "dual", "over": 1, "prices": [6], "rent": 0, "sets": []}
    assert bound_by(alike, step) == Fraction(3, 10)
    losses = [[0.5, 0.5], [-0.1, 0.0], [-0.1, 0.0]]
    apart = Groups([1, 1], [2], [2], members=[[0, 1], [0, -1], [1, -1]], losses=losses,
                   where=[-1] * 3)  # fmt: skip
    assert bound_by(apart, {**step, "prices": [0, 0]}) == Fraction(-1, 10)
    losses = [[0.1, 0.1], [0.3, 0.3], [0.5, 0.0], [0.5, 0.0]]
    unlike = apart.replace(seats=[2, 2], machines=[1, 1], members=[[0, 1], [0, 1], [0, -1], [1, -1]],
                           losses=losses, where=[0, 1, -1, -1], classes=["one", "other"])  # fmt: skip
    assert bound_by(unlike, {**step, "prices": [3, 3]}) == Fraction(1, 10)


def test_groups_with_many_empty_types_stay_within_verifier_work() -> None:
    table = [{"members": [0, 1], "penalty": [0.1, 0.1]}]
    document = {"count": [1, 1] + [0] * 9_998, "seats": [2], "machines": [1], "table": table}
    step: Document = {"kind": "dual", "over": 1, "prices": [], "rent": 0, "sets": []}
    with patience(), refused(Refused):
        groups_optimal(case_of(document, None, {}, [step]))


def higher(place: str) -> Any:
    """A step with a number more than it may be."""

    def change(proof: Document) -> None:
        step = proof["steps"][0]
        row = step[place] if place == "prices" else step["sets"][0]
        row[0] += step["over"] * 10**6

    return change


def test_changed_proof_is_refused() -> None:
    triples = np.arange(6) // 3
    near = np.where(triples[:, None] == triples, 0.1, 0.8)
    instance = Groups([1] * 6, 2, penalty=near)
    proof = proved(instance, "optimal")
    assert proof.document["steps"][0]["sets"]
    for change in (higher("prices"), higher("sets"),
                   lambda p: p["steps"][0]["sets"].clear(),
                   lambda p: p["steps"][0]["sets"][0].pop(),
                   lambda p: p["claim"].update(bound="1/2")):  # fmt: skip
        proof.refuses(change)
    larger = case_of(instance.replace(seats=[3]), None, {}, proof.document["steps"])
    with refused(Refused):
        groups_optimal(larger)


def document_of(instance: Any) -> Document:
    """The instance's fields as they are written."""
    document: Document = json.loads(content_of(instance), parse_float=str)
    return document


@pytest.mark.parametrize("seed", range(9))
def test_group_proof_of_any_prices_gives_valid_bound(seed: int) -> None:
    instance, rng = drawn(seed), np.random.default_rng(seed)
    least = min(every_cost(instance), default=None)
    given = CheckedGroups(case_of(instance))
    for _ in range(20 if least is not None else 0):
        prices = rng.integers(-30, 60, instance.types).tolist()
        hint = {"over": int(rng.integers(1, 99)), "numbers": prices}
        step: Document = {"kind": "propagation", "prices": hint}
        total, _, over = given.priced(step)
        step |= {"below": -(-total // over), "tree": []}
        [level] = groups_optimal(case_of(instance, None, {}, [step]))
        assert level.bound is not None
        assert level.bound <= least
        step["below"] = int(least * given.jobs * given.unit) + 1
        with refused(Refused):
            groups_optimal(case_of(instance, None, {}, [step]))


@pytest.mark.slow
def test_group_proof_of_thousand_jobs_is_verified() -> None:
    proof = proved(read("groups/cooper-4-seats"), "optimal")
    approved(proof.sentence)
    assert len(json.dumps(proof.document)) < 10_000


def below(proof: Document) -> None:
    proof["steps"][0]["below"] += 1
    proof["claim"] |= {"bound": "251/4000", "claim_kind": "gap"}


FORBIDDEN = {"members": [[0, 0, 0, 1], [1, 1, 2, 2]], "where": [0, 0], "number": [1, 1]}
FORGERIES: dict[str, Any] = {
    "one unit more": below,
    "a cheaper answer": lambda p: p["witness"].update(members=[[0, 1, -1], [0, 1, 2], [0, 1, 2]]),
    "a forbidden group": lambda p: p["witness"].update(FORBIDDEN),
    "a group twice": lambda p: p["witness"]["number"].__setitem__(0, 2),
    "a higher bound": lambda p: p["claim"].update(bound="1/15"),
    "no step": lambda p: p["steps"].clear(),
}


def test_changed_proof_of_tiny_groups_is_refused() -> None:
    proof = proved(read("groups/tiny"), "optimal")
    for change in FORGERIES.values():
        proof.refuses(change)
    for fields in ({"count": [3, 3, 3]}, {"machines": [2]}, {"seats": [2]}):
        other = json.dumps(document_of(read("groups/tiny")) | fields).encode()
        with refused(Refused):
            judged(other, proof.document)
