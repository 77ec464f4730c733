"""Forgeries that a reader of verify.py found, each held against the definition: none is accepted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from cotenant import verify


def _judged(document: dict[str, Any], **proof: Any) -> str:
    """What the verifier says of a proof of a document, of which only some parts are given."""
    data = json.dumps({"cotenant": 1, "name": "forged", **document}).encode()
    made = {
        "cotenant_proof": 1,
        "problem": document["problem"],
        "options": {},
        "instance": {"sha256": hashlib.sha256(data).hexdigest(), "name": "forged"},
        "witness": None,
        "levels": [],
        "steps": [],
        **proof,
    }
    return verify.verify(data, json.dumps(made).encode())


def _claim(objective: str, sense: str, value: Any, bound: Any, says: str) -> dict[str, Any]:
    return {"objective": objective, "sense": sense, "value": value, "bound": bound, "says": says}


def _blocking(value: Any, bound: Any, says: str) -> dict[str, Any]:
    return _claim("blocking_pairs", "min", value, bound, says)


def test_a_party_of_agents_to_whom_neighbors_are_the_same_proves_no_blocking_pair() -> None:
    """Three agents like each other equally, and a fourth is liked by nobody: 0-1, 2-3 is stable, as
    neither 0 nor 1 gains by 2.
    """
    near, far = 0.1, 0.9
    penalty = [[None, near, near, far], [near, None, near, far], [near, near, None, far]]
    document = {
        "problem": "colocation",
        "penalty": [*penalty, [near, near, near, None]],
        "count": [1] * 4,
    }
    stable = {"first": [0, 2], "second": [1, 3], "pairs": [1, 1], "single": [0] * 4}
    claim = _blocking(0, 0, "optimal")
    assert "optimal" in _judged(document, method="stable", witness=stable, claim=claim)
    ring = {"kind": "deletions", "least": 1, "tree": [[0, 1, 1, 2, 2, 0, 3, 3], []]}
    with pytest.raises(verify.Refused, match="does not fit into its party"):
        _judged(document, method="stable", steps=[ring], claim=_blocking(None, 1, "gap"))
