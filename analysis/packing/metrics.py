"""Metrics of a placement: servers and their cost, fairness, utilization, shares and envy. Also
audits of the paper's properties; `parts` gives the requirements that can conflict.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.cards import units_taken
from ...instances.packing.game import Alpha, FairShare, min_utilization, skewness
from ...instances.packing.instance import Integers, fits
from ...instances.packing.placement_constraints import stays
from ...instances.packing.services import rates_given
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...solvers.outcome import AGREE, Stop
from ...solvers.packing.fixed_servers import fixed_cluster
from ...solvers.packing.game.algorithm_1 import fuga_algorithm_1
from ...solvers.packing.game.joint import joint_optimum
from ...solvers.packing.game.play import NOT_REACHED, PERFECT
from ...solvers.packing.game.strategies import Eta, Overload, game_of, played
from ..manipulation import Floats, Misreport, Reports
from ..metric import Facts, Metric, Stated

METRICS: tuple[Metric, ...] = (
    Metric("servers", "servers used", digits=0, whole=True, short="servers"),
    Metric("cost", "cost of the servers used", digits=0, whole=True, short="cost"),
    Metric("vms", "VMs placed", "max", digits=0, whole=True, short="VMs"),
    Metric("disutility", "total disutility of the servers", short="disutility"),
    Metric("fairness_variance", "fairness variance", short="unfairness v"),
    Metric("skewness", "mean skewness of the servers", compared=False),
    Metric("min_utilization", "mean least utilization of the servers", "max", compared=False),
    Metric("served_least", "least rate of a service over what it asks for", "max", compared=False),
    Metric("moves", "VMs that leave their server", digits=0, whole=True, short="moves"),
    Metric("cards_allocated", "cards allocated [%]", "max", short="cards [%]", fraction=True),
    Metric("cards", "cards allocated, whole and in part", "max", compared=False),
    Metric(
        "utilization", "mean utilization over resources", "max", short="utilization", fraction=True
    ),
    Metric("utilization_least", "utilization of the least used resource", "max", compared=False),
    Metric("utilization_most", "utilization of the most used resource", "max", compared=False),
    Metric("dominant_share_min", "least dominant share", "max", short="least share", fraction=True),
    Metric("envy", "users who envy another", digits=0, whole=True, short="envy"),
    Metric("price_of_anarchy", "disutility over the joint optimum's", short="price of anarchy"),
)


@validate_options
def metrics(
    instance: Packing,
    placement: Placement,
    *,
    alpha: Alpha = 2.0,
    anarchy: bool = False,
    eta: Eta = 5,
    overload: Overload | None = None,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of a feasible placement.

    `utilization` is (initial - free + placed) / initial of all servers there are (of those used,
    when there are as many as needed), the mean over resources; `utilization:<resource>` one by one.
    `cards`, where servers have some, counts those allocated, shares added up, and `cards_allocated`
    is the percent of all cards there are (of servers used, when there are as many as needed).
    `served_least`, where services ask for rates, is the least of what each is given over what it
    asks for.
    `moves`, where the instance says what runs now, counts the VMs that leave their server (at best,
    as servers of a class are interchangeable). With fixed servers also, over all of them, empty
    ones included: `skewness` (eq. 7), `min_utilization` (eq. 6), `fairness_variance` (eq. 5 at
    `alpha`), `disutility` (servers x v + the skewnesses, the negative of all utilities of eq. 14
    added up), `dominant_share_min` over the users who want something, and `envy`, the number of
    users for whom some other user's VMs hold more VMs of their own type than they have (by the
    other's total amounts: floor(min_j x_oj / r_ij) > n_i; a met request envies nobody).

    With `anarchy`, which solves the game's joint optimum (at `eta` and `overload`, 30 seconds at
    most) besides: `price_of_anarchy`, the disutility over the bound on the joint optimum's, 1 when
    they are equal; left out where the bound is 0, and for a placement that is no play of that game
    (a combination outside the strategy sets, or a server left empty while some combination of its
    set was allowed): the joint optimum is the least of its plays only.

    Parameters
    ----------
    only : the metrics that are needed; of the others those that take long are left out.
    """
    kind = placement.server_class  # 1. Servers, VMs, services and moves.
    total = placement.totals(instance.types)
    result = {
        "servers": float(placement.servers),
        "cost": float(instance.server_cost[kind].sum()),
        "vms": float(total.sum()),
    }
    if instance.services:
        result["served_least"] = min(rate / one.rate for rate, one in rates_given(instance, total))
    if instance.placed is not None:
        result["moves"] = float(stays(instance, placement.count, kind)[1])
    used = np.bincount(kind, minlength=instance.classes)  # 2. Cards and utilization of resources.
    fixed = bool(np.isfinite(instance.server_count).all())
    number = instance.server_count.astype(np.int64) if fixed else used
    if instance.cards is not None:
        taken, there = int(total @ units_taken(instance)), int(number @ instance.cards)
        result["cards"] = taken / instance.card_units
        result["cards_allocated"] = 100.0 * taken / max(there * instance.card_units, 1)
    space = (instance.initial_capacity * number[:, None]).sum(axis=0)
    busy = ((instance.initial_capacity - instance.capacity) * number[:, None]).sum(
        axis=0
    ) + total @ instance.demand
    present = space > 0
    rates = busy[present] / space[present]
    if len(rates):
        result |= {
            "utilization": float(rates.mean()),
            "utilization_least": float(rates.min()),
            "utilization_most": float(rates.max()),
        }
        names = [name for name, here in zip(instance.resources, present, strict=True) if here]
        result |= {
            f"utilization:{name}": float(rate) for name, rate in zip(names, rates, strict=True)
        }
    if fixed and not instance.services:  # 3. Shares and disutility on fixed servers.
        result |= _fixed(instance, placement, used, total, alpha)
        if (
            anarchy
            and only is None
            and game_of(instance, alpha=alpha, eta=eta, overload=overload).is_play(placement)
        ):
            least = joint_optimum(
                instance, alpha=alpha, eta=eta, overload=overload, time_limit=30.0
            ).bound
            price = None if least is None else ratio(result["disutility"], least)
            if price is not None and np.isfinite(price):
                result["price_of_anarchy"] = price
    return result


