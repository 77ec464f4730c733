"""Tables of the command line and the page: results, comparisons, the catalog, facts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from ...catalog import first_sentence
from ...instances.problem.answer_table import AnswerTable
from ...instances.problem.errors import UnknownName
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import Option, accepted, described, option_names
from ...solvers.outcome import Status, agree
from ..metric import Metric
from ..registry import analysis_of
from ..run.gaps import Comparison, InstanceKey, instance_key, metric_table
from ..run.result import Result
from ..run.rows import Line, Row
from .aggregate import label
from .table import Column, Table, bare, slug, words

_NAME, _VALUE = Column("name", bold=True), Column("value")


def result_tables(result: Result, metrics: Sequence[Metric], most: int | None) -> Iterator[Table]:
    """Tables of one result: its quality, at most `most` rows of its answer, and its metrics with
    its certificate.
    """
    yield _result_table(result, metrics)
    yield from _answer_tables(result, most)
    known = [metric for metric in metrics if metric.name in result.metrics]
    rows: list[tuple[Any, ...]] = [
        (metric.label, (value := result.metrics[metric.name], figure(value, metric)))
        for metric in known
    ]
    for name, value in result.certificate.items():
        if name not in ("levels", "cuts"):
            rows.append((f"certificate: {name}", (value, one_line(words(_rounded(value)), 120))))
    if rows:
        yield Table("metrics", "metrics of the answer", (_NAME, _VALUE), tuple(rows), heading=False)


def _result_table(result: Result, metrics: Sequence[Metric]) -> Table:
    """Table of one result: what was run, and its value and bound."""
    levels = list(result.certificate.get("levels", []))
    status = proved({"status": result.status.value, "levels": levels})
    sentence = result.status.sentence if status == result.status.value else "see the levels below"
    if result.tolerance is not None and result.status is Status.OPTIMAL:
        sentence = f"an equilibrium within {result.tolerance:g}"
    rows: list[tuple[Any, ...]] = [
        ("status", f"{status}: {sentence}"),
        ("stopped", f"{result.stop.value}: {result.stop.sentence}"),
    ]
    known = {metric.name: metric for metric in metrics}
    if result.objective_name is not None:
        metric = known[result.objective_name]
        rows.append(
            ("objective", (result.objective, f"{metric.label} {figure(result.objective, metric)}"))
        )
        if result.bound is not None:
            away = f"gap {percent(result.gap)}"
            if result.gap is None:
                away = f"{difference(result.gap_absolute or 0.0, metric)} away"
            rows.append(("bound", (result.bound, f"{figure(result.bound, metric)} ({away})")))
    shown, more = levels[1:3], levels[2:] if len(levels) > 3 else []
    for level in shown[: 1 if more else 2]:
        # a level may be no metric
        metric = known.get(level["objective"]) or Metric(level["objective"], level["objective"])
        bound = "no bound" if level["bound"] is None else f"bound {figure(level['bound'], metric)}"
        rows.append(
            ("then", f"{metric.label} {figure(level['value'], metric)}, {bound}{_away(level)}")
        )
    if more:
        settled = [level["status"] for level in more].count("optimal")
        rest = next((level for level in more if level["status"] != "optimal"), None)
        away = "optimal" if rest is None else f"{settled} optimal, then {level_gap(rest)}"
        last = figure(more[-1]["value"], metric)
        rows.append(("then", f"{len(more)} more levels, the last {last}: {away}"))
    rows.append(("seconds", (result.seconds, f"{result.seconds:.3f}")))
    title = f"{result.method} on {result.instance or result.problem}"
    return Table(slug(title), title, (_NAME, _VALUE), tuple(rows), heading=False)


def _answer_tables(result: Result, most: int | None) -> Iterator[Table]:
    """Tables of the answer with names, at most `most` rows, and of its rounds if its options ask
    for them; none without an answer.
    """
    found = result.described(most)
    if found is None:
        return
    tables = [("the answer", found, "--format csv and --out RESULT.json have all")]
    in_rounds = analysis_of(result.problem).rounds
    if in_rounds is not None and result.given is not None:
        options = accepted(in_rounds, result.options)
        if (more := in_rounds(result.given, result.solution, most, **options)) is not None:
            tables.append(("the answer in rounds", more, "--format csv has all"))
    for title, table, where in tables:
        rows = "row" if table.left_out == 1 else "rows"
        cure = f"{table.left_out} more {rows}: {where}"
        notes = (table.sentence, *((cure,) if table.left_out else ()))
        yield replace(labeled_answer(table), title=title, notes=notes)


def labeled_answer(found: AnswerTable) -> Table:
    """An answer with names as a table."""
    columns = []
    for index, name in enumerate(found.columns):
        numeric = any(isinstance(row[index], int | float) for row in found.rows)
        columns.append(Column(name, _amount, numeric=numeric, rank=max(0, index - 2)))
    return Table("answer", "the answer", tuple(columns), found.rows)


def _amount(value: Any) -> str:
    """A number or a name of an answer as text."""
    return f"{value:z.4g}" if isinstance(value, float) else words(value)


@validate_options
def comparison_tables(
    comparison: Comparison, sources: Mapping[str, str] = MappingProxyType({})
) -> dict[InstanceKey, Table]:
    """Table of each instance by method, with metrics and gaps; failures are notes below it.

    `sources`: what to say below each table, by the instance's fingerprint.
    """
    groups: dict[InstanceKey, list[Line]] = {}
    for line in comparison.summary():
        groups.setdefault(instance_key(line), []).append(line)
    names = Counter((problem, instance) for problem, instance, _ in groups)
    tables = {}
    for key, here in groups.items():
        problem, instance, mark = key
        twice = f" ({mark})" if names[problem, instance] > 1 else ""
        lost = [
            error
            for row in comparison.frontiers
            if (error := row.get("error")) and row["fingerprint"] == mark
        ]
        notes = [*_failures(here), *(f"the frontier failed: {one_line(error)}" for error in lost)]
        metrics = metric_table(problem, here)
        tables[key] = _gap_table(
            f"{problem}: {instance}{twice}", sources.get(mark, ""), here, metrics, notes
        )
    return tables


def require_columns(problems: Iterable[str], names: Sequence[str], own: Iterable[str] = ()) -> None:
    """Refuse, before any work, column headings that a comparison of these problems does not have.
    `own` are the names of the user's own metrics.
    """
    keys = list(own)
    known = ["method", "status", "seeds", "seconds", "gain by lying"]
    known += [name.replace("_", " ") for name in keys]
    for problem in problems:
        for metric in analysis_of(problem).metric_table:
            if metric.compared:
                known += [metric.heading, f"{metric.heading} gap", f"{metric.heading}: gap"]
                keys += [metric.name, *(f"{kind}_{metric.name}" for kind in ("gap", "difference"))]
    taken = {bare(name).casefold() for name in (*known, *keys)}
    for name in names:
        if bare(name).casefold() not in taken:
            raise UnknownName("column", name, dict.fromkeys(known))


def methods_table(methods: Sequence[Any]) -> Table:
    """Table of the catalog's methods: name, kind, objective, meaning, options, source."""
    columns = tuple(
        map(Column, ("problem", "method", "kind", "optimizes", "what", "options", "source"))
    )
    rows = [
        (
            m.problem,
            m.name,
            m.kind,
            m.objective,
            m.summary,
            ", ".join(option_names(m.resolve())),
            m.source,
        )
        for m in methods
    ]
    return Table("methods", "", columns, tuple(rows))


