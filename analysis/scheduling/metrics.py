"""Metrics of a schedule: use of the machines, and distance from the Shapley value.

Unfairness and debts need the values of all coalitions, that is REF. They are worked out when REF
takes seconds (`reference` auto: 3^k times the number of jobs up to 2e9), once per instance, and
left out when it does not.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Literal

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, is_greedy, utilities
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import durations, job_units
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley_schedule import Reference, affordable
from ...solvers.scheduling.shapley_schedule import reference as shapley_reference
from ..metric import Facts, Metric, Stated

METRICS: tuple[Metric, ...] = (
    Metric("unfairness", "unfairness (delta psi / p_tot)", digits=3, short="unfairness"),
    Metric("most_owed", "most owed to one organization [unit-time]", digits=0, short="most owed"),
    Metric("utilization", "utilization", "max", short="utilization"),
    Metric("utility", "total utility psi_sp", "max", digits=0, whole=True, short="utility"),
    Metric("flow_time", "mean flow time", digits=2, short="flow time"),
    Metric("started", "jobs started", "max", digits=0, whole=True, short="started"),
    Metric("completed", "jobs completed", "max", digits=0, whole=True, short="completed"),
)


@validate_options
def metrics(
    instance: Scheduling,
    schedule: Schedule,
    *,
    reading: Reading = "figure",
    reference: Literal["auto", "REF", "none"] = "auto",
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of a feasible schedule.

    `unfairness`: the sum over organizations of |psi - psi of REF|, over the work REF does before
    the horizon (paper, section 7.2; the absolute values are missing in its text): the mean
    unjustified delay or speed-up of a unit of work. Left out when REF does no work. `most_owed`:
    the largest phi - psi, in units of work times time; phi has the schedule's own total utility as
    the value of all, so debts sum to 0. `utilization`: share of all machines' time until the
    horizon, of all they could do where they differ in speed. `utility`: total psi_sp. `flow_time`:
    mean over jobs released before the horizon of the time from release to completion, or to the
    horizon if that comes first; so a schedule that starts nothing has the worst, not the best. Per
    organization, by name: `psi:NAME`, and with a reference `phi:NAME` and `owed:NAME`.

    Parameters
    ----------
    reading : of REF, see `solvers.scheduling.shapley_schedule.ref`.
    reference : "auto": REF where it takes seconds; "REF": always; "none": never.
    only : the metrics that are needed; of the others those that take long are left out.
    """
    if only is not None and not {"unfairness", "most_owed"} & set(only):
        reference = "none"
    horizon = instance.horizon
    psi, length = utilities(instance, schedule), durations(instance, schedule.machine)
    done = job_units(instance, schedule, horizon)
    result: dict[str, float] = {}
    owed: list[Fraction] | None = None
    if reference == "REF" or (reference == "auto" and affordable(instance)):
        found = shapley_reference(instance, reading)
        owed = [share - mine for share, mine in zip(found.phi(psi), psi.tolist(), strict=True)]
        distance = unfairness(found, psi)
        result |= ({} if distance is None else {"unfairness": distance}) | {
            "most_owed": float(max(owed))
        }
    result |= {
        "utilization": float(done.sum() / (instance.capacity * horizon)),
        "utility": float(sum(psi.tolist())),
        "started": float(schedule.started.sum()),
        "completed": float((schedule.started & (schedule.start + length <= horizon)).sum()),
    }
    if (flow := mean_flow_time(instance, schedule)) is not None:
        result["flow_time"] = flow
    for u, name in enumerate(instance.names):
        result[f"psi:{name}"] = float(psi[u])
        if owed is not None:
            result |= {f"phi:{name}": float(owed[u] + int(psi[u])), f"owed:{name}": float(owed[u])}
    return result


def unfairness(found: Reference, psi: Integers) -> float | None:
    """Sum of the differences of utilities from REF's per unit of REF's work; None without work."""
    if found.units == 0:
        return None
    distance = sum(abs(a - b) for a, b in zip(psi.tolist(), found.psi.tolist(), strict=True))
    return float(distance / found.units)


def mean_flow_time(instance: Scheduling, schedule: Schedule) -> float | None:
    """Mean time from release to completion or horizon, of jobs released before; None without."""
    released = instance.release < instance.horizon
    if not released.any():
        return None
    end = np.where(
        schedule.started,
        np.minimum(schedule.start + durations(instance, schedule.machine), instance.horizon),
        instance.horizon,
    )
    return float((end - instance.release)[released].mean())


def facts(stated: Stated) -> Facts:
    """Recompute utilities, REF's shares and debts, and the fluid bound of a certificate."""
    from ...baselines.scheduling.rules import guarantee
    from ...models.scheduling import fluid_bound

    instance, schedule, options = stated.instance, stated.answer, stated.options
    if schedule is None:
        return {}
    if stated.method == "REF":
        return _ref(stated, utilities(instance, schedule).tolist())
    if stated.method == "RAND":
        chance = options["orderings"], options["confidence"]
        return stated.echoed("orderings", "reading") | {
            "psi": utilities(instance, schedule).tolist(),
            "guarantee": guarantee(instance.organizations, *chance),
        }
    if stated.method not in ("max-utilization", "max-utility"):
        return {}
    utility = stated.method == "max-utility"
    unit = 1.0 if utility else 1.0 / (instance.capacity * instance.horizon)
    fluid = fluid_bound(instance, "utility" if utility else "utilization") * unit
    facts: Facts = {"fluid_bound": fluid}
    if {"greedy", "engine_message"} & stated.certificate.keys():
        facts["greedy"] = is_greedy(instance, schedule)
    return facts


def _ref(stated: Stated, psi: list[int]) -> Facts:
    from ...solvers.scheduling.event_loop import memory_needed

    instance, options = stated.instance, stated.options
    if options["utility"] != "throughput":  # psi and phi are of the other utility
        return stated.echoed("reading", "utility") | {"psi_sp": psi}
    masks = np.arange(1, 1 << instance.organizations)
    memory = round(memory_needed(instance, masks) / 1e6, 3)
    facts = {"psi": psi, "coalitions": len(masks), "memory_mb": memory} | stated.echoed("reading")
    asked = options["reference"]
    again = asked == "REF" or (asked == "auto" and affordable(instance))
    if not again or "decided_until" in stated.certificate:
        return facts
    ref = shapley_reference(instance, options["reading"])
    phi = ref.phi(psi)
    return facts | {
        "contended decisions": ref.contended,
        "phi": [float(share) for share in phi],
        "owed": [float(share - mine) for share, mine in zip(phi, psi, strict=True)],
    }
