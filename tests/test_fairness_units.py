"""Who is owed what in GPUs, memory and billing: what a log says of them, and debts in that unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.messages import approved, refused
from support.sacct import holding, text_of

from cotenant.analysis.scheduling.fairness import Fairness, fairness
from cotenant.cluster.fairness.words import fairness_lines
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.units import gres, tres

NODES = """NodeName=a CPUTot=64 RealMemory=64000 Gres=gpu:a100:4(S:0-1) State=IDLE Partitions=batch
NodeName=b CPUTot=64 RealMemory=64000 Gres=gpu:v100:4 State=IDLE Partitions=batch CfgTRES=cpu=64,mem=62.50G,gres/gpu=4
"""


def of(kind: str, number: int, more: str = "cpu=2,mem=8G,billing=7") -> str:
    return f"{more},gres/gpu={number},gres/gpu:{kind}={number}"


# bio holds all eight GPUs for an hour while phy, which also runs a job without any, waits
JOBS = [
    holding("1", "bio", 0, 0, 3600, of("a100", 4)),
    holding("2", "bio", 0, 0, 3600, of("v100", 4)),
    holding("3", "phy", 900, 3600, 1800, of("a100", 4)),
    holding("4", "phy", 1000, 1000, 600, "cpu=2,mem=4G,billing=3"),
]


@pytest.fixture
def judged(tmp_path: Path):
    """Judge jobs in a unit, with the nodes unless machines are given."""

    def judge(jobs: list[dict[str, str]], **more: object) -> Fairness:
        (tmp_path / "sacct.txt").write_text(text_of(jobs))
        (tmp_path / "nodes.txt").write_text(NODES)
        nodes = {} if "machines" in more else {"nodes": str(tmp_path / "nodes.txt")}
        source = Source(**nodes, **more)  # type: ignore[arg-type]
        return fairness(str(tmp_path / "sacct.txt"), source, ties=0)

    return judge


def test_amounts_are_read_as_slurm_prints_them() -> None:
    assert dict(tres("cpu=2,mem=3.50G,node=1,gres/gpu:a100=2,x,license/y=")) == {
        "cpu": 2000, "mem": 7 * 2**29, "node": 1, "gres/gpu:a100": 2,
    }  # fmt: skip
    assert dict(tres("mem=512")) == {"mem": 2**29}
    assert gres("(null)") == {}
    assert gres("gpu:1g.5gb:7(S:0),craynetwork:4,gpu:2") == {"gres/gpu": 9, "gres/gpu:1g.5gb": 7}
    assert gres("gpu:a100:4(S:0-1),gpu:a100:2") == {"gres/gpu:a100": 6, "gres/gpu": 6}


def test_fairness_names_unit_and_omitted_jobs(judged) -> None:
    approved(fairness_lines(judged(JOBS, unit="gpu")))
    document = judged(JOBS, unit="gpu").document()
    assert document["gpus"] == [4, 4]
    assert document["work_gpu_hours"] == [8, 2]


def test_billing_unit_is_relative_to_maximum_in_use(judged) -> None:
    found = judged(JOBS, unit="billing")
    assert found.machines.sum() * found.unit.size == 17
    assert found.unit.hours == "billing hours"


def test_shares_are_read_from_name_value_pairs(judged) -> None:
    found = judged(JOBS, unit="gpu", shares="bio=6,phy=2")
    assert found.machines.tolist() == [6, 2]
    for text in ("bio=much", "bio=1,bio=2", "=3", "bio=0"):
        with refused(InvalidOption):
            judged(JOBS, shares=text)


@pytest.mark.parametrize("unit", ["tpu", "gres/shard"])
def test_unknown_fairness_unit_is_refused(judged, unit: str) -> None:
    with refused(InvalidOption):
        judged(JOBS, unit=unit)


def test_gpus_without_type_are_noted(judged) -> None:
    jobs = [*JOBS, holding("5", "phy", 0, 0, 60, "cpu=1,gres/gpu=1")]
    approved("\n".join(judged(jobs, unit="gpu:a100").found.notes))


def test_too_fine_amounts_are_rounded_up_with_note(judged) -> None:
    rng = np.random.default_rng(1)
    jobs = [
        holding(str(n), "ab"[n % 2], n, n, 50, f"cpu=1,mem={int(rng.integers(1, 10**9))}K")
        for n in range(40)
    ]
    found = judged(jobs, unit="memory", machines=10**6)
    note = next(note for note in found.found.notes if "rounded up" in note)
    assert float(note.rpartition("is ")[2].partition(" %")[0]) < 1


def test_rounding_of_large_amounts_matches_note(judged) -> None:
    jobs = [
        holding(str(n), "ab"[n % 2], 0, 0, 80_000, f"cpu=1,mem={1000 + n}.5T") for n in range(20)
    ]
    approved("\n".join(judged(jobs, unit="memory", machines=10**9).found.notes))
    for number, machines in (("999999999999999E", 10), ("40.5G", 10)):
        with refused(InvalidOption):
            judged([holding("1", "a", 0, 0, 60, f"mem={number}")], unit="memory", machines=machines)
