"""Steps 1 to 3 of the FUGA algorithm: combinations, ranking by equation 10, the top eta, the order
of moves; and the outcome of a play.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from ....instances.packing.game import Alpha, FairShare, squared_skewness, whole_utilization
from ....instances.packing.instance import Floats, Integers, Packing, Placement
from ....instances.problem.errors import InvalidOption
from ....instances.problem.option_types import Above, AtLeast, validate_options
from ....instances.problem.quantities import as_written
from ...distinct_rows import distinct_rows
from ...outcome import Outcome, Status, Stop
from ..fixed_servers import UNCAPPED, combinations, fixed_cluster
from .radicals import MOST_DIGITS
from .worth import Worths

Eta = Annotated[int, AtLeast(1, "a number of strategies")] | Literal["shrinking"]
Overload = Annotated[float, Above(0, "a share of a server's resources", infinite=True)]

MOST_COMBINATIONS = 2_000_000
"""A server that can hold more different combinations is refused."""

SHRINKING_LEAVES, SHRINKING_MOST, SHRINKING_LEAST = 100_000, 10, 2


@validate_options
def pre_combination(demand: Integers, free: Integers, cap: Integers) -> Integers:
    """Step 1: all nonempty combinations of VMs that fit a server, in lexicographic order.

    Parameters
    ----------
    demand, free, cap : (s, k) VM types, (k,) what the server has free, (s,) most VMs of each.

    Raises
    ------
    InvalidOption
        There are more than two million.

    Notes
    -----
    The paper lists 12 for its first server; there are 13: <1, 0, 0> is missing (section 4.3, step
    1).
    """
    tables, number = [], 0
    for table in combinations(demand, cap, free):
        tables.append(table)
        number += len(table)
        if number - 1 > MOST_COMBINATIONS:
            raise InvalidOption(
                f"a server can hold more than {MOST_COMBINATIONS} combinations of VMs; use fewer "
                "or larger VM types, or DRF"
            )
    return np.concatenate(tables)[1:]


def ranked(combination: Integers, least: npt.NDArray[Any]) -> Integers:
    """Step 2: indices by decreasing least utilization (equation 10); ties, which the paper ranks at
    random, lexicographically.

    `least` holds whole numbers over one denominator, of any length.
    """
    if least.dtype == object:
        least = np.unique(least, return_inverse=True)[1]
    return np.lexsort((*combination.T[::-1], -least))


def rejected(free: Integers, start: Integers, load: Integers, overload: float | None) -> np.ndarray:
    """Return whether each load (n, k), with what is in use, exceeds the part `overload` of the
    server's capacity in some resource. The comparison is in exact decimals.
    """
    if overload is None:
        return np.zeros(len(load), dtype=bool)
    share = as_written(overload)
    most = np.array([min(int(share * int(amount)), 2**53) for amount in start])
    return np.asarray((start - free + load > most).any(axis=1))


def shrunk_eta(players: int) -> int:
    """Strategies of a server under eta = "shrinking": the largest number up to 10 with number **
    players at most 100,000, but at least 2.

    The text says that eta decreases as players become more (section 4.3, step 2), and no more.
    """
    eta = SHRINKING_MOST
    while eta > SHRINKING_LEAST and eta**players > SHRINKING_LEAVES:
        eta -= 1
    return eta


@dataclass(frozen=True, eq=False)
class Strategies:
    """Strategies of a server of one class, with their utilizations.

    Attributes
    ----------
    combination : (e, s) VMs of each type, best least utilization first; the empty one alone when
        nothing can be held.
    least : (e,) least utilization of each, eq. 10.
    squared, uneven : (e,) skewness of the server with each, eq. 7: its square exactly, and itself
        rounded from it.
    lowest : min(O), eq. 11, exactly: the least utilization of the last one.
    """

    combination: Integers
    least: Floats
    squared: tuple[Fraction, ...]
    uneven: Floats
    lowest: Fraction

    @classmethod
    def of(cls, instance: Packing, c: int, combination: Integers) -> Strategies:
        """Strategies of a server of class c from a table (e, s) of VM combinations."""
        free, start = instance.capacity[c], instance.initial_capacity[c]
        load = combination @ instance.demand
        least, common = whole_utilization(free, start, load)
        squared = tuple(squared_skewness(free, start, load))
        uneven = np.array([math.sqrt(square) for square in squared])
        return cls(
            combination,
            (least / common).astype(float),
            squared,
            uneven,
            Fraction(int(least[-1]), common),
        )

    @property
    def threshold(self) -> float:
        """Overload threshold of a server as a float: min(O) in eq. 11 of Xu and Yu."""
        return float(self.lowest)


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves of the players of one class, in lexicographic order.

    Attributes
    ----------
    combination, steps : (e, s) VMs, and (e,) their keys.
    squared, uneven : (e,) squared skewness of the server with each, and skewness.
    rank : (e,) the place of each skewness in their order; equal for equal ones.
    """

    combination: Integers
    steps: Integers
    squared: tuple[Fraction, ...]
    uneven: Floats
    rank: Integers

    @classmethod
    def of(cls, strategies: Strategies, worths: Worths) -> Moves:
        """Moves of the players of a class, made from their strategies."""
        order = np.lexsort(strategies.combination.T[::-1])
        combination = np.ascontiguousarray(strategies.combination[order])
        squared = tuple(strategies.squared[place] for place in order.tolist())
        rank = {square: place for place, square in enumerate(sorted(set(squared)))}
        return cls(
            combination,
            worths.keys(combination),
            squared,
            strategies.uneven[order],
            np.array([rank[entry] for entry in squared]),
        )


