"""Why a finding differs: the experiment is run again with one open choice changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..instances.problem.errors import CotenantError
from ..solvers.outcome import Clock
from .registry import Experiment, Finding, Reproduction
from .variations import Copy

Tried = Mapping[str, Mapping[str, Finding]]
"""What was changed -> how -> the finding that came out."""

SHORT = 40
"""A range this long is shown for each change; where one is longer, all share one."""

MOST_WORDS = 3
"""Before a number that is the paper's value; behind more of them it is part of a sentence."""

RULED_OUT = "tested and not the cause"

_NUMBER = re.compile(r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?![\w.]*\d)")
_ENDS = ("", "; ", " (", ", ", ": ")


def explained(
    done: Reproduction, *, seed: int = 0, data: Path | None = None, **options: Any
) -> Reproduction:
    """A run whose findings that differ and have no cause of their own were tried again under each
    of its variations.

    Parameters
    ----------
    done : what `Experiment.run` gave.
    seed, data, options : what it was given. A change of an option that is among them is left out,
        as is one that needs a measured file which `data` does not hold.

    Notes
    -----
    Its seconds then count the further runs too.
    """
    unknown = {
        finding.what
        for finding in done.findings
        if finding.verdict == "differs" and not finding.cause
    }
    if not unknown or not done.experiment.variations:
        return done
    clock = Clock()
    tried: dict[str, dict[str, dict[str, Finding]]] = {what: {} for what in unknown}
    for change, runs in done.experiment.variations.items():
        for how, changes in runs.items():
            for finding in _again(done.experiment, changes, seed, data, options):
                if finding.what in unknown and finding.verdict != "not in the paper":
                    tried[finding.what].setdefault(change, {})[how] = finding
    findings = (
        replace(one, cause=cause(one, tried[one.what]))
        if one.verdict == "differs" and not one.cause
        else one
        for one in done.findings
    )
    return replace(done, findings=tuple(findings), seconds=done.seconds + clock.seconds)


def _again(
    experiment: Experiment,
    changes: Mapping[str, Any],
    seed: int,
    data: Path | None,
    options: Mapping[str, Any],
) -> Sequence[Finding]:
    """A run's findings with these changes; none where they undo the user's, or cannot be."""
    copies = {name: value.under(data) for name, value in changes.items() if isinstance(value, Copy)}
    if next(iter(changes)) in options or changes.get("seed") == seed or None in copies.values():
        return ()
    given: dict[str, Any] = {"seed": seed, **changes, **copies, **options}
    try:
        return experiment.run(data=data, **given).findings
    except CotenantError:  # options that do not go together
        return ()


def cause(finding: Finding, tried: Tried) -> str:
    """What runs say of a difference: which changes cure it, or what was ruled out, how far."""
    if not tried:
        return ""
    for verdict in ("reproduced", "undecided"):
        cures = []
        for change, runs in tried.items():
            good = [how for how, one in runs.items() if one.verdict == verdict]
            bad = [how for how in runs if how not in good]
            if good:
                cures.append(
                    f"{change}: {verdict} with {_listed(good)}"
                    + (f", not with {_listed(bad, 'or')}" if bad else "")
                )
        if cures:
            return "; ".join(cures)
    ours = {change: [one.ours for one in runs.values()] for change, runs in tried.items()}
    # A shorter run may leave out what stands behind a semicolon.
    moving = {
        change: texts
        for change, texts in ours.items()
        if not all(f"{finding.ours}; ".startswith(f"{text}; ") for text in texts)
    }
    if not moving:
        return f"{RULED_OUT}: {_listed(list(ours))} (unchanged)"
    if around := [
        change for change, texts in moving.items() if _holds(finding.paper, [finding.ours, *texts])
    ]:
        reach = span([finding.ours, *(text for change in around for text in moving[change])])
        return f"{_listed(around)}: the paper's value lies within ours, {reach}"
    ranges = {change: span(texts) for change, texts in moving.items()}
    if all(len(text) <= SHORT for text in ranges.values()):
        return f"{RULED_OUT}: " + ", ".join(
            f"{change} ({text})" if text else change for change, text in ranges.items()
        )
    moved = span([finding.ours, *(text for texts in moving.values() for text in texts)])
    return f"{RULED_OUT}: {_listed(list(moving))}" + (
        f"; over all of them {moved}" if moved else ""
    )


def span(texts: Iterable[str]) -> str:
    """Several texts as one, each number that varies as LOW to HIGH; where their words differ, as
    much of them as agrees.

    In a text that has a "to" of its own it is LOW-HIGH.
    """
    distinct = list(dict.fromkeys(texts))
    for end in _ENDS:
        parts = list(dict.fromkeys(text.split(end)[0] if end else text for text in distinct))
        if len(parts) == 1 and (not end or _NUMBER.search(parts[0])):
            return parts[0]
        if len({_NUMBER.sub("#", text) for text in parts}) == 1:
            word = "-" if " to " in parts[0] else " to "
            ranges = (
                _range(numbers, word)
                for numbers in zip(*(_NUMBER.findall(text) for text in parts), strict=True)
            )
            return "".join(f"{words}{next(ranges, '')}" for words in _NUMBER.split(parts[0]))
    return ""


def _range(values: Sequence[str], word: str) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if float(low) == float(high) else f"{low}{word}{high}"


def _holds(paper: str, ours: Sequence[str]) -> bool:
    """Whether the paper's one number, after a few words, lies within those of our texts."""
    printed, first = _NUMBER.findall(paper), [_NUMBER.match(text) for text in ours]
    if len(printed) != 1 or len(paper.partition(printed[0])[0].split()) > MOST_WORDS:
        return False
    values = [float(number.group()) for number in first if number]
    return len(values) == len(ours) and min(values) <= float(printed[0]) <= max(values)


def _listed(names: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
