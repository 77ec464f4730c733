"""Proofs of fluid flows: an exact flow, and prices of processor time.

The theorem stands above `Flows.priced` in the verifier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.numa.instance import Floats, Flow
from ...instances.problem.proof import Proof, multipliers
from ...verify.frame import ProofCase
from ...verify.numa import Flows, numa_fluid, numa_power
from ...verify.reading import Refused
from ..numa.fluid import fluid as most_flow
from ..outcome import Outcome, Status
from . import Claimed, Task, checked_proof, strongest_proof
from .rounding import on_grid, option, over_common

PARTS = 10**12
"""So many parts are the tasks of a class and memory divided into."""

DIGITS = 10**12
"""The largest price, in whole numbers."""

NICE = (10**3, 10**5, 10**7)
"""Round data have round answers: these denominators may meet them exactly."""

SMALL = 10_000
"""Classes times processors squared up to which that is tried."""

MIXED = (0, 10, 10**3, 10**6)
"""Parts of the flow of most throughput that are mixed into one that rounding gave too much work."""

Unknown = tuple[int, int, int]
"""Class, memory, processor: the part of the tasks that go there."""

WORK: Unknown = (-1, -1, -1)
"""The work of every processor whose time has a price."""

ENERGIES = ("ht_energy", "pcie_energy", "pcie_hops")


def fluid(task: Task) -> Proof:
    """Proof of `fluid`: the maximum throughput, and the least link power at it."""
    options, certificate = _options(task, *ENERGIES), task.outcome.certificate
    second = certificate["levels"][1].get("prices")
    ratios = np.array(certificate["prices"]) / max(certificate["prices"])  # only ratios matter
    case, grids = task.case(options, [], []), _grids(task)
    flow = _flow(task.outcome)

    def rate(split: dict[str, Any]) -> Fraction:
        case.witness = split
        return numa_fluid(case)[0].value or Fraction(0)

    splits = [_split(flow, grid) for grid in grids]
    if len(grids) > 1:
        splits.append(_balanced(task.case(options), splits[0], ratios))
    witness = max(({"split": split} for split in splits), key=rate)
    steps: list[Sequence[Mapping[str, Any]]] = []
    for prices in (ratios, second) if second is not None else (ratios,):
        tries = ([_step(prices, grid)] for grid in grids)
        proof = strongest_proof(task, tries, before=steps, options=options, witness=witness)
        steps.append(proof.levels[-1].steps)
    return proof


def fluid_power(task: Task) -> Proof:
    """Proof of `fluid-power`: the least link power at a throughput, or that no placement sustains
    it.
    """
    options, prices = _options(task, "throughput", *ENERGIES), task.outcome.certificate["prices"]
    tries = ([_step(prices, grid)] for grid in _grids(task))
    proof = strongest_proof(task, tries, options=options, witness=None)
    [level] = proof.levels
    if task.outcome.status is Status.INFEASIBLE and not level.infeasible:
        raise Claimed("the throughput is so near to the most that prices do not rule it out")
    if level.infeasible or task.outcome.solution is None:
        return proof
    witness = _sustained(task, task.case(options, level.steps))
    return checked_proof(task, level.steps, options=options, witness=witness)


def _grids(task: Task) -> tuple[int | None, ...]:
    """Denominators to which dual prices are rounded in turn; None stands for twelve digits."""
    given = task.instance
    return (None, *NICE) if given.classes * given.processors**2 <= SMALL else (None,)


def _sustained(task: Task, case: ProofCase) -> dict[str, Any] | None:
    """Exact flow near the method's, mixed with the flow of maximum throughput if it overloads
    processors; None if all mixtures do.
    """
    own, other = _flow(task.outcome).flow, None
    for grid in _grids(task)[:0:-1]:
        if (split := _holding(case, Flow(1.0, own), grid)) is not None:
            return split
    for parts in MIXED:
        if parts and other is None:
            other = _flow(most_flow(task.instance)).flow
        mixed = own if other is None else own / own.sum() + other / other.sum() * (parts / PARTS)
        if (split := _holding(case, Flow(1.0, mixed), None)) is not None:
            return split
    return None


def _holding(case: ProofCase, flow: Flow, grid: int | None) -> dict[str, Any] | None:
    """Flow as a proof's witness; None unless capacities hold (and, with `grid`, power is least)."""
    case.witness = {"split": _split(flow, grid)}
    try:
        [level] = numa_power(case)
    except Refused:
        return None
    return case.witness if grid is None or level.value == level.bound else None


