"""Short memory is a line that says so, whatever a library made of it."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.instances.problem import EngineError
from cotenant.instances.problem.errors import ShortOfMemory
from cotenant.models.program import ProgramBuilder
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
def test_a_limit_that_the_libraries_do_not_fit_in_is_told_before_they_are_loaded(
    arguments: list[str],
) -> None:
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
def test_what_the_libraries_take_grows_with_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ],
)
def test_errors_that_are_of_memory(error: BaseException, words: str) -> None:
    assert short_of_memory(error) == sentence(words)


def test_errors_that_are_of_something_else() -> None:
    for error in (
        ImportError("no module named x"),
        OSError(errno.ENOENT, "no such file"),
        EngineError("no"),
        KeyError("x"),
    ):
        assert short_of_memory(error) == ""


def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


def test_threads_that_cannot_start_are_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = ProgramBuilder()
    builder.columns(1, upper=1.0, cost=1.0, integer=True)
    program = builder.build()
    no_threads(monkeypatch)
    with refused(ShortOfMemory):
        solve_program(program)
    with refused(ShortOfMemory):
        cotenant.compare([TINY], ["GR"], jobs=1)


def test_the_command_says_it_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    no_threads(monkeypatch)
    done = run("solve", "packing/tiny", "-m", "cp-sat")
    assert done.returncode == 2
    approved(done.stderr.splitlines()[-1])


@pytest.mark.slow
def test_a_run_in_a_process_of_its_own_says_it_in_its_row() -> None:
    found = cotenant.compare([TINY], [bad.takes_all_memory], jobs=1)
    assert found.rows[0]["error"].startswith("memory is short: Unable to allocate")
