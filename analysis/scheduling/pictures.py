"""Pictures of schedules: debts, utilities of organizations, busy machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...instances.scheduling.feasibility import answer_table
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import job_units
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley_schedule import Reference, affordable, play_ref
from ...solvers.scheduling.shapley_schedule import reference as shapley_reference
from ..report.picture import Block, BlockChart, Chart, HeatMap, Picture, Series, answer_rows
from ..report.picture_data import (
    Record,
    Records,
    alike,
    extremes,
    map_by_name,
    means,
    records_by_method,
    rounded,
    sharing,
)
from ..report.table import slug
from ..run.rows import Row

LARGE = 1e5
"""Larger numbers are drawn in thousands, millions, ..."""

_NAMED = "organization", ("names", "organizations")
"""Axis of the maps, and the keys of a record for `map_by_name`."""

Floats = np.ndarray[Any, np.dtype[np.float64]]

TIMES, MOST_NAMES, MOST_OVER_TIME = 40, 20, 8
"""Times looked at; organizations drawn; organizations up to which debts are drawn over time."""


@validate_options
def record(
    instance: Scheduling,
    schedule: Schedule,
    *,
    reading: Reading = "figure",
    reference: Literal["auto", "REF", "none"] = "auto",
) -> dict[str, Any]:
    """Numbers of a schedule that `pictures` draws, stored in a row; a few kB.

    `times`: at most 40, spread evenly, the horizon last; `busy`: share of the machines' time used
    up to each since the one before. `psi` at the horizon, and, as in `metrics` (same options),
    `owed`: phi - psi; of the first 20 organizations, `names`. Up to 8 organizations also `debts`:
    phi - psi at each of the times, phi from REF's coalitions at that time with the schedule's own
    total as the value of all.

    Parameters
    ----------
    reading, reference : as for `metrics`.
    """
    times = np.unique(np.round(np.linspace(0, instance.horizon, TIMES + 1)[1:]).astype(np.int64))
    times = times[times > 0]
    psi = utilities(instance, schedule)
    shown = slice(0, MOST_NAMES)
    found: dict[str, Any] = {
        "organizations": instance.organizations,
        "names": list(instance.names[shown]),
        "times": times.tolist(),
        "busy": rounded(_busy(instance, schedule, times).tolist()),
        "psi": psi[shown].tolist(),
    }
    if reference == "REF" or (reference == "auto" and affordable(instance)):
        phi = shapley_reference(instance, reading).phi(psi)
        owed = [float(share - mine) for share, mine in zip(phi, psi.tolist(), strict=True)]
        found["owed"] = rounded(owed[shown], 6)
        if instance.organizations <= MOST_OVER_TIME:
            found["debts"] = [
                rounded(row, 6) for row in _debts(instance, schedule, times, reading).T.tolist()
            ]
    return found


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: debts, utility against contribution, busy machines."""
    by_method = records_by_method(rows, "busy")
    if not by_method:
        return []
    drawn: list[Picture] = []
    followed = {method: records for method, records in by_method.items() if "debts" in records[0]}
    if followed and len(next(iter(followed.values()))[0]["names"]) > 1:
        drawn.append(_most_owed_chart(followed))
        drawn += [_debt_chart(method, records[0]) for method, records in _extreme(followed).items()]
    judged = {method: records for method, records in by_method.items() if "owed" in records[0]}
    if judged:
        drawn += [_owed_map(judged), _share_map(judged)]
    else:
        drawn.append(_utility_map(by_method))
    return [*drawn, _busy_chart(by_method)]


def _busy(instance: Scheduling, schedule: Schedule, times: Integers) -> Floats:
    """Fraction of the machines' time used between each time and the one before."""
    edges = np.append(0, times)
    done = np.array([int(job_units(instance, schedule, edge).sum()) for edge in edges.tolist()])
    share: Floats = np.diff(done) / (np.diff(edges) * instance.capacity)
    return share


