"""The fluid programs of NUMA in tasks a second, written again as dense rows and solved by scipy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from cotenant.instances.numa import Numa
from cotenant.instances.numa.bounds import link_energy


def most_throughput(server: Numa) -> float:
    """Maximum throughput of a NUMA server [tasks/s]."""
    found = _solved(server, None)
    assert found is not None
    return -found


def least_power(server: Numa, rate: float) -> float | None:
    """Least link power at a rate [W]; None if the server cannot sustain the rate."""
    return _solved(server, rate)


def _solved(server: Numa, rate: float | None) -> float | None:
    """Optimum of the NUMA flow program: maximum throughput, or least link power at a rate; None if
    infeasible.
    """
    shape = (server.classes, server.processors, server.processors)
    work = server.service_mean[:, None, None] * server.slowdown[:, server.distance]
    size = work.size
    busy, sent = np.zeros((shape[2], size + 1)), np.zeros((shape[0] * shape[1], size + 1))
    for index, (_, _, p) in enumerate(np.ndindex(*shape)):
        busy[p, index] = work.ravel()[index]
        sent[index // shape[2], index] = 1.0
    sent[:, -1] = -np.outer(server.class_share, server.location_share).ravel()
    if rate is None:
        cost, total = np.append(np.zeros(size), -1.0), (0.0, None)
    else:
        cost, total = np.append(link_energy(server)[:, server.distance].ravel(), 0.0), (rate, rate)
    found = linprog(
        cost, busy, np.full(shape[2], server.cores), sent, np.zeros(len(sent)),
        [*[(0.0, None)] * size, total], method="highs",
    )  # fmt: skip
    return float(found.fun) if found.status == 0 else None
