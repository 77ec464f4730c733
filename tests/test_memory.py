"""Short memory is a line that says so, whatever a library made of it."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused
from support.small_cases import program_of
from support.terminal import run

import cotenant
from cotenant.instances.problem import EngineError
from cotenant.instances.problem.errors import ShortOfMemory
from cotenant.solvers import memory
from cotenant.solvers.engines import solve_program
from cotenant.solvers.memory import sentence, short_of_memory

TINY = cotenant.read("colocation/tiny")
resource = pytest.importorskip("resource", reason="limits of Unix")


def limited(megabytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python under a limit of address space, as `ulimit -v` sets it."""
    size = megabytes * 10**6
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere address space is not limited")


@LINUX
@pytest.mark.parametrize(
    "arguments",
    [["solve", "colocation/tiny", "-m", "stable"], ["compare", "colocation/tiny", "-m", "GR"]],
)
def test_memory_limit_below_libraries_is_refused_first(arguments: list[str]) -> None:
    """Under `ulimit -v 400000` a library asked for its buffers for ever, and nothing but SIGKILL
    ended it.
    """
    done = limited(280, "-m", "cotenant.cli", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: memory is short: 280 MB of address space are allowed, and the libraries alone take "
    )
    assert len(done.stderr.splitlines()) == 1


@LINUX
def test_library_memory_estimate_grows_with_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = "from cotenant.solvers import memory; print(memory.shortage())"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert limited(500, "-c", ask).stdout == "\n"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "64")
    approved(limited(500, "-c", ask).stdout)
    assert memory.shortage() == ""  # of this process, without a limit


def llvmlite() -> OSError:
    """The error that hid a lack of memory behind a file that is not found."""
    error = OSError("Could not find/load shared object file 'libllvmlite.so'")
    error.__context__ = OSError("/x/libllvmlite.so: failed to map segment from shared object")
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "no more is to be had"),
        (
            MemoryError("Unable to allocate 74.5 GiB for an array"),
            "Unable to allocate 74.5 GiB for an array",
        ),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (
            ImportError("lib.so: failed to map segment from shared object"),
            "lib.so: failed to map segment from shared object",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Cannot allocate memory"),
        (
            BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
            "Resource temporarily unavailable",
        ),
        (llvmlite(), "/x/libllvmlite.so: failed to map segment from shared object"),
        (ShortOfMemory(sentence("why")), "why"),
        (ImportError("no module named x"), ""),
        (OSError(errno.ENOENT, "no such file"), ""),
        (EngineError("no"), ""),
    ],
)
def test_memory_errors_are_recognized(error: BaseException, words: str) -> None:
    assert short_of_memory(error) == (words and sentence(words))


def test_failed_thread_start_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with refused(ShortOfMemory):
        solve_program(program_of(1, upper=1.0, cost=1.0, integer=True))
    with refused(ShortOfMemory):
        cotenant.compare([TINY], ["GR"], jobs=1)
    done = run("solve", "packing/tiny", "-m", "cp-sat")
    assert done.returncode == 2
    approved(done.stderr.splitlines()[-1])


@pytest.mark.slow
def test_memory_error_of_child_process_is_in_its_row() -> None:
    found = cotenant.compare([TINY], [bad.takes_all_memory], jobs=1)
    assert found.rows[0]["error"].startswith("memory is short: Unable to allocate")
