"""Fair scheduling: how fast REF and the tables are on the LPC trace, and the compiled REF beside
the plain-Python one.

    python benchmarks/bench_scheduling.py --log LPC-EGEE-2004-1.2-cln.swf.gz

`cotenant fetch lpc-egee` says where the log is; without one a synthetic log of about the same load
stands in and is named so. Kernels are compiled before a clock starts. Both clocks are shown, each
the median of the runs: wall seconds, and processor seconds, which other work on the machine
disturbs less. No other public implementation of REF is known; the peer is `plain_ref`, which does
the same in plain Python.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from form import Rows, parser, timed

from cotenant.analysis.scheduling.windows import TABLE_RULES, study
from cotenant.instances.problem.errors import InvalidInstance
from cotenant.instances.scheduling import Scheduling
from cotenant.instances.scheduling.formats import read_swf
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.log import Initial, Log, Settings, window
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.ref_reference import plain_ref
from cotenant.solvers.scheduling.shapley_schedule import play_ref, reference_of

MACHINES = 70


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--log", help="the LPC-EGEE trace (.swf or .swf.gz)")
    command.add_argument("--windows", type=int, default=100, help="windows of table 1")
    command.add_argument("--repeats", type=int, default=5, help="runs whose median counts")
    arguments = command.parse_args()
    log = synthetic() if arguments.log is None else read_swf(arguments.log)
    play_ref(
        workload(organizations=2, jobs=10, horizon=50, rng=np.random.default_rng(0))
    )  # compiles
    rows = Rows(arguments.json)
    title = f"{log.name}, {len(log.submit)} jobs, {MACHINES} machines, Zipf"
    for what, wall, cpu, asked, note in (
        *busy(log, 5, 500_000, "empty", arguments.repeats),
        *busy(log, 5, 500_000, "warm", arguments.repeats),
        *busy(log, 12, 50_000, "empty", 1),
        *busy(log, 12, 50_000, "warm", 1),
        *rules(log, arguments.repeats),
        *twins(arguments.repeats),
        *table(log, arguments.windows),
    ):
        rows.add(title, what=what, wall=wall, cpu=cpu, asked=asked, note=note)


Row = tuple[str, float, float, float | None, str]


def busy(log: Log, organizations: int, length: int, initial: Initial, repeats: int) -> list[Row]:
    """REF on the window with the most contended decisions of forty, and on the one at their 90th
    percentile.
    """
    found: list[tuple[int, int, Scheduling]] = []
    for index in range(40):
        rng = np.random.default_rng([1, index])
        begin = int(rng.integers(log.begin, log.end - length))
        settings = Settings(
            begin=begin,
            length=length,
            organizations=organizations,
            machines=MACHINES,
            initial=initial,
        )
        try:
            instance = window(log, settings, rng).instance
        except InvalidInstance:
            continue
        found.append((simulate(instance, "FIFO").contended, index, instance))
    found.sort(key=lambda entry: entry[:2])
    asked = {5: 0.03, 12: 5.0}[organizations]
    rows: list[Row] = []
    for label, (*_, instance) in (
        ("busiest", found[-1]),
        ("90th percentile", found[int(0.9 * (len(found) - 1))]),
    ):
        played, wall, cpu = timed(partial(play_ref, instance), repeats)
        note = f"{instance.jobs} jobs, {played.contended} contended decisions"
        rows.append(
            (
                f"REF k = {organizations}, T = {length}, {initial}, {label} of 40 windows",
                wall,
                cpu,
                asked,
                note,
            )
        )
    return rows


def rules(log: Log, repeats: int) -> list[Row]:
    """Single rules on a window of 5e5 seconds."""
    instance = window(log, Settings(begin=log.begin, length=500_000, machines=MACHINES)).instance
    draws = np.random.default_rng(0).random(2 * instance.jobs)
    rows: list[Row] = []
    for rule in ("FIFO", "FAIRSHARE", "DIRECTCONTR"):
        _, wall, cpu = timed(partial(simulate, instance, rule, draws=draws), repeats)
        rows.append((f"{rule} k = 5, T = 500000", wall, cpu, None, f"{instance.jobs} jobs"))
    return rows


def twins(repeats: int) -> list[Row]:
    """The compiled REF and the plain one on the same instance."""
    instance = workload(
        organizations=4,
        machines=6,
        jobs=40,
        horizon=60,
        batch=4,
        load=1.5,
        rng=np.random.default_rng(0),
    )
    played, wall, cpu = timed(lambda: play_ref(instance), repeats)
    plain, plain_wall, plain_cpu = timed(lambda: plain_ref(instance))
    assert list(reference_of(played).values) == plain.values
    return [
        ("compiled REF k = 4, 40 jobs", wall, cpu, None, "same schedule and values"),
        (
            "plain-Python REF k = 4, 40 jobs",
            plain_wall,
            plain_cpu,
            None,
            f"{plain_cpu / max(cpu, 1e-9):.0f} times the compiled",
        ),
    ]


def table(log: Log, windows: int) -> list[Row]:
    """Table 1: REF and every rule on all windows."""
    rows: list[Row] = []
    starts: tuple[Initial, ...] = ("empty", "warm")
    for initial in starts:
        settings = Settings(length=50_000, machines=MACHINES, initial=initial)
        found, wall, cpu = timed(partial(study, log, settings, windows=windows))
        note = f"{found.contended_windows} contended windows"
        rows.append(
            (
                f"table 1: {windows} windows x {len(TABLE_RULES)} rules and REF, {initial}",
                wall,
                cpu,
                120.0,
                note,
            )
        )
    return rows


def synthetic() -> Log:
    """Batches of lognormal jobs for a hundred days, where the trace is not at hand."""
    made = workload(
        organizations=40,
        machines=MACHINES,
        jobs=80_000,
        horizon=8_640_000,
        load=0.7,
        rng=np.random.default_rng(0),
    )
    order = np.argsort(made.release, kind="stable")
    zeros = np.zeros(made.jobs, dtype=np.int64)
    names = tuple(map(str, range(40)))
    return Log(
        "synthetic", made.release[order], zeros, made.processing[order], zeros + 1,
        made.organization[order], zeros, names, ("",)
    )  # fmt: skip


if __name__ == "__main__":
    main()
