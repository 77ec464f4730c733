"""Checks of examples and theorems: figures 2, 7, proposition 5.5, theorems 5.1, 6.2. 5.1, 6.2."""

from __future__ import annotations

from collections import defaultdict
from math import factorial
from typing import Annotated

import numpy as np

from ...analysis.report.picture import HeatMap
from ...analysis.scheduling.windows import prices
from ...instances.problem.option_types import AtLeast
from ...instances.scheduling import UTILITIES, Scheduling, utilities
from ...instances.scheduling.feasibility import assign_machines
from ...instances.scheduling.generators import (
    figure_2,
    figure_2_schedule,
    figure_7,
    not_supermodular,
    subset_sum,
    subset_sum_count,
    subset_sum_size,
    workload,
)
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import units_done
from ...solvers.scheduling import reference, simulate
from ..charts import chart
from ..experiment import Parts, claim, compare, equal
from . import PAPER

Count = Annotated[int, AtLeast(1)]

PROOF_SECONDS = 10.0
"""For each proof by CP-SAT; instances without one are left out and counted."""


@PAPER.experiment("figure-2", "fig. 2")
def figure_2_numbers() -> Parts:
    """Utility and flow time of a schedule, and their change by three modifications."""
    # 1. The utilities and flow times of the caption.
    two = figure_2()
    start = figure_2_schedule(two).start
    psi, flow = _organization_1(two, start)
    yield equal("psi at 13", "262", int(utilities(two, figure_2_schedule(two), 13)[0]))
    yield equal("psi at 14", "297", psi)
    yield equal("flow time at 14", "70", flow)
    # 2. Its three changes of the schedule.
    sooner = start.copy()
    sooner[5] -= 1
    sign = f"the sign: one unit earlier the change is {_organization_1(two, sooner)[1] - flow:+d}"
    for what, job, begin, utility, time in (
        ("J9 at 9, O2's job not there", 8, 9, 4, -1),
        ("J6 one unit later", 5, 5, -6, -1),
        ("J9 not scheduled", 8, -1, -10, -14),
    ):
        changed = start.copy()
        changed[job] = begin
        changed_psi, changed_flow = _organization_1(two, changed)
        yield equal(f"{what}: change of psi", f"{utility:+d}", f"{changed_psi - psi:+d}")
        longer = "moving the end of a job later makes its flow time longer"
        yield equal(f"{what}: change of the flow time", f"{time:+d}", f"{changed_flow - flow:+d}",
            "" if changed_flow - flow == time else longer, sign)  # fmt: skip
    alt = (
        f"Three machines over {two.horizon} units: {int((two.organization == 0).sum())} jobs of "
        "organization 1 and one of organization 2, at 9."
    )
    yield schedule_map("scheduling-figure-2", "The schedule of figure 2", two, start, alt)


@PAPER.experiment("figure-7", "fig. 7")
def figure_7_numbers() -> Parts:
    """A greedy schedule that wastes a quarter of the machines."""
    seven = figure_7()
    for part, label, paper, instance in (
        ("a", "long jobs first", "100 %", seven.replace(organization=1 - seven.organization)),
        ("b", "short jobs first", "75 %", seven),
    ):
        start = simulate(instance, "FIFO").start
        share = f"{100 * units_done(start, instance.processing, 6).sum() / 24:.0f} %"
        yield equal(f"utilization at 6, {label}", paper, share,
            "run on 4 machines; the figure does not print the number of machines")  # fmt: skip
        alt = f"Four machines over 6 units, {label}: {share} of the time is used."
        yield schedule_map(f"scheduling-figure-7{part}", f"Greedy, {label}", seven, start, alt)


@PAPER.experiment("proposition-5.5", "prop. 5.5")
def proposition_5_5() -> Parts:
    """A game of unit jobs that is not supermodular."""
    values = reference(not_supermodular()).values
    game = [int(values[coalition]) for coalition in (5, 6, 7, 4)]
    yield equal("v(ac), v(bc), v(abc), v(c)", "4, 4, 7, 0", ", ".join(map(str, game)))
    less, more = game[2] + game[3], game[0] + game[1]
    yield claim("v(abc) + v(c) < v(ac) + v(bc)", less < more, f"{less} and {more}")


