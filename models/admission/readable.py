"""Assignment program in Pyomo, written to be read; `optimal` solves the same program."""

from __future__ import annotations

from typing import Any

from ...instances.admission.instance import Admission


def readable(instance: Admission, *, least_jobs: int = 0) -> Any:
    """Pyomo model that maximizes total speed with at least `least_jobs` jobs assigned.

    Variables `x[j, v]` (job j runs on VM v) and `y[j, v, c]` (cores of type c it holds there);
    objective `speed`. About a hundred times slower to build than `assignment_program`: for reading,
    and for adding rows of one's own.
    """
    import pyomo.environ as pyo

    # 1. sets and variables
    model = pyo.ConcreteModel(name="admission")
    model.jobs = pyo.RangeSet(0, instance.jobs - 1)
    model.machines = pyo.RangeSet(0, instance.machines - 1)
    model.types = pyo.RangeSet(0, instance.types - 1)
    model.x = pyo.Var(model.jobs, model.machines, domain=pyo.Binary)
    model.y = pyo.Var(model.jobs, model.machines, model.types, domain=pyo.NonNegativeIntegers)

    # 2. rules of the objective and the rows
    def total(m: Any) -> Any:
        return sum(
            instance.speed[j, c] * m.y[j, v, c] for j in m.jobs for v in m.machines for c in m.types
        )

    def one_machine(m: Any, j: int) -> Any:
        return sum(m.x[j, v] for v in m.machines) <= 1

    def threads(m: Any, j: int, v: int) -> Any:
        return sum(m.y[j, v, c] for c in m.types) <= instance.threads[j] * m.x[j, v]

    def holds_a_core(m: Any, j: int, v: int) -> Any:
        return sum(m.y[j, v, c] for c in m.types) >= m.x[j, v]

    def on_its_machine(m: Any, j: int, v: int, c: int) -> Any:
        return m.y[j, v, c] <= min(instance.threads[j], instance.cores[v, c]) * m.x[j, v]

    def no_core_twice(m: Any, v: int, c: int) -> Any:
        return sum(m.y[j, v, c] for j in m.jobs) <= int(instance.cores[v, c])

    # 3. the objective and the rows by these rules
    model.speed = pyo.Objective(rule=total, sense=pyo.maximize)
    model.one_machine = pyo.Constraint(model.jobs, rule=one_machine)
    model.threads = pyo.Constraint(model.jobs, model.machines, rule=threads)
    model.holds_a_core = pyo.Constraint(model.jobs, model.machines, rule=holds_a_core)
    model.on_its_machine = pyo.Constraint(
        model.jobs, model.machines, model.types, rule=on_its_machine
    )
    model.no_core_twice = pyo.Constraint(model.machines, model.types, rule=no_core_twice)
    model.served = pyo.Constraint(
        rule=lambda m: sum(m.x[j, v] for j in m.jobs for v in m.machines) >= least_jobs
    )
    return model
