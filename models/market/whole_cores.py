"""Linear programs over integer cores: a 0/1 column per core that a job may get, with its gain of
work.

Column (k, c) says that job k has at least c cores. Its gain w_k (s(c) - s(c - 1)) falls with c, and
rows keep the order, so a user's utility is a linear function of the columns, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats, Integers, Market, total_by
from ...instances.market.utility import speedup
from ...instances.problem.errors import InvalidOption
from ..program import ProgramBuilder

MOST_COLUMNS = 50_000
"""Cores times jobs beyond which the programs are refused as too large."""

UNHURRIED_COLUMNS = 500
"""Cores times jobs beyond which a time limit must be given: the programs may take for ever."""


@dataclass(frozen=True, eq=False)
class CoreColumns:
    """Columns of a market program over integer cores: one for each job and core.

    Attributes
    ----------
    builder : where they stand, with the rows of servers and of order already added.
    column : (c,) indices; job, user : (c,) whose; core : (c,) its number, from 1; gain : (c,)
        utility of that core.
    """

    builder: ProgramBuilder
    column: Integers
    job: Integers
    user: Integers
    core: Integers
    gain: Floats

    def cores(self, market: Market, point: Floats) -> Floats:
        """Cores (jobs,) of each job at a point of the program."""
        return total_by(self.job, np.round(point[self.column]), market.jobs)


def require_small(market: Market, time_limit: float | None) -> None:
    """Refuse a market too large for integer programs, or too large without a time limit."""
    total = np.floor(market.capacity + 1e-9)
    number = total[market.server[market.useful]].sum()
    if number > MOST_COLUMNS:
        raise InvalidOption(
            f"whole cores by a MIP need {number:g} columns, {MOST_COLUMNS} at most; use "
            "rounding=user-deficit"
        )
    if time_limit is None and number > UNHURRIED_COLUMNS:
        raise InvalidOption(
            f"whole cores by a MIP need {number:g} columns; beyond {UNHURRIED_COLUMNS} give a "
            "time limit"
        )


def core_columns(market: Market) -> CoreColumns:
    """Add 0/1 columns for each job with work and each core of its server, and the rows of servers
    and of the order of cores.
    """
    total = np.floor(market.capacity + 1e-9).astype(np.int64)
    jobs = np.flatnonzero(market.useful & (total[market.server] > 0))
    number = total[market.server[jobs]]
    job = np.repeat(jobs, number)
    core = np.arange(len(job)) - np.repeat(np.cumsum(number) - number, number) + 1
    fraction = market.parallel_fraction[job]
    after, before = core.astype(float), (core - 1).astype(float)
    gain = market.work[job] * (speedup(after, fraction) - speedup(before, fraction))
    builder = ProgramBuilder()
    column = builder.columns(len(job), upper=1.0, integer=True)
    busy, place = np.unique(market.server[job], return_inverse=True)
    builder.sums(len(busy), (place, column, 1.0), upper=total[busy])
    later = np.flatnonzero(core > 1)
    rows = np.arange(len(later))
    one_less = (rows, column[later - 1], 1.0)
    builder.sums(len(later), one_less, (rows, column[later], -1.0), lower=0.0)
    return CoreColumns(builder, column, job, market.user[job], core, gain)
