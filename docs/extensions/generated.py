"""Sphinx extension: tables, reference pages and pictures that are generated from the package while
the site is built.

A page asks for a part by a comment of its own line, `<!-- site: methods colocation -->`; where
pages are read as plain Markdown the comment does not show.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PART = re.compile(r"^<!-- site: (\w+)(?: ([\w.-]+))? -->$", re.MULTILINE)
ROOT_PAGES = {
    "CONTRIBUTING": "contributing.md",
    "CHANGELOG": "changelog.md",
    "README": "index.md",
}
_ROOT_PAGE = re.compile(rf"\]\(((?:\.\./)*)\.\./({'|'.join(ROOT_PAGES)})\.md")
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def filled(text: str, page: str = "") -> str:
    """Text of a page in which every placeholder is replaced by what is generated for it."""
    _THUMBNAILS.clear()
    whole = _PART.sub(
        lambda found: PARTS[found[1]](found[2] or "", text[: found.start()], page), text
    )
    small = "\n".join(_THUMBNAILS)
    return whole.replace(_INDEX, f'```{{raw}} html\n<nav class="thumbnails">\n{small}\n</nav>\n```')


def site_links(text: str) -> str:
    """Text whose links to pages at the root of the repository lead to the copies of those pages on
    the site.
    """
    return _ROOT_PAGE.sub(lambda found: f"]({found[1]}{ROOT_PAGES[found[2]]}", text)


GLOSSARY = Path(__file__).resolve().parents[1] / "glossary.md"
_TERM = re.compile(r"^\| (?!term )([^|]+?) \| (.+?) \|(?: (.+?))? \|$", re.MULTILINE)
_TABLE = re.compile(r"^\| term \|.*\n\|[-|]+\|\n((?:\|.*\|\n)+)", re.MULTILINE)


def terms(text: str, page: str) -> str:
    """Text of a page in which the entries of the glossary's tables are link targets."""
    if page == "glossary":
        return _TABLE.sub(lambda found: _glossary(found[1]), text)
    known = {one[0].lower() for one in _TERM.findall(GLOSSARY.read_text())}
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)*glossary\.md\)",
        lambda found: f"{{term}}`{found[1]}`" if found[1].lower() in known else found[0],
        text,
    )


def _glossary(rows: str) -> str:
    entries = [
        f"{term}\n  {meaning}{f' *{source}*' if source else ''}\n"
        for term, meaning, source in _TERM.findall(rows)
    ]
    return "\n".join(["```{glossary}", *entries, "```", ""])


def methods(problem: str, before: str = "", page: str = "") -> str:
    """Catalogue of one problem's methods: a card for each, with anchor, source, and the meaning of
    each option.
    """
    import cotenant
    from cotenant.instances.problem.options import described

    cards = []
    for method in cotenant.methods(problem):
        options = "".join(
            f"<dt><code>{escape(one.name)}</code> {_code(one.default or 'must be given')}</dt>"
            f"<dd>{_code(one.meaning)}{_code(f' Takes {one.takes}.') if one.takes else ''}</dd>"
            for one in described(method.resolve())
        )
        anchor = f"{problem}-{method.name}"
        folded = f"<details><summary>Options</summary><dl>{options}</dl></details>"
        cards.append(
            f'<section class="card" id="{escape(anchor)}"><p><a href="#{escape(anchor)}"><b>'
            f"{escape(method.name)}</b></a> <small>{method.kind}, optimizes "
            f"{_code(method.objective)}</small></p><p>{_code(method.summary)}</p>"
            f"<p><small>{_code(method.source)}</small></p>{folded if options else ''}</section>"
        )
    return '```{raw} html\n<div class="cards">\n' + "\n".join(cards) + "\n</div>\n```"


def _code(text: str) -> str:
    """Text as HTML, with passages between backticks set as code."""
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", escape(" ".join(text.split())))


def metrics(problem: str, before: str = "", page: str = "") -> str:
    """Table of one problem's metrics."""
    from cotenant.analysis.registry import analysis_of

    better = {"min": "less", "max": "more", "": "neither"}
    rows = (
        (metric.name, metric.label, better[metric.sense], metric.unit or "-")
        for metric in analysis_of(problem).metric_table
    )
    return _table(("metric", "what", "better is", "unit"), rows)


