"""From a cluster's files to organizations: who they are, what they bring and ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import AtLeast, validate_options
from ..problem.settings import with_settings
from ..problem.tables import PathLike
from .formats import Form, read_log
from .instance import Integers, Scheduling
from .log import (
    Begin,
    Length,
    Log,
    Machines,
    Settings,
    in_machines,
    in_unit,
    labeled,
    most_processors,
    of_partition,
    organizations_of,
    released_when_eligible,
    window,
)
from .slurm import SlurmNode, read_nodes, read_shares, remarks
from .split import MOST_UNITS, cuts
from .units import Unit, named_numbers, summed, unit_named

MOST_ACCOUNTS = 62
"""More are merged, or refused: coalitions are bits of a whole number."""

_ROOT = "root"
"""The account of a Slurm's administrator, which has no part of the machine beside others."""

OTHERS = "(others)"
"""The name of the accounts that are merged."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """Log of a cluster with its organizations, from which windows can be cut.

    Attributes
    ----------
    log : the jobs, each released as `Source.release` says.
    settings : of windows; begin and length are open.
    machines_from, shares_from : where the numbers are from, for people.
    notes : what the reading decided.
    kind : what an organization is: "account", "user", "queue", or "organization" of a mapping.
    deferred : whether waiting counts from when jobs were eligible, which some were later than
        submitted.
    said : what the site's own rule says: its number's name -> account -> the number as text.
    """

    log: Log
    settings: Settings
    machines_from: str
    shares_from: str
    notes: tuple[str, ...]
    kind: str
    deferred: bool = False
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def unit(self) -> Unit:
        """Resource unit in which machines and the widths of jobs are counted, such as CPUs."""
        return self.log.unit

    def cut(self, length: int | None = None, most: int = MOST_UNITS) -> Accounts:
        """Copy with each machine divided into equal parts, so that shares come out as given.

        There are at most `most` parts in all. Shares are exact, or as near as 64 bits hold the
        utilities of windows of `length` seconds (all of the log if None).
        """
        shares, total, log = self.settings.shares, self.settings.machines, self.log
        assert shares is not None
        assert total is not None
        length = max(1, log.over - log.begin) if length is None else length
        most = min(most, total * most_parts(log.run, log.processors, length))
        parts = cuts(total, shares.values(), most)
        waiting = (replace(job, processors=parts * job.processors) for job in log.waiting)
        unit = replace(log.unit, size=log.unit.size / parts)
        finer = replace(log, processors=parts * log.processors, unit=unit, waiting=tuple(waiting))
        return replace(self, log=finer, settings=replace(self.settings, machines=parts * total))

    def span(self, begin: int | None = None, length: int | None = None) -> tuple[Log, Settings]:
        """Log, and settings of its window of `length` seconds (None: to its end) from `begin`."""
        first = self.log.begin if begin is None else begin
        whole = max(1, self.log.over - first)
        settings = replace(self.settings, begin=begin, length=whole if length is None else length)
        return self.log, settings


@validate_options
@dataclass(frozen=True)
class Source:
    """Options that turn the files of a cluster into organizations; every field is an option.

    Attributes
    ----------
    form : kind of the log; "auto" looks at its content.
    nodes : what `scontrol show node -o` prints: the CPUs.
    shares : what `sshare -a -l -P` prints, or NAME=PART,...; equal shares without it.
    unit : what is counted: cpu, gpu, gpu:TYPE, memory, billing.
    release : jobs wait from: eligible, or submit.
    partition : only its jobs and nodes.
    strict : refuse a file with a line that cannot be read.
    delimiter : of sacct's output; found when not given.
    top : keep the N accounts of most work apart; merge the others.
    machines : how many CPUs, when `nodes` is not given.
    by : who is judged: account, or user.
    mapping : a CSV file group,organization (by user: user,organization): who is judged instead.
    """

    form: Form = "auto"
    nodes: Annotated[str | None, "SCONTROL"] = None
    shares: Annotated[str | None, "SSHARE"] = None
    unit: Annotated[str, "UNIT"] = "cpu"
    release: Literal["eligible", "submit"] = "eligible"
    partition: str | None = None
    strict: bool = False
    delimiter: str = ""
    top: Annotated[Annotated[int, AtLeast(1)] | None, "N"] = None
    machines: Annotated[Machines | None, "CPUS"] = None
    by: Annotated[Literal["account", "user"], "WHO"] = "account"
    mapping: str | None = None

    def read(self, path: PathLike) -> Accounts:
        """Read the files of a cluster and put them together into a log with organizations.

        Raises
        ------
        InvalidFile, InvalidOption
            A file is not what it should be; a partition nobody ran in; too many accounts; fields
            that do not go together.
        """
        if self.shares is not None and (self.by != "account" or self.mapping):
            raise InvalidOption("shares are of accounts; leave out by and mapping, or the shares")
        # 1. The log, the nodes, and what reading left out.
        log = read_log(path, self.form, delimiter=self.delimiter, strict=self.strict)
        nodes = [] if self.nodes is None else read_nodes(self.nodes)
        notes = [*_left_out(log), *log.notes]
        partitions = Counter(filter(None, log.partition))
        # 2. The jobs and nodes of one partition, or of one cohort.
        if self.partition is not None:
            log = of_partition(log, self.partition)
            nodes = [node for node in nodes if self.partition in node.partitions]
            if self.nodes is not None and not nodes:
                raise InvalidOption(
                    f"partition is {self.partition!r}; {self.nodes} has no node of that partition"
                )
            if both := [node.name for node in nodes if len(node.partitions) > 1]:
                notes.append(
                    f"nodes that serve other partitions too: {len(both)} of {len(nodes)} "
                    f"({', '.join(both[:4])}); the jobs of those are not seen"
                )
        elif log.queues:
            if len(partitions) > 1:
                raise InvalidOption(
                    f"{len(partitions)} cohorts (or queues without one) lend each other nothing; "
                    f"judge them one by one: --partition {' --partition '.join(sorted(partitions))}"
                )
            log = of_partition(log, next(iter(partitions)))
        elif len(partitions) > 1:
            names = ", ".join(f"{name} {number}" for name, number in partitions.most_common(4))
            notes.append(
                f"partitions are not seen ({len(partitions)}: {names}): a wait for one counts as a "
                "wait for any; judge one with --partition"
            )
        # 3. Jobs at their width in the unit; each organization's part, and the machines in all.
        notes += remarks(log, nodes, self.unit)
        log, more = self._in_unit(log, nodes)
        notes, unit = notes + more, log.unit
        if self.by == "user":
            log = replace(log, group=log.user, groups=log.users)
        weights, said = self._parts(log, unit)
        if self.mapping is None and self.top is not None:
            log, weights = _merged(log, weights, self.top)
        total, machines_from = self._machines(log, nodes, unit)
        if nodes:
            notes += _down(nodes, unit)
        if weights is not None:
            notes += _shares_notes(log, weights, unit)
        # 4. The organizations, few enough to judge.
        settings = Settings(
            None, None, machines=total, initial="warm", by=self.by if self.mapping else "account",
            mapping=self.mapping, jobs="parallel", backfilling=True, shares=weights,
        )  # fmt: skip
        _, everyone = organizations_of(log, settings, np.random.default_rng(0))
        kind: str = "organization" if self.mapping else self.by
        if log.queues:
            kind = {"account": "queue", "user": "local queue"}.get(kind, kind)
        if len(everyone) > MOST_ACCOUNTS:
            raise InvalidOption(
                f"there are {len(everyone)} {kind}s; at most {MOST_ACCOUNTS} are judged. Merge the "
                f"small ones: --top 12 keeps 12"
            )
        if kind == "account" and len(everyone) == 1:
            notes.append(
                "all jobs are of one account, so nothing can be owed; --by user --top 12 judges "
                "its users"
            )
        # 5. Equal parts where nothing says them; jobs released when they were eligible.
        if weights is None:
            alike = dict.fromkeys(everyone, Fraction(1))
            if kind == "account" and len(everyone) > 1:
                alike.pop(_ROOT, None)
            settings = replace(settings, shares=alike)
            notes += _shares_notes(log, alike, unit) if self.mapping is None else []
        different = log.eligible is not None and bool((log.eligible != log.submit).any())
        return Accounts(
            log=released_when_eligible(log) if self.release == "eligible" else log,
            settings=settings,
            machines_from=machines_from,
            shares_from=self._shares_from(log),
            notes=tuple(notes),
            kind=kind,
            deferred=different and self.release == "eligible",
            said=said,
        )

    def _in_unit(self, log: Log, nodes: list[SlurmNode]) -> tuple[Log, list[str]]:
        """Log with the widths of its jobs counted in the chosen resource unit, and notes on it."""
        unit = unit_named(self.unit)
        if unit.resource == "cpu" and not log.queues:
            return log, []
        quotas = [summed(queue.nominal for queue in log.queues)] if log.queues else []
        brought = [unit.whole(each) for each in quotas or (node.resources for node in nodes)]
        if self.machines is not None:
            brought.append(self.machines * unit.parts)
        return in_unit(log, unit, brought)

    def _parts(
        self, log: Log, unit: Unit
    ) -> tuple[dict[str, Fraction] | None, dict[str, dict[str, str]]]:
        """Shares by organization, as given, from sshare or from the quotas of queues (None: equal
        shares); and what the site's own fair-share figures say of each, as text.
        """
        by_queue = log.queues and self.by == "account" and not self.mapping
        statuses = {queue.name: queue.weighted_share for queue in log.queues if by_queue}
        shown = {name: share for name, share in statuses.items() if share}
        said = {"weightedShare": shown} if shown else {}
        if self.shares is not None:
            if "=" not in self.shares:
                return read_shares(self.shares)
            expected = "a file, or a part for each account such as bio=40,astro=30"
            return named_numbers(self.shares, "shares", expected), said
        if not by_queue:
            return None, said
        quotas = {each.name: unit.exact(each.nominal) for each in log.queues}
        if not any(quotas.values()):
            raise InvalidOption(
                f"unit is {self.unit}, of which no queue has a quota; expected one "
                f"of: {', '.join(sorted(summed(each.nominal for each in log.queues)))}"
            )
        return quotas, said

    def _shares_from(self, log: Log) -> str:
        if self.shares is None:
            return "quotas" if log.queues else "equal shares"
        return "as given" if "=" in self.shares else "sshare"

    def _machines(self, log: Log, nodes: list[SlurmNode], unit: Unit) -> tuple[int, str]:
        """Number of machines of the cluster, and where it comes from."""
        if self.machines is not None:
            return -int(-self.machines / unit.size // 1), "as given"
        if log.queues:
            return in_machines(unit, summed(each.nominal for each in log.queues)), "quotas"
        if nodes and unit.resource != "billing":
            total = in_machines(unit, summed(node.resources for node in nodes))
            if not total > 0:
                raise InvalidFile(f"{self.nodes} has no {unit.noun}s; expected some")
            return total, "scontrol"
        if log.machines is not None:
            return log.machines, "the log's header"
        return most_processors(log), "the most in use at one time; better with --nodes"


EXPORT = Source("sacct")
"""What sacct prints, nothing else said."""


@validate_options
@with_settings(hide={"form", "by", "mapping"})
def sacct(
    path: PathLike,
    *,
    source: Source = EXPORT,
    begin: Begin | None = None,
    length: Length | None = None,
) -> Scheduling:
    """A window of what Slurm's sacct prints (see `slurm.COMMAND`), each account an organization.

    Parameters
    ----------
    source : see `Source`.
    begin : first second of the window, from 1970 on; the first job when not given.
    length : seconds; to the end of the export when not given.
    """
    return window(*source.read(path).span(begin, length)).instance


def waits(accounts: Accounts) -> dict[str, tuple[int, int, float]]:
    """Pending jobs at the end of the log by account: their number, their processors, and the
    processor seconds waited so far; held jobs are not counted.
    """
    over = accounts.log.over
    table: dict[str, tuple[int, int, float]] = {}
    for job in accounts.log.waiting:
        if job.eligible is not None and job.eligible < over:
            jobs, cpus, waited = table.get(job.account, (0, 0, 0.0))
            more = job.processors * (over - job.eligible)
            table[job.account] = (jobs + 1, cpus + job.processors, waited + more)
    return table


def _left_out(log: Log) -> Iterator[str]:
    for why, number in log.dropped.items():
        if number:
            yield f"left out: {number} ({why})"
    if log.bad:
        shown = "; ".join(log.bad[:3])
        more = f"; and {len(log.bad) - 3} more" if len(log.bad) > 3 else ""
        yield f"bad lines left out: {len(log.bad)} ({shown}{more}); the setting strict refuses them"


def _down(nodes: list[SlurmNode], unit: Unit) -> Iterator[str]:
    down = [
        node for node in nodes if node.state.startswith(("DOWN", "DRAIN")) or "+DRAIN" in node.state
    ]
    if down:
        names = ", ".join(node.name for node in down[:4])
        total = sum(unit.whole(node.resources) for node in down) / unit.parts
        yield (
            f"nodes down or drained now: {len(down)} of {len(nodes)} ({names}); their "
            f"{unit.count(f'{total:g}')} count all the time"
        )


def _shares_notes(log: Log, weights: dict[str, Fraction], unit: Unit) -> Iterator[str]:
    ran = _ran(log)
    if without := sorted(ran - set(weights)):
        yield f"no shares, so no {unit.nouns} of their own: {', '.join(without)}"
    if idle := sorted(set(weights) - ran):
        yield f"shares, but no jobs: {', '.join(idle)}; their {unit.nouns} serve the others"


def _ran(log: Log) -> set[str]:
    """Accounts of a log with jobs that ran."""
    return {log.groups[number] for number in np.unique(log.group).tolist()}


def most_parts(run: Integers, width: Integers, length: int) -> int:
    """Largest number of parts of a machine for which the utility of a window is below 2**61.

    It is 0 if the utility is too large even with whole machines.
    """
    work = float((np.minimum(run, length) * width.astype(float)).sum())
    return int(2.0**61 // (work * (length + 1.0)))


def _merged(
    log: Log, weights: dict[str, Fraction] | None, top: int
) -> tuple[Log, dict[str, Fraction] | None]:
    """Merge all accounts of a log but the `top` ones of most work into one."""
    work = np.bincount(
        log.group, weights=(log.run * log.processors).astype(float), minlength=len(log.groups)
    )
    largest = {log.groups[n] for n in np.argsort(-work, kind="stable")[:top]}
    names = [name if name in largest else OTHERS for name in log.groups]
    groups, group = labeled([names[g] for g in log.group])
    if weights is not None:
        merged: dict[str, Fraction] = {}
        for name, share in weights.items():
            key = name if name in largest else OTHERS
            merged[key] = merged.get(key, Fraction(0)) + share
        weights = merged
    return replace(log, group=group, groups=groups), weights
