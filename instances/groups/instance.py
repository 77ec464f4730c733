"""Instance (Groups) and answer (Grouping)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import (
    WHOLE,
    Axes,
    Index,
    Json,
    Names,
    frozen_array,
    locked,
    raise_first_invalid,
    set_field,
    set_fields,
)
from ..problem.frames import (
    aligned,
    columns_of,
    from_labels,
    labels_of,
    places,
    require_frame,
    table,
)
from ..problem.option_types import AtLeast, Between, Range, validate_options

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Model = Literal["additive", "pressure", "table"]

UNIT = 10**12
"""Penalties are whole numbers of 1e-12: what a group costs its members is then one number, whatever
the order of additions, and who would gain is decided exactly.
"""

FORBIDDEN = 1 << 52
"""The penalty, in units, of every member of a group that may not be formed."""

MOST_JOBS, MOST_SEATS = 10**9, 64
LEAST = -1.0
A_PENALTY = "a fraction of throughput lost"
_MODELS: dict[Model, tuple[str, ...]] = {
    "additive": ("penalty",),
    "pressure": ("knots", "sensitivity"),
    "table": ("members", "losses"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Instance["Grouping"]):
    """Jobs of T types to be grouped on machines of C classes, several on a machine.

    What a job loses in a group is given by one of three models. Alone on a machine a job loses
    nothing, unless a table says otherwise. All penalties are rounded to 12 decimals.

    Parameters
    ----------
    count : (T,) jobs of each type, 0 allowed.
    seats : (C,) jobs that a machine of each class holds at most; a number for one class.
    machines : (C,) machines of each class, inf for as many as needed; a number for one class. None,
        with one class: just enough for all jobs.
    penalty : (T, T), or (C, T, T) for each class its own. *Additive*: a job of type a loses the sum
        over the others b of `penalty[a, b]`, at most 1; each entry from -1 to 1, or inf: these two
        are never in one group.
    pressure : (T,) what each type puts on those beside it, 0 or more, in any unit (GB/s, bubbles).
        Policies of the other models may order types by it; then it is optional.
    knots, sensitivity : (K,), and (T, K) or (C, T, K). *Pressure*: a job of type a loses
        `sensitivity[a]` interpolated linearly between the knots at the sum of the pressures beside
        it; it never falls from knot to knot, and stays as it is beyond the first and the last.
    members, losses, where : (G, S) types, -1 for an empty seat, (G, S) penalties, and (G,)
        classes, -1 for all. *Table*: what the members of each group lose; a group that is not in
        the table is forbidden.
    names, classes : (T,) and (C,) strings, optional.

    Notes
    -----
    Sources: Cooper (HPCA 2017) section VII and thesis ch. 6, more than two jobs a processor as
    future work; the pressure model is that of Bubble-Up (Mars et al., MICRO 2011).
    """

    problem: ClassVar[str] = "groups"

    counted: ClassVar[Mapping[str, str]] = {
        "types": "type",
        "classes": "class",
        "knots": "knot",
        "groups": "group",
        "members": "member",
    }

    count: Annotated[Integers, Axes("types"), AtLeast(0, "a number of jobs")]
    seats: Annotated[Integers, Axes("classes"), Between(1, MOST_SEATS, "jobs")]
    machines: Annotated[
        Floats, Axes("classes"), WHOLE, AtLeast(0, "a whole number of machines", infinite=True)
    ] = None  # type: ignore[assignment]
    penalty: Annotated[
        Floats | None,
        Axes("types types", also="classes"),
        Range(least=LEAST, most=1, what=A_PENALTY, infinite=True),
    ] = None
    pressure: Annotated[Floats | None, Axes("types"), Range(0, below=1e5, what="a pressure")] = None
    knots: Annotated[Floats | None, Axes("knots"), Between(0, 8e6, "a pressure")] = None
    sensitivity: Annotated[
        Floats | None, Axes("types knots", also="classes"), Between(LEAST, 1, A_PENALTY)
    ] = None
    members: Annotated[
        Integers | None, Axes("groups members"), Index("types", least=-1), Json(hidden=True)
    ] = None
    losses: Annotated[
        Floats | None,
        Axes("groups members", where="taken_seats"),
        Between(LEAST, 1, A_PENALTY),
        Json(hidden=True),
    ] = None
    where: Annotated[
        Integers | None, Axes("groups"), Index("classes", least=-1), Json(hidden=True)
    ] = None
    names: Annotated[tuple[str, ...], Names("types", filled=True)] = ()
    classes: Annotated[tuple[str, ...], Names("classes", filled=True)] = ()

    model: Model = field(init=False, repr=False, compare=False)
    """Which of the three."""

    def __post_init__(self) -> None:
        for name in ("seats", "machines"):
            if isinstance(number := getattr(self, name), Real):
                set_field(self, name, [number])
        self._choose_model()
        set_fields(self)
        if not 0 < sum(self.count.tolist()) <= MOST_JOBS:
            raise InvalidInstance(
                "count", f"{sum(self.count.tolist())} jobs in all", f"from 1 to {MOST_JOBS}"
            )
        self._set_machines()
        {"additive": self._set_additive, "pressure": self._set_curves, "table": self._set_table}[
            self.model
        ]()

    @classmethod
    @validate_options
    def from_frame(
        cls, frame: pandas.DataFrame, *, seats: Any, machines: Any = None, count: Any = 1,
        pressure: Any = None, **fields: Any,
    ) -> Self:  # fmt: skip
        """Groups instance from a DataFrame; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        frame : types down. Across, the same types: the penalty that the row's job has from the
            column's, which add up; or pressures, ascending numbers: the row's sensitivity curve.
            Or measured groups, a row a run: columns `group` ("web + web + batch"), `job` and
            `penalty`, and perhaps `class` (missing for all); runs of one job in one group become
            their mean, and a group that is not there is forbidden.
        seats, machines : of one class a number each, of several a Series or a mapping by class.
        count, pressure : a Series or a mapping by type, a number for all, or a list in the order of
            the rows.
        **fields : the other fields, as the class takes them.
        """
        require_frame(frame, "frame")
        if hasattr(seats, "keys"):
            fields["classes"] = tuple(map(str, classes := list(seats.keys())))
            seats = aligned(seats, classes, "seats")
            machines = None if machines is None else aligned(machines, classes, "machines")
        if {"group", "job"} <= set(frame.columns):
            listed = next((list(v.keys()) for v in (count, pressure) if hasattr(v, "keys")), None)
            types, data = _measured(frame, listed, fields.get("classes", ()))
        else:
            types, data = cls._labeled(frame, pressure)
        labels = {"types": types, "knots": data.get("knots", ())}
        given = {"count": count, "pressure": pressure, **data}
        return from_labels(cls, labels, given, {"seats": seats, "machines": machines, **fields})

    @staticmethod
    def _labeled(frame: pandas.DataFrame, pressure: Any) -> tuple[list[Any], dict[str, Any]]:
        """Names of the job types in a frame, and its additive or pressure model as fields."""
        types, across = labels_of(frame.index, "frame.index"), labels_of(frame.columns, "columns")
        if set(across) == set(types) or pressure is None:
            return types, {"penalty": table(frame, types, types, "frame")}
        return types, {"knots": across, "sensitivity": table(frame, types, across, "frame")}

    @property
    def types(self) -> int:
        """T, the number of types."""
        return len(self.count)

    @cached_property
    def jobs(self) -> int:
        """n, the number of jobs."""
        return int(self.count.sum())

    @property
    def size(self) -> int:
        """Estimated steps of a policy: a hundred per pair of types, and ten per job."""
        return 100 * self.types**2 + 10 * self.jobs

    @cached_property
    def present(self) -> Integers:
        """Types that have jobs, shape (P,)."""
        return np.flatnonzero(self.count)

    @cached_property
    def limits(self) -> Integers:
        """Number (C,) of machines of each class that an answer may use, at most the number of
        jobs.
        """
        return locked(np.minimum(self.machines, self.jobs).astype(np.int64))

    @cached_property
    def spare(self) -> int:
        """Number of empty seats if every machine is used."""
        return int((self.limits * self.seats).sum()) - self.jobs

    def taken_seats(self) -> Booleans:
        """Whether each seat of a table's groups is taken, shape (G, S)."""
        assert self.members is not None
        return self.members >= 0

    def curves(self, place: int) -> Floats:
        """Additive penalties (T, T) or sensitivity curves (T, K) on a class of machines."""
        data = self.penalty if self.model == "additive" else self.sensitivity
        assert data is not None
        return data if data.ndim == 2 else data[place]

    @cached_property
    def alike(self) -> Integers:
        """Index (C,) of the first class with as many seats and the same penalties as each class."""
        first: Integers = np.arange(len(self.seats))
        for index in range(len(self.seats)):
            for other in range(index):
                if self.seats[other] == self.seats[index] and self._same(other, index):
                    first[index] = other
                    break
        return locked(first)

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: sizes, machines and the model of penalties."""
        kinds = [
            f"{'any number' if np.isinf(number) else f'{number:g}'} of {seats} seats"
            for number, seats in zip(self.machines, self.seats.tolist(), strict=True)
        ]
        return {
            **super().summary(),
            "jobs": self.jobs,
            "types": self.types,
            "machines": ", ".join(kinds),
            "penalties": {
                "additive": "the sum over the jobs beside it",
                "pressure": "a curve over the pressure beside it",
                "table": f"a table of {0 if self.members is None else len(self.members)} groups",
            }[self.model],
        }

    def document(self) -> dict[str, Any]:
        """Given fields as JSON values, with null for infinity."""
        content = super().document()
        if self.members is not None and self.losses is not None and self.where is not None:
            content["table"] = [
                {"members": types[: (used := sum(t >= 0 for t in types))], "penalty": lost[:used]}
                | ({} if place < 0 else {"class": place})
                for types, lost, place in zip(
                    self.members.tolist(), self.losses.tolist(), self.where.tolist(), strict=True
                )
            ]
        return content

    def _same(self, one: int, other: int) -> bool:
        if self.where is not None:
            return not ((self.where == one) | (self.where == other)).any()
        return np.array_equal(self.curves(one), self.curves(other))

    def _set_machines(self) -> None:
        seats, jobs = self.seats, self.jobs
        if self.machines is None:
            if len(seats) > 1:
                raise InvalidInstance(
                    "machines", "not given", "how many machines of each class there are"
                )
            fewest = np.full(1, float(-(-jobs // int(seats[0]))))
            set_field(self, "machines", frozen_array("machines", fewest, float, 1))
        if self.spare < 0:
            raise InvalidInstance(
                "machines", f"{int((self.limits * seats).sum())} seats in all for {jobs} jobs",
                "a seat for every job", "Give more machines or seats, or run the jobs in batches",
            )  # fmt: skip

    def _choose_model(self) -> None:
        given = [m for m, fields in _MODELS.items() if getattr(self, fields[0]) is not None]
        if len(given) != 1:
            raise InvalidInstance(
                " and ".join(_MODELS[m][0] for m in given) or "penalty",
                "given together" if given else "not given",
                "penalties by one model: penalty; or pressure, knots and sensitivity; or a table",
            )
        set_field(self, "model", given[0])
        for model, fields in _MODELS.items():
            for name in fields:
                if (getattr(self, name) is not None) != (model == given[0]):
                    word = "not given" if model == given[0] else f"given beside {given[0]} data"
                    raise InvalidInstance(name, word, f"the fields of the {given[0]} model alone")
        if self.where is not None and given[0] != "table":
            raise InvalidInstance("where", f"given beside {given[0]} data", "a table's classes")

    def _set_additive(self) -> None:
        assert self.penalty is not None
        set_field(self, "penalty", locked(np.round(self.penalty, 12)))

    def _set_curves(self) -> None:
        if self.pressure is None:
            raise InvalidInstance("pressure", "not given", "what each type puts on the others")
        knots, curve = self.knots, self.sensitivity
        assert knots is not None
        assert curve is not None
        if len(knots) == 0 or (np.diff(knots) <= 0).any():
            raise InvalidInstance("knots", knots.tolist()[:5], "pressures that rise, one or more")
        fall = np.diff(curve, axis=-1, prepend=-np.inf) < 0
        raise_first_invalid(
            "sensitivity", curve, fall, "no less than at the knot before it",
            "More pressure never helps: make measured points isotonic "
            "(cotenant.instances.groups.rising)",
        )  # fmt: skip
        set_field(self, "sensitivity", locked(np.round(curve, 12)))

    def _set_table(self) -> None:
        members, losses, types = self.members, self.losses, self.types
        assert members is not None
        assert losses is not None
        if not members.size:
            raise InvalidInstance("members", "empty", "at least one group")
        size = members.shape[1]
        if float(types + 1) ** size >= 2.0**62:
            raise InvalidInstance(
                "members", f"groups of {size} of {types} types", "a table of fewer types or seats"
            )
        taken = members >= 0
        for index in np.flatnonzero(~taken.any(axis=1))[:1].tolist():
            raise InvalidInstance(f"members[{index}]", "empty", "at least one job")
        # members ascend, empty seats last
        order = np.argsort(np.where(taken, members, types), axis=1, kind="stable")
        members = np.take_along_axis(members, order, 1)
        losses = np.take_along_axis(np.where(taken, np.round(losses, 12), 0.0), order, 1)
        used = int(taken.sum(axis=1).max())  # a file has no seats that are empty in all groups
        members, losses = members[:, :used], losses[:, :used]
        same = (members[:, 1:] == members[:, :-1]) & (members[:, 1:] >= 0)
        unequal = (same & (losses[:, 1:] != losses[:, :-1])).any(axis=1)
        for index in np.flatnonzero(unequal)[:1].tolist():
            seen = losses[index].tolist()
            raise InvalidInstance(f"losses[{index}]", seen, "one penalty for jobs of one type")
        place_of = np.full(len(members), -1) if self.where is None else self.where
        keys = np.column_stack([place_of, members])
        order = np.lexsort(keys.T[::-1])
        twice = (np.diff(keys[order], axis=0) == 0).all(axis=1)
        for index in order[1:][twice][:1].tolist():
            seen = members[index].tolist()
            raise InvalidInstance(f"members[{index}]", seen, "each group once for a class")
        for name, value in (("members", members[order]), ("losses", losses[order])):
            set_field(self, name, frozen_array(name, value, value.dtype, 2))
        set_field(self, "where", frozen_array("where", place_of[order], np.int64, 1))


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Solution):
    """Which jobs run together on machines of which class, and on how many machines.

    Parameters
    ----------
    members : (G, S) types in each kind of group, -1 for an empty seat; kept ascending with the
        empty seats last, sorted, each kind of group once for a class.
    where : (G,) class of the machines.
    number : (G,) machines that hold such a group.
    """

    members: Integers
    where: Integers
    number: Integers

    def __post_init__(self) -> None:
        members = frozen_array("members", self.members, np.int64, 2)
        where = frozen_array("where", self.where, np.int64, 1)
        number = frozen_array("number", self.number, np.int64, 1)
        if not len(members) == len(where) == len(number):
            raise InvalidInstance(
                "number", f"of lengths {len(members)}, {len(where)}, {len(number)}",
                "members, where and number of one length",
            )  # fmt: skip
        raise_first_invalid("number", number, number < 0, "how many machines, 0 or more")
        keys, inverse = np.unique(
            np.column_stack([where, ascending(members)]), axis=0, return_inverse=True
        )
        total = np.bincount(inverse.reshape(-1), weights=number, minlength=len(keys))
        total = total.astype(np.int64)
        keep = (total > 0) & (keys[:, 1:] >= 0).any(axis=1)
        used = (keys[keep, 1:] >= 0).any(axis=0)
        for name, value in (
            ("members", keys[keep][:, 1:][:, used]),
            ("where", keys[keep, 0]),
            ("number", total[keep]),
        ):
            set_field(self, name, frozen_array(name, value, np.int64, value.ndim))

    @property
    def machines(self) -> int:
        """Number of machines that a grouping uses."""
        return int(self.number.sum())

    def placed(self, types: int) -> Integers:
        """Number of jobs of each type in groups, shape (T,)."""
        taken = self.members >= 0
        weight = np.repeat(self.number, taken.sum(axis=1))
        found = np.bincount(self.members[taken], weights=weight, minlength=types)
        return cast("Integers", found.astype(np.int64))


def ascending(members: Integers) -> Integers:
    """Sort the types in each group (N, S), with the empty seats, -1, last."""
    last = np.iinfo(np.int64).max
    rows = np.sort(np.where(members < 0, last, members), axis=1)
    return cast("Integers", np.where(rows == last, -1, rows))


def group_name(names: Sequence[str], types: Integers) -> str:
    """Name of a group by the names of its types: "2 x264 + vips"."""
    kinds, number = np.unique(types[types >= 0], return_counts=True)
    return " + ".join(
        f"{'' if many == 1 else f'{many} '}{names[kind]}"
        for kind, many in zip(kinds.tolist(), number.tolist(), strict=True)
    )


def _measured(
    frame: pandas.DataFrame, listed: list[Any] | None, classes: tuple[str, ...]
) -> tuple[list[Any], dict[str, Any]]:
    """Names of the job types in a frame of measured groups, and the fields of `Groups` it gives.

    Parameters
    ----------
    listed : the types, where something names them; else those of the groups, as they come.
    """
    groups, jobs, lost = columns_of(frame, ("group", "job", "penalty"), "frame")
    where = frame["class"].tolist() if "class" in frame.columns else [None] * len(groups)
    words = [[word.strip() for word in str(group).split("+")] for group in groups]
    types = listed or list(dict.fromkeys(word for group in words for word in group))
    runs: Runs = {}
    for row, group, job, place, value in zip(frame.index, words, jobs, where, lost, strict=True):
        owner = f"frame.loc[{row!r}]"
        known = tuple(sorted(places(group, types, f"{owner}.group")))
        [kind] = places([job], types, f"{owner}.job")
        if kind not in known:
            raise InvalidInstance(f"{owner}.job", repr(job), f"one of {', '.join(group)}")
        # an empty cell is None or NaN
        every = place is None or place != place
        at = -1 if every else places([str(place)], classes, f"{owner}.class")[0]
        runs.setdefault((at, known), {}).setdefault(kind, []).append(value)
    if lacking := unmeasured(runs):
        group_names = " + ".join(str(types[kind]) for kind in lacking[1])
        raise InvalidInstance(
            "frame", f"without {types[lacking[0]]!r} in {group_names}", "a row for every member"
        )
    return types, table_fields(runs)


Runs = dict[tuple[int, tuple[int, ...]], dict[int, list[float]]]
"""Penalties of each member of each measured group, by class (-1: all) and types."""


def unmeasured(runs: Runs) -> tuple[int, tuple[int, ...]] | None:
    """First group member without a measured run in its group, as (type, group); None if none."""
    groups = ((kind, group) for (_, group), found in runs.items() for kind in group
              if kind not in found)  # fmt: skip
    return next(groups, None)


def table_fields(runs: Runs) -> dict[str, Any]:
    """Fields of `Groups` for measured penalties: the mean of all runs of a job in a group."""
    width = max((len(group) for _, group in runs), default=0)
    rest = [width - len(group) for _, group in runs]
    return {
        "members": [[*group, *[-1] * n] for (_, group), n in zip(runs, rest, strict=True)],
        "losses": [
            [*(float(np.mean(measured[kind])) for kind in group), *[0.0] * n]
            for ((_, group), measured), n in zip(runs.items(), rest, strict=True)
        ],
        "where": [place for place, _ in runs],
    }
