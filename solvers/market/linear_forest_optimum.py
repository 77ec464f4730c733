"""Exact equilibrium of a linear market (all parallel fractions 1) from a spanning forest of bids,
corrected by pivots.

Where users pay for several servers, each is worth the same to them for their money: w_k / p_j = w_l
/ p_i. On a forest of jobs such equations say what all prices of a tree are relative to one, the
tree's money says how high they are, and what is paid for each job follows from the leaves inwards:
exact up to rounding, whatever approximation the forest was taken from.

A forest may be the wrong one. Then it is changed as by a primal active-set method on Shmyrev's
program: least sum q_j log q_j - sum b_k log(w_k C_j) over bids b >= 0 that spend all budgets, q_j
the money on server j. What a forest says is the optimum over the bids on its jobs; bids go there as
far as none falls below 0, where a job leaves; at an optimum a job that is better for its user's
money enters. Either step lowers the sum. Sources: Shmyrev 2009; Birnbaum, Devanur and Xiao 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...instances.market.instance import Floats, Integers, ratio, total_by
from .scaled_market import ScaledMarket

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

TIGHT = 1e-12
"""Jobs whose value for money differs by less than this, relatively, are equally good for their
user.
"""

_ROUNDING = 1e-14  # a bid so far below 0, relative to the money of its tree, is a sum's rounding
_LEAST_BID = (
    1e-30  # of its user's budget: on a server worth next to nothing any bid at all takes the cores
)


@dataclass
class _State:
    """State of the pivots: a spanning forest of jobs, and bids on jobs inside and outside of it.

    Attributes
    ----------
    user, server, worth : (e,) the best job of each user on each server, and the logarithm of its
        work.
    tree : which of them are in the forest; bids : (e,) money on each.
    """

    scaled_market: ScaledMarket
    user: Integers
    server: Integers
    worth: Floats
    tree: Integers
    bids: Floats

    @property
    def aside(self) -> Floats:
        """(e,) bids on jobs outside of the spanning forest, 0 on those inside."""
        outside = self.bids.copy()
        outside[self.tree] = 0.0
        return outside

    def spend(self) -> None:
        """Scale every user's bids so that it spends its budget."""
        spent = total_by(self.user, self.bids, self.scaled_market.market.users)
        self.bids = (
            self.bids * (self.scaled_market.budget / np.where(spent > 0, spent, 1.0))[self.user]
        )


@dataclass(frozen=True, eq=False)
class _Forest:
    """Money and prices of a spanning forest of bids.

    Attributes
    ----------
    label : (n + m,) which tree a user or server is in; trees : how many there are.
    price, value : logarithms of prices (m,) and of users' utility per money (n,).
    target : (jobs of the forest,) what its optimum bids on them.
    factors : of the forest's equations.
    """

    label: Integers
    trees: int
    price: Floats
    value: Floats
    target: Floats
    factors: SuperLU

    def flow(self, wanted: Floats) -> Floats:
        """(jobs of the forest,) money that adds up to `wanted` (n + m,) at every user and
        server.
        """
        result: Floats = self.factors.solve(wanted, trans="T")[: len(self.target)]
        return result


