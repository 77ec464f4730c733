"""Approved messages: what differs fails and shows both, and every entry is of a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import messages
from support.messages import Messages, approved, normalized, refused

from cotenant.instances.problem.errors import InvalidInstance

TESTS = Path(__file__).parent
MOST_SENTENCES = 100


@contextmanager
def only(*texts: str) -> Iterator[None]:
    """Have these texts alone be approved, for the test that runs; nothing of it is written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "current", Messages(set(texts)))
        yield


def raised() -> None:
    raise InvalidInstance("count", 0, "at least 1")


def test_refused_compares_error_with_approved_message() -> None:
    fails = pytest.raises(pytest.fail.Exception, match="not approved")
    with only(), fails, refused(InvalidInstance):
        raised()
    with only("count is 0; expected at least 1"):
        with refused(InvalidInstance, field="count"):
            raised()
        with pytest.raises(AssertionError), refused(InvalidInstance, field="other"):
            raised()
        with pytest.raises(pytest.fail.Exception), refused(InvalidInstance):
            pass


def test_message_difference_shows_both_texts() -> None:
    with only("one line of words"), pytest.raises(pytest.fail.Exception) as caught:
        approved("one\nline  of worms")
    assert "- one line of words\n?" in str(caught.value)
    assert "+ one line of worms\n?" in str(caught.value)


def test_machine_dependent_parts_of_messages_are_masked(tmp_path: Path) -> None:
    text = (
        f"{tmp_path}/a.json, {Path.home()}/b, {messages.ROOT}/c: cotenant 1.2.0, pid 71, 0x7f00aa11"
    )
    masked = "<tmp>/a.json, <home>/b, <root>/c: cotenant <version>, pid <pid>, <address>"
    assert normalized(text) == masked


def test_approved_messages_belong_to_existing_test_files() -> None:
    assert {name for name in messages.read_approved() if not (TESTS / name).exists()} == set()


def sentences(path: Path) -> int:
    """Assertions of a file on three words of English or more."""

    def is_sentence(node: ast.AST) -> bool:
        text = getattr(node, "value", None)
        if not isinstance(text, str) or re.match(r"[A-Z]{4,} ", text):  # SQL
            return False
        if re.search(r"[<>{}|\\]|--|=|; ?$|^(from|import) ", text):  # markup, commands, patterns
            return False
        return " " in text and len(re.findall("[A-Za-z']{2,}", text)) >= 3

    def has_sentence(node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):  # a name of a column or a finding
            return has_sentence(node.value)
        return is_sentence(node) or any(map(has_sentence, ast.iter_child_nodes(node)))

    return sum(
        has_sentence(node.test if isinstance(node, ast.Assert) else node.value)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "match")
    )


def test_few_assertions_are_on_english_sentences() -> None:
    found = {path.name: sentences(path) for path in TESTS.rglob("*.py")}
    assert sum(found.values()) <= MOST_SENTENCES, {n: k for n, k in found.items() if k}
