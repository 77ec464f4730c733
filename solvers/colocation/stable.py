"""Fewest blocking pairs at alpha, then least mean penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ...instances.colocation import BlockingPairs, Colocation, Pairing, blocking_pairs
from ...instances.colocation.groups import undecided_pairs
from ...instances.colocation.objective import mean_penalty, scale
from ...instances.colocation.stability import (
    Alpha,
    AlphaMode,
    Uncertainty,
    compared,
    validate_alpha,
)
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.colocation import order_terms
from ..engines import EngineName, call_in_subprocess
from ..outcome import Clock, Outcome, Report, Status, Stop, agree
from ..roommates import WeakLists
from .blocking import KINDS, MOST_TERMS, at_most_blocking, fewest_blocking, find_stable
from .bounds import least_penalty_bound
from .common import A_FORGIVEN_PAIR, A_LISTED_PAIR, CHILD_TIME_FRACTION, outcome
from .exchanges import Exchanges
from .feasible import starting_pairing
from .robust import robust_alpha
from .to_roommates import (
    RoommatesAnswer,
    alone_is_worst,
    forgiving,
    lists_of_agents,
    solve_roommates,
    without_blocking,
)

FEW_TYPES = 30
"""Types up to which one program over types says at once whether zero is possible, and at what least
penalty.
"""

LISTS_UP_TO = 1500
"""Agents of types up to which they are looked at one by one: their lists are n x n matrices."""

CHEAP_LISTS = 300
"""Agents up to which that is done although there are few types: beyond, the decision programs are
quicker.
"""

PROBE_SECONDS = 1.0
"""Time for the first search over tie-breakings: what it can tell, it mostly tells far sooner."""

ZERO_SECONDS = 60.0
"""Time for the program that tells whether zero is possible when there is no limit."""

TIE_SECONDS = 10.0
"""Time for the second when there is no limit."""

DECIDED_AGENTS = 200
"""Agents up to which half of that time is left to decision programs: beyond, they hardly ever prove
anything.
"""

EXCHANGE_SECONDS = 10.0
"""Time for exchanges between pairs when there is no limit; a tenth of it when there is one."""

PATIENCE = 32
"""Calls of the kernel of exchanges in a row that improve nothing, and agents beyond which there are
as many as an eighth of them, after which exchanges end.
"""

STEPS = (2, 4, 5, 8, 12, None)
"""Steps a type of the order encodings, one after the other; None for all."""

FIRST_TERMS = 6_000
"""Pairs of steps that the first of them may have, if the least has not more: with fewer the bound
that it can reach is low, with more it takes long to reach any.
"""

EXACT_TERMS = 15_000
"""Pairs of steps up to which there is but the encoding with all of them."""

FEW_BLOCKING = 8
"""Blocking pairs up to which it is first decided whether they are enough: whether more are, the
bounds of the order encoding say sooner.
"""

DECISION_SECONDS = 10.0
"""Time for each of these decisions when there is no limit; a quarter of it when there is one."""

STEPS_SECONDS = 30.0
"""Time for each of them when there is no limit."""

APART_FROM = 60
"""Types from which a decision under a time limit runs in a process of its own: making its T^2/2
products and CP-SAT's presolve of them look at no clock (400 types: a minute).
"""

APART_TERMS = 20_000
"""Pairs of steps of an order encoding from which it does."""

EXACT_SECOND_LEVEL = 60
"""Agents (or types) up to which the least penalty among all optima is asked for when the fewest is
not zero.
"""

KILL_GRACE = 0.5
"""Seconds such a process may pass the limit before it is ended."""

MOST_PAIRS = 25_000
"""Ordered pairs of different agents up to which the program without blocking pairs keeps its time
limit.
"""

COUNTED: dict[Uncertainty, str] = {
    "none": "blocking_pairs",
    "certain": "certain_blocking_pairs",
    "possible": "possible_blocking_pairs",
}
"""The metric that is made least."""

MOST_TYPES = 5000
"""Types beyond which the method refuses: n x n lists, ranks and what is looked up in them take ten
times the memory of the penalties, which for 5,000 types is 2 GB.
"""

SECOND_LEVEL_SECONDS = 30.0
"""Time for the least penalty among the optima when there is no time limit and the fewest is not
zero.
"""


@validate_options
def stable(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
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
    engine : "highs" or "cp-sat" for the program over types; the decision programs always go to
        CP-SAT.
    start : a pairing to begin with.
    report : called with (seconds, blocking pairs, bound, text).

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
        `MOST_TYPES`, or an uncertainty where there are no intervals.

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
    validate_alpha(alpha, alpha_mode)
    compared(instance, uncertainty)
    clock = Clock(time_limit, report)
    _require_room(instance)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    search = _Search(
        instance,
        alpha,
        alpha_mode,
        engine,
        clock,
        np.random.default_rng(0) if rng is None else rng,
        begin,
        uncertainty,
    )
    try:
        # stable partitions are of one order of each agent, not of one to leave by and one to go by
        different = (
            uncertainty == "none"
            and instance.distinct
            and alone_is_worst(instance, alpha, alpha_mode)
        )
        if different and (clock.left or np.inf) < A_LISTED_PAIR * instance.agents**2:
            search.stop = Stop.TIME_LIMIT
            return search.outcome()
        lists = lists_of_agents(instance, alpha, alpha_mode) if different else None
        if lists is not None:
            search.roommates(lists)
        else:
            search.general()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return search.outcome()


class _Search:
    """The best pairing so far, what is proved, and the steps that improve either."""

    def __init__(
        self,
        instance: Colocation,
        alpha: float,
        alpha_mode: AlphaMode,
        engine: Literal["highs", "cp-sat"],
        clock: Clock,
        rng: np.random.Generator,
        begin: Pairing,
        uncertainty: Uncertainty = "none",
    ) -> None:
        self.instance, self.alpha, self.alpha_mode = instance, alpha, alpha_mode
        self.uncertainty: Uncertainty = uncertainty
        self.engine, self.clock, self.rng = engine, clock, rng
        self.best = begin
        self.value = self.count(begin)
        self.penalty = mean_penalty(instance, begin)
        self.bound = 0
        self.penalty_bound: float | None = None
        self.stop = Stop.FINISHED
        self.certificate: dict[str, Any] = {}
        self.report("start")

    def count(self, pairing: Pairing) -> int:
        """Blocking pairs at alpha, recounted by the one counter."""
        return self._blocking(pairing).count

    def _blocking(self, pairing: Pairing) -> BlockingPairs:
        return blocking_pairs(self.instance, pairing, self.alpha, self.alpha_mode, self.uncertainty)

    def report(self, text: str) -> None:
        """Report where the search stands."""
        self.clock.note(float(self.value), float(self.bound), text)

    def offer(self, pairing: Pairing | None, text: str) -> None:
        """Keep a pairing when it has fewer blocking pairs, or as many and less penalty."""
        if pairing is None:
            return
        value, penalty = self.count(pairing), mean_penalty(self.instance, pairing)
        if (value, penalty) < (self.value, self.penalty):
            self.best, self.value, self.penalty = pairing, value, penalty
            self.report(text)

    def raise_bound(self, bound: int, text: str) -> None:
        """Raise the proved bound."""
        if bound > self.bound:
            self.bound = bound
            self.report(text)

    @property
    def proved(self) -> bool:
        """Whether nothing is left to do on the first level."""
        return self.value <= self.bound

    def roommates(self, lists: WeakLists) -> None:
        """Agents that are all different: stable roommates, with ties or without."""
        if lists.strict:
            answer = self._by_deletions(lists, self.clock.left)
        else:
            answer = self._with_ties(lists)
        if not self.proved and self.clock.expired:
            self.stop = Stop.TIME_LIMIT
        self._cheapest_of_different(answer)

    def _with_ties(self, lists: WeakLists) -> RoommatesAnswer:
        """A short search mostly tells. Else: is zero possible? Then a longer search, and decision
        programs.
        """
        answer = self._by_deletions(
            lists, min(PROBE_SECONDS, self.clock.time_slice(4) or PROBE_SECONDS)
        )
        if not self.proved and self.bound == 0 and not self.clock.expired:
            self._zero_of_different(lists)
        if not self.proved and not self.clock.expired:
            answer = self._by_deletions(lists, self._share_of_ties())
        self._decide_all()
        return answer

    def _by_deletions(self, lists: WeakLists, seconds: float | None) -> RoommatesAnswer:
        """What the search over deletions finds, and its bound where the lists say all."""
        all_said = alone_is_worst(self.instance, self.alpha, self.alpha_mode)
        known = self.bound if all_said else 0

        def report(_: float, value: float | None, bound: float | None, text: str) -> None:
            best = self.value if value is None else min(value, self.value)
            self.clock.note(best, bound if all_said else float(self.bound), text)

        answer = solve_roommates(
            self.instance, lists, seconds=seconds, rng=self.rng, start=self.best, known=known,
            report=report
        )  # fmt: skip
        self.stop = answer.stop
        self.offer(answer.pairing(self.instance), "search over deletions")
        if answer.found.bound > self.bound and all_said:
            self.certificate |= answer.certificate(self.certificate.get("proof", ""))
            self.raise_bound(int(answer.found.bound), "stable partition and search over deletions")
        if self.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        return answer

    def _zero_of_different(self, lists: WeakLists) -> None:
        """Is zero possible? The program over the few pairs that could be in an answer then tells
        soon, and the least penalty.
        """
        possible = without_blocking(self.instance, lists)
        found = (
            None
            if possible is None
            else self._find_stable_of(possible, self.clock.time_slice(2) or ZERO_SECONDS)
        )
        if possible is None or (found is not None and found.status is Status.INFEASIBLE):
            self.certificate["proof"] = (
                "zero is impossible: a program over the pairs that no first proposals rule "
                "out shows it"
            )
            self.raise_bound(1, "zero is impossible")
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
            2 if self.instance.agents <= DECIDED_AGENTS else 1
        )
        return self.clock.time_slice(parts) or TIE_SECONDS

    def general(self) -> None:
        """Types of several agents, surplus machines, agents that would as soon be left without a
        partner.
        """
        few = self.instance.types <= FEW_TYPES
        listed = (
            self.instance.agents <= LISTS_UP_TO
            and self._everyone_matters
            and self.uncertainty == "none"
        )
        if few or self.uncertainty == "possible":
            self._zero_over_types()
        self._exchange()
        if self.uncertainty == "possible" and not self.proved:
            self._robust_start()
        agents = listed and (not few or self.instance.agents <= CHEAP_LISTS)
        if agents:
            self._search_agents(min(PROBE_SECONDS, self.clock.time_slice(4) or PROBE_SECONDS))
        self._decide_all(self.clock.time_slice(4) or DECISION_SECONDS, FEW_BLOCKING)
        if agents and not few:
            self._search_agents(self._share_of_ties())
        self._count_in_steps()
        self._decide_all()
        if not self.proved and self.clock.expired:
            self.stop = Stop.TIME_LIMIT
        self._cheapest_general()

    @property
    def _everyone_matters(self) -> bool:
        """Whether no job may run alone, content on its own machine: then the game is roommates with
        ties.
        """
        return self.instance.singles_allowed == 0 or self.instance.unpaired is not None

    def _zero_over_types(self) -> None:
        """Is zero possible? Then with least penalty; if not, that is a proof that one blocking pair
        is needed.
        """
        found = self._find_stable(
            self.instance, self.clock.time_slice(1 / 0.6), self.best if self.value == 0 else None
        )
        if found is None:
            self.stop = Stop.TIME_LIMIT
            return
        self._accept_outcome(found, "program over types")
        if found.status is Status.INFEASIBLE:
            self.certificate["proof"] = (
                "the program over types shows that zero "
                f"{KINDS[self.uncertainty]}blocking pairs are impossible"
            )
            self.raise_bound(1, "zero is impossible")
        elif found.solution is not None and self.value == 0:
            self.certificate["proof"] = self._own_proof
            self.penalty_bound = found.bound

    def _robust_start(self) -> None:
        """The pairing of the least alpha at which no pair possibly blocks."""
        if self.clock.expired or self.alpha_mode != "penalty-points":
            return
        least = robust_alpha(
            self.instance, time_limit=self.clock.time_slice(3), engine=self.engine, start=self.best
        )
        self.offer(least.pairing, "stable for every matrix at a larger alpha")
        self.certificate["robust_alpha"] = {
            "alpha": least.alpha, "below": least.below, "status": least.status.value
        }  # fmt: skip
        if least.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def _exchange(self) -> None:
        """Exchanges between pairs, until time is up or they have long brought nothing."""
        if self.proved or self.clock.expired:
            return
        exchanges = Exchanges(self.instance, self.alpha, self.alpha_mode, self.uncertainty)
        until = self.clock.seconds + (self.clock.time_slice(10) or EXCHANGE_SECONDS)
        idle = 0
        for found in exchanges.search(self.best, self.rng, self.bound):
            self.offer(found, "exchanges between pairs")
            idle = idle + 1 if found is None else 0
            if idle > max(PATIENCE, self.instance.agents // 8) or self.clock.seconds > until:
                return

    def _search_agents(self, seconds: float) -> None:
        """Agents one by one, those of one type tied in every list."""
        if self.proved or self.clock.expired:
            return
        lists = lists_of_agents(self.instance, self.alpha, self.alpha_mode)
        if lists is not None:
            self._by_deletions(lists, seconds)

    def _count_in_steps(self) -> None:
        """Raise the bound by the order encoding, with more steps each time its bound is reached."""
        few = [steps for steps in STEPS if order_terms(self.instance, steps=steps) <= FIRST_TERMS]
        whole = order_terms(self.instance) <= EXACT_TERMS
        for steps in (None,) if whole else STEPS[max(len(few) - 1, 0) :]:
            if (
                self.proved
                or self.clock.expired
                or order_terms(self.instance, steps=steps) > MOST_TERMS
            ):
                return
            left = self.clock.time_slice() or STEPS_SECONDS
            # no start: CP-SAT holds on to one, and finds no core for minutes
            found = self._ask(
                fewest_blocking, left, self._note_bound, encoding="order", steps=steps
            )
            if found is None:
                self.stop = Stop.TIME_LIMIT
                return
            if found.bound is not None and found.bound > self.bound:
                kind = "all steps" if steps is None else f"{steps} steps a type"
                self.certificate["proof"] = f"bound of the order encoding over types, with {kind}"
                self.raise_bound(int(found.bound), f"order encoding with {kind}")
            self._accept_outcome(found, "order encoding")
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
            "alpha": self.alpha, "alpha_mode": self.alpha_mode, "uncertainty": self.uncertainty,
            "engine": "cp-sat", "time_limit": seconds, **how
        }  # fmt: skip
        terms = order_terms(self.instance, how.get("most"), how.get("steps"))
        small = self.instance.types < APART_FROM and terms < APART_TERMS
        if small or seconds is None:
            return function(self.instance, **given, report=report)
        given["time_limit"] = max(CHILD_TIME_FRACTION * seconds, seconds - KILL_GRACE)
        return call_in_subprocess(function, self.instance, **given, hard_limit=seconds + KILL_GRACE)

    def _decide_all(self, seconds: float | None = None, upto: int | None = None) -> None:
        """Decide whether so many blocking pairs are enough: more and more, until there are more
        than `upto`, one number cannot be decided within so many seconds, or the time is up.
        """
        while not self.proved and not self.clock.expired:
            most = min(2 * self.bound, (self.bound + self.value) // 2)
            if upto is not None and most > upto:
                return
            if not self._decide(most, self.clock.time_slice(1, seconds)):
                return

    def _decide(self, most: int, seconds: float | None) -> bool:
        """Are `most` blocking pairs enough? A no raises the bound; False when the engine could not
        tell.
        """
        found = self._ask(at_most_blocking, seconds, most=most, penalty=False)
        if found is None:
            self.stop = Stop.TIME_LIMIT
            return False
        self._accept_outcome(found, f"a pairing with at most {most}")
        if found.status is Status.INFEASIBLE:
            self.certificate["proof"] = (
                f"no pairing has at most {most} blocking pairs: CP-SAT exhausted the program "
                "over types"
            )
            self.raise_bound(most + 1, f"{most} blocking pairs are too few")
        return found.status is Status.INFEASIBLE or found.solution is not None

    def _accept_outcome(self, found: Outcome, text: str) -> None:
        """Keep what a program found, remember why it stopped, and let an interrupt through."""
        assert found.solution is None or isinstance(found.solution, Pairing)
        self.offer(found.solution, text)
        if found.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        if found.stop is not Stop.FINISHED:
            self.stop = found.stop

    def _cheapest_of_different(self, answer: RoommatesAnswer) -> None:
        """Least penalty: among all stable matchings when there are any, else among those that
        forgive the same pairs.
        """
        if self.clock.expired or self.penalty_bound is not None:
            return
        left = self.clock.left
        if left is not None and left < A_FORGIVEN_PAIR * self.instance.agents**2:
            self.stop = Stop.TIME_LIMIT
            return
        possible = forgiving(self.instance, answer.lists, self.best, self.alpha, self.alpha_mode)
        left = self._second_level_time()
        if (
            left is not None
            and _large(possible)
            and answer.found.value == 0
            and answer.found.tie_breaking is not None
        ):
            self._find_stable_of(answer.one_tie_breaking(self.instance), left / 3)
            left = self.clock.time_slice() or left
        cheapest = self._find_stable_of(possible, left)
        if self.value == 0:
            self.penalty_bound = None if cheapest is None else cheapest.bound
        elif self.proved and self.instance.agents <= EXACT_SECOND_LEVEL:
            self._cheapest_exact()
        same = (
            "without blocking pairs"
            if self.value == 0
            else "whose blocking pairs are among the same"
        )
        self.certificate.setdefault("second_level", f"least penalty among the pairings {same}")

    def _find_stable_of(self, possible: Colocation, seconds: float | None) -> Outcome | None:
        """The least penalty without blocking pair of an instance of few pairs; None when it was not
        known by the time limit.
        """
        found = self._find_stable(possible, seconds, self.best)
        if found is None:
            self.stop = Stop.TIME_LIMIT
        else:
            self._accept_outcome(found, "program over the pairs that could be stable")
        return found

    def _find_stable(
        self, instance: Colocation, seconds: float | None, start: Pairing | None = None
    ) -> Outcome | None:
        """What `find_stable` finds; None when it was not known by the time limit.

        On a large program HiGHS looks at no clock for long, and making it takes long too: it gets a
        process of its own, which is ended.
        """
        given = (instance, self.alpha, self.alpha_mode)
        how: dict[str, Any] = {
            "uncertainty": self.uncertainty, "engine": self.engine, "start": start
        }  # fmt: skip
        if seconds is None or not _large(instance):
            return find_stable(*given, **how, time_limit=seconds)
        return call_in_subprocess(
            find_stable, *given, **how, time_limit=CHILD_TIME_FRACTION * seconds, hard_limit=seconds
        )

    def _cheapest_general(self) -> None:
        if (
            self.proved
            and self.value > 0
            and self.instance.types <= EXACT_SECOND_LEVEL
            and not self.clock.expired
        ):
            self._cheapest_exact()
        elif self.value == 0 and self.penalty_bound is None and not self.clock.expired:
            self._zero_over_types()

    def _cheapest_exact(self) -> None:
        """Least penalty among all pairings with as few blocking pairs."""
        stop = self.stop
        found = at_most_blocking(
            self.instance,
            self.value,
            self.alpha,
            self.alpha_mode,
            uncertainty=self.uncertainty,
            engine="cp-sat",
            time_limit=self._second_level_time(),
            start=self.best,
        )
        self._accept_outcome(found, "least penalty")
        self.stop = stop
        if found.bound is not None:
            self.penalty_bound = found.bound
            self.certificate["second_level"] = (
                "least penalty among all pairings with as few blocking pairs"
            )

    def _second_level_time(self) -> float | None:
        return self.clock.time_slice() or (None if self.value == 0 else SECOND_LEVEL_SECONDS)

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels and the list of blocking pairs in its
        certificate.
        """
        blocking = self._blocking(self.best)
        names = self.instance.names
        facts = {
            "alpha": self.alpha,
            "alpha_mode": self.alpha_mode,
            **self._about_intervals(),
            **self.certificate,
            "blocking_pairs": [
                {"types": [names[a], names[c]], "willing": [left, right]}
                for a, c, left, right in zip(
                    blocking.first.tolist(),
                    blocking.second.tolist(),
                    blocking.willing_first.tolist(),
                    blocking.willing_second.tolist(),
                    strict=True,
                )
            ],
            "levels": self._levels(),
        }
        if self.value == 0:
            facts.setdefault("proof", self._own_proof)
        stop = Stop.FINISHED if self.proved and self.stop is Stop.TIME_LIMIT else self.stop
        return outcome(
            self.instance, self.best, float(blocking.count), float(min(self.bound, self.value)),
            stop, facts, self.clock, COUNTED[self.uncertainty],
        )  # fmt: skip

    @property
    def _own_proof(self) -> str:
        proof = f"a pairing without {KINDS[self.uncertainty]}blocking pair is its own proof"
        if self.uncertainty == "possible":
            proof += ": it is stable for every matrix within the intervals"
        return proof

    def _about_intervals(self) -> dict[str, Any]:
        """Which gains count, with what confidence, and what to measure again."""
        if self.uncertainty == "none":
            return {}
        facts: dict[str, Any] = {
            "uncertainty": self.uncertainty, "intervals": self.instance.certainty
        }  # fmt: skip
        if self.uncertainty == "certain" or self.value == 0:
            return facts
        again = undecided_pairs(self.instance, self.best, self.alpha, self.alpha_mode)
        return {**facts, "measure_again": again}

    def _levels(self) -> list[dict[str, Any]]:
        first = Status.OPTIMAL if self.proved else Status.FEASIBLE
        bound = (
            least_penalty_bound(self.instance, self.clock.left)
            if self.penalty_bound is None
            else self.penalty_bound
        )
        met = self.proved and agree(self.penalty, bound, scale(self.instance, "penalty"))
        second = Status.OPTIMAL if met else Status.FEASIBLE
        return [
            {
                "objective": COUNTED[self.uncertainty],
                "value": self.value,
                "bound": min(self.bound, self.value),
                "status": first.value,
            },
            {
                "objective": "penalty",
                "value": self.penalty,
                "bound": min(bound, self.penalty),
                "status": second.value,
            },
        ]


def _require_room(instance: Colocation) -> None:
    """Refuse what would take gigabytes before anything is known of it."""
    if instance.types > MOST_TYPES:
        raise InvalidOption(
            f"stable takes at most {MOST_TYPES} types of agents; {instance.name or 'the instance'} "
            f"has {instance.types}, and lists of each over all would take many GB. Group agents "
            "into fewer types, or use SMR or SMP, which give no proof"
        )


def _large(instance: Colocation) -> bool:
    """Whether HiGHS may not keep its time limit on the program of these agents."""
    return int(instance.allowed.sum()) > MOST_PAIRS
