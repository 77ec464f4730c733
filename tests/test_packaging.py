"""What is said of the package in several files is the same everywhere: versions, dependencies,
dates, links, and the commands that install what is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from support.terminal import run

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
