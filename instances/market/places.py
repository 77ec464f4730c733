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
        if (user[1:] < user[:-1]).any():
            job = job[np.argsort(user[job], kind="stable")]
        # numbers of 16 bits are sorted digit by digit
        short = server.astype(np.min_scalar_type(int(server.max(initial=0))))
        job = job[np.argsort(short[job], kind="stable")]
        user, server = user[job], server[job]
        begins = np.ones(len(job), dtype=np.bool_)
        begins[1:] = (user[1:] != user[:-1]) | (server[1:] != server[:-1])
        first = np.flatnonzero(begins)
        of_job = np.full(len(chosen), -1)
        of_job[job] = np.cumsum(begins) - 1
        return cls(user[first], server[first], of_job, job, first, np.diff(first, append=len(job)))
