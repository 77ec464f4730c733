"""Requirements of a packing instance, one by one: VMs, numbers of servers, placement rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...instances.packing.instance import Packing


def parts(instance: Packing) -> tuple[list[str], Callable[[list[int]], Packing | None]]:
    """Texts of the packing requirements, and a function that makes the instance with a subset of
    them, or None if no VMs are left: a type without its request has no VMs, a class without its
    limit has as many servers as needed, and without a rule VMs run anywhere.
    """
    names = instance.names  # 1. All parts, each with its field and index.
    classes = instance.class_names or [str(number) for number in range(instance.classes)]
    found: list[tuple[str, str, Any]] = []
    for kind in np.flatnonzero(instance.requested > 0).tolist():
        words = f"{_counted(instance.requested[kind], 'VM')} of {names[kind]!r}"
        found.append((words, "request", kind))
    if instance.placed is None:  # what runs now needs its servers
        for kind in np.flatnonzero(np.isfinite(instance.server_count)).tolist():
            words = f"{_counted(instance.server_count[kind], 'server')} of class {classes[kind]}"
            found.append((words, "servers", kind))
    for place, (one, two) in enumerate(() if instance.apart is None else instance.apart.tolist()):
        found.append((f"{names[one]!r} and {names[two]!r} apart", "apart", place))
    for name in ("most_per_server", "skew", "allowed"):
        if (rows := getattr(instance, name)) is not None:
            ruled = ~rows.all(axis=1) if name == "allowed" else np.isfinite(rows)
            for kind in np.flatnonzero(ruled).tolist():
                found.append((f"{name.replace('_', ' ')} of {names[kind]!r}", name, kind))
    for name in ("limits", "spreads"):
        for place, rule in enumerate(getattr(instance, name)):
            who = ", ".join(repr(names[kind]) for kind in rule.types)
            found.append((f"the {name.removesuffix('s')} of {who}", name, place))

    def keep(kept: list[int]) -> Packing | None:  # 2. The instance with some of them.
        gone = {part[1:] for place, part in enumerate(found) if place not in set(kept)}
        changes: dict[str, Any] = {"arrival": None}
        for name, none in (
            ("request", 0.0), ("servers", np.inf), ("most_per_server", np.inf), ("skew", np.inf),
            ("allowed", True),
        ):  # fmt: skip
            if (values := getattr(instance, name)) is not None:
                changes[name] = values = values.copy()
                values[[place for field, place in gone if field == name]] = none
        for name in ("apart", "limits", "spreads"):  # 3. Rules given as lists.
            rows = getattr(instance, name)
            if rows is not None and len(rows):
                left = [row for place, row in enumerate(rows) if (name, place) not in gone]
                changes[name] = left or (None if name == "apart" else ())
        if not changes["request"].any():  # nothing to place always fits
            return None
        return instance.replace(**changes)

    return [part[0] for part in found], keep


def _counted(number: float, what: str) -> str:
    return f"{number:.0f} {what}{'s' * int(number != 1)}"
