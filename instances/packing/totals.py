"""Totals of an instance, which stay below 2**53."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidInstance
from ..problem.tables import LARGEST
from .cards import card_totals

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def refuse_large_totals(instance: Any) -> None:
    """Refuse totals beyond 2**53, in Python's integers, which do not overflow."""
    servers, useful = instance.server_count, instance.useful
    finite = np.where(np.isinf(servers), 0.0, servers)
    wanted = np.where(np.isinf(useful), 0.0, useful)
    # no answer uses more servers than there are VMs of a class without limit
    used = np.where(np.isinf(servers), wanted.sum(), servers)
    rows = [
        ("servers", _total(finite, instance.initial_capacity.max(axis=1))),
        ("cost", _total(np.maximum(used, 1), instance.server_cost)),
        ("capacity", int(instance.capacity.max()) * instance.capacity.shape[1]),
        ("request", _total(wanted, instance.demand.max(axis=1))),
    ]
    if instance.cards is not None:
        rows += card_totals(instance, np.maximum(used, 1), np.maximum(wanted, 1))
    for name, total in rows:
        if total >= LARGEST:
            raise InvalidInstance(
                name, f"as large as {total:.3g} in total", "totals below 2**53", "Use a larger unit"
            )


def _total(numbers: Floats, amounts: Integers) -> int:
    """Sum of integers times amounts, exact where it could pass 2**53."""
    rough = float(numbers @ amounts)
    if rough < LARGEST / 2:  # so many floats do not err by half
        return int(rough)
    pairs = zip(numbers.tolist(), amounts.tolist(), strict=True)
    return sum(int(number) * amount for number, amount in pairs)
