"""What it means that a value and a bound agree: the same in every unit an instance is written in,
never more than is proved.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.messages import approved

import cotenant
from cotenant.analysis.metric import Metric
from cotenant.analysis.run.gaps import gap_to
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.verify_result import recheck
from cotenant.catalog import METHODS
from cotenant.instances.admission import Admission
from cotenant.instances.groups import Groups
from cotenant.instances.market import Allocation, Market
from cotenant.instances.packing import Packing
from cotenant.instances.problem import Instance, scale
from cotenant.instances.scheduling import Scheduling
from cotenant.solvers.outcome import AGREE, Outcome, Status, agree, gap, gap_absolute, implies

MILLIONTH = 1e-6


def in_another_unit(instance: Any, factor: float) -> Instance:
    """The same instance with penalties, work, speeds or services counted in another unit."""
    field = {
        "colocation": "penalty",
        "market": "work",
        "admission": "speed",
        "numa": "service_mean",
    }[instance.problem]
    changed: Instance = instance.replace(**{field: getattr(instance, field) * factor})
    return changed


def claimed(market: Market, bound: float) -> Any:
    """The equal shares, claimed to be optimal with that bound on the total utility."""

    def method(instance: Market) -> Outcome:
        return Outcome(cotenant.solve(instance, "ES").solution, bound, Status.OPTIMAL)

    return run(Question(market, method, "claimed", "total_utility"))


UNITS = [
    ("colocation/tiny", "optimal"),
    ("market/tiny", "utilitarian"),
    ("market/tiny", "leximin"),
    ("admission/tiny", "optimal"),
    ("numa/kmeans-hot-blade", "fluid"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "method"), UNITS)
@pytest.mark.parametrize("factor", [MILLIONTH, 1e-3])
def test_proofs_do_not_depend_on_the_unit(name: str, method: str, factor: float) -> None:
    given = cotenant.read(name)
    results = [
        cotenant.solve(instance, method) for instance in (given, in_another_unit(given, factor))
    ]
    assert [result.status for result in results] == [Status.OPTIMAL, Status.OPTIMAL]
    assert [result.gap for result in results] == [0.0, 0.0]
    for instance, result in zip((given, in_another_unit(given, factor)), results, strict=True):
        assert recheck(instance, result).broken == ()


def test_tiny_value_relatively_far_from_bound_is_not_optimal() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    assert isinstance(market, Market)
    best = cotenant.solve(market, "utilitarian").objective
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert best is not None
    assert 1.01 * shared < best < 1e-6  # apart by a percent, and by less than a millionth
    result = claimed(market, best)
    assert result.status is Status.FEASIBLE
    approved(result.certificate["withdrawn"])
    assert claimed(market, shared).status is Status.OPTIMAL


def test_check_refuses_false_optimality_of_tiny_value() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert isinstance(market, Market)
    honest = claimed(market, shared)
    assert recheck(market, honest).broken == ()
    forged = replace(honest, bound=1.01 * shared)
    assert any("claimed optimal" in claim for claim in recheck(market, forged).broken)
    false = {
        "contradicts": replace(forged, bound=0.0),
        "objective is": replace(honest, objective=1.01 * shared),
        "scale": replace(forged, scale=1.0),
    }
    for why, claims in false.items():
        assert any(why in claim for claim in recheck(market, claims).broken)


SCALED = (
    "penalty slack total_utility nash_welfare sharing_index total_speed served_rate link_power "
    "flow_power disutility"
).split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    ["colocation/tiny", "market/tiny", "admission/tiny", "packing/paper-example", "numa/kmeans"],
)
def test_metric_scale_bounds_objective_of_any_answer(name: str) -> None:
    instance = cotenant.read(name)
    for method in METHODS:
        if method.problem != instance.problem or method.kind == "simulation":
            continue
        try:
            result = cotenant.solve(instance, method.name, time_limit=1)
        except cotenant.CotenantError:  # needs servers of another kind, bandwidths, ...
            continue
        for metric in SCALED:
            most = scale(instance, metric) * (1 + AGREE)
            assert abs(result.metrics.get(metric, 0.0)) <= most, (method.name, metric)


NO_GPU = Admission([[0, 1], [0, 1]], [1, 1, 1, 1], [[1e12, 1], [1e12, 2], [1e12, 3], [1e12, 4]])
"""Cores of the first type are very fast, and no VM has one."""


def added(**changes: Any) -> Groups:
    """Jobs that lose 1e-9 beside each other, with other fields."""
    return Groups(**{"count": [2, 2, 1], "seats": 2, "penalty": np.full((3, 3), 1e-9), **changes})


def pressed(knots: list[float], curve: list[float]) -> Groups:
    return Groups([2, 2], 2, pressure=[1.0, 2.0], knots=knots, sensitivity=[curve, curve])


@pytest.mark.parametrize(
    ("instance", "objective", "most"),
    [
        pytest.param(NO_GPU, "total_speed", 10.0, id="admission: cores that no VM has"),
        pytest.param(
            cotenant.read("colocation/tiny").replace(
                count=[2, 0, 1, 1], penalty=[[0, 1, 0, 0]] + [[1, 1, 1, 1]] + [[0, 1, 1e-9, 0]] * 2,
                bandwidth=None,
            ),
            "penalty", 1e-9, id="colocation: absent types",
        ),
        pytest.param(
            added(penalty=[[1e-9, 1e-9, 1e-9], [1e-9, 1e-9, 1e-9], [1e-9, 1e-9, 1]]),
            "penalty", 1e-9, id="groups: one job beside itself",
        ),
        pytest.param(
            added(seats=[2, 60], machines=[3, 0], penalty=[np.full((3, 3), 1e-9), np.ones((3, 3))]),
            "penalty", 1e-9, id="groups: machines that there are none of",
        ),
        pytest.param(
            pressed([0, 2, 1e6], [0, 1e-9, 1]), "penalty", 1e-9, id="groups: pressure out of reach"
        ),
        pytest.param(
            Groups([2, 1], 2, members=[[0, 0], [0, 1], [1, 1]], losses=[[1e-9] * 2] * 2 + [[1, 1]]),
            "penalty", 1e-9, id="groups: runs that cannot be formed",
        ),
        pytest.param(
            Packing([[10**12]], [[10]], request=[2], servers=[1]), "utilization", 2e-11,
            id="packing: space that nobody asks for",
        ),
        pytest.param(
            Scheduling(
                machines=[1], horizon=10**9, organization=[0, 0], release=[0, 10**9],
                processing=[10, 10**8],
            ), "utilization", 1e-8,
            id="scheduling: jobs after the horizon",
        ),
    ],
)  # fmt: skip
def test_metric_scale_ignores_absent_types_and_unusable_pairs(
    instance: Instance, objective: str, most: float
) -> None:
    assert scale(instance, objective) == pytest.approx(most, rel=1e-3)


def test_scale_of_numa_power_metric_ignores_absent_distances() -> None:
    one = cotenant.read("numa/tiny").replace(blades=1, location_share=[0.5, 0.5])
    assert scale(one, "link_power", pcie_energy=1e9) == scale(one, "link_power")


@pytest.mark.parametrize("method", ["optimal", "most-jobs", "local-search"])
def test_core_types_without_cores_do_not_change_optimum(method: str) -> None:
    result = cotenant.solve(NO_GPU, method)
    assert result.metrics["total_speed"] == 7
    assert method == "local-search" or result.status is Status.OPTIMAL
    assert [level["status"] for level in result.certificate.get("levels", [])] in (
        [], ["optimal"] * 2
    )  # fmt: skip


def test_value_and_bound_agree_only_within_relative_tolerance() -> None:
    assert not agree(4.0, 7.0, 4e12)
    assert not agree(
        10.0**8, 10.0**8 + 1, scale(cotenant.read("colocation/tiny"), "blocking_pairs")
    )
    assert not agree(1e-12, 2e-12, 1.0)
    assert agree(0.0, -1e-17)  # the rounding of sums
    assert agree(0.5, 0.5 + 4e-10)
    assert not agree(0.5, 0.5 + 4e-9)
    assert gap(4.0, 7.0, scale=4e12) == pytest.approx(0.75)


def test_proof_covers_claim_without_tolerance() -> None:
    assert implies(7.0, 7.0, "max")
    assert implies(6.9, 7.0, "max")
    assert implies(7.0 + 7e-10, 7.0, "max")
    assert not implies(7.0 + 7e-8, 7.0, "max")
    assert not implies(7.0, 4.0, "max")
    assert not implies(4.0, 7.0, "min")
    assert implies(-1.0, -1.0 - 1e-10, "min")
    assert not implies(1e-300, 0.0, "max")
    assert not implies(-1e-300, 0.0, "min")
    assert implies(10.0**10, 10.0**10 + 1, "min")
    assert not implies(10.0**10, 10.0**10 + 1, "min", exact=True)
    assert implies(Fraction(1, 3), 1 / 3, "max", exact=True)
    assert not implies(Fraction(1, 3), math.nextafter(1 / 3, 0), "max", exact=True)


def test_metric_scale_depends_on_objective_options() -> None:
    market, blade = cotenant.read("market/tiny"), cotenant.read("numa/kmeans")
    assert scale(market, "nash_welfare", utility="linear") > scale(market, "nash_welfare")
    assert scale(blade, "link_power", ht_energy=72.0, pcie_energy=75.0) > 1.9 * scale(
        blade, "link_power"
    )
    assert scale(blade, "link_power", throughput=1.0) == pytest.approx(
        scale(blade, "link_power") / blade.rate
    )


def test_gaps_are_relative_and_zero_within_tolerance_of_metric_scale() -> None:
    assert gap(2e-12, 1e-12, scale=1e-11) == pytest.approx(0.5)
    assert gap(0.0, 1e-12, scale=1e-11) is None
    assert gap(1e-12, 1e-12 + 1e-21, scale=1e-11) == 0.0
    assert gap_absolute(1e6, 1e6 + 1e-4, scale=1e6) == 0.0
    cost = Metric("cost", "cost")
    assert gap_to(cost, 2e-12, 1e-12, scale=1e-11) == pytest.approx(1.0)
    assert gap_to(cost, 1e-12 + 1e-21, 1e-12, scale=1e-11) == 0.0


def test_metric_scale_of_market_without_useful_jobs_is_1() -> None:
    idle = Market([4.0], [1.0], [0], [0], [0.5], [0.0])
    for name in ("total_utility", "nash_welfare", "sharing_index"):
        assert scale(idle, name) == 1.0
    result = cotenant.solve(idle, "utilitarian")
    assert (result.status, result.gap) == (Status.OPTIMAL, 0.0)
    assert isinstance(result.solution, Allocation)
    assert not np.any(result.solution.cores)
