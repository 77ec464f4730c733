"""The paper's examples and theorems, checked: figs. 2, 7, prop. 5.5, thms. 5.1, 6.2, sec. 4."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import factorial
from typing import Annotated

import numpy as np

from ...analysis.manipulation import misreports
from ...analysis.report.picture import HeatMap, Picture
from ...analysis.scheduling.prices import prices
from ...analysis.scheduling.strategy import KINDS, STRATEGY_RULES, changes
from ...analysis.scheduling.windows import RAND_AS
from ...instances.problem.option_types import AtLeast
from ...instances.scheduling import UTILITIES, Scheduling, utilities
from ...instances.scheduling.feasibility import assign_machines
from ...instances.scheduling.gadgets import (
    figure_2,
    figure_2_schedule,
    figure_7,
    not_supermodular,
    subset_sum,
    subset_sum_count,
    subset_sum_size,
)
from ...instances.scheduling.generators import workload
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import units_done
from ...solvers.scheduling import reference, simulate
from ..charts import chart
from ..experiment import Finding, Parts, addition, compare, equal
from . import PAPER

Count = Annotated[int, AtLeast(1)]


@PAPER.experiment("figure-2", "fig. 2")
def figure_2_numbers() -> Parts:
    """Utility and flow time of a schedule, and what three changes do to them."""
    two = figure_2()
    start = figure_2_schedule(two).start
    mine = two.organization == 0
    psi, flow = _organization_1(two, start)
    earlier, later, never = start.copy(), start.copy(), start.copy()
    earlier[8], later[5], never[8] = 9, 5, -1
    changes = (
        ("J9 at 9, O2's job not there", earlier, (4, -1)),
        ("J6 one unit later", later, (-6, -1)),
        ("J9 not scheduled", never, (-10, -14)),
    )
    yield equal("psi at 13", "262", int(utilities(two, figure_2_schedule(two), 13)[0]))
    yield equal("psi at 14", "297", psi)
    yield equal("flow time at 14", "70", flow)
    sooner = start.copy()
    sooner[5] -= 1
    sign = f"the sign: one unit sooner it is {_organization_1(two, sooner)[1] - flow:+d}"
    for what, changed, (utility, time) in changes:
        changed_psi, changed_flow = _organization_1(two, changed)
        yield equal(f"{what}: change of psi", f"{utility:+d}", f"{changed_psi - psi:+d}")
        difference = changed_flow - flow
        note = "" if difference == time else "a job that ends later has a longer flow time"
        yield equal(
            f"{what}: change of the flow time", f"{time:+d}", f"{difference:+d}", note, sign
        )
    alt = (
        f"Three machines over {two.horizon} units: {int(mine.sum())} jobs of organization 1 "
        "and one of organization 2, at 9."
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
        yield equal(
            f"utilization at 6, {label}", paper, share, "4 machines; the figure does not say"
        )
        alt = f"Four machines over 6 units, {label}: {share} of the time is used."
        yield schedule_map(f"scheduling-figure-7{part}", f"Greedy, {label}", seven, start, alt)


@PAPER.experiment("proposition-5.5", "prop. 5.5")
def proposition_5_5() -> list[Finding | Picture]:
    """A game of unit jobs that is not supermodular."""
    values = reference(not_supermodular()).values
    game = [int(values[coalition]) for coalition in (5, 6, 7, 4)]
    short = game[2] + game[3] < game[0] + game[1]
    return [
        equal("v(ac), v(bc), v(abc), v(c)", "4, 4, 7, 0", ", ".join(map(str, game))),
        equal(
            "v(abc) + v(c) < v(ac) + v(bc)",
            "yes",
            "yes" if short else "no",
            f"{game[2] + game[3]} and {game[0] + game[1]}",
        ),
    ]


@PAPER.experiment("theorem-5.1", "thm. 5.1")
def theorem_5_1() -> Parts:
    """The reduction from SUBSETSUM, counted."""
    right = subset_sum_count("2,3,4", 5)
    count = {
        jobs: int(
            reference(subset_sum(values="2,3,4", target=5, unit_jobs=jobs)).phi()[3]
            * factorial(5)
            / subset_sum_size("2,3,4", jobs)
        )
        for jobs in (2, 16)
    }
    cause = f"the unit jobs: with 16 each instead of 2 it is {count[16]}"
    for jobs, text in ((2, "as printed"), (16, "16 unit jobs each instead of 2")):
        note = (
            ""
            if count[jobs] == right
            else "b is not served before S everywhere, as the proof needs"
        )
        what = f"orders counted for S = {{2, 3, 4}}, x = 5, {text}"
        yield equal(what, str(right), count[jobs], note, cause if count[16] == right else "")


@PAPER.experiment("theorem-6.2", "thm. 6.2")
def theorem_6_2(
    *, seed: int = 0, instances: Count = 60, time_limit: float = 10.0
) -> list[Finding | Picture]:
    """What greedy and fair schedules lose against proved optima.

    Parameters
    ----------
    instances : how many: three organizations, 4 machines, 12 jobs in batches of 4, horizon 12, load
        1.
    time_limit : seconds for each proof; instances without one are left out and counted.
    """
    work, utility = defaultdict(list), defaultdict(list)
    unproved = 0
    for index in range(instances):
        rng = np.random.default_rng([seed, index])
        instance = workload(
            organizations=3, machines=4, jobs=12, horizon=12, batch=4, load=1.0, spread=0.8, rng=rng
        )
        found = prices(instance, time_limit=time_limit, seed=index)
        if found is None:
            unproved += 1
            continue
        for price in found:
            work[price.rule].append(price.work)
            utility[price.rule].append(price.utility)
    note = f"{instances - unproved} instances with proved optima, {unproved} without"
    if not work:
        return [
            compare(
                "share of the most work possible", "at least 75 %", "nothing proved", None, note
            )
        ]
    least = min(min(values) for values in work.values())
    first = compare("least share of the most work possible, all rules", "at least 75 %",
        _percent(least), least >= 0.75, note)  # fmt: skip
    rows = [
        addition(
            f"{rule}: work, total utility",
            f"mean {_percent(float(np.mean(work[rule])))}, "
            f"{_percent(float(np.mean(utility[rule])))}; "
            f"least {_percent(min(work[rule]))}, {_percent(min(utility[rule]))}",
            "of the proved optimum",
        )
        for rule in work
    ]
    done = {
        label: {rule: round(100 * float(of(values)), 3) for rule, values in work.items()}
        for label, of in (("mean", np.mean), ("least", np.min))
    }
    picture = chart("scheduling-theorem-6.2", "Work done by greedy rules, of the most possible",
        "rule", "share of the most work [%]", done,
        words=f"The theorem promises 75 %. {instances - unproved} instances.")  # fmt: skip
    return [first, *rows, picture]


@PAPER.experiment("strategy", "section 4", seconds=30)
def strategy(*, seed: int = 0, instances: Count = 20, seeds: Count = 4) -> Iterator[Finding]:
    """What splitting, merging, delaying or padding a job gains under each rule.

    Parameters
    ----------
    instances : how many: three organizations, 4 machines, 9 jobs, horizon 15, load 1.5.
    seeds : repeats of the rules that draw.
    """
    shape = {"organizations": 3, "machines": 4, "jobs": 9, "horizon": 15}
    generators = [np.random.default_rng([seed, index]) for index in range(instances)]
    made = [workload(**shape, batch=2, load=1.5, spread=0.6, rng=rng) for rng in generators]  # type: ignore[arg-type]
    for rule in STRATEGY_RULES:
        options = RAND_AS.get(rule, {})
        words = []
        for kind in KINDS:
            mine = [
                found
                for instance in made
                for user, found in enumerate(
                    misreports(
                        instance, "RAND" if options else rule, None, None,
                        seed=seed, seeds=seeds, kinds=(kind,), **options,
                    )
                )
                if next(changes(instance, user, (kind,)), None) is not None
            ]  # fmt: skip
            better = [found.ratio - 1 for found in mine if found.gain and found.truthful > 0]
            share = sum(found.gain > 0 for found in mine) / max(1, len(mine))
            words.append(f"{kind} {_percent(share)} (most {_percent(max(better, default=0.0))})")
        yield addition(f"{rule}: organizations that can gain", ", ".join(words))
    note = (
        "the axioms of section 4 are about psi of a given schedule; a rule may serve the "
        "changed jobs earlier"
    )
    yield compare("what the numbers say", "strategy-resistant utility", note, None)


def schedule_map(name: str, title: str, instance: Scheduling, start: Integers, alt: str) -> HeatMap:
    """A schedule as machines over time, each unit with its job's number; holes where idle."""
    machine = assign_machines(instance, start)
    cells: list[list[float | None]] = [
        [None] * instance.horizon for _ in range(int(instance.machines.sum()))
    ]
    for job in np.flatnonzero(start >= 0).tolist():
        for unit in range(
            int(start[job]), min(instance.horizon, int(start[job] + instance.processing[job]))
        ):
            cells[int(machine[job])][unit] = float(job + 1)
    return HeatMap(
        name, title, "time", "machine", tuple(map(str, range(instance.horizon))),
        tuple(f"machine {number + 1}" for number in range(len(cells))), tuple(map(tuple, cells)),
        "job", alt,
        note="jobs are numbered organization by organization",
    )  # fmt: skip


def _organization_1(instance: Scheduling, start: Integers) -> tuple[int, int]:
    """Psi and total flow time of the first organization at 14, of the jobs that are started."""
    mine = (instance.organization == 0) & (start >= 0)
    rows = [
        (begin, length, 0)
        for begin, length in zip(
            start[mine].tolist(), instance.processing[mine].tolist(), strict=True
        )
    ]
    return int(UTILITIES["throughput"](rows, 14)), -int(UTILITIES["flow-time"](rows, 14))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