def forest_end(
    scaled_market: ScaledMarket,
    price: Floats,
    cores: Floats,
    over: Callable[[], bool],
    most_rounds: int = 1000,
) -> tuple[Floats, Floats, int] | None:
    """Cores (j,) and prices (m,) of an equilibrium, and the number of pivot rounds; None when time
    or rounds were up.

    Parameters
    ----------
    scaled_market : all of whose jobs have f = 1.
    price, cores : (m,), (j,) an approximate equilibrium: the better, the fewer rounds. A round is
        O(jobs).
    most_rounds : of pivots after which the forest is given up: the approximation it came from was
        too far off.
    """
    # 1. the forest of the approximate equilibrium; prices and values in it are logarithms
    best, place = _best_jobs(scaled_market)
    paid = total_by(place, price[scaled_market.server] * cores, len(best))
    state = _State(
        scaled_market,
        scaled_market.user[best],
        scaled_market.server[best],
        np.log(scaled_market.work[best]),
        best[:0],
        paid,
    )
    state.spend()
    _plant(state, price)
    # 2. pivots: money moves in the forest, bids outside leave, a better job enters
    for rounds in range(most_rounds):
        if over():
            return None
        forest = _worked_out(state)
        if _moved(state, forest):
            continue
        better = state.worth - forest.price[state.server] - forest.value[state.user]
        loose = (better < -TIGHT) & (state.aside > 0)
        if loose.any():  # money outside of the forest was meant for ties
            state.bids = np.where(loose, 0.0, state.bids)
            state.spend()
        elif not _entered(state, forest, better):
            state.bids[state.tree] = np.maximum(
                state.bids, _LEAST_BID * scaled_market.budget[state.user]
            )[state.tree]
            worth = np.exp(forest.price)
            given = np.zeros(len(scaled_market.job))
            given[best] = ratio(state.bids, worth[state.server])
            return given, worth, rounds
    return None


