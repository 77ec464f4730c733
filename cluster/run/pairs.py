"""Pairs for a cluster whose dispatcher is another's: jobs that wait, by their real ids, who should
share a node with whom, and what to run for it. Nothing here runs anything.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ...analysis.colocation.batches import Waiting, pair_oldest
from ...analysis.report.table import Column, Table
from ...instances.colocation.formats import slowdown_csv
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty
from ...instances.problem.emitted import comment, csv_text, file_word, quoted
from ...instances.problem.errors import InvalidFile, InvalidOption
from ...instances.problem.files import read
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.reading import parse_any_json, read_bytes, read_text
from ...instances.problem.tables import CsvTable
from ..measure.predictor import Predictor
from ..measure.profiles import profile_of
from ..measure.store import opened
from .action_recommender import ActionRecommender
from .placement import GroupEstimates, groups_of
from .run import agent_options, policy_of

SQUEUE = "squeue -t PENDING -S -p,i -o '%i|%j|%T|%D'"
"""What prints the jobs that wait, in the order in which they are served."""

_SQLITE = b"SQLite format 3\0"
_NUMBER = re.compile(r"[0-9]+(_[0-9]+)?")
_RANGE = re.compile(r"([^\[\],]*)\[([0-9,-]+)\]([^\[\],]*)")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class WaitingJob:
    """A job of another's queue."""

    number: str
    kind: int


