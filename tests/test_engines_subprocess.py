"""A solver in a process of its own: it answers, it is ended when it overruns, its death is told."""

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"

from __future__ import annotations

import math
import os
import subprocess
import time

import pytest
from support.messages import refused
from support.small_cases import program_of

from cotenant.instances.problem import EngineError
from cotenant.solvers.engines import call_in_subprocess, solve_in_subprocess, solve_program
from cotenant.solvers.outcome import Status, Stop


def knapsack():
    row = ([3.0, 4.0, 2.0], -math.inf, 6.0)
    return program_of(3, row, upper=1.0, cost=[-4.0, -5.0, -3.0], integer=True)


@pytest.mark.slow
def test_engine_in_child_process_has_same_answer() -> None:
    here, apart = solve_program(knapsack()), solve_in_subprocess(knapsack(), time_limit=30)
    assert apart.status is here.status is Status.OPTIMAL
    assert apart.objective == here.objective == apart.bound == -8.0
    assert apart.point.tolist() == here.point.tolist()


@pytest.mark.slow
def test_engine_process_beyond_limit_is_killed() -> None:
    begin = time.perf_counter()
    assert call_in_subprocess(time.sleep, 900, hard_limit=0.5) is None
    assert time.perf_counter() - begin < 600


def test_killed_engine_process_is_not_awaited(monkeypatch) -> None:
    """It was given two seconds to leave by itself, beyond every limit."""
    waits = []
    wait = subprocess.Popen.wait

    def waited(process, timeout=None):
        waits.append(timeout)
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", waited)
    assert call_in_subprocess(time.sleep, 60, hard_limit=0.1) is None
    assert waits
    assert set(waits) == {None}


def test_killed_engine_has_status_unknown(engines) -> None:
    engines(call_in_subprocess=lambda *_, **__: None)
    answer = solve_in_subprocess(knapsack(), time_limit=1)
    assert (answer.status, answer.stop, answer.point) == (Status.UNKNOWN, Stop.TIME_LIMIT, None)


def test_dead_engine_process_is_an_error_with_stderr() -> None:
    with refused(EngineError):
        call_in_subprocess(os._exit, 3)
    with refused(EngineError):
        call_in_subprocess(divmod, 1, 0)
