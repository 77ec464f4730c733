"""Writing a market in parts, and an answer: see `parts`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.files import write_text
from ..problem.option_types import AtLeast, validate_options
from .instance import Floats, Integers, Market
from .parts import (
    HEADER,
    ROWS,
    SCHEMA,
    Header,
    Part,
    capacity_digest,
    require_pyarrow,
    schema_of,
)


@validate_options
def write_parts(
    market: Market,
    folder: str | os.PathLike[str],
    parts: int,
    *,
    rows: Annotated[int, AtLeast(1)] = ROWS,
) -> Header:
    """Write a market into a folder that is new or empty, in parts of about as many jobs.

    Parameters
    ----------
    parts : how many, at most as many as there are users.
    rows : jobs of a group of Parquet rows, about: readers take the groups one after the other.

    Raises
    ------
    InvalidOption
        More parts than users; pyarrow is missing.
    InvalidFile
        The folder holds something, or cannot be written. The header comes last: a folder without
        one is no market.
    """
    pa = require_pyarrow()
    if not 1 <= parts <= market.users:
        raise InvalidOption(
            f"parts is {parts}; expected 1 to {market.users}, the number of users: a part holds "
            "whole users"
        )
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
        if any(where.iterdir()):
            raise InvalidFile(f"{where} is not empty; give a new folder for the parts")
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        if isinstance(error, InvalidFile):
            raise
        why = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{str(where)!r} cannot be a folder of parts: {why}") from None
    counts = np.bincount(market.user, minlength=market.users)
    sorted_already = not (market.user[1:] < market.user[:-1]).any()
    order = None if sorted_already else np.argsort(market.user, kind="stable")
    until = np.concatenate([[0], np.cumsum(counts)])
    digest = capacity_digest(market.capacity)
    made: list[Part] = []
    ranges = _even_ranges(until, parts)
    if any(until[first] == until[last] for first, last in ranges):
        raise InvalidOption(
            f"parts is {parts}; with so many, some part holds only users without a job; give fewer"
        )
    for number, (first, last) in enumerate(ranges):
        file = f"part-{number:05d}.parquet"
        groups = _row_groups(until, first, last, rows)
        schema = schema_of(pa, bool(market.names), not sorted_already, digest)
        target = where / file
        try:
            with pa.parquet.ParquetWriter(
                target, schema, compression="zstd", use_dictionary=["work", "budget"]
            ) as writer:
                for start, end in groups:
                    writer.write_table(_table(pa, schema, market, order, until, start, end))
        except OSError as error:
            raise InvalidFile(f"{target} cannot be written: {error}; make room") from None
        size = target.stat().st_size
        made.append(Part(file, size, first, last - first, int(until[last] - until[first])))
    header = Header(
        where,
        market.capacity,
        float(market.budget.sum()),
        market.users,
        market.jobs,
        tuple(made),
        market.name,
        market.source,
        market.server_names,
    )
    content = {
        "cotenant_parts": SCHEMA,
        "problem": "market",
        "name": header.name,
        "source": header.source,
        "capacity": header.capacity.tolist(),
        "budget": header.budget,
        "users": header.users,
        "jobs": header.jobs,
        "parts": [asdict(part) for part in made],
    } | ({"server_names": list(header.server_names)} if header.server_names else {})
    write_text(where / HEADER, json.dumps(content, allow_nan=False) + "\n")
    return header


def write_answer(
    header: Header, part: Part, folder: Path, cores: Sequence[Floats], users: Sequence[Integers]
) -> str:
    """Write a part's answer: a row for each user, `user` and the list `cores`; returns its file.

    Parameters
    ----------
    cores, users : of each block, the cores of its jobs, and how many jobs each user has.
    """
    pa = require_pyarrow()
    schema = pa.schema([("user", pa.int64()), ("cores", pa.list_(pa.float64()))])
    first = part.first
    target = folder / part.file
    try:
        with pa.parquet.ParquetWriter(target, schema, compression="zstd") as writer:
            for given, counts in zip(cores, users, strict=True):
                offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
                lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(given))
                numbers = pa.array(np.arange(first, first + len(counts)))
                writer.write_table(pa.Table.from_arrays([numbers, lists], schema=schema))
                first += len(counts)
    except OSError as error:
        raise InvalidFile(f"{target} cannot be written: {error}; make room") from None
    return part.file


def _even_ranges(until: Integers, parts: int) -> list[tuple[int, int]]:
    """Ranges of users with about as many jobs each, none empty."""
    users = len(until) - 1
    cuts = [0]
    for number in range(1, parts):
        cut = int(np.searchsorted(until, until[-1] * number / parts))
        cuts.append(min(max(cut, cuts[-1] + 1), users - parts + number))
    return list(zip(cuts, [*cuts[1:], users], strict=True))


def _row_groups(until: Integers, first: int, last: int, rows: int) -> list[tuple[int, int]]:
    found = []
    while first < last:
        end = int(np.searchsorted(until, until[first] + rows))
        end = min(max(end, first + 1), last)
        found.append((first, end))
        first = end
    return found


def _table(
    pa: Any,
    schema: Any,
    market: Market,
    order: Integers | None,
    until: Integers,
    first: int,
    last: int,
) -> Any:
    """The rows of the users [first, last)."""
    start, end = int(until[first]), int(until[last])
    place = slice(start, end) if order is None else order[start:end]
    offsets = pa.array((until[first : last + 1] - start).astype(np.int32))

    def lists(values: Any, kind: Any) -> Any:
        return pa.ListArray.from_arrays(offsets, pa.array(values, type=kind))

    columns = [
        pa.array(np.arange(first, last)),
        pa.array(market.budget[first:last]),
        lists(market.server[place].astype(np.int32), pa.int32()),
        lists(market.parallel_fraction[place], pa.float64()),
        lists(market.work[place], pa.float64()),
    ]
    if order is not None:
        columns.append(lists(order[start:end], pa.int64()))
    if market.names:
        columns.append(pa.array(market.names[first:last]))
    return pa.Table.from_arrays(columns, schema=schema)
