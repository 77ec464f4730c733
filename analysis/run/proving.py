"""Proof files of results that the verifier accepts, and the status of the claims."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from ... import catalog
from ...instances.problem.base import Instance
from ...instances.problem.documents import to_json_value
from ...instances.problem.errors import InvalidFile, InvalidInstance
from ...instances.problem.files import locate, require_folder, write, write_bytes, write_text
from ...instances.problem.option_types import Range, validate_options
from ...instances.problem.proof import Level, Proof
from ...instances.problem.reading import is_standard_input, read_bytes, require_regular
from ...instances.problem.registry import resolve
from ...solvers.engines.interpreter import isolated
from ...solvers.outcome import Clock, implies
from ...solvers.proofs import Claimed, Task
from ...solvers.proofs.vipr import certificates
from ...verify import Refused
from ..registry import analysis_of
from .question import LOOSEST
from .result import Result

Patience = Annotated[int, Range(1, 999_999, what="how many times its usual work")]
"""How many times its usual work the verifier may do to judge a proof, each some 20 seconds."""

ProofStatus = Literal["claimed", "partly", "certified"]

TOO_LONG = "the proof that was made takes longer to judge"

STEPS = (
    "The verifier measured the answer, and worked the bounds out again with the file's steps "
    "({kinds}) as hints: a wrong step proves less, or is refused."
)

REPLAYED = (
    "From the instance and the options alone, the verifier works out again {what}. Of a proof file "
    "it takes only the answer, to compare it with the outcome."
)


def claimed(method: catalog.Method) -> str:
    """Message for a method that makes no proofs."""
    return f"{method.name} has no proof as a file yet, so its bound is {method.bound_source}"


@dataclass(frozen=True)
class Proved:
    """Outcome of making and verifying a proof.

    Attributes
    ----------
    proof_status : "certified" when the verifier accepted a file that proves all that the result
        claims, "partly" when it proves less (a level is missing, or a bound is weaker), else
        "claimed".
    says : the verifier's sentence, or why there is no proof.
    refused : a proof was made, and the verifier refused it: a defect, and no file is kept.
    file, sha256, size : of the proof, in bytes; None without one.
    seconds, seconds_to_verify : to make the proof beyond the solve, and to judge it.
    covered : of an accepted proof, for each level of the result whether it proves what is claimed.
    basis : what the verifier works out again, and what it takes as given, in words.
    weaker : the bounds that are claimed beside those that an accepted proof reaches, where these
        are weaker.
    """

    proof_status: ProofStatus
    says: str
    refused: bool = False
    file: str | None = None
    sha256: str | None = None
    size: int | None = None
    seconds: float | None = None
    seconds_to_verify: float | None = None
    covered: tuple[bool, ...] = ()
    basis: str = ""
    weaker: str = ""

    def document(self) -> dict[str, Any]:
        """Fields about the proof that rows and stored results hold, as JSON values."""
        facts = asdict(self)
        del facts["refused"], facts["covered"], facts["basis"]
        return facts


@validate_options
def prove(
    instance: Instance,
    result: Result,
    folder: str | os.PathLike[str],
    *,
    time_limit: float | None = None,
    patience: Patience = 1,
) -> Proved:
    """Write the proof of a result and its instance into a folder, and check it there with the
    separate verifier program.

    Parameters
    ----------
    instance, result : what was given, and what `solve` gave for it by an exact method.
    folder : made when it is not there; it gets the instance's file and the proof, which the
        verifier alone can judge (`cotenant verify INSTANCE PROOF`).
    time_limit : seconds to make the proof; what is proved by then is kept.
    patience : how many times its usual work, some 20 seconds, the verifier may do to judge it.

    Returns
    -------
    How the claims of the result stand: `proof_status` is "certified", "partly" (a weaker bound is
    proved) or "claimed" (there is no proof), `says` is the verdict in words.

    Raises
    ------
    InvalidFile
        The folder cannot be made, or a file in it cannot be written.

    Examples
    --------
    >>> import cotenant
    >>> tiny = cotenant.read("packing/tiny")
    >>> from tempfile import mkdtemp
    >>> proved = cotenant.prove(tiny, cotenant.solve(tiny, "min-servers"), mkdtemp())
    >>> proved.proof_status
    'certified'
    """
    name = f"{instance.problem}-{result.method}"
    return prove_beside(instance, None, result, Path(folder), name, time_limit, patience)


def prove_file(
    instance: Instance, path: Path, result: Result, out: Path, time_limit: float | None = None,
    judge_limit: float | None = None, patience: int = 1,
) -> Proved:  # fmt: skip
    """Make, write and judge the proof of a result.

    Parameters
    ----------
    instance, path : the instance, and the file that holds it: the proof is of that file's content.
    result : of an exact method on it, with its options.
    out : where the proof is written, `.json` or `.json.gz`; a proof that is refused is not kept.
    time_limit : seconds to make it; what is proved by then is kept.
    judge_limit : seconds to judge it; a proof that takes longer is not kept.
    patience : how many times its usual work the verifier may do.
    """
    method = catalog.find(instance.problem, result.method)
    if not method.proof_producer:  # 1. Methods and instances without proofs.
        return Proved("claimed", claimed(method))
    if instance.beyond_proofs:
        return Proved("claimed", instance.beyond_proofs)
    clock, content = Clock(time_limit), read_bytes(path)
    replayed = REPLAYED.format(what=method.replayed) if method.replayed else ""
    try:
        task = Task.of(content, instance, method.name, result.options, result, clock)
        task = replace(task, patience=patience)  # 2. Make the proof.
        proof: Proof = resolve(method.proof_producer)(task)
    except (Claimed, InvalidInstance) as why:  # numbers too large for what makes the proof
        return Proved("claimed", str(why), basis=replayed)
    except Refused as why:
        written = to_json_value(instance.document())
        if json.loads(content).items() >= written.items():  # then the answer is what is refused
            return Proved("claimed", str(why), basis=replayed)
        raise InvalidFile(
            f"{path}: {why}; expected numbers as the verifier reads them. Write the instance anew: "
            f"cotenant.write(cotenant.read({str(path)!r}), 'new.json')"
        ) from None
    proof.write(out, instance.name, sha256(content).hexdigest())
    seconds, clock = clock.seconds, Clock()  # 3. Have the verifier judge it.
    try:
        code, says = judge(path, out, judge_limit, patience)
    except subprocess.TimeoutExpired:
        out.unlink()
        return Proved("claimed", f"{TOO_LONG} than {judge_limit:g} s")
    if code:
        out.unlink()
        return Proved("claimed", f"the proof that was made is refused ({says})", refused=True)
    covered = covered_levels(proof, result)  # 4. Which claims it covers.
    kinds = {str(step["kind"]) for level in proof.levels for step in level.steps}
    return Proved(
        "certified" if all(covered) else "partly",
        says,
        file=str(out),
        sha256=sha256(read_bytes(out)).hexdigest(),
        size=out.stat().st_size,
        seconds=seconds,
        seconds_to_verify=clock.seconds,
        covered=covered,
        basis=replayed if kinds == {"recompute"} else STEPS.format(kinds=", ".join(sorted(kinds))),
        weaker=_weaker(proof, result, covered),
    )


def write_certificates(path: Path, proof: Path, vipr: Path) -> list[Path]:
    """Write an accepted proof's trees as VIPR certificates; returns the files, perhaps none."""
    texts = certificates(read_bytes(path), read_bytes(proof))
    several = range(1, len(texts) + 1) if len(texts) > 1 else []
    files = [vipr.with_stem(f"{vipr.stem}-{k}") for k in several] or [vipr]
    return [write_text(file, text) for file, text in zip(files, texts, strict=False)]


