"""POP's figure 2 compared with its published log, and Gavel's policies on three measured GPUs."""

from __future__ import annotations

import ast
import time

import numpy as np

from ..baselines.accelerators.shares import pair_rates, random_pairs
from ..catalog import functions
from ..instances.accelerators import Accelerators, TimeShares
from ..instances.accelerators.formats import gavel
from ..instances.accelerators.instance import Floats, Integers
from ..instances.accelerators.measures import (
    cost,
    entitlements,
    envy,
    isolated_throughputs,
    mean_throughput,
)
from ..instances.accelerators.measures import throughputs as rates_of
from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.options import accepted
from ..instances.problem.reading import parse_json, read_text
from ..solvers.accelerators.max_min import max_min
from ..solvers.outcome import Outcome
from .experiment import Paper, Parts, addition, chart, compare

POP = Paper(
    "pop",
    "Narayanan et al., Solving Large-Scale Granular Resource Allocation Problems Efficiently with "
    "POP (2021)",
    "Narayanan et al. (SOSP 2021)",
    "accelerators",
    guide="Guide: [accelerators](../accelerators.md).",
)
GAVEL = Paper(
    "gavel",
    "Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads "
    "(Gavel, 2020)",
    "Narayanan et al. (OSDI 2020)",
    "accelerators",
    guide=POP.guide,
)

THROUGHPUTS = ("throughputs", "gpu/pop/simulation_throughputs.json.gz")
JOBS = ("jobs", "gpu/pop/jobs_2048.json")

DEVICES = "v100:512,p100:512,k80:512"
COLUMNS = ("exact", "POP-2", "POP-4", "POP-8", "Gandiva")
"""What the log has, in its order."""

EQUAL = 1e-6
"""Throughputs that differ relatively by no more are one; the published ones are a solver's."""

DRAWS = 20
"""Of Gandiva's random pairs."""

TIMES = (
    "not a race on one program: theirs has a variable for each job and each pair of jobs and kind "
    "of device and was solved by MOSEK on 16 threads, building included; ours, over types, has one "
    "for each type and pair of types. The ratio is of formulations, not of solvers or machines"
)

_POLICIES = ("isolated", "proportional", "FIFO", "Gandiva", "AlloX", "POP")
_OPTIMA = ("max-min", "leximin", "max-throughput", "min-cost", "makespan", "finish-time")


@POP.experiment(
    "figure-2",
    "fig. 2",
    data=(THROUGHPUTS, JOBS, ("log", "gpu/pop/non_trace_num_jobs_2048.out.gz")),
)
def figure_2(
    *,
    seed: int = 0,
    throughputs: str | None = None,
    jobs: str | None = None,
    log: str | None = None,
) -> Parts:
    """2,048 jobs on three kinds of GPU, two on a GPU: the exact optimum, POP and Gandiva beside the
    published log.

    Parameters
    ----------
    throughputs : path of Gavel's throughput file.
    jobs : path of the list of the jobs' models, in the order of the log.
    log : path of POP's published log: seconds, and every job's throughput, of five methods.
    """
    # 1. The jobs, the published log, and ours over the same parts.
    instance = _read("accelerators-figure-2", throughputs, jobs, log=log)
    models = parse_json(read_text(str(jobs)), str(jobs))["jobs"]
    owner = np.array([instance.names.index(model) for model in models])
    seconds, published = _log(str(log), len(owner))
    due = entitlements(instance)[owner]
    _fair(instance)  # libraries are loaded
    begin = time.process_time()
    ours = {"exact": _fair(instance.replace())[owner]}
    spent = time.process_time() - begin
    ours |= {f"POP-{k}": _in_parts(instance, owner, k) for k in (2, 4, 8)}
    for name, own in ours.items():
        theirs = published[name]
        worst, other = float((own / due).min()), float((theirs / due).min())
        apart = np.abs(own / theirs - 1)
        yield compare(f"worst normalized throughput, {name}", f"{other:.7f}", f"{worst:.7f}",
            abs(worst / other - 1) <= EQUAL,
            "the paper's value is computed from each job's throughput in the log")  # fmt: skip
        yield compare(f"every job's throughput, {name}", "the log's",
            f"{(apart <= EQUAL).sum()} of {len(own)} jobs within {EQUAL:g}, the farthest "
            f"{apart.max():.1e} off", bool((apart <= EQUAL).all()),
            "" if name == "exact" else "job i is in part i mod k, as in the published program",
        )  # fmt: skip
    # 2. Gandiva, which draws its pairs.
    rng = np.random.default_rng(seed)
    least, mean = np.array([_gandiva(instance, rng) for _ in range(DRAWS)]).T
    theirs = published["Gandiva"] / due
    low, high = mean.min(), mean.max()
    half = (high - low) / 2
    yield compare("worst normalized throughput, Gandiva", f"{theirs.min():.4f}",
        f"{least.max():.4f}", theirs.min() == least.max() == 0,
        f"in every one of {DRAWS} draws some pair does not fit into memory")  # fmt: skip
    yield compare("mean normalized throughput, Gandiva", f"{theirs.mean():.4f}",
        f"{mean.mean():.4f} ({low:.4f} to {high:.4f})",
        bool(low - half <= theirs.mean() <= high + half),
        f"over {DRAWS} draws of pairs; the log's value is from one draw of "
        "the authors' program")  # fmt: skip
    # 3. Variables and seconds, and the curves.
    slowest = "the slowest part of those that are taken to run side by side"
    for name, value in zip(COLUMNS, seconds, strict=True):
        ran = f"{spent:.2f} s of the processor" if name == "exact" else ""
        note = {"exact": TIMES, "Gandiva": ""}.get(name, slowest)
        yield compare(f"seconds, {name}", f"{value:.1f} s", ran, None, note)
    shown = {name: np.sort(published[name] / due) for name in COLUMNS}
    places = np.linspace(0, len(due) - 1, 65).round().astype(int)
    curves = {f"{name}, published": row[places].round(5).tolist() for name, row in shown.items()}
    curves["exact, here"] = np.sort(ours["exact"] / due)[places].round(5).tolist()
    yield chart("accelerators-figure-2", "Normalized throughputs of 2,048 jobs",
        "jobs, from the least to the most", "normalized throughput", curves,
        x=places.tolist(), style="line", strong=("exact, here",))  # fmt: skip


