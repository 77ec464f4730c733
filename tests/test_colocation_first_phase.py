"""Which pairs of types a pairing with few blocking pairs can use: nothing that is used in one is
struck out, and programs over what is left have the same optimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.seeds import ranges
from support.small_cases import colocations

from cotenant.instances.colocation import ALPHA_MODES, Colocation
from cotenant.models.colocation import gain_sets, stable_program
from cotenant.solvers.colocation.first_phase import usable_pairs
from cotenant.solvers.engines import solve_program


def least_penalty(instance: Colocation, most: int, alpha: float = 0.0, mode: Any = None) -> float:
    """The least mean penalty of the program over the pairs that are left; inf for none."""
    mode = mode or ALPHA_MODES[0]
    keep = usable_pairs(instance, gain_sets(instance, alpha, mode), most)
    if keep is None:
        return np.inf
    program = stable_program(instance, alpha, mode, one=most == 1, keep=keep)
    found = solve_program(program.program)
    return np.inf if found.bound is None else found.bound / instance.agents


@pytest.mark.slow
@pytest.mark.parametrize("cases", ranges(800, 25, 100))
@pytest.mark.parametrize("most", [0, 1])
def test_usable_pairs_include_all_pairs_of_pairings_with_few_blocking_pairs(
    cases: range, most: int, reference: Any
) -> None:
    some, ruled_out = 0, 0
    for index, instance in enumerate(colocations(cases)):
        alpha, mode = [0.0, 0.0, 0.1][index % 3], ALPHA_MODES[index % len(ALPHA_MODES)]
        keep = usable_pairs(instance, gain_sets(instance, alpha, mode), most)
        kinds, used = reference.agents_of(instance), np.zeros_like(instance.allowed)
        least = np.inf
        for partner in reference.pairings(instance):
            if reference.blocking(instance, partner, alpha, mode) <= most:
                least = min(least, reference.mean_penalty(instance, partner))
                for i, j in enumerate(partner):
                    if j >= 0:
                        used[kinds[i], kinds[j]] = True
        assert least_penalty(instance, most, alpha, mode) == pytest.approx(least, abs=1e-8)
        if keep is None:
            assert np.isinf(least)
        else:
            assert not (used & ~keep).any()
            ruled_out += int((instance.allowed & ~keep).sum())
        some += np.isfinite(least)
    assert min(some, ruled_out) > 0
