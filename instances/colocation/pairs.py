"""Reader of measured pairs in long form, one row for each run of a job beside another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import AtLeast, validate_options
from ..problem.tables import AMOUNT, CsvRow, CsvTable, PathLike, name_of, tables_of
from .generators import Machines
from .instance import LEAST_PENALTY, Booleans, Colocation, Floats, Integers
from .missing import FORBIDDEN, UNKNOWN, Missing, completed, computed_penalty

CONFIDENCE = 0.95
"""Of the interval around a mean of repeats, or of all intervals together."""

LEAST_SLOWDOWN = 1 / (1 - LEAST_PENALTY)
"""Below it a penalty would be less than any that an instance holds."""

_LARGEST = 1e12
"""Of a slowdown or penalty: squares of its differences are finite."""

Intervals = Literal["together", "pooled", "each", "none"]


@dataclass(frozen=True)
class Measured:
    """Measured runs of services beside each other, aggregated by pair.

    Attributes
    ----------
    names : (T,) the services.
    what : "slowdown" (run time beside the other over run time alone) or "penalty" (throughput
        lost).
    mean : (T, T) of the runs of the row's service beside the column's; NaN without a run, inf where
        the pair is forbidden.
    runs : (T, T) how many there are.
    deviation : (T, T) standard deviation of the runs; NaN below two.
    written : how the table is written where that is unusual, see `CsvTable.written`.
    low, high : (T, T) each, the intervals that the table gives, in the unit of `mean`; NaN where
        there is no row. None where it has no such columns.
    counted : whether `runs` is known: not where a row sums up runs and has no column `looks`.
    """

    names: tuple[str, ...]
    what: str
    mean: Floats
    runs: Integers
    deviation: Floats
    written: str = ""
    low: Floats | None = None
    high: Floats | None = None
    counted: bool = True

    @property
    def penalty(self) -> Floats:
        """Throughput loss (T, T) of the mean measured value of each pair."""
        return self._lost(self.mean)

    @property
    def half(self) -> Floats:
        """Half width (T, T) of the 95 % interval of the mean (Student's t); NaN below two runs."""
        from scipy.special import stdtrit

        quantile = stdtrit(np.maximum(self.runs - 1, 1), (1 + CONFIDENCE) / 2)
        return cast("Floats", quantile * self.deviation / np.sqrt(np.maximum(self.runs, 1)))

    def _lost(self, value: Floats) -> Floats:
        """Convert a measured penalty or slowdown to a throughput loss; increasing."""
        if self.what == "penalty":
            return value
        with np.errstate(divide="ignore"):
            lost = np.where(value <= 0, -np.inf, 1 - 1 / value)  # NaN, a missing pair, stays NaN
        return computed_penalty(np.where(np.isinf(value), np.inf, lost))

    def intervals(self, used: Booleans, which: Intervals) -> dict[str, Any]:
        """Fields of an instance with penalty intervals; none if a pair has too few runs.

        Parameters
        ----------
        used : (T, T) the entries that need an interval.
        which : "together": Student's t of each entry at a level at which all hold together
            (Bonferroni); "pooled": the same with one deviation for all entries; "each": every
            entry at that level by itself; "none".

        Raises
        ------
        InvalidOption
            One deviation for all is asked for, and no pair was run twice; or the table gives its
            own intervals, and others are asked for.
        """
        from scipy.special import stdtrit

        if which == "none" or not used.any():
            return {}
        if self.low is not None and self.high is not None:
            if which != "together":
                raise InvalidOption(
                    f"intervals is {which!r}, and the table gives them in its columns low and "
                    "high; expected none, or leave the option or the columns out"
                )
            return {
                **self._penalties(used, self.low, self.high),
                "intervals": "columns low and high of the table",
            }
        spread, freedom = self.deviation, self.runs - 1.0
        if which == "pooled":
            freedom = np.full(spread.shape, float(np.maximum(self.runs - 1, 0)[used].sum()))
            if not freedom[used].any():
                raise InvalidOption(
                    "intervals is 'pooled', and no pair was run twice; expected some repeats, or "
                    "intervals=none"
                )
            squares = np.where(self.runs > 1, np.nan_to_num(spread) ** 2 * (self.runs - 1), 0.0)
            spread = np.full(spread.shape, np.sqrt(squares[used].sum() / freedom.max()))
        elif (self.runs[used] < 2).any():
            return {}
        parts = 1 if which == "each" else int(used.sum())
        level = 1 - (1 - CONFIDENCE) / (2 * parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            half = stdtrit(freedom, level) * spread / np.sqrt(self.runs)
        words = {
            "together": f"Student's t of each mean, Bonferroni over {parts} entries",
            "pooled": f"Student's t with one deviation for all entries, Bonferroni over {parts}",
            "each": f"Student's t of each mean, each alone {100 * CONFIDENCE:g} %, not together",
        }
        return {
            **self._penalties(used, self.mean - half, self.mean + half),
            "confidence": None if which == "each" else CONFIDENCE,
            "intervals": words[which],
        }

    def _penalties(self, used: Booleans, low: Floats, high: Floats) -> dict[str, Floats]:
        """Intervals of penalties, as fields `low` and `high`, from intervals of measured means."""
        penalty = self.penalty
        ends = [computed_penalty(self._lost(np.where(used, end, np.inf))) for end in (low, high)]
        below = np.clip(ends[0], LEAST_PENALTY, penalty)
        above = np.maximum(np.minimum(ends[1], 1.0), penalty)
        return {"low": np.where(used, below, np.inf), "high": np.where(used, above, np.inf)}

    def repeats(self) -> str:
        """Sentence on how many pairs were measured repeatedly; "" if no pair was run twice."""
        if np.isnan(self.half).all():
            return ""
        x, y = (int(i) for i in np.unravel_index(np.nanargmax(self.half), self.half.shape))
        return (
            f"means of up to {self.runs.max()} runs, 95 % intervals up to +-{self.half[x, y]:.3g} "
            f"({self.names[x]} beside {self.names[y]})"
        )


@validate_options
def pairs_csv(
    path: PathLike,
    *,
    services: str | None = None,
    copies: Annotated[int, AtLeast(1, "the number of jobs of each service")] = 1,
    machines: Machines | None = None,
    intervals: Intervals = "together",
    missing: Missing = None,
) -> Colocation:
    """Read measured pairs in long form: `service,beside,slowdown` or `service,beside,penalty`, one
    row a run; and perhaps a table `service,count` with `bandwidth` [GB/s].

    Runs of one pair become their mean and, where every pair was run twice or more, an interval
    around it (see `intervals`), cut to penalties from -1 to 1. With columns `low` and `high` (the
    ends of an interval around the number, in its unit) or `looks` (how many runs it sums up) a pair
    has one row, and the intervals are those of the table. `forbidden` in place of the number
    forbids the pair; a pair without a row is missing, which is refused unless `missing` says what
    to do.

    Parameters
    ----------
    path : the table of pairs, or a folder that holds `pairs.csv` and perhaps `services.csv`.
    services : path of the table of services; their order is kept.
    copies : jobs of each service, when no table has a column `count`.
    machines : processors, see Colocation ("inf" for as many as needed).
    intervals : around the means, by Student's t: "together" holds for all pairs at once with 95 %
        (Bonferroni), from the runs of each pair alone, and wants ten runs or more to be of use;
        "pooled" takes one standard deviation for all pairs, which has to be about right, and does
        with two or three; "each" holds for a single pair with 95 %, for many together with much
        less; "none" leaves them out, also those of the table.
    missing : what to do with pairs that were not measured, see `missing.Missing`.

    Raises
    ------
    InvalidOption
        Pooled intervals where no pair was run twice, or any where the table gives them.
    InvalidFile
        A table that cannot be read, with its line; pairs are missing.
    """
    main, others = tables_of(path, "pairs.csv", services=services)
    names, count, bandwidth = None, None, None
    if "services" in others:
        names, count, bandwidth = _services(others["services"])
    found = read_pairs(main, names)
    number = np.full(len(found.names), copies) if count is None else count
    penalty, filled = completed(os.fspath(main), found.names, found.penalty, number, missing)
    what = "penalties" if found.what == "penalty" else "slowdowns"
    remarks = [f"{what} of {main.name}", found.repeats(), filled, found.written]
    plain = Colocation(
        penalty=penalty,
        count=number,
        bandwidth=bandwidth,
        names=found.names,
        machines=machines,
        name=name_of(path),
        source="; ".join(words for words in remarks if words),
    )
    summed = found.low is not None or not found.counted
    if found.runs.max(initial=0) < 2 and intervals != "pooled" and not summed:
        return plain
    used = plain.allowed & (number > 0) & (number > 0)[:, None]
    measured = not (used & (found.runs == 0)).any()  # a prediction has no interval
    ends = found.intervals(used, intervals) if measured else {}
    why = "" if ends or intervals == "none" else _WHY_NONE[measured]
    return plain.replace(
        looks=np.where(plain.allowed, found.runs, 0) if found.counted else None,
        source="; ".join(words for words in (plain.source, why) if words),
        **ends,
    )


_WHY_NONE = {
    True: "no intervals: some pairs were run once",
    False: "no intervals: predictions have none",
}


def read_pairs(path: PathLike, names: tuple[str, ...] | None = None) -> Measured:
    """Read the measured runs from a CSV table of pairs of jobs, see `pairs_csv`.

    Parameters
    ----------
    names : the services there are, in their order; the table's own when not given.

    Raises
    ------
    InvalidFile
        Naming the line that is wrong: a number that is none, a service that is not known, a pair
        both forbidden and measured, a number outside its interval.
    """
    # 1. What the columns give.
    table = CsvTable(path, "service", "beside", lower=True)
    given = [name for name in ("slowdown", "penalty") if name in table.places]
    if len(given) != 1:
        raise InvalidFile(
            f"{table.path}, line 1: the columns are {', '.join(table.columns)}; expected service, "
            "beside, and either slowdown (run time beside it over run time alone) or penalty "
            "(throughput lost)"
        )
    (what,) = given
    ends = [name for name in ("low", "high") if name in table.places]
    if len(ends) == 1:
        raise InvalidFile(
            f"{table.path}, line 1: a column {ends[0]} alone; expected low and high, the ends of "
            f"an interval around the {what}, or neither"
        )
    # 2. The runs of each pair, row by row.
    summed = bool(ends) or "looks" in table.places
    sums: dict[tuple[int, int], tuple[float, float, int]] = {}  # by pair: low, high, looks
    index_of = {name: number for number, name in enumerate(names or ())}
    runs: dict[tuple[int, int], list[float]] = {}  # by pair: measured values
    for row in table:
        pair = []
        for column in ("service", "beside"):
            name = row.word(column)
            if names is not None and name not in index_of:
                raise row.wrong(column, "a service of the table of services")
            pair.append(index_of.setdefault(name, len(index_of)))
        value = row.number(what, None, UNKNOWN | FORBIDDEN, "Write forbidden to forbid the pair")
        if _LARGEST < abs(value) < np.inf:
            raise row.wrong(what, f"a number of at most {_LARGEST:g}")
        if what == "slowdown" and value <= 0:
            raise row.wrong(what, "a number above 0: run time beside it over run time alone")
        if what == "slowdown" and value < LEAST_SLOWDOWN:
            raise row.wrong(
                what,
                f"run time beside it over run time alone, at least {LEAST_SLOWDOWN:g}",
                "A penalty stands in a column of that name",
            )
        if what == "penalty" and 1 < value < np.inf:
            cure = "A slowdown stands in a column of that name"
            raise row.wrong(what, "a share of throughput lost, at most 1", cure)
        if value != value:  # a row that says nothing; the services it names are there
            continue
        earlier = runs.setdefault((pair[0], pair[1]), [])
        if earlier and np.isinf(earlier[0]) != np.isinf(value):
            raise row.error(": this pair is forbidden in one row and measured in another")
        if earlier and summed:
            raise row.error(
                ": a second row of this pair; expected one for each, since the columns low, high "
                "and looks are of all its runs. Leave them out to give a row for each run"
            )
        earlier.append(value)
        if summed and np.isfinite(value):
            sums[pair[0], pair[1]] = _summed(row, what, value, bool(ends))
    # 3. Means of the runs, and the intervals that the table gives.
    types = len(index_of)
    mean, deviation = (np.full((types, types), np.nan) for _ in range(2))
    number = np.zeros((types, types), dtype=np.int64)
    for where, values in runs.items():
        number[where], mean[where] = len(values), np.mean(values)
        if len(values) > 1 and np.isfinite(values).all():
            deviation[where] = np.std(values, ddof=1)
    low, high = (np.full((types, types), np.nan) for _ in range(2))
    for where, one in sums.items():
        low[where], high[where], number[where] = one
    return Measured(
        tuple(index_of), what, mean, number, deviation, table.written,
        low if ends else None, high if ends else None, "looks" in table.places or not summed,
    )  # fmt: skip


def _summed(row: CsvRow, what: str, value: float, ends: bool) -> tuple[float, float, int]:
    """Interval and number of runs of a row that aggregates runs; NaN and 1 if not given."""
    low, high = (row.number(name) if ends else np.nan for name in ("low", "high"))
    if low > value or (what == "slowdown" and low <= 0):
        least = "above 0 and " if what == "slowdown" else ""
        raise row.wrong("low", f"a number {least}at most the {what}, {value:g}")
    if high < value or (what == "penalty" and high > 1):
        most = " and at most 1" if what == "penalty" else ""
        raise row.wrong("high", f"a number at least the {what}, {value:g}{most}")
    looks = row.whole("looks") if row["looks"] else 1
    if looks < 1 or ("looks" in row.table.places and not row["looks"]):
        raise row.wrong("looks", "how many runs this row sums up, at least 1")
    return low, high, looks


def _services(path: Path) -> tuple[tuple[str, ...], Integers | None, Floats | None]:
    """Names, counts and bandwidths in a table of services; None for missing columns."""
    table = CsvTable(path, "service", lower=True)
    if unknown := [name for name in table.columns if name not in ("service", "count", "bandwidth")]:
        raise InvalidFile(
            f"{table.path}, line 1: unknown column {unknown[0]!r}; expected service, and perhaps "
            "count and bandwidth"
        )
    by_name = table.by_name("service")
    names, rows = tuple(by_name), list(by_name.values())
    count = [row.whole("count") for row in rows] if "count" in table.places else None
    bandwidth = (
        [row.number("bandwidth", AMOUNT) for row in rows] if "bandwidth" in table.places else None
    )
    return (
        names,
        None if count is None else np.array(count, dtype=np.int64),
        None if bandwidth is None else np.array(bandwidth),
    )
