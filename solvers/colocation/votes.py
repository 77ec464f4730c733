"""Pairings of agents with preference lists: rank-maximal, Pareto-optimal, and popular ones.

Ranks are those of `instances.colocation.lists`: equal for who is liked equally. Being without
partner has the rank n + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances.colocation.instance import Colocation, Integers, Pairing
from ...instances.colocation.lists import ranks, require_lists
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...models.colocation.assignment import Assignment
from ..engines import EngineName
from ..incumbent import Incumbent, conclude
from ..outcome import LEAST_SECONDS, Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from ..roommates import fewest_blocking_pairs
from ..roommates.heaviest import heaviest_matching
from ..roommates.partition import Goal
from .common import run
from .feasible import starting_pairing
from .to_roommates import lists_of_agents

STARTS, START_SECONDS = 8, 2.0
"""Pairings with few blocking pairs that `popular` begins with, and seconds for each at most."""

PROGRAM_SECONDS = 60.0
"""For the program of `popular` where there is no time limit."""


class Votes:
    """What the agents of an instance think of pairings.

    Attributes
    ----------
    rank : (n, n) of each in each list, 0 where the pair is forbidden.
    perfect : whether everyone has to have a partner.
    """

    def __init__(self, instance: Colocation) -> None:
        self.instance, self.rank = instance, ranks(instance)
        self.allowed, self.agents = self.rank > 0, len(self.rank)
        self.perfect = instance.unpaired is None

    def borne(self, partner: Integers) -> Integers:
        """(n,) the rank of what each has."""
        own = self.rank[np.arange(self.agents), partner]
        return np.where(partner < 0, self.agents + 1, own)

    def pairing(self, partner: NDArray[Any]) -> Pairing:
        """The pairing of these partners."""
        return Pairing.from_partners(np.arange(self.agents), partner, self.agents)

    def rival(self, partner: Integers) -> Integers:
        """The matching that most more agents prefer to this one than prefer this one to it."""
        has = self.borne(partner)
        vote = np.sign(has[:, None] - self.rank)
        # who has a partner votes against being without
        against = (partner >= 0).astype(np.int64)
        return np.asarray(heaviest_matching(vote + against[:, None], self.allowed, self.perfect))

    def margin(self, rival: Integers, partner: Integers) -> int:
        """How many more agents prefer the first of two matchings."""
        return int(np.sign(self.borne(partner) - self.borne(rival)).sum())

    def improved(self, partner: Integers, *, gainers: bool = False) -> Integers:
        """A matching in which nobody has less than in this one: of least total rank, which is
        Pareto-optimal, or with most `gainers`.
        """
        has = self.borne(partner)
        gain = has[:, None] - self.rank
        fine = self.allowed & (gain >= 0)
        weight = (gain > 0).astype(np.int64) if gainers else gain
        # everyone who has a partner keeps one, which is worth more than all gains together
        kept = np.where(partner >= 0, self.agents * (self.agents + 2), 0)
        return np.asarray(heaviest_matching(weight + kept[:, None], fine & fine.T, perfect=False))

    def profile(self, partner: Integers) -> list[int]:
        """How many have their first choice, their second, ..., up to the last that somebody has."""
        paired = self.borne(partner)[partner >= 0]
        return [int(number) for number in np.bincount(paired)[1:]]


def unpopularity(instance: Colocation, pairing: Pairing) -> int:
    """By how many votes the strongest rival beats a pairing of agents with preference lists; 0 for
    a popular one. Source: McCutchen (LATIN 2008), the unpopularity margin.
    """
    votes, partner = Votes(instance), pairing.partners(instance)
    return votes.margin(votes.rival(partner), partner)


def pareto_gainers(instance: Colocation, pairing: Pairing) -> int:
    """How many agents at most could have more while nobody has less; 0 for a Pareto-optimal
    pairing of agents with preference lists.
    """
    votes, partner = Votes(instance), pairing.partners(instance)
    better = votes.improved(partner, gainers=True)
    return int((votes.borne(better) < votes.borne(partner)).sum())


@validate_options
def rank_maximal(
    instance: Colocation, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Most agents with their first choice, then most with their second, and so on.

    A matching of most weight, a rank being worth more than all later ones together, in whole
    numbers of as many digits as that takes. `certificate["profile"]` says how many have their
    first choice, their second, ... .

    Parameters
    ----------
    instance : of preference lists, ties allowed (`has_lists`).
    time_limit : seconds; looked at before the start only.
    report : called when it is done.

    Raises
    ------
    InvalidOption
        It is none of preference lists.

    Notes
    -----
    Source: R. W. Irving and others, Rank-maximal matchings, ACM Trans. Algorithms 2 (2006); by
    weights: D. Michail, Theor. Comput. Sci. 389 (2007).

    Examples
    --------
    >>> import cotenant
    >>> outcome = rank_maximal(cotenant.read("colocation/no-stable-4"))
    >>> outcome.certificate["profile"]
    [2, 1, 1]
    """
    require_lists(instance, "rank-maximal")
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, None, clock)
    if isinstance(begin, Outcome):
        return begin
    votes = Votes(instance)
    deepest = int(votes.rank.max(initial=1))
    worth = np.array([0, *((votes.agents + 1) ** (deepest - r) for r in range(1, deepest + 1))],
                     dtype=object)  # fmt: skip
    partner = heaviest_matching(worth[votes.rank], votes.allowed, votes.perfect)
    profile = votes.profile(partner)
    facts = {"proof": "a matching of most weight, checked by its multipliers", "profile": profile}
    first = float(profile[0]) if profile else 0.0
    return conclude(votes.pairing(partner), first, first, Stop.FINISHED, facts, clock, sense="max")


