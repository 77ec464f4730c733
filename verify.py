"""Does a proof file prove what it claims of an instance?    python -I verify.py INSTANCE PROOF

This one file, with Python's standard library, is all that has to be trusted: it runs no solver and
imports nothing of the package whose proofs it reads. It computes in whole numbers and fractions,
and takes every decimal of the instance as it is written. What a proof says is never believed: an
answer is checked and measured again, and each multiplier, set, price or branch is only a hint, from
which the bound is worked out again, by a theorem that stands above the code that uses it.

How to read it: part 1 reads files, part 2 is the frame (the claims, and what accepting one means),
and METHODS at the end is the table of what can be proved. Besides these a proof needs, of
  colocation   4, and 3 if it has a tree; for `stable` also 5, for `fair` also 6
  market       7
  packing      8, then for servers, cost and moves 3, 9 and 10; for shares and utilization 3, 9 and
               11; for the game 12
  others       admission 13, numa 14, scheduling 15, groups 3 and 16

Exit code 0: the proof is accepted, and one sentence says what is proved. 1: it is refused, with the
first reason. 2: a file cannot be read. Limits: files of 64 MB (unpacked), eight million values,
four million lists, a million objects, numbers of 4,000 digits; and what a proof may take to judge.
A pipe is read until its end comes, however long that takes.
"""

import gzip
import hashlib
import json
import math
import sys
from fractions import Fraction

MOST_BYTES = 64_000_000
MOST_LISTS = 4_000_000
MOST_VALUES = 8_000_000
MOST_WORK = 2 * 10**8
MOST_DIGITS = 4_000
MOST_EXPONENT = 400
MOST_COLUMNS = 50_000
MOST_TERMS = 25_000_000
MOST_FOUND = 50_000
MOST_PRICE = 10**30
ROUNDING = Fraction(1, 10**9)
Step = dict[str, object]


class Refused(Exception):
    """The proof does not prove its claim; the first reason."""


class Unreadable(Exception):
    """A file is not what it should be; why."""


def refuse_if(when: object, why: str) -> None:
    """Refuse the proof if so."""
    if when:
        raise Refused(why)


class WorkLimit:
    """Steps of about a tenth of a microsecond that `verify` may still take."""

    left = math.inf  # outside of `verify`


def charge(steps: int) -> None:
    """Count what is done next, wherever a file can ask for it more often than it is long."""
    WorkLimit.left -= steps
    if WorkLimit.left < 0:  # this is called often
        raise Refused("judging this takes longer than this program has patience for")


def product(one: int, other: int) -> int:
    """Steps to multiply or divide numbers of so many bits, or to add them up."""
    return one * other // 20_000 + (one + other) // 2_000


def beyond(numbers: list[int]) -> int:
    """How many bits long numbers have beyond 63 each."""
    return sum(max(0, number.bit_length() - 63) for number in numbers)


# -------------------------------------------------------------------------------------------------
# Part 1. Reading. Every value of a file passes one of these functions before it is used.


class Decimal(str):
    """A number with a point or an exponent, as it is written in an instance."""

    __slots__ = ()  # there may be millions


def read(path: str) -> bytes:
    """The bytes of a file ("-": standard input), unpacked if it is a gzip file."""
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


def parse(data: bytes, decimals: bool) -> Step:
    """The JSON object in some bytes; decimals are kept as text, or refused (in proofs)."""

    def no_float(text: str) -> None:
        raise Unreadable(f'{text[:40]}: numbers of proofs are whole, or texts such as "1/3"')

    def integer(text: str) -> int:
        if len(text) > MOST_DIGITS:
            raise Unreadable(f"{text[:20]}... has {len(text)} digits")
        return int(text)

    def unique(pairs: list[tuple[str, object]]) -> Step:
        if len(dict(pairs)) < len(pairs):
            raise Unreadable("an object gives a key twice")
        return dict(pairs)

    if data.count(b"[") + 4 * data.count(b"{") > MOST_LISTS or data.count(b",") > MOST_VALUES:
        raise Unreadable("more values, lists or objects than this program has memory for")
    hooks = {"parse_int": integer, "parse_constant": no_float, "object_pairs_hook": unique}
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text, parse_float=Decimal if decimals else no_float, **hooks)  # type: ignore[arg-type]
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise Unreadable("not a JSON object")
    return found


def fields(value: object, needed: str, others: str = "", what: str = "a part") -> Step:
    """An object with all the keys `needed` and none besides these and `others` (texts of words)."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    for name in [name for name in needed.split() if name not in value]:
        raise Refused(f"{what} lacks {name!r}")
    for name in [name for name in value if name not in f"{needed} {others}".split()]:
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


def wholes(value: object, what: str, length: int | None = None, *ends: int | None) -> list[int]:
    """A list of whole numbers within bounds."""
    return [whole(entry, what, *ends) for entry in listed(value, what, length)]


def text_of(value: object, what: str) -> str:
    """A text."""
    if type(value) is str:
        return value
    raise Refused(f"{what} is no text")


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


def amount(value: object, what: str) -> int:
    """A whole number of an instance, 0 or more, which may be written as a decimal such as 3.0."""
    number = exact(value, what)
    return whole(number.numerator if number.denominator == 1 else value, what, 0)


def scaled(values: list[object], what: str) -> tuple[list[int | None], int]:
    """Numbers of an instance as whole numbers over one denominator; null stays None."""
    if not {type(value) for value in values} <= {Decimal, int, type(None)}:
        raise Refused(f"{what} holds what is no number")
    shifts, made, digits = list[int](), list[int | None](), 0
    for value in values:
        number, shift = (0, 0) if value is None else _shift(value, what)
        shifts.append(shift)
        made.append(None if value is None else number)
        digits += number.bit_length() // 64
    most = max(shifts, default=0)
    if digits + len(values) * most // 16 > MOST_VALUES:
        raise Refused(f"{what} has more digits than this program has memory for")
    times = {shift: 10 ** (most - shift) for shift in set(shifts)}
    for place, shift in enumerate(shifts):
        if shift < most and (old := made[place]) is not None:
            made[place] = old * times[shift]
    return made, 10**most


def common(numbers: list[int]) -> int:
    """The least common multiple of numbers above 0."""
    found = 1
    for number in numbers:
        charge(50 + product(found.bit_length(), number.bit_length()))
        found = math.lcm(found, number)
        refuse_if(found.bit_length() > 5 * MOST_DIGITS, "a common denominator has too many digits")
    return found


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


class ProofCase:
    """What a checker gets: the instance, the options, the answer, each level's steps."""

    def __init__(self, document: Step, options: Step, witness: object,
                 steps: list[list[object]]) -> None:  # fmt: skip
        self.document, self.options, self.witness, self.steps = document, options, witness, steps

    def each(self, level: int, **kinds: str) -> "map[tuple[str, Step]]":
        """Kind and fields of the steps of a level, one after the other, if there is one."""
        steps = self.steps[level] if level < len(self.steps) else []
        return map(lambda step: step_of(step, **kinds), steps)

    def one(self, level: int, **kinds: str) -> Step:
        """The fields of the one step of a level."""
        refuse_if(len(self.steps[level]) != 1, "one step is expected")
        return step_of(self.steps[level][0], **kinds)[1]


class CheckedLevel:
    """What a checker found of a level: value, bound (None for none), or that there is no answer."""

    def __init__(self, value: Fraction | None = None, bound: Fraction | None = None,
                 infeasible: bool = False,
                 epsilon: dict[str, Fraction] | None = None) -> None:  # fmt: skip
        self.value, self.bound, self.infeasible, self.epsilon = value, bound, infeasible, epsilon

    def at_least(self, bound: Fraction) -> None:
        """A bound from below that is proved besides those there are."""
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def at_most(self, bound: Fraction) -> None:
        """The same from above."""
        self.bound = bound if self.bound is None else min(self.bound, bound)


def step_of(value: object, **kinds: str) -> tuple[str, Step]:
    """A step's kind and fields; `kinds`: what each has, and behind a "|" what it may have."""
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


def _level(value: object, goal: list[str], found: CheckedLevel) -> str:
    """Accept the claim of one level, or refuse it; returns what is proved."""
    claim = fields(value, "objective sense value bound says", "epsilon", "a claim")
    (objective, sense), says = goal, claim["says"]
    up = sense == "max"
    if (claim["objective"], claim["sense"]) != (objective, sense):
        raise Refused(f"the claim is not about {objective}, {sense}")
    refuse_if(("epsilon" in claim) != (says == "equilibrium"), "only an equilibrium has an epsilon")
    if says == "infeasible":
        if not found.infeasible or claim["value"] is not None or claim["bound"] is not None:
            raise Refused("it is not proved that there is no answer at all")
        return f"{objective}: there is no answer at all"
    worth = _stated(claim["value"], found.value, up, f"the value of {objective}")
    bound = _stated(claim["bound"], found.bound, not up, f"the bound on {objective}")
    if worth is not None and bound is not None and (worth > bound if up else worth < bound):
        raise Refused(f"{objective}: {shown(worth)} is beyond {shown(bound)}: a defect here")
    if says == "equilibrium":
        off = found.epsilon or {}
        claimed = fields(claim["epsilon"], " ".join(off), what="epsilon")
        errors = [f"{n} {shown(_stated(claimed[n], off[n], False, n))}" for n in off]
        if not errors or None in claimed.values():
            raise Refused("no equilibrium is proved, or not to within how much")
        return f"{objective}: an equilibrium, to within {', '.join(errors)}"
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
    version, form = content["cotenant_proof"], document.pop("cotenant", 0)
    if whole(version, "cotenant_proof") != 1 or whole(form, "cotenant") != 1:
        raise Refused("this program reads version 1 of proofs, of instances of format 1")
    problem, name, _ = (document.pop(key, "") for key in ("problem", "name", "source"))
    method = content["method"]
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
    WorkLimit.left = MOST_WORK
    try:
        found = checker(ProofCase(document, options, content["witness"], steps))
    finally:
        WorkLimit.left = math.inf
    sentences = [_level(level["claim"], goals[k], found[k]) for k, level in enumerate(levels)]
    for level in levels[:-1]:  # the next is about answers no worse than this witness here
        if fields(level["claim"], "value", "objective sense bound says")["value"] is None:
            raise Refused("a level is claimed beyond one whose value is not told")
    given = "".join(f" {option}={value!a}" for option, value in sorted(options.items()))
    then = "; then, of the answers no worse than this one there, "
    return f"{problem} {str(name)[:80]!a}, {method}{given}: {then.join(sentences)}"


# -------------------------------------------------------------------------------------------------
# Part 3. Programs: rows that whole numbers have to keep, and trees which show that none can.

Terms = list[tuple[int, int]]