def ratio(disutility: float, least: float) -> float:
    """Disutility of a placement divided by the least disutility, 1 if the two agree."""
    if abs(disutility - least) <= AGREE * max(1.0, abs(least)):
        return 1.0
    return disutility / least if least > 0 else float("inf")


def _fixed(
    instance: Packing, placement: Placement, used: np.ndarray, total: np.ndarray, alpha: float
) -> dict[str, float]:
    """Metrics of a placement that are defined only when every server of the cluster is listed."""
    fair = FairShare.of(instance)
    kind = placement.server_class
    load, _ = loads(instance, placement)
    idle = instance.server_count.astype(np.int64) - used
    nothing = np.zeros_like(instance.capacity)
    uneven = float(skewness(instance.capacity[kind], instance.initial_capacity[kind], load).sum())
    uneven += float(skewness(instance.capacity, instance.initial_capacity, nothing) @ idle)
    least = float(
        min_utilization(instance.capacity[kind], instance.initial_capacity[kind], load).sum()
    )
    least += float(min_utilization(instance.capacity, instance.initial_capacity, nothing) @ idle)
    servers = int(instance.server_count.sum())
    variance = fair.variance(total, alpha)
    wanting = instance.requested > 0
    return {
        "disutility": servers * variance + uneven,
        "fairness_variance": variance,
        "skewness": uneven / servers,
        "min_utilization": least / servers,
        "dominant_share_min": float(fair.shares(total)[wanting].min()),
        "envy": float(len(enviers(instance, total))),
    }


