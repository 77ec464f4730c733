"""Amounts of resources that jobs hold and a cluster has, and the unit in which processors are
counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..problem.errors import InvalidOption

Amounts = Mapping[str, int]
"""Resource -> how much: thousandths of a CPU (cpu), bytes (mem), pieces of everything else. A type
of GPU is a resource of its own (gres/gpu:a100) beside all GPUs (gres/gpu).
"""

GPU = "gres/gpu"

_AMOUNT = re.compile(r"([0-9]{1,15})(\.[0-9]{1,9})?([KMGTPE]?)")
_POWERS = {letter: 2 ** (10 * power) for power, letter in enumerate("KMGTPE", 1)}
_GRES = re.compile(r"(?:^|,)gpu(?::([^:,]+))?:([0-9]{1,9})(?=,|$)")
_UNITS = {
    "cpu": ("cpu", "CPU", "core hours", 1000),
    "gpu": (GPU, "GPU", "GPU hours", 1),
    "memory": ("mem", "GiB", "GiB hours", 2**30),
    "billing": ("billing", "billing unit", "billing hours", 1),
}
"""Unit -> its resource, its noun, its hours, and how many of the numbers of `Amounts` make one."""


@dataclass(frozen=True)
class Queue:
    """Quota that a queue contributes to a cohort, and its limits.

    Attributes
    ----------
    name, cohort : its own, and that of the root of its cohorts.
    nominal : its quota, with its part of its cohorts' own: integers, or fractions of them.
    borrowing, lending : the most above its quota, and the most of it that others may use; more
        than anyone has where there is no limit.
    weight : for fair sharing.
    weighted_share : as its status says; "" where it says nothing.
    """

    name: str
    cohort: str
    nominal: Mapping[str, Any]
    borrowing: Amounts
    lending: Amounts
    weight: Fraction
    weighted_share: str = ""


@dataclass(frozen=True)
class Unit:
    """Resource unit in which the machines of a scheduling instance and the widths of jobs are
    counted.

    Attributes
    ----------
    resource : of `Amounts`.
    noun, hours : for people: one of it, and an hour of it.
    parts : how many of the whole numbers that `whole` gives are one of the noun.
    size : how much of the noun a machine of the game is; amounts are whole numbers of machines.
    """

    resource: str = "cpu"
    noun: str = "CPU"
    hours: str = "core hours"
    parts: int = 1000
    size: Fraction = Fraction(1)

    @property
    def key(self) -> str:
        """Hours of the resource as a word for names in JSON, such as core_hours."""
        return re.sub(r"[^a-z0-9]+", "_", self.hours.lower())

    @property
    def plural(self) -> str:
        """Plural of the resource as a word for names in JSON, such as cpus."""
        return self.key.replace("core_hours", "cpu_hours").removesuffix("_hours") + "s"

    def whole(self, amounts: Amounts) -> int:
        """Amount of the resource that the unit counts, in 1/`parts` of the unit, rounded down."""
        return int(self.exact(amounts))

    def exact(self, amounts: Mapping[str, Any]) -> Fraction:
        """Amount of the resource that the unit counts, such as cpu, in a mapping, as a fraction."""
        return Fraction(amount_of(amounts, self.resource))

    @property
    def nouns(self) -> str:
        """Plural of the resource in text for people, such as CPUs."""
        return self.noun if self.noun == "GiB" else f"{self.noun}s"

    def count(self, number: str) -> str:
        """Number with the noun of the unit, such as 8 CPUs or 12 GiB."""
        return f"{number} {self.noun if number == '1' else self.nouns}"


CPUS = Unit()


def unit_named(name: str) -> Unit:
    """Look up a resource unit by name; raises an error for an unknown name.

    Parameters
    ----------
    name : cpu, gpu, memory, billing; gpu:TYPE; or a resource as the file names it, with a slash
        (gres/shard, google.com/tpu).

    Raises
    ------
    InvalidOption
        There is no such unit.
    """
    kind = name.removeprefix("gpu:")
    if name not in _UNITS and "/" not in name and not 0 < len(kind) < len(name):
        raise InvalidOption(
            f"unit is {name!r}; expected cpu, gpu, gpu:TYPE, memory, billing, or a resource with a "
            "slash such as gres/shard"
        )
    own = name if "/" in name else f"{GPU}:{kind}"
    resource, noun, hours, parts = _UNITS.get(name, (own, kind, f"{kind} hours", 1))
    return Unit(resource, noun, hours, parts)


def named_numbers(text: str, option: str, expected: str) -> dict[str, Fraction]:
    """Numbers by name from a text such as "bio=40,astro=2.5", at least one above 0; InvalidOption
    names the option.
    """
    numbers: dict[str, Fraction] = {}
    for part in text.split(","):
        name, _, value = (word.strip() for word in part.rpartition("="))
        if not name or name in numbers or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,4})?", value):
            raise InvalidOption(f"{option} is {text!r}; expected {expected}")
        numbers[name] = Fraction(value)
    if not any(numbers.values()):
        raise InvalidOption(f"{option} is {text!r}; expected one above 0")
    return numbers


def amount_of(amounts: Amounts, resource: str) -> int:
    """Amount of a resource; where only types of GPU are named, all GPUs are counted."""
    if resource == GPU and GPU not in amounts:
        return sum(number for name, number in amounts.items() if name.startswith(f"{GPU}:"))
    return amounts.get(resource, 0)


@lru_cache(maxsize=1 << 16)
def tres(text: str) -> Amounts:
    """Amounts of a TRES as Slurm prints it, without entries that are no amounts.

    Examples
    --------
    >>> dict(tres("billing=2,cpu=2,mem=512M,gres/gpu=1"))
    {'billing': 2, 'cpu': 2000, 'mem': 536870912, 'gres/gpu': 1}
    """
    amounts = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        matched = _AMOUNT.fullmatch(value)
        if matched is None:
            continue
        number = Fraction(matched[1] + (matched[2] or ""))
        letter = matched[3] or ("M" if name == "mem" else "")
        number *= _POWERS.get(letter, 1) * (1000 if name == "cpu" else 1)
        amounts[name] = -int(-number // 1)
    return MappingProxyType(amounts)


def gres(text: str) -> Amounts:
    """The GPUs of a node's Gres, such as gpu:a100:4(S:0-1),gpu:2."""
    amounts: dict[str, int] = {}
    for kind, number in _GRES.findall(re.sub(r"\([^)]*\)", "", text)):
        for name in (GPU, f"{GPU}:{kind}") if kind else (GPU,):
            amounts[name] = amounts.get(name, 0) + int(number)
    return amounts


def summed(many: Iterable[Amounts]) -> dict[str, int]:
    """Sum of several mappings of amounts, resource by resource."""
    total: dict[str, int] = {}
    for each in many:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return total
