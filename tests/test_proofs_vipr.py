"""Trees of proofs as VIPR certificates: they follow by the rules of the format, and by viprchk."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.oracles.placement import WEB
from support.oracles.vipr_rules import infeasible
from support.proof_cases import drawn, drawn_with_types
from support.proved import bundled_document, proved
from support.small_cases import gap, shared
from support.terminal import run as terminal

from cotenant.instances.problem.files import read
from cotenant.solvers.proofs.vipr import certificates

CHECKER = shutil.which("viprchk")


@pytest.fixture(scope="module")
def trees() -> list[str]:
    """Certificates of every kind of tree: of pairings, with cuts and leaves, and of fillings."""
    sources: list[tuple[Any, str, Any]] = [
        (bundled_document("colocation/cooper-gaussian-1000"), "stable", {}),
        (drawn_with_types(), "stable", {}),
        (drawn(1002), "fair", {}),
        (drawn(1013), "fair", {}),
        (drawn(1013), "fair", {"slack": 0.2}),
        (gap(), "min-servers", {}),
        (shared(0), "max-min-share", {}),
        (WEB, "min-servers", {}),
        (WEB, "fewest-moves", {}),
        (read("groups/tiny"), "optimal", {}),
    ]
    proofs = [proved(given, method, **options) for given, method, options in sources]
    texts = [certificates(one.content, json.dumps(one.document).encode()) for one in proofs]
    return [text for part in texts for text in part]


@pytest.mark.slow
def test_vipr_certificates_follow_derivation_rules(trees: list[str]) -> None:
    assert len(trees) == 13
    assert all(infeasible(text) for text in trees)
    used = {word for text in trees for word in re.findall(r"\{ (\w+)", text)}
    assert used == {"asm", "lin", "rnd", "uns"}


def weaker(text: str) -> str:
    """The program with its rows of several columns less tight by enough that it has points."""
    lines = text.splitlines()
    for k, line in enumerate(lines):
        parts = line.split(" ", 4)
        if line.startswith("C") and " { " not in line and len(parts) == 5 and parts[3] != "1":
            more = 10**9 if parts[1] == "L" else -(10**9)
            lines[k] = f"{parts[0]} {parts[1]} {int(parts[2]) + more} {parts[3]} {parts[4]}"
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_vipr_certificate_of_weaker_program_is_invalid(trees: list[str]) -> None:
    for text in trees:
        with pytest.raises(AssertionError):
            assert infeasible(weaker(text))


@pytest.mark.skipif(CHECKER is None, reason="viprchk is not on the PATH (docs/proofs.md: build it)")
def test_viprchk_accepts_vipr_certificates(trees: list[str], tmp_path: Path) -> None:
    for text in trees:
        for content, accepted in ((text, True), (weaker(text), False)):
            file = tmp_path / "tree.vipr"
            file.write_text(content)
            done = subprocess.run([str(CHECKER), str(file)], capture_output=True, check=False)
            assert (done.returncode == 0) == accepted, done.stderr[-300:]


def test_prove_command_writes_one_vipr_file_per_tree(tmp_path: Path) -> None:
    out, vipr = tmp_path / "proof.json", tmp_path / "tree.vipr"
    chosen = ("--out", str(out), "--vipr", str(vipr))
    done = terminal("prove", "colocation/no-stable-4", "-m", "stable", *chosen)
    assert done.returncode == 0, done.stderr
    assert infeasible(vipr.read_text())
    again = terminal("prove", "colocation/tiny", "-m", "optimal", *chosen)
    assert "certificates: none" in again.stdout


def test_vipr_files_of_several_trees_are_numbered(tmp_path: Path) -> None:
    from cotenant.analysis.run.proving import write_certificates

    proof = proved(drawn_with_types(), "stable")
    instance, file = tmp_path / "few.json", tmp_path / "proof.json"
    instance.write_bytes(proof.content)
    file.write_text(json.dumps(proof.document))
    files = write_certificates(instance, file, tmp_path / "tree.vipr")
    assert [path.name for path in files] == ["tree-1.vipr", "tree-2.vipr"]
    assert all(infeasible(path.read_text()) for path in files)
