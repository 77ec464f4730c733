"""Does a proof file prove what it claims of an instance?    python -I verify.py INSTANCE PROOF

This one file, with Python's standard library, is all that has to be trusted: it runs no solver and
imports nothing of the package whose proofs it reads. It computes in whole numbers and fractions,
and takes every decimal of the instance as it is written. What a proof says is never believed: an
answer is checked and measured again, and each multiplier, set, price or branch is only a hint, from
which the bound is worked out again, by a theorem that stands above the code that uses it.

How to read it: part 1 reads files, part 2 is the frame (the claims, and what accepting one means);
then comes a part for each problem, and at the end METHODS, the table of what can be proved.

Exit code 0: the proof is accepted, and one sentence says what is proved. 1: it is refused, with the
first reason. 2: a file cannot be read. Limits: files of 64 MB (unpacked), four million lists and
objects, numbers of 4,000 digits.
"""

import gzip
import hashlib
import json
import sys
from fractions import Fraction

MOST_BYTES = 64_000_000
MOST_LISTS = 4_000_000
MOST_DIGITS = 4_000
MOST_EXPONENT = 400
MOST_COLUMNS = 50_000
ROUNDING = Fraction(1, 10**9)


class Refused(Exception):
    """The proof does not prove its claim; the first reason."""


class Unreadable(Exception):
    """A file is not what it should be; why."""


# -------------------------------------------------------------------------------------------------
# Part 1. Reading. Every value of a file passes one of these functions before it is used.


class Decimal(str):
    """A number with a point or an exponent, as it is written in an instance."""

    __slots__ = ()  # there may be millions


def read(path: str) -> bytes:
    """The bytes of a file ("-": standard input), unpacked if it is a gzip file, at most MOST_BYTES."""
    try:
        with open(0 if path == "-" else path, "rb") as stream:
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            with gzip.GzipFile(fileobj=stream) if packed else stream as content:
                data: bytes = content.read(MOST_BYTES + 1)
    except Exception as error:  # of the system, or of what is no gzip file
        raise Unreadable(f"{path!a} cannot be read: {error}") from None
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{path!a} holds more than {MOST_BYTES} bytes")
    return data


def parse(data: bytes, decimals: bool) -> dict[str, object]:
    """The JSON object in some bytes; decimals are kept as text, or refused (in proofs)."""

    def decimal(text: str) -> Decimal:
        if not decimals or text in ("NaN", "Infinity", "-Infinity"):
            raise Unreadable(f'{text[:40]}: numbers of proofs are whole, or texts such as "1/3"')
        return Decimal(text)

    def integer(text: str) -> int:
        if len(text) > MOST_DIGITS:
            raise Unreadable(f"{text[:20]}... has {len(text)} digits")
        return int(text)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise Unreadable("an object gives a key twice")
        return dict(pairs)

    if data.count(b"[") + data.count(b"{") > MOST_LISTS:
        raise Unreadable(f"more than {MOST_LISTS} lists and objects")
    hooks = {"parse_float": decimal, "parse_int": integer, "parse_constant": decimal}
    try:
        found = json.loads(data.decode("utf-8-sig"), **hooks, object_pairs_hook=unique)  # type: ignore[arg-type]
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise Unreadable("not a JSON object")
    return found


