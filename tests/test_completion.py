"""What a shell completes, and the version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support.terminal import run


def completed(*words: str) -> list[str]:
    """What comes next after these words, the last of them begun, as a shell is told it."""
    done = subprocess.run(
        [sys.executable, "-m", "cotenant"],
        env={**os.environ, "_COTENANT_COMPLETE": "complete_bash",
             "COMP_WORDS": " ".join(["cotenant", *words]), "COMP_CWORD": str(len(words))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("so",), ["solve"]),
        (("solve", "colocation/ti"), ["colocation/tiny"]),
        (("solve", "market/tiny", "-m", "nash"), ["nash-welfare"]),
        (("solve", "colocation/tiny", "-m", "fis"), []),
        (("solve", "colocation/tiny", "-m", "fair", "-o", "eng"), ["engine="]),
        (("generate", "colocation", "--kind", "pop"), ["population"]),
        (("generate", "groups", "--kind", "table", "-o", "noi"), ["noise="]),
        (("convert", "x.csv", "--from", "penalty"), ["penalty-csv"]),
        (("solve", "x", "--from", "quanta-csv", "-o", "sha"), ["share="]),
        (("reproduce", "coop"), ["cooper"]),
        (("methods", "coloc"), ["colocation"]),
        (("solve", "colocation/tiny", "--time"), ["--time-limit"]),
    ],
)
def test_shell_completes_commands_options_and_names(
    words: tuple[str, ...], expected: list[str]
) -> None:
    assert completed(*words) == expected


def test_files_are_completed_beside_bundled_instances(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "more").mkdir()
    begun = str(tmp_path / "m")
    assert completed("compare", begun) == [f"{begun}ine.json", f"{begun}ore/"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_in_every_shell(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_COTENANT_COMPLETE=complete_" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)
    other = run("completion", "tcsh")
    assert other.returncode == 2
    assert "tcsh" in other.stderr


def test_version_is_printed_by_command_and_module() -> None:
    assert run("--version").stdout == f"cotenant {version('cotenant')}\n"
    command = [sys.executable, "-m", "cotenant", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cotenant {version('cotenant')}\n"
