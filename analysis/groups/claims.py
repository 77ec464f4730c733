"""What a certificate of groups proves, looked over again."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import UNIT, Grouping, Groups
from ...instances.groups.stability import least_alpha_of
from ...instances.problem.errors import InvalidOption
from ...models.groups.columns import Columns, columns_of
from ...solvers.groups.common import mean_of, price_bound, whole_prices
from ...solvers.groups.feasible import starting_grouping
from ...solvers.outcome import Clock, Status
from ..claim_checks import ClaimChecks, Stored, alike

MOST_PRICE = 2000.0
"""Up to here, and no further, a number says 12 decimals exactly."""


def claims(instance: Groups, stored: Stored) -> ClaimChecks:
    """The bound that the prices of jobs prove, in whole numbers, at which alpha no group blocks the
    answer, and that no grouping exists.
    """
    found = ClaimChecks(bounds={"blocking_groups": 0.0, "least_alpha": 0.0})
    if stored.solution is not None and stored.bound is None:
        return found
    try:
        columns = columns_of(instance)
    except InvalidOption:  # too many to list: nothing is proved again
        return found
    if stored.solution is None:
        begin = starting_grouping(instance, columns, None, Clock(None))
        found.impossible = not isinstance(begin, Grouping) and begin.status is Status.INFEASIBLE
        return found
    _prices(found, instance, columns, stored)
    if stored.method == "core":
        _core(found, instance, stored)
    return found


def _prices(found: ClaimChecks, instance: Groups, columns: Columns, stored: Stored) -> None:
    """What the jobs lose together at least, by a price of each type's jobs."""
    certificate = stored.certificate
    needed = ["groups_listed", "prices", "price_bound"]
    listed = stored.method == "optimal" or "levels" in certificate
    found.compare(certificate, {"groups_listed": len(columns)}, needed if listed else [])
    given = found.numbers(certificate, "prices", (instance.types,))
    if given is None:
        return
    price = np.array(whole_prices(np.clip(given, -MOST_PRICE, MOST_PRICE)), dtype=np.int64)
    if (price / UNIT != given).any():
        found.record_check("prices", "are not penalties of 12 decimals")
        return
    total = price_bound(instance, columns, price)
    found.compare(certificate, {"price_bound": mean_of(instance, total)})
    found.bounds["penalty"] = mean_of(instance, total)


def _core(found: ClaimChecks, instance: Groups, stored: Stored) -> None:
    """The alpha that was asked for, and the least at which no group blocks the answer."""
    assert isinstance(stored.solution, Grouping)
    certificate = stored.certificate
    needed = ["alpha"] if "levels" in certificate else []
    needed += ["least_alpha"] if "empty_at" in certificate else []
    found.compare(certificate, {"alpha": stored.options["alpha"]}, needed)
    if isinstance(least := certificate.get("least_alpha"), dict):
        value, stated = least_alpha_of(instance, stored.solution) / UNIT, least.get("value")
        if not isinstance(stated, float | int) or stated > value:
            found.broken.append(f"certificate: least_alpha is {value} of the answer, not {stated}")
        elif alike(value, stated):  # otherwise it is of a grouping with more that block
            found.checked.add("least_alpha.value")
