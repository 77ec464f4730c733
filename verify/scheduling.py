"""Scheduling: organizations that pool machines and send jobs; only what is done before the horizon
counts.

A unit of work done before t is worth its age at t, so a job that starts at s and ends at e is worth
age(t - s) - age(t - e) then, age(x) = x (x + 1) / 2 for x > 0.
"""

import math
from fractions import Fraction

from .cooperative import LEVELS, nucleolus_levels
from .frame import CheckedLevel, Methods, ProofCase
from .reading import MOST_PRICE, Refused, Step, charge, fields, rationals, refuse_if, whole, wholes

MOST_ORGANIZATIONS = 13
"""Organizations whose coalitions are played: with 15, of whom two wait, this takes too long."""


class Scheduling:
    """An instance and its answer; `queues`: each organization's jobs as they start."""

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
        """Jobs run between release and horizon, in their order, one at a time on each machine."""
        jobs, most = len(self.owner), sum(self.machines) - 1
        self.start = start = wholes(answer["start"], "start", jobs, -1, self.horizon - 1)
        machine = wholes(answer["machine"], "machine", jobs, -1, most)
        for begin, place, release in zip(start, machine, self.release, strict=True):
            if (begin < 0) != (place < 0) or 0 <= begin < release:
                raise Refused("a job of the answer starts nowhere, or before its release")
        for queue in self.queues:
            begins = [start[j] if start[j] >= 0 else self.horizon for j in queue]
            refuse_if(begins != sorted(begins), "jobs of an organization start out of order")
        runs = sorted((machine[j], start[j], j) for j in range(jobs) if start[j] >= 0)
        free = dict[int, int]()
        for place, begin, j in runs:
            refuse_if(begin < free.get(place, 0), "two jobs of the answer overlap on a machine")
            free[place] = begin + self.length[j]

    def worth(self, start: list[int]) -> tuple[int, list[int]]:
        """The units of work done before the horizon, and the utility of each organization."""
        units, utility = 0, [0] * len(self.machines)
        for begin, length, u in zip(start, self.length, self.owner, strict=True):
            if begin >= 0:
                left = self.horizon - begin
                done = min(length, left)
                units, utility[u] = units + done, utility[u] + done * (2 * left - done + 1) // 2
        return units, utility

    def fluid(self) -> tuple[int, int]:
        """What units of work, and total utility, no schedule passes.

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
        """What units of work, or total utility, no schedule passes, by prices of machines' time.

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
    """The schedule of Skowron and Rzadca's REF (fig. 3): all coalitions play, small ones first.

    A coalition plays on its own machines, greedily. Where jobs of several organizations wait for
    fewer machines, the organization of least utility - phi is served, ties to the first; phi is its
    Shapley value in the game of what the schedules of the sub-coalitions are worth. `later`: 0, all
    is looked at at the moment t itself ("figure"); 1, at t + 1, starts at t included
    ("definition").
    """

    def __init__(self, given: Scheduling, later: int) -> None:
        self.given, self.later = given, later
        self.past: dict[int, list[tuple[int, list[int]]]] = {}
        self.start = list[int]()
        refuse_if(
            len(given.machines) > MOST_ORGANIZATIONS, "so many coalitions would take too long"
        )
        for coalition in range(1, 1 << len(given.machines)):
            self.past[coalition] = []
            self.start = self.play(coalition)

    @staticmethod
    def ages(sums: list[int], t: int) -> int:
        """The sum of age(t - x), given how many x there are, their sum, and their squares'."""
        return (sums[0] * t * (t + 1) - (2 * t + 1) * sums[1] + sums[2]) // 2

    def value(self, coalition: int, t: int) -> int:
        """What the schedule of a coalition is worth at t."""
        past, low, high = self.past[coalition], 0, len(self.past[coalition])
        while low < high:  # the last entry up to t
            middle = (low + high) // 2
            low, high = (middle + 1, high) if past[middle][0] <= t else (low, middle)
        return self.ages(past[low - 1][1], t) if low else 0

    def phi(self, members: list[int], t: int) -> dict[int, int]:
        """Shapley values times lcm(1..k), less what the members' own value adds to each alike."""
        size, phi = len(members), dict.fromkeys(members, 0)
        unit = math.lcm(*range(1, size + 1))
        weight = [unit // (size * math.comb(size - 1, taken)) for taken in range(size)]
        whole_coalition = sum(1 << u for u in members)
        part = (whole_coalition - 1) & whole_coalition
        while part:
            worth, taken = self.value(part, t), part.bit_count()
            for u in members:
                phi[u] += worth * (weight[taken - 1] if part >> u & 1 else -weight[taken])
            part = (part - 1) & whole_coalition
            charge(10 + 4 * size)
        return phi

    def play(self, coalition: int) -> list[int]:
        """The start of each job for a coalition, -1 for none; its worth goes to `past`."""
        given, members = self.given, [u for u in range(MOST_ORGANIZATIONS) if coalition >> u & 1]
        start, machines = [-1] * len(given.owner), sum(given.machines[u] for u in members)
        past, running = self.past[coalition], list[tuple[int, int]]()
        own, heads = {u: [0, 0, 0] for u in [*members, -1]}, dict.fromkeys(members, 0)
        come, ready = dict.fromkeys(members, 0), dict[int, list[int]]()
        unit, t, later = math.lcm(*range(1, len(members) + 1)), 0, self.later
        charge(2 * len(start))

        def count(u: int, x: int, sign: int) -> None:
            charge(30)
            for key in (u, -1):
                own[key] = [entry + sign * x**k for k, entry in enumerate(own[key])]
            past.append((x, own[-1]))

        while machines and t < given.horizon:
            for end, u in sorted([entry for entry in running if entry[0] <= t]):
                count(u, end, -1)
            running = [entry for entry in running if entry[0] > t]
            free = machines - len(running)
            for u, jobs in [(u, given.queues[u]) for u in members]:
                while come[u] < len(jobs) and given.release[jobs[come[u]]] <= t:
                    come[u] += 1
                ready[u] = jobs[heads[u] : min(come[u], heads[u] + free)][::-1]  # the next one last
                charge(2 * len(ready[u]))
            queues = list(ready.values())
            several = sum(map(len, queues)) > free and queues.count([]) < len(members) - 1
            phi = self.phi(members, t + later) if several else dict.fromkeys(members, 0)
            while free and any(ready.values()):
                able = [u for u in members if ready[u]]
                _, u = min((unit * self.ages(own[u], t + later) - phi[u], u) for u in able)
                j, free, heads[u] = ready[u].pop(), free - 1, heads[u] + 1
                start[j] = t
                running.append((t + given.length[j], u))
                count(u, t, 1)
            charge(30 * (len(running) + len(members)))
            queued = [given.queues[u][heads[u]] for u in members if heads[u] < len(given.queues[u])]
            if not queued:
                break
            t = max(t, min(given.release[j] for j in queued)) if free else min(running)[0]
        for end, u in sorted(running):
            count(u, end, -1)
        return start


def played(case: ProofCase, given: Scheduling) -> Shapley:
    """The play of all coalitions, by the reading that the options say."""
    reading = case.options.get("reading", "figure")
    refuse_if(reading not in ("figure", "definition"), "reading is neither figure nor definition")
    return Shapley(given, int(reading == "definition"))


def scheduling_ref(case: ProofCase) -> list[CheckedLevel]:
    """Unfairness: how far utilities are from REF's in all, per unit of its work."""
    given, level = Scheduling(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        units, fair = given.worth(played(case, given).start)
        if given.start is not None and units:
            _, utility = given.worth(given.start)
            off = sum(abs(a - b) for a, b in zip(utility, fair, strict=True))
            level = CheckedLevel(Fraction(off, units), Fraction(0))
    return [level]


def scheduling_most(case: ProofCase, utility: bool = False) -> list[CheckedLevel]:
    """The most work done before the horizon, as a share of all machines' time; or most utility."""
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
    """Of the game of what the schedules of REF's coalitions are worth at the horizon."""
    given = Scheduling(ProofCase(case.document, case.options, None, []))
    game, coalitions = played(case, given), range(1, 1 << len(given.machines))
    values = [0, *(game.value(coalition, given.horizon) for coalition in coalitions)]
    return nucleolus_levels(case, values, 1, alone)


METHODS: Methods = {
    "REF": ("reading", "unfairness min", scheduling_ref),
    "max-utilization": ("", "utilization max", scheduling_most),
    "max-utility": ("", "utility max", lambda case: scheduling_most(case, True)),
    "nucleolus": ("reading", LEVELS, lambda case: divided(case, True)),
    "prenucleolus": ("reading", LEVELS, lambda case: divided(case, False)),
}
