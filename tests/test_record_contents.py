"""What the records of colocation, admission and market hold, and what their pictures make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cotenant
from cotenant.analysis.admission import pictures as admission
from cotenant.analysis.colocation import pictures as colocation
from cotenant.analysis.market import pictures as market
from cotenant.analysis.report.picture import Chart, HeatMap, Picture
from cotenant.analysis.report.picture_data import (
    curves,
    records_by_method,
)
from cotenant.analysis.run.rows import Row
from cotenant.instances.colocation import Colocation
from cotenant.instances.market import Market

DIGITS = 1e-3
"""Records hold four digits."""


def row(method: str, record: Any, **fields: Any) -> Row:
    given = {"method": method, "kind": "run", "record": record, "options": {}, "predict": None}
    return {**given, **fields}  # type: ignore[typeddict-item]


def named(pictures: list[Picture], name: str) -> Any:
    (found,) = (picture for picture in pictures if picture.name == name)
    return found


def test_picture_records_are_grouped_by_method_and_options() -> None:
    rows = [
        row("a", {"x": 1}, options={"alpha": 0.1}),
        row("a", {"x": 2}, options={"alpha": 0.2}),
        row("a", {"x": 3}, options={"alpha": 0.2}),
        row("b", {"x": 4}, options={"alpha": 0.1}),
        row("b", {"x": 5}, options={"alpha": 0.1}, predict=0.25),
        row("c", {"y": 1}),
        row("d", None),
    ]
    assert records_by_method(rows, "x") == {
        "a (alpha=0.1)": [{"x": 1}],
        "a (alpha=0.2)": [{"x": 2}, {"x": 3}],
        "b": [{"x": 4}],
        "b on 25 % sampled": [{"x": 5}],
    }


def test_methods_of_equal_picture_records_share_one_curve() -> None:
    kept = {
        "a": [{"x": [1.0]}],
        "b": [{"x": [1.0]}, {"x": [1.0]}],
        "c": [{"x": [0.0]}, {"x": [2.0]}],
    }
    found = [
        (group.methods, mean, low, high)
        for group, mean, low, high in curves(kept, lambda record: record["x"])
    ]
    assert found == [(("a", "b"), (1.0,), (), ()), (("c",), (1.0,), (0.0,), (2.0,))]


def test_pairing_record_agrees_with_metrics() -> None:
    instance = cotenant.read("colocation/cooper-1000")
    assert isinstance(instance, Colocation)
    for method in ("GR", "CO"):
        result = cotenant.solve(instance, method)
        record = colocation.record(instance, result.solution)
        assert record["blocking"][0] == result.metrics["blocking_pairs"]
        at = record["alphas"].index(0.05)
        assert (
            record["blocking"][at]
            == cotenant.solve(instance, method, alpha=0.05).metrics["blocking_pairs"]
        )
        assert record["blocking"] == sorted(record["blocking"], reverse=True)
        assert record["quantiles"][-1] == pytest.approx(result.metrics["worst_penalty"], rel=DIGITS)
        assert record["quantiles"] == sorted(record["quantiles"])
        shares = (
            instance.count[[instance.names.index(name) for name in record["names"]]]
            / instance.agents
        )
        assert shares @ record["penalty"] == pytest.approx(result.metrics["penalty"], rel=DIGITS)
        assert record["bandwidth"] == sorted(record["bandwidth"])


def test_fair_pairing_record_has_no_rank_violation() -> None:
    record = {
        "quantiles": [0.0] * 26,
        "alphas": [0.0],
        "alpha_mode": "penalty-points",
        "blocking": [0],
        "types": 3,
        "names": ["a", "b", "c"],
        "bandwidth": [1.0, 2.0, 3.0],
        "penalty": [0.1, 0.2, 0.3],
    }
    heat = named(
        colocation.pictures(
            [row("fair", record), row("unfair", record | {"penalty": [0.3, 0.2, 0.1]})]
        ),
        "colocation-penalty-ranks",
    )
    assert isinstance(heat, HeatMap)
    assert heat.values == ((0.0, 0.0, 0.0), (2.0, 0.0, -2.0))


def test_assignment_record_agrees_with_metrics() -> None:
    instance = cotenant.read("admission/hines-romano-I")
    for method in ("SM", "DA1"):
        result = cotenant.solve(instance, method)
        record = admission.record(instance, result.solution)  # type: ignore[arg-type]
        assert sum(record["speeds"]) == pytest.approx(result.metrics["total_speed"], rel=DIGITS)
        assert record["refused"] == sum(speed == 0 for speed in record["speeds"])
        assert np.mean(record["vm_fill"]) == pytest.approx(result.metrics["cores_used"], rel=1e-2)
        assert all(
            speed <= best * (1 + DIGITS)
            for speed, best in zip(record["speeds"], record["alone"], strict=True)
        )


def test_allocation_record_agrees_with_metrics() -> None:
    instance = cotenant.read("market/pool-100")
    assert isinstance(instance, Market)
    for method in ("ES", "XC", "utilitarian"):
        result = cotenant.solve(instance, method)
        record = market.record(instance, result.solution)
        assert record["sharing"]["endowment"][0] == pytest.approx(
            result.metrics["sharing_index"], rel=DIGITS
        )
        assert record["sharing"]["tenants"][0] == pytest.approx(
            result.metrics["sharing_index_tenants"], rel=DIGITS
        )
        assert record["envy"][0] == pytest.approx(result.metrics["envy_index"], rel=DIGITS)
        worst = np.array(record["envy_matrix"]).min() / 100
        assert worst <= result.metrics["envy_index"] + 1e-6 < worst + 0.0101
        assert len(record["envy_users"]) == market.MOST_USERS
        assert ("price" in record) == (result.solution.price is not None)


def test_envy_picture_shows_methods_with_worst_pairs() -> None:
    instance = cotenant.read("market/tiny")
    rows = []
    for method in ("fisher", "utilitarian", "PF"):
        record = market.record(instance, cotenant.solve(instance, method).solution)  # type: ignore[arg-type]
        rows.append(row(method, record))
    drawn = market.pictures(rows)
    maps = [picture.name for picture in drawn if isinstance(picture, HeatMap)]
    assert maps[0] == "market-envy-utilitarian"
    assert "market-envy-fisher" not in maps
    curves = named(drawn, "market-sharing-endowment")
    assert isinstance(curves, Chart)
    assert [series.name for series in curves.series] == ["fisher", "utilitarian", "PF", "no gain"]
