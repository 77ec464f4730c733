"""File format of instances: one JSON document each, read and written as exact inverses, and folders
of such files.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import secrets
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .base import Instance
from .documents import in_words, shortened, to_json_value, whole_json_numbers, wrong_field
from .errors import InvalidFile, InvalidInstance, UnknownName, suggest
from .fields import field_types, in_smaller_units
from .option_types import OptionType, validate_options
from .reading import document_kind, hint, is_standard_input, is_version, parse_json, read_text
from .registry import PROBLEM_NAMES

if TYPE_CHECKING:
    import pydantic

AnyPath = str | os.PathLike[str]
Given = TypeVar("Given", bound=Instance)

FORMAT = 1
"""Version of the document format, the value of its "cotenant" field."""

_DATA = Path(__file__).resolve().parent.parent / "data"
SUFFIXES = (".json", ".json.gz")
"""How the names of documents end."""


@validate_options
def bundled() -> list[str]:
    """Names of the bundled instances, `problem/name`, sorted."""
    found = []
    for path in sorted(_DATA.glob("*/*")):
        for suffix in SUFFIXES:
            if path.name.endswith(suffix):
                found.append(f"{path.parent.name}/{path.name.removesuffix(suffix)}")
    return found


def locate(source: str | os.PathLike[str]) -> Path:
    """Path of an instance: a path, "-" for standard input, or the name of a bundled instance."""
    path = Path(source)
    if os.path.isdir(path):
        raise InvalidFile(
            f"{path} is a folder; name one instance file in it (`cotenant compare` and "
            "`read_all` take folders)"
        )
    if is_standard_input(source) or os.path.exists(path):
        return path
    text = os.fspath(source).replace("\\", "/")
    for suffix in SUFFIXES:
        candidate = _DATA / f"{text}{suffix}"
        if text.count("/") == 1 and ".." not in text and os.path.isfile(candidate):
            return candidate
    if not path.suffix and text.count("/") == 1:
        raise UnknownName("file or bundled instance", text, bundled(), "cotenant show")
    near = suggest(text, bundled(), listing="cotenant show")
    raise InvalidFile(f"{text} does not exist; check the path, or name a bundled instance ({near})")


@overload
def read(source: AnyPath, problem: type[Given]) -> Given: ...
@overload
def read(source: AnyPath, problem: None = None) -> Instance: ...
@validate_options
def read(source: AnyPath, problem: type[Instance] | None = None) -> Instance:
    """Read an instance of any problem from a JSON file.

    Parameters
    ----------
    source : path of a `.json` or `.json.gz` file, or a bundled instance such as "colocation/tiny".
    problem : the class of the problem that it must be of, such as Colocation: editors and type
        checkers then have its fields; any when not given.

    Raises
    ------
    InvalidFile
        The file is missing, truncated, not JSON, not a document of this package, or of another
        problem.
    InvalidInstance
        A field is missing, unknown, of the wrong type, or breaks a rule of the problem.
    UnknownName
        There is no such bundled instance.

    Examples
    --------
    >>> import cotenant
    >>> jobs = cotenant.read("colocation/tiny", cotenant.Colocation)  # an editor completes `jobs.`
    >>> jobs.names
    ('x264', 'fluidanimate', 'decisiontree', 'regression')
    """
    path = locate(source)
    text = read_text(path)
    name = None if problem is None else problem.problem
    return instance_of(document(text, path), text, path, name)


def document(text: str, path: Path) -> dict[str, Any]:
    """Content of a JSON document of this package, of any kind; raises InvalidFile for other
    files.
    """
    content = parse_json(text, path)
    if "cotenant" not in content:
        if known := hint(content):
            raise InvalidFile(f"{path} is not an instance; {known}")
        if known := document_kind(content):
            raise InvalidFile(f"{path} is not an instance but {known}")
        raise InvalidFile(
            f'{path} has no field "cotenant"; an instance begins with {{"cotenant": {FORMAT}, '
            f'"problem": ...}}'
        )
    if not is_version(content["cotenant"], FORMAT):
        raise InvalidFile(
            f"{path}: cotenant is {shortened(content['cotenant'])}; this version reads format "
            f"{FORMAT}"
        )
    return content


def instance_of(
    content: dict[str, Any], text: str, path: Path, problem: str | None = None
) -> Instance:
    """Build the instance that a JSON document describes; raises the errors of `read`."""
    if "result" in content:
        raise InvalidFile(f"{path} is a result, not an instance; give the instance file first")
    name = content.get("problem")
    if name == "game":
        raise InvalidFile(f"{path} is a game of coalitions; see `cotenant analyze core {path}`")
    if name not in PROBLEM_NAMES:
        near = suggest(name if isinstance(name, str) else "", PROBLEM_NAMES)
        raise InvalidFile(f"{path}: problem is {shortened(name)}; {near}")
    if problem is not None and name != problem:
        raise InvalidFile(f"{path} is a {name} instance; expected {problem}")
    return _validated(name, content, text, path)


@validate_options
def write(instance: Instance, path: str | os.PathLike[str]) -> Path:
    """Write an instance as `.json` or `.json.gz` atomically; return the path.

    A result writes itself: `result.write(path)`.
    """
    content = {
        "cotenant": FORMAT,
        "problem": instance.problem,
        "name": instance.name,
        "source": instance.source,
    }
    if not os.fspath(path).endswith(SUFFIXES):
        raise InvalidFile(f"{os.fspath(path)} must end in .json or .json.gz")
    return write_text(
        path, json.dumps({**content, **to_json_value(instance.document())}, allow_nan=False) + "\n"
    )


@validate_options
def schema(problem: str) -> dict[str, Any]:
    """JSON Schema of a problem's instance document."""
    from .base_document import document_type

    return document_type(problem).model_json_schema()


