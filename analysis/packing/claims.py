"""What of a stored placement's claims is worked out again."""

from __future__ import annotations

import json
import math

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers
from ...instances.packing.placement_constraints import stays
from ...instances.problem.errors import InvalidOption
from ...solvers.outcome import Clock, Status, Stop
from ...solvers.packing.aggregate import aggregate_bound
from ...solvers.packing.bounds import best_bound
from ...solvers.packing.cards import card_packing
from ...solvers.packing.constrained import reduce_ruled
from ...solvers.packing.dominant_shares import TOLERANCE
from ...solvers.packing.game.algorithm_1 import algorithm_1_choice
from ...solvers.packing.game.play import equilibrium
from ...solvers.packing.game.result import played
from ...solvers.packing.game.strategies import Game, game_of
from ...solvers.packing.presolve import presolve
from ...verify.frame import ProofCase
from ...verify.packing_cards import packing_cards
from ...verify.reading import Refused, parse
from ..claim_checks import ClaimChecks, alike

REPLAYED = 200_000
"""States up to which a game is played again: a second or so."""

AGAIN = 20.0
"""Seconds for the aggregate program."""

_PLAYS = ("FUGA", "FUGA-tree", "FUGA-algorithm-1")


def claims(instance: Packing, checks: ClaimChecks) -> None:
    """Servers there are, moves, plays of the game, and the levels of shares."""
    checks.limits |= {"disutility": 0.0, "utilization": 1.0}
    placement = checks.solution
    checks.belong_together("prices", "scale", "rent")
    needed = placement is None and checks.method in ("min-servers", "min-cost")
    needed = needed and not instance.services
    if needed or "servers_there_are" in checks.certificate:
        reduce = reduce_ruled if instance.has_constraints else presolve
        problem = reduce(instance, costs=checks.method == "min-cost")
        checks.compare({"servers_there_are": int(problem.limit.sum())}, None if needed else ())
    if not isinstance(placement, Placement):
        # a proof is about as many servers as the certificate says
        checks.other_question = checks.method == "fewest-moves" and any(
            checks.options.get(name) != checks.certificate.get(name) for name in ("servers", "cost")
        )
        return
    if checks.method == "fewest-moves" and instance.placed is not None:
        _moves(instance, placement, checks)
    elif checks.method in _PLAYS:
        _play(instance, placement, checks)
    elif checks.method == "joint-optimum":
        game = _game(instance, checks)
        if checks.certificate.get("engine") == "counts" and checks.bound is not None:
            _choice(game, placement, checks)
            checks.compare({"order": game.player.tolist()})
    elif checks.method == "max-min-share":
        _shares(instance, placement, checks)
    elif checks.method == "max-gpus":
        _cards(instance, checks)


def _cards(instance: Packing, checks: ClaimChecks) -> None:
    """The fillings of a card, and that prices and tree are such, as the checker of proofs sees
    it.
    """
    checks.compare({"fillings": len(card_packing(instance)[0].fillings)}, ())
    for name, kind in (("card_prices", "prices"), ("card_tree", "propagation")):
        if (step := checks.certificate.get(name)) is None:
            continue
        document = parse(json.dumps(instance.document()).encode(), decimals=True)
        try:
            packing_cards(ProofCase(document, {}, None, [[{"kind": kind, **step}]]))
            checks.record(name)
        except (Refused, TypeError) as why:
            checks.record(name, f"prove nothing: {why}")


def _moves(instance: Packing, placement: Placement, checks: ClaimChecks) -> None:
    """On which servers VMs stay, what is in use of what is asked, and that no less would do."""
    on, _ = stays(instance, placement.count, placement.server_class)
    used = {
        "servers": placement.servers,
        "cost": int(instance.server_cost[placement.server_class].sum()),
    }
    asked = {name: checks.options[name] for name in used if checks.options.get(name) is not None}
    limits = asked or {"servers": placement.servers}
    checks.compare({"on": on.tolist(), **limits})
    checks.other_question = checks.certificate.keys() & used.keys() != limits.keys()
    for name, most in limits.items():
        if used[name] > most:
            checks.record(name, f"is {most}, and {used[name]} is in use")
        costs, bound = name == "cost", {"servers": "fewest_servers", "cost": "least_cost"}[name]
        stated, least = checks.certificate.get(bound), 1
        checks.compare({}, [bound])
        if isinstance(stated, int) and stated > used[name]:
            checks.record(bound, f"is {stated}, and {used[name]} is in use")
            continue
        if costs or not asked:
            problem = reduce_ruled(instance, costs=costs)
            least = max(
                best_bound(problem).value, aggregate_bound(problem, Clock(), seconds=AGAIN).bound
            )
        checks.other_question |= not asked and least < most
        if isinstance(stated, int) and 0 < stated <= least:
            checks.record(bound)


