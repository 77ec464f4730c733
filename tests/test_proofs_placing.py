"""Proofs of the fewest servers, the least cost and the fewest moves where rules say where VMs may
run, against every placement of small clusters.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.measured import DATA
from support.messages import approved, refused
from support.oracles.placement import WEB, Best, answers, best, odd, states
from support.proved import Document, Proved, case_of, content_of, has_point, proved

from cotenant.cluster.plan.answer import Question
from cotenant.cluster.plan.to_packing import translate
from cotenant.cluster.state.reading import read_state
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.generators import cluster
from cotenant.instances.packing.placement_constraints import present_counts
from cotenant.instances.problem import InfeasibleSolution, InvalidInstance
from cotenant.instances.problem.documents import to_json_value
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs.tree import tree_step
from cotenant.verify.packing import Packing as CheckedPacking
from cotenant.verify.packing_servers import moves_program, packing_servers, servers_program
from cotenant.verify.reading import Refused

SAMPLE = DATA / "clusters" / "k8s"

METHODS = {"min-servers": "servers", "min-cost": "cost", "fewest-moves": "moves"}


def small(first: int, number: int) -> list[tuple[Packing, Best | None]]:
    """So many small clusters and what is best there."""
    return [(instance, best(instance)) for instance in states(first, number)]


def optimum(least: Best, method: str) -> int:
    return int(getattr(least, METHODS[method]))


@pytest.mark.parametrize(
    "seeds",
    [(70, 6), *(pytest.param((s, 40), marks=pytest.mark.slow) for s in range(0, 4000, 400))],
)
def test_proved_placement_bound_equals_enumeration(seeds: tuple[int, int]) -> None:
    for instance, least in small(*seeds):
        for method in METHODS:
            [level] = proved(instance, method).proof.levels
            if least is None:
                assert level.infeasible, (instance.name, method)
            else:
                assert level.value == level.bound == optimum(least, method), (instance.name, method)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [0, 50, *(pytest.param(s, marks=pytest.mark.slow) for s in range(100, 1500, 50))]
)
def test_proved_fewest_moves_at_cost_equal_enumeration(first: int) -> None:
    for instance, optima in small(first, 4):
        found, least = answers(instance), 2 if optima is None else optima.cost
        for limits in ({"cost": least}, {"cost": least + 1}, {"cost": least, "servers": 2}):
            most = limits.get("servers", 99)
            moves = [m for n, paid, m in found if paid <= limits["cost"] and n <= most]
            made = proved(instance, "fewest-moves", **limits)
            [level] = made.proof.levels
            assert made.proof.options == limits
            if moves:
                assert level.value == level.bound == min(moves), (instance.name, limits)
            else:
                assert level.infeasible, (instance.name, limits)


def test_proof_of_moves_holds_only_for_its_cost() -> None:
    web = proved(WEB.replace(cost=[5, 3, 4]), "fewest-moves", cost=12)
    approved(web.sentence)
    web.refuses(lambda p: p["options"].update(cost=11))
    web.refuses(lambda p: p["options"].update(cost=13))
    web.refuses(lambda p: p.update(options={}))


def _tree(given: CheckedPacking, method: str, least: Best, below: int, each: bool) -> Any:
    """That a tree shows that nothing is below some value; at most 300 cases."""
    step = {"each": each}
    if method == "fewest-moves":
        program, _ = moves_program(given, {"servers": least.servers}, below, step)
    else:
        cost = given.cost if method == "min-cost" else [1] * len(given.room)
        program, _ = servers_program(given, cost, below, step)
    return tree_step(program, program.rows.pop(), Clock(), None, 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (400, 900))]
)
def test_tree_proves_placement_optimum_and_no_higher_bound(first: int) -> None:
    """Whatever a file says, the program holds the best placement."""
    for instance, optima in small(first, 10 if first == 0 else 60):
        if optima is None:
            continue
        given = CheckedPacking(case_of(instance), ruled=True)
        for method in METHODS:
            least = optimum(optima, method)
            for each in (False, True):
                assert _tree(given, method, optima, least + 1, each) is None, instance.name
            if least > 0:
                assert _tree(given, method, optima, least, True) is not None, instance.name


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds",
    [
        (3000, 3100),
        *(pytest.param((k, k + 1000), marks=pytest.mark.slow) for k in range(0, 8000, 1000)),
    ],
)
def test_verifier_and_check_accept_equal_placements(seeds: tuple[int, int]) -> None:
    """And each of them is a point of the programs, over classes and over servers."""
    judged = points = 0
    for seed in range(*seeds):
        with contextlib.suppress(InvalidInstance):
            instance, rng = odd(seed), random.Random(seed)
            instance = instance.replace(cost=[rng.randint(1, 9) for _ in instance.capacity])
            of, accepted = instance.server_class, list[np.ndarray[Any, Any]]()
            for _ in range(40):
                count = np.zeros((len(of), instance.types), dtype=int)
                for i, number in enumerate(instance.requested):
                    for _ in range(int(number)):
                        count[rng.randrange(len(of)), i] += 1
                placement = Placement(count, of)
                witness = {"count": placement.count, "server_class": placement.server_class}
                case = case_of(instance, to_json_value(witness))
                try:
                    check(instance, placement)
                except InfeasibleSolution:
                    with pytest.raises(Refused):
                        CheckedPacking(case, ruled=True)
                else:
                    accepted.append(count)
                    assert CheckedPacking(case, ruled=True).answered
                judged += 1
            for count in accepted[:2]:
                points += 1
                assert _is_point(instance, count), (seed, count)
    assert judged > 0
    assert points > 0


def _is_point(instance: Packing, count: Any) -> bool:
    """Whether programs over all servers, and over classes, have a point of this answer's VMs."""
    given = CheckedPacking(case_of(instance), ruled=True)
    used, of = count.any(axis=1), instance.server_class
    moves = int(np.maximum(present_counts(instance) - count, 0).sum())
    limits = {"servers": int(used.sum()), "cost": int(instance.server_cost[of[used]].sum())}
    for each in (False, True):
        step = {"each": each}
        program, kinds = moves_program(given, limits, moves + 1, step)
        own = range(len(of)) if each else range(instance.classes)
        for m, (c, column, on) in zip(own, kinds, strict=True):
            rows = [m] if each else np.flatnonzero(of == c)
            fixed = {column: int(used[rows].sum())}
            fixed |= {j: int(count[rows, i].sum()) for i, j in on.items()}
            if sum(fixed.values()) != used[rows].sum() + count[rows].sum():
                return False  # VMs without a column
            for j, value in fixed.items():
                program.equal([(j, 1)], value)
        if not has_point(program):
            return False
    return True


