"""Translation of a cluster state into a packing instance, and the list of what it leaves out.

The same state is translated twice. For the *plan*, a pod with a constraint that is not modelled
stays where it is (it is pinned), as do all pods whose move could break such a constraint. For the
*bound*, those constraints are dropped and the pods are free: no real plan can do better than a
bound that knows fewer rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...instances.problem.tables import LARGEST
from ..judge.scheduler_filters import Scheduler
from ..state.constraints import PodTerm, Spread, selects
from ..state.selectors import admits, meets_terms, ports_clash, refers_to, tolerates
from ..state.state import Budget, Health, Pod, Role, limitless
from .answer import Question, Reason
from .assembly import Assembly, Kinds, Rule, Translation


def translate(question: Question, *, for_bound: bool = False) -> Translation:
    """Translate a question into a packing instance: for the plan, or for the bound (`for_bound`).

    Raises
    ------
    InvalidInstance
        No pod is left to be placed, or one has nowhere to be.
    """
    return _Builder(question, for_bound).built()


class _Builder(Kinds):
    """Builder of one packing instance from a question: its kinds of pods, its rules, and pinned
    pods.
    """

    def __init__(self, question: Question, for_bound: bool) -> None:
        super().__init__(question.state, for_bound, question.pending)
        topologies = self._topologies()
        self.hostnames = {key for key in topologies if self._one_each(key)}
        zones = [key for key, _ in topologies.most_common() if key not in self.hostnames]
        self.zone_key = zones[0] if zones else ""
        self.repair, self.nodes_stay = question.repair, question.nodes_stay
        self.new_nodes, self.drained_nodes = question.new_nodes, frozenset(question.emptied)
        self.ignored_pin_reasons = frozenset(question.released)
        self.reasons: dict[int, dict[Reason, None]] = {number: {} for number in self.counted}
        self.dropped: dict[str, None] = {}
        self.broken: dict[str, None] = {}

    def built(self) -> Translation:
        self.room, self.may_be = room, eligible = self._rooms(), self.eligible()
        rules = [rule for rule in self._rules() if self._usable(rule)]
        self._pin_by_state()
        pinned = {number: tuple(why) for number, why in self.reasons.items() if why}
        assembled = Assembly(self, eligible, pinned, self.drained_nodes, room).translation(rules)
        placed = {n: why for n, why in pinned.items() if self.state.pods[n].placed}
        asked = {name for pod in self.sample for name in pod.requests}
        not_sure = any(node.unsure & asked for node in self.state.nodes)
        return replace(
            assembled, pinned=placed,
            unplaced={n: why for n, why in pinned.items() if n not in placed},
            dropped=tuple(self.dropped),
            violated_rules=tuple(self.broken), repairs=self.repair,
            tightened=any(rule.tightened for rule in rules) or not_sure,
        )  # fmt: skip

    def _pin(self, kinds: Iterable[int], *reasons: Reason) -> None:
        for kind in kinds:
            for number in self.kinds[kind]:
                self.reasons[number].update(dict.fromkeys(reasons))

    # where each kind may be

    def eligible(self) -> np.ndarray:
        """Whether a pod of each kind may be on each node regardless of other pods that can move,
        shape (kinds, nodes).
        """
        # 1. Group residents that differ by their node only.
        found = np.ones((len(self.kinds), len(self.state.nodes)), dtype=bool)
        alike: dict[object, list[Pod]] = {}  # residents by all but their node
        for pod in self.residents:
            signature = (
                pod.namespace,
                frozenset(pod.labels.items()),
                pod.pod_anti_affinity,
                pod.ports,
            )
            alike.setdefault(signature, []).append(pod)
        # 2. For each kind, nodes whose labels, taints and volumes admit it.
        matched: dict[tuple[object, ...], list[bool]] = {}
        for kind, pod in enumerate(self.sample):
            if self.free_scheduler(kind):
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
            # 3. Without the nodes where a resident's port or anti-affinity excludes it.
            for residents in alike.values():
                one = residents[0]
                # own pods of a node that is not bought forbid nothing
                certain = [
                    pod for pod in residents
                    if not (self.for_bound and pod.node in self.new_nodes)
                ]  # fmt: skip
                if ports_clash(pod.ports, one.ports):
                    found[kind, [self.node_index[each.node] for each in residents]] = False
                for first, second in ((pod, one), (one, pod)):
                    for term in first.pod_anti_affinity:
                        if refers_to(term, second) and not (
                            self.for_bound and term.has_unsupported_selector
                        ):
                            near = self._domains(term.topology, certain)
                            # pods that are near each other now may be so anywhere
                            if not (self.for_bound and near[list(self.there[kind])].any()):
                                found[kind] &= ~near
        return found

    def _domains(self, topology: str, pods: Iterable[Pod]) -> np.ndarray:
        """Whether each node is in the topology domain of one of the given pods, shape (nodes,)."""
        nodes = self.state.nodes
        values = {nodes[self.node_index[pod.node]].labels.get(topology) for pod in pods} - {None}
        return np.array([node.labels.get(topology) in values for node in nodes])

    # rules between kinds

    def _topologies(self) -> Counter[str]:
        found = Counter(term.topology for pod in self.sample for term in pod.pod_anti_affinity)
        found.update(each.topology for pod in self.sample for each in pod.spread)
        known = {key for node in self.state.nodes for key in node.labels}
        return Counter({key: number for key, number in found.items() if key in known})

    def _one_each(self, key: str) -> bool:
        values = [node.labels.get(key) for node in self.state.nodes]
        return None not in values and len(set(values)) == len(values)

    def _rules(self) -> list[Rule]:
        found = [*self._apart_rules(), *self._port_rules(), *self._spread_rules()]
        carriers = [(self.title(kind), pod) for kind, pod in enumerate(self.sample)]
        carriers += [(pod.title, pod) for pod in self.residents if pod.role is Role.RESIDENT]
        for index, (title, pod) in enumerate(carriers):
            for term in pod.pod_affinity:
                if index < len(self.sample):
                    self._pin([index], ("affinity", "required pod affinity"))
                    if not self.there[index]:
                        continue  # what runs nowhere yet has nothing near it
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

    def _apart_rules(self) -> list[Rule]:
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
            words = f"anti-affinity of {self.title(who[0])}"
            bounds = not term.has_unsupported_selector
            if mutual:
                found.append(
                    Rule("limit", mutual, 1, term.topology, words, "anti-affinity", bounds=bounds)
                )
            pairs = {
                (min(a, b), max(a, b))
                for a in who
                for b in meant
                if not (a in mutual and b in mutual)
            }
            found += [
                Rule("apart", pair, 1, term.topology, words, "anti-affinity", bounds=bounds)
                for pair in sorted(pairs)
            ]
        return found

    def _port_rules(self) -> list[Rule]:
        with_ports = [kind for kind, pod in enumerate(self.sample) if pod.ports]
        found = []
        for index, a in enumerate(with_ports):
            words = f"host port of {self.title(a)}"
            found.append(Rule("limit", (a,), 1, "", words, "anti-affinity"))
            for b in with_ports[index + 1 :]:
                if ports_clash(self.sample[a].ports, self.sample[b].ports):
                    found.append(Rule("apart", (a, b), 1, "", words, "anti-affinity"))
        return found

    def _counted_by(self, namespace: str, spread: Spread) -> list[int]:
        return [
            kind
            for kind, pod in enumerate(self.sample)
            if pod.namespace == namespace and selects(spread.selector, pod.labels)
        ]

    def _spread_rules(self) -> list[Rule]:
        # 1. Group the kinds that carry the same spread and count the same nodes.
        carriers: dict[tuple[str, Spread, tuple[object, ...]], list[int]] = {}
        for kind, pod in enumerate(self.sample):
            for spread in dict.fromkeys(pod.spread):
                where = (
                    tuple(each.topology for each in pod.spread),
                    pod.affinity if spread.honor_affinity else (),
                    pod.tolerations if spread.honor_taints else (),
                )
                key = (pod.namespace, spread, where)
                carriers.setdefault(key, []).append(kind)
        found = []
        for (namespace, spread, _), who in carriers.items():
            # 2. The nodes and domains that it counts.
            meant = set(self._counted_by(namespace, spread))
            words = f"spread of {self.title(who[0])} over {spread.topology}"
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
            if not domains:
                continue  # no node takes pods of it
            # 3. The rule, and the reason if no instance can state it.
            rule = Rule(
                "spread", tuple(who), spread.most, spread.topology, words, "spread", domains,
                others=tuple(meant - set(who)),
            )  # fmt: skip
            # pods in a domain that counts, on a node that does not; those on drained ones leave
            outside = {
                self.state.nodes[n].name
                for kind in who
                for n in self.there[kind]
                if n not in counting and self.state.nodes[n].labels.get(spread.topology) in domains
            }
            if meant != set(who):
                rule.why = "it counts other pods too, or not its own"
            elif spread.domains > 1:
                rule.why = "minDomains"
            elif outside - self.drained_nodes or any(
                pod.namespace == namespace and selects(spread.selector, pod.labels)
                for pod in self.residents
            ):
                rule.why = "some of the pods it counts are not in the plan"
            elif spread.topology in self.hostnames:
                self._over_nodes(rule, counting, spread.honor_taints)
            else:
                # a domain that loses its last node counts no longer, once the node is deleted
                stay = {
                    node.labels.get(spread.topology)
                    for node in self.state.nodes
                    if self.nodes_stay or not node.can_be_drained
                }
                rule.bounds = stay.issuperset(domains) and not outside
                rule.tightened = bool(outside) or (spread.honor_taints and not rule.bounds)
            found.append(rule)
        return found

    def _over_nodes(self, rule: Rule, counting: Sequence[int], honor: bool) -> None:
        """Model a spread constraint whose domains are single nodes. It becomes a limit on each
        node, which is exact if some node certainly has none of the pods. Otherwise, unless nodes
        are bought or the instance has zones of several nodes, each node becomes a zone.
        """
        # 1. nodes that count now; that always do; and until nodes are deleted, or only cordoned
        nodes = self.state.nodes
        old = [n for n in counting if nodes[n].name not in self.new_nodes]
        sure = [n for n in old if self.nodes_stay or not nodes[n].can_be_drained]
        until = sure if honor else old
        rule.bounds = bool(sure)
        number = sum(len(self.kinds[kind]) for kind in rule.kinds)
        rule.tightened = number > rule.most and self._least(rule, until) > 0
        there = sum((self.there[kind] for kind in rule.kinds), Counter[int]())
        elsewhere = {nodes[n].name for n in {*there} - {*old} if there[n] > rule.most}
        limit = self._least(rule, old) == 0 and not elsewhere
        limit |= bool(self.new_nodes) or self.zone_key not in ("", *self.hostnames)
        # 2. zones, which a bound has only where no node that counts is let go
        if not limit and (not self.for_bound or len(sure) == len(counting)):
            self.zone_key = self.zone_key or rule.topology
            rule.domains = tuple(nodes[n].labels[self.zone_key] for n in counting)
            rule.tightened &= len(until) < len(counting)
            return
        # 3. a limit: no node has more than the skew above what the emptiest can have; as it counts
        # elsewhere too, it proves nothing where more are there, even if they leave
        rule.sort = "limit"
        rule.most += self._least(rule, sure) * self.for_bound
        rule.bounds &= not elsewhere
        rule.tightened |= bool(elsewhere)
        if elsewhere - self.drained_nodes:
            rule.why = "a node that it does not count has more than the skew"
        elif rule.tightened and not self.for_bound and not self._broken(rule):
            # 4. each node keeps as many as the emptiest has, and may have so many more then
            on: dict[str, list[int]] = {nodes[n].name: [] for n in old}
            for number in (n for kind in rule.kinds for n in self.kinds[kind]):
                on.get(self.state.pods[number].node, []).append(number)
            kept = (len(on[name]) * (name not in self.drained_nodes) for name in on)
            least = min(kept, default=0)
            rule.most += least
            words = f"{rule.words}: each node keeps {least}, as zones are kept besides"
            for pods in on.values():
                pods.sort(key=lambda n: self.state.pods[n].role is not Role.FIXED)
                for number in pods[:least]:
                    self.reasons[number]["spread", words] = None

    def _least(self, rule: Rule, nodes: Sequence[int]) -> int:
        """Upper bound on the number of pods of a spread on the node with the fewest of them."""
        kinds = [*rule.kinds]
        pods = [self.state.pods[n] for kind in kinds for n in self.kinds[kind]]
        found = len(pods) // max(1, len(nodes))
        leave = self.drained_nodes if self.for_bound else ()
        may_stay = Counter(p.node for p in pods if p.role is Role.FIXED or p.node not in leave)
        for n in nodes:
            name = self.state.nodes[n].name
            if not self.may_be[kinds, n].any():
                found = min(found, may_stay[name])
                continue
            for name in pods[0].requests:
                each = min(self.asks(self.sample[kind], name) for kind in kinds)
                if each:
                    found = min(found, max(0, self.room[n].get(name, 0)) // each)
        return found

    def _usable(self, rule: Rule) -> bool:
        """Return whether the packing instance can express a rule; if not, pin its pods and list it
        as dropped.
        """
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
        return not (self.for_bound and any(map(self.free_scheduler, rule.kinds)))

    def _broken(self, rule: Rule) -> bool:
        """Return whether the current placement breaks a rule; spreads are decided by the
        filters.
        """
        if rule.kind == "spread":
            titles = (self.state.pods[n].title for kind in rule.kinds for n in self.kinds[kind])
            return any(f"spread of {each} over {rule.topology}" in self.judged for each in titles)
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
        return max(sum(counts, Counter()).values(), default=0) > rule.most

    @cached_property
    def judged(self) -> dict[str, int]:
        return Scheduler(self.state).broken()

    # what nodes have room for, and who is pinned

    def _rooms(self) -> list[dict[str, int]]:
        """Free capacity of each node beside its resident pods, by resource. A node that holds more
        than it has is given what its pods take now, except in a plan that repairs it.
        """
        # where no limit is given, as of attached volumes, there is none
        endless = {
            name: LARGEST for pod in self.state.pods for name in pod.requests if limitless(name)
        }
        rooms = [
            Counter(endless | {
                name: LARGEST if self.for_bound and name in node.unsure else room
                for name, room in node.allocatable.items()
            })
            for node in self.state.nodes
        ]  # fmt: skip
        for pod in self.residents:
            taken = {name: self.asks(pod, name) for name in pod.requests}
            rooms[self.node_index[pod.node]].subtract(taken)
        loads: list[Counter[str]] = [Counter() for _ in self.state.nodes]
        for number in self.counted:
            pod = self.state.pods[number]
            if pod.placed:
                loads[self.node_index[pod.node]].update(pod.requests)
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
        """Pin pods with constraints that the reader did not model, and pods whose disruption budget
        allows no eviction.
        """
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
                if not self.state.pods[number].placed:
                    continue  # it is evicted from nowhere
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