def methods_page(methods: Sequence[Any]) -> Table:
    """Table of all method names: a row for each problem, exact methods and others apart."""
    rows = []
    for problem in dict.fromkeys(m.problem for m in methods):
        exact: list[str] = []
        others: list[str] = []
        for m in methods:
            if m.problem == problem:
                (exact if m.kind in ("exact", "equilibrium") else others).append(m.name)
        rows.append((problem, ", ".join(exact), ", ".join(others)))
    columns = (Column("problem", bold=True, wrap=False), Column("proved"), Column("policies"))
    return Table("methods", "methods", columns, tuple(rows))


def methods_in_words(methods: Sequence[Any]) -> Iterator[Table]:
    """Methods for a narrow terminal: a table per problem, each method's facts as one text."""
    for problem in dict.fromkeys(m.problem for m in methods):
        rows = []
        for m in methods:
            if m.problem == problem:
                options = ", ".join(option_names(m.resolve()))
                facts = [
                    f"{m.kind}, optimizes {m.objective}",
                    *([f"options: {options}"] if options else []),
                    m.source,
                ]
                rows.append((m.name, f"{m.summary} ({'; '.join(facts)})"))
        yield Table(
            slug(problem),
            problem,
            (Column("method", bold=True, wrap=False), Column("what")),
            tuple(rows),
        )


