"""Start of Python child processes, in one place.

Such a process looks for modules neither in the current folder nor in the user's site, so that no
file that lies beside somebody's data is ever run.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_PATH = "PYTHONPATH"

# Neither the current folder (-P) nor the user's site (-s) nor PYTHONPATH is looked at before the
# parent's own path has come, and that holds only what the parent imports from too.
_BOOT = """
import os, pickle, signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
requests = os.fdopen(os.dup(0), "rb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.path[:], given = pickle.load(requests)
os.environ.update(given)
"""


def start_python(
    code: str, *arguments: str, environment: Mapping[str, str] | None = None, **settings: Any
) -> subprocess.Popen[bytes]:
    """Start an interpreter with the same import path as this one, and run code in it.

    Parameters
    ----------
    code : Python; `requests` in it is the stream of what is written to the process's standard input
        (a pipe). SIGINT and SIGTERM are ignored when it begins.
    arguments : in `sys.argv` of the code, from the second on.
    environment : its whole environment; this process's when not given.
    settings : of `subprocess.Popen`.

    Raises
    ------
    OSError
        The machine starts no more processes.
    """
    variables = os.environ if environment is None else environment
    process = subprocess.Popen(
        [sys.executable, "-P", "-s", "-c", _BOOT + code, *arguments],
        env={name: value for name, value in variables.items() if name != _PATH},
        stdin=subprocess.PIPE,
        **settings,
    )
    assert process.stdin is not None
    # for what the process itself starts
    given = {_PATH: variables[_PATH]} if _PATH in variables else {}
    path = [entry for entry in sys.path if isinstance(entry, str)]
    with suppress(BrokenPipeError):  # it ended at once, which whoever asks it something will see
        os.write(process.stdin.fileno(), pickle.dumps((path, given)))
    return process


def isolated(script: Path, *arguments: str) -> list[str]:
    """Command line that runs a script of the standard library alone, without the site and Python's
    environment variables.
    """
    return [sys.executable, "-I", "-S", str(script), *arguments]