@dataclass(frozen=True, eq=False)
class Game:
    """Allocation game: players in the order of their moves, their strategies, and exact values of
    outcomes.

    Attributes
    ----------
    instance : what it is played on.
    strategies : of each class.
    player : (P,) the server (numbered class by class) that moves first, second, ...
    kind : (P,) the class of the player that moves first, second, ...
    alpha, fair : of eq. 14, and eq. 4.
    cap : (s,) VMs a user may get at most.
    """

    instance: Packing
    strategies: tuple[Strategies, ...]
    player: Integers
    kind: Integers
    alpha: float
    fair: FairShare
    cap: Integers

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.player)

    @property
    def capped(self) -> bool:
        """Whether any request is finite, so that moves depend on earlier moves."""
        return bool((self.cap < UNCAPPED).any())

    @property
    def leaves(self) -> int:
        """Number of leaves of the extensive game, if no request is finite."""
        product = 1
        for c in self.kind.tolist():
            product *= len(self.strategies[c].combination)
        return product

    @cached_property
    def by_class(self) -> tuple[Moves, ...]:
        """Moves of each server class; raises InvalidOption if total counts are too many."""
        return tuple(Moves.of(entry, self.worths) for entry in self.strategies)

    def moves(self, turn: int) -> Moves:
        """Moves of the player at a position in the order of moves."""
        return self.by_class[int(self.kind[turn])]

    def possible(self, turn: int, total: Integers) -> Integers:
        """Indices of a player's moves that exceed no user's cap, given the total counts before."""
        after = total + self.moves(turn).combination
        return np.flatnonzero((after < self.worths.radix).all(axis=1))

    def is_play(self, placement: Placement) -> bool:
        """Return whether some play ends with a placement.

        Every server must hold a combination of its strategy set, or be empty where caps allow none
        of them after the moves before. A class moves together, and a server that caps leave nothing
        is followed by such of its class only.
        """
        total = np.zeros(self.instance.types, dtype=np.int64)
        for c in dict.fromkeys(self.kind.tolist()):
            table = self.strategies[c].combination
            known = set(map(tuple, table.tolist()))
            rows = placement.count[placement.server_class == c].reshape(-1, self.instance.types)
            if not set(map(tuple, rows.tolist())) <= known:
                return False
            total += rows.sum(axis=0)
            idle = len(rows) < self.instance.server_count[c] and table.any(axis=1).all()
            if idle and (total + table <= self.cap).all(axis=1).any():
                return False
        return True

    @cached_property
    def worths(self) -> Worths:
        """Exact values of outcomes; raises InvalidOption if there are too many counts to
        tabulate.
        """
        servers = np.bincount(self.kind, minlength=len(self.strategies))
        most = np.array([entry.combination.max(axis=0) for entry in self.strategies])
        return Worths.of(self.fair, np.minimum(servers @ most, self.cap), self.alpha, self.players)

    @cached_property
    def idle(self) -> tuple[Fraction, ...]:
        """Squared skewness of an empty server of each class."""
        instance = self.instance
        nothing = np.zeros_like(instance.capacity[:1])
        return tuple(
            squared_skewness(free, start, nothing)[0]
            for free, start in zip(instance.capacity, instance.initial_capacity, strict=True)
        )


