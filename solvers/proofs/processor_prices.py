"""Proofs of long-run flows: what tasks go where, as whole parts, and prices of processors' time.

The theorem stands above `Flows.priced` in `verify.py`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ... import verify
from ...instances.numa.answer import Flow
from ...instances.numa.instance import Floats
from ...instances.problem.proof import Level, Proof, multipliers
from ..numa.fluid import fluid as most_flow
from ..outcome import Outcome, Status
from . import Claimed, Task
from .rounding import common, on_grid, option

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
    """Of `fluid`: the most throughput, and the least link power at that of the answer."""
    options, certificate = _options(task, *ENERGIES), task.outcome.certificate
    second = certificate["levels"][1].get("prices")
    ratios = np.array(certificate["prices"]) / max(certificate["prices"])  # only ratios matter
    case, grids = task.case(options, [], []), _grids(task)
    flow = _flow(task.outcome)

    def rate(split: dict[str, Any]) -> Fraction:
        case.witness = split
        return verify.numa_fluid(case)[0].value or Fraction(0)

    splits = [_split(flow, grid) for grid in grids]
    if len(grids) > 1:
        splits.append(_balanced(task.case(options), splits[0], ratios))
    witness = max(({"split": split} for split in splits), key=rate)
    case.witness = witness
    steps: list[tuple[dict[str, Any], ...]] = [(), ()]
    for level, prices in enumerate((ratios, second)):
        best: Fraction | None = None
        for grid in grids if prices is not None else []:
            step = _step(prices, grid)
            case.steps[level] = [step]
            bound = verify.numa_fluid(case)[level].bound
            assert bound is not None
            if best is None or (bound < best if level == 0 else bound > best):
                best, steps[level] = bound, (step,)
        case.steps[level] = list(steps[level])
    first, other = verify.numa_fluid(case)
    made = [Level("served_rate", "max", first.value, first.bound, steps[0])]
    if second is not None:
        made.append(Level("flow_power", "min", other.value, other.bound, steps[1]))
    return Proof("numa", "fluid", tuple(made), options, witness)


def fluid_power(task: Task) -> Proof:
    """Of `fluid-power`: the least link power at a throughput, or that none sustains it."""
    options, prices = _options(task, "throughput", *ENERGIES), task.outcome.certificate["prices"]
    case = task.case(options, [])
    case.witness = None
    steps: tuple[dict[str, Any], ...] = ()
    best = verify.CheckedLevel()
    for grid in _grids(task):
        case.steps = [[_step(prices, grid)]]
        [found] = verify.numa_power(case)
        if best.bound is None or found.infeasible or (found.bound or 0) > best.bound:
            best, steps = found, (_step(prices, grid),)
    if task.outcome.status is Status.INFEASIBLE:
        if not best.infeasible:
            raise Claimed("the throughput is so near to the most that prices do not rule it out")
        level = Level("link_power", "min", None, None, steps, infeasible=True)
        return Proof("numa", "fluid-power", (level,), options, None)
    case.steps, witness = [list(steps)], None
    if task.outcome.solution is not None:
        witness = case.witness = _sustained(task, case)
    [found] = verify.numa_power(case)
    level = Level("link_power", "min", found.value, found.bound, steps)
    return Proof("numa", "fluid-power", (level,), options, witness)


def _grids(task: Task) -> tuple[int | None, ...]:
    """None, for many digits, and the largest denominators of fractions that are tried besides."""
    given = task.instance
    return (None, *NICE) if given.classes * given.processors**2 <= SMALL else (None,)


def _sustained(task: Task, case: verify.ProofCase) -> dict[str, Any] | None:
    """The answer in whole parts; where that is a little too much work, with a little of the flow of
    most throughput.
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


def _holding(case: verify.ProofCase, flow: Flow, grid: int | None) -> dict[str, Any] | None:
    """The flow in whole parts, if no processor has too much work then; with a grid, only if its
    power is the least, exactly.
    """
    case.witness = {"split": _split(flow, grid)}
    try:
        [found] = verify.numa_power(case)
    except verify.Refused:
        return None
    return case.witness if grid is None or found.value == found.bound else None


