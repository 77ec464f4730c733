"""The translation of a state into a packing instance, and what of the state it leaves out.

The same state is translated twice. For the *plan*, a pod with a constraint that is not modelled
stays where it is (it is pinned), as do all pods whose move could break such a constraint. For the
*bound*, those constraints are dropped and the pods are free: no real plan can do better than a
bound that knows fewer rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from math import gcd

import numpy as np

from ..instances.packing.instance import Packing
from ..instances.packing.placement_constraints import Limit
from ..instances.packing.placement_constraints import Spread as ZoneSpread
from ..instances.problem.errors import InvalidInstance
from ..instances.problem.tables import LARGEST
from .selectors import admits, meets_terms, ports_clash, refers_to, selects, tolerates
from .state import (
    SCHEDULER,
    TOLERATIONS,
    Budget,
    ClusterState,
    Health,
    Node,
    Pod,
    PodTerm,
    Role,
    Spread,
    limitless,
)

Reason = tuple[str, str]
"""The kind of a reason why a pod is pinned, and its words."""

RELEASED = ("volumes", "budget", "scheduler", "resource claims")
"""Kinds of reasons that a user may vouch for, so that they pin no pod."""


COMPARED = (
    "namespace", "affinity", "volume_node_affinity", "tolerations", "pod_anti_affinity",
    "pod_affinity", "spread", "ports", "unsupported_constraints",
)  # fmt: skip
"""Fields in which pods of one kind are equal; so are their requests, and of their labels what some
selector asks for.
"""

NOT_COMPARED = {
    "name": "it tells pods apart, not kinds",
    "node": "where each pod runs is the placement, not the kind",
    "role": "pods that stay are types of their own",
    "reason": "pods that stay are types of their own",
    "owner": "it names a kind, and constrains nothing",
    "soft": "preferences are reported, not modelled",
    "health": "budgets are applied to each pod",
}
"""Fields in which pods of one kind may differ, and why no constraint is lost."""


def require_every_field(pod: type) -> None:
    """Refuse a class of pods with a field that neither tells kinds apart nor is named as one that
    does not: pods that differ in it would be merged, and the bound be wrong.

    Raises
    ------
    TypeError
        It has such a field.
    """
    listed = {*COMPARED, *NOT_COMPARED, "requests", "labels"}
    if missing := sorted(each.name for each in fields(pod) if each.name not in listed):
        raise TypeError(
            f"Pod.{missing[0]} is neither in COMPARED nor in NOT_COMPARED of {__name__}; name it "
            "in the one where pods that differ in it may not be merged, else in the other"
        )


require_every_field(Pod)


@dataclass(frozen=True)
class Translation:
    """A state as an instance.

    Attributes
    ----------
    instance : servers are nodes, by class; types are pods that nothing tells apart.
    pods : by type: places of its pods in the state.
    nodes : by server: its place in the state's nodes.
    control_plane_in_use : how many control-plane nodes count as in use, whatever runs there.
    pinned : place of a pod -> why it is pinned; in the bound they are free.
    dropped : constraints that are not in the instance, in words.
    violated_rules : rules that what runs now breaks, in words.
    """

    instance: Packing
    pods: tuple[tuple[int, ...], ...]
    nodes: tuple[int, ...]
    control_plane_in_use: int
    pinned: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    violated_rules: tuple[str, ...] = ()


def translate(
    state: ClusterState,
    *,
    for_bound: bool = False,
    repair: bool = False,
    ignored_pin_reasons: Iterable[str] = (),
    drained_nodes: Iterable[str] = (),
) -> Translation:
    """A state as an instance: for the plan, or `for_bound` for the bound.

    Parameters
    ----------
    repair : whether a plan also repairs the rules that what runs now breaks; otherwise their pods
        stay, and nothing makes them worse.
    ignored_pin_reasons : kinds of `RELEASED` that pin no pod: the user knows better.
    drained_nodes : names of nodes that take no pod any more, and keep only those that must stay.

    Raises
    ------
    InvalidInstance
        No pod is left to be placed, or one has nowhere to be.
    """
    return _Builder(
        state, for_bound, repair, frozenset(ignored_pin_reasons), frozenset(drained_nodes)
    ).built()


@dataclass
class _Rule:
    """A rule between kinds of pods: "limit" and "spread" count them together, "apart" are two."""

    sort: str
    kinds: tuple[int, ...]
    most: int
    topology: str
    words: str
    kind: str
    domains: tuple[str, ...] = ()
    why: str = ""
    """Why it cannot be in an instance; "" where it can."""
    bounds: bool = True
    """Whether it may stand in the bound."""
    others: tuple[int, ...] = ()
    """Further kinds whose moves could break it."""


class _Builder:
    """One translation, step by step."""

    def __init__(
        self,
        state: ClusterState,
        for_bound: bool,
        repair: bool,
        ignored_pin_reasons: frozenset[str],
        drained_nodes: frozenset[str],
    ) -> None:
        self.state, self.for_bound, self.repair = state, for_bound, repair
        self.ignored_pin_reasons, self.drained_nodes = ignored_pin_reasons, drained_nodes
        self.place = {node.name: number for number, node in enumerate(state.nodes)}
        self.counted = [
            number
            for number, pod in enumerate(state.pods)
            if pod.role in (Role.MOVABLE, Role.FIXED)
        ]
        self.residents = [
            pod
            for pod in state.pods
            if pod.role is Role.RESIDENT or (pod.role is Role.LEAVING and not for_bound)
        ]
        self.reasons: dict[int, dict[Reason, None]] = {number: {} for number in self.counted}
        self.dropped: dict[str, None] = {}
        self.broken: dict[str, None] = {}
        self._group()
        self.hostnames = {key for key in self._topologies() if self._one_each(key)}
        self.zone_key = self._zone_key()

    def built(self) -> Translation:
        room = self._rooms()
        eligible = self._eligible()
        rules = [rule for rule in self._rules() if self._usable(rule)]
        self._pin_by_state()
        return self._assembled(eligible, rules, room)

    # kinds of pods that no rule tells apart

    def _group(self) -> None:
        asked: dict[str, set[str]] = {}  # what selectors ask of labels: the rest tells none apart
        selectors = [budget.selector for budget in self.state.budgets]
        for pod in self.state.pods:
            selectors += [term.selector for term in (*pod.pod_anti_affinity, *pod.pod_affinity)]
            selectors += [each.selector for each in pod.spread]
        for selector in selectors:
            for each in selector or ():
                asked.setdefault(each.key, set()).update(each.values)
        table: dict[object, list[int]] = {}
        for number in self.counted:
            pod = self.state.pods[number]
            labels = frozenset(
                (key, value if value in asked[key] else None)
                for key, value in pod.labels.items()
                if key in asked
            )
            same = tuple(getattr(pod, name) for name in COMPARED)
            key = (frozenset(pod.requests.items()), labels, *same)
            table.setdefault(key, []).append(number)
        self.kinds = [tuple(members) for members in table.values()]
        self.kind_of = {number: k for k, members in enumerate(self.kinds) for number in members}
        self.sample = [self.state.pods[members[0]] for members in self.kinds]
        self.there = [
            Counter(self.place[self.state.pods[number].node] for number in members)
            for members in self.kinds
        ]

    def _title(self, kind: int) -> str:
        pod = self.sample[kind]
        owner = pod.owner[1] or pod.name
        return f"{pod.namespace}/{owner}" if pod.namespace else owner

    def _pin(self, kinds: Iterable[int], *reasons: Reason) -> None:
        for kind in kinds:
            for number in self.kinds[kind]:
                self.reasons[number].update(dict.fromkeys(reasons))

    # where each kind may be

    def _topologies(self) -> Counter[str]:
        found = Counter(term.topology for pod in self.sample for term in pod.pod_anti_affinity)
        found.update(each.topology for pod in self.sample for each in pod.spread)
        known = {key for node in self.state.nodes for key in node.labels}
        return Counter({key: number for key, number in found.items() if key in known})

    def _one_each(self, key: str) -> bool:
        values = [node.labels.get(key) for node in self.state.nodes]
        return None not in values and len(set(values)) == len(values)

    def _zone_key(self) -> str:
        rest = self._topologies()
        for key in self.hostnames:
            del rest[key]
        return rest.most_common(1)[0][0] if rest else ""

    def _zone(self, node: Node) -> str:
        """The zone of a node in an instance, where "" is none: the empty label is one as others."""
        return (node.labels[self.zone_key] or '""') if self.zone_key in node.labels else ""

    def _free_scheduler(self, kind: int) -> bool:
        """Whether only capacity is known of where it would be put, as by another scheduler."""
        return self.for_bound and any(
            what in (SCHEDULER, TOLERATIONS)
            for what, _ in self.sample[kind].unsupported_constraints
        )

    def _asks(self, pod: Pod, resource: str) -> int:
        """What a pod takes; in the bound no volumes of which not all is known."""
        unsure = self.for_bound and any(
            what == "volumes" for what, _ in pod.unsupported_constraints
        )
        if unsure and limitless(resource):
            return 0
        return pod.requests.get(resource, 0)

    def _eligible(self) -> np.ndarray:
        """(kinds, nodes) whether a pod of the kind could be put there, other pods apart that move
        themselves.
        """
        found = np.ones((len(self.kinds), len(self.state.nodes)), dtype=bool)
        alike: dict[object, list[Pod]] = {}  # residents that differ by their node only
        for pod in self.residents:
            signature = (
                pod.namespace,
                frozenset(pod.labels.items()),
                pod.pod_anti_affinity,
                pod.ports,
            )
            alike.setdefault(signature, []).append(pod)
        matched: dict[tuple[object, ...], list[bool]] = {}
        for kind, pod in enumerate(self.sample):
            if self._free_scheduler(kind):
                continue
            key = (pod.affinity, pod.volume_node_affinity, pod.tolerations)
            if key not in matched:
                matched[key] = [
                    admits(node, pod) and (self.for_bound or not node.unknown_reason)
                    for node in self.state.nodes
                ]
            found[kind] = matched[key]
            for spread in pod.spread:
                found[kind] &= [spread.topology in node.labels for node in self.state.nodes]
            for residents in alike.values():
                one = residents[0]
                if ports_clash(pod.ports, one.ports):
                    found[kind, [self.place[each.node] for each in residents]] = False
                for first, second in ((pod, one), (one, pod)):
                    for term in first.pod_anti_affinity:
                        if refers_to(term, second) and not (
                            self.for_bound and term.has_unsupported_selector
                        ):
                            near = self._domains(term.topology, residents)
                            # pods that are near each other now may be so anywhere
                            if not (self.for_bound and near[list(self.there[kind])].any()):
                                found[kind] &= ~near
        return found

    def _domains(self, topology: str, pods: Iterable[Pod]) -> np.ndarray:
        """(nodes,) whether each is in the domain of one of these pods."""
        nodes = self.state.nodes
        values = {nodes[self.place[pod.node]].labels.get(topology) for pod in pods} - {None}
        return np.array([node.labels.get(topology) in values for node in nodes])

    # rules between kinds

    def _rules(self) -> list[_Rule]:
        found = [*self._apart_rules(), *self._port_rules(), *self._spread_rules()]
        carriers = [(self._title(kind), pod) for kind, pod in enumerate(self.sample)]
        carriers += [(pod.title, pod) for pod in self.residents if pod.role is Role.RESIDENT]
        for place, (title, pod) in enumerate(carriers):
            for term in pod.pod_affinity:
                if place < len(self.sample):
                    self._pin([place], ("affinity", "required pod affinity"))
                near = [other for other, each in enumerate(self.sample) if refers_to(term, each)]
                self._pin(near, ("affinity", f"{title} must stay near it"))
        spreads = {
            (pod.namespace, each): pod.title for pod in self.residents for each in pod.spread
        }
        for (namespace, spread), title in spreads.items():
            self._pin(
                self._counted_by(namespace, spread), ("spread", f"a spread of {title} counts it")
            )
        return found

    def _apart_rules(self) -> list[_Rule]:
        carriers: dict[PodTerm, list[int]] = {}
        for kind, pod in enumerate(self.sample):
            for term in dict.fromkeys(pod.pod_anti_affinity):
                carriers.setdefault(term, []).append(kind)
        found = []
        for term, who in carriers.items():
            if not any(term.topology in node.labels for node in self.state.nodes):
                continue  # all nodes are in no domain of it
            meant = [kind for kind, pod in enumerate(self.sample) if refers_to(term, pod)]
            mutual = tuple(kind for kind in who if kind in meant)
            words = f"anti-affinity of {self._title(who[0])}"
            bounds = not term.has_unsupported_selector
            if mutual:
                found.append(
                    _Rule("limit", mutual, 1, term.topology, words, "anti-affinity", bounds=bounds)
                )
            pairs = {
                (min(a, b), max(a, b))
                for a in who
                for b in meant
                if not (a in mutual and b in mutual)
            }
            found += [
                _Rule("apart", pair, 1, term.topology, words, "anti-affinity", bounds=bounds)
                for pair in sorted(pairs)
            ]
        return found

    def _port_rules(self) -> list[_Rule]:
        with_ports = [kind for kind, pod in enumerate(self.sample) if pod.ports]
        found = []
        for place, a in enumerate(with_ports):
            words = f"host port of {self._title(a)}"
            found.append(_Rule("limit", (a,), 1, "", words, "anti-affinity"))
            for b in with_ports[place + 1 :]:
                if ports_clash(self.sample[a].ports, self.sample[b].ports):
                    found.append(_Rule("apart", (a, b), 1, "", words, "anti-affinity"))
        return found

    def _counted_by(self, namespace: str, spread: Spread) -> list[int]:
        return [
            kind
            for kind, pod in enumerate(self.sample)
            if pod.namespace == namespace and selects(spread.selector, pod.labels)
        ]

    def _spread_rules(self) -> list[_Rule]:
        carriers: dict[tuple[str, Spread, tuple[object, ...]], list[int]] = {}
        for kind, pod in enumerate(self.sample):
            for spread in dict.fromkeys(pod.spread):
                keys = tuple(each.topology for each in pod.spread)
                key = (pod.namespace, spread, (keys, pod.affinity, pod.tolerations))
                carriers.setdefault(key, []).append(kind)
        found = []
        for (namespace, spread, _), who in carriers.items():
            meant = set(self._counted_by(namespace, spread))
            words = f"spread of {self._title(who[0])} over {spread.topology}"
            one = self.sample[who[0]]
            counting = [
                number
                for number, node in enumerate(self.state.nodes)
                if all(each.topology in node.labels for each in one.spread)
                and (not spread.honor_affinity or meets_terms(node, one.affinity))
                and (not spread.honor_taints or tolerates(node, one))
            ]
            domains = tuple(
                dict.fromkeys(self.state.nodes[n].labels[spread.topology] for n in counting)
            )
            rule = _Rule(
                "spread", tuple(who), spread.most, spread.topology, words, "spread", domains,
                others=tuple(meant - set(who)),
            )  # fmt: skip
            outside = any(number not in counting for kind in who for number in self.there[kind])
            if meant != set(who):
                rule.why = "it counts other pods too, or not its own"
            elif spread.domains > 1:
                rule.why = "minDomains"
            elif outside or any(
                pod.namespace == namespace and selects(spread.selector, pod.labels)
                for pod in self.residents
            ):
                rule.why = "some of the pods it counts are not in the plan"
            elif spread.topology in self.hostnames:
                # no more than the skew on any node is enough, and more than is asked for
                rule.sort, rule.bounds = "limit", False
            # a domain that loses its last node counts no longer, once the node is deleted
            elif any(
                all(
                    node.can_be_drained
                    for node in self.state.nodes
                    if node.labels.get(spread.topology) == d
                )
                for d in domains
            ):
                rule.bounds = False
            found.append(rule)
        return found

    def _usable(self, rule: _Rule) -> bool:
        """Whether a rule is in the instance; where not, its pods are pinned and it is named."""
        everywhere = rule.topology in self.hostnames or not rule.topology
        if not everywhere and not rule.why:
            if rule.topology != self.zone_key:
                rule.why = f"topology {rule.topology}"
            elif rule.sort == "apart":
                rule.why = "different pods apart by zone"
        reason = (rule.kind, f"{rule.words}: {rule.why}")
        if not rule.why and self._broken(rule):
            self.broken[rule.words] = None
            if not self.repair:
                rule.why, reason = "broken as it stands", ("broken", f"{rule.words} is broken now")
        if rule.why:
            self._pin((*rule.kinds, *rule.others), reason)
        if rule.why or (self.for_bound and not rule.bounds):
            self.dropped[f"{rule.words} ({rule.why or 'a zone or node may go'})"] = None
            return False
        return not (self.for_bound and any(map(self._free_scheduler, rule.kinds)))

    def _broken(self, rule: _Rule) -> bool:
        """Whether what runs now breaks a rule."""
        counts: list[Counter[object]] = []
        for kind in rule.kinds:
            count: Counter[object] = Counter()
            for number, pods in self.there[kind].items():
                labels = self.state.nodes[number].labels
                where = number if not rule.topology else labels.get(rule.topology)
                if where is not None:
                    count[where] += pods
            counts.append(count)
        if rule.sort == "apart":
            return bool(set(counts[0]) & set(counts[1]))
        total = sum(counts, Counter())
        if rule.sort == "limit":
            return max(total.values(), default=0) > rule.most
        numbers = [total[domain] for domain in rule.domains]
        return max(numbers) - min(numbers) > rule.most

    # what nodes have room for, and who is pinned

    def _rooms(self) -> list[dict[str, int]]:
        """By node what is left beside residents, and at least what its pods take now."""
        # where no limit is given, as of attached volumes, there is none
        endless = {
            name: LARGEST for pod in self.state.pods for name in pod.requests if limitless(name)
        }
        rooms = [Counter(endless | dict(node.allocatable)) for node in self.state.nodes]
        for pod in self.residents:
            taken = {name: self._asks(pod, name) for name in pod.requests}
            rooms[self.place[pod.node]].subtract(taken)
        loads: list[Counter[str]] = [Counter() for _ in self.state.nodes]
        for number in self.counted:
            pod = self.state.pods[number]
            loads[self.place[pod.node]].update(pod.requests)
        for number, node in enumerate(self.state.nodes):
            over = [name for name, load in loads[number].items() if load > rooms[number][name]]
            if not over:
                continue
            words = f"{node.name} is over its {', '.join(sorted(over))}"
            self.broken[words] = None
            if self.repair:
                continue
            self.dropped[f"{words} as it stands"] = None
            for each in self.counted:
                if self.state.pods[each].node == node.name:
                    self.reasons[each]["broken", words] = None
            for name in over:
                rooms[number][name] = loads[number][name]
        return [dict(room) for room in rooms]

    def _pin_by_state(self) -> None:
        """Pin pods by what the reader did not model, and by budgets that allow nothing."""
        by_namespace: dict[str, list[Budget]] = {}
        for budget in self.state.budgets:
            by_namespace.setdefault(budget.namespace, []).append(budget)
        for kind, pod in enumerate(self.sample):  # all of a kind, as to what selectors ask
            self._pin([kind], *pod.unsupported_constraints)
            theirs = [
                budget
                for budget in by_namespace.get(pod.namespace, ())
                if selects(budget.selector, pod.labels)
            ]
            why = "two budgets speak of it" if len(theirs) > 1 else "its budget allows 0"
            for number in self.kinds[kind] if theirs else ():
                health = self.state.pods[number].health
                free = len(theirs) == 1 and (
                    theirs[0].allowed > 0
                    or (theirs[0].always_allow_unready and health is Health.UNREADY)
                )
                if not free and health is not Health.STARTING:
                    self.reasons[number]["budget", why] = None
        for number, reasons in self.reasons.items():
            fixed = self.state.pods[number].role is Role.FIXED
            self.reasons[number] = {
                reason: None
                for reason in reasons
                if reason[0] not in self.ignored_pin_reasons and not fixed
            }

    # the instance

    def _assembled(
        self, eligible: np.ndarray, rules: Sequence[_Rule], room: list[dict[str, int]]
    ) -> Translation:
        nodes = self.state.nodes
        table: dict[tuple[int, int], list[int]] = {}
        for number in self.counted:
            pod, kind = self.state.pods[number], self.kind_of[number]
            own = self.place[pod.node]
            stays = pod.role is Role.FIXED or (self.reasons[number] and not self.for_bound)
            past = not eligible[kind, own]  # it may stay, as no other of its kind may come
            table.setdefault(
                (kind, 2 * own + 1 if stays else 2 * own + 2 if past else 0), []
            ).append(number)
        if not table:
            raise InvalidInstance(
                self.state.name, f"without a {self.state.workload_noun} that runs and could move",
                f"at least one beside those that belong to their {self.state.host_noun}",
            )  # fmt: skip
        allowed = np.zeros((len(table), len(nodes)), dtype=bool)
        for row, (kind, mark) in enumerate(table):
            if mark % 2:
                allowed[row, mark // 2] = True
            else:
                allowed[row] = eligible[kind]
                if mark:
                    allowed[row, mark // 2 - 1] = True
        closed = [number for number, node in enumerate(nodes) if node.name in self.drained_nodes]
        leaving = [row for row, (_, mark) in enumerate(table) if mark % 2 == 0]
        allowed[np.ix_(leaving, closed)] = False
        kept = [
            n for n, node in enumerate(nodes) if not node.can_be_drained and allowed[:, n].any()
        ]
        types: dict[int, list[int]] = {}
        for row, (kind, _) in enumerate(table):
            types.setdefault(kind, []).append(row)
        resources = sorted(
            {
                name
                for k in types
                for name in self.sample[k].requests
                if self._asks(self.sample[k], name)
            }
        )
        demand, capacity, names = [], [[0] * len(nodes) for _ in resources], []
        columns = []
        for place, name in enumerate(resources):
            column = [self._asks(self.sample[kind], name) for kind, _ in table]
            unit = gcd(*column)
            total = sum(
                amount // unit * len(pods)
                for amount, pods in zip(column, table.values(), strict=True)
            )
            columns.append([amount // unit for amount in column])
            capacity[place] = [min(max(one.get(name, 0), 0) // unit, total) for one in room]
            names.append(name if unit == 1 else f"{name} [{unit}]")
        demand = [list(row) for row in zip(*columns, strict=True)]
        allowed_rows = allowed.tolist()
        # a control-plane node counts as in use whatever runs there: something that only it holds
        if kept:
            names.append("kept")
            demand = [[*row, 0] for row in demand]
            capacity.append([int(n in kept) for n in range(len(nodes))])
            for n in kept:
                demand.append([0] * len(resources) + [1])
                allowed_rows.append([each == n for each in range(len(nodes))])
        occupied = {self.place[self.state.pods[number].node] for number in self.counted}
        free = zip(*capacity, strict=True)
        spent = [n in occupied and not any(column) for n, column in enumerate(free)]
        if any(spent):  # no instance has servers without room: these have some of what none asks
            names.append("spent")
            demand = [[*row, 0] for row in demand]
            capacity.append([int(each) for each in spent])
        rooms = [tuple(column) for column in zip(*capacity, strict=True)]
        zones = [self._zone(node) for node in nodes]
        signature: dict[object, list[int]] = {}
        matrix = np.array(allowed_rows, dtype=bool)
        for number in range(len(nodes)):
            if any(rooms[number]):
                key = (rooms[number], zones[number], matrix[:, number].tobytes())
                signature.setdefault(key, []).append(number)
        classes = list(signature.values())
        servers = [number for members in classes for number in members]
        seat = {number: place for place, number in enumerate(servers)}
        heads = [members[0] for members in classes]
        limits, apart, spreads = [], set(), []
        for rule in rules:
            rows = tuple(row for kind in rule.kinds for row in types[kind])
            zoned = rule.topology == self.zone_key and bool(rule.topology)
            if zoned and not any(zones[n] for n in servers):
                continue  # no server is in any domain of it
            domains = [each or '""' for each in rule.domains]
            # a domain without room stays empty: no other may have more than the skew
            full = rule.sort == "spread" and not set(domains) <= {zones[n] for n in servers}
            if rule.sort == "limit" or full:
                limits.append(Limit(rows, rule.most, "zone" if zoned else "server"))
            elif rule.sort == "apart":
                first, second = rule.kinds
                apart |= {
                    (min(a, b), max(a, b)) for a in types[first] for b in types[second] if a != b
                }
            else:
                spreads.append(ZoneSpread(rows, rule.most, tuple(domains)))
        placed = Counter(
            (seat[self.place[self.state.pods[number].node]], row)
            for row, pods in enumerate(table.values())
            for number in pods
        )
        placed.update({(seat[n], len(table) + place): 1 for place, n in enumerate(kept)})
        titles = _distinct([self._title(kind) for kind, _ in table] + [nodes[n].name for n in kept])
        instance = Packing(
            capacity=[rooms[number] for number in heads],  # type: ignore[arg-type]
            demand=demand,  # type: ignore[arg-type]
            request=[float(len(pods)) for pods in table.values()] + [1.0] * len(kept),  # type: ignore[arg-type]
            servers=[float(len(members)) for members in classes],  # type: ignore[arg-type]
            resources=tuple(names),
            names=titles,
            allowed=matrix[:, heads],
            zone=tuple(zones[number] for number in heads) if self.zone_key else (),
            apart=sorted(apart) or None,  # type: ignore[arg-type]
            limits=tuple(limits),
            spreads=tuple(spreads),
            placed=[[m, i, n] for (m, i), n in sorted(placed.items())],  # type: ignore[arg-type]
            server_names=tuple(nodes[number].name for number in servers),
            name=self.state.name.split("/")[-1].split(".")[0] or "state",
            source=f"{self.state.platform} state {self.state.name}, "
            f"{'for the bound' if self.for_bound else 'for the plan'}",
        )
        return Translation(
            instance=instance, pods=tuple(map(tuple, table.values())), nodes=tuple(servers),
            control_plane_in_use=len(kept),
            pinned={number: tuple(why) for number, why in self.reasons.items() if why},
            dropped=tuple(self.dropped), violated_rules=tuple(self.broken),
        )  # fmt: skip


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Names distinguished by a number where two are the same."""
    seen: Counter[str] = Counter()
    total = Counter(names)
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if total[name] == 1 else f"{name} #{seen[name]}")
    return tuple(found)
