"""Choice of the report that fits the question of an answer."""

from __future__ import annotations

from ...instances.problem.option_types import validate_options
from ..plan.answer import Answer
from .gpus import gpus_answer
from .resilience import drain_answer, repair_answer, safe_answer
from .rooms import buy_answer, fit_answer
from .text_report import Shown, nodes_answer

_WORDS = {
    "nodes": nodes_answer, "drain": drain_answer, "safe": safe_answer,
    "fit": fit_answer, "buy": buy_answer, "repair": repair_answer, "gpus": gpus_answer,
}  # fmt: skip


@validate_options
def shown(answer: Answer) -> Shown:
    """Convert an answer to sentences and tables, for the terminal and the page."""
    return _WORDS[answer.kind](answer)