def fields(value: object, needed: str, others: str = "", what: str = "a part") -> dict[str, object]:
    """An object with all the keys `needed` and none besides these and `others` (texts of words)."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    for name in needed.split():
        if name not in value:
            raise Refused(f"{what} lacks {name!r}")
    for name in value:
        if name not in needed.split() + others.split():
            raise Refused(f"{what} has the unknown key {name[:40]!a}")
    return value


def listed(value: object, what: str, length: int | None = None) -> list[object]:
    """A list, of that length if one is given."""
    if not isinstance(value, list) or length not in (None, len(value)):
        raise Refused(f"{what} is no list" + ("" if length is None else f" of {length}"))
    return value


def whole(value: object, what: str, least: int | None = None, most: int | None = None) -> int:
    """A whole number within bounds; true and false are none."""
    if type(value) is int and (least is None or value >= least) and (most is None or value <= most):
        return value
    raise Refused(f"{what} is {str(value)[:40]!a}, not a whole number from {least} to {most}")


# fmt: off
def wholes(value: object, what: str, length: int | None = None,
           least: int | None = None, most: int | None = None) -> list[int]:
    """A list of whole numbers within bounds."""
    return [whole(entry, what, least, most) for entry in listed(value, what, length)]
# fmt: on


def text_of(value: object, what: str) -> str:
    """A text."""
    if type(value) is not str:
        raise Refused(f"{what} is no text")
    return value


def rational(value: object, what: str) -> Fraction:
    """A fraction of a proof: a whole number, or a text such as "-3/8"."""
    if type(value) is int:
        return Fraction(value)
    over, slash, under = text_of(value, what).partition("/")
    digits = [over.removeprefix("-"), under if slash else "1"]
    if not all(d.isascii() and d.isdecimal() and len(d) <= MOST_DIGITS for d in digits):
        raise Refused(f"{what} is {value!a:.60}, not a fraction")
    if int(digits[1]) == 0:
        raise Refused(f"{what} is divided by 0")
    return Fraction(int(over), int(digits[1]))


def rationals(value: object, what: str, length: int | None = None) -> tuple[list[int], int]:
    """{"over": d, "numbers": [...]} of a proof: whole numbers, and the d > 0 that divides them."""
    made = fields(value, "over numbers", what=what)
    return wholes(made["numbers"], what, length), whole(made["over"], f"{what} over", 1)


def _shift(value: object, what: str) -> tuple[int, int]:
    """A number of an instance as (m, k), which means m / 10^k."""
    if type(value) is int:
        return value, 0
    if type(value) is not Decimal:
        raise Refused(f"{what} is no number")
    before, _, after = value.partition(".")
    if after.isdecimal() and len(value) < MOST_EXPONENT:
        return int(before + after), len(after)
    mantissa, _, exponent = value.lower().partition("e")
    before, _, after = mantissa.partition(".")
    power = int(exponent or "0") if len(exponent) < 6 else MOST_EXPONENT + 1
    if abs(power) > MOST_EXPONENT or len(mantissa) > MOST_EXPONENT:
        raise Refused(f"{what} is {value[:40]}, which has too many digits")
    number, shift = int(before + after), len(after) - power
    return (number, shift) if shift >= 0 else (number * 10**-shift, 0)


def exact(value: object, what: str) -> Fraction:
    """A number of an instance, exactly as written."""
    number, shift = _shift(value, what)
    return Fraction(number, 10**shift)


def scaled(values: list[object], what: str) -> tuple[list[int | None], int]:
    """Numbers of an instance as whole numbers over one denominator; null stays None."""
    if not {type(value) for value in values} <= {Decimal, int, type(None)}:
        raise Refused(f"{what} holds what is no number")
    parts = [(0, 0) if value is None else _shift(value, what) for value in values]
    most = max((shift for _, shift in parts), default=0)
    times = {shift: 10 ** (most - shift) for shift in {shift for _, shift in parts}}
    made = [number * times[shift] for number, shift in parts]
    return [None if v is None else number for v, number in zip(values, made, strict=True)], 10**most


# -------------------------------------------------------------------------------------------------
# Part 2. The frame. A proof has one level, or several when a method asks for the best of one
# objective first and then, among the answers worth no less than this one there, for the best of
# another. Each level claims:
#   value   what the answer ("witness") is worth; null when no answer is shown
#   bound   no answer is worth less (sense "min") or more ("max"); null when nothing is proved
#   says    "optimal": value = bound. "gap": both hold. "infeasible": there is no answer at all.
#           "equilibrium": the answer is one to within the numbers in "epsilon".
# Value and bound are recomputed. Where fractions are long a claim may be rounded, by at most a
# billionth and only to the side where it says less.


class Case:
    """All that a checker gets: the instance's fields, the options, the answer, each level's steps."""

    def __init__(self, document: dict[str, object], options: dict[str, object], witness: object,
                 steps: list[list[object]]) -> None:  # fmt: skip
        self.document, self.options, self.witness, self.steps = document, options, witness, steps


class Found:
    """What a checker found of a level: value, bound (None for none), or that there is no answer."""

    def __init__(self, value: Fraction | None = None, bound: Fraction | None = None,
                 infeasible: bool = False, epsilon: dict[str, Fraction] | None = None) -> None:  # fmt: skip
        self.value, self.bound, self.infeasible, self.epsilon = value, bound, infeasible, epsilon


def step_of(value: object, **kinds: str) -> tuple[str, dict[str, object]]:
    """The kind of a step and its fields; `kinds`: what each has, and behind a "|" what it may have."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if type(kind) is not str or kind not in kinds:
        raise Refused(f"a step of kind {kind!a:.40} proves nothing here; known: {', '.join(kinds)}")
    needed, _, others = kinds[kind].partition("|")
    return kind, fields(value, f"kind {needed}", others, f"the step {kind!r}")


def _stated(claimed: object, found: Fraction | None, lower: bool, what: str) -> Fraction | None:
    """A claimed number, which must be what was found, or hardly less than it (`lower`) or more."""
    if claimed is None:
        return None
    number = rational(claimed, what)
    less = number if found is None else (found - number if lower else number - found)
    if found is None or less < 0 or less > ROUNDING * abs(found):
        raise Refused(f"{what} is claimed to be {shown(number)}; found: {shown(found)}")
    return number


def shown(value: Fraction | None) -> str:
    """A number for people."""
    try:
        return "nothing" if value is None else f"{float(value):.12g}"
    except OverflowError:
        return "beyond 1e308"


def _level(value: object, objective: str, sense: str, found: Found) -> str:
    """Accept the claim of one level, or refuse it; returns what is proved."""
    claim = fields(value, "objective sense value bound says", "epsilon", "a claim")
    says, up = claim["says"], sense == "max"
    if (claim["objective"], claim["sense"]) != (objective, sense):
        raise Refused(f"the claim is not about {objective}, {sense}")
    if ("epsilon" in claim) != (says == "equilibrium"):
        raise Refused("an equilibrium, and nothing else, has an epsilon")
    if says == "infeasible":
        if not found.infeasible or claim["value"] is not None or claim["bound"] is not None:
            raise Refused("it is not proved that there is no answer at all")
        return f"{objective}: there is no answer at all"
    worth = _stated(claim["value"], found.value, up, f"the value of {objective}")
    bound = _stated(claim["bound"], found.bound, not up, f"the bound on {objective}")
    if says == "equilibrium":
        off = found.epsilon or {}
        claimed = fields(claim["epsilon"], " ".join(off), what="epsilon")
        told = [f"{n} {shown(_stated(claimed[n], off[n], False, n))}" for n in off]
        if not told:
            raise Refused("no equilibrium is proved here")
        return f"{objective}: an equilibrium, to within {', '.join(told)}"
    beyond = f"no answer is {'above' if up else 'below'} {shown(bound)}"
    if says == "optimal" and worth is not None and worth == bound:
        return f"{objective} is {shown(worth)}, and {beyond}: optimal"
    if says != "gap" or (worth is None and bound is None):
        raise Refused(f"{objective}: {says!a:.20} with value {shown(worth)}, bound {shown(bound)}")
    parts = [f"the answer is worth {shown(worth)}"] * (worth is not None)
    return f"{objective}: {' and '.join(parts + [beyond] * (bound is not None))}"


