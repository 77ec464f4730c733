"""What of stored time shares' claims is worked out again; their bounds are proved by prices."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.instance import Accelerators
from ...instances.accelerators.measures import entitlements, hierarchical_weights, throughputs
from ...instances.problem.errors import CotenantError
from ...solvers.accelerators.totals import enough, owed
from ..claim_checks import ClaimChecks, alike

ASKED = {"max-throughput": enough, "min-cost": owed}
"""By method: whether an answer gives every job what the option `least` asks for."""


def claims(instance: Accelerators, checks: ClaimChecks) -> None:
    """That jobs have what was asked for, and which types came to which level."""
    solution, levels = checks.solution, checks.certificate.get("levels")
    if not isinstance(solution, TimeShares):
        return
    least: Any = checks.options.get("least")
    if checks.method in ASKED and ASKED[checks.method](instance, solution, least=least) is None:
        checks.broken.append(f"a job has less than the option least={least} asks for")
    if checks.method in ("leximin", "hierarchical") and isinstance(levels, list):
        with suppress(CotenantError):  # no entities: it is no answer of this method
            _levels(instance, solution, checks, levels)


def _levels(
    instance: Accelerators, solution: TimeShares, checks: ClaimChecks, levels: list[Any]
) -> None:
    """The types of each level, and the least of what they have."""
    unit = entitlements(instance)
    if checks.method == "hierarchical":
        unit = unit / instance.weight * hierarchical_weights(instance)
    ratio = throughputs(instance, solution) / unit
    seen = list[str]()
    for place, level in enumerate(levels):
        types = level.get("types") or ["none"]
        if not set(types) <= set(instance.names) or set(types) & set(seen):
            checks.broken.append(f"certificate: levels[{place}].types are not types of their own")
            return
        seen += types
        value = float(np.min(ratio[[instance.names.index(name) for name in types]]))
        if place and not alike(value, level.get("value")):
            checks.broken.append(f"certificate: levels[{place}].value is {value} of its types")
        checks.checked |= {f"levels[{place}].{name}" for name in ("types", "value", "objective")}
