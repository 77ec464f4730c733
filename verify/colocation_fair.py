"""Check of the slack of fair attribution: what a type loses more than one of larger bandwidth."""

from fractions import Fraction

from .colocation import Colocation, no_pairing, pairing_program, partners_of
from .frame import CheckedLevel, Methods, ProofCase, step_of
from .pairing import pairing_bound
from .program import Program, Terms
from .reading import Refused, common, exact, listed, rational, rationals, refuse_if, whole


def bandwidths(given: Colocation) -> list[Fraction]:
    """Bandwidth of each type."""
    bands = listed(given.document.get("bandwidth"), "bandwidth", given.size)
    return [exact(value, "bandwidth") for value in bands]


def slack_program(given: Colocation, band: list[Fraction], most: int) -> tuple[Program, Terms]:
    """Integer program of the pairings of at most a given slack of attribution, with its cost.
    `most` is in 1 / (penalty unit x least common multiple of the types' numbers of agents).
    """
    partners = partners_of(given)
    program, column, alone, cost = pairing_program(given, partners)
    there = [a for a, number in enumerate(given.count) if number]
    once, means = common([given.count[a] for a in there]), dict[int, Terms]()
    for a in there:
        each, row = once // given.count[a], given.penalty[a]
        parts = [(column[a, b], (1 + (a == b)) * whole(row[b], "")) for b in partners[a]]
        parts += [(alone[a], given.single)] if alone else []
        means[a] = [(j, each * number) for j, number in parts]
    for a, b in [(a, b) for a in there for b in there if band[a] < band[b]]:
        terms = dict(means[a])
        for j, number in means[b]:
            terms[j] = terms.get(j, 0) - number
        program.at_most(list(terms.items()), most)
    return program, cost


def colocation_fair(case: ProofCase, within: bool = False) -> list[CheckedLevel]:
    """Check the least slack: the most by which a type's mean penalty exceeds that of a type of
    larger bandwidth, or 0.

    Then the least mean penalty of an answer with no more slack than this one. A flow says how much
    is carried away from each type (above 0) or arrives there (below 0), always from smaller to
    larger bandwidth. If x goes from a to b, then x mean[a] - x mean[b] <= x slack: so the sum of
    flow[a] mean[a] is at most slack x (all that is carried). It is a sum of weights x penalties,
    which `pairing_bound` bounds from below, alone or together with the total penalty. Or else a
    tree shows that no pairing has less slack, or costs less at as little ("propagation").

    Within an allowance of slack there is one level, the least mean penalty of an answer with no
    more slack than that; without an answer the steps are those of least slack, which is above it.
    """
    given = Colocation(case)
    allowed = rational(case.options.get("slack"), "slack") if within else Fraction(0)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    # 1. The slack of the answer: types by bandwidth, each with the mean of its agents.
    band = bandwidths(given)
    order, ranks = [a for a, n in enumerate(given.count) if n], dict[Fraction, list[int]]()
    for a in sorted(order, key=band.__getitem__):
        ranks.setdefault(band[a], []).append(a)  # from the least bandwidth on
    once, mean = common([given.count[a] for a in order]), [Fraction(0)] * given.size
    alone = [(a, given.single, n) for a, n in enumerate(given.singles) if n]
    for a, old, n in given.beside() + alone:
        mean[a] += Fraction(old * n, given.unit * given.count[a])
    slack, above = Fraction(0), Fraction(-2)  # the largest mean of smaller bandwidths
    for types in ranks.values():
        slack = max(slack, above - min(mean[b] for b in types))
        above = max(above, *(mean[b] for b in types))
    # 2. The levels, and a bound by each step: by a tree, or by multipliers and a flow.
    levels, first = [CheckedLevel(slack, Fraction(0)), CheckedLevel(given.mean())], 0
    if within and given.answered:
        refuse_if(slack > allowed, "the answer has more slack than is allowed")
        slack, first = allowed, 1
    every = [(k, value) for k, steps in enumerate(case.steps, first) for value in steps]
    for level, value in every:
        kinds = {"dual": "over prices rent sets flow", "propagation": "below tree|leaves cuts"}
        kind, step = step_of(value, **kinds)
        if kind == "propagation":
            below, parts = whole(step["below"], "below"), once * given.unit
            most = int(slack * parts) if level else below - 1
            program, cost = slack_program(given, band, most)
            if level:
                program.at_most(cost, below - 1)
            program.impossible(step)
            parts = given.unit * given.agents if level else parts
            levels[level].at_least(Fraction(below, parts))
            continue
        flow, over = rationals(step["flow"], "flow", given.size)
        left, carried = 0, sum(max(0, x) for x in flow)
        for types in ranks.values():
            left += sum(min(0, flow[a]) for a in types)
            refuse_if(left < 0, "the flow does not lead to larger bandwidths")
            left += sum(max(0, flow[a]) for a in types)
        if left or any(x and not n for x, n in zip(flow, given.count, strict=True)):
            raise Refused("the flow does not arrive, or is of a type without agents")
        each = [once // max(1, n) for n in given.count]
        weight = [x * share + level * over * once for x, share in zip(flow, each, strict=True)]
        total = Fraction(pairing_bound(given, step, weight), once * given.unit)
        if level:
            levels[1].at_least((total - carried * slack) / (over * given.agents))
        else:
            levels[0].at_least(total / carried)
    # 3. What is proved of an answer, or without one.
    if within:
        none = CheckedLevel(infeasible=(levels[0].bound or 0) > allowed)
        return [levels[1] if given.answered else none]
    return levels[: len(case.steps)] if given.answered else [CheckedLevel(None, levels[0].bound)]


METHODS: Methods = {
    "fair": ("", "slack min, penalty min", colocation_fair),
    "fair-within": ("slack", "penalty min", lambda case: colocation_fair(case, True)),
}
