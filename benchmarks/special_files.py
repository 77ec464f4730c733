"""Files and surroundings that are special: bombs, pipes, devices, endless names, closed streams;
see fuzz_files.py.
"""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Iterator
from pathlib import Path


def specials(folder: Path) -> Iterator[tuple[str, str]]:
    """Description of each special file, and a shell line with it; `cotenant` is the command, `$F`
    the folder of these files.
    """
    tiny = '{"cotenant": 1, "problem": "colocation", "count": [2], "penalty": [[%s0]]}'
    for name, unit in (("blanks", b" "), ("brackets", b"["), ("zeros", b"0")):
        with gzip.open(folder / f"{name}.json.gz", "wb", compresslevel=9) as stream:
            for _ in range(3000):
                stream.write(unit * 10**6)
    for name, unit in (
        ("lists", "[],"),
        ("floats", "1.5,"),
        ("texts", '"ab",'),
        ("objects", "{},"),
        ("nested", "[[[[]]]],"),
        ("nulls", "null,"),
    ):
        (folder / f"{name}.json").write_text(tiny % (unit * (60_000_000 // len(unit))))
    keys = ",".join(f'"k{place}":0' for place in range(4_000_000))
    (folder / "keys.json").write_text(f'{{"cotenant": 1, "problem": "market", {keys}}}')
    (folder / "twice.json").write_text(f'{{"cotenant": 1, {keys}, "k3999999": 0}}')
    (folder / "long-name.json").write_text(f'{{"cotenant": 1, "problem": "{"x" * 60_000_000}"}}')
    (folder / "members.json.gz").write_bytes(gzip.compress(b"") * 2_000_000)
    (folder / "wide.csv").write_text(",".join(f"c{place}" for place in range(5_000_000)) + "\n")
    (folder / "lines.csv").write_text(
        "job,a\n" + "".join(f"j{place},1\n" for place in range(4_000_000))
    )
    (folder / "cells.csv").write_text(("12," * 100 + "\n") * 200_000)
    (folder / "jobs.swf").write_text("; MaxProcs: 4\n" + ("123 " * 4 + "1 " * 14 + "\n") * 990_000)
    (folder / "short.swf").write_text("1 \n" * 20_000_000)
    (folder / "words.csv").write_text("12,34,56,78\n" * 900_000 + "12,34," * 8_000_000)
    (folder / "words.vbp").write_text("2 10 20 2400000 " + "1 1 1 " * 2_400_000)
    (folder / "tall.csv").write_text(
        "job,a\n" + "".join(f"job-number-{place},0.{place}\n" for place in range(990_000))
    )
    (folder / "agents.json").write_text(
        "{" + ",".join(f'"a{place}":[]' for place in range(30_000)) + "}"
    )
    (folder / "rows.jsonl").write_text('{"key": "k"}\n' * 4_000_000)
    (folder / "empty").touch()
    (folder / "sparse.json").touch()
    os.truncate(folder / "sparse.json", 10**13)
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.json")
    (folder / "broken.json").symlink_to(folder / "nowhere")
    (folder / "loop.json").symlink_to(folder / "loop.json")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    server.close()
    (folder / "tree" / "a").mkdir(parents=True)
    (folder / "tree" / "loop").symlink_to(folder / "tree")
    os.mkfifo(folder / "tree" / "a" / "pipe.json")
    for name in (
        "blanks.json.gz", "brackets.json.gz", "zeros.json.gz", "lists.json", "floats.json",
        "texts.json", "objects.json",
        "nested.json", "nulls.json", "keys.json", "twice.json", "long-name.json", "members.json.gz",
        "empty", "sparse.json",
        "pipe", "broken.json", "loop.json", "socket", "tree",
    ):  # fmt: skip
        yield f"show {name}", f"cotenant show $F/{name}"
    for name in (
        "/dev/zero",
        "/dev/null",
        "/dev/urandom",
        "/dev/full",
        "/dev/tty",
        "/proc/self/mem",
        "/proc/kmsg",
        "/proc/self/environ",
    ):
        yield f"show {name}", f"cotenant show {name}"
    for name in (
        "$F/pipe",
        "/dev/zero",
        "$F/blanks.json.gz",
        "$F/lists.json",
        "$F/rows.jsonl",
        "$F/short.swf",
    ):
        yield f"check, second {name}", f"cotenant check colocation/tiny {name}"
        yield f"report {name}", f"cotenant report {name} --out $F/page.html"
        yield f"convert {name}", f"cotenant convert {name} --from penalty-csv --out $F/out.json"
        yield f"fairness {name}", f"cotenant advise fairness {name}"
    for name, form in (
        ("wide.csv", "penalty-csv"), ("wide.csv", "jobs-csv"), ("wide.csv", "admission-csv"),
        ("tall.csv", "penalty-csv"),
        ("tall.csv", "admission-csv"), ("lines.csv", "admission-csv"),
        ("cells.csv", "azure-vm"),
        ("cells.csv", "fair-co2"), ("words.csv", "penalty-csv"), ("jobs.swf", "swf"),
        ("short.swf", "swf"), ("short.swf", "vbp"),
        ("words.vbp", "vbp"), ("agents.json", "preferences"), ("floats.json", "gavel"),
        ("keys.json", "preferences"),
    ):  # fmt: skip
        yield (
            f"convert {name} from {form}",
            f"cotenant convert $F/{name} --from {form} --out $F/out.json",
        )
    yield (
        "a mapping that is a pipe",
        "cotenant convert $F/jobs.swf --from swf -o mapping=$F/pipe --out $F/out.json",
    )
    yield (
        "convert without nodes",
        "cotenant convert $F/tall.csv --from alibaba-openb --out $F/out.json",
    )
    yield "endless standard input", "cat /dev/zero | cotenant show -"
    yield "standard input closed", "cotenant show - <&-"
    yield "standard input empty", "cotenant check colocation/tiny - </dev/null"
    for streams in (">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>&1"):
        for line in (
            "show colocation/tiny",
            "show none",
            "methods --json",
            "solve colocation/tiny -m GR",
            "compare colocation/tiny -m GR",
            "solve",
        ):
            yield f"{line} {streams}", f"cotenant {line} {streams}"
    for out in ("/dev/full", "$F/none/x.json", "$F/tree", "$F/$L.json", "/dev/null"):
        yield f"solve --out {out}", f"cotenant solve colocation/tiny -m GR --out {out}"
        yield f"compare --out {out}", f"cotenant compare colocation/tiny -m GR --out {out}"
        yield f"generate --out {out}", f"cotenant generate market --out {out}"
    yield (
        "a name of 300 letters",
        "cotenant show $L; cotenant check colocation/tiny $L; cotenant report $L --out "
        "$F/x.html; cotenant advise fairness $L",
    )
    yield "a limit that is none", "COTENANT_FILE_LIMIT=lots cotenant show colocation/tiny"
    yield "no folder for temporary files", "TMPDIR=/nowhere cotenant compare colocation/tiny -m GR"
