"""Content of the page as data: decisions, tables and pictures, without HTML or drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...instances.problem.registry import PROBLEM_NAMES
from ..frontier import PriceFrontier
from ..metric import Metric
from ..registry import analysis_of
from ..run.gaps import Comparison, InstanceKey, instance_key, metric_table, reading
from ..run.rows import Line, Row
from . import aggregate
from .commands import UNKNOWN, compare_commands, named, report_command, run_command
from .decision import Decision, decision
from .overview import mean_gaps, profile_charts, win_table
from .picture import Drawing, Picture, once
from .price_chart import price_chart
from .read_runs import distinguish, format_counts
from .significance import significance
from .table import Column, Table, slug
from .tables import comparison_tables, proved, seconds_text

MOST_NAMED = 5
"""Instances that the table of what was run names; a column of more is as long as a phone's page."""

MOST_PICTURED = 4
"""Instances of a problem with pictures when nothing else is said; all have their tables."""


_ABOUT = (
    "How far each method is from what is proved to be possible. "
    "Gaps are to the best bound that any method proved."
)


@dataclass(frozen=True)
class PageFigure:
    """Picture on the page with the table of its numbers and the command that draws it again."""

    picture: Picture
    numbers: Table | None
    command: str


@dataclass(frozen=True)
class InstancePart:
    """Part of the page on one instance: decision, table, pictures, and what could not be shown."""

    name: str
    file: str
    decision: Decision | None
    table: Table | None
    pictures: tuple[PageFigure, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProblemPart:
    """Part of the page on one problem: text, tables, profiles, then instances, failures, runs."""

    name: str
    tables: tuple[Table, ...]
    pictures: tuple[PageFigure, ...]
    instances: tuple[InstancePart, ...]
    failures: Table | None
    runs: Table | None
    notes: tuple[str, ...] = ()

    def drawn(self) -> list[PageFigure]:
        """Pictures of the problem, those of all instances first."""
        return [*self.pictures, *(shown for each in self.instances for shown in each.pictures)]

    def kinds(self) -> dict[str, list[Table]]:
        """Tables of the problem by kind: mean-gaps, wins, tests, instances, runs."""
        first = {table.name.removeprefix(f"{self.name}-"): table for table in self.tables}
        found: dict[str, list[Table]] = {
            kind: [first.pop(kind)] for kind in ("mean-gaps", "wins") if kind in first
        }
        ranks = [
            shown.picture.table() for shown in self.pictures if isinstance(shown.picture, Drawing)
        ]
        found["tests"] = [*first.values(), *(table for table in ranks if table is not None)]
        found["instances"] = [each.table for each in self.instances if each.table is not None]
        found["runs"] = [] if self.runs is None else [self.runs]
        return {kind: tables for kind, tables in found.items() if tables}


@dataclass(frozen=True)
class Content:
    """Content of a whole page."""

    title: str
    ran: Table
    versions: Table
    commands: tuple[str, ...]
    problems: tuple[ProblemPart, ...]
    notes: tuple[str, ...] = field(default=())
    about: str = _ABOUT

    def pictures(self) -> list[PageFigure]:
        """Every picture in the order of the page."""
        return [shown for problem in self.problems for shown in problem.drawn()]

    def tables(self) -> Iterator[Table]:
        """Every table in the order of the page, with the tables of the pictures' numbers."""
        yield self.ran
        for problem in self.problems:
            yield from problem.tables
            yield from (shown.numbers for shown in problem.pictures if shown.numbers is not None)
            for each in problem.instances:
                answer = None if each.decision is None else each.decision.answer
                yield from (table for table in (answer, each.table) if table is not None)
                yield from (shown.numbers for shown in each.pictures if shown.numbers is not None)
            yield from [problem.failures] if problem.failures is not None else []
            yield from [problem.runs] if problem.runs is not None else []


def build_page(
    rows: Sequence[Row],
    command: str = "",
    *,
    shown: int = MOST_PICTURED,
    summary_only: bool = False,
) -> Content:
    """Build the content of the page about rows of comparisons.

    Parameters
    ----------
    rows : checked, as `read_runs` and `compare` give them.
    command : what a person types to get the page again; a comparison's own when "".
    shown : instances of each problem whose pictures are drawn.
    summary_only : leave out the instances and the list of every run.
    """
    known = distinguish(rows)
    commands = compare_commands(known)
    problems = [name for name in PROBLEM_NAMES if any(row["problem"] == name for row in known)]
    parts = tuple(
        _problem(
            name, [row for row in known if row["problem"] == name], command, shown, summary_only
        )
        for name in problems
    )
    notes = []
    if own := sorted({str(row["method"]) for row in known if not named(row)}):
        notes.append(
            f"Functions of the user's own that no command can name: {', '.join(own)}. Put each "
            "into a file, as a function of a module."
        )
    if any(not row.get("file") for row in known):
        notes.append(f"{UNKNOWN} stands for an instance's file where the rows do not say it.")
    every = (*([command] if command else []), *commands)
    title = _title(known, problems)
    return Content(title, _ran(known), _versions(known), every, parts, tuple(notes))


def _title(rows: Sequence[Row], problems: Sequence[str]) -> str:
    """Title of the page: name of the file or of the single instance, or the number of instances."""
    names = dict.fromkeys(
        (row["fingerprint"], str(row.get("file") or row["instance"])) for row in rows
    )
    what = ", ".join(problems)
    if len({mark for mark, _ in names}) > 1:
        return f"{len({mark for mark, _ in names})} instances: {what}"
    name = next(iter(names))[1]
    return name if name.startswith(f"{what}/") else f"{name}: {what}"


def _problem(
    name: str, rows: Sequence[Row], command: str, most: int, summary_only: bool
) -> ProblemPart:
    again = command or report_command(rows)
    metrics = metric_table(name, rows)
    comparison = Comparison(list(rows))
    lines = comparison.summary()
    several = len(aggregate.instance_keys(lines)) > 1
    tables = (mean_gaps(name, lines, metrics), win_table(name, lines, metrics)) if several else ()
    tests = list(significance(name, lines, metrics))
    every = (*tables, *(table for table, _ in tests))
    tables = tuple(each for each in every if len(each.columns) > 1)  # wins in no metric
    drawn = [drawing for _, drawing in tests if drawing is not None]
    pictures = once([*drawn, *profile_charts(name, lines, metrics)])
    charts = tuple(_shown(picture, again) for picture in pictures)
    instances = () if summary_only else _instances(name, rows, comparison, metrics, again, most)
    notes = []
    if not several:
        notes.append("Means over instances and performance profiles need at least two instances.")
    if len(instances) > most:
        notes.append(
            f"Pictures are drawn for the first {most} of {len(instances)} instances, tables for "
            f"all; `cotenant report --instances-shown {len(instances)}` draws every one."
        )
    if summary_only:
        notes.append("A summary: instances and runs are left out.")
    runs = None if summary_only else _runs(name, rows)
    failed = _failures(name, rows)
    return ProblemPart(name, tables, charts, instances, failed, runs, tuple(notes))


def _instances(
    name: str, rows: Sequence[Row], comparison: Comparison, metrics: Sequence[Metric], again: str,
    most: int,
) -> tuple[InstancePart, ...]:  # fmt: skip
    """Parts of the instances in the order of the rows; those with only a frontier come last."""
    tables = comparison_tables(comparison)
    lines: dict[InstanceKey, list[Line]] = {}
    for line in comparison.summary():
        lines.setdefault(instance_key(line), []).append(line)
    runs: dict[InstanceKey, list[Row]] = {key: [] for key in lines}
    frontiers: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("kind", "run") == "frontier":
            frontiers.setdefault(row["fingerprint"], []).append(row)
        else:
            runs[instance_key(row)].append(row)
    # 1. The instances with runs, each with its frontiers; then those with a frontier alone.
    listed: list[tuple[Any, ...]] = []
    used: set[int] = set()
    for key, members in runs.items():
        read = members[0].get("reading")
        mine = [row for row in frontiers.get(key[2], []) if reading(row) == read]
        used |= {id(row) for row in mine}
        listed.append((key[1], members, mine, lines[key], tables[key]))
    alone = [row for each in frontiers.values() for row in each if id(row) not in used]
    listed += [(row["instance"], [], [row], [], None) for row in alone]
    # 2. A part for each.
    return tuple(
        _instance(name, instance, members, mine, own, table, metrics, again, index < most)
        for index, (instance, members, mine, own, table) in enumerate(listed)
    )


def _instance(
    problem: str,
    instance: str,
    runs: Sequence[Row],
    frontiers: Sequence[Row],
    lines: Sequence[Line],
    table: Table | None,
    metrics: Sequence[Metric],
    again: str,
    pictured: bool,
) -> InstancePart:
    file = next((str(row["file"]) for row in (*runs, *frontiers) if row.get("file")), "")
    alone = "Only a frontier: no method was run on this instance under the same options."
    notes = [] if runs else [alone]
    found: list[PageFigure] = []
    if pictured:
        by_name = {metric.name: metric for metric in metrics}
        maps, remarks = _maps(problem, instance, frontiers, lines, by_name)
        drawn, untold = _pictures(problem, instance, runs, again)
        every = [*(_shown(chart, line) for chart, line in maps), *drawn]
        commands = {each.picture.name: each.command for each in every}
        kept = once([each.picture for each in every])
        found = [_shown(picture, commands[picture.name]) for picture in kept]
        notes += [*remarks, *untold]
    decided = decision(runs, metrics)
    return InstancePart(instance, file, decided, table, tuple(found), tuple(notes))


def _maps(
    problem: str,
    instance: str,
    frontiers: Sequence[Row],
    lines: Sequence[Line],
    metrics: Mapping[str, Metric],
) -> tuple[list[tuple[Picture, str]], list[str]]:
    """Frontier maps with their commands, and reasons why frontiers failed."""
    charts: list[tuple[Picture, str]] = []
    notes = []
    for row in frontiers:
        if row.get("error"):
            notes.append(f"The frontier of efficiency against fairness failed: {row['error']}")
        for number, document in enumerate(row.get("frontiers") or []):
            frontier = PriceFrontier.from_document(document)
            name = slug(f"{problem} {instance} price of {frontier.fairness} {number or ''}")
            title = (
                f"{instance}: {metrics[frontier.efficiency].label} against "
                f"{metrics[frontier.fairness].label}"
            )
            charts.append((price_chart(frontier, lines, metrics, name, title), run_command(row)))
    return charts, notes


def _pictures(
    problem: str, instance: str, runs: Sequence[Row], again: str
) -> tuple[list[PageFigure], list[str]]:
    """Pictures of one instance, and reasons why some are missing."""
    unable: dict[str, list[str]] = {}
    for row in runs:
        if "error" in (record := row.get("record") or {}):
            unable.setdefault(str(record["error"]), []).append(row["method"])
    notes = [
        f"No picture of {', '.join(dict.fromkeys(methods))}: {why}"
        for why, methods in unable.items()
    ]
    kept = [row for row in runs if row.get("record") is not None]
    good = [row for row in kept if "error" not in (row["record"] or {})]
    draw = analysis_of(problem).pictures
    if not good or draw is None:
        return [], notes
    drawn: list[PageFigure] = []
    try:
        for picture in draw(good):
            named = replace(picture, name=slug(f"{problem} {instance} {picture.name}"))
            shown = _shown(named, again)
            if shown.numbers is not None:
                # a record that was changed may have a number too many, which shows here first
                shown.numbers.texts()
            drawn.append(shown)
    except Exception as error:  # a picture never takes the page with it
        why = f"could not be made: {type(error).__name__}: {error}"
        return [], [*notes, f"The pictures of {problem} {why}"]
    return drawn, notes


def _shown(picture: Picture, command: str) -> PageFigure:
    return PageFigure(picture, picture.table(), picture.command or command)


def _ran(rows: Sequence[Row]) -> Table:
    """Table of what was run, one row for each problem."""
    lines: list[tuple[Any, ...]] = []
    frontiers = any(row.get("kind", "run") == "frontier" for row in rows)
    for problem in [name for name in PROBLEM_NAMES if any(row["problem"] == name for row in rows)]:
        here = [row for row in rows if row["problem"] == problem]
        runs = [row for row in here if row.get("kind", "run") == "run"]
        limits = sorted(
            {row.get("time_limit") for row in here}, key=lambda value: (value is None, value)
        )
        lines.append((
            problem,
            (len({row["fingerprint"] for row in here}),
            _first(list(dict.fromkeys(row["instance"] for row in here)))),
            ", ".join(dict.fromkeys(row["method"] for row in runs)),
            _seeds({row.get("seed", 0) for row in runs}),
            ", ".join("none" if limit is None else f"{limit:g}" for limit in limits),
            len(runs),
            sum(bool(row.get("error")) for row in runs),
            *([_frontiers(here)] if frontiers else []),
        ))  # fmt: skip
    columns = (
        Column("problem", bold=True), Column("instances"), Column("methods"), Column("seeds"),
        Column("seconds for each run"),
        Column("runs", numeric=True), Column("failed", numeric=True),
        *([Column("frontiers", numeric=True)] if frontiers else []),
    )  # fmt: skip
    return Table("what-was-run", "What was run", columns, tuple(lines))


def _first(names: list[str]) -> str:
    """The names of instances, or their number and the first ones, since each has its own table
    below.
    """
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{len(names)}: {', '.join(names[:MOST_NAMED])}, ..."


def _frontiers(rows: Sequence[Row]) -> tuple[int, str]:
    """Number of frontiers in the rows, and the number that failed."""
    found = [row for row in rows if row.get("kind", "run") == "frontier"]
    failed = sum(bool(row.get("error")) for row in found)
    return len(found), f"{len(found)} ({failed} failed)" if failed else str(len(found))


def _seeds(seeds: set[int]) -> str:
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def _versions(rows: Sequence[Row]) -> Table:
    found: dict[str, set[str]] = {}
    for row in rows:
        for library, version in (row.get("versions") or {}).items():
            found.setdefault(library, set()).add(str(version))
    lines = tuple((library, ", ".join(sorted(several))) for library, several in found.items())
    return Table("versions", "Versions", (Column("library", bold=True), Column("version")), lines)


def _failures(problem: str, rows: Sequence[Row]) -> Table | None:
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for row in rows:
        if error := row.get("error"):
            key = row["instance"], row["method"], error
            groups.setdefault(key, []).append(row.get("seed", 0))
    columns = (Column("instance"), Column("method", bold=True), Column("seeds"), Column("reason"))
    lines = tuple(
        (instance, method, _seeds(set(seeds)), error)
        for (instance, method, error), seeds in groups.items()
    )
    return Table(f"{problem}-failures", f"{problem}: failures", columns, lines) if lines else None


def _runs(problem: str, rows: Sequence[Row]) -> Table:
    """Table of every run with the command that repeats it."""
    columns = (
        Column("instance"), Column("method", bold=True), Column("seed", numeric=True),
        Column("status"),
        Column("seconds", seconds_text, numeric=True), Column("command"),
    )  # fmt: skip
    lines = tuple(
        (
            row["instance"], row["method"], row.get("seed", 0), proved(row), row.get("seconds"),
            run_command(row) or "(a function that no command can name)",
        )
        for row in rows
    )  # fmt: skip
    caption = f"Status: {format_counts(row['status'] for row in rows)}."
    return Table(f"{problem}-runs", f"{problem}: every run", columns, lines, caption=caption)