@dataclass(frozen=True)
class Placed:
    """One node: who is there, by job id ("" where no jobs were given), and their types."""

    node: str
    jobs: tuple[str, ...]
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class PairAdvice:
    """Who should share a node with whom.

    Attributes
    ----------
    instance, pairing : the jobs that are placed, as types.
    placed : node by node.
    later : jobs for which there is no node now.
    left : jobs that are left as they are, with the reason.
    agents : the advice to them.
    alpha : the least gain that counts.
    """

    instance: Colocation
    pairing: Pairing
    placed: tuple[Placed, ...]
    later: int
    left: tuple[tuple[str, str], ...]
    agents: ActionRecommender
    alpha: float

    @property
    def penalty(self) -> float:
        """Mean over the jobs placed."""
        return mean_penalty(self.instance, self.pairing)

    def document(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        names = self.instance.names
        return {
            "penalty": self.penalty,
            "advised_to_leave": {
                "certain": self.agents.certain, "possible": self.agents.possible,
                "alpha": self.alpha,
            },
            "nodes": [
                {
                    "node": one.node or None,
                    "jobs": list(one.jobs),
                    "types": [names[kind] for kind in one.kinds],
                }
                for one in self.placed
            ],
            "later": self.later,
            "left": [{"job": job, "reason": why} for job, why in self.left],
            "certainty": self.instance.certainty,
        }  # fmt: skip

    def tables(self) -> list[Table]:
        """The nodes, and what is to be known of them."""
        names, matrix = self.instance.names, self.instance
        columns = (
            Column("node"), Column("job"), Column("type"), Column("beside"), Column("its type"),
            Column("points lost", numeric=True), Column("points the other loses", numeric=True),
        )  # fmt: skip

        def lost(one: int, other: int) -> Any:
            value = float(matrix.penalty[one, other])
            if matrix.low is None or matrix.high is None:
                return (value, f"{100 * value:.1f}")
            half = float(matrix.high[one, other] - matrix.low[one, other]) / 2
            return (value, f"{100 * value:.1f} ±{100 * half:.1f}")

        rows = []
        for one in self.placed:
            a = one.kinds[0]
            if len(one.kinds) == 1:
                rows.append((one.node, one.jobs[0], names[a], "", "", 0.0, None))
                continue
            b = one.kinds[1]
            jobs = one.jobs
            rows.append((one.node, jobs[0], names[a], jobs[1], names[b], lost(a, b), lost(b, a)))
        notes = [
            f"{100 * self.penalty:.1f} points are lost in the mean; {self.agents.certain} jobs "
            f"would gain more than {100 * self.alpha:g} points with another that would too, for "
            f"sure, {self.agents.possible} possibly.",
            *([self.instance.certainty.capitalize() + "."] if self.instance.certainty else []),
            *([f"{self.later} jobs wait for a later round of nodes."] if self.later else []),
            *(f"left as it is: {job}: {why}" for job, why in self.left[:20]),
            *([f"and {len(self.left) - 20} more"] if len(self.left) > 20 else []),
        ]
        return [Table("pairs", "Who shares a node", columns, tuple(rows), notes=tuple(notes))]


@validate_options
def advise_pairs(
    source: str,
    *,
    jobs: str | None = None,
    nodes: str | None = None,
    method: str | Callable[..., Any] = "stable",
    options: Mapping[str, Any] | None = None,
    time_limit: float = 10.0,
    voids: Literal["forbid", "predict"] | None = None,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> PairAdvice:
    """Who should share a node with whom.

    Parameters
    ----------
    source : a CSV matrix of slowdowns (co-run time over time alone), an instance, or a store.
    jobs : what `SQUEUE` prints, or `squeue --json`; a job is of the type that its name is, or
        begins with before a "-", "_" or ".". Without it, the agents that the source counts.
    nodes : names of the free nodes, two jobs on each, as Slurm writes them (n[1-4],big1); as many
        as the jobs need when not given.
    method, options, time_limit, seed : see `run.policy_of`.
    voids : what pairs that failed twice mean, of a store.

    Raises
    ------
    InvalidFile, InvalidOption
        A file or an option is wrong, or no job is of a known type.
    NoSolution
        The pairs that are not allowed leave no answer.
    """
    instance = _read_source(source, voids)
    policy = policy_of(method, options or {}, time_limit)
    alpha = agent_options(
        **{name: value for name, value in (options or {}).items() if name == "alpha"}
    )[0]
    left: list[tuple[str, str]] = []
    if jobs is None:
        listed = [WaitingJob("", kind) for kind in instance.agent_types().tolist()]
    else:
        listed, left = _read_jobs(jobs, instance.names)
    if not listed:
        types = ", ".join(instance.names[:8])
        raise InvalidFile(f"{jobs} holds no job that waits of a known type ({types})")
    names = [] if nodes is None else hostnames(nodes)
    machines = len(names) if nodes is not None else (len(listed) + 1) // 2
    queue, ids = Waiting(instance.types), defaultdict[int, deque[str]](deque)
    for age, job in enumerate(listed):
        counts = np.zeros(instance.types, dtype=np.int64)
        counts[job.kind] = 1
        queue.add(age, counts)
        ids[job.kind].append(job.number)
    whole = instance.replace(count=np.full(instance.types, 2), machines=None, unpaired=None)
    placement = pair_oldest(whole, policy, queue, machines, np.random.default_rng(seed))
    assert placement is not None  # there is a job and a node
    problem, pairing, _ = placement
    groups = groups_of(pairing)
    placed = tuple(
        Placed(node, tuple(ids[kind].popleft() for kind in kinds), kinds)
        for kinds, node in itertools.zip_longest(groups, names[: len(groups)], fillvalue="")
        if isinstance(kinds, tuple)
    )
    ends = GroupEstimates(problem, {}, 2).ends
    agents = ActionRecommender(ends, {}, 2, groups, alpha)
    return PairAdvice(problem, pairing, placed, queue.waiting, tuple(left), agents, alpha)


@validate_options
def emit_pairs(advice: PairAdvice, form: str) -> str:
    """What to run for it, or a table of it; raises InvalidOption for an unknown form, or one that
    needs nodes.
    """
    if form not in ("slurm", "csv"):
        raise InvalidOption(f"emit is {form!r}; expected slurm or csv")
    names = advice.instance.names
    if form == "csv":
        table = [["node", "job", "type", "beside", "beside_type"]]
        for one in advice.placed:
            for seat, job in enumerate(one.jobs):
                others = [place for place in range(len(one.jobs)) if place != seat]
                beside = one.jobs[others[0]] if others else ""
                other = names[one.kinds[others[0]]] if others else ""
                table.append([one.node, job, names[one.kinds[seat]], beside, other])
        return csv_text(table)
    if not all(one.node for one in advice.placed):
        raise InvalidOption("emit is 'slurm', which needs nodes: give --nodes n[1-4]")
    lines = ["# Jobs must not be exclusive, and each must ask for at most half of its node."]
    for one in advice.placed:
        jobs = " beside ".join(
            f"{job or 'a job'} ({names[kind]})"
            for job, kind in zip(one.jobs, one.kinds, strict=True)
        )
        lines.append(comment(f"{one.node}: {jobs}"))
        for job, place in zip(one.jobs, one.kinds, strict=True):
            if job:
                lines.append(f"scontrol update JobId={job} ReqNodeList={one.node}")
                continue
            name = names[place]
            if "/" in name:
                raise InvalidOption(
                    f"emit is 'slurm', which submits NAME.sh of this folder, and a type is called "
                    f"{name!r}; expected names without '/'"
                )
            words = f"--nodelist={one.node} --job-name={quoted(name)} {file_word(f'{name}.sh')}"
            lines.append(f"sbatch {words}")
    return "\n".join(lines) + "\n"


def hostnames(text: str) -> list[str]:
    """The names in a list as Slurm writes it: n[1-3,07],big1. Raises InvalidOption when it is none,
    or names a node twice.
    """
    names: list[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            names.append(part.strip())
            continue
        for span in match[2].split(","):
            ends = span.split("-")
            few = len(ends) <= 2 and all(end.isdecimal() and len(end) <= 6 for end in ends)
            if not few or int(ends[0]) > int(ends[-1]):
                raise InvalidOption(f"nodes is {text!r}; expected names such as n[1-4],big1")
            names += [
                f"{match[1]}{number:0{len(ends[0])}}{match[3]}"
                for number in range(int(ends[0]), int(ends[-1]) + 1)
            ]
    if not names or not all(_NODE.fullmatch(name) for name in names):
        raise InvalidOption(f"nodes is {text!r}; expected names such as n[1-4],big1")
    if len(set(names)) < len(names):
        raise InvalidOption(f"nodes is {text!r}, which names a node twice; expected each once")
    return names


def _read_source(source: str, voids: Literal["forbid", "predict"] | None) -> Colocation:
    """The matrix: of a store, of slowdowns, or an instance's."""
    if os.path.isfile(source):
        with open(source, "rb") as stream:
            if stream.read(len(_SQLITE)) == _SQLITE:
                with opened(source) as rows:
                    profile = profile_of(rows)
                measured = Predictor(profile, voids).instance()
                return measured.replace(
                    count=np.array(profile.counts), machines=float(sum(profile.counts))
                )
        if source.endswith(".csv") or read_bytes(source).lstrip()[:1] not in (b"{", b"["):
            return slowdown_csv(source, copies=2)
    instance = read(source)
    if not isinstance(instance, Colocation):
        raise InvalidFile(f"{source} is an instance of {instance.problem}; expected colocation")
    return instance


def _read_jobs(path: str, names: Sequence[str]) -> tuple[list[WaitingJob], list[tuple[str, str]]]:
    """The jobs that wait, in order, and those that are left as they are, with the reason."""
    places = {name: place for place, name in enumerate(names)}
    waiting: list[WaitingJob] = []
    left: list[tuple[str, str]] = []
    for number, name, state, nodes in _listed(path):
        if state not in ("", "PENDING", "PD"):
            continue
        kind = _kind(name, places)
        if not _NUMBER.fullmatch(number):
            left.append((number, "an array that waits is updated as a whole"))
        elif nodes not in ("", "1"):
            left.append((number, f"it asks for {nodes} nodes"))
        elif kind is None:
            left.append((number, f"nothing is known of type {name!r}"))
        else:
            waiting.append(WaitingJob(number, kind))
    return waiting, left


def _kind(name: str, places: Mapping[str, int]) -> int | None:
    """The type that a job's name is, or begins with; the longest one."""
    alike = [kind for kind in places if name == kind or re.match(re.escape(kind) + "[-_.]", name)]
    return places[max(alike, key=len)] if alike else None


def _listed(path: str) -> list[tuple[str, str, str, str]]:
    """Number, name, state and nodes of every job of a list."""
    text = read_text(path)
    if text.lstrip()[:1] == "{":
        content = parse_any_json(text, path)
        jobs = content.get("jobs") if isinstance(content, dict) else None
        if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
            raise InvalidFile(f"{path} has no list of jobs; expected what squeue --json prints")
        served = sorted(
            jobs, key=lambda job: (-_whole(job.get("priority")), _whole(job.get("job_id")))
        )
        return [_of_json(job) for job in served]
    if "|" not in text.partition("\n")[0]:
        raise InvalidFile(
            f"{path} is not a list of jobs; expected what `{SQUEUE}` prints, or --json"
        )
    table = CsvTable(path, "JOBID", "NAME", text=text, delimiter="|")
    return [(row["JOBID"], row["NAME"], row["STATE"], row["NODES"]) for row in table]


def _of_json(job: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """A job as Slurm's JSON has it."""
    state = job.get("job_state", "")
    state = state[0] if isinstance(state, list) and state else state
    array, task = _whole(job.get("array_job_id")), job.get("array_task_string")
    name = f"{array}_[{task}]" if array and task else str(job.get("job_id", ""))
    nodes = _whole(job.get("node_count")) or 1
    return name, str(job.get("name", "")), str(state), str(nodes)


def _whole(value: Any) -> int:
    """A number of Slurm's JSON, which is an object from 23.02 on; 0 where there is none."""
    value = value.get("number", 0) if isinstance(value, dict) else value
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
