"""The audit of an instance with an answer to it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.messages import approved, refused
from support.scheduling_cases import KINDS, small_instance
from support.terminal import run

import cotenant
from cotenant.analysis.scheduling.audit import audit_file
from cotenant.analysis.scheduling.fairness import fairness
from cotenant.cluster.fairness.fairness import fairness_head, fairness_lines
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["FAIRSHARE", "REF", "ROUNDROBIN"])
def test_an_answer_is_owed_what_its_metrics_say(kind: str, method: str, tmp_path: Path) -> None:
    instance = small_instance(np.random.default_rng(7), kind)
    instance_file, result_file = stored(tmp_path, instance, method)
    found = audit_file(instance_file, schedule=result_file)
    result = cotenant.Result.read(result_file)
    for u, name in enumerate(instance.names):
        assert found.owed[u, -1] == pytest.approx(result.metrics[f"owed:{name}"])
        assert found.received[u, -1] == result.metrics[f"psi:{name}"]
    if method == "REF":
        assert found.unfairness["the schedule"] == 0
    approved(found.notes)


def test_starts_alone_are_an_answer_and_a_result_on_a_bundled_instance_needs_no_other_file(
    tmp_path: Path,
) -> None:
    instance = cotenant.read("scheduling/tiny")
    _, result_file = stored(tmp_path, instance)
    start = cotenant.Result.read(result_file).solution.start.tolist()
    bare = tmp_path / "starts.json"
    bare.write_text(json.dumps({"start": start}))
    owed = [
        found.owed.tolist()
        for found in (
            audit_file("scheduling/tiny", schedule=result_file),
            audit_file("scheduling/tiny", schedule=str(bare)),
            audit_file(result_file),
        )
    ]
    assert owed[0] == owed[1] == owed[2]


def test_what_does_not_belong_together_is_refused_with_the_cure(tmp_path: Path) -> None:
    instance = cotenant.read("scheduling/tiny")
    mine, mine_too = stored(tmp_path, instance.replace(name="mine", horizon=29))

    def refuses(error: type[CotenantError], *paths: str, **options: object) -> None:
        with refused(error):
            audit_file(paths[0], schedule=paths[1] if len(paths) > 1 else None, **options)

    def written(content: object) -> str:
        path = tmp_path / "other.json"
        path.write_text(json.dumps(content))
        return str(path)

    refuses(InvalidFile, "scheduling/tiny")
    refuses(InvalidFile, mine)
    refuses(InvalidFile, mine_too)
    refuses(InvalidFile, "scheduling/tiny", mine_too)
    refuses(InvalidFile, mine, mine)
    refuses(InvalidFile, mine, written([1]))
    refuses(InvalidFile, mine, written({"start": [0]}))
    refuses(InvalidFile, mine, written({"start": [2**70] * 14}))
    refuses(InvalidFile, mine, written({"start": ["x"], "machine": [0]}))
    refuses(InfeasibleSolution, mine, written({"start": [-1] * 13 + [0]}))
    refuses(InvalidOption, mine, mine_too, machines=3)
    refuses(InvalidOption, mine, mine_too, length=3)
    (tmp_path / "log.txt").write_text("; a log\n")
    refuses(InvalidFile, str(tmp_path / "log.txt"), mine_too)
    failed = json.loads(Path(mine_too).read_text()) | {"solution": None, "answer": None}
    failed["result"] |= {"status": "unknown", "objective": None}
    refuses(InvalidFile, mine, written(failed))


def test_speeds_are_judged_by_ref_in_units_of_work_only(tmp_path: Path) -> None:
    instance = small_instance(np.random.default_rng(7), "related")
    files = stored(tmp_path, instance)
    with refused(InvalidInstance):
        fairness(files[0], Source(), schedule=files[1])
    with refused(InvalidOption):
        audit_file(files[0], schedule=files[1], reference="FIFO")


def test_an_instance_is_judged_in_words_and_by_the_commands(tmp_path: Path) -> None:
    _, result_file = stored(tmp_path, cotenant.read("scheduling/tiny"))
    found = fairness("scheduling/tiny", Source(), schedule=result_file)
    numbers = audit_file("scheduling/tiny", schedule=result_file)
    assert np.sign(found.owed).tolist() == np.sign(numbers.owed[:, -1]).tolist()
    text = " ".join(" ".join([*fairness_head(found), *fairness_lines(found)]).split())
    assert "a unit of the instance's time is taken for a second" in text
    approved(text)
    named = {job for cause in found.causes(0) for job, _ in (*cause.waited, *cause.ran)}
    owners = cotenant.read("scheduling/tiny").organization
    assert {owners[int(found.job(place))] for place in named} == {0, 1, 2}
    with refused(InvalidOption):
        fairness("scheduling/tiny", Source(), schedule=result_file, windows="day")
    said = run("audit", "scheduling/tiny", "--schedule", result_file, "--json")
    assert json.loads(said.stdout)["owed"] == numbers.owed.tolist()
    missing = run("audit", "scheduling/tiny")
    assert (missing.returncode, "--schedule R.json" in missing.stderr) == (2, True)
