"""Markets: users with budgets divide the cores of servers among their jobs.

A job of parallel fraction f and work w is worth w s(x) on x cores of its server,
      s(x) = x / (f + (1 - f) x),  s(0) = 0  (Amdahl's law),
and a user's utility u_i is the sum over its jobs. For f > 0, s is concave and below its tangents,
s'(t) = f / (f + (1 - f) t)^2; for f = 0 it is at most 1. So for all y >= 0 and every point t >= 0
w s(y) <= w r(t) + w s'(t) y,    r(t) = s(t) - s'(t) t = (1 - f) (t / (f + (1 - f) t))^2, (1)
and whatever the weights a_i >= 0 of users, every division y of the servers' cores C has
sum a_i u_i(y) <= sum_k a w r(t_k) + sum_j C_j max over server j's jobs of a w s'(t_k).   (2)
The points are the answer's cores, unless a step gives others "at". Utilities are whole numbers in
units of 1 / (denominator of work x GRID), values rounded down and what bounds them rounded up.
"""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .logarithms import GRID, exponential, logarithm
from .reading import (
    MOST_COLUMNS,
    Refused,
    Step,
    charge,
    fields,
    listed,
    product,
    rationals,
    refuse_if,
    scaled,
    text_of,
    whole,
    wholes,
)