def _debts(instance: Scheduling, schedule: Schedule, times: Integers, reading: Reading) -> Floats:
    """Debt phi - psi to each organization at each time, shape (times, k)."""
    by_mask = _values(instance, tuple(times.tolist()), reading)
    result = np.zeros((len(times), instance.organizations))
    for index, time in enumerate(times.tolist()):
        psi = utilities(instance, schedule, time)
        phi = Reference(tuple(by_mask[:, index].tolist()), psi, 0, 0).phi()
        result[index] = [float(share - mine) for share, mine in zip(phi, psi.tolist(), strict=True)]
    return result


@lru_cache(maxsize=4)
def _values(instance: Scheduling, times: tuple[int, ...], reading: Reading) -> Integers:
    """Values (coalitions by mask, times) that each coalition reaches in REF's schedules, cached for
    the next schedule of the instance.
    """
    played = play_ref(instance, reading=reading, samples=np.array(times))
    values = np.zeros((len(played.masks) + 1, len(times)), dtype=np.int64)
    values[played.masks] = played.values[:, np.searchsorted(played.times, times)]
    values.flags.writeable = False
    return values


def _most_owed_chart(by_method: Records) -> Chart:
    """Chart of the largest debt to any organization over time, a line for each method."""
    unit, word = _unit(
        value for records in by_method.values() for row in records[0]["debts"] for value in row
    )
    series: list[Series] = []
    last: dict[str, float] = {}
    times = tuple(next(iter(by_method.values()))[0]["times"])
    groups = alike({method: records[0]["debts"] for method, records in by_method.items()})
    for group in groups:
        most = (np.max(np.array(group.value), axis=0) / unit).tolist()
        series.append(Series(group.name, times, tuple(most), "line"))
        last |= dict.fromkeys(group.methods, most[-1])
    return Chart(
        "most-owed-over-time", "The most owed to any organization, over time", "time",
        f"most owed to one [{word}]", tuple(series),
        "The largest debt to one organization over time, by method. At the horizon, in "
        f"{word}: {extremes(last, '.4g')}.",
        note="phi is the Shapley share in what the coalitions' REF schedules are worth at that "
        "time, psi what the organization got. Of each method, the first seed. "
        f"{sharing(groups)}".strip(),
    )  # fmt: skip


def _debt_chart(method: str, entry: Record) -> Chart:
    """Chart of the debt to each organization over time under one method."""
    unit, word = _unit(value for row in entry["debts"] for value in row)
    # a bare number in a legend says what it numbers
    names = [f"organization {name}" if name.isdigit() else name for name in entry["names"]]
    rows = [(np.array(row) / unit).tolist() for row in entry["debts"]]
    debts = dict(zip(names, rows, strict=True))
    last = {name: row[-1] for name, row in debts.items()}
    return Chart(
        f"owed-over-time-{slug(method)}", f"Who is owed what over time: {method}", "time",
        f"owed: what is due less what it got [{word}]",
        tuple(Series(name, tuple(entry["times"]), tuple(row)) for name, row in debts.items()),
        f"What {method} owes each organization over time; below 0 it got more than its share. "
        f"At the horizon, in {word}: {extremes(last, '.4g')}.",
        note="Debts sum to 0 at any time. Drawn for the methods that in the end owe one "
        "organization least and most; a comparison of one method alone draws that one.",
    )  # fmt: skip


def _owed_map(by_method: Records) -> HeatMap:
    values, word = _in_units(means(by_method, "owed"))
    most = extremes({method: max(row) for method, row in values.items()}, ".4g")
    return map_by_name(
        "owed", "Who is owed what at the horizon", *_NAMED, by_method, values,
        f"owed: what is due less what it got [{word}]",
        "What each organization is due (phi) less what it got (psi) at the horizon, by method. "
        f"Most owed to one, in {word}: {most}.", center=0.0,
    )  # fmt: skip


