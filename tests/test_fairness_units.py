"""Who is owed what in GPUs, memory and billing: what a log says of them, and debts in that unit."""

from __future__ import annotations

from pathlib import Path

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


def test_shares_are_read_from_name_value_pairs(judged) -> None:
    found = judged(JOBS, unit="gpu", shares="bio=6,phy=2")
    assert found.machines.tolist() == [6, 2]
    for text in ("bio=much", "bio=1,bio=2", "=3", "bio=0"):
        with refused(InvalidOption):
            judged(JOBS, shares=text)


def test_rounding_of_large_amounts_matches_note(judged) -> None:
    jobs = [
        holding(str(n), "ab"[n % 2], 0, 0, 80_000, f"cpu=1,mem={1000 + n}.5T") for n in range(20)
    ]
    approved("\n".join(judged(jobs, unit="memory", machines=10**9).found.notes))
    for number, machines in (("999999999999999E", 10), ("40.5G", 10)):
        with refused(InvalidOption):
            judged([holding("1", "a", 0, 0, 60, f"mem={number}")], unit="memory", machines=machines)
