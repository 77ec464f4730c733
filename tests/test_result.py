"""Results: answers of interrupted runs, time slices, and the status that value and bound prove."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.terminal import run as command

import cotenant
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.starts import Starts
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Pairing
from cotenant.instances.problem import InfeasibleSolution
from cotenant.instances.problem.base import Instance
from cotenant.solvers.outcome import Outcome, Status, Stop

TINY = cotenant.read("colocation/tiny")
START = Pairing([0, 1], [2, 3], [1, 1], np.zeros(4))  # type: ignore[arg-type]


def measured_too_late(calls: list[int], **start: Any) -> cotenant.Result[Any]:
    """A run of `optimal`, where Ctrl-C comes while the metrics of an answer are worked out."""

    def interrupted(*_: Any, **__: Any) -> dict[str, float]:
        calls.append(1)
        raise KeyboardInterrupt

    question = Question.of(TINY, "optimal", {})
    question.metrics = interrupted
    return run(question, start.get("start") or Starts(question, seed=0))


def test_answer_interrupted_while_its_metrics_are_computed_is_kept(tmp_path: Path) -> None:
    kept = measured_too_late([], start=START)
    cotenant.check(TINY, kept.solution)
    assert (kept.stop, kept.status, kept.metrics, kept.objective, kept.gap) == (
        Stop.INTERRUPTED,
        Status.FEASIBLE,
        {},
        None,
        None,
    )
    assert kept.bound == pytest.approx(0.0425)  # the method's own, proved before
    path = kept.write(tmp_path / "kept.json")
    again = cotenant.Result.read(path)
    assert recheck(TINY, again).broken == ()
    document = kept.document()
    document["result"]["bound"] = 0.5  # above what the answer is worth
    assert any(
        "contradicts" in claim
        for claim in recheck(TINY, cotenant.Result.from_document(document)).broken
    )


def test_method_is_skipped_if_its_start_policies_are_interrupted() -> None:
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        measured_too_late(calls)
    assert len(calls) == 1


def test_infeasible_answer_is_refused_after_an_interrupt(interrupt_at: Any) -> None:
    interrupt_at("cotenant.instances.problem.registry.Problem.require")
    with pytest.raises(InfeasibleSolution):
        cotenant.solve(TINY, lambda instance: Pairing([0], [1], [2], np.zeros(4)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "words"), [(80, "exact, optimizes blocking_pairs"), (160, "optimizes")]
)
def test_methods_table_on_narrow_terminal_breaks_no_word(width: int, words: str) -> None:
    text = command("methods", "colocation", COLUMNS=str(width)).stdout
    assert all(len(line) <= width for line in text.splitlines())
    assert words in " ".join(text.split())
    assert "…" not in text


def test_time_slice_of_expired_clock_is_least_seconds() -> None:
    from cotenant.solvers.outcome import LEAST_SECONDS, Clock, validate_time_limit

    over = Clock(1e-9)
    assert over.expired
    assert over.left == over.time_slice() == over.time_slice(7) == LEAST_SECONDS
    validate_time_limit(over.time_slice())
    assert Clock().time_slice(3) is None
    assert Clock().time_slice(3, most=5.0) == Clock(1000.0).time_slice(4, most=5.0) == 5.0
    assert Clock(1000.0).time_slice(most=-1.0) == LEAST_SECONDS
    part = Clock(1000.0).time_slice(4)
    assert part is not None
    assert 200.0 < part <= 250.0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("given", "method"),
    [
        ("colocation/tiny", "optimal"), ("colocation/tiny", "fair"), ("colocation/tiny", "stable"),
        ("admission/tiny", "optimal"), ("groups/tiny", "least-alpha"), ("market/tiny", "leximin"),
        ("numa/tiny", "fluid"), ("packing/paper-example", "max-min-share"),
        ("scheduling/figure-2", "max-utility"),
    ],
)  # fmt: skip
def test_value_equal_to_bound_is_optimal_though_the_method_says_feasible(
    given: str, method: str
) -> None:
    instance = cotenant.read(given)
    proved = cotenant.solve(instance, method)

    def modest(_: Instance) -> Outcome[Any]:
        metrics = proved.metrics
        levels = [
            level | ({"status": "feasible"} if level["objective"] in metrics else {})
            for level in proved.certificate.get("levels", [])
        ]
        certificate = {**proved.certificate, **({"levels": levels} if levels else {})}
        return Outcome(
            proved.solution, proved.bound, Status.FEASIBLE, proved.stop, certificate,
            tolerance=proved.tolerance,
        )  # fmt: skip

    seen = run(Question(instance, modest, method, proved.objective_name, proved.options))
    assert (seen.status, seen.certificate) == (Status.OPTIMAL, proved.certificate)
    assert recheck(instance, seen).broken == ()
