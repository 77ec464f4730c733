"""The model of an answer about a cluster, of which text and page are made: sentences and lists, the
nodes of a plan as bars, moves in waves, and further sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...analysis.report.content import PageFigure
from ...analysis.report.table import Table
from ..plan.answer import Answer
from ..state.state import ClusterState


@dataclass(frozen=True)
class Fill:
    """How full a node is of one resource.

    Attributes
    ----------
    resource : its name.
    ends : where each part of the bar ends, in percent of what pods may take: the node's own pods,
        pinned pods, pods that stay, pods that move, pods that were pending.
    """

    resource: str
    ends: tuple[float, ...]


@dataclass(frozen=True)
class NodeBars:
    """A node before and after a plan.

    Attributes
    ----------
    name, details : its name, and its type, zone and price where they are known.
    changes : numbers of pods that leave and come, in words; "" for none.
    now, after : by choice of resource, the first its tightest one; None where it has none of the
        resource, or (after) is freed.
    """

    name: str
    details: str
    changes: str
    now: tuple[Fill | None, ...]
    after: tuple[Fill | None, ...]


@dataclass(frozen=True)
class NodeGroup:
    """Nodes to which the same happens."""

    kind: str
    title: str
    nodes: tuple[NodeBars, ...]


@dataclass(frozen=True)
class WaveStep:
    """A wave: its moves, and the nodes that are empty when it is over."""

    moves: Table
    emptied: tuple[str, ...]


@dataclass(frozen=True)
class PlanPart:
    """A plan: `resources` are the choices of bars, `waves` its moves."""

    resources: tuple[str, ...]
    groups: tuple[NodeGroup, ...]
    waves: tuple[WaveStep, ...]

    def sorted_fills(self, choice: int, after: bool) -> list[Fill | None]:
        """The bars of all nodes, the fullest first."""
        fills = [
            (node.after if after else node.now)[choice]
            for group in self.groups
            for node in group.nodes
        ]
        return sorted(fills, key=lambda fill: 1.0 if fill is None else -fill.ends[-1])


@dataclass(frozen=True)
class PagePart:
    """A section: sentences, tables and pictures; `folded` until it is opened."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[PageFigure, ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Line:
    """A sentence of an answer, or a list.

    Attributes
    ----------
    words : the sentence; of names what they are, of rows what one is called.
    names, rows : the list: names, or each with what is said of it. Both are cut in a terminal.
    title : of the list on a page.
    number : the number that the sentence is about, on a page.
    """

    words: str
    names: Sequence[str] = ()
    rows: Sequence[tuple[str, str]] = ()
    title: str = ""
    number: str = ""


@dataclass(frozen=True)
class Shown:
    """An answer about a state as people read it, in a terminal and on a page.

    Attributes
    ----------
    state, title, about : what was asked, and of what.
    lines : the answer; the first decides.
    complete : whether it is what was hoped for; None where that is not known.
    advice : the answer whose moves it shows, if any.
    no_plan : why nothing of it can be carried out; "" where it can.
    fewer_nodes : whether that plan is for fewer nodes: what is proved of them is on the page then.
    plan : the moves of several plans, in the place of those of one.
    parts : what the page has besides.
    """

    state: ClusterState
    title: str
    about: str
    lines: tuple[Line, ...]
    complete: bool | None = True
    advice: Answer | None = None
    no_plan: str = ""
    fewer_nodes: bool = False
    plan: PlanPart | None = None
    parts: tuple[PagePart, ...] = ()