class Program:
    """Whole numbers, 0 <= low <= column <= high, with rows: sum of factor x column <= most.

    `impossible` checks that no whole numbers satisfy all rows, by a tree of cases. In each case the
    bounds are tightened first. A row leaves `room`: most less the least that its sum can be; if it
    is below 0 the case is empty, and a column can be no further from its end that adds least to the
    sum than room / |factor|, rounded down. What then is left is split by a hint at a column into
    (column <= value) and (column > value), or it is closed by multipliers: a sum of rows, each some
    times, that is a row again, for which there is no room. `cuts` are rows made of others first:
    their sum, each some times, divided by a number and all rounded down (Chvatal 1973), which holds
    as the columns are whole numbers that are not negative.
    """

    def __init__(self) -> None:
        self.low: list[int] = []
        self.high: list[int] = []
        self.rows: list[tuple[list[tuple[int, int]], int]] = []
        self.terms = 0

    def column(self, high: int) -> int:
        """A new column from 0 to `high`."""
        self.low.append(0)
        self.high.append(high)
        return len(self.low) - 1

    def at_most(self, terms: list[tuple[int, int]], most: int) -> None:
        """A new row: pairs of column and factor, each column once."""
        charge(4 * len(terms) + 4 + beyond([a for _, a in terms]) // 16)
        self.terms += len(terms) + 1
        refuse_if(self.terms > MOST_TERMS, "the program is larger than this one has memory for")
        self.rows.append(([(j, a) for j, a in terms if a], most))

    def equal(self, terms: list[tuple[int, int]], value: int) -> None:
        """Two rows."""
        self.at_most(terms, value)
        self.at_most([(j, -a) for j, a in terms], -value)

    def columns_of_rows(self) -> None:
        """The rows in which each column is, and the steps that each row takes."""
        self.of: list[list[int]] = [[] for _ in self.low]
        wide = 64 + max(map(int.bit_length, self.high), default=0)
        self.steps = [len(terms) + 1 + product(beyond([a for _, a in terms]), wide)
                      for terms, _ in self.rows]  # fmt: skip
        for r, (terms, _) in enumerate(self.rows):
            for j, _ in terms:
                self.of[j].append(r)

    def sum_of(self, hint: list[int]) -> tuple[dict[int, int], int]:
        """Rows added up; the hint names each and, behind it, how many times, at least once."""
        total: dict[int, int] = {}
        right = 0
        for r, times in zip(hint[::2], hint[1::2], strict=True):
            terms, most = self.rows[whole(r, "a row", 0)]
            right += whole(times, "times", 1) * most
            charge(product(beyond([a for _, a in terms]), 64 + times.bit_length()))
            for j, a in terms:
                total[j] = total.get(j, 0) + a * times
            charge(3 * len(terms) + beyond([total[j] for j, _ in terms]) // 2_000)
        charge((sum(map(int.bit_length, total.values())) + right.bit_length()) // 8)
        return total, right

    def tighten(self, low: list[int], high: list[int], rows: list[int]) -> bool:
        """Tighten bounds by these rows, and by all that this concerns; False if nothing is left."""
        todo, waiting = list(rows), set(rows)
        while todo:
            r = todo.pop()
            waiting.remove(r)
            terms, most = self.rows[r]
            charge(self.steps[r])
            room = most - sum([a * (low[j] if a > 0 else high[j]) for j, a in terms])
            if room < 0:
                return False
            for j, a in terms:
                if abs(a) * (high[j] - low[j]) > room:
                    if a > 0:
                        high[j] = low[j] + room // a
                    else:
                        low[j] = high[j] - room // -a
                    more = [other for other in self.of[j] if other not in waiting]
                    waiting.update(more)
                    todo += more
        return True

    def impossible(self, made: Step) -> None:
        """Refuse unless the hints show that there is no point: tree, leaves, cuts (see above)."""
        for hint in listed(made.get("cuts", []), "cuts"):
            divisor, *rest = wholes(hint, "a cut", None, 0)
            total, right = self.sum_of(rest)
            charge(product(beyond([*total.values()]), divisor.bit_length()))
            self.at_most([(j, a // divisor) for j, a in total.items()], right // divisor)
        self.columns_of_rows()
        hints = iter(wholes(made["tree"], "tree", None, -1))
        leaves = iter(listed(made.get("leaves", []), "leaves"))
        cases = [(self.low, self.high, list(range(len(self.rows))))]
        while cases:
            charge(2 * len(self.low))
            low, high, rows = cases.pop()
            if not self.tighten(low, high, rows):
                continue
            column = next(hints, None)
            if column is None:
                raise Refused("the tree ends before all its cases do")
            if column < 0:
                total, right = self.sum_of(wholes(next(leaves, None), "a leaf", None, 0))
                if sum(a * (low[j] if a > 0 else high[j]) for j, a in total.items()) <= right:
                    raise Refused("the multipliers of a leaf do not close it")
                continue
            value = whole(next(hints, None), "where a case is split", low[column], high[column] - 1)
            above, below = list(low), list(high)
            above[column], below[column] = value + 1, value
            cases += [(above, high, self.of[column]), (low, below, self.of[column])]
        refuse_if(next(hints, None) is not None, "the tree goes on when all its cases are closed")


# -------------------------------------------------------------------------------------------------
# Part 4. Colocation: agents of T types, to be paired; at most two share a machine.


class Colocation:
    """An instance and the answer that is shown, if any: penalties are whole numbers over `unit`.

    `penalty[a][b]` is None where types a and b may not share: either row says so, or there is only
    one agent of the type. At most `alone` agents may be without a co-runner, at the penalty
    `single`. They have a machine of their own and never leave it, unless the instance says what
    being unpaired costs (`left`): then they are left without a place, and gain as others do.
    """

    def __init__(self, case: ProofCase) -> None:
        others = "names bandwidth machines unpaired low high looks confidence intervals"
        self.made = made = fields(case.document, "penalty count", others, "the instance")
        self.count = wholes(made["count"], "count", None, 0, MOST_PRICE)
        self.size, self.agents = len(self.count), whole(sum(self.count), "the number of agents", 1)
        square = listed(made["penalty"], "penalty", self.size)
        flat = [value for row in square for value in listed(row, "penalty", self.size)]
        values, self.unit = scaled([*flat, made.get("unpaired", 0)], "penalty")
        self.left, self.single = "unpaired" in made, whole(values.pop(), "unpaired")
        if max(map(abs, [self.single, *(value or 0 for value in values)])) > self.unit:
            raise Refused("a penalty is not from -1 to 1")
        rows = [values[k : k + self.size] for k in range(0, len(values), self.size)]
        for a, row in enumerate(rows):
            row[a] = None if self.count[a] < 2 else row[a]
            for b in [b for b in range(a) if row[b] is None or rows[b][a] is None]:
                row[b] = rows[b][a] = None
        self.penalty = rows
        self.alone = self.agents if self.left else 0
        if "machines" in made:
            null = made["machines"] is None  # as many as needed
            machines = self.agents if null else amount(made["machines"], "machines")
            self.alone = min(self.agents, 2 * machines - self.agents)
            if self.alone < 0 or self.left:
                raise Refused("there are too few machines, or a cost of being alone")
        self.pairs: list[tuple[int, int, int]] = []
        self.singles = [0] * self.size
        self.answered = case.witness is not None
        if self.answered:
            self._answer(fields(case.witness, "first second pairs single", what="the answer"))

    def _answer(self, made: Step) -> None:
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
        total = self.single * sum(self.singles) + sum(old * n for _, old, n in self.beside())
        return Fraction(total, self.unit * self.agents) if self.answered else None


def pairing_bound(given: Colocation, made: Step, weight: list[int]) -> int:
    """What multipliers prove of the sum over agents of weight[type] x penalty, in every pairing.

    Let x[a,b] pairs of types a and b be formed and s[a] agents of type a stay alone. Every a-agent
    is placed once: sum over b of x[a,b] (1 + [a = b]) + s[a] = count[a]. All s together are at most
    `alone`. And of a set S of types with an odd number of agents at least one is alone or shares
    with a type outside, as pairs within S take an even number: x(leaving S) + s(S) >= 1. Take these
    rows times prices u[a] of any sign, rent >= 0 and p[S] >= 0, and subtract them from the cost:
        cost >= u . count - rent alone + sum of p + sum of (reduced cost of a column) (the column).
    A column is at least 0 and at most `most`, so it adds no less than min(0, reduced cost) most.
    At last the cost is a whole number of units, so the bound may be rounded up to one.
    """
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
    weight = [over * times for times in weight]
    bits = max(map(int.bit_length, [*prices, *weight]))
    each = product(beyond([1 << bits]), given.unit.bit_length())
    for a, (u, times) in enumerate(zip(prices, weight, strict=True)):
        if given.alone:
            total += min(0, given.single * times - u + rent) * given.count[a]
        charge((size - a) * (3 + len(sets_of[a]) + each))
        row = zip(given.penalty[a][a:], columns[a][a:], weight[a:], prices[a:], strict=True)
        for b, (one, other, w, v) in enumerate(row, a):
            if one is not None and other is not None and one * times + other * w < u + v:
                both = sum(price for k, price in sets_of[a].items() if k in sets_of[b])
                most = given.count[a] // 2 if a == b else min(given.count[a], given.count[b])
                total += min(0, one * times + other * w - u - v + 2 * both) * most
    return -(-total // over)


def mean_bound(given: Colocation, made: Step) -> Fraction:
    """No pairing has less mean penalty than this."""
    return Fraction(pairing_bound(given, made, [1] * given.size), given.unit * given.agents)


def no_pairing(given: Colocation, steps: list[object]) -> bool:
    """Whether a step "nobody" shows that any pairing would cost more than 0 at weights 0."""
    for step in [s for s in steps if isinstance(s, dict) and s.get("kind") == "nobody"]:
        made = step_of(step, nobody="over prices rent sets")[1]
        if pairing_bound(given, made, [0] * given.size) > 0:
            return True
    return False


def colocation_optimal(case: ProofCase) -> list[CheckedLevel]:
    """Least mean penalty."""
    given = Colocation(case)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    found = CheckedLevel(given.mean())
    for _, made in case.each(0, dual="over prices rent sets"):
        found.at_least(mean_bound(given, made))
    return [found]


Pairs = tuple[Program, dict[tuple[int, int], int], dict[int, int], Terms]


def pairing_program(given: Colocation, partners: list[list[int]]) -> Pairs:
    """What every pairing satisfies in which types have these partners; and its cost, by column.

    Columns: x[a,b], pairs of types a <= b (given for [a,b] and [b,a]); s[a], a-agents alone. Rows:
    not too many are alone, and every agent is placed once.
    """
    program, column, cost = Program(), dict[tuple[int, int], int](), Terms()
    for a, others in enumerate(partners):
        for b in [b for b in others if a <= b]:
            most = given.count[a] // 2 if a == b else min(given.count[a], given.count[b])
            column[a, b] = column[b, a] = program.column(most)
            both = whole(given.penalty[a][b], "") + whole(given.penalty[b][a], "")
            cost.append((column[a, b], both))
    types = range(given.size if given.alone else 0)
    alone = {a: program.column(min(given.count[a], given.alone)) for a in types}
    program.at_most([(j, 1) for j in alone.values()], given.alone)
    for a, others in enumerate(partners):
        beside = [(column[a, b], 1 + (a == b)) for b in others]
        program.equal(beside + ([(alone[a], 1)] if alone else []), given.count[a])
    return program, column, alone, cost + [(j, given.single) for j in alone.values()]


def partners_of(given: Colocation) -> list[list[int]]:
    """The types with which agents of each type may share."""
    rows = [row if number else [] for row, number in zip(given.penalty, given.count, strict=True)]
    return [[b for b, p in enumerate(row) if given.count[b] and p is not None] for row in rows]


# -------------------------------------------------------------------------------------------------
# Part 5. Colocation: blocking pairs.


class Gains:
    """An agent gains by a change of its penalty from old to new iff old - new > alpha, exactly.

    Two other readings of alpha: "relative-penalty", old - new > alpha |old|, "relative-throughput",
    old - new > alpha (1 - old). A pair of agents blocks an answer when both would gain by it.
    """

    def __init__(self, given: Colocation, options: Step) -> None:
        self.given, self.mode = given, options.get("alpha_mode", "penalty-points")
        self.alpha = rational(options.get("alpha", 0), "alpha")
        modes = ("penalty-points", "relative-penalty", "relative-throughput")
        if self.alpha < 0 or self.mode not in modes:
            raise Refused("alpha is below 0, or its mode is not known")

    def most(self, old: int) -> int:
        """Who is at `old` gains by the penalties up to this one (whole numbers, as all are)."""
        unit, mode = self.given.unit, self.mode
        base = abs(old) if mode == "relative-penalty" else unit
        base -= old if mode == "relative-throughput" else 0
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
            charge(size)
            most, row = self.most(old), willing[a]
            for c, new in enumerate(given.penalty[a]):
                if new is not None and new <= most:
                    row[c] += number
        both = sum(w * willing[c][a] for a, row in enumerate(willing) for c, w in enumerate(row))
        own = sum(willing[a][a] for a in range(size))
        return Fraction(both - own, 2) if given.answered else None


class Deletions:
    """How few blocking pairs are possible, when all agents differ: by stable partitions.

    A partition P puts every agent i into a cycle ("party"): after pred(i), before succ(i). Call it
    stable here when, with "i prefers x to y" for: i gains by going from y to x,
    (1) in a party of three or more, i prefers succ(i) to pred(i) (a tie is not enough: a P would
        not block), and
    (2) of any two agents i, j who may share and are not neighbors in P, one prefers its predecessor
        to the other; a party of one prefers nothing.
    Let O be the number of parties of odd size, counting those of one only if all must be paired.

    Theorem 1. Every answer M has at least O / 2 blocking pairs.
    Proof. Call i of a larger party W if it prefers pred(i) to what it has in M (or has nobody); P
    if it has pred(i); S if it has succ(i); and else B if it prefers succ(i) to what it has, A if
    not. A W prefers succ(i) as well, by (1). By (2) two who are paired in M are neighbors, an S and
    a P, or one of them is W. So A's and B's (and parties of one) that have a partner have a W: in
    all #W >= #A + #B + #(parties of one that have a partner). If s is W and its predecessor p is W,
    B or P, then p and s block M: both prefer each other. p cannot be S, as s would be P. So a party
    of three or more contains at least #W - #A blocking pairs, and none is counted twice. In it S
    and P come in twos, so #W - #A - #B is odd if its size is; hence twice its blocking pairs are at
    least #W - #A - #B, plus 1 if its size is odd. A party of two either is paired, and then has no
    A, B, W, or it blocks if both are W: twice its blocking pairs are at least #W - #A - #B. A party
    of one counts -1 if it has a partner, and has one if all must be paired: -1 + 1 = 0. Add all up:
    twice the blocking pairs are at least 0 + O.

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

    def bound(self, made: Step) -> Fraction:
        """The number of blocking pairs that a step proves there are at least."""
        self.least = whole(made["least"], "least", 1)
        self._node([-1] * self.size, made["tree"], set(), set(), ())
        return Fraction(self.least)

    def _node(self, after: list[int], node: object, gone: set[int], kept: set[int],
              ends: tuple[int, ...]) -> None:  # fmt: skip
        """Check one node, which deletes the pair `ends` and changes its parent's partition."""
        changes, children = listed(node, "a node", 2)
        flat = wholes(changes, "changes", None, 0, self.size - 1)
        charge(2 * self.size * (len(flat) + len(ends) + 8))
        after, changed = list(after), flat[::2]
        for agent, following in zip(changed, flat[1::2], strict=True):
            after[agent] = following
        odd = self._odd(after, {*changed, *flat[1::2], *ends}, gone)
        if len(gone) + Fraction(odd, 2) > self.least - 1:
            return
        refuse_if(odd == 0, "so many deletions are enough: a node has no odd party")
        left = {self._pair(i, j) for i, j in enumerate(after) if i != j} - kept
        for child in listed(children, "children"):
            first, *rest = listed(child, "a child", 3)
            i = whole(first, "the agent of a child", 0, self.size - 1)
            pair = self._pair(i, after[i])
            refuse_if(pair not in left, "a child deletes what is no pair of neighbors that is left")
            left.remove(pair)
            self._node(after, rest, gone | {pair}, kept, (i, after[i]))
            kept = kept | {pair}
        if left:
            raise Refused(f"a node of the tree lacks {len(left)} children")

    def _over(self, i: int, j: int) -> int:
        return whole(self.over[i][j], "whom an agent prefers")

    def _pair(self, i: int, j: int) -> int:
        return min(i, j) * self.size + max(i, j)

    def _odd(self, after: list[int], changed: set[int], gone: set[int]) -> int:
        """O of a partition, which is stable when `gone` may not share; only `changed` is new."""
        refuse_if(sorted(after) != list(range(self.size)), "a partition is none")
        before = sorted(range(self.size), key=after.__getitem__)
        before_penalty = [self.penalty[i][j] if i != j else None for i, j in enumerate(before)]
        for i in changed:
            ahead, own = self.penalty[i][after[i]], before_penalty[i]
            if after[i] != i:
                if ahead is None or own is None or self._pair(i, after[i]) in gone:
                    raise Refused(f"agent {i} may not share with its neighbor")
                if after[i] != before[i] and ahead > self._over(i, before[i]):
                    raise Refused(f"agent {i} does not fit into its party")
                if self.given.left and own > self.worst:
                    raise Refused(f"agent {i} would as soon be unpaired as be with its predecessor")
            for j, much in enumerate(self.over[i]):  # up to which penalty i prefers another to j
                if much is not None and (own is None or own > much):
                    his, other = before_penalty[j], self.over[j][i]
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


def stable_program(given: Colocation, gains: Gains, few: int = 0) -> tuple[Program, Terms]:
    """What every pairing with at most `few` blocking pairs satisfies; and its cost, by column.

    For a c-agent an a-agent leaves the first k of its partners, the one it leaves soonest first.
    Columns besides those of `pairing_program`: for each such k, and c that might come too, s is the
    number of a-agents beside these partners, at most `most`; and z_i = 1 if s >= i, else 0, for
    each i up to few + 1. Rows besides its: each s is the one before it and who is beside the
    partners in between, and who is beside none of them makes it count[a]; for each z_i,
    i z_i <= s <= i - 1 + (most - i + 1) z_i. Types a and c with s and t have s t blocking pairs:
    if i j > few, not both z_i of s and z_j of t are 1; else their number v is at least i t if z_i
    is 1, so v >= i t - i most(t) (1 - z_i), and the same with s and t exchanged. Among the agents
    of a type there are s (s - 1) / 2. All v together are at most `few`.

    Where all agents differ and few = 0, pairs are left out first (Irving 1985): if i gains by c
    whoever else is left to it, and by c from being alone, then c with somebody from whom c gains by
    i is blocked by i and c: either i has c or i and c would both rather. (Of such pairs no rows say
    that they may not block: fewer rows prove nothing that is false.)
    """
    size, count, penalty, partners = given.size, given.count, given.penalty, partners_of(given)
    over = [{b: gains.most(whole(penalty[a][b], "")) for b in partners[a]} for a in range(size)]
    agents = all(number == 1 for number in count) and (given.left or not given.alone)
    waiting = list(range(size)) if agents and not few else []
    while waiting:
        i = waiting.pop()
        charge(2 * size)
        best = min(partners[i], key=lambda b: whole(penalty[i][b], ""), default=None)
        if best is None or any(
            whole(penalty[i][best], "") > over[i][b] for b in partners[i] if b != best
        ):
            continue
        if given.left and whole(penalty[i][best], "") > gains.most(given.single):
            continue
        refused = [b for b in partners[best] if whole(penalty[best][i], "") <= over[best][b]]
        for b in refused:
            partners[best].remove(b)
            partners[b].remove(best)
            waiting += [b, best]
    program, column, alone, cost = pairing_program(given, partners)
    ranked: list[list[tuple[int, int, int]]] = []  # of each type: column, agents in it, and `over`
    number: list[dict[int, int]] = []  # how many of these an agent leaves for a c-agent
    for a in range(size):
        beside = [(column[a, b], 1 + (a == b), over[a][b]) for b in partners[a]]
        if alone:  # who is content alone gains by nothing
            beside.append((alone[a], 1, gains.most(given.single) if given.left else -(10**999)))
        ranked.append(sorted(beside, key=lambda entry: -entry[2]))
        number.append({})
        charge(20 * len(beside))
        k = 0
        for new, c in sorted([(whole(penalty[a][c], ""), c) for c in partners[a]], reverse=True):
            while k < len(beside) and ranked[a][k][2] >= new:
                k += 1
            number[a][c] = k
    sums: list[dict[int, tuple[int, list[int]]]] = []  # by k: s, and z_1, z_2, ...
    for a in range(size):
        sums.append({})
        start, so_far = 0, Terms()
        for k in sorted({k for c, k in number[a].items() if k and number[c][a]}):
            so_far += [(j, n) for j, n, _ in ranked[a][start:k]]
            most = min(count[a], sum(program.high[j] * n for j, n in so_far))
            s, flags = program.column(most), [program.column(1) for _ in range(min(few + 1, most))]
            program.equal([*so_far, (s, -1)], 0)
            for i, z in enumerate(flags, 1):
                program.at_most([(s, 1), (z, i - 1 - most)], i - 1)
                program.at_most([(z, i), (s, -1)], 0)
            start, so_far, sums[a][k] = k, [(s, 1)], (s, flags)
        if start:
            program.equal(so_far + [(j, n) for j, n, _ in ranked[a][start:]], count[a])
    pairs: list[int] = []
    both = [(a, c) for a in range(size) for c, k in number[a].items() if k and number[c][a]]
    for a, c in [(one, other) for one, other in both if one <= other]:
        pairs.append(program.column(few))
        (s, mine), (t, theirs), v = sums[a][number[a][c]], sums[c][number[c][a]], pairs[-1]
        if a == c:
            program.at_most([(s, 1)], (1 + math.isqrt(8 * few + 1)) // 2)
            for i, z in enumerate(mine, 1):
                program.at_most([(z, i * (i - 1) // 2), (v, -1)], 0)
            continue
        for flags, other in ((mine, t), (theirs, s)) if few else ():
            for i, z in enumerate(flags, 1):
                most = i * program.high[other]
                program.at_most([(other, i), (z, most), (v, -1)], most)
        for i, z in enumerate(mine, 1):
            if few // i < len(theirs):
                program.at_most([(z, 1), (theirs[few // i], 1)], 1)
    program.at_most([(j, 1) for j in pairs], few)
    return program, cost


def colocation_stable(case: ProofCase) -> list[CheckedLevel]:
    """Fewest blocking pairs; then least mean penalty among answers with no more than this one."""
    given = Colocation(case)
    gains = Gains(given, case.options)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    found = [
        CheckedLevel(gains.blocking(), Fraction(0)),
        CheckedLevel(given.mean()),
    ]  # never fewer than 0
    kinds = {"witness": "", "deletions": "least tree", "prop": "tree|few leaves cuts"}
    for kind, made in case.each(0, **kinds):
        if kind == "deletions":
            found[0].at_least(Deletions(given, gains).bound(made))
        if kind == "prop":  # no pairing has as few blocking pairs
            few = whole(made.get("few", 0), "few", 0, 99)
            stable_program(given, gains, few)[0].impossible(made)
            found[0].at_least(Fraction(few + 1))
    for kind, made in case.each(1, dual="over prices rent sets", prop="below tree|leaves cuts"):
        if found[0].value is None:
            raise Refused("the second level is about an answer, and there is none")
        if kind == "dual":  # of all pairings, so of these too
            found[1].at_least(mean_bound(given, made))
            continue
        few = whole(found[0].value.numerator, "blocking pairs", 0, 99)
        below = whole(made["below"], "below")  # none with so few costs less than so many units
        program, cost = stable_program(given, gains, few)
        program.at_most(cost, below - 1)
        program.impossible(made)
        found[1].at_least(Fraction(below, given.unit * given.agents))
    return found[: len(case.steps)]


# -------------------------------------------------------------------------------------------------
# Part 6. Colocation: how much worse types fare than those of larger bandwidth.


def bandwidths(given: Colocation) -> list[Fraction]:
    """Of each type."""
    bands = listed(given.made.get("bandwidth"), "bandwidth", given.size)
    return [exact(value, "bandwidth") for value in bands]


def slack_program(given: Colocation, band: list[Fraction], most: int) -> tuple[Program, Terms]:
    """Every pairing whose slack times the unit and the lcm of counts is at most this."""
    partners = partners_of(given)
    program, column, alone, cost = pairing_program(given, partners)
    there = [a for a, number in enumerate(given.count) if number]
    once, means = common([given.count[a] for a in there]), dict[int, Terms]()
    for a in there:
        each, row = once // given.count[a], given.penalty[a]
        parts = [(column[a, b], (1 + (a == b)) * whole(row[b], "")) for b in partners[a]]
        parts += [(alone[a], given.single)] if alone else []
        means[a] = [(j, each * number) for j, number in parts]
    for a, b in [(a, b) for a in there for b in there if band[a] < band[b]]:
        terms = dict(means[a])
        for j, number in means[b]:
            terms[j] = terms.get(j, 0) - number
        program.at_most(list(terms.items()), most)
    return program, cost


def colocation_fair(case: ProofCase, within: bool = False) -> list[CheckedLevel]:
    """Least slack, the most by which a type's mean exceeds that of one of larger bandwidth, or 0.

    Then the least mean penalty of an answer with no more slack than this one. A flow says how much
    is carried away from each type (above 0) or arrives there (below 0), always from smaller to
    larger bandwidth. If x goes from a to b, then x mean[a] - x mean[b] <= x slack: so the sum of
    flow[a] mean[a] is at most slack x (all that is carried). It is a sum of weights x penalties,
    which `pairing_bound` bounds from below, alone or together with the total penalty. Or else a
    tree shows that no pairing has less slack, or costs less at as little ("prop").

    Within an allowance of slack there is one level, the least mean penalty of an answer with no
    more slack than that; without an answer the steps are those of least slack, which is above it.
    """
    given = Colocation(case)
    allowed = rational(case.options.get("slack"), "slack") if within else Fraction(0)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    band = bandwidths(given)
    order, ranks = [a for a, n in enumerate(given.count) if n], dict[Fraction, list[int]]()
    for a in sorted(order, key=band.__getitem__):
        ranks.setdefault(band[a], []).append(a)  # from the least bandwidth on
    once, mean = common([given.count[a] for a in order]), [Fraction(0)] * given.size
    alone = [(a, given.single, n) for a, n in enumerate(given.singles) if n]
    for a, old, n in given.beside() + alone:
        mean[a] += Fraction(old * n, given.unit * given.count[a])
    slack, above = Fraction(0), Fraction(-2)  # the largest mean of smaller bandwidths
    for types in ranks.values():
        slack = max(slack, above - min(mean[b] for b in types))
        above = max(above, *(mean[b] for b in types))
    found, first = [CheckedLevel(slack, Fraction(0)), CheckedLevel(given.mean())], 0
    if within and given.answered:
        refuse_if(slack > allowed, "the answer has more slack than is allowed")
        slack, first = allowed, 1
    for level, step in [(k, step) for k, steps in enumerate(case.steps, first) for step in steps]:
        kinds = {"dual": "over prices rent sets flow", "prop": "below tree|leaves cuts"}
        kind, made = step_of(step, **kinds)
        if kind == "prop":
            below, parts = whole(made["below"], "below"), once * given.unit
            most = int(slack * parts) if level else below - 1
            program, cost = slack_program(given, band, most)
            if level:
                program.at_most(cost, below - 1)
            program.impossible(made)
            parts = given.unit * given.agents if level else parts
            found[level].at_least(Fraction(below, parts))
            continue
        flow, over = rationals(made["flow"], "flow", given.size)
        left, carried = 0, sum(max(0, x) for x in flow)
        for types in ranks.values():
            left += sum(min(0, flow[a]) for a in types)
            refuse_if(left < 0, "the flow does not lead to larger bandwidths")
            left += sum(max(0, flow[a]) for a in types)
        if left or any(x and not n for x, n in zip(flow, given.count, strict=True)):
            raise Refused("the flow does not arrive, or is of a type without agents")
        each = [once // max(1, n) for n in given.count]
        weight = [x * share + level * over * once for x, share in zip(flow, each, strict=True)]
        total = Fraction(pairing_bound(given, made, weight), once * given.unit)
        if level:
            found[1].at_least((total - carried * slack) / (over * given.agents))
        else:
            found[0].at_least(total / carried)
    if within:
        return [
            found[1] if given.answered else CheckedLevel(infeasible=(found[0].bound or 0) > allowed)
        ]
    return found[: len(case.steps)] if given.answered else [CheckedLevel(None, found[0].bound)]


# -------------------------------------------------------------------------------------------------
# Part 7. Markets. A job of parallel fraction f and work w is worth w s(x) on x cores of its server,
#       s(x) = x / (f + (1 - f) x),  s(0) = 0  (Amdahl's law),
# and a user's utility u_i is the sum over its jobs. For f > 0, s is concave and below its tangents,
# s'(t) = f / (f + (1 - f) t)^2; for f = 0 it is at most 1. So for all y >= 0 and every point t >= 0
# w s(y) <= w r(t) + w s'(t) y,    r(t) = s(t) - s'(t) t = (1 - f) (t / (f + (1 - f) t))^2, (1)
# and whatever the weights a_i >= 0 of users, every division y of the servers' cores C has
# sum a_i u_i(y) <= sum_k a w r(t_k) + sum_j C_j max over server j's jobs of a w s'(t_k).   (2)
# The points are the answer's cores, unless a step gives others "at". Utilities are whole numbers in
# units of 1 / (denominator of work x GRID), values rounded down and what bounds them rounded up.

GRID = 2**128


class Market:
    """An instance and its answer: `cores` of the jobs over one denominator, none overfull."""

    def __init__(self, case: ProofCase, priced: bool = False) -> None:
        made = fields(case.document, "capacity budget job", "names server_names", "the instance")
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
        """The sum of the values of each index."""
        total = [0] * size
        for place, value in zip(index, values, strict=True):
            total[place] += value
        return total

    def by_user(self, values: list[int]) -> list[int]:
        """The sum of each user's jobs."""
        return self.sums(self.user, values, len(self.budget))

    def value(self, job: int, cores: int, over: int = 1) -> int:
        """A job's w s(x), rounded down, on so many cores over a denominator."""
        f, scale = self.fraction[job], self.work[job] * GRID * self.one
        return scale * cores // ((f * over + (self.one - f) * cores) or 1)

    def values(self, more: int = 0) -> list[int]:
        """Of all jobs in the answer, with so many more cores if there are any."""
        cores = [max(0, x + more * self.over) for x in self.cores]
        return [self.value(job, x, self.over) for job, x in enumerate(cores)]

    def tangents(self, step: Step) -> tuple[list[int], list[int]]:
        """The jobs' w r(t) and w s'(t), rounded up."""
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
        """The right side of (2), rounded up; `rest` and `slope` hold the weights."""
        top = [0] * len(self.capacity)
        for server, number in zip(self.server, slope, strict=True):
            top[server] = max(top[server], number)
        worth = sum(c * price for c, price in zip(self.capacity, top, strict=True))
        return sum(rest) - (-worth // self.core)


def _amounts(value: object, what: str, least: int) -> tuple[list[int], int]:
    numbers, over = scaled(listed(value, what), what)
    return [whole(number, what, least) for number in numbers], over


def market_equilibrium(case: ProofCase) -> list[CheckedLevel]:
    """Prices and cores that are a market equilibrium, to within three numbers.

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
    """The most total utility: (2) at weights 1; of whole cores by the price of the last core.

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


def logarithm(above: int, below: int) -> tuple[int, int]:
    """Whole numbers around GRID log(above / below), both above 0.

    log 2^k m = k log 2 + 2 artanh z with z = (m - 1) / (m + 1), m from 1 to 2: at most 41 terms,
    each too low by at most 3, and a rest below 4, so less than 2 x 130 < 300 in all; as much for
    each log 2.
    """
    charge(200)
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
    refuse_if(abs(power) > MOST_DIGITS, "a welfare is beyond 2^4000")
    unit = Fraction(2 ** max(0, power - 80), 2 ** max(0, 80 - power))
    low, high = 2**80, 2**83
    while high - low > 1:
        middle = (low + high) // 2
        down, top = logarithm(middle * unit.numerator, unit.denominator)
        low, high = (middle, high) if (down if up else top) <= number else (low, middle)
    return unit * (high if up else low)


def market_nash_welfare(case: ProofCase) -> list[CheckedLevel]:
    """The most Nash welfare, exp(sum B_i log u_i / sum B) over users with a job of work above 0.

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
    worth, total = market.by_user(market.values()), sum(market.budget[i] for i in market.active)
    if not total or not all(worth[i] for i in market.active):
        return [CheckedLevel(Fraction(0 if total else 1), None if total else Fraction(1))]

    def logs(numbers: list[int]) -> tuple[int, int]:
        both = [(market.budget[i], logarithm(numbers[i], market.unit)) for i in market.active]
        return sum(b * low for b, (low, _) in both), sum(b * high for b, (_, high) in both)

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
            made = fields(node, "worth prices", what="a leaf")
            near = wholes(made["worth"], "worth", len(market.budget), 0)
            prices = wholes(made["prices"], "prices", len(boxes.room), 0)
            refuse_if(
                not all(near[i] for i in market.active), "utilities of a leaf are not above 0"
            )
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
    """Whole cores within a box, the least and the most of each job, and the ratios of the answer.

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
        """A user's utility, exactly."""
        one, total = self.market.one, Fraction(0)
        for k in [k for k in self.jobs[user] if cores[k]]:
            f = self.market.fraction[k]
            charge(50 + 5 * product(total.denominator.bit_length(), self.digits))
            total += self.market.work[k] * cores[k] * one / Fraction(f + (one - f) * cores[k])
        return total * GRID / self.market.unit

    def meets(self, user: int, cores: list[int], wanted: tuple[Fraction, int], above: bool) -> bool:
        """Whether a user meets its goal; with fractions where rounded numbers are too close."""
        charge(8 + (8 + self.digits // 2_000) * len(self.jobs[user]))
        low, (goal, floor) = sum(self.low[k][cores[k]] for k in self.jobs[user]), wanted
        if low > floor or low + len(self.jobs[user]) < floor:
            return low > floor
        utility = self.utility(user, cores)
        return utility > goal or (utility == goal and not above)

    def squeeze(self, least: list[int], most: list[int], conditions: Conditions) -> bool:
        """Narrow a box to where answers can be that meet the conditions; whether any is left.

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
        """What a tree of boxes leaves open: the node [job, at] splits a box, at most `at` cores,
        which comes next, or more; at [] nothing is left of it once it is squeezed.
        """
        stack, found = [self.root()], list[tuple[object, Box]]()
        for node in listed(nodes, "nodes"):
            least, most = stack.pop()  # an error if the tree goes on after its last leaf
            if not self.squeeze(least, most, goals):
                refuse_if(node != [], "a branch of an empty box")
            elif isinstance(node, dict):
                found.append((node, (least, most)))
            else:
                job, at = wholes(node, "a branch", 2, 0)
                stack += [(least[:], most[:]), (least, most)]
                stack[-2][0][job], stack[-1][1][job] = max(least[job], at + 1), min(most[job], at)
        refuse_if(stack, "a tree ends before all its leaves")
        return found

    def root(self) -> Box:
        """The box of all answers."""
        jobs = zip(self.market.server, self.market.work, strict=True)
        return [0] * len(self.market.work), [self.room[j] if w else 0 for j, w in jobs]

    def conditions(self, value: Fraction) -> Conditions:
        """What is asked of an answer that is better at a level of the ratios."""
        places = [min(ratio, value) for ratio in self.order]
        levels = [(places.index(ratio), ratio, False) for ratio in sorted(set(places))]
        levels.append((self.order.index(value) + self.order.count(value) - 1, value, True))
        return [(below, self.goals(ratio), above) for below, ratio, above in levels]

    def goals(self, ratio: Fraction) -> dict[int, tuple[Fraction, int]]:
        """Each user's utility at a ratio, and its floor in the units of the tables."""
        charge(30 * len(self.worth))
        return {i: (ratio * b, ratio * b * self.market.unit // 1) for i, b in self.worth.items()}


def market_leximin(case: ProofCase) -> list[CheckedLevel]:
    """Whole cores by leximin of the ratios, a level at a time.

    Let r_1 <= ... <= r_n be the answer's ratios, v one of them, r_N its last. Whoever has the same
    ratios below v and fewer users at v, or none, has fewer than N users that are not above v, and
    for each ratio r_m up to v no more users below it than the answer. A tree shows that no whole
    cores have: the node [job, at] splits a box, at most `at` cores, which comes next, or more; at
    [] nothing is left of it once it is squeezed. Less is shown of the first level by weights: the
    least ratio is at most sum a_i u_i / sum a_i b_i, and that by (2).
    """
    market, found = Market(case), list[CheckedLevel]()
    boxes = Boxes(market)
    for level, value in enumerate(sorted(set(boxes.order))[: len(case.steps)]):
        kinds = {"tree": "nodes"} if level else {"tree": "nodes", "tangent": "weights|at"}
        step = case.one(level, **kinds) if case.steps[level] else {}
        found.append(CheckedLevel(value, value if step else None))
        if "weights" in step:
            weights = wholes(step["weights"], "weights", len(market.budget), 0)
            total = sum(weights[i] * b for i, b in boxes.worth.items())
            refuse_if(not total, "the weights of a step are all 0")
            parts = [[n * weights[i] for n, i in zip(p, market.user, strict=True)]
                     for p in market.tangents(step)]  # fmt: skip
            found[-1].bound = Fraction(market.most(*parts), market.unit) / total
        elif step and boxes.leaves(step["nodes"], boxes.conditions(value)):
            raise Refused("a box is left")
    return found


# -------------------------------------------------------------------------------------------------
# Part 8. Packing: virtual machines (VMs) of several types on servers of several classes.

Zonal = tuple[list[int], list[set[int]], int, int]


def _amounts_of(value: object, what: str) -> list[list[int]]:
    return [wholes(row, what, None, 0, MOST_PRICE) for row in listed(value, what)]


def _limits(value: object, what: str, size: int) -> list[int | None]:
    rows = listed([None] * size if value is None else value, what, size)
    return [None if n is None else whole(n, what, 0, MOST_PRICE) for n in rows]


class Packing:
    """An instance and its answer. None: servers as many as needed, VMs as many as fit.

    Rules on where VMs may run: `allowed[i][c]`; `limits`, types and how many of their VMs one
    server may hold; `apart`, types of which no server holds both; `zonal`, types, zones (sets of
    classes), how many VMs of them each zone may hold, and by how many two zones may differ.
    """

    def __init__(self, case: ProofCase, ruled: bool = False) -> None:
        others = "initial servers request cost partial resources names class_names"
        others += " placed server_names zone"
        rules = " allowed most_per_server apart skew limits spreads"
        made = fields(case.document, "capacity demand", others + rules * ruled, "the instance")
        self.room, self.size = (_amounts_of(made[name], name) for name in ("capacity", "demand"))
        kinds, wide = len(self.room), len(self.room[0])
        self.start = _amounts_of(made.get("initial") or self.room, "initial")
        widths = {*map(len, self.room + self.size + self.start)}
        if widths != {wide} or len(self.start) != kinds or not all(map(any, self.size)):
            raise Refused("capacities differ in length, or a VM takes nothing")
        self.servers = _limits(made.get("servers"), "servers", kinds)
        self.request = _limits(made.get("request"), "request", len(self.size))
        self.cost = wholes(made.get("cost") or [1] * kinds, "cost", kinds, 1)
        self.partial = made.get("partial") is True
        self._rules(made)
        self.answered, self.kinds = case.witness is not None, list[int]()
        self.rows = list[list[int]]()
        self.total = [0] * len(self.size)
        if self.answered:
            self._answer(fields(case.witness, "count server_class", what="the answer"))

    def _answer(self, made: Step) -> None:
        """No server holds more than it has room for, there are so many, and requests are met."""
        rows = listed(made["count"], "rows")
        self.rows = [wholes(row, "count", len(self.size), 0, MOST_PRICE) for row in rows]
        self.kinds = wholes(made["server_class"], "class", len(rows), 0, len(self.room) - 1)
        charge(len(rows) * (len(self.size) * (5 + len(self.room[0])) + self.work))
        used = [0] * len(self.room)
        for kind, row in zip(self.kinds, self.rows, strict=True):
            used[kind] += 1
            self.total = [n + more for n, more in zip(self.total, row, strict=True)]
            for j, most in enumerate(self.room[kind]):
                if sum(n * size[j] for n, size in zip(row, self.size, strict=True)) > most:
                    raise Refused("a server of the answer holds more than it has room for")
        for kind, (number, there_are) in enumerate(zip(used, self.servers, strict=True)):
            if there_are is not None and number > there_are:
                raise Refused(f"the answer uses more servers of class {kind} than there are")
        for placed, wanted in zip(self.total, self.request, strict=True):
            if wanted is not None and (placed > wanted or (placed < wanted and not self.partial)):
                raise Refused("the answer does not place the VMs that are requested")
        for kind, row in zip(self.kinds, self.rows, strict=True):
            types = {i for i, n in enumerate(row) if n}
            over = any(sum(row[i] for i in group) > most for group, most in self.limits)
            if over or any(pair <= types for pair in self.apart):
                raise Refused("a server of the answer holds VMs that may not be there together")
            if not all(self.allowed[i][kind] for i in types):
                raise Refused("a server of the answer holds VMs that are not allowed there")
        for group, zones, most, skew in self.zonal:
            there = [0] * len(self.room)
            charge(5 * len(there))
            for kind, row in zip(self.kinds, self.rows, strict=True):
                there[kind] += sum(row[i] for i in group)
            totals = [sum(there[c] for c in zone) for zone in zones] or [0]
            if max(totals) > most or max(totals) - min(totals) > skew:
                raise Refused("a zone holds too many VMs")

    def _rules(self, made: Step) -> None:
        types, kinds, no_limit = len(self.size), len(self.room), MOST_PRICE**2

        def group(value: object) -> list[int]:
            members = wholes(value, "types", None, 0, types - 1)
            refuse_if(len(set(members)) < len(members), "a rule names a type twice")
            return members

        def rules(own: str, name: str, key: str, other: str) -> list[tuple[list[int], int, Step]]:
            each = enumerate(listed(made.get(own) or [None] * types, own, types))
            entries: list[object] = [{"types": [i], key: n} for i, n in each if n is not None]
            entries += listed(made.get(name, []), name)
            found = [fields(e, f"types {key}", other, f"a {name[:-1]}") for e in entries]
            return [(group(rule["types"]), whole(rule[key], key, 1), rule) for rule in found]

        allowed = listed(made.get("allowed") or [], "allowed")
        rows = [listed(row, "allowed", kinds) for row in allowed]
        if any(type(entry) is not bool for row in rows for entry in row):
            raise Refused("allowed is neither true nor false")
        self.allowed = rows or [[True] * kinds] * types
        listed(self.allowed, "allowed", types)
        self.limits, self.zonal = list[tuple[list[int], int]](), list[Zonal]()
        pairs = [listed(pair, "apart", 2) for pair in listed(made.get("apart") or [], "apart")]
        self.apart = [set(group(pair)) for pair in pairs]
        zones: dict[str, set[int]] = {}
        for c, name in enumerate(listed(made.get("zone") or [""] * kinds, "zone", kinds)):
            zones.setdefault(text_of(name, "zone"), set()).add(c)
        zones.pop("", None)
        every = list(zones.values())
        for limited, most, rule in rules("most_per_server", "limits", "most", "within"):
            if rule.get("within", "server") == "server":
                self.limits.append((limited, most))
            else:
                refuse_if(rule["within"] != "zone", "a limit is within neither server nor zone")
                self.zonal.append((limited, every, most, no_limit))
        for members, skew, rule in rules("skew", "spreads", "skew", "zones"):
            charge(kinds * (len(members) + 5))
            able = {c for c, n in enumerate(self.servers)
                    if n != 0 and any(self.allowed[i][c] for i in members)}  # fmt: skip
            named = {text_of(name, "a zone") for name in listed(rule.get("zones", []), "zones")}
            refuse_if(not named <= set(zones), "a spread names a zone in which there is no server")
            listing = sorted(zones.items())
            over = [z for name, z in listing if (name in named if named else z & able)]
            self.zonal.append((members, over, no_limit, skew))
        groups = [group for group, _ in self.limits] + [group for group, *_ in self.zonal]
        self.work = 2 * sum(map(len, groups)) + 10 * len(self.apart)  # to see if a server is right
        self.placed = dict[int, tuple[int, dict[int, int]]]()  # by server: its class, and its VMs
        for entry in listed(made.get("placed") or [], "placed"):
            server, i, n = wholes(entry, "placed", 3, 0)
            _, present = self.placed.setdefault(server, (self.class_of(server), {}))
            refuse_if(i >= types or i in present, "what runs now is of no type, or told twice")
            present[i] = n
        self.placed_vms = sum(sum(present.values()) for _, present in self.placed.values())

    def class_of(self, server: int) -> int:
        """The class of a server; they are numbered class by class."""
        charge(2 * len(self.servers))
        for c, number in enumerate(self.servers):
            server -= whole(number, "the number of servers")
            if server < 0:
                return c
        raise Refused("there is no such server")

    def cluster(self) -> tuple[list[int], list[list[Fraction]], list[list[int]]]:
        """Servers of each class; a VM's parts of all that they have; and what that was, and is."""
        refuse_if(not self.partial and any(self.request), "a request is no cap")
        servers = [whole(n, "the number of servers") for n in self.servers]
        sums = [[sum(n * row[j] for n, row in zip(servers, rows, strict=True))
                 for j in range(len(rows[0]))] for rows in (self.start, self.room)]  # fmt: skip
        sizes = [zip(row, sums[1], strict=True) for row in self.size]
        return servers, [[Fraction(d, n or 1) for d, n in row] for row in sizes], sums


# -------------------------------------------------------------------------------------------------
# Part 9. Packing: prices of VMs.


def server_patterns(given: Packing, kind: int, items: list[tuple[int, int, list[int]]],
             weights: list[int], least: int) -> list[tuple[int, dict[int, int]]]:  # fmt: skip
    """Every maximal filling of a server worth `least` or more: its worth, and copies by item.

    Items: (price above 0, most copies, size). With any weights of the resources, 0 or more, a
    filling weighs no more than the room. So what can still be added is worth no more than if
    the items of least weight per price fill what is left of it, the last in part (Dantzig
    1957).
    """
    room, line, found = given.room[kind], [], []
    charge(5 * (len(items) + 1) * len(room))
    items = [] if given.servers[kind] == 0 else items
    for i, (price, most, size) in enumerate(items):
        fits = [r // d for r, d in zip(room, size, strict=True) if d]
        heavy = sum(u * d for u, d in zip(weights, size, strict=True))
        if copies := min(most, *fits):
            line.append((Fraction(heavy, price), i, price, copies, heavy, size))
    line.sort(key=lambda item: item[:2])
    full = [(most * heavy, most * price) for _, _, price, most, heavy, _ in line]
    space, nothing = sum(u * r for u, r in zip(weights, room, strict=True)), dict[int, int]()
    stack = [(0, 0, room, space, nothing)]
    while stack:
        at, worth, free, space, counts = stack.pop()
        if at == len(line):
            charge(20 * len(counts))
            found.append((worth, counts))
            for _, i, _, most, _, size in line:
                charge(3 + len(room))
                more = counts.get(i, 0) < most
                if more and all(d <= f for d, f in zip(size, free, strict=True)):
                    found.pop()  # it is not maximal
                    break
            continue
        _, i, price, most, heavy, size = line[at]
        fits = [f // d for f, d in zip(free, size, strict=True) if d]
        for copies in range(min(most, *fits), -1, -1):
            reach, left, k = worth + copies * price, space - copies * heavy, at + 1
            while k < len(line) and full[k][0] <= left:
                reach, left, k = reach + full[k][1], left - full[k][0], k + 1
            if k < len(line):
                reach += line[k][2] * left // line[k][4]
            charge(20 + len(counts) + 2 * len(room) + 3 * (k - at))
            if max(len(found), len(stack) // 10) > MOST_FOUND:
                raise Refused("there are more fillings than this program has memory for")
            if reach < least:
                break
            rest = [f - copies * d for f, d in zip(free, size, strict=True)]
            added = {**counts, i: copies} if copies else counts
            stack.append((at + 1, worth + copies * price, rest, space - copies * heavy, added))
    return found


class Priced:
    """What answers that serve `owed` VMs cost at least, by a step of "prices".

    Theorem. Let prices y of VMs, a scale t and rents r of servers be 0 or more, and no filling of a
    server of any class c (with up to `owed` VMs of each type) be worth more than cost_c t + r_c. An
    answer uses at most n_c servers of each class and serves VMs worth y.owed, so that its cost
    times t is at least gain := y.owed - sum of r_c n_c. Costs are whole: it costs at least gain / t
    rounded up. If t is 0 and gain above 0 there is no answer (bound None).
    With a tree: fill up the servers of an answer of cost up to `target` (of any cost, if t is 0).
    What they fall short of cost_c t + r_c is at most target t - gain =: reach in all, so for each.
    All fillings as good are listed. The answer takes each of them a whole number of times, a
    column: they serve what is owed with at most n_c servers and cost at most target. Further
    columns are sums: how many fillings of a class (-1: any) hold so many copies of some items. The
    tree shows that no whole numbers are like this; so there is no such answer.
    """

    kind = "prices scale rents weights|target sums tree leaves cuts"

    def __init__(self, given: Packing, owed: list[int], cost: list[int],
                 made: Step) -> None:  # fmt: skip
        self.given, self.cost, self.made, classes = given, cost, made, len(given.room)
        prices = wholes(made["prices"], "prices", len(owed), 0, MOST_PRICE)
        class_prices = wholes(made["rents"], "rents", classes, 0, MOST_PRICE)
        self.scale = scale = whole(made["scale"], "scale", 0, MOST_PRICE)
        self.target = whole(made.get("target", 0), "target", 0, MOST_PRICE)
        alike: dict[tuple[int, tuple[int, ...]], int] = {}
        for price, number, size in zip(prices, owed, given.size, strict=True):
            if price and number:
                alike[price, tuple(size)] = alike.get((price, tuple(size)), 0) + number
        items = [(price, number, list(size)) for (price, size), number in alike.items()]
        self.owed = list(alike.values())
        if any(r and n is None for r, n in zip(class_prices, given.servers, strict=True)):
            raise Refused("servers of which there are as many as needed have a rent")
        self.gain = sum(price * number for price, number, _ in items)
        self.gain -= sum(r * (n or 0) for r, n in zip(class_prices, given.servers, strict=True))
        reach = max(self.target * scale - self.gain, -1) if "sums" in made else -1
        self.found = list[tuple[int, dict[int, int]]]()
        for c, row in enumerate(listed(made["weights"], "weights", classes)):
            weights = wholes(row, "weights", len(given.room[0]), 0, MOST_PRICE)
            limit = cost[c] * scale + class_prices[c]
            for worth, filling in server_patterns(given, c, items, weights, max(1, limit - reach)):
                if worth > limit:
                    raise Refused(f"a filling of class {c} is worth more than the server costs")
                self.found.append((c, filling))

    def program(self) -> Program:
        """Of the fillings listed. Rows: each item, each class, the target, and two for each sum."""
        program, servers, found = Program(), self.given.servers, list(enumerate(self.found))
        for _, (c, _) in found:  # there are at most so many, or each costs at least 1
            most = servers[c]
            program.column(self.target // self.cost[c] if most is None else most)
        for i, number in enumerate(self.owed):
            program.at_most([(k, -filling.get(i, 0)) for k, (_, filling) in found], -number)
        for c, most in enumerate(servers):
            taken = [(k, int(kind == c and most is not None)) for k, (kind, _) in found]
            program.at_most(taken, most or 0)
        paid = [(k, self.cost[c]) for k, (c, _) in found if self.scale]
        program.at_most(paid, self.target if self.scale else 0)
        sums = listed(self.made["sums"], "sums")
        refuse_if(len(sums) * len(found) > 10**7, "so many sums take too long")
        for entry in sums:
            kind, *holds = wholes(entry, "a sum", None, -1)
            pairs = list(zip(holds[::2], holds[1::2], strict=True))
            charge((1 + len(pairs)) * len(found))
            counted = [k for k, (c, filling) in found if kind in (-1, c)
                       and all(filling.get(i, 0) >= n for i, n in pairs)]  # fmt: skip
            total = program.column(sum(program.high[k] for k in counted))
            program.equal([*((k, 1) for k in counted), (total, -1)], 0)
        return program

    def bound(self) -> int | None:
        """No answer costs less; None if there is none at all."""
        if "sums" in self.made:
            self.program().impossible(self.made)
            return self.target + 1 if self.scale else None
        refuse_if(not self.scale and self.gain <= 0, "the prices prove nothing")
        return -(-self.gain // self.scale) if self.scale else None


# -------------------------------------------------------------------------------------------------
# Part 10. Packing: programs of what runs where.

Kinds = list[tuple[int, int, dict[int, int]]]
Placing = tuple[Program, Kinds]


def placing_program(given: Packing, numbers: list[int], made: Step) -> Placing:
    """What every answer that serves all requests, on so many servers of each class, satisfies,
    by class; or by server, if a step says "each"; and each class, or server, with its columns.

    Columns: the servers in use of a class, and the VMs of each type on them. Rows: the VMs take
    no more room than these servers have; those of a type, of one size, or of a limit are at
    most what a server holds times these servers; types apart are on different servers, which
    have columns too. All that is requested is placed. In each zone a zonal rule counts at least
    some number, a column, and at most so many more as it allows.
    """
    program, kinds, each = Program(), Kinds(), made.get("each", False) is True
    owed = [whole(n, "what is requested") for n in given.request]
    placed: list[Terms] = [[] for _ in owed]
    sizes: dict[tuple[int, ...], list[int]] = {}
    for i, size in enumerate(given.size):
        sizes.setdefault(tuple(size), []).append(i)
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


def servers_program(given: Packing, cost: list[int], below: int | None, made: Step) -> Placing:
    """What every answer satisfies, or every one that costs less, its cost being the last row."""
    vms = sum(whole(n, "what is requested") for n in given.request)  # no server without one
    numbers = [vms if n is None else min(n, vms) for n in given.servers]
    if below is not None:
        numbers = [min(n, max(below - 1, 0) // c) for n, c in zip(numbers, cost, strict=True)]
    program, kinds = placing_program(given, numbers, made)
    paid = [(used, cost[c]) for c, used, _ in kinds]
    program.at_most(*((paid, below - 1) if below is not None else ([], 0)))
    return program, kinds


def packing_servers(case: ProofCase, costs: bool = False) -> list[CheckedLevel]:
    """The fewest servers that hold all that is requested, or (`costs`) the cheapest: by prices, or
    by a tree that shows that nothing is below a cost, or that there is no answer ("prop").
    """
    given, found = Packing(case, ruled=True), CheckedLevel()
    owed = [whole(n, "what is requested") for n in given.request]
    cost = given.cost if costs else [1] * len(given.room)
    refuse_if(given.partial, "not everything has to be served: the fewest servers are none")
    if given.answered:
        found.value = Fraction(sum(cost[kind] for kind in given.kinds))
    for kind, made in case.each(0, prices=Priced.kind, prop="tree|below each leaves cuts"):
        if kind == "prices":
            bound = Priced(given, owed, cost, made).bound()
        else:
            bound = whole(made["below"], "below") if "below" in made else None
            servers_program(given, cost, bound, made)[0].impossible(made)
        found.infeasible = found.infeasible or bound is None
        found.at_least(Fraction(bound or 0))
    return [found]


def moves_program(given: Packing, servers: int, below: int | None, made: Step) -> Placing:
    """What every answer on so many servers satisfies, or every one with fewer moves, which is the
    last row. Columns besides those of `placing_program`: of each server with VMs now, whether it is
    kept in use, and how many of its VMs of a type stay, none if it is not kept. Of a class (or of a
    server, if these are told apart) no more are kept than are in use, and no more VMs stay than are
    there then.
    """
    numbers, stay, first = [whole(n, "the number of servers") for n in given.servers], Terms(), 0
    program, kinds = placing_program(given, numbers, made)
    program.at_most([(used, 1) for _, used, _ in kinds], servers)
    for c, room in enumerate(given.room):
        charge(5 * (len(kinds) + len(given.placed)))
        there = [(used, on) for kind, used, on in kinds if kind == c]
        now = [(m - first, present) for m, (kind, present) in given.placed.items() if kind == c]
        first += numbers[c]
        each = made.get("each", False) is True
        parts = (
            [(m, [present]) for m, present in now]
            if each
            else [(0, [present for _, present in now])]
        )
        for (used, on), rows in [(there[m], rows) for m, rows in parts]:
            kept, still = Terms(), dict[int, Terms]()
            for present in rows:
                k = program.column(1)
                kept.append((k, 1))
                own = {i: program.column(n) for i, n in present.items() if i in on}
                for i, j in own.items():
                    program.at_most([(j, 1), (k, -present[i])], 0)
                    still.setdefault(i, []).append((j, 1))
                for r, space in enumerate(room):
                    taken = [(j, given.size[i][r]) for i, j in own.items()]
                    program.at_most([*taken, (k, -space)], 0)
            program.at_most([*kept, (used, -1)], 0)
            for i, terms in still.items():
                program.at_most([*terms, (on[i], -1)], 0)
                stay += terms
    fewer = [(j, -1) for j, _ in stay]
    program.at_most(*(([], 0) if below is None else (fewer, below - 1 - given.placed_vms)))
    return program, kinds


def packing_moves(case: ProofCase) -> list[CheckedLevel]:
    """The fewest VMs that leave their server, where so many servers may be in use as the option
    says. A step "witness" says on which server each row of the answer is; or a tree shows that
    there are no fewer moves, or that there is no answer ("prop").
    """
    given, found = Packing(case, ruled=True), CheckedLevel(None, Fraction(0))
    servers, total = whole(case.options.get("servers"), "servers", 1), given.placed_vms
    if given.partial or sum(map(any, given.rows)) > servers:
        raise Refused("the answer uses more servers, or not everything has to be served")
    for kind, made in case.each(0, witness="on", prop="tree|below each leaves cuts"):
        if kind == "witness":
            on, moves = wholes(made["on"], "on", len(given.rows), 0), total
            if len(set(on)) < len(on) or not given.answered:
                raise Refused("two rows of the answer are on one server, or there is no answer")
            for place, c, row in zip(on, given.kinds, given.rows, strict=True):
                refuse_if(given.class_of(place) != c, "a row is on a server of another class")
                present = given.placed.get(place, (c, {}))[1]
                moves -= sum(min(n, row[i]) for i, n in present.items())
            found.value = Fraction(moves)
            continue
        below = whole(made["below"], "below") if "below" in made else None
        moves_program(given, servers, below, made)[0].impossible(made)
        found.infeasible = found.infeasible or below is None
        found.at_least(Fraction(below or 0))
    return [found]


# -------------------------------------------------------------------------------------------------
# Part 11. Packing: shares and utilization.


class Shares:
    """Dominant shares: that of the resource of which a user has most, of all there is."""

    def __init__(self, given: Packing) -> None:
        self.given, self.unit = given, [max(part) for part in given.cluster()[1]]
        self.users = [i for i, most in enumerate(given.request) if most != 0]
        self.order = sorted(given.total[i] * self.unit[i] for i in self.users)
        self.found: list[list[dict[int, int]]] = []

    def maximal(self) -> list[list[dict[int, int]]]:
        """Every maximal filling of a server of each class, of VMs that somebody wants."""
        given, place = self.given, self.users
        items = [(1, MOST_PRICE if (n := given.request[i]) is None else n, given.size[i])
                 for i in place]  # fmt: skip
        for c in range(len(given.room) if not self.found else 0):
            found = server_patterns(given, c, items, [0] * len(given.room[c]), 1)
            self.found.append([{place[i]: n for i, n in filling.items()} for _, filling in found])
        return self.found

    def program(self, level: int) -> Program:
        """What is true of a placement whose shares, in order, are no less than the answer's before
        a level, and larger at it.

        Columns: how often each maximal filling is taken by the servers of a class, which may hold
        more than is wanted; and for each of these conditions and each user, whether it misses it.
        For each share of the answer before the level no more users are below it than in the answer;
        and no more than `level` are not above its share at the level. Who misses a condition does
        not want as many VMs as it takes, or has fewer.
        """
        program, patterns = Program(), list[dict[int, int]]()
        for found, number in zip(self.maximal(), self.given.servers, strict=True):
            program.at_most([(program.column(number or 0), 1) for _ in found], number or 0)
            patterns += found
        reached = sorted(set(self.order[:level]))
        goals = [(self.order.index(share), share, False) for share in reached]
        for below, share, above in [*goals, (level, self.order[level], True)]:
            missing = list[int]()
            for i in self.users:
                exactly, most = share / self.unit[i], self.given.request[i]
                need = int(exactly) + 1 if above else -int(-exactly // 1)
                missing.append(program.column(1))
                charge(50 + len(patterns))
                if most is not None and most < need:
                    program.low[-1] = 1
                terms = [(k, -filling[i]) for k, filling in enumerate(patterns) if i in filling]
                program.at_most([*terms, (missing[-1], -need)], -need)
            program.at_most([(j, 1) for j in missing], below)
        return program


def packing_share(case: ProofCase) -> list[CheckedLevel]:
    """The largest least dominant share of the users who want something; then, of placements whose
    lower shares are no less than here, the largest next one.

    If there is no room for so many VMs of each that all shares are above some share (or somebody
    does not want as many), that is a bound ("share"). Or a tree shows that nothing is better than
    the answer at a level ("prop").
    """
    given = Packing(case)
    shares, found = Shares(given), list[CheckedLevel]()
    for level in range(len(case.steps)):
        found.append(CheckedLevel(shares.order[level] if given.answered else None))
        kinds = {"prop": "tree|leaves cuts"} | ({} if level else {"share": "above|prices"})
        for kind, made in case.each(level, **kinds):
            if kind == "prop":
                refuse_if(not given.answered, "a tree is about an answer, and there is none")
                shares.program(level).impossible(made)
                found[-1].at_most(shares.order[level])
                continue
            share, unit = rational(made["above"], "above"), shares.unit
            charge(20 * len(unit))
            owed = [int(share // u) + 1 if i in shares.users else 0 for i, u in enumerate(unit)]
            bound, wanted = None, zip(owed, given.request, strict=True)
            if not any(most is not None and most < number for number, most in wanted):
                hint = step_of(made.get("prices"), prices=Priced.kind)[1]
                bound = Priced(given, owed, given.cost, hint).bound()
            if share < 0 or bound is not None:
                raise Refused("it is not shown that nothing gives everybody more")
            found[-1].at_most(share)
    return found


def packing_utilization(case: ProofCase) -> list[CheckedLevel]:
    """The most utilization: the mean over resources of the part in use, initial use included.

    A VM of type i adds w_i to it. Let prices y and rents r be 0 or more, and no filling of a server
    of a class c be worth more than r_c. An answer with s_i <= cap_i VMs of each type adds
    w.s <= y.s + sum of max(0, w_i - y_i) cap_i, and y.s <= sum of r_c n_c; what is not capped must
    have y_i >= w_i. What VMs add is a whole number of times what divides all w.
    """
    given, found = Packing(case), CheckedLevel()
    servers, _, sums = given.cluster()
    there = [j for j, space in enumerate(sums[0]) if space]
    once = common([sums[0][j] for j in there])
    rows = [[row[j] * (once // sums[0][j]) for j in there] for row in [sums[1], *given.size]]
    free, *weight = map(sum, rows)
    shared = math.gcd(once * len(there), *weight)
    unit, weight = once * len(there) // shared, [w // shared for w in weight]
    begin = 1 - Fraction(free, once * len(there))
    if given.answered:
        used = sum(n * w for n, w in zip(given.total, weight, strict=True))
        found.value = begin + Fraction(used, unit)
    for _, made in case.each(0, prices="prices over rents weights"):
        over = whole(made["over"], "over", 1, MOST_PRICE)
        prices = wholes(made["prices"], "prices", len(weight), 0, MOST_PRICE)
        class_prices = wholes(made["rents"], "rents", len(servers), 0, MOST_PRICE)
        caps = [MOST_PRICE if cap is None else cap for cap in given.request]
        items = [item for item in zip(prices, caps, given.size, strict=True) if item[0] and item[1]]
        for c, row in enumerate(listed(made["weights"], "weights", len(servers))):
            weights = wholes(row, "weights", None, 0, MOST_PRICE)
            if any(
                w > class_prices[c]
                for w, _ in server_patterns(given, c, items, weights, class_prices[c] + 1)
            ):
                raise Refused(f"a filling of class {c} is worth more than its rent")
        most = sum(r * n for r, n in zip(class_prices, servers, strict=True))
        for price, w, cap in zip(prices, weight, given.request, strict=True):
            refuse_if(
                cap is None and price < w * over, "a price without a cap is below what VMs add"
            )
            most += max(0, w * over - price) * (cap or 0)
        shared = math.gcd(*weight)
        found.at_most(begin + Fraction(most // (over * shared) * shared, unit))
    return [found]


# -------------------------------------------------------------------------------------------------
# Part 12. The game of packing: servers that choose their VMs one after the other.

Row = tuple[int, ...]
Powers = tuple[Fraction, ...]


class Play:
    """The subgame-perfect play of Xu and Yu's allocation game (2014, section 4.3), by definition.

    Each server chooses among the `eta` combinations of VMs that leave its least used resource most
    used (eq. 10; ties: lexicographic); servers move in order of the last one's (eq. 11), and each
    wants v + skewness small: v = (sum of |n_i r_ij / C_j - lambda d_ij|^(alpha - 1))^(1 / alpha)
    over all users and resources (eq. 4, 5), skewness = root of sum (u_j / mean u - 1)^2 (eq. 7).
    What others do matters through total counts alone: backward induction over these, ties to the
    lexicographically first. Roots are whole numbers of 2^-bits, rounded down, so that what they add
    up to lies between two numbers; what 4,000 bits do not tell apart must be equal part by part.
    """

    def __init__(self, given: Packing, options: Step) -> None:
        self.given, self.cap = given, given.request
        self.servers, share, (_, total) = given.cluster()
        alpha, players = rational(options.get("alpha", 2), "alpha"), sum(self.servers)
        self.over = whole(alpha.denominator, "the denominator of alpha", 1, 64)
        self.alpha = whole(alpha.numerator, "the numerator of alpha", self.over + 1, 64)
        shrunk = max([2, *(n for n in range(2, 11) if n ** min(players, 99) <= 100_000)])
        eta = options.get("eta", 5)
        self.eta = shrunk if eta == "shrinking" else whole(eta, "eta", 1)
        self.most = rational(options.get("overload", MOST_PRICE), "overload")
        refuse_if(players > 1000, "there are too many servers")
        wish = [[part / max(row) for part in row] for row in share]
        digits = common([part.denominator for row in wish for part in row]).bit_length()
        self.digits = (digits * self.alpha) ** 2 // 10**4  # steps that such a power takes
        level = 1 / max(map(sum, zip(*wish, strict=True)))
        there = [j for j, n in enumerate(total) if n]
        self.due = [[(a[j], level * b[j]) for j in there] for a, b in zip(share, wish, strict=True)]
        self.roots, self.parts = dict[tuple[Fraction, int, int], int](), dict[Row, Powers]()
        moves = [self.moves(c) for c in range(len(self.servers))]
        order = sorted((lowest, c) for c, (lowest, _) in enumerate(moves))
        self.kinds = [c for _, c in order for _ in range(self.servers[c])]
        self.choices = [moves[c][1] for c in self.kinds]

    def moves(self, c: int) -> tuple[Fraction, list[tuple[Row, Fraction]]]:
        """eq. 11's least utilization, and the combinations in order, with skewness^2."""
        given, rows = self.given, [(Row(), self.given.room[c])]
        for size, cap in zip(given.size, self.cap, strict=True):
            longer = list[tuple[Row, list[int]]]()
            for row, free in rows:
                fits = [f // d for f, d in zip(free, size, strict=True) if d]
                most = min(fits if cap is None else [cap, *fits])
                charge((most + 1) * (300 + 30 * len(free)))
                for n in range(most + 1):
                    left = [f - n * d for f, d in zip(free, size, strict=True)]
                    longer.append(((*row, n), left))
            rows = longer
        ranked = []
        for row, free in rows:
            used, uneven = self.skewness(c, free)
            ranked.append((not any(row) or max(used) > self.most, -min(used), row, uneven))
        chosen = sorted(entry for entry in ranked if not entry[0])[: self.eta] or ranked[:1]
        return -chosen[-1][1], sorted((row, uneven) for _, _, row, uneven in chosen)

    def skewness(self, c: int, free: list[int]) -> tuple[list[Fraction], Fraction]:
        """What part of each resource of a server is used, and the square of its skewness."""
        used = [Fraction(s - f, s) for s, f in zip(self.given.start[c], free, strict=True) if s]
        squares, total = sum(u * u for u in used), sum(used) or Fraction(1)
        return used, max(len(used) * (len(used) * squares / total**2 - 1), Fraction(0))

    def variance(self, total: Row) -> Powers:
        """v^alpha of total counts; if alpha is p/q, the parts to the power p - q, in order."""
        if total not in self.parts:
            charge((600 + self.digits) * len(total))
            parts = [abs(n * a - b) for n, due in zip(total, self.due, strict=True) for a, b in due]
            powers = sorted(Fraction(part ** (self.alpha - self.over)) for part in parts)
            once = self.over == 1
            self.parts[total] = (sum(powers, Fraction(0)),) if once else tuple(powers)
        return self.parts[total]

    def root(self, value: Fraction, k: int, bits: int) -> int:
        """2^bits times the k-th root, rounded down; Newton's method from above."""
        if (value, k, bits) not in self.roots:
            number = (value.numerator << k * bits) // value.denominator
            guess, lower = 1 << -(-number.bit_length() // k), -1
            while number and lower < guess:
                guess = guess if lower < 0 else lower
                lower = ((k - 1) * guess + number // guess ** (k - 1)) // k
            self.roots[value, k, bits] = guess if number else 0
        return self.roots[value, k, bits]

    def around(self, worth: tuple[Powers, Fraction], bits: int) -> tuple[int, int]:
        """Whole numbers of 2^-bits around v + skewness, given the powers of v and skewness^2."""
        powers, uneven = worth
        charge(4 * bits * len(powers) * self.over)
        sums = [powers[0]] * 2
        if self.over > 1:
            roots = sum(self.root(power, self.over, bits) for power in powers)
            sums = [Fraction(n, 2**bits) for n in (roots, roots + len(powers))]
        low, high = (self.root(n**self.over, self.alpha, bits) for n in sums)
        skewness = self.root(uneven, 2, bits)
        return low + skewness, high + skewness + 2

    def less(self, one: tuple[Powers, Fraction], two: tuple[Powers, Fraction]) -> bool:
        """Whether v + skewness of one is less than that of two."""
        if one == two:
            return False
        for bits in (64, 4000):
            (low, high), (least, most) = self.around(one, bits), self.around(two, bits)
            if high <= least or most <= low:
                return high <= least
        raise Refused("two utilities are equal to a thousand digits, but not part by part")

    def after(self, total: Row, place: int) -> list[tuple[Row, Fraction, Row]]:
        """What a server may choose, with skewness^2 and the counts then; else nothing."""
        found, nothing = [], (0,) * len(total)
        for row, uneven in self.choices[place]:
            more = tuple(n + added for n, added in zip(total, row, strict=True))
            if all(cap is None or n <= cap for n, cap in zip(more, self.cap, strict=True)):
                found.append((row, uneven, more))
        charge(150 * len(self.choices[place]))
        idle = self.skewness(self.kinds[place], self.given.room[self.kinds[place]])[1]
        return found or [(nothing, idle, total)]

    def least(self) -> Fraction:
        """No play is worth less: servers x v + the sum of skewness, roots rounded down."""
        sums = {(0,) * len(self.cap): 0}
        for place in range(len(self.kinds)):
            after = dict[Row, int]()
            for total, done in sums.items():
                for _, uneven, more in self.after(total, place):
                    worth = done + self.root(uneven, 2, 256)
                    after[more] = min(worth, after.get(more, worth))
            sums = after
        around = {total: self.around((self.variance(total), Fraction(0)), 256) for total in sums}
        return Fraction(min(len(self.kinds) * around[t][0] + sums[t] for t in sums), 2**256)

    def worth(self) -> Fraction:
        """What the answer is worth, rounded up, if it is a play, its servers in order."""
        queues: dict[int, list[Row]] = {c: [] for c in self.kinds}
        for c, row in zip(self.given.kinds, self.given.rows, strict=True):
            queues[c].append(tuple(row))
        total, worth = (0,) * len(self.cap), 0
        for place, c in enumerate(self.kinds):
            own = queues[c].pop(0) if queues[c] else (0,) * len(self.cap)
            choice = [entry for entry in self.after(total, place) if entry[0] == own]
            refuse_if(not choice, "the answer is no play of the game")
            worth += self.root(choice[0][1], 2, 256) + 1
            total = choice[0][2]
        high = self.around((self.variance(total), Fraction(0)), 256)[1]
        return Fraction(worth + len(self.kinds) * high, 2**256)

    def play(self) -> list[Row]:
        """What each server chooses, in the order of moves."""
        moves, nothing, after = self.choices, (0,) * len(self.cap), self.after
        levels = [{nothing}]
        for place in range(len(moves)):
            levels.append({more for total in levels[-1] for _, _, more in after(total, place)})
        end, choices = {total: total for total in levels[-1]}, list[dict[Row, tuple[Row, Row]]]()
        for place in range(len(moves) - 1, -1, -1):
            before, chosen = dict[Row, Row](), dict[Row, tuple[Row, Row]]()
            for total in levels[place]:
                best: tuple[Powers, Fraction] | None = None
                for row, uneven, more in after(total, place):
                    worth = (self.variance(end[more]), uneven)
                    if best is None or self.less(worth, best):
                        best, chosen[total], before[total] = worth, (row, more), end[more]
            end = before
            choices.insert(0, chosen)
        rows, total = list[Row](), nothing
        for chosen in choices:
            row, total = chosen[total]
            rows.append(row)
        return rows


def packing_play(case: ProofCase) -> list[CheckedLevel]:
    """The subgame-perfect play: no server regrets what it chose."""
    given, found = Packing(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        play = Play(given, case.options)
        own = sorted(used for used in zip(play.kinds, play.play(), strict=True) if any(used[1]))
        rows = zip(given.kinds, map(tuple, given.rows), strict=True)
        if given.answered and own == sorted(used for used in rows if any(used[1])):
            found.epsilon = {"regret": Fraction(0)}
    return [found]


def packing_joint(case: ProofCase) -> list[CheckedLevel]:
    """The least disutility of all servers together, over the plays of the game."""
    given, found = Packing(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        play = Play(given, case.options)
        found = CheckedLevel(play.worth() if given.answered else None, play.least())
    return [found]


# -------------------------------------------------------------------------------------------------
# Part 13. Admission: jobs on virtual machines (VMs) whose cores are of several types.


class Admission:
    """An instance and its answer; speeds are whole numbers over `unit`."""

    def __init__(self, case: ProofCase) -> None:
        others = "length names machine_names"
        made = fields(case.document, "cores threads speed", others, "the instance")
        rows = listed(made["cores"], "cores")
        self.cores = [wholes(row, "cores", None, 0, MOST_PRICE) for row in rows]
        self.threads = wholes(made["threads"], "threads", None, 1, MOST_PRICE)
        self.wide = len(self.cores[0])
        rows = listed(made["speed"], "speed", len(self.threads))
        flat = [value for row in rows for value in listed(row, "speed", self.wide)]
        numbers, self.unit = scaled(flat, "speed")
        self.digits = max(map(int.bit_length, [self.unit, *(number or 0 for number in numbers)]))
        parts = range(0, len(flat), self.wide)
        self.speed = [[whole(v, "speed", 1) for v in numbers[k : k + self.wide]] for k in parts]
        self.served: int | None = None
        self.total: Fraction | None = None
        if case.witness is not None:
            self._answer(fields(case.witness, "machine cores", what="the answer"))

    def _answer(self, made: Step) -> None:
        """One VM a job, at most its threads, no core used twice."""
        machine = wholes(made["machine"], "machine", len(self.threads), -1, len(self.cores) - 1)
        rows = listed(made["cores"], "cores", len(machine))
        used_cores = [wholes(row, "cores", self.wide, 0) for row in rows]
        left, total = [list(row) for row in self.cores] + [[0] * self.wide], 0
        for vm, row, most, fast in zip(machine, used_cores, self.threads, self.speed, strict=True):
            left[vm] = [n - used for n, used in zip(left[vm], row, strict=True)]
            if min(left[vm]) < 0 or sum(row) > most or (vm >= 0) != any(row):
                raise Refused("a job of the answer holds cores that it may not hold")
            total += sum(s * n for s, n in zip(fast, row, strict=True))
        self.served, self.total = sum(vm >= 0 for vm in machine), Fraction(total, self.unit)

    def bound(self, made: Step) -> Fraction:
        """The most total speed, by a step of "prices".

        Theorem. Let jobs have prices p >= 0, and let F(S) be the most speed of a set S of jobs on a
        VM. If F(S) - p(S) <= top_k for all S on a VM of kind k (VMs of a kind have the same cores),
        no assignment has more speed than sum p + the tops of all VMs. At rents q >= 0 of the cores
        F(S) <= q.cores + what each job of S would gain on the VM alone, paying the rents. A tree
        over whether a job is in S or out, with rents at its leaves, proves a top: an undecided job
        counts where it would gain more than its price.
        """
        over = whole(made["over"], "over", 1, MOST_PRICE)
        prices = wholes(made["jobs"], "jobs", len(self.threads), 0, MOST_PRICE)
        total, kinds = sum(prices) * self.unit, dict[tuple[int, ...], int]()
        for row in self.cores:
            kinds[tuple(row)] = kinds.get(tuple(row), 0) + 1
        trees = listed(made["kinds"], "kinds", len(kinds))
        for (cores, number), tree in zip(kinds.items(), trees, strict=True):
            total += number * max(0, self.top(tree, cores, prices, over, {}))
        return Fraction(total, self.unit * over)

    def top(self, node: object, cores: tuple[int, ...], prices: list[int], over: int,
            decided: dict[int, bool]) -> int:  # fmt: skip
        """No set of jobs on a VM is worth more beyond its price, times `over` and `unit`."""
        if isinstance(node, dict):
            made = fields(node, "job in out", what="a node")
            job = whole(made["job"], "job", 0, len(prices) - 1)
            sides = [(made["in"], True), (made["out"], False)]
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
    """The most total speed."""
    given = Admission(case)
    found = CheckedLevel(given.total)
    for _, made in case.each(len(case.steps) - 1, prices="jobs over kinds"):
        found.at_most(given.bound(made))
    return [found]


def admission_jobs(case: ProofCase) -> list[CheckedLevel]:
    """Most jobs served, as a share: each holds a core of its own ("witness"). Then most speed."""
    given, [second] = (
        Admission(case),
        admission_speed(case) if len(case.steps) > 1 else [CheckedLevel()],
    )
    list(case.each(0, witness=""))
    jobs, cores = len(given.threads), sum(map(sum, given.cores))
    served = None if given.served is None else Fraction(given.served, jobs)
    return [CheckedLevel(served, Fraction(min(jobs, cores), jobs)), second]


# -------------------------------------------------------------------------------------------------
# Part 14. NUMA: long-run flows of tasks from the memory of their data to processors.


class Flows:
    """Tasks of class k with data in memory l are share_k share_l of all; they may run anywhere.

    At distance d (hops, or another blade) one takes time[k][d] of a core, and the links spend
    energy[k][d] on it. The answer says what parts of them go to which processor; else they run
    where their data is. `work`: the seconds that one task a second gives each processor.
    """

    def __init__(self, case: ProofCase) -> None:
        shape, shares = "blades rows columns cores", "class_share location_share"
        others = "rate refusal_limit law scv arrival_law arrival_scv queues names"
        needed = f"{shape} {shares} service_mean ht1 pcie bandwidth"
        made = fields(case.document, needed, others, "the instance")
        blades, rows, columns, self.cores = (whole(made[n], n, 1, 10**5) for n in shape.split())
        self.processors, far = range(blades * rows * columns), rows + columns - 1
        lists = [[exact(v, n) for v in listed(made[n], n)] for n in needed.split()[4:]]
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

    def priced(self, made: Step, joules: bool) -> tuple[Fraction, Fraction]:
        """At prices of a second of a core: what all cores earn, and what a task costs at least.

        Theorem. Let the prices y be 0 or more. A task of class k and memory m costs at least the
        least of time y (+ energy) over the processors, v; and all cores together earn no more than
        cores sum y. So rate * mean of v <= earned, and power >= rate * mean of v - earned.
        """
        prices, over = rationals(made["prices"], "prices", len(self.processors))
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
    """The most tasks a second; then the least link power at the answer's rate."""
    given, found = Flows(case), [CheckedLevel() for _ in case.steps]
    rate = Fraction(given.cores) / max(given.work) if case.witness is not None else None
    for _, made in case.each(0, dual="prices"):
        earned, cost = given.priced(made, joules=False)
        found[0].at_most(earned / cost)
    found[0].value = rate
    for _, made in case.each(1, dual="prices"):
        if rate is None:
            raise Refused("the second level is about an answer, and there is none")
        earned, cost = given.priced(made, joules=True)
        found[1].value = rate * given.joules
        found[1].at_least(max(rate * cost - earned, Fraction(0)))
    return found


def numa_power(case: ProofCase) -> list[CheckedLevel]:
    """The least link power at a rate, or that no placement sustains it."""
    given, found = Flows(case), CheckedLevel(None, Fraction(0))
    rate = exact(case.document["rate"], "rate")
    rate = rational(case.options.get("throughput", str(rate)), "throughput")
    refuse_if(rate <= 0, "the throughput is not above 0")
    for _, made in case.each(0, dual="prices"):
        earned, cost = given.priced(made, joules=False)
        found.infeasible = found.infeasible or rate * cost > earned
        earned, cost = given.priced(made, joules=True)
        found.at_least(rate * cost - earned)
    if case.witness is not None:
        refuse_if(rate * max(given.work) > given.cores, "the answer overfills a processor")
        found.value = rate * given.joules
    return [found]


# -------------------------------------------------------------------------------------------------
# Part 15. Scheduling: organizations that pool machines and send jobs; only what is done before the
# horizon counts. A unit of work done before t is worth its age at t, so a job that starts at s and
# ends at e is worth age(t - s) - age(t - e) then, age(x) = x (x + 1) / 2 for x > 0.


class Scheduling:
    """An instance and its answer; `queues`: each organization's jobs as they start."""

    def __init__(self, case: ProofCase) -> None:
        made = fields(case.document, "machines job horizon", "names", "the instance")
        self.machines = wholes(made["machines"], "machines", None, 0, MOST_PRICE)
        job = fields(made["job"], "organization release processing", what="job")
        self.horizon = whole(made["horizon"], "horizon", 1, MOST_PRICE)
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

    def _answer(self, made: Step) -> None:
        """Jobs run between release and horizon, in their order, one at a time on each machine."""
        jobs, most = len(self.owner), sum(self.machines) - 1
        self.start = start = wholes(made["start"], "start", jobs, -1, self.horizon - 1)
        machine = wholes(made["machine"], "machine", jobs, -1, most)
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

    def priced(self, made: Step, utility: bool) -> int:
        """What units of work, or total utility, no schedule passes, by prices of machines' time.

        Theorem. Let a moment of a machine cost l(t) >= 0, constant from each of the given times to
        the next. What a schedule is worth is what its jobs earn beyond their costs, plus these, and
        nobody pays for a machine's moment twice. So it is at most machines * sum of l plus, for
        each job, the most that it could earn beyond its cost. Between the release, the times, the
        times - length and horizon - length that is convex in the start: only these starts count.
        """
        prices, over = rationals(made["prices"], "prices")
        times = wholes(made["times"], "times", len(prices), 0, self.horizon - 1)
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
        refuse_if(len(given.machines) > 13, "so many coalitions would take too long")
        for coalition in range(1, 1 << len(given.machines)):
            self.past[coalition] = []
            self.start = self.play(coalition)

    @staticmethod
    def ages(sums: list[int], t: int) -> int:
        """The sum of age(t - x), given how many x there are, their sum, and their squares'."""
        return (sums[0] * t * (t + 1) - (2 * t + 1) * sums[1] + sums[2]) // 2

    def phi(self, members: list[int], t: int) -> dict[int, int]:
        """Shapley values times lcm(1..k), less what the members' own value adds to each alike."""
        size, phi = len(members), dict.fromkeys(members, 0)
        unit = math.lcm(*range(1, size + 1))
        weight = [unit // (size * math.comb(size - 1, taken)) for taken in range(size)]
        whole_coalition = sum(1 << u for u in members)
        part = (whole_coalition - 1) & whole_coalition
        while part:
            past, low, high = self.past[part], 0, len(self.past[part])
            while low < high:  # the last entry up to t
                middle = (low + high) // 2
                low, high = (middle + 1, high) if past[middle][0] <= t else (low, middle)
            worth, taken = self.ages(past[low - 1][1], t) if low else 0, part.bit_count()
            for u in members:
                phi[u] += worth * (weight[taken - 1] if part >> u & 1 else -weight[taken])
            part = (part - 1) & whole_coalition
            charge(10 + 4 * size)
        return phi

    def play(self, coalition: int) -> list[int]:
        """The start of each job for a coalition, -1 for none; its worth goes to `past`."""
        given, members = self.given, [u for u in range(13) if coalition >> u & 1]
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


def scheduling_ref(case: ProofCase) -> list[CheckedLevel]:
    """Unfairness: how far utilities are from REF's in all, per unit of its work."""
    given, found = Scheduling(case), CheckedLevel()
    reading = case.options.get("reading", "figure")
    refuse_if(reading not in ("figure", "definition"), "reading is neither figure nor definition")
    for _ in case.each(0, recompute=""):
        units, fair = given.worth(Shapley(given, int(reading == "definition")).start)
        if given.start is not None and units:
            _, utility = given.worth(given.start)
            off = sum(abs(a - b) for a, b in zip(utility, fair, strict=True))
            found = CheckedLevel(Fraction(off, units), Fraction(0))
    return [found]


def scheduling_most(case: ProofCase, utility: bool = False) -> list[CheckedLevel]:
    """The most work done before the horizon, as a share of all machines' time; or most utility."""
    given, found = Scheduling(case), CheckedLevel()
    unit = 1 if utility else sum(given.machines) * given.horizon
    if given.start is not None:
        units, worth = given.worth(given.start)
        found.value = Fraction(sum(worth) if utility else units, unit)
    for kind, made in case.each(0, recompute="", dual="times prices"):
        most = given.fluid()[utility] if kind == "recompute" else given.priced(made, utility)
        found.at_most(Fraction(most, unit))
    return [found]


# -------------------------------------------------------------------------------------------------
# Part 16. Groups: jobs of T types on machines of several classes, several jobs on a machine.


class Groups:
    """An instance and its answer; what a group costs is a whole number over `unit`.

    A group is a tuple of types, in order. `columns`: every class and group that an answer can have,
    and what its jobs lose together. Machines have no more empty seats than there are to spare in
    all, which bounds how small a group can be.
    """

    def __init__(self, case: ProofCase) -> None:
        models = "machines penalty pressure knots sensitivity table"
        made = fields(case.document, "count seats", f"{models} names classes", "the instance")
        self.made, self.count = made, wholes(made["count"], "count", None, 0, MOST_PRICE)
        self.jobs = whole(sum(self.count), "the number of jobs", 1)
        self.seats = wholes(made["seats"], "seats", None, 1, 64)
        enough: list[object] = [-(-self.jobs // seats) for seats in self.seats[:1]]
        many = listed(made.get("machines", enough), "machines", len(self.seats))
        self.machines = [self.jobs if v is None else amount(v, "machines") for v in many]
        self.machines = [min(self.jobs, number) for number in self.machines]
        seats = sum(n * s for n, s in zip(self.machines, self.seats, strict=True))
        if seats < self.jobs or sum(name in made for name in ("penalty", "knots", "table")) != 1:
            raise Refused("the instance has too few seats, or no penalties, or two kinds of them")
        self.spare, self.table = seats - self.jobs, dict[tuple[int, tuple[int, ...]], list[int]]()
        if "table" in made:
            self._read_table(listed(made["table"], "table"))
        elif "penalty" in made:
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
        """A field of T rows, the same for all classes or for each its own."""
        value = listed(self.made[name], name)
        first, size, classes = listed(value[0], name), len(self.count), len(self.seats)
        deep = bool(first) and isinstance(first[0], list)
        blocks = listed(value, name, classes) if deep else [value]
        rows = [row for block in blocks for row in listed(block, name, size)]
        numbers, unit = scaled([v for row in rows for v in listed(row, name, width)], name)
        if max(abs(number or 0) for number in numbers) > unit:
            raise Refused(f"{name} holds a number that is not from -1 to 1")
        parts = [numbers[k : k + width] for k in range(0, len(numbers), width)]
        made = [parts[k : k + size] for k in range(0, len(parts), size)]
        return made if deep else made * classes, unit

    def _read_curves(self) -> None:
        """Curves at knots; `unit` has every slope as a whole number."""
        loads = listed(self.made.get("pressure"), "pressure", len(self.count))
        knots = listed(self.made["knots"], "knots")
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
            place = whole(entry.get("class", -1), "class", -1, len(self.seats) - 1)
            pairs = sorted((a, whole(next(given), "penalty", -self.unit)) for a in group)
            key = place, tuple(a for a, _ in pairs)
            if not group or key in self.table or len(set(pairs)) != len(set(group)):
                raise Refused("a group of the table is empty, told twice, or has jobs of one type "
                              "that lose unlike parts")  # fmt: skip
            self.table[key] = [number for _, number in pairs]

    def _groups(self, place: int) -> list[tuple[int, ...]]:
        """Every group for a class that the jobs can form, also forbidden ones."""
        there = [a for a, number in enumerate(self.count) if number]
        seats, least = self.seats[place], max(1, self.seats[place] - self.spare)
        charge(5 * len(self.count))
        if not self.machines[place]:
            return []
        if "table" in self.made:
            charge(20 * len(self.table))
            known = {group for of, group in self.table if of in (-1, place)}
            listing = sorted(known | {(a,) for a in there})
        else:
            charge((50 + seats) * math.comb(len(there) + seats, seats))  # all groups, of any size
            listing, longer = list[tuple[int, ...]](), [tuple[int, ...]()]
            for size in range(1, seats + 1):
                longer = [(*g, a) for g in longer for a in there if not g or a >= g[-1]]
                listing += longer if size >= least else []
        fit = [g for g in listing if least <= len(g) <= seats]
        return [g for g in fit if all(g.count(a) <= self.count[a] for a in g)]

    def cost(self, place: int, group: tuple[int, ...]) -> int | None:
        """What the jobs of a group lose together; None where it may not be formed.

        A job alone loses nothing, unless a table says so. Else it loses: what the table says; or
        the sum of its penalties from the others, at most 1; or its curve, a straight line between
        knots, at the sum of the others' pressures.
        """
        charge(2 * len(group) * (len(group) + 8) + self.unit.bit_length() // 16)
        if "table" in self.made:
            alone = [0] if len(group) == 1 else None
            found = self.table.get((place, group), self.table.get((-1, group), alone))
            return None if found is None else sum(found)
        total = 0
        for k, a in enumerate(group if len(group) > 1 else ()):
            row, others = self.rows[place][a], group[:k] + group[k + 1 :]
            if "penalty" in self.made:
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

    def _answer(self, made: Step) -> None:
        """Every job is placed once, in groups that may be formed, on machines that there are."""
        number = wholes(made["number"], "number", None, 1)
        where = wholes(made["where"], "where", len(number), 0, len(self.seats) - 1)
        rows = listed(made["members"], "members", len(number))
        costs = {(place, group): cost for place, group, cost in self.columns}
        placed, used, self.total = [0] * len(self.count), [0] * len(self.seats), 0
        for row, place, many in zip(rows, where, number, strict=True):
            group = tuple(sorted(a for a in wholes(row, "members", None, -1) if a >= 0))
            refuse_if((place, group) not in costs, "the answer has a group that may not be formed")
            for a in group:
                placed[a] += many
            used[place] += many
            self.total += many * costs[place, group]
        if placed != self.count or any(u > m for u, m in zip(used, self.machines, strict=True)):
            raise Refused("the answer does not place every job once, or takes too many machines")

    def mean(self, total: int) -> Fraction:
        """Of the jobs."""
        return Fraction(total, self.unit * self.jobs)

    def priced(self, made: Step) -> tuple[int, list[int], int]:
        """What all jobs lose together at least, times `over`; for each column how much more it is
        in an answer that has it; and `over`.

        Theorem. Let jobs of type a have any prices p[a]. A group S on class c costs its members'
        prices and a rest; let r[c] be the least rest on c, or 0 if that is less. A machine adds no
        less than r[c], and one that is not used adds 0. So every answer costs no less than
            sum of p[a] count[a] + sum of r[c] machines[c],
        and one with the group S on c no less than that and rest of S - r[c].
        """
        prices, over = rationals(made["prices"], "prices", len(self.count))
        digits = max(map(int.bit_length, [over, *prices]))
        charge(len(self.columns) * (20 + 2 * max(self.seats) + digits // 16))
        rest = [cost * over - sum([prices[a] for a in group]) for _, group, cost in self.columns]
        least = [0] * len(self.seats)
        for (place, _, _), more in zip(self.columns, rest, strict=True):
            least[place] = min(least[place], more)
        total = sum(p * n for p, n in zip(prices, self.count, strict=True))
        total += sum(r * n for r, n in zip(least, self.machines, strict=True))
        extra = [r - least[c] for (c, _, _), r in zip(self.columns, rest, strict=True)]
        return total, extra, over

    def program(self, made: Step | None, most: int) -> tuple[Program, Terms]:
        """What every answer that costs no more than `most` satisfies, and its cost: columns that
        prices rule out are left out. Without prices: what every answer satisfies.
        """
        total, more, over = (0, [0] * len(self.columns), 1) if made is None else self.priced(made)
        program, cost = Program(), Terms()
        charge(20 * len(self.columns))
        of_type: list[Terms] = [[] for _ in self.count]
        of_class: list[Terms] = [[] for _ in self.seats]
        for (place, group, each), extra in zip(self.columns, more, strict=True):
            if made is None or total + extra <= most * over:
                often = {a: group.count(a) for a in group}
                fit = min(self.count[a] // times for a, times in often.items())
                j = program.column(min(fit, self.machines[place]))
                cost.append((j, each))
                of_class[place].append((j, 1))
                for a, times in often.items():
                    of_type[a].append((j, times))
        for terms, number in zip(of_type, self.count, strict=True):
            program.equal(terms, number)
        for terms, number in zip(of_class, self.machines, strict=True):
            program.at_most(terms, number)
        return program, cost


def groups_optimal(case: ProofCase) -> list[CheckedLevel]:
    """Least mean penalty: prices, and a tree over the groups that they leave, none if there are no
    such groups ("prop"); or a tree that shows that there is no answer ("nobody").
    """
    given = Groups(case)
    found = CheckedLevel(None if given.total is None else given.mean(given.total))
    kinds = {"prop": "prices below tree|leaves cuts", "nobody": "tree|leaves cuts"}
    for kind, made in case.each(0, **kinds):
        most = whole(made["below"], "below") - 1 if kind == "prop" else 0
        program, cost = given.program(made if kind == "prop" else None, most)
        program.at_most(cost if kind == "prop" else [], most)
        program.impossible(made)
        found.infeasible = found.infeasible or kind == "nobody"
        found.at_least(given.mean(most + 1))
    return [found]


# -------------------------------------------------------------------------------------------------
# What can be proved: (problem, method): the options that may be given (a text of words), the levels
# (objective and sense), and the checker: what it found of each level that the case has steps of.

_METHODS = (
    ("colocation", "optimal", "", "penalty min", colocation_optimal),
    ("colocation", "fair", "", "slack min, penalty min", colocation_fair),
    ("colocation", "fair-within", "slack", "penalty min",
     lambda case: colocation_fair(case, True)),
    ("colocation", "stable", "alpha alpha_mode", "blocking_pairs min, penalty min",
     colocation_stable),
    ("market", "fisher fisher-convex", "", "equilibrium_error min", market_equilibrium),
    ("market", "nash-welfare", "utility whole", "nash_welfare max", market_nash_welfare),
    ("market", "leximin", "", "sharing_index max" + ", sharing_ratio max" * 999, market_leximin),
    ("market", "utilitarian", "whole", "total_utility max", market_utilitarian),
    ("packing", "min-servers cp-sat arc-flow", "", "servers min", packing_servers),
    ("packing", "min-cost", "", "cost min", lambda case: packing_servers(case, True)),
    ("packing", "fewest-moves", "servers", "moves min", packing_moves),
    ("packing", "max-utilization", "", "utilization max", packing_utilization),
    ("packing", "FUGA FUGA-tree", "alpha eta overload", "disutility min", packing_play),
    ("packing", "joint-optimum", "alpha eta overload", "disutility min", packing_joint),
    ("packing", "max-min-share", "", "dominant_share_min max" + ", dominant_share max" * 999,
     packing_share),
    ("admission", "optimal", "", "total_speed max", admission_speed),
    ("admission", "most-jobs", "", "assigned max, total_speed max", admission_jobs),
    ("scheduling", "REF", "reading", "unfairness min", scheduling_ref),
    ("scheduling", "max-utilization", "", "utilization max", scheduling_most),
    ("scheduling", "max-utility", "", "utility max", lambda case: scheduling_most(case, True)),
    ("numa", "fluid", "ht_energy pcie_energy pcie_hops", "served_rate max, flow_power min",
     numa_fluid),
    ("numa", "fluid-power", "throughput ht_energy pcie_energy pcie_hops", "link_power min",
     numa_power),
    ("groups", "optimal", "", "penalty min", groups_optimal),
)  # fmt: skip
METHODS = {
    (problem, method): (options, [goal.split() for goal in goals.split(",")], checker)
    for problem, methods, options, goals, checker in _METHODS
    for method in methods.split()
}


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
