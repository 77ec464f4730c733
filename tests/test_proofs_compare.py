"""`compare --prove`: proofs beside the rows, what a row may say then, and what a defect leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import cotenant
from cotenant.analysis.report.tables import proved
from cotenant.analysis.run import proving
from cotenant.analysis.run.proving import covered_levels, prove_file
from cotenant.analysis.run.result import Result
from cotenant.instances.problem.files import locate
from cotenant.instances.problem.proof import Level, Proof
from cotenant.solvers.outcome import gap
from cotenant.verify import verify
from cotenant.verify.reading import read


def test_compare_prove_marks_certified_rows_and_writes_complete_folder(tmp_path: Path) -> None:
    instance = cotenant.read("colocation/tiny")
    folder = tmp_path / "proofs"
    comparison = cotenant.compare([instance], ["optimal", "fair", "GR"], prove=folder)
    rows = {row["method"]: row for row in comparison.rows}
    proof = rows["optimal"]["proof"]
    assert proof["proof_status"] == "certified"
    assert proved(rows["optimal"]) == "optimal, certified"
    [copy] = [path for path in folder.iterdir() if "proof" not in path.name]
    says = verify(read(str(copy)), read(proof["file"]))
    assert proof["says"] == f"accepted: {says}"
    assert rows["GR"]["proof"]["proof_status"] == "claimed"
    assert "certified" not in proved(rows["GR"])
    assert {line["method"]: line["proof"]["proof_status"] for line in comparison.summary()}[
        "GR"
    ] == "claimed"


@pytest.mark.parametrize(
    ("levels", "covered"),
    [
        ([("1/10", "1/10"), ("1/5", "1/5")], True),
        ([("1/10", "1/10")], False),  # the second level is missing
        ([("1/10", "1/20"), ("1/5", "1/5")], False),  # the first is claimed to be optimal
        ([("1/10", "1/10"), ("1/5", "1/8")], False),  # a weaker bound than is claimed
        ([("1/10", "1/10"), ("1/5", "3/20")], True),  # as strong a bound as is claimed
        ([("1/10", "1/10"), ("1/5", None)], False),
    ],
)
def test_proof_covers_a_result_only_with_every_level_and_as_strong_bounds(
    levels: Any, covered: bool
) -> None:
    instance = cotenant.read("colocation/tiny")
    result = cotenant.solve(instance, "fair")
    content = result.document()
    content["result"].update(status="optimal", bound=0.1, objective=0.1, gap=0.0)
    content["certificate"]["levels"] = [
        {"objective": "slack", "value": 0.1, "bound": 0.1, "status": "optimal"},
        {"objective": "penalty", "value": 0.2, "bound": 0.15, "status": "feasible"},
    ]
    proof = tuple(
        Level(name, "min", Fraction(value), None if bound is None else Fraction(bound))
        for name, (value, bound) in zip(("slack", "penalty"), levels, strict=False)
    )
    claims = Result.from_document(content)
    assert all(covered_levels(Proof("colocation", "fair", proof), claims)) == covered


def test_contradicted_or_missing_claims_are_not_certified() -> None:
    instance = cotenant.read("packing/tiny")
    content = cotenant.solve(instance, "min-servers").document()
    least = Fraction(content["result"]["objective"])
    proof = Proof("packing", "min-servers", (Level("servers", "min", least, least),))
    assert all(covered_levels(proof, Result.from_document(content)))
    bound = float(least) + 1
    content["result"].update(status="feasible", bound=bound, gap=gap(float(least), bound))
    assert not all(covered_levels(proof, Result.from_document(content)))
    content["result"].update(status="infeasible", objective=None, bound=None, gap=None, metrics={})
    content.update(answer=None, solution=None)
    nobody = Result.from_document(content)
    partial = Proof("packing", "min-servers", (Level("servers", "min", None, least),))
    assert not all(covered_levels(partial, nobody))
    none = Proof("packing", "min-servers", (Level("servers", "min", None, None, infeasible=True),))
    assert all(covered_levels(none, nobody))


def test_refused_proof_is_deleted_and_row_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, out = cotenant.read("colocation/tiny"), tmp_path / "proof.json"
    result = cotenant.solve(instance, "optimal")
    honest = proving.resolve

    def lying(path: str) -> Any:
        def producer(task: Any) -> Proof:
            proof = honest(path)(task)
            [level] = proof.levels
            better = Level(level.objective, "min", level.value, level.value + 1, level.steps)
            return Proof(proof.problem, proof.method, (better,), proof.options, proof.witness)

        return producer

    monkeypatch.setattr(proving, "resolve", lying)
    status = prove_file(instance, locate("colocation/tiny"), result, out)
    assert (status.proof_status, status.refused) == ("claimed", True)
    assert "refused" in status.says
    assert not out.exists()


def test_result_with_refused_proof_stays_claimed_without_file_error(
    tmp_path: Path,
) -> None:
    instance, path = cotenant.read("colocation/tiny"), locate("colocation/tiny")
    result = cotenant.solve(instance, "minimum-regret")
    unstable = replace(result, solution=cotenant.solve(instance, "GR").solution, stored=None)
    status = prove_file(instance, path, unstable, tmp_path / "proof.json")
    assert (status.proof_status, status.refused) == ("claimed", False)
