"""Quanta: n users share C equal slices in each of some quanta; a slice is of use where wanted.

An answer gives user i at most its demand d_it in quantum t, and u_i in all. Users who never want
any are in no objective. For a set S of users f(S) = sum over t of min(C, sum of d_it over S) is the
most that S can have together. Let S_k be the first k users by their totals u_1 <= ... <= u_n in the
answer that is shown, and g_k = f(S_k) - f(S_(k-1)): what k gets where whoever comes first takes all
that it wants. Then every answer, of totals v, has
      min v_i <= f(S_k) / k  for every k, as the least of S_k has at most their average,       (1)
      sum v_i / u_i <= sum g_i / u_i,  as a slice is worth most with the users of least u, and (2)
      sum log v_i <= sum log u_i + sum g_i / u_i - n,  as log v <= log u + v / u - 1.          (3)
They are equalities at an answer in which nobody has a slice in a quantum where somebody with less
in all wants one more, and none is left there: such an answer is optimal.
"""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .logarithms import GRID, exponential, logarithm
from .reading import Refused, amount, charge, common, fields, listed, rationals, refuse_if, wholes

Demands = list[list[int]]


def bounds(
    demand: Demands, capacity: int, totals: list[Fraction]
) -> tuple[Fraction, Fraction | None]:
    """The least right side of (1), and that of (3) less its logarithms; None where a total is 0.

    The users are those who want something; each is a row of `demand`.
    """
    left, used = [capacity] * len(demand[0]), 0
    least, excess, positive = (
        Fraction(capacity * len(left)),
        Fraction(-len(demand)),
        min(totals) > 0,
    )
    for k, i in enumerate(sorted(range(len(demand)), key=totals.__getitem__), 1):
        got = [min(room, wanted) for room, wanted in zip(left, demand[i], strict=True)]
        left = [room - slices for room, slices in zip(left, got, strict=True)]
        used += sum(got)
        least = min(least, Fraction(used, k))
        excess += sum(got) / totals[i] if positive else 0
    return least, excess if positive else None


class Quanta:
    """An instance and its answer: demands and totals of the users who want something."""

    def __init__(self, case: ProofCase) -> None:
        document = fields(case.document, "demand share", "names", "the instance")
        rows = [listed(row, "demand") for row in listed(document["demand"], "demand")]
        refuse_if(len({len(row) for row in rows}) != 1, "demand is no table")
        demand = [[amount(value, "demand") for value in row] for row in rows]
        self.capacity = amount(document["share"], "share") * len(demand)
        answer = fields(case.witness, "slices", what="the answer")
        given = [rationals(row, "slices", len(demand[0]))
                 for row in listed(answer["slices"], "slices", len(demand))]  # fmt: skip
        for wanted, (numbers, over) in zip(demand, given, strict=True):
            wholes(numbers, "slices", None, 0)
            if any(x > over * most for x, most in zip(numbers, wanted, strict=True)):
                raise Refused("a user has more slices than it wants")
        unit = common([over for _, over in given])
        charge(3 * len(given) * len(demand[0]) * (1 + unit.bit_length() // 500))
        for column in zip(*(numbers for numbers, _ in given), strict=True):
            parts = zip(column, given, strict=True)
            used = sum(x * (unit // over) for x, (_, over) in parts)
            refuse_if(used > self.capacity * unit, "a quantum has not as many slices")
        active = [i for i, row in enumerate(demand) if any(row)]
        refuse_if(not active, "nobody wants a slice")
        self.demand = [demand[i] for i in active]
        self.totals = [Fraction(sum(given[i][0]), given[i][1]) for i in active]
        charge(20 * len(given) * len(demand[0]))
        self.least, self.excess = bounds(self.demand, self.capacity, self.totals)


def quanta_leximin(case: ProofCase) -> list[CheckedLevel]:
    """The most that the user with the fewest slices in all can have, by (1)."""
    case.one(0, greedy="")
    quanta = Quanta(case)
    return [CheckedLevel(min(quanta.totals), quanta.least)]


def quanta_horizon(case: ProofCase) -> list[CheckedLevel]:
    """The most Nash welfare, the geometric mean of the totals, by (3)."""
    case.one(0, greedy="")
    quanta = Quanta(case)
    if quanta.excess is None:
        return [CheckedLevel(Fraction(0))]
    logs = [logarithm(total.numerator, total.denominator) for total in quanta.totals]
    low, high = (sum(ends) for ends in zip(*logs, strict=True))
    high -= -quanta.excess.numerator * GRID // quanta.excess.denominator
    value, bound = exponential(low // len(logs), False), exponential(-(-high // len(logs)), True)
    return [CheckedLevel(value, bound)]


METHODS: Methods = {
    "horizon": ("", "nash_welfare max", quanta_horizon),
    "leximin": ("", "least_total max", quanta_leximin),
}
