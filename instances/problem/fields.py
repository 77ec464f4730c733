"""Fields of instances and solutions: declared by annotations, converted to read-only arrays,
numbers and names, and validated.

`cores: Annotated[Integers, Axes("machines types"), AtLeast(0, "a number of cores")]` in a class is
all there is to say of a field, but for its meaning, which its docstring has. `set_fields` checks
it, `base_document` makes its JSON schema and reads it, `Instance.document` writes it, and
`frames.from_labels` takes it from labeled tables.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .documents import shortened
from .errors import InfeasibleSolution, InvalidInstance
from .option_types import OptionType, Range, unaliased
from .text import without_unit

Value = TypeVar("Value", bound=Hashable)
Array = TypeVar("Array", bound=np.ndarray[Any, Any])
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


COUNTED: Mapping[str, str] = MappingProxyType({})
"""What an instance's axes count, in words, where none is said."""

WHOLE = "whole numbers"
"""Mark of a field of floats that are whole numbers, or infinite."""


@dataclass(frozen=True)
class Axes:
    """Annotation that names the axes of an array field.

    The first field with an axis says how long it is; the fields with that axis that follow have
    that length. An array that must be given is not empty.

    Attributes
    ----------
    names : of the axes, such as "jobs types"; a number is a length. The class's `counted` has the
        words for messages.
    also : an axis that the array may have in front of the others.
    fill : every entry where the field is not given.
    where : a method of the instance that says which entries are looked at; all when "".
    parts : what to do about an entry with more than `MOST_DECIMALS`; where it is given, entries
        with fewer are taken in smaller units, see `in_smaller_units`.
    """

    names: str
    also: str = ""
    fill: float | None = None
    where: str = ""
    parts: str = ""


@dataclass(frozen=True)
class Names:
    """Annotation of a field that names each element of an axis; the names may be left out.

    Attributes
    ----------
    axis : whose entries they name.
    filled : whether "0", "1", ... are the names where none are given.
    distinct : whether each is given once, and none is empty.
    """

    axis: str
    filled: bool = False
    distinct: bool = True


@dataclass(frozen=True)
class Index:
    """Field of indices on an axis, from 0, or from `least` if a smaller number means none or
    all.
    """

    axis: str
    least: int = 0


@dataclass(frozen=True)
class Json:
    """Annotation of a field whose value stands in a JSON document in another form than in Python.

    Attributes
    ----------
    under : the object of the document that it is in.
    null : what a null in its place means; it is refused when "".
    nulls : whether a null among its entries means infinity, though no range of its has it.
    integers : whether its whole numbers stand there without a decimal point, though floats here.
    hidden : whether the document has it in a form of its own.
    """

    under: str = ""
    null: Literal["", "absent", "infinity"] = ""
    nulls: bool = False
    integers: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class FieldType:
    """Type and range of one field of an instance.

    Attributes
    ----------
    name, default : as the class has them.
    hint : its plain type, without None.
    limits : ranges in which its numbers lie, all of them.
    whole : whether its floats are whole numbers, or infinite.
    axes, names, index, json : the marks of its annotation.
    """

    name: str
    default: Any
    hint: Any
    limits: tuple[Range, ...]
    whole: bool
    axes: Axes | None
    names: Names | None
    index: Index | None
    json: Json

    @property
    def required(self) -> bool:
        """Whether the field has no default."""
        return self.default is dataclasses.MISSING

    @property
    def dtype(self) -> Any:
        """Type of the entries of an array field."""
        return typing.get_args(typing.get_args(self.hint)[1])[0]

    @property
    def infinite(self) -> bool:
        """Whether the numbers of a field may be infinite: null in JSON."""
        return self.json.nulls or any(limits.infinite for limits in self.limits)


def field_types(record: type) -> tuple[FieldType, ...]:
    """Types of the fields of an instance class, in order, by their annotations."""
    return _field_types(cast("Hashable", record))


