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

    witness = max(({"split": _split(flow, grid)} for grid in grids), key=rate)
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
    best = verify.Found()
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


def _sustained(task: Task, case: verify.Case) -> dict[str, Any] | None:
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


def _holding(case: verify.Case, flow: Flow, grid: int | None) -> dict[str, Any] | None:
    """The flow in whole parts, if no processor has too much work then; with a grid, only if its
    power is the least, exactly.
    """
    case.witness = {"split": _split(flow, grid)}
    try:
        [found] = verify.numa_power(case)
    except verify.Refused:
        return None
    return case.witness if grid is None or found.value == found.bound else None


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
