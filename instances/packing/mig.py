"""MIG: what fits a GPU that is cut into slices, and services measured on slices of each profile."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated

from ..problem.csv_headers import name_of
from ..problem.documents import shortened
from ..problem.errors import InvalidFile, UnknownName
from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.reading import read_text
from ..problem.tables import CsvRow, CsvTable, PathLike, in_a_line
from .instance import Packing
from .services import Service

Load = Annotated[int, AtLeast(1, "a row of the loads")]

_COLUMNS = ("Mig instance", "Batch size", "Workload Number", "Throughput", "Latency")
_NOTHING = ("", "n/a")


@dataclass(frozen=True)
class Profile:
    """A profile of MIG: compute slices, memory slices, and the memory slices at which it starts."""

    compute: int
    memory: int
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Card:
    """A GPU that MIG cuts: its compute slices, its memory slices, and its profiles by name."""

    compute: int
    memory: int
    profiles: Mapping[str, Profile]


@cache
def cards() -> Mapping[str, Card]:
    """The GPUs that are known, from `mig.json`."""
    given = json.loads(Path(__file__).with_name("mig.json").read_text(encoding="utf-8"))
    return {
        name: Card(
            card["compute"],
            card["memory"],
            {
                profile: Profile(entry["compute"], entry["memory"], tuple(entry["starts"]))
                for profile, entry in card["profiles"].items()
            },
        )
        for name, card in given.items()
    }


def card_named(name: str) -> Card:
    """A GPU that is known; raises UnknownName with the others."""
    if name not in cards():
        raise UnknownName("card", name, cards())
    return cards()[name]


@validate_options
def layout(card: str, profiles: Sequence[str]) -> tuple[int, ...] | None:
    """Where slices of these profiles start on one GPU, in the order given; None where they do not
    fit.

    Slices do not overlap in memory, and have no more compute slices than the GPU in all.

    Parameters
    ----------
    card : such as "a100-80gb"; a wrong name lists them.
    profiles : such as ["3g.40gb", "2g.20gb"].

    Raises
    ------
    UnknownName
        There is no such GPU, or it has no such profile.

    Examples
    --------
    >>> layout("a100-80gb", ["2g.20gb", "2g.20gb", "3g.40gb"])
    (0, 2, 4)
    """
    known = card_named(card)
    for name in profiles:
        if name not in known.profiles:
            raise UnknownName(f"{card} profile", name, known.profiles)
    wanted = [known.profiles[name] for name in profiles]
    if sum(profile.compute for profile in wanted) > known.compute:
        return None
    order = sorted(range(len(wanted)), key=lambda k: -wanted[k].memory)
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while stack:
        used, starts = stack.pop()
        if len(starts) == len(order):
            return tuple(start for _, start in sorted(zip(order, starts, strict=True)))
        profile = wanted[order[len(starts)]]
        for start in reversed(profile.starts):
            slices = (2**profile.memory - 1) << start
            if not used & slices:
                stack.append((used | slices, (*starts, start)))
    return None


@validate_options
def mig(
    path: PathLike,
    *,
    load: Load = 1,
    card: str = "a100-80gb",
    processes: Annotated[int, AtLeast(1)] = 3,
    share: Annotated[float, Above(0, most=1)] = 0.45,
) -> Packing:
    """Services measured on MIG slices, as ParvaGPU (SC 2024) publishes them: a folder with a table
    NAME.csv for each service, and the rows of the loads in SLO_req_rate and SLO_latency.

    A table has the columns Mig instance (compute slices, or a profile's name), Batch size, Workload
    Number (processes), Throughput (of one process, requests a second) and Latency (seconds). A load
    is a line of each of the two files: a rate (requests a second) and a latency (milliseconds) for
    each service, in the order of their names; N/A for a service that is not run. A service may
    take slices of any profile, each with the batch and the processes that give most there within
    the latency.

    Servers are GPUs with two resources, compute and memory slices: which profiles fit one at all
    is a matter of these two numbers on every GPU of `mig.json`, whatever their starts (`layout`
    has these).

    Parameters
    ----------
    path : the folder; as in the repository of ParvaGPU the tables may be in `prof_data`, the loads
        in `SLO`.
    load : which line of the loads, from 1.
    card : the GPU; a wrong name lists them.
    processes : at most so many in one slice.
    share : part of the latency asked for that a batch may take; the rest is for waiting. ParvaGPU
        takes half of it, and of that nine tenths.

    Raises
    ------
    UnknownName
        There is no such card.
    InvalidFile
        A table that cannot be read, with its line; a profile that the card does not have; no such
        load, a latency that is missing, or one that no profile keeps.
    """
    gpu, folder = card_named(card), Path(path)
    tables = sorted(
        (folder / "prof_data" if (folder / "prof_data").is_dir() else folder).glob("*.csv")
    )
    tables = [table for table in tables if not table.name.startswith("SLO_")]
    if not tables:
        raise InvalidFile(
            f"{path} holds no table of a service; expected a folder with NAME.csv for each, of the "
            f"columns {', '.join(_COLUMNS)}"
        )
    asked = {
        what: _load(folder, f"SLO_{what}", load, [table.stem for table in tables])
        for what in ("req_rate", "latency")
    }
    names, demand, services = (
        list[str](),
        list[list[int]](),
        list[tuple[str, Fraction, list[Fraction]]](),
    )
    for table in tables:
        rate, latency = (asked[what][table.stem] for what in ("req_rate", "latency"))
        if rate is None:
            continue
        if latency is None:
            raise InvalidFile(
                f"SLO_latency of {path}, load {load}: no latency for {table.stem}, which is asked for "
                f"{float(rate):g} requests a second; expected milliseconds. Give it, or write N/A as its rate"
            )
        most = latency * Fraction(str(share))
        best = dict[str, tuple[Fraction, str]]()
        quickest = None
        for row, profile, time, gives, text in _measured(table, card, gpu, processes):
            quickest = time if quickest is None else min(time, quickest)
            if time < most and gives > best.get(profile, (Fraction(0), ""))[0]:
                best[profile] = gives, text
        if not best:
            raise InvalidFile(
                f"SLO_latency of {path}, load {load}: {table.stem} within {float(latency):g} ms; its "
                f"quickest profile takes {float(quickest or 0):g} ms, and a batch may take "
                f"{share:g} of the latency. Raise the latency, or -o share"
            )
        for profile, (_, text) in best.items():
            names.append(f"{table.stem} {profile} {text}")
            demand.append([gpu.profiles[profile].compute, gpu.profiles[profile].memory])
        services.append((table.stem, rate, [gives for gives, _ in best.values()]))
    if not services:
        raise InvalidFile(
            f"SLO_req_rate of {path}, load {load}: no service has a rate; expected one"
        )
    unit = math.lcm(
        *(number.denominator for _, rate, given in services for number in [rate, *given])
    )
    first, found = 0, []
    for name, rate, given in services:
        types = tuple(range(first, first := first + len(given)))
        found.append(Service(types, tuple(int(g * unit) for g in given), int(rate * unit), name))
    return Packing(
        capacity=[[gpu.compute, gpu.memory]],  # type: ignore[arg-type]
        demand=demand,  # type: ignore[arg-type]
        resources=("compute slices", "memory slices"),
        names=tuple(names),
        class_names=(card,),
        services=tuple(found),
        name=f"{name_of(path)}-load-{load}",
        source=f"load {load} of {Path(path).name} on {card}, rates in 1/{unit} requests a second; a "
        f"batch takes less than {share:g} of the latency, a slice has {processes} processes at most",
    )


def _measured(
    table: Path, card: str, gpu: Card, processes: int
) -> Iterator[tuple[CsvRow, str, Fraction, Fraction, str]]:
    """The rows of a service's table that are measured: profile, latency [ms], rate and how."""
    by_size = {str(profile.compute): name for name, profile in reversed(gpu.profiles.items())}
    for row in CsvTable(table, *_COLUMNS):
        size = row["Mig instance"]
        profile = size if size in gpu.profiles else by_size.get(size)
        if profile is None:
            known = in_a_line([*by_size, *gpu.profiles])
            raise row.wrong(
                "Mig instance", f"a profile of {card}: {known}", "Name another card: -o card"
            )
        number = row.whole("Workload Number")
        if number > processes or any(row[name].lower() in _NOTHING for name in _COLUMNS[3:]):
            continue
        gives, time = row.fraction("Throughput") * number, row.fraction("Latency") * 1000
        yield row, profile, time, gives, f"batch {row['Batch size']} x{number}"


def _load(folder: Path, name: str, load: int, services: list[str]) -> dict[str, Fraction | None]:
    """A line of the loads, by service; None for N/A."""
    places = [folder / part / f"{name}{end}" for part in ("", "SLO") for end in (".csv", ".txt")]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise InvalidFile(
            f"{folder} has no {name}.csv; expected a line for each load, a number for each service"
        )
    lines = read_text(file).split()
    if load > len(lines):
        raise InvalidFile(f"{file} has {len(lines)} loads; load is {load}")
    words = lines[load - 1].split(",")
    if len(words) != len(services):
        raise InvalidFile(
            f"{file}, line {load}: {len(words)} values; expected one for each of {len(services)} services, "
            f"in the order of their names: {in_a_line(services)}"
        )
    found: dict[str, Fraction | None] = {}
    for service, word in zip(services, words, strict=True):
        try:
            value = None if word.strip().lower() in _NOTHING else Fraction(word)
        except (ValueError, ZeroDivisionError):
            value = Fraction(0)
        if value is not None and value <= 0:
            raise InvalidFile(
                f"{file}, line {load}: {shortened(word)} for {service}; expected a number above 0, or N/A"
            )
        found[service] = value
    return found
