"""Admission: jobs on virtual machines (VMs) whose cores are of several types."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .reading import MOST_PRICE, Refused, Step, charge, fields, listed, scaled, whole, wholes


class Admission:
    """Instance and answer of an admission proof; speeds are integers over `unit`."""

    def __init__(self, case: ProofCase) -> None:
        others = "length names machine_names"
        document = fields(case.document, "cores threads speed", others, "the instance")
        rows = listed(document["cores"], "cores")
        self.cores = [wholes(row, "cores", None, 0, MOST_PRICE) for row in rows]
        self.threads = wholes(document["threads"], "threads", None, 1, MOST_PRICE)
        self.wide = len(self.cores[0])
        rows = listed(document["speed"], "speed", len(self.threads))
        flat = [value for row in rows for value in listed(row, "speed", self.wide)]
        numbers, self.unit = scaled(flat, "speed")
        self.digits = max(map(int.bit_length, [self.unit, *(number or 0 for number in numbers)]))
        parts = range(0, len(flat), self.wide)
        self.speed = [[whole(v, "speed", 1) for v in numbers[k : k + self.wide]] for k in parts]
        self.served: int | None = None
        self.total: Fraction | None = None
        if case.witness is not None:
            self._answer(fields(case.witness, "machine cores", what="the answer"))

    def _answer(self, answer: Step) -> None:
        """Refuse an answer unless a job has one VM, at most its threads, and cores of its own."""
        machine = wholes(answer["machine"], "machine", len(self.threads), -1, len(self.cores) - 1)
        rows = listed(answer["cores"], "cores", len(machine))
        used_cores = [wholes(row, "cores", self.wide, 0) for row in rows]
        left, total = [list(row) for row in self.cores] + [[0] * self.wide], 0
        for vm, row, most, fast in zip(machine, used_cores, self.threads, self.speed, strict=True):
            left[vm] = [n - used for n, used in zip(left[vm], row, strict=True)]
            if min(left[vm]) < 0 or sum(row) > most or (vm >= 0) != any(row):
                raise Refused("a job of the answer holds cores that it may not hold")
            total += sum(s * n for s, n in zip(fast, row, strict=True))
        self.served, self.total = sum(vm >= 0 for vm in machine), Fraction(total, self.unit)

    def bound(self, step: Step) -> Fraction:
        """Upper bound on the total speed of every assignment, by a step's prices of jobs and rents
        of cores.

        Theorem. Let jobs have prices p >= 0, and let F(S) be the most speed of a set S of jobs on a
        VM. If F(S) - p(S) <= top_k for all S on a VM of kind k (VMs of a kind have the same cores),
        no assignment has more speed than sum p + the tops of all VMs. At rents q >= 0 of the cores
        F(S) <= q.cores + what each job of S would gain on the VM alone, paying the rents. A tree
        over whether a job is in S or out, with rents at its leaves, proves a top: an undecided job
        counts where it would gain more than its price.
        """
        over = whole(step["over"], "over", 1, MOST_PRICE)
        prices = wholes(step["jobs"], "jobs", len(self.threads), 0, MOST_PRICE)
        total, kinds = sum(prices) * self.unit, dict[tuple[int, ...], int]()
        for row in self.cores:
            kinds[tuple(row)] = kinds.get(tuple(row), 0) + 1
        trees = listed(step["kinds"], "kinds", len(kinds))
        for (cores, number), tree in zip(kinds.items(), trees, strict=True):
            total += number * max(0, self.top(tree, cores, prices, over, {}))
        return Fraction(total, self.unit * over)

    def top(self, node: object, cores: tuple[int, ...], prices: list[int], over: int,
            decided: dict[int, bool]) -> int:  # fmt: skip
        """Upper bound on the speed of a set of jobs on a VM less their prices, times `over` and
        `unit`.
        """
        if isinstance(node, dict):
            split = fields(node, "job in out", what="a node")
            job = whole(split["job"], "job", 0, len(prices) - 1)
            sides = [(split["in"], True), (split["out"], False)]
            return max(self.top(n, cores, prices, over, {**decided, job: s}) for n, s in sides)
        charge(len(prices) * (5 + 5 * self.wide * (1 + self.digits // 500)))
        core_prices = [self.unit * q for q in wholes(node, "rents", self.wide, 0, MOST_PRICE)]
        total = sum(q * n for q, n in zip(core_prices, cores, strict=True))
        for j, (fast, threads) in enumerate(zip(self.speed, self.threads, strict=True)):
            if decided.get(j, True):
                left, net = threads, -prices[j] * self.unit
                gains = [s * over - q for s, q in zip(fast, core_prices, strict=True)]
                for gain, number in sorted(zip(gains, cores, strict=True), reverse=True):
                    taken = min(number, left) if gain > 0 else 0
                    left, net = left - taken, net + taken * gain
                total += net if j in decided else max(net, 0)
        return total


def admission_speed(case: ProofCase) -> list[CheckedLevel]:
    """Check the claimed maximum of the total speed, bounded by the prices of each step."""
    given = Admission(case)
    level = CheckedLevel(given.total)
    for _, step in case.each(len(case.steps) - 1, prices="jobs over kinds"):
        level.at_most(given.bound(step))
    return [level]


def admission_jobs(case: ProofCase) -> list[CheckedLevel]:
    """Check the most jobs served, as a share of all jobs: at most one for each core. Then the most
    speed.
    """
    given = Admission(case)
    [second] = admission_speed(case) if len(case.steps) > 1 else [CheckedLevel()]
    list(case.each(0, witness=""))
    jobs, cores = len(given.threads), sum(map(sum, given.cores))
    served = None if given.served is None else Fraction(given.served, jobs)
    return [CheckedLevel(served, Fraction(min(jobs, cores), jobs)), second]


METHODS: Methods = {
    "optimal": ("", "total_speed max", admission_speed),
    "most-jobs": ("", "assigned max, total_speed max", admission_jobs),
}