def _table(headers: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Table in Markdown."""
    from cotenant.analysis.report.table import Column, Table

    return Table("", "", tuple(map(Column, headers)), tuple(rows)).markdown()


def formats(name: str = "", before: str = "", page: str = "") -> str:
    """Lists of the readers of foreign files and of the generators, of every problem."""
    from cotenant.instances.problem import PROBLEM_NAMES, problem_named
    from cotenant.instances.problem.option_types import RESERVED_IN_READERS
    from cotenant.instances.problem.options import option_names
    from cotenant.instances.problem.registry import resolve

    rows = []
    for problem in PROBLEM_NAMES:
        for key, path in getattr(problem_named(problem), name).items():
            function = resolve(path)
            options = ", ".join(option_names(function, RESERVED_IN_READERS))
            rows.append((problem, key, _summary(function), options))
    return _table(("problem", "name", "what", "options"), rows)


def experiments(name: str = "", before: str = "", page: str = "") -> str:
    """Table of the experiments of `cotenant reproduce`."""
    from cotenant.papers.registry import EXPERIMENTS

    rows = ((entry.name, entry.what, entry.source) for entry in EXPERIMENTS)
    return _table(("experiment", "what", "place"), rows)


def undetermined(name: str = "", before: str = "", page: str = "") -> str:
    """List of figures and tables of the papers that cannot be reproduced, with reasons."""
    from cotenant.papers.registry import NOT_DETERMINED

    return _table(("place", "why"), NOT_DETERMINED)


def data(name: str = "", before: str = "", page: str = "") -> str:
    """Reference of every problem's data types, of the functions that check and measure them, and of
    its models.
    """

    def written(problem: str) -> list[Any]:
        root = f"cotenant.models.{problem}"
        parts = [one.name for one in pkgutil.iter_modules(_paths(root))]
        programs = _offered(root) or [one for part in parts for one in _offered(f"{root}.{part}")]
        return [*_offered(f"cotenant.instances.{problem}"), *programs]

    return _by_problem(written)


def exact(name: str = "", before: str = "", page: str = "") -> str:
    """Reference of every problem's exact methods as functions."""
    return _by_problem(
        lambda problem: [*_methods(problem, EXACT), *_offered(f"cotenant.solvers.{problem}")]
    )


def policies(name: str = "", before: str = "", page: str = "") -> str:
    """Reference of every problem's policies of the papers as functions."""
    return _by_problem(
        lambda problem: [
            *(one for one in _methods(problem, None) if one not in _methods(problem, EXACT)),
            *_offered(f"cotenant.baselines.{problem}"),
        ]
    )


def names(name: str, before: str = "", page: str = "") -> str:
    """Public names of a package or module."""
    return _described(_offered(f"cotenant.{name}"))


EXACT = ("exact", "equilibrium")
"""Kinds of the methods that prove something."""


def _by_problem(found: Callable[[str], list[Any]]) -> str:
    """One section for each problem, with the objects found for it."""
    from cotenant.instances.problem import PROBLEM_NAMES

    return "\n".join(
        f"## {problem.capitalize()}\n\n{_described(there)}"
        for problem in PROBLEM_NAMES
        if (there := found(problem))
    )


def _methods(problem: str, kinds: tuple[str, ...] | None) -> list[Any]:
    """Functions of a problem's methods of some kinds (None: of all kinds)."""
    import cotenant

    return [
        one.resolve() for one in cotenant.methods(problem) if kinds is None or one.kind in kinds
    ]


def _paths(root: str) -> list[str]:
    """Paths of a package's modules; empty for a module, or where there is none."""
    if importlib.util.find_spec(root) is None:
        return []
    return list(getattr(importlib.import_module(root), "__path__", []))


def _offered(root: str) -> list[Any]:
    """Public classes, then public functions, of a module or package: those of `__all__`, or all
    that it defines.
    """
    if importlib.util.find_spec(root) is None:
        return []
    module = importlib.import_module(root)
    own = [
        entry
        for entry, value in vars(module).items()
        if not entry.startswith("_") and getattr(value, "__module__", "") == root
    ]
    values = [getattr(module, entry) for entry in getattr(module, "__all__", own)]
    values = [
        value
        for value in values
        if hasattr(value, "__qualname__") and value.__module__.startswith("cotenant.")
    ]
    return sorted(values, key=lambda value: not isinstance(value, type))


def _described(values: Iterable[Any]) -> str:
    """Descriptions of objects, each object once and under the module that defines it."""
    lines = ["```{eval-rst}"]
    for value in dict.fromkeys(values):
        kind = "function" if not isinstance(value, type) else "class"
        kind = "exception" if kind == "class" and issubclass(value, Exception) else kind
        lines.append(f".. auto{kind}:: {value.__module__}.{value.__qualname__}")
        lines += ["   :members:", ""] if kind == "class" else [""]
    return "\n".join([*lines, "```", ""])


def commands(name: str = "", before: str = "", page: str = "") -> str:
    """Reference of every command of the command line, with its arguments and options."""
    from cotenant.cli.commands import command_tree

    parts = []
    todo = [("cotenant", command_tree())]
    while todo:
        called, command = todo.pop(0)
        below = getattr(command, "commands", {})
        todo = [(f"{called} {sub}", below[sub]) for sub in sorted(below)] + todo
        if not below:
            parts.append(f"## `{called}`\n\n{command.help}\n\n{_arguments(command)}")
    return "\n".join(parts)


def _arguments(command: Any) -> str:
    """Table of a command's arguments and options."""
    rows = []
    for given in command.params:
        if given.param_type_name == "argument":
            told = given.metavar or given.name
        else:
            told = ", ".join((*given.opts, *given.secondary_opts))
            told += f" {given.metavar}" if given.metavar else ""
        rows.append((f"`{told}`", given.help or "", "yes" if given.required else ""))
    text = _table(("argument or option", "meaning", "required"), rows) if rows else ""
    return text.replace("\\`", "`")  # here they do mark code


FIRST = ("read", "solve", "compare", "check", "prove")
"""What a reader of `import cotenant` needs first."""


def face(name: str = "", before: str = "", page: str = "") -> str:
    """Reference of every name of `import cotenant`: entry points, other functions, classes,
    errors.
    """
    import cotenant
    from cotenant.instances.problem.base import Instance

    def kind_of(entry: str) -> str:
        value = getattr(cotenant, entry)
        if isinstance(value, type) and issubclass(value, Instance):
            return "instance"  # described on its problem's page
        if not isinstance(value, type):
            return "function"
        return "exception" if issubclass(value, Exception) else "class"

    others = [entry for entry in cotenant.__all__ if entry not in FIRST]
    parts = {"Begin with": list(FIRST)}
    for title, kind in (("Functions", "function"), ("Classes", "class"), ("Errors", "exception")):
        parts[title] = [entry for entry in others if kind_of(entry) == kind]
    lines: list[str] = []
    for title, entries in parts.items():
        lines += [f"## {title}", "", "```{eval-rst}"]
        for entry in entries:
            lines.append(f".. auto{kind_of(entry)}:: cotenant.{entry}")
            lines += ["   :members:"] if kind_of(entry) == "class" else []
            lines += ["   :no-index-entry:", ""]
        lines += ["```", ""]
    instances = [getattr(cotenant, entry) for entry in others if kind_of(entry) == "instance"]
    links = [
        f":py:obj:`cotenant.{one.__name__} <{one.__module__}.{one.__name__}>`" for one in instances
    ]
    lines += ["## Instances", "", "```{eval-rst}", ", ".join(links), "```", ""]
    return "\n".join(lines)


def picture(name: str, before: str = "", page: str = "") -> str:
    """Picture that the examples of a page drew under a name, with its text and its data
    below it.
    """
    from cotenant.analysis.report.drawing import svg

    made = _left_by(_PYTHON.findall(before), page)[name]
    made = getattr(made, "picture", made)  # what `cotenant.plot` returns holds one
    caption = (
        f"{escape(made.title)}. {escape(made.note)}" if made.note else f"{escape(made.title)}."
    )
    heading = re.findall(r"^## (.*)$", before, re.MULTILINE)[-1]
    small = svg(made, f"{name}-small-")
    _THUMBNAILS.append(f'<a href="#{name}"><span>{small}</span><b>{escape(heading)}</b></a>')
    return (
        f'```{{raw}} html\n<figure class="picture" id="{name}">{svg(made)}'
        f"<figcaption>{caption}</figcaption></figure>\n```"
    )


_THUMBNAILS: list[str] = []
"""Of the pictures of the page that is filled, in their order."""
_INDEX = "SMALL-PICTURES"


def thumbnails(name: str = "", before: str = "", page: str = "") -> str:
    """Small copies of all pictures of a page, as links to them."""
    return _INDEX


_LEFT: dict[str, tuple[list[str], dict[str, Any]]] = {}
"""Page -> its examples that were run, and the names they left; so each runs once."""


def _left_by(blocks: list[str], page: str) -> dict[str, Any]:
    """Variables that the examples of a page define when they are run in order, in a temporary
    folder.
    """
    done, names = _LEFT.get(page, ([], {}))
    if not page or not done or blocks[: len(done)] != done:
        done, names = [], {"__name__": "example"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.chdir(folder),
    ):
        for block in blocks[len(done) :]:
            exec(compile(block, page, "exec"), names)
    _LEFT[page] = blocks, names
    return names


def page(name: str, before: str = "", page: str = "") -> str:
    """Entry of a table of contents for a page that may be absent."""
    return name if (Path(__file__).resolve().parents[1] / f"{name}.md").exists() else ""


def judge(name: str = "", before: str = "", page: str = "") -> str:
    """Link to the browser page that verifies proofs, which exists on the site only."""
    return (
        '```{raw} html\n<p><a href="verify/index.html">Judge a proof in this browser</a></p>\n```'
    )


PARTS: dict[str, Callable[[str, str, str], str]] = {
    function.__name__: function
    for function in (
        face,
        commands,
        methods,
        metrics,
        formats,
        experiments,
        judge,
        undetermined,
        data,
        exact,
        policies,
        names,
        page,
        picture,
        thumbnails,
    )
}


def _summary(function: Any) -> str:
    return " ".join((function.__doc__ or "").strip().partition("\n\n")[0].split())


KEYWORDS = {
    "advice": "Kubernetes nodes money price cost spot autoscaler bill kubectl consolidation",
    "howto/plan": "Kubernetes nodes moves drain eviction money price page",
    "howto/fit": "Kubernetes pending pods capacity buy price money node types",
    "howto/fairness": "Slurm accounts sacct fair share debts",
    "howto/fairness-gpus": "Slurm Kueue GPU quotas",
    "colocation": "interference penalties noisy neighbors stable roommates pairs",
    "market": "price budget Fisher equilibrium cores money",
    "packing": "bin packing virtual machines servers consolidation GPU cards MIG price cost",
    "accelerators": "GPU scheduling throughput Gavel POP",
    "quanta": "Karma credits max-min dynamic demands foresight Fisher equilibrium Nash welfare",
    "lifetimes": "VM traces lifetimes server-time empty hosts temporal bin packing busy time",
    "elastic": "Sia Pollux Optimus COpter speed-up curves number of GPUs worker adaptive",
    "scheduling": "Shapley fair share queue Slurm",
    "proofs": "certificate verify bound dual optimality",
}
"""What readers search for, by page, beside the words in it."""


def _fill(app: Sphinx, name: str, content: list[str]) -> None:
    content[0] = terms(site_links(filled(content[0], name)), name)
    if name in KEYWORDS:
        meta = f".. meta::\n   :keywords: {KEYWORDS[name]}"
        content[0] += f"\n\n```{{eval-rst}}\n{meta}\n```\n"


def _palette(app: Sphinx) -> None:
    """Set the colors of pictures to those of report pages, in light and dark."""
    from cotenant.analysis.report.page import PAGE_STYLE

    colors = re.findall(r"(--series-\d+): light-dark\((#\w+), (#\w+)\);", PAGE_STYLE.read_text())
    light, dark = ("".join(f"{one[0]}:{one[place]};" for one in colors) for place in (1, 2))
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "palette.css").write_text(
        f"body{{{light}}}body[data-theme=dark]{{{dark}}}@media (prefers-color-scheme: dark)"
        f"{{body:not([data-theme=light]){{{dark}}}}}\n"
    )


def _verifier(app: Sphinx, error: Exception | None) -> None:
    """Write the verifier as one file beside the browser page that runs it."""
    program = Path(__file__).resolve().parents[2] / ".ci" / "zip-verifier"
    if error is None and app.builder.format == "html":
        subprocess.run([sys.executable, program, app.outdir / "verify" / "verify.pyz"], check=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the handlers that fill pages as Sphinx reads them, and that show one signature of
    overloaded functions.
    """
    from sphinx.pycode import ModuleAnalyzer

    ModuleAnalyzer.overloads = property(lambda _: {}, lambda *_: None)  # type: ignore[assignment]
    app.connect("build-finished", _verifier)
    app.connect("source-read", _fill)
    app.connect("builder-inited", _palette)
    app.add_css_file("palette.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
