"""Methods that misbehave, in a module that other processes can import; for the tests of sweeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import CotenantError
from cotenant.solvers.cores import VARIABLE
from cotenant.solvers.outcome import Outcome, Status, Stop


def in_order(instance: Colocation, *, rng: np.random.Generator) -> Pairing:
    """Pairs agents of all types in a random order."""
    order = rng.permutation(instance.types)
    return Pairing(order[::2], order[1::2], [1] * (instance.types // 2), [0] * instance.types)


def sleeps(instance: Colocation, *, note: str) -> Pairing:
    """Method that never ends, and writes its process and a child process to a file."""
    own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    said(note, f"{os.getpid()} {own.pid}")
    time.sleep(300)
    return in_order(instance, rng=np.random.default_rng(0))


def stubborn(instance: Colocation, *, note: str) -> Pairing:
    """Method that never ends and ignores Ctrl-C."""
    while True:
        try:
            if not Path(note).exists():
                said(note, str(os.getpid()))
            time.sleep(300)
        except KeyboardInterrupt:
            continue


def keeps_best(instance: Colocation, *, note: str) -> Outcome:
    """Method that runs until Ctrl-C, and then returns its incumbent."""
    try:  # around the note too: who reads it sends the signal at once
        said(f"{note}.keeps", str(os.getpid()))
        said(note, str(os.getpid()))
        time.sleep(300)
    except KeyboardInterrupt:
        return Outcome(
            in_order(instance, rng=np.random.default_rng(0)),
            None,
            Status.FEASIBLE,
            Stop.INTERRUPTED,
        )
    raise AssertionError("nobody interrupted")


def keeps_nothing(instance: Colocation, *, note: str) -> Outcome:
    """Does not end until Ctrl-C, and then has nothing to hand in."""
    try:
        said(note, str(os.getpid()))
        time.sleep(300)
    except KeyboardInterrupt:
        return Outcome(None, None, Status.UNKNOWN, Stop.INTERRUPTED)
    raise AssertionError("nobody interrupted")


def leaves(instance: Colocation) -> Pairing:
    """Ends its process."""
    print("a last word", file=sys.stderr, flush=True)
    os._exit(3)


def is_killed(instance: Colocation) -> Pairing:
    """Method whose process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def exits(instance: Colocation) -> Pairing:
    """Calls sys.exit, as a script would."""
    sys.exit("enough")


def spoils(instance: Colocation) -> Pairing:
    """Method that changes its instance so that its answer looks better."""
    instance.penalty[:] = 0.0
    return in_order(instance, rng=np.random.default_rng(0))


def shouts(instance: Colocation) -> Pairing:
    """Method that prints on every stream and finds its standard input empty."""
    print("noise" * 10_000, flush=True)
    os.write(1, b"more noise\n")
    assert sys.stdin.read() == ""
    return in_order(instance, rng=np.random.default_rng(0))


def waits_for_a_loss(instance: Colocation, *, rng: np.random.Generator, note: str) -> Pairing:
    """Method that writes its process to a note, waits until a worker was killed, and answers by its
    seed.
    """
    said(f"{note}-{time.monotonic_ns()}", f"{os.getppid()}")
    waited_for(Path(f"{note}.killed"))
    return in_order(instance, rng=rng)


def takes_all_memory(instance: Colocation) -> Pairing:
    """Method that allocates more memory than any machine has."""
    np.zeros(2**58)
    raise AssertionError


def tells_its_cores(instance: Colocation, *, rng: np.random.Generator) -> Pairing:
    """Method that fails with a message that names the number of cores it may use."""
    raise CotenantError(f"{os.environ[VARIABLE]} cores")


def without_seconds(rows: Any) -> list[dict[str, Any]]:
    """Rows of a comparison, without what differs between two runs."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def said(note: str, words: str) -> None:
    """Write a note whole."""
    part = Path(f"{note}.part{os.getpid()}")
    part.write_text(words)
    part.rename(note)


def waited_for(note: Path, seconds: float = 600.0, *, whole: Callable[[str], Any] = bool) -> str:
    """Content of a file, once it exists and `whole` accepts its content."""
    end = time.monotonic() + seconds
    while True:
        with suppress(OSError, ValueError):
            if whole(words := note.read_text()):
                return words
        assert time.monotonic() < end, f"{note} is not written"
        time.sleep(0.02)


def gone(process: int, seconds: float = 600.0) -> bool:
    """Whether a process ends within `seconds`."""
    end = time.monotonic() + seconds
    status = Path(f"/proc/{process}/stat")
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
            if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # only its parent has not asked how it ended
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


SWEEP = """
import sys
sys.path[:0] = {path!r}
import cotenant
from support import sweep_methods as bad
from cotenant.analysis.run import workers
workers.INTERRUPT_GRACE = 300.0  # however busy the machine is
done = cotenant.compare([cotenant.read("colocation/tiny")], {methods}, options={{"note": {note!r}}},
                        out={out!r}, {settings})
print([row["method"] for row in done.rows], done.interrupted)
"""


def started(methods: str, note: Path, out: Path, settings: str = "") -> subprocess.Popen[str]:
    """Process of a comparison, as a user's script without a main guard."""
    path = [str(Path(__file__).resolve().parents[1])]
    own = {"note": str(note), "out": str(out), "settings": settings}
    return subprocess.Popen(
        [sys.executable, "-c", SWEEP.format(path=path, methods=methods, **own)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
