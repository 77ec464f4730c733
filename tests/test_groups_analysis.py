"""What is said of a grouping: metrics, models that come back, claims, pictures, and what stability
costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.groups import metrics as module
from cotenant.analysis.groups.metrics import full_kinds
from cotenant.baselines.groups import serpentine
from cotenant.instances.groups import Grouping, blocking_groups
from cotenant.instances.groups.generators import additive
from cotenant.models.answer import instance_answer
from cotenant.models.groups.columns import columns_of
from cotenant.models.groups.core import core_program
from cotenant.models.groups.readable import core_model, predictor
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import solve_program

TINY = cotenant.read("groups/tiny")
"""web, cache, batch on three machines of three seats."""

BEST = Grouping([[0, 0, -1], [0, 1, 1], [1, 2, 2]], [0, 0, 0], [1, 1, 1])
"""Its optimum: webs lose .07, .07, .02, caches .04, .04, .06, batches .10 each."""


def measured(grouping: Grouping, **options: Any) -> dict[str, float]:
    """The metrics of an answer to `TINY`."""
    return dict(cotenant.solve(TINY, lambda _: grouping, **options).metrics)


def test_group_metrics_equal_hand_calculation() -> None:
    found = measured(BEST)
    assert found["penalty"] == 0.0625 == (0.07 * 2 + 0.02 + 0.04 * 2 + 0.06 + 0.10 * 2) / 8
    assert (found["worst_penalty"], found["machines"]) == (0.10, 3)
    assert found["penalty_p95"] == np.quantile(
        [0.07] * 2 + [0.02, 0.04, 0.04, 0.06, 0.1, 0.1], 0.95
    )
    # three caches lose nothing together; two of the three with either batch lose .03, the batch .02
    assert found["blocking_groups"] == 1 + 3 * 2
    # two caches of the second machine gain .04 by the third, and no group gains more throughout
    assert found["least_alpha"] == 0.04
    # a batch and a cache of the second machine: .10 to .04, and .04 to .03
    assert found["swap_blocking_pairs"] == 2 * 2
    # of 28 pairs of eight jobs 1 + 3 + 3 are on one machine
    assert found["swap_blocking_share"] == 4 / (28 - 7)
    assert found["attribution"] == 1.0  # means .053, .047, .10 in the order of pressure


def test_group_gain_must_exceed_alpha() -> None:
    assert [measured(BEST, alpha=alpha)["blocking_groups"] for alpha in (0.0399, 0.04)] == [1, 0]
    assert [measured(BEST, alpha=alpha)["swap_blocking_pairs"] for alpha in (0.009, 0.01)] == [4, 0]


def test_group_metrics_without_data_are_omitted() -> None:
    constant = TINY.replace(pressure=[1, 1, 1])
    assert "attribution" not in module.metrics(constant, BEST)
    assert "attribution" not in module.metrics(TINY.replace(pressure=None), BEST)
    assert full_kinds(TINY) == 10
    many = additive(types=60, jobs=600, seats=6, rng=np.random.default_rng(0))
    assert full_kinds(many) > module.MOST_KINDS
    left = {"blocking_groups", "least_alpha"}
    assert set(module.metrics(many, serpentine(many))) & left == set()
    assert left <= {metric.name for metric in module.METRICS}


def test_group_models_convert_to_checked_answers() -> None:
    model = predictor(TINY)
    answer = solve_program(from_pyomo(model))
    answer.load(model)
    assert instance_answer(TINY, model) == BEST
    assert answer.objective == pytest.approx(0.0625)
    columns = columns_of(TINY)
    arrays = columns.program(TINY)
    assert instance_answer(TINY, arrays, solve_program(arrays)) == BEST
    with refused(cotenant.CotenantError):
        instance_answer(TINY, predictor(TINY))


@pytest.mark.parametrize("seed", range(6))
def test_readable_core_model_equals_solved_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = additive(types=3, jobs=int(rng.integers(6, 12)), seats=3, rng=rng)
    for alpha in (0.0, 0.02):
        columns = columns_of(instance)
        built = core_program(instance, columns, columns, round(alpha * 1e12))
        arrays = solve_program(built.program)
        model = core_model(instance, alpha)
        answer = solve_program(from_pyomo(model))
        assert answer.status == arrays.status
        if arrays.point is None or arrays.objective is None:
            continue
        assert answer.objective == pytest.approx(arrays.objective / instance.jobs)
        answer.load(model)
        for found in (instance_answer(instance, model), instance_answer(instance, built, arrays)):
            assert isinstance(found, Grouping)
            assert blocking_groups(instance, found, alpha).count == 0
