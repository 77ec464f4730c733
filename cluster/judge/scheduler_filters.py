"""Filters of the default scheduler, evaluated pod by pod on a cluster state: the independent check
of every plan.

It knows nothing of instances and shares no code with `to_packing`, which makes them: what a mistake
there would let through is refused here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...instances.problem.errors import InfeasibleSolution
from ..state.constraints import Expression, NodeTerm, PodTerm, Spread
from ..state.state import Budget, ClusterState, Health, Node, Pod, Role, limitless


@dataclass(frozen=True, slots=True)
class Move:
    """Move of a pod (index in the state) to a node (name)."""

    pod: int
    node: str
    temporary: bool = False


def too_little(resource: str) -> str:
    """Reason for which a node with too little of a resource refuses a pod."""
    return f"too little {resource}"


Wave = tuple[Move, ...]
"""Moves that may happen at the same time, in any order."""


class Scheduler:
    """Positions of all pods, and the filters' decision on placing a pod on a node.

    Parameters
    ----------
    where : node of each placed pod, by its index in the state; as the state has them when not
        given.
    """

    def __init__(self, state: ClusterState, where: Mapping[int, str] | None = None) -> None:
        self.state = state
        self.nodes = {node.name: node for node in state.nodes}
        self.where = state.where if where is None else dict(where)
        self.coming: dict[int, str] = {}
        self.on: dict[str, set[int]] = {name: set() for name in self.nodes}
        self.used: dict[str, Counter[str]] = {name: Counter() for name in self.nodes}
        for number, node in self.where.items():
            self.on[node].add(number)
            self.used[node].update(state.pods[number].requests)
        self._labels = _Labels(state.pods)
        self._group_rules()
        self._domains: dict[str, dict[str, set[str]]] = {}
        self._suits: dict[tuple[str, int], tuple[str, ...]] = {}
        self._counted: dict[object, dict[str, str]] = {}
        self._totals: dict[object, _Tally] = {}
        self._own_totals: dict[int, list[_Tally]] = {}
        self._tallied: dict[int, list[_Tally]] = defaultdict(list)

    def _group_rules(self) -> None:
        """Precompute which pods the terms, spreads and budgets match: this stays as pods move."""
        labels, pods = self._labels, self.state.pods
        # 1. Node rules: pods of one number in `alike` suit the same nodes.
        numbers: dict[object, int] = {}
        rules = [(pod.affinity, pod.volume_node_affinity, pod.tolerations) for pod in pods]
        self.alike = [numbers.setdefault(rule, len(numbers)) for rule in rules]
        # 2. Anti-affinity: the pods that a term matches, and by kind the terms that match it.
        carriers: dict[PodTerm, set[int]] = defaultdict(set)  # the pods with an anti-affinity term
        for number, pod in enumerate(pods):
            for term in pod.pod_anti_affinity:
                carriers[term].add(number)
        self._shunned = {term: labels.of_term(term) for term in carriers}
        self._enemies: dict[int, list[tuple[str, set[int]]]] = defaultdict(list)
        for term, who in carriers.items():
            for kind in labels.kinds(term.selector, term.namespaces):
                self._enemies[kind].append((term.topology, who))
        # 3. Affinity: the pods that all terms of a pod match.
        self._friends = {
            near: set.intersection(*map(labels.of_term, near))
            for near in {pod.pod_affinity for pod in pods if pod.pod_affinity}
        }
        # 4. Spreads: the pods that one counts, and by kind the spreads that count it.
        self._meant: dict[tuple[str, Spread], set[int]] = {}
        self._counting: dict[int, list[tuple[str, Spread]]] = defaultdict(list)
        spreads = dict.fromkeys((pod.namespace, each) for pod in pods for each in pod.spread)
        for namespace, spread in spreads:
            there = labels.kinds(spread.selector, frozenset({namespace}))
            self._meant[namespace, spread] = {
                number for number in labels.pods(there) if pods[number].role is not Role.LEAVING
            }
            for kind in there:
                self._counting[kind].append((namespace, spread))
        # 5. Disruption budgets, by kind.
        self._budgets: dict[int, list[Budget]] = defaultdict(list)
        for budget in self.state.budgets:
            for kind in labels.kinds(budget.selector, frozenset({budget.namespace})):
                self._budgets[kind].append(budget)

    # moving

    def come(self, number: int, node: str) -> None:
        """Begin a move: until `leave` the pod takes room on its old and on its new node."""
        self._set(number, self.where.get(number), node)

    def go_back(self, number: int) -> None:
        """Cancel a move begun by `come`: the pod leaves its new node and stays on the old one."""
        self._set(number, self.where.get(number), None)

    def leave(self, number: int) -> None:
        """Complete a move begun by `come`: the pod leaves its old node and stays on the new one."""
        self._set(number, self.coming[number], None)

    def evict(self, number: int) -> None:
        """Take a pod off its node."""
        self._set(number, None, None)

    def arrive(self, number: int, node: str) -> None:
        """Place a pod that has no node on a node."""
        self._set(number, node, None)

    def _set(self, number: int, here: str | None, there: str | None) -> None:
        """Set the node of a pod and the node that it moves to; None for none."""
        requests = self.state.pods[number].requests
        for total in self._tallied[number]:
            self._tally(number, -1, total)
        old = {*filter(None, (self.where.get(number), self.coming.pop(number, None)))}
        new = {*filter(None, (here, there))}
        for node in old - new:
            self.on[node].discard(number)
            self.used[node].subtract(requests)
        for node in new - old:
            self.on[node].add(number)
            self.used[node].update(requests)
        if here is None:
            self.where.pop(number, None)
        else:
            self.where[number] = here
        if there is not None:
            self.coming[number] = there
        for total in self._tallied[number]:
            self._tally(number, 1, total)

    # the filters

    def refusals(self, number: int, name: str) -> list[str]:
        """Reasons for which the scheduler would not place a pod on a node now; empty if it would.

        Pods that are coming count at both nodes where that is in the way, and at neither where it
        would help.
        """
        return list(self._reasons(number, name))

    def takes(self, number: int, name: str, *, has_room: bool = False) -> bool:
        """Return whether the scheduler would place a pod on a node now; with `has_room`, capacity
        is not checked again.
        """
        return next(self._reasons(number, name, has_room), None) is None

    def _short(self, name: str, loads: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """Resources of which a node has less free than the given amounts, each with the missing
        amount.
        """
        room_of = self.nodes[name].allocatable
        for resource, load in loads.items():
            room = room_of.get(resource)
            if room is None:
                if limitless(resource):
                    continue
                room = 0
            if load > room:
                yield resource, load - room

    def _reasons(self, number: int, name: str, has_room: bool = False) -> Iterator[str]:
        pod = self.state.pods[number]
        yield from self.unsuited(number, name)
        if not has_room:
            used, own = self.used[name], number in self.on[name]
            loads = {each: used[each] + more * (not own) for each, more in pod.requests.items()}
            short = self._short(name, {each: loads[each] for each in loads if pod.requests[each]})
            yield from (too_little(resource) for resource, _ in short)
        if pod.ports and any(
            _same_port(pod, self.state.pods[other]) for other in self.on[name] if other != number
        ):
            yield "host port"
        if self._near_an_enemy(number, name):
            yield "anti-affinity"
        if pod.pod_affinity and not self._near_friends(number, name):
            yield "affinity"
        for spread, total in zip(pod.spread, self.tallies(number), strict=True):
            if not self._evenly(number, name, spread, total):
                yield "spread"

    def budgets(self, number: int) -> list[Budget]:
        """Disruption budgets that count an eviction of a pod."""
        found = self._budgets.get(self._labels.kind[number], [])
        match self.state.pods[number].health:
            case Health.STARTING:
                return []
            case Health.UNREADY if len(found) == 1 and found[0].always_allow_unready:
                return []
        return found

    def neighbors(self, topology: str, name: str) -> set[str]:
        """Nodes in the same topology domain as a node; none if it is in no domain."""
        if topology not in self._domains:
            found: dict[str, set[str]] = {}
            for node in self.state.nodes:
                if topology in node.labels:
                    found.setdefault(node.labels[topology], set()).add(node.name)
            self._domains[topology] = found
        value = self.nodes[name].labels.get(topology)
        return set() if value is None else self._domains[topology][value]

    def unsuited(self, number: int, name: str) -> tuple[str, ...]:
        """Reasons of a node to refuse a pod that do not depend on other pods; cached for equal
        pods.
        """
        key = (name, self.alike[number])
        if key not in self._suits:
            pod, node = self.state.pods[number], self.nodes[name]
            found = [why for why in (node.not_ready_reason, node.unknown_reason) if why]
            if taint := untolerated(pod, node):
                found.append(f"taint {taint}")
            if not node_selected(node, pod.affinity):
                found.append("node affinity")
            if not node_selected(node, pod.volume_node_affinity):
                found.append("volume")
            self._suits[key] = tuple(found)
        return self._suits[key]

    def _any_near(self, members: set[int], topology: str, name: str, besides: int) -> bool:
        """Return whether a pod of a set, other than `besides`, is in the topology domain of a node
        or moves there.
        """
        places = self.neighbors(topology, name)
        if len(places) <= 1:
            return any((self.on[place] & members) - {besides} for place in places)
        where, coming = self.where, self.coming
        return any(
            other != besides and (where.get(other) in places or coming.get(other) in places)
            for other in members
        )

    def _near_an_enemy(self, number: int, name: str) -> bool:
        return any(
            self._any_near(self._shunned[term], term.topology, name, number)
            for term in self.state.pods[number].pod_anti_affinity
        ) or any(
            self._any_near(carriers, topology, name, number)
            for topology, carriers in self._enemies.get(self._labels.kind[number], ())
        )

    def _near_friends(self, number: int, name: str) -> bool:
        near = self.state.pods[number].pod_affinity
        friends = self._friends[near]
        sure = [
            other
            for other in friends
            if other != number
            and other in self.where
            and other not in self.coming
            # one that is in no domain counts for none
            and any(self.neighbors(term.topology, self.where[other]) for term in near)
        ]
        for term in near:
            places = self.neighbors(term.topology, name)
            if not places:
                return False
            if any(self.where[other] in places for other in sure):
                continue
            # the first of a group that is to be near itself may be anywhere
            if sure or number not in friends:
                return False
        return True

    def tallies(self, number: int) -> list[_Tally]:
        """Counts of pods by topology domain, for each spread of a pod."""
        if number not in self._own_totals:
            self._own_totals[number] = [
                self._total(number, each) for each in self.state.pods[number].spread
            ]
        return self._own_totals[number]

    def _total(self, number: int, spread: Spread) -> _Tally:
        """Counts of pods by topology domain for one spread of a pod; cached for equal pods."""
        pod = self.state.pods[number]
        topologies = tuple(each.topology for each in pod.spread)
        affinity = pod.affinity if spread.honor_affinity else ()
        tolerations = pod.tolerations if spread.honor_taints else None
        where = (spread.topology, topologies, affinity, tolerations)
        key = (pod.namespace, spread, where)
        if where not in self._counted:
            # it counts on nodes with the topologies of all spreads of its pods
            self._counted[where] = {
                node.name: node.labels[spread.topology]
                for node in self.state.nodes
                if node.labels.keys() >= set(topologies)
                and node_selected(node, affinity)
                and (tolerations is None or not untolerated(pod, node))
            }
        if key not in self._totals:
            meant = self._meant[pod.namespace, spread]
            self._totals[key] = total = _Tally(self._counted[where], meant)
            for other in meant:
                self._tallied[other].append(total)
                self._tally(other, 1, total)
        return self._totals[key]

    def _tally(self, number: int, by: int, total: _Tally) -> None:
        """Add a pod to the counts of a spread (`by` -1: remove it). While it moves, it is in the
        upper counts of both nodes; else it is in the upper and lower count of its node.
        """
        here, there = self.where.get(number), self.coming.get(number)
        if there is None or here is None or here == there:
            total.count(here if there is None else there, by, by)
        else:
            total.count(here, by, 0)
            total.count(there, by, 0)

    def counted_with(self, number: int) -> set[int]:
        """Indices of the pods that at least one spread of a pod counts."""
        pod = self.state.pods[number]
        found = [self._meant[pod.namespace, spread] for spread in pod.spread]
        return found[0] if len(found) == 1 else set().union(*found)

    def counting(self, number: int) -> list[tuple[str, Spread]]:
        """Spreads that count a pod, each with its namespace."""
        return self._counting.get(self._labels.kind[number], [])

    def _evenly(self, number: int, name: str, spread: Spread, total: _Tally) -> bool:
        domain = self.nodes[name].labels.get(spread.topology)
        if domain is None:
            return False
        own = number in total.pods
        if own:
            self._tally(number, -1, total)
        found = total.high[domain] + own - total.least(spread.domains) <= spread.most
        if own:
            self._tally(number, 1, total)
        return found

    def broken(self) -> dict[str, int]:
        """Rules that the current positions break, each with its excess: capacity by node and
        resource, spreads by group (named by its first pod), rules between pods by pair and
        topology.
        """
        found: dict[str, int] = {}
        for name, used in self.used.items():
            for resource, over in self._short(name, used):
                found[f"{name} has too little {resource}"] = over
        for number, name in self.where.items():
            pod = self.state.pods[number]
            for term in pod.pod_anti_affinity:
                if self._any_near(self._shunned[term], term.topology, name, number):
                    places = self.neighbors(term.topology, name)
                    for other in self._shunned[term]:
                        if other != number and self.where.get(other) in places:
                            them = f"{pod.title} and {self.state.pods[other].title}"
                            found[f"anti-affinity between {them} over {term.topology}"] = 1
            leaving = pod.role is Role.LEAVING
            if pod.pod_affinity and not leaving and not self._near_friends(number, name):
                found[f"affinity of {pod.title}"] = 1
            if pod.ports:
                for other in self.on[name]:
                    if other != number and _same_port(pod, self.state.pods[other]):
                        them = f"{pod.title} and {self.state.pods[other].title}"
                        found[f"host port between {them}"] = 1
        seen: set[int] = set()
        for number in self.where:
            pod = self.state.pods[number]
            for spread, total in zip(pod.spread, self.tallies(number), strict=True):
                over = max(total.high.values(), default=0) - total.least(spread.domains)
                if id(total) not in seen and over > spread.most:
                    found[f"spread of {pod.title} over {spread.topology}"] = over
                seen.add(id(total))
        return found


class _Labels:
    """Pods grouped by kind: equal namespace and labels."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        table: dict[object, list[int]] = {}
        for number, pod in enumerate(pods):
            table.setdefault((pod.namespace, frozenset(pod.labels.items())), []).append(number)
        self._members = list(table.values())
        self._sample = [pods[members[0]] for members in self._members]
        self.kind = {n: kind for kind, members in enumerate(self._members) for n in members}
        self._with: dict[tuple[str, str], list[int]] = defaultdict(list)
        for kind, pod in enumerate(self._sample):
            for label in pod.labels.items():
                self._with[label].append(kind)

    def kinds(
        self, selector: tuple[Expression, ...] | None, namespaces: frozenset[str] | None
    ) -> list[int]:
        """Kinds of pods that a label selector matches in some namespaces (None: in all)."""
        some: Iterable[int] = range(len(self._sample))
        if selector and selector[0].operator == "In":
            key = selector[0].key
            some = {k for value in selector[0].values for k in self._with.get((key, value), ())}
        return [
            kind
            for kind in some
            if (namespaces is None or self._sample[kind].namespace in namespaces)
            and _selected(selector, self._sample[kind])
        ]

    def pods(self, kinds: Iterable[int]) -> Iterator[int]:
        """Indices of the pods of some kinds, each with equal namespace and labels."""
        for kind in kinds:
            yield from self._members[kind]

    def of_term(self, term: PodTerm) -> set[int]:
        """Indices of the pods that an affinity term matches."""
        return set(self.pods(self.kinds(term.selector, term.namespaces)))


