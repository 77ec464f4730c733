"""POP's figure 2 and Gavel's policies, on the data that their authors published."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measured import DATA
from support.messages import refused

from cotenant.instances.problem.errors import InvalidFile
from cotenant.papers.gavel import figure_2
from cotenant.papers.registry import experiment_named

FILES = {
    "throughputs": DATA / "gpu/pop/simulation_throughputs.json.gz",
    "jobs": DATA / "gpu/pop/jobs_2048.json",
    "log": DATA / "gpu/pop/non_trace_num_jobs_2048.out.gz",
}
needs_pop = pytest.mark.skipif(
    not all(path.exists() for path in FILES.values()), reason="needs the data of POP"
)


@needs_pop
def test_gavel_published_objectives_and_throughputs_are_reproduced() -> None:
    done = experiment_named("accelerators-figure-2").run(data=DATA)
    found = {finding.what: finding for finding in done.findings}
    for name in ("exact", "POP-2", "POP-4", "POP-8"):
        assert found[f"worst normalized throughput, {name}"].verdict == "reproduced"
        assert found[f"every job's throughput, {name}"].ours.startswith("2048 of 2048")
    assert found["worst normalized throughput, exact"].ours == "1.1109129"
    assert found["mean normalized throughput, Gandiva"].verdict == "reproduced"
    assert "formulations" in found["seconds, exact"].note
    assert len(done.pictures) == 1


@needs_pop
def test_gavel_claims_hold_on_measured_table() -> None:
    done = experiment_named("accelerators-policies").run(data=DATA)
    judged = [finding for finding in done.findings if finding.verdict != "not in the paper"]
    assert [finding.verdict for finding in judged] == ["reproduced"] * 3


@needs_pop
def test_gavel_log_of_other_jobs_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.out"
    log.write_text("[1, 2, 3, 4, 5]\n[{0: 1.0}]\n")
    with refused(InvalidFile):
        figure_2(throughputs=str(FILES["throughputs"]), jobs=str(FILES["jobs"]), log=str(log))
