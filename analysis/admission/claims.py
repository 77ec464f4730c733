"""What of a stored answer to admission is worked out again."""

from __future__ import annotations

from ...instances.admission import Admission
from ...instances.admission.rules import scale
from ...solvers.admission.max_jobs import most_possible
from ..claim_checks import ClaimChecks


def claims(instance: Admission, checks: ClaimChecks) -> None:
    """What VMs to themselves, or all cores, allow at most."""
    checks.limits["blocking_pairs"] = 0.0
    checks.belong_together("prices", "price_bound")
    if checks.bound is not None:
        checks.limits |= {
            "assigned": most_possible(instance) / instance.jobs,
            "total_speed": scale(instance, "total_speed"),  # everybody on an empty VM
        }
