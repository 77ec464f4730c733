"""The audit of jobs that a real Slurm has scheduled, against the truth by simulation."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.slurm_lab import ACCOUNTS, CPUS, NODES, Command, lab, why_not
from support.terminal import run

from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import Fairness, fairness, in_core_hours
from cotenant.analysis.scheduling.fit import Fit, Fitted
from cotenant.cluster.fairness.emit import emit
from cotenant.instances.scheduling import Scheduling
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.log import Window
from cotenant.instances.scheduling.slurm import COMMAND
from cotenant.solvers.scheduling.event_loop import simulate

# account, CPUs, seconds; all are released at one moment, in this order
JOBS = [("bio", 4, 12)] * 4 + [("phy", 4, 12)] * 2 + [("chem", 2, 8)] * 2


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_real_slurm_log_has_debts_of_its_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lab(tmp_path) as command:
        ids = [
            command(
                "sbatch", "--hold", "--parsable", f"--account={account}", f"--ntasks={cpus}",
                "--nodes=1", "--time=5", "--chdir=/tmp", "--output=/dev/null",
                "--job-name=a|name with bars", f"--wrap=sleep {seconds}",
            ).strip()
            for account, cpus, seconds in JOBS
        ]  # fmt: skip
        command("scontrol", "release", ",".join(ids))
        over = time.monotonic() + 240
        while command("squeue", "-h"):
            assert time.monotonic() < over, "the jobs did not end"
            time.sleep(1)
        time.sleep(3)  # until the last end is in the database
        words = COMMAND.removeprefix("TZ=UTC ").split()
        export, nodes, shares = (
            tmp_path / name for name in ("sacct.txt", "nodes.txt", "share.txt")
        )
        export.write_text(command(*words))
        nodes.write_text(command("scontrol", "show", "node", "-o"))
        shares.write_text(command("sshare", "-a", "-l", "-P"))
        source = Source(nodes=str(nodes), shares=str(shares))
        found = fairness(str(export), source)
        _takes_what_is_emitted(command, found, monkeypatch)

    names, total = tuple(sorted(ACCOUNTS)), CPUS * len(NODES)
    assert found.names == names
    assert found.machines.tolist() == [total * ACCOUNTS[name] // 4 for name in names]
    log = found.found.log
    assert (log.bad, log.waiting, len(log.run)) == ((), (), len(JOBS))
    assert sorted(log.jobs) == sorted(ids)
    by_id = dict(zip(log.jobs, range(len(ids)), strict=True))
    for job, (account, cpus, seconds) in zip(ids, JOBS, strict=True):
        place = by_id[job]
        assert log.groups[log.group[place]] == account
        assert log.processors[place] == cpus
        assert seconds <= log.run[place]

    # the truth: the same jobs, first in, first out by the order of their release
    instance = Scheduling(
        machines=found.machines,
        organization=[names.index(account) for account, _, _ in JOBS],
        release=np.arange(len(JOBS)) // len(JOBS),
        processing=[seconds for _, _, seconds in JOBS],
        processors=[cpus for _, cpus, _ in JOBS],
        horizon=int(found.audits[0].instance.horizon),
    )
    start, free = np.zeros(len(JOBS), dtype=np.int64), [0] * total
    for place, (_, cpus, seconds) in enumerate(JOBS):
        free.sort()
        start[place] = max(free[cpus - 1], int(start[:place].max(initial=0)))
        free[:cpus] = [int(start[place]) + seconds] * cpus
    truth = in_core_hours(audit(Window(instance, start, 0)))
    assert np.sign(found.owed).tolist() == np.sign(truth).tolist()
    assert found.names[int(np.argmin(found.owed))] == "bio"
    assert np.argsort(found.owed).tolist() == np.argsort(truth).tolist()
    # a fair schedule of the same jobs owes less
    fair = in_core_hours(audit(Window(instance, simulate(instance, "REF").start, 0)))
    assert np.abs(fair).max() < np.abs(found.owed).max()
    said = run("advise", "fairness", str(export), "--nodes", str(nodes), "--shares", str(shares))
    assert (said.returncode, "bio owes" in said.stdout) == (0, True)


# account, GPUs, type, seconds; the last holds none
GPU_JOBS = [("bio", 2, "a100", 8)] * 2 + [("bio", 2, "v100", 8), ("phy", 2, "a100", 6)] + [
    ("chem", 0, "", 4)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_real_slurm_gpu_jobs_count_by_gpus(tmp_path: Path) -> None:
    with lab(tmp_path) as command:
        ids = []
        for account, gpus, kind, seconds in GPU_JOBS:
            held = [f"--gres=gpu:{kind}:{gpus}"] * bool(gpus)
            ids.append(
                command(
                    "sbatch", "--hold", "--parsable", f"--account={account}", "--ntasks=1",
                    "--mem=100", "--time=5", "--chdir=/tmp", "--output=/dev/null", *held,
                    f"--wrap=sleep {seconds}",
                ).strip()
            )  # fmt: skip
        command("scontrol", "release", ",".join(ids))
        over = time.monotonic() + 240
        while command("squeue", "-h"):
            assert time.monotonic() < over, "the jobs did not end"
            time.sleep(1)
        time.sleep(3)
        export, nodes = tmp_path / "sacct.txt", tmp_path / "nodes.txt"
        export.write_text(command(*COMMAND.removeprefix("TZ=UTC ").split()))
        nodes.write_text(command("scontrol", "show", "node", "-o"))
    work = {
        unit: fairness(str(export), Source(nodes=str(nodes), unit=unit), ties=0)
        for unit in ("gpu", "gpu:a100", "cpu")
    }
    assert [work[unit].machines.sum() for unit in ("gpu", "gpu:a100")] == [6, 4]
    assert work["gpu"].names == ("bio", "phy")
    widths = {unit: sorted(each.audits[0].instance.width.tolist()) for unit, each in work.items()}
    assert widths["gpu"] == [2, 2, 2, 2]
    assert widths["gpu:a100"] == [2, 2, 2]
    assert work["gpu"].work[0] == pytest.approx(3 * 2 * 8 / 3600, rel=0.5)
    assert (work["cpu"].names, len(widths["cpu"])) == (("bio", "chem", "phy"), 5)


def _takes_what_is_emitted(command: Command, found: Fairness, monkeypatch: Any) -> None:
    """Slurm accepts the weights."""
    assert emit(found).count("# ") > 5
    now = Fitted(np.array([500, 500, 1000]), 3, None)
    weights = Fitted(np.array([10, 20, 30]), 1, None)
    monkeypatch.setattr("cotenant.cluster.fairness.emit.fit", lambda judged: Fit(now, now, weights))
    lines = [line for line in emit(found).splitlines() if line.startswith("sacctmgr -i")]
    assert len(lines) == 3
    for line in lines:
        command(*shlex.split(line))
    rows = command("sacctmgr", "-nP", "show", "assoc", "format=account,user,fairshare")
    told = {row.split("|")[0]: row.split("|")[2] for row in rows.split() if "||" in row}
    assert told == told | {"bio": "10", "chem": "20", "phy": "30"}
