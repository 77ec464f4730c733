"""Measurement on this computer by a supervisor process that leaves no process behind, and the facts
of the machine on which penalties depend.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidOption, install
from ...solvers.engines.interpreter import isolated
from .jobs import Job
from .measurement import JobRuns, Measurement, MeasurementRequest, Run
from .supervisor import SEAT
from .topology import SYSFS, Seats, cpu_text, read_word

TOKEN = "COTENANT_MEASURE"
"""Environment variable by which every process of a store is known, were its supervisor killed."""

ENDED = "the supervisor ended"
"""How the reason of a visit begins of which no end is known."""

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_LEAVE = 10.0  # seconds for a supervisor to kill what it started


def require_linux() -> Any:
    """Import psutil; raises InvalidOption if it is missing or this is not Linux."""
    if not sys.platform.startswith("linux"):
        raise InvalidOption(
            f"measuring needs Linux (it pins and reaps processes there); this is {sys.platform}"
        )
    try:
        return importlib.import_module("psutil")
    except ImportError as error:
        raise InvalidOption(f"measuring needs psutil ({error}); {install('measure')}") from None


_MOST_SWEEPS = 1000
"""Looks at the list of processes, on a machine on which others start all the time."""


def kill_leftovers(token: str) -> int:
    """Kill every process whose environment has the token of a store or of one of its machines
    (token, dot, number); return how many there were.
    """
    psutil = require_linux()
    known, killed = set[Any](), 0
    for _ in range(_MOST_SWEEPS):
        # A process may have started another and ended while the list before was gone through.
        started = set(psutil.process_iter()) - known
        if not started:
            break
        known |= started
        for process in started:
            with suppress(psutil.Error, OSError):
                carried = process.environ().get(TOKEN, "")
                if process.pid != os.getpid() and f"{carried}.".startswith(f"{token}."):
                    process.kill()
                    killed += 1
    return killed


class Computer:
    """This computer as a `measurement.Machine`; close it, or use it in a with statement.

    Parameters
    ----------
    seats : where jobs are pinned.
    token : of the store.

    Attributes
    ----------
    supervisor : the words that start it.
    """

    def __init__(self, seats: Seats, token: str = "") -> None:
        self.seats = seats
        self._token = token or secrets.token_hex(16)
        self.supervisor = isolated(_SUPERVISOR)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()

    def __enter__(self) -> Computer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._errors.close()

    def now(self) -> float:
        """Current time in seconds since 1970."""
        return time.time()

    def end(self) -> None:
        """Make the supervisor kill what runs (called from another thread); its measurement then has
        an error.
        """
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError, ValueError):
                process.stdin.close()

    def visit(self, order: MeasurementRequest) -> Measurement:
        """Run the jobs of a measurement request at the same time on the seats; see
        `measurement.Machine`.
        """
        # 1. The commands, each with the CPUs of its seat.
        seats = self.seats.parts[::-1] if order.swapped else self.seats.parts
        commands = [
            self._member(job, cpus, limit, order.keep_errors)
            for job, cpus, limit in zip(order.members, seats, order.timeouts, strict=False)
        ]
        for seat, output in enumerate(order.outputs or ()):
            commands[seat]["environment"][SEAT] = str(seat)
            commands[seat]["output"] = output
        # 2. The supervisor runs them; if it was killed, no run counts.
        begin = time.time()
        try:
            answer = self._ask({"members": commands, "once": order.outputs is not None})
        except BaseException:
            self.close()
            raise
        if answer is None:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            error = ": ".join([ENDED, *lines[-1:]])
            lost = tuple(JobRuns(error=error) for _ in commands)
            return Measurement(lost, begin, time.time() - begin)
        # 3. Its clock is monotonic: times are moved to those since 1970.
        runs, seconds = _members(answer["members"], begin - answer["begin"]), answer["seconds"]
        waited = answer["pressure"]
        pressure = None if waited is None else min(1.0, waited / max(seconds, 1e-9))
        return Measurement(runs, begin, seconds, pressure)

    def close(self) -> None:
        """End the supervisor, which kills all processes that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        try:
            process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode:
            kill_leftovers(self._token)

    def _member(
        self, job: Job | None, cpus: Sequence[int], limit: float, keep_errors: bool
    ) -> dict[str, Any]:
        if job is None:
            return {"argv": None, "cpus": list(cpus)}
        return {
            "argv": list(job.command),
            "cpus": list(cpus),
            "directory": str(job.directory),
            "environment": {**job.variables, TOKEN: self._token},
            "timeout": limit,
            "keep_errors": keep_errors,
        }

    def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Send a request to the supervisor process and return its reply; None if the supervisor was
        killed.
        """
        if self._process is None:
            self._errors.truncate(0)
            self._process = subprocess.Popen(
                self.supervisor,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # the terminal's Ctrl-C is for this process alone
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018
        line = b""
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        process.kill()
        process.wait()
        self.close()
        return None


def _members(answers: list[dict[str, Any]], offset: float) -> tuple[JobRuns, ...]:
    """Convert the supervisor's reply to runs by member, each with the share of time in which the
    others ran.
    """
    times = [
        [(run["begin"], run["end"]) for run in answer["runs"]]
        + ([tuple(answer["cut"])] if answer["cut"] else [])
        for answer in answers
    ]
    members = []
    for index, answer in enumerate(answers):
        others = [span for other, spans in enumerate(times) if other != index for span in spans]
        runs = []
        for run in answer["runs"]:
            begin, end = run["begin"], run["end"]
            together = sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop in others)
            runs.append(
                Run(
                    begin=begin + offset,
                    wall=end - begin,
                    cpu=run["cpu"],
                    covered=together / (end - begin) / max(1, len(answers) - 1),
                )
            )
        members.append(JobRuns(tuple(runs), answer["error"], answer["left"]))
    return tuple(members)


def machine_facts(seats: Seats) -> dict[str, str]:
    """Facts of this computer on which a penalty may depend; if one changes, the machine counts as
    another one.
    """
    psutil = require_linux()
    cpu: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            cpu.setdefault(name.strip(), value.strip())
    return {
        "machine": _identity(),
        "processor": cpu.get("model name", platform.machine()),
        "microcode": cpu.get("microcode", "unknown"),
        "kernel": platform.release(),
        "governor": read_word(SYSFS / f"cpu{seats.cpus[0]}/cpufreq/scaling_governor") or "unknown",
        "threads of a core": read_word(SYSFS / "smt/control") or "unknown",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "seats": " | ".join(map(cpu_text, seats.parts)),
        "shared": seats.shared,
    }


def fingerprint(facts: dict[str, str]) -> str:
    """Short hash of the hardware and software facts of a machine."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _identity() -> str:
    """Identifier of this computer that does not reveal its name."""
    name = read_word(Path("/etc/machine-id")) or platform.node()
    return hashlib.sha256(f"cotenant {name}".encode()).hexdigest()[:12]
