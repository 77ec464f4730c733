"""What it means that a value and a bound agree: the same in every unit an instance is written in,
never more than is proved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cotenant
from cotenant.analysis.metric import Metric
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.run.gaps import gap_to
from cotenant.analysis.run.recheck import recheck
from cotenant.analysis.run.result import run
from cotenant.catalog import METHODS
from cotenant.instances.market import Allocation, Market
from cotenant.instances.problem import Instance, scale
from cotenant.solvers.outcome import AGREE, Outcome, Status, agree, gap, gap_absolute

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

    return run(
        market,
        method,
        method="claimed",
        objective_name="total_utility",
        metrics=analysis_of("market").metrics,
    )


UNITS = [
    ("colocation/tiny", "optimal"),
    ("market/tiny", "utilitarian"),
    ("market/tiny", "leximin"),
    ("admission/tiny", "optimal"),
    ("numa/kmeans-hot-blade", "fluid"),
]


@pytest.mark.parametrize(("name", "method"), UNITS)
@pytest.mark.parametrize("factor", [MILLIONTH, 1e-3])
def test_what_is_proved_in_one_unit_is_proved_in_another(
    name: str, method: str, factor: float
) -> None:
    given = cotenant.read(name)
    results = [
        cotenant.solve(instance, method) for instance in (given, in_another_unit(given, factor))
    ]
    assert [result.status for result in results] == [Status.OPTIMAL, Status.OPTIMAL]
    assert [result.gap for result in results] == [0.0, 0.0]
    for instance, result in zip((given, in_another_unit(given, factor)), results, strict=True):
        assert recheck(instance, result).broken == ()


def test_a_bound_far_from_a_tiny_value_proves_nothing() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    assert isinstance(market, Market)
    best = cotenant.solve(market, "utilitarian").objective
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert best is not None
    assert 1.01 * shared < best < 1e-6  # apart by a percent, and by less than a millionth
    result = claimed(market, best)
    assert result.status is Status.FEASIBLE
    assert "withdrawn" in result.certificate
    assert claimed(market, shared).status is Status.OPTIMAL


def test_a_stored_claim_about_a_tiny_value_is_seen_through() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert isinstance(market, Market)
    honest = claimed(market, shared)
    assert recheck(market, honest).broken == ()
    forged = replace(honest, outcome=replace(honest.outcome, bound=1.01 * shared))
    assert any("claimed optimal" in claim for claim in recheck(market, forged).broken)
    assert any(
        "contradicts" in claim
        for claim in recheck(
            market, replace(forged, outcome=replace(forged.outcome, bound=0.0))
        ).broken
    )
    assert any(
        "objective is" in claim
        for claim in recheck(market, replace(honest, objective=1.01 * shared)).broken
    )
    coarse = replace(forged, scale=1.0)
    assert any("scale" in claim for claim in recheck(market, coarse).broken)


def test_the_scale_is_kept_in_a_result_s_file() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    result = cotenant.solve(market, "utilitarian")
    assert result.scale == scale(market, "total_utility")
    assert cotenant.Result.from_document(result.document()).scale == result.scale
    document = result.document()
    document["result"]["scale"] = 0.0
    with pytest.raises(cotenant.CotenantError, match=r"scale is 0\.0"):
        cotenant.Result.from_document(document)


def test_one_blocking_pair_more_always_counts() -> None:
    many = cotenant.read("colocation/cooper-1000")
    assert scale(many, "blocking_pairs") == 1
    assert not agree(10.0**8, 10.0**8 + 1, scale(many, "blocking_pairs"))


@pytest.mark.parametrize(
    "name",
    ["colocation/tiny", "market/tiny", "admission/tiny", "packing/paper-example", "numa/kmeans"],
)
def test_no_answer_is_worth_more_than_the_scale(name: str) -> None:
    instance = cotenant.read(name)
    for method in METHODS:
        if method.problem != instance.problem or method.kind == "simulation":
            continue
        try:
            result = cotenant.solve(instance, method.name, time_limit=1)
        except cotenant.CotenantError:  # needs servers of another kind, bandwidths, ...
            continue
        for metric in (
            "penalty",
            "slack",
            "total_utility",
            "nash_welfare",
            "sharing_index",
            "total_speed",
            "served_rate",
            "link_power",
            "flow_power",
            "disutility",
        ):
            assert abs(result.metrics.get(metric, 0.0)) <= scale(instance, metric) * (1 + AGREE), (
                method.name,
                metric,
            )


def test_the_scale_follows_the_options_that_change_the_objective() -> None:
    market, blade = cotenant.read("market/tiny"), cotenant.read("numa/kmeans")
    assert scale(market, "nash_welfare", utility="linear") > scale(market, "nash_welfare")
    assert scale(blade, "link_power", ht_energy=72.0, pcie_energy=75.0) > 1.9 * scale(
        blade, "link_power"
    )
    assert scale(blade, "link_power", throughput=1.0) == pytest.approx(
        scale(blade, "link_power") / blade.rate
    )


def test_gaps_are_relative_to_the_objective_down_to_what_agrees_at_its_scale() -> None:
    assert gap(2e-12, 1e-12, scale=1e-11) == pytest.approx(0.5)
    assert gap(0.0, 1e-12, scale=1e-11) is None
    assert gap(1e-12, 1e-12 + 1e-21, scale=1e-11) == 0.0
    assert gap_absolute(1e6, 1e6 + 1e-4, scale=1e6) == 0.0
    cost = Metric("cost", "cost")
    assert gap_to(cost, 2e-12, 1e-12, scale=1e-11) == pytest.approx(1.0)
    assert gap_to(cost, 1e-12 + 1e-21, 1e-12, scale=1e-11) == 0.0


def test_a_market_without_useful_jobs_has_a_scale() -> None:
    idle = Market([4.0], [1.0], [0], [0], [0.5], [0.0])
    assert [scale(idle, name) for name in ("total_utility", "nash_welfare", "sharing_index")] == [
        1.0,
        1.0,
        1.0,
    ]
    result = cotenant.solve(idle, "utilitarian")
    assert (result.status, result.gap) == (Status.OPTIMAL, 0.0)
    assert isinstance(result.solution, Allocation)
    assert not np.any(result.solution.cores)
