"""Programs of time shares in Pyomo, written to be read; solvers build them as arrays."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from ...instances.accelerators.instance import Accelerators, Floats
from ...instances.accelerators.measures import entitlements, owed_throughputs
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options


@validate_options
def max_min_model(instance: Accelerators) -> Any:
    """Pyomo model that maximizes the least normalized throughput: variables `share[i, j, d]`, jobs
    of type i alone (j = -1) or pairs on devices of kind d at a time, and `theta`.
    """
    return ratio_model(instance, entitlements(instance))


@validate_options
def ratio_model(instance: Accelerators, unit: Floats) -> Any:
    """Pyomo model of the largest theta that every job can have times the `unit` of its type.

    `unit` (T,) is in steps a second; with the remaining steps as unit, theta is 1 / makespan.
    """
    if np.shape(unit) != (instance.types,):
        raise InvalidOption(f"unit has shape {np.shape(unit)}; expected one for each type of job")
    model = _shares(instance)
    model.theta = pyo.Var(domain=pyo.NonNegativeReals)

    @model.Constraint(model.types)
    def every_job_has_theta(m: Any, i: int) -> Any:
        return m.throughput[i] >= m.theta * float(instance.count[i] * unit[i])

    model.most = pyo.Objective(expr=model.theta, sense=pyo.maximize)
    return model


@validate_options
def cost_model(instance: Accelerators, least: float = 1.0) -> Any:
    """Pyomo model that minimizes the cost per hour such that each job has its required throughput,
    see `min_cost`: variables `share[i, j, d]`.
    """
    model = _shares(instance)
    floor = owed_throughputs(instance, least)

    @model.Constraint(model.types)
    def every_job_has_what_it_is_owed(m: Any, i: int) -> Any:
        return m.throughput[i] >= float(instance.count[i] * floor[i])

    model.least = pyo.Objective(
        expr=sum(
            float(instance.workers[i] * instance.device_cost[d]) * model.share[i, j, d]
            for i, j, d in model.placements
        ),
        sense=pyo.minimize,
    )
    return model


def _shares(instance: Accelerators) -> Any:
    """Pyomo model of time shares with the throughput of each type and the limits of jobs and
    devices.
    """
    first, second, device, one, two, _ = instance.placements
    keys = list(zip(first.tolist(), second.tolist(), device.tolist(), strict=True))
    own = dict(zip(keys, one.tolist(), strict=True))
    partner = dict(zip(keys, two.tolist(), strict=True))
    model = pyo.ConcreteModel(name="accelerators")
    model.types = pyo.Set(initialize=sorted(set(first.tolist())))
    model.kinds = pyo.Set(initialize=sorted(set(device.tolist())))
    model.placements = pyo.Set(initialize=keys, dimen=3)
    model.share = pyo.Var(model.placements, domain=pyo.NonNegativeReals)

    @model.Expression(model.types)
    def throughput(m: Any, i: int) -> Any:
        as_first = sum(own[k] * m.share[k] for k in keys if k[0] == i)
        return as_first + sum(partner[k] * m.share[k] for k in keys if k[1] == i)

    @model.Constraint(model.types)
    def no_job_is_in_two_places(m: Any, i: int) -> Any:
        running = sum(k[:2].count(i) * m.share[k] for k in keys)
        return running <= int(instance.count[i])

    @model.Constraint(model.kinds)
    def devices_suffice(m: Any, d: int) -> Any:
        used = sum(int(instance.workers[k[0]]) * m.share[k] for k in keys if k[2] == d)
        return used <= int(instance.devices[d])

    return model
