"""Functions named after the question: your own tables in, the same tables out, with a proof.

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
from .answer import PATIENCE, Answer, Data, answered, called, given
from .tables import numbers, optional, shared

if TYPE_CHECKING:
    from ..instances.colocation.instance import Pairing
    from ..instances.market.instance import Allocation
    from ..instances.packing.instance import Placement

__all__ = ["Answer", "fewest_servers", "pair_jobs", "share_cores"]


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
    from ..instances.colocation import Colocation

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
    from ..instances.packing import Packing

    asked, classes = given(vms, "vms"), given(hosts, "hosts").frame
    names = shared(
        asked.frame, classes, ("vms", "hosts"), ("count", "cost"), resources, "resources"
    )
    many = optional(asked.frame, "count")
    with called(demand="vms", request="vms.count", capacity="hosts", cost="hosts.cost"):
        instance = Packing.from_frame(
            asked.frame[names], capacity=classes[names], request=many or 1,
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
    from ..instances.market import Market

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
