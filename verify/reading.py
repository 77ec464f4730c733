"""Readers of files: every value of a file passes one of these functions before it is used, and all
work that a file can cause is counted.
"""

import gzip
import json
import math
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
    """Raised when a proof does not prove its claim, with the first reason."""


class Unreadable(Exception):
    """Raised for a file that cannot be read, with the reason."""


def refuse_if(when: object, why: str) -> None:
    """Refuse the proof if a condition holds."""
    if when:
        raise Refused(why)


class WorkLimit:
    """Steps of about a tenth of a microsecond that `verify` may still take."""

    left = math.inf  # outside of `verify`


def charge(steps: int) -> None:
    """Deduct `steps` of work from the verifier's limit; refuse the file if it is exceeded."""
    WorkLimit.left -= steps
    if WorkLimit.left < 0:  # this is called often
        raise Refused("judging this takes longer than its patience allows (more: --patience N)")


def product(one: int, other: int) -> int:
    """Work to multiply, divide or add two numbers, given the number of bits of each."""
    return one * other // 20_000 + (one + other) // 2_000


def beyond(numbers: list[int]) -> int:
    """Number of bits of some numbers, without the first 63 of each."""
    return sum(max(0, number.bit_length() - 63) for number in numbers)


class Decimal(str):
    """Number with a point or an exponent, as written in an instance."""

    __slots__ = ()  # there may be millions


def read(path: str) -> bytes:
    """Bytes of a file ("-": standard input), unpacked if it is a gzip file."""
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
    """JSON object in some bytes; decimals are kept as text, or refused (in proofs)."""

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
        document = json.loads(text, parse_float=Decimal if decimals else no_float, **hooks)  # type: ignore[arg-type]
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise Unreadable("not a JSON object")
    return document


def fields(value: object, needed: str, others: str = "", what: str = "a part") -> Step:
    """JSON object with all keys `needed` and none but these and `others` (space-separated)."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    for name in [name for name in needed.split() if name not in value]:
        raise Refused(f"{what} lacks {name!r}")
    for name in [name for name in value if name not in f"{needed} {others}".split()]:
        raise Refused(f"{what} has the unknown key {name[:40]!a}")
    return value


def listed(value: object, what: str, length: int | None = None) -> list[object]:
    """Require a list, of a given length if any, and return it."""
    if not isinstance(value, list) or length not in (None, len(value)):
        raise Refused(f"{what} is no list" + ("" if length is None else f" of {length}"))
    return value


def whole(value: object, what: str, least: int | None = None, most: int | None = None) -> int:
    """Integer of a field within bounds; true and false are refused."""
    if type(value) is int and (least is None or value >= least) and (most is None or value <= most):
        return value
    raise Refused(f"{what} is {str(value)[:40]!a}, not a whole number from {least} to {most}")


def wholes(value: object, what: str, length: int | None = None, *ends: int | None) -> list[int]:
    """List of integers of a field, each within bounds."""
    return [whole(entry, what, *ends) for entry in listed(value, what, length)]


def text_of(value: object, what: str) -> str:
    """Text of a field; anything else is refused."""
    if type(value) is str:
        return value
    raise Refused(f"{what} is no text")


def rational(value: object, what: str) -> Fraction:
    """Fraction in a proof: an integer, or a text such as "-3/8"."""
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
    """Integers with their denominator d > 0, from {"over": d, "numbers": [...]} in a proof."""
    parts = fields(value, "over numbers", what=what)
    return wholes(parts["numbers"], what, length), whole(parts["over"], f"{what} over", 1)


def _shift(value: object, what: str) -> tuple[int, int]:
    """Split a decimal number of an instance into integers (m, k) that mean m / 10^k."""
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
    """Number of an instance as a fraction, exactly as it is written."""
    number, shift = _shift(value, what)
    return Fraction(number, 10**shift)


def amount(value: object, what: str) -> int:
    """Integer of an instance, 0 or more, which may be written as a decimal such as 3.0."""
    number = exact(value, what)
    return whole(number.numerator if number.denominator == 1 else value, what, 0)


def scaled(values: list[object], what: str) -> tuple[list[int | None], int]:
    """Numbers of an instance as integers over one denominator; null stays None."""
    if not {type(value) for value in values} <= {Decimal, int, type(None)}:
        raise Refused(f"{what} holds what is no number")
    shifts, numbers, digits = list[int](), list[int | None](), 0
    for value in values:
        number, shift = (0, 0) if value is None else _shift(value, what)
        shifts.append(shift)
        numbers.append(None if value is None else number)
        digits += number.bit_length() // 64
    most = max(shifts, default=0)
    if digits + len(values) * most // 16 > MOST_VALUES:
        raise Refused(f"{what} has more digits than this program has memory for")
    times = {shift: 10 ** (most - shift) for shift in set(shifts)}
    for place, shift in enumerate(shifts):
        if shift < most and (old := numbers[place]) is not None:
            numbers[place] = old * times[shift]
    return numbers, 10**most


def common(numbers: list[int]) -> int:
    """Least common multiple of numbers above 0."""
    multiple = 1
    for number in numbers:
        charge(50 + product(multiple.bit_length(), number.bit_length()))
        multiple = math.lcm(multiple, number)
        refuse_if(
            multiple.bit_length() > 5 * MOST_DIGITS, "a common denominator has too many digits"
        )
    return multiple
