"""What a certificate of admission proves, looked over again."""

from __future__ import annotations

import numpy as np

from ...instances.admission import Admission
from ...instances.admission.prices import price_bound
from ...instances.admission.rules import scale
from ...solvers.admission.columns import sets_bound
from ...solvers.admission.max_jobs import most_possible
from ...solvers.outcome import implies
from ..claim_checks import ClaimChecks, Floats, Stored


def claims(instance: Admission, stored: Stored) -> ClaimChecks:
    """The bounds that prices of cores prove, and what VMs to themselves, or all cores, allow at
    most.
    """
    found = ClaimChecks(bounds={"blocking_pairs": 0.0})
    certificate = stored.certificate
    if stored.bound is not None:
        found.bounds |= {
            "assigned": most_possible(instance) / instance.jobs,
            "total_speed": scale(instance, "total_speed"),  # everybody on an empty VM
        }
    prices = found.numbers(certificate, "prices", instance.cores.shape)
    if prices is not None and (prices < 0).any():
        found.record_check("prices", "has a price below 0, which proves nothing")
    elif prices is not None:
        proved = price_bound(instance, prices)
        found.bounds["total_speed"] = min(found.bounds.get("total_speed", np.inf), proved)
        found.compare(certificate, {"price_bound": proved}, ["price_bound"])
        _job_prices(found, instance, stored, prices)
    elif "price_bound" in certificate:
        found.record_check("price_bound", "has no prices that prove it")
    return found


def _job_prices(
    found: ClaimChecks, instance: Admission, stored: Stored, core_prices: Floats
) -> None:
    """What the prices of jobs prove, where that is as much as is claimed: a search that is cut off
    proves less.
    """
    given = ClaimChecks().numbers(stored.certificate, "job_prices", (instance.jobs,))
    if (
        given is None
        or (given < 0).any()
        or stored.objective != "total_speed"
        or stored.bound is None
    ):
        return
    proved = sets_bound(instance, core_prices, given)
    if implies(proved, stored.bound, "max"):
        found.record_check("job_prices")
        found.bounds["total_speed"] = min(found.bounds["total_speed"], proved)
