"""Approved messages: what errors and short outputs say, kept whole in one file.

`pytest --approve` writes what the tests that ran and passed have seen; read the difference before
you commit it. A message that hangs on the platform, on timing or on drawn cases (hypothesis) is
asserted by hand.
"""

from __future__ import annotations

import difflib
import fcntl
import json
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
    (r"\+ [\d.]+ s to start [^;]*?not in the seconds of runs", ""),
    (r"loading libraries and compiling kernels .not counted. \.\.\.", ""),
    (r"(no scheduler with a worker answers there within [\d.]+ s) \([^)]*\)", r"\1 (<why>)"),
    (r"\b[\d.]+ GB are free", "<free> GB are free"),
    (r"\b(process|pid) \d+", r"\1 <pid>"),
    (r"\b(cotenant|Python) \d+\.\d+[\w.+]*", r"\1 <version>"),
    (r"(\S)\1{24,}", r"\1..."),  # names of thousands of letters, lines of tables
]
"""What differs from one machine or run to the next, and what stands for it; paths first."""

NO_VALUE = object()
"""Default of `shown`: its repr is in no message."""

_seen: dict[str, set[str]] = {}
"""The messages that the passed tests of each file have shown in this process."""

collected: set[tuple[str, str]] = set()
"""File and id of each test that has not passed, also of those that are left out of this run."""


@dataclass
class Messages:
    """Approved messages of the file whose test runs, and the messages that it has shown so far."""

    approved: set[str]
    shown: set[str] = field(default_factory=set)
    approve: bool = False

    def compare(self, text: str) -> None:
        """Fail unless a message is approved, with the difference to the most similar approved
        message.
        """
        seen = normalized(text)
        self.shown.add(seen)
        if self.approve or seen in self.approved:
            return
        near = difflib.get_close_matches(seen, self.approved, 1, 0.5)
        if not near:
            pytest.fail(f"not approved yet (pytest --approve): {seen}")
        pair = [textwrap.wrap(message, 96) for message in (near[0], seen)]
        lines = "\n".join(line.rstrip() for line in difflib.ndiff(*pair))
        pytest.fail(f"- is approved, + is seen; pytest --approve takes what is seen:\n{lines}")


@contextmanager
def refused(
    kind: type[BaseException] | tuple[type[BaseException], ...],
    field: str | None = None,
    shown: object = NO_VALUE,
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of a kind, with the approved message, in which `<value>` stands for the repr
    of `shown`, and with a value of `.field`.
    """
    with pytest.raises(kind) as caught:
        yield caught
    if field is not None:
        assert caught.value.field == field
    current.compare(str(caught.value).replace(repr(shown), "<value>", 1))


def approved(text: str | Iterable[str]) -> None:
    """Assert that a text, or lines joined to one, equals an approved message except for line
    breaks.
    """
    whole = text if isinstance(text, str) else "\n".join(text)
    current.compare(" ".join(normalized(whole).split()))


def normalized(text: str) -> str:
    """A text without what differs from one machine or run to the next."""
    for pattern, name in PLACES:
        text = re.sub(pattern, name, text)
    return text


def read_approved() -> dict[str, list[str]]:
    """The approved messages of each file of tests."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


_approved = read_approved()
current = Messages(set())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--approve", action="store_true", help="approve the messages that are seen")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Collect the messages that a test shows; they are kept if it passes."""
    name = item.path.name
    current.approve = item.config.getoption("--approve")
    current.approved, current.shown = set(_approved.get(name, ())), set()
    yield
    collected.discard((name, item.nodeid))
    _seen.setdefault(name, set()).update(current.shown)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was approved; several workers write one after the other. A file of which every
    test has passed keeps nothing else.
    """
    if not session.config.getoption("--approve") or not _seen:
        return
    partial = {name for name, _ in collected}
    with open(FILE, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = {name: set(texts) for name, texts in json.loads(file.read() or "{}").items()}
        for name, texts in _seen.items():
            known[name] = texts | (known.get(name, set()) if name in partial else set())
        entries = {name: sorted(known[name]) for name in sorted(known) if known[name]}
        file.truncate(0)
        file.write(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
