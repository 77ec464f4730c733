"""Deferred acceptance (Gale and Shapley) with quotas, supplies, and a log of its rounds.

A proposer may stand for many identical agents (its supply) and a receiver for many identical seats
(its quota), so a market of types is matched without ever listing its agents: splitting a type into
agents that share its list, ties by index, gives the same matching (Roth and Sotomayor 1990, section
5.1, split a college into its seats the same way).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..instances.problem.errors import InvalidOption

Integers = npt.NDArray[np.int64]

_COMPILE_FROM = 4000
"""Entries in the proposers' lists from which loading the compiled kernel costs less than running it
as plain Python.
"""


_ROWS = 512
"""Lists that are sorted at once: sorted copies of all would take several times their memory."""


class Offer(NamedTuple):
    """Offer of a proposer to a receiver, of a number of identical units."""

    proposer: int
    receiver: int
    units: int = 1


@dataclass(frozen=True)
class Round:
    """Round in which all free proposers propose at once (Cooper, figure 5).

    Attributes
    ----------
    number : counted from 1.
    proposed : the offers made in it.
    accepted : what of them the receivers hold at its end.
    rejected : what they turned down, offers held from earlier rounds and now displaced included.
    """

    number: int
    proposed: tuple[Offer, ...]
    accepted: tuple[Offer, ...]
    rejected: tuple[Offer, ...]

    def rows(self) -> list[dict[str, object]]:
        """Rows (round, event, proposer, receiver, units) of the offers."""
        events = (("propose", self.proposed), ("accept", self.accepted), ("reject", self.rejected))
        return [
            {"round": self.number, "event": event, **offer._asdict()}
            for event, offers in events
            for offer in offers
        ]


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Result of deferred acceptance.

    Attributes
    ----------
    proposer, receiver, units : (K,) the matches, sorted by proposer, then receiver.
    unmatched : (P,) units of each proposer that nobody on its list holds.
    rounds : rounds of simultaneous proposals.
    proposals : units proposed in all of them together.
    log : the rounds, when they were asked for.
    """

    proposer: Integers
    receiver: Integers
    units: Integers
    unmatched: Integers
    rounds: int
    proposals: int
    log: tuple[Round, ...] = ()

    def partner(self) -> Integers:
        """Receiver (P,) of each proposer, -1 for none; an error if a proposer has several units."""
        if len(np.unique(self.proposer)) < len(self.proposer) or (self.units > 1).any():
            raise InvalidOption(
                "a proposer holds more than one unit; read proposer, receiver and units "
                "instead of partner()"
            )
        found = np.full(len(self.unmatched), -1, dtype=np.int64)
        found[self.proposer] = self.receiver
        return found