@functools.cache
def _field_types(record: Any) -> tuple[FieldType, ...]:
    hints = typing.get_type_hints(record, include_extras=True)
    found = []
    for entry in dataclasses.fields(record):
        if not entry.init or entry.kw_only:
            continue
        hint, *marks = (
            typing.get_args(hints[entry.name])
            if typing.get_origin(hints[entry.name]) is typing.Annotated
            else [hints[entry.name]]
        )
        plain = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(plain) == 1 and type(None) in typing.get_args(hint):
            hint = plain[0]
        of_kind = {type(mark): mark for mark in marks}
        found.append(
            FieldType(
                name=entry.name,
                default=entry.default,
                hint=unaliased(hint),
                limits=tuple(mark for mark in marks if isinstance(mark, Range)),
                whole=WHOLE in marks,
                axes=of_kind.get(Axes),
                names=of_kind.get(Names),
                index=of_kind.get(Index),
                json=of_kind.get(Json, Json()),
            )
        )
    return tuple(found)


def set_fields(instance: Any) -> dict[str, int]:
    """Convert the fields of an instance to the arrays, numbers and names that they are declared as.

    Returns
    -------
    The length of each axis.

    Raises
    ------
    InvalidInstance
        A field is of another type or shape; where all are as declared, a number is out of its
        range.
    """
    lengths: dict[str, int] = {}
    types, counted = field_types(type(instance)), type(instance).counted
    for name, value in in_smaller_units(types, vars(instance)).items():
        set_field(instance, name, value)
    for field in types:
        value = getattr(instance, field.name)
        if field.axes is not None:
            value = _array(field, field.axes, value, lengths, counted)
        elif is_record(entry := (*typing.get_args(field.hint), None)[0]):
            value = _records(field.name, entry, value, lengths, counted)
        elif typing.get_origin(field.hint) is not tuple and not (
            value is None and field.default is None
        ):
            value = _scalar(field, value)
        set_field(instance, field.name, value)
    for field in types:
        value, axes = getattr(instance, field.name), field.axes
        if field.names is not None and field.names.axis in lengths:
            of, length = counted[field.names.axis], lengths[field.names.axis]
            set_names(instance, field.name, length, of, field.names)
        elif axes is not None and value is not None:
            field = _with_index_range(field, lengths, counted)
            if axes.where:
                check_range(field, value, getattr(instance, axes.where))
            else:
                check_range(field, value)
    return lengths


def _with_index_range(
    field: FieldType, lengths: Mapping[str, int], counted: Mapping[str, str]
) -> FieldType:
    """Copy the type of an index field with the length of its axis as the range."""
    if field.index is None:
        return field
    noun = counted[field.index.axis]
    what = f"a{'n' * (noun[0] in 'aeio')} {noun}"
    maximum = lengths[field.index.axis] - 1
    return replace(field, limits=(Range(field.index.least, maximum, what=what),))


def is_record(entry: Any) -> bool:
    """Whether the annotated entries of a list are objects of a dataclass."""
    return isinstance(entry, type) and dataclasses.is_dataclass(entry)


