"""Answers over time: lines of a series, its table and page, metrics, and the plugin of kubectl."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import node, pod, state
from support.fake_api import serving
from support.messages import approved, refused
from support.terminal import run

from cotenant.advice.plan import Advice, advise
from cotenant.advice.reading import read_state
from cotenant.advice.series import FIELDS, append_entry, entry_of, prometheus_text, read_series
from cotenant.analysis.run.lock import locked
from cotenant.cli.kubectl import RESOURCES, main
from cotenant.cli.series import SeriesOptions
from cotenant.instances.problem.errors import InvalidFile
from cotenant.solvers.compiled import cache_folder

ROOT = Path(__file__).resolve().parents[1]
SHOP = json.loads((ROOT / "advice" / "data" / "shop.json").read_text())
PAGE = (ROOT / "docs" / "howto" / "over-time.md").read_text()


@pytest.fixture(scope="module")
def shop() -> Advice:
    return advise(read_state(["state/shop"]), time_limit=20)


def entry(day: int, **fields: Any) -> dict[str, Any]:
    """An entry of a day in March."""
    return {
        "date": f"2027-03-{day:02}T06:00:00Z", "state": "shop", "in_use": 6, "enough": 4,
        "needed": 4, "idle": 1, "pending": 1, "waiting": 0, "not_ordered": 0, "cut_short": False,
        "warnings": [], "pods_count_as": "requests",
    } | fields  # fmt: skip


def series_of(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "series.jsonl"
    for each in entries:
        append_entry(path, each)
    return path


# lines


def test_every_answer_adds_a_line(tmp_path: Path, shop: Advice) -> None:
    path, prices = tmp_path / "series.jsonl", tmp_path / "prices.csv"
    prices.write_text("node,price\n" + "".join(f"{each.name},1.5\n" for each in shop.state.nodes))
    assert run("advise", "nodes", "state/shop", "--series", str(path)).returncode == 0
    done = run(
        *("advise", "nodes", "state/shop", "--prices", str(prices), "--name", "prod", "--json"),
        *("--series", str(path), "--prometheus", str(tmp_path / "cotenant.prom")),
    )
    plan = json.loads(done.stdout)
    first, second = read_series(path)[0]
    assert "cost" not in first
    assert {*first, *second} == {*FIELDS}
    assert (first["state"], second["state"]) == ("state/shop", "prod")
    for found in (first, second):
        assert (found["in_use"], found["enough"]) == (6, 4)
        assert (found["pending"], found["waiting"]) == (1, 0)
    # with prices no bound on the number of nodes is looked for
    assert (first["needed"], "needed" in second) == (4, False)
    assert {name: second[name] for name in ("cost", "cost_bound", "cost_now")} == {
        name: plan[name] for name in ("cost", "cost_bound", "cost_now")
    }
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "cotenant.prom", "prices.csv", "series.jsonl",
    ]  # fmt: skip


def test_an_entry_has_the_warnings_and_what_was_cut_short() -> None:
    read = state(node("n1"), node("n2"), pod("a-1", "n1"), pod("b-1", cpu="100"))
    advice = advise(read, time_limit=20)
    found = entry_of(advice, name="a\udc80")
    assert found["warnings"] == [each.code for each in read.warnings] != []
    assert (found["cut_short"], found["pending"], found["waiting"]) == (bool(advice.cut), 1, 1)
    assert found["state"] == r"a\udc80"


def test_a_last_line_that_is_cut_off_anywhere_goes(tmp_path: Path) -> None:
    path = series_of(tmp_path, entry(1), entry(2))
    text = path.read_text()
    end = text.index("\n") + 1
    for length in range(end, len(text) + 1):
        path.write_text(text[:length])
        days = [1, 2] if length >= len(text) - 1 else [1]
        assert read_series(path)[0] == [entry(day) | {} for day in days]
        append_entry(path, entry(3))
        assert read_series(path)[0] == [*(entry(day) for day in days), entry(3)]
        assert path.read_text().count("\n") == len(days) + 1
    path.write_text("")
    append_entry(path, entry(4))
    assert read_series(path)[0] == [entry(4)]


LINE = '{"cotenant-series":1,' + json.dumps(entry(1))[1:]
OTHERS = {
    "CSV": "date,nodes\n1,2\n",
    "JSON": '{"problem": "packing"}\n',
    "open": "{",
    "version": LINE.replace(":1,", ":2,", 1) + "\n",
    "negative": LINE.replace('"needed": 4', '"needed": -4') + "\n",
    "missing": LINE.replace('"enough": 4, ', "") + "\n",
    "text": LINE.replace('"in_use": 6', '"in_use": "6"') + "\n",
    "no zone": LINE.replace("00Z", "00") + "\n",
    "in the middle": f"{LINE[:50]}\n{LINE}\n",
    "not a number": LINE[:-1] + ', "cost": NaN}\n',
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_a_file_that_is_something_else_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "series.jsonl"
    path.write_text(text)
    with refused(InvalidFile):
        append_entry(path, entry(2))
    done = run("advise", "nodes", "missing.json", "--series", str(path))
    assert (done.returncode, "missing.json" in done.stderr) == (2, False)
    assert path.read_text() == text


def test_a_line_is_added_under_the_lock(tmp_path: Path) -> None:
    path = series_of(tmp_path, entry(1))
    with locked(path, "--series"):
        with pytest.raises(InvalidFile, match="--series"):
            append_entry(path, entry(2), patience=0)
        done = run("advise", "nodes", "missing.json", "--series", str(path))
    assert (done.returncode, "another --series" in done.stderr) == (2, True)  # before any work
    assert read_series(path)[0] == [entry(1)]


def test_a_line_that_cannot_be_added_is_not_lost(
    tmp_path: Path, shop: Advice, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidFile):
        SeriesOptions(series=tmp_path / "gone" / "x.jsonl").write(shop)
    printed = capsys.readouterr().err
    line = json.loads(printed[printed.index("{") :])
    assert {"cotenant-series": 1, **entry_of(shop), "date": ""} == line | {"date": ""}


# the command


def test_a_series_is_a_table_of_80_columns(tmp_path: Path) -> None:
    priced = {"cost": 12.25, "cost_bound": 12.0, "cost_now": 1234.5}
    path = series_of(tmp_path, entry(1, warnings=["no-pdb", "stale"]), entry(2, **priced))
    done = run("advise", "series", str(path), COLUMNS="80")
    assert max(map(len, done.stdout.splitlines())) <= 80
    approved(done.stdout)
    approved(run("advise", "series", str(path), "--format", "csv").stdout)
    assert json.loads(run("advise", "series", str(path), "--json").stdout)[1] == entry(2, **priced)


def test_a_series_without_entries_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    done = run("advise", "series", str(tmp_path / "empty.jsonl"))
    assert done.returncode == 2
    approved(done.stderr)


def test_the_page_draws_nodes_over_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    pytest.importorskip("jinja2", reason="the page needs jinja2")
    rows = [entry(day, in_use=10 - day, cost=3.5, state="<b>x</b>") for day in (1, 2, 4)]
    path = series_of(tmp_path, *rows, entry(7, warnings=["no-pdb"], needed=3, not_ordered=2))
    page = tmp_path / "page.html"
    assert run("advise", "series", str(path), "--report", str(page)).returncode == 0
    html = page.read_text()
    nodes, money = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert nodes.count("<title>2027-03-04T06:00:00Z") == 3
    assert money.count("<title>2027-03-04T06:00:00Z") == 1
    assert "<b>x</b>" not in html  # it is text
    approved(re.sub(r"<[^>]*>", "", re.findall(r'<p class="decision">.*?</p>', html)[0]))
    approved(re.sub(r"<[^>]*>", "", re.findall(r'<div class="warnings".*?</div>', html, re.S)[0]))


# metrics

BACK = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})\{{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\}} (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"')


def parsed(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples of a text in Prometheus' format, by name and values of labels."""
    assert text.endswith("\n")
    found: dict[str, dict[tuple[str, ...], float]] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert re.fullmatch(NAME, name)
            assert next(lines) == f"# TYPE {name} gauge"
            assert name not in found
            found[name] = {}
            continue
        matched = SAMPLE.fullmatch(line)
        assert matched is not None, line
        values = tuple(
            re.sub(r'\\[\\"n]', lambda mark: BACK[mark[0]], value)
            for _, value in LABEL.findall(matched[2])
        )
        assert values not in found[matched[1]]
        found[matched[1]][values] = float(matched[3])
    return found


