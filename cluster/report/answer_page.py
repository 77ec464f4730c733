"""The page of an answer about a cluster, as data: the decision and what stands before it, nodes
before and after as bars, moves in waves, and further sections.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...analysis.report.content import PageFigure
from ...analysis.report.page import render_page, require_report
from ...analysis.report.table import Table
from ...analysis.report.tables import facts_table
from ...analysis.run.result import versions
from ...instances.problem.emitted import command_line
from ...instances.problem.files import write_text
from ...instances.problem.option_types import validate_options


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
class AnswerPage:
    """The page of an answer.

    Attributes
    ----------
    title, about : what was asked, and of what.
    decision : sentences that have no number.
    warnings : text and cure ("" for none) of whatever makes the answer one about something else
        than the user's cluster.
    numbers : the few that decide, each with the sentence that says what it is and what is proved.
    lists : names that decide (nodes that are freed, or idle), by what they are.
    plan : nodes and moves, where the answer has some.
    parts : further sections.
    host_noun, workload_noun : what the platform calls nodes and pods.
    """

    title: str
    about: str
    decision: tuple[str, ...]
    warnings: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plan: PlanPart | None = None
    parts: tuple[PagePart, ...] = ()
    host_noun: str = "node"
    workload_noun: str = "pod"


@validate_options
def write_page(page: AnswerPage, path: str | os.PathLike[str], command: Sequence[str] = ()) -> Path:
    """Write the page of an answer as one HTML file that needs no network; returns its path.

    Parameters
    ----------
    page : what it shows.
    path : of the file.
    command : the words that a person types to get the page again; () for none.

    Raises
    ------
    InvalidFile
        The page cannot be written.
    InvalidOption
        jinja2 or matplotlib is missing.
    """
    require_report(Path(path))
    html = render_page(
        "answer.html", page, [shown for part in page.parts for shown in part.pictures],
        command=command_line(command), versions=facts_table(dict(versions()), "Versions"),
    )  # fmt: skip
    return write_text(path, html)
