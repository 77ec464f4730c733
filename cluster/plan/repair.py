"""Question which rules are broken now, and by which fewest moves they are repaired."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState
from .answer import Answer, Question
from .optimum import Say, SolveBudget
from .plan import SECONDS, plan_answer
from .search import Search


@validate_options
def repair(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Answer:
    """Find the rules that are broken now and the fewest moves that repair them all, without freeing
    nodes. Time limit, progress and Ctrl-C are those of `advise`.

    Raises
    ------
    InvalidOption
        A kind to release that is none.
    """
    question = Question(state, "moves", released, nodes_stay=True, repair=True)
    state, work = question.state, SolveBudget(time_limit, say)
    # of two pods that must be apart each may say so: one of the two is named
    broken = tuple({frozenset(one.split()): one for one in Scheduler(state).broken()}.values())
    known = Answer(state=state, kind="repair", broken=broken)
    if not broken:
        return known
    known, search = replace(known, left_broken=broken, status=False), Search(question, work)
    try:
        search.relax(3)
        if search.bound is not None:
            search.move(2)
    except InvalidInstance:
        pass
    if search.best is None:
        return replace(known, impossible=search.impossible())
    answer = plan_answer(
        question, search.best, work, moves_bound=search.bound or 0, dropped=search.relaxed.dropped
    )
    after = Scheduler(state, state.where | dict(answer.targets)).broken()
    left = tuple(what for what in broken if what in after)
    return replace(known, plan=answer, left_broken=left, status=not left and not answer.order.stuck)
