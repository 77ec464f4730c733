"""Interrupt exact methods, `compare`, `reproduce` and `report` at random moments: are answers kept,
and does everything end?

    python benchmarks/fuzz_interrupts.py --count 500 [--seed 0] [--jobs 2] [--target NAME]...
    [--json FILE]

Each trial starts the command as its console entry does, waits a random time (counted from when the
entry is found: before that there is only Python, which no program hears signals for), and sends
Ctrl-C to it, Ctrl-C to its whole process group as a terminal does, or the SIGTERM of a batch
system. It must then

- exit with 130 after Ctrl-C, 143 after SIGTERM, or as it does undisturbed if it was done,
- keep a feasible answer wherever one was known (the progress lines of --log say whether), and whole
  rows,
- print no traceback, and end within LATE seconds with every process it started.

Exits with 1 when a trial fails; `--target NAME --seed S` narrows a failure down.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.analysis.run.rows import read_rows

LATE = 15.0
"""Seconds a command may take to end after a signal: methods that `compare` runs have 10 s to hand
in their best.
"""

DEAF = 3.0
"""Seconds within which a command that was nearly done ends as it would have; one that takes longer
did not hear the signal.
"""

TIME_LIMIT = 6
"""Seconds of a run that nobody interrupts."""

ENTRY = "import os; from cotenant.cli import main; os.write({descriptor}, b'.'); main()"
BAD_WORDS = (
    "Traceback",
    "Exception ignored",
    "SystemError",
    "Fatal Python",
    "terminate called",
    "Segmentation",
    "core dumped",
)
MARK = "COTENANT_FUZZ"

GENERATED: dict[str, list[str]] = {
    "colocation.json": ["colocation", "--kind", "scores", "-o", "agents=60"],
    "population.json": ["colocation", "-o", "agents=1000", "-o", "mix=gaussian"],
    "admission.json": ["admission", "--kind", "uniform", "-o", "machines=12", "-o", "jobs=60"],
    "packing.json": ["packing", "--kind", "caprara-toth", "-o", "items=60"],
    "elastic.json": ["packing", "-o", "machines=40"],
    "tree.json": ["packing", "-o", "machines=6"],
    "market.json": ["market", "-o", "users=300", "-o", "servers=100"],
    "whole.json": ["market", "-o", "users=6", "-o", "servers=6", "-o", "jobs=4"],
    "scheduling.json": ["scheduling", "-o", "organizations=8", "-o", "jobs=3000"],
    "jobs.json": [
        "scheduling",
        "-o",
        "organizations=4",
        "-o",
        "machines=8",
        "-o",
        "jobs=60",
        "-o",
        "horizon=400",
    ],
    "numa.json": ["numa", "-o", "blades=8"],
}
"""What the methods are run on: large enough that they take some seconds."""

INSTANCES: dict[str, list[str]] = {
    "colocation": ["colocation.json", "population.json"],
    "admission": ["admission.json"],
    "market": ["market.json"],
    "scheduling": ["scheduling.json"],
    "numa": ["numa.json"],
}
OWN: dict[str, list[str]] = {
    "leximin": ["whole.json"], "utilitarian": ["market.json"],
    "max-utilization": ["jobs.json", "elastic.json"],
    "max-utility": ["jobs.json"], "min-servers": ["packing.json"], "min-cost": ["packing.json"],
    "cp-sat": ["packing.json"],
    "FUGA": ["elastic.json"], "FUGA-tree": ["tree.json"],
    "joint-optimum": ["elastic.json"],
    "max-min-share": ["elastic.json"],
}  # fmt: skip
"""Instances of methods that want their own."""

OTHERS: dict[str, list[str]] = {
    "compare-colocation": [
        "compare",
        "population.json",
        "-m",
        "fair",
        "-m",
        "GR",
        "-m",
        "stable",
        "--time-limit",
        "3",
    ],
    "compare-frontier": [
        "compare",
        "colocation.json",
        "-m",
        "optimal",
        "--frontier",
        "--time-limit",
        "4",
    ],
    "compare-packing": [
        "compare",
        "packing.json",
        "-m",
        "min-servers",
        "-m",
        "cp-sat",
        "-m",
        "FFD",
        "--time-limit",
        "3",
        "--jobs",
        "2",
    ],
    "compare-problems": [
        "compare",
        "admission.json",
        "market.json",
        "-m",
        "optimal",
        "-m",
        "fisher",
        "--time-limit",
        "3",
    ],
    "reproduce": [
        "reproduce",
        "colocation-figure-13",
        "packing-theorems-8-10",
        "colocation-figure-5",
    ],
    "report": ["report", "rows.jsonl"],
}
"""Commands that run many methods, and what is made of their rows."""


@dataclass
class Target:
    """A command, how long it takes undisturbed, and the code it then exits with."""

    name: str
    arguments: list[str]
    instance: str = ""
    seconds: float = 0.0
    code: int = 0


@dataclass
class Trial:
    """What came of one interrupt."""

    number: int
    target: str
    how: str
    moment: float
    code: int | None = None
    took: float = 0.0
    kept: str = ""
    failures: list[str] = field(default_factory=list)
    words: str = ""


def main() -> None:
    """Measure the targets undisturbed, then interrupt them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    parser.add_argument(
        "--target",
        action="append",
        help="only this one, such as packing/min-servers; repeat for more",
    )
    parser.add_argument("--json", type=Path, help="write every trial here")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, arguments in GENERATED.items():
            _, stderr = (
                made := started(["generate", *arguments, "--out", str(folder / file)])
            ).communicate()
            if made.returncode:
                raise SystemExit(f"{file} is not made: {stderr}")
        started(
            ["compare", "colocation/tiny", "packing/tiny", "--out", str(folder / "rows.jsonl")]
        ).communicate()
        targets = [
            target
            for target in all_targets(folder)
            if not asked.target or target.name in asked.target
        ]
        for target in targets:
            measure(target, folder)
            print(
                f"{target.name:28} {target.seconds:6.1f} s undisturbed, exits with {target.code}",
                flush=True,
            )
        trials = run_all(targets, folder, asked.count, asked.seed, asked.jobs)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(trial) for trial in trials], indent=1) + "\n")
    sys.exit(told(trials))


