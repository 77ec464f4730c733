"""Export of accepted tree proofs as VIPR certificates (format 1.0; Cheung, Gleixner and Steffy
2017), which the independent `viprchk` checks.

A certificate says that a program has no point: the program of what would be better than the answer,
as the verifier makes it. That the program is the problem only the verifier shows. Each bound that
is tightened is a row of its own, a sum of a row and of bounds that is rounded; each leaf is a sum
of rows that says 0 <= a number below 0; and two cases that are closed close the one they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...verify import methods_of
from ...verify.frame import ProofFile
from ...verify.program import Program

MOST_ROWS = 2_000_000
"""Rows that a certificate may derive."""

Terms = Iterable[tuple[int, int]]


@dataclass(eq=False)
class _Row:
    """Row of a certificate: sense "G" or "L", right side, terms, and its derivation; `index` once
    written.
    """

    sense: str
    right: Fraction | int
    terms: tuple[tuple[int, int], ...]
    reason: str = "lin"
    parts: tuple[tuple[_Row, Fraction], ...] = ()
    index: int = -1


@dataclass
class _Certificate:
    """Text of a VIPR certificate that some rows over integers are infeasible."""

    columns: int
    given: list[_Row] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)

    def give(self, sense: str, right: int, terms: Terms) -> _Row:
        """Add a row of the program to the certificate."""
        row = _Row(sense, right, tuple(terms), index=len(self.given))
        self.given.append(row)
        return row

    def need(self, row: _Row) -> int:
        """Write a row of the certificate after those it derives from, once; return its index."""
        waiting = [row]
        while waiting:
            top = waiting[-1]
            missing = [part for part, _ in top.parts if part.index < 0] if top.index < 0 else []
            waiting += missing
            if not missing:
                waiting.pop()
                if top.index < 0:
                    pairs = [f"{part.index} {times}" for part, times in top.parts]
                    source = "" if top.reason == "asm" else f" {len(pairs)} {' '.join(pairs)}"
                    self._write(top, f"{top.reason}{source}")
        return row.index

    def split(self, one: tuple[_Row, _Row], two: tuple[_Row, _Row]) -> _Row:
        """Add the contradiction that follows from those of both cases of a split, each given as
        (contradiction, assumed row).
        """
        row = _Row("L", -1, ())
        hints = [self.need(part) for pair in (one, two) for part in pair]
        self._write(row, f"uns {' '.join(map(str, hints))}")
        return row

    def _write(self, row: _Row, reason: str) -> None:
        if len(self.derived) > MOST_ROWS:
            raise ValueError(f"a certificate of more than {MOST_ROWS} rows")
        row.index = len(self.given) + len(self.derived)
        self.derived.append(f"{_written(row)} {{ {reason} }} -1")

    def text(self, why: str) -> str:
        """Write the whole proof as the text of a VIPR file."""
        names, numbers = (
            " ".join(f"{letter}{j}" for j in range(self.columns)) for letter in ("x", "")
        )
        lines = [f"% {why}", "VER 1.0", f"VAR {self.columns}", names, f"INT {self.columns}"]
        lines += [numbers, "OBJ min 0", f"CON {len(self.given)} 0", *map(_written, self.given)]
        lines += ["RTP infeas", "SOL 0", f"DER {len(self.derived)}", *self.derived]
        return "\n".join(lines) + "\n"


def _written(row: _Row) -> str:
    terms = "  ".join(f"{j} {a}" for j, a in row.terms)
    return f"C{row.index} {row.sense} {row.right} {len(row.terms)}  {terms}"


class _Cases:
    """Splits with a case that is still open, and the contradiction of each closed case."""

    def __init__(self, certificate: _Certificate) -> None:
        self.certificate, self.open = certificate, list[tuple[_Row, _Row, list[_Row]]]()

    def split(self, below: _Row, above: _Row) -> None:
        """Begin a split of the current case, by the rows assumed in its two cases."""
        self.open.append((below, above, []))

    def close(self, false: _Row) -> None:
        """Close the current case by a contradiction, and each split that is closed thereby."""
        self.certificate.need(false)
        while self.open:
            below, above, closed = self.open[-1]
            if not closed:
                closed.append(false)
                return
            self.open.pop()
            false = self.certificate.split((closed[0], below), (false, above))


class _Bounds:
    """VIPR certificate of a tree of `verify.Program.impossible`, with a row for each bound."""

    def __init__(self, program: Program, step: dict[str, Any]) -> None:
        self.certificate = _Certificate(len(program.low))
        ends = zip(program.low, program.high, strict=True)
        self.ends = [
            (self.certificate.give("G", low, [(j, 1)]), self.certificate.give("L", high, [(j, 1)]))
            for j, (low, high) in enumerate(ends)
        ]
        self.rows = [self.certificate.give("L", most, terms) for terms, most in program.rows]
        for divisor, *hint in step.get("cuts", []):
            self._cut(divisor, hint)
        self.of: list[list[int]] = [[] for _ in self.ends]
        for r, row in enumerate(self.rows):
            for j, _ in row.terms:
                self.of[j].append(r)
        self._tree(iter(step["tree"]), iter(step.get("leaves", [])))

    def _sum(self, hint: list[int]) -> tuple[list[tuple[_Row, Fraction]], dict[int, int], int]:
        """Weighted sum of rows that a hint names: rows with weights, terms, right-hand side."""
        parts: dict[int, int] = {}
        for r, times in zip(hint[::2], hint[1::2], strict=True):
            parts[r] = parts.get(r, 0) + times
        total: dict[int, int] = {}
        for r, times in parts.items():
            for j, a in self.rows[r].terms:
                total[j] = total.get(j, 0) + a * times
        right = sum(int(self.rows[r].right) * times for r, times in parts.items())
        return [(self.rows[r], Fraction(n)) for r, n in parts.items() if n], total, right

    def _cut(self, divisor: int, hint: list[int]) -> None:
        """Sum of rows, divided and rounded down (Chvatal-Gomory cut)."""
        parts, total, right = self._sum(hint)
        used = [(row, times / divisor) for row, times in parts]
        used += [(self.ends[j][0], -Fraction(a % divisor, divisor)) for j, a in total.items()]
        terms = tuple((j, a // divisor) for j, a in total.items() if a // divisor)
        reason = "rnd" if divisor > 1 else "lin"
        parts = [part for part in used if part[1]]
        self.rows.append(_Row("L", right // divisor, terms, reason, tuple(parts)))

    def _closed(
        self, parts: list[tuple[_Row, Fraction]], terms: Terms, right: int, ends: list[Any]
    ) -> _Row:
        """Derive the contradiction 0 <= a negative number from a sum of rows (`terms` <= `right`)
        and, for each column, the bound at which the sum is least.
        """
        used = list(parts)
        for j, a in terms:
            end = ends[j][0 if a > 0 else 1]
            used.append((end, Fraction(-a)))
            right -= a * int(end.right)
        return _Row("L", right, (), "lin", tuple(part for part in used if part[1]))

    def _tighten(self, ends: list[Any], rows: list[int]) -> _Row | None:
        """Propagate column bounds as `verify.Program.tighten` does, with a derived row for each new
        bound; return the contradiction, or None if none arises.
        """
        todo, waiting = list(rows), set(rows)
        while todo:
            r = todo.pop()
            waiting.remove(r)
            row = self.rows[r]
            room = int(row.right) - sum(
                a * int(ends[j][0 if a > 0 else 1].right) for j, a in row.terms
            )
            if room < 0:
                return self._closed([(row, Fraction(1))], row.terms, int(row.right), ends)
            for j, a in row.terms:
                low, high = (int(end.right) for end in ends[j])
                if abs(a) * (high - low) > room:
                    parts = [(ends[k][0 if b > 0 else 1], Fraction(-b, a)) for k, b in row.terms]
                    parts = [part for part, (k, _) in zip(parts, row.terms, strict=True) if k != j]
                    sources = ((row, Fraction(1, a)), *parts)
                    step = room // abs(a)
                    if a > 0:
                        ends[j] = ends[j][0], _Row("L", low + step, ((j, 1),), "rnd", sources)
                    else:
                        ends[j] = _Row("G", high - step, ((j, 1),), "rnd", sources), ends[j][1]
                    more = [other for other in self.of[j] if other not in waiting]
                    waiting.update(more)
                    todo += more
        return None

    def _tree(self, hints: Iterator[int], leaves: Iterator[list[int]]) -> None:
        cases, stack = _Cases(self.certificate), [(self.ends, list(range(len(self.rows))))]
        while stack:
            ends, rows = stack.pop()
            ends = list(ends)
            false = self._tighten(ends, rows)
            if false is None and (column := next(hints)) >= 0:
                value = next(hints)
                below = _Row("L", value, ((column, 1),), "asm")
                above = _Row("G", value + 1, ((column, 1),), "asm")
                cases.split(below, above)
                for end in (1, 0):
                    side = list(ends)
                    side[column] = (
                        (ends[column][0], below) if end == 0 else (above, ends[column][1])
                    )
                    stack.append((side, self.of[column]))
                continue
            if false is None:
                parts, total, right = self._sum(next(leaves))
                false = self._closed(parts, list(total.items()), right, ends)
            cases.close(false)


def certificates(instance: bytes, proof: bytes) -> list[str]:
    """Certificates of the trees in an accepted proof, in the order in which the verifier checks
    them; none if it has no tree over a program in integers.

    Parameters
    ----------
    instance, proof : the contents of the two files, unpacked.
    """
    file, texts = ProofFile(instance, proof), list[str]()
    content: Any = file.content
    levels: Any = file.levels
    about = f"{content['problem']} {content['method']} of the instance"
    why = f"{about} {content['instance']['sha256']}"

    check = Program.impossible

    def impossible(program: Program, step: dict[str, Any]) -> None:
        found = [
            level for level in levels
            if step["tree"] in [known.get("tree") for known in level["steps"]]
        ]  # fmt: skip
        goal = [*found, content][0]["claim"]["objective"]
        texts.append(_Bounds(program, step).certificate.text(f"{why}: {goal}"))
        check(program, step)  # adds rows: the certificate is made first

    # the verifier makes the programs, and knows of no certificates
    Program.impossible = impossible  # type: ignore[assignment, method-assign]
    try:
        file.judge(methods_of(file.problem), 10**18)
    finally:
        Program.impossible = check  # type: ignore[method-assign]
    return texts
