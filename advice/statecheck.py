"""The judge of a plan: the default scheduler's filters, pod by pod on the state itself.

It knows nothing of instances and shares no code with `rules`, which makes them: what a mistake
there would let through is refused here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..instances.problem.errors import InfeasibleSolution
from .state import Budget, ClusterState, Expression, Node, NodeTerm, Pod, PodTerm, Role, Spread


@dataclass(frozen=True, slots=True)
class Move:
    """A pod (its place in the state) that goes to a node (its name)."""

    pod: int
    node: str
    temporary: bool = False


_Total = tuple[Mapping[str, str], "Counter[str]", "Counter[str]"]
"""Of a spread: the domain of each node that counts, pods that may be in each, and surely are."""

Wave = tuple[Move, ...]
"""Moves that may happen at the same time, in any order."""


class Scheduler:
    """Where every pod is, and what the filters say of putting one somewhere.

    Parameters
    ----------
    where : node of each placed pod, by its place in the state; as the state has them when not
        given.
    """

    def __init__(self, state: ClusterState, where: Mapping[int, str] | None = None) -> None:
        self.state = state
        self.nodes = {node.name: node for node in state.nodes}
        if where is None:
            where = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}
        self.where = dict(where)
        self.coming: dict[int, str] = {}
        self.on: dict[str, set[int]] = {name: set() for name in self.nodes}
        self.used: dict[str, Counter[str]] = {name: Counter() for name in self.nodes}
        for number, node in self.where.items():
            self._put(number, node)
        # what does not change when pods move is worked out once, and once for pods of equal labels
        alike: dict[object, list[int]] = {}
        self._carriers: dict[PodTerm, list[int]] = defaultdict(list)
        for number, pod in enumerate(state.pods):
            alike.setdefault((pod.namespace, frozenset(pod.labels.items())), []).append(number)
            for term in pod.apart:
                self._carriers[term].append(number)
        self._alike = list(alike.values())
        self._kind = {n: kind for kind, members in enumerate(self._alike) for n in members}
        self._enemies: dict[int, list[tuple[str, list[int]]]] = {}
        self._shunned: dict[tuple[PodTerm, ...], list[tuple[str, set[int]]]] = {}
        self._meant: dict[tuple[str, Spread], set[int]] = {}
        self._counted_with: dict[int, set[int]] = {}
        self._budgets: dict[int, list[Budget]] = {}
        self._domains: dict[str, dict[str, set[str]]] = {}
        self._counted: dict[object, dict[str, str]] = {}
        self._totals: dict[object, _Total] = {}
        self._tallied: dict[int, list[_Total]] = defaultdict(list)

    def _put(self, number: int, node: str) -> None:
        self.on[node].add(number)
        self.used[node].update(self.state.pods[number].requests)

    # moving

    def come(self, number: int, node: str) -> None:
        """A pod may be at a second node from now on; until it leaves the first it takes room on
        both.
        """
        self._count(number, -1)
        self.coming[number] = node
        if self.where.get(number) != node:
            self._put(number, node)
        self._count(number, 1)

    def go_back(self, number: int) -> None:
        """Undo `come`."""
        self._count(number, -1)
        node = self.coming.pop(number)
        if self.where.get(number) != node:
            self._take(number, node)
        self._count(number, 1)

    def _take(self, number: int, node: str) -> None:
        self.on[node].discard(number)
        self.used[node].subtract(self.state.pods[number].requests)

    def leave(self, number: int) -> None:
        """A pod that is coming has left where it was."""
        self._count(number, -1)
        old, new = self.where.get(number), self.coming.pop(number)
        if old is not None and old != new:
            self._take(number, old)
        self.where[number] = new
        self._count(number, 1)

    def evict(self, number: int) -> None:
        """A pod is nowhere."""
        self._count(number, -1)
        self._take(number, self.where.pop(number))
        self._count(number, 1)

    def _count(self, number: int, by: int) -> None:
        """Take a pod out of the totals of spreads that count it, or back in where it is then."""
        for total in self._tallied[number]:
            self._tally(number, by, *total)

    # the filters

    def refusals(self, number: int, name: str) -> list[str]:
        """Why the scheduler would not put a pod on a node now; empty where it would.

        Pods that are coming count at both nodes where that is in the way, and at neither where it
        would help.
        """
        return list(self._reasons(number, name))

    def takes(self, number: int, name: str) -> bool:
        """Whether the scheduler would put a pod on a node now: no filter refuses."""
        return next(self._reasons(number, name), None) is None

    def _reasons(self, number: int, name: str) -> Iterator[str]:
        pod, node = self.state.pods[number], self.nodes[name]
        yield from (why for why in (node.closed, node.unsure) if why)
        if taint := untolerated(pod, node):
            yield f"taint {taint}"
        if not node_selected(node, pod.affinity):
            yield "node affinity"
        if not node_selected(node, pod.volumes):
            yield "volume"
        own = pod.requests if number in self.on[name] else {}
        for resource, amount in pod.requests.items():
            room = node.allocatable.get(resource)
            if room is None and resource.startswith("volumes of "):
                continue
            used = self.used[name][resource] - own.get(resource, 0)
            if amount and amount + used > (room or 0):
                yield f"too little {resource}"
        if pod.ports and any(
            _same_port(pod, self.state.pods[other]) for other in self.on[name] if other != number
        ):
            yield "host port"
        if self._near_an_enemy(number, name):
            yield "anti-affinity"
        if pod.near and not self._near_friends(number, name):
            yield "affinity"
        for spread in pod.spread:
            if not self._evenly(number, name, spread):
                yield "spread"

    def budgets(self, number: int) -> list[Budget]:
        """The disruption budgets that speak of a pod."""
        kind = self._kind[number]
        if kind not in self._budgets:
            self._budgets[kind] = budgets_of(self.state, number)
        return self._budgets[kind]

    def _chosen(self, speaks: Callable[[Pod], bool]) -> Iterator[int]:
        """The pods that something speaks of, which asks for namespace and labels only."""
        for members in self._alike:
            if speaks(self.state.pods[members[0]]):
                yield from members

    def neighbors(self, topology: str, name: str) -> set[str]:
        """The nodes in the domain of a node; none when it is in none."""
        if topology not in self._domains:
            found: dict[str, set[str]] = {}
            for node in self.state.nodes:
                if topology in node.labels:
                    found.setdefault(node.labels[topology], set()).add(node.name)
            self._domains[topology] = found
        value = self.nodes[name].labels.get(topology)
        return set() if value is None else self._domains[topology][value]

    def _near_an_enemy(self, number: int, name: str) -> bool:
        own = self.state.pods[number].apart
        if own not in self._shunned:
            self._shunned[own] = [
                (term.topology, set(self._chosen(lambda pod, term=term: _targets(term, pod))))  # type: ignore[misc]
                for term in own
            ]
        for topology, shunned in self._shunned[own]:
            for place in self.neighbors(topology, name):
                if any(other != number and other in shunned for other in self.on[place]):
                    return True
        kind = self._kind[number]
        if kind not in self._enemies:
            self._enemies[kind] = [
                (term.topology, carriers)
                for term, carriers in self._carriers.items()
                if _targets(term, self.state.pods[number])
            ]
        for topology, carriers in self._enemies[kind]:
            places = self.neighbors(topology, name)
            for other in carriers:
                if other != number and (
                    self.where.get(other) in places or self.coming.get(other) in places
                ):
                    return True
        return False

    def _near_friends(self, number: int, name: str) -> bool:
        pod = self.state.pods[number]
        sure = [
            other
            for other in self.where
            if other != number
            and other not in self.coming
            and all(_targets(term, self.state.pods[other]) for term in pod.near)
        ]
        for term in pod.near:
            places = self.neighbors(term.topology, name)
            if not places:
                return False
            if any(self.where[other] in places for other in sure):
                continue
            # the first of a group that is to be near itself may be anywhere
            if sure or not all(_targets(each, pod) for each in pod.near):
                return False
        return True

    def counts(self, number: int, spread: Spread) -> tuple[Counter[str], Counter[str]]:
        """Pods that a spread of a pod counts, without itself, by domain: those that may be there,
        and those that surely are.
        """
        pod = self.state.pods[number]
        domain_of = self._counting(pod, spread)
        meant = self.meant(pod.namespace, spread)
        key = (pod.namespace, spread, pod.affinity, pod.tolerations)
        if key not in self._totals:
            none = dict.fromkeys(domain_of.values(), 0)
            self._totals[key] = (domain_of, Counter(none), Counter(none))
            for other in meant:
                self._tallied[other].append(self._totals[key])
                self._tally(other, 1, *self._totals[key])
        _, high, low = self._totals[key]
        high, low = Counter(high), Counter(low)
        if number in meant:
            self._tally(number, -1, domain_of, high, low)
        return high, low

    def _tally(
        self, number: int, by: int, domain_of: Mapping[str, str], high: Counter[str],
        low: Counter[str],
    ) -> None:  # fmt: skip
        """Count a pod where it may be, and where it surely is."""
        places = {self.where.get(number, ""), self.coming.get(number, "")} - {""}
        for domain in (domain_of[place] for place in places if place in domain_of):
            high[domain] += by
            low[domain] += by * (len(places) == 1)

    def meant(self, namespace: str, spread: Spread) -> set[int]:
        """The pods that a spread of a pod in a namespace counts, wherever they are."""
        if (namespace, spread) not in self._meant:
            self._meant[namespace, spread] = {
                other
                for other in self._chosen(
                    lambda pod: pod.namespace == namespace and _selected(spread.selector, pod)
                )
                if self.state.pods[other].role is not Role.LEAVING
            }
        return self._meant[namespace, spread]

    def counted_with(self, number: int) -> set[int]:
        """The pods that some spread of a pod counts."""
        if number not in self._counted_with:
            pod = self.state.pods[number]
            found = [self.meant(pod.namespace, spread) for spread in pod.spread]
            self._counted_with[number] = found[0] if len(found) == 1 else set().union(*found)
        return self._counted_with[number]

    def _counting(self, pod: Pod, spread: Spread) -> dict[str, str]:
        """The domain of each node on which a spread counts pods."""
        key = (spread, pod.affinity, pod.tolerations)
        if key not in self._counted:
            self._counted[key] = {
                node.name: node.labels[spread.topology]
                for node in self.state.nodes
                if spread.topology in node.labels
                and (not spread.honor_affinity or node_selected(node, pod.affinity))
                and (not spread.honor_taints or not untolerated(pod, node))
            }
        return self._counted[key]

    def _evenly(self, number: int, name: str, spread: Spread) -> bool:
        domain = self.nodes[name].labels.get(spread.topology)
        if domain is None:
            return False
        pod = self.state.pods[number]
        high, low = self.counts(number, spread)
        least = min(low.values(), default=0) if len(low) >= spread.domains else 0
        own = _selected(spread.selector, pod)
        return high[domain] + own - least <= spread.most

    def broken(self) -> dict[str, int]:
        """What is broken where pods are now, and by how much."""
        found: dict[str, int] = {}
        for name, used in self.used.items():
            for resource, load in used.items():
                room = self.nodes[name].allocatable.get(resource)
                if room is None and resource.startswith("volumes of "):
                    continue
                if load > (room or 0):
                    found[f"{name} has too little {resource}"] = load - (room or 0)
        for number, name in self.where.items():
            pod = self.state.pods[number]
            if pod.apart and any(
                other != number and _targets(term, self.state.pods[other])
                for term in pod.apart
                for place in self.neighbors(term.topology, name)
                for other in self.on[place]
            ):
                found[f"anti-affinity of {pod.title}"] = 1
            if pod.near and not self._near_friends(number, name):
                found[f"affinity of {pod.title}"] = 1
            if pod.ports:
                for other in self.on[name]:
                    if other != number and _same_port(pod, self.state.pods[other]):
                        found[f"host port of {pod.title}"] = 1
        seen: set[object] = set()
        for number in self.where:
            pod = self.state.pods[number]
            for spread in pod.spread:
                key = (pod.namespace, spread, pod.affinity, pod.tolerations)
                if key in seen:
                    continue
                seen.add(key)
                counts = Counter(self.counts(number, spread)[0])
                domain = self.nodes[self.where[number]].labels.get(spread.topology)
                own = _selected(spread.selector, pod)
                if domain is not None and domain in counts and own:
                    counts[domain] += 1
                least = min(counts.values(), default=0) if len(counts) >= spread.domains else 0
                most = max(counts.values(), default=0)
                if most - least > spread.most:
                    group = f"{pod.namespace}/{pod.owner[1] or pod.name}"
                    found[f"spread of {group} over {spread.topology}"] = most - least
        return found


def budgets_of(state: ClusterState, number: int) -> list[Budget]:
    """The disruption budgets that speak of a pod."""
    pod = state.pods[number]
    return [
        budget
        for budget in state.budgets
        if budget.namespace == pod.namespace and _selected(budget.selector, pod)
    ]


def check_waves(
    state: ClusterState,
    waves: Sequence[Wave],
    *,
    freed: Collection[str] = (),
    released: Collection[str] = (),
) -> None:
    """Decide whether a plan can be carried out: every move of every wave passes the filters with
    all other moves of its wave in the way, no budget is exceeded, nothing that must stay moves,
    the freed nodes end up empty, and nothing is broken at the end that was not before.

    Raises
    ------
    InfeasibleSolution
        Naming the first move or rule.
    """
    scheduler = Scheduler(state)
    before = scheduler.broken()
    for place, wave in enumerate(waves, 1):
        if len({move.pod for move in wave}) != len(wave):
            raise InfeasibleSolution(f"wave {place} moves a {state.one} twice")
        evicted: Counter[tuple[str, str]] = Counter()
        for move in wave:
            pod = state.pods[move.pod]
            _require_movable(scheduler, move.pod, released)
            if move.node not in scheduler.nodes:
                raise InfeasibleSolution(f"{pod.title} goes to {move.node!r}, which is not there")
            for budget in scheduler.budgets(move.pod):
                key = (budget.namespace, budget.name)
                evicted[key] += 1
                if evicted[key] > max(budget.allowed, int("budget" in released)):
                    raise InfeasibleSolution(
                        f"wave {place} evicts {evicted[key]} pods of the budget {budget.name}, "
                        f"which allows {budget.allowed}"
                    )
        for move in wave:
            scheduler.come(move.pod, move.node)
        for move in wave:
            if why := scheduler.refusals(move.pod, move.node):
                raise InfeasibleSolution(
                    f"wave {place}: {move.node} does not take {state.pods[move.pod].title}: "
                    f"{', '.join(why)}"
                )
        for move in wave:
            scheduler.leave(move.pod)
    for number, name in scheduler.where.items():
        pod = state.pods[number]
        if name in freed and pod.role not in (Role.RESIDENT, Role.LEAVING):
            raise InfeasibleSolution(f"{pod.title} is still on {name}, which is to be freed")
    for what, by in scheduler.broken().items():
        if by > before.get(what, 0):
            raise InfeasibleSolution(f"at the end {what} is broken, which it was not before")


def _require_movable(scheduler: Scheduler, number: int, released: Collection[str]) -> None:
    pod = scheduler.state.pods[number]
    if pod.role is not Role.MOVABLE:
        raise InfeasibleSolution(f"{pod.title} moves, which must stay: {pod.reason or pod.role}")
    for kind, words in pod.unread:
        if kind not in released:
            raise InfeasibleSolution(f"{pod.title} moves, which must stay: {words}")
    theirs = scheduler.budgets(number)
    if "budget" not in released and (len(theirs) > 1 or any(b.allowed < 1 for b in theirs)):
        raise InfeasibleSolution(f"{pod.title} moves, which no budget allows")


def _selected(selector: tuple[Expression, ...] | None, pod: Pod) -> bool:
    """Whether a selector, if there is one, chooses a pod by its labels."""
    return selector is not None and all(_met(each, pod.labels.get(each.key)) for each in selector)


def _targets(term: PodTerm, pod: Pod) -> bool:
    """Whether a term of affinity speaks of a pod."""
    if term.namespaces is not None and pod.namespace not in term.namespaces:
        return False
    return _selected(term.selector, pod)


def _met(condition: Expression, value: str | None) -> bool:
    match condition.operator:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in condition.values
        case "NotIn":
            return value not in condition.values
    if value is None or len(condition.values) != 1:
        return False
    try:
        mine, bound = int(value), int(condition.values[0])
    except ValueError:
        return False
    return mine > bound if condition.operator == "Gt" else mine < bound


def node_selected(node: Node, groups: Iterable[tuple[NodeTerm, ...]]) -> bool:
    """Whether a node is one of those that every group of terms asks for."""
    for group in groups:
        for term in group:
            conditions = [(c, node.labels.get(c.key)) for c in term.labels]
            conditions += [
                (c, node.name if c.key == "metadata.name" else None) for c in term.fields
            ]
            if conditions and all(_met(*each) for each in conditions):
                break
        else:
            return False
    return True


def untolerated(pod: Pod, node: Node) -> str:
    """The first taint of a node that a pod does not tolerate; "" when it tolerates all."""
    for taint in node.taints:
        for each in pod.tolerations:
            if each.effect not in ("", taint.effect):
                continue
            if each.operator == "Exists" and each.key in ("", taint.key):
                break
            if each.operator != "Exists" and (each.key, each.value) == (taint.key, taint.value):
                break
        else:
            return taint.key
    return ""


def _same_port(pod: Pod, other: Pod) -> bool:
    for address, *rest in pod.ports:
        for theirs, *their_rest in other.ports:
            same = address == theirs or address == "0.0.0.0" or theirs == "0.0.0.0"
            if same and rest == their_rest:
                return True
    return False
