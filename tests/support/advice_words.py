"""What a terminal shows of the answers about a cluster, and numbers that follow from them."""

from __future__ import annotations

from cotenant.cluster.plan.answer import Answer
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.text_report import answer_lines


def lines_of(answer: Answer, details: bool = False) -> list[str]:
    """An answer as it is printed."""
    return answer_lines(shown(answer), details)


def most_after(found: Answer) -> int:
    """So many of the pods of a fit can be placed after any moves, at most."""
    return len(found.pods) - int(found.waits.bound)
