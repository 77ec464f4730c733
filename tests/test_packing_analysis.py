"""Sharing fixed servers: metrics, audits, simulation, experiments, pictures and frontiers."""

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.report_rows import recorded
from support.seeds import numbers

from cotenant.analysis.packing.frontier import price_frontiers
from cotenant.analysis.packing.metrics import (
    METRICS,
    audit,
    metrics,
    pooled_split,
    server_split,
    still_fitting,
)
from cotenant.analysis.packing.pictures import pictures, record
from cotenant.analysis.packing.simulation import simulate
from cotenant.analysis.report.picture import Drawing
from cotenant.baselines.packing import best_fit, drf, fair_slots, first_fit, random_fit
from cotenant.catalog import methods
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.formats import VmTrace
from cotenant.instances.packing.game import FairShare
from cotenant.instances.packing.generators import paper_example
from cotenant.instances.problem.documents import to_json_value
from cotenant.papers.registry import experiment_named
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.dominant_shares import max_min_share, max_utilization
from cotenant.solvers.packing.game.play import fuga

EXAMPLE = paper_example(rng=np.random.default_rng(0))
RIVALS = (first_fit, best_fit, random_fit, drf, fair_slots)


def test_figure_2_payoffs_of_xu_and_yu_equal_sums_of_absolute_values() -> None:
    """Users get (4, 8, 40), (2, 2, 20), (2, 2, 10) of (8, 14, 90); lambda is 8/23; the servers use
    1, 7/8, 1 and 1, 1, 5/6.
    """
    total, got = (8, 14, 90), ((4, 8, 40), (2, 2, 20), (2, 2, 10))
    demand = ((7 / 8, 1, 7 / 9), (1, 4 / 7, 8 / 9), (1, 4 / 7, 4 / 9))
    variance = sum(
        abs(x / c - 8 / 23 * d)
        for row, own in zip(got, demand, strict=True)
        for x, c, d in zip(row, total, own, strict=True)
    )
    uneven = [
        sum(abs(u / (sum(used) / 3) - 1) for u in used) for used in ((1, 7 / 8, 1), (1, 1, 5 / 6))
    ]
    told = {one.what: one.cause for one in experiment_named("packing-figure-2").run().findings}
    causes = {told[f"U({server}), both choose their second combination"] for server in (1, 2)}
    assert causes == {
        "the roots of eq. 14: with sums of absolute values in place of both, "
        f"U(1) is {-variance - uneven[0]:.3f} and U(2) {-variance - uneven[1]:.3f}"
    }


@pytest.mark.parametrize("number", numbers(12, 4))
@pytest.mark.parametrize("capped", [False, True])
def test_max_min_share_equals_enumeration(brute, capped: bool, number: int) -> None:
    rng = np.random.default_rng(3 + capped)
    for _ in range(number):
        instance = brute.random_cluster(rng, capped)
        unit, best = FairShare.of(instance).unit, brute.leximin(instance)
        outcome = max_min_share(instance)
        check(instance, outcome.solution)
        total = outcome.solution.totals(instance.types).tolist()
        assert sorted(n * u for n, u in zip(total, unit, strict=True)) == best
        assert (outcome.status, outcome.bound) == (Status.OPTIMAL, float(best[0]))
        assert outcome.certificate["leximin"]
        for index, level in enumerate(outcome.certificate["levels"]):
            assert level["value"] == level["bound"] == float(sum(best[: index + 1]))
        for rival in (drf, first_fit):
            assert metrics(instance, rival(instance))["dominant_share_min"] <= outcome.bound + 1e-9


@pytest.mark.parametrize("capped", [False, True])
def test_elastic_policies_fill_servers_maximally(brute, capped: bool) -> None:
    rng = np.random.default_rng(23 + capped)
    for _ in range(30):
        instance = brute.random_cluster(rng, capped)
        for rival in RIVALS:
            placement = rival(instance, rng=np.random.default_rng(1))
            check(instance, placement)
            if rival is not fair_slots:
                assert still_fitting(instance, placement) == ()


