"""Accelerators: shares of the time of jobs of several types on devices of several kinds."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .reading import (
    Refused,
    Step,
    amount,
    charge,
    exact,
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

NEEDED = "throughput count devices"
OTHERS = (
    "together workers weight steps elapsed deadline device_cost entity entity_weight "
    "names device_names entity_names"
)


MOST_BITS = 300
"""Of numbers that are read as floats too."""


MANY, GRID = 100, 1 << 256
"""Types beyond which sums are of parts of 1 / GRID."""


class Shares:
    """Instance and answer of an accelerators proof: a job of type i on a device of kind d makes
    alone[i][d] / unit steps a second, beside type j beside[i][j][d] / unit (None: forbidden), and
    needs workers[i] devices.

    The answer says how many jobs of a type, alone, or pairs run on a kind of device, on average
    over time; no more jobs and devices than there are. `total`: the steps a second of all jobs of
    each type together.
    """

    def __init__(self, case: ProofCase) -> None:
        document = fields(case.document, NEEDED, OTHERS, "the instance")
        self.document = document
        self.count = [amount(n, "count") for n in listed(document["count"], "count")]
        self.devices = [amount(n, "devices") for n in listed(document["devices"], "devices")]
        self.types, self.kinds = range(len(self.count)), range(len(self.devices))
        self.jobs, self.weight = sum(self.count), self.numbers("weight", 1)
        self.workers = [int(w) for w in self.numbers("workers", 1)]
        refuse_if(self.workers != self.numbers("workers", 1), "workers are not whole")
        for workers, weight in zip(self.workers, self.weight, strict=True):
            refuse_if(workers <= 0 or weight <= 0, "a weight or a number of workers is not above 0")
        refuse_if(not (self.jobs and sum(self.devices)), "there are no jobs, or no devices")
        types, kinds = len(self.types), len(self.kinds)
        rows = [listed(row, "throughput", kinds) for row in self.rows("throughput", types)]
        tables = list[list[object]]()
        if document.get("together") is not None:
            pairs = [listed(row, "together", types) for row in self.rows("together", types)]
            tables = [listed(table, "together", kinds) for row in pairs for table in row]
        rates, self.unit = scaled([v for row in rows + tables for v in row], "throughput")
        refuse_if(any(rate is not None and rate < 0 for rate in rates), "a throughput is below 0")
        self.longest = max(rate.bit_length() for rate in [self.unit, *self.workers, *rates] if rate)
        every = [rates[k : k + kinds] for k in range(0, len(rates), kinds)]
        self.alone = [
            [rate or 0 if self.fits(i, d) else 0 for d, rate in enumerate(every[i])]
            for i in self.types
        ]
        self.beside = [every[types * (i + 1) : types * (i + 2)] for i in self.types if tables]
        self.total = [Fraction(0)] * types
        self.cost = Fraction(0)
        if case.witness is not None:
            self._answer(fields(case.witness, "over shares", what="the answer"))

    def rows(self, name: str, length: int) -> list[object]:
        """Return the named field of the instance, which must be a list of `length` rows."""
        return listed(self.document[name], name, length)

    def numbers(self, name: str, usual: int) -> list[Fraction]:
        """Read the named field of the instance: a number for each type, or kind of device."""
        length = len(self.kinds if name == "device_cost" else self.types)
        if self.document.get(name) is None:
            return [Fraction(usual)] * length
        return [exact(value, name) for value in self.rows(name, length)]

    def fits(self, i: int, d: int) -> bool:
        """Whether there are as many devices of kind d as a job of type i needs."""
        return self.workers[i] <= self.devices[d]

    def pair(self, i: int, j: int, d: int) -> tuple[int, int] | None:
        """Steps a second of both jobs of a pair on a device of kind d, times `unit`; None where
        they may not run together.
        """
        if not self.beside:
            return None
        one, two = self.beside[i][j][d], self.beside[j][i][d]
        able = self.workers[i] == self.workers[j] and self.fits(i, d)
        if one is None or two is None or not able or (i == j and self.count[i] < 2):
            return None
        return one, two

    def _answer(self, answer: Step) -> None:
        over = whole(answer["over"], "over", 1)
        used, busy, progress = [0] * len(self.kinds), [0] * len(self.types), [0] * len(self.types)
        for row in listed(answer["shares"], "shares"):
            charge(50)
            i, j, d, share = wholes(row, "shares", 4, -1)
            known = min(i, d, share) >= 0 and max(i, j) < len(busy) and d < len(used)
            refuse_if(not known, "the answer names what there is not")
            rates = self.pair(i, j, d) if j >= 0 else (self.alone[i][d], 0)
            if rates is None or not self.fits(i, d):
                raise Refused(f"types {i} and {j} may not run on devices of kind {d}")
            used[d] += self.workers[i] * share
            for k, rate in zip((i, j), rates, strict=True):
                if k >= 0:
                    busy[k] += share
                    progress[k] += share * rate
        for spent, there in ((used, self.devices), (busy, self.count)):
            refuse_if(
                any(s > over * n for s, n in zip(spent, there, strict=True)),
                "the answer uses more devices, or time of jobs, than there is",
            )
        self.total = [Fraction(p, over * self.unit) for p in progress]
        costs = zip(used, self.numbers("device_cost", 1), strict=True)
        self.cost = sum((u * c for u, c in costs), Fraction(0)) / over

    def worth(self, step: Step, money: int = 0) -> tuple[list[Fraction], Fraction]:
        """Price of a step a second of each type, and the total price of all devices and time.

        Theorem. Let a step a second of type i be worth s, a device y and the time of a job u, 0 or
        more, and no job or pair be worth more than the w devices that it uses and the time of its
        jobs: s r <= w y + u, and s r + s' r' <= w y + u + u'. Then sum s total <= sum y devices +
        sum u count for every answer, as it is a sum over what runs, and no more can be used than
        there is. With `money` the cost of a device in use is added to y there, and that of the
        answer to the right-hand side.
        """
        price, over = rationals(step["prices"], "prices", len(self.kinds) + len(self.types))
        worth, unit = rationals(step["worth"], "worth", len(self.types))
        refuse_if(min(price + worth) < 0, "a price is below 0")
        there = [i for i in self.types if self.count[i]]
        costs = zip(price, self.numbers("device_cost", 1), strict=False)
        rent, job = [y + money * over * c for y, c in costs], price[len(self.kinds) :]
        scale, longest = unit * self.unit, max(map(int.bit_length, [*price, *worth, over, unit]))
        for d in self.kinds:
            paid, part = rent[d].as_integer_ratio()
            bits = max(longest, self.longest, paid.bit_length(), part.bit_length())
            beside = there if self.beside else []
            charge(100 + (50 + 2 * product(bits, bits)) * len(there) * (1 + len(beside)))
            for first, i in enumerate(there):
                uses = [(self.alone[i][d] * worth[i], job[i])]
                for j in beside[first:]:
                    if (rates := self.pair(i, j, d)) is not None:
                        uses.append((rates[0] * worth[i] + rates[1] * worth[j], job[i] + job[j]))
                devices = self.workers[i] * paid
                if any(g * over * part > (devices + time * part) * scale for g, time in uses):
                    raise Refused("a job or a pair is worth more than it uses")
        amounts = [*self.devices, *self.count]
        total = sum(a * p for a, p in zip(amounts, price, strict=True))
        return [Fraction(w, unit) for w in worth], Fraction(total, over)

    def completed(
        self, step: Step, need: list[Fraction], gain: list[Fraction] | None = None, money: int = 0
    ) -> Step:
        """Complete a proof step that gives prices of devices alone. Added are prices of jobs' time,
        and the worth of one step a second of each type: the marginal cost of a step beyond the
        type's `need` (0 without need), and at least its `gain`. `worth` checks this choice.
        """
        if "worth" in step:
            return step
        prices, over = rationals(step["prices"], "prices", len(self.kinds))
        refuse_if(bool(self.beside), "pairs need prices of the time of jobs")
        costs = zip(prices, self.numbers("device_cost", 1), strict=True)
        paid = [y + money * over * c for y, c in costs]
        long = self.longest > MOST_BITS or max(paid) >= 1 << MOST_BITS
        refuse_if(long, "numbers are too long for prices of devices alone")
        rent, worth, time = [float(y) for y in paid], [0] * len(need), [0] * len(need)
        charge(1000 * len(need) * len(prices))
        for i in [i for i in self.types if self.count[i]]:
            kinds = [d for d in self.kinds if self.alone[i][d]]
            points = [(float(self.alone[i][d]), self.workers[i] * rent[d]) for d in kinds]
            if need[i]:
                worth[i] = int(_next_cost([(0.0, 0.0), *points], float(need[i] * self.unit)))
            if gain is not None:
                worth[i] = max(worth[i], -int(-gain[i] * over // self.unit))
            most = max(worth[i] * self.alone[i][d] - self.workers[i] * paid[d] for d in kinds)
            time[i] = max(0, -int(-most // 1))
        numbers = [w * self.unit for w in worth]
        whole = {"over": over, "numbers": [*prices, *time]}
        return {**step, "prices": whole, "worth": {"over": over, "numbers": numbers}}

    def proportional(self) -> list[Fraction]:
        """Steps a second of a job of each type whose time is divided over the kinds in proportion
        to their devices.
        """
        parts = [sum(r * n for r, n in zip(row, self.devices, strict=True)) for row in self.alone]
        found = [Fraction(part, self.unit * sum(self.devices)) for part in parts]
        refuse_if(
            any(n and not r for n, r in zip(self.count, found, strict=True)), "a job cannot run"
        )
        return found

    def isolated(self) -> list[Fraction]:
        """Steps a second of a job in its own 1/n of the cluster."""
        part = Fraction(sum(self.devices), self.jobs)
        parts = [min(Fraction(1), part / w) for w in self.workers]
        return [p * r for p, r in zip(parts, self.proportional(), strict=True)]

    def entitled(self) -> list[Fraction]:
        """Steps a second that equal a normalized throughput of 1."""
        each = zip(self.proportional(), self.weight, self.workers, strict=True)
        return [r * weight / w for r, weight, w in each]

    def of_entities(self) -> list[Fraction]:
        """Throughput of each type that counts as 1 when entities share fairly. It is that of
        `entitled` times the entity's weight over the total weight of its jobs.
        """
        owners = wholes(self.document.get("entity"), "entity", len(self.types), 0)
        weights = self.document.get("entity_weight")
        shares = [exact(w, "entity_weight") for w in listed(weights, "entity_weight")]
        refuse_if(max(owners) >= len(shares), "an entity has no weight")
        total = [Fraction(0)] * len(shares)
        for owner, n, weight in zip(owners, self.count, self.weight, strict=True):
            total[owner] += n * weight
        each = zip(self.entitled(), owners, strict=True)
        return [u * shares[o] / total[o] if total[o] else u for u, o in each]

    def times(self) -> tuple[list[Fraction], list[Fraction]]:
        """Remaining steps of each type, and seconds since submission."""
        refuse_if(self.document.get("steps") is None, "the instance has no steps")
        steps = self.numbers("steps", 1)
        refuse_if(min(steps) <= 0, "steps are not above 0")
        return steps, self.numbers("elapsed", 0)

    def ratios(self, unit: list[Fraction], types: list[int] | None = None) -> list[Fraction]:
        """Throughput per job of each type over its `unit`, for those of `types` (None: all) with
        jobs.
        """
        among = self.types if types is None else types
        return [self.total[i] / (self.count[i] * unit[i]) for i in among if self.count[i]]

    def asks(self, worth: list[Fraction], throughput: list[Fraction]) -> Fraction:
        """Total price of the throughputs of all jobs, each type's rounded down where the sum of
        many fractions would get too long.
        """
        each = [s * n * t for s, n, t in zip(worth, self.count, throughput, strict=True)]
        if len(each) > MANY:
            return Fraction(sum(part.numerator * GRID // part.denominator for part in each), GRID)
        return sum(each, Fraction(0))


class _Spare:
    """Price of all devices that is left after jobs of earlier levels have used their part. Only for
    jobs that run alone; a type of a later level adds the price of its jobs' time then.
    """

    def __init__(self, given: Shares) -> None:
        self.given, self.worth = given, list[Fraction]()

    def begin(self, step: Step, need: list[Fraction]) -> None:
        """Set the prices of steps and devices from a proof step with `completed`, and what is left:
        the total price of all devices.
        """
        full = self.given.completed(step, need)
        self.worth, _ = self.given.worth(full)
        self.prices, self.over = rationals(full["prices"], "prices")
        devices = zip(self.given.devices, self.prices, strict=False)
        self.left, self.counted = Fraction(sum(n * y for n, y in devices), self.over), 0

    def bounds(self, before: list[int], types: list[int]) -> list[tuple[int, Fraction]]:
        """Upper bound on each type's total throughput if the earlier types get no less than in the
        answer.
        """
        given, kinds = self.given, len(self.given.kinds)
        if not self.worth:
            return []
        for i in before[self.counted :]:
            time = Fraction(given.count[i] * self.prices[kinds + i], self.over)
            self.left += time - self.worth[i] * given.total[i]
        self.counted = len(before)
        return [(i, self.left / self.worth[i] + given.total[i]) for i in types if self.worth[i]]


def _next_cost(points: list[tuple[float, float]], need: float) -> float:
    """Marginal cost of a step beyond `need`, of the cheapest mix of points (steps, cost). It is the
    right slope of their lower hull, or the left slope at its end.
    """
    need = min(need, max(points)[0])
    above, below = ([p for p in points if (p[0] >= need) is more] for more in (True, False))
    cost = min(
        c if r == need or s < 0 else b + (c - b) * (need - s) / (r - s)
        for r, c in above
        for s, b in below or [(-1.0, 0.0)]
    )
    right = [(c - cost) / (r - need) for r, c in above if r > need * (1 + 1e-9)]
    left = [(cost - c) / (need - r) for r, c in below if r < need * (1 - 1e-9)]
    return max(0.0, min(right)) if right else max([1.0, *left])


def _ratio(case: ProofCase, given: Shares, unit: list[Fraction]) -> CheckedLevel:
    """Check the maximum of the least ratio, where a job's ratio is its throughput over its `unit`.
    The bound is the price of all devices over the price of a ratio of 1 for every job.
    """
    level = CheckedLevel()
    if case.witness is not None:
        level.value = min(given.ratios(unit))
    for _, step in case.each(0, prices="prices|worth"):
        need = [(level.value or Fraction(1)) * each for each in unit]
        worth, most = given.worth(given.completed(step, need))
        asked = given.asks(worth, unit)
        refuse_if(not asked, "no step is worth anything")
        level.at_most(most / asked)
    return level


def max_min(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum of the least normalized throughput."""
    given = Shares(case)
    return [_ratio(case, given, given.entitled())]


