"""Where VMs may run: what is refused and how, files, and the checker of the rules."""

# mypy: disable-error-code="arg-type,union-attr"

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.catalog import left_out
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.placement_constraints import Limit, Spread
from cotenant.instances.problem import InfeasibleSolution, InvalidInstance
from cotenant.verify.frame import ProofCase
from cotenant.verify.packing_shares import packing_utilization
from cotenant.verify.reading import Refused

GOOD: dict[str, Any] = {
    "capacity": [[8], [8], [8]],
    "demand": [[2], [3], [1]],
    "request": [3, 2, 2],
    "servers": [2, 2, 1],
    "zone": ("east", "west", ""),
}

RULED = Packing(
    **GOOD,
    names=("web", "db", "job"),
    allowed=[[1, 1, 0], [1, 1, 1], [1, 1, 1]],
    most_per_server=[2, 1, np.inf],
    apart=[[1, 2]],
    skew=[1, np.inf, np.inf],
    limits=(Limit((0, 2), 3), Limit((1,), 1, "zone")),
    spreads=(Spread((0, 2), 1, ("east", "west")),),
    placed=[[0, 0, 2], [4, 1, 1]],
    server_names=("e1", "e2", "w1", "w2", "x"),
)

BAD: dict[str, dict[str, Any]] = {
    "a row missing": {"allowed": [[1, 1, 1]]},
    "no yes or no": {"allowed": [[2, 1, 1]] * 3},
    "a type without a server": {"allowed": [[0, 0, 0], [1, 1, 1], [1, 1, 1]]},
    "a type apart from itself": {"apart": [[1, 1]]},
    "a skew without zones": {"skew": [1, 1, 1], "zone": ()},
    "a type twice": {"limits": [Limit((0, 0), 1)]},
    "a zone limit without zones": {"limits": [Limit((0,), 1, "zone")], "zone": ()},
    "an unknown zone": {"spreads": [Spread((0,), 1, ("north",))]},
    "an unknown server": {"placed": [[5, 0, 1]]},
    "nothing placed": {"placed": [[0, 0, 0]]},
    "more than wanted": {"placed": [[0, 1, 3]]},
    "a server and type twice": {"placed": [[0, 1, 1], [0, 1, 1]]},
    "placed where servers never end": {"placed": [[0, 0, 1]], "servers": None},
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_rules_name_field_value_and_cure(case: str) -> None:
    with refused(InvalidInstance):
        Packing(**(GOOD | BAD[case]))


def test_rules_round_trip_and_are_optional(tmp_path: Path) -> None:
    cotenant.write(RULED, tmp_path / "ruled.json")
    assert cotenant.read(tmp_path / "ruled.json") == RULED
    assert RULED.replace(limits=[{"types": [0], "most": 1}]).limits == (Limit((0,), 1),)
    free = RULED.replace(
        allowed=None, most_per_server=None, apart=None, zone=(), skew=None, limits=(), spreads=(),
        placed=None, server_names=(),
    )  # fmt: skip
    assert set(free.document()) == {
        "capacity", "initial", "servers", "demand", "request", "resources", "names",
    }  # fmt: skip
    assert not free.has_constraints
    assert "placement rules" in RULED.summary()


KEPT = ([[1, 1, 0], [1, 0, 1], [1, 0, 1], [0, 1, 0]], [0, 0, 1, 2])
BROKEN = {
    "eligible": ([[1, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]], [0, 1, 2, 2]),
    "allowed": ([[1, 1, 0], [1, 0, 2], [1, 1, 0]], [0, 1, 2]),
    "alone": ([[1, 2, 0], [2, 0, 2]], [0, 1]),
    "apart": ([[1, 1, 1], [2, 0, 1], [0, 1, 0]], [0, 1, 2]),
    "together": ([[2, 0, 2], [1, 1, 0], [0, 1, 0]], [0, 1, 2]),
    "in a zone": ([[1, 1, 0], [1, 1, 0], [1, 0, 2]], [0, 0, 1]),
    "skew": ([[2, 1, 0], [1, 0, 0], [0, 0, 2], [0, 1, 0]], [0, 0, 1, 2]),
    "spread": ([[2, 1, 0], [0, 0, 2], [1, 0, 0], [0, 1, 0]], [0, 0, 1, 2]),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_placement_check_enforces_every_rule(rule: str) -> None:
    check(RULED, Placement(*KEPT))
    with refused(InfeasibleSolution):
        check(RULED, Placement(*BROKEN[rule]))


def test_spread_counts_empty_zone_where_a_type_is_allowed() -> None:
    two = Packing(capacity=[[9]] * 3, demand=[[1]], request=[2], zone=("a", "b", "c"), skew=[1.0])
    with refused(InfeasibleSolution):
        check(two, Placement([[2]], [0]))
    check(two, Placement([[1], [1]], [0, 1]))
    only = two.replace(allowed=[[1, 0, 0]])
    check(only, Placement([[2]], [0]))
    gone = two.replace(servers=[1, 0, 0])
    check(gone, Placement([[2]], [0]))


def test_utilization_verifier_refuses_rules() -> None:
    with refused(Refused):
        packing_utilization(ProofCase(RULED.document(), {}, None, [[]]))


def test_methods_without_rule_support_refuse() -> None:
    named = set(left_out(RULED))
    assert {"FUGA", "DRF", "max-min-share"} <= named
    assert not {"min-servers", "cp-sat", "FFD"} & named
    for method in ("FUGA", "DRF"):
        with refused(InvalidInstance):
            cotenant.solve(RULED, method)
