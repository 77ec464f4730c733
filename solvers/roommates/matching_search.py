"""Incumbent matching with the fewest blocking pairs, its bound, and the result of the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.errors import InvalidInstance
from ..incumbent import Incumbent
from ..outcome import Clock, Stop
from ..routes import Routed
from .arrays import Ranks
from .partition import Goal, StablePartition, largest_matching
from .ranks import blocking_pairs, lists_of, mutual_ranks, valid_partner


@dataclass(frozen=True)
class RoommatesLimits(Routed):
    """Routes that run beside the proof: neighborhoods of the incumbent and, with ties, single
    tie-breakings.
    """

    routes: frozenset[str] = frozenset({"neighborhoods", "tie-breakings"})


ROOMMATES_LIMITS = RoommatesLimits()


@dataclass(frozen=True)
class AlmostStable:
    """Matching with few blocking pairs, and a lower bound on their number.

    Attributes
    ----------
    partner : (n,), -1 = without partner; None when the goal is a perfect matching and there is
        none.
    blocking : (k, 2), its blocking pairs, i < j, recounted on the lists given; without them it is
        stable.
    value : how many; None without a matching.
    bound : no matching of the goal has fewer: proved by the partition, and then by every number in
        `finished`.
    feasible : False when the goal is a perfect matching and there is none.
    proved : `value` is the least possible (or there is no matching of the goal).
    stop : finished, time_limit or interrupted.
    partition : the stable partition of the instance.
    finished : the numbers k for which the search has proved that k blocking pairs are not enough.
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
    tie_breaking: Ranks | None = None
    unsettled: tuple[int, ...] = ()


class TimeUp(Exception):
    """Raised at the time limit."""


class MatchingSearch(Incumbent[Ranks, int]):
    """State of the search for the fewest blocking pairs: the incumbent matching and the bound.

    Parameters
    ----------
    place, better : (n, n) of the lists, as of `blocking_pairs`; `better` is None without ties.
    bound : what is proved before.

    Attributes
    ----------
    partition : the stable partition that the bound begins with.
    finished : numbers that were exhausted since.
    """

    partition: StablePartition

    def __init__(
        self, place: Ranks, better: Ranks | None, goal: Goal, rng: np.random.Generator,
        clock: Clock, bound: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(None, clock, lambda partner: len(self.blocking(partner)), bound=bound)
        self.place, self.better, self.goal, self.rng = place, better, goal, rng
        self.lists = lists_of(place)
        self.finished: list[int] = []

    def first(self) -> Ranks:
        """Compute the stable partition and its bound; return a matching that may be partial."""
        raise NotImplementedError

    def solve(self) -> None:
        """Search for fewer blocking pairs until the bound meets the best, or the time is up."""
        raise NotImplementedError

    def valid_start(self, start: ArrayLike) -> Ranks:
        """Partners (n,) of a starting matching; an error if it is invalid or misses the goal."""
        partner = valid_partner(mutual_ranks(self.place), start)
        if self.goal == "perfect" and (partner < 0).any():
            raise InvalidInstance(
                "start", "a matching that leaves agents without partner", "a perfect matching"
            )
        return partner

    def blocking(self, partner: Ranks) -> NDArray[np.int64]:
        """Blocking pairs (k, 2) of a matching, counted on the original lists."""
        return blocking_pairs(self.place, partner, self.better)

    def result(self, start: ArrayLike | None) -> AlmostStable:
        """Search from a first matching or `start`; return the best matching with its bound."""
        # 1. a first matching; without one there is none of the goal
        given = None if start is None else self.valid_start(start)
        first = self.completed(self.first())
        if first is None:
            none = np.empty((0, 2), dtype=np.int64)
            return AlmostStable(
                None, none, None, self.bound, False, True, Stop.FINISHED, self.partition
            )
        # 2. search until the bound meets the value or the time is up
        try:
            self.offer(first, "a first matching")
            if given is not None:
                self.offer(given, "the start")
            self.solve()
        except TimeUp:
            self.stop = Stop.TIME_LIMIT
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.stop = Stop.INTERRUPTED
        # 3. recount its blocking pairs by the definition
        assert self.best is not None
        blocking = self.blocking(self.best)
        proved = len(blocking) == self.bound
        if len(blocking) < self.bound or (self.stop is Stop.FINISHED and not proved):
            raise RuntimeError(
                f"the roommates search contradicts itself: {len(blocking)} blocking pairs, "
                f"bound {self.bound}"
            )
        # 4. the result
        return AlmostStable(
            partner=self.best,
            blocking=blocking,
            value=len(blocking),
            bound=self.bound,
            feasible=True,
            proved=proved,
            stop=self.stop,
            partition=self.partition,
            finished=tuple(self.finished),
        )

    def completed(self, partner: Ranks) -> Ranks | None:
        """Complete a matching to a perfect one, if that is the goal; None if impossible."""
        if self.goal == "perfect" and (partner < 0).any():
            partner = largest_matching(self.lists, partner, perfect=True)
            return None if (partner < 0).any() else partner
        return partner

    def offer_completed(self, partner: Ranks) -> bool:
        """Complete a partial matching and offer it."""
        completed = self.completed(partner)
        assert completed is not None  # there is one: the first answer was found the same way
        return self.offer(completed, "a better matching")
