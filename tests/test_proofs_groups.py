"""Proofs of the least mean penalty of groups: prices, and trees over the groups they leave, against
every grouping of small instances.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.proved import Document, case_of, content_of, judged, proved
from support.small_groups import drawn, every_cost

from cotenant.instances.problem.files import read
from cotenant.verify.groups import Groups, groups_optimal
from cotenant.verify.reading import Refused


def document_of(instance: Any) -> Document:
    """The instance's fields as they are written."""
    document: Document = json.loads(content_of(instance), parse_float=str)
    return document


@pytest.mark.parametrize("seed", range(9))
def test_group_proof_of_any_prices_gives_valid_bound(seed: int) -> None:
    instance, rng = drawn(seed), np.random.default_rng(seed)
    least = min(every_cost(instance), default=None)
    given = Groups(case_of(instance))
    for _ in range(20 if least is not None else 0):
        prices = rng.integers(-30, 60, instance.types).tolist()
        hint = {"over": int(rng.integers(1, 99)), "numbers": prices}
        step: Document = {"kind": "propagation", "prices": hint}
        total, _, over = given.priced(step)
        step |= {"below": -(-total // over), "tree": []}
        [level] = groups_optimal(case_of(instance, None, {}, [step]))
        assert level.bound is not None
        assert level.bound <= least
        step["below"] = int(least * given.jobs * given.unit) + 1
        with refused(Refused):
            groups_optimal(case_of(instance, None, {}, [step]))


@pytest.mark.slow
def test_group_proof_of_thousand_jobs_is_verified() -> None:
    proof = proved(read("groups/cooper-4-seats"), "optimal")
    approved(proof.sentence)
    assert len(json.dumps(proof.document)) < 10_000


def below(proof: Document) -> None:
    proof["steps"][0]["below"] += 1
    proof["claim"] |= {"bound": "251/4000", "claim_kind": "gap"}


FORBIDDEN = {"members": [[0, 0, 0, 1], [1, 1, 2, 2]], "where": [0, 0], "number": [1, 1]}
FORGERIES: dict[str, Any] = {
    "one unit more": below,
    "a cheaper answer": lambda p: p["witness"].update(members=[[0, 1, -1], [0, 1, 2], [0, 1, 2]]),
    "a forbidden group": lambda p: p["witness"].update(FORBIDDEN),
    "a group twice": lambda p: p["witness"]["number"].__setitem__(0, 2),
    "a higher bound": lambda p: p["claim"].update(bound="1/15"),
    "no step": lambda p: p["steps"].clear(),
}


def test_changed_proof_is_refused() -> None:
    proof = proved(read("groups/tiny"), "optimal")
    for change in FORGERIES.values():
        proof.refuses(change)
    for fields in ({"count": [3, 3, 3]}, {"machines": [2]}, {"seats": [2]}):
        other = json.dumps(document_of(read("groups/tiny")) | fields).encode()
        with refused(Refused):
            judged(other, proof.document)