def preference_order(cost: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Preference lists of receivers, best first, from the proposers' costs.

    Parameters
    ----------
    cost : (P, R) lower is better; inf for a receiver never proposed to. Ties go to the lowest
        receiver.

    Returns
    -------
    (P, R) receivers; -1 fills the end of a shorter list.
    """
    values = np.asarray(cost, dtype=float)
    order = np.empty(values.shape, dtype=np.int32)
    for start in range(0, len(values), _ROWS):
        rows = values[start : start + _ROWS]
        who = np.argsort(rows, axis=1)
        found = np.take_along_axis(rows, who, axis=1)
        # a stable sort takes five times as long: only lists with equals need it
        tied = ((found[:, 1:] == found[:, :-1]) & (found[:, 1:] < np.inf)).any(axis=1)
        who[tied] = np.argsort(rows[tied], axis=1, kind="stable")
        who[found == np.inf] = -1
        order[start : start + _ROWS] = who
    return order


def deferred_acceptance(
    order: npt.ArrayLike,
    score: npt.ArrayLike,
    quota: npt.ArrayLike | None = None,
    supply: npt.ArrayLike | None = None,
    *,
    log: bool = False,
) -> Acceptance:
    """Match proposers to receivers by rounds of simultaneous proposals; each receiver holds the
    best offers.

    The matching is stable and, among the stable ones, the best for every proposer; the order in
    which proposals are looked at does not change it.

    Parameters
    ----------
    order : (P, L) receivers in each proposer's order, best first; -1 fills the end of a shorter
        list.
    score : (R, P) what each receiver thinks of each proposer: lower is better, inf never accepted.
        Equal scores go to the lowest proposer.
    quota : (R,) units each receiver holds at most; 1 each when not given.
    supply : (P,) identical units each proposer stands for; 1 each when not given.
    log : record the rounds; costs O(P) more per round.

    Raises
    ------
    InvalidOption
        Shapes that do not agree, a receiver that is out of range or listed twice, NaN, a negative
        quota or supply.

    Notes
    -----
    At most one proposal per proposer and list entry when every supply is 1: O(P L) time, O(P + sum
    of quotas) beyond the input. Source: Gale and Shapley 1962; Cooper algorithm 1 and fig. 5.

    Examples
    --------
    >>> proposers, receivers = [[0, 1, 2], [2, 0, 1], [0, 1, 2]], [[2, 0, 1], [1, 2, 0], [1, 0, 2]]
    >>> deferred_acceptance(proposers, receivers).partner()
    array([1, 2, 0])
    """
    lists, scores = _valid_lists(order, score)
    proposers, receivers = len(lists), len(scores)
    supplies = _valid_amounts("supply", supply, proposers)
    quotas = np.minimum(_valid_amounts("quota", quota, receivers), supplies.sum())
    kernel: Callable[..., Any] = _compiled() if lists.size >= _COMPILE_FROM else _propose
    offset = np.concatenate([[0], np.cumsum(np.minimum(quotas, proposers))]).astype(np.int64)
    market = (lists, scores, quotas, offset)
    state = (
        np.zeros(proposers, dtype=np.int64),  # place in its list from which a proposer goes on
        supplies.copy(),  # units nobody holds
        np.full(max(1, offset[-1]), -1, dtype=np.int64),  # who holds each slot
        np.zeros(max(1, offset[-1]), dtype=np.int64),  # and how many units
        np.zeros(receivers, dtype=np.int64),  # slots in use
        np.zeros(receivers, dtype=np.int64),  # units held
    )
    rounds: list[Round] = []
    if log:
        number, proposals = _run_logged(kernel, market, state, rounds)
    else:
        number, proposals = kernel(*market, *state, -1)
    accepted = sorted(_accepted(offset, state).items())
    rows = np.array([(*pair, units) for pair, units in accepted], dtype=np.int64).reshape(-1, 3)
    proposer, receiver, units = rows.T.copy()
    return Acceptance(
        proposer, receiver, units, state[1], int(number), int(proposals), tuple(rounds)
    )


def _run_logged(
    kernel: Callable[..., Any], market: Any, state: Any, rounds: list[Round]
) -> tuple[int, int]:
    """Run deferred acceptance and log each round; rejected is who is no longer held."""
    lists, _, _, offset = market
    place, free = state[0], state[1]
    proposals = 0
    before = _accepted(offset, state)
    while True:
        proposed = {
            (p, int(lists[p, place[p]])): int(free[p])
            for p in np.flatnonzero(free).tolist()
            if place[p] < lists.shape[1] and lists[p, place[p]] >= 0
        }
        if not proposed:
            return len(rounds), proposals
        proposals += int(kernel(*market, *state, 1)[1])
        after = _accepted(offset, state)
        rejected = before + Counter(proposed)
        rejected.subtract(after)
        accepted = {
            pair: units - rejected[pair]
            for pair, units in proposed.items()
            if units > rejected[pair]
        }
        rounds.append(
            Round(len(rounds) + 1, _offers(proposed), _offers(accepted), _offers(+rejected))
        )
        before = after


def _accepted(offset: Integers, state: Any) -> Counter[tuple[int, int]]:
    """Units that receivers hold now, counted by (proposer, receiver)."""
    _, _, holder, amount, used, _ = state
    accepted: Counter[tuple[int, int]] = Counter()
    owner = np.repeat(np.arange(len(used)), np.diff(offset))
    live = np.flatnonzero(np.arange(len(owner)) - offset[owner] < used[owner])
    for p, r, units in zip(
        holder[live].tolist(), owner[live].tolist(), amount[live].tolist(), strict=True
    ):
        accepted[p, r] += units
    return accepted


def _offers(pairs: Any) -> tuple[Offer, ...]:
    return tuple(Offer(p, r, int(units)) for (p, r), units in sorted(pairs.items()))


@cache
def _compiled() -> Callable[..., Any]:
    from .compiled import compiled

    return compiled(_propose)


def _propose(  # type: ignore[no-untyped-def]  # one function without helpers: numba compiles it as it stands
    lists, scores, quota, offset, place, free, holder, amount, used, load, limit
):
    """Run at most `limit` rounds (all when negative) on the state arrays, in place; returns
    (rounds, units proposed).
    """
    length = lists.shape[1]
    # 1. the proposers with free units
    active = np.empty(len(place), dtype=np.int64)
    target = np.empty(len(place), dtype=np.int64)
    offer = np.empty(len(place), dtype=np.int64)
    size = 0
    for p in range(len(place)):
        if free[p] > 0:
            active[size] = p
            size += 1
    # those rejected in a round propose in the next
    listed = np.zeros(len(place), dtype=np.bool_)
    following = np.empty(len(place), dtype=np.int64)
    rounds = 0
    proposals = 0
    while rounds != limit:
        # 2. each round: the proposals of all
        open_ = 0
        for k in range(size):  # what everybody proposes is fixed before anybody answers
            p = active[k]
            if place[p] < length and lists[p, place[p]] >= 0:
                active[open_] = p
                target[open_] = lists[p, place[p]]
                offer[open_] = free[p]
                free[p] = 0
                open_ += 1
        if open_ == 0:
            break
        rounds += 1
        # 3. answers, one proposal after the other
        size = 0
        for k in range(open_):
            p, r, units = active[k], target[k], offer[k]
            mine = scores[r, p]
            proposals += units
            # the receiver's slots begin here; it takes units until all are held or rejected
            start = offset[r]
            while units > 0:
                loser = p
                moved = units
                # room: held; else the worst held unit, or the newcomer, is rejected
                if mine != np.inf and quota[r] > load[r]:
                    loser = -1
                    moved = min(units, quota[r] - load[r])
                elif mine != np.inf and used[r] > 0:
                    worst = start
                    for slot in range(start + 1, start + used[r]):
                        theirs, most = scores[r, holder[slot]], scores[r, holder[worst]]
                        if theirs > most or (theirs == most and holder[slot] > holder[worst]):
                            worst = slot
                    most = scores[r, holder[worst]]
                    if most > mine or (most == mine and holder[worst] > p):
                        loser = holder[worst]
                        moved = min(units, amount[worst])
                        amount[worst] -= moved
                        load[r] -= moved
                        if amount[worst] == 0:
                            used[r] -= 1
                            holder[worst] = holder[start + used[r]]
                            amount[worst] = amount[start + used[r]]
                if loser != p:  # p's units are held
                    slot = start
                    while slot < start + used[r] and holder[slot] != p:
                        slot += 1
                    if slot == start + used[r]:
                        holder[slot] = p
                        amount[slot] = 0
                        used[r] += 1
                    amount[slot] += moved
                    load[r] += moved
                units -= moved
                if loser >= 0:  # whose units this receiver will never hold again
                    free[loser] += moved
                    if place[loser] < length and lists[loser, place[loser]] == r:
                        place[loser] += 1
                    if not listed[loser]:
                        listed[loser] = True
                        following[size] = loser
                        size += 1
        # 4. the proposers of the next round: those rejected in this one
        for k in range(size):
            active[k] = following[k]
            listed[following[k]] = False
    return rounds, proposals


def _valid_lists(order: npt.ArrayLike, score: npt.ArrayLike) -> tuple[Any, Any]:
    lists, scores = np.asarray(order), np.asarray(score)
    if lists.ndim != 2 or scores.ndim != 2 or scores.shape[1] != len(lists):
        raise InvalidOption(
            f"order is of shape {lists.shape}, score of {scores.shape}; expected (P, L) and (R, P)"
        )
    if lists.size and lists.dtype.kind not in "iu":
        raise InvalidOption(
            f"order is of type {lists.dtype}; expected receivers as whole numbers, -1 at the "
            "end of a list"
        )
    lists = np.ascontiguousarray(lists, dtype=np.int32)
    if lists.size and (lists.min() < -1 or lists.max() >= len(scores)):
        raise InvalidOption(
            f"order names receivers from {lists.min()} to {lists.max()}; expected -1 to "
            f"{len(scores) - 1}"
        )
    for start in range(0, len(lists), _ROWS):
        block = np.sort(lists[start : start + _ROWS], axis=1)
        if ((block[:, 1:] == block[:, :-1]) & (block[:, 1:] >= 0)).any():
            raise InvalidOption(
                "order lists a receiver twice for one proposer; expected each receiver at most once"
            )
    if scores.dtype.kind not in "iuf":
        raise InvalidOption(f"score is of type {scores.dtype}; expected numbers, lower is better")
    if scores.dtype.kind == "f":
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if np.isnan(scores).any():
            raise InvalidOption(
                "score holds NaN; expected numbers, inf for a proposer never accepted"
            )
    else:
        kind = np.int32 if scores.dtype == np.int32 else np.int64
        scores = np.ascontiguousarray(scores, dtype=kind)
    return lists, scores


def _valid_amounts(name: str, amounts: npt.ArrayLike | None, length: int) -> Integers:
    if amounts is None:
        return np.ones(length, dtype=np.int64)
    given = np.asarray(amounts)
    if given.shape != (length,) or (length and given.dtype.kind not in "iu") or (given < 0).any():
        raise InvalidOption(f"{name} is {amounts}; expected {length} whole numbers, 0 or more")
    return given.astype(np.int64)
