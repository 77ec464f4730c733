"""Many instances at once: files, bundled instances, and folders with everything in them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .base import Instance
from .errors import InvalidFile
from .files import SUFFIXES, document, instance_of, locate
from .option_types import OptionType, validate_options
from .reading import read_text


@dataclass(frozen=True)
class Gathered:
    """What `read_all` found.

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
        """The instances in order."""
        return list(self.files.values())

    @property
    def count(self) -> str:
        """How many of each problem, in words: "3 colocation, 2 market instances"."""
        kinds = Counter(instance.problem for instance in self.files.values())
        return (
            f"{', '.join(f'{number} {problem}' for problem, number in kinds.items())} "
            f"instance{'s' * (len(self.files) > 1)}"
        )


SOURCE = OptionType.of(str | os.PathLike[str])
"""What stands for instances: a path, or a name."""


@validate_options
def read_all(sources: Iterable[str | os.PathLike[str]]) -> Gathered:
    """Read instances of any problem from files, bundled instances and folders.

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
    """Every file below a folder that could be a document, hidden ones left out, in order."""
    found = (path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file())
    shown = sorted(
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    return {str(path): path for path in shown}
