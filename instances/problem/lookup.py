"""Names of the problems, and functions and classes named by texts, which are imported on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROBLEM_NAMES: tuple[str, ...] = (
    "colocation",
    "market",
    "packing",
    "admission",
    "scheduling",
    "numa",
    "groups",
    "accelerators",
    "quanta",
    "lifetimes",
    "elastic",
)
"""Every problem; a newcomer adds its name here and a module `instances/<name>` with a `PROBLEM`."""


def resolve(path: str) -> Any:
    """Import an object of this package by a text such as "instances.market.formats:jobs_csv"."""
    module, _, attribute = path.partition(":")
    root = __package__.rpartition(".instances")[0]
    return getattr(import_module(f"{root}.{module}"), attribute)
