"""The plugin of kubectl, the commands that a plan emits for it, and the manifest of a daily answer."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.fake_api import serving
from support.messages import approved
from support.terminal import run

from cotenant.cli.kubectl import RESOURCES, main
from cotenant.cluster.report.emit import FREED
from cotenant.solvers.compiled import cache_folder

ROOT = Path(__file__).resolve().parents[1]
SHOP = json.loads((ROOT / "cluster" / "state" / "data" / "shop.json").read_text())
PAGE = (ROOT / "docs" / "howto" / "kubectl.md").read_text()


PLUGIN = [sys.executable, "-c", "from cotenant.cli.kubectl import main; main()"]


def plugin(
    *arguments: str, home: Path, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What `kubectl cotenant ARGUMENTS` prints, with programs of some folders alone."""
    places = os.environ["PATH"] if path is None else path
    folder = cache_folder()
    kernels = {} if folder is None else {"XDG_CACHE_HOME": str(folder.parents[2])}
    return subprocess.run(
        [*PLUGIN, *arguments], capture_output=True, text=True, check=False, timeout=120,
        env={
            **os.environ, "HOME": str(home), "KUBECONFIG": str(home / "none"), "PATH": places,
        } | kernels,
    )  # fmt: skip


def fake_kubectl(folder: Path, program: str) -> str:
    """A folder with a kubectl that writes down its arguments."""
    script = folder / "kubectl"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/arguments"\n{program}\n')
    script.chmod(0o755)
    return str(folder)


def config_of(folder: Path, address: str) -> str:
    """A kubeconfig with two contexts, of which the second one leads to the server."""
    servers = {"away": "http://127.0.0.1:1", "shop": address}
    clusters = [{"name": n, "cluster": {"server": to}} for n, to in servers.items()]
    contexts = [{"name": n, "context": {"cluster": n, "user": ""}} for n in servers]
    content = {"apiVersion": "v1", "kind": "Config", "current-context": "away",
               "clusters": clusters, "contexts": contexts}  # fmt: skip
    path = folder / "config"
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.slow
def test_kubectl_plugin_forwards_arguments(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, f"/bin/cat {ROOT}/cluster/state/data/shop.json")
    line = ["drain", "n-6", "--context", "a b", "--json", "--kubeconfig=c", "--details"]
    done = plugin(*line, home=tmp_path, path=places)
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "get", RESOURCES, "-A", "-o", "json", "--context", "a b", "--kubeconfig", "c",
    ]  # fmt: skip
    ours = run("advise", "drain", "state/shop", "n-6", "--json", "--details")
    assert done.returncode == 1
    assert json.loads(done.stdout)["why_not"] == json.loads(ours.stdout)["why_not"]


needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not installed (Debian: kubernetes-client)"
)


@pytest.mark.slow
@needs_kubectl
def test_the_real_kubectl_lists_a_cluster(tmp_path: Path) -> None:
    with serving(SHOP["items"]) as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (len(found["in_use"]), found["nodes"]["value"]) == (6, 4)


@needs_kubectl
def test_emitted_commands_are_accepted_by_kubectl(tmp_path: Path) -> None:
    text = run("advise", "nodes", "state/shop", "--emit", "kubectl").stdout
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in SHOP["items"]}
    labels = [shlex.split(line) for line in text.splitlines() if line.startswith("kubectl label")]
    assert labels
    for words in labels:
        node = json.dumps(by_name["Node", words[3]])
        command = ["kubectl", "label", "--local", "-f", "-", *words[4:], "-o", "json"]
        env = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
        done = subprocess.run(command, input=node, env=env, capture_output=True, text=True)
        assert json.loads(done.stdout)["metadata"]["labels"][FREED] == "true", done.stderr
    evictions = re.findall(r"^echo (.*) \| kubectl create --raw (\S+) -f -$", text, re.MULTILINE)
    assert len(evictions) == 8
    for body, path in evictions:
        name = json.loads(shlex.split(body)[0])["metadata"]["name"]
        assert path.endswith(f"/pods/{name}/eviction")
        assert ("Pod", name) in by_name


@pytest.mark.slow
@needs_kubectl
def test_kubectl_without_permission_names_the_rights(tmp_path: Path) -> None:
    with serving(SHOP["items"], forbidden="persistentvolumes") as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "(Forbidden)" in done.stderr
    approved(done.stderr.splitlines()[-1])


@pytest.mark.slow
def test_failing_or_missing_kubectl_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = plugin("nodes", home=tmp_path, path=str(tmp_path / "empty"))
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr)
    places = fake_kubectl(tmp_path, 'echo "{}"; echo "no such context" >&2; exit 7')
    done = plugin("nodes", "--context", "$(x)", home=tmp_path, path=places)
    assert (done.returncode, done.stdout) == (7, "")
    approved(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("last", [["--context"], ["--context", ""], ["--kubeconfig="]])
def test_empty_kubectl_context_is_refused(tmp_path: Path, last: list[str]) -> None:
    done = plugin("nodes", *last, home=tmp_path, path=fake_kubectl(tmp_path, "exit 7"))
    assert (done.returncode, (tmp_path / "arguments").exists()) == (2, False)
    approved(done.stderr)


@pytest.mark.slow
def test_invalid_kubectl_question_contacts_no_cluster(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, "exit 7")
    for arguments, code in (((), 2), (("trees", "x"), 2), (("--help",), 0)):
        done = plugin(*arguments, home=tmp_path, path=places)
        assert (done.returncode, done.stdout) == (code, "")
        assert max(map(len, done.stderr.splitlines())) <= 80
        assert {"nodes,", "drain"} <= set(done.stderr.replace("drain,", "drain").split())
    done = plugin("drain", "--help", home=tmp_path, path=places)
    assert (done.returncode, "--release" in done.stdout) == (0, True)
    assert not (tmp_path / "arguments").exists()


def test_kubectl_finds_the_plugin() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert pkgutil.resolve_name(scripts["kubectl-cotenant"]) is main


def test_documented_cluster_role_grants_exactly_the_kinds_that_kubectl_lists() -> None:
    yaml = pytest.importorskip("yaml", reason="it is not installed")
    documents = [
        each
        for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
        for each in yaml.safe_load_all(block)
    ]
    by_kind = {each["kind"]: each for each in documents if "kind" in each}
    rules = by_kind["ClusterRole"]["rules"]
    assert [rule["verbs"] for rule in rules] == [["get", "list"]] * len(rules)
    short = {
        "poddisruptionbudgets": "pdb", "persistentvolumes": "pv", "persistentvolumeclaims": "pvc",
        "storageclasses": "sc", "namespaces": "ns",
    }  # fmt: skip
    granted = {short.get(name, name) for rule in rules for name in rule["resources"]}
    assert granted == set(RESOURCES.split(","))
    job = by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    account = by_kind["ServiceAccount"]["metadata"]
    (subject,) = by_kind["ClusterRoleBinding"]["subjects"]
    assert job["serviceAccountName"] == account["name"] == subject["name"]
    assert subject["namespace"] == account["namespace"]
    (container,) = job["containers"]
    options = [word for word in container["command"][-1].split() if word.startswith("--")]
    known = run("advise", "nodes", "--help").stdout
    assert options
    assert [word for word in options if word.partition("=")[0] not in known] == []
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in job["volumes"]}
