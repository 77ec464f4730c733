"""Groups instances made from colocations, errors of penalty models, and bounds on objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..colocation.instance import Colocation
from ..problem.errors import InvalidInstance
from ..problem.option_types import validate_options
from .instance import FORBIDDEN, UNIT, Floats, Groups
from .penalties import units
from .stability import times_of


@validate_options
def groups_from(colocation: Colocation, *, seats: int = 4, machines: float | None = None) -> Groups:
    """Convert a colocation instance to machines of more seats, adding up pairwise penalties.

    That penalties add is an assumption: hold it against measured groups where there are some
    (`cotenant.instances.groups.conversion`). With two seats and as many machines as the colocation
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
    """Upper bound on a job's absolute penalty in any group that could form; 1 for counts."""
    if objective not in ("penalty", "penalty_p95", "worst_penalty", "least_alpha"):
        return 1.0
    most = {"additive": _most_added, "pressure": _most_pressed, "table": _most_listed}
    places = np.flatnonzero(instance.limits > 0).tolist()
    return max(1 / UNIT, *(most[instance.model](instance, place) for place in places))


def _beside(instance: Groups, place: int) -> int:
    """Maximum number of co-runners of a job on a machine of a class."""
    return min(int(instance.seats[place]), instance.jobs) - 1


def _most_added(instance: Groups, place: int) -> float:
    penalty = instance.curves(place)
    met = np.isfinite(penalty) & np.isfinite(penalty.T)
    met[np.diag_indices(instance.types)] &= instance.count > 1
    met &= (instance.count > 0) & (instance.count > 0)[:, None]
    return min(1.0, float(np.abs(penalty[met]).max(initial=0.0)) * _beside(instance, place))


def _most_pressed(instance: Groups, place: int) -> float:
    beside = _beside(instance, place)
    if not beside:
        return 0.0
    assert instance.pressure is not None
    assert instance.knots is not None
    loads = np.repeat(instance.pressure, np.minimum(instance.count, beside))
    ends = [0.0, float(np.sort(loads)[::-1][:beside].sum())]
    curves = instance.curves(place)[instance.count > 0]
    return max(float(np.abs(np.interp(ends, instance.knots, curve)).max()) for curve in curves)


def _most_listed(instance: Groups, place: int) -> float:
    assert instance.members is not None
    assert instance.losses is not None
    assert instance.where is not None
    there = np.append(instance.count, 0)[instance.members]
    formed = (times_of(instance.members) <= there).all(axis=1)
    formed &= (instance.members >= 0).sum(axis=1) <= instance.seats[place]
    formed &= np.isin(instance.where, (-1, place))
    return float(np.abs(instance.losses[formed]).max(initial=0.0))


@validate_options
def residuals(instance: Groups, measured: Groups, *, least: int = 3) -> Floats:
    """Prediction errors of a penalty model on measured groups, one for each member of a group.

    Parameters
    ----------
    instance : with the model.
    measured : the same types and classes, with a table; a group of all classes is held against the
        first.
    least : jobs in a group; pairs that the additive model is made of say nothing about it.

    Raises
    ------
    InvalidInstance
        `measured` has no table, or other types or classes.
    """
    if measured.members is None or measured.losses is None or measured.where is None:
        raise InvalidInstance("measured", f"of the {measured.model} model", "a table of groups")
    if measured.names != instance.names or measured.classes != instance.classes:
        raise InvalidInstance(
            "measured", "of other types or classes", "the names of the instance, in its order"
        )
    found = []
    for place in np.unique(measured.where).tolist():
        large = (measured.members >= 0).sum(axis=1) >= least
        rows = measured.members[here := large & (measured.where == place)]
        predicted = units(instance, max(place, 0), rows)
        taken = (rows >= 0) & (predicted < FORBIDDEN)
        found.append(predicted[taken] / UNIT - measured.losses[here][taken])
    return np.concatenate([np.zeros(0), *found])


def residual_words(found: Floats, model: str = "adding up pairs", least: int = 3) -> str:
    """Sentence on the accuracy of a penalty model, from its residuals."""
    if not len(found):
        size = {2: "two", 3: "three"}.get(least, str(least))
        return f"no group of {size} or more was measured: that {model} is right is an assumption"
    mean = round(float(found.mean()), 12)
    way = f"{abs(mean):.3g} too {'much' if mean > 0 else 'little'}" if mean else "as much as it is"
    return (
        f"{model} misses {len(found)} measured penalties by {np.abs(found).mean():.3g} on "
        f"average, {np.abs(found).max():.3g} at worst, and says {way} on average"
    )
