"""Services that ask for a rate, which VMs of several types may give in any mix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import Index, Integers, repeated
from ..problem.option_types import Range, validate_options
from .placement_constraints import given_rules

LARGEST_RATE = 2**53
"""No rate may reach it: sums of rates are exact."""

A_RATE = Range(least=1, below=LARGEST_RATE, what="a rate")


@validate_options
@dataclass(frozen=True)
class Service:
    """Demand of a service: the rates of its VMs, whatever their types, sum to `rate` or more.

    Parameters
    ----------
    types : the VM types that serve it.
    rates : what one VM of each of these types gives, a whole number of 1 or more.
    rate : what the service asks for, in the same unit.
    name : of the service.
    """

    types: Annotated[tuple[int, ...], Index("types")]
    rates: Annotated[tuple[int, ...], A_RATE]
    rate: Annotated[int, A_RATE]
    name: str = ""

    @property
    def most(self) -> tuple[int, ...]:
        """Number of VMs of each type of the service beyond which more are of no use."""
        return tuple(-(-self.rate // rate) for rate in self.rates)


def covers(rates: Sequence[int], rate: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the minimal mixes of VMs that reach a rate: without any one VM a mix misses it.

    Parameters
    ----------
    rates : of a VM of each type, in decreasing order. A mix ends with the first type that makes
        it enough: then a VM of that type, the slowest of the mix, is needed, and so are the others.
    """
    stack: list[tuple[int, tuple[int, ...]]] = [(rate, ())]
    while stack:
        left, mix = stack.pop()
        enough = -(-left // rates[len(mix)])
        yield (*mix, enough) + (0,) * (len(rates) - len(mix) - 1)
        if len(mix) + 1 < len(rates):
            stack += [(left - n * rates[len(mix)], (*mix, n)) for n in range(enough)]


def require_services(instance: Any) -> None:
    """Raise InvalidInstance unless each VM type of a service has a rate, and no request."""
    for index, service in enumerate(instance.services):
        if len(service.rates) != len(service.types):
            raise InvalidInstance(
                f"services[{index}].rates", f"of length {len(service.rates)}",
                f"one per VM type, {len(service.types)}",
                "Give a service VM types, and each of them a rate",
            )  # fmt: skip
    if not instance.services:
        return
    serving = [i for service in instance.services for i in service.types]
    if (twice := repeated(serving)) is not None:
        raise InvalidInstance("services", f"naming VM type {twice} twice", "each type once")
    if not np.isinf(instance.requested[serving]).all():
        i = next(i for i in serving if np.isfinite(instance.requested[i]))
        raise InvalidInstance(
            f"request[{i}]", f"{instance.requested[i]:.0f}, of a type that serves a service",
            "null: the service's rate says how much is needed",
            "Drop the request, or the type from the service",
        )  # fmt: skip
    other = given_rules(instance) + ["placed"] * (instance.placed is not None)
    if other := other + ["partial"] * instance.partial:
        raise InvalidInstance(
            other[0], "given beside services", "capacities alone", "Drop it, or drop services"
        )


def rates_given(instance: Any, total: Integers) -> list[tuple[int, Service]]:
    """Total rate that the placed VMs (s,) give each service."""
    vms = total.tolist()
    return [
        (sum(vms[i] * rate for i, rate in zip(one.types, one.rates, strict=True)), one)
        for one in instance.services
    ]


def check_services(instance: Any, total: Integers) -> None:
    """Raise InfeasibleSolution unless the VMs placed (s,) give each service its rate."""
    for place, (rate, service) in enumerate(rates_given(instance, total)):
        if rate < service.rate:
            raise InfeasibleSolution(
                f"the VMs of service {service.name or place!r} give a rate of {rate}; "
                f"{service.rate} is asked for"
            )
