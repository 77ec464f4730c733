"""Fixtures that several test modules share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """Brute force over agents (tests/reference.py); loaded by path, since tests are no package."""
    return _loaded("reference")


@pytest.fixture(scope="session")
def brute() -> ModuleType:
    """Brute force for packing (tests/packing_reference.py), loaded by path."""
    return _loaded("packing_reference")


@pytest.fixture(scope="session")
def packing_data(brute: ModuleType) -> Path:
    """The folder of packing data kept for development; the test is skipped where it is absent."""
    folder: Path | None = brute.data_folder("packing")
    if folder is None:
        pytest.skip("development data is absent")
    return folder


def _loaded(name: str) -> ModuleType:
    """A module beside the tests, once per session."""
    label = f"cotenant_{name}"
    if label not in sys.modules:
        spec = importlib.util.spec_from_file_location(label, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[label] = module  # dataclasses look their own module up
        spec.loader.exec_module(module)
    return sys.modules[label]
