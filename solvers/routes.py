"""Which routes of a portfolio run, so that each can be measured by leaving it out."""

from __future__ import annotations

from dataclasses import dataclass

from ..instances.problem.errors import UnknownName


@dataclass(frozen=True)
class Routed:
    """Limits of a portfolio; a subclass names its routes in the default of `routes`.

    A portfolio skips the routes that are not named. That changes what it finds and proves in its
    time, and never whether it is right. `benchmarks/ablate.py` measures what each route is worth.

    Attributes
    ----------
    routes : names of the routes that run, by default all there are.

    Raises
    ------
    UnknownName
        A name in `routes` is none of the portfolio's.
    """

    routes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        known = type(self).routes
        for name in sorted(self.routes - known):
            raise UnknownName("route", name, sorted(known))