def test_drf_equals_textbook_example() -> None:
    """Ghodsi et al. (2011), section 4.1: 9 CPUs and 18 GB; <1, 4> gets 3 VMs and <3, 1> gets 2."""
    instance = Packing(capacity=[[9, 18]], demand=[[1, 4], [3, 1]], servers=[1.0])
    assert drf(instance).totals(2).tolist() == [3, 2]
    assert max_min_share(instance).solution.totals(2).tolist() == [3, 2]


def test_packing_metrics_of_paper_allocation_equal_hand_calculation() -> None:
    measured = metrics(EXAMPLE, Placement([[1, 2, 0], [1, 0, 1]], [0, 1]))
    # of the game; of an instance with a placement, with cards, with services
    elsewhere = {"price_of_anarchy", "moves", "cards", "cards_allocated", "served_least"}
    assert set(measured) >= {metric.name for metric in METRICS} - elsewhere
    assert round(measured["fairness_variance"], 4) == 1.0154
    assert round(measured["disutility"], 4) == round(1.1219 + 1.1595, 4)
    assert measured["servers"] == 2
    assert measured["dominant_share_min"] == pytest.approx(0.25)  # one r3 VM: 2 of 8 CPUs
    assert measured["utilization:CPU"] == pytest.approx((6 + 8) / 14)
    assert measured["min_utilization"] == pytest.approx(
        (0.875 + (20 - 6 + 6) / 20 * 0 + min((8 - 4 + 4) / 8, 20 / 20, 100 / 120)) / 2
    )


def test_packing_audits_follow_definitions() -> None:
    instance = Packing(capacity=[[6, 6]], demand=[[1, 1], [2, 1]], servers=[2.0])
    assert pooled_split(instance).tolist() == [6, 3]
    assert server_split(instance).tolist() == [6, 2]
    lopsided = Placement([[0, 3], [2, 2]], [0, 0])
    found = audit(instance, lopsided)
    assert found.below_pooled_split == (0,)
    assert found.below_server_split == (0,)
    assert found.enviers == (
        0,
    )  # 10 CPUs and 5 of the other resource would hold 5 of its VMs; it has 2
    assert found.still_fits == ()
    assert to_json_value(found)["enviers"] == [0]
    room = audit(instance, Placement([[2, 2]], [0]))  # a full server, and an empty one
    assert room.still_fits == (0, 1)


def trace(start: list[float], end: list[float]) -> VmTrace:
    return VmTrace(
        np.array([[2, 2]]),
        np.zeros(len(start), dtype=int),
        np.array(start),
        np.array(end),
        ("CPU", "memory"),
        ("vm",),
        "made up",
    )


def test_arrival_simulation_places_vms_at_next_slot_and_queues_others() -> None:
    made = trace([0, 1, 2, 15], [25, 26, 27, 100])
    done = simulate(made, np.array([[4, 4]]), np.array([1]), "first-fit", slot=10.0, slots=5)
    # slot at 10: three ask, two fit (until 35 and 35); 20: one more asks; at 40 both have left and
    # the two waiting are served
    assert [(slot.time, slot.arrived, slot.placed, slot.waiting,
    slot.running) for slot in done] == [
        (10, 3, 2, 1, 2), (20, 1, 0, 2, 2), (30, 0, 0, 2, 2), (40, 0, 2, 0, 2), (50, 0, 0, 0, 2),
    ]  # fmt: skip
    assert [slot.utilization[0] for slot in done] == [1.0] * 5


@pytest.mark.parametrize(
    "policy",
    [
        method.name
        for method in methods("packing")
        if method.precondition.endswith(":shared_servers")
    ],
)
def test_simulation_conserves_vms_under_every_policy(policy: str) -> None:
    rng = np.random.default_rng(2)
    start = np.sort(rng.uniform(0, 100, 20))
    made = VmTrace(
        np.array([[1, 1], [2, 6]]),
        rng.integers(0, 2, 20),
        start,
        start + rng.uniform(1, 60, 20),
        ("CPU", "memory"),
        ("a", "b"),
        "",
    )
    done = simulate(
        made, np.array([[4, 8], [8, 16]]), np.array([2, 1]), policy, slot=20.0, rounds=3, eta=3
    )
    assert len(done) == 6
    assert sum(slot.arrived for slot in done) == 20
    assert sum(slot.placed for slot in done) + done[-1].waiting == 20
    assert all(0 <= used <= 1 for slot in done for used in slot.utilization)


