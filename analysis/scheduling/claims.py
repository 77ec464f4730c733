"""What a certificate of a schedule says, worked out again."""

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
from ..claim_checks import ClaimChecks, Stored


def claims(instance: Scheduling, stored: Stored) -> ClaimChecks:
    """psi, phi and debts, REF's where `metrics` would work REF out, and the fluid bound.

    No schedule is nearer to REF's than that one itself, so the bound 0 on unfairness holds of every
    schedule.
    """
    found = ClaimChecks(bounds={"unfairness": 0.0})
    schedule, certificate = stored.solution, stored.certificate
    if not isinstance(schedule, Schedule):
        return found
    if not schedule.greedy and is_greedy(instance, schedule):  # it says less than is true
        found.unseen.add("greedy")
    psi = utilities(instance, schedule).tolist()
    expected: dict[str, Any] = {}
    needed: list[str] = []
    if stored.method == "REF":
        expected = {"reading": stored.options["reading"], "psi": psi}
        plain = stored.options["utility"] != "throughput"
        if plain:  # psi and phi are of the other utility
            expected = {
                "reading": stored.options["reading"],
                "utility": stored.options["utility"],
                "psi_sp": psi,
            }
        else:
            masks = np.arange(1, 1 << instance.organizations)
            expected |= {
                "coalitions": len(masks),
                "memory_mb": round(memory_needed(instance, masks) / 1e6, 3),
            }
        needed = [*expected]
        reference = stored.options["reference"]
        if (
            not plain
            and "decided_until" not in certificate
            and (reference == "REF" or (reference == "auto" and affordable(instance)))
        ):
            ref = shapley_reference(instance, stored.options["reading"])
            phi = ref.phi(psi)
            expected |= {
                "contended decisions": ref.contended,
                "phi": [float(share) for share in phi],
            }
            expected["owed"] = [float(share - mine) for share, mine in zip(phi, psi, strict=True)]
            needed = [*expected]
    elif stored.method == "RAND":
        expected = {name: stored.options[name] for name in ("orderings", "reading")} | {"psi": psi}
        needed = [*expected, "guarantee"]
        values = guarantee(
            instance.organizations, stored.options["orderings"], stored.options["confidence"]
        )
        expected["guarantee"] = values
        found.checked |= (
            {f"guarantee.{name}" for name in values} if "guarantee" in certificate else set()
        )
    elif stored.method in ("max-utilization", "max-utility"):
        utility = stored.method == "max-utility"
        unit = 1.0 if utility else 1.0 / (instance.capacity * instance.horizon)
        fluid = fluid_bound(instance, "utility" if utility else "utilization") * unit
        found.bounds["utility" if utility else "utilization"] = fluid
        expected = {"fluid_bound": fluid, "greedy": is_greedy(instance, schedule)}
        needed = [*expected] if "engine_message" in certificate else ["fluid_bound"]
    found.compare(certificate, expected, needed)
    return found
