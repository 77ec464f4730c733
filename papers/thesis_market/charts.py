"""The pictures of thesis section 3.1.2 and figs. 3.11 to 3.13, from their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...analysis.report.picture import Chart, HeatMap
from ...instances.market.instance import Floats, Integers
from ..charts import chart

Table = Mapping[int, Mapping[str, float]]
"""Number of users -> mechanism -> value."""


def shares_chart(cores: Floats, entitled: float) -> Chart:
    """Section 3.1.2: what a work-conserving policy leaves of equal entitlements."""
    rows = {
        "entitled to": {"Alice": entitled, "Bob": entitled},
        "gets": {"Alice": float(cores[:2].sum()), "Bob": float(cores[2:].sum())},
    }
    title = "Cores under a work-conserving policy"
    return chart("market-section-3.1.2", title, "user", "cores on both servers", rows)


def users_chart(
    name: str,
    title: str,
    label: str,
    table: Table,
    strong: str,
    note: str = "",
    level: float | None = None,
) -> Chart:
    """A value of every mechanism by number of users (figs. 3.11 and 3.13).

    Parameters
    ----------
    strong : the mechanism, or the bound, that is proved.
    level : drawn as a line across, when there is one that matters.
    """
    rows = {each: {n: row[each] for n, row in table.items()} for each in next(iter(table.values()))}
    return chart(name, title, "users (and servers)", label, rows, style="line+points",
        strong=[strong], levels={} if level is None else {f"{level:g}": level}, x_scale="log",
        note=note)  # fmt: skip


def envy_map(mechanism: str, matrix: Floats, group: Integers, index: float) -> HeatMap:
    """Fig. 3.12: the pairwise envy index in the group of the worst pair."""
    users = tuple(str(user) for user in group.tolist())
    worst = np.unravel_index(int(np.argmin(matrix)), matrix.shape)
    if index >= 1 - 1e-6:
        words = "Nobody envies anybody"
    else:
        words = (
            f"User {users[worst[0]]} envies user {users[worst[1]]} most, with an index of "
            f"{matrix.min():.3f}"
        )
    below = int((matrix < 1 - 1e-6).sum())
    slug = "".join(letter if letter.isalnum() else "-" for letter in mechanism.lower())
    return HeatMap(
        f"market-figure-3.12-{slug}",
        f"Envy index under {mechanism}, in the group with the most envy", "envied", "envious",
        users, users, tuple(tuple(row) for row in matrix.tolist()), "envy index, 1 is no envy",
        f"Matrix of the pairwise envy index among {len(users)} users. {words}; {below} of "
        f"{matrix.size} entries are below 1.", worse="low",
    )  # fmt: skip


def envy_bars(index: Mapping[str, float], claimed: float) -> Chart:
    """The worst pair's index by mechanism, beside what price-anticipating users keep."""
    return chart("market-figure-3.12-worst", "Envy index of the worst pair by mechanism",
        "mechanism", "envy index, 1 is no envy", {"worst pair": index},
        levels={f"{claimed:g}": claimed})  # fmt: skip
