"""The audit of accounts: a year of the LPC trace week by week, and a week of 16 and of 25 users.
Without a log: a week of 50,000 workloads in 12 queues of a Kueue, and a year of 400,000 jobs of 9
accounts on 512 GPUs week by week, both drawn from a seed (`made_clusters`).

    python benchmarks/bench_fairness.py [--log LPC-EGEE-2004-1.2-cln.swf.gz]

`cotenant fetch lpc-egee` says where the log is. Seconds are of the processor and of the wall, from
the file to the debts, causes left out; kernels are compiled before a clock starts. There is no
peer: shares of use are what other tools report.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from form import Rows, parser, timed
from made_clusters import write_kueue, write_sacct

from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import Fairness, fairness
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.log import Window

WEEK = "10000000/10604800"
"""Of the weeks of the trace, the one with the most jobs."""


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--log", help="the LPC-EGEE trace (.swf or .swf.gz)")
    command.add_argument("--asked", type=float, default=60.0, help="seconds that are allowed")
    arguments = command.parse_args()
    small = workload(organizations=2, jobs=10, horizon=50, rng=np.random.default_rng(0))
    for reference in ("REF", "FIFO", "RAND"):  # compiles
        audit(Window(small, small.release, 0), reference=reference)  # type: ignore[arg-type]
    rows = Rows(arguments.json)
    if arguments.log is None:
        _made(rows)
        return
    cases: tuple[tuple[str, Source, dict[str, Any]], ...] = (
        ("all, week by week, by group", Source(), {"windows": "week"}),
        ("one week, 16 users", Source(by="user", top=15), {"windows": WEEK}),
        ("one week, 25 users", Source(by="user", top=24), {"windows": WEEK}),
    )
    for what, source, options in cases:
        found, wall, cpu = timed(lambda s=source, o=options: fairness(arguments.log, s, **o))
        rows.add(
            arguments.log,
            what=what,
            wall=wall,
            cpu=cpu,
            asked=arguments.asked,
            **_judged(found),
        )


def _made(rows: Rows) -> None:
    """Both made-up clusters, from the file to debts."""
    os.environ["COTENANT_FILE_LIMIT"] = "500MB"
    with tempfile.TemporaryDirectory() as folder:
        week, year, nodes = (Path(folder) / name for name in ("week.json", "year.txt", "nodes.txt"))
        write_kueue(week)
        write_sacct(year, nodes)
        for what, path, source, windows, asked in (
            ("Kueue, a week of 12 queues", week, Source(unit="gpu"), "all", 60),
            ("sacct, a year in GPUs", year, Source(unit="gpu", nodes=str(nodes)), "week", 120),
        ):
            found, wall, cpu = timed(lambda p=path, s=source, w=windows: fairness(p, s, windows=w))
            rows.add(
                "made-up clusters",
                what=what,
                wall=wall,
                cpu=cpu,
                asked=asked,
                **_judged(found),
            )


def _judged(found: Fairness) -> dict[str, Any]:
    """What was judged, and how surely."""
    return {
        "windows": len(found.audits),
        "jobs": sum(each.instance.jobs for each in found.audits),
        "reference": "/".join(sorted({each.reference for each in found.audits})),
        "surely_within": _within(found),
    }


def _within(found: Fairness) -> float:
    """The largest error of a debt that is not excluded, as a part of all work; 0: exact."""
    return float(found.bound.max() / found.work.sum())


if __name__ == "__main__":
    main()
