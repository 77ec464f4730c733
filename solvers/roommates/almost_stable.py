"""The fewest blocking pairs, exactly: a bound from Tan's stable partition, and a search over
deleted pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report, Stop, validate_time_limit
from .blocking import blocking_pairs, valid_partner
from .deletions import DeletionSearch, Pair
from .maximum_matching import perfect_matching
from .partition import Goal, StablePartition, lower_bound, partition_from
from .ranks import UNRANKED, Ranks, as_ranks, lists_of, mutual_ranks

REPORT_SECONDS = 0.2

LEAST_SHARE = 8
"""Work on the proof for every work on better matchings, once these have long brought nothing; one
to one at first.
"""


@dataclass(frozen=True)
class AlmostStable:
    """A matching with few blocking pairs, and what is proved about it.

    Attributes
    ----------
    partner : (n,), -1 = without partner; None when the goal is a perfect matching and there is
        none.
    blocking : (k, 2), its blocking pairs, i < j, recounted on the lists given.
    value : how many; None without a matching.
    bound : no matching of the goal has fewer: proved by the partition, and then by every number in
        `finished`.
    feasible : False when the goal is a perfect matching and there is none.
    proved : `value` is the least possible (or there is no matching of the goal).
    stop : finished, time_limit or interrupted.
    partition : the stable partition of the instance, which anyone can check with
        `is_stable_partition`.
    finished : the numbers k for which the search has proved that k blocking pairs are not enough.
    nodes : sets of deletions looked at, in the proof and in the search for better matchings.
    trace : (seconds, value, bound), one for every better matching or bound.
    tie_breaking : for lists with ties (`fewest_with_ties`), ranks under which the matching blocks
        no more; None without ties.
    unsettled : the agents whose ties could unsettle `partition`: each lowers its bound by one.
    """

    partner: Ranks | None
    blocking: NDArray[np.int64]
    value: int | None
    bound: int
    feasible: bool
    proved: bool
    stop: Stop
    partition: StablePartition
    finished: tuple[int, ...] = ()
    nodes: int = 0
    trace: tuple[tuple[float, int, int], ...] = ()
    tie_breaking: Ranks | None = None
    unsettled: tuple[int, ...] = ()

    @property
    def deleted(self) -> tuple[Pair, ...]:
        """Pairs whose deletion from the lists makes `partner` stable: the least such set is its
        blocking pairs.
        """
        return tuple((int(i), int(j)) for i, j in self.blocking)


@validate_options
def fewest_blocking_pairs(
    rank: ArrayLike,
    goal: Goal = "perfect",
    *,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
    start: ArrayLike | None = None,
    report: Report | None = None,
) -> AlmostStable:
    """Find a matching with the fewest blocking pairs, and prove it.

    Making a pair unacceptable forgives it: the least number of blocking pairs is the least number
    of pairs whose deletion leaves lists with a stable matching of the goal. A stable partition
    bounds this number from below and names, at every step, the pairs one of which must be deleted;
    so numbers k are tried from the bound upwards, and every k that is exhausted is a proof that
    more than k are needed. Exponential in the optimum minus the bound, O(n²) per step at worst.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept;
        never changed.
    goal : "perfect", everyone gets a partner, or "any", an agent may stay without (and then blocks
        with anyone acceptable who gains). With complete lists and an even number of agents the two
        have the same optimum.
    time_limit : seconds, counted after compilation. The first matching is found whatever the limit.
    rng : for the search of better matchings; np.random.default_rng(0) when None. The proof is
        deterministic.
    start : (n,), a matching of the goal to begin with.
    report : called with (seconds, value, bound, text) when one of them improves, and every 0.2
        seconds or so.

    Raises
    ------
    InvalidInstance : `rank` is no matrix of strict ranks, or `start` is no matching of the goal.
    InvalidOption : the goal is unknown, or the time limit not above 0.
    KeyboardInterrupt : only before a first matching is known; later it ends the search, and the
        best so far is returned.

    References
    ----------
    The bound and the problem cf. D. J. Abraham, P. Biró, D. F. Manlove, "Almost stable" matchings
    in the roommates problem, WAOA 2005. Partitions: J. J. M. Tan, J. Algorithms 12 (1991) 154-178;
    one agent more or less: J. J. M. Tan, Y.-C. Hsueh, A generalization of the stable matching
    problem, Discrete Applied Mathematics 59 (1995). The branching rule is this project's;
    `DeletionSearch` states and argues it.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> lists = [[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]]
    >>> found = fewest_blocking_pairs(ranks_from_lists(lists))
    >>> found.value, found.bound, found.proved, found.partition.parties
    (1, 1, True, ((0, 1, 2), (3,)))
    """
    lower_bound(0, 0, goal)  # refuses an unknown goal
    validate_time_limit(time_limit)
    generator = np.random.default_rng(0) if rng is None else rng
    return _Run(as_ranks(rank), goal, generator, Clock(time_limit, report)).result(start)


class _TimeUp(Exception):
    """The time limit has passed."""


class _Run:
    """One call: the best matching, the bound, and the clock."""

    def __init__(self, rank: Ranks, goal: Goal, rng: np.random.Generator, clock: Clock) -> None:
        self.rank = rank
        self.goal = goal
        self.rng = rng
        self.clock = clock
        self.lists = lists_of(rank)
        self.value = 0
        self.partner: Ranks | None = None
        self.bound = 0
        self.finished: list[int] = []
        self.searches: list[DeletionSearch] = []
        self.reported = 0.0

    def result(self, start: ArrayLike | None) -> AlmostStable:
        """Solve, and put together what was found by the time it ended."""
        proof = self.new_search()
        partition = partition_from(proof.predecessor)
        self.bound = partition.bound(self.goal)
        first = self._complete(proof.partner)
        given = None if start is None else self._valid_start(start)
        if first is None:
            none = np.empty((0, 2), dtype=np.int64)
            return AlmostStable(None, none, None, self.bound, False, True, Stop.FINISHED, partition)
        stop = Stop.FINISHED
        try:
            self.offer(first)
            if given is not None:
                self.offer(given)
            self._solve(proof)
        except _TimeUp:
            stop = Stop.TIME_LIMIT
        except KeyboardInterrupt:
            if self.partner is None:
                raise
            stop = Stop.INTERRUPTED
        return self._answer(partition, stop)

    def _answer(self, partition: StablePartition, stop: Stop) -> AlmostStable:
        """What the best matching is worth, recounted plainly on the lists given."""
        assert self.partner is not None
        blocking = blocking_pairs(self.rank, self.partner)
        proved = len(blocking) == self.bound
        if len(blocking) < self.bound or (stop is Stop.FINISHED and not proved):
            raise RuntimeError(
                f"the roommates search contradicts itself: {len(blocking)} blocking pairs, "
                f"bound {self.bound}"
            )
        return AlmostStable(
            partner=self.partner,
            blocking=blocking,
            value=len(blocking),
            bound=self.bound,
            feasible=True,
            proved=proved,
            stop=stop,
            partition=partition,
            finished=tuple(self.finished),
            nodes=sum(search.nodes for search in self.searches),
            trace=tuple(
                (now, int(value or 0), int(bound or 0)) for now, value, bound in self.clock.trace
            ),
        )

    def _valid_start(self, start: ArrayLike) -> Ranks:
        partner = valid_partner(mutual_ranks(self.rank), start)
        if self.goal == "perfect" and (partner < 0).any():
            raise InvalidInstance(
                "start", "a matching that leaves agents without partner", "a perfect matching"
            )
        return partner

    def new_search(self) -> DeletionSearch:
        """A search on the lists given, its nodes counted here."""
        search = DeletionSearch(self.lists, self.rank, self.goal)
        self.searches.append(search)
        return search

    def _solve(self, proof: DeletionSearch) -> None:
        """A dive, then deepening, with better matchings looked for in a share of the work, until
        bound and value meet.
        """
        from .kernels import EXHAUSTED, FOUND, PAUSED
        from .large_neighborhood import STEP, Improver

        improver = Improver(
            proof, self.rank, self._best_value, self._best_pairs, self.offer_completed, self.rng
        )
        for _ in improver.dive():
            self._look_at_the_clock("a first dive")
        attempts, owed = None, 0  # owed: work on the proof that is due before the next attempt
        limit = self.bound
        proof.start(limit, 0)
        while self.value > self.bound:
            self._look_at_the_clock(f"are {limit} enough?")
            before = proof.work
            outcome = proof.run(STEP)
            owed -= proof.work - before
            if outcome == FOUND:
                proof.accept()
                self.offer(proof.partner)
                return
            if outcome == EXHAUSTED:
                self.finished.append(limit)
                limit += 1
                self._raise_bound(limit)
                proof.start(limit, 0)
            if attempts is None and outcome == PAUSED:
                improver.search = self.new_search()
                attempts = improver.attempts()
            while attempts is not None and owed <= 0 and self.value > self.bound:
                self._look_at_the_clock(f"are {limit} enough?")
                before = improver.search.work
                next(attempts)
                owed += (improver.search.work - before) * min(1 + improver.idle, LEAST_SHARE)

    def _best_value(self) -> int:
        return self.value

    def _best_pairs(self) -> list[Pair]:
        assert self.partner is not None
        return [(int(i), int(j)) for i, j in blocking_pairs(self.rank, self.partner)]

    def _complete(self, partner: Ranks) -> Ranks | None:
        """A matching of the goal from one that leaves agents over; None if there is none."""
        return (
            partner
            if self.goal == "any" or (partner >= 0).all()
            else perfect_matching(self.lists, partner)
        )

    def offer_completed(self, partner: Ranks) -> None:
        """Make a matching of the goal of this one, and offer it."""
        completed = self._complete(partner)
        assert completed is not None  # there is one: the first answer was found the same way
        self.offer(completed)

    def offer(self, partner: Ranks) -> None:
        """Keep a matching if it has fewer blocking pairs, counted on the lists given."""
        from . import kernels

        agents = np.arange(len(self.rank))
        threshold = np.where(
            partner >= 0, self.rank[agents, partner] if len(agents) else 0, UNRANKED
        ).astype(np.int32)
        value = int(kernels.count_blocking(self.lists.choice, self.lists.back, threshold))
        if self.partner is None or value < self.value:
            self.value, self.partner = value, partner
            self._note("a better matching")

    def _raise_bound(self, bound: int) -> None:
        self.bound = bound
        self._note("a better bound")

    def _note(self, text: str) -> None:
        self.reported = self.clock.seconds
        self.clock.note(self.value, self.bound, text)

    def _look_at_the_clock(self, text: str) -> None:
        if self.clock.expired:
            raise _TimeUp
        if self.clock.seconds - self.reported > REPORT_SECONDS:
            self._note(text)
