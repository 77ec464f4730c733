"""A market in parts: a folder with a small header and a Parquet file for each part, of whole users.

The header, `market.parts.json`, holds what the side of the servers knows: capacities, how many
users and jobs there are and how much money in all, and of each part its file, its size in bytes,
its first user, and how many users and jobs it has. A part has a row for each of its users: `user`
(its number), `budget`, and the lists `server`, `parallel_fraction` and `work`, an entry for each
job; `name` where users have names, and `job` (the numbers of the jobs) where jobs are not in the
order of users. Parts are data and nothing else: no code is ever read from them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem.errors import InvalidFile, InvalidInstance, InvalidOption, install
from ..problem.reading import is_version, parse_json, read_text
from .instance import Floats, Integers, Market

if TYPE_CHECKING:
    import pyarrow as pa

HEADER = "market.parts.json"
"""Name of the header in a folder of parts."""

SCHEMA = 1
"""Version of the header's and the parts' form."""

ROWS = 32768
"""Jobs of a group of rows in a part, about: what is read at once."""

_MARK = b"cotenant"


@dataclass(frozen=True)
class Part:
    """What the header says of a part.

    Attributes
    ----------
    file : its name in the folder.
    bytes : its size.
    first : its first user's number.
    users, jobs : how many it has.
    """

    file: str
    bytes: int
    first: int
    users: int
    jobs: int


@dataclass(frozen=True, eq=False)
class Header:
    """What the side of the servers knows of a market in parts.

    Attributes
    ----------
    folder : where it lies.
    capacity : (m,) cores.
    budget : money of all users.
    users, jobs : how many there are.
    parts : in the order of users.
    name, source, server_names : as an instance's.
    """

    folder: Path
    capacity: Floats
    budget: float
    users: int
    jobs: int
    parts: tuple[Part, ...]
    name: str = ""
    source: str = ""
    server_names: tuple[str, ...] = ()

    @property
    def unit(self) -> float:
        """The mean budget."""
        return self.budget / self.users

    def summary(self) -> dict[str, object]:
        """Facts for people."""
        users = [part.users for part in self.parts]
        return {
            "problem": "market",
            "name": self.name,
            "source": self.source,
            "users": self.users,
            "servers": len(self.capacity),
            "jobs": self.jobs,
            "cores": f"{self.capacity.sum():g} in all",
            "budget": f"{self.budget:g} in all",
            "parts": f"{len(self.parts)}, of {min(users)} to {max(users)} users, "
            f"{sum(part.bytes for part in self.parts) / 1e6:.1f} MB",
        }


def is_parts(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder that holds a market in parts."""
    return os.path.isfile(os.path.join(path, HEADER))  # which takes any name, however long


