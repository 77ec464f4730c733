"""A market over phases: jobs change, prices follow, and money may be carried over.

The thesis (section 3.1.3) lets fractions "determine bids for servers' cores in each application
phase and shape equilibrium allocations over time" and does not say how money passes from phase to
phase. Here every user gets its budget anew in each phase. Money has no use outside the market, so
users spend all they can; what a user cannot use, because no job of its own is running or can use a
second core, is lost, or carried over and spent as soon as there is use for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.market.equilibrium import money_spent
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.market.sharing import static_utilities
from ...instances.market.utility import user_utilities
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.fields import frozen_array
from ...solvers.market.fisher import fisher
from ...solvers.outcome import Outcome, Status


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase: its market (with that phase's money), equilibrium, utilities and money left."""

    market: Market
    outcome: Outcome
    utility: Floats
    saved: Floats


@dataclass(frozen=True, eq=False)
class PhaseRun:
    """All phases.

    Attributes
    ----------
    phases : in order.
    total : (n,) users' utilities summed over the phases.
    static : (n,) what their endowments would have given them (C_j B_i / sum B of each, always).
    """

    phases: tuple[Phase, ...]
    total: Floats
    static: Floats

    @property
    def certified(self) -> bool:
        """Whether every phase's equilibrium is certified."""
        return all(phase.outcome.status is Status.OPTIMAL for phase in self.phases)

    @property
    def sharing_index(self) -> float:
        """The least of total over static among users with any use for cores."""
        some = self.static > 0
        return float(np.min(self.total[some] / self.static[some], initial=np.inf))


def phases(
    market: Market,
    parallel_fraction: Sequence[npt.ArrayLike],
    work: Sequence[npt.ArrayLike],
    *,
    carry: bool = False,
    warm: bool = True,
    **options: Any,
) -> PhaseRun:
    """Solve the market of every phase, each begun from the prices of the last.

    Parameters
    ----------
    market : jobs, servers and the money each user gets per phase; not its own fractions and work.
    parallel_fraction, work : one array (k,) per phase; work 0: a job does not run in it.
    carry : whether money that a user has no use for is kept for later phases.
    warm : begin each phase from the last one's prices and cores; False begins anew (the answers
        agree to the tolerance).
    options : of `solvers.market.fisher`.

    Raises
    ------
    InvalidInstance
        No phases, or numbers of arrays that differ.
    """
    if len(parallel_fraction) != len(work) or len(work) == 0:
        seen = f"{len(work)} phases beside {len(parallel_fraction)}"
        raise InvalidInstance(
            "work", seen, "one array per phase, as many of fractions, at least one"
        )
    found: list[Phase] = []
    saved = np.zeros(market.users)
    total, static = np.zeros(market.users), np.zeros(market.users)
    last: Allocation | None = None
    for number, (fraction, amount) in enumerate(zip(parallel_fraction, work, strict=True)):
        here = market.replace(
            parallel_fraction=frozen_array(
                f"parallel_fraction of phase {number}", fraction, float, 1
            ),
            work=frozen_array(f"work of phase {number}", amount, float, 1),
            budget=market.budget + (saved if carry else 0.0),
            name=f"{market.name} phase {number}",
        )
        outcome = fisher(here, start=last if warm else None, **options)
        answer = outcome.solution
        assert isinstance(answer, Allocation)
        assert answer.price is not None
        left = np.maximum(here.budget - money_spent(here, answer.cores, answer.price), 0.0)
        # the rest is the tolerance's, not the user's
        saved = np.where(left > 1e-6 * here.budget, left, 0.0)
        utility = user_utilities(here, answer.cores)
        found.append(Phase(here, outcome, utility, saved))
        total += utility
        static += _endowment(here, market.budget)
        last = answer
    return PhaseRun(tuple(found), total, static)


def _endowment(here: Market, budget: Floats) -> Floats:
    """(n,) utilities of owning one's share of every server in this phase, idle users included."""
    everyone = here.replace(budget=budget)
    idle = ~everyone.active
    # `static_utilities` leaves idle users out; here they keep their share
    share = float(budget[~idle].sum() / budget.sum())
    smaller = everyone.replace(capacity=everyone.capacity * share) if share > 0 else everyone
    return static_utilities(smaller, "endowment")
