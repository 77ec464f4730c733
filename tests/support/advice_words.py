"""Printed answers about a cluster: their lines, numbers that must agree, and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cotenant.cluster.plan.answer import Answer
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.text_report import answer_lines, warning_lines


def lines_of(answer: Answer, details: bool = False) -> list[str]:
    """Lines of an answer as printed."""
    return answer_lines(shown(answer), details)


def after_warnings(answer: Answer, details: bool = False) -> list[str]:
    """Lines of an answer as printed, without the warnings about its files before it."""
    return lines_of(answer, details)[len(warning_lines(answer.state)) :]


def most_after(found: Answer) -> int:
    """Upper bound on the number of pending pods of a fit that can be placed after any moves."""
    return len(found.pods) - int(found.waits.bound)


def written(folder: Path, content: Any, name: str = "state.json") -> str:
    """Write a text, or a value as JSON, to a file."""
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return str(folder / name)
