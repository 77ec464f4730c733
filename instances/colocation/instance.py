"""Instance (Colocation), answer (Pairing), feasibility, and the answer as a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.base import NO_CONTENT_WHEN_ABSENT, Instance, Solution
from ..problem.errors import InfeasibleSolution, InvalidInstance, spelled
from ..problem.fields import (
    WHOLE,
    Axes,
    Json,
    Names,
    frozen_array,
    locked,
    raise_first_broken,
    set_field,
    set_fields,
)
from ..problem.frames import axis_labels, from_labels
from ..problem.option_types import Above, AtLeast, Between, Range, validate_options
from ..problem.tables import CsvTable
from .missing import penalties_of_frame

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST_AGENTS = 10**9
"""More agents would make numbers of blocking pairs pass 64 bits."""

LEAST_PENALTY = -1.0
"""The lowest penalty: twice as fast beside the co-runner as alone, far below any noise. One of
minus a billion would hide the differences between all the others in the floats of a mean and in a
solver's tolerances.
"""

_WHY_NO_LESS = (
    f"Below {LEAST_PENALTY:g} a job would run more than twice as fast beside the other as alone. "
    "With such large numbers the differences between the others are lost in rounding. Give "
    "1 - (throughput beside it) / (throughput alone)"
)


BLOCK = 512
"""Types looked at at once beside as many: of ten thousand, a whole table takes .8 GB."""


def blocks(types: int) -> list[slice]:
    """Iterate over the types in blocks of at most `BLOCK`, to limit memory."""
    cuts = [*range(0, types, BLOCK), types]
    return [slice(start, stop) for start, stop in itertools.pairwise(cuts)]


@dataclass(frozen=True, eq=False, repr=False)
class Colocation(Instance["Pairing"]):
    """Jobs of T types to be paired on processors that hold two jobs each.

    Parameters
    ----------
    penalty : (T, T) array
        `penalty[x, y]` is the throughput loss of a job of type x beside one of type y, a fraction:
        at most 1, perhaps slightly negative (measurement noise), at least -1; inf on either side
        forbids the pair. The diagonal entry of a type with a single agent is not looked at.
    count : (T,) array of whole numbers
        Agents of each type, 0 allowed; all ones when every agent is its own type.
    bandwidth : (T,) array, optional
        Memory bandwidth demand of each type [GB/s], its contentiousness.
    names : (T,) strings, optional
        Names of the types; "0", "1", ... when not given.
    machines : float, optional
        Processors at hand. None: half as many as agents, everyone is paired. More: that many more
        jobs may run alone at penalty 0. inf: as many as needed.
    unpaired : float, optional
        Preference lists only: an agent may be left without a partner at this penalty, which it
        likes least.
    low, high : (T, T) arrays, optional
        The ends of the interval around each penalty, which lies in it: low <= penalty <= high, both
        from -1 to 1 wherever the pair is allowed. Given together or not at all.
    looks : (T, T) array of whole numbers, optional
        How often each penalty was measured; 0 where it was not (forbidden, or predicted).
    confidence : float, optional
        The probability with which all intervals hold together, above 0 and at most 1.
    intervals : str
        How the intervals were made, in words.
    """

    problem: ClassVar[str] = "colocation"

    counted: ClassVar[Mapping[str, str]] = {"types": "type"}

    penalty: Annotated[
        Floats,
        Axes("types types", where="looked_at"),
        Range(
            most=1,
            what="a fraction of throughput lost",
            infinite=True,
            cure="Write null (inf) to forbid the pair; divide percentages by 100",
        ),
        Range(
            least=LEAST_PENALTY,
            most=1,
            what="a fraction of throughput lost",
            infinite=True,
            cure=_WHY_NO_LESS,
        ),
    ]
    count: Annotated[Integers, Axes("types"), AtLeast(0, "a number of agents")]
    bandwidth: Annotated[Floats | None, Axes("types"), AtLeast(0, "a number of GB/s")] = None
    names: Annotated[tuple[str, ...], Names("types", filled=True)] = ()
    machines: Annotated[
        float | None,
        WHOLE,
        Range(what="a whole number of processors", infinite=True),
        Json(null="infinity"),
    ] = None
    unpaired: Annotated[float | None, Between(LEAST_PENALTY, 1, "a penalty", cure=_WHY_NO_LESS)] = (
        None
    )
    low: Annotated[Floats | None, Axes("types types"), Json(nulls=True)] = field(
        default=None, metadata=NO_CONTENT_WHEN_ABSENT
    )
    high: Annotated[Floats | None, Axes("types types"), Json(nulls=True)] = field(
        default=None, metadata=NO_CONTENT_WHEN_ABSENT
    )
    looks: Annotated[
        Integers | None, Axes("types types"), AtLeast(0, "how often the entry was measured")
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    confidence: Annotated[
        float | None,
        Above(
            0,
            "a probability",
            most=1,
            cure="0.95: all true penalties lie in their intervals together with 95 %",
        ),
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    intervals: str = field(default="", metadata=NO_CONTENT_WHEN_ABSENT)

    allowed: Booleans = field(init=False, repr=False, compare=False)
    """(T, T): whether two different agents of these types may share a processor."""

    def __post_init__(self) -> None:
        set_fields(self)
        penalty, types = self.penalty, self.types
        unseen = np.flatnonzero((self.count < 2) & ~np.isfinite(np.diag(penalty)))
        if unseen.size:  # nobody looks at these entries, and NaN has no JSON form
            penalty = penalty.copy()
            penalty[unseen, unseen] = np.inf
            set_field(self, "penalty", locked(penalty))
        allowed = np.isfinite(penalty) & np.isfinite(penalty.T)
        allowed[np.diag_indices(types)] &= self.count >= 2
        set_field(self, "allowed", locked(allowed))
        self._validate_intervals()
        self._validate_capacity()
        self._validate_unpaired()
        self._validate_partners()

    @classmethod
    @validate_options
    def from_frame(
        cls,
        penalty: pandas.DataFrame,
        *,
        count: Any = 1,
        bandwidth: Any = None,
        slowdown: bool = False,
        missing: Any = None,
        **fields: Any,
    ) -> Self:
        """Colocation instance from a DataFrame; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        penalty : types down and across: the throughput loss of the row's job beside the column's.
        count, bandwidth : a Series or a mapping by type, a number for all, or a list in the order
            of the rows.
        slowdown : whether the frame holds slowdowns instead, run times over those alone.
        missing : what to do with pairs that are NaN, see `missing.Missing`; they are refused when
            not given. Infinite ones are forbidden.
        **fields : the other fields, as the class takes them; low, high and looks may be frames as
            the penalties are.
        """
        labels = axis_labels(cls, {"penalty": penalty})
        penalty = penalties_of_frame(penalty, labels["types"], count, slowdown, missing)
        given = {"penalty": penalty, "count": count, "bandwidth": bandwidth}
        return from_labels(cls, labels, given, fields)

    def looked_at(self) -> Booleans:
        """Whether each penalty is used, shape (T, T): all but the diagonal entry of a type with one
        agent.
        """
        looked_at = np.ones((self.types, self.types), dtype=np.bool_)
        looked_at[np.diag_indices(self.types)] = self.count >= 2
        return looked_at

    @property
    def types(self) -> int:
        """T, the number of types."""
        return len(self.count)

    @cached_property
    def agents(self) -> int:
        """n, the number of agents."""
        return int(self.count.sum())

    @cached_property
    def present(self) -> Integers:
        """Indices (P,) of the types that have agents."""
        return np.flatnonzero(self.count > 0)

    @property
    def size(self) -> int:
        """Number of agents times number of types, the size of preference lists over types."""
        return self.types * self.agents

    @cached_property
    def distinct(self) -> bool:
        """Whether every agent is its own type."""
        return bool((self.count == 1).all())

    @cached_property
    def singles_allowed(self) -> float:
        """Maximum number of jobs without co-runner: all if `unpaired`, else what machines allow."""
        if self.unpaired is not None:
            return float(self.agents)
        if self.machines is None:
            return 0.0
        return min(2.0 * self.machines - self.agents, float(self.agents))

    @property
    def single_penalty(self) -> float:
        """Penalty of a job without co-runner: `unpaired` if given, else 0 (alone on a machine)."""
        return 0.0 if self.unpaired is None else self.unpaired

    @cached_property
    def largest_penalty(self) -> float:
        """Largest penalty, in absolute value, that an agent could have in any pairing."""
        present = self.count > 0
        largest = abs(self.single_penalty)
        for rows in blocks(self.types):
            usable = self.allowed[rows] & present & present[rows, None]
            largest = max(largest, float(np.abs(np.where(usable, self.penalty[rows], 0.0)).max()))
        return largest

    @property
    def certainty(self) -> str:
        """Confidence level and source of the penalty intervals, as text; "" without intervals."""
        if self.low is None:
            return ""
        level = (
            "of no stated confidence"
            if self.confidence is None
            else f"that hold together with {100 * self.confidence:.12g} %"
        )
        return f"intervals {level}{self.intervals and f' ({self.intervals})'}"

    def without_intervals(self, **changes: Any) -> Self:
        """Copy an instance without its penalty intervals, with other fields changed as given."""
        nothing = {"low": None, "high": None, "looks": None, "confidence": None, "intervals": ""}
        return self.replace(**{**nothing, **changes})

    def agent_types(self) -> Integers:
        """Type (n,) of each agent, agents numbered type by type."""
        return np.repeat(np.arange(self.types), self.count)

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: size, capacity, and the range of the penalties."""
        present = self.count > 0
        finite = self.penalty[np.ix_(present, present)]
        finite = finite[np.isfinite(finite)]
        capacity = "one for two agents" if self.machines is None else f"{self.machines:g}"
        capacity = "as many as needed" if self.machines == np.inf else capacity
        if self.unpaired is not None:
            capacity += f" (an agent may stay alone, at a penalty of {self.unpaired:g})"
        facts: dict[str, object] = {
            **super().summary(),
            "agents": self.agents,
            "types": self.types,
            "machines": capacity,
        }
        if self.low is not None and self.high is not None:
            half = (self.high[self.allowed] - self.low[self.allowed]) / 2
            width = f"+-{np.median(half):.3g} (median), " if half.size else ""
            level = "" if self.confidence is None else f", {100 * self.confidence:.12g} % together"
            facts["intervals"] = f"{width}widest +-{half.max(initial=0.0):.3g}{level}"
        facts["forbidden pairs"] = int((~self.allowed[np.triu_indices(self.types, 1)]).sum())
        if finite.size:
            facts["penalty"] = (
                f"median {np.median(finite):.3f}, from {finite.min():.3f} to {finite.max():.3f}"
            )
        if self.bandwidth is not None:
            facts["bandwidth [GB/s]"] = f"{self.bandwidth.min():g} to {self.bandwidth.max():g}"
        return facts

    def _validate_intervals(self) -> None:
        if self.low is None and self.high is None:
            for name in ("confidence", "intervals"):
                if value := getattr(self, name):
                    expected = "low and high as well, whose intervals it describes"
                    raise InvalidInstance(name, f"{value!r} without low and high", expected)
            return
        penalty, allowed, low, high = self.penalty, self.allowed, self.low, self.high
        if low is None or high is None:
            given, missing = ("high", "low") if low is None else ("low", "high")
            raise InvalidInstance(
                missing, f"absent beside {given}", "both ends of the intervals",
                f"Give {missing} too, or leave out {given}",
            )  # fmt: skip
        for name, end in (("low", low), ("high", high)):
            good = np.isfinite(end) & (end >= LEAST_PENALTY) & (end <= 1)
            for x, y in np.argwhere(allowed & ~good)[:1].tolist():
                raise InvalidInstance(
                    f"{name}[{x}, {y}]", f"{end[x, y]:g}", f"a penalty from {LEAST_PENALTY:g} to 1",
                    "Every allowed pair has both ends; an entry known exactly has low = high = "
                    "penalty",
                )  # fmt: skip
        without = self.looked_at() & ~np.isfinite(penalty) & (np.isfinite(low) | np.isfinite(high))
        for x, y in np.argwhere(without)[:1].tolist():
            raise InvalidInstance(
                f"low[{x}, {y}]", f"{low[x, y]:.12g}, with high {high[x, y]:.12g} and no penalty",
                "a penalty inside the interval",
                "Give the penalty, or null (inf) for both ends of a pair that is forbidden",
            )  # fmt: skip
        for wrong, expected in (
            (allowed & (low > high), "low at most high"),
            (allowed & ((penalty < low) | (penalty > high)), "the penalty inside its interval"),
        ):
            for x, y in np.argwhere(wrong)[:1].tolist():
                seen = f"{low[x, y]:.12g} with penalty {penalty[x, y]:.12g} and high "
                seen += f"{high[x, y]:.12g}"
                raise InvalidInstance(f"low[{x}, {y}]", seen, expected)
        for name, end in (("low", low), ("high", high)):  # NaN has no JSON form
            set_field(self, name, locked(np.where(np.isfinite(end), end, np.inf)))

    def _validate_capacity(self) -> None:
        agents = sum(self.count.tolist())
        if agents == 0:
            raise InvalidInstance("count", "all zero", "at least one agent")
        if agents > MOST_AGENTS:
            expected = f"at most {MOST_AGENTS}, so that pairs of agents can be counted exactly"
            raise InvalidInstance("count", f"{agents} agents in all", expected)
        if self.machines is None:
            if self.unpaired is None and agents % 2:
                raise InvalidInstance(
                    "count", f"{agents} agents in all, an odd number",
                    "an even total, since every agent gets a partner",
                    f"Add or remove an agent, or give machines (at least {(agents + 1) // 2}) "
                    "so that one may run alone",
                )  # fmt: skip
            return
        machines = self.machines
        if self.unpaired is not None:
            raise InvalidInstance(
                "machines", f"{machines:g} beside unpaired = {self.unpaired:g}",
                "only one of the two",
                "With machines, jobs may run alone at penalty 0; with unpaired, jobs may be left "
                "out",
            )  # fmt: skip
        if 2 * machines < agents:
            raise InvalidInstance(
                "machines", f"{machines:g} for {agents} agents",
                f"at least {(agents + 1) // 2}, two jobs on each",
                "Give more machines, or run the jobs in batches (`cotenant run queue`)",
            )  # fmt: skip

    def _validate_unpaired(self) -> None:
        if self.unpaired is None:
            return
        unpaired = self.unpaired
        field_of, highest = ("penalty", self.penalty) if self.high is None else ("high", self.high)
        worst = np.where(self.allowed, highest, -np.inf)
        for x, y in np.argwhere(worst > unpaired)[:1].tolist():
            entry = f"{field_of}[{x}, {y}] = {highest[x, y]:g}"
            raise InvalidInstance(
                "unpaired", f"{unpaired:g}, below {entry} of an allowed pair",
                "a penalty at least as high as every allowed one, since a job "
                "likes it least to be left out",
            )  # fmt: skip

    def _validate_partners(self) -> None:
        present = self.count > 0
        unpairable = present & ~(self.allowed & present[None, :]).any(axis=1)
        if unpairable.any() and self.count[unpairable].sum() > self.singles_allowed:
            place, alone = int(np.argmax(unpairable)), int(self.count[unpairable].sum())
            least = -(-(self.agents + alone) // 2)
            raise InvalidInstance(
                f"penalty[{place}]",
                f"inf with every possible partner of type {self.names[place]!r} ({alone} of "
                f"{self.agents} jobs can run beside nobody)",
                "a number on both sides for some pair, or a machine for each of these jobs",
                f"Give at least {least} machines ({spelled(f'-o machines={least}')}), or inf",
            )


@dataclass(frozen=True, eq=False, repr=False)
class Pairing(Solution):
    """Which types share a processor, how often, and which jobs have no co-runner.

    Parameters
    ----------
    first, second : (P,) arrays of types; kept with first <= second, sorted, each pair once.
    pairs : (P,) how many processors hold such a pair, at least 1.
    single : (T,) jobs of each type without a co-runner.
    """

    first: Integers
    second: Integers
    pairs: Integers
    single: Integers

    def __post_init__(self) -> None:
        arrays = [
            frozen_array(name, getattr(self, name), np.int64, 1)
            for name in ("first", "second", "pairs", "single")
        ]
        first, second, pairs, single = arrays
        if not len(first) == len(second) == len(pairs):
            seen = f"of lengths {len(first)}, {len(second)}, {len(pairs)}"
            raise InvalidInstance("pairs", seen, "first, second and pairs of one length")
        for name, number in (("pairs", pairs), ("single", single)):
            if (number < 0).any():
                raise InvalidInstance(name, "negative", "how many there are, 0 or more")
        low, high = np.minimum(first, second), np.maximum(first, second)
        if len(low):
            keys, inverse = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
            total = np.zeros(keys.shape[1], dtype=np.int64)
            np.add.at(total, inverse.reshape(-1), pairs)
            low, high, pairs = keys[0], keys[1], total
            keep = pairs != 0
            low, high, pairs = low[keep], high[keep], pairs[keep]
        for name, value in (("first", low), ("second", high), ("pairs", pairs), ("single", single)):
            set_field(self, name, frozen_array(name, value, np.int64, 1))

    @classmethod
    def from_partners(
        cls, types: npt.ArrayLike, partner: npt.ArrayLike, number_of_types: int
    ) -> Pairing:
        """Build a pairing from agents: `types` (n,) of each, `partner` (n,) its co-runner or -1."""
        kind = np.asarray(types, dtype=np.int64)
        mate = np.asarray(partner, dtype=np.int64)
        left = np.flatnonzero(mate > np.arange(len(mate)))
        alone = np.bincount(kind[mate < 0], minlength=number_of_types)
        return cls(kind[left], kind[mate[left]], np.ones(len(left), dtype=np.int64), alone)

    def partners(self, instance: Colocation) -> Integers:
        """Partner (n,) of each agent, -1 for none, agents in order of type; see `from_partners`."""
        following = np.cumsum(instance.count) - instance.count
        mate = np.full(instance.agents, -1, dtype=np.int64)
        for a, b, number in zip(
            self.first.tolist(), self.second.tolist(), self.pairs.tolist(), strict=True
        ):
            left = following[a] + np.arange(number)
            following[a] += number
            right = following[b] + np.arange(number)
            following[b] += number
            mate[left], mate[right] = right, left
        return mate

    @classmethod
    def from_matrix(cls, pairs: npt.ArrayLike, single: npt.ArrayLike) -> Pairing:
        """Build a pairing from an upper-triangular (T, T) matrix of pair counts and the singles."""
        matrix = np.asarray(pairs)
        first, second = np.nonzero(matrix)
        return cls(first, second, matrix[first, second], np.asarray(single))

    def beside(self) -> Integers:
        """Number of agents of type a beside b, shape (T, T); symmetric, 2 for each a-a pair."""
        types = len(self.single)
        matrix = np.zeros((types, types), dtype=np.int64)
        np.add.at(matrix, (self.first, self.second), self.pairs)
        return cast("Integers", matrix + matrix.T)

    def agents_used(self) -> Integers:
        """Number of agents of each type that the pairing places, shape (T,)."""
        types = len(self.single)
        used = self.single.copy()
        np.add.at(used, self.first[self.first < types], self.pairs[self.first < types])
        np.add.at(used, self.second[self.second < types], self.pairs[self.second < types])
        return used

    @property
    def machines(self) -> int:
        """Number of processors that a pairing uses: one per pair and one per single job."""
        return int(self.pairs.sum() + self.single.sum())


@validate_options
def check(instance: Colocation, pairing: Pairing) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless a pairing places every agent
    once on the available machines, without a forbidden pair.
    """
    types = instance.types
    if len(pairing.single) != types:
        raise InfeasibleSolution(
            f"single has {len(pairing.single)} entries; the instance has {types} types"
        )
    for name, index in (("first", pairing.first), ("second", pairing.second)):
        raise_first_broken((index < 0) | (index >= types), lambda at, name=name, index=index: (
            f"{name} names type {index[at]}; types are 0 to {types - 1}"
        ))  # fmt: skip
    used, names = pairing.agents_used(), instance.names
    raise_first_broken(used != instance.count, lambda kind: (
        f"{used[kind]} agents of type {names[kind]!r} are placed; there are {instance.count[kind]}"
    ))  # fmt: skip
    raise_first_broken(~instance.allowed[pairing.first, pairing.second], lambda at: (
        f"{names[pairing.first[at]]!r} beside {names[pairing.second[at]]!r} is a forbidden pair "
        f"({pairing.pairs[at]} times)"
    ))  # fmt: skip
    if pairing.single.sum() > instance.singles_allowed:
        if instance.machines is None:
            raise InfeasibleSolution(
                f"{pairing.single.sum()} jobs run alone; every job must have a partner"
            )
        raise InfeasibleSolution(
            f"{pairing.machines} machines are used; there are {instance.machines:g}"
        )


def has_bandwidth(instance: Colocation) -> bool:
    """Return whether the instance has bandwidths, by which some policies order the types."""
    return instance.bandwidth is not None


def answer_table(instance: Colocation, pairing: Pairing, most: int | None = None) -> AnswerTable:
    """Table of a pairing: the pairs of types, the most frequent first, then the single jobs."""
    names = labels("type", instance.names, instance.types)
    order = np.argsort(-pairing.pairs, kind="stable")
    alone = np.flatnonzero(pairing.single)
    total = len(order) + len(alone)
    rows: list[tuple[object, ...]] = []
    made = total if most is None else max(most, MAX_IN_SENTENCE)  # the sentence tells the first few
    for place in order[:made].tolist():
        a, b = int(pairing.first[place]), int(pairing.second[place])
        count, penalty = int(pairing.pairs[place]), instance.penalty
        rows.append((names[a], names[b], count, float(penalty[a, b]), float(penalty[b, a])))
    for kind in alone[: max(made - len(rows), 0)].tolist():
        count, penalty_alone = int(pairing.single[kind]), float(instance.single_penalty)
        rows.append((names[kind], None, count, penalty_alone, None))
    each = instance.distinct
    parts = [
        f"{job} {'alone' if other is None else f'beside {other}'}{'' if each else f' ({count}x)'}"
        for job, other, count, *_ in rows[:MAX_IN_SENTENCE]
    ]
    sentence = f"put {join_first(parts, total, 'pairs' if each else 'kinds of pairs')}"
    columns = ("job", "beside", "machines", "penalty of job", "penalty of the other")
    return AnswerTable(sentence, columns, tuple(rows[:most]), total)


def read_table(instance: Colocation, table: CsvTable) -> Pairing:
    """Read a pairing from CSV: a row for each pair, and perhaps how many `machines` run it; jobs in
    no row, or beside nobody, run alone. Pairs of different agents may be listed from both sides.
    """
    names, number = labels("type", instance.names, instance.types), dict[tuple[int, int], int]()
    for row in table:
        job, many = row.place("job", names), row.whole("machines") if row["machines"] else 1
        if row["beside"]:
            other = row.place("beside", names)
            pair = min(job, other), max(job, other)
            number[pair] = many + (0 if instance.distinct else number.get(pair, 0))
    pairs = np.array(list(number), dtype=np.int64).reshape(-1, 2)
    many_of = np.array(list(number.values()), dtype=np.int64)
    paired = np.zeros(instance.types, dtype=np.int64)
    np.add.at(paired, pairs, many_of[:, None])
    return Pairing(pairs[:, 0], pairs[:, 1], many_of, np.maximum(instance.count - paired, 0))
