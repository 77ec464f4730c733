"""Scheduling: organizations that pool machines and send jobs; only what is done before the horizon
counts.

A unit of work done before t is worth its age at t, so a job that starts at s and ends at e is worth
age(t - s) - age(t - e) then, age(x) = x (x + 1) / 2 for x > 0.
"""

import heapq
import math
from fractions import Fraction

from .cooperative import LEVELS, MOST_PLAYERS, nucleolus_levels
from .frame import CheckedLevel, Methods, ProofCase
from .reading import MOST_PRICE, Refused, Step, charge, fields, rationals, refuse_if, whole, wholes


class Scheduling:
    """Instance and answer of a scheduling proof; `queues`: each organization's jobs in the order of
    their starts.
    """

    def __init__(self, case: ProofCase) -> None:
        document = fields(case.document, "machines job horizon", "names", "the instance")
        self.machines = wholes(document["machines"], "machines", None, 0, MOST_PRICE)
        job = fields(document["job"], "organization release processing", what="job")
        self.horizon = whole(document["horizon"], "horizon", 1, MOST_PRICE)
        most = len(self.machines) - 1
        self.owner = wholes(job["organization"], "organization", None, 0, most)
        self.release = wholes(job["release"], "release", len(self.owner), 0)
        self.length = wholes(job["processing"], "processing", len(self.owner), 1)
        self.queues: list[list[int]] = [[] for _ in self.machines]
        for j in sorted(range(len(self.owner)), key=lambda j: (self.release[j], j)):
            self.queues[self.owner[j]] += [j] * (self.release[j] < self.horizon)
        self.start: list[int] | None = None
        if case.witness is not None:
            self._answer(fields(case.witness, "start machine", what="the answer"))

    def _answer(self, answer: Step) -> None:
        """Refuse an answer unless jobs run in order, in time, one at a time on each machine."""
        jobs, most = len(self.owner), sum(self.machines) - 1
        self.start = start = wholes(answer["start"], "start", jobs, -1, self.horizon - 1)
        machine = wholes(answer["machine"], "machine", jobs, -1, most)
        for begin, on, release in zip(start, machine, self.release, strict=True):
            if (begin < 0) != (on < 0) or 0 <= begin < release:
                raise Refused("a job of the answer starts nowhere, or before its release")
        for queue in self.queues:
            begins = [start[j] if start[j] >= 0 else self.horizon for j in queue]
            refuse_if(begins != sorted(begins), "jobs of an organization start out of order")
        runs = sorted((machine[j], start[j], j) for j in range(jobs) if start[j] >= 0)
        free = dict[int, int]()
        for on, begin, j in runs:
            refuse_if(begin < free.get(on, 0), "two jobs of the answer overlap on a machine")
            free[on] = begin + self.length[j]

    def worth(self, start: list[int]) -> tuple[int, list[int]]:
        """Units of work that the answer does before the horizon, and the utility of each
        organization.
        """
        units, utility = 0, [0] * len(self.machines)
        for begin, length, u in zip(start, self.length, self.owner, strict=True):
            if begin >= 0:
                left = self.horizon - begin
                done = min(length, left)
                units, utility[u] = units + done, utility[u] + done * (2 * left - done + 1) // 2
        return units, utility

    def fluid(self) -> tuple[int, int]:
        """Upper bounds on the units of work and the total utility of every schedule.

        If jobs may be cut anywhere and run on all machines at once, working whenever there is work
        is best for both at all times. Job j brings at most min(length, horizon - release).
        """
        arrives = {0: 0}
        charge(10 * len(self.owner))
        for j in [j for queue in self.queues for j in queue]:
            work = min(self.length[j], self.horizon - self.release[j])
            arrives[self.release[j]] = arrives.get(self.release[j], 0) + work
        times, most = sorted(arrives), sum(self.machines)
        waiting = units = utility = 0
        for now, then in zip(times, [*times[1:], self.horizon], strict=True):
            waiting += arrives[now]
            full = min(waiting // most, then - now)  # moments at which all machines work
            rest = min(waiting - full * most, most) if full < then - now else 0
            waiting, units = waiting - full * most - rest, units + full * most + rest
            utility += most * full * (2 * (self.horizon - now) - full + 1) // 2
            utility += rest * (self.horizon - now - full)
        return units, utility

    def priced(self, step: Step, utility: bool) -> int:
        """Upper bound on work or total utility of every schedule, by prices of machines' time.

        Theorem. Let a moment of a machine cost l(t) >= 0, constant from each of the given times to
        the next. What a schedule is worth is what its jobs earn beyond their costs, plus these, and
        nobody pays for a machine's moment twice. So it is at most machines * sum of l plus, for
        each job, the most that it could earn beyond its cost. Between the release, the times, the
        times - length and horizon - length that is convex in the start: only these starts count.
        """
        prices, over = rationals(step["prices"], "prices")
        times = wholes(step["times"], "times", len(prices), 0, self.horizon - 1)
        if min(prices) < 0 or times[0] or times != sorted(set(times)):
            raise Refused("a price is below 0, or times do not increase from 0 on")
        refuse_if(len(times) * len(self.owner) > 10**6, "so many times and jobs take too long")
        charge(50 * len(times) * len(self.owner))
        paid = [0]
        for price, begin, end in zip(prices, times, [*times[1:], self.horizon], strict=True):
            paid.append(paid[-1] + price * (end - begin))

        def until(t: int) -> int:
            low, high = 0, len(times)
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if times[middle] <= t else (low, middle)
            return paid[low - 1] + prices[low - 1] * (t - times[low - 1])

        total = sum(self.machines) * paid[-1]
        for j in [j for queue in self.queues for j in queue]:
            release, length, best = self.release[j], self.length[j], 0
            starts = {t - shift for t in [*times, self.horizon] for shift in (0, length)}
            for start in [release, *(s for s in starts if release < s < self.horizon)]:
                left = self.horizon - start
                done = min(length, left)
                worth = done * (2 * left - done + 1) // 2 if utility else done
                best = max(best, over * worth - until(start + done) + until(start))
            total += best
        return total // over


class Shapley:
    """Schedule of Skowron and Rzadca's REF (figure 3), with the schedules of all coalitions.

    A coalition plays on its own machines, greedily. Where jobs of several organizations wait for
    fewer machines, the organization of least utility - phi is served, ties to the first; phi is its
    Shapley value in the game of what the schedules of the sub-coalitions are worth. `later`: 0, all
    is looked at at the moment t itself ("figure"); 1, at t + 1, starts at t included
    ("definition"). At a moment they play in the order of their masks: parts before the whole.

    Theorem (Hart and Mas-Colell 1989). Let Q(S) = (|S| - 1)! v(S) + the sum of Q(S - u) over u in
    S, Q of nobody 0. Then u's Shapley value in S is (Q(S) - |S| Q(S - u)) / |S|!. So the order of
    utility - phi within S is that of (|S| - 1)! utility + Q(S - u).

    What jobs are worth at t is the sum of age(t - start) less that of age(t - end), which follows
    from how many started less ended, and the same of their times and of their times squared. These
    three, of any sign, are the digits of one number in base 2^width; so are all sums of such.
    """

    def __init__(self, given: Scheduling, later: int) -> None:
        self.given, self.later, self.size = given, later, len(given.machines)
        refuse_if(self.size > MOST_PLAYERS, "so many coalitions would take too long")
        coalitions, jobs = range(1 << self.size), len(given.owner)
        charge(100 << self.size)
        self.bits = [1 << u for u in range(self.size)]
        self.members = [[u for u, bit in enumerate(self.bits) if s & bit] for s in coalitions]
        self.parts = [[s ^ bit for bit in self.bits if s & bit] for s in coalitions]
        self.free = [sum(given.machines[u] for u in self.members[s]) for s in coalitions]
        self.factorial = [0, *map(math.factorial, range(self.size))]  # of |S| - 1
        most = 8 * math.factorial(self.size) * (jobs + 1) * given.horizon**2
        self.width = most.bit_length() + 2
        self.long = self.width // 100
        # By coalition S: v(S), and Q(S) or None if v of a part has changed since. By S * size + u:
        # the utility of its member u, and how many of u's jobs have started. By time: whose jobs
        # are released, and the S * size + u of those that end.
        self.worth = [0] * len(coalitions)
        self.potentials: list[int | None] = [0, *[None] * (len(coalitions) - 1)]
        self.utility, self.heads = [0] * (self.size << self.size), [0] * (self.size << self.size)
        self.come, self.start, self.now = [0] * self.size, [-1] * jobs, 0
        self.released, self.ends = dict[int, list[int]](), dict[int, list[int]]()
        for j in [j for queue in given.queues for j in queue]:
            self.released.setdefault(given.release[j], []).append(given.owner[j])
        self.events = sorted(self.released)
        try:
            self.play()
        except Refused:
            raise Refused(
                f"the {len(coalitions) - 1} coalitions of {self.size} organizations play no "
                f"further than to moment {self.now} of {given.horizon} (further: --patience N)"
            ) from None

    def digits(self, count: int, total: int, squares: int) -> int:
        """Encode the number, the sum and the sum of squares of some times as one integer; of one
        time x: 1, x, x^2.
        """
        return (((count << self.width) + total) << self.width) + squares

    def value(self, sums: int, t: int) -> int:
        """Twice the utility at t of running since the times that `sums` encodes; see `digits`."""
        half, mask = 1 << self.width - 1, (1 << self.width) - 1
        sums += self.digits(half, half, half)
        count, total = (sums >> 2 * self.width) - half, (sums >> self.width & mask) - half
        return count * t * (t + 1) - (2 * t + 1) * total + (sums & mask) - half

    def changed(self, coalition: int) -> None:
        """Discard the stored potential Q of a coalition and of all coalitions that contain it."""
        potentials = self.potentials
        potentials[coalition] = None
        for bit in self.bits:
            if potentials[coalition | bit] is not None:
                self.changed(coalition | bit)

    def potential(self, coalition: int) -> int:
        """Potential Q of a coalition (theorem of Hart and Mas-Colell above), which is computed once
        and stored.
        """
        parts, potentials = self.parts[coalition], self.potentials
        for part in parts:
            if potentials[part] is None:
                self.potential(part)
        charge(15 + (1 + self.long) * len(parts))
        total: int = self.factorial[len(parts)] * self.worth[coalition]
        potentials[coalition] = total = total + sum(map(potentials.__getitem__, parts))  # type: ignore[arg-type]
        return total

    def play(self) -> None:
        """Simulate all coalitions from event to event: releases, and ends in any coalition."""
        while self.events and self.events[0] < self.given.horizon:
            self.now = t = heapq.heappop(self.events)
            one, able, come = self.digits(1, t, t * t), set[int](), 0
            ended = self.ends.pop(t, [])
            charge((20 + self.long) * len(ended))
            for place in ended:
                coalition = place // self.size
                self.utility[place] -= one
                self.worth[coalition] -= one
                self.free[coalition] += 1
                able.add(coalition)
            for u in self.released.get(t, []):
                self.come[u] += 1
                come |= 1 << u
            if come:
                charge(len(self.free))
                able.update([s for s, free in enumerate(self.free) if free and s & come])
            charge(20 * len(able))
            for coalition in sorted(able):
                self.changed(coalition)
                self.serve(coalition, t, one)

    def serve(self, coalition: int, t: int, one: int) -> None:
        """Start waiting jobs of a coalition at time t; `one` is `digits` of that time alone."""
        heads, members, first = self.heads, self.members[coalition], coalition * self.size
        waiting = [u for u in members if heads[first + u] < self.come[u]]
        if not waiting:
            return
        free, scores, times = self.free[coalition], dict[int, int](), 0
        if len(waiting) > 1 and sum(self.come[u] - heads[first + u] for u in waiting) > free:
            times = self.factorial[len(members)]
            charge((20 + self.long) * len(waiting))
            for u in waiting:
                known = self.potentials[coalition ^ 1 << u]
                known = self.potential(coalition ^ 1 << u) if known is None else known
                sums = times * self.utility[first + u] + known
                scores[u] = self.value(sums, t + self.later)
        while free and waiting:
            u = min(waiting, key=scores.__getitem__) if times else waiting[0]
            j = self.given.queues[u][heads[first + u]]
            if first + self.size == len(heads):
                self.start[j] = t
            end = t + self.given.length[j]
            if end not in self.ends:
                self.ends[end] = []
                if end not in self.released:
                    heapq.heappush(self.events, end)
            self.ends[end].append(first + u)
            free, heads[first + u] = free - 1, heads[first + u] + 1
            self.utility[first + u] += one
            self.worth[coalition] += one
            if times and self.later:
                scores[u] += 2 * times
            if heads[first + u] == self.come[u]:
                waiting.remove(u)
            charge(30 + 2 * self.long)
        self.free[coalition] = free


def played(case: ProofCase, given: Scheduling) -> Shapley:
    """Schedules of all coalitions under REF, read by its figure or definition as options say."""
    reading = case.options.get("reading", "figure")
    refuse_if(reading not in ("figure", "definition"), "reading is neither figure nor definition")
    return Shapley(given, int(reading == "definition"))


def scheduling_ref(case: ProofCase) -> list[CheckedLevel]:
    """Check the unfairness: total distance of utilities from REF's, per unit of its work."""
    given, level = Scheduling(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        units, fair = given.worth(played(case, given).start)
        if given.start is not None and units:
            _, utility = given.worth(given.start)
            off = sum(abs(a - b) for a, b in zip(utility, fair, strict=True))
            level = CheckedLevel(Fraction(off, units), Fraction(0))
    return [level]


def scheduling_most(case: ProofCase, utility: bool = False) -> list[CheckedLevel]:
    """Check the most work by the horizon, as a share of all machines' time; or the most utility."""
    given, level = Scheduling(case), CheckedLevel()
    unit = 1 if utility else sum(given.machines) * given.horizon
    if given.start is not None:
        units, worth = given.worth(given.start)
        level.value = Fraction(sum(worth) if utility else units, unit)
    for kind, step in case.each(0, recompute="", dual="times prices"):
        most = given.fluid()[utility] if kind == "recompute" else given.priced(step, utility)
        level.at_most(Fraction(most, unit))
    return [level]


def divided(case: ProofCase, alone: bool) -> list[CheckedLevel]:
    """Check the nucleolus of the game whose values are those of REF's coalitions at the horizon."""
    given = Scheduling(ProofCase(case.document, case.options, None, []))
    game = played(case, given)
    values = [0, *(game.value(sums, given.horizon) // 2 for sums in game.worth[1:])]
    return nucleolus_levels(case, values, 1, alone)


METHODS: Methods = {
    "REF": ("reading", "unfairness min", scheduling_ref),
    "max-utilization": ("", "utilization max", scheduling_most),
    "max-utility": ("", "utility max", lambda case: scheduling_most(case, True)),
    "nucleolus": ("reading", LEVELS, lambda case: divided(case, True)),
    "prenucleolus": ("reading", LEVELS, lambda case: divided(case, False)),
}
