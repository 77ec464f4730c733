"""Proofs of long-run flows: what tasks go where, as whole parts, and prices of processors' time.

The theorem stands above `Flows.priced` in `verify.py`.
"""

from __future__ import annotations

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
from .rounding import on_grid, option

PARTS = 10**12
"""So many parts are the tasks of a class and memory divided into."""

DIGITS = 10**12
"""The largest price, in whole numbers."""

MIXED = (0, 10, 10**3, 10**6)
"""Parts of the flow of most throughput that are mixed into one that rounding gave too much work."""

ENERGIES = ("ht_energy", "pcie_energy", "pcie_hops")


def fluid(task: Task) -> Proof:
    """Of `fluid`: the most throughput, and the least link power at that of the answer."""
    options, certificate = _options(task, *ENERGIES), task.outcome.certificate
    second = certificate["levels"][1].get("prices")
    ratios = np.array(certificate["prices"]) / max(certificate["prices"])  # only ratios matter
    steps = [[_step(ratios)], [] if second is None else [_step(second)]]
    case = task.case(options, *steps)
    case.witness = witness = {"split": _split(_flow(task.outcome))}
    made = tuple(
        Level(
            name, "max" if name == "served_rate" else "min", entry.value, entry.bound, tuple(part)
        )
        for name, entry, part in zip(
            ("served_rate", "flow_power"), verify.numa_fluid(case), steps, strict=True
        )
    )
    return Proof("numa", "fluid", made[: 2 if second is not None else 1], options, witness)


def fluid_power(task: Task) -> Proof:
    """Of `fluid-power`: the least link power at a throughput, or that none sustains it."""
    options = _options(task, "throughput", *ENERGIES)
    steps = ([_step(task.outcome.certificate["prices"])],)
    case = task.case(options, *steps)
    case.witness = None
    if task.outcome.status is Status.INFEASIBLE:
        [found] = verify.numa_power(case)
        if not found.infeasible:
            raise Claimed("the throughput is so near to the most that prices do not rule it out")
        level = Level("link_power", "min", None, None, tuple(steps[0]), infeasible=True)
        return Proof("numa", "fluid-power", (level,), options, None)
    witness = None
    if task.outcome.solution is not None:
        witness = case.witness = _sustained(task, case)
    [found] = verify.numa_power(case)
    level = Level("link_power", "min", found.value, found.bound, tuple(steps[0]))
    return Proof("numa", "fluid-power", (level,), options, witness)


def _sustained(task: Task, case: verify.Case) -> dict[str, Any] | None:
    """The answer in whole parts; where that is a little too much work, with a little of the flow of
    most throughput.
    """
    own, other = _flow(task.outcome).flow, None
    for parts in MIXED:
        if parts and other is None:
            other = _flow(most_flow(task.instance)).flow
        mixed = own if other is None else own / own.sum() + other / other.sum() * (parts / PARTS)
        case.witness = {"split": _split(Flow(1.0, mixed))}
        try:
            verify.numa_power(case)
        except verify.Refused:
            continue
        return case.witness
    return None


def _flow(outcome: Outcome) -> Flow:
    assert isinstance(outcome.solution, Flow)
    return outcome.solution


def _options(task: Task, *names: str) -> dict[str, Any]:
    given = {name: task.options.get(name) for name in names}
    return {name: option(value) for name, value in given.items() if value is not None}


def _step(prices: Floats | list[float]) -> dict[str, Any]:
    """Prices in whole numbers, the largest with twelve digits."""
    values = np.asarray(prices, dtype=float)
    over = Fraction(DIGITS) / Fraction(float(values.max())) if values.max() > 0 else Fraction(1)
    power = max(1, int(over))
    return {"kind": "dual", "prices": multipliers(on_grid(values, power), power)}


def _split(solution: Flow) -> list[list[int]]:
    """Class, memory, processor, parts: of the tasks that do not all run where their data is."""
    entries = []
    for k, by_memory in enumerate(solution.flow):
        for memory, row in enumerate(by_memory):
            if row.sum() <= 0:
                continue
            parts = on_grid(row / row.sum(), PARTS)
            used = [p for p, number in enumerate(parts) if number > 0]
            if used != [memory]:
                entries += [[k, memory, p, parts[p]] for p in used]
    return entries
