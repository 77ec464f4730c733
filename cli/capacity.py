"""The commands `advise fit` and `advise buy`: room for new pods, and what to buy for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import waiting
from ..instances.problem.errors import InvalidOption, NoSolution
from .advice_options import PlanOptions, ShowOptions, StateOptions, States, read, show
from .codes import NO_ANSWER
from .derived import options_of

if TYPE_CHECKING:
    from ..advice.state import ClusterState

Types = Annotated[
    str | None,
    typer.Option(
        metavar="TYPES.csv",
        help="Nodes to buy: type, price, cpu, memory and what else pods may take of one; where "
        "wanted zone, most (so many at most), labels (a=b c=d).",
    ),
]


@dataclass(frozen=True)
class NewOptions(StateOptions):
    """How a state is read, and the pods that are added to it."""

    add: Annotated[
        str | None,
        typer.Option(
            metavar="PODS",
            help="Add the pods of workloads, in YAML or JSON: Deployment, StatefulSet, "
            "ReplicaSet, Job, Pod.",
        ),
    ] = None
    shape: Annotated[
        str | None,
        typer.Option(metavar="AMOUNTS", help="Add pods of one size: cpu=4,memory=16Gi,gpu=1."),
    ] = None
    replicas: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Pods of that shape, or of each workload."),
    ] = None

    @property
    def additions(self) -> dict[str, Any]:
        """What `read_state` adds to the files."""
        if self.add is None and self.shape is None and self.replicas is not None:
            raise InvalidOption("replicas is given alone; expected --add or --shape beside it")
        return {"added": self.add, "replicas": self.replicas}

    def read(self, states: list[str]) -> ClusterState:
        """The state with the new pods."""
        from ..advice.new_pods import with_shape

        state = super().read(states)
        if self.shape is None:
            return state
        return with_shape(state, self.shape, self.replicas or 1)


@options_of(NewOptions)
@options_of(PlanOptions, types=None, like=None)
@options_of(ShowOptions)
def fit(
    states: States,
    source: NewOptions,
    planned: PlanOptions,
    shown: ShowOptions,
    types: Types = None,
    like: Annotated[
        str | None, typer.Option(metavar="NODE", help="Or new nodes are like this one.")
    ] = None,
) -> None:
    """Say whether new pods fit, and after which moves.

    Or with how many new nodes. Pending pods of the state are counted with them. Exit 1 when they
    do not all fit, even after moves.
    """
    from ..advice.capacity import fit as fitting
    from ..advice.capacity import fit_lines
    from ..advice.node_types import read_types, type_like

    if types is not None and like is not None:
        raise InvalidOption("like is given beside types; expected one of them")
    state = read(states, source, planned)
    buys = () if types is None else read_types(state, types)
    with waiting("looking for places") as say:
        found = fitting(
            state, types=buys if like is None else [type_like(state, like)],
            released=source.released, time_limit=source.time_limit, say=say,
        )  # fmt: skip
    if (planned.emit or planned.plan) and found.advice is None:
        raise NoSolution(
            f"there is no plan of moves: {'none are needed' if found.fits else 'none help'}; "
            "leave out --emit and --plan"
        )
    show(shown, found.document, lambda: fit_lines(found), plan=planned, advice=found.advice)
    if not found.fits:
        raise typer.Exit(NO_ANSWER)


@options_of(NewOptions, types=None, instead=None)
@options_of(ShowOptions)
def buy(
    source: NewOptions,
    shown: ShowOptions,
    states: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STATE...]", help="Files of a state; or none, with --add."),
    ] = None,
    types: Types = None,
    instead: Annotated[
        bool, typer.Option("--replace", help="Only new nodes: none of the state's is kept.")
    ] = False,
) -> None:
    """Say which nodes to buy at the least price.

    They are for pending and new pods. Nothing that runs moves, unless everything does (--replace).
    Exit 1 when some pods fit nowhere.
    """
    from ..advice.buying import buy as buying
    from ..advice.capacity import buy_lines
    from ..advice.node_types import read_types

    if types is None or (not states and source.add is None):
        what = "types" if types is None else "add"
        raise InvalidOption(f"{what} is not given; expected --types TYPES.csv, and STATE or --add")
    state = read(states or [], source)
    with waiting("looking for the cheapest nodes") as say:
        found = buying(
            state, read_types(state, types), instead=instead, released=source.released,
            time_limit=source.time_limit, say=say,
        )  # fmt: skip
    show(
        shown,
        lambda: found.document() | {"warnings": [asdict(each) for each in state.warnings]},
        lambda: buy_lines(found),
    )
    if found.waiting:
        raise typer.Exit(NO_ANSWER)
