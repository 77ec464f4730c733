"""Cooper's figures redone: every verdict is computed, every picture holds what the findings say."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.report.picture import Chart
from cotenant.baselines.colocation import (
    complementary,
    marriage_random,
    roommates,
)
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InvalidOption
from cotenant.papers.cooper import populations
from cotenant.papers.cooper.attribution import figure_7, figure_8
from cotenant.papers.cooper.populations import (
    POLICIES,
    Setting,
)
from cotenant.papers.cooper.stability import figure_9, figure_10, figure_11
from cotenant.papers.experiment import Finding


def found(parts: Any) -> dict[str, Finding]:
    return {part.what: part for part in parts if isinstance(part, Finding)}


def chart(parts: Any, name: str) -> Chart:
    [picture] = [part for part in parts if isinstance(part, Chart) and part.name == name]
    return picture


def agents_of(pairing: Pairing) -> list[tuple[int, int]]:
    """(type, co-runner's type) of every agent; pairs of agents stand side by side."""
    agents = []
    for a, b, number in zip(
        pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True
    ):
        agents += [(a, b), (b, a)] * number
    return agents


def test_figure_8_rank_correlation_equals_spearman_formula() -> None:
    parts = figure_8(agents=400, draws=1)
    given = Setting(agents=400, draws=1)
    people = given.population(0)
    drawn = chart(parts, "colocation-figure-8-correlation").series[0]
    for name in POLICIES:
        agents = agents_of(given.paired(name, people, 0))
        total = [
            sum(people.penalty[a, b] for a, b in agents if a == kind)
            for kind in range(people.types)
        ]
        mean = [value / number for value, number in zip(total, people.count.tolist(), strict=True)]
        rank, demand = ranked(mean), ranked(given.demands.tolist())
        assert drawn.y[drawn.x.index(name)] == pytest.approx(statistics.correlation(rank, demand))


def ranked(values: list[float]) -> list[float]:
    """Average ranks."""
    below = [sum(other < value - 1e-12 for other in values) for value in values]
    upto = [sum(other <= value + 1e-12 for other in values) for value in values]
    return [(low + 1 + high) / 2 for low, high in zip(below, upto, strict=True)]


def test_figure_9_shares_equal_expectation_over_random_assignment() -> None:
    parts = figure_9(agents=60, draws=1)
    given = Setting(agents=60, draws=1)
    people = given.population(0)
    before, after = (agents_of(given.paired(name, people, 0)) for name in ("CO", "SMR"))
    improved = 0.0
    for kind, beside in before:
        now = [people.penalty[kind, other] for a, other in after if a == kind]
        was = people.penalty[kind, beside]
        improved += sum(was - value > 1e-9 for value in now) / len(now)
    [series] = [
        series for series in chart(parts, "colocation-figure-9").series if series.name == "improved"
    ]
    assert series.y[series.x.index("SMR/CO")] == pytest.approx(100 * improved / 60)


SECRETLY = {"SMR": complementary, "CO": marriage_random}
OWN = partial(roommates, ties="own")
FLIPS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Any], dict[str, tuple[str, str]]]] = [
    (figure_7, {}, SECRETLY, {
        "SMR, penalty rises with contentiousness": ("reproduced", "differs"),
        "CO, penalty rises with contentiousness": ("reproduced", "differs"),
    }),
    (figure_10, {"draws": 3}, SECRETLY | {"SMP": marriage_random}, {
        "SMP is less stable than SMR": ("reproduced", "differs"),
        "CO produces fewer blocking pairs than GR": ("differs", "reproduced"),
    }),
    (figure_9, {}, SECRETLY, {
        "SMR/CO: those who lose are the more contentious": ("reproduced", "differs"),
    }),
    (figure_9, {"coupling": "sorted"}, {"SR": OWN, "GR": OWN}, {
        "SR/GR improves performance": ("differs", "differs"),
    }),
    (figure_11, {}, {"SMP": complementary}, {
        "SMP performs best under beta-high": ("reproduced", "differs"),
    }),
]  # fmt: skip
"""Which claims are reproduced, and which are when policies answer what others would."""


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "options", "others", "claims"), FLIPS)
def test_verdicts_on_cooper_claims_change_with_policy_results(
    figure: Callable[..., Any], options: dict[str, Any], others: dict[str, Callable[..., Pairing]],
    claims: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = {"agents": 200, "draws": 2, **options}
    before, original = found(figure(**options)), populations.policies
    monkeypatch.setattr(populations, "policies", lambda *given: original(*given) | others)
    after = found(figure(**options))
    assert {what: (before[what].verdict, after[what].verdict) for what in claims} == claims


def written(folder: Path, instance: Colocation) -> str:
    """The path of an instance's file."""
    cotenant.write(instance, folder / "matrix.json")
    return str(folder / "matrix.json")


def test_figure_7_without_stable_pairing_draws_only_policies(tmp_path: Path) -> None:
    penalty = np.random.default_rng(2).random((5, 5)).round(2)
    matrix = written(tmp_path, Colocation(penalty, np.full(5, 2), bandwidth=np.arange(1, 6)))
    parts = figure_7(agents=30, draws=2, seed=15, matrix=matrix)
    assert len(chart(parts, "colocation-figure-7-stable").series) == 3


def test_odd_population_and_matrix_format_without_matrix_are_refused() -> None:
    with refused(InvalidOption):
        figure_7(agents=7)
    with refused(InvalidOption):
        figure_7(form="gavel")


def test_user_penalty_matrix_is_read_without_unpairable_types(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("job,a,b,c,d\na,.1,.2,.3,.1\nb,.3,.1,.2,inf\nc,.2,.3,.1,.2\nd,.1,.1,.1,inf\n")
    given = Setting(agents=20, draws=1, matrix=str(path), form="penalty-csv")
    assert given.types.base.names == ("a", "b", "c")
    assert not given.synthetic
    assert given.types.demand.startswith("penalty inflicted")
    assert given.demands.tolist() == pytest.approx([20.0, 20.0, 20.0])
    assert "without 1 types" in given.types.note
