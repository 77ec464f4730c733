"""The order in which a running Slurm starts jobs, beside the rules of fair scheduling.

    python benchmarks/bench_slurm.py --submit --log sacct.txt   # as root; a quarter of an hour
    python benchmarks/bench_slurm.py --log sacct.txt            # of an export that is there

--submit gives 200 jobs of one core that sleep 15 to 60 s to a Slurm at hand: 100 of the account
biology (user ann) within two minutes, and 100 of physics (bob) in five bursts, two minutes apart.
It should have nine cores, the accounts' shares 1 and 2 (3 and 6 cores), no decay (decay half-life
0, usage worked out every minute, its least), and weigh nothing but fair share. Then the export that
`cotenant advise fairness` reads is written, and what the rules do with the same jobs is compared.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from functools import partial
from pathlib import Path

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.metrics import unfairness
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.log import window
from cotenant.instances.scheduling.slurm import COMMAND
from cotenant.solvers.scheduling import reference

SHARES = "biology=3,physics=6"


def run(*words: str) -> str:
    """Standard output of a command."""
    zone = {**os.environ, "TZ": "UTC"}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=zone).stdout


def submit(jobs: int, log: Path) -> None:
    """Submit so many jobs of each account at their times, wait for the last, and export."""
    rng = np.random.default_rng(1)
    asked = [(int(at), "ann", "biology") for at in rng.integers(0, 121, jobs)]
    bursts = np.repeat(np.arange(60, 660, 120), -(-jobs // 5))[:jobs]
    asked += [(int(at), "bob", "physics") for at in bursts + rng.integers(0, 6, jobs)]
    begin, since = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    for at, user, account in sorted(asked):
        time.sleep(max(0.0, begin + at - time.monotonic()))
        script = f"sleep {rng.integers(15, 61)}"
        run("sbatch", f"--uid={user}", f"--gid={user}", "-A", account, "-n1", "-o", "/dev/null",
            "-D", "/tmp", "--wrap", script)  # fmt: skip
    while run("squeue", "-h").strip():
        time.sleep(5)
    export = COMMAND.removeprefix("TZ=UTC ").replace("2026-01-01", since)
    log.write_text(run(*shlex.split(export)))


def main() -> None:
    """Print what each rule makes of the jobs of a log."""
    command = parser(__doc__)
    command.add_argument("--log", type=Path, required=True, help="what sacct printed")
    command.add_argument("--submit", action="store_true")
    command.add_argument("--jobs", type=int, default=100, help="of each account")
    asked = command.parse_args()
    if asked.submit:
        submit(asked.jobs, asked.log)
    judged = window(*Source(shares=SHARES).read(asked.log).span(None, None))
    instance, rows = judged.instance, Rows(asked.json)
    organization, release = instance.organization, instance.release
    slurm = np.argsort(judged.start, kind="stable")
    distance = unfairness(reference(instance), audit(judged).received[:, -1])
    for name in ("Slurm", "REF", "FAIRSHARE", "ROUNDROBIN", "FIFO"):
        start, cpu = judged.start, None
        if name != "Slurm":
            cotenant.solve(instance, name)
            found, _, cpu = timed(partial(cotenant.solve, instance, name), 3)
            start, distance = found.solution.start, found.metrics["unfairness"]
        order = np.argsort(start, kind="stable")
        rows.add(
            "who starts when", rule=name, unfairness=distance, cpu=cpu,
            same_place=np.mean(organization[order] == organization[slurm]),
            **{
                f"wait_{account}": np.mean((start - release)[organization == number])
                for number, account in enumerate(instance.names)
            },
        )  # fmt: skip


if __name__ == "__main__":
    main()
