"""Tables and figures of fair scheduling, computed again: printed numbers compared with ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...analysis.scheduling.windows import TABLE_RULES, Floats, Study, Summary, study, summarize
from ...instances.problem.datasets import fetch
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling.formats import read_swf
from ...instances.scheduling.log import Initial, Log, Settings
from ..charts import chart, short
from ..experiment import RULED_OUT, Finding, Parts, Verdict, compare, decided, runnable
from . import PAPER
from .printed import MACHINES, PRINTED, TABLE_1, Row

LPC = (("log", "traces/LPC-EGEE-2004-1.2-cln.swf.gz"),)

Trace = Literal["LPC-EGEE", "PIK-IPLEX", "SHARCNET-Whale", "RICC"]

ORGANIZATIONS = range(2, 9)
"""Numbers of organizations in figure 10."""

CONTAINS_ZERO = "undecided, since the interval contains 0"


@runnable
def table(
    number: str,
    *,
    length: int,
    seed: int = 0,
    log: str | None = None,
    trace: Trace = "LPC-EGEE",
    windows: int = 100,
) -> Parts:
    """Table 1 or 2: delta psi / p_tot of each rule over random windows of a trace, 5e4 or 5e5
    seconds long; with table 2 how much windows of a tenth of their length are less unfair.

    Parameters
    ----------
    number : "1" or "2".
    log : path of the trace's .swf or .swf.gz file; LPC-EGEE is fetched when not given.
    trace : whose column of the paper's table to compare with.
    windows, length : how many windows, and their seconds.

    Notes
    -----
    What was in the system when a window begins is not stated in the paper, and decides: both are
    shown. A mean is called reproduced when the paper's lies in the 95 % bootstrap interval of ours.
    """
    # 1. Each start beside the paper's column, with the other start as a possible cause.
    opened, paper = open_log(trace, log), PRINTED[number][trace]
    given = Settings(length=length, machines=MACHINES[trace])
    drawn: dict[str, Any] = {"windows": windows, "seed": seed}
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


for _number, _length, _seconds in (("1", 50_000, 20), ("2", 500_000, 180)):
    PAPER.experiment(
        f"table-{_number}", f"table {_number}", data=LPC, seconds=_seconds,
        what=f"unfairness of the rules on windows of 5e{3 + int(_number)} seconds of a trace",
    )(partial(table, _number, length=_length))  # fmt: skip


@PAPER.experiment("figure-10", "fig. 10", seconds=60, data=LPC)
def figure_10(
    *,
    seed: int = 0,
    log: str | None = None,
    windows: int = 100,
) -> Parts:
    """Unfairness against the number of organizations."""
    # 1. Each number of organizations.
    opened = open_log("LPC-EGEE", log)
    samples: dict[str, list[Floats]] = {name: [] for name in TABLE_RULES}
    least, most = ORGANIZATIONS[0], ORGANIZATIONS[-1]
    for k in ORGANIZATIONS:
        given = Settings(organizations=k, machines=MACHINES["LPC-EGEE"])
        found = study(opened, given, windows=windows, seed=seed)
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
    """Largest less smallest mean distance of the rules; `distance` is (rules, windows)."""
    mean = distance.mean(axis=1)
    return float(mean.max() - mean.min())


def _drawn_again(first: Floats, last: Floats, resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of how much the spread of the rules' means grows in `last`."""
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
    """Findings on conclusions (i), (iii) and (iv) of section 7.3, by our means and by the paper's
    own.
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
    """Findings on each rule's mean beside the printed one; the start may cause differences."""
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
            known = f"the start: {which} from {other}"
            known = f"{RULED_OUT}: the start" if which == "differs" else known
            cause = f"{known} (mean {_interval(there)})"
        text = f"{paper[name][0] - paper['DIRECTCONTR'][0]:+g} (difference of the means)"
        farther, nearer = (difference > 0).sum(), (difference < 0).sum()
        note = f"the rule is farther from REF in {farther} windows, nearer in {nearer}"
        note += f"; {CONTAINS_ZERO}" if s.low <= 0 <= s.high else ""
        yield compare(f"{name} less DIRECTCONTR, {start} start", text,
            f"mean {_interval(s)}, median {short(s.median)}", verdict, note, cause)  # fmt: skip


def _interval(s: Summary) -> str:
    return f"{short(s.mean)} [{short(s.low)}, {short(s.high)}]"
