"""Gavel's throughput file (OSDI 2020): steps per second of jobs alone and in pairs on GPUs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InvalidFile, InvalidOption, spelled
from .fields import Floats
from .reading import parse_json, read_text
from .tables import PathLike
from .text import shortened

Job = tuple[str, int]
"""A model, and its scale factor, the GPUs that it runs on at once."""

DEVICES = "GPUs and how many, such as v100:512,p100:512,k80:512"

_COLUMNS = (9, 10)
"""Of a line of Gavel's traces: the working directory came later."""


@dataclass(frozen=True, eq=False)
class GavelTable:
    """Gavel's throughput measurements on one kind of GPU.

    Attributes
    ----------
    jobs : in the file's order.
    alone : (J,) throughputs [steps/s].
    together : (J, J) of the row's job beside the column's; 0 where the two do not fit into memory,
        NaN where it was not measured.
    """

    jobs: tuple[Job, ...]
    alone: Floats
    together: Floats


def read_gavel(path: PathLike) -> dict[str, Any]:
    """Read the tables of a Gavel throughput file by kind of GPU, for `gavel_table`."""
    wanted = "Gavel's throughputs as JSON; a CSV matrix is read by penalty-csv or slowdown-csv"
    text = read_text(path)
    if is_trace(text):
        jobs = spelled(f"-o jobs={os.fspath(path)}", f"jobs={os.fspath(path)!r}")
        raise InvalidFile(
            f"{os.fspath(path)} is a trace of Gavel's jobs; expected its throughputs as JSON. Give "
            f"those first, and the trace beside them: {jobs}, which makes accelerators"
        )
    content = parse_json(text, path, wanted)
    tables = content.get("gpus", content)
    if not isinstance(tables, dict):
        raise InvalidFile(f"{os.fspath(path)} is not a Gavel throughput table: gpus is {tables!r}")
    return tables


def gavel_table(path: PathLike, tables: dict[str, Any], gpu: str) -> GavelTable:
    """Gavel's measurements on one kind of GPU, in either form: the project's own file, or `jobs`,
    `isolated_throughput` and `corun_throughput_of_row`.

    Raises
    ------
    InvalidFile
        There is no such GPU, or its table is of neither form.
    """
    if gpu not in tables:
        raise InvalidFile(
            f"{os.fspath(path)} has no table for the GPU {gpu!r}; it has "
            f"{', '.join(map(str, tables))}"
        )
    try:
        found = _rows(tables[gpu])
    except InvalidFile as error:
        raise InvalidFile(f"{os.fspath(path)} is not a Gavel throughput table: {error}") from None
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        raise InvalidFile(
            f"{os.fspath(path)} is not a Gavel throughput table: that of {gpu} is "
            f"{shortened(tables[gpu])}; expected {_FORM}"
        ) from None
    size, alone, shared = len(found.jobs), found.alone, found.together
    if shared.shape != (size, size) or alone.shape != (size,):
        raise InvalidFile(
            f"{os.fspath(path)}: {size} jobs, but throughputs of shapes {alone.shape} "
            f"and {shared.shape}"
        )
    return found


_FORM = (
    """{"('a', 1)": {"null": 5.0, "('b', 1)": [3.0, 2.0]}, ...}: steps a second of each model """
    "with its scale factor, alone and beside others"
)


def is_trace(text: str) -> bool:
    """Whether a text is one of Gavel's job traces: its first line is separated by tabs."""
    return text.partition("\n")[0].count("\t") >= min(_COLUMNS) - 1


def trace_jobs(text: str, path: PathLike) -> list[tuple[str, int, float, float]]:
    """Model, scale factor, priority and steps of each job of a Gavel trace; raises InvalidFile."""
    jobs = []
    for line, cells in enumerate((row.split("\t") for row in text.splitlines()), 1):
        try:
            jobs.append((cells[0], int(cells[-4]), float(cells[-3]), float(cells[-5])))
        except (ValueError, IndexError):
            cells = []
        if len(cells) not in _COLUMNS:
            raise InvalidFile(
                f"{os.fspath(path)}, line {line} is none of Gavel's traces; expected 9 or 10 cells "
                "apart by tabs, the last five steps, scale factor, priority, SLO and arrival"
            )
    return jobs


def _rows(table: dict[str, Any]) -> GavelTable:
    if "jobs" in table:
        jobs = tuple((name, 1) for name in table["jobs"])
        if not all(isinstance(name, str) for name, _ in jobs):
            raise TypeError
        alone = np.array(table["isolated_throughput"], dtype=float)
        rows = table["corun_throughput_of_row"]
        shared = [[np.nan if value is None else value for value in row] for row in rows]
    else:
        jobs = tuple(_job(key) for key in table)
        alone = np.array([float(row["null"]) for row in table.values()])
        shared = [[float(row.get(other, [np.nan])[0]) for other in table] for row in table.values()]
    return GavelTable(jobs, alone, np.array(shared, dtype=float))


_KEY = re.compile(r"""\((?:'([^'\\]*)'|"([^"\\]*)"), ?([0-9]{1,9})\)""")


def _job(text: str) -> Job:
    """Parse a job's model and scale factor, "('name', 1)"; raises InvalidFile for other texts."""
    found = _KEY.fullmatch(text)
    if found is None:
        raise InvalidFile(f"a job is called {shortened(text)}; expected ('name', 1)")
    return found[1] or found[2] or "", int(found[3])


def numbers_of_devices(text: str) -> dict[str, int]:
    """Parse the number of devices of each kind, "v100:512,p100:64"; raises InvalidOption."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition(":")
        if not name or not number.isdecimal() or len(number) > 9 or name in found:
            raise InvalidOption(f"devices is {shortened(text)}; expected {DEVICES}, each once")
        found[name] = int(number)
    return found
