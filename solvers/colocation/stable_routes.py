"""Routes of `stable` in the order in which they run; each improves the state of the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ...instances.colocation.stability import Uncertainty
from ...models.colocation import order_terms
from ..engines import EngineName, call_in_subprocess
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Status, Stop, agree, level, raise_if_interrupted
from ..roommates import WeakLists
from ..roommates.matching_search import ROOMMATES_LIMITS, RoommatesLimits
from ..routes import Routed
from .aggregate_relaxation import SHARE_LIMITS, ShareLimits
from .blocking import KINDS, MOST_TERMS, at_most_blocking, fewest_blocking
from .blossom import least_penalty_bound
from .common import CHILD_TIME_FRACTION, PROGRAM_LIMITS, Blocking, ProgramLimits
from .exchanges import Exchanges
from .robust import robust_alpha
from .to_roommates import (
    RoommatesAnswer,
    alone_is_worst,
    forgiving,
    lists_of_agents,
    solve_roommates,
    without_blocking,
)  # fmt: skip

STEPS = (2, 4, 5, 8, 12, None)
"""Steps a type of the order encodings, one after the other; None for all."""

FEW_PAIRS = "program over the pairs that could be stable"

KILL_GRACE = 0.5
"""Seconds a process of its own may pass the limit before it is ended."""

COUNTED: dict[Uncertainty, str] = {
    "none": "blocking_pairs",
    "certain": "certain_blocking_pairs",
    "possible": "possible_blocking_pairs",
}
"""The metric that is made least."""


@dataclass(frozen=True)
class StableLimits(Routed):
    """Parameters of `stable`; no proof depends on them.

    Attributes
    ----------
    most_types : types beyond which the method refuses: n x n lists, ranks and what is looked up in
        them take ten times the memory of the penalties, which for 5,000 types is 2 GB.
    few_types, few_pairs : types, or ordered pairs of them that the first phase leaves, up to which
        one program over types says at once whether zero is possible, and at what least penalty;
        agents of more types are looked at one by one too.
    different_agents, listed_agents : agents up to which they are looked at one by one where they
        all differ, or are of many types: their lists are n x n matrices.
    decided_agents : agents up to which half of the time of the search over tie-breakings is left to
        decision programs: beyond, they hardly ever prove anything.
    probe_seconds : for the first search over tie-breakings: what it can say, it mostly says far
        sooner.
    zero_seconds, tie_seconds, steps_seconds, exchange_seconds, decision_seconds, penalty_seconds :
        without a time limit, for the program that says whether zero is possible, the second search
        over tie-breakings, each order encoding, exchanges between pairs, each decision, and the
        least penalty where the fewest is not zero.
    idle_exchanges : calls of the kernel in a row that improve nothing, and agents beyond which
        there are as many as an eighth of them, after which exchanges end.
    first_terms : pairs of steps that the first order encoding may have, if the least has not more:
        with fewer the bound that it can reach is low, with more it takes long to reach any.
    exact_terms : pairs of steps up to which there is but the encoding with all of them.
    few_blocking : blocking pairs up to which it is first decided whether they are enough: whether
        more are, the bounds of the order encoding say sooner.
    child_types, child_terms : types, and pairs of steps of an order encoding, from which a decision
        under a time limit runs in a process of its own: making its T^2/2 products and CP-SAT's
        presolve of them look at no clock (400 types: a minute).
    child_pairs : the same for the program without blocking pairs, of ordered pairs that the first
        phase leaves.
    exact_penalty : agents (or types) up to which the least penalty among all optima is asked for
        when the fewest is not zero.
    one_types : the same when the fewest is one and agents are of more than `few_types` types: then
        a linear program over types says it.
    listed_pair, forgiven_pair : seconds, at most, that lists of different agents, and which pairs
        the second level may use, take for each ordered pair of them; they look at no clock.
    programs, shares, roommates : limits of programs over pairs of types, of many agents of a type,
        and of the search over deletions.
    """

    most_types: int = 5000
    few_types: int = 30
    few_pairs: int = 3_000
    different_agents: int = 5000
    listed_agents: int = 1500
    decided_agents: int = 200
    probe_seconds: float = 1.0
    zero_seconds: float = 60.0
    tie_seconds: float = 10.0
    steps_seconds: float = 30.0
    exchange_seconds: float = 10.0
    decision_seconds: float = 10.0
    penalty_seconds: float = 30.0
    idle_exchanges: int = 32
    first_terms: int = 6_000
    exact_terms: int = 15_000
    few_blocking: int = 8
    child_types: int = 60
    child_terms: int = 20_000
    child_pairs: int = 25_000
    exact_penalty: int = 60
    one_types: int = 150
    listed_pair: float = 2e-7
    forgiven_pair: float = 1e-6
    programs: ProgramLimits = PROGRAM_LIMITS
    shares: ShareLimits = SHARE_LIMITS
    roommates: RoommatesLimits = ROOMMATES_LIMITS
    routes: frozenset[str] = frozenset({
        "agents", "decisions", "exact penalty", "exchanges", "order", "robust", "roommates",
        "zero",
    })  # fmt: skip


class StableSearch(Incumbent[Pairing, int]):
    """State of the search for the fewest blocking pairs: incumbent, and bounds.

    Attributes
    ----------
    certain : whether measured gains count, not those within intervals.
    penalty_bound : on the mean penalty of all with as few blocking pairs; None without one.
    answer : what the search over deletions found last, where all agents differ.
    """

    best: Pairing
    answer: RoommatesAnswer

    def __init__(
        self, instance: Colocation, counted: Blocking, engine: EngineName, clock: Clock,
        rng: np.random.Generator, begin: Pairing, limits: StableLimits,
    ) -> None:  # fmt: skip
        super().__init__(
            instance, clock, partial(counted.count, instance), bound=0,
            then=partial(mean_penalty, instance),
        )  # fmt: skip
        self.instance, self.counted, self.engine = instance, counted, engine
        self.rng, self.limits = rng, limits
        self.certain = counted.uncertainty == "none"
        self.penalty_bound: float | None = None
        self.begin(begin)
        self.report("start")

    @cached_property
    def alone_is_worst(self) -> bool:
        """Whether preference lists alone determine all blocking pairs."""
        return alone_is_worst(self.instance, self.counted.alpha, self.counted.mode)

    @property
    def everyone(self) -> bool:
        """Whether all agents have preference lists: not if some may run alone for free."""
        return self.instance.singles_allowed == 0 or self.instance.unpaired is not None

    @cached_property
    def lists(self) -> WeakLists:
        """Preference lists of the agents one by one, if `everyone` has one."""
        found = lists_of_agents(self.instance, self.counted.alpha, self.counted.mode)
        assert found is not None
        return found

    @property
    def probe_seconds(self) -> float:
        """Seconds for the first search over tie-breakings."""
        return min(self.limits.probe_seconds, self.clock.time_slice(4) or np.inf)

    @property
    def second_level_time(self) -> float | None:
        """Time limit in seconds for the second level, the least penalty; None without a limit."""
        return self.clock.time_slice() or (None if self.value == 0 else self.limits.penalty_seconds)

    def by_deletions(self, seconds: float | None) -> None:
        """Search over deletions from the incumbent, and keep its pairing, and its bound if the
        lists determine all blocking pairs.
        """
        all_said = self.alone_is_worst
        known = self.bound if all_said else 0

        def report(_: float, value: float | None, bound: float | None, text: str) -> None:
            best = self.value if value is None else min(value, self.value)
            self.clock.note(best, bound if all_said else float(self.bound), text)

        self.answer = answer = solve_roommates(
            self.instance, self.lists, seconds=seconds, rng=self.rng, start=self.best, known=known,
            report=report, limits=self.limits.roommates,
        )  # fmt: skip
        self.stop = answer.found.stop
        self.offer(answer.pairing(self.instance), "search over deletions")
        if answer.found.bound > self.bound and all_said:
            self.certificate |= answer.certificate(self.certificate.get("proof", ""))
            self.raise_bound(int(answer.found.bound), "stable partition and search over deletions")
        raise_if_interrupted(self.stop)

    def ask(
        self, function: Callable[..., Outcome], seconds: float | None,
        report: Report | None = None, **how: Any,
    ) -> Outcome | None:  # fmt: skip
        """Outcome of a program over types within the time limit; a large one runs in a child
        process without progress reports, None if that had to be ended.

        None when that had to be ended.
        """
        given: dict[str, Any] = {**self.counted.options, "time_limit": seconds, **how}
        terms = order_terms(self.instance, how.get("most"), how.get("steps"))
        small = self.instance.types < self.limits.child_types and terms < self.limits.child_terms
        if small or seconds is None:
            return function(self.instance, **given, report=report)
        given["time_limit"] = max(CHILD_TIME_FRACTION * seconds, seconds - KILL_GRACE)
        return self._in_time(
            call_in_subprocess(function, self.instance, **given, hard_limit=seconds + KILL_GRACE)
        )

    def find_stable(
        self, instance: Colocation, seconds: float | None, text: str = FEW_PAIRS
    ) -> Outcome | None:
        """Find the stable pairing of least penalty by `at_most_blocking`, and take it as incumbent.
        Returns None at the time limit.

        On a large program HiGHS looks at no clock for long, and making it takes long too: it gets a
        process of its own, which is ended.
        """
        start = self.best if text == FEW_PAIRS or self.value == 0 else None
        how: dict[str, Any] = {
            **self.counted.options, "engine": self.engine, "start": start,
            "limits": self.limits.shares,
        }  # fmt: skip
        found: Outcome | None
        if seconds is None or not self.large(instance):
            found = at_most_blocking(instance, **how, time_limit=seconds)
        else:
            how |= {"time_limit": CHILD_TIME_FRACTION * seconds, "hard_limit": seconds}
            found = self._in_time(call_in_subprocess(at_most_blocking, instance, **how))
        if found is not None:
            self.accept_outcome(found, text)
        return found

    def _in_time(self, found: Outcome | None) -> Outcome | None:
        """Result of a child process; without one (None) the time limit is recorded as the stop."""
        if found is None:
            self.stop = Stop.TIME_LIMIT
        return found

    def large(self, instance: Colocation, most: int | None = None) -> bool:
        """Return whether a program has so many ordered pairs that HiGHS may exceed its time limit
        (`child_pairs`).
        """
        most = self.limits.child_pairs if most is None else most
        if int(instance.allowed.sum()) <= most:
            return False
        keep = self.counted.usable_pairs(instance, 0)
        return keep is not None and int(keep.sum()) > most

    def outcome(self) -> Outcome:
        """Outcome with the blocking pairs, and bounds on their number and on the penalty."""
        if self.value == 0:
            proof = f"a pairing without {KINDS[self.counted.uncertainty]}blocking pair is its own"
            stable = ": it is stable for every matrix within the intervals"
            possible = self.counted.uncertainty == "possible"
            self.certificate.setdefault("proof", f"{proof} proof{stable if possible else ''}")
        facts = self.counted.facts_of(self.instance, self.best)
        self.certificate = facts | self.certificate
        return self.finish({"blocking_pairs": facts["blocking_pairs"], "levels": self._levels()})

    @property
    def cheapest(self) -> bool:
        """Whether the incumbent's penalty is proved minimal."""
        bound, penalty = self.penalty_bound, mean_penalty(self.instance, self.best)
        return bound is not None and agree(penalty, bound, scale(self.instance, "penalty"))

    def _levels(self) -> list[dict[str, Any]]:
        penalty = mean_penalty(self.instance, self.best)
        if self.penalty_bound is None:
            self.penalty_bound = least_penalty_bound(
                self.instance, self.clock.left, self.limits.programs, self.best
            )
        bound, met = self.penalty_bound, self.proved and self.cheapest
        counted = COUNTED[self.counted.uncertainty]
        return [
            level(counted, self.value, min(self.bound, self.value), self.proved),
            level("penalty", penalty, min(bound, penalty), met),
        ]


