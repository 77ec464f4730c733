"""M/M/c, first come first served, in closed form."""

from __future__ import annotations

import math


def waiting_share(cores: int, load: float) -> float:
    """The share of customers who wait, by Erlang's C formula and the recursion of his B formula.

    Parameters
    ----------
    load : of a core, below 1.
    """
    blocked = 1.0
    for k in range(1, cores + 1):
        blocked = load * cores * blocked / (k + load * cores * blocked)
    return blocked / (1 - load + load * blocked)


def mean_wait(cores: int, load: float, service: float) -> float:
    """Mean wait of the M/M/c queue, in units of the mean service time."""
    return waiting_share(cores, load) * service / (cores * (1 - load))


def response_quantile(cores: int, load: float, service: float, level: float) -> float:
    """A quantile of the response time: exponential service, and for those who wait an exponential
    wait before it.
    """
    waits, drain, work = waiting_share(cores, load), cores * (1 - load) / service, 1 / service

    def longer(time: float) -> float:
        late = (drain * math.exp(-work * time) - work * math.exp(-drain * time)) / (drain - work)
        return (1 - waits) * math.exp(-work * time) + waits * late

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if longer(middle) > 1 - level else (low, middle)
    return low
