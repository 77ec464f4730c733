"""Answers over time: a file to which every answer adds a line, its table and page, and the last
answer as metrics.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pydantic

from ..analysis.report.content import PageFigure
from ..analysis.report.picture import Chart, Series
from ..analysis.report.table import Column, Table
from ..analysis.run.lock import locked
from ..instances.problem.documents import in_words, wrong_field
from ..instances.problem.errors import InvalidFile
from ..instances.problem.files import write_text
from ..instances.problem.option_types import validate_options
from ..instances.problem.reading import read_text, require_few
from .answer_page import AnswerPage, PagePart
from .completeness import first_of
from .plan import Advice
from .state import Role

_COUNT = Annotated[int, pydantic.Field(ge=0)]
_BOUND = _COUNT | None
_MONEY = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)] | None

FIELDS: dict[str, tuple[Any, str, str]] = {
    "date": (pydantic.AwareDatetime, "", "when the answer was given"),
    "in_use": (_COUNT, "nodes_in_use", "nodes that hold more than their own pods"),
    "enough": (_COUNT, "nodes_enough", "nodes in use after the best plan"),
    "needed": (_BOUND, "nodes_needed", "no plan needs fewer nodes, proved of the state's pods"),
    "waiting": (_COUNT, "pods_waiting", "pending pods that have no node in the plan either"),
    "warnings": (list[str], "warnings", "codes of signs that the state is not the whole cluster"),
    "cost": (_MONEY, "cost", "what nodes cost after the plan, in the unit of the prices"),
    "cost_bound": (_MONEY, "cost_bound", "no plan costs less, proved of the state's pods"),
    "cost_now": (_MONEY, "cost_now", "what nodes cost now"),
    "state": (str, "", "what the state is called"),
    "idle": (_COUNT, "nodes_idle", "nodes that hold nothing but their own pods"),
    "pending": (_COUNT, "pods_pending", "pods that have no node now"),
    "not_ordered": (_COUNT, "pods_not_ordered", "pods for whose move no order was found"),
    "cut_short": (bool, "cut_short", "whether the time limit or an interrupt ended the search"),
    "pods_count_as": (str, "", "requests, or what pods count as in their place"),
}
"""The type of every field of an entry, its metric's name after `cotenant_`, and its meaning; a
narrow terminal leaves out the last ones. Costs are there where nodes have prices, `needed` where
a bound on the nodes is known.
"""

PATIENCE = 5.0
"""Seconds for which an entry waits while another process adds to the series."""

_BEGINS = '{"cotenant-series":1,'
_Entry = pydantic.create_model(  # type: ignore[call-overload]
    "_Entry",
    __config__=pydantic.ConfigDict(strict=True),
    **{"cotenant-series": (Literal[1], ...)},
    **{
        name: (kind, None if kind in (_BOUND, _MONEY) else ...)
        for name, (kind, _, _) in FIELDS.items()
    },
)


def entry_of(advice: Advice, name: str | None = None) -> dict[str, Any]:
    """The numbers of an answer that is given now, by the names of `FIELDS`; `name` is what the
    state is called in place of its file's name.
    """
    state, plan = advice.state, advice.document()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        # a file's name may be no text, and then has no place in a file
        "state": (name or state.name).encode(errors="backslashreplace").decode(),
        "in_use": len(advice.in_use),
        "enough": advice.nodes_found,
        **({"needed": advice.nodes_lower_bound} if advice.nodes_lower_bound else {}),
        "idle": len(advice.idle),
        "pending": sum(pod.role is Role.PENDING for pod in state.pods),
        "waiting": len(advice.waiting),
        "not_ordered": len(advice.order.stuck),
        "cut_short": bool(advice.cut),
        "warnings": list(dict.fromkeys(each.code for each in state.warnings)),
        **{
            each: plan[each]
            for each in FIELDS
            if each.startswith(("cost", "pods_"))
            if each in plan
        },
    }


@validate_options
def read_series(path: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], str]:
    """The entries of a series in the order of its lines, and these lines as text: without a last
    one that is cut off.

    Raises
    ------
    InvalidFile
        It cannot be read, or a line is none of a series.
    """
    text = read_text(path)
    require_few(text, "\n", "lines", os.fspath(path))
    *lines, last = text.split("\n")
    # only what looks like the beginning of one of our lines is taken for one cut off
    begins = last.startswith(_BEGINS) or (_BEGINS.startswith(last) and (lines or not last))
    if last.endswith("}") or not begins:
        lines.append(last)
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = _Entry.model_validate_json(line).model_dump(mode="json", exclude_none=True)
        except pydantic.ValidationError as error:
            place, seen, expected = wrong_field(error)
            if place == ["date"]:
                expected = "a time with its zone"
            what = f"{in_words(place)} is {seen}; expected {expected}" if place else "it is no JSON"
            raise InvalidFile(
                f"{os.fspath(path)}, line {number} is not of a series: {what}. Choose a new file, "
                "or one that `cotenant advise nodes STATE --series FILE` wrote"
            ) from None
        entries.append({name: entry[name] for name in FIELDS if name in entry})
    return entries, "".join(f"{line}\n" for line in lines)


def append_entry(
    path: str | os.PathLike[str], entry: dict[str, Any], patience: float = PATIENCE
) -> None:
    """Add an entry to a series: whole or not at all, after whole lines.

    Parameters
    ----------
    patience : seconds in which another process that adds to it may end.

    Raises
    ------
    InvalidFile
        The file holds something else, cannot be written, or another process adds to it still.
    """
    end = time.monotonic() + patience
    with ExitStack() as lock:
        while True:
            try:
                lock.enter_context(locked(path, "--series"))
                break
            except InvalidFile:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.2)
        whole = read_series(path)[1] if os.path.exists(path) else ""
        write_text(path, f"{whole}{line_of(entry)}\n")


def line_of(entry: dict[str, Any]) -> str:
    """An entry as the line of a series."""
    return f"{_BEGINS}{json.dumps(entry, separators=(',', ':'))[1:]}"


def prometheus_text(entry: dict[str, Any]) -> str:
    """An entry as gauges in Prometheus' text format (version 0.0.4), for a textfile collector."""
    state = f'state="{_escaped(entry["state"])}"'
    seconds = datetime.fromisoformat(entry["date"]).timestamp()
    metrics: dict[str, tuple[str, dict[str, float]]] = {
        "timestamp_seconds": (FIELDS["date"][2], {state: seconds})
    }
    for field, value in entry.items():
        _, metric, meaning = FIELDS[field]
        if metric:
            metrics[metric] = meaning, {state: len(value) if metric == "warnings" else value + 0}
    if codes := {f'{state},code="{_escaped(code)}"': 1.0 for code in entry["warnings"]}:
        metrics["warning"] = "1 for every code of warnings", codes
    return "".join(
        f"# HELP cotenant_{name} {meaning}\n# TYPE cotenant_{name} gauge\n"
        + "".join(f"cotenant_{name}{{{labels}}} {value}\n" for labels, value in samples.items())
        for name, (meaning, samples) in metrics.items()
    )


