"""Command line called inside this process, which saves the second that a process needs to import
the libraries.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from cotenant.cli import main


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Output and exit code of `cotenant ARGUMENTS`; both streams are files, as in a script."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        with (
            sent_to(out.fileno(), 1, "stdout"), sent_to(err.fileno(), 2, "stderr"),
            patch.object(sys, "argv", ["cotenant", *arguments]),
            patch.object(sys, "path", list(sys.path)),
            patch.dict(os.environ, environment),
        ):  # fmt: skip
            try:
                main()
                code: object = 0
            except SystemExit as leaving:
                code = leaving.code
        out.seek(0)
        err.seek(0)
        assert isinstance(code, int)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def settings_file(folder: Path, **values: object) -> list[str]:
    """Options that give a command settings, which are written to a file in a folder."""
    path = folder / "settings.toml"
    # a number, a text and a list of texts are written in JSON as in TOML
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return ["--settings", str(path)]


@contextmanager
def sent_to(target: int, number: int, name: str) -> Iterator[None]:
    """Redirect a file descriptor and the stream of that name to the file of another descriptor."""
    getattr(sys, name).flush()
    keep = os.dup(number)
    os.dup2(target, number)
    try:
        with (
            open(number, "w", encoding="utf-8", closefd=False) as stream,
            patch.object(sys, name, stream),
        ):
            yield
    finally:
        os.dup2(keep, number)
        os.close(keep)


class Terminal(io.StringIO):
    """Text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def piped(content: bytes) -> str:
    """The path of a pipe that this process was handed, with something in it."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return f"/dev/fd/{reader}"
