"""Folder of measured data: COTENANT_DATA, else ../shared/data beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(
    os.environ.get("COTENANT_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data")
)

needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="measured data of others is not at hand (set COTENANT_DATA)"
)
