"""Bounds from prices, throughput of saturated policies, and link energy."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.fields import shaped
from ..problem.option_types import Above, AtLeast, validate_options
from .feasible import reach
from .instance import Floats, Numa
from .technology import THESIS

BITS_PER_MEGABYTE = 8e6

MOST_JOULES = 1e100
"""Beyond it a task's energy is a slip of the pen, and sums of it overflow."""

Picojoules = Annotated[float, AtLeast(0, "pJ/bit")]
Hops = Annotated[float, AtLeast(0, "hops")]
Throughput = Annotated[float, Above(0, "tasks a second")]


@validate_options
def link_energy(
    instance: Numa,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> Floats:
    """Link energy [J] of a task of each class at each distance from its data, shape (K, D).

    A task moves bandwidth x its *local* service time. h hops cost h x `ht_energy` [pJ/bit]; another
    blade costs `pcie_energy` and, on the way to and from the bridges, `pcie_hops` HyperTransport
    hops (expected: 2, thesis section 4.2.3; with 36 and 37.5 pJ/bit this is the E_Link = 110 pJ/bit
    of eq. 4.1).
    """
    hops = np.arange(instance.blade_distance)
    with np.errstate(over="ignore", invalid="ignore"):
        picojoules = np.append(
            hops * ht_energy, np.float64(pcie_energy) + np.float64(pcie_hops) * ht_energy
        )
        bits = instance.bandwidth * BITS_PER_MEGABYTE * instance.service_mean
        energy: Floats = bits[:, None] * picojoules * 1e-12
    if not (energy < MOST_JOULES).all():
        raise InvalidOption(
            f"a task would cost {energy.max():g} J with ht_energy {ht_energy:g}, pcie_energy "
            f"{pcie_energy:g} and pcie_hops {pcie_hops:g}; expected less than {MOST_JOULES:g} J. "
            "Energies are in pJ/bit, bandwidths in MB/s"
        )
    return energy


@validate_options
def throughput_bound(instance: Numa, price: Floats) -> float:
    """Upper bound on the throughput of any placement, by any prices >= 0 of processors' time.

    A task of class k with data at l costs at least v[k, l] = min over p of service x slowdown x
    price[p], and a second of the server is worth sum of cores x price; so throughput <= cores
    sum(price) / mean of v. The best prices, the linear program's multipliers, make this tight (weak
    duality).
    """
    prices = np.maximum(shaped("price", price, instance.processors), 0.0)
    cost = instance.service_mean[:, None, None] * instance.slowdown[:, instance.distance] * prices
    mean = float(instance.class_share @ cost.min(axis=2) @ instance.location_share)
    return float(instance.cores * prices.sum() / mean) if mean > 0 else np.inf


def power_bound(instance: Numa, throughput: float, price: Floats, energy: Floats) -> float:
    """Lower bound on any placement's link power [W] at a throughput, by prices >= 0 [W per core].

    Serving a task costs at least v[k, l] = min over p of energy + service x slowdown x price[p];
    what the cores' time is worth is subtracted again: power >= throughput x mean of v - cores
    sum(price).
    """
    prices = np.maximum(np.asarray(price, dtype=float), 0.0)
    time = instance.service_mean[:, None, None] * instance.slowdown[:, instance.distance] * prices
    cost = (energy[:, instance.distance] + time).min(axis=2)
    mean = float(instance.class_share @ cost @ instance.location_share)
    return max(0.0, float(throughput * mean - instance.cores * prices.sum()))


def most_power(instance: Numa, throughput: float, energy: Floats) -> float:
    """Link power [W] if every task ran at its most costly distance (`link_energy`)."""
    reached = instance.distance[instance.location_share > 0].ravel()
    return throughput * float(instance.class_share @ energy[:, reached].max(axis=1))


@validate_options
def saturated_throughput(instance: Numa, policy: str) -> float:
    """Throughput [tasks/s] of a policy with an endless backlog and without a refusal limit.

    A core that frees takes the oldest task that accepts it, whose data is in any memory within
    reach alike, if the data is uniform: cores over the mean service time of such tasks. K-means on
    the thesis's server: Local 6400, IP-1 5581, IP-2 5417, IB 3962. IB never refuses, so for it the
    limit makes no difference and the data may be anywhere.

    Raises
    ------
    InvalidOption
        The data is not uniform and the policy not IB: then some memory's tasks pile up for ever and
        there is no such closed form.
    """
    if policy != "IB" and not np.allclose(instance.location_share, 1 / instance.processors):
        raise InvalidOption(
            "saturated_throughput needs IB, or data that is uniform over the memories; "
            "simulate instead"
        )
    weight = (instance.distance <= reach(instance, policy)) * instance.location_share[:, None]
    slow = instance.slowdown[:, instance.distance]
    mean = (slow * weight).sum(axis=1) / weight.sum(axis=0)
    each = instance.class_share * instance.service_mean @ mean
    return float((instance.cores / each).sum())


def scale(
    instance: Numa,
    objective: str,
    *,
    throughput: float | None = None,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
    **options: object,
) -> float:
    """Upper bound on an objective: all cores busy with local data for rates, all data at the
    largest distance for power, else 1.

    Parameters
    ----------
    throughput, ht_energy, pcie_energy, pcie_hops : as of `fluid-power`.
    """
    most = instance.all_cores / instance.mean_service
    if objective == "served_rate":
        return most
    if objective not in ("link_power", "flow_power"):
        return 1.0
    rate = instance.rate if throughput is None else throughput
    energy = link_energy(instance, ht_energy, pcie_energy, pcie_hops)
    return most_power(instance, rate if objective == "link_power" else most, energy)