def deletions(search: StableSearch) -> None:
    """Search over deletions from a stable partition; if lists have ties only for a short time,
    which is mostly enough.
    """
    search.by_deletions(search.clock.left if search.lists.strict else search.probe_seconds)


def zero_of_different(search: StableSearch) -> None:
    """Decide whether zero blocking pairs are possible by a program over the few pairs of agents
    that could be used, and minimize the penalty if they are.
    """
    if search.bound or not search.open or "zero" not in search.limits.routes:
        return
    possible, found = without_blocking(search.instance, search.lists), None
    if possible is not None:
        seconds = search.clock.time_slice(2) or search.limits.zero_seconds
        found = search.find_stable(possible, seconds)
    if possible is None or (found is not None and found.status is Status.INFEASIBLE):
        why = "a program over the pairs that no first proposals rule out shows it"
        search.raise_bound(1, "zero is impossible", f"zero is impossible: {why}")
    elif found is not None and search.value == 0:
        search.penalty_bound = found.bound
        search.certificate["second_level"] = (
            "least penalty among the pairings without blocking pairs"
        )


def deletions_again(search: StableSearch) -> None:
    """Search over tie-breakings and deletions for longer, if the incumbent is not proved best."""
    if search.open:
        search.by_deletions(_share_of_ties(search))


