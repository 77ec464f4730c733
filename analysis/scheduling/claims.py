"""The paper's examples and theorems, checked: figures 2 and 7, proposition 5.5, theorems 5.1 and 6.2, section 4."""

from __future__ import annotations

from collections import defaultdict
from math import factorial

import numpy as np

from ...instances.problem.errors import InvalidOption
from ...instances.scheduling import UTILITIES, utilities
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
from ...instances.scheduling.utility import units_done
from ...solvers.scheduling import reference, simulate
from ..experiments import Finding, Verdict
from .prices import prices
from .strategy import KINDS, STRATEGY_RULES, best_gains


def examples(*, seed: int = 0) -> list[Finding]:
    """The numbers of figure 2, figure 7, proposition 5.5, and the counting of theorem 5.1."""
    del seed  # nothing is drawn
    two = figure_2()
    schedule = figure_2_schedule(two)
    mine = two.organization == 0
    rows = zip(schedule.start[mine].tolist(), two.processing[mine].tolist(), strict=True)
    flow = -UTILITIES["flow-time"]([(start, length, 0) for start, length in rows], 14)
    found = [
        _equal("figure 2: psi at 13", "262", int(utilities(two, schedule, 13)[0])),
        _equal("figure 2: psi at 14", "297", int(utilities(two, schedule, 14)[0])),
        _equal("figure 2: flow time at 14", "70", flow),
    ]
    seven = figure_7()
    for label, paper, instance in (
        ("long jobs first", "100 %", seven.replace(organization=1 - seven.organization)),
        ("short jobs first", "75 %", seven),
    ):
        work = units_done(simulate(instance, "FIFO").start, instance.processing, 6).sum()
        found.append(_equal(f"figure 7: {label}", paper, f"{100 * work / 24:.0f} %", "4 machines; the figure does not say"))
    values = reference(not_supermodular()).values
    game = f"{values[5]}, {values[6]}, {values[7]}, {values[4]}"
    found.append(_equal("proposition 5.5: v(ac), v(bc), v(abc), v(c)", "4, 4, 7, 0", game))
    for jobs, text in ((2, "as printed"), (16, "16 unit jobs each instead of 2")):
        instance = subset_sum(values="2,3,4", target=5, unit_jobs=jobs)
        count = int(reference(instance).phi()[3] * factorial(5) / subset_sum_size("2,3,4", jobs))
        right = subset_sum_count("2,3,4", 5)
        note = "" if count == right else "b is not served before S everywhere, as the proof needs"
        found.append(_equal(f"theorem 5.1: orders counted for S = {{2, 3, 4}}, x = 5, {text}", str(right), count, note))
    return found


def theorem_6_2(*, seed: int = 0, instances: int = 60, time_limit: float = 10.0) -> list[Finding]:
    """Theorem 6.2's three quarters, and the price of fairness, against optima proved by CP-SAT on small instances.

    Parameters
    ----------
    instances : how many: three organizations, 4 machines, 12 jobs in batches of 4, horizon 12, load 1.
    time_limit : seconds for each proof; instances without one are left out and counted.
    """
    if instances < 1:
        raise InvalidOption(f"instances is {instances}; expected a whole number, at least 1")
    work, utility = defaultdict(list), defaultdict(list)
    unproved = 0
    for index in range(instances):
        rng = np.random.default_rng([seed, index])
        instance = workload(organizations=3, machines=4, jobs=12, horizon=12, batch=4, load=1.0, spread=0.8, rng=rng)
        found = prices(instance, time_limit=time_limit, seed=index)
        if found is None:
            unproved += 1
            continue
        for price in found:
            work[price.rule].append(price.work)
            utility[price.rule].append(price.utility)
    note = f"{instances - unproved} instances with proved optima, {unproved} without"
    if not work:
        return [Finding("share of the most work possible", "at least 75 %", "nothing proved", "differs", note)]
    least = min(min(values) for values in work.values())
    first = Finding(
        "least share of the most work possible, all rules", "at least 75 %", _percent(least),
        "reproduced" if least >= 0.75 else "differs", note,
    )  # fmt: skip
    rows = [
        Finding(
            f"{rule}: work, total utility",
            "",
            f"mean {_percent(float(np.mean(work[rule])))}, {_percent(float(np.mean(utility[rule])))}; "
            f"least {_percent(min(work[rule]))}, {_percent(min(utility[rule]))}",
            "not in the paper",
            "of the proved optimum",
        )
        for rule in work
    ]
    return [first, *rows]


def strategy(*, seed: int = 0, instances: int = 20, seeds: int = 4) -> list[Finding]:
    """What organizations gain under each rule by splitting, merging, delaying or padding one job, by search.

    Parameters
    ----------
    instances : how many: three organizations, 4 machines, 9 jobs, horizon 15, load 1.5.
    seeds : repeats of the rules that draw.
    """
    if instances < 1 or seeds < 1:
        raise InvalidOption(f"instances is {instances}, seeds {seeds}; expected whole numbers, at least 1")
    shape = {"organizations": 3, "machines": 4, "jobs": 9, "horizon": 15}
    generators = [np.random.default_rng([seed, index]) for index in range(instances)]
    made = [workload(**shape, batch=2, load=1.5, spread=0.6, rng=rng) for rng in generators]  # type: ignore[arg-type]
    found = []
    for rule in STRATEGY_RULES:
        gains = [gain for instance in made for gain in best_gains(instance, rule, seeds=seeds, seed=seed)]
        words = []
        for kind in KINDS:
            mine = [gain for gain in gains if gain.kind == kind]
            better = [gain.gain / gain.utility for gain in mine if gain.gain > 1e-9 and gain.utility > 0]
            share = sum(gain.gain > 1e-9 for gain in mine) / max(1, len(mine))
            words.append(f"{kind} {_percent(share)} (most {_percent(max(better, default=0.0))})")
        found.append(Finding(f"{rule}: organizations that can gain", "", ", ".join(words), "not in the paper"))
    note = "the axioms of section 4 are about psi of a given schedule; a rule may serve the changed jobs earlier"
    return [*found, Finding("what the numbers say", "strategy-resistant utility", note, "not in the paper")]


def _equal(what: str, paper: str, ours: object, note: str = "") -> Finding:
    verdict: Verdict = "reproduced" if str(ours) == paper else "differs"
    return Finding(what, paper, str(ours), verdict, note)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
