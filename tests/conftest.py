"""Fixtures that several test modules share."""

from __future__ import annotations

from types import ModuleType

import pytest
import reference as brute_force


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """Brute force over agents (tests/reference.py)."""
    return brute_force
