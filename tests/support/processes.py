"""Real processes: searched by an environment variable, started, and awaited."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cotenant.cluster.measure.jobs import Job
from support import sleeper

PATIENCE = 120.0  # seconds that a loaded machine may take for what is done at once

needs_two_cpus = pytest.mark.skipif(
    not sys.platform.startswith("linux") or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux and two CPUs",
)


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "not within the patience"
        time.sleep(0.02)


def carrying(variable: str, value: str) -> list[Any]:
    """The processes with a variable of this value, at whatever remove from who set it."""
    psutil = importlib.import_module("psutil")
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(variable) == value and process.status() != "zombie":
                processes.append(process)
    return processes


def cotenant_process(folder: Path, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Process of `cotenant WORDS` in a folder, with further environment variables."""
    settings = {name: options.pop(name) for name in ("start_new_session",) if name in options}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-m", "cotenant", *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": path, **options},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings,
    )  # fmt: skip


def sleeping(name: str, seconds: float, folder: Path, count: int = 2, **beside: float) -> Job:
    """A job of known penalties."""
    others = [f"{other}={penalty}" for other, penalty in beside.items()]
    words = (sys.executable, "-I", "-S", sleeper.__file__, name, str(seconds), str(folder))
    return Job(name, (*words, *others), directory=folder, count=count)


def write_queue(folder: Path, jobs: Iterable[tuple[str, str, Iterable[str], str]]) -> str:
    """A queue of jobs (name, type, command, rerun); its path."""
    path = folder / "queue.toml"
    path.write_text(
        "".join(
            f'[[job]]\nname = "{name}"\ntype = "{kind}"\nrerun = "{rerun}"\n'
            f"command = {json.dumps(list(command))}\n"
            for name, kind, command, rerun in jobs
        )
    )
    return str(path)


def lenient_settings(folder: Path, epoch: float = 5.0) -> str:
    """A settings file by which every run counts and machines may share CPUs; its path."""
    path = folder / "settings.toml"
    path.write_text(f"pressure = 1\nepoch = {epoch}\noverlap = true\n")
    return str(path)
