"""The price of fairness: the best efficiency that is possible within each limit on unfairness, proved, and policies beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..solvers.outcome import Status


@dataclass(frozen=True)
class PricePoint:
    """The best efficiency within one limit on fairness.

    Attributes
    ----------
    limit : on the fairness metric: at most this where less is better, at least this where more is; None for no limit.
    value : efficiency of the answer found; None without one.
    bound : proved: no answer within the limit is more efficient; None without a proof.
    reached : fairness of the answer found.
    status : of this point.
    """

    limit: float | None
    value: float | None
    bound: float | None
    reached: float | None
    status: Status


@dataclass(frozen=True)
class PriceFrontier:
    """What fairness (or stability) costs in one instance.

    Attributes
    ----------
    efficiency, fairness : names of two metrics of the problem.
    points : the tightest limit first.
    note : what the limits are on, in words, and what was left out.
    """

    efficiency: str
    fairness: str
    points: tuple[PricePoint, ...]
    note: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"points": [asdict(point) | {"status": point.status.value} for point in self.points]}

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> PriceFrontier:
        """Rebuild from `document`."""
        points: Sequence[Mapping[str, Any]] = content["points"]
        made = (PricePoint(**{**point, "status": Status(point["status"])}) for point in points)
        return cls(content["efficiency"], content["fairness"], tuple(made), content.get("note", ""))

    @property
    def status(self) -> Status:
        """Optimal when every point is proved, or proved impossible."""
        if not self.points:
            return Status.UNKNOWN
        done = all(point.status in (Status.OPTIMAL, Status.INFEASIBLE) for point in self.points)
        return Status.OPTIMAL if done else Status.FEASIBLE
