"""How far prices and time shares are from an equilibrium of Hylland and Zeckhauser, by its
definition, in fractions.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import cotenant
from cotenant.instances.accelerators import Accelerators, TimeShares
from support.proved import proved

NAMES = ("clearing", "overspending", "regret")


def best_exactly(value: list[Fraction], cost: list[Fraction], budget: Fraction) -> Fraction:
    """The most of value x with x >= 0, sum x <= 1 and cost x <= budget: the best of all basic
    solutions, which are those of at most two kinds.
    """
    best = Fraction(0)
    for one, price in zip(value, cost, strict=True):
        part = min(Fraction(1), budget / price) if price else Fraction(1)
        best = max(best, part * one)
    for a, b in itertools.permutations(range(len(value)), 2):
        if cost[a] != cost[b]:  # both rows hold with equality
            part = (budget - cost[b]) / (cost[a] - cost[b])
            if 0 <= part <= 1:
                best = max(best, part * value[a] + (1 - part) * value[b])
    return best


def exact_errors(
    instance: Accelerators, solution: TimeShares, budget: str
) -> tuple[Fraction, Fraction, Fraction]:
    """Clearing, overspending and regret by their definition."""
    assert solution.price is not None
    price = [Fraction(p) for p in solution.price.tolist()]
    used = [Fraction(0)] * len(price)
    spent = [Fraction(0)] * instance.types
    reached = [Fraction(0)] * instance.types
    for i, j, d, share in zip(
        solution.first.tolist(), solution.second.tolist(), solution.device.tolist(),
        map(Fraction, solution.share.tolist()), strict=True,
    ):  # fmt: skip
        assert j < 0
        used[d] += int(instance.workers[i]) * share
        spent[i] += int(instance.workers[i]) * share * price[d]
        reached[i] += Fraction(float(instance.alone[i, d])) * share
    clearing = overspending = regret = Fraction(0)
    for p, u, n in zip(price, used, instance.devices.tolist(), strict=True):
        if p and n:
            clearing = max(clearing, 1 - u / n)
    for i, n in enumerate(instance.count.tolist()):
        if n:
            money = Fraction(1 if budget == "equal" else float(instance.weight[i]))
            workers = int(instance.workers[i])
            overspending = max(overspending, spent[i] / (n * money) - 1)
            usable = [d for d in range(len(price)) if instance.alone[i, d] > 0]
            value = [Fraction(float(instance.alone[i, d])) for d in usable]
            cost = [workers * price[d] for d in usable]
            regret = max(regret, 1 - reached[i] / n / best_exactly(value, cost, money))
    return clearing, overspending, regret


def price_wrongs(instance: Accelerators) -> tuple[list[str], bool]:
    """What is wrong with the equilibrium of an instance and with its proof, for both budgets; and
    whether both were settled.
    """
    wrong, settled = list[str](), True
    for budget in ("equal", "weight"):
        outcome = cotenant.solve(instance, "hylland-zeckhauser", budget=budget).outcome
        settled &= outcome.status == "optimal"
        exact = dict(zip(NAMES, exact_errors(instance, outcome.solution, budget), strict=True))
        level = proved(instance, "hylland-zeckhauser", outcome, budget=budget).proof.levels[0]
        for name, error in exact.items():
            stated = Fraction(outcome.certificate[name])
            if abs(stated - error) > Fraction(1, 10**12):
                wrong.append(f"{budget}: {name} is {float(error)}, not {float(stated)}")
            if abs((level.epsilon or {})[name] - error) > Fraction(1, 10**10):
                wrong.append(f"{budget}: {name} is {float(error)}, proved is another")
        if outcome.status == "optimal" and max(exact.values()) > Fraction(101, 10**10):
            wrong.append(f"{budget}: an equilibrium that is none")
    return wrong, settled