def cheapest_of_different(search: StableSearch) -> None:
    """Minimize the penalty over all stable pairings, if there are any. Else over pairings whose
    blocking pairs are among the incumbent's or, if agents are few, over all with as few.
    """
    if search.clock.expired or search.penalty_bound is not None:
        return
    left, answer = search.clock.left, search.answer
    if left is not None and left < search.limits.forgiven_pair * search.instance.agents**2:
        search.stop = Stop.TIME_LIMIT
        return
    possible = forgiving(search.instance, search.lists, search.best, search.counted)
    left = search.second_level_time
    if search.value == 0 and search.large(possible):
        zero = answer.found.value == 0
        if left is not None and zero and answer.found.tie_breaking is not None:
            search.find_stable(answer.one_tie_breaking(search.instance), left / 3)
            left = search.second_level_time
    cheapest = search.find_stable(possible, left)
    if search.value == 0:
        search.penalty_bound = None if cheapest is None else cheapest.bound
    elif search.proved and search.instance.agents <= search.limits.exact_penalty:
        _cheapest_exact(search, search.value, search.second_level_time)
    same = "whose blocking pairs are among the same" if search.value else "without blocking pairs"
    search.certificate.setdefault("second_level", f"least penalty among the pairings {same}")


def zero_over_types(search: StableSearch) -> None:
    """Decide by a program over types whether a pairing without blocking pairs exists, and its least
    penalty. Only if types, or pairs left by the first phase, are few; a no proves the bound 1.
    """
    possibly = search.counted.uncertainty == "possible"
    if (_clear(search) or possibly) and "zero" in search.limits.routes:
        _zero_over_types(search)


