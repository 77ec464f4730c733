"""The audit of an instance with an answer to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.scheduling_cases import KINDS, small_instance
from support.terminal import run

import cotenant
from cotenant.analysis.scheduling.fairness import fairness
from cotenant.cluster.fairness.words import fairness_head, fairness_lines
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)
from cotenant.instances.scheduling.accounts import Source


def stored(folder: Path, instance: Instance, method: str = "FAIRSHARE") -> tuple[str, str]:
    """Paths of an instance and of a result on it."""
    paths = str(folder / "i.json"), str(folder / "r.json")
    cotenant.write(instance, paths[0])
    cotenant.solve(instance, method, seed=0).write(paths[1])
    return paths


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "related"])
@pytest.mark.parametrize("method", ["FAIRSHARE", "REF", "ROUNDROBIN"])
def test_fairness_of_result_equals_its_metrics(kind: str, method: str, tmp_path: Path) -> None:
    instance = small_instance(np.random.default_rng(7), kind)
    instance_file, result_file = stored(tmp_path, instance, method)
    (found,) = fairness(instance_file, schedule=result_file, ties=0).audits
    result = cotenant.Result.read(result_file)
    for u, name in enumerate(instance.names):
        assert found.owed[u, -1] == pytest.approx(result.metrics[f"owed:{name}"])
        assert found.received[u, -1] == result.metrics[f"psi:{name}"]
    if method == "REF":
        assert found.wanted.tolist() == found.received[:, -1].tolist()
    approved(found.document()["notes"])


def test_fairness_is_equal_for_starts_solution_and_result(tmp_path: Path) -> None:
    instance = cotenant.read("scheduling/tiny")
    _, result_file = stored(tmp_path, instance)
    solution = cotenant.Result.read(result_file).solution
    (tmp_path / "starts.json").write_text(json.dumps({"start": solution.start.tolist()}))
    whole = {"solution": json.loads(Path(result_file).read_text())["solution"]}
    (tmp_path / "solution.json").write_text(json.dumps(whole))
    owed = [
        fairness("scheduling/tiny", schedule=file, ties=0).owed.tolist()
        for file in (result_file, tmp_path / "starts.json", tmp_path / "solution.json")
    ]
    assert owed[0] == owed[1] == owed[2]


def test_fairness_refuses_answers_of_other_instances(tmp_path: Path) -> None:
    instance = cotenant.read("scheduling/tiny")
    mine, mine_too = stored(tmp_path, instance.replace(name="mine", horizon=29))

    def refuses(error: type[CotenantError], *paths: str, **options: Any) -> None:
        with refused(error):
            fairness(paths[0], schedule=paths[1] if len(paths) > 1 else None, **options)

    def written(content: object) -> str:
        path = tmp_path / "other.json"
        path.write_text(json.dumps(content))
        return str(path)

    refuses(InvalidFile, mine)
    refuses(InvalidFile, mine_too)
    refuses(InvalidFile, "scheduling/tiny")
    refuses(InvalidFile, "colocation/tiny", mine_too)
    refuses(InvalidFile, "scheduling/tiny", mine_too)
    refuses(InvalidFile, mine, mine)
    refuses(InvalidFile, mine, written([1]))
    refuses(InvalidFile, mine, written({"start": [0]}))
    refuses(InvalidFile, mine, written({"start": [2**70] * 14}))
    refuses(InvalidFile, mine, written({"solution": {"start": ["x"], "machine": [0]}}))
    refuses(InfeasibleSolution, mine, written({"start": [-1] * 13 + [0]}))
    refuses(InvalidOption, mine, mine_too, source=Source(machines=3))
    refuses(InvalidOption, mine, mine_too, windows="day")
    (tmp_path / "log.txt").write_text("; a log\n")
    refuses(InvalidFile, str(tmp_path / "log.txt"), mine_too)
    failed = json.loads(Path(mine_too).read_text()) | {"solution": None, "answer": None}
    failed["result"] |= {"status": "unknown", "objective": None}
    refuses(InvalidFile, mine, written(failed))


def test_fairness_refuses_machines_of_several_speeds(tmp_path: Path) -> None:
    files = stored(tmp_path, small_instance(np.random.default_rng(7), "related"))
    with refused(InvalidInstance):
        fairness(files[0], schedule=files[1])


def test_fairness_of_instance_is_printed_by_command(tmp_path: Path) -> None:
    _, result_file = stored(tmp_path, cotenant.read("scheduling/tiny"))
    found = fairness("scheduling/tiny", schedule=result_file)
    text = " ".join(" ".join([*fairness_head(found), *fairness_lines(found)]).split())
    assert "a unit of the instance's time is taken for a second" in text
    approved(text)
    named = {job for cause in found.causes(0) for job, _ in (*cause.waited, *cause.ran)}
    owners = cotenant.read("scheduling/tiny").organization
    assert {owners[int(found.job(place))] for place in named} == {0, 1, 2}
    said = run("advise", "fairness", "scheduling/tiny", result_file, "--json")
    assert json.loads(said.stdout)["owed_core_hours"] == found.owed.tolist()
    missing = run("advise", "fairness", "scheduling/tiny")
    assert (missing.returncode, "R.json" in missing.stderr) == (2, True)