def require_folder(path: Path | None) -> None:
    """Make an output folder, or refuse one that cannot be made or written, before any work."""
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = getattr(error, "strerror", error)
        raise InvalidFile(
            f"{path} cannot be made: {why}; choose a folder that can be written"
        ) from None
    if not os.access(path, os.W_OK):
        raise InvalidFile(f"{path} cannot be written; choose another folder")


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file atomically: a complete file is renamed into place."""
    packed = Path(path).name.endswith(".gz")  # without a time stamp: equal content, equal file
    return write_bytes(path, gzip.compress(text.encode(), mtime=0) if packed else text.encode())


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a binary file atomically: a complete file is renamed into place.

    A file that was there keeps its mode, and its owner and group where this process may set them
    (not its further names by hard links). A link stays a link: the file that it names is written. A
    device or a pipe, such as /dev/stdout, is written to as it is.
    """
    target = Path(path)
    temporary = None
    try:
        if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
            with target.open("wb") as stream:  # a renamed file would take its place
                stream.write(data)
            return target
        final = Path(os.path.realpath(target))
        if final.is_symlink():  # it leads back to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        before = final.stat() if final.exists() else None
        # not of the final name, which may be as long as can be
        temporary = final.parent / f".cotenant-{secrets.token_hex(8)}"
        # Private until it has its mode; a new file has what the process gives to all of its own.
        handle = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY,
            0o666 if before is None else 0o600,
        )
        with os.fdopen(handle, "wb") as stream:
            if before is not None:
                _keep_mode(temporary, before)
            stream.write(data)
        os.replace(temporary, final)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        cures = {errno.ENOSPC: "make room", errno.ENAMETOOLONG: "choose a shorter name"}
        cure = cures.get(getattr(error, "errno", 0), "choose a folder that exists and is writable")
        why = f"{target} cannot be written: {getattr(error, 'strerror', error)}"
        raise InvalidFile(f"{why}; {cure}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return target


_BINARY = getattr(os, "O_BINARY", 0)  # of Windows


def _keep_mode(path: Path, before: os.stat_result) -> None:
    """Give a new file the owner, group and mode of the file it replaces, as far as permitted."""
    if hasattr(os, "chown"):
        for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
            with suppress(OSError):
                os.chown(path, owner, group)
    # what a program may do as another is not handed to other content
    os.chmod(path, stat.S_IMODE(before.st_mode) & 0o777)


def _validated(name: str, content: dict[str, Any], text: str, path: Path) -> Instance:
    import pydantic

    from .base_document import document_type

    kind = document_type(name)
    _refuse_unknown(kind, content, text, path)  # a misspelt name first
    try:
        document = kind.model_validate(content, strict=True)
    except pydantic.ValidationError as error:
        if any(entry["type"] == "int_type" for entry in error.errors()):
            # 4.0 is 4, as other programs write it, and 4.5 cores are 45 tenths
            types = field_types(kind.instance_type)
            plain = whole_json_numbers(content | in_smaller_units(types, content))
            if json.dumps(plain) != json.dumps(content):
                return _validated(name, plain, text, path)
        place, seen, expected = wrong_field(error)
        kinds = field_types(kind.instance_type) if expected == "a valid integer" else ()
        axes = next((each.axes for each in kinds if each.name == place[0] and "." in seen), None)
        raise InvalidInstance(
            f"{path}{_line_of(text, place)}: {in_words(place)}", seen, expected,
            axes.parts if axes else "",
        ) from None  # fmt: skip
    try:
        made = document.build()
    except InvalidInstance as error:
        raise error.within(f"{path}{_line_of(text, [error.field.partition('[')[0]])}") from None
    assert isinstance(made, Instance)
    return made


def _refuse_unknown(
    document: type[pydantic.BaseModel], content: dict[str, Any], text: str, path: Path
) -> None:
    """Raise InvalidInstance for the first unknown field of a document."""
    known = document.model_fields
    for name, value in content.items():
        if name not in known:
            where = f"{path}{_line_of(text, [name])}: field {shortened(name)}"
            raise InvalidInstance(
                where, "unknown", f"one of {', '.join(known)}", suggest(name, known)
            )
        if isinstance(value, dict) and hasattr(known[name].annotation, "model_fields"):
            inner: Any = known[name].annotation
            _refuse_unknown(inner, value, text, path)


def _line_of(text: str, place: list[Any]) -> str:
    """Text ", line N" with the first line of the file in which a field's name occurs; "" if
    none.
    """
    if not place or not isinstance(place[0], str):
        return ""
    position = text.find(f'"{place[0]}"')
    return f", line {text.count(chr(10), 0, position) + 1}" if position >= 0 else ""


@dataclass(frozen=True)
class Gathered:
    """Instances that `read_all` has read, with the files it left out.

    Attributes
    ----------
    files : where each instance was read from, as it can be given again (a path, or a bundled
        instance's name), and it.
    results : files in folders that hold results, and were left out.
    """

    files: dict[str, Instance]
    results: tuple[str, ...] = ()

    @property
    def instances(self) -> list[Instance]:
        """Instances that were read, in the order of `files`."""
        return list(self.files.values())

    @property
    def count(self) -> str:
        """Number of instances of each problem as text: "3 colocation, 2 market instances"."""
        kinds = Counter(instance.problem for instance in self.files.values())
        return (
            f"{', '.join(f'{number} {problem}' for problem, number in kinds.items())} "
            f"instance{'s' * (len(self.files) > 1)}"
        )


SOURCE = OptionType.of(str | os.PathLike[str])
"""What stands for instances: a path, or a name."""


@validate_options
def read_all(sources: Iterable[str | os.PathLike[str]]) -> Gathered:
    """Read instances of any problem from files, bundled names and folders.

    A folder stands for every .json and .json.gz file in it and in the folders below, in the order
    of their paths; hidden ones are passed over, and results (`cotenant solve --out`) are left out.
    A file that is met twice is read once.

    Raises
    ------
    InvalidFile, InvalidInstance, UnknownName
        A file is not what `read` takes; a folder holds a file that is no document of this package,
        or no instance at all.
    """
    files: dict[str, Instance] = {}
    results: list[str] = []
    seen: set[Path] = set()
    for source in sources:
        SOURCE.check("sources", source)
        if not os.path.isdir(source):
            found = {os.fspath(source): locate(source)}
        elif not (found := _documents(Path(source))):
            raise InvalidFile(
                f"{source} holds no instance (.json or .json.gz); name a folder with instance files"
            )
        fresh = {name: path for name, path in found.items() if path.resolve() not in seen}
        seen |= {path.resolve() for path in fresh.values()}
        for name, path in fresh.items():
            text = read_text(path)
            content = document(text, path)
            if "result" in content and os.path.isdir(source):
                results.append(name)
            else:
                files[name] = instance_of(content, text, path)
    if not files:
        raise InvalidFile(f"no instance was given, only results: {', '.join(results)}")
    return Gathered(files, tuple(results))


def _documents(folder: Path) -> dict[str, Path]:
    """Files below a folder that may be JSON documents, without hidden ones, in order."""
    found = (path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file())
    shown = sorted(
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    return {str(path): path for path in shown}
