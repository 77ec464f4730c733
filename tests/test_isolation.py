"""What lies in the current folder, or in the user's site, is never imported: by the command or by
any process it starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import cotenant

NAMES = "pickle signal json tempfile numpy numba cotenant sitecustomize usercustomize".split()
PLANTED = "import sys; open({note!r}, 'a').write(f'{name} in {{sys.orig_argv[1:3]}}; ')\n"

COMMAND = "from cotenant.cli import main; main()\n"
"""What pip writes for the command; beside it lies nothing, as in a bin folder."""

EVERY_WAY = """
import os
import cotenant, highspy
from cotenant.models.program import ProgramBuilder
from cotenant.solvers.engines import call_in_subprocess, solve_in_subprocess

builder = ProgramBuilder()
builder.row(builder.columns(1, upper=1.0, cost=[-1.0]), [1.0], upper=1.0)
print(solve_in_subprocess(builder.build(), time_limit=60).status.value)
print(call_in_subprocess(os.getenv, "PYTHONPATH"), call_in_subprocess(hash, "a") == hash("a"))

tiny = cotenant.read("colocation/tiny")
print([row["status"] for row in cotenant.compare([tiny], ["SMR"], jobs=1).rows])
"""

ON_DASK = """
try:
    from distributed import LocalCluster
except ImportError:
    print(["feasible"])
else:
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        print([row["status"] for row in cotenant.compare([tiny], ["SMR"], executor=cluster.get_client().get_executor()).rows])
"""


def run_in(
    folder: Path, program: str, *arguments: str, python: str = sys.executable, **environment: str
) -> str:
    """Run a program that lies elsewhere, in a folder; returns what it prints."""
    script = folder.parent / "bin" / "program"
    script.parent.mkdir(exist_ok=True)
    script.write_text(program)
    done = subprocess.run(
        [python, str(script), *arguments],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def plant(folder: Path, note: Path, names: Sequence[str] = NAMES) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.py").write_text(PLANTED.format(note=str(note), name=name))


def told(note: Path) -> str:
    return note.read_text() if note.exists() else ""


@pytest.mark.slow
def test_child_processes_import_nothing_from_current_folder(tmp_path: Path) -> None:
    note, folder = tmp_path / "note", tmp_path / "folder"
    plant(folder, note)
    elsewhere = tmp_path / "elsewhere"
    printed = run_in(
        folder, EVERY_WAY + ON_DASK, PYTHONPATH=str(elsewhere), PYTHONHASHSEED="3"
    ).splitlines()
    assert printed == ["optimal", f"{elsewhere} True", "['feasible']", "['feasible']"], (
        "what the environment says, stays"
    )
    assert told(note) == ""


@pytest.mark.slow
def test_command_imports_nothing_from_current_folder(tmp_path: Path) -> None:
    note, folder = tmp_path / "note", tmp_path / "folder"
    plant(folder, note)
    cotenant.write(cotenant.read("colocation/tiny"), folder / "data.json")
    assert "SMR" in run_in(folder, COMMAND, "compare", "data.json", "-m", "SMR")
    assert told(note) == ""


def test_kernel_cache_is_never_in_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is run by the next that finds it there."""
    from cotenant.solvers.compiled import _cache

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given in ("cache", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        found, _ = _cache.__wrapped__()
        assert found is not None
        assert found.is_relative_to(tmp_path / "home" / ".cache")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the user's site lies elsewhere")
def test_child_process_ignores_user_site(tmp_path: Path) -> None:
    """The interpreter that asks does (it is how Python starts, where the site is on), its children
    do not.
    """
    note, home = tmp_path / "note", tmp_path / "home"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = home / "lib" / version / "site-packages"
    plant(site, note, ["usercustomize"])
    (tmp_path / "folder").mkdir()
    # a virtual environment has no user's site
    base = getattr(sys, "_base_executable", sys.executable)
    path = [entry for entry in sys.path if entry and not entry.startswith(str(site))]
    program = f"import sys; sys.path[:] = {path!r}\n{EVERY_WAY}{ON_DASK}"
    run_in(tmp_path / "folder", program, python=base, PYTHONUSERBASE=str(home), PYTHONNOUSERSITE="")
    assert told(note).count("usercustomize") == 1, told(note)
