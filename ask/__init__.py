"""One function for each question: the user's own tables are returned with a proved answer.

Each takes frames, dicts, lists of dicts, numpy arrays or networkx graphs, and returns an
`answer.Answer`: its `data` is what was given, with your index and your further columns, and the
columns of the answer. The same keywords stand on all:

objective : a method of the catalogue, which says what is optimized.
time_limit : seconds; the best answer and the best bound by then are returned. None for no limit.
seed : of the random draws of policies that exact methods begin from.
verbose : print a line whenever the value or its bound moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..instances.problem.frames import places
from ..instances.problem.option_types import validate_options
from .answer import (
    PATIENCE,
    Answer,
    Data,
    answered,
    called,
    given,
    numbers,
    optional,
    required,
    shared,
)

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Answer",
    "fewest_servers",
    "group_jobs",
    "host_over_time",
    "pair_jobs",
    "place_jobs",
    "refuse_cores",
    "schedule_fairly",
    "share_cores",
    "share_gpus",
    "share_slices",
]


@validate_options
def pair_jobs(
    slowdowns: Data, *, objective: Literal["optimal", "stable", "fair"] = "optimal",
    machines: float | None = None, missing: Literal["forbid"] | None = None,
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Put jobs on machines in pairs, with the least loss of throughput or without two jobs that
    both want to leave.

    Parameters
    ----------
    slowdowns : jobs down and across: the run time of the row's job beside the column's over its run
        time alone (1.25 is a quarter longer); inf forbids the pair. A column `bandwidth` is each
        job's demand of the memory [GB/s], which "fair" needs.
    objective : "optimal" loses the least throughput, "stable" has the fewest pairs of jobs that
        both prefer each other, "fair" never lets a job lose more that presses less on memory.
    machines : with more than half as many as jobs, the others run alone.
    missing : what to do with pairs that are NaN: "forbid" them; they are refused when not given.

    Returns
    -------
    The jobs with the columns `beside`, the partner or None, and `slowdown`, in place of the matrix.

    Raises
    ------
    InvalidInstance
        A slowdown is wrong or missing, named by its jobs.

    Examples
    --------
    >>> import pandas, cotenant
    >>> jobs = ["web", "db", "batch", "train"]
    >>> rows = [[1.3, 1.4, 1.1, 1.2], [1.5, 1.6, 1.1, 1.3], [1.2, 1.2, 1.4, 1.9], [1.1, 1.3, 2, 2]]
    >>> answer = cotenant.pair_jobs(pandas.DataFrame(rows, jobs, jobs).assign(team=[1, 2, 1, 2]))
    >>> answer.data
           team beside  slowdown
    web       1  train       1.2
    db        2  batch       1.1
    batch     1     db       1.2
    train     2    web       1.1
    >>> answer.status.value, answer.certified
    ('optimal', True)
    """
    from ..instances.colocation import Colocation, Pairing

    asked = given(slowdowns, "slowdowns", square=True)
    jobs, table = asked.labels, asked.square
    processors = (len(jobs) + 1) // 2 if machines is None else machines
    with called(penalty="slowdowns", count="slowdowns"):
        instance = Colocation.from_frame(
            table, slowdown=True, missing=missing, machines=processors,
            bandwidth=optional(asked.frame, "bandwidth"),
        )  # fmt: skip

    values = table.loc[jobs, jobs].to_numpy()

    def columns(pairing: Pairing) -> dict[str, list[Any]]:
        beside, slowdown = [None] * len(jobs), [1.0] * len(jobs)
        for one, two in zip(pairing.first, pairing.second, strict=True):
            for job, other in ((one, two), (two, one)):
                beside[job] = jobs[other]
                slowdown[job] = float(values[job, other])
        return {"beside": beside, "slowdown": slowdown}

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "beside slowdown", *how)


