"""Papers, their experiments, findings (the paper's number compared with ours), and charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property, partial, wraps
from inspect import getdoc, signature
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict

from ..analysis.report.picture import Chart, Picture, Series, Style
from ..instances.problem.option_types import validate_options
from ..instances.problem.options import accepts
from ..instances.problem.settings import with_settings
from ..solvers.outcome import Clock

RULED_OUT = "the difference remains after changing"
"""How a cause begins that names what was tested and is not the cause."""

ALL_OF_THEM = "; over all of them"
"""Before the range of all changes that were ruled out."""

NUMBER = re.compile(r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?![\w.]*\d)")
_ENDS = ("", "; ", " (", ", ", ": ")

Verdict = Literal["reproduced", "differs", "undecided", "not in the paper"]
_VERDICTS: tuple[Verdict, Verdict] = ("differs", "reproduced")

CURED: dict[Verdict, str] = {
    "reproduced": ", since the paper's result comes out", "undecided": ": undecided"
}  # fmt: skip
"""How a cause goes on after the choice whose change takes the difference away."""


@dataclass(frozen=True)
class Finding:
    """Comparison of one number or claim of a paper with ours.

    Attributes
    ----------
    what : the quantity or claim.
    paper : what the paper prints or says, "" when it says nothing.
    ours : what came out.
    verdict : "reproduced", "differs", "undecided" (what was drawn is too little to tell), or "not
        in the paper".
    note : how it was measured.
    cause : of a difference, why: found by working it out or by a run in which the cause was taken
        away, or what runs ruled out; "" where nothing was tested.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # of rows that are read from files

    what: str
    paper: str
    ours: str
    verdict: Verdict
    note: str = ""
    cause: str = ""

    @property
    def reason(self) -> str:
        """Cause of a difference from the paper, what was ruled out, or "no cause was tested"."""
        if self.verdict != "differs":
            return ""
        if not self.cause or self.cause.startswith(RULED_OUT):
            return self.cause or "no cause was tested"
        return f"cause of the difference: {self.cause}"

    @property
    def why(self) -> str:
        """Note on a finding and its reason, as one text."""
        return "; ".join(filter(None, (self.note, self.reason)))


Parts = Iterator[Finding | Picture]
"""What an experiment yields."""


def compare(
    what: str, paper: str, ours: str, holds: bool | Verdict | None, note: str = "", cause: str = ""
) -> Finding:
    """Finding with its verdict: reproduced if `holds`, else differs, for `cause` where one was
    found; `holds` is None where the data cannot judge the paper's claim. What the paper does not
    say is an `addition`.
    """
    if holds is None:
        return Finding(what, paper, ours, "not in the paper", note)
    verdict: Verdict = holds if isinstance(holds, str) else _VERDICTS[bool(holds)]
    return Finding(what, paper, ours, verdict, note, cause if verdict == "differs" else "")


def claim(what: str, holds: bool, note: str = "") -> Finding:
    """Finding on a sentence of the paper: reproduced if `holds` says that it is true of our
    results.
    """
    return compare(what, "yes", "yes" if holds else "no", holds, note)


def addition(what: str, ours: str, note: str = "") -> Finding:
    """Finding on a number that we compute and the paper does not print."""
    return compare(what, "", ours, None, note)


def equal(what: str, paper: str, ours: object, note: str = "", cause: str = "") -> Finding:
    """Finding on a number that is reproduced if our text of it equals the paper's text."""
    return compare(what, paper, str(ours), str(ours) == paper, note, cause)


def decided(holds: bool, low: float, high: float) -> Verdict:
    """Verdict on the sign of a mean: undecided while 0 lies between `low` and `high`."""
    return "undecided" if low <= 0 <= high else _VERDICTS[bool(holds)]


