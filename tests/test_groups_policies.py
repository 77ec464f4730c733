"""Groups: inputs, policies by hand, metrics, models, claims and pictures."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from support.group_cases import machines_of
from support.messages import approved, refused

import cotenant
from cotenant.analysis.groups import metrics as module
from cotenant.analysis.groups.metrics import full_kinds
from cotenant.baselines import groups as policies
from cotenant.baselines.groups import (
    greedy,
    hierarchical,
    local_search,
    random_grouping,
    serpentine,
    sorted_by_pressure,
    threshold,
)
from cotenant.instances.groups import Grouping, Groups, blocking_groups, check, residuals
from cotenant.instances.groups.formats import curves_csv, groups_csv
from cotenant.instances.groups.generators import additive, pressure
from cotenant.instances.groups.penalties import units
from cotenant.instances.groups.stability import swap_blocking_pairs, total_units
from cotenant.instances.problem import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.problem.options import accepted
from cotenant.instances.problem.tables import plain_form
from cotenant.models.answer import instance_answer
from cotenant.models.groups.columns import columns_of
from cotenant.models.groups.core import core_program
from cotenant.models.groups.readable import core_model, predictor
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import solve_program

EVERY = [getattr(policies, name) for name in policies.__all__]

LINE = Groups(
    count=[1, 2, 2, 1], seats=[3], machines=[2], pressure=[4, 3, 2, 1], knots=[0, 8],
    sensitivity=[[0, 0.8]] * 4,
)  # fmt: skip
"""Everyone loses a tenth of the pressure beside it."""


def test_serpentine_and_sorted_groupings_equal_hand_calculation() -> None:
    # 4 3 | 2 3 turned round | 2 1
    assert machines_of(serpentine(LINE)) == ((0, (0, 2, 2)), (0, (1, 1, 3)))
    assert machines_of(sorted_by_pressure(LINE)) == ((0, (0, 1, 1)), (0, (2, 2, 3)))


@pytest.mark.parametrize("seed", range(8))
def test_sorted_grouping_is_in_core_of_pressure_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types, seats = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    one = pressure(types=types, jobs=int(rng.integers(8, 400)), seats=seats, rng=rng)
    few = one.jobs // (2 * seats)
    two = one.replace(  # two classes of machines, of curves that differ, and seats to spare
        seats=[seats, 2], machines=[few, one.jobs], classes=(),
        sensitivity=np.stack([one.sensitivity, one.sensitivity / 2]),
    )  # fmt: skip
    for instance in (one, two, one.replace(machines=[np.inf])):
        found = sorted_by_pressure(instance)
        assert blocking_groups(instance, found).count == 0
        # one's gain is the other's loss
        for grouping in (serpentine(one), random_grouping(one, rng=rng)):
            assert swap_blocking_pairs(one, grouping) == 0


def test_greedy_grouping_adds_least_penalty() -> None:
    # a and b spread out; c adds .1 beside b and .5 beside a; the last c adds .8 there, .5 beside a
    penalty = [[0, 0.01, 0.2], [0.01, 0, 0.1], [0.3, 0, 0.35]]
    instance = Groups(count=[1, 1, 2], seats=[3], machines=[2], penalty=penalty)
    assert machines_of(greedy(instance)) == ((0, (0, 2)), (0, (1, 2)))


def test_threshold_grouping_respects_tolerance() -> None:
    penalty = [[0.04, 0.02], [0.02, 0.2]]
    instance = Groups(count=[3, 2], seats=[3], machines=[5], penalty=penalty)
    # three of the first would lose .08 each; the second never share with each other
    assert machines_of(threshold(instance)) == ((0, (0, 0, 0)), (0, (1,)), (0, (1,)))
    found = threshold(instance, tolerance=0.08)  # not less than .08
    assert machines_of(found) == ((0, (0, 0, 1)), (0, (0, 1)))
    # machines run out: above the tolerance, where it adds least
    tight = instance.replace(machines=[2])
    check(tight, threshold(tight, tolerance=0.01))


def test_hierarchical_grouping_pairs_pairs() -> None:
    # each of the first is best beside one of the second, and such pairs beside each other
    penalty = np.full((2, 2), 0.2) - 0.15 * np.eye(2)[::-1]
    instance = Groups(count=[4, 4], seats=[4], machines=[2], penalty=penalty)
    assert machines_of(hierarchical(instance)) == ((0, (0, 0, 1, 1)),) * 2


@pytest.mark.parametrize("seed", range(8))
def test_local_search_grouping_is_swap_optimal(seed: int) -> None:
    instance = additive(types=4, jobs=11, seats=3, rng=np.random.default_rng(seed))
    found = local_search(instance, begin="random", rng=np.random.default_rng(seed))
    machines = [list(types) + [-1] * (3 - len(types)) for _, types in machines_of(found)]
    value = total_units(instance, found)
    assert value <= total_units(
        instance, random_grouping(instance, rng=np.random.default_rng(seed))
    )
    for one, other in itertools.combinations(range(len(machines)), 2):
        for a, b in itertools.product(range(3), repeat=2):
            changed = [list(row) for row in machines]
            changed[one][a], changed[other][b] = changed[other][b], changed[one][a]
            swapped = Grouping(changed, [0] * len(changed), [1] * len(changed))
            assert total_units(instance, swapped) >= value


@pytest.mark.parametrize("policy", EVERY)
def test_group_policies_respect_forbidden_groups_and_classes(policy: Callable[..., Any]) -> None:
    rng = np.random.default_rng(5)
    penalty = rng.integers(0, 30, size=(6, 6)) / 100
    penalty[0, 1] = penalty[2, 3] = np.inf
    instance = Groups(count=[5, 5, 4, 4, 8, 8], seats=[4, 2], machines=[6, np.inf], penalty=penalty)
    check(instance, policy(instance, **accepted(policy, {"rng": np.random.default_rng(1)})))


@pytest.mark.parametrize("policy", EVERY)
def test_group_policies_on_one_and_on_half_a_million_jobs_are_feasible(
    policy: Callable[..., Any],
) -> None:
    alone = Groups(count=[1], seats=[4], penalty=[[0.5]])
    found = policy(alone)
    assert machines_of(found) == ((0, (0,)),)
    many = additive(types=3, jobs=500_000, seats=3, rng=np.random.default_rng(0))
    check(many, policy(many))


TINY = cotenant.read("groups/tiny")
"""web, cache, batch on three machines of three seats."""

BEST = Grouping([[0, 0, -1], [0, 1, 1], [1, 2, 2]], [0, 0, 0], [1, 1, 1])
"""Its optimum: webs lose .07, .07, .02, caches .04, .04, .06, batches .10 each."""


def measured(grouping: Grouping, **options: Any) -> dict[str, float]:
    """The metrics of an answer to `TINY`."""
    return dict(cotenant.solve(TINY, lambda _: grouping, **options).metrics)


def test_group_metrics_equal_hand_calculation() -> None:
    found = measured(BEST)
    assert found["penalty"] == 0.0625 == (0.07 * 2 + 0.02 + 0.04 * 2 + 0.06 + 0.10 * 2) / 8
    assert (found["worst_penalty"], found["machines"]) == (0.10, 3)
    assert found["penalty_p95"] == np.quantile(
        [0.07] * 2 + [0.02, 0.04, 0.04, 0.06, 0.1, 0.1], 0.95
    )
    # three caches lose nothing together; two of the three with either batch lose .03, the batch .02
    assert found["blocking_groups"] == 1 + 3 * 2
    # two caches of the second machine gain .04 by the third, and no group gains more throughout
    assert found["least_alpha"] == 0.04
    # a batch and a cache of the second machine: .10 to .04, and .04 to .03
    assert found["swap_blocking_pairs"] == 2 * 2
    # of 28 pairs of eight jobs 1 + 3 + 3 are on one machine
    assert found["swap_blocking_share"] == 4 / (28 - 7)
    assert found["attribution"] == 1.0  # means .053, .047, .10 in the order of pressure


def test_group_gain_must_exceed_alpha() -> None:
    assert [measured(BEST, alpha=alpha)["blocking_groups"] for alpha in (0.0399, 0.04)] == [1, 0]
    assert [measured(BEST, alpha=alpha)["swap_blocking_pairs"] for alpha in (0.009, 0.01)] == [4, 0]


def test_group_metrics_without_data_are_omitted() -> None:
    constant = TINY.replace(pressure=[1, 1, 1])
    assert "attribution" not in module.metrics(constant, BEST)
    assert "attribution" not in module.metrics(TINY.replace(pressure=None), BEST)
    assert full_kinds(TINY) == 10
    many = additive(types=60, jobs=600, seats=6, rng=np.random.default_rng(0))
    assert full_kinds(many) > module.MOST_KINDS
    left = {"blocking_groups", "least_alpha"}
    assert set(module.metrics(many, serpentine(many))) & left == set()
    assert left <= {metric.name for metric in module.METRICS}


def test_group_models_convert_to_checked_answers() -> None:
    model = predictor(TINY)
    answer = solve_program(from_pyomo(model))
    answer.load(model)
    assert instance_answer(TINY, model) == BEST
    assert answer.objective == pytest.approx(0.0625)
    columns = columns_of(TINY)
    arrays = columns.program(TINY)
    assert instance_answer(TINY, arrays, solve_program(arrays)) == BEST
    with refused(cotenant.CotenantError):
        instance_answer(TINY, predictor(TINY))


@pytest.mark.parametrize("seed", range(6))
def test_pyomo_model_of_core_of_groups_equals_solved_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = additive(types=3, jobs=int(rng.integers(6, 12)), seats=3, rng=rng)
    for alpha in (0.0, 0.02):
        columns = columns_of(instance)
        built = core_program(instance, columns, columns, round(alpha * 1e12))
        arrays = solve_program(built.program)
        model = core_model(instance, alpha)
        answer = solve_program(from_pyomo(model))
        assert answer.status == arrays.status
        if arrays.point is None or arrays.objective is None:
            continue
        assert answer.objective == pytest.approx(arrays.objective / instance.jobs)
        answer.load(model)
        for found in (instance_answer(instance, model), instance_answer(instance, built, arrays)):
            assert isinstance(found, Grouping)
            assert blocking_groups(instance, found, alpha).count == 0


PENALTY = [[0.07, 0.01, 0.2], [0.04, 0.0, 0.03], [0.03, 0.01, 0.09]]
PAIRS = (
    "web + web,web,0.05\nweb + batch,web,0.12\nweb + batch,batch,0.04\nbatch + batch,batch,.09\n"
)
TRIPLES = "web + batch + web,web,0.18\nweb + batch + web,batch,0.06\n"


def tables(folder: Path, **texts: str) -> Path:
    """A folder with these tables."""
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_grouping_is_described_by_types_and_machines() -> None:
    tiny = cotenant.read("groups/tiny")
    many = tiny.replace(count=[9, 8, 4], machines=[7])
    answer = Grouping([[0, 0, 1], [0, 2, 1], [0, 1, 1]], [0, 0, 0], [3, 4, -0])
    assert answer.placed(3).tolist() == [10, 7, 4]
    with refused(cotenant.CotenantError):
        cotenant.check(many, answer)
    answer = Grouping([[1, 0, 0], [0, 2, 1], [0, 1, 1]], [0, 0, 0], [2, 4, 1])
    found = cotenant.solve(many, lambda _: answer).described()
    approved(found.sentence)
    assert found.columns == ("together", "machines", "mean penalty", "worst penalty")
    approved(str(found.rows[0][:2]))
    assert found.rows[0][2:] == pytest.approx(((0.21 + 0.07 + 0.04) / 3, 0.21))


def test_groups_csv_reader_keeps_measured_penalties_of_groups(tmp_path: Path) -> None:
    folder = tables(
        tmp_path, groups=f"group,job,penalty\n{PAIRS}{TRIPLES}web + web,web,.07\n",
        jobs="job,count,pressure\nbatch,3,4.5\nweb,6,1\n",
    )  # fmt: skip
    assert plain_form(folder) == "groups-csv"
    found = groups_csv(folder)
    assert found.names == ("batch", "web")
    assert (found.count.tolist(), found.seats.tolist()) == ([3, 6], [3])
    assert found.pressure is not None
    assert found.pressure.tolist() == [4.5, 1.0]
    rows = np.array([[1, 1, -1], [0, 1, 1], [0, 0, 0]])
    lost = units(found, 0, rows) / 1e12
    assert lost[:2].tolist() == [[0.06, 0.06, 0.0], [0.06, 0.18, 0.18]]  # of two runs the mean
    assert lost[2, 0] > 1000  # was not measured: forbidden
    approved(cotenant.solve(found, "optimal").described().sentence)


def test_additive_model_of_groups_csv_reports_error_on_larger_groups(tmp_path: Path) -> None:
    folder = tables(tmp_path, groups=f"group,job,penalty\n{PAIRS}{TRIPLES}")
    found = groups_csv(folder, model="additive", copies=3)
    assert found.penalty is not None
    assert found.penalty.tolist() == [[0.05, 0.12], [0.04, 0.09]]
    measured = residuals(found, groups_csv(folder, copies=3))
    # web + web + batch: .05 + .12 - .18, twice; .04 + .04 - .06
    assert np.sort(measured) == pytest.approx([-0.01, -0.01, 0.02])
    approved(found.source)
    alone = tables(tmp_path, groups=f"group,job,penalty\n{PAIRS}")
    approved(groups_csv(alone, model="additive").source)


def test_curves_reader_checks_monotonicity_and_errors(tmp_path: Path) -> None:
    folder = tables(
        tmp_path, jobs="job,pressure\nweb,1.5\nbatch,4\n",
        curves="job,pressure,penalty\nweb,0,0\nweb,6,.3\nbatch,0,0\nbatch,3,.05\nbatch,5,.03\n",
    )  # fmt: skip
    found = curves_csv(folder, copies=2, seats=2)
    assert found.knots is not None
    assert found.sensitivity is not None
    assert found.knots.tolist() == [0, 3, 5, 6]
    # batch fell from .05 to .03: both become their mean
    assert found.sensitivity.round(12).tolist() == [[0, 0.15, 0.25, 0.3], [0, 0.04, 0.04, 0.04]]
    assert units(found, 0, np.array([[0, 1]])).tolist() == [[200_000_000_000, 20_000_000_000]]
    tables(tmp_path, groups="group,job,penalty\nweb + batch,web,.25\nweb + batch,batch,.02\n")
    approved(curves_csv(folder).source)


def test_groups_csv_classes_have_own_seats_and_penalties(tmp_path: Path) -> None:
    folder = tables(
        tmp_path, classes="class,seats,machines\nbig,3,2\nsmall,2,inf\n",
        jobs="job,count\nweb,4\n",
        groups="group,job,penalty,class\nweb + web,web,.1,\nweb + web,web,.02,small\n"
        "web + web + web,web,.2,big\n",
    )  # fmt: skip
    found = groups_csv(folder)
    assert found.classes == ("big", "small")
    assert found.machines.tolist() == [2, np.inf]
    pair = np.array([[0, 0]])
    assert [units(found, place, pair)[0, 0] / 1e12 for place in (0, 1)] == [0.1, 0.02]
    result = cotenant.solve(found, "optimal")
    assert result.objective == 0  # machines are free: everybody alone
    frame = result.solution.to_frame(found)
    assert set(frame["class"]) <= {"big", "small"}
    with refused(InvalidOption):
        groups_csv(folder, seats=3)


def test_additive_model_of_groups_csv_refuses_missing_pairs(tmp_path: Path) -> None:
    folder = tables(tmp_path, groups="group,job,penalty\na + b,a,.1\na + b,b,.1\n")
    assert groups_csv(folder, model="additive").seats.tolist() == [2]  # nobody is beside its like
    with refused(InvalidFile):
        groups_csv(folder, model="additive", copies=2)


def test_groups_from_frame_orders_values_by_label() -> None:
    kinds = ["web", "cache", "batch"]
    frame = pandas.DataFrame(PENALTY, index=kinds, columns=kinds)
    turned, count = frame.loc[::-1, ["cache", "web", "batch"]], {"web": 3, "batch": 2, "cache": 3}
    found = Groups.from_frame(turned, seats=3, count=count)
    assert found.names == ("batch", "cache", "web")
    assert cotenant.solve(found, "optimal").objective == 0.0625
    curves = pandas.DataFrame([[0, 0.1], [0, 0.02]], index=["web", "batch"], columns=[0.0, 2.0])
    two = Groups.from_frame(
        curves, seats={"big": 3, "small": 2}, machines={"small": 2, "big": 1}, count=3,
        pressure={"batch": 2, "web": 1},
    )  # fmt: skip
    assert two.pressure is not None
    assert (two.classes, two.machines.tolist()) == (("big", "small"), [1, 2])
    assert two.pressure.tolist() == [1, 2]
    with refused(InvalidInstance):
        Groups.from_frame(frame, seats=3, count={"web": 1})


def test_groups_from_frame_equals_csv(tmp_path: Path) -> None:
    (tmp_path / "groups.csv").write_text(f"group,job,penalty\n{PAIRS}{TRIPLES}web + web,web,.07\n")
    frame = pandas.read_csv(tmp_path / "groups.csv")
    by_file, found = groups_csv(tmp_path), Groups.from_frame(frame, seats=3)
    assert found == by_file.replace(name="", source="")
    approved(by_file.source)
    placed = frame.assign(**{"class": [None] * 4 + ["big"] * 3})
    two = Groups.from_frame(
        placed.iloc[::-1], seats={"small": 2, "big": 3}, machines={"small": 1, "big": 1},
        count={"batch": 1, "web": 2},
    )  # fmt: skip
    assert two.names == ("batch", "web")
    assert two.where is not None
    assert sorted(two.where.tolist()) == [-1, -1, -1, 1, 1]
    renamed = frame.replace({"job": {"batch": "cache"}})
    for wrong in (frame.drop(2), renamed, placed, frame.drop(columns="penalty")):
        with refused(InvalidInstance):
            Groups.from_frame(wrong, seats=3)
