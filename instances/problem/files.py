"""The file format: one JSON document per instance, read and written as exact inverses."""

from __future__ import annotations

import errno
import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import Instance, plain
from .errors import InvalidFile, InvalidInstance, UnknownName, suggest
from .registry import PROBLEM_NAMES, problem_named, resolve

if TYPE_CHECKING:
    import pydantic

FORMAT = 1
"""Version of the document format, the value of its "cotenant" field."""

_DATA = Path(__file__).resolve().parent.parent / "data"
SUFFIXES = (".json", ".json.gz")
"""How the names of documents end."""


def bundled() -> list[str]:
    """The names of the bundled instances, `problem/name`, in order."""
    found = []
    for path in sorted(_DATA.glob("*/*")):
        for suffix in SUFFIXES:
            if path.name.endswith(suffix):
                found.append(f"{path.parent.name}/{path.name.removesuffix(suffix)}")
    return found


def locate(source: str | os.PathLike[str]) -> Path:
    """The file that `source` means: a path that exists, or a bundled instance `problem/name`."""
    path = Path(source)
    if path.is_file():
        return path
    if path.is_dir():
        raise InvalidFile(f"{path} is a folder; name one instance file in it (`cotenant compare` and `read_all` take folders)")
    text = os.fspath(source).replace("\\", "/")
    for suffix in SUFFIXES:
        candidate = _DATA / f"{text}{suffix}"
        if text.count("/") == 1 and ".." not in text and candidate.is_file():
            return candidate
    if not path.suffix and text.count("/") == 1:
        raise UnknownName("file or bundled instance", text, bundled(), "cotenant show")
    near = suggest(text, bundled(), listing="cotenant show")
    raise InvalidFile(f"{text} does not exist; check the path, or name a bundled instance ({near})")


def read(source: str | os.PathLike[str], problem: str | None = None) -> Instance:
    """Read an instance of any problem.

    Parameters
    ----------
    source : path of a `.json` or `.json.gz` file, or a bundled instance such as "colocation/tiny".
    problem : the problem it must be of; any when not given.

    Raises
    ------
    InvalidFile
        The file is missing, truncated, not JSON, not a document of this package, or of another problem.
    InvalidInstance
        A field is missing, unknown, of the wrong type, or breaks a rule of the problem.
    """
    path = locate(source)
    text = read_text(path)
    return instance_of(document(text, path), text, path, problem)


def document(text: str, path: Path) -> dict[str, Any]:
    """The content of a document of this package, of whatever kind; raises InvalidFile when it is none."""
    content = parse_json(text, path)
    if "cotenant" not in content:
        raise InvalidFile(f'{path} has no field "cotenant"; an instance begins with {{"cotenant": {FORMAT}, "problem": ...}}')
    if content["cotenant"] != FORMAT:
        raise InvalidFile(f"{path}: cotenant is {content['cotenant']!r}; this version reads format {FORMAT}")
    return content


def instance_of(content: dict[str, Any], text: str, path: Path, problem: str | None = None) -> Instance:
    """The instance that a document holds; see `read` for what it raises."""
    if "result" in content:
        raise InvalidFile(f"{path} is a result, not an instance; give the instance file first")
    name = content.get("problem")
    if name not in PROBLEM_NAMES:
        raise InvalidFile(f"{path}: problem is {name!r}; {suggest(str(name), PROBLEM_NAMES)}")
    if problem is not None and name != problem:
        raise InvalidFile(f"{path} is a {name} instance; expected {problem}")
    return _validated(name, content, text, path)


def write(instance: Instance, path: str | os.PathLike[str]) -> Path:
    """Write an instance as `.json` or `.json.gz`, whole or not at all; returns the path."""
    content = {"cotenant": FORMAT, "problem": instance.problem, "name": instance.name, "source": instance.source}
    if not os.fspath(path).endswith(SUFFIXES):
        raise InvalidFile(f"{os.fspath(path)} must end in .json or .json.gz")
    return write_text(path, json.dumps({**content, **plain(instance.document())}, allow_nan=False) + "\n")


