"""Groups: jobs of T types on machines of several classes, several jobs on a machine."""

import math
from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .pairing import PairCosts, pairing_bound
from .program import Program, Terms
from .reading import (
    MOST_PRICE,
    Refused,
    Step,
    amount,
    charge,
    common,
    fields,
    listed,
    rationals,
    refuse_if,
    scaled,
    whole,
    wholes,
)


class Groups:
    """Instance and answer of a groups proof; the cost of a group is an integer over `unit`.

    A group is a tuple of types, in order. `columns`: every class and group that an answer can have,
    and what its jobs lose together. Machines have no more empty seats than there are to spare in
    all, which bounds how small a group can be.
    """

    def __init__(self, case: ProofCase) -> None:
        models = "machines penalty pressure knots sensitivity table"
        document = fields(case.document, "count seats", f"{models} names classes", "the instance")
        self.document = document
        self.count = wholes(document["count"], "count", None, 0, MOST_PRICE)
        self.jobs = whole(sum(self.count), "the number of jobs", 1)
        self.seats = wholes(document["seats"], "seats", None, 1, 64)
        enough: list[object] = [-(-self.jobs // seats) for seats in self.seats[:1]]
        many = listed(document.get("machines", enough), "machines", len(self.seats))
        self.machines = [self.jobs if v is None else amount(v, "machines") for v in many]
        self.machines = [min(self.jobs, number) for number in self.machines]
        seats = sum(n * s for n, s in zip(self.machines, self.seats, strict=True))
        if seats < self.jobs or sum(n in document for n in ("penalty", "knots", "table")) != 1:
            raise Refused("the instance has too few seats, or no penalties, or two kinds of them")
        self.spare, self.table = seats - self.jobs, dict[tuple[int, tuple[int, ...]], list[int]]()
        if "table" in document:
            self._read_table(listed(document["table"], "table"))
        elif "penalty" in document:
            self.rows, self.unit = self._per_class("penalty", len(self.count))
        else:
            self._read_curves()
        self.columns = list[tuple[int, tuple[int, ...], int]]()
        for c in range(len(self.seats)):
            costs = [(c, group, self.cost(c, group)) for group in self._groups(c)]
            self.columns += [(c, group, cost) for c, group, cost in costs if cost is not None]
        self.total: int | None = None
        if case.witness is not None:
            self._answer(fields(case.witness, "members where number", what="the answer"))

    def _per_class(self, name: str, width: int) -> tuple[list[list[list[int | None]]], int]:
        """Rows of numbers by class, from a field with T rows for all classes or for each, and their
        denominator.
        """
        value = listed(self.document[name], name)
        first, size, classes = listed(value[0], name), len(self.count), len(self.seats)
        deep = bool(first) and isinstance(first[0], list)
        blocks = listed(value, name, classes) if deep else [value]
        rows = [row for block in blocks for row in listed(block, name, size)]
        numbers, unit = scaled([v for row in rows for v in listed(row, name, width)], name)
        if max(abs(number or 0) for number in numbers) > unit:
            raise Refused(f"{name} holds a number that is not from -1 to 1")
        parts = [numbers[k : k + width] for k in range(0, len(numbers), width)]
        tables = [parts[k : k + size] for k in range(0, len(parts), size)]
        return tables if deep else tables * classes, unit

    def _read_curves(self) -> None:
        """Read pressures and sensitivity curves, given at knots; `unit` makes every slope an
        integer.
        """
        loads = listed(self.document.get("pressure"), "pressure", len(self.count))
        knots = listed(self.document["knots"], "knots")
        both = [whole(v, "a pressure", 0) for v in scaled([*loads, *knots], "pressure")[0]]
        self.load, self.knots = both[: len(loads)], both[len(loads) :]
        gaps = [b - a for a, b in zip(self.knots, self.knots[1:], strict=False)]
        refuse_if(min(gaps, default=1) < 1, "knots do not rise")
        self.rows, unit = self._per_class("sensitivity", len(knots))
        self.steps = common(gaps)
        self.unit = unit * self.steps

    def _read_table(self, entries: list[object]) -> None:
        parts = [fields(entry, "members penalty", "class", "a group") for entry in entries]
        groups = [wholes(e["members"], "members", None, 0, len(self.count) - 1) for e in parts]
        lost = [listed(e["penalty"], "penalty", len(g)) for e, g in zip(parts, groups, strict=True)]
        numbers, self.unit = scaled([value for row in lost for value in row], "penalty")
        given = iter(numbers)
        for entry, group in zip(parts, groups, strict=True):
            kind = whole(entry.get("class", -1), "class", -1, len(self.seats) - 1)
            pairs = sorted((a, whole(next(given), "penalty", -self.unit)) for a in group)
            key = kind, tuple(a for a, _ in pairs)
            if not group or key in self.table or len(set(pairs)) != len(set(group)):
                raise Refused("a group of the table is empty, told twice, or has jobs of one type "
                              "that lose unlike parts")  # fmt: skip
            self.table[key] = [number for _, number in pairs]

    def _groups(self, kind: int) -> list[tuple[int, ...]]:
        """Every group on a class that the jobs can form, including forbidden ones."""
        there = [a for a, number in enumerate(self.count) if number]
        seats, least = self.seats[kind], max(1, self.seats[kind] - self.spare)
        charge(5 * len(self.count))
        if not self.machines[kind]:
            return []
        if "table" in self.document:
            charge(20 * len(self.table))
            in_table = {group for of, group in self.table if of in (-1, kind)}
            listing = sorted(in_table | {(a,) for a in there})
        else:
            charge((50 + seats) * math.comb(len(there) + seats, seats))  # all groups, of any size
            listing, longer = list[tuple[int, ...]](), [tuple[int, ...]()]
            for size in range(1, seats + 1):
                longer = [(*g, a) for g in longer for a in there if not g or a >= g[-1]]
                listing += longer if size >= least else []
        fit = [g for g in listing if least <= len(g) <= seats]
        return [g for g in fit if all(g.count(a) <= self.count[a] for a in g)]

    def cost(self, kind: int, group: tuple[int, ...]) -> int | None:
        """Total penalty of the jobs of a group; None where it is forbidden.

        A job alone loses nothing, unless a table says so. Else it loses: what the table says; or
        the sum of its penalties from the others, at most 1; or its curve, a straight line between
        knots, at the sum of the others' pressures.
        """
        charge(2 * len(group) * (len(group) + 8) + self.unit.bit_length() // 16)
        if "table" in self.document:
            alone = [0] if len(group) == 1 else None
            lost = self.table.get((kind, group), self.table.get((-1, group), alone))
            return None if lost is None else sum(lost)
        total = 0
        for k, a in enumerate(group if len(group) > 1 else ()):
            row, others = self.rows[kind][a], group[:k] + group[k + 1 :]
            if "penalty" in self.document:
                parts = [row[b] for b in others]
                if None in parts:
                    return None
                total += min(self.unit, sum(whole(part, "penalty") for part in parts))
            else:
                total += self._on_curve(row, sum(self.load[b] for b in others))
        return total

    def _on_curve(self, row: list[int | None], at: int) -> int:
        knots = self.knots
        charge(len(knots))
        at = min(max(at, knots[0]), knots[-1])
        k = max(k for k, knot in enumerate(knots) if knot <= at)
        value, after = (whole(n, "sensitivity") for n in (row[k], row[min(k + 1, len(row) - 1)]))
        if knots[k] == at:
            return value * self.steps
        slope = (after - value) * (self.steps // (knots[k + 1] - knots[k]))
        return value * self.steps + slope * (at - knots[k])

    def _answer(self, answer: Step) -> None:
        """Refuse an answer unless every job is placed once, in allowed groups, on the machines."""
        number = wholes(answer["number"], "number", None, 1)
        where = wholes(answer["where"], "where", len(number), 0, len(self.seats) - 1)
        rows = listed(answer["members"], "members", len(number))
        costs = {(kind, group): cost for kind, group, cost in self.columns}
        placed, used, self.total = [0] * len(self.count), [0] * len(self.seats), 0
        for row, kind, many in zip(rows, where, number, strict=True):
            group = tuple(sorted(a for a in wholes(row, "members", None, -1) if a >= 0))
            refuse_if((kind, group) not in costs, "the answer has a group that may not be formed")
            for a in group:
                placed[a] += many
            used[kind] += many
            self.total += many * costs[kind, group]
        if placed != self.count or any(u > m for u, m in zip(used, self.machines, strict=True)):
            raise Refused("the answer does not place every job once, or takes too many machines")

    def mean(self, total: int) -> Fraction:
        """Mean penalty of the jobs, given their total penalty times `unit`."""
        return Fraction(total, self.unit * self.jobs)

    def pairs(self) -> PairCosts:
        """Jobs as agents of whom at most two share a machine, if all groups are so small.

        A pair costs what it does on the class where it costs least, and one of two equal jobs half
        of it. A job that is alone leaves a seat empty, or has a machine of one seat.
        """
        charge(16 * len(self.count) ** 2 + 8 * len(self.columns))
        found = PairCosts()
        found.count, found.size, found.unit = self.count, len(self.count), self.unit
        found.penalty = [[None] * found.size for _ in self.count]
        ones = [n for n, seats in zip(self.machines, self.seats, strict=True) if seats == 1]
        found.alone = min(self.jobs, self.spare + sum(ones))
        found.single = min((cost for _, group, cost in self.columns if len(group) == 1), default=0)
        for _, group, cost in self.columns:
            refuse_if(len(group) > 2, "jobs are no pairs: a group of three may be formed")
            a, b = group[0], group[-1]
            known = found.penalty[a][b]
            if len(group) == 2:
                each = cost // 2 if a == b else cost
                found.penalty[b][a] = 0
                found.penalty[a][b] = each if known is None else min(known, each)
        return found

    def priced(self, step: Step) -> tuple[int, list[int], int]:
        """Lower bound on the total penalty, times `over`; the reduced cost of each column; and
        `over`.

        Theorem. Let jobs of type a have any prices p[a]. A group S on class c costs its members'
        prices and a rest; let r[c] be the least rest on c, or 0 if that is less. A machine adds no
        less than r[c], and one that is not used adds 0. So every answer costs no less than
            sum of p[a] count[a] + sum of r[c] machines[c],
        and one with the group S on c no less than that and rest of S - r[c].
        """
        prices, over = rationals(step["prices"], "prices", len(self.count))
        digits = max(map(int.bit_length, [over, *prices]))
        charge(len(self.columns) * (20 + 2 * max(self.seats) + digits // 16))
        rest = [cost * over - sum([prices[a] for a in group]) for _, group, cost in self.columns]
        least = [0] * len(self.seats)
        for (kind, _, _), more in zip(self.columns, rest, strict=True):
            least[kind] = min(least[kind], more)
        total = sum(p * n for p, n in zip(prices, self.count, strict=True))
        total += sum(r * n for r, n in zip(least, self.machines, strict=True))
        extra = [r - least[c] for (c, _, _), r in zip(self.columns, rest, strict=True)]
        return total, extra, over

    def program(self, step: Step | None, most: int) -> tuple[Program, Terms]:
        """Integer program of the answers that cost at most `most`, with its cost; columns that
        prices exclude are left out. Without prices: of all answers.
        """
        total, more, over = (0, [0] * len(self.columns), 1) if step is None else self.priced(step)
        program, cost = Program(), Terms()
        charge(20 * len(self.columns))
        of_type: list[Terms] = [[] for _ in self.count]
        of_class: list[Terms] = [[] for _ in self.seats]
        for (kind, group, each), extra in zip(self.columns, more, strict=True):
            if step is None or total + extra <= most * over:
                often = {a: group.count(a) for a in group}
                fit = min(self.count[a] // times for a, times in often.items())
                j = program.column(min(fit, self.machines[kind]))
                cost.append((j, each))
                of_class[kind].append((j, 1))
                for a, times in often.items():
                    of_type[a].append((j, times))
        for terms, number in zip(of_type, self.count, strict=True):
            program.equal(terms, number)
        for terms, number in zip(of_class, self.machines, strict=True):
            program.at_most(terms, number)
        return program, cost


def groups_optimal(case: ProofCase) -> list[CheckedLevel]:
    """Check the least mean penalty: by prices and a tree over the remaining groups, none if there
    are no such groups ("propagation"); or by multipliers of pairs ("dual"); or by a tree that shows
    that no answer exists ("infeasible").
    """
    given = Groups(case)
    level = CheckedLevel(None if given.total is None else given.mean(given.total))
    kinds = {"propagation": "prices below tree|leaves cuts", "infeasible": "tree|leaves cuts"}
    for kind, step in case.each(0, dual="over prices rent sets", **kinds):
        if kind == "dual":
            level.at_least(given.mean(pairing_bound(given.pairs(), step, [1] * len(given.count))))
            continue
        most = whole(step["below"], "below") - 1 if kind == "propagation" else 0
        program, cost = given.program(step if kind == "propagation" else None, most)
        program.at_most(cost if kind == "propagation" else [], most)
        program.impossible(step)
        level.infeasible = level.infeasible or kind == "infeasible"
        level.at_least(given.mean(most + 1))
    return [level]


METHODS: Methods = {"optimal": ("", "penalty min", groups_optimal)}
