"""Pictures of servers over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...instances.lifetimes import Hosts, Lifetimes
from ..report.picture import Chart, Picture, Series
from ..report.picture_data import Record, records_by_method
from ..run.rows import Row

MOST_POINTS = 1_000
"""Instants of a line; of longer traces every few."""


def record(instance: Lifetimes, solution: Hosts) -> dict[str, Any]:
    """Servers in use over time, and what volume alone needs."""
    use = solution.in_use(instance)
    shown = slice(None, None, -(-len(use) // MOST_POINTS))
    return {
        "time": (instance.times[:-1] - instance.times[0])[shown].tolist(),
        "servers": use[shown].tolist(),
        "needed": instance.volume[shown].tolist(),
    }


def answer_picture(instance: Lifetimes, solution: Hosts) -> Chart:
    """Servers in use over time."""
    return _chart("answer", {"this answer": record(instance, solution)})


def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Servers in use over time of one instance's runs, a line a method, with its first seed."""
    found = records_by_method(rows, "needed")
    drawn = {method: records[0] for method, records in found.items()}
    return [_chart("lifetimes-servers", drawn)] if drawn else []


def _chart(name: str, records: Mapping[str, Record]) -> Chart:
    """A step line a record, and thick what volume needs."""
    some = next(iter(records.values()))
    times = tuple(some["time"])
    series = [Series("needed by volume", times, tuple(some["needed"]), "step", strong=True)]
    series += [
        Series(method, times, tuple(each["servers"]), "step") for method, each in records.items()
    ]
    peaks = ", ".join(f"{method} {max(each['servers'])}" for method, each in records.items())
    return Chart(
        name, "Servers in use over time", "time since the first start", "servers",
        tuple(series), f"Servers in use over time. Most at once: {peaks}; by volume at least "
        f"{max(some['needed'])}.",
    )  # fmt: skip
