"""Divisions of what coalitions earn: REF's coalitions of organizations, or those of any game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.files import document, instance_of, locate
from ...instances.problem.option_types import validate_options
from ...instances.problem.proof import Level, Proof, multipliers
from ...instances.problem.reading import decoded, read_bytes
from ...instances.problem.tables import PathLike
from ...solvers.cooperative import in_core, least_epsilon, nucleolus, whole_numbers, whole_values
from ...solvers.proofs import Claimed
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley import shares
from ...solvers.scheduling.shapley_schedule import reference
from ...verify.reading import parse
from ..report.table import Column, Table
from ..run.proving import judge


@dataclass(frozen=True)
class Divisions:
    """How the value of all players of a game is divided.

    Attributes
    ----------
    document : JSON values: who gets what, and what its largest excess is; fractions are texts.
    file, proof : of the instance; that the last division is the nucleolus.
    unproved : why the verifier cannot judge it; "" where it can.
    """

    document: dict[str, Any]
    file: Path
    proof: Proof
    unproved: str

    @property
    def table(self) -> Table:
        """Who gets what, and whether it is in the core."""
        known, given = self.document, self.document["divisions"]
        epsilon = known["least_epsilon"]
        columns = [Column(name, _text, numeric=True) for name in ("alone", *given)]
        shares = [known["alone"], *(division["shares"] for division in given.values())]
        empty = "empty" if Fraction(epsilon) > 0 else "not empty"
        notes = [
            f"{name} is in the core" if division["in_core"] else
            f"{name} is not in the core: by itself {' + '.join(division['of'])} earns "
            f"{_text(division['largest_excess'])} more"
            for name, division in given.items()
        ]  # fmt: skip
        return Table(
            "core",
            f"{known['name'] or 'the game'}: {_text(known['value'])} divided",
            (Column("player", bold=True), *columns),
            tuple(zip(known["players"], *shares, strict=True)),
            f"least epsilon {_text(epsilon)}: the core is {empty}",
            tuple(notes),
        )

    def prove(self, out: Path) -> str:
        """Write the proof of the nucleolus; returns the verifier's sentence, or raises Claimed."""
        if self.unproved:
            raise Claimed(self.unproved)
        self.proof.write(out, self.document["name"], sha256(read_bytes(self.file)).hexdigest())
        code, says = judge(self.file, out)
        if code:
            out.unlink()
            raise Claimed(says)
        return says


def _text(value: str) -> str:
    """A fraction as people read it."""
    return f"{float(Fraction(value)):.6g}"


@validate_options
def core(path: PathLike, *, reading: Reading = "figure") -> Divisions:
    """Divide what all players earn by Shapley's value, by the nucleolus, and as REF does.

    Parameters
    ----------
    path : of an instance of scheduling, or its bundled name: a coalition earns the total psi_sp of
        its schedule by REF at the horizon. Or of any game: JSON with "cotenant": 1, "problem":
        "game", "values" of the 2^k coalitions by bit mask, more is better, and perhaps "names".
        Where the players earn more alone than all together, the prenucleolus is given.
    reading : of REF.

    Raises
    ------
    InvalidFile, InvalidInstance, InvalidOption
        It is neither; or see `shapley_schedule.reference` and `solvers.cooperative.in_core`.

    Examples
    --------
    >>> core("scheduling/tiny").document["divisions"]["nucleolus"]["shares"]
    ['1003/2', '1141/2', '276']
    """
    file = locate(path)
    data = read_bytes(file)
    text = decoded(data, file)
    content, given = document(text, file), dict[str, Sequence[Fraction]]()
    options, unproved = {} if reading == "figure" else {"reading": reading}, ""
    if content.get("problem") == "game":
        table: Any = parse(data, decimals=True).get("values")
        values, over = whole_values(table if isinstance(table, list) else [])
        numbers = [str(player) for player in range(len(values).bit_length() - 1)]
        players, name, options = content.get("names", numbers), str(content.get("name", "")), {}
        texts = isinstance(players, list) and all(isinstance(player, str) for player in players)
        if not texts or not len(numbers) == len(players) == len({*players}):
            expected = f"a list of {len(numbers)} different texts"
            raise InvalidInstance(f"{file}: names", players, expected)
    else:
        instance: Any = instance_of(content, text, file, "scheduling")
        found = reference(instance, reading)
        values, over = whole_values(found.values)
        players, name, unproved = list(instance.names), instance.name, instance.beyond_proofs
        given["REF"] = [Fraction(int(psi)) for psi in found.psi]
    exact = [Fraction(value, over) for value in values]
    alone = [exact[1 << i] for i in range(len(players))]
    kind = "nucleolus" if sum(alone) <= exact[-1] else "prenucleolus"
    settled, least = nucleolus(exact, rational=kind == "nucleolus"), least_epsilon(exact).levels[0]
    given["Shapley"] = [share / over for share in shares(values.tolist(), len(players))]
    given[kind] = settled.division

    def members(coalition: int) -> list[str]:
        return [player for i, player in enumerate(players) if coalition >> i & 1]

    divisions = {}
    for division, gets in given.items():
        inside, coalition, excess = in_core(exact, gets)
        facts = {"in_core": inside, "largest_excess": str(excess), "of": members(coalition)}
        divisions[division] = {"shares": list(map(str, gets)), **facts}
    known = {
        "name": name, **options, "players": players, "value": str(exact[-1]),
        "alone": list(map(str, alone)), "divisions": divisions, "least_epsilon": str(least[0]),
        "balanced": [{"weight": w, "of": members(mask)} for mask, w in least[1].items()],
    }  # fmt: skip
    steps = tuple(
        {"kind": "balanced", "coalitions": list(each), "weights": list(each.values())}
        for _, each in settled.levels
    )
    first, zero = settled.levels[0][0], Fraction(0)
    levels = (
        Level("largest_excess", "min", first, first, steps),
        Level("nucleolus_distance", "min", zero, zero),
    )
    witness = {"division": multipliers(*whole_numbers(settled.division, "division"))}
    return Divisions(
        known, file, Proof(content["problem"], kind, levels, options, witness), unproved
    )