def loads(
    instance: Packing, placement: Placement, *, idle: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Amounts in use (m, k) on each server, and its class: first the servers with VMs, then with
    `idle` the empty ones of a cluster of fixed size.
    """
    kind = placement.server_class
    load = placement.count.reshape(-1, instance.types) @ instance.demand
    if not idle:
        return load, kind
    rest = instance.server_count.astype(np.int64) - np.bincount(kind, minlength=instance.classes)
    empty = np.repeat(np.arange(instance.classes), rest)
    return np.pad(load, ((0, len(empty)), (0, 0))), np.concatenate([kind, empty])


def enviers(instance: Packing, total: np.ndarray) -> list[int]:
    """Users with unserved requests for whom another user's amounts would hold more of their VMs."""
    amounts = total[:, None] * instance.demand
    result = []
    for i in range(instance.types):
        if total[i] >= instance.requested[i]:
            continue
        needs = instance.demand[i] > 0
        worth = (amounts[:, needs] // instance.demand[i][needs]).min(axis=1)
        worth[i] = 0
        if worth.max(initial=0) > total[i]:
            result.append(i)
    return result


class _Reports(Reports):
    """Misreports of packing users: the size and the number of their VMs; the true VMs then run in
    the room given to the reported ones.
    """

    unit, fields = "VMs", ("demand", "request")

    def utilities(self, truth: Packing, shown: Misreport, solution: Placement) -> Floats:
        if truth.has_constraints or truth.services or truth.cards is not None:
            raise InvalidOption("no misreports with placement rules, cards or services are known")
        room = solution.count.reshape(-1, truth.types, 1) * shown.instance.demand
        return np.asarray(np.minimum(_vms(truth, room).sum(axis=0), truth.requested))

    def most(self, truth: Packing, agent: int, honest: float, method: str) -> tuple[float, str]:
        alone = _vms(truth, truth.capacity[:, None, :] + 0 * truth.demand)[:, agent]
        number = np.where(alone > 0, truth.server_count, 0)
        return min(float(alone @ number), float(truth.requested[agent])), "all servers for its VMs"


def _vms(instance: Packing, room: Any) -> Any:
    """Number of VMs of each type, by true demand, that fit each server's room: (servers, types)."""
    needed = np.maximum(instance.demand, 1)
    return np.where(instance.demand > 0, room // needed, np.inf).min(axis=2)


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Entries of a packing certificate that follow from the answer: servers, moves, the play of a
    game, levels of shares.
    """
    hints = stated.together("prices", "scale", "rent")
    if stated.method in ("min-servers", "min-cost"):
        return hints | _servers(stated)
    if stated.answer is None:
        names = ("servers", "cost") if stated.method == "fewest-moves" else ()
        return {it: stated.options[it] for it in names if stated.options[it] is not None}
    if stated.method == "fewest-moves":
        return _moves(stated)
    if stated.method in ("FUGA", "FUGA-tree", "FUGA-algorithm-1"):
        return _play(stated)
    if stated.method == "max-min-share":
        return _shares(stated)
    return hints


def _servers(stated: Stated) -> Facts:
    from ...solvers.packing.presolve import presolve

    instance = stated.instance
    if "servers_there_are" not in stated.certificate and (stated.answer or instance.services):
        return {}
    problem = presolve(instance, costs=stated.method == "min-cost")
    return {"servers_there_are": int(problem.limit.sum())}


def _moves(stated: Stated) -> Facts:
    """Certificate entries of a plan of moves: positions of VMs that stay, the limits, and that the
    bound is at most the moves.
    """
    instance, placement = stated.instance, stated.answer
    cost = int(instance.server_cost[placement.server_class].sum())
    used = {"servers": placement.servers, "cost": cost}
    asked = {it: stated.options[it] for it in used if stated.options[it] is not None}
    on, _ = stays(instance, placement.count, placement.server_class)
    facts = {"on": on.tolist()} | (asked or {"servers": placement.servers})
    for name, bound in (("servers", "fewest_servers"), ("cost", "least_cost")):
        if name in facts:
            least = stated.certificate.get(bound, 0)
            facts[bound] = ... if 0 <= least <= used[name] else used[name]
    return facts


def _play(stated: Stated) -> Facts:
    """Utilities of the choices in a play of the game; that the play is subgame-perfect needs a
    proof.
    """
    given = stated.echoed("alpha", "eta", "overload")
    game = game_of(stated.instance, **given)
    choice = np.array(stated.certificate["choices"])
    whole = choice.dtype.kind == "i" and choice.min(initial=0) == 0
    if not whole or Placement(choice, game.kind) != stated.answer:
        raise ValueError("choices are not what the answer's servers hold")
    worth = played(game, choice, Stop.FINISHED, {"equilibrium": PERFECT})
    facts: Facts = dict(worth.certificate)
    if stated.method == "FUGA-algorithm-1" or stated.certificate.get("equilibrium") == NOT_REACHED:
        again = fuga_algorithm_1(stated.instance, **given).certificate
        kind = NOT_REACHED if stated.method == "FUGA" else again["equilibrium"]
        return facts | {"equilibrium": kind, "choices": again["choices"]}
    if stated.method == "FUGA-tree" and not game.capped:  # requests cut branches off
        widths = [len(game.strategies[c].combination) for c in game.kind.tolist()]
        facts["nodes"] = 1 + sum(accumulate(widths, operator.mul))
    return facts


def _shares(stated: Stated) -> Facts:
    """Levels of a certificate as sums of the smallest shares in the answer."""
    instance, levels = stated.instance, stated.certificate["levels"]
    worth = stated.answer.totals(instance.types) * FairShare.of(instance).dominant_unit
    shares = sorted(worth[instance.requested > 0].tolist())
    own = [
        {"objective": f"sum of the {n} least dominant shares", "value": sum(shares[:n])}
        for n in range(1, min(len(levels), len(shares)) + 1)
    ]
    settled = all(level["status"] == "optimal" for level in levels)
    return {"levels": own, "leximin": settled and len(levels) == len(shares)}


def parts(instance: Packing) -> tuple[list[str], Callable[[list[int]], Packing | None]]:
    """Texts of the packing requirements, and a function that makes the instance with a subset of
    them. A type without its request has no VMs, a class without its limit has as many servers as
    needed, and without a rule VMs run anywhere; None if no VMs are left.
    """
    names = instance.names  # 1. All parts, each with its field and index.
    classes = instance.class_names or [str(number) for number in range(instance.classes)]
    found: list[tuple[str, str, Any]] = []
    for kind in np.flatnonzero(instance.requested > 0).tolist():
        words = f"{_counted(instance.requested[kind], 'VM')} of {names[kind]!r}"
        found.append((words, "request", kind))
    if instance.placed is None:  # what runs now needs its servers
        for kind in np.flatnonzero(np.isfinite(instance.server_count)).tolist():
            words = f"{_counted(instance.server_count[kind], 'server')} of class {classes[kind]}"
            found.append((words, "servers", kind))
    for place, (one, two) in enumerate(() if instance.apart is None else instance.apart.tolist()):
        found.append((f"{names[one]!r} and {names[two]!r} apart", "apart", place))
    for name in ("most_per_server", "skew", "allowed"):
        if (rows := getattr(instance, name)) is not None:
            ruled = ~rows.all(axis=1) if name == "allowed" else np.isfinite(rows)
            for kind in np.flatnonzero(ruled).tolist():
                found.append((f"{name.replace('_', ' ')} of {names[kind]!r}", name, kind))
    for name in ("limits", "spreads"):
        for place, rule in enumerate(getattr(instance, name)):
            who = ", ".join(repr(names[kind]) for kind in rule.types)
            found.append((f"the {name.removesuffix('s')} of {who}", name, place))

    def keep(kept: list[int]) -> Packing | None:  # 2. The instance with some of them.
        gone = {part[1:] for place, part in enumerate(found) if place not in set(kept)}
        changes: dict[str, Any] = {"arrival": None}
        for name, none in (
            ("request", 0.0), ("servers", np.inf), ("most_per_server", np.inf), ("skew", np.inf),
            ("allowed", True),
        ):  # fmt: skip
            if (values := getattr(instance, name)) is not None:
                changes[name] = values = values.copy()
                values[[place for field, place in gone if field == name]] = none
        for name in ("apart", "limits", "spreads"):  # 3. Rules given as lists.
            rows = getattr(instance, name)
            if rows is not None and len(rows):
                left = [row for place, row in enumerate(rows) if (name, place) not in gone]
                changes[name] = left or (None if name == "apart" else ())
        if not changes["request"].any():  # nothing to place always fits
            return None
        return instance.replace(**changes)

    return [part[0] for part in found], keep


def _counted(number: float, what: str) -> str:
    return f"{number:.0f} {what}{'s' * int(number != 1)}"


@dataclass(frozen=True)
class Audit:
    """Users for whom a placement violates the audited properties, by index.

    Attributes
    ----------
    below_pooled_split : users with fewer VMs than 1/s of the whole cluster, as one pool, would hold
        (or than they request).
    below_server_split : users with fewer VMs than 1/s of every server, added up over servers, would
        hold (or than requested).
    enviers : users for whom another user's total amounts hold more of their VMs than they.
    still_fits : users of whose VMs one more fits on some server (and is wanted): the placement is
        not Pareto efficient.
    """

    below_pooled_split: tuple[int, ...]
    below_server_split: tuple[int, ...]
    enviers: tuple[int, ...]
    still_fits: tuple[int, ...]


def audit(instance: Packing, placement: Placement) -> Audit:
    """Measure a placement on fixed servers against the paper's theorems 8 to 10.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    """
    fixed_cluster(instance)
    total = placement.totals(instance.types)
    return Audit(
        below_pooled_split=_below(instance, total, pooled_split(instance)),
        below_server_split=_below(instance, total, server_split(instance)),
        enviers=tuple(enviers(instance, total)),
        still_fits=still_fitting(instance, placement),
    )


def pooled_split(instance: Packing) -> Integers:
    """Number of whole VMs of each of s users in 1/s of the pooled free capacity, shape (s,)."""
    total = (instance.capacity * instance.server_count.astype(np.int64)[:, None]).sum(axis=0)
    return _vms_in_part(total, instance)


def server_split(instance: Packing) -> Integers:
    """VMs of each of the s users that fit in an s-th part of each server, summed; shape (s,)."""
    each = np.array([_vms_in_part(capacity, instance) for capacity in instance.capacity])
    split: Integers = instance.server_count.astype(np.int64) @ each
    return split


def still_fitting(instance: Packing, placement: Placement) -> tuple[int, ...]:
    """Users with unserved requests for whom one more VM fits on some server."""
    load, kind = loads(instance, placement, idle=True)
    free = instance.capacity[kind] - load
    total = placement.totals(instance.types)
    room = fits(instance.demand, free).any(axis=1)
    return tuple(int(user) for user in np.flatnonzero(room & (total < instance.requested)))


def _vms_in_part(amounts: Integers, instance: Packing) -> Integers:
    """Number of whole VMs that each user can run in an equal part of amounts of resources."""
    users = instance.types
    return np.array(
        [
            min(
                int(amount) // (users * int(need))
                for amount, need in zip(amounts, row, strict=True)
                if need > 0
            )
            for row in instance.demand
        ]
    )


def _below(instance: Packing, total: Integers, split: Integers) -> tuple[int, ...]:
    return tuple(
        int(user) for user in np.flatnonzero(total < np.minimum(split, instance.requested))
    )