def _records(
    name: str, made: Any, given: Any, lengths: Mapping[str, int], counted: Mapping[str, str]
) -> tuple[Any, ...]:
    """Convert objects of a dataclass, or mappings, to such objects with every field validated."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidInstance(name, shortened(given), f"a list of {made.__name__}")
    types = field_types(made)
    needed = {field.name for field in types if field.required}
    found = []
    for index, entry in enumerate(given):
        content = vars(entry) if isinstance(entry, made) else entry
        known = isinstance(content, Mapping) and needed <= set(content)
        if not known or not set(content) <= {field.name for field in types}:
            expected = f"a {made.__name__} of {', '.join(field.name for field in types)}"
            raise InvalidInstance(f"{name}[{index}]", shortened(entry), expected)
        values = {}
        for field in types:
            if field.name in content:
                inner = replace(field, name=f"{name}[{index}].{field.name}")
                inner = _with_index_range(inner, lengths, counted)
                listed = typing.get_origin(field.hint) is tuple
                value = content[field.name]
                values[field.name] = _list(inner, value) if listed else _scalar(inner, value)
        found.append(made(**values))
    return tuple(found)


def _list(field: FieldType, value: Any) -> tuple[Any, ...]:
    """Validate a list of strings or of integers in a range; indices must be distinct."""
    if typing.get_args(field.hint)[0] is str:
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise InvalidInstance(field.name, shortened(value), "a list of strings")
        return tuple(value)
    array = frozen_array(field.name, value, np.int64, 1)
    if not array.size or not _is_of_numbers(value):
        raise InvalidInstance(field.name, shortened(value), "a list of integers, at least one")
    check_range(field, array)
    values = tuple(array.tolist())
    if field.index is not None and (twice := repeated(values)) is not None:
        raise InvalidInstance(field.name, f"naming {twice} twice", "each once")
    return values


MOST_DECIMALS = 6
"""Of an amount: more would be a matter of units."""


def decimals(value: float) -> int:
    """Number of decimals of a finite number in its shortest decimal form."""
    return max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent))


def _is_of_numbers(value: Any) -> bool:
    """Whether no entry of an array is a text or truth value, which numpy would make a number."""
    given = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    kinds = {*map(type, given.ravel().tolist())} if given.dtype == object else {given.dtype.type}
    return not kinds & {str, bool, np.str_, np.bool_}


def in_smaller_units(types: Sequence[FieldType], given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that change if amounts have decimals: each resource is multiplied by a power of ten,
    exactly, which its name then states, as in "cpu [1/10]".

    Nothing changes where one is negative or no finite number, or has too many decimals.
    """
    marked = [field for field in types if field.axes is not None and field.axes.parts]
    given_of = {each.name: given[each.name] for each in marked if given.get(each.name) is not None}
    try:
        arrays = {name: np.array(value, dtype=float) for name, value in given_of.items()}
        rows = np.concatenate([*arrays.values()])
        if not all(map(_is_of_numbers, given_of.values())):
            return {}
    except (ValueError, TypeError, OverflowError):  # refused where each is looked at
        return {}
    if rows.ndim != 2 or not ((rows >= 0) & (rows < 2**53)).all() or not (rows % 1).any():
        return {}
    digits = [max(map(decimals, np.unique(column).tolist())) for column in rows.T]
    if max(digits) > MOST_DECIMALS:
        return {}
    found: dict[str, Any] = {
        name: [[int(Decimal(repr(x)) * 10**d) for x, d in zip(row, digits, strict=True)]
               for row in array.tolist()]
        for name, array in arrays.items()
    }  # fmt: skip
    axis = next(each.axes.names.split()[-1] for each in marked if each.axes is not None)
    for each in types:
        if each.names is not None and each.names.axis == axis:
            names = given.get(each.name) or [*map(str, range(len(digits)))]
            if len(names) == len(digits):
                pairs = zip(names, digits, strict=True)
                found[each.name] = [f"{name} [1/{10**d}]" if d else name for name, d in pairs]
    return found


def _array(
    field: FieldType, axes: Axes, value: Any, lengths: dict[str, int], counted: Mapping[str, str]
) -> Any:
    """Validate the array of a field; axes not seen in earlier fields get their lengths from it."""
    name, wanted = field.name, axes.names.split()
    if value is None and axes.fill is not None:
        value = np.full([lengths[axis] for axis in wanted], axes.fill)
    if value is None and not field.required:
        return None
    if axes.also and _depth(value) > len(wanted):
        wanted.insert(0, axes.also)
    array = frozen_array(
        name,
        value,
        float if field.dtype is np.bool_ else field.dtype,
        len(wanted),
        parts=axes.parts,
    )
    if field.required and not array.size:
        missing = counted[wanted[array.shape.index(0)]]
        raise InvalidInstance(name, "empty", f"at least one {missing}")
    if not array.size and wanted[-1].isdecimal():
        array = array.reshape(0, int(wanted[-1]))
    shape = tuple(
        int(axis) if axis.isdecimal() else lengths.setdefault(axis, length)
        for axis, length in zip(wanted, array.shape, strict=True)
    )
    per = [counted.get(axis, axis) for axis in wanted]
    if len(shape) == 1:
        require_length(name, array, shape[0], f"one per {per[0]}")
    elif array.shape != shape:
        expected = f"shape {shape}, a row per {per[-2]} and a column per {per[-1]}"
        if per[-2] == per[-1]:
            expected = f"a square matrix, one row and column per {per[-1]}"
        raise InvalidInstance(name, f"of shape {array.shape}", expected)
    if field.dtype is np.bool_:
        raise_first_invalid(name, array, (array != 0) & (array != 1), "true or false")
        return frozen_array(name, array, np.bool_, len(wanted))
    return array


