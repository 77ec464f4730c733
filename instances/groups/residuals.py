"""By how much a model of penalties misses groups that were measured."""

from __future__ import annotations

import numpy as np

from ..problem.errors import InvalidInstance
from ..problem.option_types import validate_options
from .instance import FORBIDDEN, UNIT, Floats, Groups
from .penalties import units


@validate_options
def residuals(instance: Groups, measured: Groups, *, least: int = 3) -> Floats:
    """What a model says of the members of measured groups, less what was measured: one entry a
    member of each group of so many jobs or more.

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
    """What residuals say of a model, in words."""
    if not len(found):
        size = {2: "two", 3: "three"}.get(least, str(least))
        return f"no group of {size} or more was measured: that {model} is right is an assumption"
    mean = round(float(found.mean()), 12)
    way = f"{abs(mean):.3g} too {'much' if mean > 0 else 'little'}" if mean else "as much as it is"
    return (
        f"{model} misses {len(found)} measured penalties by {np.abs(found).mean():.3g} on "
        f"average, {np.abs(found).max():.3g} at worst, and says {way} on average"
    )
