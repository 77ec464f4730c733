"""Lives of servers as the columns of a linear program, priced by the verifier's dynamic program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...instances.lifetimes import Hosts, Lifetimes
from ...models.lifetimes import lives_program
from ...verify.lifetimes import Trace, dearest_life
from ..engines import WarmStartedProgram, solve_program
from ..incumbent import Incumbent
from ..outcome import raise_if_interrupted

SCALE = 10**6
"""Parts of a unit of time in which prices are whole."""

INWARD = 0.4
"""How far prices are moved from those before towards the duals."""


def generate_lives(
    instance: Lifetimes,
    trace: Trace,
    incumbent: Incumbent[Hosts, int],
    steps: list[dict[str, object]],
) -> None:
    """Raise the bound to the optimum of the linear program over all lives, rounded up, as far as
    time allows, and offer the best answer of the lives that were met.
    """
    n, clock, least = (
        len(instance.kind),
        incumbent.clock,
        int((instance.end - instance.start).min()),
    )
    assert incumbent.best is not None
    # 1. begin with the lives of the best answer, and every VM alone
    hosts = incumbent.best.host
    lives = [np.flatnonzero(hosts == h).tolist() for h in np.unique(hosts)] + [
        [i] for i in range(n)
    ]
    time = [_time(instance, life) for life in lives]
    master = WarmStartedProgram(lives_program(n, lives, np.array(time), False))
    center, best = None, Fraction(0)
    proof: dict[str, object] = {}
    while not clock.expired:
        # 2. duals of the lives met, and prices between them and those before
        answer = master.solve(clock.left)
        raise_if_interrupted(answer.stop)
        if answer.row_dual is None:
            break
        dual = np.maximum(answer.row_dual, 0.0)
        center = dual if center is None else (1 - INWARD) * center + INWARD * dual
        added = False
        for price in (center, dual):
            # 3. the dearest life at them; no life is worth more than its time at a larger scale
            whole = [int(x) for x in np.floor(price * SCALE)]
            worth, life = dearest_life(trace, whole, SCALE)
            scale = SCALE + -(-worth // least)
            if Fraction(sum(whole), scale) > best:
                best = Fraction(sum(whole), scale)
                proof = {"kind": "lives", "prices": whole, "scale": scale}
                incumbent.raise_bound(-(-best.numerator // best.denominator), "lives of servers")
            # 4. it enters where it is worth more at the duals
            cost = _time(instance, life) if life else 0
            if dual[life].sum() > cost * (1 + 1e-9) + 1e-6:
                free, ones = np.array([np.inf]), np.ones(len(life))
                master.add_columns(np.array([float(cost)]), free, [0], life, ones)
                lives.append(life)
                time.append(cost)
                added = True
                break
            center = dual
        if not added or incumbent.closed:
            break
    if proof:
        steps.append(proof)
    if incumbent.open:
        # 5. the best answer of the lives met; a VM in several keeps the first
        program = lives_program(n, lives, np.array(time), True)
        found = solve_program(program, time_limit=clock.time_slice(most=30.0))
        if found.point is not None:
            host = np.full(n, -1)
            for column in np.flatnonzero(found.point > 0.5).tolist():
                alone = [i for i in lives[column] if host[i] < 0]
                host[alone] = column
            incumbent.offer(Hosts(host), "lives of servers")
        raise_if_interrupted(found.stop)


def _time(instance: Lifetimes, vms: list[int]) -> int:
    """The server-time of a life."""
    reached, total = int(instance.times[0]), 0
    for i in sorted(vms, key=instance.start.__getitem__):
        total += max(0, int(instance.end[i]) - max(reached, int(instance.start[i])))
        reached = max(reached, int(instance.end[i]))
    return total
