"""What of a stored grouping's claims is worked out again."""

from __future__ import annotations

from contextlib import suppress

from ...instances.groups.instance import UNIT, Grouping, Groups
from ...instances.groups.stability import least_alpha_of
from ...instances.problem.errors import InvalidOption
from ..claim_checks import ClaimChecks, alike


def claims(instance: Groups, checks: ClaimChecks) -> None:
    """The alpha that was asked for, and the least at which no group blocks the answer."""
    checks.limits |= {"blocking_groups": 0.0, "least_alpha": 0.0}
    grouping, certificate = checks.solution, checks.certificate
    if not isinstance(grouping, Grouping) or checks.bound is None:
        return
    checks.belong_together("groups_listed", "prices", "price_bound")
    if checks.method != "core":
        return
    needed = ["alpha"] if "levels" in certificate else []
    needed += ["least_alpha"] if "empty_at" in certificate else []
    checks.compare({"alpha": checks.options["alpha"]}, needed)
    if isinstance(least := certificate.get("least_alpha"), dict):
        with suppress(InvalidOption):  # too many groups to list
            value, stated = least_alpha_of(instance, grouping) / UNIT, least.get("value")
            if not isinstance(stated, float | int) or stated > value:
                checks.broken.append(
                    f"certificate: least_alpha is {value} of the answer, not {stated}"
                )
            elif alike(value, stated):  # otherwise it is of a grouping with more that block
                checks.record("least_alpha.value")
