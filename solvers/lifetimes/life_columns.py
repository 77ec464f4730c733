"""Lives of servers as the columns of a linear program, priced by the verifier's dynamic program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes
from ...models.lifetimes import lives_program
from ...verify.lifetimes import Trace, dearest_life
from ..engines import WarmStartedProgram, solve_program
from ..incumbent import Incumbent
from ..outcome import raise_if_interrupted

SCALE = 10**6
"""Parts of a unit of time in which prices are whole."""

FEW, MOST = 8, 150
"""VMs of the least size that a server holds at once, and VMs in all, of which lives are priced."""

INWARD = 0.4
"""How far prices are moved from those before towards the duals."""


def few_at_once(instance: Lifetimes) -> bool:
    """Whether a server holds few VMs at once, and there are not many."""
    fit = instance.capacity / np.maximum(instance.demand, 1e-9)
    return len(instance.kind) <= MOST and bool(fit.min(axis=1).max() < FEW + 1)


def price_lives(
    instance: Lifetimes, trace: Trace, incumbent: Incumbent[Hosts, int],
    steps: list[dict[str, object]],
) -> None:  # fmt: skip
    """Raise the bound to the optimum of the linear program over all lives, rounded up, as far as
    time allows, append its proof to the steps, and offer the best answer of the lives met.

    A life is a set of VMs that one server can run, and costs the time for which it is on: of each
    VM at least one life is taken, in parts, at least cost.
    """
    n, clock, least = (
        len(instance.kind),
        incumbent.clock,
        int((instance.end - instance.start).min()),
    )
    assert incumbent.best is not None
    # 1. begin with the lives of the best answer, and every VM alone
    host = incumbent.best.host
    lives = [np.flatnonzero(host == h) for h in np.unique(host)] + [np.array([i]) for i in range(n)]
    time = [_time(instance, life) for life in lives]
    master = WarmStartedProgram(lives_program(n, lives, time, integer=False))
    center, best, proof = None, Fraction(0), list[dict[str, object]]()
    while not (clock.expired or incumbent.closed):
        # 2. duals of the lives met, and prices between them and those before
        answer = master.solve(clock.left)
        raise_if_interrupted(answer.stop)
        if answer.row_dual is None:
            break
        dual = np.maximum(answer.row_dual, 0.0)
        center = dual if center is None else (1 - INWARD) * center + INWARD * dual
        for price in (center, dual):
            # 3. the dearest life at them; at a larger scale none is worth more than its time
            whole = [int(x * SCALE) for x in price]
            worth, members = dearest_life(trace, whole, SCALE)
            scale = SCALE + -(-worth // least)
            if Fraction(sum(whole), scale) > best:
                best = Fraction(sum(whole), scale)
                proof = [{"kind": "lives", "prices": whole, "scale": scale}]
                incumbent.raise_bound(-(-best.numerator // best.denominator), "lives of servers")
            # 4. it enters where it is worth more than its time at the duals
            life = np.array(members, dtype=np.int64)
            cost = _time(instance, life) if members else 0.0
            if dual[life].sum() > cost * (1 + 1e-9) + 1e-6:
                ends = np.array([cost]), np.array([np.inf])
                master.add_columns(*ends, [0], members, np.ones(len(life)))
                lives.append(life)
                time.append(cost)
                break
            center = dual
        else:
            break
    steps += proof
    # 5. the best answer of the lives met; a VM in several keeps the first
    if incumbent.open:
        program = lives_program(n, lives, time, integer=True)
        found = solve_program(program, time_limit=clock.time_slice(most=30.0))
        raise_if_interrupted(found.stop)
        host = np.full(n, -1)
        for column in np.flatnonzero(found.point > 0.5) if found.point is not None else ():
            host[lives[column][host[lives[column]] < 0]] = column
        incumbent.offer(Hosts(host), "lives of servers")


def _time(instance: Lifetimes, vms: Integers) -> float:
    """The server-time of a life."""
    on = np.zeros(len(instance.length), dtype=bool)
    for a, b in zip(*(part[vms] for part in instance.intervals), strict=True):
        on[a:b] = True
    return float(instance.length[on].sum())
