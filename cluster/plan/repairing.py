"""Which rules are broken now, and the fewest moves that repair them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState
from .costs import unpriced
from .draining import impossibility
from .optimum import fewest_moves
from .plan import SECONDS, Advice, plan_advice, require_kinds
from .solve_budget import Say, SolveBudget
from .to_packing import translate


@dataclass(frozen=True)
class Repair:
    """What is known of repairing a state.

    Attributes
    ----------
    state : what it is of.
    broken : rules that are broken now, by the scheduler's filters.
    advice : the moves that repair what the instance models of them, with no node freed; None where
        nothing is broken, or no such moves were found.
    left : of the broken rules those that stay broken after the moves.
    impossible : "" or how surely the modelled rules cannot all be kept.
    """

    state: ClusterState
    broken: tuple[str, ...]
    advice: Advice | None
    left: tuple[str, ...]
    impossible: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is broken, or the moves repair everything."""
        stuck = self.advice is not None and bool(self.advice.order.stuck)
        return not self.left and not stuck


@validate_options
def repair(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Repair:
    """Which rules are broken now, and the fewest moves that repair them all; no node is emptied for
    that. The time limit, progress and Ctrl-C are as `advise` has them.

    Raises
    ------
    InvalidOption
        A kind to release that is none.
    """
    require_kinds(released)
    work = SolveBudget(time_limit, say)
    state = unpriced(state)
    # of two pods that must be apart each may say so: one of the two is named
    broken = tuple({frozenset(one.split()): one for one in Scheduler(state).broken()}.values())
    if not broken:
        return Repair(state, (), None, ())
    settings: dict[str, Any] = {
        "repair": True, "ignored_pin_reasons": released, "nodes_stay": True,
    }  # fmt: skip
    try:
        relaxed = translate(state, for_bound=True, **settings)
        free = work.find("a bound on the moves", 3, fewest_moves, relaxed, None)
        plan = translate(state, **settings)
        one = (
            free if free.infeasible else work.find("the fewest moves", 2, fewest_moves, plan, None)
        )
    except InvalidInstance:
        return Repair(state, broken, None, broken, impossibility(state, work, (), **settings))
    if one.count is None:
        return Repair(state, broken, None, broken, impossibility(state, work, [one], **settings))
    advice = plan_advice(
        state, released, one, work, pending=False, moves_lower_bound=free.bound,
        dropped=relaxed.dropped,
    )  # fmt: skip
    where = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}
    after = Scheduler(state, where | dict(advice.targets)).broken()
    left = tuple(what for what in broken if what in after)
    return Repair(state, broken, replace(advice, freed=(), left_pending={}), left)
