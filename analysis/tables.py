"""Tables for people (rich): a result, a comparison, the catalogue, facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich import box
from rich.table import Table

from ..instances.problem.options import option_names
from ..solvers.outcome import Status
from .compare import Comparison
from .experiments import Experiment, Finding
from .metric import Metric
from .result import Result
from .runs import Row


def result_table(result: Result, metrics: Sequence[Metric]) -> Table:
    """One result: what was run, how good the answer is, and every metric."""
    table = Table(title=f"{result.method} on {result.instance or result.problem}", box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    levels = list(result.certificate.get("levels", []))
    status = proved({"status": result.status.value, "levels": levels})
    sentence = result.status.sentence if status == result.status.value else "see the levels below"
    if result.outcome.tolerance is not None and result.status is Status.OPTIMAL:
        sentence = f"certified: an equilibrium within {result.outcome.tolerance:g}"
    table.add_row("status", f"{status}: {sentence}")
    table.add_row("stopped", f"{result.stop.value}: {result.stop.sentence}")
    known = {metric.name: metric for metric in metrics}
    if result.objective_name is not None:
        metric = known[result.objective_name]
        table.add_row("objective", f"{metric.label} {figure(result.objective, metric)}")
        if result.bound is not None:
            table.add_row("bound", f"{figure(result.bound, metric)} (gap {percent(result.gap)})")
    for level in levels[1:]:
        metric = known[level["objective"]]
        bound = "no bound" if level["bound"] is None else f"bound {figure(level['bound'], metric)}"
        table.add_row("then", f"{metric.label} {figure(level['value'], metric)}, {bound}: {level['status']}")
    table.add_row("seconds", f"{result.seconds:.3f}")
    for metric in metrics:
        if metric.name in result.metrics:
            table.add_row(metric.label, figure(result.metrics[metric.name], metric))
    for name, value in result.certificate.items():
        if name != "levels":
            table.add_row(f"certificate: {name}", _shortened(value))
    return table


def comparison_tables(
    comparison: Comparison, metric_table: Callable[[str], Sequence[Metric]], sources: Mapping[str, str]
) -> Iterator[Table | str]:
    """One table per problem and instance: methods down, metrics and gaps across; failures said below it.

    `sources`: what to say below each table, by the instance's fingerprint.
    """
    lines = comparison.summary()
    groups = dict.fromkeys((line["problem"], line["instance"], line["fingerprint"]) for line in lines)
    names = [(problem, instance) for problem, instance, _ in groups]
    for problem, instance, mark in groups:
        here = [line for line in lines if (line["problem"], line["instance"], line["fingerprint"]) == (problem, instance, mark)]
        twice = f" ({mark})" if names.count((problem, instance)) > 1 else ""
        yield _gap_table(f"{problem}: {instance}{twice}", sources.get(mark, ""), here, metric_table(problem))
        for line in here:
            for error in line["errors"]:
                yield f"{line['method']} failed ({line['failed']} of {line['runs']} runs): {error}"


def methods_table(methods: Sequence[Any]) -> Table:
    """The catalogue's methods: name, kind, objective, what each does, its options, its source."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("problem", "method", "kind", "optimises", "what", "options", "source"):
        table.add_column(column)
    for method in methods:
        options = ", ".join(option_names(method.resolve()))
        table.add_row(method.problem, method.name, method.kind, method.objective, method.summary, options, method.source)
    return table


def findings_table(experiment: Experiment, findings: Sequence[Finding], seconds: float) -> Table:
    """An experiment: the paper's figure, ours, and the verdict."""
    table = Table(title=f"{experiment.source}: {experiment.what}", caption=f"{seconds:.1f} s", box=box.SIMPLE_HEAD)
    for column in ("what", "paper", "here", "verdict", "note"):
        table.add_column(column)
    for finding in findings:
        table.add_row(finding.what, finding.paper or "-", finding.ours, finding.verdict, finding.note)
    return table


def facts_table(facts: Mapping[str, object], title: str) -> Table:
    """Names and values, two columns."""
    table = Table(title=title, box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in facts.items():
        table.add_row(name, str(value))
    return table


def figure(value: float | None, metric: Metric) -> str:
    """A value of a metric as text."""
    if value is None:
        return "-"
    if metric.digits < 0:
        return f"{value:.{-metric.digits - 1}e}" if value else "0"
    if metric.digits == 0:
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
    return f"{value:.{metric.digits}f}{f' {metric.unit}' if metric.unit else ''}"


def percent(value: float | None) -> str:
    """A gap as text: a fraction in percent, from ten on as a multiple of the bound."""
    if value is None or value == 0:
        return "-" if value is None else "0 %"
    if abs(value) < 1:
        return f"{100 * value:.2f} %"
    return f"{100 * value:.0f} %" if abs(value) < 10 else f"{value:.3g} times"


def proved(line: Row) -> str:
    """The status of a row, and how many of its levels are proved where it has several."""
    levels = line.get("levels") or []
    done = sum(level["status"] == "optimal" for level in levels)
    return f"{line['status']} ({done} of {len(levels)} levels)" if 0 < done < len(levels) else str(line["status"])


def _gap(line: Row, metric: Metric) -> str:
    """The gap to the best proved bound; where that is 0 a fraction means nothing, and the difference is shown."""
    fraction = line["gaps"].get(f"gap_{metric.name}")
    value = line["metrics"].get(metric.name)
    if fraction is not None and value is not None and abs(fraction) > 1e6 * max(abs(value), 1e-3):
        return f"+{figure(value, metric)}"
    return percent(fraction)


def _gap_table(title: str, source: str, lines: Sequence[Row], metrics: Sequence[Metric]) -> Table:
    table = Table(title=title, caption=source or None, box=box.SIMPLE_HEAD)
    table.add_column("method", style="bold", no_wrap=True)
    table.add_column("status", min_width=8)
    shown = [metric for metric in metrics if metric.short and any(metric.name in line["metrics"] for line in lines)]
    gapped = [metric for metric in shown if any(line["gaps"].get(f"gap_{metric.name}") is not None for line in lines)]
    for metric in shown:
        table.add_column(f"{metric.short} [{metric.unit}]" if metric.unit else metric.short, justify="right")
        if metric in gapped:
            table.add_column("gap", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right")
    for line in lines:
        blind = "" if line["predict"] is None else f" ({100 * line['predict']:g} % sampled)"
        cells = [f"{line['method']}{blind}", proved(line)]
        for metric in shown:
            cells.append(figure(line["metrics"].get(metric.name), replace(metric, unit="")))
            if metric in gapped:
                cells.append(_gap(line, metric))
        table.add_row(*cells, "-" if line["seconds"] is None else f"{line['seconds']:.3f}")
    return table


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
