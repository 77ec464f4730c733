"""Pictures of servers in use over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...instances.lifetimes import Hosts, Lifetimes
from ...instances.problem.option_types import validate_options
from ...solvers.lifetimes.static_bound import StaticBound
from ...solvers.outcome import Clock
from ..report.picture import Chart, Picture, Series
from ..report.picture_data import Record, evenly, records_by_method
from ..run.rows import Row


@validate_options
def record(instance: Lifetimes, solution: Hosts) -> dict[str, Any]:
    """Servers in use over time and their lower bound, as lists of at most 1,000 points of time."""
    shown, static = evenly(len(instance.length), 1_000), StaticBound(instance, Clock(2.0))
    list(static.tighten(2 * instance.volume, instance.length))
    lines = {"time": instance.times - instance.times[0], "needed": static.bound}
    lines["servers"] = solution.in_use(instance)
    return {name: line[shown].tolist() for name, line in lines.items()}


@validate_options
def answer_picture(instance: Lifetimes, solution: Hosts) -> Chart:
    """Picture of the servers in use over time."""
    return _chart("answer", {"this answer": record(instance, solution)})


def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Servers in use over time of one instance's runs, one line a method (its first seed)."""
    drawn = {name: records[0] for name, records in records_by_method(rows, "needed").items()}
    return [_chart("lifetimes-servers", drawn)] if drawn else []


def _chart(name: str, records: Mapping[str, Record]) -> Chart:
    """Step chart of servers in use over time by method; the lower bound is a thick line."""
    some = next(iter(records.values()))
    lines = {"lower bound": some["needed"], **{m: r["servers"] for m, r in records.items()}}
    series = tuple(
        Series(line, tuple(some["time"]), tuple(y), "step", strong=line == "lower bound")
        for line, y in lines.items()
    )
    words = "Servers in use over time. Most at once: "
    words += ", ".join(f"{line} {max(y)}" for line, y in lines.items())
    return Chart(name, words[:24], "time since the first start", "servers", series, f"{words}.")