def method_tables(method: Any) -> Iterator[Table]:
    """Tables of one method: its facts, its options (meaning, default, values), its routes."""
    facts = {
        "what": method.summary, "kind": method.kind, "optimizes": method.objective,
        "needs": method.precondition_text,
        "unless named": f"compared up to size {method.settles}" if method.settles else "",
        "source": method.source,
    }  # fmt: skip
    facts = {name: text for name, text in facts.items() if text}
    yield facts_table(facts, f"{method.problem}: {method.name}")
    yield options_table(method.resolve(), method.name)
    for where, routes in getattr(sys.modules[method.resolve().__module__], "ROUTES", {}).items():
        title = f"routes of {method.name}, in order, for {where}"
        rows = [(k + 1, first_sentence(route)) for k, route in enumerate(routes)]
        yield Table(slug(title), title, (Column("step"), Column("route")), tuple(rows))


def options_table(function: Callable[..., Any], name: str) -> Table:
    """Table of the options of a function with meaning, default and values."""
    rows = [
        (option.name, option.default or "must be given", _option_in_words(option))
        for option in described(function)
    ]
    columns = (
        Column("option", bold=True, wrap=False),
        Column("default", wrap=False),
        Column("meaning"),
    )
    return Table(
        slug(f"{name} options"),
        f"{'options' if rows else 'no options'} of {name}",
        columns,
        tuple(rows),
        heading=bool(rows),
    )


def _option_in_words(option: Option) -> str:
    """Meaning and values of an option, without values that its meaning already names."""
    several = len(option.choices) > 1
    named = several and all(f'"{choice}"' in option.meaning for choice in option.choices)
    if not option.takes or named or option.takes.split(", ")[-1] in option.meaning:
        return option.meaning
    return f"{option.meaning} Takes {option.takes}."


def facts_table(facts: Mapping[str, object], title: str) -> Table:
    """Table of names and values in two columns."""
    return Table(slug(title), title, (_NAME, _VALUE), tuple(facts.items()), heading=False)


def figure(value: float | None, metric: Metric) -> str:
    """Value of a metric as text; never "-0.0"."""
    if value is None:
        return "-"
    if metric.digits < 0:
        return f"{value:.{-metric.digits - 1}e}" if value else "0"
    if metric.digits == 0:
        return f"{value:z.0f}" if float(value).is_integer() else f"{value:z.1f}"
    return f"{value:z.{metric.digits}f}{f' {metric.unit}' if metric.unit else ''}"


def difference(value: float, metric: Metric) -> str:
    """Difference of a metric as text; one that would round to 0 has two significant digits."""
    text = figure(value, metric)
    if value and not any(digit in text.removesuffix(metric.unit) for digit in "123456789"):
        return f"{value:.2g}{f' {metric.unit}' if metric.unit else ''}"
    return text


def percent(value: float | None) -> str:
    """A gap as text: a fraction in percent, from ten on as a multiple of the bound."""
    if value is None or value == 0:
        return "-" if value is None else "0 %"
    if abs(value) < 5e-5:
        return "<0.01 %" if value > 0 else ">-0.01 %"
    if abs(value) < 1:
        return f"{100 * value:.2f} %"
    return f"{100 * value:.0f} %" if abs(value) < 10 else f"{value:.3g} times"


