"""Jobs gathered by user and server: a user's useful jobs on one server are one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Places:
    """The pairs of a user and a server that have jobs.

    Attributes
    ----------
    user, server : (g,) sorted by server, then user.
    of_job : (k,) the place of each job, -1 for a job that was left out.
    job : the jobs that were not; those of a place stand together, in order.
    first, number : (g,) where a place's jobs begin in `job`, and how many they are.
    """

    user: Integers
    server: Integers
    of_job: Integers
    job: Integers
    first: Integers
    number: Integers

    @classmethod
    def of(cls, user: Integers, server: Integers, chosen: npt.NDArray[np.bool_]) -> Places:
        """The places of the chosen jobs, of users and on servers (k,)."""
        job = np.flatnonzero(chosen)
        servers = int(server.max(initial=0)) + 1
        key = user[job] * servers + server[job]
        order = np.argsort(key, kind="stable")  # quick where jobs stand by user
        job, key = job[order], key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        number = np.diff(first, append=len(key))
        place_user, place_server = user[job[first]], server[job[first]]
        # numbers of 16 bits are sorted digit by digit
        rank = np.argsort(place_server.astype(np.min_scalar_type(servers)), kind="stable")
        place = np.empty_like(rank)
        place[rank] = np.arange(len(rank))
        of_job = np.full(len(user), -1)
        of_job[job] = np.repeat(place, number)
        return cls(place_user[rank], place_server[rank], of_job, job, first[rank], number[rank])
