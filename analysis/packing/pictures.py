"""Pictures of placements: utilization of servers, shares of users, and the game tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.problem.answer_table import labels
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ...solvers.packing.game.strategies import Eta, game_of
from ..report.picture import BlockChart, Chart, Drawing, Picture, Series, Style, answer_blocks
from ..report.picture_data import (
    Records,
    alike,
    evenly,
    extremes,
    map_by_name,
    means,
    records_by_method,
    rounded,
    sharing,
)
from ..report.table import slug
from ..run.rows import Row
from .metrics import loads
from .trees import MOST_LEAVES, draw_tree, play_of, tree_table

MOST_SERVERS, MOST_USERS, MOST_RESOURCES = 100, 40, 4
"""More servers are drawn by this many quantiles; of more users or resources the first are drawn."""

_NAMED = "user", ("users", "of_users")
"""Axis of the maps, and the keys of a record for `map_by_name`."""

MOST_PLAYERS, MOST_COMBINATIONS = 20, 20_000
"""Of larger games no tree is looked for: that must not take longer than the run it is kept with."""


@validate_options
def record(
    instance: Packing,
    placement: Placement,
    *,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
) -> dict[str, Any]:
    """Numbers of a placement that `pictures` draws, stored in a row; a few kB.

    `fill`: for each of at most 4 resources, the utilizations of the servers that have it, the
    fullest first; of all servers when their number is fixed, else of those used; 100 quantiles of
    them when there are more, of `servers`. `vms`, `wanted` (null when elastic) and, with fixed
    servers, `shares` (dominant): of the first 40 users. `tree`: the game as nodes and links,
    where the placement is its equilibrium play and it has at most 200 leaves.

    Parameters
    ----------
    alpha, eta, overload : of the game, as for `FUGA`.
    """
    fixed = bool(np.isfinite(instance.server_count).all())
    total = placement.totals(instance.types)
    shown = slice(0, MOST_USERS)
    found: dict[str, Any] = {
        "servers": placement.servers,
        "of_servers": int(instance.server_count.sum()) if fixed else None,
        "fill": dict(
            zip(
                instance.resources[:MOST_RESOURCES], _fill(instance, placement, fixed), strict=False
            )
        ),
        "users": list(instance.names[shown]),
        "of_users": instance.types,
        "vms": total[shown].tolist(),
        "wanted": [
            None if np.isinf(wanted) else int(wanted) for wanted in instance.requested[shown]
        ],
    }
    if fixed:
        found["shares"] = rounded((total * FairShare.of(instance).dominant_unit)[shown].tolist(), 6)
        tree = _played_tree(instance, placement, alpha, eta, overload)
        if tree is not None:
            found["tree"] = tree
    return found


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: utilization of servers, users' shares and VMs, the game
    tree.
    """
    by_method = records_by_method(rows, "fill")
    if not by_method:
        return []
    first = next(iter(by_method.values()))[0]
    drawn: list[Picture] = [_fill_chart(resource, by_method) for resource in first["fill"]]
    if "shares" in first:
        drawn.append(_share_map(by_method))
    if any(
        wanted != placed
        for records in by_method.values()
        for r in records
        for wanted, placed in zip(r["wanted"], r["vms"], strict=True)
    ):
        drawn.append(_vm_map(by_method))
    trees = [
        (method, r["tree"]) for method, records in by_method.items() for r in records if "tree" in r
    ]
    if trees:
        drawn.append(_tree_drawing(*trees[0]))
    return drawn


def _fill(instance: Packing, placement: Placement, fixed: bool) -> list[list[float]]:
    """Sorted utilizations by resource, the fullest server first."""
    load, kind = loads(instance, placement, idle=fixed)
    start = instance.initial_capacity[kind]
    busy = start - instance.capacity[kind] + load
    result = []
    for j in range(min(len(instance.resources), MOST_RESOURCES)):
        here = start[:, j] > 0
        rates = np.sort(busy[here, j] / start[here, j])[::-1]
        result.append(rounded(rates[evenly(len(rates), MOST_SERVERS)].tolist()))
    return result


def _played_tree(
    instance: Packing, placement: Placement, alpha: float, eta: Eta, overload: float | None
) -> Any:
    """Game tree with the placement as its play; None if it is no play, or the tree is too large."""
    if (
        instance.server_count.sum() > MOST_PLAYERS
        or _most_combinations(instance) > MOST_COMBINATIONS
    ):
        return None
    try:
        game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    except InvalidInstance:
        return None
    if game.leaves > MOST_LEAVES:
        return None
    from networkx import node_link_data

    tree = play_of(game, placement)
    return None if tree is None else node_link_data(tree, edges="links")