def away_from(what: str, value: float, metric: Metric, in_units: bool) -> str:
    """Text of a metric's distance from `what`, such as "2% from the bound", as a percentage or in
    the metric's unit.
    """
    if in_units:
        side = "above" if metric.sense == "min" else "below"
        return f"{difference(value, metric)} {side} {what}"
    return f"{percent(value)} {f'from {what}' if value < 10 else 'the bound away'}"


def seconds_text(value: float | None) -> str:
    """Seconds as text."""
    return "-" if value is None else f"{value:.3f}"


def one_line(text: str, most: int = 200) -> str:
    """Text of any length shortened to one line; rows keep the whole text."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 3]}..."


def proved(line: Line | Row) -> str:
    """Text of how far a row's answer is proved: status, gap, and what a verified proof certifies.
    The gap is that to its own bound, or of the first later level that is not optimal.
    """
    levels = line.get("levels") or []
    proof_status = (line.get("proof") or {}).get("proof_status")
    if line.get("broken"):
        return f"breaks {', '.join(line['broken'])}"
    suffix = {"certified": ", certified", "partly": ", partly certified"}.get(str(proof_status), "")
    if weaker := (line.get("proof") or {}).get("weaker"):
        suffix += f" ({weaker})"
    if levels and levels[0]["status"] == "optimal":
        later = next((level for level in levels if level["status"] != "optimal"), None)
        suffix = suffix if later is None else f", then {level_gap(later)}{suffix}"
    elif line["status"] == "feasible":
        facts = cast("Mapping[str, Any]", line)  # a line has a mean of gaps, a row its own
        gap = facts.get("own_gap", facts.get("gap"))
        suffix = suffix if gap is None else f", gap {percent(gap)}{suffix}"
    return f"{line['status']}{suffix}"


def level_gap(level: Mapping[str, Any]) -> str:
    """Distance of a level's value from its own bound as text."""
    if level["value"] is None or level["bound"] is None:
        return "no bound" if level["bound"] is None else "no value"
    if not level["bound"]:
        return f"{level['value']:.3g} above 0" if level["value"] else "gap 0 %"
    return f"gap {percent(abs(level['value'] - level['bound']) / abs(level['bound']))}"


def _away(level: Mapping[str, Any]) -> str:
    """End of a level's sentence: ": " and "optimal", its status, or its gap to its bound."""
    if level["status"] == "optimal":
        return ": optimal"
    return f": {level['status']}" if level["bound"] is None else f": {level_gap(level)}"


def _failures(lines: Sequence[Line]) -> list[str]:
    """A sentence for each method with runs that failed or found no answer."""
    notes = []
    for line in lines:
        if line["failed"]:
            why = "; ".join(map(one_line, line["errors"]))
            notes.append(
                f"{line['method']} failed in {line['failed']} of {line['runs']} runs: {why}"
            )
        if line["unanswered"] and line["metrics"]:
            notes.append(
                f"{line['method']} found no answer in {line['unanswered']} of {line['runs']} runs"
            )
        for rule, text in (line.get("broken") or {}).items():
            notes.append(f"{line['method']} breaks your rule {rule}: {one_line(text)}")
    return notes


