"""A pairing with few blocking pairs, found fast: one agent of each odd type set aside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.instance import Integers
from ...instances.problem.errors import NoSolution
from ..outcome import Outcome
from .penalty import optimal


def set_aside(
    instance: Colocation,
    zero: Callable[[Colocation], Outcome | None],
    time_limit: float | None = 10.0,
) -> tuple[Pairing, list[int]] | None:
    """Set one agent of each odd type aside; the rest has no blocking pair, so every one contains an
    agent set aside.

    That the rest can always be paired without a blocking pair is a theorem when types may be paired
    with themselves (Scarf's lemma with types as rows and pairs and loops as columns gives a
    half-integral solution, and even counts make it whole; cf. Chiappori, Galichon and Salanie, The
    roommate problem is more stable than you think).

    Parameters
    ----------
    zero : finds a pairing without blocking pair, or says that there is none; None for neither.
    time_limit : seconds for pairing those that are set aside.

    Returns
    -------
    The pairing and the types that had an agent set aside; None where the theorem does not apply
    (jobs may go without co-runner, a type may not be paired with itself, or the agents set aside
    cannot be paired among themselves).
    """
    odd = np.flatnonzero(instance.count % 2)
    rest = instance.count - instance.count % 2
    own = np.diag(np.isfinite(instance.penalty))
    if instance.singles_allowed > 0 or len(odd) == 0 or not own[rest > 0].all():
        return None
    # as many machines as pairs leave a part of the agents some to run alone on
    instance = instance.replace(machines=None)
    pairing = _aside_pairs(instance, odd, time_limit)
    if pairing is None or not rest.any():
        return None if pairing is None else (pairing, odd.tolist())
    outcome = zero(instance.replace(count=rest))
    if outcome is None or outcome.solution is None:
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


def _aside_pairs(instance: Colocation, odd: Integers, time_limit: float | None) -> Pairing | None:
    """The agents set aside, paired among themselves at least penalty."""
    alone = np.zeros_like(instance.count)
    alone[odd] = 1
    try:
        outcome = optimal(instance.replace(count=alone), time_limit=time_limit)
    except (ValueError, NoSolution):  # an agent set aside that none of the others may join
        return None
    assert outcome.solution is None or isinstance(outcome.solution, Pairing)
    return outcome.solution
