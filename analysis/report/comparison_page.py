"""Page of a comparison: runs, gaps to proved bounds and pictures, with its figures and tables as
files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...catalog import find
from ...instances.problem.answer_table import AnswerTable
from ...instances.problem.errors import InvalidOption, UnknownName
from ...instances.problem.files import require_folder, write_text
from ...instances.problem.option_types import validate_options
from ...instances.problem.registry import PROBLEM_NAMES
from ...instances.problem.text import all_printable, sanitize_for_terminal
from ...solvers.outcome import Status, agree
from ..frontier import PriceFrontier
from ..metric import Metric
from ..registry import analysis_of
from ..run.gaps import Comparison, InstanceKey, instance_key, metric_table, reading, with_gaps
from ..run.rows import Line, Row
from . import aggregate
from .drawing import save_pages
from .overview import mean_gaps, profile_charts, win_table
from .page import Page, Part, require_report, write_page
from .picture import Drawing, Picture, finding, once
from .price_chart import price_chart
from .read_runs import (
    UNKNOWN,
    compare_commands,
    distinguish,
    format_counts,
    named,
    report_command,
    require_answers,
    run_command,
)
from .significance import significance
from .table import Column, Table, bare, escaped, slug, stacked
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

ABOUT = (
    "How far each method is from what is proved to be possible. "
    "Gaps are to the best bound that any method proved."
)


@validate_options
def write_report(
    rows: Iterable[Row],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
    command: str = "",
    shown: int = MOST_PICTURED,
    summary_only: bool = False,
    width: float | None = None,
    columns: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write rows of comparisons as one self-contained HTML page; returns the files written.

    Parameters
    ----------
    rows : as `Comparison.rows` holds them or `read_runs.read_runs` reads them, of any problems.
    path : of the page.
    figures : folder for the pictures of each problem: one PDF, a page a picture, and the LaTeX that
        includes them.
    tables : folder for the tables of each problem as CSV and LaTeX: gaps, wins, tests, those of its
        instances in one file, and every run (CSV alone).
    command : what a person types to get the page again; the comparisons' own commands when not
        given.
    shown : instances of each problem whose pictures are drawn; the tables of all are there.
    summary_only : leave out the instances and the list of every run.
    width : centimeters that LaTeX tables and figures fit: a page's, or a column's.
    columns : of LaTeX tables, by their headings: of the others those that have any of them keep
        their first alone.
    progress : called with what is being drawn.

    Raises
    ------
    InvalidFile
        There is no row with an answer, or a path cannot be written; nothing half-written is left.
    InvalidOption
        jinja2 or matplotlib is missing.
    UnknownName
        No table has a column of a name given.
    """
    listed: list[Row] = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise InvalidOption(
                f"rows holds {row!r:.40}; expected rows as Comparison.rows has them"
            )
        listed.append(all_printable(row))  # names of others stand everywhere on the page
    require_report(Path(path))
    require_answers(listed, "the report")
    for folder in (figures, tables):
        require_folder(None if folder is None else Path(folder))
    page = build_page(
        listed, sanitize_for_terminal(command), shown=shown, summary_only=summary_only
    )
    headings = {bare(column.name): None for table in page.tables() for column in table.headings}
    for name in columns:
        if bare(name).casefold() not in map(str.casefold, headings):
            raise UnknownName("column", name, headings)
    written = [write_page(page, path, progress)]
    for problem in (part for part in page.parts if part.title in PROBLEM_NAMES):
        if figures is not None and problem.drawn():
            written += _write_pictures(problem, Path(figures), width)
        if tables is not None:
            written += _write_tables(problem, Path(tables), width, columns)
    return written


def _by_kind(problem: Part) -> dict[str, list[Table]]:
    """Tables of a problem by kind: mean-gaps, wins, tests, instances, runs."""
    own = {table.name.removeprefix(f"{problem.title}-"): table for table in problem.tables}
    own.pop("failures", None)
    found: dict[str, list[Table]] = {
        kind: [own.pop(kind)] for kind in ("mean-gaps", "wins") if kind in own
    }
    ranks = [shown.table() for shown in problem.pictures if isinstance(shown, Drawing)]
    found["tests"] = [*own.values(), *(table for table in ranks if table is not None)]
    inner = [table for part in problem.parts for table in part.tables]
    runs = f"{problem.title}-runs"
    found["instances"] = [table for table in inner if table.name != runs]
    found["runs"] = [table for table in inner if table.name == runs]
    return {kind: tables for kind, tables in found.items() if tables}


