"""Parameters of the search for the fewest blocking pairs."""

from __future__ import annotations

from dataclasses import dataclass

from ..roommates.matching_search import ROOMMATES_LIMITS, RoommatesLimits
from ..routes import Routed
from .aggregate_relaxation import SHARE_LIMITS, ShareLimits
from .common import PROGRAM_LIMITS, ProgramLimits


@dataclass(frozen=True)
class StableLimits(Routed):
    """Parameters of `stable`; no proof depends on them.

    Attributes
    ----------
    most_types : types beyond which the method refuses: n x n lists, ranks and what is looked up in
        them take ten times the memory of the penalties, which for 5,000 types is 2 GB.
    few_types, few_pairs : types, or ordered pairs of them that the first phase leaves, up to which
        one program over types says at once whether zero is possible, and at what least penalty;
        agents of more types are looked at one by one too.
    different_agents, listed_agents : agents up to which they are looked at one by one where they
        all differ, or are of many types: their lists are n x n matrices.
    decided_agents : agents up to which half of the time of the search over tie-breakings is left to
        decision programs: beyond, they hardly ever prove anything.
    probe_seconds : for the first search over tie-breakings: what it can say, it mostly says far
        sooner.
    zero_seconds, tie_seconds, steps_seconds, exchange_seconds, decision_seconds, penalty_seconds :
        without a time limit, for the program that says whether zero is possible, the second search
        over tie-breakings, each order encoding, exchanges between pairs, each decision, and the
        least penalty where the fewest is not zero.
    idle_exchanges : calls of the kernel in a row that improve nothing, and agents beyond which
        there are as many as an eighth of them, after which exchanges end.
    first_terms : pairs of steps that the first order encoding may have, if the least has not more:
        with fewer the bound that it can reach is low, with more it takes long to reach any.
    exact_terms : pairs of steps up to which there is but the encoding with all of them.
    few_blocking : blocking pairs up to which it is first decided whether they are enough: whether
        more are, the bounds of the order encoding say sooner.
    child_types, child_terms : types, and pairs of steps of an order encoding, from which a decision
        under a time limit runs in a process of its own: making its T^2/2 products and CP-SAT's
        presolve of them look at no clock (400 types: a minute).
    child_pairs : the same for the program without blocking pairs, of ordered pairs that the first
        phase leaves.
    exact_penalty : agents (or types) up to which the least penalty among all optima is asked for
        when the fewest is not zero.
    one_types : the same when the fewest is one and agents are of more than `few_types` types: then
        a linear program over types says it.
    listed_pair, forgiven_pair : seconds, at most, that lists of different agents, and which pairs
        the second level may use, take for each ordered pair of them; they look at no clock.
    programs, shares, roommates : limits of programs over pairs of types, of many agents of a type,
        and of the search over deletions.
    """

    most_types: int = 5000
    few_types: int = 30
    few_pairs: int = 3_000
    different_agents: int = 5000
    listed_agents: int = 1500
    decided_agents: int = 200
    probe_seconds: float = 1.0
    zero_seconds: float = 60.0
    tie_seconds: float = 10.0
    steps_seconds: float = 30.0
    exchange_seconds: float = 10.0
    decision_seconds: float = 10.0
    penalty_seconds: float = 30.0
    idle_exchanges: int = 32
    first_terms: int = 6_000
    exact_terms: int = 15_000
    few_blocking: int = 8
    child_types: int = 60
    child_terms: int = 20_000
    child_pairs: int = 25_000
    exact_penalty: int = 60
    one_types: int = 150
    listed_pair: float = 2e-7
    forgiven_pair: float = 1e-6
    programs: ProgramLimits = PROGRAM_LIMITS
    shares: ShareLimits = SHARE_LIMITS
    roommates: RoommatesLimits = ROOMMATES_LIMITS
    routes: frozenset[str] = frozenset({
        "agents", "decisions", "exact penalty", "exchanges", "order", "robust", "roommates",
        "zero",
    })  # fmt: skip
