"""The gate for new versions of HiGHS and OR-Tools: random programs against exact fractions.

    python benchmarks/engines.py                      # 4,000 programs, about ten minutes
    python benchmarks/engines.py --programs 40000 --seed 7 --json found.json

Integer, mixed and linear programs of up to six columns and five rows, with equalities, coefficients
of 1e6 and 1e-4, free columns, degenerate vertices, without a feasible point, and without a minimum.
HiGHS solves each, from its worst point where some columns are integer, CP-SAT those whose
columns have bounds. The exact optimum is by enumeration of
the integer columns, and the simplex method in fractions for the others. First comes the integer
program of which HiGHS 1.14.0 called 15 optimal (right: 9). Exits with 1 when an answer differs.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from form import Rows, parser

from cotenant.models.program import LinearProgram, ProgramBuilder
from cotenant.solvers.engines import EngineAnswer, EngineName, solve_program
from cotenant.solvers.outcome import Status

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.oracles.rational_program import least

KINDS = ("integer", "mixed", "linear")
FEATURES = ("plain", "equalities", "big and tiny", "free columns", "degenerate", "infeasible")
WIDE = "Booleans times 2^30 and more"
SECONDS = 5.0
"""Of CP-SAT on the grid of continuous columns, which may take it for ever."""
TOLERANCE = 1e-6
"""Of an objective, beside 1 and beside the exact one."""

INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"
Exact = Fraction | str


def wrong_in_1_14() -> LinearProgram:
    """Minimize 2 x + 3 z with x + z >= 4.5, both at most 10, z integer; from HiGHS#2961."""
    builder = ProgramBuilder()
    x = builder.columns(1, upper=10.0, cost=[2.0])
    z = builder.columns(1, upper=10.0, cost=[3.0], integer=True)
    builder.row(np.concatenate([x, z]), [1.0, 1.0], lower=4.5)
    return builder.build()


