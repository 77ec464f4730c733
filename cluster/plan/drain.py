"""Question whether some nodes can be emptied together, with the blocking pods and the fewest
moves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance, UnknownName
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState, Pod, Role, change_pods, cordoned
from .answer import Answer, Question
from .nodes import unmoved
from .optimum import Say, SolveBudget, fewest_moves
from .pending import refused_by
from .plan import SECONDS, plan_answer
from .search import Search
from .to_packing import translate


@validate_options
def drain(
    state: ClusterState,
    *nodes: str,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Answer:
    """Decide whether nodes can be emptied together, name the pods that block it, and find the
    fewest moves that do it. Time limit, progress and Ctrl-C are those of `advise`.

    Raises
    ------
    UnknownName
        No node has this name.
    """
    # 1. the pods on the nodes, and where each could go now, if it were alone
    names = [each.name for each in state.nodes]
    for node in nodes:
        if node not in names:
            raise UnknownName(state.host_noun, node, names)
    question = Question(cordoned(state, nodes), "moves", released, emptied=nodes, nodes_stay=True)
    state = question.state
    work = SolveBudget(time_limit, say)
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.placed and pod.node in nodes)
    known = Answer(state=state, kind="drain", name=", ".join(nodes), hosts=nodes, pods=pods)
    if all(state.pods[n].role in (Role.RESIDENT, Role.LEAVING) for n in pods):
        return replace(known, plan=unmoved(state))
    movable = [n for n in pods if state.pods[n].role is Role.MOVABLE]
    others = [name for name in names if name not in nodes]
    scheduler = Scheduler(state)
    open_to = {n: tuple(k for k in others if not scheduler.refusals(n, k)) for n in movable}
    refused = refused_by(scheduler, [n for n in movable if not open_to[n]], others)
    # 2. the fewest moves; of those that leave most pods on the nodes the last
    search = Search(question, work)
    try:
        search.move(3)
    except InvalidInstance:
        if not movable:
            raise
    best = min(
        (one for one in search.tries if one.count is not None),
        key=lambda one: (sum(n in one.plan.pinned for n in pods), one.value or 0),
        default=search.tries[-1] if search.tries else None,
    )
    anywhere = replace(question, emptied=(), nodes_stay=False)
    pins = (best.plan if best else translate(anywhere)).pinned
    blocked = {n: (state.pods[n].reason,) for n in pods if state.pods[n].role is Role.FIXED} | {
        n: tuple(words for _, words in pins[n]) for n in pods if n in pins
    }
    known = replace(known, why_not=blocked, open_to=open_to, refused=refused, status=False)
    # 3. the plan, or a proof that there is none
    if best is None or best.count is None:
        impossible = search.impossible()
        if impossible:
            impossible += work.part("what would let them go", lambda: _let_go(question), "")
        return replace(known, impossible=impossible)
    plan = plan_answer(question, best, work, arrive=False)
    return replace(known, plan=plan, status=not blocked and not plan.order.stuck)


def _let_go(question: Question) -> str:
    """Explain that the nodes could be emptied if no spread constraint counted cordoned nodes.
    Returns "" where they could not be emptied even then.
    """

    def honoring(pod: Pod) -> Pod:
        return replace(pod, spread=tuple(replace(one, honor_taints=True) for one in pod.spread))

    other = change_pods(question.state, honoring)
    try:
        free = other != question.state and (
            fewest_moves(translate(replace(question, state=other)), None).count is not None
        )
    except InvalidInstance:
        free = False
    words = "the cordoned node counts with 0 in a spread; nodeTaintsPolicy: Honor would let it go"
    return f": {words}" * free
