"""Packing with rules on where VMs may run: inputs, enumeration, bounds, changed instances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

# mypy: disable-error-code="arg-type,union-attr"
from support.messages import refused
from support.oracles.placement import answers, best, states
from support.seeds import seeds

import cotenant
from cotenant.analysis.packing.frontier import price_frontiers
from cotenant.catalog import left_out
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.packing.generators import cluster
from cotenant.instances.packing.placement_constraints import Limit, Spread, stays
from cotenant.instances.problem import InfeasibleSolution, InvalidFile, InvalidInstance
from cotenant.models.packing.aggregate import aggregate_program
from cotenant.models.packing.assignment import assignment_model
from cotenant.solvers.engines import solve_cp_sat
from cotenant.solvers.outcome import Clock, Status
from cotenant.solvers.packing.aggregate import ExactProgram, aggregate_bound
from cotenant.solvers.packing.fitting import recolored
from cotenant.solvers.packing.minimum import min_cost, min_servers
from cotenant.solvers.packing.moves import fewest_moves, moves_bound
from cotenant.solvers.packing.presolve import presolve, rules_as_resources
from cotenant.verify.frame import ProofCase
from cotenant.verify.packing_shares import packing_utilization
from cotenant.verify.reading import Refused

DATABASE = Packing(
    capacity=[[4], [4], [4]], demand=[[1], [1]], request=[3, 3], servers=[1, 1, 2],
    zone=("a", "b", "c"), most_per_server=[1, np.inf], skew=[1, np.inf], names=("db", "web"),
    placed=[[0, 0, 1], [1, 0, 1], [2, 0, 1], [3, 1, 3]], server_names=("a1", "b1", "c1", "c2"),
)  # fmt: skip
"""Three replicas of a database, no two on one server nor in one zone, and three that go anywhere:
four servers now, three are enough, and one VM moves.
"""


def bound_of(instance: Packing) -> int:
    return aggregate_bound(presolve(instance), Clock()).bound


def test_min_servers_of_three_spread_replicas_is_three() -> None:
    result = cotenant.solve(DATABASE, "min-servers")
    assert (result.status, result.objective, result.bound) == ("optimal", 3, 3)
    assert (
        cotenant.solve(DATABASE.replace(most_per_server=None, skew=None), "min-servers").objective
        == 2
    )
    moves = cotenant.solve(DATABASE, "fewest-moves")
    assert (moves.status, moves.objective, moves.certificate["servers"]) == ("optimal", 1, 3)
    assert moves.certificate["on"] == [0, 1, 3]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", seeds(150, 12))
def test_fewest_moves_at_cost_limit_equals_enumeration(seed: int) -> None:
    """At the least cost and above, at less than that, and with a limit on servers besides."""
    [instance] = states(40_000 + 7 * seed, 1)
    found = answers(instance)
    least = min((cost for _, cost, _ in found), default=3)
    now = int(instance.server_cost[instance.server_class[np.unique(instance.placed[:, 0])]].sum())
    fewest = min((servers for servers, _, _ in found), default=1)
    for cost in sorted({max(least - 1, 1), least, least + 1, max(now, 1)}):
        for servers in (None, fewest, fewest + 1):
            moves = [
                m for n, paid, m in found if paid <= cost and (servers is None or n <= servers)
            ]
            result = cotenant.solve(instance, "fewest-moves", cost=cost, servers=servers)
            assert result.status == ("optimal" if moves else "infeasible"), (cost, servers)
            assert (result.objective, result.bound) == ((min(moves),) * 2 if moves else (None,) * 2)
            assert result.certificate["cost"] == cost
            assert not found or result.certificate["least_cost"] <= max(least, cost + 1)
            assert moves_bound(instance, servers, cost=cost) <= min(moves, default=2**62)


@pytest.mark.parametrize(("number", "status"), [(3, Status.OPTIMAL), (4, Status.INFEASIBLE)])
def test_assignment_model_decides_zone_spread_rule_exactly(number: int, status: Status) -> None:
    """One of them fits into the second zone: two and one are even enough, three and one are not."""
    ruled = presolve(
        Packing([[4], [1]], [[1]], request=[number], servers=[1, 1], zone=("a", "b"), skew=[1])
    )
    built = assignment_model(ruled, np.arange(2))
    assert solve_cp_sat(built.model).status is status


def test_packing_bound_at_any_dual_prices_of_aggregate_program_is_valid() -> None:
    rng = np.random.default_rng(0)
    instance, found = next((each, b) for each in states(3, 20) if (b := best(each)))
    problem = presolve(instance)
    exact = ExactProgram(aggregate_program(problem.pooled, problem.budget + 1).program)
    program = exact.program
    for scale in (0.01, 0.1, 1.0, 10.0):
        dual = rng.normal(size=program.rows) * scale
        assert exact.bound(dual, program.lower, program.upper) <= found.servers
    closed = aggregate_bound(problem, Clock())
    assert closed.closed
    assert 1 <= closed.bound <= found.servers


def test_identical_vms_are_merged_and_restored() -> None:
    rows = Packing(
        capacity=[[4]] * 4, demand=[[1]] * 6, request=[1] * 6, servers=[1] * 4,
        zone=("a", "a", "b", "b"), limits=(Limit((0, 1, 2), 1),), spreads=(Spread((0, 1, 2), 1),),
    )  # fmt: skip
    problem = presolve(rows)
    assert problem.members == ((0, 1, 2), (3, 4, 5))
    assert problem.kinds == ((0, 1), (2, 3))
    result = cotenant.solve(rows, "min-servers")
    assert result.objective == 3
    assert isinstance(result.solution, Placement)
    assert result.solution.totals(6).tolist() == [1] * 6


def test_moves_are_minimal_over_server_permutations() -> None:
    two = Packing(
        capacity=[[4]], demand=[[1], [2]], request=[2, 1], servers=[3],
        placed=[[0, 0, 2], [2, 1, 1]],
    )  # fmt: skip
    on, moves = stays(two, np.array([[0, 1], [2, 0]]), np.array([0, 0]))
    assert (on.tolist(), moves) == ([2, 0], 0)
    assert cotenant.solve(two, "FFD").metrics["moves"] == 1
    assert cotenant.solve(two, "fewest-moves", servers=1).objective == 1
    impossible = cotenant.solve(two.replace(capacity=[[3]]), "fewest-moves", servers=1)
    assert impossible.status == "infeasible"


def test_interrupt_returns_current_placement(interrupt_at: Any) -> None:
    two = Packing(
        capacity=[[4]], demand=[[1]], request=[2], servers=[3], placed=[[0, 0, 1], [2, 0, 1]]
    )
    interrupt_at("cotenant.solvers.packing.moves.aggregate_bound")
    assert cotenant.solve(two, "fewest-moves", servers=2).objective == 0
    interrupt_at("cotenant.solvers.packing.moves.aggregate_bound")
    assert fewest_moves(two, servers=1).status == "unknown"


def test_frontier_of_servers_and_moves_is_exact() -> None:
    [frontier] = price_frontiers(DATABASE, points=3)
    told = [(point.limit, point.value, point.bound) for point in frontier.points]
    assert told == [(3, 1, 1), (4, 0, 0)]
    assert "4 are now" in frontier.note


def test_vms_csv_reads_rules_and_current_placement(tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text("name,cpu,count,zone\nh1,4,1,a\nbig,8,2,b\n")
    vms = "name,cpu,count,allowed,most_per_server,apart,skew,server\n"
    rows = "web,1,2,,1,db,1,h1;big/2\ndb,2,1,h1;big,,,,\n"
    (tmp_path / "vms.csv").write_text(vms + rows)
    read = vms_csv(tmp_path)
    assert read.zone == ("a", "b")
    assert read.server_names == ("h1", "big/1", "big/2")
    assert read.placed.tolist() == [[0, 0, 1], [2, 0, 1]]
    assert read.apart.tolist() == [[0, 1]]
    assert read.most_per_server.tolist() == [1, np.inf]
    assert read.skew.tolist() == [1, np.inf]
    assert read.allowed.all()
    for wrong, text in (
        ("web,1,2,,1,dbb,1,h1\ndb,2,1,,,,,\n", "column 'apart' is 'dbb'"),
        ("web,1,2,h3,1,db,1,h1\ndb,2,1,,,,,\n", "column 'allowed' is 'h3'"),
        ("web,1,2,,1,db,1,big\ndb,2,1,,,,,\n", "column 'server' is 'big'"),
    ):
        (tmp_path / "vms.csv").write_text(vms + wrong)
        with pytest.raises(InvalidFile) as error:
            vms_csv(tmp_path)
        assert text in str(error.value)


def test_cluster_generator_placement_is_feasible_with_given_sizes() -> None:
    made = cluster(nodes=40, vms=400, types=60, rng=np.random.default_rng(1))
    assert made.server_count.sum() == 40
    now = presolve(made).now()
    assert now is not None
    assert made.placed is not None
    assert len(now[0]) == len(np.unique(made.placed[:, 0]))
    assert 0.2 < (made.most_per_server == 1).mean() < 0.5
    assert made == cluster(nodes=40, vms=400, types=60, rng=np.random.default_rng(1))


def test_presolve_merges_equal_servers_that_must_be_used() -> None:
    # six servers; on four of them a VM that may run nowhere else; eight VMs of 2 besides
    fixed = np.eye(4, 6, dtype=bool)
    instance = Packing(
        capacity=[[4]] * 6, demand=[[1]] * 4 + [[2]], request=[1.0] * 4 + [8.0],
        servers=[1.0] * 6, allowed=np.vstack([fixed, np.ones((1, 6), dtype=bool)]),
    )  # type: ignore[arg-type]  # fmt: skip
    problem = presolve(instance)
    assert sorted(problem.pooled.size.tolist()) == [1, 4]
    assert bound_of(instance) == 5  # six VMs on what the four have left, two on each of the others
    result = cotenant.solve(instance, "min-servers")
    assert (result.status, result.objective) == ("optimal", 6)
    assert cotenant.solve(instance.replace(request=[1.0] * 4 + [3.0]), "min-servers").bound == 4


@pytest.mark.parametrize("seed", seeds(200, 10))
def test_min_cost_at_prices_of_any_size_equals_enumeration(seed: int) -> None:
    """One class dearer than all others together is as good as a VM that is left waiting."""
    [instance] = states(60_000 + 3 * seed, 1)
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 9999, instance.classes)
    cost[0] = 1 + cost @ instance.server_count.astype(int)
    made = instance.replace(cost=cost)
    least = min((paid for _, paid, _ in answers(made)), default=None)
    result = cotenant.solve(made, "min-cost")
    assert result.status == ("infeasible" if least is None else "optimal")
    assert (result.objective, result.bound) == (least, least)
    problem = presolve(made, costs=True)
    assert least is None or aggregate_bound(problem, Clock()).bound <= least


def test_cheaper_server_keeps_zone_under_zone_rules() -> None:
    instance = Packing(
        capacity=[[1], [1], [1]], demand=[[1]], request=[2.0], servers=[2.0, 2.0, 2.0],
        cost=[9, 5, 1], zone=("a", "a", "b"), skew=[1.0],
    )  # fmt: skip
    for made, costs in ((instance, [1, 5]), (instance.replace(skew=None), [1, 1])):
        problem = presolve(made, costs=True)
        given = Placement(np.ones((2, 1), dtype=np.int64), np.array([0, 2]))
        placement = problem.placement(*recolored(problem, problem.counts(given)))
        check(made, placement)
        assert sorted(made.server_cost[placement.server_class].tolist()) == costs


def test_two_costly_servers_are_replaced_by_servers_of_cheaper_classes() -> None:
    instance = Packing(
        capacity=[[10, 10], [5, 5], [6, 6], [5, 5]], demand=[[6, 6], [4, 4], [3, 3]],
        request=[1.0, 1.0, 1.0], servers=[2.0, 2.0, 2.0, 1.0], cost=[9, 4, 5, 1],
    )  # fmt: skip
    problem = presolve(instance, costs=True)
    given = Placement(np.eye(3, dtype=np.int64), np.array([0, 0, 1]))
    placement = problem.placement(*recolored(problem, problem.counts(given)))
    check(instance, placement)
    assert sorted(instance.server_cost[placement.server_class].tolist()) == [1, 4, 5]


@pytest.mark.parametrize("block", seeds(40, 1))
def test_packing_rules_as_resources_keep_the_optimum(block: int) -> None:
    for seed in range(5 * block, 5 * block + 5):
        rng = np.random.default_rng(seed)
        ruled = Packing(
            capacity=rng.integers(4, 9, (2, 2)), demand=rng.integers(1, 4, (3, 2)),
            request=rng.integers(1, 4, 3).astype(float), servers=[np.inf, rng.choice([3, np.inf])],
            cost=[2, 1], allowed=[[True, True], [True, seed % 2 > 0], [True, True]],
            most_per_server=[2.0, np.inf, np.inf], limits=(Limit((1, 2), 2),),
            apart=[[0, 2]] if seed % 3 else None,
        )  # fmt: skip
        plain = rules_as_resources(ruled)
        if plain is None:  # servers of limited number on which types are apart
            assert seed % 3
            continue
        for method in (min_servers, min_cost):
            one, other = method(ruled), method(plain.instance)
            assert (one.status, one.bound) == (other.status, other.bound)
            if other.solution is not None:
                origin = plain.origin[other.solution.server_class]
                check(ruled, other.solution.replace(server_class=origin))


@pytest.mark.parametrize(("apart", "servers"), [(None, 7500), ([[0, 1]], 10_000)])
def test_many_vms_with_rules_on_servers_are_packed_by_columns(apart: Any, servers: int) -> None:
    """Two of a and one of b fill a server; where they are apart, two of either."""
    many = Packing(
        capacity=[[4]], demand=[[1], [2]], request=[10_000, 10_000], most_per_server=[2, np.inf],
        apart=apart,
    )  # fmt: skip
    found = cotenant.solve(many, "min-servers")
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, servers, servers)


def test_zone_rules_cannot_be_expressed_as_resources() -> None:
    zoned = Packing([[4], [4]], [[1]], [3.0], zone=("a", "b"), skew=[1.0])
    assert rules_as_resources(zoned) is None
    assert rules_as_resources(zoned.replace(skew=None, limits=(Limit((0,), 2, "zone"),))) is None
    assert rules_as_resources(zoned.replace(skew=None, most_per_server=[2.0])) is not None


RULED = Packing(
    capacity=[[8], [8], [8]],
    demand=[[2], [3], [1]],
    request=[3, 2, 2],
    servers=[2, 2, 1],
    zone=("east", "west", ""),
    names=("web", "db", "job"),
    allowed=[[1, 1, 0], [1, 1, 1], [1, 1, 1]],
    most_per_server=[2, 1, np.inf],
    apart=[[1, 2]],
    skew=[1, np.inf, np.inf],
    limits=(Limit((0, 2), 3), Limit((1,), 1, "zone")),
    spreads=(Spread((0, 2), 1, ("east", "west")),),
    placed=[[0, 0, 2], [4, 1, 1]],
    server_names=("e1", "e2", "w1", "w2", "x"),
)


def test_rules_round_trip_and_are_optional(tmp_path: Path) -> None:
    cotenant.write(RULED, tmp_path / "ruled.json")
    assert cotenant.read(tmp_path / "ruled.json") == RULED
    assert RULED.replace(limits=[{"types": [0], "most": 1}]).limits == (Limit((0,), 1),)
    free = RULED.replace(
        allowed=None, most_per_server=None, apart=None, zone=(), skew=None, limits=(), spreads=(),
        placed=None, server_names=(),
    )  # fmt: skip
    assert set(free.document()) == {
        "capacity", "initial", "servers", "demand", "request", "resources", "names",
    }  # fmt: skip
    assert not free.has_constraints
    assert "placement rules" in RULED.summary()


KEPT = ([[1, 1, 0], [1, 0, 1], [1, 0, 1], [0, 1, 0]], [0, 0, 1, 2])
BROKEN = {
    "eligible": ([[1, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]], [0, 1, 2, 2]),
    "allowed": ([[1, 1, 0], [1, 0, 2], [1, 1, 0]], [0, 1, 2]),
    "alone": ([[1, 2, 0], [2, 0, 2]], [0, 1]),
    "apart": ([[1, 1, 1], [2, 0, 1], [0, 1, 0]], [0, 1, 2]),
    "together": ([[2, 0, 2], [1, 1, 0], [0, 1, 0]], [0, 1, 2]),
    "in a zone": ([[1, 1, 0], [1, 1, 0], [1, 0, 2]], [0, 0, 1]),
    "skew": ([[2, 1, 0], [1, 0, 0], [0, 0, 2], [0, 1, 0]], [0, 0, 1, 2]),
    "spread": ([[2, 1, 0], [0, 0, 2], [1, 0, 0], [0, 1, 0]], [0, 0, 1, 2]),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_placement_check_enforces_every_rule(rule: str) -> None:
    check(RULED, Placement(*KEPT))
    with refused(InfeasibleSolution):
        check(RULED, Placement(*BROKEN[rule]))


def test_zone_spread_rule_counts_empty_zone_where_a_vm_is_allowed() -> None:
    two = Packing(capacity=[[9]] * 3, demand=[[1]], request=[2], zone=("a", "b", "c"), skew=[1.0])
    with refused(InfeasibleSolution):
        check(two, Placement([[2]], [0]))
    check(two, Placement([[1], [1]], [0, 1]))
    only = two.replace(allowed=[[1, 0, 0]])
    check(only, Placement([[2]], [0]))
    gone = two.replace(servers=[1, 0, 0])
    check(gone, Placement([[2]], [0]))


def test_utilization_verifier_refuses_rules() -> None:
    with refused(Refused):
        packing_utilization(ProofCase(RULED.document(), {}, None, [[]]))


def test_methods_without_rule_support_refuse() -> None:
    named = set(left_out(RULED))
    assert {"FUGA", "DRF", "max-min-share"} <= named
    assert not {"min-servers", "cp-sat", "FFD"} & named
    for method in ("FUGA", "DRF"):
        with refused(InvalidInstance):
            cotenant.solve(RULED, method)
