"""The README's and the pages' Python examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cotenant.instances.colocation import Colocation, Pairing

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def my_policy(instance: Colocation) -> Pairing:
    """What a reader would write: agents of index order, two by two."""
    kinds = instance.agent_types()
    return Pairing(kinds[::2], kinds[1::2], [1] * (len(kinds) // 2), [0] * instance.types)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = examples(page)
    assert found, "a page without an example"
    names: dict[str, object] = {"my_policy": my_policy, "__name__": "example"}
    for text in found:
        exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