def draw(rng: np.random.Generator, kind: str, feature: str) -> LinearProgram:
    """A random program; its coefficients are decimals of at most four digits after the point."""
    columns, rows = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    integer = np.full(columns, kind == "integer")
    if kind == "mixed":
        integer[: max(1, columns // 2)] = True
    matrix = rng.integers(-9, 10, (rows, columns)) * (rng.random((rows, columns)) < 0.7)
    size = np.ones(columns)
    if feature == "big and tiny":
        size = 10.0 ** rng.integers(-4, 7, columns)
    elif rng.random() < 0.5:
        size = np.full(columns, 0.1)
    matrix = np.round(matrix * size, 4)
    lower = rng.integers(-2, 1, columns).astype(float)
    upper = lower + rng.integers(0, 4 if columns < 6 else 3, columns)
    cost = np.round(rng.integers(-9, 10, columns) * size, 4)
    if feature == "free columns":
        lower[~integer], upper[~integer] = -np.inf, np.inf
    # 1. rows through a point of the box, so that most programs have a feasible point
    inside = np.where(np.isfinite(lower), rng.integers(0, 3, columns) + lower, 0.0)
    value = np.round(matrix @ np.minimum(inside, upper), 4)
    slack = np.zeros(rows) if feature == "degenerate" else rng.integers(0, 8, rows) / 4
    if feature == "big and tiny":  # a tight row of both would be judged by the tolerance of 1e-9
        slack += 0.25
    row_lower, row_upper = np.full(rows, -np.inf), np.round(value + slack, 4)
    two_sided = rng.random(rows) < 0.3
    row_lower[two_sided] = np.round(value - 1.0, 4)[two_sided]
    if feature == "equalities":
        row_lower[0] = row_upper[0] = value[0]
    # 2. or a pair of rows that no point satisfies
    if feature == "infeasible":
        matrix = np.vstack([matrix, matrix[:1]])
        row_lower = np.append(row_lower, row_upper[0] + 0.5)
        row_upper = np.append(row_upper, np.inf)
    builder = ProgramBuilder()
    where = builder.columns(columns, lower=lower, upper=upper, cost=cost, integer=integer)
    for coefficients, low, high in zip(matrix, row_lower, row_upper, strict=True):
        builder.row(where, coefficients, lower=float(low), upper=float(high))
    return builder.build()


def draw_wide(rng: np.random.Generator) -> LinearProgram:
    """Six Booleans, one of each three, with coefficients beyond 32 bits, and two wide integers.

    OR-Tools 9.15 proves false optima of these unless its presolve is told not to look at rows that
    are included in others (OR-Tools#5293).
    """
    builder = ProgramBuilder()
    x = builder.columns(6, upper=1.0, integer=True)
    y = builder.columns(2, upper=3.0 * 2**33, cost=[2.0, 1.0], integer=True)
    for part in (x[:3], x[3:]):
        builder.row(part, np.ones(3), lower=1.0, upper=1.0)
    for _ in range(4):
        large = rng.integers(0, 4, 6) * 2.0 ** rng.integers(30, 34)
        one, other = rng.permutation(y)
        if rng.random() < 0.5:
            builder.row(np.append(x, one), [*large, -1.0], upper=512.0)
        else:
            builder.row(np.append(x, [one, other]), [*large, -1.0, 1.0], lower=-512.0)
    return builder.build()


def exact_optimum(program: LinearProgram) -> Exact:
    """The minimum in fractions, or `INFEASIBLE` or `UNBOUNDED`."""
    whole = np.flatnonzero(program.integer)
    ranges = [range(int(program.lower[j]), int(program.upper[j]) + 1) for j in whole]
    if len(whole) == program.columns:  # all points at once, in ten-thousandths
        points = np.array(list(product(*ranges)), dtype=np.int64)
        rows = points @ in_units(program.matrix.toarray()).T
        inside = (in_units(program.row_lower) <= rows) & (rows <= in_units(program.row_upper))
        values = (points @ in_units(program.cost))[inside.all(axis=1)]
        return Fraction(int(values.min()), 10**4) if len(values) else INFEASIBLE
    found: list[Fraction] = []
    for values in product(*ranges):
        best = with_integers(program, dict(zip(whole.tolist(), values, strict=True)))
        if best == UNBOUNDED:
            return UNBOUNDED
        if isinstance(best, Fraction):
            found.append(best)
    return min(found, default=INFEASIBLE)


def with_integers(program: LinearProgram, fixed: dict[int, int]) -> Exact:
    """The minimum over the continuous columns where the integer ones have given values.

    Standard form: a column is its lower bound plus a part of at least 0, a free one the difference
    of two parts; every finite upper bound and side of a row is an equality with a slack.
    """
    dense = [[decimal(x) for x in row] for row in program.matrix.toarray().tolist()]
    cost = [decimal(x) for x in program.cost.tolist()]
    free = [j for j in range(program.columns) if j not in fixed]
    shift = {j: decimal(x) for j, x in enumerate(program.lower.tolist()) if np.isfinite(x)}
    at = {j: Fraction(fixed.get(j, shift.get(j, 0))) for j in range(program.columns)}
    parts = [(j, 1) for j in free] + [(j, -1) for j in free if j not in shift]
    sides: list[tuple[list[Fraction], Fraction]] = []  # sum of parts x coefficient <= number
    for row, low, high in zip(
        dense, program.row_lower.tolist(), program.row_upper.tolist(), strict=True
    ):
        base = sum((row[j] * at[j] for j in at), Fraction(0))
        line = [sign * row[j] for j, sign in parts]
        if np.isfinite(high):
            sides.append((line, decimal(high) - base))
        if np.isfinite(low):
            sides.append(([-x for x in line], base - decimal(low)))
    for j in free:
        if np.isfinite(program.upper[j]):
            line = [Fraction(sign if k == j else 0) for k, sign in parts]
            sides.append((line, decimal(float(program.upper[j])) - at[j]))
    start = sum((cost[j] * at[j] for j in at), Fraction(program.offset))
    if not parts:
        return start if all(number >= 0 for _, number in sides) else INFEASIBLE
    slack = [[Fraction(int(k == r)) for k in range(len(sides))] for r in range(len(sides))]
    rows = [line + own for (line, _), own in zip(sides, slack, strict=True)]
    prices = [sign * cost[j] for j, sign in parts] + [Fraction(0)] * len(sides)
    try:
        best = least(prices, rows, [number for _, number in sides])
    except AssertionError:  # the oracle's word for a minimum that does not exist
        return UNBOUNDED
    return INFEASIBLE if best is None else start + best[0]


def in_units(numbers: np.ndarray) -> np.ndarray:
    """Ten-thousandths as integers, exactly; infinite ones far away."""
    return np.rint(np.clip(numbers, -1e13, 1e13) * 10**4).astype(np.int64)


def decimal(number: float) -> Fraction:
    """The decimal that a float was written as: 1/10 for .1."""
    return Fraction(repr(number))


def fault(answer: EngineAnswer, exact: Exact, on_grid: bool) -> str:
    """Description of the error in an engine's answer; "" if correct.

    On the grid that CP-SAT has for continuous columns (`on_grid`), with rows widened by half a
    step, only its bound and "infeasible" are judged.
    """
    if exact == INFEASIBLE:
        return "" if answer.status is Status.INFEASIBLE else f"{answer.status}, not infeasible"
    if answer.status is Status.INFEASIBLE:
        return "infeasible, but there is a point"
    if exact == UNBOUNDED:
        claims = answer.status is Status.OPTIMAL or answer.bound is not None
        return "a bound, but there is no minimum" if claims else ""
    room = TOLERANCE * (1 + abs(exact))
    if answer.bound is not None and Fraction(answer.bound) > exact + room:
        return f"bound {answer.bound!r} above the optimum {float(exact)!r}"
    if on_grid:
        return ""
    if answer.status is not Status.OPTIMAL:
        return f"{answer.status} without a limit ({answer.message})"
    off = abs(Fraction(answer.objective or 0.0) - exact)
    return f"{answer.objective!r}, right is {float(exact)!r}" if off > room else ""


def main() -> int:
    """Draw, solve, compare."""
    command = parser(__doc__)
    command.add_argument("--programs", type=int, default=4000)
    command.add_argument("--seed", type=int, default=0)
    asked = command.parse_args()
    rows, solved, wrong = Rows(asked.json), Counter[str](), 0
    programs = [("mixed", "1.14.0", wrong_in_1_14())]
    for number in range(asked.programs // 10):
        programs.append(("integer", WIDE, draw_wide(np.random.default_rng([asked.seed, number]))))
    for number in range(asked.programs - len(programs) + 1):
        kind, feature = KINDS[number % 3], FEATURES[number // 3 % len(FEATURES)]
        rng = np.random.default_rng([asked.seed, number])
        programs.append((kind, feature, draw(rng, kind, feature)))
    for number, (kind, feature, program) in enumerate(programs):
        # wide ones are beyond the tolerances of HiGHS, and integers by themselves in the oracle
        wide = feature == WIDE
        exact = exact_optimum(replace(program, integer=program.upper <= 1) if wide else program)
        finite = np.isfinite(program.lower).all() and np.isfinite(program.upper).all()
        engines: tuple[EngineName, ...] = ("highs",) * (not wide) + ("cp-sat",) * bool(finite)
        for engine in engines:
            on_grid = engine == "cp-sat" and kind != "integer"
            answer = solve_program(program, engine=engine, time_limit=SECONDS if on_grid else None)
            if engine == "highs" and kind != "linear" and answer.point is not None:
                worst = solve_program(replace(program, cost=-program.cost))
                answer = solve_program(program, start=worst.point)
            solved[f"{engine} {kind} {exact if isinstance(exact, str) else 'optimal'}"] += 1
            if text := fault(answer, exact, on_grid):
                wrong += 1
                rows.add("differs", what=f"{number} {kind}, {feature}", engine=engine, why=text)
    for what, number in sorted(solved.items()):
        rows.add("solved", what=what, programs=number)
    print(f"\n{len(programs)} programs, {solved.total()} answers, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
