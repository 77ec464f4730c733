"""The rules of VIPR certificates (format 1.0), from its specification: what one proves to be
without a point.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

SIGN = {"E": 0, "L": -1, "G": 1}

Row = tuple[int, Fraction, dict[int, Fraction], frozenset[int]]
"""-1 for at most, 1 for at least; the right side, the terms, and the assumptions."""


def infeasible(text: str) -> bool:
    """Whether every derivation of a certificate follows, and the last one is that nothing is left;
    an AssertionError says which rule is broken.
    """
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    words = iter(" ".join(lines).split())

    def take(*expected: str) -> None:
        for word in expected:
            assert next(words) == word

    def pairs() -> dict[int, Fraction]:
        return {int(next(words)): Fraction(next(words)) for _ in range(int(next(words)))}

    def row() -> Row:
        next(words)
        sense = SIGN[next(words)]
        return sense, Fraction(next(words)), pairs(), frozenset()

    take("VER", "1.0", "VAR")
    columns = int(next(words))
    names = [next(words) for _ in range(columns)]
    take("INT", str(columns), *map(str, range(columns)), "OBJ", "min", "0", "CON")
    number = int(next(words))
    next(words)
    rows = [row() for _ in range(number)]
    take("RTP", "infeas", "SOL", "0", "DER")
    derived = int(next(words))
    for _ in range(derived):
        sense, right, terms, _ = row()
        take("{")
        reason, assumed = next(words), frozenset[int]()
        if reason == "asm":
            assumed = frozenset([len(rows)])
        elif reason == "uns":
            one, low, two, high = (int(next(words)) for _ in range(4))
            assert _false(rows[one])
            assert _false(rows[two])
            below, above = rows[low], rows[high]
            assert (below[0], above[0]) == (-1, 1)
            assert below[2] == above[2]
            assert below[1] + 1 == above[1]
            assert all(x.denominator == 1 for x in [below[1], *below[2].values()])
            assumed = (rows[one][3] - {low}) | (rows[two][3] - {high})
        else:
            made, least, signs = dict[int, Fraction](), Fraction(0), set[int]()
            for r, times in pairs().items():
                assert r < len(rows)
                signs |= {rows[r][0] * (1 if times > 0 else -1)}
                least += times * rows[r][1]
                assumed |= rows[r][3]
                for j, a in rows[r][2].items():
                    made[j] = made.get(j, Fraction(0)) + times * a
            assert len(signs - {0}) == 1
            made = {j: a for j, a in made.items() if a}
            [sign] = signs - {0}
            if reason == "rnd":
                assert all(a.denominator == 1 for a in made.values())
                least = Fraction(math.floor(least) if sign < 0 else math.ceil(least))
            found: Row = (sign, least, made, assumed)
            same = made == terms and sign == sense and sign * least >= sign * right
            assert same or _false(found)
        take("}", "-1")
        rows.append((sense, right, terms, assumed))
    rest: Any = next(words, None)
    assert rest is None
    assert len(set(names)) == columns
    return _false(rows[-1]) and not rows[-1][3]


def _false(row: Row) -> bool:
    return not any(row[2].values()) and row[0] * row[1] > 0