def build_page(
    rows: Sequence[Row],
    command: str = "",
    *,
    shown: int = MOST_PICTURED,
    summary_only: bool = False,
) -> Page:
    """Build the page about rows of comparisons: a part for each problem, then what was run.

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
    ran = Part("What was run", tables=(_ran(known),))
    return Page(title, ABOUT, (*parts, ran), commands=every, notes=tuple(notes),
        versions=_versions(known))  # fmt: skip


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


def _problem(name: str, rows: Sequence[Row], command: str, most: int, summary_only: bool) -> Part:
    """Part of one problem: text, tables, profiles, then its instances and every run."""
    again = command or report_command(rows)
    metrics = metric_table(name, rows)
    comparison = Comparison(list(rows))
    lines = comparison.summary()
    several = len(aggregate.instance_keys(lines)) > 1
    means = (mean_gaps(name, lines, metrics), win_table(name, lines, metrics)) if several else ()
    tests = list(significance(name, lines, metrics))
    every = (*means, *(table for table, _ in tests), *_failures(name, rows))
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
    runs = () if summary_only else _runs(name, rows)
    return Part(name, tuple(notes), tables, charts, parts=(*instances, *runs))


def _instances(
    name: str, rows: Sequence[Row], comparison: Comparison, metrics: Sequence[Metric], again: str,
    most: int,
) -> tuple[Part, ...]:  # fmt: skip
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
        origin = (f"File: {file}",) if file and file != f"{name}/{instance}" else ()
        sentence, answer = decision(members, metrics)
        shown = () if table is None else (table,)
        parts.append(Part(instance, origin, shown, tuple(found), sentence, answer, tuple(notes)))
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


def _failures(problem: str, rows: Sequence[Row]) -> tuple[Table, ...]:
    """Table of the methods that failed, with the reason, if any did."""
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
    table = Table(f"{problem}-failures", f"{problem}: failures", columns, lines)
    return (table,) if lines else ()


def _runs(problem: str, rows: Sequence[Row]) -> tuple[Part]:
    """Part with the table of every run and the command that repeats it, collapsed."""
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
    table = Table(f"{problem}-runs", f"{problem}: every run", columns, lines, caption=caption)
    return (Part(f"Every run of {problem} ({len(rows)})", tables=(table,), folded=True),)


def decision(rows: Sequence[Row], metrics: Sequence[Metric]) -> tuple[str, Table | None]:
    """Recommended decision on the instance of these rows, and the table of the whole answer with
    names, if its row has one.

    It is by the first metric that a method was run to optimize and that has a bound: the first part
    of the answer, how good it is, and the best policy beside it; "" where no such row describes its
    answer.
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
            return _sentence(best, with_gaps(answered), metric), _answer(best)
    return "", None


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


def _unique(names: Sequence[str]) -> list[str]:
    taken: dict[str, int] = {}
    found = []
    for name in names:
        safe = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:120] or "unnamed"
        taken[safe] = taken.get(safe, 0) + 1
        found.append(safe if taken[safe] == 1 else f"{safe}-{taken[safe]}")
    return found


def _write_pictures(problem: Part, folder: Path, width: float | None) -> list[Path]:
    """Write the pictures of a problem as pages of one PDF, with LaTeX of one figure a page."""
    pictures = problem.drawn()
    named = zip(pictures, _unique([picture.name for picture in pictures]), strict=True)
    figures = [
        f"\\begin{{figure}}\n\\centering\n\\includegraphics[page={number}]{{{problem.title}}}\n"
        f"\\caption{{{escaped(f'{picture.title}. {finding(picture)}')}}}\n"
        f"\\label{{fig:{name}}}\n\\end{{figure}}\n"
        for number, (picture, name) in enumerate(named, start=1)
    ]
    text = "\n".join(["% \\usepackage{graphicx}", *figures])
    file = folder / f"{problem.title}.pdf"
    return [save_pages(pictures, file, width), write_text(file.with_suffix(".tex"), text)]


def _write_tables(
    problem: Part, folder: Path, width: float | None, columns: Sequence[str]
) -> list[Path]:
    """Write the tables of a problem, those of one kind to one CSV and one LaTeX file."""
    written = []
    for kind, tables in _by_kind(problem).items():
        name = f"{problem.title}-{kind}"
        written.append(write_text(folder / f"{name}.csv", stacked(name, tables).csv()))
        if kind != "runs":
            pairs = zip(tables, _unique([table.name for table in tables]), strict=True)
            texts = [replace(each, name=one).only(columns).latex(width) for each, one in pairs]
            written.append(write_text(folder / f"{name}.tex", "\n".join(texts)))
    return written
