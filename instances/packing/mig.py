"""MIG: what fits a GPU that is cut into slices, and services measured on slices of each profile."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated

from ..problem.documents import shortened
from ..problem.errors import InvalidFile, InvalidOption, UnknownName, spelled
from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.reading import read_text
from ..problem.tables import CsvTable, PathLike, in_a_line, name_of
from .instance import Packing
from .services import Service

Load = Annotated[int, AtLeast(1, "a row of the loads")]

_COLUMNS = ("Mig instance", "Batch size", "Workload Number", "Throughput", "Latency")
_LOADS = ("req_rate", "latency")
_NOTHING = ("", "n/a")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class SliceProfile:
    """Profile of MIG slices: compute slices, memory slices, and the memory slices at which it
    starts.
    """

    compute: int
    memory: int
    starts: Sequence[int]


@dataclass(frozen=True)
class Card:
    """GPU model that MIG divides: its compute and memory slices, and its profiles by name."""

    compute: int
    memory: int
    profiles: Mapping[str, SliceProfile]


@cache
def cards() -> Mapping[str, Card]:
    """Known GPU models, from `mig.json`."""
    given = json.loads(Path(__file__).with_name("mig.json").read_text(encoding="utf-8"))
    return {
        name: Card(
            card["compute"],
            card["memory"],
            {profile: SliceProfile(**entry) for profile, entry in card["profiles"].items()},
        )
        for name, card in given.items()
    }


def card_named(name: str) -> Card:
    """Known GPU model by name; raises UnknownName with the known names."""
    if name not in cards():
        raise UnknownName("card", name, cards())
    return cards()[name]


@validate_options
def layout(card: str, profiles: Sequence[str]) -> tuple[int, ...] | None:
    """Starts of MIG slices with these profiles on one GPU, in the order given; None if they do not
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
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]  # bits of memory slices in use; starts
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
    """Read services measured on MIG slices, as ParvaGPU (SC 2024) publishes them: a folder with a
    table NAME.csv for each service, and the rows of the loads in SLO_req_rate and SLO_latency.

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
    gpu, folder = card_named(card), Path(path)  # 1. Tables of the services.
    inner = folder / "prof_data"
    try:
        every = sorted((inner if inner.is_dir() else folder).glob("*.csv"))
    except OSError:  # the name is too long for any file
        every = []
    tables = {file.stem: file for file in every if not file.stem.startswith("SLO_")}
    if not tables:
        raise InvalidFile(
            f"{path} holds no table of a service; expected a folder with NAME.csv for each, of the "
            f"columns {', '.join(_COLUMNS)}"
        )
    rates, latencies = (_load(folder, f"SLO_{name}", load, list(tables)) for name in _LOADS)
    measured: list[tuple[str, Fraction, dict[str, tuple[Fraction, str]]]] = []  # name, rate, slices
    for name, rate in rates.items():  # 2. Rates of slices within the latencies.
        where, latency = f"SLO_latency of {path}, load {load}: {name}", latencies[name]
        if rate is None:
            continue
        if latency is None:
            raise InvalidFile(
                f"{where} has no latency, and a rate of {float(rate):g}; expected milliseconds. "
                "Give the latency, or write N/A as the rate"
            )
        best = _best(tables[name], where, latency, card, processes, share)
        measured.append((name, rate, best))
    if not measured:
        raise InvalidFile(
            f"SLO_req_rate of {path}, load {load}: N/A for every service; expected one"
        )
    given = [gives for _, _, best in measured for gives, _ in best.values()]
    unit = math.lcm(  # 3. Services and VM types, in a common unit.
        *(number.denominator for number in [*given, *(rate for _, rate, _ in measured)])
    )
    services, first = list[Service](), 0
    per = f"1/{unit} requests" if unit > 1 else "requests"
    for name, rate, best in measured:
        types = tuple(range(first, first := first + len(best)))
        gives = tuple(int(each * unit) for each, _ in best.values())
        services.append(Service(types, gives, int(rate * unit), name))
    profiles = [
        (name, profile, how) for name, _, best in measured for profile, (_, how) in best.items()
    ]
    sizes = [gpu.profiles[profile] for _, profile, _ in profiles]
    return Packing(
        capacity=[[gpu.compute, gpu.memory]],  # type: ignore[arg-type]
        demand=[[size.compute, size.memory] for size in sizes],  # type: ignore[arg-type]
        resources=("compute slices", "memory slices"),
        names=tuple(f"{name} on {profile}, {how}" for name, profile, how in profiles),
        class_names=(card,),
        services=tuple(services),
        name=f"{name_of(path)}-load-{load}",
        source=f"load {load} of {Path(path).name}; rates in {per} a second; a batch in "
        f"less than {share:g} of the latency; at most {processes} processes in a slice",
    )


def _best(
    table: Path, where: str, latency: Fraction, card: str, processes: int, share: float
) -> dict[str, tuple[Fraction, str]]:
    """Largest rate of one MIG slice of each profile within a latency, and its settings."""
    gpu, best, quickest = card_named(card), dict[str, tuple[Fraction, str]](), math.inf
    by_size = {str(profile.compute): name for name, profile in reversed([*gpu.profiles.items()])}
    for row in CsvTable(table, *_COLUMNS):
        size, number = row["Mig instance"], row.whole("Workload Number")
        profile = size if size in gpu.profiles else by_size.get(size)
        if profile is None:
            known = in_a_line([*by_size, *gpu.profiles])
            raise row.wrong(
                "Mig instance", f"a profile of {card}: {known}",
                f"Name another card ({spelled('-o card=...')})",
            )  # fmt: skip
        if number > processes or any(row[name].lower() in _NOTHING for name in _COLUMNS[3:]):
            continue
        gives, time = row.fraction("Throughput") * number, row.fraction("Latency") * 1000
        quickest = min(quickest, float(time))
        if time < latency * Fraction(str(share)) and gives > best.get(profile, (0, ""))[0]:
            best[profile] = gives, f"batch {row['Batch size']} x{number}"
    if not best:
        raise InvalidFile(
            f"{where} is asked for within {float(latency):g} ms; the quickest slice takes "
            f"{quickest:g} ms of the {share:g} x {float(latency):g} ms that a batch may take. Ask "
            f"for a longer latency, or allow a larger part of it ({spelled('-o share=...')})"
        )
    return best


def _load(folder: Path, name: str, load: int, services: list[str]) -> dict[str, Fraction | None]:
    """Values of all services in line `load` (from 1) of the table `name`; None for N/A."""
    places = [folder / part / f"{name}{end}" for part in ("", "SLO") for end in (".csv", ".txt")]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise InvalidFile(
            f"{folder} has no {name}.csv; expected one, with a line for each load and a number for "
            "each service"
        )
    lines = [line for line in read_text(file).splitlines() if line.strip()]
    if load > len(lines):
        raise InvalidOption(f"load is {load}; {file} has {len(lines)} loads, from 1 on")
    words = [word.strip() for word in lines[load - 1].split(",")]
    if len(words) != len(services):
        raise InvalidFile(
            f"{file}, line {load}: {len(words)} values; expected one for each service, in the "
            f"order of their names: {in_a_line(services)}"
        )
    found: dict[str, Fraction | None] = {}
    for service, word in zip(services, words, strict=True):
        if _NUMBER.fullmatch(word):
            found[service] = Fraction(word)
        elif word.lower() in _NOTHING:
            found[service] = None
        if service not in found or found[service] == 0:
            raise InvalidFile(
                f"{file}, line {load}: {shortened(word)} for {service}; expected a number above 0, "
                "or N/A"
            )
    return found
