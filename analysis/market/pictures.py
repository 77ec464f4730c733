"""Pictures of allocations: utilities, gains by sharing, envy, and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.market.envy import MOST_PAIRS, envy_matrix, pairs_on_servers, user_envy
from ...instances.market.families import Family, family_named
from ...instances.market.instance import Allocation, Integers, Market, answer_table
from ...instances.market.sharing import Share, sharing_ratios
from ...instances.problem.answer_table import labels
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, HeatMap, Picture, Series, answer_blocks
from ..report.picture_data import (
    SHARES,
    Record,
    Records,
    evenly,
    joined,
    records_by_method,
    rounded,
    shown_of,
    sorted_curves,
)
from ..report.table import slug
from ..run.rows import Row
from .metrics import utilities_in

MOST_USERS = 20
"""Users in a record's envy matrix: those who envy most, and whom they envy."""

MOST_SERVERS = 50
"""Servers whose prices a record holds, evenly spaced."""

MOST_MAPS = 4
"""Methods whose envy is drawn pair by pair: those with the worst pair."""

_STATIC: dict[Share, str] = {
    "endowment": "its budget's part of every server",
    "tenants": "an equal split among the users on each server",
}


@validate_options
def record(
    instance: Market, allocation: Allocation, *, utility: Family = "amdahl", rho: float = 0.5
) -> dict[str, Any]:
    """Numbers of an allocation that `pictures` draws, stored in a row; a few kB.

    Of users with a useful job, at `SHARES` of them in sorted order: `utility`, `sharing` ratios
    against two static shares, worst `envy` index. `envy_users` and `envy_matrix` [percent] of at
    most `MOST_USERS`. `price` per core of at most `MOST_SERVERS` of the `servers` that have useful
    jobs, `server` their numbers, in units of all money over their cores.
    """
    active = instance.active
    result: dict[str, Any] = {"users": int(active.sum())}
    if not active.any():
        return result
    family = family_named(utility, rho)
    result["utility"] = _sorted(utilities_in(family, instance, allocation.cores)[active])
    if allocation.price is not None:
        busy = np.unique(instance.server[instance.useful])
        chosen = busy[evenly(len(busy), MOST_SERVERS)]
        unit = instance.budget[active].sum() / instance.capacity[busy].sum()
        result |= {
            "server": chosen.tolist(),
            "price": rounded(allocation.price[chosen] / unit),
            "servers": len(busy),
        }
    if family is not None:
        return result
    result["sharing"] = {
        share: _sorted(sharing_ratios(instance, allocation, share)[active]) for share in _STATIC
    }
    if pairs_on_servers(instance) <= MOST_PAIRS:
        index, whom = user_envy(instance, allocation)
        result["envy"] = _sorted(index[active])
        shown = _most_envious(index, whom, active)
        matrix = np.nan_to_num(100 * envy_matrix(instance, allocation, shown), nan=100.0)
        result |= {
            "envy_users": shown.tolist(),
            "envy_matrix": np.floor(matrix + 1e-6).astype(int).tolist(),
        }
    return result


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs."""
    drawn: list[Picture] = []
    if found := records_by_method(rows, "utility"):
        drawn.append(sorted_curves(
            "market-utility", "Utility of every user, from the least to the most",
            ("share of the users", "utility (work per unit of time)"), SHARES, found, "utility",
            "Sorted utilities of the users, one curve per method. The user worst off", ".4g",
        ))  # fmt: skip
    if found := records_by_method(rows, "sharing"):
        drawn += [_sharing(found, share, words) for share, words in _STATIC.items()]
    if found := records_by_method(rows, "envy"):
        drawn.append(sorted_curves(  # each user's worst pair (thesis equation 3.5)
            "market-envy", "Envy of every user, from the most envious",
            ("share of the users", "envy index with the user it envies most (1: no envy)"), SHARES,
            found, "envy",
            "Sorted envy indices of the users, one curve per method; 1 is no envy. The worst pair",
            ".3g",
        ))  # fmt: skip
        drawn += _envy_maps(found)
    if found := records_by_method(rows, "price"):
        drawn.append(_prices(found))
    return drawn


def _sharing(found: Records, share: Share, words: str) -> Picture:
    """Chart of the sharing index of each user (thesis equation 3.6)."""
    chart = sorted_curves(
        f"market-sharing-{share}", f"What sharing gains every user over {words}",
        ("share of the users", "utility over that of the static share"), SHARES, found,
        lambda record: record["sharing"][share],
        f"Sorted ratios of the users' utilities to what {words} would give them, one curve "
        "per method; below 1 a user loses "
        "by sharing. The least ratio, which is the sharing index", ".3g",
        beside=(Series("no gain", (0.0, 1.0), (1.0, 1.0)),),
    )  # fmt: skip
    ratios = [ratio for line in chart.series[:-1] for ratio in line.y if ratio is not None]
    return replace(chart, y_scale="log") if 0 < 20 * min(ratios) < max(ratios) else chart


def _envy_maps(found: Records) -> list[Picture]:
    """Maps of envy of the methods whose worst pair envies most, first seed (thesis figure 3.12)."""
    worst = {method: records[0]["envy"][0] for method, records in found.items()}
    chosen = [
        method for method in sorted(worst, key=worst.__getitem__) if worst[method] < 1 - 1e-6
    ][:MOST_MAPS]
    return [_envy_map(method, found[method][0], len(found) - len(chosen)) for method in chosen]


def _envy_map(method: str, record: Record, others: int) -> Picture:
    names = tuple(f"user {user}" for user in record["envy_users"])
    values = np.array(record["envy_matrix"]) / 100
    row, column = np.unravel_index(np.argmin(values), values.shape)
    shown = "users are shown: the most envious, and whom they envy"
    return HeatMap(
        f"market-envy-{slug(method)}", f"Who envies whom under {method}",
        "the user that is looked at", "the user that looks", names, names,
        tuple(map(tuple, values.tolist())), "envy index (1: no envy)",
        f"Envy between pairs of users under {method}, dark where the user of the row would rather "
        f"have what the user of the column has. The worst pair: {names[row]} looks at "
        f"{names[column]}, index {values[row, column]:.2f}.", worse="low",
        note=joined(
            shown_of(len(names), record["users"], shown), "Indices are rounded down to percents.",
            f"{others} methods with less envy are not shown." if others else "",
        ),
    )  # fmt: skip


def _prices(found: Records) -> Picture:
    first = next(iter(found.values()))[0]
    shown = len(first["server"])
    return sorted_curves(
        "market-prices", "Price of a core on each server",
        ("server", "price of a core [all money over all cores there]"),
        first["server"], found, "price",
        f"Prices of a core on {shown} servers, for the methods that have prices. The dearest "
        "server", ".3g", max,
        note=joined("Servers without useful jobs have no price.",
        shown_of(shown, first["servers"], "are shown, evenly spaced")),
        style="points",
    )  # fmt: skip


def _sorted(values: np.ndarray) -> list[float]:
    """Quantiles of the values at the fractions `SHARES`, by linear interpolation."""
    return rounded(np.quantile(values, SHARES))


def _most_envious(index: np.ndarray, whom: Integers, active: np.ndarray) -> Integers:
    """At most `MOST_USERS` users in order: the most envious ones and those they envy most."""
    order = np.flatnonzero(active)[np.argsort(index[active], kind="stable")]
    pairs = np.column_stack([order, whom[order]]).ravel().tolist()
    return np.array(sorted(list(dict.fromkeys([*pairs, *order.tolist()]))[:MOST_USERS]))


def answer_picture(instance: Market, allocation: Allocation) -> BlockChart:
    """Picture of the users' cores on each server."""
    rows = answer_table(instance, allocation).rows
    parts = ((server, user, cores) for user, server, _, cores, *_ in rows)
    servers = labels("server", instance.server_names, instance.servers)
    return answer_blocks("Whose cores there are on each server", "cores", "server", parts, servers)
