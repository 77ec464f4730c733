"""The reader of plain tables: virtual machines and hosts, as name, amounts and count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption, spelled
from ..problem.fields import MOST_DECIMALS, decimals
from ..problem.option_types import AtLeast, validate_options
from ..problem.tables import AMOUNT, CsvRow, CsvTable, PathLike, name_of, tables_of
from .instance import Packing

_ELASTIC = {"inf": np.inf}
_NONE = {"": 0.0}
_UNLIMITED = {"inf": np.inf, "": np.inf}
_CARDS = ("cards", "card_model", "card_demand", "card_share", "card_models")
_RULES = ("zone", "allowed", "most_per_server", "apart", "skew", "server", *_CARDS)
_NOT_RESOURCES = ("name", "count", "cost", *_RULES)


@validate_options
def vms_csv(path: PathLike, *, hosts: str | None = None) -> Packing:
    """Read VMs from CSV as `name,cpu,mem[,count]`, and hosts as the same, perhaps with `cost`.

    Hosts may also have their `zone`; VMs `most_per_server`, `skew`, `allowed` and `apart` (names of
    hosts on which they may run, and of VMs with which they share no host, separated by
    semicolons), and `server`, the hosts that they run on now, one name for each VM (of the third
    host of a row with a count: `name/3`). A blank cell says nothing.

    Hosts may have `cards` and their `card_model`, VMs whole cards (`card_demand`) or a part of one
    (`card_share`, in thousandths), and the `card_models` that they may run on.

    Every other column but name, count and cost is a resource, and both tables have the same ones.
    Without a column `count` each row is one; "inf" stands for as many VMs as fit, or as many hosts
    as needed. Amounts with decimals are counted in tenths, hundredths, ..., which the resource's
    name then says: amounts of instances are whole.

    Parameters
    ----------
    path : the table of VMs, or a folder that holds `vms.csv` and `hosts.csv`.
    hosts : path of the table of hosts.

    Raises
    ------
    InvalidOption
        No table of hosts.
    InvalidFile
        A table that cannot be read, with its line; resources that differ.
    """
    main, others = tables_of(path, "vms.csv", hosts=hosts)
    vms = _table(main)
    if "hosts" not in others:
        raise InvalidOption(
            f"{main} has VMs only; expected hosts as well: write {spelled('-o hosts=PATH')} of a "
            "table name,cpu,mem[,count]"
        )
    servers = _table(others["hosts"])
    if odd := sorted(set(vms.resources) ^ set(servers.resources)):
        raise InvalidFile(
            f"{main} and {others['hosts']} do not have the same resources: {', '.join(odd)} "
            f"{'is' if len(odd) == 1 else 'are'} in only one of them"
        )
    remarks = [f"VMs of {main.name} on hosts of {others['hosts'].name}", vms.written]
    if not servers.counted:
        remarks.append(
            f"one host of each of {len(servers.names)} rows (a column count says how many; inf as "
            "many as needed)"
        )
    return Packing(
        capacity=servers.amounts(vms.resources),  # type: ignore[arg-type]
        demand=vms.amounts(vms.resources),  # type: ignore[arg-type]
        request=vms.count,  # type: ignore[arg-type]
        servers=servers.count,  # type: ignore[arg-type]
        cost=servers.cost,  # type: ignore[arg-type]
        resources=tuple(vms.resources),
        names=vms.names,
        class_names=servers.names,
        name=name_of(path),
        **_rules(vms, servers),
        source="; ".join(filter(None, remarks)),
    )


def _rules(vms: _Things, hosts: _Things) -> dict[str, Any]:
    """Fields for placement rules and the current placement, from tables of VMs and hosts."""
    fields: dict[str, Any] = {}  # 1. Zones, maxima and allowed hosts.
    if any(row["zone"] for row in hosts.rows):
        fields["zone"] = tuple(row["zone"] for row in hosts.rows)
    for column in ("most_per_server", "skew"):
        if any(row[column] for row in vms.rows):
            fields[column] = [_whole(row, column, _UNLIMITED) for row in vms.rows]
    places = {name: index for index, name in enumerate(hosts.names)}
    allowed = [[_place(row, "allowed", n, places) for n in _list(row, "allowed")]
               for row in vms.rows]  # fmt: skip
    if any(allowed):
        fields["allowed"] = np.array(
            [[not row or c in row for c in range(len(places))] for row in allowed]
        )
    fields |= _cards(vms, hosts, fields.get("allowed"))
    types = {name: index for index, name in enumerate(vms.names)}  # 2. Pairs of VMs that are apart.
    apart = {
        tuple(sorted((i, _place(row, "apart", name, types))))
        for i, row in enumerate(vms.rows)
        for name in _list(row, "apart")
    }
    if apart:
        fields["apart"] = np.array(sorted(apart))
    if np.isfinite(hosts.count).all():  # 3. Where VMs run now.
        names = [
            name if number == 1 else f"{name}/{each}"
            for name, number in zip(hosts.names, map(int, hosts.count), strict=True)
            for each in range(1, number + 1)
        ]
        servers = {name: index for index, name in enumerate(names)}
        placed = Counter(
            (_place(row, "server", name, servers), i)
            for i, row in enumerate(vms.rows)
            for name in _list(row, "server")
        )
        if placed:
            fields["placed"] = [(m, i, number) for (m, i), number in sorted(placed.items())]
            fields["server_names"] = tuple(names)
    elif any(row["server"] for row in vms.rows):
        raise InvalidFile(
            f"{vms.path} says on which server VMs run, and {hosts.path} has as many hosts as "
            "needed; expected a number of each"
        )
    return fields


def _cards(vms: _Things, hosts: _Things, allowed: Any) -> dict[str, Any]:
    """Fields for cards, and the card models that VMs may run on, from tables of VMs and hosts."""
    if not any(row[column] for row in (*hosts.rows, *vms.rows) for column in _CARDS):
        return {}
    fields: dict[str, Any] = {"cards": [_whole(row, "cards", _NONE) for row in hosts.rows]}
    for column in ("card_demand", "card_share"):
        fields[column] = [_whole(row, column, _NONE) for row in vms.rows]
    models = fields["card_model"] = tuple(row["card_model"] for row in hosts.rows)
    named = [[_place(row, "card_models", model, dict.fromkeys(models, 0)) or model
              for model in _list(row, "card_models")] for row in vms.rows]  # fmt: skip
    if any(named):
        able = np.array([[not row or model in row for model in models] for row in named])
        fields["allowed"] = able if allowed is None else able & allowed
    return fields


def _list(row: CsvRow, column: str) -> list[str]:
    return [name.strip() for name in row[column].split(";") if name.strip()]


def _place(row: CsvRow, column: str, name: str, places: dict[str, int]) -> int:
    if name not in places:
        kinds_of_cells = {"apart": "a VM", "card_models": "a card_model"}
        what = kinds_of_cells.get(column, "a host")
        raise row.wrong(column, f"names of {what} of the tables, separated by ;", text=name)
    return places[name]


class _Things:
    """Rows of a CSV table of VMs or of hosts, with their names and resources."""

    def __init__(self, table: CsvTable) -> None:
        by_name = table.by_name("name", ". Write its number as count")
        rows = self.rows = list(by_name.values())
        self.path, self.names = table.path, tuple(by_name)
        if price := {"price", "price_per_hour", "hourly_price"} & set(table.columns):
            raise InvalidFile(
                f"{table.path}, line 1: column {min(price)!r} is no resource; name it cost, "
                "a whole number for each host"
            )
        self.resources = [name for name in table.columns if name not in _NOT_RESOURCES]
        self.counted = "count" in table.places
        self.count = (
            [_whole(row, "count", _ELASTIC) for row in rows] if self.counted else [1.0] * len(rows)
        )
        self.cost = [row.whole("cost") for row in rows] if "cost" in table.places else None
        self.written = table.written

    def amounts(self, resources: list[str]) -> list[list[float]]:
        """Amounts of the given resources in each row of a table of VMs or hosts."""
        return [[_amount(row, name) for name in resources] for row in self.rows]


def _table(path: Path) -> _Things:
    table = CsvTable(path, "name", lower=True)
    if not set(table.columns) - set(_NOT_RESOURCES):
        raise InvalidFile(
            f"{table.path}, line 1: the columns are {', '.join(table.columns)}; expected name, "
            "resources such as cpu and mem, and perhaps count"
        )
    return _Things(table)


def _amount(row: CsvRow, column: str) -> float:
    value = row.number(column, AMOUNT)
    if decimals(value) > MOST_DECIMALS:
        raise row.wrong(column, f"at most {MOST_DECIMALS} decimals", "Choose a smaller unit")
    return value


def _whole(row: CsvRow, column: str, blank: dict[str, float]) -> float:
    cure = "Write inf for as many as there can be" if column == "count" else ""
    value = row.number(column, AtLeast(0), blank, cure)
    if value % 1 and value != np.inf:
        raise row.wrong(column, "a whole number, 0 or more, or inf for as many as there can be")
    return value