def test_drf_treats_exactly_equal_dominant_shares_as_ties() -> None:
    # three VMs of the first user and one of the second are 3/10 each (3 x 0.1 > 0.3 in floats): the
    # first is next
    instance = Packing(capacity=[[9], [1]], servers=[1, 1], demand=[[1], [3]])
    assert drf(instance).totals(2).tolist() == [7, 1]
    # the second user's share is that of one resource, though it takes as much of the other
    instance = Packing(capacity=[[20, 20]], servers=[1], demand=[[2, 0], [2, 2]])
    assert drf(instance).totals(2).tolist() == [5, 5]


@pytest.mark.parametrize(("servers", "expected"), [([4], 0.25), ([np.inf], 1.0)])
def test_packing_metrics_count_unused_servers_of_fixed_clusters(
    servers: list[float], expected: float
) -> None:
    instance = Packing([[2]], [[1]], request=[2], servers=servers)
    assert metrics(instance, Placement([[2]], [0]))["utilization"] == expected


def utilization(instance: Packing, total: tuple[int, ...]) -> float:
    """Mean over resources of what these VMs and the load from before use."""
    space = instance.initial_capacity.T @ instance.server_count
    busy = (instance.initial_capacity - instance.capacity).T @ instance.server_count
    return float(np.mean((busy + np.array(total) @ instance.demand) / space))


def least_share(instance: Packing, total: tuple[int, ...]) -> float:
    """Of the users who want something."""
    return float(FairShare.of(instance).shares(np.array(total))[instance.requested > 0].min())


@pytest.mark.slow
@pytest.mark.parametrize("capped", [False, True])
def test_max_utilization_at_share_limit_equals_enumeration(brute: ModuleType, capped: bool) -> None:
    rng = np.random.default_rng(31 + capped)
    impossible = 0
    for _ in range(6):
        instance = brute.random_cluster(rng, capped)
        totals = list(brute.totals_possible(instance))
        shares = sorted({least_share(instance, total) for total in totals})
        for share in (*shares, shares[-1] + 1e-3, (shares[0] + shares[-1]) / 2):
            allowed = [total for total in totals if least_share(instance, total) >= share]
            outcome = max_utilization(instance, least_share=share)
            if not allowed:
                impossible += 1
                assert (outcome.status, outcome.solution, outcome.bound) == (
                    Status.INFEASIBLE,
                    None,
                    None,
                )
                continue
            check(instance, outcome.solution)
            measured = metrics(instance, outcome.solution)
            best = max(utilization(instance, total) for total in allowed)
            assert measured["utilization"] == pytest.approx(best, abs=1e-9)
            assert outcome.bound == pytest.approx(best, abs=1e-9)
            assert measured["dominant_share_min"] >= share
            assert outcome.status is Status.OPTIMAL
    assert impossible >= 5


@pytest.mark.slow
@pytest.mark.parametrize("capped", [False, True])
def test_packing_least_share_frontier_equals_enumeration(brute: ModuleType, capped: bool) -> None:
    rng = np.random.default_rng(41 + capped)
    traded = 0
    for _ in range(15 if capped else 8):  # what is not capped takes longer
        instance = brute.random_cluster(rng, capped)
        totals = list(brute.totals_possible(instance))
        (frontier,) = price_frontiers(instance, points=5)
        assert frontier.status is Status.OPTIMAL
        assert frontier.stop is Stop.FINISHED
        assert len(frontier.points) <= 5
        for point in frontier.points:
            allowed = [
                total
                for total in totals
                if point.limit is None or least_share(instance, total) >= point.limit - 1e-12
            ]
            best = max(utilization(instance, total) for total in allowed)
            assert point.value == pytest.approx(best, abs=1e-9)
            assert point.bound == pytest.approx(best, abs=1e-9)
        fairest = max(least_share(instance, total) for total in totals)
        assert frontier.points[0].reached == pytest.approx(fairest, abs=1e-12)
        assert frontier.points[-1].limit is None
        traded += frontier.points[0].value < frontier.points[-1].value - 1e-9
    assert traded >= 2


