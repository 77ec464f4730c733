"""Envy between users: the envy matrix of thesis equation 3.5.

User i looks at user l's cores on each server they share, would split them over its own jobs there
as best it can, and compares that with what it has: e_il = u_i(x_i) / max(u_i(x_i), u_i(x_l)), 1
without envy. With unequal budgets i is entitled to B_i / B_l times l's cores, and looks at that
many. Users without useful jobs are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .instance import Allocation, Floats, Integers, Market, Places, ratio, total_by
from .utility import fill, speedup, user_utilities

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_PAIRS = 4_000_000
"""Pairs of users on a server beyond which metrics leave envy out: over a second."""


def place_values(market: Market, where: Places, place: Integers, cores: Floats) -> Floats:
    """Value of cores on each listed server for a user, divided optimally over its jobs there.

    A place with one job (the papers' case) needs no split. Jobs with f = 0 take a sliver and run at
    full speed.
    """
    single = where.number[place] == 1
    if single.all():
        alone = where.job[where.first[place]]
        return market.work[alone] * speedup(cores, market.parallel_fraction[alone])
    value = np.empty(len(place))
    alone = where.job[where.first[place[single]]]
    value[single] = market.work[alone] * speedup(cores[single], market.parallel_fraction[alone])
    several = np.flatnonzero(~single)
    if len(several):
        sizes = where.number[place[several]]
        question = np.repeat(np.arange(len(several)), sizes)
        offset = np.arange(len(question)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        asked = where.job[where.first[place[several]][question] + offset]
        work, fraction = market.work[asked], market.parallel_fraction[asked]
        answer = fill(work, fraction, np.ones(len(asked)), question, cores[several])
        serial = (fraction == 0) & (cores[several][question] > 0)
        gained = work * np.where(serial, 1.0, speedup(answer.amount, fraction))
        value[several] = total_by(question, gained, len(several))
    return value


def pairs_on_servers(market: Market) -> int:
    """Number of ordered pairs of users on one server, self-pairs too, summed over the servers."""
    tenants = np.bincount(market.places.server, minlength=market.servers)
    return int((tenants.astype(float) ** 2).sum())


def envied_values(market: Market, allocation: Allocation) -> csr_array:
    """(n, n) sparse: u_i(x_l), the utility that user l's cores would have for user i; 0 without a
    shared server.
    """
    from scipy.sparse import csr_array

    where = market.places
    cores = total_by(where.of_job[market.useful], allocation.cores[market.useful], len(where.user))
    tenants = np.bincount(where.server, minlength=market.servers)
    first = np.concatenate([[0], np.cumsum(tenants)[:-1]])
    repeats = tenants[where.server]
    looking = np.repeat(np.arange(len(where.user)), repeats)
    offset = np.arange(len(looking)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    seen = first[where.server[looking]] + offset
    entitled = cores[seen] * (market.budget[where.user[looking]] / market.budget[where.user[seen]])
    value = place_values(market, where, looking, entitled)
    shape = (market.users, market.users)
    return csr_array((value, (where.user[looking], where.user[seen])), shape=shape)


def envy_matrix(market: Market, allocation: Allocation, users: Integers | None = None) -> Floats:
    """(n, n) pairwise envy index e_il, thesis equation 3.5; NaN for users without useful jobs.

    Parameters
    ----------
    users : which users, in which order; all when not given.
    """
    chosen = np.arange(market.users) if users is None else np.asarray(users)
    own = user_utilities(market, allocation.cores)[chosen, None]
    other = envied_values(market, allocation)[chosen][:, chosen].toarray()
    matrix = _index(own, other)
    np.fill_diagonal(matrix, 1.0)
    idle = ~market.active[chosen]
    matrix[idle, :] = np.nan
    matrix[:, idle] = np.nan
    return matrix


def user_envy(market: Market, allocation: Allocation) -> tuple[Floats, Integers]:
    """(n,) least envy index of each user over all others, and whom it envies most (itself for
    nobody); 1 for users without useful jobs.
    """
    own = user_utilities(market, allocation.cores)
    other = envied_values(market, allocation)
    other.sort_indices()
    length = np.diff(other.indptr)
    row = np.repeat(np.arange(market.users), length)
    value = np.where(other.indices == row, -1.0, other.data)  # nobody envies itself
    top = np.full(market.users, -1.0)
    top[length > 0] = (
        np.maximum.reduceat(value, other.indptr[:-1][length > 0]) if len(value) else -1.0
    )
    index, whom = np.ones(market.users), np.arange(market.users)
    seen = top >= 0
    index[seen] = _index(own[seen], top[seen])
    best = np.flatnonzero((value == top[row]) & (value > own[row]))
    envious, first = np.unique(row[best], return_index=True)
    whom[envious] = other.indices[best[first]]
    return index, whom


def envy_index(market: Market, allocation: Allocation) -> float:
    """Least envy index over all pairs of users: 1 when nobody envies anybody."""
    return float(user_envy(market, allocation)[0].min())


def _index(own: Floats, other: Floats) -> Floats:
    return ratio(own, np.maximum(own, other), 1.0)