def _share_map(by_method: Records) -> HeatMap:
    """Heat map of psi over phi; blank where phi is 0."""
    values, owed = {}, means(by_method, "owed")
    for method, psi in means(by_method, "psi").items():
        phi = np.add(psi, owed[method])
        values[method] = np.divide(psi, phi, out=np.full(len(psi), np.nan), where=phi > 0)
    worst = {
        method: float(np.nanmin(row)) for method, row in values.items() if np.isfinite(row).any()
    }
    text = "What each organization got of the utility it contributed, psi over phi, by method."
    if worst:
        text += f" Of the worst served organization: {extremes(worst, '.3g')}."
    shown = {method: row.tolist() for method, row in values.items()}
    return map_by_name(
        "psi-over-phi", "What each organization got of what it is due", *_NAMED, by_method, shown,
        "what it got over what is due", text, center=1.0,
    )  # fmt: skip


def _utility_map(by_method: Records) -> HeatMap:
    values, word = _in_units(means(by_method, "psi"))
    total = extremes({method: sum(row) for method, row in values.items()}, ".4g")
    return map_by_name(
        "utilities", "Utility of each organization", *_NAMED, by_method, values,
        f"utility [{word}]",
        f"Utility psi_sp of each organization, by method. In all, in {word}: {total}. What is due "
        "was not worked out: REF takes too long.",
    )  # fmt: skip


def _busy_chart(by_method: Records) -> Chart:
    """Chart of the fraction of machines in use over time."""
    series: list[Series] = []
    means: dict[str, float] = {}
    edges = (0, *next(iter(by_method.values()))[0]["times"])
    groups = alike({method: records[0]["busy"] for method, records in by_method.items()})
    for group in groups:
        busy = (*group.value, group.value[-1])
        series.append(Series(group.name, edges, busy, "step"))
        means |= dict.fromkeys(group.methods, float(np.average(busy[:-1], weights=np.diff(edges))))
    return Chart(
        "busy-machines", "Machines busy over time", "time", "share of the machines that are busy",
        tuple(series),
        "Share of the machines that are busy, over time, by method. Over all time: "
        f"{extremes(means, '.4g')}.",
        note="Means over stretches of time. Of each method, the first seed. "
        f"{sharing(groups)}".strip(),
    )  # fmt: skip


def _extreme(by_method: Records) -> dict[str, Sequence[Record]]:
    """The methods under which the debt to one organization is least and largest at the horizon."""
    most = {
        method: max(row[-1] for row in records[0]["debts"]) for method, records in by_method.items()
    }
    ends = (find(most, key=most.__getitem__) for find in (min, max))
    return {method: by_method[method] for method in dict.fromkeys(ends)}


def _in_units(values: Mapping[str, Sequence[float]]) -> tuple[dict[str, list[float]], str]:
    """Values in a unit that shortens large numbers, and the unit's name."""
    unit, word = _unit(value for row in values.values() for value in row)
    return {method: [value / unit for value in row] for method, row in values.items()}, word


def _unit(values: Iterable[float]) -> tuple[float, str]:
    """Power of a thousand that shortens large numbers, and the unit's name."""
    largest = max((abs(value) for value in values), default=0.0)
    power = 3 * ((len(f"{largest:.0f}") - 1) // 3) if largest >= LARGE else 0
    return (10.0**power, f"10^{power} unit-time") if power else (1.0, "unit-time")


def answer_picture(instance: Scheduling, schedule: Schedule) -> BlockChart:
    """Picture of which organization's job runs when on which machine."""
    rows: dict[int, list[Block]] = {}
    for job, owner, machine, _, start, end, *others in answer_table(instance, schedule).rows:
        places = map(int, others[0].split()) if others and others[0] else [machine]
        for place in places if start is not None else ():
            block = Block(f"machine {place}", str(job), float(start), float(end), str(owner))
            rows.setdefault(int(place), []).append(block)
    by_name = {f"machine {place}": rows[place] for place in sorted(rows)}
    return answer_rows("Whose job runs when", "time", "machine", by_name)