@validate_options
def fewest_servers(
    vms: Data, hosts: Any, *, objective: Literal["min-servers", "min-cost"] = "min-servers",
    resources: Sequence[str] | None = None, apart: Sequence[tuple[Any, Any]] = (),
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Place virtual machines on as few servers as possible, or on the cheapest.

    Parameters
    ----------
    vms : VMs down, what each takes of the resources across, integers in any unit; a column `count`
        where a row stands for several equal VMs.
    hosts : classes of servers down, what one server has of the same resources across; columns
        `count`, how many there are (as many as needed without it), and `cost` of one.
    objective : "min-servers" or "min-cost".
    resources : the columns that are resources; without it, all columns of numbers.
    apart : pairs of VMs that no server holds both of.

    Returns
    -------
    The VMs with the columns `server`, its number, and `host`, its class; where VMs are counted both
    are lists, for `explode`.

    Raises
    ------
    InvalidInstance
        An amount is wrong, or a VM fits on no server, by its name.

    Examples
    --------
    >>> import cotenant
    >>> vms = {"web": {"cpu": 4, "gb": 8}, "db": {"cpu": 2, "gb": 24}, "job": {"cpu": 5, "gb": 4}}
    >>> answer = cotenant.fewest_servers(vms, {"m5": {"cpu": 8, "gb": 32}})
    >>> answer.data["db"], answer.value, answer.bound
    ({'cpu': 2, 'gb': 24, 'server': 0, 'host': 'm5'}, 2.0, 2.0)
    """
    from ..instances.packing import Packing, Placement

    asked, classes = given(vms, "vms"), given(hosts, "hosts").frame
    amounts = shared(
        asked.frame, classes, ("vms", "hosts"), ("count", "cost"), resources, "resources"
    )
    many = optional(asked.frame, "count")
    with called(demand="vms", request="vms.count", capacity="hosts", cost="hosts.cost"):
        instance = Packing.from_frame(
            asked.frame[amounts], capacity=classes[amounts], request=many or 1,
            servers=optional(classes, "count", np.inf), cost=optional(classes, "cost"),
            apart=[places(pair, asked.labels, "apart") for pair in apart] or None,
        )  # fmt: skip

    def columns(placement: Placement) -> dict[str, list[Any]]:
        server = [np.repeat(range(placement.servers), row).tolist() for row in placement.count.T]
        host = [[classes.index[placement.server_class[m]] for m in row] for row in server]
        if many is None:
            server, host = [row[0] for row in server], [row[0] for row in host]
        return {"server": server, "host": host}

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "server host", *how)


@validate_options
def share_cores(
    jobs: Data, servers: Any, *,
    objective: Literal["fisher", "nash-welfare", "utilitarian", "leximin"] = "fisher",
    budget: Any = 1.0,
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Divide the cores of servers between users with jobs on them, by equal or given entitlements.

    Parameters
    ----------
    jobs : a row a job, with columns `server`, `parallel_fraction` (of Amdahl's law), perhaps `user`
        (each job its own when not given) and `work` on one core (1 when not given).
    servers : the cores of each: by name, or a table with a column `cores`.
    objective : "fisher" finds prices at which everybody's best purchase uses up all cores,
        "nash-welfare" has the largest mean of utilities, "utilitarian" the largest total, and
        "leximin" makes the worst-off best off, in integer cores.
    budget : the entitlement of each user, by user; or a number for all.

    Returns
    -------
    The jobs with the column `cores`; of an equilibrium also `pays`.

    Examples
    --------
    >>> import cotenant
    >>> jobs = [
    ...     {"user": "ann", "server": "s1", "parallel_fraction": 0.5},
    ...     {"user": "bob", "server": "s1", "parallel_fraction": 0.9},
    ... ]
    >>> answer = cotenant.share_cores(jobs, {"s1": 12})
    >>> [round(job["cores"], 3) for job in answer.data], answer.status.value
    ([6.0, 6.0], 'optimal')
    """
    from ..instances.market import Allocation, Market

    asked, capacity = given(jobs, "jobs"), numbers(servers, "cores", "servers")
    defaults: dict[str, Any] = {"user": asked.labels, "work": 1.0}
    table = asked.frame.assign(
        **{name: it for name, it in defaults.items() if name not in asked.frame}
    )
    with called(capacity="servers"):
        instance = Market.from_frame(table, capacity=capacity, budget=budget)

    def columns(allocation: Allocation) -> dict[str, list[Any]]:
        found = {"cores": allocation.cores.tolist()}
        if allocation.price is not None:
            found["pays"] = (allocation.cores * allocation.price[instance.server]).tolist()
        return found

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "cores", *how)


