"""NUMA: long-run flows of tasks from the memory of their data to processors."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .reading import (
    ROUNDING,
    Refused,
    Step,
    charge,
    exact,
    fields,
    listed,
    product,
    rational,
    rationals,
    refuse_if,
    whole,
    wholes,
)


class Flows:
    """Instance and answer of a NUMA proof: of all tasks, share_k share_l are of class k and have
    their data in memory l.

    At distance d (hops, or another blade) one takes time[k][d] of a core, and the links spend
    energy[k][d] on it. The answer says what parts of them go to which processor; else they run
    where their data is. `work`: the seconds that one task a second gives each processor.
    """

    def __init__(self, case: ProofCase) -> None:
        shape, shares = "blades rows columns cores", "class_share location_share"
        others = "rate refusal_limit law scv arrival_law arrival_scv queues names"
        needed = f"{shape} {shares} service_mean ht1 pcie bandwidth"
        document = fields(case.document, needed, others, "the instance")
        blades, rows, columns, self.cores = (whole(document[n], n, 1, 10**5) for n in shape.split())
        self.processors, far = range(blades * rows * columns), rows + columns - 1
        lists = [[exact(v, n) for v in listed(document[n], n)] for n in needed.split()[4:]]
        kinds, places, *rest = lists
        if len(kinds) * len(self.processors) ** 2 > 10**6 or len(places) != len(self.processors):
            raise Refused("so many processors that this would take too long, or other shares")
        if min(min(part) for part in lists) < 0 or any(len(part) != len(kinds) for part in rest):
            raise Refused("a number of the instance is below 0, or one is missing")
        if any(abs(sum(part, Fraction(0)) - 1) > ROUNDING for part in (kinds, places)):
            raise Refused("shares do not sum to 1")
        self.share = [[a * b for b in places] for a in kinds]
        digits = (max(v.numerator, v.denominator) for part in lists for v in part)
        self.digits = max(digits).bit_length()
        defaults = {"ht_energy": 36, "pcie_energy": "75/2", "pcie_hops": 2}
        ht, pci, hops = (rational(case.options.get(n, v), n) for n, v in defaults.items())
        refuse_if(min(ht, pci, hops) < 0, "an energy is below 0")
        joules = [d * ht for d in range(far)] + [pci + hops * ht]  # pJ a bit; 8e6 bits a MB
        self.time, self.energy = list[list[Fraction]](), list[list[Fraction]]()
        for mean, near, blade, rate in zip(*rest, strict=True):
            slow = [1 + (near - 1) * (1 + Fraction(3 * (d - 1), 10)) for d in range(1, far)]
            self.time.append([mean * factor for factor in (1, *slow, blade)])
            self.energy.append([rate * mean * 8 * joule / 10**6 for joule in joules])
        at = [(p // (rows * columns), p // columns % rows, p % columns) for p in self.processors]
        self.away = [[abs(i - k) + abs(j - n) if a == b else far for b, k, n in at]
                     for a, i, j in at]  # fmt: skip
        self.work, self.joules = [Fraction(0)] * len(at), Fraction(0)
        if case.witness is not None:
            self._answer(fields(case.witness, "split", what="the answer")["split"])

    def _answer(self, split: object) -> None:
        parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for entry in listed(split, "split"):
            k, memory, p, number = wholes(entry, "split", 4, 0)
            parts.setdefault((k, memory), []).append((p, number))
        for k, row in enumerate(self.share):
            for memory, share in enumerate(row):
                here = parts.pop((k, memory), [(memory, 1)])
                total = sum(number for _, number in here)
                for p, number in here:
                    long = max(self.work[p].denominator, self.joules.denominator)
                    charge(50 + 5 * product(long.bit_length(), total.bit_length()))
                    part = share * Fraction(number, total)
                    self.work[p] += part * self.time[k][self.away[memory][p]]
                    self.joules += part * self.energy[k][self.away[memory][p]]
        refuse_if(parts, "the answer splits tasks that there are not")

    def priced(self, step: Step, joules: bool) -> tuple[Fraction, Fraction]:
        """Total price of all cores, and mean over tasks of their least cost, at a step's prices of
        a second of a core (and of energy, if `joules`).

        Theorem. Let the prices y be 0 or more. A task of class k and memory m costs at least the
        least of time y (+ energy) over the processors, v; and all cores together earn no more than
        cores sum y. So rate * mean of v <= earned, and power >= rate * mean of v - earned.
        """
        prices, over = rationals(step["prices"], "prices", len(self.processors))
        refuse_if(min(prices) < 0, "a price is below 0")
        cost = Fraction(0)
        for m, far in enumerate(self.away):
            least: dict[int, int] = {}  # price at each distance
            for d, price in zip(far, prices, strict=True):
                least[d] = min(price, least.get(d, price))
            bits = max(map(int.bit_length, [over, *least.values()]))
            each = 40 + 5 * product(self.digits, bits)
            charge(2 * len(far) + each * len(least) * len(self.share))
            for row, time, energy in zip(self.share, self.time, self.energy, strict=True):
                paid = [time[d] * p + energy[d] * over * joules for d, p in least.items()]
                cost += row[m] * min(paid)
        return Fraction(self.cores * sum(prices), over), cost / over


def numa_fluid(case: ProofCase) -> list[CheckedLevel]:
    """Check the highest throughput; then the least link power at the answer's rate."""
    given, levels = Flows(case), [CheckedLevel() for _ in case.steps]
    rate = Fraction(given.cores) / max(given.work) if case.witness is not None else None
    for _, step in case.each(0, dual="prices"):
        earned, cost = given.priced(step, joules=False)
        levels[0].at_most(earned / cost)
    levels[0].value = rate
    for _, step in case.each(1, dual="prices"):
        if rate is None:
            raise Refused("the second level is about an answer, and there is none")
        earned, cost = given.priced(step, joules=True)
        levels[1].value = rate * given.joules
        levels[1].at_least(max(rate * cost - earned, Fraction(0)))
    return levels


def numa_power(case: ProofCase) -> list[CheckedLevel]:
    """Check the least link power at a rate, or that no placement sustains the rate."""
    given, level = Flows(case), CheckedLevel(None, Fraction(0))
    rate = exact(case.document["rate"], "rate")
    rate = rational(case.options.get("throughput", str(rate)), "throughput")
    refuse_if(rate <= 0, "the throughput is not above 0")
    for _, step in case.each(0, dual="prices"):
        earned, cost = given.priced(step, joules=False)
        level.infeasible = level.infeasible or rate * cost > earned
        earned, cost = given.priced(step, joules=True)
        level.at_least(rate * cost - earned)
    if case.witness is not None:
        refuse_if(rate * max(given.work) > given.cores, "the answer overfills a processor")
        level.value = rate * given.joules
    return [level]


METHODS: Methods = {
    "fluid": ("ht_energy pcie_energy pcie_hops", "served_rate max, flow_power min", numa_fluid),
    "fluid-power": ("throughput ht_energy pcie_energy pcie_hops", "link_power min", numa_power),
}
