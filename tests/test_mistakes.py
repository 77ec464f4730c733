"""Mistakes on the command line: each is refused before any work, with the field or option, the value
seen, and what to do instead.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.messages import approved
from support.terminal import run

import cotenant
from cotenant.cluster.state import reading
from cotenant.instances.problem.reading import LIMIT_VARIABLE

OWN = "def boom(instance):\n    raise ValueError('oops')\n"
VMS = "name,cpu,mem\nv1,1,2\nv2,1,2\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the mistakes are made with."""
    folder = tmp_path_factory.mktemp("mistakes")
    shop = json.loads((Path(reading.__file__).parent / "data" / "shop.json").read_text())
    tiny = cotenant.read("colocation/tiny")
    cotenant.write(tiny, folder / "inst.json")
    cotenant.solve(tiny, "GR").write(folder / "result.json")
    cotenant.compare([tiny], ["GR", "CO"], out=folder / "rows.jsonl", progress=False)
    (folder / "row.jsonl").write_text((folder / "rows.jsonl").read_text().partition("\n")[0] + "\n")
    texts = {
        "shop.json": json.dumps(shop),
        "lines.json": "\n".join(json.dumps(item) for item in shop["items"]),
        "pen.csv": ",a,b\na,0.1,0.2\nb,0.3,0.1\n",
        "percent.csv": ",a,b\na,12.5,20\nb,3,1\n",
        "one-percent.csv": ",a,b\na,5%,0.2\nb,0.3,0.1\n",
        "missing.csv": ",a,b\na,0.1,nan\nb,0.3,0.1\n",
        "labels.csv": ",a,b\na,0.1,0.2\nc,0.3,0.1\n",
        "open-tie.csv": "agent,list\nann,[bob,cat\n",
        "preferences.csv": "agent,first\nann,bob\nbob,ann\n",
        "ties.json": json.dumps({"ann": [["bob", ["cat"]]], "bob": ["ann"], "cat": ["ann"]}),
        "vms.csv": VMS,
        "milli.csv": VMS.replace("v1,1", "v1,500m"),
        "giga.csv": VMS.replace("v1,1,2", "v1,1,8G"),
        "no-count.csv": "name,cpu,mem,count\nh,4,16,\n",
        "price.csv": "name,cpu,mem,price\nh,4,16,0.384\n",
        "cost.csv": "name,cpu,mem,cost\nh,4,16,0.384\n",
        "once.csv": "name,cpu,mem\nh,1,2\n",
        "game.csv": "coalition,value\na,1\n",
        "own_mistake.py": OWN,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


FROM_VMS = "--from vms-csv --out x.json -o"
TINY = "colocation/tiny"

MISTAKES: list[tuple[str, tuple[str, ...]]] = [
    ("convert pen.csv --out x.json", ("'--from'", "FORMAT", "penalty-csv", "temporal-bin-packing")),
    (f"solve {TINY}", ("'--method'", "optimal, stable, fair")),
    ("solve none.json", ("'--method'", "module:function")),
    (f"prove {TINY} --out p.json", ("'--method'", "one of optimal")),
    ("compare pen.csv", ("pen.csv is not JSON", "cotenant convert pen.csv --from", "penalty-csv")),
    ("compare game.csv", ("looks like a table", "`cotenant analyze core game.csv` divides")),
    ("solve preferences.csv -m SR", ("looks like a table", "cotenant convert preferences.csv")),
    ("convert open-tie.csv --from preferences --out x.json", ("line 2", "no closing bracket")),
    ("convert pen.csv --from gavel --out x.json", ("Gavel's throughputs", "penalty-csv")),
    ("check inst.json rows.jsonl", ("several JSON values", "a row of `cotenant compare --out`")),
    ("check inst.json row.jsonl", ("is not a result but a row of", "cotenant solve --out")),
    ("check inst.json inst.json", ("is not a result but an instance", "cotenant solve --out")),
    ("check result.json inst.json", ("is a result, not an instance", "instance file first")),
    ("solve row.jsonl -m GR", ("is not an instance but a row of", "cotenant report")),
    ("verify inst.json inst.json", ("is an instance; expected a proof", "cotenant prove")),
    ("verify inst.json result.json", ("is a result", "expected a proof", "cotenant prove")),
    ("verify result.json inst.json", ("result.json is a result", "expected an instance")),
    ("advise nodes lines.json", ("one after the other", "kubectl get ... -o json", "one List")),
    ("advise shop.json", ("No such command 'shop.json'", "nodes, drain")),
    ("advise drain shop.json", ("no node is named", "drain shop.json NODE")),
    ("advise drain shop.json n-1 shop.json", ("n-1 stands before a file", "drain shop.json")),
    ("advise drain n-1 shop.json", ("n-1 does not exist", "drain shop.json n-1")),
    ("advise drain n-1 n-2", ("n-1 does not exist", "files of a state and then nodes")),
    ("advise fairness log --bogus 3", ("No such option: --bogus", "--partition")),
    ("profiles --store lab.db", ("first argument", "cotenant profiles LAB.db")),
    ("measure jobs.toml", ("'--store'", "LAB.db", "Add every run to this file")),
    ("run queue jobs.toml", ("'--store'", "LAB.db")),
    ("report rows.jsonl", ("'--out'", "REPORT.html", "Write the page here")),
    ("generate colocation", ("'--out'", "FILE", ".json.gz")),
    ("convert ties.json --from preferences --out x.json", ("lists['ann'][0]", "['cat']", "a name")),
    ("convert percent.csv --from penalty-csv --out x.json", ("from 1 to 20", "percent by 100")),
    ("convert one-percent.csv --from penalty-csv --out x.json", ("'5%'", "unit: 0.05")),
    ("convert missing.csv --from penalty-csv --out x.json", ("'a'", "'b'", "missing")),
    ("convert labels.csv --from penalty-csv --out x.json", ("not square", "unmatched: b, c")),
    (f"convert vms.csv {FROM_VMS} hosts=no-count.csv", ("line 2", "'count' is ''", "inf for")),
    (f"convert vms.csv {FROM_VMS} hosts=price.csv", ("'price' is no resource", "name it cost")),
    (f"convert vms.csv {FROM_VMS} hosts=cost.csv", ("'0.384'", "whole column by 1000: 384")),
    (f"convert milli.csv {FROM_VMS} hosts=once.csv", ("'500m'", "without unit: 0.5")),
    (f"convert giga.csv {FROM_VMS} hosts=once.csv", ("'8G'", "without unit: 8", "one unit")),
    (f"solve {TINY} -m optimal --time-limit 5s", ("'5s'", "(seconds)", "without unit: 5")),
    (f"solve {TINY} -m optimal --time-limit=2min", ("'2min'", "(seconds)", "without unit: 120")),
    (f"solve {TINY} -m optimal --time-limit two", ("--time-limit is 'two'", "(seconds)")),
    (f"compare {TINY} -m GR --seeds two", ("--seeds is 'two'", "a whole number")),
    (f"solve {TINY} -m GR --format latex --width 8.5cm", ("centimeters", "without unit: 8.5")),
    ("measure jobs.toml --store lab.db --half-width 5%", ("'5%'", "a share", "unit: 0.05")),
    (f"solve {TINY} -m GR -o alpha=5%", ("alpha is '5%'", "without unit: 0.05")),
    (f"solve {TINY} -m GR,CO", ("'GR,CO'", "Repeat -m: -m GR -m CO")),
    (f"compare {TINY} -m GR,CO", ("'GR,CO'", "Repeat -m: -m GR -m CO")),
    (f"solve {TINY} -m own_mistake.py:boom", ("is a file", "write own_mistake:boom")),
    (f"compare {TINY} -m own_mistake.boom", ("module:function", "own_mistake:boom")),
    ("reproduce accelerators-policies", ("throughputs=PATH", "--data FOLDER", "--list")),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_errors_of_wrong_input_name_value_seen_and_cure(
    command: str, words: tuple[str, ...], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run(*command.split(" "))
    assert done.returncode == 2
    assert [word for word in words if word not in done.stderr] == [], done.stderr
    assert "Traceback" not in done.stderr


def test_error_for_too_long_file_names_limit_and_variable(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run("advise", "nodes", "shop.json", **{LIMIT_VARIABLE: "10kB"})
    assert done.returncode == 2
    approved(done.stderr)
    size = max(1, -(-(files / "shop.json").stat().st_size // 10**6))
    assert f"{LIMIT_VARIABLE}={size}MB" in done.stderr


def test_error_for_too_few_hosts_explains_missing_count_column(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    command = "convert vms.csv --from vms-csv -o hosts=once.csv --out few.json"
    approved(run(*command.split()).stderr)
    done = run("solve", "few.json", "-m", "min-servers")
    assert done.returncode == 1
    approved(done.stderr)


def test_convert_command_describes_the_converted_instance(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run("convert", "pen.csv", "--from", "penalty-csv", "--out", "pen.json")
    approved(done.stdout)
    (files / "chain.json").write_text(json.dumps({"a": ["b"], "b": ["a", "c"], "c": ["b"]}))
    done = run("convert", "chain.json", "--from", "preferences", "--out", "c.json")
    approved(done.stdout)