class Market:
    """Instance and answer of a market proof: `cores` of the jobs over one denominator, no server
    overfull.
    """

    def __init__(self, case: ProofCase, priced: bool = False) -> None:
        needed, others = "capacity budget job", "names server_names"
        document = fields(case.document, needed, others, "the instance")
        jobs = fields(document["job"], "user server parallel_fraction work", what="job")
        self.capacity, self.core = _amounts(document["capacity"], "capacity", 1)
        self.budget, self.money = _amounts(document["budget"], "budget", 1)
        self.fraction, self.one = _amounts(jobs["parallel_fraction"], "parallel_fraction", 0)
        self.work, unit = _amounts(jobs["work"], "work", 0)
        size, self.unit = len(self.work), unit * GRID
        self.user = wholes(jobs["user"], "user", size, 0, len(self.budget) - 1)
        self.server = wholes(jobs["server"], "server", size, 0, len(self.capacity) - 1)
        if len(self.fraction) != size or max(self.fraction) > self.one:
            raise Refused("parallel_fraction is not one for each job, or above 1")
        self.active = sorted({i for i, w in zip(self.user, self.work, strict=True) if w})
        answer = fields(case.witness, "cores price" if priced else "cores", what="the answer")
        self.cores, self.over = self.points(answer["cores"], "cores")
        self.given = self.sums(self.server, self.cores, len(self.capacity))
        full = zip(self.given, self.capacity, strict=True)
        if any(n * self.core > c * self.over for n, c in full):
            raise Refused("the answer gives more cores than there are")
        if priced:
            self.price, self.per = rationals(answer["price"], "price", len(self.capacity))
            wholes(self.price, "price", None, 0)
        self.whole = case.options.get("whole", False) is not False
        if self.whole and (case.options["whole"] is not True or self.over != 1):
            raise Refused("whole is neither true nor false, or the answer's cores are not whole")

    def points(self, value: object, what: str) -> tuple[list[int], int]:
        """Cores of the jobs, 0 or more, over one denominator."""
        numbers, over = rationals(value, what, len(self.work))
        return wholes(numbers, what, None, 0), over

    def sums(self, index: list[int], values: list[int], size: int) -> list[int]:
        """Sums of values by index: the entry k is the sum of the values with index k."""
        total = [0] * size
        for k, value in zip(index, values, strict=True):
            total[k] += value
        return total

    def by_user(self, values: list[int]) -> list[int]:
        """Sums of the jobs' values by user."""
        return self.sums(self.user, values, len(self.budget))

    def value(self, job: int, cores: int, over: int = 1) -> int:
        """Work times speedup of a job on `cores` / `over` cores, w s(x), rounded down."""
        f, scale = self.fraction[job], self.work[job] * GRID * self.one
        return scale * cores // ((f * over + (self.one - f) * cores) or 1)

    def values(self, more: int = 0) -> list[int]:
        """Values of all jobs at their cores in the answer, with `more` cores each if given."""
        cores = [max(0, x + more * self.over) for x in self.cores]
        return [self.value(job, x, self.over) for job, x in enumerate(cores)]

    def tangents(self, step: Step) -> tuple[list[int], list[int]]:
        """Constants and slopes, rounded up, of tangents that bound jobs' values; see (1) above."""
        points, over = self.points(step["at"], "at") if "at" in step else (self.cores, self.over)
        rest, slope, one = [], [], self.one
        for f, w, t in zip(self.fraction, self.work, points, strict=True):
            t = t if f else 1  # for f = 0 the bound is 1, at whatever point
            charge(5 * product(*map(int.bit_length, ((over + t) * one, (over + t) * w))))
            below, scale = (f * over + (one - f) * t) ** 2, w * GRID * one
            rest.append(-(-scale * (one - f) * t * t // below))
            slope.append(-(-scale * f * over * over // below))
        return rest, slope

    def most(self, rest: list[int], slope: list[int]) -> int:
        """Upper bound (2) of this file on the weighted sum of utilities, from weighted tangents."""
        top = [0] * len(self.capacity)
        for server, number in zip(self.server, slope, strict=True):
            top[server] = max(top[server], number)
        worth = sum(c * price for c, price in zip(self.capacity, top, strict=True))
        return sum(rest) - (-worth // self.core)


def _amounts(value: object, what: str, least: int) -> tuple[list[int], int]:
    numbers, over = scaled(listed(value, what), what)
    return [whole(number, what, least) for number in numbers], over


def market_equilibrium(case: ProofCase) -> list[CheckedLevel]:
    """Check prices and cores of a market equilibrium, to within three tolerances.

    clearing: at most this fraction of the cores of a server with a price is not given.
    overspending: nobody pays more than this fraction above its budget.
    regret: nobody could gain more than this fraction of what it could have at most. By (1), and as
    prices p and budget B allow only y with sum p y <= B, that is at most
        sum w r(t_k) + B max over the user's jobs of w s'(t_k) / p_k.
    """
    market = Market(case, priced=True)
    rest, slope = market.tangents(case.one(0, equilibrium="|at"))
    clearing = overspending = regret = Fraction(0)
    for given, capacity, price in zip(market.given, market.capacity, market.price, strict=True):
        if price:
            clearing = max(clearing, 1 - Fraction(given * market.core, capacity * market.over))
    paid = [market.price[j] * x for j, x in zip(market.server, market.cores, strict=True)]
    for spent, budget in zip(market.by_user(paid), market.budget, strict=True):
        excess = Fraction(spent * market.money, budget * market.per * market.over) - 1
        overspending = max(overspending, excess)
    best = [0] * len(market.budget)
    for user, server, number in zip(market.user, market.server, slope, strict=True):
        if number:
            refuse_if(not market.price[server], "a user would gain by more cores, which are free")
            cost = market.price[server] * market.money
            best[user] = max(best[user], -(-number * market.per * market.budget[user] // cost))
    fixes, owned = market.by_user(rest), market.by_user(market.values())
    for fixed, bought, own in zip(fixes, best, owned, strict=True):
        if fixed + bought > own:
            regret = max(regret, Fraction(fixed + bought - own, fixed + bought))
    epsilon = {"clearing": clearing, "overspending": overspending, "regret": regret}
    return [CheckedLevel(max(epsilon.values()), Fraction(0), epsilon=epsilon)]


def market_utilitarian(case: ProofCase) -> list[CheckedLevel]:
    """Check the maximum total utility of an allocation. The bound is by inequality (2) of this file
    at weights 1, or for whole cores by a price of one more core.

    The gains by one core more fall. Let p be the largest next gain on a server. At p a core no job
    is worth more, less what it pays, than with its own x cores, but by (p - its last gain) for each
    of them if that is above 0. So sum u(y) is at most the answer's, p times the cores left over on
    each server, and those differences.
    """
    market = Market(case)
    value = sum(market.values())
    if not market.whole:
        bound = market.most(*market.tangents(case.one(0, tangent="|at")))
        return [CheckedLevel(Fraction(value, market.unit), Fraction(bound, market.unit))]
    case.one(0, dual="")
    own, price, bound = market.values(), [0] * len(market.capacity), value + len(market.work)
    for server, now, after in zip(market.server, own, market.values(1), strict=True):
        price[server] = max(price[server], after + 1 - now)
    jobs = zip(market.server, market.cores, own, market.values(-1), strict=True)
    for server, cores, now, before in jobs:
        bound += cores * max(0, price[server] - (now - before - 1))
    for p, capacity, given in zip(price, market.capacity, market.given, strict=True):
        bound += p * (capacity // market.core - given)
    return [CheckedLevel(Fraction(value, market.unit), Fraction(bound, market.unit))]


def market_nash_welfare(case: ProofCase) -> list[CheckedLevel]:
    """Check the most Nash welfare, exp(sum B_i log u_i / sum B) over users with useful jobs.

    log u <= log v + u / v - 1 for every v > 0. With v_i the answer's utility, rounded down, and (2)
    at weights B_i / v_i, no division y has a larger sum B_i log u_i(y) than
        sum B_i log v_i - sum B + (right side of (2)).
    Linear utilities are those of f = 1. Of whole cores a tree of boxes may show more: in each that
    is left, v are the numbers of its leaf, and at prices p >= 0 of cores the last term is at most
        sum p_j C_j + sum over jobs of the most of B_i / v_i w s(y) - p y within the box.
    """
    market = Market(case)
    kinds = {"tangent": "|at", "tree": "nodes"} if market.whole else {"tangent": "|at"}
    step = case.one(0, **kinds)
    if text_of(case.options.get("utility", "amdahl"), "utility") == "linear":
        market.fraction = [market.one] * len(market.work)
    elif case.options.get("utility", "amdahl") != "amdahl":
        raise Refused("utility is neither amdahl nor linear")
    # 1. The logarithm of the answer's welfare; without useful jobs or utility there is none.
    worth, total = market.by_user(market.values()), sum(market.budget[i] for i in market.active)
    if not total or not all(worth[i] for i in market.active):
        return [CheckedLevel(Fraction(0 if total else 1), None if total else Fraction(1))]

    def logs(numbers: list[int]) -> tuple[int, int]:
        both = [(market.budget[i], logarithm(numbers[i], market.unit)) for i in market.active]
        return sum(b * low for b, (low, _) in both), sum(b * high for b, (_, high) in both)

    # 2. What no division has more of: by tangents, or by the leaves of a tree of boxes.
    low, high = logs(worth)
    if "nodes" not in step:
        rest, slope = market.tangents(step)
        for job, i in enumerate(market.user):
            if market.work[job]:
                rest[job] = -(-rest[job] * market.budget[i] * GRID // worth[i])
                slope[job] = -(-slope[job] * market.budget[i] * GRID // worth[i])
        high += market.most(rest, slope) - total * GRID
    else:
        boxes = Boxes(market)
        for node, (least, most) in boxes.leaves(step["nodes"], []):
            leaf = fields(node, "worth prices", what="a leaf")
            near = wholes(leaf["worth"], "worth", len(market.budget), 0)
            prices = wholes(leaf["prices"], "prices", len(boxes.room), 0)
            positive = all(near[i] for i in market.active)
            refuse_if(not positive, "utilities of a leaf are not above 0")
            above = sum(p * n for p, n in zip(prices, boxes.room, strict=True)) - total * GRID
            for k, table in boxes.low.items():
                i, price = market.user[k], prices[market.server[k]]
                cores = range(least[k], most[k] + 1)
                charge(len(cores) * (8 + 2 * product(boxes.digits + 256, near[i].bit_length())))
                worths = [(table[c] + 1) * market.budget[i] * GRID for c in cores]
                paid = zip(worths, cores, strict=True)
                above += max(-(-gain // near[i]) - price * c for gain, c in paid)
            high = max(high, above + logs(near)[1])
    return [CheckedLevel(exponential(low // total, False), exponential(-(-high // total), True))]


Conditions = list[tuple[int, dict[int, tuple[Fraction, int]], bool]]
Box = tuple[list[int], list[int]]


class Boxes:
    """Allocations in integer cores whose cores of each job lie between two bounds (the box).

    What is asked are conditions (below, goals, above): at most `below` users miss their goal, which
    is to be at it or, if so, above. Ratios are u_i / b_i, b_i what C B_i / sum B of all is worth.
    """

    def __init__(self, market: Market) -> None:
        self.market, self.room = market, [c // market.core for c in market.capacity]
        if market.over != 1 or sum(self.room[j] for j in market.server) > MOST_COLUMNS:
            raise Refused(f"cores are not whole, or those of all jobs more than {MOST_COLUMNS}")
        self.jobs: dict[int, list[int]] = {i: [] for i in market.active}
        self.low: dict[int, list[int]] = {}  # the value of each job and number of cores
        largest = max([self.market.one, *self.market.work, *self.market.capacity])
        self.digits = 64 + largest.bit_length() + sum(self.market.budget).bit_length()
        for k, (i, j, w) in enumerate(zip(market.user, market.server, market.work, strict=True)):
            if w:
                self.low[k] = [market.value(k, c) for c in range(self.room[j] + 1)]
                charge(len(self.jobs[i]))
                if j in [market.server[other] for other in self.jobs[i]]:
                    raise Refused("what a share is worth to a user's two jobs is no fraction")
                self.jobs[i].append(k)
        total, self.worth = market.core * sum(market.budget[i] for i in market.active), {}
        for i in self.jobs:
            room = {k: market.capacity[market.server[k]] for k in self.jobs[i]}
            share = {k: Fraction(n * market.budget[i], total) for k, n in room.items()}
            self.worth[i] = self.utility(i, share)
        self.order = sorted(self.utility(i, market.cores) / b for i, b in self.worth.items())

    def utility(self, user: int, cores: list[int] | dict[int, Fraction]) -> Fraction:
        """Exact utility of a user."""
        one, total = self.market.one, Fraction(0)
        for k in [k for k in self.jobs[user] if cores[k]]:
            f = self.market.fraction[k]
            charge(50 + 5 * product(total.denominator.bit_length(), self.digits))
            total += self.market.work[k] * cores[k] * one / Fraction(f + (one - f) * cores[k])
        return total * GRID / self.market.unit

    def meets(self, user: int, cores: list[int], wanted: tuple[Fraction, int], above: bool) -> bool:
        """Whether a user's utility at some cores meets its goal; in fractions where rounded numbers
        are too close.
        """
        charge(8 + (8 + self.digits // 2_000) * len(self.jobs[user]))
        low, (goal, floor) = sum(self.low[k][cores[k]] for k in self.jobs[user]), wanted
        if low > floor or low + len(self.jobs[user]) < floor:
            return low > floor
        utility = self.utility(user, cores)
        return utility > goal or (utility == goal and not above)

    def squeeze(self, least: list[int], most: list[int], conditions: Conditions) -> bool:
        """Tighten a box to allocations that meet conditions on users' utilities; False if none do.

        A job cannot have more than the least of the others leaves of its server. Where as many
        users as may, with the most they can have, miss a goal, all others need it: each job then
        has at least what it takes when the user's other jobs have the most.
        """
        while True:
            users = len(conditions) * len(self.jobs) * (1 + self.digits // 2_000)
            charge(4 * (len(most) + len(self.room) + users))
            before, left, needs = (least[:], most[:]), self.room[:], {}
            for k, server in enumerate(self.market.server):
                left[server] -= least[k]
            if min(left) < 0 or any(least[k] > most[k] for k in self.low):
                return False
            for k in self.low:
                most[k] = min(most[k], least[k] + left[self.market.server[k]])
            low = {i: sum(self.low[k][most[k]] for k in own) for i, own in self.jobs.items()}
            for below, goal, above in conditions:
                able = [i for i in self.jobs
                        if low[i] > goal[i][1] or self.meets(i, most, goal[i], above)]  # fmt: skip
                if len(able) < len(self.jobs) - below:
                    return False
                if len(able) == len(self.jobs) - below:
                    needs.update({i: (goal[i], above) for i in able})
            for i, wanted in needs.items():
                for k in self.jobs[i]:
                    top, high = most[k], most[k]
                    while least[k] < high:
                        most[k] = (least[k] + high) // 2
                        if self.meets(i, most, *wanted):
                            high = most[k]
                        else:
                            least[k] = most[k] + 1
                    most[k] = top
            if before == (least, most):
                return True

    def leaves(self, nodes: object, goals: Conditions) -> list[tuple[object, Box]]:
        """Open leaves of a tree of boxes, with their boxes. A node [job, at] splits a box at `at`
        cores, the lower part first; [] is a leaf that `squeeze` shows to be empty.
        """
        stack, left = [self.root()], list[tuple[object, Box]]()
        for node in listed(nodes, "nodes"):
            least, most = stack.pop()  # an error if the tree goes on after its last leaf
            if not self.squeeze(least, most, goals):
                refuse_if(node != [], "a branch of an empty box")
            elif isinstance(node, dict):
                left.append((node, (least, most)))
            else:
                job, at = wholes(node, "a branch", 2, 0)
                stack += [(least[:], most[:]), (least, most)]
                stack[-2][0][job], stack[-1][1][job] = max(least[job], at + 1), min(most[job], at)
        refuse_if(stack, "a tree ends before all its leaves")
        return left

    def root(self) -> Box:
        """Box that contains all answers: each useful job has from 0 cores to all cores of its
        server.
        """
        jobs = zip(self.market.server, self.market.work, strict=True)
        return [0] * len(self.market.work), [self.room[j] if w else 0 for j, w in jobs]

    def conditions(self, value: Fraction) -> Conditions:
        """Conditions, as `Boxes` defines them, which every better answer meets that first differs
        from this one at the ratio `value`.
        """
        places = [min(ratio, value) for ratio in self.order]
        levels = [(places.index(ratio), ratio, False) for ratio in sorted(set(places))]
        levels.append((self.order.index(value) + self.order.count(value) - 1, value, True))
        return [(below, self.goals(ratio), above) for below, ratio, above in levels]

    def goals(self, ratio: Fraction) -> dict[int, tuple[Fraction, int]]:
        """Utility of each user at a sharing ratio, as a fraction and rounded down as an integer."""
        charge(30 * len(self.worth))
        return {i: (ratio * b, ratio * b * self.market.unit // 1) for i, b in self.worth.items()}


def market_leximin(case: ProofCase) -> list[CheckedLevel]:
    """Check that integer cores are leximin in the users' ratios of utility, level by level.

    Let r_1 <= ... <= r_n be the answer's ratios, v one of them, r_N its last. Whoever has the same
    ratios below v and fewer users at v, or none, has fewer than N users that are not above v, and
    for each ratio r_m up to v no more users below it than the answer. A tree shows that no whole
    cores have: the node [job, at] splits a box, at most `at` cores, which comes next, or more; at
    [] nothing is left of it once it is squeezed. Less is shown of the first level by weights: the
    least ratio is at most sum a_i u_i / sum a_i b_i, and that by (2).
    """
    market, levels = Market(case), list[CheckedLevel]()
    boxes = Boxes(market)
    for level, value in enumerate(sorted(set(boxes.order))[: len(case.steps)]):
        kinds = {"tree": "nodes"} if level else {"tree": "nodes", "tangent": "weights|at"}
        step = case.one(level, **kinds) if case.steps[level] else {}
        levels.append(CheckedLevel(value, value if step else None))
        if "weights" in step:
            weights = wholes(step["weights"], "weights", len(market.budget), 0)
            total = sum(weights[i] * b for i, b in boxes.worth.items())
            refuse_if(not total, "the weights of a step are all 0")
            parts = [[n * weights[i] for n, i in zip(p, market.user, strict=True)]
                     for p in market.tangents(step)]  # fmt: skip
            levels[-1].bound = Fraction(market.most(*parts), market.unit) / total
        elif step and boxes.leaves(step["nodes"], boxes.conditions(value)):
            raise Refused("a box is left")
    return levels


METHODS: Methods = {
    "fisher": ("", "equilibrium_error min", market_equilibrium),
    "nash-welfare": ("utility whole", "nash_welfare max", market_nash_welfare),
    "leximin": ("", "sharing_index max" + ", sharing_ratio max" * 999, market_leximin),
    "utilitarian": ("whole", "total_utility max", market_utilitarian),
}