def makespan(case: ProofCase) -> list[CheckedLevel]:
    """Check the least time until all jobs have ended."""
    given = Shares(case)
    level = _ratio(case, given, given.times()[0])
    refuse_if(0 in (level.value, level.bound), "a job does not progress, or none can")
    return [CheckedLevel(level.value and 1 / level.value, level.bound and 1 / level.bound)]


def finish_time(case: ProofCase) -> list[CheckedLevel]:
    """Check the minimum of the worst finish-time ratio r = (elapsed + steps / throughput) / due,
    with due the time in 1/n of the cluster.

    A ratio below r asks for more than steps / (r due - elapsed) of each job. If that, of the jobs
    whose steps are worth anything, is worth no less than all that there is, r is a bound.
    """
    given, level = Shares(case), CheckedLevel()
    (steps, elapsed), alone = given.times(), given.isolated()
    there = [i for i in given.types if given.count[i]]
    due = [elapsed[i] + steps[i] / (alone[i] or 1) for i in given.types]
    for _, step in case.each(0, prices="prices ratio|worth"):
        ratio = rational(step["ratio"], "ratio")
        left = [ratio * due[i] - elapsed[i] for i in given.types]
        need = [s / each if each > 0 else Fraction(0) for s, each in zip(steps, left, strict=True)]
        worth, most = given.worth(given.completed(step, need))
        asked = Fraction(0)
        for i in [i for i in there if worth[i]]:
            refuse_if(left[i] <= 0, "the ratio is less than a job's elapsed time")
            asked += worth[i] * given.count[i] * steps[i] / left[i]
        refuse_if(asked < most or not asked, "the ratio is not ruled out")
        level.at_least(ratio)
    if case.witness is not None:
        refuse_if(not all(given.total[i] for i in there), "a job does not progress")
        level.value = max(
            (elapsed[i] + steps[i] * given.count[i] / given.total[i]) / due[i] for i in there
        )
    return [level]


