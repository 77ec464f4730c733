"""What a solver library prints past its own switch reaches neither standard output nor standard
error.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from cotenant.solvers.engines.silence_c_stdout import _streams

needs_glibc = pytest.mark.skipif(
    _streams() is None, reason="this C library's streams cannot be pointed elsewhere"
)

LINE_OF_HIGHS = """
import numpy as np
from cotenant.models.program import ProgramBuilder
from cotenant.solvers.engines import solve_program
builder = ProgramBuilder()
x = builder.columns(7, upper=6.0, cost=[2.0, -4.0, -4.0, 3.0, -6.0, 1.0, -5.0], integer=True)
builder.row(x[[1, 4, 5, 6]], np.array([2.0, -5.0, -1.0, 5.0]), upper=-3.0)
print(solve_program(builder.build()).objective)
"""

LOG_OF_CP_SAT = """
import ctypes
from ortools.sat.python import cp_model
from cotenant.solvers.engines import solve_cp_sat
model = cp_model.CpModel()
model.minimize(model.new_int_var(7, 9, "x"))
solve = cp_model.CpSolver.solve
def logged(*given):
    ctypes.CDLL(None).perror(b"Infeasible LNS solution!")
    return solve(*given)
cp_model.CpSolver.solve = logged
print(solve_cp_sat(model).objective)
"""

GUARD = """
import ctypes, sys, threading
from cotenant.solvers.engines.silence_c_stdout import c_output_nowhere
library = ctypes.CDLL(None)
def say(text):
    library.puts(text.encode())
    library.perror(text.encode())
    library.fflush(None)
say("before")
with c_output_nowhere():
    say("stray")
    print("python's own", flush=True)
    outer = c_output_nowhere()
    outer.__enter__()
say("stray too")  # a run that Ctrl-C gave up is still going on
outer.__exit__(None, None, None)
say("after")
"""


def run(script: str) -> tuple[list[str], list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.slow
@needs_glibc
def test_silencing_drops_only_c_output_and_restores_stream() -> None:
    out, err = run(GUARD)
    assert out == ["before", "python's own", "after"]
    assert [line.partition(":")[0] for line in err] == ["before", "after"]


@pytest.mark.slow
@needs_glibc
def test_cp_sat_log_is_never_printed() -> None:
    assert run(LOG_OF_CP_SAT) == (["7.0"], [])


@pytest.mark.slow
@needs_glibc
def test_highs_banner_is_never_printed() -> None:
    assert run(LINE_OF_HIGHS) == (
        ["-99.0"],
        [],
    )  # 24 + 24 + 36 + 15, all but the last at its upper bound
