"""Eisenberg-Gale program: maximize sum of budget x log(utility) subject to the servers' cores.

For utilities that are homogeneous of degree one (linear, CES, Cobb-Douglas, Leontief) its answer is
the market equilibrium and the multipliers of the servers' rows are the prices. For Amdahl utilities
it is the maximum Nash welfare and not the equilibrium: at its answer user i spends B_i e_i, e_i =
(grad u_i . x_i) / u_i < 1, in place of B_i.

Jobs are edges between users and servers: sums over a user's jobs are products with sparse 0/1
matrices, never loops. A variable is a job's share r = x / C of its server. Amdahl's speedup is
written with one second-order cone per job,

    f >= 1/2:  s = (x - (1 - f) C e) / f,    r C r <= e (f + (1 - f) C r)  (stable as f goes to 1)
    f < 1/2:   s = (1 - f v) / (1 - f),      1 <= v (f + (1 - f) C r)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...instances.market.families import Family
from ...instances.market.instance import Floats, Integers, Market, total_by
from ...instances.problem.option_types import validate_options

if TYPE_CHECKING:
    import cvxpy
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class EisenbergGale:
    """Eisenberg-Gale program with its variables and parameters.

    Attributes
    ----------
    problem : the CVXPY problem.
    job : which jobs have a share; the others (work 0, or f = 0 under Amdahl) are not in it.
    share : variable (jobs,), fractions of their servers.
    weight : parameter (users of `user`,), the budgets; may be set and solved again.
    user : which users are in it.
    capacity_row : the constraint whose multipliers are money per whole server.
    """

    problem: cvxpy.Problem
    job: Integers
    share: cvxpy.Variable
    weight: cvxpy.Parameter
    user: Integers
    capacity_row: Any


@validate_options
def eisenberg_gale(market: Market, utility: Family = "amdahl", rho: float = 0.5) -> EisenbergGale:
    """Build the Eisenberg-Gale program of a market and a utility family, weighted by budgets."""
    import cvxpy as library

    cvxpy: Any = library
    moving = (
        market.useful & (market.parallel_fraction > 0) if utility == "amdahl" else market.useful
    )
    job = np.flatnonzero(moving)
    users, of_user = np.unique(market.user[job], return_inverse=True)
    share = cvxpy.Variable(len(job), nonneg=True, name="share")
    weight = cvxpy.Parameter(len(users), nonneg=True, value=market.budget[users], name="budget")
    on_server = incidence(market.server[job], market.servers)
    row = on_server @ share <= 1
    if utility == "amdahl":
        serial = serial_work(market)[users]
        worth, scale, cones = amdahl_utilities(
            market, job, share, incidence(of_user, len(users)), serial
        )
        logs = cvxpy.log(worth) + np.log(scale)
    else:
        logs, cones = _homogeneous(market, job, share, of_user, len(users), utility, rho)
    problem = cvxpy.Problem(cvxpy.Maximize(weight @ logs), [row, *cones])
    return EisenbergGale(problem, job, share, weight, users, row)


def serial_work(market: Market) -> Floats:
    """Work (n,) of each user's jobs with f = 0, which run at full speed on any part of a core."""
    return total_by(
        market.user, np.where(market.parallel_fraction == 0, market.work, 0.0), market.users
    )


def amdahl_utilities(
    market: Market, job: Integers, share: cvxpy.Variable, sum_users: csr_array, serial: Floats
) -> tuple[cvxpy.Expression, Floats, list[Any]]:
    """Amdahl utilities of the users as CVXPY expressions, the units (n,) in which they are, and the
    constraints of their second-order cones.

    Jobs with f = 0 run at full speed and add a constant.
    """
    import cvxpy as library

    cvxpy: Any = library
    f, cores = market.parallel_fraction[job], market.capacity[market.server[job]]
    scale = sum_users @ market.work[job] + serial
    work = market.work[job] / (sum_users.T @ scale)
    cones: list[Any] = []
    utility: Any = serial / scale
    for chosen in (
        np.flatnonzero(f == 1),
        np.flatnonzero((f < 1) & (f >= 0.5)),
        np.flatnonzero(f < 0.5),
    ):
        if len(chosen) == 0:
            continue
        fraction, size, w, r = f[chosen], cores[chosen], work[chosen], share[chosen]
        rows = sum_users[:, chosen]
        if fraction[0] == 1:
            utility = utility + (rows * (w * size)[None, :]) @ r
            continue
        extra = cvxpy.Variable(len(chosen), name=f"cone_{len(cones)}")
        below = fraction + cvxpy.multiply((1 - fraction) * size, r)
        if fraction[0] >= 0.5:
            top = 2 * cvxpy.multiply(np.sqrt(size), r)
            utility = utility + (rows * (w * size / fraction)[None, :]) @ (
                r - cvxpy.multiply(1 - fraction, extra)
            )
        else:
            top = cvxpy.Constant(np.full(len(chosen), 2.0))
            utility = utility + (rows * (w / (1 - fraction))[None, :]) @ (
                1 - cvxpy.multiply(fraction, extra)
            )
        cones.append(cvxpy.SOC(below + extra, cvxpy.vstack([top, below - extra]), axis=0))
    return utility, scale, cones


def _homogeneous(
    market: Market,
    job: Integers,
    share: cvxpy.Variable,
    of_user: npt.NDArray[np.int64],
    users: int,
    utility: Family,
    rho: float,
) -> tuple[cvxpy.Expression, list[Any]]:
    """Expression (users,) of log utility under the named utility function, and its constraints."""
    import cvxpy as library

    cvxpy: Any = library
    sum_users = incidence(of_user, users)
    work, cores = market.work[job], market.capacity[market.server[job]]
    if utility == "linear":
        return cvxpy.log((sum_users * (work * cores)[None, :]) @ share), []
    if utility == "quasi-linear":
        kept, budget = cvxpy.Variable(users, nonneg=True, name="kept"), market.budget
        worth = (sum_users * (work * cores)[None, :]) @ share + kept
        return cvxpy.log(worth) - cvxpy.multiply(kept, 1 / budget[np.unique(market.user[job])]), []
    if utility == "cobb-douglas":
        weight = work / (sum_users.T @ (sum_users @ work))
        return (sum_users * weight[None, :]) @ (cvxpy.log(share) + np.log(cores)), []
    level = cvxpy.Variable(users, name="utility")
    if utility == "leontief":
        return cvxpy.log(level), [cvxpy.multiply(cores / work, share) >= sum_users.T @ level]
    if rho > 0:
        powers = cvxpy.multiply(work * cores**rho, cvxpy.power(share, rho))
        return cvxpy.log(sum_users @ powers) / rho, []
    # sum w x^rho >= u^rho with rho < 0 is sum w exp(rho (log x - log u)) <= 1
    logs = cvxpy.log(share) + np.log(cores) - sum_users.T @ level
    return level, [sum_users @ cvxpy.multiply(work, cvxpy.exp(rho * logs)) <= 1]


def incidence(row: npt.NDArray[np.int64], rows: int) -> csr_array:
    """Matrix (rows, len(row)) of 0 and 1, with a 1 of column k in row[k]."""
    from scipy.sparse import csr_array

    number = len(row)
    return csr_array((np.ones(number), (row, np.arange(number))), shape=(rows, number))