def verify(instance: bytes, proof: bytes) -> str:
    """What a proof proves of an instance, in one sentence; raises Refused or Unreadable."""
    document, content = parse(instance, decimals=True), parse(proof, decimals=False)
    keys = "cotenant_proof problem method options instance claim witness levels steps"
    fields(content, keys, what="the proof")
    if whole(content["cotenant_proof"], "cotenant_proof") != 1 or document.pop("cotenant", 0) != 1:
        raise Refused("this program reads version 1 of proofs, of instances of format 1")
    problem, name, method = (
        document.pop("problem", None),
        document.pop("name", ""),
        content["method"],
    )
    document.pop("source", None)
    meant = {"sha256": hashlib.sha256(instance).hexdigest(), "name": name}
    if content["instance"] != meant or content["problem"] != problem:
        raise Refused("the proof is of another instance (its problem, sha256 or name differs)")
    allowed, goals, checker = METHODS.get((str(problem), str(method)), ("", (), None))
    levels = [{"claim": content["claim"], "steps": content["steps"]}]
    for level in listed(content["levels"], "levels"):
        levels.append(fields(level, "claim steps", what="a level"))
    if checker is None or len(levels) > len(goals):
        raise Refused(f"no proofs of {len(levels)} levels are known for {method!a:.40} here")
    options = fields(content["options"], "", allowed, "options")
    steps = [listed(level["steps"], "steps") for level in levels]
    found = checker(Case(document, options, content["witness"], steps))
    told = [_level(level["claim"], *goals[k], found[k]) for k, level in enumerate(levels)]
    given = "".join(f" {option}={value!a:.40}" for option, value in sorted(options.items()))
    return f"{problem} {str(name)[:80]!a}, {method}{given}: {'; then '.join(told)}"


# -------------------------------------------------------------------------------------------------
# Part 3. Colocation: agents of T types, to be paired; at most two share a machine.


class Colocation:
    """An instance and the answer that is shown, if any: penalties are whole numbers over `unit`.

    `penalty[a][b]` is None where types a and b may not share: either row says so, or there is only
    one agent of the type. At most `alone` agents may be without a co-runner, at the penalty
    `single`. They have a machine of their own and never leave it, unless the instance says what
    being unpaired costs (`left`): then they are left without a place, and gain as others do.
    """

    def __init__(self, case: Case) -> None:
        others = "names bandwidth machines unpaired"
        self.made = made = fields(case.document, "penalty count", others, "the instance")
        self.count = wholes(made["count"], "count", None, 0)
        self.size, self.agents = len(self.count), sum(self.count)
        square = listed(made["penalty"], "penalty", self.size)
        flat = [value for row in square for value in listed(row, "penalty", self.size)]
        values, self.unit = scaled([*flat, made.get("unpaired", 0)], "penalty")
        self.left, self.single = "unpaired" in made, whole(values.pop(), "unpaired")
        if max(value or 0 for value in values) > self.unit or self.single > self.unit:
            raise Refused("a penalty is above 1")
        rows = [values[k : k + self.size] for k in range(0, len(values), self.size)]
        for a, row in enumerate(rows):
            row[a] = None if self.count[a] < 2 else row[a]
            for b in [b for b, value in enumerate(row) if value is None]:
                rows[b][a] = None
        for a, row in enumerate(rows):  # now what was forbidden by a later row
            for b in [b for b, value in enumerate(row) if value is None]:
                rows[b][a] = None
        self.penalty = rows
        most = Fraction(0)
        if "machines" in made or self.left:
            machines = made.get("machines")
            free = (
                self.agents if machines is None else 2 * exact(machines, "machines") - self.agents
            )
            most = Fraction(min(self.agents, free))
        if (
            most.denominator > 1
            or most < 0
            or ("machines" in made and self.left)
            or not self.agents
        ):
            raise Refused("the instance gives no sensible number of machines, or no agents")
        self.alone = most.numerator
        self.pairs: list[tuple[int, int, int]] = []
        self.singles = [0] * self.size
        self.answered = case.witness is not None
        if self.answered:
            self._answer(fields(case.witness, "first second pairs single", what="the answer"))

    def _answer(self, made: dict[str, object]) -> None:
        """Every agent is placed once, no pair is forbidden, and not too many are alone."""
        pairs = wholes(made["pairs"], "pairs", None, 1)
        first = wholes(made["first"], "first", len(pairs), 0, self.size - 1)
        second = wholes(made["second"], "second", len(pairs), 0, self.size - 1)
        self.singles = wholes(made["single"], "single", self.size, 0)
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
        """The answer as (a, what such an agent's penalty is, how many a-agents) of the paired."""
        sides = [*self.pairs, *((b, a, number) for a, b, number in self.pairs)]
        return [(a, whole(self.penalty[a][b], "penalty"), number) for a, b, number in sides]

    def mean(self) -> Fraction | None:
        """The mean penalty of the answer's agents."""
        total = sum(old * number for _, old, number in self.beside()) + self.single * sum(
            self.singles
        )
        return Fraction(total, self.unit * self.agents) if self.answered else None


