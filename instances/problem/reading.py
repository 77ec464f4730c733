"""Reader of all files: limited size, complete content or an error; text, CSV and JSON; hints on
files of another kind.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import math
import os
import re
import select
import stat
import tomllib
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from .errors import InvalidFile, InvalidOption, spelled
from .fields import repeated

FILE_LIMIT = 64_000_000
"""Bytes of a gunzipped file that are read at most; Python may need twenty times as much."""

_BYTES = {"lists and objects": 16, "numbers": 8, "lines": 64, "columns": 640}
"""Bytes of the limit for each: a file of shorter ones takes fifty times its memory."""

LIMIT_VARIABLE = "COTENANT_FILE_LIMIT"
"""The environment variable that sets another limit, such as 500MB or 2GB."""

STDIN_SECONDS = 60.0
"""Seconds without a byte after which a pipe on standard input is given up."""

MOST_NESTED = 100
"""Levels of lists and objects within each other; documents of this package have about six."""

_MOST_DIGITS = 300
"""Of a whole number; beyond 308 it is no float."""

_LARGE = 10.0 ** (_MOST_DIGITS - 2)
"""A number that is less is finite, and a whole one has fewer digits."""

_LONG = 100
"""Entries of a list that is looked at by itself."""

STANDARD_INPUT = ("-", "/dev/stdin")
_HANDED = "/dev/fd/"
"""Where a shell puts what it hands over: `cotenant show <(zcat x.json.gz)`."""

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
"""How gzip files begin, and text in UTF-8 never does."""


def file_limit() -> int:
    """Maximum number of bytes read from a file; raises InvalidOption for a bad
    COTENANT_FILE_LIMIT.
    """
    given = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not given:
        return FILE_LIMIT
    found = re.fullmatch(r"([0-9]{1,15}) *([kMG]?)B?", given, re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise InvalidOption(
            f"{LIMIT_VARIABLE} is {given!r}; expected a number of bytes above 0, such as "
            "500MB or 2GB"
        )
    return int(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2].lower()]


def is_standard_input(path: str | os.PathLike[str]) -> bool:
    """Whether a path is standard input ("-") or the pipe of a shell's process substitution."""
    text = os.fspath(path)
    return text in STANDARD_INPUT or (
        text.startswith(_HANDED) and text.removeprefix(_HANDED).isdecimal()
    )


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a regular file or standard input ("-" or /dev/stdin), gunzipped if it is a gzip file.

    Raises
    ------
    InvalidFile
        It is missing, a folder, a pipe or a device, cannot be read, or is longer than the limit
        (`file_limit`); or nothing came on standard input for a minute.
    """
    where, limit = os.fspath(path), file_limit()
    with _in_words(where):
        read = _from_standard_input if is_standard_input(path) else _from_file
        data = read(where, limit)
        if data.startswith(_GZIP) or where.endswith(".gz"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(limit + 1)
    if len(data) > limit:
        raise _too_long(where, limit)
    return data


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise InvalidFile for a path that is not a regular file, before a foreign reader opens it."""
    where = os.fspath(path)
    with _in_words(where):
        _require_regular(os.stat(where).st_mode, where, "")