def _depth(value: Any) -> int:
    """Number of dimensions of a possibly ragged list."""
    try:
        return np.ndim(value)
    except ValueError:
        return 0


def _scalar(field: FieldType, value: Any) -> Any:
    """Validate the number, string or truth value of a field."""
    if field.hint not in (int, float):
        kind = OptionType.of(field.hint)
        if not kind.takes(value):
            raise InvalidInstance(field.name, shortened(value), kind.words)
        return bool(value) if field.hint is bool else value
    first = field.limits[0] if field.limits else Range()
    expected = _expected(field, first)
    number = as_number(field.name, value, expected, first.cure)
    if field.hint is int and number % 1:  # of infinity NaN
        raise InvalidInstance(field.name, repr(value), expected, first.cure)
    check_range(field, np.asarray(value if abs(number) < 2**62 else number))
    return int(number) if field.hint is int else number


def check_range(
    field: FieldType, values: npt.NDArray[Any], looked_at: Callable[[], Any] = lambda: True
) -> None:
    """Raise InvalidInstance for the first value outside the ranges of its field.

    Parameters
    ----------
    looked_at : which of them are, asked only where one of all values is out of a range.
    """
    if not values.size:
        return
    ends = values.min(), values.max()  # NaN where there is one
    for limits in field.limits:
        if all(map(limits.holds, ends)) and not field.whole:
            continue
        wrong = np.zeros(values.shape, dtype=np.bool_)
        if values.dtype.kind == "f":
            wrong |= ~np.isfinite(values)
        if field.whole:
            wrong |= values != np.floor(values)
        for end, beyond in (
            (limits.least, np.less),
            (limits.most, np.greater),
            (limits.above, np.less_equal),
            (limits.below, np.greater_equal),
        ):
            if end is not None:
                wrong |= beyond(values, end)
        if limits.infinite:
            wrong &= values != np.inf
        if wrong.any():
            wrong &= looked_at()
            raise_first_invalid(field.name, values, wrong, _expected(field, limits), limits.cure)


def _expected(field: FieldType, limits: Range) -> str:
    kind = int if field.hint is int else float
    words = OptionType(((kind, limits),)).values
    return f"{words}, or infinity (null)" if limits.infinite else words


def set_array(
    record: object, name: str, dtype: Any, ndim: int = 1, length: int | None = None, per: str = ""
) -> Any:
    """Convert a field to a read-only array of given type and number of dimensions, and return it.

    Parameters
    ----------
    length : how many entries it must have; `per` says of what, as in "one per job".
    """
    values = frozen_array(name, getattr(record, name), dtype, ndim)
    if length is not None:
        require_length(name, values, length, per)
    set_field(record, name, values)
    return values


def require_length(name: str, values: Any, length: int, per: str) -> None:
    """Raise InvalidInstance unless the number of values is `length`."""
    if len(values) != length:
        raise InvalidInstance(
            name, f"of length {len(values)}", f"{length} entries{per and f', {per}'}"
        )


def shaped(name: str, values: Any, *shape: int) -> npt.NDArray[Any]:
    """Convert values to an array of the expected shape, without copy if they are one; raises
    InvalidInstance otherwise.
    """
    found: npt.NDArray[Any] = np.asarray(values)
    if found.shape != shape:
        raise InvalidInstance(name, f"an array of shape {found.shape}", f"the shape {shape}")
    return found


