"""Elastic jobs: each runs in at most one configuration, a kind of device and a number of them."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .program import Program
from .reading import (
    amount,
    charge,
    fields,
    listed,
    product,
    rational,
    rationals,
    refuse_if,
    scaled,
    whole,
    wholes,
)


class Jobs:
    """Instance and answer of a proof on elastic jobs: a job of type i in configuration c has
    worth[i][c] / unit and takes size[c] devices of kind kind[c]. `total` and `least`: the answer's
    total and least utility times unit.
    """

    def __init__(self, case: ProofCase) -> None:
        needed, others = "utility devices kind workers", "count names device_names"
        document = fields(case.document, needed, others, "the instance")
        rows = [listed(row, "utility") for row in listed(document["utility"], "utility")]
        self.devices = [amount(n, "devices") for n in listed(document["devices"], "devices")]
        self.kind = wholes(document["kind"], "kind", None, 0, len(self.devices) - 1)
        sizes = listed(document["workers"], "workers", len(self.kind))
        self.size = [amount(n, "workers") for n in sizes]
        refuse_if({len(row) for row in rows} != {len(self.kind)}, "utility is no table")
        counts = document.get("count") or [1] * len(rows)
        self.count = [amount(n, "count") for n in listed(counts, "count", len(rows))]
        numbers, self.unit = scaled([value for row in rows for value in row], "utility")
        worth = [value for value in numbers if value is not None and value >= 0]
        refuse_if(len(worth) < len(numbers), "a utility is below 0, or none")
        refuse_if(min(self.size, default=0) < 1 or not any(self.count), "no devices, or no jobs")
        width = len(self.kind)
        self.worth = [worth[i * width : (i + 1) * width] for i in range(len(rows))]
        self.there = [i for i, n in enumerate(self.count) if n]
        self.bits = max(map(int.bit_length, [*worth, *self.size, *self.count]))
        self.total = self.least = 0
        if case.witness is not None:
            self._answer(case.witness)

    def _answer(self, witness: object) -> None:
        answer = fields(witness, "job configuration number", what="the answer")
        jobs = wholes(answer["job"], "job", None, 0, len(self.worth) - 1)
        where = wholes(answer["configuration"], "configuration", len(jobs), 0, len(self.kind) - 1)
        numbers = wholes(answer["number"], "number", len(jobs), 1)
        idle, left = list(self.count), list(self.devices)
        charge(50 * len(jobs))
        for i, c, n in zip(jobs, where, numbers, strict=True):
            idle[i] -= n
            left[self.kind[c]] -= n * self.size[c]
            self.total += n * self.worth[i][c]
        refuse_if(min(idle + left) < 0, "the answer uses more jobs or devices than there are")
        worths = [self.worth[i][c] for i, c in zip(jobs, where, strict=True)]
        self.least = 0 if any(idle) else min(worths)

    def most(self, step: dict[str, object]) -> Fraction:
        """Upper bound on the total worth of all jobs, by prices of devices.

        Theorem. At prices y >= 0 a job in configuration c is worth at most y[kind] size, for the
        devices that it uses, and max(0, worth - y[kind] size) besides. No more devices are used
        than there are.
        """
        prices, over = self._prices(step)
        bound = sum(n * y for n, y in zip(self.devices, prices, strict=True)) * self.unit
        paid = [s * prices[k] * self.unit for s, k in zip(self.size, self.kind, strict=True)]
        for i in self.there:
            best = max(w * over - p for w, p in zip(self.worth[i], paid, strict=True))
            bound += self.count[i] * max(0, best)
        return Fraction(bound, over * self.unit)

    def too_few(self, step: dict[str, object], least: Fraction) -> bool:
        """Whether prices of devices show that not all jobs can have the utility `least`:
        configurations that give it cost more than all devices, or some job has none.
        """
        prices, _ = self._prices(step)
        cost = 0
        paid = [s * prices[k] for s, k in zip(self.size, self.kind, strict=True)]
        for i in self.there:
            enough = [p for w, p in zip(self.worth[i], paid, strict=True) if w >= least * self.unit]
            if not enough:
                return True
            cost += self.count[i] * min(enough)
        return cost > sum(n * y for n, y in zip(self.devices, prices, strict=True))

    def _prices(self, step: dict[str, object]) -> tuple[list[int], int]:
        prices, over = rationals(step["prices"], "prices", len(self.devices))
        refuse_if(min(prices) < 0, "a price is below 0")
        bits = max(map(int.bit_length, [*prices, over])) + self.bits + self.unit.bit_length()
        charge((10 + 4 * product(bits, bits)) * len(self.there) * len(self.kind))
        return prices, over

    def program(self) -> Program:
        """Integer program of the numbers of jobs x[i, c] of type i in configuration c, with rows in
        the order of types.
        """
        program = Program()
        fits = [self.devices[k] // s for k, s in zip(self.kind, self.size, strict=True)]
        columns = {
            (i, c): program.column(min(self.count[i], fits[c]))
            for i in self.there
            for c in range(len(self.kind))
        }
        for i in self.there:
            program.at_most([(columns[i, c], 1) for c in range(len(self.kind))], self.count[i])
        for d, number in enumerate(self.devices):
            terms = [(j, self.size[c]) for (_, c), j in columns.items() if self.kind[c] == d]
            program.at_most(terms, number)
        self.gains = [(j, -self.worth[i][c]) for (i, c), j in columns.items()]
        return program


def optimal(case: ProofCase) -> list[CheckedLevel]:
    """Check the most total utility by prices, or by a tree that excludes `bound` or more."""
    given = Jobs(case)
    level = CheckedLevel()
    for kind, step in case.each(0, prices="prices", propagation="bound tree|leaves cuts"):
        if kind == "prices":
            level.at_most(given.most(step))
            continue
        bound, program = whole(step["bound"], "bound", 0), given.program()
        program.at_most(given.gains, -bound - 1)
        program.impossible(step)
        level.at_most(Fraction(bound, given.unit))
    if case.witness is not None:
        level.value = Fraction(given.total, given.unit)
    return [level]


def max_min(case: ProofCase) -> list[CheckedLevel]:
    """Check the largest least utility. Prices prove that a level is out of reach: the bound is the
    largest utility below it, or 0, and at most the least of the jobs' best utilities.
    """
    given, level = Jobs(case), CheckedLevel()
    level.at_most(Fraction(min(max(given.worth[i]) for i in given.there), given.unit))
    for _, step in case.each(0, prices="prices least"):
        least = rational(step["least"], "least")
        refuse_if(not given.too_few(step, least), "there may be enough devices")
        below = [w for i in given.there for w in given.worth[i] if w < least * given.unit]
        level.at_most(Fraction(max(below, default=0), given.unit))
    if case.witness is not None:
        level.value = Fraction(given.least, given.unit)
    return [level]


METHODS: Methods = {
    "optimal": ("", "total_utility max", optimal),
    "max-min": ("", "least_utility max", max_min),
}