def test_metrics_are_what_the_format_has() -> None:
    odd = 'a "name", \\n is no line\nbut this = {1}'
    text = prometheus_text(entry(1, state=odd, cost=0.1, cost_now=1e9, warnings=["stale", "b"]))
    found = parsed(text)
    assert found["cotenant_nodes_in_use"] == {(odd,): 6}
    assert (found["cotenant_nodes_enough"], found["cotenant_nodes_needed"]) == ({(odd,): 4},) * 2
    assert (found["cotenant_cost"], found["cotenant_cost_now"]) == ({(odd,): 0.1}, {(odd,): 1e9})
    assert "cotenant_cost_bound" not in found
    assert found["cotenant_cut_short"] == {(odd,): 0}
    assert found["cotenant_warnings"] == {(odd,): 2}
    assert found["cotenant_warning"] == {(odd, "stale"): 1, (odd, "b"): 1}
    assert found["cotenant_timestamp_seconds"] == {(odd,): 1803880800}
    assert "cotenant_warning" not in parsed(prometheus_text(entry(1)))


def test_a_parser_of_prometheus_reads_the_metrics() -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="it is not installed")
    text = prometheus_text(entry(1, state='"\\\n', warnings=["stale"]))
    theirs = {
        each.name: {tuple(sample.labels.values()): sample.value for sample in each.samples}
        for each in parser.text_string_to_metric_families(text)
    }
    assert theirs == parsed(text)