def raise_first_invalid(
    name: str, values: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], expected: str, cure: str = ""
) -> None:
    """Raise InvalidInstance for the first value marked as wrong, if there is one."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"[{', '.join(map(str, place))}]" if place else ""
        raise InvalidInstance(f"{name}{where}", values[place], expected, cure)


def raise_first_broken(broken: npt.ArrayLike, words: Callable[..., str]) -> None:
    """Raise InfeasibleSolution for the first index at which a constraint is broken, if there is
    one.

    Parameters
    ----------
    words : of the place, an index along each axis, what is wrong there.
    """
    if np.any(broken):
        raise InfeasibleSolution(words(*np.argwhere(broken)[0].tolist()))


def set_names(instance: object, name: str, length: int, of: str, kind: Names = Names("")) -> None:
    """Set a field of names, one for each of `length` objects."""
    names = getattr(instance, name)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInstance(name, shortened(names), f"a list of strings, one per {of}")
    values = tuple(names) or (tuple(map(str, range(length))) if kind.filled else ())
    if values:
        require_length(name, values, length, f"one per {of}")
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise InvalidInstance(f"{name}[{place}]", shortened(value), "a string")
    if kind.distinct and (twice := repeated(values)) is not None:
        raise InvalidInstance(name, f"{twice!r} given twice", f"a name of its own for every {of}")
    set_field(instance, name, values if kind.distinct or any(values) else ())


def as_number(name: str, value: Any, expected: str = "a number", cure: str = "") -> float:
    """Convert a number, which may be infinite, to a float."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or value != value
    ):
        raise InvalidInstance(name, repr(value), expected, cure)
    try:
        return float(value)
    except OverflowError:
        raise InvalidInstance(name, "a number beyond every float", expected, cure) from None


def frozen_array(
    owner: str, value: Any, dtype: Any, ndim: int, *, copy: bool = True, parts: str = ""
) -> np.ndarray[Any, Any]:
    """Copy a value to a read-only array of the given type and number of dimensions; raises
    InvalidInstance, and reads an empty list as an array without rows and columns. It may be `value`
    itself where that is read-only, and without `copy`, for a caller that copies it.
    """
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "c":
            raise TypeError
        if raw.dtype == object or (raw.dtype.kind not in "biuf" and raw.size):
            raw = np.asarray(value, dtype=float)
    except OverflowError:
        raise InvalidInstance(owner, "a number beyond every float", "numbers below 1e308") from None
    except (ValueError, TypeError):
        _refuse_entry(owner, value)
        raise InvalidInstance(
            owner,
            "ragged or not numeric",
            f"a {_shape_word(ndim)} of numbers",
            "Give every row the same length",
        ) from None
    if raw.shape == (0,):  # an array without rows, whatever its columns were, from a file
        raw = raw.reshape((0,) * ndim)
    if raw.ndim != ndim:
        raise InvalidInstance(
            owner, f"an array of shape {raw.shape}", f"a {_shape_word(ndim)} of numbers"
        )
    # an unsigned number would turn round
    if np.dtype(dtype).kind == "i" and raw.dtype.kind in "fu":
        broken = ~np.isfinite(raw) | (raw != np.floor(raw)) | (np.abs(raw) >= 2**62)
        if broken.any():
            first = raw[broken][0]
            cure = parts if np.isfinite(first) and first % 1 else ""
            raise_first_invalid(owner, raw, broken, "a whole number", cure)
    whole = raw if raw.base is None else raw.base
    frozen = isinstance(whole, np.ndarray) and whole.flags.owndata
    frozen = frozen and not (whole.flags.writeable or raw.flags.writeable)
    if not copy or (frozen and raw.flags.c_contiguous and raw.dtype == dtype):
        return raw.astype(dtype, copy=False)
    return locked(np.array(raw, dtype=dtype))


def locked(array: Array) -> Array:
    """Make an array read-only, in place, and return it."""
    array.flags.writeable = False
    return array


def _refuse_entry(owner: str, value: Any) -> None:
    """Raise InvalidInstance for the first entry of a regular array that is not a number."""
    try:
        entries = np.array(value, dtype=object)
    except (ValueError, TypeError):
        return
    for place, entry in np.ndenumerate(entries) if entries.ndim else ():
        try:
            float(entry)
        except (ValueError, TypeError):
            if isinstance(entry, list | tuple):
                return
            cure = without_unit(entry) if isinstance(entry, str) else ""
            raise InvalidInstance(
                f"{owner}[{', '.join(map(str, place))}]",
                shortened(entry),
                "a number",
                cure.capitalize(),
            ) from None


def repeated(values: Iterable[Value]) -> Value | None:
    """First value that occurs twice in a sequence; None if all differ."""
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def set_field(instance: object, name: str, value: object) -> None:
    """Assign to a field of a frozen dataclass during validation."""
    object.__setattr__(instance, name, value)


def _shape_word(ndim: int) -> str:
    return {0: "single number", 1: "list", 2: "matrix"}.get(ndim, f"{ndim}-dimensional array")
