"""Skowron and Rzadca: tables on traces, figures, propositions and theorems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import factorial
from typing import Annotated, Any, Literal

import numpy as np

from ..analysis.report.picture import HeatMap
from ..analysis.scheduling.windows import (
    TABLE_RULES,
    Floats,
    Study,
    Summary,
    prices,
    study,
    summarize,
)
from ..instances.problem.datasets import fetch
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import AtLeast, validate_options
from ..instances.scheduling import UTILITIES, Scheduling, utilities
from ..instances.scheduling.feasibility import assign_machines
from ..instances.scheduling.formats import read_swf
from ..instances.scheduling.generators import (
    figure_2,
    figure_2_schedule,
    figure_7,
    not_supermodular,
    subset_sum,
    subset_sum_count,
    subset_sum_size,
    workload,
)
from ..instances.scheduling.instance import Integers
from ..instances.scheduling.log import Initial, Log, Settings
from ..instances.scheduling.utility import units_done
from ..solvers.scheduling import reference, simulate
from .experiment import (
    CURED,
    RULED_OUT,
    Finding,
    Paper,
    Parts,
    Verdict,
    chart,
    claim,
    compare,
    decided,
    equal,
    runnable,
    short,
)

PAPER = Paper(
    "fair-scheduling",
    "Skowron and Rzadca, Non-monetary fair scheduling: a cooperative game theory approach",
    "Skowron and Rzadca",
    "scheduling",
    guide="Guide: [scheduling](../scheduling.md), and [where the text cannot be "
    "followed](../errata.md#non-monetary-fair-scheduling).",
    not_determined=(
        ("Skowron and Rzadca figs. 4, 5 and 8",
         "sketches of schedules inside proofs, of no particular instance"),
        ("Skowron and Rzadca tables 1 and 2, columns PIK-IPLEX, SHARCNET-Whale and RICC",
         "the traces have to be fetched by hand from the Parallel Workloads Archive: -o trace=RICC "
         "-o log=FILE"),
        ("Skowron and Rzadca fig. 10, its values",
         "only a picture; that the ratio grows is what scheduling-figure-10 tests"),
    ),
)  # fmt: skip


Row = tuple[float, float]

MACHINES = {"LPC-EGEE": 70, "PIK-IPLEX": 2560, "SHARCNET-Whale": 3072, "RICC": 8192}
"""Processors of each trace (section 7.2); LPC has 70 dual nodes, and the paper used 70."""

TABLE_1: dict[str, dict[str, Row]] = {
    "LPC-EGEE": {
        "ROUNDROBIN": (238, 353), "RAND15": (8, 21), "DIRECTCONTR": (5, 11),
        "FAIRSHARE": (16, 25), "UTFAIRSHARE": (16, 25), "CURRFAIRSHARE": (87, 106),
    },
    "PIK-IPLEX": {
        "ROUNDROBIN": (6, 33), "RAND15": (0.014, 0.01), "DIRECTCONTR": (0.02, 0.15),
        "FAIRSHARE": (0.3, 1.38), "UTFAIRSHARE": (0.3, 1.38), "CURRFAIRSHARE": (0.3, 1.58),
    },
    "SHARCNET-Whale": {
        "ROUNDROBIN": (145, 38), "RAND15": (6, 6), "DIRECTCONTR": (10, 7),
        "FAIRSHARE": (13, 8), "UTFAIRSHARE": (38, 67), "CURRFAIRSHARE": (145, 80),
    },
    "RICC": {
        "ROUNDROBIN": (2839, 357), "RAND15": (162, 187), "DIRECTCONTR": (537, 303),
        "FAIRSHARE": (626, 309), "UTFAIRSHARE": (515, 284), "CURRFAIRSHARE": (1231, 243),
    },
}  # fmt: skip
"""Windows of 5e4 seconds."""

TABLE_2: dict[str, dict[str, Row]] = {
    "LPC-EGEE": {
        "ROUNDROBIN": (4511, 6257), "RAND15": (562, 1670), "DIRECTCONTR": (410, 1083),
        "FAIRSHARE": (575, 1404), "UTFAIRSHARE": (888, 2101), "CURRFAIRSHARE": (1082, 2091),
    },
    "PIK-IPLEX": {
        "ROUNDROBIN": (242, 1420), "RAND15": (1.3, 7), "DIRECTCONTR": (0.2, 1.4),
        "FAIRSHARE": (2.3, 12), "UTFAIRSHARE": (1.2, 5), "CURRFAIRSHARE": (2.2, 11),
    },
    "SHARCNET-Whale": {
        "ROUNDROBIN": (404, 1221), "RAND15": (26, 158), "DIRECTCONTR": (60, 204),
        "FAIRSHARE": (94, 307), "UTFAIRSHARE": (120, 344), "CURRFAIRSHARE": (180, 805),
    },
    "RICC": {
        "ROUNDROBIN": (10850, 13773), "RAND15": (771, 1479), "DIRECTCONTR": (1808, 3397),
        "FAIRSHARE": (2746, 4070), "UTFAIRSHARE": (4963, 6080), "CURRFAIRSHARE": (5387, 9083),
    },
}  # fmt: skip
"""Windows of 5e5 seconds."""

TABLES = {"1": (50_000, TABLE_1), "2": (500_000, TABLE_2)}
"""Seconds of the windows of each table, and what it prints."""

WINDOWS = 100
"""Windows drawn for tables 1 and 2 and figure 10."""

LPC = (("log", "traces/LPC-EGEE-2004-1.2-cln.swf.gz"),)

Trace = Literal["LPC-EGEE", "PIK-IPLEX", "SHARCNET-Whale", "RICC"]

ORGANIZATIONS = range(2, 9)
"""Numbers of organizations in figure 10."""

CONTAINS_ZERO = "undecided, since the interval contains 0"


@runnable
def table(
    number: str,
    *,
    seed: int = 0,
    log: str | None = None,
    trace: Trace = "LPC-EGEE",
) -> Parts:
    """Table 1 or 2: unfairness, delta psi / p_tot, of each rule over random windows of a trace, 5e4
    or 5e5 seconds long. Table 2 also compares them with windows a tenth as long.

    Parameters
    ----------
    number : "1" or "2".
    log : path of the trace's .swf or .swf.gz file; LPC-EGEE is fetched when not given.
    trace : whose column of the paper's table to compare with.

    Notes
    -----
    What was in the system when a window begins is not stated in the paper, and decides: both are
    shown. A mean is called reproduced when the paper's lies in the 95 % bootstrap interval of ours.
    """
    # 1. Each start beside the paper's column, with the other start as a possible cause.
    opened, (length, columns) = open_log(trace, log), TABLES[number]
    paper = columns[trace]
    given = Settings(length=length, machines=MACHINES[trace])
    drawn: dict[str, Any] = {"windows": WINDOWS, "seed": seed}
    starts: tuple[Initial, ...] = ("empty", "warm")
    studies = {start: study(opened, replace(given, initial=start), **drawn) for start in starts}
    printed = {name: row[0] for name, row in paper.items()}
    means: dict[str, dict[str, float]] = {}
    for start, found in studies.items():
        others = {other: one for other, one in studies.items() if other != start}
        yield from _rows(found, start, paper, others)
        yield from _differences(found, start, paper, others)
        means[start] = {name: float(found.distance[name].mean()) for name in printed}
        yield from _conclusions(start, means[start], printed)
    bars = {"printed": printed, **{f"{start} start": row for start, row in means.items()}}
    yield chart(f"scheduling-table-{number}", f"Unfairness in windows of {length} s of {trace}",
        "rule", "mean of delta psi / p_tot", bars, y_scale="symlog")  # fmt: skip
    # 2. How much less unfair shorter windows are.
    if number == "2":
        start, tenth = starts[0], length // 10
        of_tenth = replace(given, length=tenth, initial=start)
        distance = study(opened, of_tenth, rules=tuple(paper), **drawn).distance
        pairs = {name: (float(distance[name].mean()), long) for name, long in means[start].items()}
        grown = sum(after > before for before, after in pairs.values())
        yield compare(f"mean unfairness from windows of {tenth} to {length} seconds, {start} start",
            "increasing",
            ", ".join(f"{n} {short(before)} to {short(after)}"
                      for n, (before, after) in pairs.items()),
            grown == len(paper), f"the mean grows for {grown} of {len(paper)} rules")  # fmt: skip


for _number, _seconds in (("1", 20), ("2", 180)):
    PAPER.experiment(
        f"table-{_number}", f"table {_number}", data=LPC, seconds=_seconds,
        what=f"unfairness of the rules on windows of 5e{3 + int(_number)} seconds of a trace",
    )(partial(table, _number))  # fmt: skip


@PAPER.experiment("figure-10", "fig. 10", seconds=60, data=LPC)
def figure_10(*, seed: int = 0, log: str | None = None) -> Parts:
    """Unfairness against the number of organizations."""
    # 1. Each number of organizations.
    opened = open_log("LPC-EGEE", log)
    samples: dict[str, list[Floats]] = {name: [] for name in TABLE_RULES}
    least, most = ORGANIZATIONS[0], ORGANIZATIONS[-1]
    for k in ORGANIZATIONS:
        given = Settings(organizations=k, machines=MACHINES["LPC-EGEE"])
        found = study(opened, given, windows=WINDOWS, seed=seed)
        for name in TABLE_RULES:
            samples[name].append(found.distance[name])
    # 2. From the fewest to the most, window by window.
    for name, sample in samples.items():
        if name not in TABLE_1["LPC-EGEE"]:
            continue
        s = summarize(sample[-1] - sample[0])
        verdict = decided(s.low > 0, s.low, s.high)
        note = {"differs": "window by window it falls", "undecided": CONTAINS_ZERO}
        yield compare(f"{name}: from {least} to {most} organizations, window by window",
            "grows", _interval(s), verdict, note.get(verdict, ""))  # fmt: skip
    first, last = (np.stack([sample[index] for sample in samples.values()]) for index in (0, -1))
    low, high = _drawn_again(first, last)
    yield compare(f"difference between the rules, {least} against {most} organizations",
        "more significant", f"{short(_apart(first))} against {short(_apart(last))}",
        decided(_apart(last) > _apart(first), low, high),
        "spread is the largest less the smallest mean; with windows drawn again the difference "
        f"grows by {short(low)} to {short(high)}")  # fmt: skip
    means = {name: [summarize(one).mean for one in sample] for name, sample in samples.items()}
    yield chart("scheduling-figure-10", "Unfairness against the number of organizations",
        "organizations", "mean of delta psi / p_tot", means, x=ORGANIZATIONS,
        style="line+points", y_scale="symlog",
        note="means over few contended windows: their 95 % intervals overlap, see the differences "
        "window by window")  # fmt: skip


def _apart(distance: Floats) -> float:
    """Largest less smallest of the rules' mean distances to REF; `distance` is (rules, windows)."""
    mean = distance.mean(axis=1)
    return float(mean.max() - mean.min())


