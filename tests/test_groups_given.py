"""What is given to groups: documents, tables, frames, a colocation; and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.instances.groups import Grouping, Groups, residuals
from cotenant.instances.groups.formats import curves_csv, groups_csv
from cotenant.instances.groups.penalties import units
from cotenant.instances.problem import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.problem.tables import plain_form

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


def test_groups_csv_gives_table_model(tmp_path: Path) -> None:
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


def test_additive_reader_reports_error_on_larger_groups(tmp_path: Path) -> None:
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


def test_additive_reader_refuses_missing_pairs(tmp_path: Path) -> None:
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