# kubectl

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
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "away",
        "clusters": [{"name": n, "cluster": {"server": to}} for n, to in servers.items()],
        "contexts": [{"name": n, "context": {"cluster": n, "user": ""}} for n in servers],
    }
    path = folder / "config"
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.slow
def test_what_kubectl_lists_is_answered_with_the_rest_of_the_arguments(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, f"/bin/cat {ROOT}/advice/data/shop.json")
    line = ["drain", "n-6", "--context", "a b", "--json", "--kubeconfig=c", "--details"]
    done = plugin(*line, home=tmp_path, path=places)
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "get", RESOURCES, "-A", "-o", "json", "--context", "a b", "--kubeconfig", "c",
    ]  # fmt: skip
    ours = run("advise", "drain", "state/shop", "n-6", "--json", "--details")
    assert done.returncode == 1
    assert json.loads(done.stdout)["blocked"] == json.loads(ours.stdout)["blocked"]


needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not installed (Debian: kubernetes-client)"
)


@pytest.mark.slow
@needs_kubectl
def test_the_real_kubectl_lists_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "series.jsonl"
    with serving(SHOP["items"]) as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, "--series", str(path), home=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = read_series(path)[0]
    assert (found["in_use"], found["enough"], found["needed"]) == (6, 4, 4)


@needs_kubectl
def test_who_may_not_list_all_is_told_what_to_ask_for(tmp_path: Path) -> None:
    with serving(SHOP["items"], forbidden="persistentvolumes") as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "(Forbidden)" in done.stderr
    approved(done.stderr.splitlines()[-1])


def test_kubectl_that_fails_or_is_missing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = plugin("nodes", home=tmp_path, path=str(tmp_path / "empty"))
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr)
    places = fake_kubectl(tmp_path, 'echo "{}"; echo "no such context" >&2; exit 7')
    done = plugin("nodes", "--context", "$(x)", home=tmp_path, path=places)
    assert (done.returncode, done.stdout) == (7, "")
    approved(done.stderr)


@pytest.mark.parametrize("last", [["--context"], ["--context", ""], ["--kubeconfig="]])
def test_an_empty_context_never_means_the_current_one(tmp_path: Path, last: list[str]) -> None:
    done = plugin("nodes", *last, home=tmp_path, path=fake_kubectl(tmp_path, "exit 7"))
    assert (done.returncode, (tmp_path / "arguments").exists()) == (2, False)
    approved(done.stderr)


@pytest.mark.slow
def test_a_question_that_is_none_asks_no_cluster(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, "exit 7")
    for arguments, code in (((), 2), (("series", "x"), 2), (("--help",), 0)):
        done = plugin(*arguments, home=tmp_path, path=places)
        assert (done.returncode, done.stdout) == (code, "")
        assert max(map(len, done.stderr.splitlines())) <= 80
        assert {"nodes,", "drain"} <= set(done.stderr.replace("drain,", "drain").split())
    done = plugin("drain", "--help", home=tmp_path, path=places)
    assert (done.returncode, "--release" in done.stdout) == (0, True)
    assert not (tmp_path / "arguments").exists()


def test_kubectl_finds_the_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert pkgutil.resolve_name(scripts["kubectl-cotenant"]) is main


# the page


def test_the_page_lists_the_fields() -> None:
    for name, (_, metric, meaning) in FIELDS.items():
        shown = f"`cotenant_{metric}`" if metric else ""
        assert f"| `{name}` | {shown} | {meaning} |" in PAGE


def test_the_manifest_grants_what_is_listed_and_no_more() -> None:
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
    assert job["serviceAccountName"] == account["name"]
    assert by_kind["ClusterRoleBinding"]["subjects"][0]["name"] == account["name"]
    assert by_kind["ClusterRoleBinding"]["subjects"][0]["namespace"] == account["namespace"]
    (container,) = job["containers"]
    options = [word for word in container["args"] if word.startswith("--")]
    known = run("advise", "nodes", "--help").stdout
    assert options
    assert [word for word in options if word.partition("=")[0] not in known] == []
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert set(mounts) == {each["name"] for each in job["volumes"]}
    (plugins,) = [each["plugins"] for each in documents if "plugins" in each]
    for each in plugins.values():
        assert {"shortCut", "description", "scopes", "command", "args"} <= set(each)
        assert each["command"] == "kubectl"
