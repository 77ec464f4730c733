"""Which rules are broken now, and the fewest moves that repair them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState
from .answer import Answer, Question
from .costs import unpriced
from .drain import impossibility
from .optimum import Found, Say, SolveBudget, fewest_moves
from .plan import SECONDS, plan_answer
from .to_packing import translate


@validate_options
def repair(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Answer:
    """Which rules are broken now, and the fewest moves that repair them all; no node is emptied for
    that. The time limit, progress and Ctrl-C are as `advise` has them.

    Raises
    ------
    InvalidOption
        A kind to release that is none.
    """
    state = unpriced(state)
    question = Question(state, released, nodes_stay=True, repair=True)
    work = SolveBudget(time_limit, say)
    # of two pods that must be apart each may say so: one of the two is named
    broken = tuple({frozenset(one.split()): one for one in Scheduler(state).broken()}.values())
    known = Answer(state=state, kind="repair", broken=broken)
    if not broken:
        return known
    known, tries = replace(known, left_broken=broken, status=False), list[Found]()
    try:
        relaxed = translate(question, for_bound=True)
        free = work.find("a bound on the moves", 3, fewest_moves, relaxed, None)
        plan = translate(question)
        one = (
            free if free.infeasible else work.find("the fewest moves", 2, fewest_moves, plan, None)
        )
        tries.append(one)
    except InvalidInstance:
        pass
    if not tries or one.count is None:
        return replace(known, impossible=impossibility(question, work, tries))
    answer = plan_answer(question, one, work, moves_bound=free.bound, dropped=relaxed.dropped)
    after = Scheduler(state, state.where | dict(answer.targets)).broken()
    left = tuple(what for what in broken if what in after)
    answer = replace(answer, freed=(), left_pending={})
    return replace(known, plan=answer, left_broken=left, status=not left and not answer.order.stuck)
