"""What a certificate of a placement proves, looked over again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers
from ...instances.packing.placement_constraints import stays
from ...instances.problem.errors import InvalidOption
from ...solvers.outcome import Clock, Status, Stop
from ...solvers.packing.aggregate import aggregate_bound
from ...solvers.packing.bounds import best_bound
from ...solvers.packing.constrained import Ruled, reduce_ruled
from ...solvers.packing.dominant_shares import TOLERANCE
from ...solvers.packing.game.algorithm_1 import algorithm_1_choice
from ...solvers.packing.game.joint import least_total
from ...solvers.packing.game.play import equilibrium
from ...solvers.packing.game.result import played
from ...solvers.packing.game.strategies import Game, game_of
from ...solvers.packing.generation import proved_by
from ...solvers.packing.moves import moves_bound
from ...solvers.packing.presolve import Reduced, presolve
from ..claim_checks import ClaimChecks, Stored

REPLAYED = 200_000
"""States up to which a game is played again: a second or so."""

AGAIN = 20.0
"""Seconds for the aggregate program."""

_FEWEST = ("min-servers", "min-cost", "cp-sat", "arc-flow")
_PLAYS = ("FUGA", "FUGA-tree", "FUGA-algorithm-1")


def claims(instance: Packing, stored: Stored) -> ClaimChecks:
    """Bounds by volume and by prices, plays of the game, and the levels of shares."""
    found = ClaimChecks(bounds={"disutility": 0.0, "utilization": 1.0})
    if stored.method in _FEWEST:
        _servers(found, instance, stored)
    placement = stored.solution
    if not isinstance(placement, Placement):
        return found
    if stored.method == "fewest-moves" and instance.placed is not None:
        _moves(found, instance, placement, stored)
    elif stored.method in _PLAYS:
        _play(found, instance, placement, stored)
    elif stored.method == "joint-optimum":
        _joint(found, instance, placement, stored)
    elif stored.method == "max-min-share":
        _shares(found, instance, placement, stored.certificate)
    return found


def _servers(found: ClaimChecks, instance: Packing, stored: Stored) -> None:
    """The fewest servers, or their least cost, by volume and by the prices of VMs."""
    certificate = stored.certificate
    objective = "cost" if stored.method == "min-cost" else "servers"
    problem = (reduce_ruled if instance.has_constraints else presolve)(
        instance, costs=objective == "cost"
    )
    bound = _least(problem)
    if certificate.get("bound_by") == "column generation":
        found.compare(certificate, {}, ("prices", "scale", "rent"))
    profit = found.numbers(certificate, "prices", (instance.types,))
    if profit is not None:
        rent = found.numbers(certificate, "rent", (instance.classes,))
        scale = found.numbers(certificate, "scale", ())
        exact: list[Any] = [certificate.get(name) for name in ("prices", "rent", "scale")]
        whole = rent is not None and scale is not None and scale >= 1 and all(map(_counts, exact))
        if not whole:
            found.record_check(
                "prices", "and rents are not whole numbers from 0 on, over a scale of 1 or more"
            )
        else:
            by_prices = proved_by(problem, np.array(exact[0], dtype=np.int64), int(exact[2]))
            by_columns = (
                certificate.get("bound_by") == "column generation" and stored.bound is not None
            )
            if (
                by_columns
                and max(by_prices, bound) < float(stored.bound or 0)
                and stored.solution is not None
            ):
                found.record_check("prices", f"prove {by_prices}, not {stored.bound:g}")
            bound = max(bound, by_prices)
    found.bounds[objective] = float(bound)
    if stored.solution is None and bound > problem.budget:
        found.impossible = True
    if "servers_there_are" in certificate:
        found.compare(certificate, {"servers_there_are": int(problem.limit.sum())})
    elif stored.solution is None and stored.method in ("min-servers", "min-cost"):
        found.compare(certificate, {}, ["servers_there_are"])


def _counts(numbers: Any) -> bool:
    """Whether these are whole numbers from 0 on, none of which passes 64 bits when it is added to
    another.
    """
    listed = numbers if isinstance(numbers, list) else [numbers]
    return all(type(number) is int and 0 <= number < 2**62 for number in listed)


def _least(problem: Reduced | Ruled) -> int:
    """How many servers, or what cost, there have to be at least, by volume and by the aggregate
    program.
    """
    bound = best_bound(problem).value
    if isinstance(problem, Ruled):
        bound = max(bound, aggregate_bound(problem, Clock(), seconds=AGAIN).bound)
    return bound


def _moves(found: ClaimChecks, instance: Packing, placement: Placement, stored: Stored) -> None:
    """On which servers VMs stay, how many have to move, and that no fewer servers would do."""
    certificate = stored.certificate
    on, _ = stays(instance, placement.count, placement.server_class)
    given = stored.options.get("servers")
    servers_told = placement.servers if given is None else given
    found.compare(certificate, {"on": on.tolist(), "servers": servers_told}, ("on", "servers"))
    found.compare(certificate, {}, ["fewest_servers"])
    servers = found.numbers(certificate, "servers", ())
    if servers is None:
        return
    if placement.servers > servers:
        found.record_check("servers", f"is {servers:g}, and {placement.servers} are in use")
    least = _least(reduce_ruled(instance)) if given is None else 1
    if isinstance(stated := certificate.get("fewest_servers"), int) and stated > placement.servers:
        found.record_check("fewest_servers", f"is {stated}, and {placement.servers} are in use")
    elif isinstance(stated, int) and 0 < stated <= least:
        found.record_check("fewest_servers")
    # at the fewest servers, or at the number asked for: no other bound on moves is the one claimed
    if given is not None or least >= servers:
        found.bounds["moves"] = float(moves_bound(instance, int(servers), AGAIN))


def _play(found: ClaimChecks, instance: Packing, placement: Placement, stored: Stored) -> None:
    """What the choices are worth, and, where the game is small, that they are the play they are
    said to be.
    """
    game, certificate, options = _game(instance, stored), stored.certificate, stored.options
    choice = _choice(found, game, placement, certificate)
    if choice is None:
        return
    expected = dict(played(game, choice, Stop.FINISHED, {}).certificate)
    found.compare(certificate, expected, expected)
    text = certificate.get("equilibrium")
    known = {
        "FUGA": ("subgame perfect", "not reached: these are the choices of Algorithm 1"),
        "FUGA-tree": ("subgame perfect",),
        "FUGA-algorithm-1": ("Algorithm 1 claims it; proved only for one or two servers",),
    }[stored.method]
    if text not in known:
        found.record_check("equilibrium", f"is {text!r}; expected {' or '.join(map(repr, known))}")
        return
    again: dict[str, Any] = {}
    try:
        if text == "subgame perfect":
            right, states = equilibrium(
                game, most_states=min(REPLAYED, options.get("most_states", REPLAYED))
            )
            if stored.method == "FUGA":
                again = {"states": states}
            elif (
                not game.capped
            ):  # requests cut branches off the whole game's tree; its nodes are then not looked at
                again = {"nodes": _nodes(game)}
        else:
            right = algorithm_1_choice(game)
    except InvalidOption:  # too large to play again
        return
    found.compare(certificate, again, again)
    found.record_check(
        "equilibrium",
        "" if np.array_equal(right, choice) else f"is {text!r}, but the choices are others",
    )


def _nodes(game: Game) -> int:
    """Nodes of the whole game's tree."""
    nodes = width = 1
    for place in range(game.players):
        width *= len(game.moves(place).combination)
        nodes += width
    return nodes


