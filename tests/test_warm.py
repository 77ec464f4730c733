"""`cotenant warm`: the kernels that later runs do not have to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved
from support.terminal import run

import cotenant
from cotenant.cli import installing
from cotenant.solvers import compiled


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache of kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled._cache.cache_clear()
    yield tmp_path
    compiled._cache.cache_clear()


@pytest.mark.slow
def test_later_runs_compile_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "WARMING", ("colocation/tiny", "colocation preferences"))
    done = run("warm")
    assert done.returncode == 0
    kept = sorted(cache.rglob("*.nbc"))
    assert kept
    folder = cache / "cotenant" / "numba" / cotenant.__version__
    assert done.stdout == f"{len(kept)} compiled kernels are kept in {folder}\n"
    cotenant.compare([cotenant.read("colocation/tiny")], jobs=1, time_limit=60)
    assert sorted(cache.rglob("*.nbc")) == kept


def test_without_a_folder_for_them_it_says_why(cache: Path) -> None:
    (cache / "cotenant").write_text("a file where the folder should be")
    done = run("warm")
    assert done.returncode == 2
    approved(done.stderr)


ROOT = Path(__file__).parents[1]
CONTAINER = ROOT / "distribution" / "Containerfile"


def steps() -> list[tuple[str, str]]:
    """The instructions of the container's file with their arguments."""
    text = CONTAINER.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_the_container_builds_from_what_a_checkout_holds() -> None:
    """No engine is needed to see that names, files and commands in it exist."""
    known = {"FROM", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT"}
    assert {name for name, _ in steps()} == known
    for name, given in steps():
        if name == "COPY" and not given.startswith("--from"):
            assert (ROOT / given.split()[0]).exists()
    order = [given for name, given in steps() if name in ("ENV", "USER", "RUN")]
    assert order.index("cotenant warm") > order.index("10001")  # who runs it later compiles it
    assert run("warm", "--help").returncode == 0


@pytest.mark.slow
def test_kernels_of_the_container_are_of_no_one_processor() -> None:
    given = dict(
        part.split("=") for name, text in steps() if name == "ENV" for part in text.split()
    )
    assert given["XDG_CACHE_HOME"] == "/var/cache/cotenant"
    look = (
        "from numba.core.registry import cpu_target; "
        "print(cpu_target.target_context.codegen().magic_tuple()[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], env={**os.environ, **given}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "('generic', '')"


def test_what_it_runs_is_of_every_problem() -> None:
    from cotenant.instances.problem import PROBLEM_NAMES

    assert {text.replace(" ", "/").partition("/")[0] for text in installing.WARMING} == set(
        PROBLEM_NAMES
    )


def test_an_edit_of_a_file_whose_kernels_it_calls_has_a_kernel_compiled_anew() -> None:
    """The state that the event loop reads stands in a file of its own."""
    from cotenant.solvers.scheduling import game_kernels, kernels

    def stamp(kernel: Any) -> Any:
        return kernel._cache._cache_file._source_stamp

    assert stamp(game_kernels.sample) in stamp(kernels.run)[1:]


@pytest.mark.slow
def test_a_kernel_is_compiled_once_for_python_and_once_for_other_kernels() -> None:
    code = (
        "import gc, cotenant, cotenant.solvers.kernel as kernel\n"
        "from cotenant.instances.problem import PROBLEM_NAMES, CotenantError\n"
        "for instance in [cotenant.read(f'{name}/tiny') for name in PROBLEM_NAMES]:\n"
        "    for method in cotenant.methods(instance.problem):\n"
        "        if method.applies_to(instance):\n"
        "            cotenant.solve(instance, method.name, time_limit=60)\n"
        "found = [each for each in gc.get_objects() if isinstance(each, kernel.Kernel)]\n"
        "assert sum(len(each.inner.signatures) for each in found) > 30\n"
        "print(*(each for each in found if max(len(each.signatures), len(each.inner.signatures)) > 1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "XDG_CACHE_HOME": "/dev/null"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
