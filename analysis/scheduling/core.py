"""Divisions of the value of a game: of organizations by REF's coalitions, or of any game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from ...instances.coalitions import read_game
from ...instances.problem.documents import shortened
from ...instances.problem.emitted import file_word
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.files import document, instance_of, locate
from ...instances.problem.option_types import validate_options
from ...instances.problem.proof import Level, Proof, multipliers
from ...instances.problem.reading import read_bytes, read_text
from ...instances.problem.tables import PathLike
from ...solvers.cooperative import DIVISIONS, in_core, least_epsilon, whole_numbers, whole_values
from ...solvers.proofs import Claimed
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley import shares
from ...solvers.scheduling.shapley_schedule import reference
from ..report.table import Column, Table
from ..run.proving import judge


@dataclass(frozen=True)
class Divisions:
    """Divisions, among the players of a game, of what all of them earn or pay together.

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
        """Table of what each player gets by each division, and whether it is in the core."""
        known, given = self.document, self.document["divisions"]
        epsilon = known["least_epsilon"]
        columns = [Column(name, _text, numeric=True) for name in ("alone", *given)]
        shares = [known["alone"], *(division["shares"] for division in given.values())]
        empty = "empty" if Fraction(epsilon) > 0 else "not empty"
        costs = "costs" in known
        verb, more = ("pays", "less") if costs else ("earns", "more")
        notes = [
            f"{name} is in the core" if division["in_core"] else
            f"{name} is not in the core: by itself {' + '.join(division['of'])} {verb} "
            f"{_text(division['largest_excess'])} {more}"
            for name, division in given.items()
        ]  # fmt: skip
        notes += [known["note"]] if "note" in known else []
        return Table(
            "core",
            f"{known['name'] or 'the game'}: {'costs of ' * costs}{_text(known['value'])} divided",
            (Column("player", bold=True), *columns),
            tuple(zip(known["players"], *shares, strict=True)),
            f"least epsilon {_text(epsilon)}: the core is {empty}",
            tuple(notes),
        )

    def prove(self, out: Path) -> str:
        """Write the nucleolus's proof; returns the verifier's sentence, or raises Claimed."""
        if self.unproved:
            raise Claimed(self.unproved)
        self.proof.write(out, self.document["name"], sha256(read_bytes(self.file)).hexdigest())
        code, says = judge(self.file, out)
        if code:
            out.unlink()
            raise Claimed(says)
        return says


def _text(value: str) -> str:
    """Fraction as a decimal number in text: six digits, or more if two decimals take more."""
    number = float(Fraction(value))
    return f"{number:.{max(6, len(str(int(abs(number)))) + 2)}g}"


@validate_options
def core(
    path: PathLike,
    *,
    reading: Reading = "figure",
    division: Literal["nucleolus", "prenucleolus"] = "nucleolus",
) -> Divisions:
    """Divide what all players earn by Shapley's value, by the nucleolus, and as REF does.

    Parameters
    ----------
    path : of an instance of scheduling, or its bundled name: a coalition earns the total psi_sp of
        its schedule by REF at the horizon. Or of any game, see `coalitions.read_game`.
    reading : of REF.
    division : "prenucleolus" lets a player get less than it earns alone; it is also given where
        the players earn more alone than all together, so that there is no nucleolus.

    Raises
    ------
    InvalidFile, InvalidInstance, InvalidOption
        It is neither; or see `shapley_schedule.reference` and `solvers.cooperative.in_core`.

    Examples
    --------
    >>> core("scheduling/tiny").document["divisions"]["nucleolus"]["shares"]
    ['1003/2', '1141/2', '276']
    """
    file = locate(path)  # 1. Values of a game, or of the coalitions of REF.
    text = read_text(file)
    game, given = read_game(file, text), dict[str, Sequence[Fraction]]()
    options = {} if reading == "figure" else {"reading": reading}
    sign, note, unproved = 1, "", ""
    if game is not None:
        values, over = whole_values(game.numbers)
        sign = -1 if game.kind == "costs" else 1
        values, bits = values * sign, range(len(values).bit_length() - 1)
        players, name, options = game.names or list(map(str, bits)), game.name, {}
        if len(players) != len(bits):
            raise InvalidInstance(f"{file}: names", shortened(players), f"{len(bits)} names")
        if not game.names:
            note = f"{game.kind} are taken in the order of bit masks: nobody, 0, 1, 0 + 1, 2, ..."
        if not game.judged:
            unproved = (
                f"the verifier reads a list in JSON; `cotenant convert {file_word(file)} --from "
                "game --out GAME.json` writes it"
            )
    else:
        instance: Any = instance_of(document(text, file), text, file, "scheduling")
        found = reference(instance, reading)
        values, over = whole_values(found.values)
        players, name, unproved = list(instance.names), instance.name, instance.beyond_proofs
        given["REF"] = [Fraction(int(psi)) for psi in found.psi]
    exact = [Fraction(value, over) for value in values]  # 2. Divisions by each rule.
    alone = [exact[1 << i] for i in range(len(players))]
    kind = division if sum(alone) <= exact[-1] else "prenucleolus"
    settled, least = DIVISIONS[kind](exact), least_epsilon(exact).levels[0]
    given["Shapley"] = [share / over for share in shares(values.tolist(), len(players))]
    given[kind] = settled.division

    def members(coalition: int) -> list[str]:
        return [player for i, player in enumerate(players) if coalition >> i & 1]

    divisions = {}  # 3. Facts about each division.
    for rule, gets in given.items():
        inside, coalition, excess = in_core(exact, gets)
        facts = {"in_core": inside, "largest_excess": str(excess), "of": members(coalition)}
        divisions[rule] = {"shares": [str(sign * share) for share in gets], **facts}
    known = {
        "name": name, **options, "players": players, "value": str(sign * exact[-1]),
        "alone": [str(sign * value) for value in alone], "divisions": divisions,
        "least_epsilon": str(least[0]),
        "balanced": [{"weight": w, "of": members(mask)} for mask, w in least[1].items()],
    } | ({"costs": True} if sign < 0 else {}) | ({"note": note} if note else {})  # fmt: skip
    steps = tuple(  # 4. The proof of the nucleolus.
        {"kind": "balanced", "coalitions": list(each), "weights": list(each.values())}
        for _, each in settled.levels
    )
    first, zero = settled.levels[0][0], Fraction(0)
    levels = (
        Level("largest_excess", "min", first, first, steps),
        Level("nucleolus_distance", "min", zero, zero),
    )
    witness = {"division": multipliers(*whole_numbers(settled.division, "division"))}
    problem = "scheduling" if game is None else "game"
    return Divisions(known, file, Proof(problem, kind, levels, options, witness), unproved)
