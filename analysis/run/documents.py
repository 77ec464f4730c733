"""JSON documents of rows and results, checked by pydantic when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...instances.problem.documents import Entries, in_words, wrong_field
from ...instances.problem.errors import InvalidFile
from ...instances.problem.registry import PROBLEM_NAMES
from ...solvers.outcome import Status, Stop
from ..registry import analysis_of
from .rows import Row

KEPT = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
"""Of rows: later versions may write more into them."""
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
"""A number whose text and difference are finite, though its square need not be."""

Scale = Annotated[float, Field(gt=0, le=1e300)]
Seconds = Annotated[float, Field(ge=0, le=1e300)]


class LevelDocument(BaseModel):
    """One level of a lexicographic method in a stored row or result."""

    model_config = KEPT

    objective: str
    value: Number | None
    bound: Number | None
    status: str


class PointDocument(BaseModel):
    """A point of a frontier in a stored row."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    limit: Number | None
    value: Number | None
    bound: Number | None
    reached: Number | None
    status: Annotated[Status, Field(strict=False)]


class BesideDocument(BaseModel):
    """A further frontier shown on the map of another one."""

    model_config = KEPT

    name: str
    points: Entries[PointDocument]


class FrontierDocument(BaseModel):
    """A frontier of efficiency against fairness."""

    model_config = KEPT

    efficiency: str
    fairness: str
    points: Entries[PointDocument]
    note: str = ""
    stop: Annotated[Stop, Field(strict=False)] = Stop.FINISHED
    beside: Entries[BesideDocument] = []


class ProofDocument(BaseModel):
    """Proof fields of a row: whether what its result claims is proved, see `proving.Proved`."""

    model_config = KEPT

    proof_status: Literal["claimed", "partly", "certified"]
    weaker: str = ""


class AnswerDocument(BaseModel):
    """The first rows of an answer with names, see `instances.problem.answer_table`."""

    model_config = KEPT

    sentence: str = ""
    columns: list[str]
    rows: Entries[list[str | bool | int | Number | None]]
    total: Annotated[int, Field(ge=0)]


class ShardDocument(BaseModel):
    """Part of a comparison to which a row belongs, see `shards.Shard`."""

    model_config = KEPT

    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1, le=1_000_000)]
    cells: Annotated[int, Field(ge=1, le=10_000_000)]
    cell: Annotated[int, Field(ge=0)]
    of: str


class SummaryDocument(BaseModel):
    """Fields of a run that its result and its row share, see `Result.summary`."""

    model_config = KEPT

    problem: str
    instance: str
    fingerprint: str
    method: str
    status: str
    metrics: Mapping[str, Number | None]
    seed: Annotated[int, Field(ge=0)] = 0
    stop: str | None = None
    objective_name: str | None = None
    objective: Number | None = None
    bound: Number | None = None
    gap: Number | None = None
    gap_absolute: Number | None = None
    tolerance: Number | None = None
    scale: Scale = 1.0
    seconds: Seconds | None = None
    levels: Entries[LevelDocument] = []
    options: dict[str, Any] = {}
    versions: dict[str, str] = {}
    proof: ProofDocument | None = None


class CertificateDocument(BaseModel):
    """Levels of a certificate, from which a result derives what is proved."""

    model_config = KEPT

    levels: Entries[LevelDocument] = []


class WholeSummaryDocument(SummaryDocument):
    """Summary of a run in a stored result; metrics, seconds and proof are always present."""

    metrics: Mapping[str, Number]
    seconds: Seconds
    proof: ProofDocument


class ResultDocument(BaseModel):
    """A result, as `cotenant solve --out` writes it."""

    model_config = KEPT

    result: WholeSummaryDocument
    certificate: CertificateDocument
    trace: Entries[Annotated[tuple[Number, Number | None, Number | None], Field(strict=False)]]
    named: AnswerDocument | None = None


class RowDocument(SummaryDocument):
    """A run, or the frontiers of an instance, as `cotenant compare --out` writes them."""

    key: str
    kind: Literal["run", "frontier"] = "run"
    time_limit: Number | None = None
    predict: Number | None = None
    file: str | None = None
    code: str | None = None
    measures: list[str] = []
    own_metrics: dict[str, Literal["min", "max"]] = {}
    broken: dict[str, str] = {}
    shard: ShardDocument | None = None
    source: str | None = None
    error: str | None = None
    answer: str | None = None
    answer_table: AnswerDocument | None = None
    record: dict[str, Any] | None = None
    frontiers: Entries[FrontierDocument] | None = None


def require_good(rows: Iterable[Row], where: str) -> None:
    """Raise InvalidFile, naming `where`, for the first row that violates the document of rows."""
    for row in rows:
        require_document(RowDocument, row, where)
        if wrong := _wrong(row):
            raise unreadable(where, wrong)


def require_document(document: type[BaseModel], row: Any, where: str) -> None:
    """Raise InvalidFile, naming `where`, unless the row satisfies the given document class."""
    if wrong := misfit(document, row):
        raise unreadable(where, wrong)


def misfit(document: type[BaseModel], content: Any) -> str:
    """Message on the first field that violates a document type; "" when none does."""
    try:
        document.model_validate(content)
    except ValidationError as error:
        place, seen, expected = wrong_field(error)
        return f"{in_words(place)} is {seen}, expected {expected}"
    return ""


def unreadable(where: str, wrong: str) -> InvalidFile:
    """InvalidFile error for a row that this version did not write."""
    return InvalidFile(f"{where} holds a row that this version cannot read: {wrong}; run it again")


def _wrong(row: Row) -> str:
    """Message on fields of a row that contradict each other; "" when none do."""
    if row["problem"] not in PROBLEM_NAMES:
        return f"problem is {row['problem']!r}, expected one of {', '.join(PROBLEM_NAMES)}"
    if row["metrics"] and row.get("seconds") is None:
        return "seconds is None, expected a number"
    table = row.get("answer_table") or {"columns": [], "rows": [], "total": 0}
    if any(len(each) != len(table["columns"]) for each in table["rows"]):
        return "answer_table has a row that is not as long as its columns"
    if len(table["rows"]) > table["total"]:
        return f"answer_table has {len(table['rows'])} rows of {table['total']}"
    known = {metric.name for metric in analysis_of(row["problem"]).metric_table}
    if row.get("objective_name") is not None and row["objective_name"] not in known:
        name = row["objective_name"]
        return f"objective_name is {name!r}, which is not a metric of {row['problem']}"
    strange = [
        name
        for each in row.get("frontiers") or ()
        for name in (each["efficiency"], each["fairness"])
        if name not in known
    ]
    return (
        f"a frontier is of {strange[0]!r}, which is not a metric of {row['problem']}"
        if strange
        else ""
    )
