"""Sphinx extension that adapts docstrings to numpydoc: entries with their text, formulas kept as
written, short array types.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

SECTIONS = ("Attributes", "Parameters", "Other Parameters")
_ENTRY = re.compile(r"^(\**\w[\w*, ]*?) : (.*)$")
_STARS = re.compile(r"\*\*(?=\w+(?![\w*]))|(?<=[ (])\*(?=[,) ])")
_OURS = re.compile(r"^cotenant(\.\w+)+$")
_AT = r"~?(?:\w+\.)*"
_ARRAY = re.compile(rf"{_AT}ndarray\[tuple\[{_AT}Any, \.\.\.\], {_AT}dtype\[{_AT}(\w+)\]\]")
_LIKE = re.compile(rf"{_AT}_Buffer \| .*?\| {_AT}_NestedSequence\[complex \| bytes \| str\]")
_ANNOTATED = re.compile(rf"{_AT}Annotated\[")
_NAME = re.compile(r"^~?\.?[A-Za-z_][\w.]*(\(\))?$")


def named_entries(lines: list[str]) -> list[str]:
    """Lines of a docstring in which the text of each entry stands below its name, where numpydoc
    expects it.
    """
    result: list[str] = []
    inside = False
    for place, line in enumerate(lines):
        if _is_title(lines, place):
            inside = line.strip() in SECTIONS
        found = _ENTRY.match(line) if inside else None
        below = lines[place + 1].strip() if place + 1 < len(lines) else ""
        if found and below[:1].isupper() and found[2][-1:] not in ".,;:":
            found = None  # a type after the colon, and the text below: as numpydoc has it
        result += [found[1], f"    {found[2]}"] if found else [line]
    return result


def formulas(lines: list[str]) -> list[str]:
    """Lines of a docstring in which every indented block before the sections is a literal block."""
    result: list[str] = []
    quoted = False
    for place, line in enumerate(lines):
        if _is_title(lines, place):
            return result + lines[place:]
        before = next((entry for entry in reversed(result) if entry.strip()), "")
        if line.startswith("    ") and not quoted and result and not result[-1].strip():
            quoted = True
            if not before.startswith((" ", "- ", ">>>")) and not before.endswith("::"):
                result += ["::", ""]
        elif line.strip() and not line.startswith("    "):
            quoted = False
        result.append(line)
    return result


def plain_marks(lines: list[str]) -> list[str]:
    """Lines of a docstring in which `|x|`, `*` and `**options` outside formulas and code are not
    read as markup.
    """
    result = []
    quoted = False
    for line in lines:
        quoted = (
            (quoted and (line.startswith("    ") or not line.strip()))
            or line.strip() == "::"
            or line.endswith("::")
        )
        if ("|" in line or "*" in line) and not quoted and not line.lstrip().startswith(">>>"):
            parts = line.split("`")
            parts[::2] = [_STARS.sub(r"\\\g<0>", part.replace("|", "\\|")) for part in parts[::2]]
            line = "`".join(parts)
        result.append(line)
    return result


def _is_title(lines: list[str], place: int) -> bool:
    below = lines[place + 1] if place + 1 < len(lines) else ""
    return (
        bool(re.fullmatch(r"-{3,}", below.strip()))
        and bool(lines[place].strip())
        and not lines[place].startswith(" ")
    )


def short_types(text: str | None) -> str | None:
    """Signature with short names of array types, without `Annotated`, and with "..." for defaults
    made at each call.
    """
    if text is None:
        return None
    while found := _ANNOTATED.search(text):
        depth, ends = 0, []
        for place in range(found.end(), len(text)):
            if text[place] in ",]" and depth == 0:
                ends.append(place)
            if text[place] == "]" and depth == 0:
                break
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(text[place], 0)
        text = text[: found.start()] + text[found.end() : ends[0]] + text[ends[-1] + 1 :]
    return _LIKE.sub("ArrayLike", _ARRAY.sub(r"ndarray[\1]", text)).replace("<factory>", "...")


def _shorten(
    app: Sphinx,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> Any:
    return short_types(signature), short_types(returns)


def _prepare(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain_marks(formulas(named_entries(lines)))


def _name_role(
    role: str,
    rawtext: str,
    text: str,
    line: int,
    inliner: Any,
    options: Any = None,
    content: Any = None,
) -> Any:
    """Role of `name` in a docstring: a link if it is a name of the package, else literal text."""
    if _NAME.match(text):
        from sphinx.domains.python import PyXRefRole

        return PyXRefRole()(
            "py:obj", f":py:obj:`{text}`", text, line, inliner, options or {}, content or []
        )
    return [nodes.literal(rawtext, text)], []


def _link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Replace `cotenant.some.name` in the text of a page by a link to its description."""
    from sphinx.addnodes import pending_xref

    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        if _OURS.match(text) and isinstance(literal.parent, nodes.paragraph | nodes.entry):
            found = pending_xref(
                "", refdomain="py", reftype="obj", reftarget=text, refexplicit=False
            )
            found["refdoc"] = app.env.docname
            literal.replace_self(found)
            found += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the handlers that rewrite docstrings before numpydoc reads them."""
    app.connect("autodoc-process-docstring", _prepare, priority=300)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("doctree-read", _link_names)
    app.add_role("name", _name_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
