"""Kubernetes quantities for people, and in options."""

from __future__ import annotations

from collections.abc import Collection

from ...instances.problem.errors import InvalidOption, suggest
from ...instances.problem.quantities import amount, measured


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
