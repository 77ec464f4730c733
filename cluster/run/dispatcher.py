"""Job dispatcher: this computer as machines of two seats, and the groups that run on them.

Each machine has a supervisor of its own, which ends with this process and takes its jobs along.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Self

from ..measure.command import Computer, machine_facts
from ..measure.measurement import Measurement, MeasurementRequest
from ..measure.topology import Seats


@dataclass(frozen=True)
class Ended:
    """Outcome of a group of jobs: its measurement, or why nothing is known of its end."""

    group: str
    visit: Measurement | None
    reason: str = ""


class Dispatcher:
    """Dispatcher of jobs to machines that are parts of this computer, each with its own seats. Use
    it in a with statement.

    Parameters
    ----------
    seats : of each machine.
    token : of the store; the processes of a machine carry it and the machine's number.
    """

    def __init__(self, seats: Sequence[Seats], token: str) -> None:
        self._computers = {
            f"machine {number}": Computer(one, f"{token}.{number}")
            for number, one in enumerate(seats, 1)
        }
        self._facts = {name: machine_facts(one.seats) for name, one in self._computers.items()}
        self._threads = ThreadPoolExecutor(len(seats))
        self._ended: SimpleQueue[Ended] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.end_all()
        self._threads.shutdown()
        for computer in self._computers.values():
            computer.__exit__()

    def now(self) -> float:
        """Current time in seconds since 1970."""
        return time.time()

    def all(self) -> Mapping[str, Mapping[str, str]]:
        """Map each machine's name to its hardware facts; see `command.machine_facts`."""
        return self._facts

    def start(self, machine: str, group: str, request: MeasurementRequest) -> None:
        """Start a group of jobs on a machine that runs no other group."""
        self._threads.submit(self._run, machine, group, request)

    def ended(self, seconds: float) -> list[Ended]:
        """Collect the outcomes of ended groups, waiting up to `seconds` for the first."""
        outcomes: list[Ended] = []
        try:
            outcomes.append(self._ended.get(timeout=seconds))
            while True:
                outcomes.append(self._ended.get_nowait())
        except Empty:
            return outcomes

    def end_all(self) -> None:
        """Kill all groups of jobs that still run."""
        for computer in self._computers.values():
            computer.end()

    def _run(self, machine: str, group: str, request: MeasurementRequest) -> None:
        try:
            ended = Ended(group, self._computers[machine].visit(request))
        except Exception as error:  # no process can be started, say
            ended = Ended(group, None, f"on {machine}: {type(error).__name__}: {error}")
        self._ended.put(ended)