class _Tally:
    """Upper and lower bounds on the pods of each topology domain that one spread constraint counts.

    Attributes
    ----------
    domain_of : the domain of each node that counts.
    pods : those that it counts.
    """

    def __init__(self, domain_of: Mapping[str, str], pods: Collection[int]) -> None:
        self.domain_of, self.pods = domain_of, pods
        self.high = Counter(dict.fromkeys(domain_of.values(), 0))
        self._low = Counter(self.high)
        self._domains_with = Counter(self._low.values())  # by how many pods surely are there

    def count(self, node: str | None, high: int, low: int) -> None:
        """Add `high` and `low` to the upper and lower count of pods in a counted node's domain."""
        domain = self.domain_of.get(node or "")
        if domain is None:
            return
        self.high[domain] += high
        if low:
            self._domains_with[self._low[domain]] -= 1
            self._low[domain] += low
            self._domains_with[self._low[domain]] += 1

    def least(self, domains: int) -> int:
        """Smallest lower count of pods in any domain; 0 if there are fewer than `domains`."""
        if len(self._low) < domains:
            return 0
        return min((number for number, those in self._domains_with.items() if those), default=0)


def check_waves(
    state: ClusterState,
    waves: Sequence[Wave],
    *,
    freed: Collection[str] = (),
    released: Collection[str] = (),
    arrivals: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Check by the scheduler's filters that the waves of moves of a plan can be carried out.

    Every move of a wave passes the filters beside all other moves of the wave, no disruption budget
    is exceeded, nothing moves that must stay, and the freed nodes end up empty. At the end, with
    the pending pods at the nodes of `arrivals`, no rule is broken that was not broken before,
    except spreads by pods that had no node.

    Raises
    ------
    InfeasibleSolution
        Naming the first move or rule.
    """
    scheduler = Scheduler(state)
    before = scheduler.broken()
    for index, wave in enumerate(waves, 1):
        # 1. Each move of the wave is allowed by itself.
        if len({move.pod for move in wave}) != len(wave):
            raise InfeasibleSolution(f"wave {index} moves a {state.workload_noun} twice")
        evicted: Counter[tuple[str, str]] = Counter()  # by disruption budget
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
                        f"wave {index} evicts {evicted[key]} pods of the budget {budget.name}, "
                        f"which allows {budget.allowed}"
                    )
        # 2. All moves of the wave fit at the same time, each pod on its old and its new node.
        for move in wave:
            scheduler.come(move.pod, move.node)
        for move in wave:
            if why := scheduler.refusals(move.pod, move.node):
                raise InfeasibleSolution(
                    f"wave {index}: {move.node} does not take {state.pods[move.pod].title}: "
                    f"{', '.join(why)}"
                )
        for move in wave:
            scheduler.leave(move.pod)
    # 3. Freed nodes hold only pods that belong to them.
    for number, name in scheduler.where.items():
        pod = state.pods[number]
        if name in freed and pod.role not in (Role.RESIDENT, Role.LEAVING):
            raise InfeasibleSolution(f"{pod.title} is still on {name}, which is to be freed")
    # 4. Nothing is broken at the end that was not broken before.
    moved = scheduler.broken()
    for number, name in arrivals.items():
        scheduler.arrive(number, name)
    for what, by in scheduler.broken().items():
        # a spread forbids nothing to pods that do not carry it: their arrival may break it
        alone = what.startswith("spread of") and moved.get(what, 0) <= before.get(what, 0)
        if by > before.get(what, 0) and not alone:
            raise InfeasibleSolution(f"at the end {what} is broken, but it was not broken before")


def check_arrivals(
    state: ClusterState, where: Mapping[int, str], arrivals: Mapping[int, str]
) -> None:
    """Check that pending pods can be placed one after the other, in the order of `arrivals`, when
    the other pods are at the nodes of `where`.

    Raises
    ------
    InfeasibleSolution
        Naming the first pod that a filter refuses.
    """
    scheduler = Scheduler(state, where)
    for number, node in arrivals.items():
        pod = state.pods[number]
        reasons = [words for _, words in pod.undecided]
        if pod.role is not Role.PENDING:
            reasons.append(f"it is {pod.role}")
        if node not in scheduler.nodes:
            reasons.append("no such node")
        if why := reasons or scheduler.refusals(number, node):
            raise InfeasibleSolution(f"{node} does not take {pod.title}: {', '.join(why)}")
        scheduler.arrive(number, node)


def _require_movable(scheduler: Scheduler, number: int, released: Collection[str]) -> None:
    pod = scheduler.state.pods[number]
    if pod.role is not Role.MOVABLE:
        raise InfeasibleSolution(f"{pod.title} moves, which must stay: {pod.reason or pod.role}")
    for kind, words in pod.unsupported_constraints:
        if kind not in released:
            raise InfeasibleSolution(f"{pod.title} moves, which must stay: {words}")
    theirs = scheduler.budgets(number)
    if "budget" not in released and (len(theirs) > 1 or any(b.allowed < 1 for b in theirs)):
        raise InfeasibleSolution(f"{pod.title} moves, but no budget allows it")


def _selected(selector: tuple[Expression, ...] | None, pod: Pod) -> bool:
    """Return whether a label selector, if there is one, matches a pod."""
    return selector is not None and all(_met(each, pod.labels.get(each.key)) for each in selector)


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
    bounds = condition.values
    # as the API's own parser: "1_000" and " 1" are no numbers
    if value is None or len(bounds) != 1 or not (_is_whole(value) and _is_whole(bounds[0])):
        return False
    mine, bound = int(value), int(bounds[0])
    return mine > bound if condition.operator == "Gt" else mine < bound


def _is_whole(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def node_selected(node: Node, groups: Iterable[tuple[NodeTerm, ...]]) -> bool:
    """Return whether a node matches at least one term of every group of node terms."""
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
    """First taint of a node that a pod does not tolerate; "" if it tolerates all."""
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
