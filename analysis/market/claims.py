"""What a certificate of a market proves, looked over again."""

from __future__ import annotations

import itertools
from typing import Any

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
from ..claim_checks import ClaimChecks, Stored, alike

_PRICED = ("fisher", "fisher-convex", "PRD")


def claims(instance: Market, stored: Stored) -> ClaimChecks:
    """Residuals, the bounds that the answer itself proves, and leximin's levels as the answer's own
    ratios.
    """
    found = ClaimChecks(bounds={"equilibrium_error": 0.0})
    allocation, certificate, options = stored.solution, stored.certificate, stored.options
    if not isinstance(allocation, Allocation):
        return found
    family = family_named(options.get("utility", "amdahl"), options.get("rho", 0.5))
    error = (residuals if family is None else family.residuals)(instance, allocation)
    if (
        error is not None and options.get("rounding", "none") == "none"
    ):  # else they are those of the allocation before
        expected = error.document()
        found.compare(
            certificate,
            expected,
            expected if family is not None or stored.method in _PRICED else (),
        )
    if stored.method in ("fisher", "fisher-convex"):
        found.compare(certificate, {"tolerance": options["tolerance"]}, ["tolerance"])
    if stored.bound is not None:
        found.bounds |= _bounds(instance, allocation, stored, family)
    whole = stored.method == "leximin" or options.get("whole") is True
    if whole and (allocation.cores != np.round(allocation.cores)).any():
        found.broken.append("the answer is not of whole cores")
    if stored.method == "utilitarian":
        found.compare(certificate, {"cores": "whole" if whole else "fractional"}, ["cores"])
    if stored.method == "leximin":
        _ratios(found, instance, np.round(allocation.cores), stored)
    return found


def _bounds(
    instance: Market, allocation: Allocation, stored: Stored, family: Any
) -> dict[str, float]:
    """The most of an objective, by the tangent plane at the answer, or by the price of the last
    core.
    """
    whole = stored.options.get("whole") is True
    if stored.objective == "total_utility":
        return {"total_utility": total_bound(instance, whole=whole)}
    if stored.objective == "nash_welfare" and family is None:
        return {"nash_welfare": welfare_bound(instance, user_utilities(instance, allocation.cores))}
    if stored.objective == "nash_welfare" and allocation.price is not None:
        return {"nash_welfare": family_bound(instance, family, allocation)}
    return {}


def _ratios(found: ClaimChecks, instance: Market, cores: Floats, stored: Stored) -> None:
    """The levels of `leximin` are the answer's own ratios, from the least up, worked out exactly;
    that no others are better is not proved again.
    """
    every = sorted(WholeRatios(instance).all(cores))
    own = [(float(ratio), len(list(users))) for ratio, users in itertools.groupby(every)]
    levels = stored.certificate.get("levels", [])
    found.compare(stored.certificate, {"leximin": len(levels) == len(own)}, ["leximin"])
    if len(levels) > len(own):
        found.broken.append(
            f"{len(levels)} levels are claimed; the answer's ratios have {len(own)}"
        )
    for number, (level, (value, users)) in enumerate(zip(levels, own, strict=False)):
        found.checked |= {f"levels[{number}].{name}" for name in ("objective", "value", "users")}
        expected = {"objective": LEVEL, "value": value, "users": users}
        expected |= {"bound": value, "status": Status.OPTIMAL.value}
        found.broken += [
            f"level {number + 1}: {name} is {wanted}, not {level.get(name)!r} as claimed"
            for name, wanted in expected.items()
            if not alike(wanted, level.get(name))
        ]
