"""Column generation over sets of jobs: its bounds and the sets it lists, against every set of every
VM.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from cotenant.instances.admission import Admission, Assignment
from cotenant.solvers.admission.columns import LIMITS, ColumnGeneration, ColumnLimits
from cotenant.solvers.admission.local_search import start_assignment
from cotenant.solvers.admission.optimal import optimal
from cotenant.solvers.admission.search import (
    AdmissionLimits,
    Search,
    find_prices,
    generate_columns,
    list_sets,
)
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Clock, Status, Stop

SEEDS = range(12)
CLOSE = 1e-6


def given(seed: int) -> Admission:
    """Small, contested, often with VMs of equal cores."""
    rng = np.random.default_rng([57, seed])
    machines, types = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    cores = rng.integers(0, 3, (machines, types))
    cores[0] = np.maximum(cores[0], 1)
    if machines == 1:
        cores += 2  # room for everybody on the one VM, which leaves the list no room to spare
    if seed % 2:
        cores[:] = cores[0]
    return Admission(cores, rng.integers(1, 4, 5), rng.uniform(1, 9, (5, types)))


def rents(instance: Admission, seed: int) -> np.ndarray:
    """Good, poor and no prices of cores."""
    rng = np.random.default_rng([59, seed])
    return rng.uniform(0, 6, instance.cores.shape) * (seed % 3 > 0)


@cache
def worth(seed: int, v: int, jobs: tuple[int, ...]) -> float:
    """F_v(S), the most total speed of the jobs S on VM v, from the definition: every way to hand
    out its cores one by one.
    """
    instance = given(seed)
    held = {tuple(int(instance.threads[j]) for j in jobs): 0.0}
    for c in np.repeat(np.arange(instance.types), instance.cores[v]).tolist():
        after = dict(held)
        for left, value in held.items():
            for index, j in enumerate(jobs):
                if left[index]:
                    rest = (*left[:index], left[index] - 1, *left[index + 1 :])
                    after[rest] = max(after.get(rest, 0.0), value + float(instance.speed[j, c]))
        held = after
    return max(held.values())


@cache
def answers(seed: int) -> list[tuple[float, dict[int, tuple[int, ...]]]]:
    """(total speed, jobs by VM) of every way to put jobs on VMs in which nobody is useless."""
    instance = given(seed)
    found = []
    for machine in itertools.product(range(-1, instance.machines), repeat=instance.jobs):
        sets = {
            v: tuple(j for j in range(instance.jobs) if machine[j] == v)
            for v in set(machine) - {-1}
        }
        if all(
            worth(seed, v, jobs) > worth(seed, v, tuple(i for i in jobs if i != j)) + CLOSE
            for v, jobs in sets.items() for j in jobs
        ):  # fmt: skip
            found.append((sum(worth(seed, v, jobs) for v, jobs in sets.items()), sets))
    return found


def generation(seed: int, limits: ColumnLimits = LIMITS) -> ColumnGeneration:
    instance = given(seed)
    return ColumnGeneration(instance, rents(instance, seed), np.inf, limits=limits)


@pytest.mark.parametrize("cut", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_pricing_at_time_limit_still_gives_valid_bound(seed: int, cut: int) -> None:
    program, best = generation(seed), max(value for value, _ in answers(seed))
    price = 0.5 * program.price  # low, so that many sets are worth more than theirs
    _, top, whole = program._priced(price, cut, Clock())
    assert not whole
    assert program.bound >= best - CLOSE
    for value, sets in answers(seed):
        assert value <= program._total(price, top) + CLOSE
        for v, jobs in sets.items():
            assert worth(seed, v, jobs) - price[list(jobs)].sum() <= top[program._kind[v]] + CLOSE


@pytest.mark.parametrize("share", [0.6, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("seed", SEEDS)
def test_listed_sets_contain_every_set_of_better_answers(seed: int, share: float) -> None:
    program = generation(seed)
    value = share * max(value for value, _ in answers(seed))
    assert program.list_all(Clock(), value)
    better = [sets for total, sets in answers(seed) if total > value]
    assert better
    missing = [
        (v, jobs) for sets in better for v,
        jobs in sets.items() if (int(program._kind[v]), jobs) not in program._worth
    ]  # fmt: skip
    assert not missing
    for (k, jobs), claimed in program._worth.items():
        assert claimed == pytest.approx(
            worth(seed, int(np.flatnonzero(program._kind == k)[0]), jobs)
        )


@pytest.mark.slow
def test_incomplete_list_of_sets_gives_no_proof() -> None:
    short = 0
    for seed in SEEDS:
        instance, best = given(seed), max(value for value, _ in answers(seed))
        search = Search(
            instance, Clock(), start_assignment(instance, None), AdmissionLimits(columns=NO_SETS)
        )
        for route in (find_prices, generate_columns, list_sets):
            route(search)
        assert search.bound >= best * (1 - CLOSE)
        short += search.value < best - CLOSE
    assert short  # the start is not always the best, so there was something to claim wrongly


NO_SETS = ColumnLimits(effort=(0, 0), listing=0)
"""No sets but those of the start are ever met."""


def test_second_level_at_time_limit_has_engine_bound(engines: Callable[..., None]) -> None:
    # As fast with both jobs as with job 0 alone, which takes both cores of either VM.
    instance = Admission([[2]], [2, 2], [[1.0], [1.0]])  # type: ignore[arg-type]
    start = Assignment([0, -1], [[2], [0]])  # type: ignore[arg-type]

    def cut(program: Any, **asked: Any) -> EngineAnswer:
        """It has proved that no more than 2 are served, and found one."""
        done = solve_program(program, **asked)
        return replace(
            done, point=None, objective=None, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT
        )

    engines(solve_program=cut)
    outcome = optimal(instance, start=start, then="jobs")
    first, second = outcome.certificate["levels"]
    assert first["status"] == "optimal"
    assert (second["value"], second["bound"], second["status"]) == (0.5, 1.0, "feasible")
