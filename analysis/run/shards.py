"""Independent parts of a comparison: tasks of a Slurm array, pods of an indexed Kubernetes job,
steps of a workflow. Each writes a file of its own; `merge` joins them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from ...instances.problem.errors import InvalidFile, InvalidOption
from ...solvers.outcome import Stop
from .cell import Cell
from .documents import require_good
from .own_functions import UNKNOWN
from .rows import Row, read_rows


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a comparison, numbered from 1; raises InvalidOption otherwise."""

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InvalidOption(
                f"shard is {self.number}/{self.count}; expected I from 1 to N, such as 3/40"
            )

    @classmethod
    def parse(cls, text: str, environment: Mapping[str, str] = os.environ) -> Self:
        """Shard named by "3/40"; with "auto", or "auto/40", the task of a Slurm array or the pod of
        an indexed Kubernetes job that runs this process.

        Slurm says how many tasks the array has and which numbers; they must be 0 to N-1 or 1 to N.
        Kubernetes counts completions from 0, and does not say how many there are. A part of an
        array that is submitted again has other counts, and is refused: there, only N/COUNT tells.

        Raises
        ------
        InvalidOption
            It is neither, or the environment does not say which shard this is.
        """
        first, _, last = text.partition("/")
        count = int(last) if last.isascii() and last.isdigit() else None
        if first.isascii() and first.isdigit() and count is not None:
            return cls(int(first), count)
        if first != "auto" or (last and not count):
            raise InvalidOption(f"shard is {text!r}; expected I/N, such as 3/40, or auto or auto/N")
        names = [f"SLURM_ARRAY_TASK_{name}" for name in ("ID", "COUNT", "MIN", "MAX")]
        texts = [environment.get(name, "") for name in (*names, "JOB_COMPLETION_INDEX")]
        task, tasks, least, most, index = [int(text) if text.isdigit() else None for text in texts]
        if task is not None:
            numbered = least in (0, 1) and tasks is not None and most == tasks - 1 + least
            if tasks is None or not numbered or count not in (None, tasks):
                raise InvalidOption(
                    f"shard is {text!r}, and the Slurm array has {tasks} tasks from {least} to "
                    f"{most}; expected all tasks from 0 to N-1 or from 1 to N; else give I/N"
                )
            return cls(task - (least or 0) + 1, tasks)
        if index is not None and count is not None and index < count:
            return cls(index + 1, count)
        raise InvalidOption(
            f"shard is {text!r}, and this is no task of a Slurm array (SLURM_ARRAY_TASK_ID), nor, "
            "with auto/N, a pod of an indexed job (JOB_COMPLETION_INDEX); give I/N"
        )

    def file(self, out: str | os.PathLike[str]) -> Path:
        """The file of this shard: runs-3-of-40.jsonl for runs.jsonl."""
        path = Path(out)
        return path.with_name(f"{path.stem}-{self.number}-of-{self.count}{path.suffix}")

    def indices(self, cells: int) -> list[int]:
        """Indices of this shard among `cells` cells."""
        return sorted(_drawn(cells)[self.number - 1 :: self.count])

    def document(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """Fields about the shard that its rows have: number of cells of all shards, and their
        digest.

        Raises
        ------
        InvalidOption
            A cell has a function of which no file shows what it does: it has no name by which
            another process can know that its own is the same.
        """
        if any(cell.code.startswith(UNKNOWN) for cell in cells):
            raise InvalidOption(
                "shard needs functions that every process knows to be the same; put yours into the "
                "file of a module, without lambdas, and do not edit it meanwhile"
            )
        digest = _digest(cell.key for cell in cells)
        return {"number": self.number, "count": self.count, "cells": len(cells), "of": digest}


def merge(files: Sequence[str | os.PathLike[str]]) -> list[Row]:
    """Merge the files of all shards of a comparison into its rows, each cell once and without the
    field `shard`, as `compare` would have written them.

    Raises
    ------
    InvalidFile
        A file is not of a shard, or of another comparison than the first (other instances, methods,
        seeds or settings), or was made by other versions; or a shard is missing, or has not
        finished.
    """
    kept: dict[int, Row] = {}
    first: tuple[str, Row] | None = None
    for file in files:
        rows: list[Row] = read_rows(file)
        require_good(rows, os.fspath(file))
        for row in rows:
            first = first or (os.fspath(file), row)
            _require_like(row, os.fspath(file), *first)
            # a run that failed or was interrupted is begun again by the same shard
            cell, done = row["shard"]["cell"], row.get("stop") != Stop.INTERRUPTED.value
            if done and (cell not in kept or kept[cell].get("error")):
                kept[cell] = row
    if first is None:
        raise InvalidFile("the files hold no runs; expected those of compare's shards")
    name, like = first[0], first[1]["shard"]
    order = enumerate(_drawn(like["cells"]))
    lacking = Counter(turn % like["count"] + 1 for turn, cell in order if cell not in kept)
    if lacking:
        missing = ", ".join(f"{number} ({lacking[number]})" for number in sorted(lacking))
        raise InvalidFile(
            f"of {like['count']} shards these lack runs (how many): {missing}; run them again with "
            "the same command, or give their files too"
        )
    if _digest(kept[cell]["key"] for cell in sorted(kept)) != like["of"]:
        raise InvalidFile(f"the rows are not those that {name} counts; run the shards again")
    for row in kept.values():
        del row["shard"]
    return [kept[cell] for cell in sorted(kept)]


def _drawn(cells: int) -> list[int]:
    """Indices of all cells in a random order, the same everywhere, of which each shard takes every
    COUNT-th, so that no method or instance is all in one shard.
    """
    return sorted(range(cells), key=lambda index: sha256(b"%d" % index).digest())


def _digest(keys: Iterable[str]) -> str:
    return sha256("\n".join(keys).encode()).hexdigest()[:16]


def _require_like(row: Row, file: str, first: str, like: Row) -> None:
    """Require that a row is of a shard of the same comparison as the first row."""
    if "shard" not in row:
        raise InvalidFile(f"{file} holds a run of no shard; expected those of compare's shards")
    here, there = row.get("versions", {}), like.get("versions", {})
    for name in {**there, **here}:
        if here.get(name) != there.get(name):
            raise InvalidFile(
                f"{file} was made with {name} {here.get(name)}, and {first} with "
                f"{there.get(name)}; run the shards of one of them again with the other's version"
            )
    same = [
        {name: value for name, value in each["shard"].items() if name not in ("number", "cell")}
        for each in (row, like)
    ]
    if same[0] != same[1]:
        raise InvalidFile(
            f"{file} and {first} are of two comparisons (other instances, methods, seeds, settings "
            "or number of shards); delete those of one, or merge them apart"
        )