def _balanced(case: verify.ProofCase, split: list[list[int]], prices: Floats) -> list[list[int]]:
    """The split with parts that give all processors of a price above 0 exactly the same work, as
    the most throughput does; as it was where there are none.
    """
    case.witness = {"split": split}
    given, rows = verify.Flows(case), dict[tuple[int, int], dict[int, int]]()
    for k, memory, p, number in split:
        rows.setdefault((k, memory), {})[p] = number
    base, near = list(given.work), dict[Unknown, Fraction]()
    seconds: dict[int, dict[Unknown, Fraction]] = {p: {} for p in range(len(base))}
    equations: list[tuple[dict[Unknown, Fraction], Fraction]] = []
    for (k, memory), here in rows.items():
        for p, number in here.items():
            each = given.share[k][memory] * given.time[k][given.away[memory][p]]
            near[k, memory, p] = Fraction(number, sum(here.values()))
            base[p] -= each * near[k, memory, p]
            seconds[p][k, memory, p] = each
        equations.append(({(k, memory, p): Fraction(1) for p in here}, Fraction(1)))
    for p in np.flatnonzero(prices > 0).tolist():
        equations.append(({**seconds[p], WORK: Fraction(-1)}, -base[p]))
    found = _solved(equations, near)
    if found is None or min([found[entry] for entry in near], default=Fraction(0)) < 0:
        return split
    exact = []
    for (k, memory), here in rows.items():
        over = common(found[k, memory, p].denominator for p in here)
        parts = {p: int(found[k, memory, p] * over) for p in here}
        exact += [[k, memory, p, number] for p, number in parts.items() if number]
    return exact


def _solved(
    equations: list[tuple[dict[Unknown, Fraction], Fraction]], near: dict[Unknown, Fraction]
) -> dict[Unknown, Fraction] | None:
    """An exact solution, what the equations leave open as it is in `near`; None without one."""
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
    found = dict(near)
    for name, (row, right) in pivots.items():
        rest = [part * near[key] for key, part in row.items() if key != name]
        found[name] = right - sum(rest, Fraction(0))
    return found


def _flow(outcome: Outcome) -> Flow:
    assert isinstance(outcome.solution, Flow)
    return outcome.solution


def _options(task: Task, *names: str) -> dict[str, Any]:
    given = {name: task.options.get(name) for name in names}
    return {name: option(value) for name, value in given.items() if value is not None}


def _step(prices: Floats | list[float], grid: int | None) -> dict[str, Any]:
    """Prices in whole numbers: the largest with twelve digits, or all as fractions of its power of
    ten with denominators up to `grid`.
    """
    values = np.asarray(prices, dtype=float)
    largest = float(values.max())
    if grid is not None and largest > 0:
        unit = Fraction(10) ** math.floor(math.log10(largest))
        exact = [Fraction(float(value)) / unit for value in values]
        near = [part.limit_denominator(grid) * unit for part in exact]
        over = common(part.denominator for part in near)
        return {"kind": "dual", "prices": multipliers([int(part * over) for part in near], over)}
    power = max(1, int(Fraction(DIGITS) / Fraction(largest))) if largest > 0 else 1
    return {"kind": "dual", "prices": multipliers(on_grid(values, power), power)}


def _split(solution: Flow, grid: int | None) -> list[list[int]]:
    """Class, memory, processor, parts: of the tasks that do not all run where their data is."""
    entries = []
    for k, by_memory in enumerate(solution.flow):
        for memory, row in enumerate(by_memory):
            if row.sum() <= 0:
                continue
            parts = on_grid(row / row.sum(), PARTS)
            if grid is not None:
                near = [Fraction(float(x)).limit_denominator(grid) for x in row / row.sum()]
                over = common(part.denominator for part in near)
                parts = [int(part * over) for part in near]
            used = [p for p, number in enumerate(parts) if number > 0]
            if used != [memory]:
                entries += [[k, memory, p, parts[p]] for p in used]
    return entries
