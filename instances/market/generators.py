"""Generators: the thesis's populations of users whose jobs are bound to servers."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import Above, AtLeast, Between, validate_options
from .instance import Integers, Market, require_memory

Works = Literal["one", "lognormal"]
Budgets = Literal["equal", "lognormal"]
Count = Annotated[int, AtLeast(1)]

_BYTES_PER_JOB = 150  # drawing and validating, counted generously


@validate_options
def population(
    *,
    users: Count = 100,
    servers: Count = 100,
    jobs: Count = 10,
    low: Annotated[float, Between(0, 1)] = 0.55,
    high: Annotated[float, Between(0, 1)] = 0.99,
    cores: Annotated[float, Above(0)] = 24.0,
    work: Works = "one",
    spread: Annotated[float, AtLeast(0, "a logarithmic standard deviation")] = 1.0,
    budgets: Budgets = "equal",
    groups: Count | None = None,
    rng: np.random.Generator,
) -> Market:
    """Draw users with equal numbers of jobs, every job of a user on a different random server
    (thesis section 3.4.2).

    Parameters
    ----------
    users, servers : how many.
    jobs : of each user, at most `servers`.
    low, high : the range of the uniform parallel fractions; thesis fig. 3.4 has 0.55 to 0.99.
    cores : of each server; the thesis's have 24.
    work : 1 for every job, or lognormal with median 1 and logarithmic standard deviation `spread`.
    spread : of lognormal work and budgets.
    budgets : 1 for every user, or lognormal in the same way.
    groups : number of groups of users; the users of a group share the same `jobs` servers (thesis
        section 3.4.4 and fig. 3.12: 100 users in 10 groups on 100 servers). None: every user draws
        its own.
    rng : source of the draw.

    Raises
    ------
    InvalidOption
        An option out of range.
    InvalidInstance
        More jobs than memory holds.
    """
    if jobs > servers:
        raise InvalidOption(
            f"jobs is {jobs}; expected at most servers = {servers}, one of a user's jobs on "
            "each server"
        )
    if low > high:
        raise InvalidOption(f"low, high are {low:g}, {high:g}; expected 0 <= low <= high <= 1")
    if groups is not None and groups > users:
        raise InvalidOption(f"groups is {groups}; expected 1 to users = {users}")
    number = users * jobs
    require_memory(_BYTES_PER_JOB * number, f"a market of {number} jobs")
    server = _places(users if groups is None else groups, servers, jobs, rng)
    if groups is not None:
        server = server[np.arange(users) * groups // users]
    fraction = rng.uniform(low, high, number)
    return Market(
        capacity=np.full(servers, cores),
        budget=np.ones(users) if budgets == "equal" else rng.lognormal(0.0, spread, users),
        user=np.repeat(np.arange(users), jobs),
        server=server.reshape(-1),
        parallel_fraction=fraction,
        work=np.ones(number) if work == "one" else rng.lognormal(0.0, spread, number),
        name=f"population-{users}x{servers}x{jobs}" + (f"-groups-{groups}" if groups else ""),
        source=f"synthetic: {users} users with {jobs} jobs each on {servers} servers; fractions "
        f"uniform on ({low:g}, {high:g}); work {work}",
    )


def _places(rows: int, servers: int, jobs: int, rng: np.random.Generator) -> Integers:
    """Draw distinct random servers for the jobs in each row, shape (rows, jobs)."""
    # few to choose from, or so many that some two are nearly always the same (they all differ
    # with a probability of about exp(-jobs^2 / 2 servers)): drawing again would rarely end
    if 3 * jobs > servers or jobs * jobs > 16 * servers:
        return np.stack([rng.permutation(servers)[:jobs] for _ in range(rows)])
    chosen = rng.integers(servers, size=(rows, jobs))
    while True:
        order = np.sort(chosen, axis=1)
        again = np.flatnonzero((order[:, 1:] == order[:, :-1]).any(axis=1))
        if len(again) == 0:
            return chosen
        chosen[again] = rng.integers(servers, size=(len(again), jobs))