def _read(name: str, throughputs: str | None, jobs: str | None, **more: str | None) -> Accelerators:
    """Read the jobs on three kinds of GPU; raises InvalidOption, naming the file that is
    missing.
    """
    for option, path in {"throughputs": throughputs, "jobs": jobs, **more}.items():
        if path is None:
            raise InvalidOption(
                f"{name} needs measured data; give -o {option}=PATH, or --data FOLDER, which holds "
                "it as `cotenant reproduce --list` says"
            )
    return gavel(str(throughputs), jobs=jobs, devices=DEVICES)


def _log(path: str, jobs: int) -> tuple[list[float], dict[str, Floats]]:
    """Run time [s] and every job's throughput of each method in the published log."""
    lines = read_text(path).splitlines()
    try:
        seconds, every = (ast.literal_eval(line) for line in lines[:2])
        found = {
            name: np.array([float(each[job]) for job in range(jobs)])
            for name, each in zip(COLUMNS, every, strict=True)
        }
        return [float(value) for value in seconds], found
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise InvalidFile(
            f"{path} is not POP's log; expected a list of {len(COLUMNS)} seconds, and a list of as "
            "many dictionaries of throughputs by job"
        ) from None


def _fair(instance: Accelerators) -> Floats:
    """Throughput (T,) of a job of each type under max-min fair time shares."""
    answer = max_min(instance).solution
    assert isinstance(answer, TimeShares)
    return rates_of(instance, answer)


def _in_parts(instance: Accelerators, owner: Integers, parts: int) -> Floats:
    """Throughput of every job where k parts of the jobs each share a k-th of the devices (POP); job
    i is in part i mod k, as in the published program.
    """
    found = np.zeros(len(owner))
    for part in range(parts):
        own = owner[part::parts]
        count = np.bincount(own, minlength=instance.types)
        smaller = instance.replace(count=count, devices=instance.devices // parts)
        found[part::parts] = _fair(smaller)[own]
    return found


def _gandiva(instance: Accelerators, rng: np.random.Generator) -> tuple[float, float]:
    """Worst and mean normalized throughput of single jobs in random pairs."""
    pairs = random_pairs(instance, rng)
    part = instance.devices / len(pairs)
    part = part / max(part.sum(), 1.0)
    rate = np.nan_to_num(pair_rates(instance, pairs)) @ part
    ratio = rate / entitlements(instance)[pairs.T]
    return float(ratio.min()), float(ratio.mean())


@GAVEL.experiment(
    "policies",
    "section 4",
    what="Gavel's policies as optima, and others, on the same jobs and GPUs",
    data=(THROUGHPUTS, JOBS),
)
def policies(*, seed: int = 0, throughputs: str | None = None, jobs: str | None = None) -> Parts:
    """Optima with proofs, and policies, on the jobs and GPUs of POP's figure 2; every job has as
    many steps left as take three hours on a V100.

    Parameters
    ----------
    throughputs : path of Gavel's throughput file.
    jobs : path of the list of the jobs' models.
    """
    shared = _read("accelerators-policies", throughputs, jobs)
    shared = shared.replace(steps=shared.throughput[:, 0] * 10_800, device_cost=[2.48, 1.46, 0.45])
    worst: dict[str, float] = {}
    mean: dict[str, float] = {}
    for name, method in functions("accelerators", *_OPTIMA, *_POLICIES).items():
        answer = method(shared, **accepted(method, {"rng": np.random.default_rng(seed)}))
        shares = answer.solution if isinstance(answer, Outcome) else answer
        assert isinstance(shares, TimeShares)
        rates = rates_of(shared, shares)
        worst[name] = float((rates / entitlements(shared)).min())
        mean[name] = mean_throughput(shared, shares)
        proved = isinstance(answer, Outcome)
        yield addition(f"{name}: worst and mean normalized throughput",
            f"{worst[name]:.4f}, {mean[name]:.4f}",
            f"envy {envy(shared, shares):.1%}, {cost(shared, shares):.0f} dollars an hour"
            f"{f', {answer.status.value}' if proved else ''}")  # fmt: skip
    rates = _fair(shared)
    own = isolated_throughputs(shared)
    yield compare("sharing incentive of max-min fairness: no job has less than in 1/n of the "
        "cluster", "yes", f"the least gain is {(rates / own).min() - 1:+.1%}",
        bool((rates >= own * (1 - EQUAL)).all()), "section 4.4")  # fmt: skip
    without = float((_fair(shared.replace(together=None)) / entitlements(shared)).min())
    yield compare("space sharing raises the objective", "yes", f"from {without:.4f} to "
        f"{worst['max-min']:.4f}", worst["max-min"] > without, "section 3.1")  # fmt: skip
    yield compare("a policy that knows throughputs beats one that does not", "yes",
        f"{without:.4f} against {worst['isolated']:.4f} of equal shares, nobody sharing",
        without > worst["isolated"], "section 4.1")  # fmt: skip
    yield chart("accelerators-policies", "Gavel's policies and others on 2,048 jobs", "method",
        "normalized throughput", {"worst": worst, "mean": mean})  # fmt: skip
