"""What a certificate of a market proves, looked over again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...instances.market.equilibrium import residuals
from ...instances.market.families import family_named
from ...instances.market.instance import Allocation, Market
from ...instances.market.scale import scale
from ...instances.market.sharing import sharing_ratios
from ...instances.market.utility import user_utilities
from ...solvers.market.leximin import APART, LEVEL
from ...solvers.market.utilitarian import total_bound
from ...solvers.market.welfare_bounds import family_bound, welfare_bound
from ...solvers.outcome import Status, agree
from ..findings import Findings, Stored

_PRICED = ("fisher", "fisher-convex", "PRD")


def claims(instance: Market, stored: Stored) -> Findings:
    """Residuals, the bounds that the answer itself proves, and leximin's levels as the answer's own
    ratios.
    """
    found = Findings(bounds={"equilibrium_error": 0.0})
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
        _ratios(found, instance, allocation, certificate.get("levels", []))
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


def _ratios(
    found: Findings, instance: Market, allocation: Allocation, levels: Sequence[Mapping[str, Any]]
) -> None:
    """The levels of `leximin` are the answer's own ratios, from the least up; that no others are
    better is not proved again.
    """
    ratios = sharing_ratios(instance, allocation)
    ratios = np.sort(ratios[~np.isnan(ratios)])
    if any(
        level["objective"] != LEVEL or level.get("value") is None or not _count(level.get("users"))
        for level in levels
    ):
        found.witness("levels", f"are not all of a {LEVEL} with its users, at least one each")
        return
    values = [float(level["value"]) for level in levels]
    users = [int(level["users"]) for level in levels]
    for number in range(len(levels)):
        found.checked |= {f"levels[{number}].{name}" for name in ("objective", "value", "users")}
    if any(later <= earlier for earlier, later in itertools.pairwise(values)):
        found.broken.append("the levels of sharing ratios do not rise")
    claimed = np.repeat(values, users)
    if len(claimed) > len(ratios):
        found.broken.append(
            f"the levels have {len(claimed)} users in all; {len(ratios)} have useful jobs"
        )
        return
    unit = scale(instance, "sharing_index")
    for place, (value, ratio) in enumerate(zip(claimed.tolist(), ratios.tolist(), strict=False)):
        if not (agree(value, ratio, max(unit, value)) or value <= ratio <= value * (1 + APART)):
            found.broken.append(
                f"level {value:.12g} is claimed of the ratio {ratio:.12g}, number {place + 1} "
                "from below"
            )
            break
    if any(
        level["bound"] != level["value"] or level["status"] != Status.OPTIMAL for level in levels
    ):
        found.broken.append("a level of sharing ratios is not its own bound, and optimal")


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
