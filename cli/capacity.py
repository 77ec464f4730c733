"""The commands `advise fit`, `buy`, `safe`, `repair` and `gpus`: room for new pods, losses, what to
buy, what is broken now, and cards.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..instances.problem.errors import InvalidOption
from .advice_options import AddOptions, NewOptions, PlanOptions, ShowOptions, StateOptions, States

if TYPE_CHECKING:
    from ..cluster.state.node_types import NodeType


def fit(
    states: States,
    *,
    source: NewOptions,
    shown: PlanOptions,
    types: Annotated[str | None, "TYPES.csv|NODE"] = None,
) -> None:
    """Say whether new pods fit, and after which moves.

    Or with how many new nodes. Pending pods of the state are counted with them. Exit 1 when they
    do not all fit, even after the moves that were found; 3 when that is not known.

    Parameters
    ----------
    types : also with new nodes: of a table as `advise buy` takes it, or like this node
    """
    from ..cluster.plan.fit import fit as fitting
    from ..cluster.state.node_types import read_types, type_like

    state = shown.read(states, source)
    buys: tuple[NodeType, ...] = ()
    if types is not None:
        table = Path(types).exists() or Path(types).suffix == ".csv"
        buys = read_types(state, types) if table else (type_like(state, types),)
    shown.ask("looking for places", fitting, state, source, types=buys)


def buy(
    states: Annotated[list[str] | None, "[STATE...]"] = None,
    *,
    source: NewOptions,
    shown: ShowOptions,
    types: Annotated[str | None, "TYPES.csv"] = None,
) -> None:
    """Say which nodes to buy at the least price.

    They are for pending and new pods. Nothing that runs moves. Exit 1 when some pods fit nowhere; 3
    when it is not known whether some have to wait.

    Parameters
    ----------
    states : files of a state; or none, with --add
    types : nodes to buy: type, price, cpu, memory and what else pods may take of one; where wanted
        zone, most (so many at most), labels (a=b c=d)
    """
    from ..cluster.plan.buy import buy as buying
    from ..cluster.state.node_types import read_types

    if types is None or (not states and source.add is None):
        what = "types" if types is None else "add"
        raise InvalidOption(f"{what} is not given; expected --types TYPES.csv, and STATE or --add")
    state = shown.read(states or [], source)
    shown.ask("looking for the cheapest nodes", buying, state, source, read_types(state, types))


def safe(
    states: States,
    *,
    source: StateOptions,
    shown: ShowOptions,
    by: Annotated[list[str] | None, "LABEL"] = None,
) -> None:
    """Say whether nodes can be lost.

    All pods of each have places on the others while nothing else moves, or which have not. Exit 1
    when some of it is not known to be safe.

    Parameters
    ----------
    by : also lose all nodes with one value of this label, such as a rack; repeat for more. Zones
        when not given
    """
    from ..cluster.plan.safe import safe as cases

    shown.ask("looking for places", cases, shown.read(states, source), source, by=by or ())


def repair(states: States, *, source: StateOptions, shown: PlanOptions) -> None:
    """Say what is broken now, and how to repair it.

    The fewest moves that keep all rules again, with no node emptied. Exit 1 when some of it stays
    broken.
    """
    from ..cluster.plan.repair import repair as repairing

    shown.ask("looking for what is broken", repairing, shown.read(states, source), source)


def gpus(
    states: States,
    *,
    source: AddOptions,
    shown: PlanOptions,
    gang: Annotated[str | None, "GANG"] = None,
    topology: Annotated[str, "LABEL"] = "",
) -> None:
    """Say where GPUs are free, and which moves admit a gang.

    All pods of it, or none: the fewest moves, or a proof that no moves do. Exit 1 when a gang that
    waits has no room, even after moves.

    Parameters
    ----------
    gang : only this gang that waits: namespace/name, or LABEL=VALUE of its pods
    topology : all nodes of a gang have one value of this label
    """
    from ..cluster.plan.gpus import gpus as cards_of

    state = shown.read(states, source)
    shown.ask("looking for room", cards_of, state, source, gang=gang, topology=topology)
