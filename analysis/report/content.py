"""Content of the page as data: decisions, tables and pictures, without HTML or drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...catalog import find
from ...instances.problem.answer_table import AnswerTable
from ...instances.problem.errors import UnknownName
from ...instances.problem.registry import PROBLEM_NAMES
from ...instances.problem.text import sanitize_for_terminal
from ...solvers.outcome import Status, agree
from ..frontier import PriceFrontier
from ..metric import Metric
from ..registry import analysis_of
from ..run.gaps import Comparison, InstanceKey, instance_key, metric_table, reading, with_gaps
from ..run.rows import Line, Row
from . import aggregate
from .overview import mean_gaps, profile_charts, win_table
from .picture import Drawing, Picture, once
from .price_chart import price_chart
from .read_runs import (
    UNKNOWN,
    compare_commands,
    distinguish,
    format_counts,
    named,
    report_command,
    run_command,
)
from .significance import significance
from .table import Column, Table, slug
from .tables import (
    away_from,
    comparison_tables,
    figure,
    labeled_answer,
    percent,
    proved,
    seconds_text,
)

MOST_NAMED = 5
"""Instances that the table of what was run names; a column of more is as long as a phone's page."""

MOST_PICTURED = 4
"""Instances of a problem with pictures when nothing else is said; all have their tables."""


_ABOUT = (
    "How far each method is from what is proved to be possible. "
    "Gaps are to the best bound that any method proved."
)


