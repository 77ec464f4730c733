"""Proofs of the least mean penalty of groups: prices, and trees over the groups they leave, against
every grouping of small instances.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, judged, proof_of, refuses
from support.small_groups import drawn, every_cost

from cotenant.instances.problem.files import read
from cotenant.verify.frame import ProofCase
from cotenant.verify.groups import Groups, groups_optimal
from cotenant.verify.reading import Refused, parse, rational


def document_of(content: bytes) -> dict[str, Any]:
    """The instance's fields as they are written."""
    found: dict[str, Any] = json.loads(content, parse_float=str)
    return found


@pytest.mark.parametrize("seeds", [range(36), pytest.param(range(36, 600), marks=pytest.mark.slow)])
def test_what_is_proved_is_the_least_of_all_groupings(tmp_path: Path, seeds: range) -> None:
    none = 0
    for seed in seeds:
        content, proof = proof_of(tmp_path, drawn(seed), "optimal")
        every = list(every_cost(document_of(content)))
        said = judged(content, proof)
        if every:
            assert said.endswith(": optimal"), (seed, said)
            assert rational(proof["claim"]["bound"], "bound") == min(every), seed
        else:
            none += 1
            assert said.endswith("there is no answer at all"), (seed, said)
    assert none > 0


@pytest.mark.parametrize("seed", range(9))
def test_no_prices_prove_more_than_the_least(tmp_path: Path, seed: int) -> None:
    instance, rng = drawn(seed), np.random.default_rng(seed)
    content, proof = proof_of(tmp_path, instance, "optimal")
    if proof["claim"]["claim_kind"] == "infeasible":
        return
    least = rational(proof["claim"]["bound"], "bound")
    document = parse(content, decimals=True)
    for word in ("cotenant", "problem", "name", "source"):
        document.pop(word, None)
    for _ in range(20):
        prices = rng.integers(-30, 60, instance.types).tolist()
        hint = {"over": int(rng.integers(1, 99)), "numbers": prices}
        step: Document = {"kind": "propagation", "prices": hint}
        given = Groups(ProofCase(document, {}, None, []))
        total, _, over = given.priced(step)
        step |= {"below": -(-total // over), "tree": []}
        [found] = groups_optimal(ProofCase(document, {}, None, [[step]]))
        assert found.bound is not None
        assert found.bound <= least
        step["below"] = int(least * given.jobs * given.unit) + 1
        with refused(Refused):
            groups_optimal(ProofCase(document, {}, None, [[step]]))


def test_a_thousand_jobs_are_certified(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, read("groups/cooper-4-seats"), "optimal")
    assert judged(content, proof).endswith("no answer is below 0.0774081: optimal")
    assert len(json.dumps(proof)) < 10_000


def test_what_is_changed_is_refused(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, read("groups/tiny"), "optimal")

    def below(made: Document) -> None:
        made["steps"][0]["below"] += 1
        made["claim"] |= {"bound": "251/4000", "claim_kind": "gap"}

    def cheaper(made: Document) -> None:
        made["witness"]["members"] = [[0, 1, -1], [0, 1, 2], [0, 1, 2]]

    def forbidden(made: Document) -> None:
        made["witness"] |= {"members": [[0, 0, 0, 1], [1, 1, 2, 2]], "where": [0, 0]}
        made["witness"]["number"] = [1, 1]

    for change in (below, cheaper, forbidden):
        refuses(content, proof, change)
    refuses(content, proof, lambda made: made["witness"]["number"].__setitem__(0, 2))
    refuses(content, proof, lambda made: made["claim"].__setitem__("bound", "1/15"))
    refuses(content, proof, lambda made: made["steps"].clear())
    for change in ({"count": [3, 3, 3]}, {"machines": [2]}, {"seats": [2]}):
        other = json.dumps(document_of(content) | change).encode()
        with pytest.raises(Refused):
            judged(other, proof)