class Gains:
    """An agent gains by a change of its penalty from old to new iff old - new > alpha, exactly.

    Two other readings of alpha: "relative-penalty", old - new > alpha |old|, "relative-throughput",
    old - new > alpha (1 - old). A pair of agents blocks an answer when both would gain by it.
    """

    def __init__(self, given: Colocation, options: dict[str, object]) -> None:
        self.given, self.mode = given, options.get("alpha_mode", "penalty-points")
        self.alpha = rational(options.get("alpha", 0), "alpha")
        modes = ("penalty-points", "relative-penalty", "relative-throughput")
        if self.alpha < 0 or self.mode not in modes:
            raise Refused("alpha is below 0, or alpha_mode is not known")

    def most(self, old: int) -> int:
        """Who is at `old` gains by the penalties up to this one (whole numbers, as all are)."""
        unit = self.given.unit
        base = {"relative-penalty": abs(old), "relative-throughput": unit - old}.get(
            str(self.mode), unit
        )
        return old - self.alpha.numerator * base // self.alpha.denominator - 1

    def blocking(self) -> Fraction | None:
        """The number of blocking pairs of the answer.

        W[a][c] a-agents gain by a c-agent: W[a][c] W[c][a] pairs of types a < c block, and
        W (W - 1) / 2 among the agents of one type.
        """
        given, size = self.given, self.given.size
        willing = [[0] * size for _ in range(size)]
        alone = [(a, given.single, n) for a, n in enumerate(given.singles) if n and given.left]
        for a, old, number in given.beside() + alone:
            most, row = self.most(old), willing[a]
            for c, new in enumerate(given.penalty[a]):
                if new is not None and new <= most:
                    row[c] += number
        both = sum(
            w * willing[c][a] for a, row in enumerate(willing) for c, w in enumerate(row) if w
        )
        own = sum(willing[a][a] for a in range(size))
        return Fraction(both - own, 2) if given.answered else None


