"""The architecture: folders, layers, lazy imports, names, and a catalogue whose every row is real."""

from __future__ import annotations

import ast
import doctest
import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

import cotenant
from cotenant import catalog
from cotenant.analysis.registry import Analysis, Offered, analysis_of
from cotenant.instances.problem import PROBLEM_NAMES, problem_named
from cotenant.instances.problem.registry import resolve

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "verify": 0,
    "instances": 1,
    "catalog": 2,
    "models": 3,
    "solvers": 4,
    "baselines": 5,
    "analysis": 6,
    "ask": 7,
    "cluster": 7,
    "papers": 7,
    "cli": 8,
}
PACKAGES = ("ground", "run", "report", "problems")
"""The packages of `analysis/`, the lowest first; its loose files are the ground, but `RUNS`."""
RUNS = {"manipulation"}
"""Loose files that run methods: of the package `run`."""
_HOLDS_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def sources() -> list[Path]:
    found = [path for folder in LAYERS for path in (ROOT / folder).rglob("*.py")]
    return [*found, ROOT / "catalog.py", ROOT / "__init__.py"]


@cache
def tree(path: Path) -> ast.Module:
    """A file, parsed once for all tests."""
    return ast.parse(path.read_text())


@cache
def statements(path: Path) -> list[ast.AST]:
    """Every statement of a file, wherever it stands; expressions, which hold none, are not walked."""
    left = list[ast.AST](tree(path).body)
    for node in left:
        inside = ast.iter_child_nodes(node)
        left += [child for child in inside if isinstance(child, _HOLDS_STATEMENTS)]
    return left