Variations = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What the paper leaves open -> another choice of it -> its options, first the one changed; a Path
is of a measured file in the folder of users' copies.
"""


def draws(**shorter: Any) -> Variations:
    """Variations of an experiment by the seeds 1 to 3; `shorter` are options of shorter runs."""
    return {"the random draws": {f"seed {seed}": {"seed": seed, **shorter} for seed in (1, 2, 3)}}


def each(option: str, *values: Any, **also: Any) -> Mapping[str, Mapping[str, Any]]:
    """Variations of an experiment, OPTION=VALUE, by an option's values, with the same other
    options.
    """

    def shown(value: Any) -> str:
        return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return {f"{option}={shown(value)}": {option: value, **also} for value in values}


Function = Callable[..., list[Finding | Picture]]


def runnable(function: Callable[..., Iterable[Finding | Picture]]) -> Function:
    """Wrap an experiment so that it checks its options and returns its results as a list. The
    fields of its settings become options.
    """
    if any(is_dataclass(entry.default) for entry in signature(function).parameters.values()):
        function = with_settings()(function)

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> list[Finding | Picture]:
        return list(function(*arguments, **options))

    return validate_options(run)


@dataclass(frozen=True)
class Paper:
    """Paper whose tables and figures are computed again.

    Attributes
    ----------
    name : short: of its page, and on the command line.
    title : in full.
    cited : how the source of its experiments begins.
    problem : which its experiments belong to.
    guide : what else to read, in Markdown.
    not_determined : (figure or table, why its text does not determine it).
    experiments : in the order in which they were declared.
    """

    name: str
    title: str
    cited: str
    problem: str
    guide: str = ""
    not_determined: tuple[tuple[str, str], ...] = ()
    experiments: list[Experiment] = field(default_factory=list, repr=False, compare=False)

    def experiment(
        self, name: str, place: str = "", **more: Any
    ) -> Callable[[Callable[..., Iterable[Finding | Picture]]], Function]:
        """Declare a function as an experiment of this paper; `more` are fields of `Experiment`.

        Its one line for people, `what`, is the first sentence of its docstring if not given.
        """

        def declare(function: Callable[..., Iterable[Finding | Picture]]) -> Function:
            run: Any = function if isinstance(function, partial) else runnable(function)
            sentence = " ".join((getdoc(function) or "").partition("\n\n")[0].split()).rstrip(".")
            said = {"what": sentence[:1].lower() + sentence[1:], **more}
            full = f"{self.problem}-{name}"
            self.experiments.append(Experiment(self, full, place, run, **said))
            return run  # type: ignore[no-any-return]

        return declare


@dataclass(frozen=True)
class Experiment:
    """Table or figure of a paper, with the function that computes it again.

    Attributes
    ----------
    paper : which.
    name : what `cotenant reproduce` calls it, such as "market-figure-3.12".
    place : where in the paper; "" when it is in none.
    function : `function(*, seed=0, **options)`; one without randomness takes no seed.
    what : one line for people.
    data : (option, file) of each measured file of others that it reads: the option that takes its
        path, and its place in a folder of users' copies (the layout of CONTRIBUTING.md).
    substitute : what it runs on without them; "" when it cannot.
    seconds : about how long it takes with the defaults on two cores.
    variations : what the paper leaves open, and other choices of it: where a finding differs
        without a cause of its own, they are tried (see `run.explained`).
    """

    paper: Paper
    name: str
    place: str
    function: Function = field(repr=False)
    what: str
    data: tuple[tuple[str, str], ...] = ()
    substitute: str = ""
    seconds: float = 3.0
    variations: Variations = field(default_factory=dict, hash=False)

    @property
    def source(self) -> str:
        """Citation of the paper with the place in it."""
        return f"{self.paper.cited} {self.place}".strip()

    def run(self, *, seed: int = 0, data: Path | None = None, **options: Any) -> Reproduction:
        """Run the experiment with the measured files in the folder `data`."""
        return Task(self, seed, options, data).run()


@dataclass(frozen=True)
class Task:
    """Run of an experiment to be done: seed, options, and the folder of measured files, if any."""

    experiment: Experiment
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Path | None = None

    @cached_property
    def files(self) -> dict[str, Path]:
        """Path of each measured file in the data folder, by the option that takes it. Options that
        are given are left out; files that only variations read go by their place in the folder.
        """
        ways = [way for ways in self.experiment.variations.values() for way in ways.values()]
        also = (str(value) for way in ways for value in way.values() if isinstance(value, Path))
        wanted = dict(self.experiment.data) | {file: file for file in also}
        return {
            name: self.data / file
            for name, file in wanted.items()
            if self.data and name not in self.options and (self.data / file).is_file()
        }

    @property
    def missing(self) -> list[str]:
        """Measured files that the experiment lacks and has no substitute for."""
        there = {*self.options, *self.files}
        lacking = [file for option, file in self.experiment.data if option not in there]
        return [] if self.experiment.substitute else lacking

    @property
    def command(self) -> str:
        """Command line that runs the experiment with the task's options; DATA stands for the folder
        of measured files.
        """
        words = ["cotenant reproduce", self.experiment.name]
        words += [f"--seed {self.seed}"] if self.seed else []
        words += [f"-o {key}={'none' if one is None else one}" for key, one in self.options.items()]
        return " ".join([*words, *(["--data DATA"] if self.files else [])])

    def run(self) -> Reproduction:
        """Run the experiment of a task and return its findings."""
        own, function = dict(self.experiment.data), self.experiment.function
        given: dict[str, Any] = {n: str(path) for n, path in self.files.items() if n in own}
        given |= {"seed": self.seed} if accepts(function, "seed") else {}
        clock = Clock()
        parts = function(**given, **self.options)
        findings = tuple(one for one in parts if isinstance(one, Finding))
        pictures = (one for one in parts if not isinstance(one, Finding))
        drawn = tuple(replace(one, command=one.command or self.command) for one in pictures)
        return Reproduction(self, clock.seconds, findings, drawn)


class Reproduction(NamedTuple):
    """Record of an experiment that was run: wall time [s], findings (the paper's numbers beside
    ours), and its figures redrawn.
    """

    task: Task
    seconds: float
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]


Rows = Mapping[Any, Mapping[Any, Any]] | Mapping[Any, Sequence[Any]]
"""Series -> value by place on the axis, or the values at the places that are given apart."""

MOST_SAID = 8
"""Values of a series that are said one by one; of more the least and the most are said."""

_DRAWN: dict[Style, str] = {"bars": "Bars", "points": "Points"}


def chart(
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    values: Rows,
    *,
    x: Sequence[Any] = (),
    style: Style = "bars",
    styles: Mapping[str, Style] | None = None,
    strong: Collection[str] = (),
    ends: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    levels: Mapping[str, float] | None = None,
    words: str = "",
    **more: Any,
) -> Chart:
    """Chart of numbers by series, with an alternative text made of the numbers.

    Parameters
    ----------
    name, title, x_label, y_label, more : as of a Chart.
    values, x : what is not finite, or None, leaves a hole; `x` are the places where the rows of
        `values` do not name them.
    style, styles, strong : how series are drawn, some of them otherwise, and which of them thick.
    ends : the lower and upper ends of a series' intervals.
    levels : drawn as lines across.
    words : what the numbers do not say by themselves.
    """
    series = []
    for label, row in values.items():
        places, numbers = (row.keys(), row.values()) if isinstance(row, Mapping) else (x, row)
        y = tuple(None if one is None or not np.isfinite(one) else one for one in numbers)
        low, high = (tuple(one) for one in (ends or {}).get(label, ((), ())))
        kind, thick = (styles or {}).get(label, style), label in strong
        series.append(Series(label, tuple(places), y, kind, low=low, high=high, strong=thick))
    summary = "; ".join(f"{one.name}: {in_words(one)}" for one in series)
    across = series[0].x
    for label, level in (levels or {}).items():
        series.append(Series(label, across, (level,) * len(across), "line"))
    alt = (
        f"{_DRAWN.get(style, 'Lines')} of {y_label} by {x_label}. {summary}.{words and ' '}{words}"
    )
    return Chart(name, title, x_label, y_label, tuple(series), alt, **more)


def in_words(series: Series) -> str:
    """Text of the values of a chart's series, or of their minimum and maximum if there are many."""
    there = [(y, x) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    if not there:
        return "none"
    if len(there) <= MOST_SAID:
        return ", ".join(
            f"{x} {short(y)}" if isinstance(x, str) else f"{short(y)} at {short(x)}"
            for y, x in there
        )
    (least, first), (most, last) = (of(there, key=lambda one: one[0]) for of in (min, max))
    if least == most:
        return f"{short(least)} throughout"
    return f"{short(least)} ({short(first)}) to {short(most)} ({short(last)})"


def short(value: Any) -> str:
    """Format a number with three significant digits, or from 1000 on as an integer."""
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


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