def _most_combinations(instance: Packing) -> float:
    """Upper bound on the number of combinations of VMs that fit the largest server."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(
            instance.demand > 0,
            instance.capacity[:, None, :] // np.maximum(instance.demand, 1),
            np.inf,
        ).min(axis=2)
    return float((np.minimum(each, instance.requested) + 1.0).prod(axis=1).max())


def _fill_chart(resource: str, by_method: Records) -> Chart:
    """Chart of the utilization of one resource on each server, the fullest first; equal methods
    share a line.
    """
    fixed = next(iter(by_method.values()))[0]["of_servers"]
    first = {method: records[0] for method, records in by_method.items()}
    groups = alike({m: (entry["fill"][resource], entry["servers"]) for m, entry in first.items()})
    longest = max(len(group.value[0]) for group in groups)
    few, long = longest <= 12, longest > 25
    series: list[Series] = []
    found: dict[str, float] = {}
    for group in groups:
        rates, number = group.value[0], fixed or group.value[1]
        even = len(rates) == MOST_SERVERS
        places = np.linspace(1, number, len(rates)) if even else np.arange(1, len(rates) + 1)
        x = tuple(map(str, places.tolist())) if few else tuple(places.tolist())
        tips = () if long else (", ".join(group.methods),) * len(rates)
        style: Style = "step" if long else "line+points"
        series.append(Series(group.name, x, tuple(rates), style, tips=tips))
        value = float(np.mean(rates)) if fixed and rates else float(number)
        found |= dict.fromkeys(group.methods, value)
    called = f"resource {resource}" if resource.isdigit() else resource
    what, form = ("Mean over the servers", ".3f") if fixed else ("Servers used", ".0f")
    return Chart(
        f"fill-{slug(called)}", f"How full the servers are: {called}",
        "server, the fullest first", f"utilization of {called}",
        tuple(entry for entry in series if entry.x),
        f"Utilization of {called} on each server, sorted from full to empty, by method. {what}: "
        f"{extremes(found, form)}.",
        note=f"Of each method, the first seed. {_which(fixed, by_method)} "
        f"{sharing(groups)}".strip(),
    )  # fmt: skip


def _which(fixed: int | None, by_method: Records) -> str:
    which = "Servers without VMs are drawn too." if fixed else "Only servers in use are drawn."
    largest = fixed or max(records[0]["servers"] for records in by_method.values())
    more = f" {MOST_SERVERS} quantiles stand for the {largest} servers."
    return f"{which}{more if largest > MOST_SERVERS else ''}"


def _share_map(by_method: Records) -> Picture:
    values = means(by_method, "shares")
    poorest = extremes({method: min(row) for method, row in values.items()}, ".4f")
    title = "Dominant share of each user"
    return map_by_name("dominant-shares", title, *_NAMED, by_method, values, "dominant share",
        f"{title}, by method. Share of the poorest user: {poorest}.")  # fmt: skip


def _vm_map(by_method: Records) -> Picture:
    wanted = next(iter(by_method.values()))[0]["wanted"]
    asked = {} if all(number is None for number in wanted) else {"wanted": tuple(wanted)}
    placed = means(by_method, "vms")
    total = extremes({method: sum(row) for method, row in placed.items()})
    title = "VMs placed, beside those wanted" if asked else "VMs placed for each user"
    return map_by_name("vms-placed", title, *_NAMED, by_method, asked | placed, "VMs",
        f"{title}, by method. VMs of all of them: {total}.")  # fmt: skip


@dataclass(frozen=True)
class _Drawn:
    """Drawing of a game tree, compared by its nodes and links."""

    links: Any

    def __call__(self) -> Any:
        from networkx import node_link_graph

        return draw_tree(node_link_graph(self.links, edges="links"))


def _tree_drawing(method: str, links: Any) -> Drawing:
    from networkx import node_link_graph

    tree = node_link_graph(links, edges="links")
    table = tree_table(tree)
    leaves = sum(1 for node in tree if tree.out_degree(node) == 0)
    payoffs = ", ".join(f"{value:.4f}" for value in tree.nodes[0]["payoffs"])
    players = len(tree.nodes[0]["payoffs"])
    return Drawing(
        "game-tree",
        "The servers' game, and how it is played",
        _Drawn(links),
        f"The extensive game of {players} servers with {leaves} outcomes, solved by backward "
        f"induction. The equilibrium path, which {method} plays, is drawn red; it gives the "
        f"servers, in the order of their moves, the utilities {payoffs}.",
        note="A label on an edge is the VMs of each user that the server takes; beside an outcome "
        "stand the servers' utilities in the order of their moves. Thick: what backward induction "
        "chooses there; red: what is played.",
        numbers=table,
    )


def answer_picture(instance: Packing, placement: Placement) -> BlockChart:
    """Picture of the VMs on each server by the most used resource."""
    names = labels("VM", instance.names, instance.types)
    used = placement.count @ instance.demand
    there = instance.initial_capacity[placement.server_class]
    most = int(np.argmax(used.sum(axis=0) / np.maximum(there.sum(axis=0), 1)))
    resources = instance.resources or tuple(map(str, range(instance.demand.shape[1])))
    parts = (
        (
            f"server {server}",
            f"{placement.count[server, kind]} x {names[kind]}",
            float(placement.count[server, kind] * instance.demand[kind, most]),
            names[kind],
        )
        for server, kind in np.argwhere(placement.count).tolist()
    )
    label = f"{resources[most]} in use"
    return answer_blocks("Which VMs run on which server", label, "server", parts)
