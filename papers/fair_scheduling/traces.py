"""The paper's tables and figures, redone: what it prints beside what comes out here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...analysis.scheduling.windows import TABLE_RULES, Floats, Study, Summary, study, summarize
from ...instances.problem.datasets import fetch
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling.formats import read_swf
from ...instances.scheduling.log import By, Log, Settings
from ...solvers.scheduling.ref_reference import Reading
from ..charts import chart
from ..experiment import Finding, Parts, Verdict, addition, compare, decided, runnable
from . import PAPER
from .printed import MACHINES, PRINTED, TABLE_1, Row

LPC = (("log", "traces/LPC-EGEE-2004-1.2-cln.swf.gz"),)

Trace = Literal["LPC-EGEE", "PIK-IPLEX", "SHARCNET-Whale", "RICC"]
Start = Literal["both", "empty", "warm"]


@runnable
def table(
    number: str,
    *,
    length: int,
    seed: int = 0,
    log: str | None = None,
    trace: Trace = "LPC-EGEE",
    windows: int = 100,
    organizations: int = 5,
    machines: int | None = None,
    split: str = "zipf",
    by: By = "user",
    initial: Start = "both",
    reading: Reading = "figure",
) -> Parts:
    """Table 1 or 2: delta psi / p_tot of each rule over random windows of a trace, 5e4 or 5e5
    seconds long; with table 2 how much windows of a tenth of their length are less unfair.

    Parameters
    ----------
    number : "1" or "2".
    log : path of the trace's .swf or .swf.gz file; LPC-EGEE is fetched when not given.
    trace : whose column of the paper's table to compare with.
    windows, length : how many windows, and their seconds.
    machines : the paper's number when not given.
    split, by, organizations : see `instances.scheduling.log.Settings`.
    initial : what was in the system when a window begins is not stated in the paper, and decides;
        "both" shows both.

    A mean is called reproduced when the paper's lies in the 95 % bootstrap interval of ours.
    """
    opened, paper = open_log(trace, log), PRINTED[number][trace]
    settings = Settings(
        length=length,
        organizations=organizations,
        machines=MACHINES[trace] if machines is None else machines,
        split=split,
        by=by,
    )
    drawn: dict[str, Any] = {"windows": windows, "reading": reading, "seed": seed}
    starts: tuple[Literal["empty", "warm"], ...] = (
        ("empty", "warm") if initial == "both" else (initial,)
    )
    printed = {name: row[0] for name, row in paper.items()}
    means: dict[str, dict[str, float]] = {}
    studies = {start: study(opened, replace(settings, initial=start), **drawn) for start in starts}
    for start, found in studies.items():
        others = {other: one for other, one in studies.items() if other != start}
        yield from _rows(found, start, paper, {o: summaries(one) for o, one in others.items()})
        yield from _differences(found, start, paper, others)
        means[start] = {name: float(found.distance[name].mean()) for name in printed}
        yield from _conclusions(start, means[start], printed)
    bars = {"printed": printed, **{f"{start} start": row for start, row in means.items()}}
    yield chart(f"scheduling-table-{number}", f"Unfairness in windows of {length} s of {trace}",
        "rule", "mean of delta psi / p_tot", bars, y_scale="symlog")  # fmt: skip
    if number == "2":
        shorter = study(
            opened, replace(settings, length=length // 10, initial=starts[0]),
            rules=tuple(paper), **drawn,
        ).distance  # fmt: skip
        pairs = {
            name: (float(shorter[name].mean()), long) for name, long in means[starts[0]].items()
        }
        grown = [name for name, (short, long) in pairs.items() if long > short]
        ours = ", ".join(
            f"{name} {_short(short)} to {_short(long)}" for name, (short, long) in pairs.items()
        )
        what = (
            f"mean unfairness from windows of {length // 10} to {length} seconds, {starts[0]} start"
        )
        note = f"grows for {len(grown)} of {len(paper)} rules"
        yield compare(what, "increasing", ours, len(grown) == len(paper), note)


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
    least: int = 2,
    most: int = 8,
    machines: int = 70,
    split: str = "zipf",
    initial: Literal["empty", "warm"] = "empty",
    length: int = 50_000,
) -> Parts:
    """Unfairness against the number of organizations."""
    if not 2 <= least <= most <= 12:
        raise InvalidOption(
            f"least is {least}, most {most}; expected numbers of organizations from 2 to 12"
        )
    opened = open_log("LPC-EGEE", log)
    samples: dict[str, list[Floats]] = {name: [] for name in TABLE_RULES}
    for k in range(least, most + 1):
        settings = Settings(
            length=length, organizations=k, machines=machines, split=split, initial=initial
        )
        found = study(opened, settings, windows=windows, seed=seed)
        for name in TABLE_RULES:
            samples[name].append(found.distance[name])
        ours = ", ".join(
            f"{name} {_short(float(samples[name][-1].mean()))}" for name in TABLE_RULES
        )
        note = f"{found.contended_windows} of {found.windows} windows contended"
        yield compare(f"mean unfairness, {k} organizations", "only a picture", ours, None, note)
    for name in TABLE_RULES:
        s = summarize(samples[name][-1] - samples[name][0])
        printed = name in TABLE_1["LPC-EGEE"]
        verdict = decided(s.low > 0, s.low, s.high)
        note = (
            "window by window it falls"
            if s.high < 0
            else ""
            if s.low > 0
            else "the interval holds 0"
        )
        yield compare(f"{name}: from {least} to {most} organizations, window by window",
            "grows" if printed else "", f"{_short(s.mean)} [{_short(s.low)}, {_short(s.high)}]",
            verdict if printed else None, note)  # fmt: skip
    numbers = tuple(range(least, most + 1))
    lines = {name: [summarize(sample) for sample in samples[name]] for name in TABLE_RULES}
    first, last = (np.stack([samples[name][place] for name in TABLE_RULES]) for place in (0, -1))
    low, high = _drawn_again(first, last)
    grown = f"{_short(_apart(first))} against {_short(_apart(last))}"
    note = (
        "most less least of the rules' means; windows drawn again: it grows by "
        f"{_short(low)} to {_short(high)}"
    )
    spreads = compare(f"difference between the rules, {least} against {most} organizations",
        "more significant", grown, decided(_apart(last) > _apart(first), low, high), note,
    )  # fmt: skip
    yield spreads
    yield chart(
        "scheduling-figure-10",
        "Unfairness against the number of organizations",
        "organizations",
        "mean of delta psi / p_tot",
        {name: [entry.mean for entry in line] for name, line in lines.items()},
        x=numbers,
        style="line+points",
        y_scale="symlog",
        note="means over few contended windows: their 95 % intervals overlap, see the differences "
        "window by window",
    )


def _apart(distance: Floats) -> float:
    """The most less the least of the rules' means; `distance` is (rules, windows)."""
    mean = distance.mean(axis=1)
    return float(mean.max() - mean.min())