def prove_beside(
    instance: Instance, source: str | None, result: Result, folder: Path, name: str,
    time_limit: float | None, patience: int = 1,
) -> Proved:  # fmt: skip
    """Write a proof and its instance into a folder that needs no other file: the instance is copied
    as it was read, or written if it came from no file.
    """
    require_folder(folder)
    path = folder / f"{instance.problem}-{result.fingerprint}.json"
    if not path.exists():
        if source is None:
            write(instance, path)
        else:
            write_bytes(path, read_bytes(locate(source)))
    file = folder / f"{name}.proof.json.gz"
    return prove_file(instance, path, result, file, time_limit, patience=patience)


def covered_levels(proof: Proof, result: Result) -> tuple[bool, ...]:
    """For each level of a result, whether a proof shows all of its claim."""
    first = {"status": result.status.value, "bound": result.bound}
    claims = [first, *result.certificate.get("levels", [])[1:]]
    exact, within = analysis_of(proof.problem).exact, result.tolerance
    proved = [
        _covered(level, claim, within, exact=level.objective in exact)
        for level, claim in zip(proof.levels, claims, strict=False)
    ]
    return (*proved, *[False] * (len(claims) - len(proved)))


def _weaker(proof: Proof, result: Result, covered: tuple[bool, ...]) -> str:
    """Message on each level where less is proved than claimed, with both bounds."""
    claims = [result.bound, *(each["bound"] for each in result.certificate.get("levels", [])[1:])]
    bounds = [level.bound for level in proof.levels]
    bounds += [None] * (len(claims) - len(bounds))
    return "; ".join(
        f"bound {claim:.10g} claimed, {'none' if bound is None else f'{float(bound):.10g}'} proved"
        for claim, bound, enough in zip(claims, bounds, covered, strict=False)
        if claim is not None and not enough
    )


def _covered(level: Level, claim: Mapping[str, Any], within: float | None, *, exact: bool) -> bool:
    """Whether a level of a proof proves the claim of the same level of a result."""
    if level.claim_kind == "infeasible":
        return True
    if claim["status"] == "infeasible":
        return False
    wanted = [] if claim["bound"] is None else [claim["bound"]]
    if claim["status"] == "optimal":
        if level.value is None:
            return False
        value = float(level.value)
        wanted.append(value if within is None else value - min(within, LOOSEST))
    proved = level.bound
    return not wanted or (
        proved is not None
        and all(implies(proved, bound, level.sense, exact=exact) for bound in wanted)
    )


def judge(
    instance: Path, proof: Path, time_limit: float | None = None, patience: int = 1
) -> tuple[int, str]:
    """Run the separate verifier program: its exit code and the text that it prints. Files that it
    would read without end are refused, or read before.

    Raises
    ------
    subprocess.TimeoutExpired
        It took longer than the time limit, in seconds, and was ended.
    InvalidFile
        One of them is missing or no regular file; see `reading.read_bytes`.
    """
    program = Path(__file__).resolve().parents[2] / "verify"
    with TemporaryDirectory() as folder:
        paths = []
        for number, path in enumerate((instance, proof)):
            if is_standard_input(path):
                path = write_bytes(Path(folder) / f"standard-input-{number}", read_bytes(path))
            else:
                require_regular(path)
            paths.append(str(path))
        command = isolated(program, *paths, "--patience", str(patience))
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, timeout=time_limit
        )
    return done.returncode, done.stdout.strip()
