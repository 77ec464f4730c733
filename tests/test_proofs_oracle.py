"""QSopt_ex, which solves linear programs in exact fractions, as an oracle of duals."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.proof_cases import case_of, cases
from support.proved import bundled_document, proved

from cotenant.verify.colocation import Colocation, mean_bound

SOLVER = shutil.which("esolver")

pytestmark = pytest.mark.skipif(
    SOLVER is None, reason="esolver is not on the PATH (Debian: apt-get install qsopt-ex)"
)


def solved(folder: Path, given: Colocation, sets: list[list[int]]) -> dict[str, Any]:
    """The least cost of parts of pairs with these odd sets, exactly, and multipliers as a step."""
    pairs = {
        (a, b): f"x{a}_{b}"
        for a in range(given.size)
        for b in range(a, given.size)
        if given.count[a] and given.count[b] and given.penalty[a][b] is not None
    }
    alone = {a: f"s{a}" for a in range(given.size) if given.alone and given.count[a]}
    cost = {name: given.penalty[a][b] + given.penalty[b][a] for (a, b), name in pairs.items()}  # type: ignore[operator]
    cost |= dict.fromkeys(alone.values(), given.single)

    def row(terms: dict[str, int]) -> str:
        return "\n ".join(f"{'+' if n >= 0 else '-'} {abs(n)} {name}" for name, n in terms.items())

    lines = ["Problem", " pairs", "Minimize", f" obj: {row(cost)}", "Subject To"]
    for a in [a for a, number in enumerate(given.count) if number]:
        inside = {name: 1 + (p == q) for (p, q), name in pairs.items() if a in (p, q)}
        lines.append(f" p{a}: {row(inside | ({alone[a]: 1} if alone else {}))} = {given.count[a]}")
    if alone:
        lines.append(f" rent: {row(dict.fromkeys(alone.values(), 1))} <= {given.alone}")
    for k, (_, *members) in enumerate(sets):
        out = {name: 1 for (p, q), name in pairs.items() if (p in members) != (q in members)}
        out |= {name: 1 for a, name in alone.items() if a in members}
        lines.append(f" q{k}: {row(out)} >= 1")
    file, answer = folder / "pairs.lp", folder / "pairs.sol"
    file.write_text("\n".join([*lines, "End"]) + "\n")
    subprocess.run(
        [str(SOLVER), "-L", "-O", str(answer), str(file)], capture_output=True, check=True
    )
    text = answer.read_text()
    assert "status OPTIMAL" in text
    value = Fraction(re.search(r"Value = (\S+)", text)[1])  # type: ignore[index]
    dual = {
        name: Fraction(number)
        for name, number in re.findall(r"(\S+) = (\S+)", text.split("PI:")[1].split("SLACK:")[0])
    }
    over = math.lcm(*(number.denominator for number in dual.values()))

    def times(name: str) -> int:
        return int(dual.get(name, Fraction(0)) * over)

    step = {"kind": "dual", "over": over, "prices": [times(f"p{a}") for a in range(given.size)]}
    priced = [(times(f"q{k}"), members) for k, (_, *members) in enumerate(sets)]
    step |= {"rent": -times("rent"), "sets": [[p, *m] for p, m in priced if p]}
    return {"value": value, "step": step}


@pytest.mark.slow
def test_bounds_equal_those_of_exact_multipliers(tmp_path: Path) -> None:
    names = ("tiny", "no-stable-4", "cooper-beta-high-1000")
    bundled = [bundled_document(f"colocation/{name}") for name in names]
    with_sets = 0
    for document in [
        *bundled,
        *cases(25, start=700),
        *cases(10, start=2000, most=6, distinct=True),
    ]:
        proof = proved(document, "optimal").proof
        given = Colocation(case_of(document))
        sets = proof.levels[0].steps[0]["sets"]
        exact = solved(tmp_path, given, sets)
        parts = given.unit * given.agents
        assert proof.levels[0].bound == Fraction(math.ceil(exact["value"]), parts)
        assert mean_bound(given, exact["step"]) == proof.levels[0].bound
        with_sets += bool(sets)
    assert with_sets
