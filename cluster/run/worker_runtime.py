"""What a machine runs: the part that works inside a Dask worker, and what it does first when its
machine comes back.

A worker is one machine. It runs one group at a time, in a supervisor child that ends when the
worker does; should both be killed and leave something behind, the next worker of the machine finds
the file that names the dead one, and kills by its token whatever it left.
"""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidFile
from ..measure.command import Computer, kill_leftovers, require_linux
from ..measure.jobs import find_program
from ..measure.machine import machine_facts
from ..measure.measurement import Measurement, MeasurementRequest
from ..measure.topology import Seats, choose_seats, read_topology, require_pinning


@dataclass
class _Here:
    """This worker, as a machine of one store."""

    seats: Seats
    nonce: str
    running: dict[str, Computer] = field(default_factory=dict)
    done: dict[str, Measurement] = field(default_factory=dict)


@dataclass(frozen=True)
class Registered:
    """What a machine says of itself.

    Attributes
    ----------
    nonce : of this worker's process; a restarted one has another.
    facts : see `machine.machine_facts`.
    cpus : of its seats.
    missing : the first of the programs asked for that it does not have; "" when it has all.
    running : groups that it runs.
    done : what came of groups whose end is not acknowledged yet.
    killed : processes of dead workers of this computer that were killed.
    """

    nonce: str
    facts: Mapping[str, str]
    cpus: tuple[int, ...]
    missing: str
    running: tuple[str, ...]
    done: Mapping[str, Measurement]
    killed: int = 0


Program = tuple[str, str, str | None]
"""A command's first word, its directory, and its PATH; None for the machine's own."""

_HERE: dict[str, _Here] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Wanted:
    """What the machines of a store have to be.

    Attributes
    ----------
    token : of the store.
    programs : that the jobs need.
    seats : how many jobs a machine holds.
    overlap : whether seats, and workers of one computer, may share CPUs.
    """

    token: str
    programs: Sequence[Program]
    seats: int = 2
    overlap: bool = False


def register(wanted: Wanted, cpus: Mapping[str, str], dask_worker: Any = None) -> Registered:
    """Become a machine of a store, or say how this one stands; what runs is not changed.

    Parameters
    ----------
    cpus : the worker's name -> the CPUs of its seats; the largest cache's of those that the worker
        may use when it is not named.

    Raises
    ------
    InvalidOption
        This is no Linux, psutil is missing, or there are too few CPUs.
    """
    with _LOCK:
        here, killed = _HERE.get(wanted.token), 0
        if here is None or len(here.seats.parts) != wanted.seats:
            require_linux()
            name = str(getattr(dask_worker, "name", ""))
            chosen = choose_seats(
                read_topology(), cpus.get(name), wanted.seats, overlap=wanted.overlap
            )
            require_pinning(chosen)
            if here is not None:
                here.seats = chosen
        if here is None:
            with suppress(ValueError):  # the terminal's Ctrl-C is for the coordinator
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            nonce = secrets.token_hex(16)
            killed = _take_over(_folder(), nonce)
            here = _HERE[wanted.token] = _Here(chosen, nonce)
        return Registered(
            here.nonce,
            machine_facts(here.seats),
            here.seats.cpus,
            _missing(wanted.programs),
            tuple(here.running),
            dict(here.done),
            killed,
        )


def run_request(
    token: str, nonce: str, group: str, request: MeasurementRequest
) -> Measurement | None:
    """Run a group once: what a Dask task calls.

    Returns
    -------
    What came of it; None when this is not the process that was asked: nothing was begun.
    """
    with _LOCK:
        here = _HERE.get(token)
        if here is None or here.nonce != nonce:
            return None
        begun = group in here.running or group in here.done
        if not begun:
            here.running[group] = Computer(here.seats, nonce)
    if begun:  # the scheduler gave the task twice
        while group in here.running:
            time.sleep(0.1)
        return here.done.get(group)
    try:
        with here.running[group] as computer:
            here.done[group] = computer.visit(request)
    finally:
        here.running.pop(group, None)
    return here.done[group]


def forget(token: str, groups: Iterable[str]) -> None:
    """Let go of what came of groups: it is written down."""
    if (here := _HERE.get(token)) is not None:
        for group in groups:
            here.done.pop(group, None)


def end_groups(token: str) -> None:
    """Kill what this machine runs of a store."""
    if (here := _HERE.get(token)) is not None:
        for computer in list(here.running.values()):
            computer.end()


def _missing(programs: Sequence[Program]) -> str:
    for name, directory, path in programs:
        if not os.path.isdir(directory):
            return f"directory {directory}"
        if find_program(name, directory, path) is None:
            return f"program {name} in {directory}"
    return ""


def _folder() -> Path:
    """Where the workers of this user on this computer name themselves."""
    folder = Path(tempfile.gettempdir()) / f"cotenant-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
            raise PermissionError("it is not this user's alone")
    except OSError as error:
        raise InvalidFile(
            f"{folder} cannot hold the names of this machine's workers: "
            f"{error.strerror or error}; set TMPDIR to a folder of your own"
        ) from None
    return folder


def _take_over(folder: Path, nonce: str) -> int:
    """Kill what dead workers left behind, and name this one; returns how many processes."""
    killed = 0
    for file in folder.iterdir():
        process, start, left = (*file.name.split("."), "", "")[:3]
        if left and process.isdecimal() and start != _started(int(process)):
            killed += kill_leftovers(left)
            with suppress(OSError):
                file.unlink()
    (folder / f"{os.getpid()}.{_started(os.getpid())}.{nonce}").touch()
    return killed


def _started(process: int) -> str:
    """When a process began, in the system's ticks; "" when there is none."""
    try:
        with open(f"/proc/{process}/stat") as stream:
            words = stream.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] == "Z" else words[19]
