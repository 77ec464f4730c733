"""A groups instance from a colocation, and what its objectives could be at most."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..problem.errors import InvalidInstance
from .instance import UNIT, Floats, Groups, Integers
from .residuals import residual_words


class Pairs(Protocol):
    """The fields of a colocation that are read."""

    penalty: Floats
    count: Integers
    bandwidth: Floats | None
    names: tuple[str, ...]
    unpaired: float | None
    name: str


def groups_from(colocation: Pairs, *, seats: int = 4, machines: float | None = None) -> Groups:
    """The jobs of a colocation on machines of more seats, penalties added up over the jobs beside.

    That penalties add is an assumption: hold it against measured groups where there are some
    (`cotenant.instances.groups.residuals`). With two seats and as many machines as the colocation
    has, optimum and blocking pairs are those of the colocation.

    Parameters
    ----------
    colocation : its penalties are rounded to 12 decimals, its bandwidths become pressures.
    seats : of each machine.
    machines : how many there are; just enough when not given.

    Raises
    ------
    InvalidInstance
        Agents may be left unpaired: jobs without a place are not modeled here.
    """
    if colocation.unpaired is not None:
        raise InvalidInstance("unpaired", colocation.unpaired, "a colocation that places everyone")
    diagonal = np.diag_indices(len(colocation.count))
    penalty = np.array(colocation.penalty)
    # a type of one agent has no entry of its own that anybody looked at
    penalty[diagonal] = np.where(colocation.count > 1, penalty[diagonal], 0.0)
    found = Groups(
        count=colocation.count,
        seats=[seats],  # type: ignore[arg-type]
        machines=None if machines is None else [machines],  # type: ignore[arg-type]
        penalty=penalty,
        pressure=colocation.bandwidth,
        names=colocation.names,
        name=f"{colocation.name}-{seats}-seats" if colocation.name else "",
        source=f"pairs of {colocation.name or 'a colocation'}, penalties added up",
    )
    if found.seats[0] == 2:  # pairs are pairs
        return found
    return found.replace(source=f"{found.source}; {residual_words(np.zeros(0))}")


def scale(instance: Groups, objective: str, **options: Any) -> float:
    """The largest penalty, in absolute value, that a job could have; 1 for counts."""
    if objective not in ("penalty", "penalty_p95", "worst_penalty", "least_alpha"):
        return 1.0
    if instance.model == "additive":
        assert instance.penalty is not None
        finite = np.abs(instance.penalty[np.isfinite(instance.penalty)])
        return min(1.0, float(finite.max(initial=0.0)) * max(1, int(instance.seats.max()) - 1))
    data = instance.sensitivity if instance.model == "pressure" else instance.losses
    assert data is not None
    return max(float(np.abs(data).max()), 1 / UNIT)