def require_pyarrow() -> Any:
    """The module pyarrow; raises InvalidOption when it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InvalidOption(
            f"a market in parts needs pyarrow ({error}); {install('cluster')}"
        ) from None
    return pyarrow


def parts_here(folder: str | os.PathLike[str]) -> list[int]:
    """The numbers of the parts whose files this process sees; none where it sees no header."""
    if not is_parts(folder):
        return []
    header = read_header(folder, [])
    seen = [(header.folder / part.file).is_file() for part in header.parts]
    return [number for number, found in enumerate(seen) if found]


def read_header(folder: str | os.PathLike[str], files: Sequence[int] | None = None) -> Header:
    """The header of a market in parts, with the sizes of its files checked.

    Parameters
    ----------
    files : the numbers of the parts whose files have to be here; all when not given.

    Raises
    ------
    InvalidFile
        It cannot be read, is of another version, does not add up, or a part is missing or cut.
    """
    where = Path(folder)
    path = where / HEADER
    content = parse_json(read_text(path), path)
    if not is_version(content.get("cotenant_parts"), SCHEMA):
        raise InvalidFile(
            f"{path}: cotenant_parts is {content.get('cotenant_parts')!r}; this version reads "
            f"schema {SCHEMA}; write the parts again with this version"
        )
    try:
        header = Header(
            where,
            np.array(content["capacity"], dtype=float),
            float(content["budget"]),
            int(content["users"]),
            int(content["jobs"]),
            tuple(Part(**part) for part in content["parts"]),
            str(content.get("name", "")),
            str(content.get("source", "")),
            tuple(content.get("server_names", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFile(
            f"{path}: {type(error).__name__}: {error}; expected the fields that `cotenant convert "
            "--parts` writes"
        ) from None
    if not (header.capacity.ndim == 1 and len(header.capacity) and header.budget > 0):
        raise InvalidFile(f"{path}: capacity and budget must be positive; write the parts again")
    for number, part in enumerate(header.parts):
        if files is None or number in files:
            _require_whole(where, part)
    expected = 0
    for part in sorted(header.parts, key=lambda part: part.first):
        if part.first < expected:
            raise InvalidFile(
                f"{where / part.file}: user {part.first} is in two parts; expected each user in one"
            )
        if part.first > expected:
            raise InvalidFile(
                f"{path}: user {expected} is in no part; expected every user below {header.users}"
            )
        expected = part.first + part.users
    jobs = sum(part.jobs for part in header.parts)
    if expected != header.users or jobs != header.jobs:
        raise InvalidFile(
            f"{path}: its parts have {expected} users and {jobs} jobs; expected users = "
            f"{header.users}, jobs = {header.jobs}; a part is missing from its list"
        )
    return header


def _require_whole(where: Path, part: Part) -> None:
    path = where / part.file
    if Path(part.file).name != part.file:
        raise InvalidFile(
            f"{where / HEADER}: the part {part.file!r} is not the name of a file in the same folder"
        )
    if not path.is_file():
        raise InvalidFile(f"{path} is missing; put the part back beside its header")
    size = path.stat().st_size
    if size != part.bytes:
        raise InvalidFile(
            f"{path} has {size} bytes; expected {part.bytes}, as its header says: it was cut or "
            "changed; copy it again"
        )


def read_blocks(header: Header, part: Part, least: int) -> Iterator[tuple[Market, Integers | None]]:
    """The users of a part in blocks, each a market of its own with all servers, users numbered from
    0; beside it the numbers of its jobs, where they are not in the order of users.

    Parameters
    ----------
    least : jobs of a block at least, but for the last.

    Raises
    ------
    InvalidFile
        It cannot be read, or does not say what the header says of it.
    InvalidInstance
        A value breaks a rule of the market.
    """
    pa = require_pyarrow()
    path = header.folder / part.file
    try:
        file = pa.parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        why = " ".join(str(error).split())
        raise InvalidFile(f"{path} cannot be read: {why}; copy it again") from None
    _require_schema(pa, path, file.schema_arrow, header)
    _require_numbers(file.metadata, part, path)
    expected, jobs = part.first, 0
    ready: list[Any] = []
    waiting: list[Any] = []
    waiting_jobs = 0
    for group in range(file.num_row_groups):
        try:
            table = file.read_row_group(group)
        except (pa.ArrowInvalid, OSError) as error:
            why = " ".join(str(error).split())
            raise InvalidFile(f"{path} cannot be read: {why}; copy it again") from None
        _require_users(table.column("user").to_numpy(), expected, part, path)
        expected += len(table)
        waiting.append(table)
        waiting_jobs += len(table.column("server").combine_chunks().flatten())
        if waiting_jobs >= least:
            if ready:
                yield _market_of(pa.concat_tables(ready), header, path)
            jobs += waiting_jobs
            ready, waiting, waiting_jobs = waiting, [], 0
    # a last block of users without any job goes along with the one before
    blocks = [ready, waiting] if ready and waiting_jobs else [ready + waiting]
    jobs += waiting_jobs
    if expected != part.first + part.users or jobs != part.jobs:
        raise InvalidFile(
            f"{path} has {expected - part.first} users and {jobs} jobs; expected {part.users} and "
            f"{part.jobs}, as the header says; copy it again"
        )
    for block in blocks:
        if block:
            yield _market_of(pa.concat_tables(block), header, path)


def _require_numbers(found: Any, part: Part, path: Path) -> None:
    """Refuse, before anything is unpacked, a file that holds more than its header says."""
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    values = max(
        (
            sum(group.column(column).num_values for group in groups)
            for column in range(found.num_columns)
        ),
        default=0,
    )
    if found.num_rows != part.users or values > part.users + part.jobs:
        raise InvalidFile(
            f"{path} has {found.num_rows} users and up to {values} values in a column; expected "
            f"{part.users} users and {part.jobs} jobs, as the header says; copy it again"
        )


def _require_users(users: Integers, expected: int, part: Part, path: Path) -> None:
    wrong = np.flatnonzero(users != expected + np.arange(len(users)))
    if not len(wrong):
        return
    seen = int(users[wrong[0]])
    elsewhere = not part.first <= seen < part.first + part.users
    why = "it is in two parts" if elsewhere else "users of a part stand once, in order"
    raise InvalidFile(
        f"{path}: user {seen} stands where user {expected + int(wrong[0])} is expected; {why}"
    )


def read_parts(folder: str | os.PathLike[str]) -> Market:
    """The whole market of a folder of parts, in this process.

    Raises
    ------
    InvalidFile, InvalidInstance
        As `read_header` and `read_blocks`.
    """
    header = read_header(folder)
    blocks: list[Market] = []
    jobs: list[Integers] = []
    for part in sorted(header.parts, key=lambda part: part.first):
        for block, numbers in read_blocks(header, part, ROWS):
            blocks.append(block)
            if numbers is not None:
                jobs.append(numbers)
    firsts = np.cumsum([0, *(block.users for block in blocks)])
    order = np.argsort(np.concatenate(jobs), kind="stable") if jobs else slice(None)
    return Market(
        capacity=header.capacity,
        budget=np.concatenate([block.budget for block in blocks]),
        user=np.concatenate(
            [block.user + first for block, first in zip(blocks, firsts[:-1], strict=True)]
        )[order],
        server=np.concatenate([block.server for block in blocks])[order],
        parallel_fraction=np.concatenate([block.parallel_fraction for block in blocks])[order],
        work=np.concatenate([block.work for block in blocks])[order],
        names=tuple(name for block in blocks for name in block.names),
        server_names=header.server_names,
        name=header.name,
        source=header.source,
    )


def read_answer(
    header: Header, part: Part, folder: str | os.PathLike[str]
) -> tuple[Floats, Integers]:
    """What an answer gives the users of a part: (jobs,) cores, and (users,) of how many jobs.
    Raises InvalidFile when it cannot be read, or is of other users.
    """
    pa = require_pyarrow()
    path = Path(folder) / part.file
    try:
        table = pa.parquet.read_table(path, columns=["user", "cores"])
        users = table.column("user").combine_chunks().to_numpy()
        lists = table.column("cores").combine_chunks()
        cores = lists.flatten().to_numpy(zero_copy_only=False).astype(float)
        counts = np.diff(lists.offsets.to_numpy())
    except (pa.ArrowException, OSError, AttributeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise InvalidFile(f"{path} cannot be read: {why}; write the answer again") from None
    if not np.array_equal(users, part.first + np.arange(part.users)):
        raise InvalidFile(
            f"{path} holds other users; expected {part.first} to {part.first + part.users - 1}; "
            "give the answer of this market"
        )
    return cores, counts


def capacity_digest(capacity: Floats) -> str:
    """What stands for the capacities in each part."""
    return hashlib.sha256(np.ascontiguousarray(capacity, dtype="<f8").tobytes()).hexdigest()


def schema_of(pa: Any, named: bool, numbered: bool, digest: str) -> pa.Schema:
    """The columns of a part: with or without names of users and numbers of jobs."""
    fields = [
        ("user", pa.int64()),
        ("budget", pa.float64()),
        ("server", pa.list_(pa.int32())),
        ("parallel_fraction", pa.list_(pa.float64())),
        ("work", pa.list_(pa.float64())),
    ]
    fields += [("job", pa.list_(pa.int64()))] if numbered else []
    fields += [("name", pa.string())] if named else []
    header = json.dumps({"schema": SCHEMA, "capacity": digest})
    return pa.schema(fields, metadata={_MARK: header.encode()})


def _require_schema(pa: Any, path: Path, schema: Any, header: Header) -> None:
    try:
        marked = json.loads((schema.metadata or {})[_MARK])
        version, digest = marked["schema"], marked["capacity"]
    except (KeyError, ValueError, TypeError):
        raise InvalidFile(
            f"{path} is not a part of a market: it has no schema; name a file that `cotenant "
            "convert --parts` wrote"
        ) from None
    if version != SCHEMA:
        raise InvalidFile(
            f"{path}: schema is {version!r}; this version reads schema {SCHEMA}; write the parts "
            "again with this version"
        )
    if digest != capacity_digest(header.capacity):
        raise InvalidFile(
            f"{path} was made for other capacities than its header's; write all parts from one "
            "market"
        )
    expected = schema_of(pa, "name" in schema.names, "job" in schema.names, digest)
    for field in expected:
        if field.name not in schema.names or schema.field(field.name).type != field.type:
            raise InvalidFile(f"{path}: expected a column {field.name} of {field.type}")


def _market_of(table: Any, header: Header, path: Path) -> tuple[Market, Integers | None]:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    for name, column in columns.items():
        if column.null_count:
            raise InvalidFile(f"{path}: the column {name} has an empty entry; expected none")
    first = int(columns["user"][0].as_py())
    lengths = np.diff(columns["server"].offsets.to_numpy())
    for name in ("parallel_fraction", "work", "job"):
        if name in columns and (np.diff(columns[name].offsets.to_numpy()) != lengths).any():
            raise InvalidFile(f"{path}: the lists {name} and server have different lengths")
    flat = {
        name: columns[name].flatten().to_numpy(zero_copy_only=False)
        for name in ("server", "parallel_fraction", "work", "job")
        if name in columns
    }
    try:
        market = Market(
            header.capacity,
            columns["budget"].to_numpy(),
            np.repeat(np.arange(len(lengths)), lengths),
            flat["server"],
            flat["parallel_fraction"],
            flat["work"],
            names=tuple(columns["name"].to_pylist()) if "name" in columns else (),
            server_names=header.server_names,
        )
    except InvalidInstance as error:
        raise error.within(f"{path}, in the block that begins with user {first}") from None
    return market, flat.get("job")