@PAPER.experiment("theorem-5.1", "thm. 5.1")
def theorem_5_1() -> Parts:
    """The reduction from SUBSETSUM, counted.

    The Shapley value counts the orders that solve it, once enough unit jobs give b its claim.
    """
    right, count = subset_sum_count("2,3,4", 5), {}
    for jobs in (2, 16):
        value = reference(subset_sum(values="2,3,4", target=5, unit_jobs=jobs)).phi()[3]
        count[jobs] = int(value * factorial(5) / subset_sum_size("2,3,4", jobs))
    cause = f"the unit jobs: with 16 unit jobs each instead of 2 the count is {count[16]}"
    for jobs, text in ((2, "as printed"), (16, "16 unit jobs each instead of 2")):
        wrong = "b is not always served before S, which the proof requires"
        yield equal(f"orders counted for S = {{2, 3, 4}}, x = 5, {text}", str(right), count[jobs],
            "" if count[jobs] == right else wrong,
            cause if count[16] == right else "")  # fmt: skip


@PAPER.experiment("theorem-6.2", "thm. 6.2")
def theorem_6_2(*, seed: int = 0, instances: Count = 60) -> Parts:
    """Work and utility that greedy and fair schedules lose against proved optima.

    Parameters
    ----------
    instances : how many: three organizations, 4 machines, 12 jobs in batches of 4, horizon 12, load
        1.
    """
    work = defaultdict(list)
    proved = 0
    for index in range(instances):
        rng = np.random.default_rng([seed, index])
        instance = workload(
            organizations=3, machines=4, jobs=12, horizon=12, batch=4, load=1.0, spread=0.8, rng=rng
        )
        found = prices(instance, time_limit=PROOF_SECONDS, seed=index)
        proved += found is not None
        for price in found or ():
            work[price.rule].append(price.work)
    note = f"{proved} instances have proved optima, {instances - proved} have none"
    if not work:
        what = "share of the most work possible"
        yield compare(what, "at least 75 %", "nothing proved", None, note)
        return
    least = min(map(min, work.values()))
    yield compare("least share of the most work possible, all rules", "at least 75 %",
        _percent(least), least >= 0.75, note)  # fmt: skip
    done = {
        label: {rule: round(100 * float(of(values)), 3) for rule, values in work.items()}
        for label, of in (("mean", np.mean), ("least", np.min))
    }
    yield chart("scheduling-theorem-6.2", "Work done by greedy rules, of the most possible", "rule",
        "share of the most work [%]", done,
        words=f"The theorem promises 75 %. {proved} instances.")  # fmt: skip


def schedule_map(name: str, title: str, instance: Scheduling, start: Integers, alt: str) -> HeatMap:
    """Heat map of a schedule: machines over time, each unit with its job's number."""
    machine = assign_machines(instance, start)
    cells: list[list[float | None]] = [
        [None] * instance.horizon for _ in range(int(instance.machines.sum()))
    ]
    for job in np.flatnonzero(start >= 0).tolist():
        begin = int(start[job])
        for unit in range(begin, min(instance.horizon, begin + int(instance.processing[job]))):
            cells[int(machine[job])][unit] = float(job + 1)
    return HeatMap(
        name, title, "time", "machine", tuple(map(str, range(instance.horizon))),
        tuple(f"machine {number + 1}" for number in range(len(cells))), tuple(map(tuple, cells)),
        "job", alt,
        note="jobs are numbered organization by organization",
    )  # fmt: skip


def _organization_1(instance: Scheduling, start: Integers) -> tuple[int, int]:
    """Psi and total flow time at 14 of the started jobs of the first organization."""
    mine = (instance.organization == 0) & (start >= 0)
    lengths = zip(start[mine].tolist(), instance.processing[mine].tolist(), strict=True)
    rows = [(begin, length, 0) for begin, length in lengths]
    return int(UTILITIES["throughput"](rows, 14)), -int(UTILITIES["flow-time"](rows, 14))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
