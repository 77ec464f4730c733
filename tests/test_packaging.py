"""What is said of the package in several files is the same everywhere, what is missing is named with
the command that installs it, nothing in the current folder is imported, and benches share a form.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.terminal import run

import cotenant
from cotenant import catalog
from cotenant.instances.problem import PROBLEM_NAMES
from cotenant.instances.problem.errors import install

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (dask brings it)")

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
CONDA = yaml.safe_load((ROOT / "distribution" / "recipe.yaml").read_text())
CONDA_NAMES = {"ortools": "ortools-python"}
"""Names of conda-forge that differ from those of the Python package index."""


def test_version_and_date_are_equal_in_all_files() -> None:
    assert CITATION["version"] == CONDA["context"]["version"] == PROJECT["version"]
    page = (ROOT / "docs" / "cite.md").read_text()
    assert f"version = {{{PROJECT['version']}}}" in page
    assert f"year    = {{{CITATION['date-released'].year}}}" in page
    assert f"cotenant-{PROJECT['version']}-py3-none-any.whl" in (ROOT / "README.md").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## \[(\d[^]]*)\] - (\S+)$", changes, re.MULTILINE)
    assert released[:1] in ([], [(PROJECT["version"], str(CITATION["date-released"]))])


def test_conda_recipe_has_requirements_of_the_wheel() -> None:
    split = [re.fullmatch(r"([\w-]+)(\S*)", each) for each in PROJECT["dependencies"]]
    wanted = {CONDA_NAMES.get(each[1], each[1]): each[2] for each in split if each}
    wanted["python"] = PROJECT["requires-python"]
    asked = dict(line.split(" ") for line in CONDA["requirements"]["run"])
    assert asked == wanted
    assert f"python {PROJECT['requires-python']}" in CONDA["requirements"]["host"]
    scripts = [" = ".join(item) for item in PROJECT["scripts"].items()]
    assert CONDA["build"]["python"]["entry_points"] == scripts
    assert CONDA["about"]["summary"] == PROJECT["description"]
    assert CITATION["license"] == CONDA["about"]["license"] == PROJECT["license"]
    assert CONDA["about"]["license_file"] == PROJECT["license-files"]


def test_supported_python_versions_are_tested() -> None:
    named = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if " :: 3." in each}
    script = (ROOT / ".ci" / "test-dist").read_text()
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    setup = workflow["jobs"]["wheel"]["steps"][1]["with"]["python-version"]
    assert set(setup.split()) == named
    assert set(re.findall(r'"python(3\.\d+)"', script)) == named
    image = (ROOT / "distribution" / "Containerfile").read_text()
    assert set(re.findall(r"FROM python:(\S+?)-slim", image)) <= named


def test_home_page_address_occurs_in_all_files() -> None:
    home = PYPROJECT["tool"]["cotenant"]["home"]
    assert CITATION.get("repository-code", "") == home
    assert CONDA["about"].get("homepage", "") == home


@pytest.mark.parametrize("extra", ["plot", "cluster", "measure"])
def test_missing_library_message_names_its_extra(extra: str) -> None:
    quoted = " ".join(f"'{each}'" for each in PROJECT["optional-dependencies"][extra])
    assert install(extra) == f"python -m pip install {quoted}"


def test_wheel_links_follow_the_home_address_of_pyproject(tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    line = f'home = "{PYPROJECT["tool"]["cotenant"]["home"]}"'
    assert text.count(line) == 1
    home = "https://example.org/us/cotenant"
    for name in ("setup.py", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "setuptools.py").write_text(
        "import json\ndef setup(**given): print(json.dumps(given))"
    )
    made = []
    for address in ("", f"{home}/"):
        (tmp_path / "pyproject.toml").write_text(text.replace(line, f'home = "{address}"'))
        command = [sys.executable, tmp_path / "setup.py"]
        made.append(json.loads(subprocess.check_output(command)))
    bare, linked = made
    assert bare["project_urls"] == {}
    assert bare["long_description"] == (ROOT / "README.md").read_text()
    assert linked["project_urls"] == {
        "Homepage": home,
        "Documentation": f"{home}/blob/HEAD/docs/index.md",
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    targets = re.findall(r"\]\(([^)]*)\)", linked["long_description"])
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    assert f"]({home}/raw/HEAD/docs/static/cooper-1000.svg)" in linked["long_description"]


CONTAINER = ROOT / "distribution" / "Containerfile"


def steps() -> list[tuple[str, str]]:
    """The instructions of the container's file with their arguments."""
    text = CONTAINER.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_container_file_names_existing_files_and_commands() -> None:
    known = {"FROM", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT"}
    assert {name for name, _ in steps()} == known
    for name, given in steps():
        if name == "COPY" and not given.startswith("--from"):
            assert (ROOT / given.split()[0]).exists()
    order = [given for name, given in steps() if name in ("ENV", "USER", "RUN")]
    assert order.index("cotenant warm") > order.index("10001")  # who runs it later compiles it
    assert run("warm", "--help").returncode == 0


@pytest.mark.slow
def test_kernels_of_the_container_run_on_any_processor() -> None:
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


BLOCKS = re.findall(r"^```\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
"""The README's blocks without a language: the first commands, the tests', and what is printed."""


def rows(text: str) -> list[list[str]]:
    """The words of each line of a table, without seconds at its end."""
    return [re.sub(r" \d+\.\d{3}$", "", line.rstrip()).split() for line in text.splitlines()]


@pytest.mark.slow
def test_readme_first_block_prints_its_table() -> None:
    command = BLOCKS[0].rpartition("&& cotenant ")[2].split()
    assert rows(run(*command, COLUMNS="80").stdout)[: len(rows(BLOCKS[2]))] == rows(BLOCKS[2])


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout that could be cloned")
def test_readme_first_block_runs_in_fresh_clone(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    path = f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [ROOT / ".ci" / "first-block", tmp_path / "clone"],
        capture_output=True, text=True, check=False,
        env=outside | {"PATH": path, "PIP_NO_COMPILE": "1"},
    )  # fmt: skip
    if re.search(r"NewConnectionError|NameResolutionError|ReadTimeout", done.stdout + done.stderr):
        pytest.skip("no network to install dependencies from")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"+ {BLOCKS[0]}")
    table = rows(BLOCKS[2])
    assert table[-1] in rows(done.stdout)


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


BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_bench_rows_are_printed_and_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("form", BENCHMARKS / "form.py")
    assert spec is not None
    assert spec.loader is not None
    form = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(form)
    file = tmp_path / "rows.json"
    rows = form.Rows(form.parser("").parse_args(["--json", str(file)]).json)
    rows.add("speed", method="one", wall=np.float64(0.25), proved=np.int64(3))
    rows.add("speed", method="two", wall=form.timed(lambda: None, 3).wall, proved=None)
    assert [line.split()[0] for line in capsys.readouterr().out.split("\n") if line] == [
        "speed", "method", "one", "two",
    ]  # fmt: skip
    first, second = json.loads(file.read_text())
    assert first == {"table": "speed", "method": "one", "wall": 0.25, "proved": 3}
    assert second["proved"] is None


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_test_helpers_used_by_benchmarks_exist(file: Path) -> None:
    """Also what it imports only when it runs."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("support", "test_")
        ):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


def test_release_benchmark_measures_every_problem_by_methods_of_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    questions = importlib.import_module("release").QUESTIONS
    assert {question.problem for question in questions} == set(PROBLEM_NAMES)
    for question in questions:
        catalog.find(question.problem, question.method)
    stored = json.loads((BENCHMARKS / "release.json").read_text())
    assert [row["question"] for row in stored] == [question.name for question in questions]


def test_every_injected_fault_matches_source_once_and_names_existing_tests() -> None:
    faults = importlib.util.spec_from_file_location("faults", BENCHMARKS / "faults.py")
    assert faults is not None
    assert faults.loader is not None
    module = importlib.util.module_from_spec(faults)
    sys.modules["faults"] = module
    faults.loader.exec_module(module)
    home = BENCHMARKS.parent
    for fault in module.faults():
        text = (home / fault.path).read_text()
        assert text.count(fault.old) == 1, (fault.number, fault.path, fault.old)
        for name in fault.tests:
            assert name.rpartition("::")[2] in module.place_of(name, home), (fault.number, name)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["admission", "scheduling", "colocation"])
def test_optima_do_not_depend_on_units(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    fuzz, cases = map(importlib.import_module, ("fuzz", "unit_cases"))
    counts: Counter[str] = Counter()
    assert fuzz.one_case(problem, 1, counts) is None
    assert counts.total() > 50
    assert not cases.LEFT