def all_targets(folder: Path) -> list[Target]:
    """Every exact method on its instances, and the comparisons."""
    found = []
    for method in cotenant.methods():
        if method.kind not in ("exact", "equilibrium"):
            continue
        for file in OWN.get(method.name, INSTANCES.get(method.problem, [])):
            path = str(folder / file) if file in GENERATED else file
            if cotenant.read(path).problem != method.problem:
                continue
            name = f"{method.problem}/{method.name}" + (
                f"/{file[:-5]}" if method.problem == "colocation" else ""
            )
            limit = ["--time-limit", str(TIME_LIMIT)]
            found.append(Target(name, ["solve", path, "-m", method.name, *limit, "--json"], path))
    for name, arguments in OTHERS.items():
        found.append(
            Target(
                name,
                [
                    str(folder / word) if word in (*GENERATED, "rows.jsonl") else word
                    for word in arguments
                ],
            )
        )
    return found


def started(arguments: list[str], mark: str = "") -> subprocess.Popen[str]:
    """The command as its console entry runs it, once that is found; it leads a process
    group of its own.
    """
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY.format(descriptor=writing), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[writing],
        start_new_session=True,
        env={**os.environ, MARK: mark},
        preexec_fn=hearing,
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return process


def hearing() -> None:
    """A process started where Ctrl-C is ignored would ignore it too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def measure(target: Target, folder: Path) -> None:
    """Run it undisturbed, once to fill the cache of kernels and once for its time."""
    for _ in range(2):
        begin = time.monotonic()
        process = started([*target.arguments, "--out", str(folder / "undisturbed")])
        process.communicate()
        target.seconds, target.code = time.monotonic() - begin, process.returncode
        with suppress(FileNotFoundError):
            (folder / "undisturbed").unlink()


def run_all(targets: list[Target], folder: Path, count: int, seed: int, jobs: int) -> list[Trial]:
    """All trials, several at a time, in an order that does not depend on how many."""
    rng = np.random.default_rng(seed)
    todo: SimpleQueue[tuple[Target, Trial]] = SimpleQueue()
    trials = []
    for number in range(count):
        target = targets[number % len(targets)]
        most = 0.5 if rng.random() < 0.1 else 1.02 * target.seconds
        how = str(rng.choice(["ctrl-c", "ctrl-c to all", "sigterm"]))
        trials.append(Trial(number, target.name, how, round(float(rng.uniform(0, most)), 3)))
        todo.put((target, trials[-1]))

    def work() -> None:
        with suppress(Empty):
            while True:
                target, trial = todo.get_nowait()
                attempt(target, trial, folder)
                print(
                    f"{trial.number:4} {trial.target:32} {trial.how:14} {trial.moment:6.2f} s "
                    f"-> {shown(trial)}",
                    flush=True,
                )

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return trials


def attempt(target: Target, trial: Trial, folder: Path) -> None:
    """One trial."""
    mark = uuid.uuid4().hex
    out, log = folder / f"{mark}.out", folder / f"{mark}.log"
    extra = ["--log", str(log)] if target.instance else []
    process = started([*target.arguments, "--out", str(out), *extra], mark)
    number = signal.SIGTERM if trial.how == "sigterm" else signal.SIGINT
    try:
        process.wait(
            trial.moment
        )  # a child that fills its pipe is stuck, but none here prints so much
    except (
        subprocess.TimeoutExpired
    ):  # only now: the number of a process that was waited for may be another's
        os.killpg(process.pid, number) if trial.how == "ctrl-c to all" else process.send_signal(
            number
        )
    begin = time.monotonic()
    try:
        stdout, stderr = process.communicate(timeout=LATE)
    except subprocess.TimeoutExpired:
        trial.failures.append(f"still there after {LATE:g} s")
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
    trial.took, trial.code = round(time.monotonic() - begin, 2), process.returncode
    if trial.code == -number and not stdout and "cotenant" not in stderr and trial.moment < 0.5:
        # A signal before the first line of ours runs is Python's own: a shell says this of it.
        trial.code, stderr = 128 + number, ""
    if trial.code not in (128 + number, target.code):
        trial.failures.append(f"exits with {trial.code}")
    elif trial.code == target.code and trial.took > DEAF:
        trial.failures.append(f"goes on for {trial.took} s")
    trial.failures += [f"prints {word!r}" for word in BAD_WORDS if word in stdout + stderr]
    judge_answer(target, trial, out, log)
    if trial.failures:
        trial.words = stderr[-3000:]
    if left := survivors(mark):
        trial.failures.append(f"leaves {len(left)} processes")
        for survivor in left:
            with suppress(ProcessLookupError):
                os.kill(survivor, signal.SIGKILL)
    for path in (out, log):
        with suppress(FileNotFoundError):
            path.unlink()


def judge_answer(target: Target, trial: Trial, out: Path, log: Path) -> None:
    """Whether what was known is kept, and is whole."""
    try:
        if target.name == "report":
            trial.kept = "page" if out.exists() else "no page"
            return
        if not target.instance:
            rows = read_rows(out) if out.exists() else []
            trial.kept = f"{len(rows)} rows"
            return
        solution = Result.read(out).solution if out.exists() else None
        if solution is not None:
            cotenant.check(cotenant.read(target.instance), solution)
        trial.kept = "no answer" if solution is None else "answer"
        known = log.exists() and any(
            line.partition("value")[2].split()[0] != "-" for line in log.read_text().splitlines()
        )
        if known and solution is None:
            trial.failures.append("loses an answer that was known")
    except Exception as error:
        trial.failures.append(f"{type(error).__name__}: {error}")


def survivors(mark: str, seconds: float = 3.0) -> list[int]:
    """Processes that a trial started and that do not end within so many seconds."""
    end = time.monotonic() + seconds
    while left := [
        int(folder.name) for folder in Path("/proc").glob("[0-9]*") if belongs(folder, mark)
    ]:
        if time.monotonic() > end:
            return left
        time.sleep(0.1)
    return []


def belongs(folder: Path, mark: str) -> bool:
    """Whether a process has the trial's mark in its environment."""
    try:
        return f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
    except OSError:
        return False


def shown(trial: Trial) -> str:
    """A trial's outcome in words."""
    return f"{trial.code} in {trial.took:.1f} s, {trial.kept}" + "".join(
        f"; FAILS: {words}" for words in trial.failures
    )


def told(trials: list[Trial]) -> int:
    """Print the counts; 1 when a trial failed."""
    print(
        "\nexit codes: "
        + ", ".join(
            f"{code}: {number}" for code, number in sorted(Counter(t.code for t in trials).items())
        )
    )
    solved = [trial for trial in trials if trial.kept in ("answer", "no answer")]
    print(
        "kept: "
        + ", ".join(
            f"{what}: {number}" for what, number in Counter(trial.kept for trial in solved).items()
        )
    )
    took = [trial.took for trial in trials] or [0.0]
    print(f"seconds from signal to end: median {np.median(took):.2f}, most {max(took):.2f}")
    bad = [trial for trial in trials if trial.failures]
    for trial in bad:
        print(
            f"\n{trial.number} {trial.target} {trial.how} at {trial.moment} s: "
            f"{'; '.join(trial.failures)}\n{trial.words}"
        )
    print(f"{len(trials)} interrupts, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    main()
