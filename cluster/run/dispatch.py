"""Machines of a Dask cluster: one worker is one machine, and one task is one group.

The queue and the retries are ours. A machine that runs a group is given no other; a task is bound
to the worker's process by a number of its own, so that whatever the scheduler does when a worker
is lost, a group is begun at most once.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ...analysis.run.cluster import Cluster
from ...instances.problem.errors import CotenantError, EngineError, InvalidOption, install
from ...solvers.engines.interpreter import start_python
from ..measure.command import last_line
from ..measure.jobs import Job
from ..measure.measurement import Measurement, MeasurementRequest
from ..measure.topology import divided_cpus, read_topology
from .worker_runtime import (
    Program,
    Registered,
    Wanted,
    end_groups,
    forget,
    register,
    run_request,
)

LOOK_SECONDS = 1.0
"""Seconds between two looks at which workers are there."""

MACHINELESS_SECONDS = 60.0
"""Seconds that a cluster may be without any machine in the middle of a queue."""

START_SECONDS = 120.0
"""Seconds that the workers of this computer have to come."""


@dataclass(frozen=True)
class Ended:
    """What came of a group: its visit, or why nothing is known of its end."""

    group: str
    visit: Measurement | None
    reason: str = ""


class Machines(Protocol):
    """Where groups run: a cluster, or a simulated one in tests."""

    def now(self) -> float:
        """Seconds since 1970."""

    def all(self) -> Mapping[str, Registered]:
        """The machines that are there, by name."""

    def start(self, machine: str, group: str, request: MeasurementRequest) -> None:
        """Begin a group on a machine that has none."""

    def ended(self, seconds: float) -> list[Ended]:
        """What came of groups; waits so long for the first."""

    def acknowledge(self, groups: Mapping[str, str]) -> None:
        """What came of these groups (id -> machine) is written down."""

    def end_all(self) -> None:
        """Kill what runs."""


class Fleet:
    """The workers of a Dask scheduler as machines; see `Machines`.

    Parameters
    ----------
    cluster : entered, and its workers found to have this package.
    wanted : what the machines have to be.
    cpus : worker's name -> CPUs, see `worker_runtime.register`.
    recovered : groups that an earlier coordinator began -> the machine of each.
    revive : called at every look; starts workers again that ended.
    """

    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        cpus: Mapping[str, str],
        recovered: Mapping[str, str] | None = None,
        revive: Callable[[], None] | None = None,
    ) -> None:
        self._revive = revive or (lambda: None)
        self._cluster, self._wanted, self._cpus = cluster, wanted, dict(cpus)
        self._finished: SimpleQueue[Any] = SimpleQueue()
        self._machines: dict[str, Registered] = {}
        self._going: dict[str, tuple[str, Any]] = {}
        self._recovered = dict(recovered or {})
        self._looked = self._without = 0.0
        self._before = self._look()

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def all(self) -> Mapping[str, Registered]:
        """The machines that are there, by address."""
        return self._machines

    def start(self, machine: str, group: str, request: MeasurementRequest) -> None:
        """Begin a group on a machine that has none."""
        try:
            future = self._cluster.client.submit(
                run_request,
                self._wanted.token,
                self._machines[machine].nonce,
                group,
                request,
                key=f"cotenant-group-{group}",
                workers=[machine],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
        except Exception:
            raise self._gone() from None
        self._going[group] = (machine, future)
        future.add_done_callback(self._finished.put)

    def ended(self, seconds: float) -> list[Ended]:
        """What came of groups; waits so long for the first. Raises EngineError when the scheduler
        went away, or no machine is left for a minute.
        """
        outcomes, self._before = self._before, []
        end = time.monotonic() + seconds
        while True:
            with suppress(Empty):
                wait = min(max(0.0, end - time.monotonic()), LOOK_SECONDS)
                future = self._finished.get(timeout=0 if outcomes else wait)
                outcomes += self._outcome(future)
                continue
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                outcomes += self._look()
            if outcomes or time.monotonic() >= end:
                return outcomes

    def acknowledge(self, groups: Mapping[str, str]) -> None:
        """What came of these groups is written down: their machines may let go of it."""
        there = [machine for machine in set(groups.values()) if machine in self._machines]
        if there:
            self._ask(forget, self._wanted.token, list(groups), workers=there)

    def end_all(self) -> None:
        """Kill what runs."""
        with suppress(CotenantError):
            self._ask(end_groups, self._wanted.token)

    def _outcome(self, future: Any) -> list[Ended]:
        group = future.key.removeprefix("cotenant-group-")
        if group not in self._going:  # its machine was lost before
            return []
        machine, _ = self._going[group]
        if future.status in ("cancelled", "lost") or self._cluster.client.status != "running":
            raise self._gone()
        del self._going[group]
        try:
            visit = future.result(timeout=LOOK_SECONDS)
        except Exception as error:
            return [Ended(group, None, f"on {machine}: {type(error).__name__}: {error}")]
        if visit is None:
            self._machines.pop(machine, None)
            return [Ended(group, None, f"{machine} was started anew before it began")]
        return [Ended(group, visit)]

    def _look(self) -> list[Ended]:
        """See which workers came and went, and what became of adopted groups."""
        self._revive()
        if self._cluster.client.status != "running":
            raise self._gone()
        try:
            there = set(self._cluster.workers())
        except EngineError:
            raise self._gone() from None
        now = self._looked = time.monotonic()
        new = [address for address in there if address not in self._machines]
        asked = sorted({*new, *(set(self._recovered.values()) & there)})
        registrations = self._ask(
            register, self._wanted, self._cpus, workers=asked, on_error="return"
        ) if asked else {}  # fmt: skip
        for machine, answer in (registrations or {}).items():
            if isinstance(answer, CotenantError):
                raise InvalidOption(f"the Dask worker {machine}: {answer}")
            if isinstance(answer, Registered):
                self._require(machine, answer)
                self._machines[machine] = answer
                if not {*self._recovered, *self._going}.issuperset(answer.running):
                    self._ask(end_groups, self._wanted.token, workers=[machine])  # given up as lost
        outcomes = []
        for group, machine in list(self._recovered.items()):
            answer = (registrations or {}).get(machine)
            if isinstance(answer, Registered) and group in answer.done:
                outcomes.append(Ended(group, answer.done[group]))
            elif machine not in there or (
                isinstance(answer, Registered) and group not in answer.running
            ):
                outcomes.append(Ended(group, None, f"{machine} was lost"))
            else:
                continue
            del self._recovered[group]
        for machine in set(self._machines) - there:
            del self._machines[machine]
        for group, (machine, future) in list(self._going.items()):
            if machine not in there and not future.done():
                del self._going[group]
                with suppress(Exception):
                    future.cancel()
                outcomes.append(Ended(group, None, f"{machine} was lost"))
        self._without = 0.0 if self._machines else self._without or now
        if self._without and now - self._without > MACHINELESS_SECONDS:
            raise EngineError(
                f"there has been no machine for {MACHINELESS_SECONDS:g} s; to go on, give "
                "the same command again"
            )
        return outcomes

    def _require(self, machine: str, registration: Registered) -> None:
        """Refuse a machine without the programs, and one whose CPUs another worker has."""
        if registration.missing:
            raise InvalidOption(
                f"the machine of the Dask worker {machine} has no {registration.missing}; install "
                "what the jobs need there, or start the worker where it is"
            )
        for other, registered in self._machines.items():
            same = other != machine and registered.facts["machine"] == registration.facts["machine"]
            if same and not self._wanted.overlap and set(registered.cpus) & set(registration.cpus):
                raise InvalidOption(
                    f"the Dask workers {other} and {machine} are of one computer and share CPUs; "
                    "start one worker a machine, or each under `taskset -c LIST`. --overlap "
                    "permits it, for jobs that only wait"
                )

    def _ask(self, function: Any, *arguments: Any, **settings: Any) -> Any:
        """What workers answer, by address; nothing when they take too long."""
        settings.setdefault("on_error", "ignore")
        try:
            return self._cluster.asked(
                lambda: self._cluster.client.run(function, *arguments, **settings)
            )
        except EngineError:
            raise self._gone() from None

    def _gone(self) -> EngineError:
        return EngineError(
            "the connection to the scheduler is lost; the jobs on its machines go on as long as "
            "their workers live. Start a scheduler, and give the same command again to go on"
        )


def programs_of(jobs: Iterable[Job]) -> list[Program]:
    """What jobs need on their machines, each once."""
    programs = {(job.command[0], str(job.directory), job.environment.get("PATH")) for job in jobs}
    return sorted(programs, key=str)


@contextmanager
def machines_of(
    wanted: Wanted,
    *,
    dask: str | None,
    local: int | None,
    recovered: Mapping[str, str] | None = None,
) -> Iterator[Fleet]:
    """The machines of a scheduler's address, or of so many workers of this computer.

    Raises
    ------
    InvalidOption
        Dask is not installed, nobody answers at the address, there is no worker, one without this
        package or without the jobs' programs, or too few CPUs.
    """
    with ExitStack() as stack:
        cpus: dict[str, str] = {}
        workers = None
        if local is not None:
            parts = divided_cpus(read_topology(), local, wanted.seats, overlap=wanted.overlap)
            cpus = {str(place): part for place, part in enumerate(parts)}
            dask = stack.enter_context(_local_scheduler())
            workers = stack.enter_context(_Workers(dask, cpus))
        cluster = stack.enter_context(Cluster(str(dask)))
        if workers is not None:
            workers.wait_for(cluster.client)
        cluster.prepare([])
        revive = None if workers is None else workers.revive
        yield Fleet(cluster, wanted, cpus, recovered, revive)


class _Workers:
    """So many workers of this computer, each a process; one that is killed is started again.

    Not Dask's own: these end when this process does, however it does, and importing the script
    that is running is no part of their start.
    """

    def __init__(self, address: str, names: Iterable[str]) -> None:
        self._address = address
        self._errors = tempfile.TemporaryFile()
        self._processes = {name: self._started(name) for name in names}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *reason: object) -> None:
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()
        for process in self._processes.values():
            process.wait()
        self._errors.close()

    def revive(self) -> None:
        """Start those again that ended."""
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                if process.stdin is not None:
                    process.stdin.close()
                self._processes[name] = self._started(name)

    def wait_for(self, client: Any) -> None:
        """Wait until all are there; raises EngineError when they do not come, or end at once."""
        end = time.monotonic() + START_SECONDS
        while len(client.nthreads()) < len(self._processes):
            ended = any(process.poll() is not None for process in self._processes.values())
            if ended or time.monotonic() > end:
                why = last_line(self._errors) or f"not there after {START_SECONDS:g} s"
                raise EngineError(f"the workers of this computer do not start: {why}")
            time.sleep(0.05)

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        return start_python(
            f"from {__package__}.worker import main\nmain(requests)",
            self._address,
            name,
            stdout=self._errors,
            stderr=self._errors,
            start_new_session=True,
        )


@contextmanager
def _local_scheduler() -> Iterator[str]:
    """The address of a scheduler in this process."""
    try:
        from distributed import LocalCluster
    except ImportError as error:
        raise InvalidOption(
            f"local needs the Dask libraries ({error}); {install('cluster')}"
        ) from None
    make: Any = LocalCluster  # not typed
    with make(
        n_workers=0,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        yield str(cluster.scheduler_address)