@validate_options
def game_of(
    instance: Packing, *, alpha: Alpha = 2.0, eta: Eta = 5, overload: Overload | None = None
) -> Game:
    """Allocation game of an instance: strategies by class and the order of moves.

    Parameters
    ----------
    alpha : above 1; weighs fairness (eq. 14).
    eta : combinations each server may choose among, at least 1, or "shrinking" with the number of
        servers.
    overload : combinations that use more than this share of some resource are rejected.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        alpha, eta or overload out of range, or too many combinations.

    Notes
    -----
    The order of moves is by increasing min(O), eq. 11, ties to the lowest server. A finite request
    (`partial`) is a cap: a combination that would pass it, given the moves before, cannot be
    chosen, and a server with nothing to choose stays empty.
    """
    cluster = fixed_cluster(instance)
    number = shrunk_eta(cluster.servers) if eta == "shrinking" else int(eta)
    strategies = tuple(
        _strategies(instance, c, cluster.cap, number, overload) for c in range(instance.classes)
    )
    lowest = [entry.lowest for entry in strategies]
    rank = np.array([sorted(lowest).index(value) for value in lowest])
    order = np.argsort(rank[cluster.kind], kind="stable")
    return Game(
        instance,
        strategies,
        order,
        cluster.kind[order],
        float(alpha),
        FairShare.of(instance),
        cluster.cap,
    )


@validate_options
def with_strategies(game: Game, tables: list[list[list[int]]]) -> Game:
    """Copy a game with other strategy sets, one list of combinations per class.

    For strategy sets printed in a paper. Combinations must fit; their order is kept.
    """
    strategies = []
    for c, rows in enumerate(tables):
        combination = np.array(rows, dtype=np.int64)
        load = combination @ game.instance.demand
        if (load > game.instance.capacity[c]).any():
            raise InvalidOption(
                f"a combination of class {c} does not fit its capacity "
                f"{game.instance.capacity[c].tolist()}"
            )
        strategies.append(Strategies.of(game.instance, c, combination))
    return replace(game, strategies=tuple(strategies))


def _strategies(
    instance: Packing, c: int, cap: Integers, eta: int, overload: float | None
) -> Strategies:
    free, start = instance.capacity[c], instance.initial_capacity[c]
    nothing = np.zeros((1, instance.types), dtype=np.int64)
    if instance.server_count[c] == 0:
        return Strategies.of(instance, c, nothing)
    table = pre_combination(instance.demand, free, cap)
    table = table[~rejected(free, start, table @ instance.demand, overload)]
    if not len(table):
        return Strategies.of(instance, c, nothing)
    least, _ = whole_utilization(free, start, table @ instance.demand)
    return Strategies.of(instance, c, table[ranked(table, least)[:eta]])


@validate_options
def utilities(game: Game, choice: Integers) -> tuple[float, list[float]]:
    """Fairness variance of a play (P, s), and each player's utility (equation 14) in the order of
    moves.
    """
    instance = game.instance
    variance = game.fair.variance(choice.sum(axis=0), game.alpha)
    load = choice @ instance.demand
    first, row_of_player = distinct_rows(np.column_stack([game.kind, load]))
    uneven = []
    for p, c in zip(first, game.kind[first], strict=True):
        free, start = instance.capacity[c], instance.initial_capacity[c]
        uneven.append(math.sqrt(squared_skewness(free, start, load[[p]])[0]))
    return variance, [-variance - uneven[row] for row in row_of_player.tolist()]


def played(game: Game, choice: Integers, stop: Stop, facts: dict[str, Any]) -> Outcome:
    """Outcome of the players' choices, in the order of moves."""
    variance, worth = utilities(game, choice)
    leaves = game.leaves
    certificate = {
        **facts,
        "order": game.player.tolist(),
        "choices": choice.tolist(),
        "utilities": worth,
        "fairness_variance": variance,
        "strategies": [len(entry.combination) for entry in game.strategies],
        "leaves": leaves if leaves < 2**53 else f"about 10^{len(str(leaves)) - 1}",
        "alpha": game.alpha,
    }
    if game.worths.unsettled:
        certificate["ties"] = (
            f"{len(game.worths.unsettled)} pairs of utilities count as equal: {MOST_DIGITS} "
            "digits agree"
        )
    return Outcome(Placement(choice, game.kind), None, Status.FEASIBLE, stop, certificate)
