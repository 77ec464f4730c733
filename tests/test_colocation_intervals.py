"""Penalties with intervals: the fields, their file, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.analysis.run.result import fingerprint
from cotenant.instances.colocation import Colocation
from cotenant.instances.problem import InvalidInstance
from cotenant.instances.problem.files import schema

PENALTY = [[0.10, 0.30, np.inf], [0.20, 0.40, 0.05], [np.inf, 0.15, 0.25]]


def boxed(**changes: Any) -> Colocation:
    """Three types, a forbidden pair, half widths of two points."""
    middle = np.array(PENALTY)
    fields: dict[str, Any] = {
        "penalty": middle,
        "count": [2, 2, 2],
        "low": np.round(middle - 0.02, 12),
        "high": np.round(middle + 0.02, 12),
        "looks": np.where(np.isfinite(middle), 3, 0),
        "confidence": 0.95,
        "intervals": "by hand",
    }
    return Colocation(**{**fields, **changes})


def where_allowed(value: float) -> Any:
    """The same for every pair that is not forbidden."""
    return np.where(np.isfinite(PENALTY), value, np.inf)


def test_intervals_survive_their_file_and_pickling(tmp_path: Path) -> None:
    given = boxed(machines=np.inf)
    path = cotenant.write(given, tmp_path / "boxed.json")
    document = json.loads(path.read_text())
    assert document["low"][0] == [0.08, 0.28, None]
    assert document["looks"][0] == [3, 3, 0]
    read = cotenant.read(path)
    assert read == given
    assert fingerprint(read) == fingerprint(given)
    assert pickle.loads(pickle.dumps(given)) == given
    assert {"low", "high", "looks", "confidence", "intervals"} <= set(
        schema("colocation")["properties"]
    )


def test_instance_without_intervals_has_unchanged_fingerprint() -> None:
    """Stored results know it by this fingerprint."""
    tiny = cotenant.read("colocation/tiny")
    assert fingerprint(tiny) == "dc6abcb38e590f67"
    assert not {"low", "high", "looks", "confidence", "intervals"} & set(tiny.document())
    plain = boxed().without_intervals()
    prints = {
        fingerprint(plain),
        fingerprint(boxed()),
        fingerprint(boxed(confidence=0.9)),
        fingerprint(boxed(intervals="")),
        fingerprint(boxed(looks=None)),
        fingerprint(plain.replace(looks=np.ones((3, 3), dtype=int))),
    }
    assert len(prints) == 6


def test_repr_of_colocation_mentions_penalty_intervals() -> None:
    approved(repr(boxed()))
    approved(boxed().certainty)
    approved(boxed(confidence=None, intervals="").certainty)
    assert "intervals" not in repr(boxed().without_intervals())
    assert boxed().without_intervals().certainty == ""


def test_intervals_of_unused_pairs_may_be_missing() -> None:
    """The diagonal of a lone agent, and pairs that are forbidden."""
    middle = np.array([[np.nan, 0.3], [0.2, 0.1]])
    given = Colocation(middle, [1, 1], low=middle, high=middle)
    assert given.document()["low"][0] == [None, 0.3]


@pytest.mark.parametrize(
    "changes",
    [
        {"low": None},
        {"high": None},
        {"low": np.zeros((2, 2))},
        {"low": where_allowed(0.4)},
        {"high": where_allowed(0.3)},
        {"penalty": np.array(PENALTY) + 0.03},
        {"high": np.full((3, 3), np.inf)},
        {"high": np.full((3, 3), 1.1)},
        {"low": np.full((3, 3), np.nan)},
        {"low": np.full((3, 3), -2)},
        {"low": np.full((3, 3), -0.5)},
        {"looks": np.full((3, 3), -1)},
        {"looks": np.full((3, 3), 0.5)},
        {"looks": [3]},
        {"confidence": 95},
        {"confidence": 0},
        {"confidence": "high"},
        {"intervals": 3},
        {"low": None, "high": None},
        {"low": None, "high": None, "confidence": None},
        {"unpaired": 0.41, "confidence": None},
    ],
)
def test_wrong_intervals_are_refused_in_one_line(changes: dict[str, Any]) -> None:
    with refused(InvalidInstance) as caught:
        boxed(**changes)
    assert "\n" not in str(caught.value)
