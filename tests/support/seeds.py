"""Which seeds a test runs every time, and which only among the slow tests."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(number: int, quick: int) -> list[Any]:
    """Parameters 0 to `number` - 1, of which those from `quick` on are marked slow."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, number)]
    return [*range(quick), *slow]


def ranges(number: int, quick: int, size: int) -> list[Any]:
    """Ranges of seeds: 0 to `quick` - 1 for quick tests, and up to `number` in ranges of `size` for
    slow ones.
    """
    slow = (range(seed, min(seed + size, number)) for seed in range(quick, number, size))
    return [range(quick), *(pytest.param(some, marks=pytest.mark.slow) for some in slow)]


def numbers(whole: int, quick: int) -> list[Any]:
    """Number of cases that a test draws: `quick`, and `whole` in slow tests."""
    return [quick, pytest.param(whole, marks=pytest.mark.slow)]
