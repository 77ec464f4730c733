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


def test_an_equilibrium_says_to_within_how_much() -> None:
    """A null was no number to compare, and "regret nothing" was read as none."""
    job = {"user": [0], "server": [0], "parallel_fraction": [1], "work": [1]}
    document = {"problem": "market", "capacity": [2], "budget": [1], "job": job}
    claim = _claim("equilibrium_error", "min", None, None, "equilibrium")
    answer = {"cores": {"over": 1, "numbers": [0]}, "price": {"over": 1, "numbers": [1]}}
    for most in (1, None):
        claim["epsilon"] = {"clearing": 1, "overspending": 0, "regret": most}
        parts = {"method": "fisher", "witness": answer, "steps": [{"kind": "equilibrium"}]}
        if most is None:
            with pytest.raises(verify.Refused, match="not to within how much"):
                _judged(document, claim=claim, **parts)
        else:
            assert "regret 1" in _judged(document, claim=claim, **parts)


def test_a_second_level_says_of_which_answers_it_speaks() -> None:
    """0-1, 2-3 costs least of all, and 0 and 2 block it; 0-2, 1-3 has no blocking pair."""
    rows = [[None, 0.2, 0.1, 0.9], [0, None, 0.9, 0.9], [0.1, 0.9, None, 0.2], [0.9, 0.9, 0, None]]
    document = {"problem": "colocation", "penalty": rows, "count": [1] * 4}
    answer = {"first": [0, 2], "second": [1, 3], "pairs": [1, 1], "single": [0] * 4}
    dual = {"kind": "dual", "over": 1, "prices": [1] * 4, "rent": 0, "sets": []}
    level = {"claim": _claim("penalty", "min", "1/10", "1/10", "optimal"), "steps": [dual]}
    parts: dict[str, Any] = {"method": "stable", "witness": answer, "levels": [level]}
    told = _judged(document, claim=_blocking(1, 0, "gap"), **parts)
    assert "then, of the answers no worse than this one there, penalty is 0.1" in told
    with pytest.raises(verify.Refused, match="whose value is not told"):
        _judged(document, claim=_blocking(None, 0, "gap"), **parts)
