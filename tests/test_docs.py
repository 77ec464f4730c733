"""The README's and the pages' Python examples run as they stand, print what stands below them, and
links lead somewhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pkgutil
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.messages import approved
from support.terminal import run

import cotenant
from cotenant.analysis.registry import analysis_of
from cotenant.catalog import METHODS
from cotenant.instances.problem import PROBLEM_NAMES
from cotenant.papers.registry import EXPERIMENTS
from cotenant.solvers.admission.optimal import ROUTES as ADMISSION_ROUTES
from cotenant.solvers.colocation.fair import ROUTES as FAIR_ROUTES
from cotenant.solvers.colocation.stable import ROUTES as STABLE_ROUTES
from cotenant.solvers.groups.core import ROUTES as CORE_ROUTES
from cotenant.solvers.market.fisher import ROUTES as FISHER_ROUTES
from cotenant.solvers.market.leximin import ROUTES as LEXIMIN_ROUTES
from cotenant.solvers.packing.game.tree import fuga_tree
from cotenant.solvers.packing.minimum import ROUTES as PACKING_ROUTES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
PAGES = [ROOT / "README.md", *SITE]
LESSONS = [
    page for folder in ("tutorials", "howto") for page in sorted((DOCS / folder).glob("*.md"))
]
TEACHING = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in PROBLEM_NAMES if (DOCS / f"{name}.md").exists()),
    DOCS / "errata.md",
    *LESSONS,
]

GUIDE = [DOCS / f"{name}.md" for name in (*PROBLEM_NAMES, "roommates", "core", "manipulation")]
SECTIONS = [
    "What the answer means", "Model", "Methods", "How the exact method works",
    "When it ends with a gap", "Files", "Another solver's answer", "Sources",
]  # fmt: skip

ROUTES: dict[str, dict[str, Any]] = {
    "admission": ADMISSION_ROUTES,
    "colocation": FAIR_ROUTES | STABLE_ROUTES,
    "groups": CORE_ROUTES,
    "market": FISHER_ROUTES | LEXIMIN_ROUTES,
    "packing": PACKING_ROUTES,
}
"""The routes of exact methods by the guide that describes them."""

_EXAMPLE = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
_SECONDS = re.compile(r"\d+\.\d{3}$", re.MULTILINE)
"""The last number of a line: how long a run took."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def extension(name: str = "generated") -> ModuleType:
    """A file of docs/extensions, which is no module of the package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "extensions" / f"{name}.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.sampled(14)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page.stem == "cluster"))
        for page in PAGES
        if _EXAMPLE.search(page.read_text())
    ],
    ids=name_of,
)
def test_examples_of_pages_print_the_text_below_them(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if page.stem != "cluster":
        request.getfixturevalue("in_this_process")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    monkeypatch.setenv("COLUMNS", "80")
    for found in _EXAMPLE.finditer(page.read_text()):
        language, code, expected = found.groups()
        line = page.read_text()[: found.start()].count("\n") + 1
        if language == "sh":
            said = plain(said_by(code))
            assert said == plain(expected or said), f"{name_of(page)}, line {line}"
            assert expected or not said.startswith("error: "), said
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), names)
        if expected is not None:
            assert printed.getvalue() == expected, f"{name_of(page)}, line {line}"


def said_by(commands: str) -> str:
    """What the commands of a block print; of the last, when it is refused, the error."""
    *before, last = (run(*shlex.split(line)[1:]) for line in commands.splitlines())
    assert [done.stderr for done in before if done.returncode] == []
    if last.returncode:
        return "error: " + last.stderr.partition("error: ")[2]
    return "".join(done.stdout for done in (*before, last))


def plain(text: str) -> str:
    """Without what differs from run to run: seconds, and spaces at the ends of lines."""
    return _SECONDS.sub("#", re.sub(r" +$", "", text, flags=re.MULTILINE)).strip()


@pytest.mark.parametrize("page", GUIDE, ids=name_of)
def test_guide_page_has_code_by_line_16_all_sections_and_at_most_1500_words(page: Path) -> None:
    text = page.read_text()
    lines = text.splitlines()
    assert [line[3:] for line in lines if line.startswith("## ")] == SECTIONS
    assert "```text" in lines[:16]
    assert len(text.split()) <= 1500
    assert "$" in text.partition("\n## Model")[2].partition("\n## ")[0]
    prose = re.sub(r"^```.*?^```|\$\$.*?\$\$", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^(\||- |\d+\. ).*$", "", prose, flags=re.MULTILINE)
    paragraphs = [paragraph.strip() for paragraph in prose.split("\n\n")]
    assert [long for long in paragraphs if len(long.splitlines()) > 6 or len(long) > 720] == []


@pytest.mark.parametrize("page", ROUTES)
def test_guide_numbers_as_many_steps_as_its_method_has_routes(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text().partition("## How the exact method works")[2]
    steps = [int(step) for step in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    lengths = {step for step, after in zip(steps, [*steps[1:], 1], strict=True) if after == 1}
    assert lengths >= {len(each) for each in ROUTES[page].values()}


def test_every_teaching_page_has_an_example() -> None:
    assert [name_of(page) for page in TEACHING if not _EXAMPLE.search(page.read_text())] == []


def pages_that_lack(problem: str) -> list[str]:
    """The pages that have to speak of a problem and do not, with what each needs."""
    needed = {
        "README.md": [f"**{problem}**", f"docs/{problem}.md"],
        f"docs/{problem}.md": [f"`{entry.name}`" for entry in METHODS if entry.problem == problem],
        f"docs/tutorials/{problem}.md": [
            'assert result.status == "optimal"', "cotenant.check(",
            "except cotenant.CotenantError", "```python",
        ],
        "docs/reference/catalogue.md": [
            f"<!-- site: {part} {problem} -->" for part in ("methods", "metrics")
        ],
        "docs/index.md": [f"]({problem}.md)", f"](tutorials/{problem}.md)"],
    }  # fmt: skip
    texts = {name: path.read_text() for name in needed if (path := ROOT / name).exists()}
    return [f"{name} is to be written, with {words}"
            for name, words in needed.items() if name not in texts] + [
        f"{name} lacks {word}"
        for name, text in texts.items() for word in needed[name] if word not in text
    ]  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_every_problem_is_on_every_required_page(problem: str) -> None:
    lacking = pages_that_lack(problem)
    assert not lacking, "\n".join(["", *lacking])
    assert len(pages_that_lack("groups of jobs")) == 8


def without_code(text: str) -> str:
    """The text of a page outside its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as a code host makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_between_pages_have_targets(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", without_code(page.read_text()))
    for target, anchor in links:
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_tests_and_experiments_named_by_pages_exist() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    known, named = {entry.name for entry in EXPERIMENTS}, set[str]()
    for page in PAGES:
        text = page.read_text()
        for name in set(re.findall(r"`(test_\w+)`", text)):
            assert f"def {name}(" in tests, name_of(page)
        for several in re.findall(r"cotenant reproduce((?:\s+[a-z]+-[\w.-]*\w)+)", text):
            named |= set(several.split())
    assert len(named) > 5
    assert named <= known


def test_files_and_objects_of_the_package_named_by_pages_exist() -> None:
    folders = "analysis|baselines|cluster|instances|models|papers|solvers|verify"
    missing, objects = [], 0
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text()
        files = re.findall(rf"`((?:{folders})/[\w/]*(?:\.py)?)`", text)
        missing += [f"{name_of(page)}: {name}" for name in files if not (ROOT / name).exists()]
        names = sorted(set(re.findall(r"`(cotenant(?:\.\w+)+)", without_code(text))))
        objects += len(names)
        for name in names:
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                missing.append(f"{name_of(page)}: {name}")
    assert missing == []
    assert objects > 20


def test_front_page_picture_equals_method_results() -> None:
    cover = extension("cover")
    assert cover.FILE.read_text() == cover.drawn(cover.measured())


def test_readme_has_at_most_700_words_and_docs_at_most_90000() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 700
    assert sum(len(page.read_text().split()) for page in SITE) <= 90_000


def test_catalogue_page_has_every_method_and_metric() -> None:
    maker = extension()
    for problem in PROBLEM_NAMES:
        cards = maker.methods(problem)
        names = [f"{problem}-{method.name}" for method in cotenant.methods(problem)]
        assert re.findall(r'<section class="card" id="([^"]+)">', cards) == names
        assert "`" not in cards.replace("```", "")
        table = maker.metrics(problem).replace("\\_", "_")
        metrics = [metric.name for metric in analysis_of(problem).metric_table]
        assert re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[2:] == metrics


def test_site_directives_of_pages_can_be_built() -> None:
    maker, directive = extension(), re.compile(r"<!-- site: (\w+)(?: ([\w.-]+))? -->")
    asked = [(page, *found) for page in SITE for found in directive.findall(page.read_text())]
    assert len(asked) > 20
    for page, kind, name in asked:
        assert kind in maker.PARTS, name_of(page)
        # pictures are made of the page's own examples, which the tests above run
        if kind not in ("picture", "page"):
            assert maker.PARTS[kind](name, "", name_of(page)), (name_of(page), kind, name)
    approved(maker.site_links("[a](../CONTRIBUTING.md#b) [c](../../README.md)"))
    assert maker.filled("a\n<!-- site: page index -->\nb") == "a\nindex\nb"
    assert maker.filled("a\n<!-- site: page nowhere -->\nb") == "a\n\nb"


def test_reference_lists_every_public_function() -> None:
    maker = extension()
    assert all(f"cotenant.{name}" in maker.face() for name in cotenant.__all__)
    described = maker.exact() + maker.policies()
    for problem in PROBLEM_NAMES:
        for method in cotenant.methods(problem):
            function = method.resolve()
            assert f":: {function.__module__}.{function.__name__}\n" in described, method


def test_docstring_markup_is_converted_for_reference() -> None:
    pytest.importorskip("sphinx", reason="the site's own parts need the docs extra")
    from sphinx.util.inspect import signature, stringify_signature

    compat = extension("numpydoc_compat")
    head, entries = (
        ["Parameters", "----------"],
        ["    two", "    numbers.", "c : str", "    A type."],
    )
    text = [
        "First.",
        "",
        "    a + b",
        "",
        "Then |x| and `|y|`.",
        "",
        *head,
        "a, b : two",
        *entries[1:],
    ]
    made = compat.plain_marks(compat.formulas(compat.named_entries(text)))
    code = ["First.", "", "::", "", "    a + b", "", r"Then \|x\| and `|y|`.", ""]
    assert made == [*code, *head, "a, b", *entries]
    arrays = "(x: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.int64]] = <factory>)"
    assert compat.short_types(arrays) == "(x: ndarray[int64] = ...)"
    said = compat.short_types(stringify_signature(signature(fuga_tree), unqualified_typehints=True))
    approved(said)