def _best_jobs(scaled_market: ScaledMarket) -> tuple[Integers, Integers]:
    """Job of most work of each user on each server, and for every job the index of that job."""
    order = np.lexsort((-scaled_market.work, scaled_market.server, scaled_market.user))
    user, server = scaled_market.user[order], scaled_market.server[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (user[1:] != user[:-1]) | (server[1:] != server[:-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return order[first], place


def _plant(state: _State, price: Floats) -> None:
    """Choose the first forest, which prefers the jobs with the most money; bids whose share of the
    user's money is no more than their loss in value for money are set to 0.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    user, server = state.user, state.server
    users, nodes = (
        state.scaled_market.market.users,
        state.scaled_market.market.users + state.scaled_market.market.servers,
    )
    value = state.worth - np.log(price[server])
    most = np.full(users, -np.inf)
    np.maximum.at(most, user, value)
    share = state.bids / state.scaled_market.budget[user]
    kept = share > 1 - np.exp(value - most[user])
    rank = np.empty(len(user), dtype=np.int64)
    order = np.argsort(-state.bids, kind="stable")
    rank[order] = np.arange(len(order))
    for end in (user, server):  # everybody keeps the job with the most money
        lowest = np.full(int(end.max(initial=-1)) + 1, len(rank))
        np.minimum.at(lowest, end, rank)
        kept[order[lowest[lowest < len(rank)]]] = True
    state.bids = np.where(kept, state.bids, 0.0)
    state.spend()
    chosen = np.flatnonzero(kept)
    graph = csr_array(
        (rank[chosen] + 1.0, (user[chosen], users + server[chosen])), shape=(nodes, nodes)
    )
    state.tree = order[minimum_spanning_tree(graph).data.astype(np.int64) - 1]


def _worked_out(state: _State) -> _Forest:
    """Prices, utilities per money and bids that follow from the forest, tree by tree."""
    from scipy.sparse import csc_array, csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    scaled_market, market = state.scaled_market, state.scaled_market.market
    # 1. the trees, and logarithms of prices and values relative to their roots
    users, nodes = market.users, market.users + market.servers
    user, server = state.user[state.tree], users + state.server[state.tree]
    number = len(user)
    trees, label = connected_components(
        csr_array((np.ones(number), (user, server)), shape=(nodes, nodes)), directed=False
    )
    root = np.unique(label, return_index=True)[1]
    # a row for every job of the forest, log price + log value = log work, and one for every root,
    # whose logarithm is 0.
    row = np.concatenate([np.arange(number), np.arange(number), number + np.arange(trees)])
    factors = splu(
        csc_array(
            (np.ones(len(row)), (row, np.concatenate([user, server, root]))), shape=(nodes, nodes)
        )
    )
    level = factors.solve(np.concatenate([state.worth[state.tree], np.zeros(trees)]))
    # 2. the level of each tree, from its money
    aside = state.aside
    money = np.concatenate(
        [scaled_market.budget - total_by(state.user, aside, users), np.zeros(market.servers)]
    )
    money[users:] = scaled_market.fixed + total_by(state.server, aside, market.servers)
    highest = np.full(trees, -np.inf)
    np.maximum.at(highest, label[users:], level[users:])
    highest = np.where(np.isfinite(highest), highest, 0.0)
    cost = total_by(
        label[users:], market.capacity * np.exp(level[users:] - highest[label[users:]]), trees
    )
    total = total_by(label, money, trees)
    some = (cost > 0) & (total > 0)
    shift = np.where(
        some,
        np.log(np.where(some, total, 1.0)) - np.log(np.where(some, cost, 1.0)) - highest,
        -np.inf,
    )
    price = level[users:] + shift[label[users:]]
    value = level[:users] - np.where(some, shift, 0.0)[label[:users]]
    # 3. bids that add up at every user and server
    wanted = np.concatenate([money[:users], market.capacity * np.exp(price) - money[users:]])
    forest = _Forest(label, trees, price, value, np.empty(number), factors)
    target = forest.flow(wanted)
    noise = (target < 0) & (target >= -_ROUNDING * total[label[user]])
    return _Forest(label, trees, price, value, np.where(noise, 0.0, target), factors)


def _moved(state: _State, forest: _Forest) -> bool:
    """Move the bids of each tree towards the forest's optimum, until one of them reaches 0; its job
    leaves the forest. Return whether any job left.
    """
    bids, target = state.bids[state.tree], forest.target
    of = forest.label[state.user[state.tree]]
    falling = target < 0
    reach = np.where(falling, bids / np.where(falling, bids - target, 1.0), np.inf)
    step = np.ones(forest.trees)
    np.minimum.at(step, of, reach)
    state.bids[state.tree] = np.maximum(bids + step[of] * (target - bids), 0.0)
    return _dropped(state, falling & (reach <= step[of]), of)


def _dropped(state: _State, stopped: Any, of: Integers) -> bool:
    """Remove from each tree its first job where `stopped` is true; return whether there was any."""
    places = np.flatnonzero(stopped)
    leaving = places[np.unique(of[places], return_index=True)[1]]
    state.bids[state.tree[leaving]] = 0.0
    state.tree = np.delete(state.tree, leaving)
    return len(leaving) > 0


def _entered(state: _State, forest: _Forest, better: Floats) -> bool:
    """Add jobs to the forest that give their user more utility per money than its present ones, the
    best first and at most one per tree; return whether there was any.
    """
    users = state.scaled_market.market.users
    candidates = np.flatnonzero(better > TIGHT)
    candidates = candidates[np.argsort(-better[candidates], kind="stable")]
    busy: set[int] = set()
    joining: list[int] = []
    closing: list[int] = []
    for job in candidates.tolist():
        one, other = (
            int(forest.label[state.user[job]]),
            int(forest.label[users + state.server[job]]),
        )
        if one in busy or other in busy:
            continue
        busy |= {one, other}
        (closing if one == other else joining).append(job)
    if closing:
        _turned(state, forest, np.array(closing))
    state.tree = np.concatenate([state.tree, np.array(joining + closing, dtype=np.int64)])
    return bool(busy)


def _turned(state: _State, forest: _Forest, jobs: Integers) -> None:
    """Move money onto each of `jobs`, which closes a cycle in its tree of bids, until another bid
    of the cycle is 0. That bid's job leaves the tree.
    """
    users = state.scaled_market.market.users
    wanted = np.zeros(len(forest.label))
    wanted[state.user[jobs]], wanted[users + state.server[jobs]] = -1.0, -1.0
    turn = np.round(forest.flow(wanted))
    of = forest.label[state.user[state.tree]]
    bids = state.bids[state.tree]
    reach = np.where(turn < 0, bids, np.inf)
    most = np.full(forest.trees, np.inf)
    np.minimum.at(most, of, reach)
    state.bids[state.tree] = bids + np.where(turn != 0, most[of], 0.0) * turn
    state.bids[jobs] = most[forest.label[state.user[jobs]]]
    _dropped(state, (turn < 0) & (reach <= most[of]), of)