@dataclass(frozen=True)
class InstancePart:
    """Part of the page on one instance: decision, table, pictures, and what could not be shown."""

    name: str
    file: str
    decision: Decision | None
    table: Table | None
    pictures: tuple[Picture, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProblemPart:
    """Part of the page on one problem: text, tables, profiles, then instances, failures, runs."""

    name: str
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    instances: tuple[InstancePart, ...]
    failures: Table | None
    runs: Table | None
    notes: tuple[str, ...] = ()

    def drawn(self) -> list[Picture]:
        """Pictures of the problem, those of all instances first."""
        return [*self.pictures, *(shown for each in self.instances for shown in each.pictures)]

    def kinds(self) -> dict[str, list[Table]]:
        """Tables of the problem by kind: mean-gaps, wins, tests, instances, runs."""
        first = {table.name.removeprefix(f"{self.name}-"): table for table in self.tables}
        found: dict[str, list[Table]] = {
            kind: [first.pop(kind)] for kind in ("mean-gaps", "wins") if kind in first
        }
        ranks = [shown.table() for shown in self.pictures if isinstance(shown, Drawing)]
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

    def pictures(self) -> list[Picture]:
        """Every picture in the order of the page."""
        return [shown for problem in self.problems for shown in problem.drawn()]

    def tables(self) -> Iterator[Table]:
        """Every table in the order of the page, with the tables of the pictures' numbers."""
        yield self.ran
        for problem in self.problems:
            yield from problem.tables
            others = [shown.table() for shown in problem.pictures]
            for each in problem.instances:
                others += [None if each.decision is None else each.decision.answer, each.table]
                others += [shown.table() for shown in each.pictures]
            others += [problem.failures, problem.runs]
            yield from (table for table in others if table is not None)


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
    charts = tuple(_with_command(picture, again) for picture in pictures)
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
    # 2. A part for each: decision, table, frontier maps and pictures of answers.
    by_name = {metric.name: metric for metric in metrics}
    alone_note = "Only a frontier: no method was run on this instance under the same options."
    parts = []
    for index, (instance, members, mine, own, table) in enumerate(listed):
        file = next((str(row["file"]) for row in (*members, *mine) if row.get("file")), "")
        notes = [] if members else [alone_note]
        found: list[Picture] = []
        if index < most:
            maps, remarks = _maps(name, instance, mine, own, by_name)
            drawn, untold = _pictures(name, instance, members, again)
            found = once([*maps, *drawn])
            notes += [*remarks, *untold]
        decided = decision(members, metrics)
        parts.append(InstancePart(instance, file, decided, table, tuple(found), tuple(notes)))
    return tuple(parts)


def _maps(
    problem: str,
    instance: str,
    frontiers: Sequence[Row],
    lines: Sequence[Line],
    metrics: Mapping[str, Metric],
) -> tuple[list[Picture], list[str]]:
    """Frontier maps, and reasons why frontiers failed."""
    charts: list[Picture] = []
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
            chart = price_chart(frontier, lines, metrics, name, title)
            charts.append(_with_command(chart, run_command(row)))
    return charts, notes


def _pictures(
    problem: str, instance: str, runs: Sequence[Row], again: str
) -> tuple[list[Picture], list[str]]:
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
    drawn: list[Picture] = []
    try:
        for picture in draw(good):
            named = replace(picture, name=slug(f"{problem} {instance} {picture.name}"))
            if (numbers := named.table()) is not None:
                # a record that was changed may have a number too many, which shows here first
                numbers.texts()
            drawn.append(_with_command(named, again))
    except Exception as error:  # a picture never takes the page with it
        why = f"could not be made: {type(error).__name__}: {error}"
        return [], [*notes, f"The pictures of {problem} {why}"]
    return drawn, notes


def _with_command(picture: Picture, command: str) -> Picture:
    return replace(picture, command=picture.command or command)


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


@dataclass(frozen=True)
class Decision:
    """Recommended decision on an instance, shown at the top of its part of the page.

    Attributes
    ----------
    sentence : the first part of the answer, how good it is, and the best policy beside it.
    answer : the whole answer with names; None where the row has no table of it.
    """

    sentence: str
    answer: Table | None = None


def decision(rows: Sequence[Row], metrics: Sequence[Metric]) -> Decision | None:
    """Decision on the instance of these rows, by the first metric that a method was run to optimize
    and that has a bound; None where no such row describes its answer.
    """
    answered = [row for row in rows if row.get("answer") and row.get("predict") is None]
    answered = [row for row in answered if not row.get("broken")]
    # first the metrics in which methods can be compared
    for metric in sorted(metrics, key=lambda metric: not metric.sense):
        runs = [row for row in answered if row.get("objective_name") == metric.name]
        runs = [row for row in runs if row["metrics"].get(metric.name) is not None]
        if any(row.get("bound") is not None for row in runs):
            sign = 1.0 if metric.sense == "min" else -1.0
            best = min(
                runs, key=lambda row: (sign * _value(row, metric), row["status"] != "optimal")
            )
            return Decision(_sentence(best, with_gaps(answered), metric), _answer(best))
    return None


def _sentence(best: Row, answered: Sequence[Row], metric: Metric) -> str:
    value = _value(best, metric)
    words = f"{sanitize_for_terminal(str(best['answer']))}."
    sentence = f"{words[:1].upper()}{words[1:]} That is {metric.label} {figure(value, metric)}"
    bound = best.get("bound")
    if best["status"] == Status.OPTIMAL.value:
        proved = {"min": "the least", "max": "the most"}.get(metric.sense or "", "optimal")
        sentence += f", proved {proved} ({best['method']})"
    elif bound is not None and not agree(bound, 0.0, best.get("scale", 1.0)):
        away = abs(value - bound) / abs(bound)
        sentence += f", at most {percent(away)} from the best possible ({best['method']})"
    else:
        sentence += f" ({best['method']})"
    policies = [
        row for row in answered if _is_policy(row) and row["metrics"].get(metric.name) is not None
    ]
    if not policies or not metric.sense:
        return f"{sentence}."
    sign = 1.0 if metric.sense == "min" else -1.0
    policy = min(policies, key=lambda row: sign * _value(row, metric))
    if agree(value, _value(policy, metric), best.get("scale", 1.0)):
        return f"{sentence}; {policy['method']} is as good."
    best_policy = f"{policy['method']}, the best of the policies,"
    gap = policy["gaps"].get(f"gap_{metric.name}")
    distance = policy["differences"].get(f"difference_{metric.name}") if gap is None else gap
    if distance is None:  # the error of an equilibrium is no bound
        return f"{sentence}; {best_policy} has {figure(_value(policy, metric), metric)}."
    far = away_from("the best proved bound", distance, metric, gap is None)
    return f"{sentence}; {best_policy} is {far}."


def _answer(row: Row) -> Table | None:
    """Table of a row's answer, with the command that prints the rest if it is truncated."""
    stored = row.get("answer_table")
    if stored is None:
        return None
    found = AnswerTable(
        "", tuple(stored["columns"]), tuple(map(tuple, stored["rows"])), stored["total"]
    )
    table = labeled_answer(found)
    shown = f"{len(found.rows)} of {found.total} rows" if found.left_out else f"{found.total} rows"
    command = run_command(row)
    all_rows = f"; all with {command} --format csv" if found.left_out and command else ""
    return replace(
        table,
        name=slug(f"{row['problem']} {row['instance']} answer"),
        title=f"The whole answer by {row['method']}: {shown}{all_rows}",
    )


def _value(row: Row, metric: Metric) -> float:
    value = row["metrics"][metric.name]
    assert value is not None, "rows without the metric are left out"
    return value


def _is_policy(row: Row) -> bool:
    """Whether the method is a heuristic or policy of the catalog."""
    try:
        return find(row["problem"], row.get("named") or row["method"]).kind == "heuristic"
    except UnknownName:
        return False