def cheapest_with_one(search: StableSearch) -> None:
    """Find the least penalty with one blocking pair, if zero is impossible and the program for one
    is linear.
    """
    if search.open and search.bound == 1 and _by_rows(search, 1) and _clear(search):
        seconds = search.clock.time_slice(2) or search.limits.decision_seconds
        _cheapest_exact(search, 1, seconds)


def probe_agents(search: StableSearch) -> None:
    """Search over deletions for a short time, with agents of one type tied, if types are many; it
    mostly finds a stable pairing if there is one.
    """
    if _by_agents(search) and search.open:
        search.by_deletions(search.probe_seconds)


def exchange(search: StableSearch) -> None:
    """Exchange partners between pairs, until time is up or exchanges have long brought nothing."""
    if not search.open or "exchanges" not in search.limits.routes:
        return
    limits, exchanges = search.limits, Exchanges(search.instance, search.counted)
    until = search.clock.seconds + (search.clock.time_slice(10) or limits.exchange_seconds)
    most = max(limits.idle_exchanges, search.instance.agents // 8)
    idle = 0
    for found in exchanges.search(search.best, search.rng, search.bound):
        search.offer(found, "exchanges between pairs")
        idle = idle + 1 if found is None else 0
        if idle > most or search.clock.seconds > until:
            return


def robust_start(search: StableSearch) -> None:
    """Find the least alpha at which some pairing has no possibly blocking pair, and offer that
    pairing as incumbent. Runs only where possible gains count and alpha is in points of penalty.
    """
    possibly = search.counted.uncertainty == "possible"
    if not possibly or search.closed or "robust" not in search.limits.routes:
        return
    if search.clock.expired or search.counted.mode != "penalty-points":
        return
    least = robust_alpha(
        search.instance, time_limit=search.clock.time_slice(3), engine=search.engine,
        start=search.best,
    )  # fmt: skip
    search.offer(least.pairing, "stable for every matrix at a larger alpha")
    search.certificate["robust_alpha"] = {
        "alpha": least.alpha, "below": least.below, "status": least.status.value
    }  # fmt: skip
    raise_if_interrupted(least.stop)


def decide_few(search: StableSearch) -> None:
    """Spend a short time on whether a pairing exists with at most `few_blocking` blocking pairs."""
    seconds = search.clock.time_slice(4) or search.limits.decision_seconds
    decide(search, seconds, search.limits.few_blocking)


def search_agents(search: StableSearch) -> None:
    """Search over tie-breakings and deletions for longer, where types are many."""
    if _by_agents(search):
        deletions_again(search)


def count_in_steps(search: StableSearch) -> None:
    """Raise the lower bound by order encodings of the types' penalties, in more and more steps."""
    if "order" not in search.limits.routes:
        return

    def note(_: float, __: float | None, bound: float | None, text: str) -> None:
        if bound is not None and bound > search.bound:
            search.clock.note(float(search.value), min(np.ceil(bound - 1e-6), search.value), text)

    terms = {steps: order_terms(search.instance, steps=steps) for steps in STEPS}
    few = sum(many <= search.limits.first_terms for many in terms.values())
    whole = terms[None] <= search.limits.exact_terms
    for steps in (None,) if whole else STEPS[max(few - 1, 0) :]:
        if not search.open or terms[steps] > MOST_TERMS:
            return
        left = search.clock.time_slice() or search.limits.steps_seconds
        # no start: CP-SAT holds on to one, and finds no core for minutes
        found = search.ask(fewest_blocking, left, note, steps=steps)
        if found is None:
            return
        if found.bound is not None:
            kind = "all steps" if steps is None else f"{steps} steps a type"
            proof = f"bound of the order encoding over types, with {kind}"
            search.raise_bound(int(found.bound), f"order encoding with {kind}", proof)
        search.accept_outcome(found, "order encoding")
        if found.stop is not Stop.FINISHED:
            return


def decide(search: StableSearch, seconds: float | None = None, upto: int | None = None) -> None:
    """Decide whether a number of blocking pairs, midway between bound and value, is enough, until a
    number stays undecided. It is at most twice the bound.

    Parameters
    ----------
    seconds : for each number.
    upto : the largest number that is asked.
    """
    while search.open and "decisions" in search.limits.routes:
        most = min(2 * search.bound, (search.bound + search.value) // 2)
        if upto is not None and most > upto:
            return
        if not decided(search, most, search.clock.time_slice(1, seconds)):
            return


def decided(search: StableSearch, most: int, seconds: float | None) -> bool:
    """Decide whether some pairing has at most `most` blocking pairs, and raise the bound if none
    has. Returns False if undecided.
    """
    found = search.ask(at_most_blocking, seconds, most=most, penalty=False, engine="cp-sat")
    if found is None:
        return False
    search.accept_outcome(found, f"a pairing with at most {most}")
    if found.status is Status.INFEASIBLE:
        proof = (
            f"no pairing has at most {most} blocking pairs: CP-SAT exhausted the program over types"
        )
        _too_few(search, most, proof)
    return found.status is Status.INFEASIBLE or found.solution is not None


def cheapest_over_types(search: StableSearch) -> None:
    """Minimize the penalty over pairings with the fewest blocking pairs by a program over types. If
    these are more than 0, only where the program's size is allowed.
    """
    if search.clock.expired:
        return
    exact = _by_rows(search, search.value) or search.instance.types <= search.limits.exact_penalty
    if search.proved and search.value > 0 and exact and not search.cheapest:
        _cheapest_exact(search, search.value, search.second_level_time)
    elif search.value == 0 and search.penalty_bound is None:
        _zero_over_types(search)


OF_DIFFERENT = (
    deletions, zero_of_different, deletions_again, decide, cheapest_of_different,
)  # fmt: skip
"""Of agents that are all different: stable roommates, with ties or without."""

OF_TYPES = (
    zero_over_types, cheapest_with_one, probe_agents, exchange, robust_start, probe_agents,
    decide_few, search_agents, count_in_steps, decide, cheapest_over_types,
)  # fmt: skip
"""Of types of several agents, surplus machines, agents that would as soon be left without a
partner.
"""


def _clear(search: StableSearch) -> bool:
    """Whether a program over types is small enough to decide quickly if a stable pairing exists."""
    few = search.instance.types <= search.limits.few_types
    return few or not search.large(search.instance, search.limits.few_pairs)


def _by_agents(search: StableSearch) -> bool:
    """Return whether agents are treated one by one; with few types, programs over types are
    faster.
    """
    limits, instance = search.limits, search.instance
    some = search.everyone and search.certain and instance.types > limits.few_types
    return some and "agents" in limits.routes and instance.agents <= limits.listed_agents


def _by_rows(search: StableSearch, most: int) -> bool:
    """Return whether the program for at most `most` blocking pairs is linear and of a size that is
    solved soon.
    """
    some = search.limits.few_types < search.instance.types <= search.limits.one_types
    return most == 1 and some and search.counted.uncertainty != "possible"


def _share_of_ties(search: StableSearch) -> float:
    """Seconds for the search over tie-breakings.

    Decision programs prove the rest when agents are few; the more so those over types, which know
    equal agents as equal.
    """
    few = search.instance.agents <= search.limits.decided_agents
    parts = (1 if search.instance.distinct else 2) * (2 if few else 1)
    return search.clock.time_slice(parts) or search.limits.tie_seconds


def _zero_over_types(search: StableSearch) -> None:
    """Find the least penalty of a stable pairing by the program over types, or raise the bound to
    one blocking pair if none exists.
    """
    seconds = search.clock.time_slice(1 / 0.6)
    found = search.find_stable(search.instance, seconds, "program over types")
    if found is None:
        return
    if found.status is Status.INFEASIBLE:
        kind = KINDS[search.counted.uncertainty]
        proof = f"the program over types shows that zero {kind}blocking pairs are impossible"
        search.raise_bound(1, "zero is impossible", proof)
    elif found.solution is not None and search.value == 0:
        search.penalty_bound = found.bound


def _cheapest_exact(search: StableSearch, most: int, seconds: float | None) -> None:
    """Minimize the penalty among all pairings with at most `most` blocking pairs, or prove that
    there are none.
    """
    if "exact penalty" not in search.limits.routes:
        return
    stop = search.stop
    found = at_most_blocking(
        search.instance, most, **search.counted.options, start=search.best,
        engine="highs" if _by_rows(search, most) else "cp-sat",
        time_limit=seconds, limits=search.limits.shares,
    )  # fmt: skip
    search.accept_outcome(found, "least penalty")
    search.stop = stop
    if found.status is Status.INFEASIBLE:
        proof = f"the program over types shows that none has {most} blocking pairs or fewer"
        _too_few(search, most, proof)
    elif found.bound is not None and search.value == most:
        search.penalty_bound = found.bound
        search.certificate["second_level"] = (
            "least penalty among all pairings with as few blocking pairs"
        )


def _too_few(search: StableSearch, most: int, proof: str) -> None:
    """Raise the bound above `most` blocking pairs."""
    search.raise_bound(most + 1, f"{most} blocking pairs are too few", proof)