def _levels(
    case: ProofCase, given: Shares, unit: list[Fraction], in_order: bool
) -> list[CheckedLevel]:
    """Check the levels of a leximin answer: each maximizes the least throughput of the types that
    are not on earlier levels. If no job of this level's types, or of earlier ones, has less than in
    the answer, then no job of this level has more than the bound. The first level is also bounded
    by the total price, as the least of all jobs. Jobs of different entities (not `in_order`) may
    stop together with different throughputs: the bound is then the least of them times the largest
    factor by which one of them can increase.

    If a job of type i had more, others than i of these types no less, then all were worth more than
    there is. If besides the types of later levels, and those of none, have no less than these here,
    whoever has more than here takes it from somebody who has no more: the answer is leximin as far
    as value and bound agree.
    """
    refuse_if(case.witness is None, "levels are about an answer, and there is none")
    levels, before, overall = list[CheckedLevel](), list[int](), list[Fraction]()
    need = [t / n if n else Fraction(0) for t, n in zip(given.total, given.count, strict=True)]
    alone = _Spare(given)
    for level_number in range(len(case.steps)):
        steps = list(case.each(level_number, prices="prices|worth", types="types"))
        refuse_if(not steps or steps[0][0] != "types", "a level begins with its types")
        types = wholes(steps[0][1]["types"], "types", None, 0, len(given.types) - 1)
        before += types
        refuse_if(not types or len(set(before)) < len(before), "a type is on two levels")
        refuse_if(not all(given.count[i] for i in types), "a type has no jobs")
        ratio, most = given.ratios(unit, types), dict[int, Fraction]()
        rest = [i for i in given.types if i not in before]
        late = in_order and min(given.ratios(unit, rest), default=max(ratio)) < max(ratio)
        refuse_if(late, "a type of a later level has less")
        for kind, step in steps[1:]:
            refuse_if(kind != "prices", "a level has its types once")
            if "worth" not in step:
                alone.begin(step, need)
                continue
            worth, total = given.worth(step)
            if asked := given.asks(worth, unit):
                overall.append(total / asked)
            total -= sum((worth[i] * given.total[i] for i in before), Fraction(0))
            for i in [i for i in types if worth[i]]:
                bound = (total / worth[i] + given.total[i]) / (given.count[i] * unit[i])
                most[i] = min(bound, most.get(i, bound))
        for i, bound in alone.bounds(before, types):
            most[i] = bound / (given.count[i] * unit[i])
        level = CheckedLevel(min(ratio))
        if len(most) == len(types) and (in_order or 0 in ratio):
            level.bound = max(most.values())
        elif len(most) == len(types):
            level.bound = min(ratio) * max(most[i] / r for i, r in zip(types, ratio, strict=True))
        if level_number == 0:
            level.value = min(given.ratios(unit))
            for bound in overall:
                level.at_most(bound)
        levels.append(level)
    return levels