def _drawn_again(first: Floats, last: Floats, resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of how much farther rules are apart in `last` than in `first`."""
    windows = np.random.default_rng(0).integers(0, first.shape[1], (resamples, first.shape[1]))
    low, high = np.percentile(
        [_apart(last[:, drawn]) - _apart(first[:, drawn]) for drawn in windows], [2.5, 97.5]
    )
    return float(low), float(high)


@validate_options
def open_log(trace: Trace, log: str | None) -> Log:
    """Log of a trace, from the user's file, or fetched where that is possible."""
    if log is None and trace != "LPC-EGEE":
        raise InvalidOption(
            f"log is not given; download {trace} from the Parallel Workloads Archive and give "
            "-o log=FILE"
        )
    return read_swf(fetch("lpc-egee") if log is None else log)


def _conclusions(start: str, ours: dict[str, float], paper: dict[str, float]) -> Iterator[Finding]:
    """Findings on conclusions (i), (iii) and (iv) of section 7.3, by our mean unfairness of each
    rule. Notes say which of them the paper's own means do not support.
    """
    fast = [name for name in paper if name != "RAND15"]
    ranked = sorted(ours, key=ours.__getitem__)
    fairest = min(fast, key=ours.__getitem__)
    for what, text, rule, words, chosen in (
        ("fairest of all", "RAND", "RAND15", ", ".join(ranked),
         lambda row: min(row, key=row.__getitem__)),
        ("fairest of all but RAND", "DIRECTCONTR", "DIRECTCONTR", fairest,
         lambda row: min(fast, key=row.__getitem__)),
        ("ROUNDROBIN", "the most unfair", "ROUNDROBIN",
         f"most unfair: {max(ours, key=ours.__getitem__)}",
         lambda row: max(row, key=row.__getitem__)),
    ):  # fmt: skip
        here, there = (chosen(row) == rule for row in (ours, paper))
        own = "" if there else "the paper's printed column does not support the claim"
        note = f"ordered by the means; {own}" if own and here else "ordered by the means"
        yield compare(f"{what}, {start} start", text, words, here, note, own and f"{own} either")


def _rows(
    found: Study, start: str, paper: dict[str, Row], others: Mapping[Any, Study]
) -> Iterator[Finding]:
    """Findings that compare each rule's mean unfairness with the paper's printed mean. `others` are
    studies in which windows begin in another state, a possible cause of a difference.
    """
    counts = (
        f"{found.contended_windows} of {found.windows} windows are contended, "
        f"and {found.without_work} without work were drawn again"
    )
    for name, (mean, deviation) in paper.items():
        s = summarize(found.distance[name])
        inside = s.low <= mean <= s.high
        there = {other: summarize(one.distance[name]) for other, one in others.items()}
        cures = [other for other, row in there.items() if row.low <= mean <= row.high]
        means = {start: s.mean} | {other: row.mean for other, row in there.items()}
        cause = ""
        if cures:
            cause = f"from a {' or '.join(cures)} start the printed mean is inside our interval"
        elif min(means.values()) <= mean <= max(means.values()):
            ends = " and ".join(f"{short(value)} from {one}" for one, value in means.items())
            cause = f"the printed mean lies between ours, {ends}"
        note = "" if inside else "the printed mean is outside our interval"
        note += f", also from a {', '.join(others)} start" if note and others and not cures else ""
        yield compare(f"{name}, {start} start", f"mean {mean:g}, sd {deviation:g}",
            f"mean {_interval(s)}, sd {short(s.deviation)}, "
            f"median {short(s.median)} [{short(s.quartile_1)}, {short(s.quartile_3)}]",
            inside, "; ".join(filter(None, (note, counts))),
            cause and f"the start: {cause}")  # fmt: skip
        counts = ""


def _differences(
    found: Study, start: str, paper: dict[str, Row], others: Mapping[Any, Study]
) -> Iterator[Finding]:
    """Findings on the differences of each rule to DIRECTCONTR, window by window."""

    def of(one: Study, name: str) -> tuple[Floats, Summary, Verdict]:
        difference = one.distance[name] - one.distance["DIRECTCONTR"]
        s = summarize(difference)
        printed = paper[name][0] - paper["DIRECTCONTR"][0]
        return difference, s, decided(bool(np.sign(printed) == np.sign(s.mean)), s.low, s.high)

    for name in paper:
        if name == "DIRECTCONTR":
            continue
        difference, s, verdict = of(found, name)
        cause = ""
        for other, one in others.items() if verdict == "differs" else ():
            _, there, which = of(one, name)
            ruled_out = f"{RULED_OUT} the start"
            known = ruled_out if which == "differs" else f"the start{CURED[which]} from {other}"
            cause = f"{known} (mean {_interval(there)})"
        text = f"{paper[name][0] - paper['DIRECTCONTR'][0]:+g} (difference of the means)"
        farther, nearer = (difference > 0).sum(), (difference < 0).sum()
        note = f"the rule is farther from REF in {farther} windows, nearer in {nearer}"
        note += f"; {CONTAINS_ZERO}" if s.low <= 0 <= s.high else ""
        yield compare(f"{name} less DIRECTCONTR, {start} start", text,
            f"mean {_interval(s)}, median {short(s.median)}", verdict, note, cause)  # fmt: skip


def _interval(s: Summary) -> str:
    return f"{short(s.mean)} [{short(s.low)}, {short(s.high)}]"


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
    """Number of orders of players that the reduction from SUBSETSUM to the Shapley value counts.

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
    """Psi and total flow time, at time 14, of the started jobs of the first organization."""
    mine = (instance.organization == 0) & (start >= 0)
    lengths = zip(start[mine].tolist(), instance.processing[mine].tolist(), strict=True)
    rows = [(begin, length, 0) for begin, length in lengths]
    return int(UTILITIES["throughput"](rows, 14)), -int(UTILITIES["flow-time"](rows, 14))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