def _escaped(text: str) -> str:
    """The value of a label as the format holds it."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def series_table(entries: Sequence[dict[str, Any]]) -> Table:
    """The entries of a series, in its order."""
    shown = [entry | {"warnings": " ".join(entry["warnings"])} for entry in entries]
    names = [name for name in FIELDS if any(name in entry for entry in entries)]
    columns = tuple(
        Column(
            name.replace("_", " "), _words, numeric=FIELDS[name][1] not in ("", "warnings"),
            key=name, rank=max(0, place - 5),
        )
        for place, name in enumerate(names)
    )  # fmt: skip
    rows = tuple(tuple(entry.get(name) for name in names) for entry in shown)
    notes = (
        f"the answers are not about one thing: {name.replace('_', ' ')} is {first_of(values)}"
        for name in ("state", "pods_count_as")
        if len(values := list(dict.fromkeys(entry[name] for entry in entries))) > 1
    )
    return Table("series", "", columns, rows, notes=tuple(notes))


def _words(value: Any) -> str:
    return "-" if value is None else f"{value:,.10g}" if isinstance(value, float) else str(value)


def series_page(entries: Sequence[dict[str, Any]]) -> AnswerPage:
    """The page of a series: its last entry, nodes and costs over time, and all entries."""
    last = entries[-1]
    decision = f"{last['date']}: {last['in_use']} nodes are in use, {last['enough']} are enough."
    for name, words in (("needed", "needs fewer nodes"), ("cost_bound", "costs less")):
        if name in last:
            decision += f" No plan for the pods in the state {words} than {_words(last[name])}."
    warnings = [f"the last answer has a warning: {code}" for code in last["warnings"]]
    if last["not_ordered"]:
        warnings.append(f"no order of moves was found for {last['not_ordered']} pods that move")
    table = series_table(entries)
    charts = [
        _chart(entries, "nodes", ("in_use", "enough", "needed")),
        _chart(entries, "cost", ("cost_now", "cost", "cost_bound")),
    ]
    pictures = tuple(PageFigure(chart, None, "") for chart in charts if chart.series)
    return AnswerPage(
        "Nodes over time", "Answers of advise nodes, one after the other.", (decision,),
        warnings=tuple((words, "") for words in (*warnings, *table.notes)),
        parts=(
            PagePart("In use, enough, proved", pictures=pictures),
            PagePart("All answers", tables=(table,)),
        ),
    )  # fmt: skip


def _chart(entries: Sequence[dict[str, Any]], what: str, names: tuple[str, str, str]) -> Chart:
    """Some fields of entries over time, the last one proved."""
    dates = [datetime.fromisoformat(entry["date"]) for entry in entries]
    days = tuple((date - dates[0]).total_seconds() / 86400 for date in dates)
    tips = tuple(entry["date"] for entry in entries)
    series = tuple(
        Series(
            f"{name.replace('_', ' ')}{' (proved)' * (name == names[-1])}", days,
            tuple(entry.get(name) for entry in entries), "step+points", tips=tips,
            strong=name == names[-1],
        )
        for name in names
        if any(name in entry for entry in entries)
    )  # fmt: skip
    title, first = f"{what.capitalize()} over time", f"{dates[0]:%Y-%m-%d %H:%M}"
    alt = f"{', '.join(each.name for each in series)}, answer by answer."
    return Chart(f"{what}-over-time", title, f"days since {first}", what, series, alt)
