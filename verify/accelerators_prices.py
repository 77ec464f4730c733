"""Prices of the time of devices, and how near they and time shares are to an equilibrium."""

from fractions import Fraction

from .accelerators import Shares
from .frame import CheckedLevel, Methods, ProofCase
from .reading import beyond, charge, fields, listed, rationals, refuse_if, wholes


def best_within(value: list[int], cost: list[int], budget: int) -> Fraction:
    """The most of sum value x with x >= 0, sum x <= 1 and sum cost x <= budget.

    Theorem. It is reached with at most two x above 0, as a basic solution of two rows has no more:
    the most of one alone, for min(1, budget / cost) of the time, or of two for all of it that cost
    less and more than the budget, (value (cost' - budget) + value' (budget - cost)) / (cost' -
    cost). With idling, of no value and cost, one alone is of the second kind too.
    """
    kinds = [*zip(value, cost, strict=True), (0, 0)]
    best = max(Fraction(v) for v, c in kinds if c <= budget)
    for v, c in [kind for kind in kinds if kind[1] < budget]:
        for w, d in [kind for kind in kinds if kind[1] > budget]:
            best = max(best, Fraction(v * (d - budget) + w * (budget - c), d - c))
    return best


def equilibrium(case: ProofCase) -> list[CheckedLevel]:
    """Prices and time shares that are an equilibrium of Hylland and Zeckhauser, to within three
    numbers.

    A job that needs w devices pays w times the price, of a budget that is 1 or its weight.
    clearing: at most this fraction of the devices of a kind with a price is not in use.
    overspending: nobody pays more than this fraction above its budget.
    regret: nobody could have more steps a second than it has, by more than this fraction of them,
    alone and within its budget.
    """
    given = Shares(case)
    step = case.one(0, equilibrium="price")
    price, per = rationals(step["price"], "price", len(given.kinds))
    wholes(price, "price", None, 0)
    kind = case.options.get("budget", "equal")
    refuse_if(kind not in ("equal", "weight"), "the budget is neither equal nor weight")
    refuse_if(case.witness is None, "an equilibrium is about an answer, and there is none")
    answer = fields(case.witness, "over shares", what="the answer")
    (over,), used, spent = (
        wholes([answer["over"]], "over"),
        [0] * len(price),
        [0] * len(given.types),
    )
    for row in listed(answer["shares"], "shares"):
        i, j, d, share = wholes(row, "shares", 4)
        refuse_if(j >= 0, "jobs that share devices have no price")
        used[d] += given.workers[i] * share
        spent[i] += given.workers[i] * share * price[d]
    clearing = overspending = regret = Fraction(0)
    for p, u, n in zip(price, used, given.devices, strict=True):
        if p and n:
            clearing = max(clearing, 1 - Fraction(u, n * over))
    digits = beyond([*price, per, over, given.unit])
    for i in [i for i in given.types if given.count[i]]:
        charge(200 + (50 + digits) * len(price) ** 2)
        budget = given.weight[i] if kind == "weight" else Fraction(1)
        money = given.count[i] * budget * per * over
        overspending = max(overspending, spent[i] / money - 1)
        cost = [given.workers[i] * p * budget.denominator for p in price]
        best = best_within(given.alone[i], cost, per * budget.numerator) / given.unit
        if best:
            regret = max(regret, 1 - given.total[i] / (given.count[i] * best))
    epsilon = {"clearing": clearing, "overspending": overspending, "regret": regret}
    return [CheckedLevel(max(epsilon.values()), Fraction(0), epsilon=epsilon)]


METHODS: Methods = {
    "hylland-zeckhauser": ("budget", "equilibrium_error min", equilibrium),
}
