"""Fluid programs in Pyomo, written to be read; solvers build them as arrays."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from ...instances.numa.bounds import link_energy
from ...instances.numa.instance import Numa
from ...instances.problem.option_types import validate_options


@validate_options
def throughput_model(instance: Numa) -> Any:
    """Maximize throughput [tasks/s]: variables `work[k, l, p]` and `throughput`."""
    model = _flows(instance)
    model.throughput = pyo.Var(domain=pyo.NonNegativeReals)
    _conserve(instance, model)
    model.most = pyo.Objective(expr=model.throughput, sense=pyo.maximize)
    return model


@validate_options
def power_model(instance: Numa, throughput: float) -> Any:
    """Minimize link power [W] at a throughput [tasks/s]: variables `work[k, l, p]`."""
    model = _flows(instance)
    model.throughput = pyo.Param(initialize=throughput)
    _conserve(instance, model)
    energy = link_energy(instance)
    tasks = {key: model.work[key] / instance.service_mean[key[0]] for key in model.routes}
    model.least = pyo.Objective(
        expr=sum(
            tasks[k, place, p] * energy[k, instance.distance[place, p]]
            for k, place, p in model.routes
        ),
        sense=pyo.minimize,
    )
    return model


def _flows(instance: Numa) -> Any:
    model = pyo.ConcreteModel(name="numa")
    model.classes = pyo.RangeSet(0, instance.classes - 1)
    model.memories = pyo.RangeSet(0, instance.processors - 1)
    model.processors = pyo.RangeSet(0, instance.processors - 1)
    model.routes = model.classes * model.memories * model.processors
    model.work = pyo.Var(model.routes, domain=pyo.NonNegativeReals)

    @model.Constraint(model.processors)
    def cores_suffice(m: Any, p: int) -> Any:
        time = sum(
            float(instance.slowdown[k, instance.distance[place, p]]) * m.work[k, place, p]
            for k in m.classes
            for place in m.memories
        )
        return time <= instance.cores

    return model


def _conserve(instance: Numa, model: Any) -> None:
    @model.Constraint(model.classes, model.memories)
    def every_task_runs_somewhere(m: Any, k: int, place: int) -> Any:
        share = float(
            instance.class_share[k] * instance.service_mean[k] * instance.location_share[place]
        )
        return sum(m.work[k, place, p] for p in m.processors) == m.throughput * share