def test_limits_of_least_share_frontier_are_reachable_shares() -> None:
    """One server of 20, VMs of 7 and of 4: five of 4 use all of it; one of 7 and three of 4 (shares
    0.35 and 0.6), the fairest, use 19.
    """
    instance = Packing(capacity=[[20]], demand=[[7], [4]], servers=[1.0])
    (frontier,) = price_frontiers(instance, points=20)
    assert [point.limit for point in frontier.points] == [0.35, 0.2, None]
    assert [point.value for point in frontier.points] == [0.95, 0.95, 1.0]
    (few,) = price_frontiers(instance, points=2)
    assert [point.limit for point in few.points] == [0.35, None]


def test_least_share_frontier_with_too_many_vm_combinations_is_unproved() -> None:
    even = Packing(capacity=[[2001]], demand=[[2], [4], [6]], servers=[1.0])
    (frontier,) = price_frontiers(even)
    assert frontier.status is Status.FEASIBLE
    assert max_utilization(even).stop is Stop.ITERATION_LIMIT
    for point in frontier.points:
        assert point.value <= 2000 / 2001 < point.bound


def test_packing_record_has_sorted_server_utilization() -> None:
    """Two servers of 10 CPU, 2 of them in use before; one holds two VMs of 3 CPU, the other
    nothing.
    """
    instance = Packing(
        capacity=[[8, 4]],
        initial=[[10, 4]],
        demand=[[3, 1]],
        servers=[2.0],
        resources=("CPU", "disk"),
    )
    kept = record(instance, Placement(np.array([[2]]), np.array([0])))
    assert kept["fill"] == {"CPU": [0.8, 0.2], "disk": [0.5, 0.0]}
    assert (kept["servers"], kept["of_servers"]) == (1, 2)
    assert kept["vms"] == [2]
    assert kept["wanted"] == [None]
    assert kept["shares"] == [pytest.approx(6 / 16)]


row = partial(recorded, "packing")
"""A row of a comparison, as far as pictures look at it."""


def test_game_tree_is_drawn_from_rows() -> None:
    pytest.importorskip("matplotlib")
    rows = json.loads(
        json.dumps(
            [
                row("DRF", record(EXAMPLE, drf(EXAMPLE))),
                row("FUGA", record(EXAMPLE, fuga(EXAMPLE).solution)),
            ]
        )
    )
    (tree,) = (picture for picture in pictures(rows) if isinstance(picture, Drawing))
    assert "FUGA plays" in tree.alt
    texts = [text.get_text() for text in tree.draw().axes[0].texts]
    assert sum(text.startswith("server") for text in texts) == 6
    assert sum(text.startswith("(") for text in texts) == 25
    assert tree.numbers is not None
    assert len(tree.numbers.rows) == 25


def test_utilization_bound_of_unfinished_program_includes_initial_load(
    engines: Callable[..., None],
) -> None:
    def unfinished(*given: Any, **options: Any) -> Any:
        whole = solve_program(*given, **options)
        stopped = {"status": Status.UNKNOWN, "stop": Stop.TIME_LIMIT}
        return replace(whole, point=None, objective=None, **stopped)

    engines(solve_program=unfinished)
    busy = Packing([[20]], [[7], [4]], servers=[1], initial=[[30]])  # type: ignore[arg-type]
    outcome = max_utilization(busy, start=Placement([[1, 0]], [0]))  # type: ignore[arg-type]
    # 10 of 30 are busy, five VMs of 4 take the rest
    assert outcome.bound == pytest.approx(1.0, abs=1e-9)
    assert outcome.status is Status.FEASIBLE


def test_moves_frontier_of_infeasible_instance_is_empty() -> None:
    nothing = Packing(
        [[4]], [[2]], [3], [2], limits=[{"types": [0], "most": 1}], placed=np.zeros((0, 3))
    )  # type: ignore[arg-type]
    (frontier,) = price_frontiers(nothing)
    assert frontier.points == ()
    approved(frontier.note)
    (frontier,) = price_frontiers(nothing.replace(limits=()))
    assert [(point.limit, point.value) for point in frontier.points] == [(2, 0.0)]
