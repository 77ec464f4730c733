"""Worked examples of Cooper: the paper's figures compared with ours."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ...solvers.deferred_acceptance import deferred_acceptance
from ..charts import chart
from ..experiment import Parts, equal
from . import PAPER


@PAPER.experiment("figure-5", "fig. 5")
def figure_5() -> Parts:
    """Stable marriage of three memory- and three compute-intensive jobs, round by round."""
    proposers = np.array([[0, 1, 2], [2, 0, 1], [0, 1, 2]])
    liked = [[1, 2, 0], [2, 0, 1], [1, 0, 2]]  # c1: m2, m3, m1; c2: m3, m1, m2; c3: m2, m1, m3
    score = np.array([[float(row.index(m)) for m in range(3)] for row in liked])
    result = deferred_acceptance(proposers, score, log=True)
    matched = ", ".join(f"m{m + 1}c{c + 1}" for m, c in enumerate(result.partner().tolist()))
    rejected = ", ".join(
        f"m{offer.proposer + 1} by c{offer.receiver + 1}" for offer in result.log[0].rejected
    )
    yield equal("colocations", "m1c2, m2c3, m3c1", matched)
    yield equal("rounds", "2", str(result.rounds))
    yield equal("rejected in round 1", "m1 by c1", rejected)


@PAPER.experiment("figure-14", "fig. 14", what="Shapley shares of three users' interference")
def figure_14() -> Parts:
    """Shapley shares of three users' interference."""
    interference = (1.0, 2.0, 3.0)
    added: dict[float, list[float]] = {one: [] for one in interference}  # in each ordering
    for order in permutations(interference):
        total = [0.0, 0.0, sum(order[:2]), sum(order)]  # one alone has no penalty
        for one, before, after in zip(order, total[:-1], total[1:], strict=True):
            added[one].append(after - before)
    shares = tuple(sum(each) / len(each) for each in added.values())
    for name, paper, share in zip("ABC", (1.5, 2.0, 2.5), shares, strict=True):
        yield equal(f"share of user {name}", f"{paper:.1f}", f"{share:.1f}")
    yield chart("colocation-figure-14", "Shapley shares of three users' interference", "user",
        "penalty", {"interference contributed": interference, "Shapley share": shares},
        x=[f"user {name}" for name in "ABC"],
        words="The shares rise with the interference.")  # fmt: skip
