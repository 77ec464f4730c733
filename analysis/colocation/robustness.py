"""Pairings that survive the error of their penalties: from which alpha on, at what cost.

The penalties have intervals, `Colocation(..., low=, high=)`; a pairing is robust at an alpha when
no pair of agents blocks for any matrix within them (theorem: `instances.colocation.stability`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...instances.colocation.groups import stable_alpha, undecided_pairs
from ...instances.colocation.stability import Uncertainty
from ...instances.problem.option_types import validate_options
from ...solvers.colocation.robust import RobustAlpha, breakpoints, robust_alpha
from ...solvers.outcome import Status
from ..report.picture import Chart, Series
from .frontier import Frontier, alpha_frontiers

__all__ = [
    "RobustAlpha",
    "alpha_chart",
    "alpha_frontiers",
    "breakpoints",
    "robust_alpha",
    "stable_alpha",
    "undecided_pairs",
]

_NAMES: dict[Uncertainty, str] = {
    "possible": "no pair possibly blocks",
    "none": "none blocks as measured",
    "certain": "none certainly blocks",
}


@validate_options
def alpha_chart(frontiers: Mapping[Uncertainty, Frontier], certainty: str = "") -> Chart:
    """The frontiers of `alpha_frontiers` in one picture: least mean penalty against alpha.

    Parameters
    ----------
    frontiers : by which gains count.
    certainty : of the intervals, `instance.certainty`.
    """
    series, ranges = [], []
    for kind, line in frontiers.items():
        points = [point for point in line.points if point.penalty is not None]
        proved = sum(point.status is Status.OPTIMAL for point in points)
        series.append(
            Series(
                _NAMES[kind],
                tuple(point.limit for point in points),
                tuple(point.penalty for point in points),
                "step+points",
                tips=tuple(
                    f"{_NAMES[kind]} at alpha {point.limit:.6g}: penalty {point.penalty:.6g}, "
                    f"{point.status.value}"
                    for point in points
                ),
                strong=kind == "possible",
            )
        )
        first = f"from alpha {points[0].limit:.4g} on" if points else "at no alpha tried"
        ranges.append(f"{_NAMES[kind]} {first} ({proved} of {len(points)} points proved)")
    return Chart(
        name="colocation-penalty-by-alpha-within-intervals",
        title="What it costs to be stable, by how sure one has to be",
        x_label="alpha, the least gain [points of penalty]",
        y_label="least mean penalty",
        series=tuple(entry for entry in series if entry.x),
        alt=f"Least mean penalty against alpha: {'; '.join(ranges)}.",
        note=f"{certainty[:1].upper()}{certainty[1:]}." if certainty else "",
    )
