"""What of a stored allocation's claims is worked out again."""

from __future__ import annotations

import itertools

import numpy as np

from ...instances.market.equilibrium import residuals
from ...instances.market.exact import WholeRatios
from ...instances.market.families import family_named
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.market.utility import user_utilities
from ...solvers.market.leximin import LEVEL
from ...solvers.market.utilitarian import total_bound
from ...solvers.market.welfare_bounds import family_bound, welfare_bound
from ...solvers.outcome import Status
from ..claim_checks import ClaimChecks, alike

_PRICED = ("fisher", "fisher-convex", "PRD")


def claims(instance: Market, checks: ClaimChecks) -> None:
    """Residuals, the bounds that the answer itself proves (by the tangent plane at it, or by the
    price of the last core), and leximin's levels as the answer's own ratios.
    """
    checks.limits["equilibrium_error"] = 0.0
    allocation, options = checks.solution, checks.options
    if not isinstance(allocation, Allocation):
        return
    family = family_named(options.get("utility", "amdahl"), options.get("rho", 0.5))
    error = (residuals if family is None else family.residuals)(instance, allocation)
    rounded = options.get("rounding", "none") != "none"  # residuals of the allocation before
    if error is not None and not rounded:
        all_needed = family is not None or checks.method in _PRICED
        checks.compare(error.document(), None if all_needed else ())
    if checks.method in ("fisher", "fisher-convex"):
        checks.compare({"tolerance": options["tolerance"]})
    whole = options.get("whole") is True
    if checks.bound is not None and checks.objective == "total_utility":
        checks.limits["total_utility"] = total_bound(instance, whole=whole)
    elif checks.bound is not None and checks.objective == "nash_welfare":
        if family is None:
            utilities = user_utilities(instance, allocation.cores)
            checks.limits["nash_welfare"] = welfare_bound(instance, utilities)
        elif allocation.price is not None:
            checks.limits["nash_welfare"] = family_bound(instance, family, allocation)
    whole |= checks.method == "leximin"
    if whole and (allocation.cores != np.round(allocation.cores)).any():
        checks.broken.append("the answer is not of whole cores")
    if checks.method == "utilitarian":
        checks.compare({"cores": "whole" if whole else "fractional"})
    if checks.method == "leximin":
        _ratios(instance, np.round(allocation.cores), checks)


def _ratios(instance: Market, cores: Floats, checks: ClaimChecks) -> None:
    """The levels of `leximin` are the answer's own ratios, from the least up, worked out exactly;
    that no others are better is not proved again.
    """
    every = sorted(WholeRatios(instance).all(cores))
    own = [(float(ratio), len(list(users))) for ratio, users in itertools.groupby(every)]
    levels = checks.certificate.get("levels", [])
    checks.compare({"leximin": len(levels) == len(own)})
    if len(levels) > len(own):
        checks.broken.append(
            f"{len(levels)} levels are claimed; the answer's ratios have {len(own)}"
        )
    for number, (level, (value, users)) in enumerate(zip(levels, own, strict=False)):
        checks.checked |= {f"levels[{number}].{name}" for name in ("objective", "value", "users")}
        expected = {"objective": LEVEL, "value": value, "users": users}
        expected |= {"bound": value, "status": Status.OPTIMAL.value}
        checks.broken += [
            f"level {number + 1}: {name} is {wanted}, not {level.get(name)!r} as claimed"
            for name, wanted in expected.items()
            if not alike(wanted, level.get(name))
        ]