@cache
def web(method: str) -> Proved:
    return proved(WEB, method)


def test_bundled_web_cluster_has_proved_fewest_servers_and_moves() -> None:
    approved(web("min-servers").sentence)
    approved(web("fewest-moves").sentence)


def on_servers(*count: list[int]) -> Callable[[Document], None]:
    return lambda p: p.update(witness={"count": [*count], "server_class": [0, 1, 2]})


def fewer(proof: Document) -> None:
    proof["steps"][0]["below"] += 1
    proof["claim"] |= {"bound": 4, "claim_kind": "gap", "value": None}


FORGERIES: dict[str, tuple[str, Any]] = {
    "more servers are needed": ("min-servers", fewer),
    "types 0 and 1 together": ("min-servers", on_servers([1, 1, 1], [1, 1, 1], [1, 0, 0])),
    "all of type 0 in a zone": ("min-servers", on_servers([0, 2, 2], [2, 0, 0], [1, 0, 0])),
    "two of type 0, one of 2": ("min-servers", on_servers([2, 0, 1], [1, 0, 1], [0, 2, 0])),
    "a move less": ("fewest-moves", lambda p: p["claim"].update(value=p["claim"]["value"] - 1)),
    "a server twice": ("fewest-moves", lambda p: _set(p["steps"][0]["on"], 1, 0)),
    "of another class": ("fewest-moves", lambda p: p["steps"][0]["on"].reverse()),
    "two servers": ("fewest-moves", lambda p: p["options"].update(servers=2)),
}


def _set(numbers: list[int], place: int, other: int) -> None:
    numbers[place] = numbers[other]


@pytest.mark.parametrize(("method", "change"), FORGERIES.values(), ids=FORGERIES)
def test_changed_proof_is_refused(method: str, change: Any) -> None:
    web(method).refuses(change)


def test_proof_with_answer_violating_placement_rule_is_refused() -> None:
    document = json.loads(content_of(WEB))
    document["allowed"] = [[True, True, True], [True, True, True], [False, False, False]]
    with refused(Refused):
        CheckedPacking(case_of(document, web("min-servers").document["witness"]), ruled=True)


BAD: dict[str, Document] = {
    "allowed": {"allowed": [[1, 1]]},
    "within": {"limits": [{"types": [0], "most": 1, "within": "rack"}]},
    "twice": {"limits": [{"types": [0, 0], "most": 1}]},
    "zone": {"spreads": [{"types": [0], "skew": 1, "zones": ["c"]}]},
    "server": {"placed": [[9, 0, 1]]},
    "type": {"placed": [[0, 7, 1]]},
    "skew": {"skew": [0]},
    "extra": {"limits": [{"types": [0], "most": 1, "zones": []}]},
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_rules_are_refused_by_verifier(case: str) -> None:
    fields = BAD[case]
    document = {"capacity": [[4], [4]], "demand": [[1]], "request": [2], "servers": [1, 1]}
    with refused(Refused):
        packing_servers(case_of(document | fields, None, {}, []))


@pytest.mark.slow
def test_placement_proof_of_many_nodes_is_accepted() -> None:
    assert proved(cluster(nodes=60, rng=np.random.default_rng(1)), "min-servers").bound > 0


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample cluster is not at hand")
def test_fewest_nodes_of_advice_are_certified() -> None:
    state = read_state([str(SAMPLE / f"{name}.json") for name in ("nodes", "pods", "pdbs")])
    instance = translate(Question(state, repair=True)).instance
    approved(proved(instance, "min-servers").sentence)
    approved(proved(instance, "fewest-moves").sentence)
