"""Shares as given on few machines, and debts in GPUs, memory and billing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.messages import approved, refused
from support.sacct import holding, job, text_of

from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import Fairness, fairness
from cotenant.analysis.scheduling.fit import present_weights
from cotenant.cluster.fairness.words import (
    debts_table,
    fairness_head,
    fairness_lines,
    headline,
    known_to,
)
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.log import window
from cotenant.instances.scheduling.units import gres, tres

Job = tuple[str, int, int, int, int]
"""Account, submission, start and length in minutes, CPUs."""


def exported(folder: Path, jobs: Sequence[Job]) -> str:
    lines = [
        job(str(number), account, 60 * sent, 60 * start, 60 * run, cpus)
        for number, (account, sent, start, run, cpus) in enumerate(jobs)
    ]
    (folder / "sacct.txt").write_text(text_of(lines))
    return str(folder / "sacct.txt")


LIKE: list[Job] = [
    ("big", 0, 0, 180, 8),
    *((f"lab{n}", 0, 180, 60, 1) for n in range(8)),
    ("last", 0, 240, 60, 1),
]


def crowd(seed: int, accounts: Sequence[str], number: int = 40) -> list[Job]:
    """Jobs that wait for eight CPUs, no two of which are sent in one minute."""
    rng = np.random.default_rng(seed)
    sent = np.sort(rng.choice(300, number, replace=False))
    return [
        (accounts[int(rng.integers(len(accounts)))], int(minute), int(minute + rng.integers(0, 90)),
         int(rng.integers(5, 60)), int(rng.integers(1, 5)))
        for minute in sent
    ]  # fmt: skip


def owed(judged: Fairness) -> dict[str, float]:
    return dict(zip(judged.names, judged.owed.tolist(), strict=True))


@pytest.mark.parametrize("shares", [None, ",".join(f"{job[0]}=7" for job in [LIKE[0], *LIKE[1:]])])
def test_ten_equal_accounts_on_eight_cpus_have_equal_debts(tmp_path, shares) -> None:
    found = fairness(exported(tmp_path, LIKE), Source(machines=8, shares=shares))
    assert found.shares.tolist() == [0.1] * 10
    assert (found.machines * float(found.unit.size)).tolist() == pytest.approx([0.8] * 10)
    alike = [value for name, value in owed(found).items() if name.startswith("lab")]
    assert alike == pytest.approx([alike[0]] * 8, abs=1e-9)
    assert owed(found)["last"] > alike[0] > 0 > owed(found)["big"]


@pytest.mark.parametrize("seed", range(3))
def test_debts_of_renamed_accounts_stay_within_printed_error(tmp_path, seed) -> None:
    jobs = crowd(seed, "abcde")
    names = dict(zip("abcde", "ecabd", strict=True))
    source = Source(machines=8)
    found = fairness(exported(tmp_path, jobs), source)
    other = fairness(exported(tmp_path, [(names[job[0]], *job[1:]) for job in jobs]), source)
    for u, name in enumerate(found.names):
        sure = known_to(found, u) + known_to(other, other.names.index(names[name]))
        assert abs(found.owed[u] - owed(other)[names[name]]) <= sure


@pytest.mark.parametrize("seed", range(3))
def test_debts_with_rounded_machine_shares_differ_within_printed_error(tmp_path, seed) -> None:
    path = exported(tmp_path, crowd(seed, "abc"))
    source = Source(machines=8, shares="a=37,b=41,c=29")
    exact = fairness(path, source, ties=0)
    assert exact.rounding == 0
    errors = []
    for most in (8, 80, 800):
        accounts = source.read(path).cut(most=most)
        coarse = Fairness(accounts, (audit(window(*accounts.span())),), 0, None)
        assert (coarse.machines.sum(), coarse.shares.tolist()) == (most, exact.shares.tolist())
        assert present_weights(coarse).tolist() == present_weights(exact).tolist()
        assert headline(coarse) == headline(exact)
        errors.append(np.abs(coarse.owed - exact.owed).max())
        assert errors[-1] <= max(coarse.rounding, 1e-9)
        assert coarse.rounding == 0 or known_to(coarse, 0) >= coarse.rounding
        said = any("shares are played in parts of" in line for line in fairness_lines(coarse))
        assert said == (coarse.rounding > 0)
    assert errors[0] > 0.1 > errors[2]


def test_debts_use_shares_finer_than_machines_exactly_as_given(tmp_path) -> None:
    jobs: list[Job] = [("a", 0, 0, 60, 4), ("b", 0, 0, 60, 3), ("e", 0, 0, 60, 1)]
    found = fairness(
        exported(tmp_path, [*jobs, ("c", 0, 60, 60, 1), ("d", 0, 60, 60, 1)]),
        Source(machines=8, shares="a=50,b=30,c=10,d=5,e=5"),
    )
    assert "a 50 %, b 30 %, c 10 %, d 5 %, e 5 %." in " ".join(
        " ".join(fairness_head(found)).split()
    )
    assert present_weights(found).tolist() == [1000, 600, 200, 100, 100]


def test_level_fs_is_printed_and_its_disagreement_noted(
    tmp_path,
) -> None:
    (tmp_path / "shares.txt").write_text(
        "Account|User|RawShares|FairShare|LevelFS\n"
        " a||1||0.500000\n  a|ann|1|0.750000|1\n  a|bob|1|0.250000|0.5\n b||1||inf\n  b|cat|1\n"
    )
    jobs: list[Job] = [("b", 0, 0, 60, 8), ("a", 0, 60, 60, 8)]
    source = Source(machines=8, shares=str(tmp_path / "shares.txt"))
    table = debts_table(fairness(exported(tmp_path, jobs), source))
    assert [row[0] for row in table.rows] == ["a", "b"]
    assert [row[-2:] for row in table.rows] == [("0.500000", "0.250000 to 0.750000"), ("inf", "-")]
    (note,) = table.notes
    assert note.startswith("Level FS ")
    assert "half-lives" in note


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
        with refused(InvalidOption, shown=text):
            judged(JOBS, shares=text)


def test_rounding_of_large_amounts_matches_note(judged) -> None:
    jobs = [
        holding(str(n), "ab"[n % 2], 0, 0, 80_000, f"cpu=1,mem={1000 + n}.5T") for n in range(20)
    ]
    approved("\n".join(judged(jobs, unit="memory", machines=10**9).found.notes))
    for number, machines in (("999999999999999E", 10), ("40.5G", 10)):
        with refused(InvalidOption):
            judged([holding("1", "a", 0, 0, 60, f"mem={number}")], unit="memory", machines=machines)
