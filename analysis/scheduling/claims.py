"""What of a stored schedule's claims is worked out again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...baselines.scheduling.sampled import guarantee
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...instances.scheduling.feasibility import is_greedy
from ...models.scheduling.bound import fluid_bound
from ...solvers.scheduling.event_loop import memory_needed
from ...solvers.scheduling.shapley_schedule import affordable
from ...solvers.scheduling.shapley_schedule import reference as shapley_reference
from ..claim_checks import ClaimChecks


def claims(instance: Scheduling, checks: ClaimChecks) -> None:
    """psi, phi and debts, REF's where `metrics` would work REF out, and the fluid bound.

    No schedule is nearer to REF's than that one itself, so the bound 0 on unfairness always holds.
    """
    checks.limits["unfairness"] = 0.0
    schedule, certificate, options = checks.solution, checks.certificate, checks.options
    if not isinstance(schedule, Schedule):
        return
    if not schedule.greedy and is_greedy(instance, schedule):  # it says less than is true
        checks.unseen.add("greedy")
    if checks.method == "REF":
        checks.compare(_of_ref(instance, schedule, checks))
    elif checks.method == "RAND":
        expected = {name: options[name] for name in ("orderings", "reading")}
        values = guarantee(instance.organizations, options["orderings"], options["confidence"])
        psi = utilities(instance, schedule).tolist()
        checks.compare({**expected, "psi": psi, "guarantee": values})
        if "guarantee" in certificate:
            checks.checked |= {f"guarantee.{name}" for name in values}
    elif checks.method in ("max-utilization", "max-utility"):
        utility = checks.method == "max-utility"
        unit = 1.0 if utility else 1.0 / (instance.capacity * instance.horizon)
        fluid = fluid_bound(instance, "utility" if utility else "utilization") * unit
        checks.limits["utility" if utility else "utilization"] = fluid
        needed = None if "engine_message" in certificate else ["fluid_bound"]
        checks.compare({"fluid_bound": fluid, "greedy": is_greedy(instance, schedule)}, needed)


def _of_ref(instance: Scheduling, schedule: Schedule, checks: ClaimChecks) -> dict[str, Any]:
    """What the certificate of `REF` has to say."""
    options, psi = checks.options, utilities(instance, schedule).tolist()
    reading = {"reading": options["reading"]}
    if options["utility"] != "throughput":  # psi and phi are of the other utility
        return reading | {"utility": options["utility"], "psi_sp": psi}
    masks = np.arange(1, 1 << instance.organizations)
    memory = round(memory_needed(instance, masks) / 1e6, 3)
    expected = reading | {"psi": psi, "coalitions": len(masks), "memory_mb": memory}
    asked = options["reference"]
    again = asked == "REF" or (asked == "auto" and affordable(instance))
    if not again or "decided_until" in checks.certificate:
        return expected
    ref = shapley_reference(instance, options["reading"])
    phi = ref.phi(psi)
    return expected | {
        "contended decisions": ref.contended,
        "phi": [float(share) for share in phi],
        "owed": [float(share - mine) for share, mine in zip(phi, psi, strict=True)],
    }
