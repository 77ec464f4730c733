"""Sphinx extension: formulas as MathML, which browsers draw without script, network or LaTeX."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    # latex2mathml knows the rows of align*, and not those of aligned
    formula = convert(node.astext().replace("{aligned}", "{align*}"), display="block")
    writer.body.append(
        '<div class="math" role="group" '
        f'aria-label="{escape(node.astext(), quote=True)}">{formula}</div>\n'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name "mathml"."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
