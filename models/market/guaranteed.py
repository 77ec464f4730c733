"""Convex program for the most total utility when every user is guaranteed a multiple of the utility
of its endowment.

maximize sum u_i  subject to  u_i >= sigma b_i for every user, and the servers' cores; u_i by
second-order cones, as in `eisenberg_gale`. The multipliers of the guarantees weigh users: at
weights 1 + lambda_i the utilitarian optimum is a closed form, server by server, and proves a bound
on this program for every lambda >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...instances.market.instance import Floats, Integers, Market
from .eisenberg_gale import amdahl_utilities, incidence, serial_work

if TYPE_CHECKING:
    import cvxpy


@dataclass(frozen=True, eq=False)
class Guaranteed:
    """Market program in which users have guaranteed utilities, with its variables.

    Attributes
    ----------
    problem : the CVXPY problem.
    job : which jobs have a share; the others (work 0, or f = 0) are not in it.
    share : variable (jobs,), fractions of their servers.
    index : sigma: a parameter that may be set and solved again, or the variable that is maximized.
    user : which users are in it.
    unit : total utility is maximized in this unit.
    guarantees : the constraint of the users, u_i / b_i >= sigma; its multipliers are in `unit` when
        sigma is given.
    """

    problem: cvxpy.Problem
    job: Integers
    share: cvxpy.Variable
    index: cvxpy.Parameter | cvxpy.Variable
    user: Integers
    unit: float
    guarantees: Any


def guaranteed(market: Market, static: Floats, index: float | None) -> Guaranteed:
    """Build the program that guarantees each user one common multiple of its `static` utility.

    User i has at least sigma x `static[i]`. Some job of the market must be able to use two cores.

    Parameters
    ----------
    static : (n,) b_i, what each user is guaranteed at sigma = 1.
    index : sigma to begin with; None to maximize sigma itself, whatever the total utility.
    """
    import cvxpy as library

    cvxpy: Any = library
    job = np.flatnonzero(market.useful & (market.parallel_fraction > 0))
    user, of_user = np.unique(market.user[job], return_inverse=True)
    share = cvxpy.Variable(len(job), nonneg=True, name="share")
    sigma: Any = (
        cvxpy.Variable(name="index")
        if index is None
        else cvxpy.Parameter(nonneg=True, value=index, name="index")
    )
    worth, scale, cones = amdahl_utilities(
        market, job, share, incidence(of_user, len(user)), serial_work(market)[user]
    )
    unit = float(scale.max())
    row = incidence(market.server[job], market.servers) @ share <= 1
    rows = cvxpy.multiply(scale / static[user], worth) >= sigma
    most = sigma if index is None else (scale / unit) @ worth
    problem = cvxpy.Problem(cvxpy.Maximize(most), [row, rows, *cones])
    return Guaranteed(problem, job, share, sigma, user, unit, rows)
