"""Approved messages: what errors and short outputs say, kept whole in one file.

`pytest --approve` writes what the tests that ran and passed have seen; read the difference before
you commit it. A message that hangs on the platform, on timing or on drawn cases (hypothesis) is
asserted by hand.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import re
import socket
import tempfile
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import cotenant

FILE = Path(__file__).resolve().parents[1] / "approved_messages.json"
ROOT = FILE.parents[1]
END = r"(?![\w.-])"
PLACES = [
    (rf"{re.escape(tempfile.gettempdir())}/pytest-of-\w+/pytest-\d+(/popen-gw\d+)?/\w+", "<tmp>"),
    (rf"{re.escape(tempfile.gettempdir())}/tmp\w{{8}}{END}", "<tmp>"),
    (re.escape(str(ROOT)) + END, "<root>"),
    (re.escape(str(Path(cotenant.__file__).resolve().parent)) + END, "<root>"),
    (re.escape(str(Path.home())) + END, "<home>"),
    (r"\b0x[0-9a-f]{6,}\b", "<address>"),
    (r"\b\d{4,} d\b", "<age> d"),  # of what was measured at a time that the test gives
    (r"/dev/fd/\d+", "/dev/fd/<number>"),
    (
        rf"\bon {re.escape(socket.gethostname())}, since [-\d]+ [:\d]+ [+-]\d{{4}}",
        "on <host>, since <time>",
    ),
    (r"\b(127\.0\.0\.1|localhost):\d+", r"\1:<port>"),
    (r"\+ [\d.]+ s to start [^;]*?in no run's seconds", ""),
    (r"loading libraries and compiling kernels .not counted. \.\.\.", ""),
    (r"(no scheduler answers there within [\d.]+ s) \([^)]*\)", r"\1 (<why>)"),
    (r"\b[\d.]+ GB are free", "<free> GB are free"),
    (r"\b(process|pid) \d+", r"\1 <pid>"),
    (r"\b(cotenant|Python) \d+\.\d+[\w.+]*", r"\1 <version>"),
]
"""What differs from one machine or run to the next, and what stands for it; paths first."""

collected: set[str] = set()
"""All tests of the files that were given, also those that are left out of this run."""

_seen: dict[str, list[str]] = {}
"""The messages of every test of this process that passed, in the order of its calls."""


@dataclass
class Messages:
    """What is approved of every test, what the test that runs has shown so far, and whether all of
    it is to be approved.
    """

    approved: dict[str, list[str]]
    shown: list[str] = field(default_factory=list)
    approve: bool = False

    def compare(self, text: str) -> None:
        """Expect the next message of the test that runs."""
        seen = normalized(text)
        place = len(self.shown)
        self.shown.append(seen)
        if self.approve:
            return
        messages = self.approved.get(current_test(), [])
        if place >= len(messages):
            pytest.fail(f"not approved yet (pytest --approve): {seen}")
        if messages[place] != seen:
            pair = [textwrap.wrap(message, 96) for message in (messages[place], seen)]
            lines = "\n".join(line.rstrip() for line in difflib.ndiff(*pair))
            pytest.fail(f"- is approved, + is seen; pytest --approve takes what is seen:\n{lines}")


@contextmanager
def refused(
    kind: type[BaseException] | tuple[type[BaseException], ...], field: str | None = None
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of a kind, with the approved message, and with a value of `.field`."""
    with pytest.raises(kind) as caught:
        yield caught
    if field is not None:
        assert caught.value.field == field
    current.compare(str(caught.value))


def approved(text: str | Iterable[str]) -> None:
    """Expect a text, or several, to be the approved one; how its lines are broken is left out."""
    whole = text if isinstance(text, str) else "\n".join(text)
    current.compare(" ".join(normalized(whole).split()))


def normalized(text: str) -> str:
    """A text without what differs from one machine or run to the next."""
    for pattern, name in PLACES:
        text = re.sub(pattern, name, text)
    return text


def read_approved() -> dict[str, list[str]]:
    """The approved messages of every test, by the test's file, name and parameters."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def current_test() -> str:
    """The test that runs: its file in tests/, its name and its parameters."""
    return key_of(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0])


def key_of(nodeid: str) -> str:
    """The key of a test in the file of messages."""
    return nodeid.removeprefix("tests/")


def gone(keys: Iterable[str], arguments: list[str]) -> list[str]:
    """Entries of tests that the files which ran no longer have."""
    if any("::" in argument for argument in arguments):
        return []
    files = {key.partition("::")[0] for key in collected}
    return [key for key in keys if key.partition("::")[0] in files and key not in collected]


current = Messages(read_approved())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--approve", action="store_true", help="approve the messages that are seen")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Begin the list of a test's messages, and see that none that was approved is missing."""
    current.approve = item.config.getoption("--approve")
    current.shown.clear()
    yield
    key = key_of(item.nodeid)
    _seen[key] = list(current.shown)
    missing = current.approved.get(key, [])[len(current.shown) :]
    if missing and not current.approve:
        pytest.fail(f"approved, but not seen (pytest --approve): {missing}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was approved; several workers write one after the other."""
    if not session.config.getoption("--approve") or not _seen:
        return
    with open(FILE, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = json.loads(file.read() or "{}") | _seen
        for key in gone(known, session.config.args):
            del known[key]
        entries = {key: known[key] for key in sorted(known) if known[key]}
        file.truncate(0)
        file.write(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
