"""When prices and time shares are an equilibrium of Hylland and Zeckhauser.

Each job has a budget and a unit of time. On devices of kind d, alone, a unit of its time costs its
workers times the price p[d]; idling is free. Prices p >= 0 and time shares are an equilibrium
(Hylland and Zeckhauser, Journal of Political Economy 87(2), 1979) when nobody spends more than its
budget, nobody could have more throughput within it, and all of a kind that has a price is in use.
Three numbers say how far prices and shares are from one:

    clearing      largest part that is not in use of a kind with a price above 0
    overspending  largest (money spent - budget) / budget over jobs, or 0
    regret        largest 1 - throughput / best throughput within the budget over jobs, or 0

The best within a budget b is a mixture of two kinds at most, idling being one: all of a kind j that
costs c[j] <= b, or parts of two that cost c[j] < b < c[k],

    (v[j] (c[k] - b) + v[k] (b - c[j])) / (c[k] - c[j])  steps a second.

There may be several equilibria, and irrational ones.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..problem.option_types import validate_options
from .answer import TimeShares
from .instance import Accelerators, Floats, Integers

Budget = Literal["equal", "weight"]


@dataclass(frozen=True)
class Residuals:
    """How far prices and time shares are from an equilibrium; see the module's docstring."""

    clearing: float
    overspending: float
    regret: float

    @property
    def worst(self) -> float:
        """The largest of the three: 0 at an equilibrium."""
        return max(self.clearing, self.overspending, self.regret)

    def document(self) -> dict[str, float]:
        """As plain JSON values."""
        return asdict(self)


class Reply(NamedTuple):
    """What each of T jobs does best within its budget.

    Attributes
    ----------
    value : (T,) what it is worth to the job.
    low, high : (T,) the kinds of its mixture, D for idling; the same one twice for one alone.
    part : (T,) of the job's time on `high`.
    """

    value: Floats
    low: Integers
    high: Integers
    part: Floats


def best_reply(value: Floats, price: Floats, budget: Floats) -> Reply:
    """The most that each job can have within its budget, and the cheaper mixture of equal ones
    among those of one kind. O(T D^2).

    Parameters
    ----------
    value : (T, D) of a job's whole time on devices of each kind, 0 or more.
    price : (D,) of that time, the same for all jobs.
    budget : (T,) above 0.
    """
    idle = value.shape[1]
    best, cost, part = np.zeros(len(value)), np.zeros(len(value)), np.zeros(len(value))
    low = np.full(len(value), idle)
    high = low.copy()
    for kind, each in enumerate(price.tolist()):
        own = value[:, kind]
        better = (each <= budget) & ((own > best) | ((own == best) & (each < cost)))
        best = np.where(better, own, best)
        cost[better], low[better], high[better] = each, kind, kind
    kinds = [(idle, 0.0), *enumerate(price.tolist())]
    for cheap, less in kinds:
        start = 0.0 if cheap == idle else value[:, cheap]
        for dear, more in kinds:
            if more <= less:
                continue
            share = (budget - less) / (more - less)
            mixed = start + share * (value[:, dear] - start)
            better = (less < budget) & (budget < more) & (mixed > best)
            best = np.where(better, mixed, best)
            part[better] = share[better]
            low[better], high[better] = cheap, dear
    return Reply(best, low, high, part)


def budgets(instance: Accelerators, budget: Budget) -> Floats:
    """(T,) what a job may spend for each worker that it needs: 1, or its weight, over workers."""
    own = np.ones(instance.types) if budget == "equal" else instance.weight
    return np.asarray(own / instance.workers)


@validate_options
def residuals(
    instance: Accelerators, solution: TimeShares, *, budget: Budget = "equal"
) -> Residuals | None:
    """How far time shares of jobs alone are from an equilibrium at their prices; None without
    prices, or with pairs.

    Parameters
    ----------
    budget : the same for every job, or its weight.
    """
    price = solution.price
    if price is None or (solution.share[solution.second >= 0] > 0).any():
        return None
    shares = np.zeros(instance.throughput.shape)
    np.add.at(shares, (solution.first, solution.device), solution.share)
    there, offered = np.flatnonzero(instance.count), np.flatnonzero(instance.devices)
    return residuals_of(
        (shares / np.maximum(instance.count, 1)[:, None])[np.ix_(there, offered)],
        instance.alone[np.ix_(there, offered)],
        price[offered],
        budgets(instance, budget)[there],
        (instance.count * instance.workers)[there].astype(float),
        instance.devices[offered].astype(float),
    )


def residuals_of(
    part: Floats, value: Floats, price: Floats, budget: Floats, amount: Floats, supply: Floats
) -> Residuals:
    """How far prices and parts of each job's time are from an equilibrium.

    Parameters
    ----------
    part, value : (T, D) of each job's time on devices of each kind, and what all of it is worth.
    price, supply : (D,) of devices of each kind, and how many there are, above 0.
    budget, amount : (T,) of each job for a worker, and the workers of all jobs of a type.
    """
    used, best = amount @ part / supply, best_reply(value, price, budget).value
    reached = np.divide((part * value).sum(axis=1), best, out=np.ones(len(best)), where=best > 0)
    return Residuals(
        clearing=float((1 - used)[price > 0].max(initial=0.0)),
        overspending=float((part @ price / budget - 1).max(initial=0.0)),
        regret=float((1 - reached).max(initial=0.0)),
    )
