"""The commands `advise safe` and `repair`: what a loss of nodes does, and what is broken now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import waiting
from ..instances.problem.errors import InvalidOption
from .advice_options import PlanOptions, ShowOptions
from .arguments import share_of
from .derived import options_of
from .state_options import StateOptions, States

if TYPE_CHECKING:
    from ..advice.plan import Advice
    from ..advice.state import ClusterState


@dataclass(frozen=True)
class FurtherOptions:
    """What a plan of fewest nodes keeps free, and whether it says what pins cost.

    Attributes
    ----------
    keep : keep a share of each node free, such as 15%, or room for the loss of any one node: node
    why_not : also say what each reason that holds pods in place costs; half of the time is for it
    """

    keep: Annotated[str | None, "WHAT"] = None
    why_not: Annotated[bool, "--why-not"] = False

    def keeping(self, state: ClusterState) -> ClusterState:
        """The state with what is to be kept of each node taken off."""
        from ..advice.safety import with_reserve

        if self.keep in (None, "node"):
            return state
        share = share_of(str(self.keep), "keep")
        if share == 1:
            raise InvalidOption("keep is 100%, which leaves nothing; expected less, or node")
        return with_reserve(state, share)

    def added(
        self, advice: Advice, say: Any, limits: dict[str, Any], asked: dict[str, Any]
    ) -> Advice:
        """The plan with the nodes that stay as spares, and with what pins cost."""
        from ..advice.pins import dearest_pins
        from ..advice.safety import surviving

        if self.why_not and not advice.interrupted:
            pins = dearest_pins(advice, say=say, **limits, **asked)
            advice = replace(advice, why_not=pins)
        if self.keep != "node":
            return advice
        return surviving(advice, limits["time_limit"], limits["released"])


@options_of(StateOptions)
@options_of(ShowOptions)
def safe(
    states: States,
    source: StateOptions,
    shown: ShowOptions,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL",
            help="Also lose all nodes with one value of this label, such as a rack; repeat for "
            "more. Zones when not given.",
        ),
    ] = None,
) -> None:
    """Say whether a node or a zone can be lost.

    All pods of each have places on the others while nothing else moves, or which have not and what
    would be enough. Exit 1 when some loss is not known to be safe.
    """
    from ..advice.resilience_report import safe_answer, safe_document
    from ..advice.safety import safe as losses

    state = shown.read(states, source)
    with waiting("looking for places") as say:
        found = losses(state, by=by or (), say=say, **source.limits)
    shown.show(safe_answer(state, found), lambda: safe_document(state, found))


@options_of(StateOptions)
@options_of(PlanOptions)
def repair(states: States, source: StateOptions, shown: PlanOptions) -> None:
    """Say what is broken now, and how to repair it.

    The fewest moves that keep all rules again, with no node emptied. Exit 1 when some of it stays
    broken.
    """
    from ..advice.repairing import repair as repairing
    from ..advice.resilience_report import repair_answer, repair_document

    state = shown.read(states, source)
    with waiting("looking for what is broken") as say:
        found = repairing(state, say=say, **source.limits)
    shown.show(repair_answer(found), lambda: repair_document(found))
