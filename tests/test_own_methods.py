"""A method of the user's own on the command line, and what is told of one that is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import run

METHOD = '''
import numpy as np
from cotenant.instances.colocation import Pairing

def neighbors(instance, *, step: int = 1):
    """Agents in order of their types, each beside the one `step` further."""
    order = np.argsort(np.arange(instance.agents) % (instance.agents // 2), kind="stable")
    partner = np.empty(instance.agents, dtype=int)
    partner[order[::2]], partner[order[1::2]] = order[1::2], order[::2]
    return Pairing.from_partners(instance.agent_types(), partner, instance.types)
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current folder."""
    (tmp_path / "my_own_policy.py").write_text(METHOD)
    (tmp_path / "no_python.py").write_text("def (:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_own_policy:neighbors"
    sys.modules.pop("my_own_policy", None)


def test_a_function_of_ones_own_is_solved_and_compared(module: str) -> None:
    done = run("solve", "colocation/tiny", "-m", module, "-o", "step=2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["method"] == "neighbors"
    done = run("compare", "colocation/tiny", "-m", module, "-m", "optimal", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in json.loads(done.stdout)}
    assert rows["neighbors"]["metrics"]["penalty"] >= rows["optimal"]["metrics"]["penalty"]
    assert rows["neighbors"].get("error") is None


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("my_own_policy:neighbours", "has no function 'neighbours'; it has"),
        ("no_such_module:x", "no_such_module cannot be imported (No module named"),
        ("no_python:x", "no_python cannot be imported (invalid syntax"),
        (":x", "nothing cannot be imported"),
    ],
)
def test_what_is_no_function_is_told_in_one_line(module: str, method: str, words: str) -> None:
    for command in ("solve", "compare"):
        done = run(command, "colocation/tiny", "-m", method)
        assert done.returncode == 2
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("error")]
        assert words in line
    assert (
        "no option 'stride'"
        in run("solve", "colocation/tiny", "-m", module, "-o", "stride=2").stderr
    )