def _play(instance: Packing, placement: Placement, checks: ClaimChecks) -> None:
    """What the choices are worth, and, in a small game, that they are the play they claim to be."""
    game = _game(instance, checks)
    choice = _choice(game, placement, checks)
    if choice is None:
        return
    checks.compare(played(game, choice, Stop.FINISHED, {}).certificate)
    text = checks.certificate.get("equilibrium")
    allowed = {
        "FUGA": ("subgame perfect", "not reached: these are the choices of Algorithm 1"),
        "FUGA-tree": ("subgame perfect",),
        "FUGA-algorithm-1": ("Algorithm 1 claims it; proved only for one or two servers",),
    }[checks.method]
    if text not in allowed:
        words = " or ".join(map(repr, allowed))
        checks.record("equilibrium", f"is {text!r}; expected {words}")
        return
    try:
        if text == "subgame perfect":
            most = min(REPLAYED, checks.options.get("most_states", REPLAYED))
            right, _ = equilibrium(game, most_states=most)
            # how many states FUGA looked at hangs on its route; requests cut branches off a tree
            if checks.method == "FUGA-tree" and not game.capped:
                checks.compare({"nodes": _nodes(game)})
        else:
            right = algorithm_1_choice(game)
    except InvalidOption:  # too large to play again
        return
    same = np.array_equal(right, choice)
    checks.record("equilibrium", "" if same else f"is {text!r}, but the choices are others")


def _nodes(game: Game) -> int:
    """Nodes of the whole game's tree."""
    widths = [len(game.moves(place).combination) for place in range(game.players)]
    return 1 + sum(math.prod(widths[: place + 1]) for place in range(game.players))


def _game(instance: Packing, checks: ClaimChecks) -> Game:
    return game_of(
        instance, **{name: checks.options[name] for name in ("alpha", "eta", "overload")}
    )


def _choice(game: Game, placement: Placement, checks: ClaimChecks) -> Integers | None:
    """The choices in the order of moves; None, and a broken claim, if the placement has others."""
    given = checks.certificate.get("choices")
    try:
        choice = np.array(given, dtype=np.int64)
        same = alike(choice.tolist(), given) and choice.min(initial=0) == 0
        same = same and choice.shape == (game.players, game.instance.types)
        same = same and Placement(choice, game.kind) == placement
    except (TypeError, ValueError, OverflowError):
        same = False
    checks.record("choices", "" if same else "are not what the answer's servers hold")
    return choice if same else None


def _shares(instance: Packing, placement: Placement, checks: ClaimChecks) -> None:
    """Each level's value as the answer's own shares have it."""
    dominant = FairShare.of(instance).dominant_unit
    shares = sorted((placement.totals(instance.types) * dominant)[instance.requested > 0].tolist())
    levels = checks.certificate.get("levels", [])
    near = TOLERANCE * float(dominant[instance.requested > 0].min()) * len(shares)
    for number, level in enumerate(levels):
        name, value, bound = level["objective"], level["value"], level["bound"]
        checks.checked |= {f"levels[{number}].{part}" for part in ("objective", "value")}
        own = sum(shares[: number + 1])
        if number >= len(shares) or name != f"sum of the {number + 1} least dominant shares":
            checks.broken.append(f"level {number} is {name!r}, which this answer has none of")
        elif value is not None and abs(value - own) > near:
            checks.broken.append(f"level {number}, the {name}, is {own}, not {value} as claimed")
        elif bound is not None and bound < own - near:
            checks.broken.append(f"the bound {bound} on the {name} contradicts the value {own}")
        elif level["status"] == Status.OPTIMAL and (bound is None or bound > own + near):
            checks.broken.append(
                f"claimed optimal in the {name}, but the bound is {bound} and the answer is "
                f"worth {own}"
            )
    done = len(levels) == len(shares) and all(level["status"] == Status.OPTIMAL for level in levels)
    checks.compare({"leximin": done})