@contextmanager
def _in_words(where: str) -> Iterator[None]:
    """Context that turns an operating system error into InvalidFile with its reason."""
    try:
        yield
    except InvalidFile:
        raise
    except FileNotFoundError:
        raise InvalidFile(f"{where} does not exist; check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{where} is a folder; name a file in it") from None
    # ValueError: a path with a null character
    except (OSError, EOFError, ValueError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{where} cannot be read: {why}") from None


def read_text(path: str | os.PathLike[str]) -> str:
    """Read the text of a UTF-8 file; raises the errors of `read_bytes`."""
    return decoded(read_bytes(path), path)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the content of a TOML file; raises InvalidFile."""
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFile(f"{os.fspath(path)} is not TOML: {error}") from None


def decoded(data: bytes, path: str | os.PathLike[str]) -> str:
    """Decode a file's bytes as UTF-8; raises InvalidFile."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFile(
            f"{os.fspath(path)} is not UTF-8 text; expected JSON or CSV (a spreadsheet saves it as "
            "CSV UTF-8)"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_lines(path: str | os.PathLike[str], text: str | None = None) -> list[str]:
    """Lines of a text file, or of a text read before; raises the errors of `read_bytes`."""
    text = read_text(path) if text is None else text
    require_few(text, "\r\n", "lines", os.fspath(path))
    return text.splitlines()


def require_few(text: str, marks: str, what: str, where: str) -> None:
    """Raise InvalidFile if a text has more lines, lists or numbers than can be parsed.

    Parameters
    ----------
    marks : the letters that begin or end one.
    what : a key of `_BYTES`.
    where : the file, for the message.
    """
    most = file_limit() // _BYTES[what]
    if (number := sum(map(text.count, marks))) > most:
        raise InvalidFile(
            f"{where} holds {number} {what}; at most {most} are read; "
            f"{_raise(number * _BYTES[what])}"
        )


def csv_rows(
    text: str, path: str | os.PathLike[str], delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Nonempty rows of a CSV text, each with the number of its (last) line; letters with accents
    are normalized (NFC), so that names that look the same are equal.
    """
    where = os.fspath(path)
    text = unicodedata.normalize("NFC", text)

    def narrow() -> Iterator[str]:
        for line in io.StringIO(text):
            require_few(line, delimiter, "columns", where)  # csv takes a line whole
            yield line

    try:
        lines = csv.reader(narrow(), delimiter=delimiter)
    except (TypeError, ValueError):
        raise InvalidOption(f"delimiter is {delimiter!r}; expected one character") from None
    require_few(text, "\r\n", "lines", where)
    try:
        for row in lines:
            if any(cell.strip() for cell in row):
                yield lines.line_num, row
    except csv.Error as error:
        raise InvalidFile(f"{where}, line {lines.line_num} is not CSV: {error}") from None


def parse_json(text: str, path: str | os.PathLike[str], wanted: str = "") -> dict[str, Any]:
    """Parse the JSON object of a text; raises the errors of `parse_any_json`."""
    content = parse_any_json(text, path, wanted)
    if not isinstance(content, dict):
        known = hint(content)
        words = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
        raise InvalidFile(
            f"{os.fspath(path)} holds {words.get(type(content), 'a number')}; "
            f"{known or 'expected a JSON object'}"
        )
    return content


def is_version(value: object, version: int) -> bool:
    """Whether a field of a file equals a version number and is an int (in Python, True
    equals 1).
    """
    return type(value) is int and value == version


def parse_any_json(text: str, path: str | os.PathLike[str], wanted: str = "") -> Any:
    """Parse a JSON text to a value with finite numbers only; raises InvalidFile.

    Parameters
    ----------
    wanted : what it should be, for messages.

    NaN, Infinity, numbers beyond what a computer's can be, repeated keys, truncation, endless
    nesting and millions of lists are errors, with their line where there is one.
    """
    where = os.fspath(path)
    if not text.strip():
        raise InvalidFile(f"{where} is empty; expected {wanted or 'JSON'}")
    require_few(text, "[{", "lists and objects", where)
    try:
        return _ordinary(text)
    except ValueError:  # what is wrong with it, if anything, the slower decoder says
        return _decoded(text, where, wanted)


def _ordinary(text: str) -> Any:
    """Parse a JSON text by pydantic's parser; raises ValueError for a text that the parser refuses,
    or that may break a rule of `parse_any_json`.

    That parser is three times as fast as Python's, and lets the last of equal keys win, unsaid.
    But each key is followed by a colon of the text, and each other colon is within a string.
    """
    from pydantic_core import from_json

    if "\\" in text and "\\u003" in text:  # a colon that is not one of the text
        raise ValueError
    content = from_json(text, allow_inf_nan=False)
    colons, level = 0, [[content]]
    for _ in range(MOST_NESTED + 1):  # a pass for each depth; short lists and objects are joined
        lists: list[list[Any]] = []
        objects: list[dict[str, Any]] = []
        for values in level:
            numbers = values
            if not {float, int}.issuperset(map(type, values)):
                numbers = [x for x in values if type(x) in (int, float)]
                colons += sum(x.count(":") for x in values if type(x) is str)
                lists += [x for x in values if type(x) is list]
                objects += [x for x in values if type(x) is dict]
            if numbers and not (min(numbers) > -_LARGE and max(numbers) < _LARGE):
                raise ValueError
        colons += sum(len(x) + "".join(x).count(":") for x in objects)
        short = chain.from_iterable(x for x in lists if len(x) < _LONG)
        joined = [*short, *chain.from_iterable(map(dict.values, objects))]
        level = [x for x in lists if len(x) >= _LONG]
        if joined:
            level.append(joined)
    # nested too deep, or an equal key was lost with its colon
    if level or colons != text.count(":"):
        raise ValueError
    return content


def _decoded(text: str, where: str, wanted: str) -> Any:
    """JSON value of a text by Python's decoder; raises InvalidFile with the reason and line."""
    try:
        content = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if known := instead_of_json(text, error, where, wanted):
            raise InvalidFile(known) from None
        cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
        what = "is truncated or not JSON" if cut else "is not JSON"
        raise InvalidFile(
            f"{where} {what}: {error.msg.removesuffix(' at')} at line {error.lineno}, "
            f"column {error.colno}"
        ) from None
    except _Unreadable as error:
        raise InvalidFile(f"{where} {error}") from None
    except RecursionError:
        raise _too_deep(where) from None
    level = [content] if isinstance(content, dict | list) else []
    for _ in range(MOST_NESTED):
        holders = (entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [entry for holder in holders for entry in holder if isinstance(entry, dict | list)]
    if level:
        raise _too_deep(where)
    return content


class _Unreadable(Exception):
    """Exception for valid JSON that is not read; its message follows the file's name."""


def _refuse(constant: str) -> None:
    raise _Unreadable(f"holds {constant}, which is not JSON; write null for infinity")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise _Unreadable(
            f"holds {_cut(number)}, which is beyond every number here; write null for infinity"
        )
    return value


def _of_size(number: str) -> int:
    if len(number) > _MOST_DIGITS:
        raise _Unreadable(
            f"holds {_cut(number)}, a number of {len(number)} digits, which is too long"
        )
    return int(number)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise _Unreadable(f"gives the field {repeated(name for name, _ in pairs)!r} twice")
    return content


_DECODER = json.JSONDecoder(
    parse_constant=_refuse, parse_float=_finite, parse_int=_of_size, object_pairs_hook=_unique
)


def _from_file(where: str, limit: int) -> bytes:
    """Read a regular file; others are not opened, since that may block or have effects."""
    _require_regular(os.stat(where).st_mode, where)
    flags = ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")  # those there are on this system
    stream = os.open(where, os.O_RDONLY | sum(getattr(os, name, 0) for name in flags))
    try:
        found = os.fstat(stream)
        _require_regular(found.st_mode, where)  # it may have been replaced in between
        if found.st_size > limit:
            raise _too_long(where, limit, found.st_size)
        return _read_up_to(stream, limit)
    finally:
        os.close(stream)


def _from_standard_input(where: str, limit: int) -> bytes:
    stream = int(where.removeprefix(_HANDED)) if where.startswith(_HANDED) else 0
    if os.isatty(stream):
        raise InvalidFile(f"{where} is a terminal; pipe a file into the command, or name one")

    def wait() -> None:
        if hasattr(select, "poll"):  # not on Windows
            waiting = select.poll()
            waiting.register(stream, select.POLLIN)
            if not waiting.poll(STDIN_SECONDS * 1000):
                raise InvalidFile(
                    f"{where} cannot be read: nothing came within {STDIN_SECONDS:g} s; "
                    "check that a program writes to it"
                )

    return _read_up_to(stream, limit, wait)


def _read_up_to(stream: int, limit: int, wait: Callable[[], None] = lambda: None) -> bytes:
    """Read a stream up to one byte more than the size limit; `wait` is called before each part."""
    parts: list[bytes] = []
    left = limit + 1
    while left > 0:
        wait()
        part = os.read(stream, min(left, _CHUNK))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _require_regular(
    mode: int, where: str, others: str = ", and standard input, given as -"
) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
        kind = kinds.get(stat.S_IFMT(mode), "device")
        raise InvalidFile(f"{where} is a {kind}; only regular files are read{others}")


def _raise(size: int) -> str:
    """Sentence on how to raise the size limit of files to a number of bytes."""
    return f"set {LIMIT_VARIABLE} to read it, as in {LIMIT_VARIABLE}={math.ceil(size / 1e6)}MB"


def _too_long(where: str, limit: int, size: int | None = None) -> InvalidFile:
    """Error for a file above the size limit; the size of a stream is unknown."""
    long = f"{size / 1e6:.6g}" if size is not None else f"more than {limit / 1e6:g}"
    return InvalidFile(
        f"{where} holds {long} MB; at most {limit / 1e6:g} MB are read; "
        f"{_raise(10**9 if size is None else size)}"
    )


def _too_deep(where: str) -> InvalidFile:
    return InvalidFile(
        f"{where} is nested more than {MOST_NESTED} levels deep; no document of this package is"
    )


def _cut(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."


def is_kubernetes(content: Any) -> bool:
    """Whether a JSON value is a Kubernetes object, such as a List."""
    kind = content.get("kind") if isinstance(content, dict) else None
    return isinstance(kind, str) and "apiVersion" in content


def hint(content: Any) -> str:
    """Sentence on which command or format reads a JSON value; "" if unknown."""
    reads = "this looks like a Kubernetes List: `cotenant advise nodes FILE` reads it"
    return reads * is_kubernetes(content)


def document_kind(content: Any) -> str:
    """Sentence on which document of this package a JSON value is; "" if it is none."""
    if not isinstance(content, dict):
        return ""
    if "cotenant_proof" in content:
        return "a proof, which `cotenant verify INSTANCE PROOF.json` judges"
    if isinstance(content.get("key"), str) and {"method", "metrics"} <= set(content):
        return "a row of `cotenant compare --out`, which `cotenant report` reads"
    if "cotenant" in content and "result" in content:
        return "a result of `cotenant solve --out`"
    return "an instance" if {"cotenant", "problem"} <= set(content) else ""


def instead_of_json(text: str, error: json.JSONDecodeError, where: str, wanted: str) -> str:
    """Sentence on a file that holds JSON lines or a table in place of one JSON value; "" if it
    holds neither.
    """
    if error.msg == "Extra data":
        first: Any = None
        try:
            first = json.loads(text[: error.pos])
        except (ValueError, RecursionError):
            return ""
        what = document_kind(first)
        cure = f"; each is {what}" if what else ""
        if is_kubernetes(first):
            cure = "; `kubectl get ... -o json` prints them as one List"
        return f"{where} holds several JSON values one after the other; expected one{cure}"
    line = text.lstrip().partition("\n")[0]
    if line[:1] in ("{", "[", '"') or not any(mark in line for mark in ",;\t"):
        return ""
    cure = wanted and f"expected {wanted}"
    if "coalition" in line.lower():
        cure = cure or f"`cotenant analyze core {where}` divides what coalitions earn or cost"
    cure = cure or spelled(
        f"`cotenant convert {where} --from FORMAT --out FILE.json` makes an instance of it (csv "
        "for tables with plain headers; penalty-csv or slowdown-csv for a square matrix)",
        "`from_frame` of a problem's class makes an instance of its pandas.DataFrame, and "
        "instances.colocation.formats.penalty_csv or slowdown_csv of a square matrix",
    )
    return f"{where} is not JSON but looks like a table; {cure}"