def _joint(found: ClaimChecks, instance: Packing, placement: Placement, stored: Stored) -> None:
    """The choices, and the least disutility by counts where the game is small: a second route to
    it.
    """
    certificate = stored.certificate
    game = _game(instance, stored)
    if certificate.get("engine") == "counts" and stored.bound is not None:
        _choice(found, game, placement, certificate)
        found.compare(certificate, {"order": game.player.tolist()}, ["order"])
    if stored.bound is not None:
        try:
            found.bounds["disutility"] = least_total(game, stored.options, REPLAYED)
        except InvalidOption:  # too large
            return


def _game(instance: Packing, stored: Stored) -> Game:
    return game_of(
        instance, **{name: stored.options[name] for name in ("alpha", "eta", "overload")}
    )


def _choice(
    found: ClaimChecks, game: Game, placement: Placement, certificate: Mapping[str, Any]
) -> Integers | None:
    """The players' choices in the order of moves, when the placement is what they make; None, and
    said, when it is not.
    """
    found.compare(certificate, {}, ["choices"])
    given = found.numbers(certificate, "choices", (game.players, game.instance.types))
    if given is None:
        return None
    choice = given.astype(np.int64)
    if (choice != given).any() or (choice < 0).any() or Placement(choice, game.kind) != placement:
        found.record_check("choices", "are not what the answer's servers hold")
        return None
    return choice


def _shares(
    found: ClaimChecks, instance: Packing, placement: Placement, certificate: Mapping[str, Any]
) -> None:
    """Each level's value as the answer's own shares have it; that no answer has more is not proved
    again.
    """
    dominant = FairShare.of(instance).dominant_unit
    shares = sorted((placement.totals(instance.types) * dominant)[instance.requested > 0].tolist())
    levels = certificate.get("levels", [])
    near = TOLERANCE * float(dominant[instance.requested > 0].min()) * len(shares)
    for number, level in enumerate(levels):
        name, value, bound = level["objective"], level["value"], level["bound"]
        found.checked |= {f"levels[{number}].{part}" for part in ("objective", "value")}
        own = sum(shares[: number + 1])
        if number >= len(shares) or name != f"sum of the {number + 1} least dominant shares":
            found.broken.append(f"level {number} is {name!r}, which this answer has none of")
        elif value is not None and abs(value - own) > near:
            found.broken.append(f"level {number}, the {name}, is {own}, not {value} as claimed")
        elif bound is not None and bound < own - near:
            found.broken.append(f"the bound {bound} on the {name} contradicts the value {own}")
        elif level["status"] == Status.OPTIMAL and (bound is None or bound > own + near):
            found.broken.append(
                f"claimed optimal in the {name}, but the bound is {bound} and the answer is "
                f"worth {own}"
            )
    done = len(levels) == len(shares) and all(level["status"] == Status.OPTIMAL for level in levels)
    found.compare(certificate, {"leximin": done}, ["leximin"])
