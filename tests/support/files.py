"""Files that a test writes."""

from __future__ import annotations

from pathlib import Path


def text_file(folder: Path, text: str, name: str) -> Path:
    """Write a text to a file in a folder; its path."""
    path = folder / name
    path.write_text(text)
    return path
