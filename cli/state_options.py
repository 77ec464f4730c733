"""How the commands of `advise` read a state: the options, and the state with what is missing from
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import say, waiting
from .arguments import share_of

if TYPE_CHECKING:
    from ..cluster.state.state import ClusterState

States = Annotated[
    list[str],
    typer.Argument(
        metavar="STATE...",
        help="What `kubectl get nodes,pods,pdb -A -o json` prints, or Proxmox's, OpenStack's or "
        "plain tables; - is standard input; several files are one state.",
    ),
]


@dataclass(frozen=True)
class StateOptions:
    """How a state is read, which of its constraints are let go, and how long it may take.

    Attributes
    ----------
    release : let pods move that are held in place for this reason (check that they can): volumes,
        budget, scheduler, owner, 'resource claims'; repeat for more
    cpu_ratio : virtual CPUs per core, for VMs; 4 when not given
    assume_request : count pods that request nothing of a resource as cpu=100m,memory=128Mi
    usage : compare requests with what pods use: `kubectl top pods -A --containers`, VPA
        recommendations as JSON, or a CSV namespace,pod,cpu,memory
    count : with --usage, what pods count as: larger (of request and use), used, requested
    headroom : added to what is used; 15% when not given, nothing for VPA's upper bounds
    prices : prices of nodes: type,price or type,price,capacity (on-demand, spot, reserved), or
        node,price
    strict : exit 1 and answer nothing when a warning says that a file is not whole
    accept : leave out this warning, such as no-pdb; repeat for more
    time_limit : seconds for all after reading
    """

    release: Annotated[list[str] | None, "KIND"] = None
    cpu_ratio: Annotated[float | None, "R"] = None
    assume_request: Annotated[str | None, "AMOUNTS"] = None
    usage: Annotated[str | None, "FILE"] = None
    count: Annotated[str, "WHAT"] = "larger"
    headroom: Annotated[str | None, "SHARE"] = None
    prices: Annotated[str | None, "TYPES.csv"] = None
    strict: Annotated[bool, "--strict"] = False
    accept: Annotated[list[str] | None, "CODE"] = None
    time_limit: Annotated[float, "S"] = 60.0

    @property
    def released(self) -> tuple[str, ...]:
        """The kinds of constraints that hold no pod in place."""
        return tuple(self.release or ())

    @property
    def limits(self) -> dict[str, Any]:
        """What every question is asked with: kinds that hold nothing in place, and seconds."""
        return {"released": self.released, "time_limit": self.time_limit}

    @property
    def additions(self) -> dict[str, Any]:
        """What else is read into the state."""
        return {}

    def read(self, states: list[str]) -> ClusterState:
        """The state in some files; with `strict`, one without warnings.

        Raises
        ------
        NoSolution
            There are warnings, and the reading is strict.
        """
        from ..cluster.report.text_report import warning_lines
        from ..cluster.state.completeness import accepted
        from ..cluster.state.reading import CPU_RATIO, effort, read_state
        from ..instances.problem.errors import NoSolution

        if words := effort(states):
            say(words)
        headroom = None if self.headroom is None else share_of(self.headroom, "headroom")
        with waiting("reading"):
            state = read_state(
                states, cpu_ratio=CPU_RATIO if self.cpu_ratio is None else self.cpu_ratio,
                usage=self.usage, count=self.count, headroom=headroom,  # type: ignore[arg-type]
                assume_request=self.assume_request, prices=self.prices, **self.additions,
            )  # fmt: skip
        state = replace(state, warnings=accepted(state, self.accept or ()))
        if self.strict and state.warnings:
            for line in warning_lines(state):
                say(line)
            codes = " ".join(
                f"--accept {code}" for code in dict.fromkeys(each.code for each in state.warnings)
            )
            raise NoSolution(f"not answered, as the file is not whole (--strict); or give {codes}")
        return state
