"""Lifetimes: VMs of several types come and go on equal servers, and none moves.

A server is on while it has a VM, its server-time. Let n_i(t) be the VMs of type i that run in
interval t (between two instants at which some VM comes or goes), of length l(t).
Static bound. Let prices q of types be 0 or more and no filling of a server be worth more than Q.
      In interval t the servers that are on hold VMs worth q.n(t), so they are at least
      b(t) := q.n(t) / Q rounded up, by the best of several (q, Q). So no answer has a peak below
      max b(t) or server-time below sum l(t) b(t). With "at" a step is about one interval, where no
      filling has more VMs of a type than run then.
"""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .packing import Packing
from .packing_prices import Priced
from .reading import MOST_PRICE, Step, charge, fields, refuse_if, whole, wholes


class Trace:
    """Instance of lifetimes: demands, capacity, and VMs that start and end at each instant."""

    def __init__(self, case: ProofCase) -> None:
        needed, others = "demand capacity kind start end", "predicted_end resources names"
        given = fields(case.document, needed, f"{others} dropped censored", "the instance")
        self.room = wholes(given["capacity"], "capacity", None, 0, MOST_PRICE)
        packed = {"capacity": [self.room], "demand": given["demand"]}
        self.packing = Packing(ProofCase(packed, {}, None, []))
        self.kind = wholes(given["kind"], "kind", None, 0, len(self.packing.size) - 1)
        self.size = [self.packing.size[kind] for kind in self.kind]
        start, end = (wholes(given[name], name, len(self.kind)) for name in ("start", "end"))
        empty = not self.kind or any(a >= b for a, b in zip(start, end, strict=True))
        refuse_if(empty, "there are no VMs, or one ends before it starts")
        times = sorted({*start, *end})
        interval_at = {time: t for t, time in enumerate(times)}
        self.first, self.last = [interval_at[a] for a in start], [interval_at[b] for b in end]
        self.length = [b - a for a, b in zip(times, times[1:], strict=False)]  # noqa: RUF007
        self.comes: list[list[int]] = [[] for _ in times]
        self.goes: list[list[int]] = [[] for _ in times]
        for i, (a, b) in enumerate(zip(self.first, self.last, strict=True)):
            self.comes[a].append(i)
            self.goes[b].append(i)

    def in_use(self, witness: object) -> list[int]:
        """Number of servers on in each interval; refuses an answer with an overfull server."""
        answer = fields(witness, "host", what="the answer")
        host = wholes(answer["host"], "host", len(self.kind), 0)
        charge(len(host) * (20 + 4 * len(self.room)))
        free, running, use = dict[int, list[int]](), dict[int, int](), list[int]()
        for comes, goes in zip(self.comes, self.goes, strict=True):
            for vms, sign in ((goes, -1), (comes, 1)):
                for i in vms:
                    pairs = zip(free.get(host[i], self.room), self.size[i], strict=True)
                    free[host[i]] = [room - sign * amount for room, amount in pairs]
                    refuse_if(min(free[host[i]]) < 0, "a server holds more than it has room for")
                    running[host[i]] = running.get(host[i], 0) + sign
                    if not running[host[i]]:
                        del running[host[i]]
            use.append(len(running))
        return use[:-1]

    def most(self) -> list[int]:
        """Largest number of VMs of each type that run at once."""
        now = [0] * len(self.packing.size)
        most = list(now)
        for comes, goes in zip(self.comes, self.goes, strict=True):
            for i in goes:
                now[self.kind[i]] -= 1
            for i in comes:
                now[self.kind[i]] += 1
                most[self.kind[i]] = max(most[self.kind[i]], now[self.kind[i]])
        return most

    def priced(self, step: Step, most: list[int]) -> list[int]:
        """Lower bound on the number of servers in each interval, by a step's prices of VMs."""
        refuse_if("sums" in step, "no tree is about all instants")
        at = whole(step.get("at", -1), "at", -1, len(self.length) - 1)
        charge(5 * (len(self.kind) + len(self.length)))
        if at >= 0:
            most = [0] * len(most)
            for kind, first, last in zip(self.kind, self.first, self.last, strict=True):
                most[kind] += first <= at < last
        priced = Priced(self.packing, most, [1], step)
        refuse_if(priced.scale < 1, "a server is worth nothing")
        prices, worth, needed = wholes(step["prices"], "prices"), 0, list[int]()
        for comes, goes in zip(self.comes, self.goes, strict=True):
            worth += sum(prices[self.kind[i]] for i in comes)
            worth -= sum(prices[self.kind[i]] for i in goes)
            needed.append(-(-worth // priced.scale) if at in (-1, len(needed)) else 0)
        return needed[:-1]


def judged(case: ProofCase, peak: bool) -> list[CheckedLevel]:
    """Check the least peak or server-time: the answer's value, and the best bound of a step."""
    trace = Trace(case)

    def value(use: list[int]) -> Fraction:
        return Fraction(max(use) if peak else sum(map(int.__mul__, use, trace.length)))

    needed, most = [0] * len(trace.length), trace.most()
    level = CheckedLevel(None if case.witness is None else value(trace.in_use(case.witness)))
    for _, step in case.each(0, prices=f"{Priced.kind} at"):
        needed = list(map(max, needed, trace.priced(step, most)))
    level.at_least(value(needed))
    return [level]


METHODS: Methods = {
    "min-peak": ("", "peak min", lambda case: judged(case, True)),
    "hindsight": ("", "server_time min", lambda case: judged(case, False)),
}
