"""Proofs of the maximum total speed: prices of jobs, and for each kind of VM a tree whose leaves
are core rents.

The theorem stands above `Admission.bound` in the verifier.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.admission.instance import Admission, Floats, Integers
from ...instances.admission.rules import price_bound
from ...instances.problem.proof import Proof
from ...models.program import LinearProgram, ProgramBuilder
from ..admission.columns import ColumnGeneration, good_prices
from ..distinct_rows import distinct_rows
from ..engines import WarmStartedProgram
from ..outcome import Clock
from . import Task, checked_proof, strongest_proof
from .rounding import on_grid

MOST_NODES = 20_000
DEEPEST = 150
NEAR = 1e-10
"""Relative to the total speed: a leaf whose top is as near to the best set known is not divided
further.
"""

COARSE = (1, 2, 6, 60)
"""Denominators that are tried first: instances with round numbers have round prices."""


def optimal(task: Task) -> Proof:
    """Proof of `optimal` and its total speed."""
    return _strongest(task)


def most_jobs(task: Task) -> Proof:
    """Proof of `most-jobs`: the share of jobs served, and the total speed among such
    assignments.
    """
    speed = task.options.get("then", "speed") == "speed"
    then = [_strongest(task).levels[0].steps] if speed else []
    return checked_proof(task, [{"kind": "witness"}], *then)


def _strongest(task: Task) -> Proof:
    """Proof by the coarsest job prices that prove the total speed, or by fine ones."""
    given = task.instance
    value = float((given.speed * task.outcome.solution.cores).sum())  # type: ignore[union-attr]
    prices, core_prices = _prices(task, value)
    first = np.sort(distinct_rows(given.cores)[0])  # VMs in the order in which the verifier reads
    tolerance = NEAR * value / len(given.cores)
    trees = [
        _Tree(given, given.cores[vm], prices, core_prices[vm], tolerance, task.clock).whole()
        for vm in first
    ]
    spread = given.jobs + int(given.cores.sum())
    fine = 10 ** max(0, math.ceil(math.log10(spread / max(value * NEAR / 10, 1e-300))))

    def step(over: int) -> dict[str, Any]:
        numbers = [_on_grid(tree, over) for tree in trees]
        return {"kind": "prices", "jobs": on_grid(prices, over), "over": over, "kinds": numbers}

    return strongest_proof(task, ([step(over)] for over in (*COARSE, fine)), method="optimal")


def _prices(task: Task, value: float) -> tuple[Floats, Floats]:
    """Dual prices (J,) of jobs and (V, C) of cores for a proof: those of the method, or else from
    column generation.
    """
    given, certificate = task.instance, task.outcome.certificate
    if "prices" in certificate:
        core_prices = np.array(certificate["prices"], dtype=float)
    else:
        core_prices, _ = good_prices(given, task.clock)
    if "job_prices" in certificate:
        return np.array(certificate["job_prices"], dtype=float), core_prices
    columns = ColumnGeneration(given, core_prices, price_bound(given, core_prices))
    columns.take(task.outcome.solution)  # type: ignore[arg-type]
    for _ in columns.improve(task.clock, value):
        pass
    return columns.price, core_prices


class _Tree:
    """Branch-and-bound tree over the jobs of one kind of VM, with core prices as leaves."""

    def __init__(
        self,
        given: Admission,
        cores: Integers,
        prices: Floats,
        core_prices: Floats,
        tolerance: float,
        clock: Clock,
    ) -> None:
        self.jobs, self.types, self.core_prices = given.jobs, given.types, core_prices
        self.best, self.tolerance, self.clock, self.left = 0.0, tolerance, clock, MOST_NODES
        self.program = _program(given, cores, prices)

    def whole(self) -> Any:
        """Tree in the form of proofs: branches as objects, leaves as arrays of core prices."""
        return self._below({})

    def _below(self, decided: dict[int, bool]) -> Any:
        self.left -= 1
        if self.clock.expired or self.left < 0:
            return self.core_prices
        lower, upper = self.program.lower.copy(), self.program.upper.copy()
        for job, inside in decided.items():
            lower[job] = upper[job] = float(inside)
        answer = WarmStartedProgram(replace(self.program, lower=lower, upper=upper)).solve(
            self.clock.left
        )
        if answer.point is None or answer.row_dual is None or answer.objective is None:
            return self.core_prices
        part, core_prices = (
            answer.point[: self.jobs],
            np.maximum(0.0, -answer.row_dual[: self.types]),
        )
        broken = np.abs(part - np.round(part))
        if -answer.objective <= self.best + self.tolerance or broken.max() < 1e-7:
            self.best = max(self.best, -answer.objective)
            return core_prices
        if len(decided) == DEEPEST:
            return core_prices
        job = int(np.argmax(broken))
        sides = {
            name: self._below({**decided, job: inside})
            for name, inside in (("in", True), ("out", False))
        }
        return {"job": job, **sides}


def _program(given: Admission, cores: Integers, prices: Floats) -> LinearProgram:
    """Linear program of the most speed minus prices of jobs on one VM; the first rows are its
    cores.
    """
    jobs, types = given.jobs, given.types
    rows = ProgramBuilder()
    part = rows.columns(jobs, upper=1.0, cost=prices)
    core_columns = rows.columns(jobs * types, cost=-given.speed.reshape(-1))
    kind, owner = np.tile(np.arange(types), jobs), np.repeat(np.arange(jobs), types)
    rows.sums(types, (kind, core_columns, 1.0), upper=cores)
    rows.sums(jobs, (owner, core_columns, 1.0), (np.arange(jobs), part, -given.threads), upper=0.0)
    rows.at_most(0.0, (core_columns, 1.0), (part[owner], -cores[kind]))
    return rows.build()


def _on_grid(tree: Any, over: int) -> Any:
    """Copy a tree of branches, with the core prices at its leaves as integers over `over`."""
    if isinstance(tree, dict):
        return {
            name: entry if name == "job" else _on_grid(entry, over) for name, entry in tree.items()
        }
    return on_grid(tree, over)
