"""Run the notebooks of docs/notebooks anew and store what comes out, without Jupyter:

python docs/extensions/notebooks.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells, each run after the one before, in a folder
    that is gone afterwards.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                outputs = _run("".join(cell["source"]), names, number)
                cell = cell | {"execution_count": number, "outputs": outputs}
            cells.append(cell)
    return notebook | {"cells": cells}


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and what its last expression is."""
    body = ast.parse(source).body
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        rest = body if last is None else body[:-1]
        exec(compile(ast.Module(rest, []), f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if (shown := getattr(value, method, lambda: None)()) is not None:
                data[kind] = shown.splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        outputs.append(result | {"data": data})
    return outputs


def as_page(text: str, name: str) -> str:
    """A notebook as a page in Markdown, run now: its texts, its cells, and what they give."""
    parts = []
    for cell in executed(json.loads(text))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", [])})
            raw = data.get("image/svg+xml") or data.get("text/html")
            kind, lines = ("{raw} html", raw) if raw else ("text", data["text/plain"])
            parts.append(f"```{kind}\n{''.join(lines).rstrip()}\n```")
        if len(parts) == 1:
            parts.append(
                f"This page is a notebook, run while the site was built: {{download}}`{name}.ipynb`."
            )
    return "\n\n".join(parts)


def main() -> None:
    """Every notebook of the folder, in place."""
    os.environ.setdefault("COLUMNS", "80")
    for path in sorted(FOLDER.glob("*.ipynb")):
        text = json.dumps(executed(json.loads(path.read_text())), indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        print(path, f"{len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
