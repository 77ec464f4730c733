"""Kubernetes quantities, exactly: 500m, 2, 1.5Gi, 1e3, 12E."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

from ..instances.problem.errors import InvalidOption, suggest

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40}))(?:([eE][+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]))?"
)

_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    **{f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", 1)},
}  # fmt: skip


@lru_cache(maxsize=4096)
def quantity(text: str) -> Fraction:
    """The exact value of a quantity.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> quantity("1500m"), quantity("1Ki"), quantity("2e3")
    (Fraction(3, 2), Fraction(1024, 1), Fraction(2000, 1))
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = found.groups()
    value = Fraction(number.rstrip(".") if number.endswith(".") else number)
    if exponent:
        value *= Fraction(10) ** int(exponent[1:])
    return value * _SUFFIXES[suffix] if suffix else value


def measured(text: str) -> Fraction | None:
    """The exact value of a quantity, 0 or more; None where a text is none."""
    try:
        value = quantity(text)
    except ValueError:
        return None
    return value if value >= 0 else None


def amount(value: Fraction, resource: str) -> int:
    """A value in the scheduler's whole unit, rounded up as it does: thousandths of a CPU, and units
    (bytes, devices) of everything else.
    """
    return -((-value * (1000 if resource == "cpu" else 1)) // 1)


def readable(value: int, resource: str) -> str:
    """An amount in the scheduler's unit, for people.

    Examples
    --------
    >>> readable(250, "cpu"), readable(3 * 2**29, "memory")
    ('250m', '1.5Gi')
    """
    if resource == "cpu":
        return f"{value}m" if value < 1000 else f"{value / 1000:.4g}"
    if resource == "memory":
        return f"{value / 2**20:g}Mi" if value < 2**30 else f"{value / 2**30:.1f}Gi"
    return str(value)


def resource_amounts(text: str, option: str, known: Collection[str]) -> dict[str, int]:
    """Amounts of resources in the scheduler's units, of a text such as "cpu=100m,memory=128Mi".

    Parameters
    ----------
    option : where the text was given, for messages.
    known : the resources there are.

    Raises
    ------
    InvalidOption
        It is no such text, or names a resource that is not known.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        number = measured(value)
        if not number or name in found:
            raise InvalidOption(
                f"{option} is {text!r}; expected amounts above 0, each of another resource, such "
                "as cpu=100m,memory=128Mi"
            )
        if name not in known:
            raise InvalidOption(f"{option} names {name!r}; {suggest(name, sorted(known))}")
        found[name] = amount(number, name)
    return found
