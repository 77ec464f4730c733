"""Pictures and frontiers of packing: shares guaranteed against brute force, what records hold, and
game trees kept as lists.
"""

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

from cotenant.analysis.packing.frontier import price_frontiers
from cotenant.analysis.packing.metrics import metrics
from cotenant.analysis.packing.pictures import pictures, record
from cotenant.analysis.report.picture import Drawing
from cotenant.baselines.packing import drf
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.game import FairShare
from cotenant.instances.packing.generators import paper_example
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.dominant_shares import max_utilization
from cotenant.solvers.packing.game.play import fuga

EXAMPLE = paper_example(rng=np.random.default_rng(0))


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
def test_max_utilization_at_least_share_equals_enumeration(brute: ModuleType, capped: bool) -> None:
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
def test_share_frontier_equals_enumeration(brute: ModuleType, capped: bool) -> None:
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


def test_packing_share_frontier_limits_are_reachable_shares() -> None:
    """One server of 20, VMs of 7 and of 4: five of 4 use all of it; one of 7 and three of 4 (shares
    0.35 and 0.6), the fairest, use 19.
    """
    instance = Packing(capacity=[[20]], demand=[[7], [4]], servers=[1.0])
    (frontier,) = price_frontiers(instance, points=20)
    assert [point.limit for point in frontier.points] == [0.35, 0.2, None]
    assert [point.value for point in frontier.points] == [0.95, 0.95, 1.0]
    (few,) = price_frontiers(instance, points=2)
    assert [point.limit for point in few.points] == [0.35, None]


def test_share_frontier_with_too_many_combinations_is_unproved() -> None:
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