@validate_options
def group_jobs(
    losses: Data, *, seats: int, machines: float | None = None,
    objective: Literal["optimal", "core", "least-alpha"] = "optimal",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Put jobs on machines of several seats.

    Parameters
    ----------
    losses : jobs down and across: the share of throughput that the row's job loses to the column's
        on its machine, which add up; inf: never together.
    seats : jobs that a machine holds at most.
    machines : how many there are; just enough for all jobs when not given.
    objective : "optimal" loses the least throughput, "core" has the fewest groups that would leave
        for a machine of their own, "least-alpha" the least gain at which none would.

    Returns
    -------
    The jobs with the columns `group`, its number, and `loss`, in place of the matrix.

    Examples
    --------
    >>> import numpy, cotenant
    >>> losses = numpy.full((4, 4), 0.1)
    >>> losses[0, 1] = losses[2, 3] = losses[0, 3] = 0.3
    >>> cotenant.group_jobs(losses, seats=2).data.tolist()
    [0, 1, 0, 1]
    """
    from ..instances.groups import Grouping, Groups

    asked = given(losses, "losses", square=True)
    table = asked.square
    with called(penalty="losses", frame="losses"):
        instance = Groups.from_frame(table, seats=seats, machines=machines)
    loss = table.loc[asked.labels, asked.labels].to_numpy(dtype=float)

    def columns(grouping: Grouping) -> dict[str, list[Any]]:
        group, lost = np.zeros(len(loss), dtype=int), np.zeros(len(loss))
        for number, row in enumerate(grouping.members):
            members = row[row >= 0]
            group[members] = number
            lost[members] = loss[np.ix_(members, members)].sum(axis=1) - loss[members, members]
        return {"group": group.tolist(), "loss": lost.tolist()}

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "group loss", *how)


@validate_options
def place_jobs(
    jobs: Data, vms: Any, *, objective: Literal["optimal", "most-jobs"] = "optimal",
    cores: Sequence[str] | None = None,
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Place jobs on virtual machines whose cores are of several types.

    Parameters
    ----------
    jobs : jobs down, their speed on one core of each type across; a column `threads`, the most
        cores a job can use (1 when not given).
    vms : VMs down, how many cores of each type they have across.
    objective : "optimal" has the most speed in all, "most-jobs" serves as many jobs as possible.
    cores : the columns that are types of cores; without it, all columns of numbers.

    Returns
    -------
    The jobs with the columns `vm`, None where a job is not served, and `speed`.

    Examples
    --------
    >>> import cotenant
    >>> jobs = {"a": {"big": 3.0, "little": 1.0, "threads": 2}, "b": {"big": 2.0, "little": 1.5}}
    >>> jobs["b"]["threads"] = 1
    >>> answer = cotenant.place_jobs(jobs, {"x": {"big": 2, "little": 0}, "y": {"little": 1}})
    >>> [(job["vm"], job["speed"]) for job in answer.data.values()], answer.bound
    ([('x', 6.0), ('y', 1.5)], 7.5)
    """
    from ..instances.admission import Admission, Assignment

    asked, machines = given(jobs, "jobs"), given(vms, "vms").frame.fillna(0)
    apart = ("threads", "length")
    types = shared(asked.frame, machines, ("jobs", "vms"), apart, cores, "cores")
    speed, threads = asked.frame[types], optional(asked.frame, "threads", 1)
    with called(speed="jobs", threads="jobs.threads", cores="vms"):
        instance = Admission.from_frame(speed, cores=machines[types], threads=threads)

    def columns(assignment: Assignment) -> dict[str, list[Any]]:
        vm = [None if place < 0 else machines.index[place] for place in assignment.machine]
        return {"vm": vm, "speed": (assignment.cores * instance.speed).sum(axis=1).tolist()}

    return answered(asked, instance, objective, columns, "vm speed", time_limit, seed, verbose)


@validate_options
def schedule_fairly(
    jobs: Data, machines: Any, *, horizon: int | None = None,
    objective: Literal[
        "REF", "RAND", "DIRECTCONTR", "FAIRSHARE", "max-utilization", "max-utility"
    ] = "REF",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Schedule the jobs of organizations that pool their machines, each due what it contributes.

    Parameters
    ----------
    jobs : a row a job, with columns `organization`, `release` and `processing`, integer times, and
        perhaps `processors` that it takes at once.
    machines : how many each organization brings: by name, or a table with a column `machines`.
    horizon : the end of time; when not given, an instant by which all jobs can have ended.
    objective : "REF" gives each organization its Shapley value (up to some 16 of them), "RAND" and
        "DIRECTCONTR" nearly that, "FAIRSHARE" equal machine time, the others the most work.

    Returns
    -------
    The jobs with the columns `start`, `end` and `machine`, None where a job is not started.

    Examples
    --------
    >>> import cotenant
    >>> jobs = [{"organization": name, "release": 0, "processing": 2} for name in "abb"]
    >>> answer = cotenant.schedule_fairly(jobs, {"a": 1, "b": 1})
    >>> [job["start"] for job in answer.data], answer.value, answer.bound
    ([0, 0, 2], 0.0, 0.0)
    """
    from ..instances.scheduling import Schedule, Scheduling

    asked, pool = given(jobs, "jobs"), numbers(machines, "machines", "machines")
    release, length = (required(asked.frame, name, "jobs") for name in ("release", "processing"))
    last = int(release.max() + length.sum()) if horizon is None else horizon
    with called(organization="jobs.organization", release="jobs.release"):
        instance = Scheduling.from_frame(asked.frame, machines=pool, horizon=last)

    def columns(schedule: Schedule) -> dict[str, list[Any]]:
        start = [None if time < 0 else time for time in schedule.start.tolist()]
        pairs = zip(start, length.tolist(), strict=True)
        end = [None if begin is None else begin + time for begin, time in pairs]
        machine = [None if place < 0 else place for place in schedule.machine.tolist()]
        return {"start": start, "end": end, "machine": machine}

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "start end machine", *how)


@validate_options
def refuse_cores(
    tasks: Data, *, blades: int, rows: int, columns: int, cores: int, rate: float,
    objective: Literal["fluid", "fluid-power"] = "fluid",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Find how far from their data the tasks of a blade server should run, and the most tasks a
    second that it can sustain, with data in all memories alike.

    Parameters
    ----------
    tasks : a row a class of tasks, with columns `class_share` of the tasks, `service_mean` with
        local data [s], `ht1` and `pcie`, the service time one hop away and on another blade over
        the local one, and `bandwidth` [MB/s].
    blades, rows, columns, cores : of the server: a mesh of rows x columns processors on each blade.
    rate : tasks a second that arrive.
    objective : "fluid" serves the most tasks, "fluid-power" takes the least power for the rate.

    Returns
    -------
    The classes with the columns `tasks/s`, and the share that runs at each distance.

    Examples
    --------
    >>> import cotenant
    >>> tasks = [{"class_share": 1, "service_mean": 0.1, "ht1": 1.2, "pcie": 2, "bandwidth": 100}]
    >>> server = dict(blades=2, rows=1, columns=2, cores=4)
    >>> answer = cotenant.refuse_cores(tasks, **server, rate=100)
    >>> round(answer.value, 6), answer.data[0]["local"], answer.certified
    (160.0, 1.0, True)
    """
    from ..instances.numa import Flow, Numa

    asked, memories = given(tasks, "tasks"), blades * rows * columns
    instance = Numa.from_frame(
        asked.frame, blades=blades, rows=rows, columns=columns, cores=cores, rate=rate,
        location_share=np.full(memories, 1 / memories),
    )  # fmt: skip

    def shares(flow: Flow) -> dict[str, list[Any]]:
        table = flow.to_frame(instance).drop(columns="class")
        return {str(name): table[name].tolist() for name in table}

    return answered(asked, instance, objective, shares, "tasks/s", time_limit, seed, verbose)


@validate_options
def share_gpus(
    jobs: Data, devices: Any, *, pairs: pandas.DataFrame | None = None,
    objective: Literal[
        "max-min", "leximin", "max-throughput", "makespan", "finish-time", "min-cost"
    ] = "max-min",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Share the time of GPUs of several kinds between jobs.

    Parameters
    ----------
    jobs : jobs down, steps a second alone on each kind of device across (0: it cannot run there);
        columns `count`, `workers`, `weight`, `steps` left, `elapsed` and `deadline` [s] where they
        are known.
    devices : how many there are of each kind: by name, or a table with a column `devices`.
    pairs : a row for each job `job` that may share a `device` with another, `beside`, and its
        `throughput` there.
    objective : "max-min" is the most for the job that is worst off, see the catalogue.

    Returns
    -------
    The jobs with the columns `throughput`, steps a second, and `on KIND`, the share of its time
    that a job is on each kind of device.

    Examples
    --------
    >>> import cotenant
    >>> jobs = {"gan": {"v100": 4.0, "k80": 1.0}, "lstm": {"v100": 2.0, "k80": 1.0}}
    >>> answer = cotenant.share_gpus(jobs, {"v100": 1, "k80": 1})
    >>> [round(job["on v100"], 3) for job in answer.data.values()], answer.certified
    ([0.5, 0.5], True)
    """
    from ..instances.accelerators import Accelerators, TimeShares
    from ..instances.accelerators.feasible import sums_by
    from ..instances.accelerators.measures import throughputs

    asked, number = given(jobs, "jobs"), numbers(devices, "devices", "devices")
    kinds = list(number.index)
    table = asked.frame[[required(asked.frame, kind, "jobs").name for kind in kinds]]
    known = ("count", "workers", "weight", "steps", "elapsed", "deadline")
    fields = {name: asked.frame[name] for name in known if name in asked.frame}
    with called(throughput="jobs", **{name: f"jobs.{name}" for name in known}):
        instance = Accelerators.from_frame(table, devices=number, pairs=pairs, **fields)

    def columns(shares: TimeShares) -> dict[str, list[Any]]:
        found = {"throughput": throughputs(instance, shares).tolist()}
        pair = shares.second >= 0
        types = np.concatenate([shares.first, shares.second[pair]])
        for index, kind in enumerate(kinds):
            there = np.where(shares.device == index, shares.share, 0.0)
            total = sums_by(types, np.concatenate([there, there[pair]]), instance.types)
            found[f"on {kind}"] = (total / np.maximum(instance.count, 1)).tolist()
        return found

    how = time_limit, seed, verbose
    return answered(asked, instance, objective, columns, "throughput", *how)


@validate_options
def share_slices(
    demands: Data, share: int, *, objective: Literal["horizon", "leximin"] = "horizon",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Share equal slices of a resource between users whose demands change from quantum to quantum.

    Parameters
    ----------
    demands : users down, quanta of time across: slices that each can use.
    share : slices that each user brings.
    objective : "horizon" is the equilibrium over all quanta, "leximin" the most for the user with
        the fewest slices in all.

    Returns
    -------
    The users with their slices in place of their demands.

    Examples
    --------
    >>> import numpy, cotenant
    >>> cotenant.share_slices(numpy.array([[4, 0], [4, 4]]), share=2).data.tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """
    from ..instances.quanta import Quanta, Slices

    asked = given(demands, "demands")
    wanted = asked.frame.select_dtypes("number")
    with called(demand="demands"):
        instance = Quanta(wanted.to_numpy(), share, names=tuple(map(str, asked.labels)))

    def columns(answer: Slices) -> dict[Any, list[Any]]:
        return dict(zip(wanted.columns, answer.slices.T.tolist(), strict=True))

    return answered(asked, instance, objective, columns, wanted.columns, time_limit, seed, verbose)


@validate_options
def host_over_time(
    vms: Data, host: Any, *, objective: Literal["min-peak", "hindsight"] = "min-peak",
    time_limit: float | None = PATIENCE, seed: int = 0, verbose: bool = False,
) -> Answer[Data]:  # fmt: skip
    """Place virtual machines that come and go on equal servers, each on one for its whole life.

    Parameters
    ----------
    vms : VMs down, with integer columns `start` and `end`, and what each takes of the resources.
    host : what a server has of each resource, by name.
    objective : "min-peak" has the fewest servers in use at once, "hindsight" the least time of
        servers that are on.

    Returns
    -------
    The VMs with the column `server`, its number.

    Examples
    --------
    >>> import cotenant
    >>> vms = [{"cpu": 3, "start": at, "end": at + 2} for at in (0, 1, 2)]
    >>> answer = cotenant.host_over_time(vms, {"cpu": 4})
    >>> [vm["server"] for vm in answer.data], answer.value, answer.bound
    ([0, 1, 0], 2.0, 2.0)
    """
    from ..instances.lifetimes import Hosts, Lifetimes

    asked, capacity = given(vms, "vms"), numbers(host, "capacity", "host")
    size = [required(asked.frame, name, "vms") for name in capacity.index]
    demand, kind = np.unique(np.column_stack(size), axis=0, return_inverse=True)
    start, end = (required(asked.frame, name, "vms").to_numpy() for name in ("start", "end"))
    with called(capacity="host", start="vms.start", end="vms.end"):
        instance = Lifetimes(
            demand, capacity.to_numpy(), kind.ravel(), start, end,
            resources=tuple(map(str, capacity.index)), names=tuple(map(str, asked.labels)),
        )  # fmt: skip

    def columns(hosts: Hosts) -> dict[str, list[Any]]:
        return {"server": hosts.host.tolist()}

    return answered(asked, instance, objective, columns, "server", time_limit, seed, verbose)
