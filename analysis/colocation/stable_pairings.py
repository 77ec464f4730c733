"""Enumeration and number of all stable pairings of agents with strict preference lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.lists import matching, require_lists
from ...instances.colocation.objective import agent_penalties, mean_penalty
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.colocation.to_roommates import lists_of_agents
from ...solvers.roommates.stable_matchings import (
    StableCount,
    count_stable_matchings,
    stable_matchings,
)
from ..report.table import Column, Table


@dataclass(frozen=True)
class StablePairings:
    """First stable pairings of an instance, and their total number.

    Attributes
    ----------
    name : of the instance.
    count : how many, exactly or at least.
    listed : of each listed one the partner of every agent by name, None for none.
    measured : of each its mean penalty and its worst.
    """

    name: str
    count: StableCount
    listed: tuple[Mapping[str, str | None], ...]
    measured: tuple[Mapping[str, float], ...]

    @property
    def sentence(self) -> str:
        """Sentence with the number of stable pairings."""
        number = self.count.number
        words = "1 stable pairing" if number == 1 else f"{number} stable pairings"
        return words if self.count.exact else f"at least {words}: the time to count was up"

    def document(self) -> dict[str, Any]:
        """Return the stable pairings, their number and their metrics as JSON values."""
        pairings = [
            {"partners": dict(partners), **metrics}
            for partners, metrics in zip(self.listed, self.measured, strict=True)
        ]
        return {"count": self.count.number, "exact": self.count.exact, "pairings": pairings}

    @property
    def table(self) -> Table:
        """Table with a row for each listed pairing."""
        rows = []
        for index, (partners, metrics) in enumerate(
            zip(self.listed, self.measured, strict=True), start=1
        ):
            order = {who: at for at, who in enumerate(partners)}
            pairs = [f"{who} {other}" for who, other in partners.items()
                     if other is not None and order[who] < order[other]]  # fmt: skip
            rows.append((index, *(metrics[name] for name in _MEASURED), ", ".join(pairs)))
        columns = [Column("number", numeric=True)]
        for name, heading in _MEASURED.items():
            columns.append(Column(heading, "{:.4f}".format, numeric=True, key=name))
        columns.append(Column("pairs"))
        notes = () if len(rows) == self.count.number else (f"the first {len(rows)} are listed",)
        return Table("stable-pairings", self.name, tuple(columns), tuple(rows), self.sentence,
                     notes)  # fmt: skip


_MEASURED = {"penalty": "mean penalty", "worst_penalty": "worst"}


@validate_options
def stable_pairings(
    instance: Colocation,
    most: Annotated[int, AtLeast(0, "pairings to list")] = 100,
    *,
    time_limit: float | None = None,
) -> StablePairings:
    """Count the stable pairings of an instance of strict preference lists, and list the first.

    Parameters
    ----------
    instance : of strict preference lists (`has_strict_lists`).
    most : how many to list at most.
    time_limit : seconds for the counting, which is #P-hard.

    Raises
    ------
    InvalidOption
        It is none of preference lists, or a list has a tie.

    Examples
    --------
    >>> import cotenant
    >>> found = stable_pairings(cotenant.read("colocation/two-sides-6"))
    >>> found.sentence, found.listed[0]["alpha"]
    ('3 stable pairings', 'C')
    """
    require_lists(instance, "the list of all stable pairings", strict=True)
    lists = lists_of_agents(instance)
    assert lists is not None  # `require_lists`
    possible = stable_matchings(lists.place)
    if instance.unpaired is None:  # an agent that is alone in one is alone in all
        possible = (one for one in possible if (one >= 0).all())
    agents = np.arange(instance.types)
    made = (Pairing.from_partners(agents, partner, instance.types) for partner in possible)
    listed = list(islice(made, max(most, 1)))
    count = StableCount(0, True)
    if listed:
        count = count_stable_matchings(lists.place, time_limit=time_limit)
    measured = tuple(
        {
            "penalty": mean_penalty(instance, one),
            "worst_penalty": float(agent_penalties(instance, one)[1].max()),
        }
        for one in listed[:most]
    )
    named = tuple(matching(instance, one) for one in listed[:most])
    return StablePairings(instance.name, count, named, measured)
