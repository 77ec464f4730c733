"""Fewest blocking pairs at alpha, then least mean penalty."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ...instances.colocation.stability import Alpha, AlphaMode, Uncertainty, compared
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.colocation import order_terms
from ..engines import EngineName, call_in_subprocess
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Status, Stop, agree, level, raise_if_interrupted
from ..roommates import WeakLists
from .blocking import KINDS, MOST_TERMS, at_most_blocking, fewest_blocking, find_stable
from .bounds import least_penalty_bound
from .by_agent import fewest_by_agent
from .common import CHILD_TIME_FRACTION, Blocking, require_few_types
from .exchanges import Exchanges
from .feasible import starting_pairing
from .robust import robust_alpha
from .stable_limits import StableLimits
from .to_roommates import (
    RoommatesAnswer,
    alone_is_worst,
    forgiving,
    lists_of_agents,
    solve_roommates,
    without_blocking,
)

STEPS = (2, 4, 5, 8, 12, None)
"""Steps a type of the order encodings, one after the other; None for all."""

KILL_GRACE = 0.5
"""Seconds a process of its own may pass the limit before it is ended."""

COUNTED: dict[Uncertainty, str] = {
    "none": "blocking_pairs",
    "certain": "certain_blocking_pairs",
    "possible": "possible_blocking_pairs",
}
"""The metric that is made least."""


@validate_options
def stable(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
    objective: Literal["pairs", "agents", "minimax"] = "pairs",
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
    limits: StableLimits | None = None,
) -> Outcome:
    """Fewest blocking pairs at `alpha`, then least mean penalty among them.

    Layered: when all agents differ, stable partitions and an exact search over deletions (the
    stable roommates problem), and over the ways to break the ties that matter where agents are
    indifferent, or alpha makes them so. Otherwise a program over types says whether zero is
    possible, and if it is not, the order encoding says whether few blocking pairs are enough, or
    bounds many, against the best pairing found by exchanges and by the search over deletions.

    Parameters
    ----------
    instance : what is given.
    rng : for tie-breakings and random orders; it never changes what is proved.
    time_limit : seconds; the best pairing so far is returned when they are up.
    alpha : least gain for which an agent breaks away, in points of penalty (0.05 is five percentage
        points).
    alpha_mode : how alpha is read, see `gains`.
    uncertainty : which gains count where penalties have intervals: "none" the measured ones,
        "certain" those in every matrix within the intervals, "possible" those in some. No possibly
        blocking pair means stable for every matrix within the intervals (the theorem stands in
        `instances.colocation.stability`). Where that is impossible, `certificate["robust_alpha"]`
        is the least alpha at which it is not, and `certificate["measure_again"]` lists the
        intervals that leave open who blocks.
    objective : "pairs", the number of blocking pairs; "agents", the number of agents in one; or
        "minimax", how many the agent is in that is in most. Other than for pairs only the measured
        gains count.
    engine : "highs" or "cp-sat" for the program over types; the decision programs always go to
        CP-SAT.
    start : a pairing to begin with.
    report : called with (seconds, blocking pairs, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        `bound` and `status` are those of the number of blocking pairs; `certificate["levels"]`
        holds both levels, the mean penalty's with its own bound. `certificate["blocking_pairs"]`
        lists them by type: empty is a proof anyone can check.

    Raises
    ------
    InvalidOption
        alpha below 0, an unknown reading or engine, a time limit of 0 or less, more types than
        `limits.most_types`, an uncertainty where there are no intervals, or one beside another
        objective than pairs.

    Notes
    -----
    Source: Cooper (HPCA 2017) section III.B, fig. 10. The paper finds that stable assignments
    "rarely exist": true of strict lists with ties broken by index, not of the game as defined, in
    which agents of one type are equal.

    Examples
    --------
    >>> from cotenant.instances.colocation import Colocation
    >>> stable(Colocation([[0.1, 0.3], [0.2, 0.9]], [2, 2])).bound
    0.0
    """
    compared(instance, uncertainty)
    clock, counted = Clock(time_limit, report), Blocking(alpha, alpha_mode, uncertainty)
    limits = limits or StableLimits()
    require_few_types(instance, limits.most_types)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    generator = np.random.default_rng(0) if rng is None else rng
    if objective != "pairs":
        if uncertainty != "none":
            raise InvalidOption(
                f"uncertainty is {uncertainty!r} and objective {objective!r}; expected objective "
                "'pairs', which alone counts gains within intervals"
            )

        def pairs(seconds: float | None) -> Outcome:
            return stable(
                instance, rng=generator, time_limit=seconds, alpha=alpha, alpha_mode=alpha_mode,
                engine=engine, start=begin, limits=limits,
            )  # fmt: skip

        return fewest_by_agent(instance, objective, counted, clock, begin, pairs)
    search = _Search(instance, counted, engine, clock, generator, begin, limits)
    with search.keeping_best():
        search.run()
    return search.outcome()


class _Search(Incumbent[Pairing, int]):
    """The pairing with the fewest blocking pairs so far, of those the one of least penalty, what is
    proved, and the steps that improve either.
    """

    best: Pairing

    def __init__(
        self,
        instance: Colocation,
        counted: Blocking,
        engine: EngineName,
        clock: Clock,
        rng: np.random.Generator,
        begin: Pairing,
        limits: StableLimits,
    ) -> None:
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

    def run(self) -> None:
        """By the lists of agents that are all different, or over types."""
        instance, limits = self.instance, self.limits
        # stable partitions are of one order of each agent, not of one to leave by and one to go by
        different = self.certain and instance.distinct and self._alone_is_worst
        different = different and "roommates" in limits.routes
        if different and (self.clock.left or np.inf) < limits.listed_pair * instance.agents**2:
            self.stop = Stop.TIME_LIMIT
            return
        lists = self._lists(limits.different_agents) if different else None
        if lists is not None:
            self.roommates(lists)
        else:
            self.general()

    @cached_property
    def _alone_is_worst(self) -> bool:
        """Whether the lists of agents say all that blocks."""
        return alone_is_worst(self.instance, self.counted.alpha, self.counted.mode)

    def _lists(self, most: int) -> WeakLists | None:
        """The lists of no more agents than this."""
        if self.instance.agents > most:
            return None
        return lists_of_agents(self.instance, self.counted.alpha, self.counted.mode)

    def roommates(self, lists: WeakLists) -> None:
        """Agents that are all different: stable roommates, with ties or without."""
        if lists.strict:
            answer = self._by_deletions(lists, self.clock.left)
        else:
            answer = self._with_ties(lists)
        self._cheapest_of_different(answer)

    def _with_ties(self, lists: WeakLists) -> RoommatesAnswer:
        """A short search mostly says. Else: is zero possible? Then a longer search, and decision
        programs.
        """
        answer = self._by_deletions(lists, self._probe_seconds)
        if self.bound == 0 and self.open and "zero" in self.limits.routes:
            self._zero_of_different(lists)
        if self.open:
            answer = self._by_deletions(lists, self._share_of_ties())
        self._decide_all()
        return answer

    @property
    def _probe_seconds(self) -> float:
        return min(self.limits.probe_seconds, self.clock.time_slice(4) or np.inf)

    def _by_deletions(self, lists: WeakLists, seconds: float | None) -> RoommatesAnswer:
        """What the search over deletions finds, and its bound where the lists say all."""
        all_said = self._alone_is_worst
        known = self.bound if all_said else 0

        def report(_: float, value: float | None, bound: float | None, text: str) -> None:
            best = self.value if value is None else min(value, self.value)
            self.clock.note(best, bound if all_said else float(self.bound), text)

        answer = solve_roommates(
            self.instance, lists, seconds=seconds, rng=self.rng, start=self.best, known=known,
            report=report, limits=self.limits.roommates,
        )  # fmt: skip
        self.stop = answer.stop
        self.offer(answer.pairing(self.instance), "search over deletions")
        if answer.found.bound > self.bound and all_said:
            self.certificate |= answer.certificate(self.certificate.get("proof", ""))
            self.raise_bound(int(answer.found.bound), "stable partition and search over deletions")
        raise_if_interrupted(self.stop)
        return answer

    def _zero_of_different(self, lists: WeakLists) -> None:
        """Is zero possible? The program over the few pairs that could be in an answer then says
        soon, and the least penalty.
        """
        possible = without_blocking(self.instance, lists)
        found = None
        if possible is not None:
            seconds = self.clock.time_slice(2) or self.limits.zero_seconds
            found = self._find_stable_of(possible, seconds)
        if possible is None or (found is not None and found.status is Status.INFEASIBLE):
            why = "a program over the pairs that no first proposals rule out shows it"
            self.raise_bound(1, "zero is impossible", f"zero is impossible: {why}")
        elif found is not None and self.value == 0:
            self.penalty_bound = found.bound
            self.certificate["second_level"] = (
                "least penalty among the pairings without blocking pairs"
            )

    def _share_of_ties(self) -> float:
        """Seconds for the search over tie-breakings.

        Decision programs prove the rest when agents are few; the more so those over types, which
        know equal agents as equal.
        """
        parts = (1 if self.instance.distinct else 2) * (
            2 if self.instance.agents <= self.limits.decided_agents else 1
        )
        return self.clock.time_slice(parts) or self.limits.tie_seconds

    def general(self) -> None:
        """Types of several agents, surplus machines, agents that would as soon be left without a
        partner.
        """
        limits, possibly = self.limits, self.counted.uncertainty == "possible"
        few = self.instance.types <= limits.few_types
        # where no job may run alone, content on its own machine, the game is roommates with ties
        everyone = self.instance.singles_allowed == 0 or self.instance.unpaired is not None
        clear = few or not self._large(self.instance, limits.few_pairs)
        if (clear or possibly) and "zero" in limits.routes:
            self._zero_over_types()
        if clear and self.open and self.bound == 1 and self._by_rows(1):
            self._cheapest_exact(1, self.clock.time_slice(2) or limits.decision_seconds)
        # of few types programs say more, and sooner
        agents = everyone and self.certain and not few and "agents" in limits.routes
        agents = agents and self.instance.agents <= limits.listed_agents
        if agents:  # of many types it mostly finds zero at once where there is one
            self._search_agents(self._probe_seconds)
        self._exchange()
        if possibly and not self.closed and "robust" in limits.routes:
            self._robust_start()
        if agents:
            self._search_agents(self._probe_seconds)
        self._decide_all(self.clock.time_slice(4) or limits.decision_seconds, limits.few_blocking)
        if agents:
            self._search_agents(self._share_of_ties())
        self._count_in_steps()
        self._decide_all()
        self._cheapest_general()

    def _zero_over_types(self) -> None:
        """Is zero possible? Then with least penalty; if not, that is a proof that one blocking pair
        is needed.
        """
        found = self._find_stable(
            self.instance, self.clock.time_slice(1 / 0.6), self.best if self.value == 0 else None
        )
        if found is None:
            return
        self.accept_outcome(found, "program over types")
        if found.status is Status.INFEASIBLE:
            kind = KINDS[self.counted.uncertainty]
            proof = f"the program over types shows that zero {kind}blocking pairs are impossible"
            self.raise_bound(1, "zero is impossible", proof)
        elif found.solution is not None and self.value == 0:
            self.certificate["proof"] = self._own_proof
            self.penalty_bound = found.bound

    def _robust_start(self) -> None:
        """The pairing of the least alpha at which no pair possibly blocks."""
        if self.clock.expired or self.counted.mode != "penalty-points":
            return
        least = robust_alpha(
            self.instance, time_limit=self.clock.time_slice(3), engine=self.engine, start=self.best
        )
        self.offer(least.pairing, "stable for every matrix at a larger alpha")
        self.certificate["robust_alpha"] = {
            "alpha": least.alpha, "below": least.below, "status": least.status.value
        }  # fmt: skip
        raise_if_interrupted(least.stop)

    def _exchange(self) -> None:
        """Exchanges between pairs, until time is up or they have long brought nothing."""
        if not self.open or "exchanges" not in self.limits.routes:
            return
        counted, limits = self.counted, self.limits
        exchanges = Exchanges(self.instance, counted.alpha, counted.mode, counted.uncertainty)
        until = self.clock.seconds + (self.clock.time_slice(10) or limits.exchange_seconds)
        most = max(limits.idle_exchanges, self.instance.agents // 8)
        idle = 0
        for found in exchanges.search(self.best, self.rng, self.bound):
            self.offer(found, "exchanges between pairs")
            idle = idle + 1 if found is None else 0
            if idle > most or self.clock.seconds > until:
                return

    def _search_agents(self, seconds: float) -> None:
        """Agents one by one, those of one type tied in every list."""
        if self.open:
            lists = self._lists(self.limits.listed_agents)
            assert lists is not None  # `general` looks at what it needs
            self._by_deletions(lists, seconds)

    def _count_in_steps(self) -> None:
        """Raise the bound by the order encoding, with more steps each time its bound is reached."""
        if "order" not in self.limits.routes:
            return
        terms = {steps: order_terms(self.instance, steps=steps) for steps in STEPS}
        few = sum(many <= self.limits.first_terms for many in terms.values())
        whole = terms[None] <= self.limits.exact_terms
        for steps in (None,) if whole else STEPS[max(few - 1, 0) :]:
            if not self.open or terms[steps] > MOST_TERMS:
                return
            left = self.clock.time_slice() or self.limits.steps_seconds
            # no start: CP-SAT holds on to one, and finds no core for minutes
            found = self._ask(
                fewest_blocking, left, self._note_bound, encoding="order", steps=steps
            )
            if found is None:
                return
            if found.bound is not None:
                kind = "all steps" if steps is None else f"{steps} steps a type"
                proof = f"bound of the order encoding over types, with {kind}"
                self.raise_bound(int(found.bound), f"order encoding with {kind}", proof)
            self.accept_outcome(found, "order encoding")
            if found.stop is not Stop.FINISHED:
                return

    def _note_bound(self, _: float, __: float | None, bound: float | None, text: str) -> None:
        if bound is not None and bound > self.bound:
            self.clock.note(float(self.value), min(np.ceil(bound - 1e-6), self.value), text)

    def _ask(
        self,
        function: Callable[..., Outcome],
        seconds: float | None,
        report: Report | None = None,
        **how: Any,
    ) -> Outcome | None:
        """What a program over types says within the time; a large one in a process of its own,
        which does not report.

        None when that had to be ended.
        """
        given: dict[str, Any] = {
            **self.counted.options, "engine": "cp-sat", "time_limit": seconds, **how
        }  # fmt: skip
        terms = order_terms(self.instance, how.get("most"), how.get("steps"))
        small = self.instance.types < self.limits.child_types and terms < self.limits.child_terms
        if small or seconds is None:
            return function(self.instance, **given, report=report)
        given["time_limit"] = max(CHILD_TIME_FRACTION * seconds, seconds - KILL_GRACE)
        return self._in_time(
            call_in_subprocess(function, self.instance, **given, hard_limit=seconds + KILL_GRACE)
        )

    def _in_time(self, found: Outcome | None) -> Outcome | None:
        """What a process of its own found; None is the time limit."""
        if found is None:
            self.stop = Stop.TIME_LIMIT
        return found

    def _decide_all(self, seconds: float | None = None, upto: int | None = None) -> None:
        """Decide whether so many blocking pairs are enough: more and more, until there are more
        than `upto`, one number cannot be decided within so many seconds, or the time is up.
        """
        while self.open and "decisions" in self.limits.routes:
            most = min(2 * self.bound, (self.bound + self.value) // 2)
            if upto is not None and most > upto:
                return
            if not self._decide(most, self.clock.time_slice(1, seconds)):
                return

    def _too_few(self, most: int, proof: str) -> None:
        """Raise the bound: no pairing has at most `most` blocking pairs."""
        self.raise_bound(most + 1, f"{most} blocking pairs are too few", proof)

    def _decide(self, most: int, seconds: float | None) -> bool:
        """Are `most` blocking pairs enough? A no raises the bound; False when the engine could not
        say.
        """
        found = self._ask(at_most_blocking, seconds, most=most, penalty=False)
        if found is None:
            return False
        self.accept_outcome(found, f"a pairing with at most {most}")
        if found.status is Status.INFEASIBLE:
            proof = (
                f"no pairing has at most {most} blocking pairs: CP-SAT exhausted the program "
                "over types"
            )
            self._too_few(most, proof)
        return found.status is Status.INFEASIBLE or found.solution is not None

    def _cheapest_of_different(self, answer: RoommatesAnswer) -> None:
        """Least penalty: among all stable matchings when there are any, else among those that
        forgive the same pairs.
        """
        if self.clock.expired or self.penalty_bound is not None:
            return
        left = self.clock.left
        if left is not None and left < self.limits.forgiven_pair * self.instance.agents**2:
            self.stop = Stop.TIME_LIMIT
            return
        possible = forgiving(
            self.instance, answer.lists, self.best, self.counted.alpha, self.counted.mode
        )
        left = self._second_level_time()
        if self.value == 0 and self._large(possible):
            zero = answer.found.value == 0
            if left is not None and zero and answer.found.tie_breaking is not None:
                self._find_stable_of(answer.one_tie_breaking(self.instance), left / 3)
                left = self._second_level_time()
        cheapest = self._find_stable_of(possible, left)
        if self.value == 0:
            self.penalty_bound = None if cheapest is None else cheapest.bound
        elif self.proved and self.instance.agents <= self.limits.exact_penalty:
            self._cheapest_exact(self.value, self._second_level_time())
        same = "whose blocking pairs are among the same" if self.value else "without blocking pairs"
        self.certificate.setdefault("second_level", f"least penalty among the pairings {same}")

    def _find_stable_of(self, possible: Colocation, seconds: float | None) -> Outcome | None:
        """The least penalty without blocking pair of an instance of few pairs; None when it was not
        known by the time limit.
        """
        found = self._find_stable(possible, seconds, self.best)
        if found is not None:
            self.accept_outcome(found, "program over the pairs that could be stable")
        return found

    def _find_stable(
        self, instance: Colocation, seconds: float | None, start: Pairing | None = None
    ) -> Outcome | None:
        """What `find_stable` finds; None when it was not known by the time limit.

        On a large program HiGHS looks at no clock for long, and making it takes long too: it gets a
        process of its own, which is ended.
        """
        how: dict[str, Any] = {
            **self.counted.options, "engine": self.engine, "start": start,
            "limits": self.limits.shares,
        }  # fmt: skip
        if seconds is None or not self._large(instance):
            return find_stable(instance, **how, time_limit=seconds)
        limit = CHILD_TIME_FRACTION * seconds
        return self._in_time(
            call_in_subprocess(find_stable, instance, **how, time_limit=limit, hard_limit=seconds)
        )

    def _large(self, instance: Colocation, most: int | None = None) -> bool:
        """Whether the program without blocking pairs has more ordered pairs than that: HiGHS may
        not keep its time limit on more than `child_pairs`.
        """
        most = self.limits.child_pairs if most is None else most
        if int(instance.allowed.sum()) <= most:
            return False
        keep = self.counted.usable_pairs(instance, 0)
        return keep is not None and int(keep.sum()) > most

    def _cheapest_general(self) -> None:
        if self.clock.expired:
            return
        exact = self._by_rows(self.value) or self.instance.types <= self.limits.exact_penalty
        if self.proved and self.value > 0 and exact and not self._cheapest:
            self._cheapest_exact(self.value, self._second_level_time())
        elif self.value == 0 and self.penalty_bound is None:
            self._zero_over_types()

    def _cheapest_exact(self, most: int, seconds: float | None) -> None:
        """Least penalty among all pairings with so few blocking pairs, or that there are none."""
        if "exact penalty" not in self.limits.routes:
            return
        stop = self.stop
        found = at_most_blocking(
            self.instance, most, **self.counted.options, start=self.best,
            engine="highs" if self._by_rows(most) else "cp-sat",
            time_limit=seconds, limits=self.limits.shares,
        )  # fmt: skip
        self.accept_outcome(found, "least penalty")
        self.stop = stop
        if found.status is Status.INFEASIBLE:
            proof = f"the program over types shows that none has {most} blocking pairs or fewer"
            self._too_few(most, proof)
        elif found.bound is not None and self.value == most:
            self.penalty_bound = found.bound
            self.certificate["second_level"] = (
                "least penalty among all pairings with as few blocking pairs"
            )

    def _by_rows(self, most: int) -> bool:
        """Whether the pairings with so few blocking pairs are those of a linear program."""
        some = self.limits.few_types < self.instance.types <= self.limits.one_types
        return most == 1 and some and self.counted.uncertainty != "possible"

    def _second_level_time(self) -> float | None:
        return self.clock.time_slice() or (None if self.value == 0 else self.limits.penalty_seconds)

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels and the list of blocking pairs in its
        certificate.
        """
        if self.value == 0:
            self.certificate.setdefault("proof", self._own_proof)
        facts = self.counted.facts_of(self.instance, self.best)
        self.certificate = facts | self.certificate
        return self.finish({"blocking_pairs": facts["blocking_pairs"], "levels": self._levels()})

    @property
    def _own_proof(self) -> str:
        proof = f"a pairing without {KINDS[self.counted.uncertainty]}blocking pair is its own proof"
        if self.counted.uncertainty == "possible":
            proof += ": it is stable for every matrix within the intervals"
        return proof

    @property
    def _cheapest(self) -> bool:
        """Whether the best pairing's penalty is known to be the least."""
        bound, penalty = self.penalty_bound, mean_penalty(self.instance, self.best)
        return bound is not None and agree(penalty, bound, scale(self.instance, "penalty"))

    def _levels(self) -> list[dict[str, Any]]:
        penalty = mean_penalty(self.instance, self.best)
        if self.penalty_bound is None:
            self.penalty_bound = least_penalty_bound(
                self.instance, self.clock.left, self.limits.programs, self.best
            )
        bound, met = self.penalty_bound, self.proved and self._cheapest
        counted = COUNTED[self.counted.uncertainty]
        return [
            level(counted, self.value, min(self.bound, self.value), self.proved),
            level("penalty", penalty, min(bound, penalty), met),
        ]
