"""Choosing items: the optimum against every choice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cotenant
from cotenant.instances.groups import Choice
from cotenant.instances.groups.generators import random


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_equals_enumeration(seed: int) -> None:
    instance = random(items=7, rng=np.random.default_rng(seed))
    every = [list(s) for number in range(8) for s in itertools.combinations(range(7), number)]
    fitting = [items for items in every if instance.weight[items].sum() <= instance.capacity]
    most = max(instance.value[items].sum() for items in fitting)
    result = cotenant.solve(instance, "optimal")
    assert (result.status, result.objective) == ("optimal", most)
    assert cotenant.solve(instance, "greedy").objective <= most


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(cotenant.CotenantError, match="weight 7, and 6 fits"):
        cotenant.check(cotenant.read("groups/tiny"), Choice([0, 1]))
