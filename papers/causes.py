"""Causes of findings that differ: the experiment is run again with one open choice changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..instances.problem.errors import CotenantError
from ..solvers.outcome import Clock
from .experiment import RULED_OUT, Finding, Reproduction

Tried = Mapping[str, Mapping[str, Finding]]
"""What was changed -> how -> the finding that came out."""

SHORT = 40
"""A range this long is shown for each change; where one is longer, all share one."""

ALL_OF_THEM = "; over all of them"
"""Before the range of all changes that were ruled out."""

MOST_WORDS = 3
"""Before a number that is the paper's value; behind more of them it is part of a sentence."""

NUMBER = re.compile(r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?![\w.]*\d)")
_ENDS = ("", "; ", " (", ", ", ": ")


def explained(done: Reproduction) -> Reproduction:
    """Reproduction whose differences without a cause of their own get one from reruns under each
    variation of the experiment; its seconds count the reruns. Variations of an option that the user
    gave, or that need a measured file which is missing, are left out.
    """
    task, clock = done.task, Clock()
    tried: dict[str, dict[str, dict[str, Finding]]] = {
        one.what: {} for one in done.findings if one.verdict == "differs" and not one.cause
    }
    for change, ways in task.experiment.variations.items() if tried else ():
        for how, changes in ways.items():
            # 1. Its own files, where the folder holds them; no change undoes the user's.
            files = {name: task.data and task.data / value
                     for name, value in changes.items() if isinstance(value, Path)}  # fmt: skip
            there = all(path and path.is_file() for path in files.values())
            if not there or next(iter(changes)) in task.options or changes.get("seed") == task.seed:
                continue
            paths = {name: str(path) for name, path in files.items()}
            given: dict[str, Any] = {"seed": task.seed, **changes, **paths, **task.options}
            # 2. What comes out of it; options that do not go together are left out.
            with suppress(CotenantError):
                for one in task.experiment.run(data=task.data, **given).findings:
                    if one.what in tried and one.verdict != "not in the paper":
                        tried[one.what].setdefault(change, {})[how] = one
    findings = (
        replace(one, cause=cause(one, tried[one.what]))
        if one.verdict == "differs" and not one.cause
        else one
        for one in done.findings
    )
    return replace(done, findings=tuple(findings), seconds=done.seconds + clock.seconds)


def cause(finding: Finding, tried: Tried) -> str:
    """Cause of a difference by its reruns: the changes that remove it, or that were ruled out, and
    how far it moves.
    """
    # 1. The changes under which it vanishes, or is undecided.
    for verdict in ("reproduced", "undecided"):
        cures = []
        for change, runs in tried.items():
            good = [how for how, one in runs.items() if one.verdict == verdict]
            bad = [how for how in runs if how not in good]
            without = f", not with {_listed(bad, 'or')}" if bad else ""
            cures += [f"{change}: {verdict} with {_listed(good)}{without}"] if good else []
        if cures:
            return "; ".join(cures)
    # 2. The changes that move it; a shorter run may leave out what stands behind a semicolon.
    ours = {change: [one.ours for one in runs.values()] for change, runs in tried.items()}
    moving = {
        change: texts
        for change, texts in ours.items()
        if not all(f"{finding.ours}; ".startswith(f"{text}; ") for text in texts)
    }
    if not moving:
        return f"{RULED_OUT}: {_listed(list(ours))} (unchanged)" if tried else ""
    # 3. The changes around whose values the paper's lies, else how far all of them move it.
    around = [c for c, texts in moving.items() if _holds(finding.paper, [finding.ours, *texts])]
    moved = span([finding.ours, *(text for change in around or moving for text in moving[change])])
    if around:
        return f"{_listed(around)}: the paper's value lies within ours, {moved}"
    ranges = {change: span(texts) for change, texts in moving.items()}
    if all(len(text) <= SHORT for text in ranges.values()):
        words = (f"{change} ({text})" if text else change for change, text in ranges.items())
        return f"{RULED_OUT}: {', '.join(words)}"
    return f"{RULED_OUT}: {_listed(list(moving))}{moved and f'{ALL_OF_THEM} {moved}'}"


def span(texts: Sequence[str]) -> str:
    """Several texts joined into one, each number that varies as LOW to HIGH; where their words
    differ, the longest beginning in which they agree.

    In a text that has a "to" of its own it is LOW-HIGH.
    """
    for end in _ENDS:
        parts = list(dict.fromkeys(text.split(end)[0] if end else text for text in texts))
        if len(parts) == 1 and (not end or NUMBER.search(parts[0])):
            return parts[0]
        if len({NUMBER.sub("#", text) for text in parts}) == 1:
            columns = zip(*(NUMBER.findall(text) for text in parts), strict=True)
            ends = [(min(values, key=float), max(values, key=float)) for values in columns]
            word = "-" if " to " in parts[0] else " to "
            ranges = iter(a if float(a) == float(b) else f"{a}{word}{b}" for a, b in ends)
            return "".join(f"{words}{next(ranges, '')}" for words in NUMBER.split(parts[0]))
    return ""


def _holds(paper: str, ours: Sequence[str]) -> bool:
    """Return whether the paper's only number, after a few words, lies within our texts' numbers."""
    printed, first = NUMBER.findall(paper), [NUMBER.match(text) for text in ours]
    if len(printed) != 1 or len(paper.partition(printed[0])[0].split()) > MOST_WORDS:
        return False
    values = [float(number.group()) for number in first if number]
    return len(values) == len(ours) and min(values) <= float(printed[0]) <= max(values)


def _listed(names: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
