"""Admission: what is given, what an answer is, its checker, files, CSV tables and generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.admission import Admission, Assignment, check
from cotenant.instances.admission.formats import admission_csv
from cotenant.instances.admission.generators import TABLE_I, table_i, uniform
from cotenant.instances.problem import (
    InfeasibleSolution,
    InvalidFile,
    InvalidOption,
)

FIELDS: dict[str, Any] = {
    "cores": [[2, 1], [0, 3]],
    "threads": [2, 4],
    "speed": [[5.0, 1.0], [2.0, 3.0]],
}


def test_vm_without_cores_is_accepted_and_stays_empty() -> None:
    instance = Admission(**{**FIELDS, "cores": [[0, 0], [1, 3]]})
    for name in ("SM", "DA1", "DA2", "proposed", "optimal", "most-jobs"):
        assert (cotenant.solve(instance, name).solution.machine != 0).all(), name


def test_no_job_is_assigned_if_no_vm_has_cores() -> None:
    instance = Admission(**{**FIELDS, "cores": [[0, 0], [0, 0]]})
    for method in cotenant.methods("admission"):
        result = cotenant.solve(instance, method.name)
        assert (result.solution.machine == -1).all(), method.name
        assert result.metrics["total_speed"] == 0
        assert "cores_used" not in result.metrics
        if method.kind == "exact":
            assert result.status.value == "optimal"


BROKEN = {
    "wrong shape": ([0], [[1, 0], [0, 0]]),
    "no such VM": ([2, -1], [[1, 0], [0, 0]]),
    "machine below -1": ([-2, -1], [[0, 0], [0, 0]]),
    "negative cores": ([0, -1], [[1, -1], [0, 0]]),
    "cores without a VM": ([-1, -1], [[0, 0], [0, 1]]),
    "a VM without cores": ([0, 1], [[1, 0], [0, 0]]),
    "more cores than threads": ([0, -1], [[2, 1], [0, 0]]),
    "a core used twice": ([0, 0], [[1, 1], [1, 1]]),
}


@pytest.mark.parametrize(("machine", "cores"), BROKEN.values(), ids=BROKEN)
def test_admission_check_names_the_broken_rule(machine: Any, cores: Any) -> None:
    with refused(InfeasibleSolution):
        check(Admission(**FIELDS), Assignment(machine, cores))


def tables(folder: Path, **changes: str) -> Path:
    texts = {
        "cores": "vm,gpu,cpu\nleft,2,1\nright,0,3\n",
        "jobs": "job,threads,length\nfirst,2,10\nsecond,4,2.5\n",
        "speed": "job,cpu,gpu\nsecond,3,2\nfirst,1,5\n",
    }
    for name, text in {**texts, **changes}.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_admission_csv_tables_are_joined_by_name(tmp_path: Path) -> None:
    names = {"names": ("first", "second"), "machine_names": ("left", "right")}
    expected = Admission(**FIELDS, length=[10.0, 2.5], **names)  # type: ignore[arg-type]
    for source in (tables(tmp_path), tmp_path / "cores.csv"):
        assert admission_csv(source).replace(name="", source="") == expected


def test_admission_csv_file_names_are_options(tmp_path: Path) -> None:
    tables(tmp_path)
    (tmp_path / "jobs.csv").rename(tmp_path / "who.csv")
    read = admission_csv(tmp_path / "cores.csv", jobs=str(tmp_path / "who.csv"))
    assert read.threads.tolist() == [2, 4]


def test_missing_admission_table_is_named_in_error(tmp_path: Path) -> None:
    tables(tmp_path)
    (tmp_path / "speed.csv").unlink()
    with refused(InvalidFile):
        admission_csv(tmp_path)


@pytest.mark.parametrize("comparison", TABLE_I)
def test_admission_generator_draws_within_table_i_ranges(comparison: Any) -> None:
    ranges = TABLE_I[comparison]
    drawn = [table_i(comparison=comparison, rng=np.random.default_rng(seed)) for seed in range(60)]
    for one in drawn:
        assert 1 <= one.machines <= ranges.machines
        assert 1 <= one.jobs <= ranges.jobs
        assert 1 <= one.types <= ranges.types
        assert one.cores.min() >= 1
        assert one.cores.max() <= ranges.cores
        assert one.threads.min() >= 1
        assert one.threads.max() <= ranges.threads
        assert one.speed.min() >= 1
        assert one.speed.max() <= ranges.speed
    assert max(one.cores.max() for one in drawn) == ranges.cores
    assert max(one.threads.max() for one in drawn) == ranges.threads


def test_admission_generators_refuse_invalid_options() -> None:
    assert uniform(lengths=True, rng=np.random.default_rng(4)).length is not None
    with refused(InvalidOption):
        table_i(comparison="IV", rng=np.random.default_rng(0))  # type: ignore[arg-type]
    with refused(InvalidOption):
        uniform(machines=10**6, types=10**6, rng=np.random.default_rng(0))


def test_huge_core_numbers_do_not_overflow_to_feasible() -> None:
    instance = Admission([[1] * 8], [4] * 4, [[1.0] * 8] * 4)  # type: ignore[arg-type]
    huge = [
        [2**62] * 4 + [int(j == c) for c in range(4)] for j in range(4)
    ]  # each row, and each column, adds up to 1 or 0
    with refused(InfeasibleSolution):
        check(instance, Assignment([0] * 4, huge))  # type: ignore[arg-type]