def _drawn_again(first: Floats, last: Floats, resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of how much farther apart the rules lie in `last`."""
    windows = np.random.default_rng(0).integers(0, first.shape[1], (resamples, first.shape[1]))
    low, high = np.percentile(
        [_apart(last[:, drawn]) - _apart(first[:, drawn]) for drawn in windows], [2.5, 97.5]
    )
    return float(low), float(high)


@validate_options
def open_log(trace: Trace, log: str | None) -> Log:
    """The trace named, from the user's file, or fetched where that is possible."""
    if log is None and trace != "LPC-EGEE":
        raise InvalidOption(
            f"log is not given; download {trace} from the Parallel Workloads Archive and give "
            "-o log=FILE"
        )
    return read_swf(fetch("lpc-egee") if log is None else log)


def _conclusions(start: str, ours: dict[str, float], paper: dict[str, float]) -> Iterator[Finding]:
    """Section 7.3's (i), (iii), (iv) on our means, and whether the paper's bear them out."""
    fast = [name for name in paper if name != "RAND15"]

    def conclusion(
        what: str, text: str, holds: Callable[[dict[str, float]], bool], words: str
    ) -> Finding:
        own = "" if holds(paper) else "the printed column does not bear it out"
        note = f"by the means; {own}" if own and holds(ours) else "by the means"
        return compare(
            f"{what}, {start} start", text, words, holds(ours), note, own and f"{own} either"
        )

    ranked = ", ".join(sorted(ours, key=ours.__getitem__))
    yield conclusion(
        "fairest of all", "RAND", lambda row: min(row, key=row.__getitem__) == "RAND15", ranked
    )
    yield conclusion(
        "fairest of all but RAND", "DIRECTCONTR",
        lambda row: min(fast, key=row.__getitem__) == "DIRECTCONTR",
        min(fast, key=ours.__getitem__),
    )  # fmt: skip
    yield conclusion(
        "ROUNDROBIN", "the most unfair", lambda row: max(row, key=row.__getitem__) == "ROUNDROBIN",
        f"most unfair: {max(ours, key=ours.__getitem__)}",
    )  # fmt: skip


def summaries(found: Study) -> dict[str, Summary]:
    """Each rule's sample in short."""
    return {name: summarize(sample) for name, sample in found.distance.items()}


def _rows(
    found: Study, start: str, paper: dict[str, Row], others: Mapping[Any, dict[str, Summary]]
) -> Iterator[Finding]:
    """Each rule's mean beside the printed one; other starts are tried, none is stated."""
    counted = (
        f"{found.contended_windows} of {found.windows} windows contended, "
        f"{found.without_work} without work drawn again"
    )
    for place, (name, sample) in enumerate(found.distance.items()):
        s = summarize(sample)
        ours = (
            f"mean {_short(s.mean)} [{_short(s.low)}, {_short(s.high)}], sd {_short(s.deviation)}, "
            f"median {_short(s.median)} [{_short(s.quartile_1)}, {_short(s.quartile_3)}]"
        )
        what, counts = f"{name}, {start} start", "" if place else counted
        if name not in paper:
            yield addition(what, ours, counts)
            continue
        mean, deviation = paper[name]
        inside = s.low <= mean <= s.high
        cures = [
            other for other, rows in others.items() if rows[name].low <= mean <= rows[name].high
        ]
        cause = (
            f"the start: from {' or '.join(cures)} the printed mean is inside our interval"
            if cures
            else ""
        )
        means = {start: s.mean} | {other: rows[name].mean for other, rows in others.items()}
        if not cures and min(means.values()) <= mean <= max(means.values()):
            ends = " and ".join(f"{_short(value)} from {entry}" for entry, value in means.items())
            cause = f"the start: the printed mean lies between ours, {ends}"
        note = "" if inside else "its mean is outside our interval"
        note += f", also from {', '.join(others)}" if others and not inside and not cures else ""
        yield compare(what, f"mean {mean:g}, sd {deviation:g}", ours, inside,
            "; ".join(filter(None, (note, counts))), cause)  # fmt: skip


def _differences(
    found: Study, start: str, paper: dict[str, Row], others: Mapping[Any, Study]
) -> Iterator[Finding]:
    """Differences to DIRECTCONTR, window by window: less fair, and by how much?"""
    for name, sample in found.distance.items():
        if name == "DIRECTCONTR":
            continue
        difference = sample - found.distance["DIRECTCONTR"]
        s = summarize(difference)
        ours = f"{_mean(s)}, median {_short(s.median)}"
        more, less = int((difference > 0).sum()), int((difference < 0).sum())
        verdict: Verdict = "not in the paper"
        text = cause = ""
        if name in paper:
            printed = paper[name][0] - paper["DIRECTCONTR"][0]
            text = f"{printed:+g} (difference of the means)"
            verdict = decided(bool(np.sign(printed) == np.sign(s.mean)), s.low, s.high)
        if verdict == "differs":
            for other, one in others.items():
                there = summarize(one.distance[name] - one.distance["DIRECTCONTR"])
                which = decided(
                    bool(np.sign(printed) == np.sign(there.mean)), there.low, there.high
                )
                known = (
                    "tested and not the cause: the start"
                    if which == "differs"
                    else f"the start: {which} from {other}"
                )
                cause = f"{known} ({_mean(there)})"
        note = f"farther in {more} windows, nearer in {less}"
        note += "; the interval holds 0" if s.low <= 0 <= s.high else ""
        yield compare(f"{name} less DIRECTCONTR, {start} start", text, ours, verdict, note, cause)


def _mean(s: Summary) -> str:
    return f"mean {_short(s.mean)} [{_short(s.low)}, {_short(s.high)}]"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
