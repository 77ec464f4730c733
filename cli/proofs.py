"""The commands `prove` and `verify`: a proof as a file, and the one program that judges it."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import progress, require_writable, say, waiting
from .arguments import Options, TimeLimit
from .codes import NO_ANSWER

if TYPE_CHECKING:
    from ..catalog import Method

CLAIMED = (
    "proof: claimed; {name} has no proof as a file yet, so its bound is what a solver "
    "or our own code says"
)


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command()(prove)
    app.command()(verify)


def prove(
    file: Annotated[
        str, typer.Argument(help="Instance file, or a bundled instance such as colocation/tiny.")
    ],
    method: Annotated[
        str, typer.Option("-m", "--method", help="An exact method; see `cotenant methods`.")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="PROOF.json[.gz]", help="Write the proof here, once it is verified."),
    ],
    option: Options = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RESULT.json", help="Prove this result instead of solving anew."
        ),
    ] = None,
    time_limit: TimeLimit = None,
) -> None:
    """Write a proof of what a method says of an instance, as a file that `cotenant verify`
    accepts.
    """
    from .. import catalog
    from ..analysis.registry import analysis_of
    from ..analysis.run.result import Result, fingerprint
    from ..analysis.run.solve import solve
    from ..instances.problem import read
    from ..instances.problem.errors import InvalidFile
    from ..instances.problem.files import locate
    from ..instances.problem.options import parse_options
    from ..instances.problem.reading import read_bytes
    from ..instances.problem.registry import resolve
    from ..solvers.outcome import LEAST_SECONDS, Clock
    from ..solvers.proofs import Claimed, Task

    path = locate(file)
    instance = read(path)
    entry = catalog.find(instance.problem, method)
    require_writable(out, path, *([] if given is None else [given]))
    if not out.name.endswith((".json", ".json.gz")):
        raise InvalidFile(f"{out} must end in .json or .json.gz")
    options = parse_options(
        (entry.resolve(), analysis_of(instance.problem).metrics),
        option or [],
        f"method {entry.name!r}",
    )
    if not entry.prover:
        _end_as_claimed(CLAIMED.format(name=entry.name))
    clock = Clock(time_limit)
    if given is not None:
        result = Result.read(given)
        if (result.method, result.fingerprint) != (entry.name, fingerprint(instance)):
            raise InvalidFile(
                f"{given} is a result of {result.method} on {result.instance!r}, perhaps of "
                "other content"
            )
        options = {**result.options, **options}
    else:
        share = None if clock.left is None else max(clock.left / 2, LEAST_SECONDS)
        with progress(f"{entry.name} on {instance.name}", None) as report:
            result = solve(instance, entry.name, time_limit=share, report=report, **options)
    content = read_bytes(path)
    with waiting(f"proof of {entry.name} on {instance.name}"):
        try:
            proof = resolve(entry.prover)(
                Task.of(content, instance, options, result.outcome, clock)
            )
        except Claimed as why:
            _end_as_claimed(f"proof: claimed; {why}")
    proof.write(out, instance.name, sha256(content).hexdigest())
    code = _verified(path, out)
    if code:
        out.unlink()
        say(
            "the proof that was made is refused: a defect, or floats that differ from the "
            "decimals as written; nothing is kept"
        )
        raise typer.Exit(NO_ANSWER)
    typer.echo(f"{out}: {out.stat().st_size / 1e3:.1f} kB")


def verify(
    file: Annotated[str, typer.Argument(help="Instance file, or a bundled instance.")],
    proof: Annotated[
        str, typer.Argument(metavar="PROOF.json", help="A proof, of whoever made it.")
    ],
) -> None:
    """Judge a proof of an instance by `verify.py`, which needs nothing else of this package: exit 0
    accepted, 1 refused.
    """
    from ..instances.problem.files import locate

    raise typer.Exit(_verified(locate(file), Path(proof)))


def proof_words(methods: list[Method]) -> str:
    """Which of some methods can prove what they say as a file, and of which it stays a claim."""
    exact = [method for method in methods if method.kind in ("exact", "equilibrium")]
    several = len({method.problem for method in exact}) > 1
    named = {
        method: f"{method.problem} {method.name}" if several else method.name for method in exact
    }
    filed, claimed = (
        ", ".join(named[method] for method in exact if bool(method.prover) == has)
        for has in (True, False)
    )
    parts = [f"proof: a file, by cotenant prove: {filed}"] * bool(filed) + [
        f"proof: claimed: {claimed}"
    ] * bool(claimed)
    return "\n".join(parts)


def _verified(file: Path, proof: Path) -> int:
    """Run the one program that judges, apart from this one; its line is printed. Returns its exit
    code.
    """
    program = Path(__file__).resolve().parents[1] / "verify.py"
    done: Any = subprocess.run(
        [sys.executable, "-I", str(program), str(file), str(proof)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    typer.echo(done.stdout.rstrip("\n"))
    return int(done.returncode)


def _end_as_claimed(words: str) -> None:
    typer.echo(words)
    raise typer.Exit(NO_ANSWER)
