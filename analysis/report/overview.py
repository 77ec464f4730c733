"""Tables and pictures of one problem over all its instances: gaps, wins, profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...instances.problem.option_types import validate_options
from ..metric import Metric
from ..run.gaps import Comparison, metric_table
from ..run.rows import Line
from . import aggregate
from .aggregate import EXCESS_SHIFT, GAP_SHIFT, SECONDS_SHIFT, WIN_TOLERANCE, Mean
from .picture import Chart, Scale, Series
from .picture_data import alike, joined, sharing
from .significance import LEAST_INSTANCES, significance
from .table import Column, Table
from .tables import RULED, comparison_tables, figure, percent, seconds_text

MOST_TABLES = 8
"""With more instances of a problem the command line prints the overview alone."""


@validate_options
def overview_tables(
    comparison: Comparison,
    sources: Mapping[str, str] = MappingProxyType({}),
    against: str | None = None,
) -> list[Table]:
    """Tables that the command line prints: of each instance; for each problem with several
    instances mean gaps and wins, and with at least 6 the significant differences.

    The tables of instances are left out for a problem with more than MOST_TABLES. `sources`: as of
    `comparison_tables`; `against`: as of `significance.significance`.
    """
    groups: dict[str, list[Line]] = {}
    for line in comparison.summary():
        groups.setdefault(line["problem"], []).append(line)
    counts = {problem: len(aggregate.instance_keys(lines)) for problem, lines in groups.items()}
    shown = [
        table
        for key, table in comparison_tables(comparison, sources).items()
        if counts[key[0]] <= MOST_TABLES
    ]
    for problem, lines in groups.items():
        if counts[problem] < 2:
            continue
        metrics = metric_table(problem, lines)
        won = win_table(problem, lines, metrics)
        shown.append(mean_gaps(problem, lines, metrics))
        if counts[problem] > MOST_TABLES:
            won = replace(won, notes=(*won.notes, _EACH.format(count=counts[problem])))
        shown.append(won)
        for table, drawing in significance(problem, lines, metrics, against):
            for each in (table, None if drawing is None else drawing.numbers):
                if each is not None:  # a note is said once
                    seen = {note for table in shown for note in table.notes}
                    fresh = tuple(note for note in each.notes if note not in seen)
                    shown.append(replace(each, notes=fresh))
    return shown


_EACH = (
    "The tables of the {count} instances are left out: `cotenant compare FILE` prints one, "
    "--report REPORT.html shows all, "
    "--out RUNS.jsonl keeps every run."
)


def mean_gaps(problem: str, lines: Sequence[Line], metrics: Sequence[Metric]) -> Table:
    """Table by method: number of answers and proofs, mean gaps to best bounds, seconds.

    Parameters
    ----------
    lines : of one problem, from `Comparison.summary`.
    metrics : of the problem.
    """
    scores = aggregate.scores(lines, metrics)  # 1. Metrics with a gap, and the columns.
    shown = [
        metric
        for metric in metrics
        if metric.sense and any(metric.name in score.gaps for score in scores)
    ]
    units = {metric.name: aggregate.in_units(lines, metric.name) for metric in shown}
    columns = [
        Column("method", bold=True, wrap=False), Column("answered", numeric=True),
        Column("proved", numeric=True),
        Column("runs failed", numeric=True, rank=len(shown) + 1),
    ]  # fmt: skip
    for index, metric in enumerate(shown):
        unit = f" [{metric.unit}]" if metric.unit and units[metric.name] else ""
        columns.append(
            Column(
                f"{metric.heading}: {'above bound' if units[metric.name] else 'gap'}{unit}",
                numeric=True,
                rank=index,
            )
        )
    columns.append(Column("seconds", seconds_text, numeric=True))
    rows = []  # 2. A row for each method.
    for score in scores:
        cells: list[Any] = [
            score.method,
            (score.answered, f"{score.answered} of {score.instances}"),
            (score.proved, f"{score.proved} of {score.instances}"),
            (score.failed, f"{score.failed} of {score.runs}"),
        ]
        cells += [
            _mean_text(score.gaps.get(metric.name), metric, units[metric.name]) for metric in shown
        ]
        rows.append((*cells, score.seconds.value))
    count = len(aggregate.instance_keys(lines))  # 3. Notes on missing answers and rules.
    title = f"{problem}: mean gaps over {count} instances"
    notes = list(_gap_notes(scores, shown, units))
    if broken := Counter(aggregate.label(line) for line in lines if line.get("broken")):
        times = ", ".join(f"{method} on {number}" for method, number in broken.items())
        notes.append(f"Instances on which answers break your rules: {times}. {RULED}")
    if count < LEAST_INSTANCES:
        notes.append(f"Too few instances for tests of which differ: at least {LEAST_INSTANCES}.")
    return Table(f"{problem}-mean-gaps", title, tuple(columns), tuple(rows), notes=tuple(notes))


def win_table(problem: str, lines: Sequence[Line], metrics: Sequence[Metric]) -> Table:
    """Table by method and metric: number of instances on which its mean over seeds is best; all
    that tie win.

    A metric in which all methods tie on every instance (servers of given number) is left out.

    Parameters
    ----------
    lines, metrics : as of `mean_gaps`.
    """
    methods = list(dict.fromkeys(map(aggregate.label, lines)))
    shown, counted = [], []
    for metric in metrics:
        values = aggregate.values_of(lines, metric.name) if metric.sense and metric.compared else {}
        found = aggregate.wins(values, metric.sense)
        if any(
            found[method] < sum(value is not None for value in column)
            for method, column in values.items()
        ):
            shown.append(metric)
            counted.append(found)
    names = [
        f"{metric.heading} ({'least' if metric.sense == 'min' else 'most'})" for metric in shown
    ]
    columns = (
        Column("method", bold=True, wrap=False),
        *(Column(name, numeric=True, rank=index) for index, name in enumerate(names)),
    )
    rows = tuple((method, *(found.get(method) for found in counted)) for method in methods)
    note = (
        f"On how many of the {len(aggregate.instance_keys(lines))} instances a method's mean over "
        f"seeds is the best (within {WIN_TOLERANCE:g} of it); all that tie win, and a method with "
        "a failed run on an instance does not."
    )
    notes = [note] if not _partly(lines, methods) else [note, _PARTLY]
    return Table(f"{problem}-wins", f"{problem}: wins", columns, rows, notes=tuple(notes))


def profile_charts(problem: str, lines: Sequence[Line], metrics: Sequence[Metric]) -> list[Chart]:
    """Performance profiles of every metric of the tables and of the seconds to a proof; none for a
    single instance, nor for a metric whose best value is 0 on every instance.

    Parameters
    ----------
    lines, metrics : as of `mean_gaps`.
    """
    count = len(aggregate.instance_keys(lines))
    if count < 2:
        return []
    labels = {metric.name: metric.label for metric in metrics}
    objectives = dict.fromkeys(line["objective_name"] for line in lines if line["objective_name"])
    found = [
        (metric.name, metric.label, values, metric.sense)
        for metric in metrics
        if metric.sense and metric.compared
        and aggregate.has_ratios(values := aggregate.values_of(lines, metric.name), metric.sense)
    ]  # fmt: skip
    found += [
        (f"seconds-{name}", f"seconds to prove the {labels[name]}",
         aggregate.proof_seconds(lines, name), "min")
        for name in objectives
    ]  # fmt: skip
    charts = []
    for name, what, values, sense in found:
        if len(values) > 1:
            partly = _PARTLY if _partly(lines, values) else ""
            profiles = aggregate.profiles(values, sense)
            charts.append(_profile_chart(problem, name, what, count, profiles, partly))
    if seconds := aggregate.proof_seconds(lines):
        partly = _PARTLY if _partly(lines, seconds) else ""
        charts.append(_proof_chart(problem, count, aggregate.proof_profile(seconds), partly))
    return charts


def _profile_chart(
    problem: str,
    name: str,
    what: str,
    count: int,
    found: Mapping[str, Sequence[tuple[float, float]]],
    partly: str,
) -> Chart:
    widest = max(corners[-1][0] for corners in found.values())
    series, shared = _curves(found, widest * 1.05 if widest > 1 else 2.0)
    first = {method: corners[0][1] for method, corners in found.items()}
    leaders = [method for method, share in first.items() if share == max(first.values())]
    shares = "; ".join(f"{method} {100 * share:.0f} %" for method, share in first.items())
    return Chart(
        f"{problem}-profile-{name.replace('_', '-')}", f"{problem}: performance profile of {what}",
        "at most this many times worse than the best method", "share of instances", series,
        f"Over {count} instances, most often best in {what}: {', '.join(leaders)}. "
        f"Share of instances on which each is best: {shares}.", x_scale="log",
        note=joined(
            "Higher is better. At 1: how often a method is the best of all; at the right end: how "
            "often it gave an answer. Where the best value is 0 or less a ratio says nothing: 1 "
            "for who reaches it, never for the others.", partly, shared,
        ),
    )  # fmt: skip


def _proof_chart(
    problem: str, count: int, found: Mapping[str, Sequence[tuple[float, float]]], partly: str
) -> Chart:
    series, shared = _curves(found, 1.2 * max(corners[-1][0] for corners in found.values()))
    shares = "; ".join(
        f"{method} {100 * corners[-1][1]:.0f} %" for method, corners in found.items()
    )
    scale: Scale = "log" if min(corners[0][0] for corners in found.values()) > 0 else "linear"
    of = "" if len(found) > 1 else f" of {next(iter(found))}"
    return Chart(
        f"{problem}-proofs", f"{problem}: proofs{of} against time", "seconds",
        "share of instances proved", series,
        f"Share of the {count} instances that each exact method proved in the end: {shares}.",
        x_scale=scale,
        note=joined(
            "Each method proves its own objective. Seconds are wall time on the machine of "
            "the runs.", partly, shared,
        ),
    )  # fmt: skip


def _curves(
    found: Mapping[str, Sequence[tuple[float, float]]], end: float
) -> tuple[tuple[Series, ...], str]:
    """Step lines drawn up to the same end, and a note on equal curves, which share one line."""
    groups = alike(found)
    drawn = []
    for group in groups:
        x, y = zip(*group.value, (end, group.value[-1][1]), strict=True)
        drawn.append(Series(group.name, x, y, style="step"))
    return tuple(drawn), sharing(groups)


_PARTLY = (
    "Not every method was run on every instance: where it was not, it counts as without an answer."
)


def _partly(lines: Sequence[Line], methods: Iterable[str]) -> bool:
    """Whether some methods were not run on some instances."""
    run = Counter(aggregate.label(line) for line in lines)
    return any(run[method] < len(aggregate.instance_keys(lines)) for method in methods)


def _mean_text(mean: Mean | None, metric: Metric, in_units: bool) -> Any:
    if mean is None or mean.value is None:
        return None
    text = figure(mean.value, replace(metric, unit="")) if in_units else percent(mean.value)
    return mean.value, f"{text}{'*' if mean.negative else ''}"


def _gap_notes(
    scores: Sequence[aggregate.Score], shown: Sequence[Metric], units: Mapping[str, bool]
) -> list[str]:
    notes = []
    if shown:
        notes.append(
            "Gaps: to the best bound proved on each instance, shifted geometric means (shift "
            f"{100 * GAP_SHIFT:g} %) of means over seeds; seconds with shift {SECONDS_SHIFT:g} s."
        )
    if any(score.equilibrium for score in scores):
        notes.append("Proved, for an equilibrium: within its tolerance.")
    if several := [metric.heading for metric in shown if units[metric.name]]:
        notes.append(
            f"The best bound on {' and '.join(several)} is 0 somewhere: differences from it, shift "
            f"{EXCESS_SHIFT:g}, in the metric's unit."
        )
    if below := sum(mean.negative for score in scores for mean in score.gaps.values()):
        notes.append(
            f"* {below} values are better than the bound, which was proved under other "
            "constraints; they count as gap 0."
        )
    if any(score.answered < score.instances for score in scores):
        notes.append(
            "A mean is over the instances a method answered: means of methods that failed are "
            "not of the same instances."
        )
    return notes
