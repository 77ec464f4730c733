"""Fewest blocking pairs of strict lists: a bound from Tan's stable partition, and an exact search
over deleted pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report, validate_time_limit
from .arrays import Ranks
from .deletions import DeletionSearch
from .matching_search import (
    ROOMMATES_LIMITS,
    AlmostStable,
    MatchingSearch,
    RoommatesLimits,
    TimeUp,
)
from .partition import Goal, lower_bound, partition_from
from .ranks import as_ranks

REPORT_SECONDS = 0.2

LEAST_SHARE = 8
"""Work on the proof for every work on better matchings, once these have long brought nothing; one
to one at first.
"""


@validate_options
def fewest_blocking_pairs(
    rank: ArrayLike,
    goal: Goal = "perfect",
    *,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
    start: ArrayLike | None = None,
    report: Report | None = None,
    limits: RoommatesLimits = ROOMMATES_LIMITS,
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
    limits : which routes of the search run.

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
    run = _Run(as_ranks(rank), goal, generator, Clock(time_limit, report), limits)
    return run.result(start)


class _Run(MatchingSearch):
    """Search over deletions for strict lists."""

    def __init__(
        self, rank: Ranks, goal: Goal, rng: np.random.Generator, clock: Clock,
        limits: RoommatesLimits,
    ) -> None:  # fmt: skip
        super().__init__(rank, None, goal, rng, clock)
        self.routes = limits.routes
        self.reported = 0.0

    def first(self) -> Ranks:
        self.proof = DeletionSearch(self.lists, self.place, self.goal)
        self.partition = partition_from(self.proof.predecessor)
        self.bound = self.partition.bound(self.goal)
        return self.proof.partner

    def solve(self) -> None:
        """Increase the number of deletions step by step, with a share of the work spent on better
        matchings, until bound and value meet.
        """
        from .kernels import EXHAUSTED, FOUND, PAUSED
        from .large_neighborhood import STEP, Improver

        attempts, owed = None, 0  # owed: work on the proof that is due before the next attempt
        proof, limit = self.proof, self.bound
        proof.start(limit, 0)
        while self.value > self.bound:
            self._look_at_the_clock(f"are {limit} enough?")
            before = proof.work
            outcome = proof.run(STEP)
            owed -= proof.work - before
            if outcome == FOUND:
                proof.accept()
                self.offer(proof.partner, "a better matching")
                return
            if outcome == EXHAUSTED:
                self.finished.append(limit)
                limit += 1
                self.raise_bound(limit, "a better bound")
                proof.start(limit, 0)
            if attempts is None and outcome == PAUSED and "neighborhoods" in self.routes:
                improver = Improver(DeletionSearch(self.lists, self.place, self.goal), self)
                attempts = improver.attempts()
            while attempts is not None and owed <= 0 and self.value > self.bound:
                self._look_at_the_clock(f"are {limit} enough?")
                before = improver.search.work
                next(attempts)
                owed += (improver.search.work - before) * min(1 + improver.idle, LEAST_SHARE)

    def report(self, text: str) -> None:
        """Report the progress of the search."""
        self.reported = self.clock.seconds
        super().report(text)

    def _look_at_the_clock(self, text: str) -> None:
        if self.clock.expired:
            raise TimeUp
        if self.clock.seconds - self.reported > REPORT_SECONDS:
            self.report(text)
