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
from .reading import amount, charge, common, fields, listed, product, rationals, refuse_if, wholes


def bounds(
    demand: list[list[int]], capacity: int, totals: list[Fraction]
) -> tuple[Fraction, int | None]:
    """Upper bounds on the least user's total of slices, and on the sum of the totals' logarithms.
    The first is by (1) of this file; the second by (3), less the answer's sum, in units of 1 /
    GRID, rounded up, and None where a total is 0. Each user is a row of `demand` with some demand.
    """
    left, used, positive = [capacity] * len(demand[0]), 0, min(totals) > 0
    least, excess = Fraction(capacity * len(left)), -len(demand) * GRID
    for k, i in enumerate(sorted(range(len(demand)), key=totals.__getitem__), 1):
        got = [min(room, wanted) for room, wanted in zip(left, demand[i], strict=True)]
        left = [room - slices for room, slices in zip(left, got, strict=True)]
        used += sum(got)
        least = min(least, Fraction(used, k))
        if positive:
            excess -= -sum(got) * GRID * totals[i].denominator // totals[i].numerator
    return least, excess if positive else None


def _judged(case: ProofCase) -> tuple[list[Fraction], Fraction, int | None]:
    """Check an answer; return each demanding user's total slices, and their `bounds`."""
    document = fields(case.document, "demand share", "names", "the instance")
    rows = [listed(row, "demand") for row in listed(document["demand"], "demand")]
    refuse_if(len({len(row) for row in rows}) != 1, "demand is no table")
    demand = [[amount(value, "demand") for value in row] for row in rows]
    capacity = amount(document["share"], "share") * len(demand)
    case.one(0, greedy="")
    answer = fields(case.witness, "slices", what="the answer")
    shown = listed(answer["slices"], "slices", len(demand))
    given = [rationals(row, "slices", len(demand[0])) for row in shown]
    for wanted, (numbers, over) in zip(demand, given, strict=True):
        wholes(numbers, "slices", None, 0)
        more = any(x > over * most for x, most in zip(numbers, wanted, strict=True))
        refuse_if(more, "a user has more slices than it wants")
    unit = common([over for _, over in given])
    charge(len(given) * len(demand[0]) * (20 + unit.bit_length() // 200))
    times = [unit // over for _, over in given]
    for column in zip(*(numbers for numbers, _ in given), strict=True):
        used = sum(x * each for x, each in zip(column, times, strict=True))
        refuse_if(used > capacity * unit, "a quantum has not as many slices")
    active = [i for i, row in enumerate(demand) if any(row)]
    refuse_if(not active, "nobody wants a slice")
    totals = [Fraction(sum(given[i][0]), given[i][1]) for i in active]
    for total in totals:
        charge(50 + 20 * product(total.numerator.bit_length(), total.denominator.bit_length()))
    return totals, *bounds([demand[i] for i in active], capacity, totals)


def quanta_leximin(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum of the least total of a user's slices, by inequality (1) of this file."""
    totals, least, _ = _judged(case)
    return [CheckedLevel(min(totals), least)]


def quanta_horizon(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum Nash welfare, the geometric mean of the totals, by inequality (3) of this
    file.
    """
    totals, _, excess = _judged(case)
    if excess is None:
        return [CheckedLevel(Fraction(0))]
    logs = [logarithm(total.numerator, total.denominator) for total in totals]
    low, high = (sum(ends) for ends in zip(*logs, strict=True))
    value, bound = low // len(logs), -(-(high + excess) // len(logs))
    return [CheckedLevel(exponential(value, False), exponential(bound, True))]


METHODS: Methods = {
    "horizon": ("", "nash_welfare max", quanta_horizon),
    "leximin": ("", "least_total max", quanta_leximin),
}
