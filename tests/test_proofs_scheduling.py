"""Proofs of scheduling: REF played again, and the bound of fluid work against all schedules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from proved import Document, judged, proof_of, refuses
from small_cases import few_jobs, most_work, scheduling

from cotenant import verify
from cotenant.baselines.scheduling import fifo
from cotenant.instances.problem.files import read
from cotenant.instances.scheduling import Scheduling, utilities
from cotenant.instances.scheduling.utility import units_done
from cotenant.solvers.proofs import Claimed
from cotenant.solvers.scheduling.shapley_schedule import ref

BUNDLED = ("tiny", "figure-2", "figure-7", "lpc-like", "not-supermodular", "subset-sum")


@pytest.mark.parametrize("reading", ["figure", "definition"])
@pytest.mark.parametrize("name", BUNDLED)
def test_the_schedule_of_all_coalitions_is_certified(
    tmp_path: Path, name: str, reading: str
) -> None:
    instance = read(f"scheduling/{name}")
    content, proof = proof_of(tmp_path, instance, "REF", reading=reading)
    assert "unfairness is 0" in judged(content, proof)


@pytest.mark.parametrize("seed", range(60))
def test_playing_again_in_whole_numbers_gives_the_compiled_schedule(
    tmp_path: Path, seed: int
) -> None:
    instance, document = scheduling(seed), {}
    content, _ = proof_of(tmp_path, instance, "max-utilization")
    document = verify.parse(content, decimals=True)
    own = {name: document[name] for name in ("machines", "job", "horizon")}
    given = verify.Scheduling(verify.Case(own, {}, None, [[]]))
    for later, reading in enumerate(("figure", "definition")):
        expected = ref(instance, reading=reading).solution.start.tolist()
        assert verify.Shapley(given, later).start == expected


@pytest.mark.parametrize("seed", range(12))
def test_another_schedule_is_certified_to_be_as_unfair_as_it_is(tmp_path: Path, seed: int) -> None:
    instance = scheduling(seed)
    outcome = ref(instance)
    given = replace(outcome, solution=fifo(instance))
    own, other = utilities(instance, given.solution), utilities(instance, outcome.solution)
    units = int(units_done(outcome.solution.start, instance.processing, instance.horizon).sum())
    if not units:
        with pytest.raises(Claimed):
            proof_of(tmp_path, instance, "REF", given)
        return
    content, proof = proof_of(tmp_path, instance, "REF", given)
    judged(content, proof)
    expected = abs(own - other).sum() / units
    assert float(verify.rational(proof["claim"]["value"], "value")) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(15))
def test_no_schedule_passes_the_fluid_bound(tmp_path: Path, seed: int) -> None:
    instance = few_jobs(seed)
    units, utility = most_work(instance)
    for method, most in (("max-utilization", units), ("max-utility", utility)):
        content, proof = proof_of(tmp_path, instance, method)
        judged(content, proof)
        unit = instance.total_machines * instance.horizon if method == "max-utilization" else 1
        assert verify.rational(proof["claim"]["value"], "") * unit == most
        assert verify.rational(proof["claim"]["bound"], "") * unit >= most


def test_another_utility_and_too_many_organizations_stay_claimed(tmp_path: Path) -> None:
    instance = read("scheduling/tiny")
    with pytest.raises(Claimed, match="throughput"):
        proof_of(tmp_path, instance, "REF", utility="flow-time")
    many = Scheduling([1] * 14, list(range(14)), [0] * 14, [2] * 14, 9, name="many")
    with pytest.raises(Claimed, match="coalitions"):
        proof_of(tmp_path, many, "REF", replace(ref(instance), solution=fifo(many)))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Document]:
    return proof_of(tmp_path_factory.mktemp("four"), read("scheduling/tiny"), "REF")


FORGERIES: dict[str, Any] = {
    "too early": lambda p: p["witness"]["start"].__setitem__(-1, 0),
    "never": lambda p: p["witness"]["start"].__setitem__(0, -1),
    "half a moment": lambda p: p["witness"]["start"].__setitem__(0, "1/2"),
    "from behind": lambda p: p["witness"]["start"].__setitem__(0, -2),
    "after the end": lambda p: p["witness"]["start"].__setitem__(0, 10**9),
    "on a machine that there is not": lambda p: p["witness"]["machine"].__setitem__(0, 10**9),
    "all on one machine": lambda p: p["witness"].update(machine=[0] * len(p["witness"]["machine"])),
    "a job left out": lambda p: p["witness"]["start"].pop(),
    "another reading": lambda p: p["options"].update(reading="poem"),
    "another kind": lambda p: p["steps"][0].update(kind="witness"),
    "fairer than fair": lambda p: p["claim"].update(value=-1),
    "unfair to all": lambda p: p["claim"].update(bound=1),
    "nobody starts": lambda p: p["witness"].update(
        start=[-1] * len(p["witness"]["start"]), machine=[-1] * len(p["witness"]["machine"])
    ),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(four: tuple[bytes, Document], change: Any) -> None:
    refuses(*four, change)


def test_play_without_end_is_refused(
    four: tuple[bytes, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "MOST_STEPS", 20)
    with pytest.raises(verify.Refused, match="coalitions"):
        judged(*four)