def pairing_bound(given: Colocation, step: object) -> Fraction:
    """What multipliers prove of the mean penalty of every pairing (Edmonds 1965).

    Let x[a,b] pairs of types a and b be formed and s[a] agents of type a stay alone. Every a-agent
    is placed once: sum over b of x[a,b] (1 + [a = b]) + s[a] = count[a]. All s together are at most
    `alone`. And of a set S of types with an odd number of agents at least one is alone or shares
    with a type outside, as pairs within S take an even number: x(leaving S) + s(S) >= 1. Take these
    rows times prices u[a] of any sign, rent >= 0 and p[S] >= 0, and subtract them from the cost:
        cost >= u . count - rent alone + sum of p + sum of (reduced cost of a column) (the column).
    A column is at least 0 and at most `most`, so it adds no less than min(0, reduced cost) most.
    At last the cost is a whole number of units, so the bound may be rounded up to one.
    """
    _, made = step_of(step, dual="over prices rent sets")
    over, rent = whole(made["over"], "over", 1), whole(made["rent"], "rent", 0)
    prices, size = wholes(made["prices"], "prices", given.size), given.size
    total = sum(u * n for u, n in zip(prices, given.count, strict=True)) - rent * given.alone
    sets_of: list[dict[int, int]] = [{} for _ in range(size)]
    for k, entry in enumerate(listed(made["sets"], "sets")):
        price, *members = wholes(entry, "a set", None, 0)
        if members != sorted(set(members)) or sum(given.count[a] for a in members) % 2 == 0:
            raise Refused(f"the set {k} names a type twice, or has an even number of agents")
        total += price
        for a in members:
            prices[a] += price  # for every column of a; taken back below where both are inside
            sets_of[a][k] = price
    columns = list(zip(*given.penalty, strict=True))
    for a, u in enumerate(prices):
        if given.alone:
            total += min(0, given.single * over - u + rent) * given.count[a]
        row = zip(given.penalty[a][a:], columns[a][a:], prices[a:], strict=True)
        for b, (one, other, v) in enumerate(row, a):
            if one is not None and other is not None and (one + other) * over < u + v:
                both = sum(price for k, price in sets_of[a].items() if k in sets_of[b])
                most = given.count[a] // 2 if a == b else min(given.count[a], given.count[b])
                total += min(0, (one + other) * over - u - v + 2 * both) * most
    return Fraction(-(-total // over), given.unit * given.agents)


def colocation_optimal(case: Case) -> list[Found]:
    """Least mean penalty."""
    given = Colocation(case)
    return [
        Found(given.mean(), max((pairing_bound(given, s) for s in case.steps[0]), default=None))
    ]


class Deletions:
    """How few blocking pairs are possible, when all agents differ: by stable partitions.

    A partition P puts every agent i into a cycle ("party"): after pred(i), before succ(i). Call it
    stable here when, with "i prefers x to y" for: i gains by going from y to x,
    (1) in a party of three or more, succ(i) is no worse to i than pred(i), and
    (2) of any two agents i, j who may share and are not neighbors in P, one prefers its predecessor
        to the other; a party of one prefers nothing.
    Let O be the number of parties of odd size, counting those of one only if all must be paired.

    Theorem 1. Every answer M has at least O / 2 blocking pairs.
    Proof. Call i of a larger party W if it prefers pred(i) to what it has in M (or has nobody); P if
    it has pred(i); S if it has succ(i); and else B if it prefers succ(i) to what it has, A if not. A
    W prefers succ(i) as well, by (1). By (2) two who are paired in M are neighbors, an S and a P, or
    one of them is W. So A's and B's (and parties of one) that have a partner have a W: in all
    #W >= #A + #B + #(parties of one that have a partner).
    If s is W and its predecessor p is W, B or P, then p and s block M: both prefer each other. p
    cannot be S, as s would be P. So a party of three or more contains at least #W - #A blocking
    pairs, and none is counted twice. In it S and P come in twos, so #W - #A - #B is odd if its size
    is; hence twice its blocking pairs are at least #W - #A - #B, plus 1 if its size is odd. A party
    of two either is paired, and then has no A, B, W, or it blocks if both are W: twice its blocking
    pairs are at least #W - #A - #B. A party of one counts -1 if it has a partner, and has one if all
    must be paired: -1 + 1 = 0. Add all up: twice the blocking pairs are at least 0 + O.

    Theorem 2. Let M have the blocking pairs B, and let D be part of B. If the pairs of D may not
    share, M still is an answer, with the blocking pairs B - D. So by theorem 1, on what is left,
    |B| >= |D| + O / 2. And if O > 0, B - D contains a pair of neighbors of P: otherwise P would be
    stable even if no pair of B may share, and M, which then has no blocking pair, contradicts 1.

    So a tree proves |B| >= least: a node (D, P) is done when |D| + O / 2 reaches it; or else it has
    a child for each pair of neighbors, in some order, which adds that pair to D, while pairs that
    come before it in the order are taken not to be in B. A node is stored as what changes in its
    parent's partition: only for agents with another neighbor, or a deleted one, need (1) and (2) be
    looked at again.
    """

    def __init__(self, given: Colocation, gains: Gains) -> None:
        if any(number != 1 for number in given.count) or (given.alone and not given.left):
            raise Refused("stable partitions are for agents who all differ, and none content alone")
        self.given, self.size, self.penalty = given, given.size, given.penalty
        self.over = [[None if p is None else gains.most(p) for p in row] for row in given.penalty]
        self.worst = gains.most(given.single)

    def bound(self, made: dict[str, object]) -> Fraction:
        """The number of blocking pairs that a step proves there are at least."""
        self.least = whole(made["least"], "least", 1)
        self._node([-1] * self.size, made["tree"], set(), set(), ())
        return Fraction(self.least)

    def _node(self, after: list[int], node: object, gone: set[int], kept: set[int],
              ends: tuple[int, ...]) -> None:  # fmt: skip
        """Check one node, which deletes the pair `ends` and changes its parent's partition."""
        changes, children = listed(node, "a node", 2)
        flat = wholes(changes, "changes", None, 0, self.size - 1)
        after, changed = list(after), flat[::2]
        for agent, following in zip(changed, flat[1::2], strict=True):
            after[agent] = following
        odd = self._odd(after, {*changed, *flat[1::2], *ends}, gone)
        if len(gone) + Fraction(odd, 2) > self.least - 1:
            return
        if odd == 0:
            raise Refused("so many deletions are enough: a node has no odd party")
        left = {self._pair(i, j) for i, j in enumerate(after) if i != j} - kept
        for child in listed(children, "children"):
            first, *rest = listed(child, "a child", 3)
            i = whole(first, "the agent of a child", 0, self.size - 1)
            pair = self._pair(i, after[i])
            if pair not in left:
                raise Refused("a child deletes what is no pair of neighbors that is left")
            left.remove(pair)
            self._node(after, rest, gone | {pair}, kept, (i, after[i]))
            kept = kept | {pair}
        if left:
            raise Refused(f"a node of the tree lacks {len(left)} children")

    def _pair(self, i: int, j: int) -> int:
        return min(i, j) * self.size + max(i, j)

    def _odd(self, after: list[int], changed: set[int], gone: set[int]) -> int:
        """O of a partition, which must be stable when `gone` may not share; only `changed` is new."""
        if sorted(after) != list(range(self.size)):
            raise Refused("a partition is none")
        before = sorted(range(self.size), key=after.__getitem__)
        held = [self.penalty[i][j] if i != j else None for i, j in enumerate(before)]
        for i in changed:
            ahead, own = self.penalty[i][after[i]], held[i]
            if after[i] != i:
                if ahead is None or own is None or ahead > own or self._pair(i, after[i]) in gone:
                    raise Refused(f"agent {i} does not fit into its party")
                if self.given.left and own > self.worst:
                    raise Refused(f"agent {i} would as soon be unpaired as be with its predecessor")
            for j, much in enumerate(self.over[i]):  # up to which penalty i prefers another to j
                if much is not None and (own is None or own > much):
                    his, other = held[j], self.over[j][i]
                    fine = his is not None and other is not None and his <= other
                    if not fine and i not in (after[j], before[j]) and self._pair(i, j) not in gone:
                        raise Refused(f"agents {i} and {j} prefer each other to their predecessors")
        seen, odd = [False] * self.size, 0
        for i in range(self.size):
            length = 0
            while not seen[i]:
                seen[i], i, length = True, after[i], length + 1
            odd += length % 2 if length > 1 or not self.given.left else 0
        return odd


def colocation_stable(case: Case) -> list[Found]:
    """Fewest blocking pairs; then least mean penalty among answers with no more than this one."""
    given = Colocation(case)
    gains, bound = Gains(given, case.options), Fraction(0)  # there are never fewer: a "witness"
    for step in case.steps[0]:
        kind, made = step_of(step, witness="", deletions="least tree")
        if kind == "deletions":
            bound = max(bound, Deletions(given, gains).bound(made))
    return [Found(gains.blocking(), bound)] + [Found(given.mean()) for _ in case.steps[1:]]


# -------------------------------------------------------------------------------------------------
# Part 5. Markets. A job of parallel fraction f and work w is worth w s(x) on x cores of its server,
#       s(x) = x / (f + (1 - f) x),  s(0) = 0  (Amdahl's law),
# and a user's utility u_i is the sum over its jobs. For f > 0, s is concave and below its tangents,
# s'(t) = f / (f + (1 - f) t)^2; for f = 0 it is at most 1. So for all y >= 0 and every point t >= 0
#       w s(y) <= w r(t) + w s'(t) y,    r(t) = s(t) - s'(t) t = (1 - f) (t / (f + (1 - f) t))^2, (1)
# and whatever the weights a_i >= 0 of users, every division y of the servers' cores C has
#       sum a_i u_i(y) <= sum_k a w r(t_k) + sum_j C_j max over server j's jobs of a w s'(t_k).   (2)
# The points are the answer's cores, unless a step gives others "at". Utilities are whole numbers in
# units of 1 / (denominator of work x GRID), values rounded down and what bounds them rounded up.

GRID = 2**128


class Market:
    """An instance and its answer: `cores` of the jobs over one denominator, none overfull."""

    def __init__(self, case: Case, priced: bool = False) -> None:
        made = fields(case.document, "capacity budget job", what="the instance")
        jobs = fields(made["job"], "user server parallel_fraction work", what="job")
        self.capacity, self.core = _amounts(made["capacity"], "capacity", 1)
        self.budget, self.money = _amounts(made["budget"], "budget", 1)
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
        for given, capacity in zip(self.given, self.capacity, strict=True):
            if given * self.core > capacity * self.over:
                raise Refused("the answer gives more cores than a server has")
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
        """The sum of the values of each index."""
        total = [0] * size
        for place, value in zip(index, values, strict=True):
            total[place] += value
        return total

    def by_user(self, values: list[int]) -> list[int]:
        """The sum of each user's jobs."""
        return self.sums(self.user, values, len(self.budget))

    def values(self, more: int = 0) -> list[int]:
        """The jobs' w s(x), rounded down, with so many more cores if there are any."""
        cores = [max(0, x + more * self.over) for x in self.cores]
        jobs, scale = zip(self.fraction, self.work, cores, strict=True), GRID * self.one
        return [w * scale * x // ((f * self.over + (self.one - f) * x) or 1) for f, w, x in jobs]

    def tangents(self, step: dict[str, object]) -> tuple[list[int], list[int]]:
        """The jobs' w r(t) and w s'(t), rounded up."""
        points, over = self.points(step["at"], "at") if "at" in step else (self.cores, self.over)
        rest, slope, one = [], [], self.one
        for f, w, t in zip(self.fraction, self.work, points, strict=True):
            t = t if f else 1  # for f = 0 the bound is 1, at whatever point
            below, scale = (f * over + (one - f) * t) ** 2, w * GRID * one
            rest.append(-(-scale * (one - f) * t * t // below))
            slope.append(-(-scale * f * over * over // below))
        return rest, slope

    def most(self, rest: list[int], slope: list[int]) -> int:
        """The right side of (2), rounded up; `rest` and `slope` hold the weights."""
        top = [0] * len(self.capacity)
        for server, number in zip(self.server, slope, strict=True):
            top[server] = max(top[server], number)
        worth = sum(c * price for c, price in zip(self.capacity, top, strict=True))
        return sum(rest) - (-worth // self.core)


def _amounts(value: object, what: str, least: int) -> tuple[list[int], int]:
    numbers, over = scaled(listed(value, what), what)
    return [whole(number, what, least) for number in numbers], over


def single(steps: list[object], **kinds: str) -> dict[str, object]:
    """The one step that there is, of one of these kinds."""
    if len(steps) != 1:
        raise Refused("one step is expected")
    return step_of(steps[0], **kinds)[1]


def market_equilibrium(case: Case) -> list[Found]:
    """Prices and cores that are a market equilibrium, to within three numbers.

    clearing: at most this fraction of the cores of a server with a price is not given.
    overspending: nobody pays more than this fraction above its budget.
    regret: nobody could gain more than this fraction of what it could have at most. By (1), and as
    prices p and budget B allow only y with sum p y <= B, that is at most
        sum w r(t_k) + B max over the user's jobs of w s'(t_k) / p_k.
    """
    market = Market(case, priced=True)
    rest, slope = market.tangents(single(case.steps[0], equilibrium="|at"))
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
            if not market.price[server]:
                raise Refused("a user would gain by more cores, which are free")
            cost = market.price[server] * market.money
            best[user] = max(best[user], -(-number * market.per * market.budget[user] // cost))
    for fixed, bought, own in zip(
        market.by_user(rest), best, market.by_user(market.values()), strict=True
    ):
        if fixed + bought > own:
            regret = max(regret, Fraction(fixed + bought - own, fixed + bought))
    epsilon = {"clearing": clearing, "overspending": overspending, "regret": regret}
    return [Found(max(epsilon.values()), Fraction(0), epsilon=epsilon)]


def market_utilitarian(case: Case) -> list[Found]:
    """The most total utility: (2) at weights 1; of whole cores by the price of the last core.

    The gains by one core more fall. Let p be the largest next gain on a server. At p a core no job
    is worth more, less what it pays, than with its own x cores, but by (p - its last gain) for each
    of them if that is above 0. So sum u(y) is at most the answer's, p times the cores left over on
    each server, and those differences.
    """
    market = Market(case)
    value = sum(market.values())
    if not market.whole:
        bound = market.most(*market.tangents(single(case.steps[0], tangent="|at")))
        return [Found(Fraction(value, market.unit), Fraction(bound, market.unit))]
    single(case.steps[0], dual="")
    own, price, bound = market.values(), [0] * len(market.capacity), value + len(market.work)
    for server, now, after in zip(market.server, own, market.values(1), strict=True):
        price[server] = max(price[server], after + 1 - now)
    jobs = zip(market.server, market.cores, own, market.values(-1), strict=True)
    for server, cores, now, before in jobs:
        bound += cores * max(0, price[server] - (now - before - 1))
    for p, capacity, given in zip(price, market.capacity, market.given, strict=True):
        bound += p * (capacity // market.core - given)
    return [Found(Fraction(value, market.unit), Fraction(bound, market.unit))]


def logarithm(above: int, below: int) -> tuple[int, int]:
    """Whole numbers around GRID log(above / below), both above 0.

    log 2^k m = k log 2 + 2 artanh z with z = (m - 1) / (m + 1), m from 1 to 2: at most 41 terms,
    each too low by at most 3, and a rest below 4, so less than 2 x 130 < 300 in all; as much for
    each log 2.
    """
    power = above.bit_length() - below.bit_length()
    above, below = above << max(0, -power), below << max(0, power)
    if above < below:
        power, above = power - 1, 2 * above
    z, low, odd = GRID * (above - below) // (above + below), 0, 1
    square = z * z // GRID
    while z:
        low, z, odd = low + 2 * (z // odd), z * square // GRID, odd + 2
    low += power * LOG2 + 300 * min(0, power)
    return low, low + 300 * (abs(power) + 1)


LOG2 = 2 * sum(GRID // (3 * 9**n * (2 * n + 1)) for n in range(41))  # by less than 300 too low


def exponential(number: int, up: bool) -> Fraction:
    """A fraction whose logarithm is number / GRID or, by less than 2^-70, above (`up`) or below."""
    power = number // LOG2 - 1
    if abs(power) > MOST_DIGITS:
        raise Refused("a welfare is beyond 2^4000")
    unit = Fraction(2 ** max(0, power - 80), 2 ** max(0, 80 - power))
    low, high = 2**80, 2**83
    while high - low > 1:
        middle = (low + high) // 2
        down, top = logarithm(middle * unit.numerator, unit.denominator)
        low, high = (middle, high) if (down if up else top) <= number else (low, middle)
    return unit * (high if up else low)


def market_nash_welfare(case: Case) -> list[Found]:
    """The most Nash welfare, exp(sum B_i log u_i / sum B) over users with a job of work above 0.

    log u <= log v + u / v - 1 for every v > 0. With v_i the answer's utility, rounded down, and (2)
    at weights B_i / v_i, no division y has a larger sum B_i log u_i(y) than
        sum B_i log v_i - sum B + (right side of (2)).
    Linear utilities are those of f = 1.
    """
    market = Market(case)
    step = single(case.steps[0], tangent="|at")
    if text_of(case.options.get("utility", "amdahl"), "utility") == "linear":
        market.fraction = [market.one] * len(market.work)
    elif case.options.get("utility", "amdahl") != "amdahl":
        raise Refused("utility is neither amdahl nor linear")
    worth, total = market.by_user(market.values()), sum(market.budget[i] for i in market.active)
    if not total or not all(worth[i] for i in market.active):
        return [Found(Fraction(0 if total else 1), None if total else Fraction(1))]
    rest, slope = market.tangents(step)
    for job, i in enumerate(market.user):
        if market.work[job]:
            rest[job] = -(-rest[job] * market.budget[i] * GRID // worth[i])
            slope[job] = -(-slope[job] * market.budget[i] * GRID // worth[i])
    low, high = 0, market.most(rest, slope) - total * GRID
    for i in market.active:
        down, up = logarithm(worth[i], market.unit)
        low, high = low + market.budget[i] * down, high + market.budget[i] * up
    return [Found(exponential(low // total, False), exponential(-(-high // total), True))]


Conditions = list[tuple[int, dict[int, Fraction], bool]]


class Boxes:
    """Whole cores within a box, the least and the most of each job, and the ratios of the answer.

    What is asked are conditions (below, goals, above): at most `below` users miss their goal, which
    is to be at it or, if so, above. Ratios are u_i / b_i, b_i what C B_i / sum B of all is worth.
    """

    def __init__(self, market: Market) -> None:
        self.market, self.room = market, [c // market.core for c in market.capacity]
        if market.over != 1 or sum(self.room[j] for j in market.server) > MOST_COLUMNS:
            raise Refused(f"cores are not whole, or those of all jobs more than {MOST_COLUMNS}")
        self.jobs: dict[int, list[int]] = {i: [] for i in market.active}
        self.low: dict[int, list[int]] = {}  # w s(c) of each job and c, rounded down
        for k, (i, j, w) in enumerate(zip(market.user, market.server, market.work, strict=True)):
            if w:
                f, scale, cores = (
                    market.fraction[k],
                    w * GRID * market.one,
                    range(1, self.room[j] + 1),
                )
                self.low[k] = [0, *(scale * c // (f + (market.one - f) * c) for c in cores)]
                if j in [market.server[other] for other in self.jobs[i]]:
                    raise Refused("what a share is worth to a user's two jobs is no fraction")
                self.jobs[i].append(k)
        total, self.worth = market.core * sum(market.budget[i] for i in market.active), {}
        for i in self.jobs:
            share = [Fraction(market.capacity[j] * market.budget[i], total) for j in market.server]
            self.worth[i] = self.utility(i, share)
        self.order = sorted(self.utility(i, market.cores) / b for i, b in self.worth.items())

    def utility(self, user: int, cores: list[int] | list[Fraction]) -> Fraction:
        """A user's utility, exactly."""
        one, total = self.market.one, Fraction(0)
        for k in [k for k in self.jobs[user] if cores[k]]:
            f = self.market.fraction[k]
            total += self.market.work[k] * cores[k] * one / Fraction(f + (one - f) * cores[k])
        return total * GRID / self.market.unit

    def meets(self, user: int, cores: list[int], goal: Fraction, above: bool) -> bool:
        """Whether a user meets its goal; with fractions where rounded numbers are too close."""
        low, near = sum(self.low[k][cores[k]] for k in self.jobs[user]), goal * self.market.unit
        if low > near or low + len(self.jobs[user]) < near:
            return low > near
        utility = self.utility(user, cores)
        return utility > goal or (utility == goal and not above)

    def squeeze(self, least: list[int], most: list[int], conditions: Conditions) -> bool:
        """Narrow a box to where answers can be that meet the conditions; whether any is left.

        A job cannot have more than the least of the others leaves of its server. Where as many
        users as may, with the most they can have, miss a goal, all others need it: each job then
        has at least what it takes when the user's other jobs have the most.
        """
        while True:
            before, left, needs = (least[:], most[:]), self.room[:], {}
            for k, server in enumerate(self.market.server):
                left[server] -= least[k]
            if min(left) < 0 or any(least[k] > most[k] for k in self.low):
                return False
            for k in self.low:
                most[k] = min(most[k], least[k] + left[self.market.server[k]])
            for below, goal, above in conditions:
                able = [i for i in self.jobs if self.meets(i, most, goal[i], above)]
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

    def root(self) -> tuple[list[int], list[int]]:
        """The box of all answers."""
        jobs = zip(self.market.server, self.market.work, strict=True)
        return [0] * len(self.market.work), [self.room[j] if w else 0 for j, w in jobs]

    def conditions(self, value: Fraction) -> Conditions:
        """What is asked of an answer that is better at a level of the ratios."""
        places = [min(ratio, value) for ratio in self.order]
        levels = [(places.index(ratio), ratio, False) for ratio in sorted(set(places))]
        levels.append((self.order.index(value) + self.order.count(value) - 1, value, True))
        goals = [{i: ratio * b for i, b in self.worth.items()} for _, ratio, _ in levels]
        return [(n, goal, above) for (n, _, above), goal in zip(levels, goals, strict=True)]


def market_leximin(case: Case) -> list[Found]:
    """Whole cores by leximin of the ratios, a level at a time.

    Let r_1 <= ... <= r_n be the answer's ratios, v one of them, r_N its last. Whoever has the same
    ratios below v and fewer users at v, or none, has fewer than N users that are not above v, and
    for each ratio r_m up to v no more users below it than the answer. A tree shows that no whole
    cores have: the node [job, at] splits a box, at most `at` cores, which comes next, or more; at
    [] nothing is left of it once it is squeezed.
    """
    boxes, found = Boxes(Market(case)), []
    for steps, value in zip(case.steps, sorted(set(boxes.order)), strict=False):
        goals, stack = boxes.conditions(value), [boxes.root()] if steps else []
        nodes = listed(single(steps, tree="nodes")["nodes"], "nodes") if steps else []
        for node in nodes:
            least, most = stack.pop()  # an error if the tree goes on after its last leaf
            if boxes.squeeze(least, most, goals):
                job, at = wholes(node, "a branch", 2, 0)
                stack += [(least[:], most[:]), (least, most)]
                stack[-2][0][job], stack[-1][1][job] = max(least[job], at + 1), min(most[job], at)
            elif node != []:
                raise Refused("a branch of an empty box")
        if stack:
            raise Refused("a tree ends before all its leaves")
        found.append(Found(value, value if steps else None))
    return found


# -------------------------------------------------------------------------------------------------
# What can be proved: (problem, method): the options that may be given (a text of words), the levels
# (objective and sense), and the checker: what it found of each level that the case has steps of.

METHODS = {
    ("colocation", "optimal"): ("", (("penalty", "min"),), colocation_optimal),
    ("colocation", "stable"): (
        "alpha alpha_mode", (("blocking_pairs", "min"), ("penalty", "min")), colocation_stable),
    ("market", "fisher"): ("", (("equilibrium_error", "min"),), market_equilibrium),
    ("market", "fisher-convex"): ("", (("equilibrium_error", "min"),), market_equilibrium),
    ("market", "nash-welfare"): ("utility", (("nash_welfare", "max"),), market_nash_welfare),
    ("market", "leximin"): (
        "", (("sharing_index", "max"), *((("sharing_ratio", "max"),) * 999)), market_leximin),
    ("market", "utilitarian"): ("whole", (("total_utility", "max"),), market_utilitarian),
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print what is proved, or why nothing is; returns the exit code."""
    try:
        if len(arguments) != 2 or arguments == ["-", "-"]:
            raise Unreadable("usage: python -I verify.py INSTANCE PROOF (one of them may be -)")
        instance, proof = read(arguments[0]), read(arguments[1])
        print(f"accepted: {verify(instance, proof)}")
        return 0
    except Unreadable as reason:
        print(f"unreadable: {reason}")
        return 2
    except Refused as reason:
        print(f"refused: {reason}")
    except Exception as error:  # whatever a checker stumbles over in a malformed file
        print(f"refused: malformed ({type(error).__name__}: {str(error)[:100]!a})")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
