"""What a terminal shows of the answers about a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from cotenant.cluster.plan.buying import Purchase
from cotenant.cluster.plan.capacity import Fit
from cotenant.cluster.plan.draining import Draining, Rolling
from cotenant.cluster.plan.peaks import Peaks
from cotenant.cluster.plan.plan import Advice
from cotenant.cluster.plan.repairing import Repair
from cotenant.cluster.plan.safety import Loss
from cotenant.cluster.report.capacity_report import buy_answer, fit_answer
from cotenant.cluster.report.resilience_report import (
    drain_answer,
    repair_answer,
    rolling_answer,
    safe_answer,
)
from cotenant.cluster.report.text_report import answer_lines, nodes_answer
from cotenant.cluster.state.state import ClusterState


def advice_lines(advice: Advice, details: bool = False) -> list[str]:
    return answer_lines(nodes_answer(advice), details)


def drain_lines(state: ClusterState, found: Draining, details: bool = False) -> list[str]:
    return answer_lines(drain_answer(state, found), details)


def rolling_lines(state: ClusterState, found: Rolling) -> list[str]:
    return answer_lines(rolling_answer(state, found))


def safe_lines(
    state: ClusterState, found: Sequence[Loss], *, peaks: Peaks | None = None
) -> list[str]:
    return answer_lines(safe_answer(state, found, peaks))


def repair_lines(found: Repair) -> list[str]:
    return answer_lines(repair_answer(found))


def fit_lines(found: Fit) -> list[str]:
    return answer_lines(fit_answer(found))


def buy_lines(found: Purchase) -> list[str]:
    return answer_lines(buy_answer(found))
