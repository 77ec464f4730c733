"""Data model of a report on a cluster, shared by text and page: sentences, lists, and sections of
the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...analysis.report.content import PageFigure
from ...analysis.report.table import Table
from ..plan.answer import Answer
from ..state.state import ClusterState


@dataclass(frozen=True)
class PagePart:
    """Section of a page: sentences, tables and pictures; collapsed at first if `folded`."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[PageFigure, ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Line:
    """Sentence or list of a report.

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
    """Report on an answer, for the terminal and the page.

    Attributes
    ----------
    state, title, about : what was asked, and of what.
    lines : the answer; the first decides.
    complete : whether it is what was hoped for; None where that is not known.
    advice : the answer whose moves it shows, if any.
    no_plan : why nothing of it can be carried out; "" where it can.
    fewer_nodes : whether that plan is for fewer nodes: what is proved of them is on the page then.
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
    parts: tuple[PagePart, ...] = ()