def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Every import of a file, wherever it stands."""
    return [node for node in statements(path) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_modules(path: Path) -> list[str]:
    """Relative imports of a file as dotted paths from the package's root."""
    inside = path.relative_to(ROOT).parts[:-1]
    found = []
    for node in imports(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = inside[: len(inside) - node.level + 1]
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found += (
                [module]
                if node.module
                else [f"{module}.{alias.name}".strip(".") for alias in node.names]
            )
    return found


def imported_files(path: Path) -> set[Path]:
    """The files of this package that a file imports: when it is loaded, when its functions run, or
    for type checkers.

    Functions named by text ("module:function") are resolved when they are called, and are not
    followed.
    """
    found = set()
    for node in imports(path):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        place = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        inside = {alias.name: place / f"{alias.name}.py" for alias in node.names}
        found |= {file for file in inside.values() if file.exists()}
        found |= {
            place / name / "__init__.py"
            for name in inside
            if (place / name / "__init__.py").exists()
        }
        if not all(
            file.exists() or (file.with_suffix("") / "__init__.py").exists()
            for file in inside.values()
        ):
            found.add(
                place.with_suffix(".py")
                if place.with_suffix(".py").exists()
                else place / "__init__.py"
            )
    return found


def package_of(module: str) -> str | None:
    """The package of `analysis/` that a dotted module is in; None outside."""
    layer, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    if layer != "analysis" or not name:
        return None
    if name in PACKAGES or name in PROBLEM_NAMES:
        return name if name in PACKAGES else "problems"
    return "run" if name in RUNS else "ground"


def test_the_package_list_names_exactly_the_folders_with_modules(tmp_path: Path) -> None:
    # setuptools is not installed where Python no longer brings it
    stub = "def setup(*, packages, **others): print(*packages)"
    (tmp_path / "setuptools.py").write_text(stub)
    listed = subprocess.run(
        [sys.executable, ROOT / "setup.py"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    folders = {path.parent.relative_to(ROOT) for path in sources() if path.parent != ROOT}
    assert set(listed) == {"cotenant"} | {
        "cotenant." + ".".join(folder.parts) for folder in folders
    }


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_root_folder_has_at_most_32_entries() -> None:
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    assert len({name.partition("/")[0] for name in files}) <= 32


def test_every_folder_with_modules_has_an_init_file() -> None:
    assert all((path.parent / "__init__.py").exists() for path in sources())


def test_a_layer_imports_only_from_layers_below_or_its_own() -> None:
    up = []
    for path in sources():
        own = LAYERS.get(path.relative_to(ROOT).parts[0].removesuffix(".py"))
        if own is None:
            continue
        for module in imported_modules(path):
            layer = LAYERS.get(module.partition(".")[0])
            if layer is not None and layer > own:
                up.append(f"{path.relative_to(ROOT)} -> {module}")
    assert up == []


def test_a_package_of_the_analysis_imports_only_from_packages_below_or_its_own() -> None:
    up, seen = [], set()
    for path in (ROOT / "analysis").rglob("*.py"):
        own = package_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        assert own is not None
        for module in imported_modules(path):
            package = package_of(module)
            if package is None:
                continue
            seen.add((own, package))
            if PACKAGES.index(package) > PACKAGES.index(own):
                up.append(f"{path.relative_to(ROOT)} ({own}) -> {module} ({package})")
    assert up == []
    assert {("problems", "report"), ("report", "run"), ("run", "ground")} <= seen


def test_only_the_command_line_imports_the_papers() -> None:
    others = [path for path in sources() if not path.is_relative_to(ROOT / "papers")]
    users = {
        path.relative_to(ROOT).as_posix()
        for path in others
        if any(module.split(".")[0] == "papers" for module in imported_modules(path))
    }
    assert users == {"cli/papers.py"}


CLUSTER = ("state", "judge", "plan", "report", "fairness", "measure", "run")
"""The folders of `cluster/`, the lowest first."""


def test_folders_of_the_cluster_import_lower_ones_and_only_the_command_line_imports_them() -> None:
    users, up = set(), []
    for path in sources():
        folder = path.relative_to(ROOT).parts
        for module in imported_modules(path):
            layer, _, rest = module.partition(".")
            if layer != "cluster":
                continue
            users.add(folder[0])
            below = CLUSTER.index(rest.partition(".")[0])
            if folder[0] == "cluster" and below > CLUSTER.index(folder[1]):
                up.append(f"{path.relative_to(ROOT)} -> {module}")
    assert users == {"cluster", "cli"}
    assert up == []


def test_judge_of_plans_imports_no_planning_module() -> None:
    judge = imported_modules(ROOT / "cluster" / "judge" / "scheduler_filters.py")
    assert not any(module.startswith(("instances.packing", "solvers")) for module in judge)


def test_measure_and_run_folders_import_no_state_or_plan() -> None:
    for folder, allowed in (("measure", {"measure"}), ("run", {"measure", "run"})):
        seen = {
            module.split(".")[1]
            for path in (ROOT / "cluster" / folder).glob("*.py")
            for module in imported_modules(path)
            if module.startswith("cluster.")
        }
        assert seen == allowed


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = nx.DiGraph((path, other) for path in sources() for other in imported_files(path))
    assert graph.number_of_edges() > 1000
    circles = [
        sorted(str(path.relative_to(ROOT)) for path in ring)
        for ring in nx.strongly_connected_components(graph)
    ]
    assert [ring for ring in circles if len(ring) > 1] == []
    assert list(nx.selfloop_edges(graph)) == []


def test_each_paper_package_uses_one_problem() -> None:
    framework = {"experiment", "page", "registry", "run"}
    papers: dict[str, set[str]] = {}
    for path in (path for path in sources() if path.is_relative_to(ROOT / "papers")):
        name = path.relative_to(ROOT / "papers").parts[0].removesuffix(".py")
        parts = {part for module in imported_modules(path) for part in module.split(".")}
        papers.setdefault(name, set()).update(parts & set(PROBLEM_NAMES))
    del papers["__init__"]
    assert {name for name, problems in papers.items() if not problems} == framework
    assert all(len(problems) <= 1 for problems in papers.values())


def test_a_problem_never_imports_another_problem() -> None:
    across = []
    # the VMs of an instant are a packing; penalties of pairs add up to those of groups
    built_on = {("lifetimes", "packing"), ("groups", "colocation")}
    for path in sources():
        parts = [part.removesuffix(".py") for part in path.relative_to(ROOT).parts]
        own = next((part for part in parts if part in PROBLEM_NAMES), None)
        for module in imported_modules(path):
            other = next((part for part in module.split(".") if part in PROBLEM_NAMES), None)
            if own and other and own != other and (own, other) not in built_on:
                across.append(f"{path.relative_to(ROOT)} -> {module}")
    assert across == []


def test_imports_inside_the_package_are_relative() -> None:
    absolute = []
    for path in sources():
        for node in imports(path):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += (
                [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            )
            absolute += [
                f"{path}: {name}" for name in named if name.partition(".")[0] == "cotenant"
            ]
    assert absolute == []


MOST_LINES, MOST_LINES_OF = 700, {"cli": 250, "verify": 520}
MOST_PARAMETERS = 12


def test_module_length_and_parameter_count_are_limited() -> None:
    long, many = [], []
    for path in sources():
        place = path.relative_to(ROOT)
        lines = path.read_text().count("\n")
        if lines > MOST_LINES_OF.get(place.parts[0], MOST_LINES):
            long.append(f"{place}: {lines}")
        if "kernels" in path.stem:  # compiled: arrays by place
            continue
        for node in statements(path):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                number = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                many += [f"{place}: {node.name}"] * (number > MOST_PARAMETERS)
    assert long == []
    assert many == []


NAME_PROBLEMS = {
    "catalog.py": "methods, readers and generators by problem",
    "instances/problem/lookup.py": "the packages of problems",
    "models/answer.py": "readers of answers of the declarative models",
    "verify/methods.py": "the checkers of proofs",
}
"""Files outside the packages of problems and of papers, which are of one problem each, in whose code
a problem's name stands, and why.
"""


def test_a_problem_is_named_in_its_packages_the_registry_and_the_catalogue() -> None:
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in [*sources(), ROOT / "catalog.py"]
        if not {*PROBLEM_NAMES, "papers"} & {*path.relative_to(ROOT).parts, path.stem}
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and node.value in PROBLEM_NAMES
    }
    assert naming == set(NAME_PROBLEMS)


MOST_PATCHES = 60


def test_number_of_monkeypatch_replacements_is_limited() -> None:
    # limits, clocks and engines are handed in; a fixture of conftest.py replaces what several need
    patch = re.compile(r"\b(monkey)?patch\.(setattr|setitem|delattr|delitem|object)\b")
    patches = {
        path.name: number
        for path in Path(__file__).parent.rglob("*.py")
        if (number := len(patch.findall(path.read_text()))) > 0
    }
    assert sum(patches.values()) <= MOST_PATCHES, patches


def test_only_engines_package_imports_solver_libraries() -> None:
    for path in sources():
        if path.is_relative_to(ROOT / "solvers" / "engines"):
            continue
        assert not re.search(
            r"^\s*(import|from) (highspy|clarabel)\b", path.read_text(), re.MULTILINE
        ), path


ONE_WAY = {
    r"\bsys\.executable\b": "solvers/engines/interpreter.py",
    r"\bcsv\.writer\b|\bDictWriter\b|\.to_csv\(": "instances/problem/emitted.py",
    r"\bshlex\b": "instances/problem/emitted.py",
}
"""What is dangerous where it is done by hand, and the one file that does it."""


@pytest.mark.parametrize(("what", "where"), ONE_WAY.items(), ids=ONE_WAY.values())
def test_interpreter_path_shell_quotes_and_csv_writer_have_one_file(what: str, where: str) -> None:
    found = [path for path in sources() if re.search(what, path.read_text())]
    assert found == [ROOT / where]


def test_importing_the_root_and_the_help_load_no_heavy_library() -> None:
    heavy = "numpy|pandas|numba|scipy|networkx|pyomo|highspy|cvxpy|ortools|matplotlib|jinja2|dask|pydantic".split(
        "|"
    )
    code = (
        f"import sys, cotenant; assert not set({heavy!r}) & set(sys.modules), "
        f"set({heavy!r}) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = (
        "import sys, cotenant.cli.commands as c, typer.testing as t; r = "
        "t.CliRunner().invoke(c.app, ['--help']); "
        f"assert r.exit_code == 0; assert not set({heavy!r}) & set(sys.modules), "
        f"set({heavy!r}) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_root_module_has_no_side_effects() -> None:
    body = tree(ROOT / "__init__.py").body
    top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in top] == ["from __future__ import annotations"]


def test_every_public_name_resolves() -> None:
    for name in [
        *cotenant.__all__,
        *(entry for entry in dir(cotenant) if not entry.startswith("__")),
    ]:
        assert getattr(cotenant, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        cotenant.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "method", catalog.METHODS, ids=lambda method: f"{method.problem}-{method.name}"
)
def test_every_catalogue_method_is_importable(method: catalog.Method) -> None:
    assert method.problem in PROBLEM_NAMES
    assert method.summary.endswith(".")
    assert method.source
    metrics = {metric.name for metric in analysis_of(method.problem).metric_table}
    assert {method.objective, *method.levels} <= metrics
    assert bool(method.starts) == (method.kind == "exact" and not method.no_starts)
    assert not method.asks or callable(resolve(method.asks))


@pytest.mark.parametrize(
    "method", catalog.METHODS, ids=lambda method: f"{method.problem}-{method.name}"
)
def test_every_method_has_an_example_that_doctest_finds(method: catalog.Method) -> None:
    function = method.resolve()
    found = {
        test.name: test for test in doctest.DocTestFinder().find(import_module(function.__module__))
    }
    assert found[f"{function.__module__}.{function.__name__}"].examples
    assert re.search(r"^ *Examples\n *-{8}\n *>>> ", function.__doc__ or "", re.MULTILINE)


def test_no_two_methods_of_a_problem_share_a_name() -> None:
    names = [(method.problem, method.name) for method in catalog.METHODS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_every_problem_has_its_file_in_every_layer(name: str) -> None:
    layers = ["instances", "solvers", "baselines", "analysis"]
    if name != "lifetimes":  # its programs are those of packing
        layers.append("models")
    for layer in layers:
        assert (ROOT / layer / name).is_dir() or (ROOT / layer / f"{name}.py").is_file(), layer
    problem = problem_named(name)
    assert problem.name == name == problem.instance.problem
    assert problem.generators
    for path in [*problem.generators.values(), *problem.formats.values()]:
        assert callable(resolve(path))


LACKING = {
    "record": {"quanta", "elastic"},
    "pictures": {"quanta", "elastic"},
    "facts": {"lifetimes", "elastic"},
    "frontiers": {"quanta", "lifetimes", "elastic"},
    "reports": {"numa", "lifetimes", "elastic"},
    "predicted": {*PROBLEM_NAMES} - {"colocation"},
    "rounds": {*PROBLEM_NAMES} - {"accelerators"},
    "parts": {*PROBLEM_NAMES} - {"colocation", "packing", "accelerators", "groups", "numa"},
}
"""What `Analysis` offers of some problems only, and the problems that lack it."""


@pytest.mark.parametrize(
    "offered", [n for n, v in vars(Analysis).items() if isinstance(v, Offered)]
)
def test_every_problem_has_all_features_except_listed_ones(offered: str) -> None:
    lacking = {name for name in PROBLEM_NAMES if getattr(analysis_of(name), offered) is None}
    assert lacking == LACKING.get(offered, set())


def test_public_functions_and_classes_have_a_docstring() -> None:
    mute = []
    for path in sources():
        for node in tree(path).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            signature = any(
                isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list
            )
            if not signature and not ast.get_docstring(node):
                mute.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert mute == []


BUDGET = {
    "solvers": (38_515, 25_221),
    "analysis": (19_173, 12_982),
    "instances": (20_892, 13_847),
    "models": (5_098, 3_190),
    "verify": (4_851, 3_469),
    "baselines": (4_069, 2_083),
    "ask": (854, 409),
    "cluster": (12_657, 8_706),
    "papers": (5_858, 4_267),
    "cli": (3_478, 2_377),
    "tests": (43_957, 34_858),
    "benchmarks": (6_948, 5_380),
}
"""Lines of each layer's Python files, and those of code (without blanks, comments and docstrings):
whoever adds takes out, or changes a row in a commit of its own that says why.
"""


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor a comment nor of a docstring."""
    texts = {
        line
        for node in statements(path)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    held = {
        number
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    return len(held - texts)


@pytest.mark.parametrize("layer", BUDGET)
def test_line_count_of_package_layer_equals_its_line_budget(layer: str) -> None:
    paths = sorted((ROOT / layer).rglob("*.py"))
    size = (
        sum(len(path.read_bytes().splitlines()) for path in paths),
        sum(map(lines_of_code, paths)),
    )
    for lines, budget in zip(size, BUDGET[layer], strict=True):
        assert 0.98 * budget <= lines <= budget, (size, BUDGET[layer])
