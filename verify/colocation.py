"""Colocation: agents of T types are paired, at most two on a machine. Least mean penalty."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase, step_of
from .pairing import PairCosts, pairing_bound
from .program import Program, Terms
from .reading import MOST_PRICE, Refused, Step, amount, fields, listed, scaled, whole, wholes


class Colocation(PairCosts):
    """Instance and answer, if any, of a colocation proof; penalties are integers over `unit`.

    `penalty[a][b]` is None where types a and b may not share: either row says so, or there is only
    one agent of the type. At most `alone` agents may be without a co-runner, at the penalty
    `single`. They have a machine of their own and never leave it, unless the instance says what
    being unpaired costs (`left`): then they are left without a place, and gain as others do.
    """

    def __init__(self, case: ProofCase) -> None:
        others = "names bandwidth machines unpaired low high looks confidence intervals"
        self.document = document = fields(case.document, "penalty count", others, "the instance")
        self.count = wholes(document["count"], "count", None, 0, MOST_PRICE)
        self.size, self.agents = len(self.count), whole(sum(self.count), "the number of agents", 1)
        square = listed(document["penalty"], "penalty", self.size)
        flat = [value for row in square for value in listed(row, "penalty", self.size)]
        values, self.unit = scaled([*flat, document.get("unpaired", 0)], "penalty")
        self.left, self.single = "unpaired" in document, whole(values.pop(), "unpaired")
        if max(map(abs, [self.single, *(value or 0 for value in values)])) > self.unit:
            raise Refused("a penalty is not from -1 to 1")
        rows = [values[k : k + self.size] for k in range(0, len(values), self.size)]
        for a, row in enumerate(rows):
            row[a] = None if self.count[a] < 2 else row[a]
            for b in [b for b in range(a) if row[b] is None or rows[b][a] is None]:
                row[b] = rows[b][a] = None
        self.penalty = rows
        self.alone = self.agents if self.left else 0
        if "machines" in document:
            null = document["machines"] is None  # as many as needed
            machines = self.agents if null else amount(document["machines"], "machines")
            self.alone = min(self.agents, 2 * machines - self.agents)
            if self.alone < 0 or self.left:
                raise Refused("there are too few machines, or a cost of being alone")
        self.pairs: list[tuple[int, int, int]] = []
        self.singles = [0] * self.size
        self.answered = case.witness is not None
        if self.answered:
            self._answer(fields(case.witness, "first second pairs single", what="the answer"))

    def _answer(self, answer: Step) -> None:
        """Refuse an answer unless every agent is placed once, in allowed pairs on the machines."""
        pairs = wholes(answer["pairs"], "pairs", None, 1)
        first = wholes(answer["first"], "first", len(pairs), 0, self.size - 1)
        second = wholes(answer["second"], "second", len(pairs), 0, self.size - 1)
        self.singles = wholes(answer["single"], "single", self.size, 0)
        self.pairs = list(zip(first, second, pairs, strict=True))
        placed = list(self.singles)
        for a, b, number in self.pairs:
            placed[a] += number
            placed[b] += number
            if self.penalty[a][b] is None:
                raise Refused(f"the answer pairs the types {a} and {b}, which may not share")
        if placed != self.count or sum(self.singles) > self.alone:
            raise Refused("the answer does not place every agent once, or leaves too many alone")

    def beside(self) -> list[tuple[int, int, int]]:
        """Paired agents of the answer, as (type a, penalty of such an agent, number of such
        agents).
        """
        sides = [*self.pairs, *((b, a, number) for a, b, number in self.pairs)]
        return [(a, whole(self.penalty[a][b], "penalty"), number) for a, b, number in sides]

    def mean(self) -> Fraction | None:
        """Mean penalty of the answer's agents."""
        total = self.single * sum(self.singles) + sum(old * n for _, old, n in self.beside())
        return Fraction(total, self.unit * self.agents) if self.answered else None


def mean_bound(given: Colocation, step: Step) -> Fraction:
    """Lower bound on the mean penalty of every pairing."""
    return Fraction(pairing_bound(given, step, [1] * given.size), given.unit * given.agents)


def no_pairing(given: Colocation, steps: list[object]) -> bool:
    """Whether a proof step "infeasible" shows that no pairing exists: its prices bound the cost of
    a pairing above 0 even if all pairs are free.
    """
    named = [s for s in steps if isinstance(s, dict) and s.get("kind") == "infeasible"]
    read = (step_of(step, infeasible="over prices rent sets")[1] for step in named)
    return any(pairing_bound(given, step, [0] * given.size) > 0 for step in read)


def colocation_optimal(case: ProofCase) -> list[CheckedLevel]:
    """Check the least mean penalty."""
    given = Colocation(case)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    level = CheckedLevel(given.mean())
    for _, step in case.each(0, dual="over prices rent sets"):
        level.at_least(mean_bound(given, step))
    return [level]


Pairs = tuple[Program, dict[tuple[int, int], int], dict[int, int], Terms]


def pairing_program(given: Colocation, partners: list[list[int]]) -> Pairs:
    """Integer program of the pairings in which each type has only the given partners, with its
    columns and cost.

    Columns: x[a,b], pairs of types a <= b (given for [a,b] and [b,a]); s[a], a-agents alone. Rows:
    not too many are alone, and every agent is placed once.
    """
    program, column, cost = Program(), dict[tuple[int, int], int](), Terms()
    for a, others in enumerate(partners):
        for b in [b for b in others if a <= b]:
            most = given.count[a] // 2 if a == b else min(given.count[a], given.count[b])
            column[a, b] = column[b, a] = program.column(most)
            both = whole(given.penalty[a][b], "") + whole(given.penalty[b][a], "")
            cost.append((column[a, b], both))
    types = range(given.size if given.alone else 0)
    alone = {a: program.column(min(given.count[a], given.alone)) for a in types}
    program.at_most([(j, 1) for j in alone.values()], given.alone)
    for a, others in enumerate(partners):
        beside = [(column[a, b], 1 + (a == b)) for b in others]
        program.equal(beside + ([(alone[a], 1)] if alone else []), given.count[a])
    return program, column, alone, cost + [(j, given.single) for j in alone.values()]


def partners_of(given: Colocation) -> list[list[int]]:
    """Types with which agents of each type may share."""
    rows = [row if number else [] for row, number in zip(given.penalty, given.count, strict=True)]
    return [[b for b, p in enumerate(row) if given.count[b] and p is not None] for row in rows]


METHODS: Methods = {"optimal": ("", "penalty min", colocation_optimal)}
