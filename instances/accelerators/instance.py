"""Instance of accelerators (jobs of several types that share devices of several kinds), and its
answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import Axes, Index, Json, Names, set_array, set_field, set_fields
from ..problem.frames import axis_labels, columns_of, from_labels, places
from ..problem.option_types import Above, AtLeast, Between, validate_options

if TYPE_CHECKING:
    import pandas


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST = 10**9
"""More jobs or devices than any datacentre has: beyond, a number is a slip of the pen."""

LEAST_RATE, MOST_RATE = 1e-9, 1e12
"""Steps a second; a throughput that is not 0 lies between these."""

STEPS_A_SECOND = Between(0, MOST_RATE, "steps a second")


class Placements(NamedTuple):
    """Jobs that a device can run at a time, single or in pairs, with their throughputs.

    Attributes
    ----------
    first, second : (k,) types of the jobs, first <= second; second is -1 where a job runs alone.
    device : (k,) the kind of device.
    first_rate, second_rate : (k,) steps a second of each of the two jobs; 0 where there is none.
    workers : (k,) devices that it takes.
    """

    first: Integers
    second: Integers
    device: Integers
    first_rate: Floats
    second_rate: Floats
    workers: Integers


@dataclass(frozen=True, eq=False, repr=False)
class Accelerators(Instance["TimeShares"]):
    """Jobs of T types that share devices of D kinds (GPUs of several generations, say) in time, one
    job on a device or two beside each other.

    All jobs of a type are equal. A job that needs several workers runs on so many devices of one
    kind at once, and only on a kind that has as many. Two jobs share devices if they need equally
    many workers and `together` has their throughputs. At any time a job runs at one place at most.

    Parameters
    ----------
    throughput : (T, D) steps a second of a job of each type alone on devices of each kind; 0 where
        it cannot run. A throughput that is not 0 lies from 1e-9 to 1e12.
    count : (T,) jobs of each type, whole numbers; 0 allowed.
    devices : (D,) devices of each kind, whole numbers; 0 allowed.
    together : (T, T, D) steps a second of a job of the first type beside one of the second; inf
        (JSON null) where the two do not fit, or may not run, beside each other. None: no two do.
    workers : (T,) devices that a job needs at once ("scale factor"), 1 when not given.
    weight : (T,) priorities; a job of weight 2 is due twice the throughput. 1 when not given.
    steps : (T,) steps that a job has left, for the methods that ask when jobs end.
    elapsed : (T,) seconds since a job was submitted, 0 when not given.
    deadline : (T,) seconds from now within which a job is to end; inf (JSON null) for none.
    device_cost : (D,) what a device costs an hour while it is in use; 1 when not given.
    entity_weight : (E,) priorities of the entities (teams, say) that own the jobs.
    entity : (T,) who owns the jobs of each type, by place, for `hierarchical`.
    names, device_names, entity_names : (T,), (D,) and (E,) strings.

    Notes
    -----
    The allocation problem of Gavel (Narayanan et al., OSDI 2020, sections 3 and 4), whose program
    has a variable for each job or pair of jobs and each kind of device. What is feasible there is
    convex and does not change when equal jobs change places, so an optimum exists that treats
    equal jobs alike: a variable for each type or pair of types and each kind suffices. Like Gavel's
    program it asks that no job has more than all of its time, and no kind of device more time than
    its devices have; an average of whole placements must also respect that of an odd number of
    jobs one is left without a partner at any time, so a schedule in rounds may reach a little less.
    """

    problem: ClassVar[str] = "accelerators"
    counted: ClassVar[Mapping[str, str]] = {
        "types": "type",
        "devices": "kind of device",
        "entities": "entity",
    }

    throughput: Annotated[Floats, Axes("types devices"), STEPS_A_SECOND]
    count: Annotated[Integers, Axes("types"), Between(0, MOST, "a number of jobs")]
    devices: Annotated[Integers, Axes("devices"), Between(0, MOST, "a number of devices")]
    together: Annotated[
        Floats | None,
        Axes("types types devices"),
        AtLeast(0, "steps a second", infinite=True),
        Json(null="absent"),
    ] = None
    workers: Annotated[
        Integers, Axes("types", fill=1), Between(1, MOST, "a number of devices at once")
    ] = None  # type: ignore[assignment]
    weight: Annotated[Floats, Axes("types", fill=1), Between(1e-9, 1e9, "a priority")] = None  # type: ignore[assignment]
    steps: Annotated[
        Floats | None, Axes("types"), Above(0, "steps", most=1e18), Json(null="absent")
    ] = None
    elapsed: Annotated[Floats, Axes("types", fill=0), Between(0, 1e12, "seconds")] = None  # type: ignore[assignment]
    deadline: Annotated[
        Floats | None, Axes("types"), Above(0, "seconds", infinite=True), Json(null="absent")
    ] = None
    device_cost: Annotated[Floats, Axes("devices", fill=1), Between(0, 1e12, "a cost an hour")] = (
        None  # type: ignore[assignment]
    )
    entity_weight: Annotated[
        Floats | None, Axes("entities"), Between(1e-9, 1e9, "a priority"), Json(null="absent")
    ] = None
    entity: Annotated[Integers | None, Axes("types"), Index("entities"), Json(null="absent")] = None
    names: Annotated[tuple[str, ...], Names("types", filled=True)] = ()
    device_names: Annotated[tuple[str, ...], Names("devices", filled=True)] = ()
    entity_names: Annotated[tuple[str, ...], Names("entities", filled=True)] = ()

    def __post_init__(self) -> None:
        if self.entity is not None and self.entity_weight is None:
            owners = np.array(self.entity, dtype=object).ravel()  # what is no number: refused below
            most = max((int(each) for each in owners if isinstance(each, int)), default=0)
            entities = max(len(self.entity_names), 1 + most)
            set_field(self, "entity_weight", np.ones(entities))
        set_fields(self)
        for name in ("throughput", "together"):
            if (rates := getattr(self, name)) is not None:
                _require_sizes(name, rates)
        for name, noun in (("count", "job"), ("devices", "device")):
            if not getattr(self, name).any():
                raise InvalidInstance(name, "all 0", f"at least one {noun}")
        if (self.steps is None) and self.deadline is not None and np.isfinite(self.deadline).any():
            raise InvalidInstance(
                "deadline", "given without steps", "both", "Give the steps that each job has left"
            )
        for kind in np.flatnonzero((self.count > 0) & ~(self.alone > 0).any(axis=1)).tolist():
            raise InvalidInstance(
                f"throughput[{kind}]",
                f"0 wherever {self.names[kind]!r} fits",
                f"a throughput on a kind of at least {self.workers[kind]} devices",
                "Leave the type out, or give it a count of 0",
            )

    @classmethod
    @validate_options
    def from_frame(
        cls,
        frame: pandas.DataFrame,
        *,
        devices: Any,
        count: Any = 1,
        pairs: pandas.DataFrame | None = None,
        **fields: Any,
    ) -> Self:
        """Accelerators instance from DataFrames; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        frame : throughputs alone, types of jobs down and kinds of devices across.
        devices, count : a Series or a mapping by kind and by type, or a number for all.
        pairs : columns `job`, `beside`, `device` and `throughput`, of the job beside the other;
            what is not there may not share.
        **fields : the other fields, as the class takes them, or by label.
        """
        labels = axis_labels(cls, {"throughput": frame})
        given = {"throughput": frame, "devices": devices, "count": count}
        own = {name for name, value in fields.items() if hasattr(value, "keys")}
        given |= {name: fields.pop(name) for name in sorted(own)}
        if pairs is not None:
            types, kinds = labels["types"], labels["devices"]
            *named, rates = columns_of(pairs, ("job", "beside", "device", "throughput"), "pairs")
            owners = zip(named, (types, types, kinds), ("job", "beside", "device"), strict=True)
            at = tuple(places(each, known, f"pairs.{name}") for each, known, name in owners)
            together = np.full((len(types), len(types), len(kinds)), np.inf)
            together[at] = rates
            fields["together"] = together
        return from_labels(cls, labels, given, fields)

    @property
    def types(self) -> int:
        """Number T of types of jobs."""
        return len(self.count)

    @property
    def jobs(self) -> int:
        """Number of jobs of all types."""
        return int(self.count.sum())

    @property
    def all_devices(self) -> int:
        """The number of devices of all kinds."""
        return int(self.devices.sum())

    @property
    def size(self) -> int:
        """Number of entries in the instance's tables of throughputs."""
        return int(self.throughput.size * (1 if self.together is None else 1 + self.types))

    @cached_property
    def alone(self) -> Floats:
        """(T, D) throughput of a job alone on a kind of device, 0 if it has too few devices."""
        fits = self.workers[:, None] <= self.devices
        return np.where(fits, self.throughput, 0.0)

    @cached_property
    def proportional(self) -> Floats:
        """Steps a second (T,) of a job that has each kind of device in proportion to its number.

        The job runs alone, on a kind for the kind's part of all devices (Gavel's normalization,
        OSDI 2020, section 4.1). 1 for a type without jobs, which may run nowhere.
        """
        steps = np.array([math.fsum(row) for row in (self.alone * self.devices).tolist()])
        return np.where(self.count > 0, steps / self.all_devices, 1.0)

    @cached_property
    def placements(self) -> Placements:
        """Every way to use a device that makes a job progress: single jobs first, then pairs."""
        there = self.count > 0
        first, device = np.nonzero((self.alone > 0) & there[:, None])
        nobody = np.full(len(first), -1)
        parts = [(first, nobody, device, self.alone[first, device], np.zeros(len(first)))]
        if self.together is not None:
            other = self.together.transpose(1, 0, 2)
            allowed = np.isfinite(self.together) & np.isfinite(other)
            allowed &= (self.together > 0) | (other > 0)
            allowed &= (self.workers[:, None] == self.workers)[:, :, None]
            allowed &= (self.workers[:, None] <= self.devices)[:, None]
            enough = np.triu(there[:, None] & there)
            enough[np.diag_indices(self.types)] &= self.count >= 2
            one, two, where = np.nonzero(allowed & enough[:, :, None])
            parts.append(
                (one, two, where, self.together[one, two, where], self.together[two, one, where])
            )
        columns = [np.concatenate(part) for part in zip(*parts, strict=True)]
        first, second, device, one_rate, two_rate = columns
        return Placements(first, second, device, one_rate, two_rate, self.workers[first])

    def summary(self) -> dict[str, object]:
        """Return the facts that `cotenant show` prints: jobs, types, devices, pairs."""
        kinds = zip(self.devices.tolist(), self.device_names, strict=True)
        pairs = int((self.placements.second >= 0).sum())
        facts: dict[str, object] = {
            **super().summary(),
            "jobs": f"{self.jobs} of {self.types} types",
            "devices": ", ".join(f"{number} {name}" for number, name in list(kinds)[:6]),
            "pairs": f"{pairs} pairs of types on a kind of device" if pairs else "none",
        }
        if self.workers.max() > 1:
            facts["workers"] = f"up to {self.workers.max()} devices a job"
        if self.entity is not None:
            facts["entities"] = ", ".join(self.entity_names[:6])
        return facts


