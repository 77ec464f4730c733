"""Rows of comparisons made by hand, without running anything."""

from __future__ import annotations

import json
from typing import Any

PENALTIES = {"optimal": (0.02, 0.04), "SMR": (0.03, 0.04), "GR": (0.04, 0.05)}
"""Mean penalty of three methods on two instances; `optimal` proves its own."""


def row(
    method: str = "optimal", instance: str = "one", seed: int = 0, **changes: Any
) -> dict[str, Any]:
    """Row of colocation with some fields changed; its key identifies its run."""
    made: dict[str, Any] = {
        "problem": "colocation",
        "instance": instance,
        "fingerprint": f"mark-{instance}",
        "kind": "run",
        "method": method,
        "seed": seed,
        "status": "feasible",
        "stop": "finished",
        "objective_name": "penalty",
        "objective": 0.02,
        "bound": None,
        "tolerance": None,
        "levels": [],
        "seconds": 0.5,
        "options": {},
        "metrics": {"penalty": 0.02, "worst_penalty": 0.1, "blocking_pairs": 3.0},
        "versions": {"cotenant": "0.1.0", "python": "3.11"},
        "predict": None,
        "time_limit": 60.0,
        "file": f"colocation/{instance}",
        "record": None,
        **changes,
    }
    named = [made[name] for name in ("kind", "problem", "instance", "fingerprint", "method")]
    key = json.dumps(
        [*named, None, seed, made["time_limit"], sorted(made["options"].items()), made["predict"]]
    )
    return made | {"key": changes.get("key", key)}


def recorded(problem: str, method: str, kept: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """A row of a comparison, as far as pictures look at it."""
    return {
        "problem": problem, "kind": "run", "method": method, "seed": seed, "record": kept,
        "options": {}, "metrics": {},
    }  # fmt: skip


def failed(
    method: str, instance: str = "one", seed: int = 0, error: str = "no memory", **changes: Any
) -> dict[str, Any]:
    """A run that failed."""
    made = row(method, instance, seed, status="error", metrics={}, error=error, **changes)
    return {
        name: value
        for name, value in made.items()
        if name not in ("objective", "bound", "seconds", "stop", "levels")
    }


def two_instances() -> list[dict[str, Any]]:
    """Three methods on two instances, `optimal` with its proof."""
    made = []
    for index, instance in enumerate(("one", "two")):
        for method, values in PENALTIES.items():
            value = values[index]
            proof = {"status": "optimal", "bound": value} if method == "optimal" else {}
            metrics = {"penalty": value, "worst_penalty": 2 * value, "blocking_pairs": float(index)}
            made.append(row(method, instance, objective=value, metrics=metrics, **proof))
    return made


def frontier(instance: str = "one", **changes: Any) -> dict[str, Any]:
    """A row of kind "frontier": two proved points and an open one, penalty against blocking
    pairs.
    """
    points = [
        {"limit": 0.0, "value": 0.04, "bound": 0.04, "reached": 0.0, "status": "optimal"},
        {"limit": 5.0, "value": 0.03, "bound": 0.025, "reached": 4.0, "status": "feasible"},
        {"limit": None, "value": 0.02, "bound": 0.02, "reached": 9.0, "status": "optimal"},
    ]
    document = {
        "efficiency": "penalty",
        "fairness": "blocking_pairs",
        "points": points,
        "note": "limits on pairs",
    }
    own: dict[str, Any] = {
        "kind": "frontier",
        "metrics": {},
        "status": "feasible",
        "frontiers": [document],
        "objective_name": None,
    }
    return row("frontier", instance, **(own | changes))