def leximin(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum of the least normalized throughput, then the later levels."""
    given = Shares(case)
    return _levels(case, given, given.entitled(), True)


def hierarchical(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum of the least throughput by weights of entities, then the later levels."""
    given = Shares(case)
    return _levels(case, given, given.of_entities(), False)


def _least(
    case: ProofCase, given: Shares, floor: list[Fraction], gain: list[Fraction], money: int
) -> CheckedLevel:
    """Check the least of `money` times the cost of devices less the total gain of throughputs,
    where each job has at least its throughput `floor`.

    If steps are worth s >= gain each, that is at least what (s - gain) of the floors is, less all
    that there is. Where s of the floors alone is more than there is, there is no answer.
    """
    level = CheckedLevel()
    for kind, step in case.each(0, prices="prices|worth", infeasible="prices|worth"):
        least = (gain, money) if kind == "prices" else (None, 0)
        worth, most = given.worth(given.completed(step, floor, *least), least[1])
        asked = given.asks(worth, floor)
        if kind == "infeasible":
            refuse_if(asked <= most, "it is not shown that there is no answer")
            level.infeasible = True
            continue
        less = any(s < g for s, g in zip(worth, gain, strict=True))
        refuse_if(less, "a step is worth too little")
        level.at_least(asked + given.asks([-g for g in gain], floor) - most)
    if case.witness is not None:
        each = zip(given.total, given.count, floor, strict=True)
        refuse_if(any(t < n * f for t, n, f in each), "a job has less than it is owed")
        gains = sum((g * t for g, t in zip(gain, given.total, strict=True)), Fraction(0))
        level.value = money * given.cost - gains
    return level


def max_throughput(case: ProofCase) -> list[CheckedLevel]:
    """Check the claimed maximum of the mean over jobs of throughput x workers / proportional
    throughput, while every job has at least the normalized throughput `least`.
    """
    given, least = Shares(case), rational(case.options.get("least", 0), "least")
    refuse_if(least < 0, "the least is below 0")
    each = zip(given.workers, given.proportional(), strict=True)
    gain = [w / (r * given.jobs) if r else Fraction(0) for w, r in each]
    level = _least(case, given, [least * unit for unit in given.entitled()], gain, 0)
    value, bound = (None if x is None else -x for x in (level.value, level.bound))
    return [CheckedLevel(value, bound, level.infeasible)]


def min_cost(case: ProofCase) -> list[CheckedLevel]:
    """Check the least cost such that every job has the required multiple of its throughput in 1/n
    of the cluster, and its steps by its deadline.
    """
    given, least = Shares(case), rational(case.options.get("least", 1), "least")
    refuse_if(least < 0, "the least is below 0")
    floor = [least * r for r in given.isolated()]
    if given.document.get("deadline") is not None:
        steps, _ = given.times()
        ends, over = scaled(given.rows("deadline", len(given.types)), "deadline")
        for i, end in enumerate(ends):
            refuse_if(end is not None and end <= 0, "a deadline is not above 0")
            floor[i] = max(floor[i], steps[i] * over / end) if end else floor[i]
    level = _least(case, given, floor, [Fraction(0)] * len(floor), 1)
    level.at_least(Fraction(0))
    return [level]


NEXT = ", next_throughput max" * 999
METHODS: Methods = {
    "max-min": ("", "worst_throughput max", max_min),
    "leximin": ("", "worst_throughput max" + NEXT, leximin),
    "hierarchical": ("", "worst_entity_throughput max" + NEXT, hierarchical),
    "max-throughput": ("least", "mean_throughput max", max_throughput),
    "min-cost": ("least", "cost min", min_cost),
    "makespan": ("", "makespan min", makespan),
    "finish-time": ("", "finish_time_ratio min", finish_time),
}