@validate_options
def pareto(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """A Pareto-optimal pairing in which nobody has less than in the start: no other gives somebody
    more and nobody less.

    Of the pairings that nobody likes less than the start it takes one of least total rank, by a
    matching of most weight. Whatever gave somebody more and nobody less would have less total rank
    and be among them.

    Parameters
    ----------
    instance : of preference lists, ties allowed (`has_lists`).
    time_limit : seconds; looked at before the start only.
    start : a pairing to improve on; any when not given.
    report : called when it is done.

    Raises
    ------
    InvalidOption
        It is none of preference lists, or the start is no pairing of it.

    Notes
    -----
    Source: D. J. Abraham, D. F. Manlove, Pareto optimality in the roommates problem (Glasgow 2004).

    Examples
    --------
    >>> import cotenant
    >>> pareto(cotenant.read("colocation/no-stable-4")).certificate["gainers"]
    0
    """
    require_lists(instance, "pareto")
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    votes, before = Votes(instance), begin.partners(instance)
    partner = votes.improved(before)
    answer = votes.pairing(partner)
    gainers = pareto_gainers(instance, answer)
    facts = {
        "proof": "most agents that could gain while nobody loses, by a matching of most weight",
        "gainers": gainers,
        "better_off_than_the_start": int((votes.borne(partner) < votes.borne(before)).sum()),
    }
    return conclude(answer, float(gainers), 0.0, Stop.FINISHED, facts, clock)


@validate_options
def popular(
    instance: Colocation,
    *,
    engine: EngineName = "cp-sat",
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The pairing whose strongest rival beats it by fewest votes: none for a popular pairing.

    An agent votes for the pairing in which it has the better partner. With strict lists a stable
    pairing is popular. Where there is none, or lists have ties, whether a popular one exists is
    NP-hard to decide: an integer program over pairs with a row for each rival that is found, which
    is a matching of most votes. Its bound is a bound on the votes; a bound of 1 proves that no
    pairing is popular.

    Parameters
    ----------
    instance : of preference lists, ties allowed (`has_lists`).
    engine : "cp-sat" or "highs", which keeps its time less well, for the program.
    time_limit : seconds; the best pairing so far is returned when they are up.
    start : a pairing to begin with.
    report : called with (seconds, votes, bound, text).

    Raises
    ------
    InvalidOption
        It is none of preference lists, or the start is no pairing of it.

    Notes
    -----
    Source: P. Biró, R. W. Irving, D. F. Manlove, Popular matchings in the marriage and roommates
    problems (CIAC 2010); a stable one is popular: K.-S. Chung, Games Econ. Behav. 33 (2000), for
    two sides P. Gärdenfors (1975); hardness: Y. Faenza and others, and S. Gupta and others (SODA
    2019).

    Examples
    --------
    >>> import cotenant
    >>> outcome = popular(cotenant.read("colocation/no-stable-4"))
    >>> outcome.bound, outcome.status.value
    (0.0, 'optimal')
    """
    require_lists(instance, "popular")
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    search = _Popular(instance, begin, clock)
    with search.keeping_best():
        search.nearly_stable()
        search.cut(engine)
    return search.finish({"rivals": len(search.rivals)})


class _Popular(Incumbent[Pairing, int]):
    """The pairing beaten by fewest votes so far, and the rivals found."""

    best: Pairing

    def __init__(self, instance: Colocation, begin: Pairing, clock: Clock) -> None:
        super().__init__(instance, clock, self._beaten, bound=0)
        self.instance, self.votes = instance, Votes(instance)
        self.rivals: list[Integers] = []
        self.certificate["proof"] = "no pairing is beaten by less than no vote"
        self.begin(begin)
        self.report("start")

    def _beaten(self, pairing: Pairing) -> int:
        partner = pairing.partners(self.instance)
        rival = self.votes.rival(partner)
        self.rivals.append(rival)
        return self.votes.margin(rival, partner)

    def nearly_stable(self) -> None:
        """Offer pairings with few blocking pairs. With strict lists only a blocking pair has two
        votes for a rival, so that none has more than two for each of them.
        """
        lists = lists_of_agents(self.instance)
        assert lists is not None  # `require_lists`
        goal: Goal = "perfect" if self.votes.perfect else "any"
        for seed in range(STARTS):
            if not self.open:
                return
            rng, seconds = np.random.default_rng(seed), self.clock.time_slice(4, START_SECONDS)
            rank = lists.tie_breaking(rng.random(lists.place.shape))
            found = fewest_blocking_pairs(rank, goal, time_limit=seconds, rng=rng)
            raise_if_interrupted(found.stop)
            if found.partner is not None:
                self.offer(self.votes.pairing(found.partner), "few blocking pairs")

    def cut(self, engine: EngineName) -> None:
        """The program over pairs, with a row more for the rival of every pairing that it gives."""
        shared = Assignment(self.instance)
        beaten = shared.builder.columns(1, upper=float(self.votes.agents), integer=True)
        rows, until = 0, self.clock.seconds + PROGRAM_SECONDS
        while self.open:
            for rival in self.rivals[rows:]:
                where, votes = self._row(shared, rival)
                shared.builder.row(np.append(where, beaten), np.append(votes, -1.0), upper=0.0)
            rows = len(self.rivals)
            cost = np.zeros(int(beaten[0]) + 1)
            cost[beaten] = 1.0
            program = shared.finish(cost)
            seconds = self.clock.time_slice() or max(until - self.clock.seconds, LEAST_SECONDS)
            answer = run(program, Clock(seconds), engine=engine)
            raise_if_interrupted(answer.stop)
            if answer.bound is not None:
                proof = "integer program over pairs and the votes of the rivals found"
                self.raise_bound(int(np.ceil(answer.bound - 1e-6)), "program", proof)
            if answer.point is None or answer.status is Status.INFEASIBLE:
                self.stop = answer.stop  # without a limit after PROGRAM_SECONDS
                return
            self.offer(program.pairing(answer.point), "program")
            if len(self.rivals) == rows:  # an engine's pairing that is none
                return

    def _row(self, shared: Assignment, rival: Integers) -> tuple[Integers, Any]:
        """By how many votes a rival beats a pairing, as a sum over the pairing's columns."""
        votes = self.votes
        ahead = np.sign(votes.rank - votes.borne(rival)[:, None])
        single = np.sign(votes.agents + 1 - votes.borne(rival))
        pairs = ahead[shared.first, shared.second] + ahead[shared.second, shared.first]
        return np.append(shared.x, shared.single), np.append(pairs, single[shared.alone])