def _gap_table(
    title: str, source: str, lines: Sequence[Line], metrics: Sequence[Metric], notes: Sequence[str]
) -> Table:
    bounds = {name: bound for line in lines for name, bound in line["bounds"].items()}
    shown = [
        metric
        for metric in metrics
        if (metric.compared or metric.name in bounds)
        and any(metric.name in line["metrics"] for line in lines)
    ]
    repeated = any(line["runs"] > 1 for line in lines)
    # Kept longest on a narrow terminal: what is proved of the first objective, then seconds, then
    # the other objectives.
    first = [metric.name for metric in shown if metric.name in bounds][:1]
    order = [*first, *(f"gap_{name}" for name in first), "seeds", "seconds"]
    for metric in sorted(shown, key=lambda metric: metric.name not in bounds):
        keys = (metric.name, metric.name.replace("_pairs", "_share"), f"gap_{metric.name}")
        order += [name for name in keys if name not in order]
    rank = {name: index + 1 for index, name in enumerate(order)}
    cells: list[Cells] = [
        (Column("method", bold=True, wrap=False), label), (Column("status"), proved)
    ]  # fmt: skip
    if repeated:
        seeds = Column("seeds", numeric=True, rank=rank["seeds"])
        cells.append((seeds, lambda line: line["runs"] - line["failed"] - line["unanswered"]))
    for metric in shown:
        cells += _metric_cells(metric, lines, bounds, rank)
    if any("manipulation" in line for line in lines):
        cells.append((Column("gain by lying", numeric=True), _gain))
    seconds = Column("seconds", seconds_text, numeric=True, rank=rank["seconds"])
    cells.append((seconds, lambda line: line["seconds"]))
    columns = tuple(column for column, _ in cells)
    rows = tuple(tuple(value(line) for _, value in cells) for line in lines)
    remarks = [_MEANS] * repeated
    standings = {(line.get("proof") or {}).get("proof_status") for line in lines}
    remarks += [RULED] if any("broken" in line for line in lines) else []
    remarks += [_CERTIFIED] if standings & {"certified", "partly"} else []
    return Table(slug(title), title, columns, rows, source, (*remarks, *notes))


Cells = tuple[Column, Callable[[Line], Any]]
"""Column of a comparison with the value of a line in it."""


def _metric_cells(
    metric: Metric, lines: Sequence[Line], bounds: Mapping[str, float], rank: Mapping[str, int]
) -> Iterator[Cells]:
    """Columns of a metric: its mean, the deviation over several seeds, gap and difference."""
    name, text = metric.name, partial(figure, metric=replace(metric, unit=""))
    zero = name in bounds and agree(bounds[name], 0.0, _scale(lines, name))
    unit = f" [{metric.unit}]" if metric.unit else ""
    heading = f"{metric.heading}{unit}{' (bound 0)' * zero}"
    yield (
        Column(heading, text, numeric=True, key=name, rank=rank[name]),
        lambda line: _with_spread(line["metrics"].get(name), line["spreads"].get(name), metric),
    )
    if any(line["runs"] > 1 for line in lines):
        spread = Column("sd", text, numeric=True, key=f"sd_{name}", people=False)
        yield spread, lambda line: line["spreads"].get(name)
    if name in bounds:
        gap, apart = f"gap_{name}", f"difference_{name}"
        # a bound of 0 has no gap, nor has a metric that is neither better nor worse
        seen = not zero and any(line["gaps"].get(gap) is not None for line in lines)
        heading = f"{metric.heading} gap"
        yield (
            Column(heading, percent, numeric=True, key=gap, rank=rank[gap], people=seen),
            lambda line: line["gaps"].get(gap),
        )
        difference = Column("difference", text, numeric=True, key=apart, people=False)
        yield difference, lambda line: line["differences"].get(apart)


_MEANS = (
    "Rows of several seeds are means over them, ± the standard deviation; gaps and seconds are "
    "means."
)


RULED = (
    "Your own rules only exclude answers: bounds and proofs are of the instance without them, and "
    "hold with them too; an answer that breaks one counts as none."
)
_CERTIFIED = (
    "certified: verify accepted a proof of all that the row claims (partly certified: of less). "
    "In the other rows a bound is what a solver or this package says."
)


def _gain(line: Line) -> Any:
    """Gain of an agent by its best misreport, with its bound where it is not exact."""
    if (found := line.get("manipulation")) is None:
        return None
    most = found["gain_at_most"]
    more = " or more" if most is None else f" (at most {most:.4g})"
    more = "" if found["status"] == "exact" else more
    return found["gain"], f"{found['gain']:.4g}{more}"


def _scale(lines: Sequence[Line], metric: str) -> float:
    return next((line["scales"][metric] for line in lines if metric in line["scales"]), 1.0)


def _with_spread(value: float | None, spread: float | None, metric: Metric) -> Any:
    """Mean with its standard deviation over seeds, if seeds differ."""
    if value is None or not spread:
        return value
    bare = replace(metric, unit="")
    return value, f"{figure(value, bare)} ±{difference(spread, bare)}"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0 if value.is_integer() else float(f"{value:.6g}")  # never -0.0
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