@dataclass(frozen=True, eq=False, repr=False)
class TimeShares(Solution):
    """Average number of jobs and of pairs of jobs that run on each kind of device at a time.

    A row says how many jobs of type `first`, on average over time, run on devices of a kind beside
    a job of type `second`, or alone. Equal jobs have equal parts: of a type with n jobs, each is in
    a row 1/n of the row's time, or 2/n where both of the pair are of the type.

    Parameters
    ----------
    first, second : (k,) types; `second` is -1 for jobs alone.
    device : (k,) kinds of device.
    share : (k,) how many of these jobs, or pairs, run at a time, on average; 2.5 may be three pairs
        half of the time and two the other half.
    """

    first: Integers
    second: Integers
    device: Integers
    share: Floats

    def __post_init__(self) -> None:
        set_array(self, "share", float)
        if not (np.isfinite(self.share).all() and (self.share >= 0).all()):
            raise InvalidInstance("share", "negative or no number", "numbers of 0 or more")
        for name in ("first", "second", "device"):
            set_array(self, name, np.int64, length=len(self.share), per="one per share")


def has_steps(instance: Accelerators) -> bool:
    """Whether an instance says how many steps jobs have left."""
    return instance.steps is not None


def has_entities(instance: Accelerators) -> bool:
    """Whether an instance says which entity owns the jobs."""
    return instance.entity is not None


def _require_sizes(name: str, rates: Floats) -> None:
    """Raise InvalidInstance for the first throughput that is not 0 nor in the accepted range."""
    odd = np.isfinite(rates) & (rates > 0) & ((rates < LEAST_RATE) | (rates > MOST_RATE))
    for place in map(tuple, np.argwhere(odd)[:1].tolist()):
        raise InvalidInstance(
            f"{name}[{', '.join(map(str, place))}]", f"{rates[place]:g}",
            f"0, or steps a second from {LEAST_RATE:g} to {MOST_RATE:g}",
            "Count other steps, such as batches",
        )  # fmt: skip
