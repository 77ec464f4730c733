"""Question whether pending pods fit: now, after moves, or with new nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance
from ..judge.scheduler_filters import Scheduler
from ..state.node_types import NodeType
from ..state.state import ClusterState, Role
from .answer import Answer, Proved, Question
from .buy import buy
from .optimum import Say, SolveBudget
from .pending import most_that_fit, vouched, why_refused
from .plan import SECONDS, plan_answer
from .search import Search


def fit(
    state: ClusterState,
    *,
    types: Sequence[NodeType] = (),
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Answer:
    """Decide whether all pending pods fit together: now, after the fewest moves, or with new nodes.

    Parameters
    ----------
    types : what new nodes can be.
    released : kinds of `to_packing.RELEASED` for which no pod is pinned, and none waits.
    time_limit, say : as `advise` has them; so is Ctrl-C.

    Raises
    ------
    InvalidInstance
        No pod is pending.
    """
    # 1. what fits now
    question = Question(vouched(state, released), "waiting", released, pending=True)
    work, state = SolveBudget(time_limit, say), question.state
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING)
    if not pods:
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "at least one",
            "Give new ones by --add or --shape",
        )  # fmt: skip
    most = sum(state.pods[n].schedulable for n in pods)  # the scheduler looks for no other's node
    none: tuple[dict[int, str], int] = ({}, len(pods))
    now, upper = work.part("what fits now", lambda: most_that_fit(state, work.share(5)), none)
    known = Answer(state=state, kind="fit", pods=pods, arrivals=now, fits=Proved(len(now), upper))
    if len(now) == most:
        return _with_status(known, None, most)
    # 2. after the fewest moves
    plan, most = _after_moves(question, most, work)
    if plan is not None and len(pods) - len(plan.waiting) <= len(now):
        plan = None
    # 3. with new nodes
    if types and not work.interrupted:
        seconds = work.whole.time_slice()
        bought = buy(state, types, released=released, time_limit=seconds, say=say)
        known = replace(known, steps=(bought,))
    return _with_status(known, plan, most)


def _with_status(known: Answer, plan: Answer | None, most: int) -> Answer:
    """Complete an answer of `fit` by its plan of moves and its status. The status is "not known" if
    the filters do not decide all constraints or a search was ended by its limit. `most` bounds the
    number of pods that fit after moves.
    """
    number, now = len(known.pods), known.fits.value
    kept = known.arrivals if plan is None else plan.arrivals
    waiting = tuple(n for n in known.pods if n not in kept)
    status: bool | None = now == number or (plan is not None and not plan.waiting)
    if not status and not (now == known.fits.bound or most < number):
        status = None
    where = known.state.where | dict({} if plan is None else plan.targets) | dict(kept)
    scheduler = Scheduler(known.state, where)
    return replace(
        known, plan=plan, waiting=waiting, waits=Proved(len(waiting), number - most),
        status=status, refused=why_refused(scheduler, waiting),
    )  # fmt: skip


def _after_moves(question: Question, pods: int, work: SolveBudget) -> tuple[Answer | None, int]:
    """Find the fewest moves after which the maximum number of pods fit, and an upper bound on that
    number.
    """
    search = Search(question, work)
    split = search.relaxed.costs.split
    least = split(search.needed(6, words="what fits after moves"))[0]
    search.move(1.3, least)  # most often so many do: this settles most
    if search.best is None:
        answers = search.cheapest(3, "the most that fit after moves")
        numbers = [split(one.value)[0] for one in answers if one.value is not None]
        search.move(3, min(numbers, default=pods))
    if search.best is None:
        return None, pods - least
    search.relax(1, search.best.plan.waiting_servers)
    plan = plan_answer(question, search.best, work, moves_bound=search.bound or 0)
    return (None if plan.order.stuck else plan), pods - least
