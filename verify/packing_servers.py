"""Packing: the fewest or cheapest servers, and the fewest moves, by prices of VMs or by programs of
placements.
"""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .packing import Packing
from .packing_prices import Priced, server_patterns
from .program import Program, Terms
from .reading import Refused, Step, charge, refuse_if, whole, wholes

Kinds = list[tuple[int, int, dict[int, int]]]
Placing = tuple[Program, Kinds]


def placing_program(given: Packing, numbers: list[int], step: Step) -> Placing:
    """Integer program of placing all requests on at most `numbers[c]` servers of each class c; with
    its columns by class or, if the proof step has "each", by server.

    Columns: the servers in use of a class, and the VMs of each type on them. Rows: the VMs take
    no more room than these servers have; those of a type, of one size, or of a limit are at
    most what a server holds times these servers; types apart are on different servers, which
    have columns too. All that is requested is placed. In each zone a zonal rule counts at least
    some number, a column, and at most so many more as it allows.
    """
    # 1. Types of one size, as they fit on a server together.
    program, kinds, each = Program(), Kinds(), step.get("each", False) is True
    owed = [whole(n, "what is requested") for n in given.request]
    placed: list[Terms] = [[] for _ in owed]
    sizes: dict[tuple[int, ...], list[int]] = {}  # by size: types
    for i, size in enumerate(given.size):
        sizes.setdefault(tuple(size), []).append(i)
    # 2. The servers of each class, or each server: columns and rows.
    for c, room in enumerate(given.room):
        holds = dict[int, int]()  # how many VMs of a type a server holds
        limits = list(given.limits)
        for alike in sizes.values():
            fit = min(r // d for r, d in zip(room, given.size[alike[0]], strict=True) if d)
            limits.append((alike, fit))
            holds.update({i: min(fit, owed[i]) for i in alike if given.allowed[i][c]})
        for group, top in limits:
            if len(group) == 1 and group[0] in holds:
                holds[group[0]] = min(top, holds[group[0]])
        times, many = (numbers[c], 1) if each else (1, numbers[c])
        charge(times * (300 + 20 * len(limits) + (5 + 2 * len(room)) * len(owed) + given.work))
        for _ in range(times):
            used = program.column(many)
            on = {i: program.column(min(owed[i], many * n)) for i, n in holds.items() if n}
            kinds.append((c, used, on))
            for k, space in enumerate(room):
                taken = [(j, given.size[i][k]) for i, j in on.items()]
                program.at_most([*taken, (used, -space)], 0)
            for i, j in on.items():
                placed[i].append((j, 1))
                program.at_most([(j, 1), (used, -holds[i])], 0)
            for group, top in limits:
                if len(group) > 1:
                    here = [(on[i], 1) for i in group if i in on]
                    program.at_most([*here, (used, -top)], 0)
            holding = dict[int, int]()  # how many of the servers hold VMs of a type
            for pair in [pair for pair in given.apart if all(i in on for i in pair)]:
                for i in sorted(pair - set(holding)):
                    holding[i] = program.column(many)
                    program.at_most([(on[i], 1), (holding[i], -holds[i])], 0)
                program.at_most([*((holding[i], 1) for i in sorted(pair)), (used, -1)], 0)
    # 3. All that is requested is placed, by the rules of zones.
    for terms, n in zip(placed, owed, strict=True):
        program.equal(terms, n)
    for group, zones, top, skew in given.zonal:
        total, number = sum(owed[i] for i in group), max(1, len(zones))
        least = program.column(total // number)
        top = min(top, (total + (number - 1) * skew) // number)  # others: at least top - skew
        for zone in zones:
            charge(len(kinds) * (1 + len(group)))
            within = [(on[i], 1) for c, _, on in kinds if c in zone for i in group if i in on]
            program.at_most(within, top)
            if skew < total:
                program.at_most([*within, (least, -1)], skew)
                program.at_most([*((j, -1) for j, _ in within), (least, 1)], 0)
    return program, kinds


def services_program(given: Packing, cost: list[int], below: int | None) -> Program:
    """Integer program of answers with services that cost less than `below` (None: at any cost);
    the cost is the last row. Left out are VMs that no rate needs; servers are filled up with VMs of
    the useful sizes.

    Columns: the servers that hold each maximal filling; each mix of VMs that gives a service its
    rate, and without any one of them does not. Rows: of each size no more VMs are in the mixes, and
    requested besides, than the servers hold; a mix is taken for each service; and there are so many
    servers of a class.
    """
    program, number = Program(), dict[tuple[int, ...], int]()
    size = [number.setdefault(tuple(each), len(number)) for each in given.size]
    owed = [whole(n, "what is requested") for n in given.owed]  # of a service: useful at most
    items = [(1, sum(n for n, d in zip(owed, size, strict=True) if d == k), list(each))
             for each, k in number.items()]  # fmt: skip
    holds: list[Terms] = [[] for _ in items]
    paid = Terms()  # cost of all servers
    for c, there_are in enumerate(given.servers):
        most = sum(owed) if there_are is None else there_are
        most = most if below is None else min(most, max(below - 1, 0) // cost[c])
        of_class = Terms()  # servers of this class
        for _, filling in server_patterns(given, c, items, [0] * len(given.room[c]), 1):
            of_class.append((program.column(most), 1))
            for d, n in filling.items():
                holds[d].append((of_class[-1][0], -n))
        program.at_most(of_class, most if there_are is None else there_are)
        paid += [(j, cost[c]) for j, _ in of_class]
    for rates, rate in given.services:
        best = dict[int, int]()  # by size: largest rate
        for i, gives in rates.items():
            best[size[i]] = max(gives, best.get(size[i], 0))
        line = sorted(best.items(), key=lambda pair: -pair[1])
        chosen, stack = Terms(), [(0, rate, dict[int, int]())]
        while stack:
            at, left, mix = stack.pop()
            d, gives = line[at]
            last = -(-left // gives)
            charge(50 + 5 * last)
            chosen.append((program.column(1), -1))
            for k, n in {**mix, d: last}.items():
                holds[k].append((chosen[-1][0], n))
            if at + 1 < len(line):  # the slowest VM of a mix ends it
                stack += [(at + 1, left - n * gives, {**mix, d: n}) for n in range(last)]
        program.at_most(chosen, -1)
    serving = {i for rates, _ in given.services for i in rates}
    for d, terms in enumerate(holds):
        asked = [n for i, n in enumerate(owed) if size[i] == d and i not in serving]
        program.at_most(terms, -sum(asked))
    program.at_most(*((paid, below - 1) if below is not None else ([], 0)))
    return program


def servers_program(given: Packing, cost: list[int], below: int | None, step: Step) -> Placing:
    """Integer program of all answers, or of those that cost less than `below` (the last row)."""
    if given.services:
        return services_program(given, cost, below), []
    vms = sum(whole(n, "what is requested") for n in given.request)  # no server without one
    numbers = [vms if n is None else min(n, vms) for n in given.servers]
    if below is not None:
        numbers = [min(n, max(below - 1, 0) // c) for n, c in zip(numbers, cost, strict=True)]
    program, kinds = placing_program(given, numbers, step)
    paid = [(used, cost[c]) for c, used, _ in kinds]
    program.at_most(*((paid, below - 1) if below is not None else ([], 0)))
    return program, kinds


def packing_servers(case: ProofCase, costs: bool = False) -> list[CheckedLevel]:
    """Check the fewest servers that hold all requests, or (`costs`) their least cost. Steps are
    dual prices, or a tree ("propagation") that excludes lower costs, or any answer.
    """
    given, level = Packing(case, ruled=True), CheckedLevel()
    owed = [whole(n, "what is requested") for n in given.owed]
    cost = given.cost if costs else [1] * len(given.room)
    refuse_if(given.partial, "not everything has to be served: the fewest servers are none")
    if given.answered:
        level.value = Fraction(sum(cost[kind] for kind in given.kinds))
    for kind, step in case.each(0, prices=Priced.kind, propagation="tree|below each leaves cuts"):
        if kind == "prices":
            bound = Priced(given, owed, cost, step).bound()
        else:
            bound = whole(step["below"], "below") if "below" in step else None
            servers_program(given, cost, bound, step)[0].impossible(step)
        level.infeasible = level.infeasible or bound is None
        level.at_least(Fraction(bound or 0))
    return [level]


def moves_program(given: Packing, limits: Step, below: int | None, step: Step) -> Placing:
    """Integer program of the answers within the limits on servers or cost and with fewer than
    `below` moves (None: any number); the moves are the last row. Columns besides those of
    `placing_program`: of each server with VMs now, whether it is kept in use, and how many of its
    VMs of a type stay, none if it is not kept. Of a class (or of a server, if these are
    distinguished) no more are kept than are in use, and no more VMs stay than are there then.
    """
    numbers, stay, first = [whole(n, "the number of servers") for n in given.servers], Terms(), 0
    program, kinds = placing_program(given, numbers, step)
    for most, cost in _within(given, limits).values():
        program.at_most([(used, cost[c]) for c, used, _ in kinds], most)
    for c, room in enumerate(given.room):
        charge(5 * (len(kinds) + len(given.placed)))
        there = [(used, on) for kind, used, on in kinds if kind == c]
        now = [(m - first, present) for m, (kind, present) in given.placed.items() if kind == c]
        first += numbers[c]
        each = step.get("each", False) is True
        together = [(0, [present for _, present in now])]
        parts = [(m, [present]) for m, present in now] if each else together
        for (used, on), rows in [(there[m], rows) for m, rows in parts]:
            staying, still = Terms(), dict[int, Terms]()
            for present in rows:
                k = program.column(1)
                staying.append((k, 1))
                own = {i: program.column(n) for i, n in present.items() if i in on}
                for i, j in own.items():
                    program.at_most([(j, 1), (k, -present[i])], 0)
                    still.setdefault(i, []).append((j, 1))
                for r, space in enumerate(room):
                    taken = [(j, given.size[i][r]) for i, j in own.items()]
                    program.at_most([*taken, (k, -space)], 0)
            program.at_most([*staying, (used, -1)], 0)
            for i, terms in still.items():
                program.at_most([*terms, (on[i], -1)], 0)
                stay += terms
    fewer = [(j, -1) for j, _ in stay]
    program.at_most(*(([], 0) if below is None else (fewer, below - 1 - given.placed_vms)))
    return program, kinds


def _within(given: Packing, limits: Step) -> dict[str, tuple[int, list[int]]]:
    """Limits of the options on the number of servers and on their cost, each with the weight of a
    server of each class.
    """
    costs = {"servers": [1] * len(given.room), "cost": given.cost}
    return {name: (whole(limits[name], name, 1), costs[name]) for name in costs if name in limits}


def packing_moves(case: ProofCase) -> list[CheckedLevel]:
    """Check the fewest VMs that leave their server, with limits on servers or cost from the
    options. A step "witness" gives the server of each row of the answer; or a tree shows that there
    are no fewer moves, or that no answer exists ("propagation").
    """
    given, level = Packing(case, ruled=True), CheckedLevel(None, Fraction(0))
    limits, total = _within(given, case.options), given.placed_vms
    refuse_if(given.partial or not limits, "no limit is given, or not everything has to be served")
    for name, (most, cost) in limits.items():
        if sum(cost[c] for c, row in zip(given.kinds, given.rows, strict=True) if any(row)) > most:
            raise Refused(f"the answer is beyond the limit on {name}")
    for kind, step in case.each(0, witness="on", propagation="tree|below each leaves cuts"):
        if kind == "witness":
            on, moves = wholes(step["on"], "on", len(given.rows), 0), total
            if len(set(on)) < len(on) or not given.answered:
                raise Refused("two rows of the answer are on one server, or there is no answer")
            for server, c, row in zip(on, given.kinds, given.rows, strict=True):
                refuse_if(given.class_of(server) != c, "a row is on a server of another class")
                present = given.placed.get(server, (c, {}))[1]
                moves -= sum(min(n, row[i]) for i, n in present.items())
            level.value = Fraction(moves)
            continue
        below = whole(step["below"], "below") if "below" in step else None
        moves_program(given, case.options, below, step)[0].impossible(step)
        level.infeasible = level.infeasible or below is None
        level.at_least(Fraction(below or 0))
    return [level]


METHODS: Methods = {
    "min-servers": ("", "servers min", packing_servers),
    "cp-sat": ("", "servers min", packing_servers),
    "min-cost": ("", "cost min", lambda case: packing_servers(case, True)),
    "fewest-moves": ("servers cost", "moves min", packing_moves),
}
