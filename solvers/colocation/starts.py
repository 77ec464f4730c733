"""Pairings with few blocking pairs, found fast: one agent of each odd type set aside, and tie-breaking keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.instance import Integers
from ...instances.colocation.stability import TOLERANCE, least_gain
from ...instances.problem.errors import NoSolution
from ..outcome import Clock, Outcome
from ..roommates import fewest_blocking_pairs, ranks_from_cost
from ..roommates.partition import Goal

KEYS_UP_TO = 1500
"""Agents up to which keys are tried: each try works on an n x n matrix."""

KEY_ROUNDS = 60
"""Keys tried before the proof is taken up, at most."""

IDLE_ROUNDS = 8
"""Keys tried after the last one that helped."""

KEY_SECONDS = 0.5
"""Time for each of them."""


def set_aside(instance: Colocation, zero: Callable[[Colocation], Outcome]) -> tuple[Pairing, list[int]] | None:
    """Set one agent of each odd type aside; the rest has no blocking pair, so every one contains an agent set aside.

    That the rest can always be paired without a blocking pair is a theorem when types may be paired with themselves (Scarf's
    lemma with types as rows and pairs and loops as columns gives a half-integral solution, and even counts make it whole; cf.
    Chiappori, Galichon and Salanie, The roommate problem is more stable than you think).

    Parameters
    ----------
    zero : finds a pairing without blocking pair, or says that there is none.

    Returns
    -------
    The pairing and the types that had an agent set aside; None where the theorem does not apply (jobs may go without
    co-runner, a type may not be paired with itself, or the agents set aside cannot be paired among themselves).
    """
    odd = np.flatnonzero(instance.count % 2)
    rest = instance.count - instance.count % 2
    own = np.diag(np.isfinite(instance.penalty))
    if instance.singles_allowed > 0 or len(odd) == 0 or not own[rest > 0].all():
        return None
    pairing = _aside_pairs(instance, odd)
    if pairing is None or not rest.any():
        return None if pairing is None else (pairing, odd.tolist())
    outcome = zero(instance.replace(count=rest))
    if outcome.solution is None:
        return None
    body = outcome.solution
    assert isinstance(body, Pairing)
    both = Pairing(
        np.concatenate([body.first, pairing.first]),
        np.concatenate([body.second, pairing.second]),
        np.concatenate([body.pairs, pairing.pairs]),
        body.single + pairing.single,
    )
    return both, odd.tolist()


def _aside_pairs(instance: Colocation, odd: Integers) -> Pairing | None:
    """The agents set aside, paired among themselves at least penalty."""
    from .penalty import optimal

    alone = np.zeros_like(instance.count)
    alone[odd] = 1
    try:
        outcome = optimal(instance.replace(count=alone), time_limit=10.0)
    except (ValueError, NoSolution):  # an agent set aside that none of the others may join
        return None
    assert outcome.solution is None or isinstance(outcome.solution, Pairing)
    return outcome.solution


def by_keys(
    instance: Colocation,
    alpha: float,
    alpha_mode: str,
    *,
    rng: np.random.Generator,
    clock: Clock,
    best: Callable[[], Pairing],
) -> Iterator[Pairing]:
    """Pairings from strict instances near this one: every penalty lowered by a key between 0 and the least gain that counts.

    Who gains here by leaving one partner for another prefers the other under every such key too. So each pairing's
    blocking pairs here are among its blocking pairs there, and some keys attain the fewest: the full key on the pairs of
    a best pairing, 0 elsewhere. Hence random keys, and in every other round the full key on the pairs of the best so far.

    Parameters
    ----------
    best : the best pairing so far.
    """
    types = instance.agent_types()
    allowed = instance.allowed[np.ix_(types, types)]
    penalty = instance.penalty[np.ix_(types, types)]
    cost = np.where(allowed, penalty, np.inf)
    width = np.where(allowed, least_gain(np.where(allowed, penalty, 0.0), alpha, alpha_mode), 0.0) + TOLERANCE
    goal: Goal = "perfect" if instance.unpaired is None else "any"
    helped, seen = 0, best()
    for number in range(KEY_ROUNDS):
        if best() != seen:
            helped, seen = number, best()
        if clock.over or number - helped > IDLE_ROUNDS:
            return
        keys = width * rng.random(cost.shape) if number else np.zeros(cost.shape)
        if number % 2:
            mate = agent_partners(instance, best())
            paired = np.flatnonzero(mate >= 0)
            keys *= rng.random()
            keys[paired, mate[paired]] = width[paired, mate[paired]]
        left = clock.left
        limit = KEY_SECONDS if left is None else max(0.01, min(KEY_SECONDS, left))
        found = fewest_blocking_pairs(ranks_from_cost(cost - keys), goal, time_limit=limit, rng=rng)
        if found.partner is None:
            return
        yield Pairing.from_partners(types, found.partner, instance.types)
        if found.stop == "interrupted":
            raise KeyboardInterrupt


def agent_partners(instance: Colocation, pairing: Pairing) -> Integers:
    """(n,) a partner for each agent that realises the pairing, -1 for none; agents of a type are taken in order."""
    following = np.cumsum(instance.count) - instance.count
    mate = np.full(instance.agents, -1, dtype=np.int64)
    for a, b, number in zip(pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True):
        left = following[a] + np.arange(number)
        following[a] += number
        right = following[b] + np.arange(number)
        following[b] += number
        mate[left], mate[right] = right, left
    return mate
