"""CPU topology from sysfs (shared caches), and the two seats to which jobs are pinned."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...instances.problem.errors import InvalidOption

SYSFS = Path("/sys/devices/system/cpu")
_RANGE = re.compile(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*")


@dataclass(frozen=True)
class Topology:
    """CPUs of a machine and the caches they share.

    Attributes
    ----------
    cores : CPU -> the CPUs of its core (threads of one core, SMT; itself alone without).
    caches : level -> CPU -> the CPUs that share its cache of this level, for unified caches.
    packages : CPU -> the number of its package (socket).
    allowed : CPUs that this process may use.
    """

    cores: dict[int, tuple[int, ...]]
    caches: dict[int, dict[int, tuple[int, ...]]]
    packages: dict[int, int]
    allowed: Set[int] = field(default_factory=lambda: os.sched_getaffinity(0))

    def domains(self) -> list[tuple[int, ...]]:
        """Groups of CPUs that share their last-level cache; without cache information, the CPUs of
        a package.
        """
        if self.caches:
            groups = set(self.caches[max(self.caches)].values())
        else:
            groups = {
                tuple(cpu for cpu in sorted(self.cores) if self.packages.get(cpu, 0) == package)
                for package in {self.packages.get(cpu, 0) for cpu in self.cores}
            }
        return sorted(groups)

    def shared(self, first: Iterable[int], second: Iterable[int]) -> str:
        """Nearest resource that two sets of CPUs share: "core", "L2", ..., "package", "memory"."""
        ones, others = list(first), set(second)
        if any(others & set(self.cores[cpu]) for cpu in ones):
            return "core"
        for level in sorted(self.caches):
            if any(others & set(self.caches[level].get(cpu, ())) for cpu in ones):
                return f"L{level}"
        packages = {self.packages.get(cpu, 0) for cpu in others}
        return "package" if any(self.packages.get(cpu, 0) in packages for cpu in ones) else "memory"


@dataclass(frozen=True)
class Seats:
    """CPUs of the seats of a machine.

    Attributes
    ----------
    parts : the CPUs of each seat; they have none in common.
    shared : what they share at the nearest, see `Topology.shared`.
    """

    parts: tuple[tuple[int, ...], tuple[int, ...]]
    shared: str

    @property
    def cpus(self) -> tuple[int, ...]:
        """CPUs of both seats of a machine."""
        return tuple(dict.fromkeys(cpu for part in self.parts for cpu in part))

    def __str__(self) -> str:
        return f"CPUs {' and '.join(map(cpu_text, self.parts))}, which share {self.shared}"


def read_topology(sysfs: Path = SYSFS) -> Topology:
    """Read the CPU topology from sysfs."""
    online = cpu_list(read_word(sysfs / "online")) or tuple(sorted(os.sched_getaffinity(0)))
    cores, packages = {}, {}
    caches: dict[int, dict[int, tuple[int, ...]]] = {}
    for cpu in online:
        folder = sysfs / f"cpu{cpu}"
        cores[cpu] = cpu_list(read_word(folder / "topology" / "thread_siblings_list")) or (cpu,)
        package = read_word(folder / "topology" / "physical_package_id")
        packages[cpu] = int(package) if package.isdecimal() else 0
        for index in sorted((folder / "cache").glob("index*")):
            level = read_word(index / "level")
            if level.isdecimal() and read_word(index / "type") == "Unified":
                together = cpu_list(read_word(index / "shared_cpu_list")) or (cpu,)
                caches.setdefault(int(level), {})[cpu] = together
    return Topology(cores, caches, packages)


def choose_seats(topology: Topology, cpus: str | None = None) -> Seats:
    """Choose two seats of CPUs: each half of the cores that share one cache, or half of the given
    CPUs.

    The threads of a core stay in one seat, so that jobs share a cache and no core, unless there is
    one core only.

    Parameters
    ----------
    cpus : a list such as "0-3,8-11"; the allowed CPUs of the largest cache when not given.

    Raises
    ------
    InvalidOption
        Such CPUs do not exist, or this process may not use them; or there are too few.
    """
    allowed = topology.allowed
    if cpus is not None:
        chosen = cpu_list(cpus)
        if not chosen:
            raise InvalidOption(
                f"cpus is {cpus!r}; expected numbers and ranges of CPUs, such as 0-3,8"
            )
        if missing := [cpu for cpu in chosen if cpu not in topology.cores]:
            raise InvalidOption(
                f"cpus is {cpus!r}: there is no CPU {missing[0]}; this machine has "
                f"{cpu_text(topology.cores)}"
            )
        if refused := [cpu for cpu in chosen if cpu not in allowed]:
            raise InvalidOption(
                f"cpus is {cpus!r}: this process may not use CPU {refused[0]}; it may use "
                f"{cpu_text(allowed)} (its affinity or its container says so)"
            )
    else:
        usable = [tuple(cpu for cpu in group if cpu in allowed) for group in topology.domains()]
        chosen = max(usable, key=len)
    if len(chosen) < 2:
        where = "cpus names" if cpus is not None else "this process may use"
        raise InvalidOption(
            f"{where} {len(chosen)} CPU{'s' * (len(chosen) != 1)} of one cache; expected at least "
            "2: two jobs on one CPU take turns, so what they share is not measured"
        )
    cores = sorted({tuple(cpu for cpu in topology.cores[cpu] if cpu in chosen) for cpu in chosen})
    if len(cores) < 2:  # threads of one core
        cores = [(cpu,) for cpu in chosen]
    half = len(cores) // 2  # an odd core stays empty
    first, second = (
        tuple(sorted(itertools.chain(*part))) for part in (cores[:half], cores[half : 2 * half])
    )
    return Seats((first, second), topology.shared(first, second))


def divided_cpus(topology: Topology, machines: int, *, overlap: bool = False) -> list[str]:
    """Divide the CPUs of this computer into equal parts of two seats, one a machine, in the format
    of `choose_seats`; no part spans two caches.

    Parameters
    ----------
    overlap : whether machines may share CPUs where there are too few.

    Raises
    ------
    InvalidOption
        There are too few.
    """
    allowed = topology.allowed
    domains = []
    for group in topology.domains():
        cores = {tuple(cpu for cpu in topology.cores[cpu] if cpu in allowed) for cpu in group}
        domains.append(sorted(core for core in cores if core))
    parts: list[str] = []
    for each in range(max(map(len, domains), default=0) // 2, 0, -1):
        whole = 2 * each
        parts = [
            cpu_text(cpu for core in cores[start : start + whole] for cpu in core)
            for cores in domains
            for start in range(0, len(cores) - whole + 1, whole)
        ]
        if len(parts) >= machines:
            return parts[:machines]
    if overlap and parts:
        return [parts[index % len(parts)] for index in range(machines)]
    raise InvalidOption(
        f"local is {machines}, machines of two seats, but this "
        f"process may use {len(allowed)} CPUs ({cpu_text(allowed)}); expected {2 * machines} "
        "cores. The setting overlap lets machines share CPUs, for jobs that only wait"
    )


def require_pinning(seats: Seats) -> None:
    """Raise InvalidOption if this process cannot be pinned to the CPUs of the seats, which is
    tried.
    """
    before = os.sched_getaffinity(0)
    try:
        for cpus in seats.parts:
            os.sched_setaffinity(0, cpus)
            if os.sched_getaffinity(0) != set(cpus):
                raise OSError("the system chose other CPUs")
    except OSError as error:
        raise InvalidOption(
            f"this process may not pin jobs to {seats} ({error.strerror or error}); run where "
            "sched_setaffinity is permitted, or name other CPUs with --cpus"
        ) from None
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, before)


def cpu_list(text: str) -> tuple[int, ...]:
    """CPUs of a list such as "0-3,8", in order; () if it is not such a list."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return ()
        cpus |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(cpus))


def cpu_text(cpus: Iterable[int]) -> str:
    """Format CPUs as a list such as "0-3,8"."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def read_word(path: Path) -> str:
    """Content of a small system file; "" if it does not exist."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
