"""The notebooks of the docs run, and print what is stored in them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    """docs/extensions/notebooks.py, which is no module of the package."""
    path = DOCS / "extensions" / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("problem", [path.stem for path in (DOCS / "notebooks").glob("*.ipynb")])
def test_a_notebook_prints_what_is_stored_in_it(
    problem: str, notebooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stored = json.loads((DOCS / "notebooks" / f"{problem}.ipynb").read_text())
    assert _said(notebooks.executed(stored)) == _said(stored)


def _said(notebook: dict[str, Any]) -> list[Any]:
    """The texts of all outputs, and which other forms they have; a picture of a search differs from
    run to run.
    """
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [
        "".join(output["text"])
        if output["output_type"] == "stream"
        else ("".join(output["data"]["text/plain"]), sorted(output["data"]))
        for output in outputs
    ]
