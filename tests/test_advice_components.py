"""The real kubectl without a cluster: what it prints is what is read, and what is emitted it takes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.fake_api import serving
from support.terminal import run

from cotenant.cluster.report.emit import FREED
from cotenant.cluster.state.reading import read_state

SHOP = Path(__file__).resolve().parents[1] / "cluster" / "state" / "data" / "shop.json"

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not installed (Debian: kubernetes-client)"
)


def kubectl(*arguments: str, home: Path, given: str | None = None) -> str:
    done = subprocess.run(
        ["kubectl", *arguments], input=given, capture_output=True, text=True, check=False,
        timeout=60, env={**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "none")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def shop() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(SHOP.read_text())["items"]
    return found


@needs_kubectl
def test_kubectl_output_is_read_as_the_same_state(tmp_path: Path) -> None:
    with serving(shop()) as address:
        for chunk in ("500", "10"):
            text = kubectl(
                "-s", address, "get", "nodes,pods,pdb", "-A", "-o", "json", f"--chunk-size={chunk}",
                home=tmp_path,
            )  # fmt: skip
            path = tmp_path / "state.json"
            path.write_text(text)
            read, ours = read_state([str(path)]), read_state(["state/shop"])
            assert (read.nodes, read.pods, read.budgets) == (ours.nodes, ours.pods, ours.budgets)


@needs_kubectl
def test_emitted_commands_are_accepted_by_kubectl(tmp_path: Path) -> None:
    text = run("advise", "nodes", "state/shop", "--emit", "kubectl").stdout
    labels = [shlex.split(line) for line in text.splitlines() if line.startswith("kubectl label")]
    assert labels
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in shop()}
    for words in labels:
        path = tmp_path / "node.json"
        path.write_text(json.dumps(by_name["Node", words[3]]))
        out = kubectl("label", "--local", "-f", str(path), *words[4:], "-o", "json", home=tmp_path)
        assert json.loads(out)["metadata"]["labels"][FREED] == "true"
    evictions = re.findall(r"^echo (.*) \| kubectl create --raw (\S+) -f -$", text, re.MULTILINE)
    assert len(evictions) == 8
    for body, path_of in evictions:
        name = json.loads(shlex.split(body)[0])["metadata"]["name"]
        assert path_of.endswith(f"/pods/{name}/eviction")
        assert ("Pod", name) in by_name