def _balanced(case: ProofCase, split: list[list[int]], prices: Floats) -> list[list[int]]:
    """Flow parts adjusted such that all processors of positive price have exactly equal work;
    unchanged if impossible.
    """
    case.witness = {"split": split}
    given, rows = Flows(case), dict[tuple[int, int], dict[int, int]]()
    for k, memory, p, number in split:
        rows.setdefault((k, memory), {})[p] = number
    base, near = list(given.work), dict[Unknown, Fraction]()
    seconds: dict[int, dict[Unknown, Fraction]] = {p: {} for p in range(len(base))}
    equations: list[tuple[dict[Unknown, Fraction], Fraction]] = []
    for (k, memory), by_processor in rows.items():
        for p, number in by_processor.items():
            each = given.share[k][memory] * given.time[k][given.away[memory][p]]
            near[k, memory, p] = Fraction(number, sum(by_processor.values()))
            base[p] -= each * near[k, memory, p]
            seconds[p][k, memory, p] = each
        equations.append(({(k, memory, p): Fraction(1) for p in by_processor}, Fraction(1)))
    for p in np.flatnonzero(prices > 0).tolist():
        equations.append(({**seconds[p], WORK: Fraction(-1)}, -base[p]))
    solution = _solved(equations, near)
    if solution is None or min([solution[entry] for entry in near], default=Fraction(0)) < 0:
        return split
    exact = []
    for (k, memory), by_processor in rows.items():
        parts, _ = over_common(solution[k, memory, p] for p in by_processor)
        exact += [[k, memory, p, n] for p, n in zip(by_processor, parts, strict=True) if n]
    return exact


def _solved(
    equations: list[tuple[dict[Unknown, Fraction], Fraction]], near: dict[Unknown, Fraction]
) -> dict[Unknown, Fraction] | None:
    """Solve linear equations in fractions, free variables as in `near`; None if impossible."""
    pivots: dict[Unknown, tuple[dict[Unknown, Fraction], Fraction]] = {}

    def without(
        row: dict[Unknown, Fraction], right: Fraction, name: Unknown
    ) -> tuple[dict[Unknown, Fraction], Fraction]:
        times, (other, value) = row[name], pivots[name]
        mixed = {key: row.get(key, 0) - times * other.get(key, 0) for key in {**row, **other}}
        return {key: Fraction(part) for key, part in mixed.items() if part}, right - times * value

    for row, right in equations:
        for name in [name for name in pivots if name in row]:
            row, right = without(row, right, name)
        if not row and right:
            return None
        if row:
            chosen = max(row, key=lambda name: (name == WORK, abs(row[name])))
            times = row[chosen]
            pivots[chosen] = {key: part / times for key, part in row.items()}, right / times
            for name in [name for name in pivots if name != chosen and chosen in pivots[name][0]]:
                pivots[name] = without(*pivots[name], chosen)
    solution = dict(near)
    for name, (row, right) in pivots.items():
        rest = [part * near[key] for key, part in row.items() if key != name]
        solution[name] = right - sum(rest, Fraction(0))
    return solution


def _flow(outcome: Outcome) -> Flow:
    assert isinstance(outcome.solution, Flow)
    return outcome.solution


def _options(task: Task, *names: str) -> dict[str, Any]:
    given = {name: task.options.get(name) for name in names}
    return {name: option(value) for name, value in given.items() if value is not None}


def _step(prices: Floats | list[float], grid: int | None) -> dict[str, Any]:
    """Proof step with processor prices as integers over a denominator: multiples of a power of ten,
    of denominators up to `grid`, or else the largest price with twelve digits.
    """
    values = np.asarray(prices, dtype=float)
    largest = float(values.max())
    if grid is not None and largest > 0:
        unit = Fraction(10) ** math.floor(math.log10(largest))
        exact = [Fraction(float(value)) / unit for value in values]
        near = over_common(part.limit_denominator(grid) * unit for part in exact)
        return {"kind": "dual", "prices": multipliers(*near)}
    power = max(1, int(Fraction(DIGITS) / Fraction(largest))) if largest > 0 else 1
    return {"kind": "dual", "prices": multipliers(on_grid(values, power), power)}


def _split(solution: Flow, grid: int | None) -> list[list[int]]:
    """Rows (class, memory, processor, integer share) of tasks that run away from their data too."""
    entries = []
    for k, by_memory in enumerate(solution.flow):
        for memory, row in enumerate(by_memory):
            if row.sum() <= 0:
                continue
            parts = on_grid(row / row.sum(), PARTS)
            if grid is not None:
                near = [Fraction(float(x)).limit_denominator(grid) for x in row / row.sum()]
                parts, _ = over_common(near)
            used = [p for p, number in enumerate(parts) if number > 0]
            if used != [memory]:
                entries += [[k, memory, p, parts[p]] for p in used]
    return entries
