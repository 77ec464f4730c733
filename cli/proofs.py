"""The commands `check` (judge an answer again), `prove` (write a proof) and `verify` (judge it)."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..analysis.report.console import console, print_json, progress, require_writable, waiting
from ..instances.problem.errors import InvalidFile
from ..instances.problem.option_types import Between
from .arguments import From, Json, Options, Rules, TimeLimit
from .codes import BAD_INPUT, NO_ANSWER, NOT_KNOWN
from .functions import broken_of, given_rules, read_one

if TYPE_CHECKING:
    from ..catalog import Method


Patience = Annotated[int, "N", Between(1, 999_999)]


def check(
    file: str,
    result_file: Annotated[str, "RESULT"],
    *,
    source: From = None,
    option: Options = None,
    rule: Rules = None,
    prove: Annotated[bool, "--prove"] = False,
    as_json: Json = False,
) -> None:
    """Check a stored answer and compute again what it claims.

    Of another solver: {"solution": {...}} as results have it, or for colocation and packing a CSV,
    job,beside[,machines] or server,VM[,count][,class].

    Exit 0: all holds, and bounds are proved again; 1: something is wrong; 3: nothing is, but a
    bound or a status is claimed, not proved.

    Parameters
    ----------
    file : instance file, or a bundled instance
    result_file : result of `cotenant solve --out`, a solution or CSV of anybody's, or a proof
    prove : prove bounds again however long it takes; else 10 s
    """
    from ..analysis.run.result import Result
    from ..analysis.run.verify_result import LIMIT, judge_answer, read_answer
    from ..instances.problem.options import parse_options
    from ..instances.problem.text import sanitize_for_terminal

    rules = given_rules(rule)
    instance, left = read_one(file, source, option)
    parse_options((), left, "check")
    result = read_answer(instance, result_file)
    if result is None:
        verify(file, result_file)
        return
    found, good = judge_answer(instance, result, None if prove else LIMIT)
    if good:
        solution = result.solution if isinstance(result, Result) else result
        broken = broken_of(instance, solution, rules)
        found = replace(found, broken=(*found.broken, *broken))
    if rules and good.startswith("feasible"):
        obeyed = "feasible and obeys your rules, which the bound does not ask for"
        good = obeyed + good.removeprefix("feasible")
    if as_json:
        said = "" if found.broken else good
        print_json({"ok": not found.broken, "said": said} | asdict(found))
    else:
        for line in [f"broken: {claim}" for claim in found.broken] or good.splitlines():
            console().print(sanitize_for_terminal(line), highlight=False)
    if found.broken or found.claimed:
        raise typer.Exit(NO_ANSWER if found.broken else NOT_KNOWN)


def prove(
    file: str,
    *,
    method: Annotated[str, "-m --method"],
    out: Annotated[Path, "PROOF.json[.gz]"],
    option: Options = None,
    given: Annotated[Path | None, "--from RESULT.json"] = None,
    vipr: Annotated[Path | None, "FILE"] = None,
    time_limit: TimeLimit = None,
    patience: Patience = 1,
) -> None:
    """Write a proof of what a method says of an instance.

    It is a file that `cotenant verify` accepts. Exit 3: it proves less than is claimed.

    Parameters
    ----------
    file : instance file, or a bundled instance such as colocation/tiny
    method : an exact method; see `cotenant methods`
    out : write the proof here, once it is verified
    given : prove this result; do not solve again
    vipr : write the proof's trees here too, as VIPR certificates for viprchk: FILE, or FILE-1,
        FILE-2, ... of several
    """
    from .. import catalog
    from ..analysis.registry import analysis_of
    from ..analysis.run import proving
    from ..analysis.run.result import Result, fingerprint
    from ..analysis.run.solve import solve
    from ..instances.problem import read
    from ..instances.problem.files import locate
    from ..instances.problem.options import parse_options
    from ..solvers.outcome import LEAST_SECONDS

    # 1. What is asked for, refused before any work.
    path = locate(file)
    instance = read(path)
    entry = catalog.find(instance.problem, method)
    read_too = [path] if given is None else [path, given]
    require_writable(out, *read_too)
    if vipr is not None:
        require_writable(vipr, *read_too, out)
    if not out.name.endswith((".json", ".json.gz")):
        raise InvalidFile(f"{out} must end in .json or .json.gz")
    takers = (entry.resolve(), analysis_of(instance.problem).metrics)
    options = parse_options(takers, option or [], f"method {entry.name!r}")
    if not entry.proof_producer:
        typer.echo(f"proof: claimed; {proving.claimed(entry)}")
        raise typer.Exit(NO_ANSWER)
    # 2. The result that is given, or that of half the time.
    share = None if time_limit is None else max(time_limit / 2, LEAST_SECONDS)
    if given is not None:
        result = Result.read(given)
        if (result.method, result.fingerprint) != (entry.name, fingerprint(instance)):
            raise InvalidFile(
                f"{given} is a result of {result.method} on {result.instance!r}, perhaps of "
                "other content"
            )
        result = replace(result, options={**result.options, **options})
        share = time_limit
    else:
        with progress(f"{entry.name} on {instance.name}", None) as report:
            result = solve(instance, entry.name, time_limit=share, report=report, **options)
    # 3. The proof, and what it does not prove.
    with waiting(f"proof of {entry.name} on {instance.name}"):
        proved = proving.prove_file(instance, path, result, out, share, patience=patience)
    basis = f"\n{proved.basis}" if proved.basis else ""
    basis += f"\nNOT PROVED: {proved.weaker}" if proved.weaker else ""
    if proved.proof_status == "claimed":
        typer.echo(f"proof: claimed; {proved.says}{basis}")
        raise typer.Exit(NO_ANSWER)
    kilobytes = (proved.size or 0) / 1e3
    typer.echo(f"{proved.says}{basis}\nproof: {proved.proof_status}; {out}: {kilobytes:.1f} kB")
    if vipr is not None:
        files = proving.write_certificates(path, out, vipr)
        listed = ", ".join(map(str, files)) or "none: this proof has no tree over a program"
        typer.echo(f"VIPR certificates: {listed}")
    if proved.weaker:
        raise typer.Exit(NOT_KNOWN)


def verify(file: str, proof: Annotated[str, "PROOF.json"], *, patience: Patience = 1) -> None:
    """Judge a proof of an instance, with no solver.

    Runs `verify`, which needs nothing else of this package. Exit 0: accepted; 1: refused.

    Parameters
    ----------
    file : instance file, or a bundled instance
    proof : a proof, made by anybody
    """
    from ..analysis.run.proving import judge
    from ..instances.problem.files import locate

    code, line = judge(locate(file), Path(proof), patience=patience)
    if code == BAD_INPUT:
        for path, wanted in ((str(locate(file)), "an instance"), (proof, "a proof")):
            _require_kind(path, wanted)
    typer.echo(line)
    raise typer.Exit(code)


def _require_kind(path: str, wanted: str) -> None:
    """Raise an error for a document of another kind than expected, and say which it is."""
    from ..instances.problem import reading

    if reading.is_standard_input(path):  # read already
        return
    try:
        content = reading.parse_any_json(reading.read_text(path), path)
        kind = reading.document_kind(content)
    except InvalidFile:  # the judge said why it cannot be read
        return
    if kind and not kind.startswith(wanted):
        raise InvalidFile(
            f"{path} is {kind}; expected {wanted}: cotenant verify INSTANCE PROOF.json, a proof as "
            "`cotenant prove` writes it"
        )


def proof_words(methods: list[Method]) -> str:
    """Sentences on which methods write a proof as a file, and for which answers they do not."""
    exact = [method for method in methods if method.kind in ("exact", "equilibrium")]
    several = len({method.problem for method in exact}) > 1
    named = {
        method: f"{method.problem} {method.name}" if several else method.name for method in exact
    }
    filed, claimed = (
        ", ".join(named[method] for method in exact if bool(method.proof_producer) == has)
        for has in (True, False)
    )
    parts = [f"a proof as a file (cotenant prove): {filed}"] * bool(filed) + [
        f"no proof as a file: {claimed}"
    ] * bool(claimed)
    parts += [f"no proof as a file of {named[m]} for: {m.unproved}" for m in exact if m.unproved]
    return "\n".join(parts)