def schema(problem: str) -> dict[str, Any]:
    """The JSON Schema of a problem's instance document."""
    return _document_type(problem).model_json_schema()


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, gunzipped when its name ends in .gz; a clear error when it cannot be read."""
    try:
        data = Path(path).read_bytes()
        return (gzip.decompress(data) if os.fspath(path).endswith(".gz") else data).decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidFile(f"{os.fspath(path)} does not exist; check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{os.fspath(path)} is a folder; name a file in it") from None
    except (OSError, EOFError) as error:
        raise InvalidFile(f"{os.fspath(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{os.fspath(path)} is not UTF-8 text; expected JSON or CSV") from None


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file whole, then rename it into place; nothing half-written is ever left."""
    data = text.encode()
    if Path(path).name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)  # no time stamp: equal content, equal file
    return write_bytes(path, data)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file whole, then rename it into place; nothing half-written is ever left.

    A link stays a link: the file that it names is written. A device or a pipe, such as /dev/stdout, is written to as it is.
    """
    target = Path(path)
    final = Path(os.path.realpath(target))
    temporary = None
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as stream:  # a renamed file would take its place
                stream.write(data)
            return target
        handle, temporary = tempfile.mkstemp(dir=final.parent, prefix=f".{final.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes files private
        os.replace(temporary, final)
    except OSError as error:
        cure = "make room" if error.errno == errno.ENOSPC else "choose a folder that exists and is writable"
        raise InvalidFile(f"{target} cannot be written: {error.strerror}; {cure}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return target


def parse_json(text: str, path: str | os.PathLike[str]) -> dict[str, Any]:
    """A JSON object from `text`; NaN, Infinity, repeated keys, truncation and non-objects are errors with their line."""

    def refuse(constant: str) -> None:
        raise InvalidFile(f"{os.fspath(path)} holds {constant}, which is not JSON; write null for infinity")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidFile(f"{os.fspath(path)} gives the field {twice!r} twice")
        return content

    try:
        content = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
        where = "is truncated or not JSON" if cut else "is not JSON"
        raise InvalidFile(f"{os.fspath(path)} {where}: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:  # a number of thousands of digits
        raise InvalidFile(f"{os.fspath(path)} holds a number that is too long: {error}") from None
    except RecursionError:
        raise InvalidFile(f"{os.fspath(path)} is nested too deeply to be an instance") from None
    if not isinstance(content, dict):
        raise InvalidFile(f"{os.fspath(path)} holds a {type(content).__name__}; expected a JSON object")
    return content


def _document_type(problem: str) -> type[pydantic.BaseModel]:
    document: type[pydantic.BaseModel] = resolve(problem_named(problem).document)
    return document


def _validated(name: str, content: dict[str, Any], text: str, path: Path) -> Instance:
    import pydantic

    try:
        document = _document_type(name).model_validate(content, strict=True)
    except pydantic.ValidationError as error:
        first = min(
            error.errors(include_url=False), key=lambda entry: entry["type"] != "extra_forbidden"
        )  # a misspelt name first
        place = [part for part in first["loc"] if not (isinstance(part, str) and part.endswith("]"))]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        line = _line_of(text, place)
        seen = "missing" if first["type"] == "missing" else f"{_short(first['input'])}"
        if first["type"] == "extra_forbidden":
            known = _document_type(name).model_fields
            raise InvalidInstance(
                f"{path}{line}: field {field!r}", "unknown", f"one of {', '.join(known)}", suggest(field, known)
            ) from None
        raise InvalidInstance(f"{path}{line}: {field}", seen, _expected(first["msg"])) from None
    try:
        made = document.build()  # type: ignore[attr-defined]
    except InvalidInstance as error:
        raise error.within(f"{path}{_line_of(text, [error.field.partition('[')[0]])}") from None
    assert isinstance(made, Instance)
    return made


def _line_of(text: str, place: list[Any]) -> str:
    """The text ", line N" for the first key of `place` in the file, where it stands."""
    if not place or not isinstance(place[0], str):
        return ""
    position = text.find(f'"{place[0]}"')
    return f", line {text.count(chr(10), 0, position) + 1}" if position >= 0 else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _expected(message: str) -> str:
    return message.removeprefix("Input should be ").removeprefix("Value error, ").removeprefix("Field required") or "a value"
