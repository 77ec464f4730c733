"""Readers of answers by any solver: a result, a solution in JSON, a CSV of pairs or placements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...instances.problem.base import Instance, Solution
from ...instances.problem.errors import CotenantError, InfeasibleSolution, InvalidFile
from ...instances.problem.reading import parse_json, read_text
from ...instances.problem.registry import check, problem_named
from ...instances.problem.tables import CsvTable
from ...instances.problem.text import shortened
from ..registry import analysis_of
from .result import Result
from .verify_result import LIMIT, Recheck, recheck


def read_answer(instance: Instance, path: str) -> Result | Solution | None:
    """A result as `cotenant solve --out` writes it, or the answer of another solver: the solution
    of such a result alone, or for colocation and packing a CSV; None for a proof.

    Raises
    ------
    InvalidFile : it holds none of these, or names what the instance has not.
    """
    text, problem = read_text(path), problem_named(instance.problem)
    form = problem.answer_columns
    if problem.read_table is not None and text.strip() and not text.lstrip().startswith(("{", "[")):
        table = CsvTable(path, *form.partition("[")[0].split(","), text=text)
        return problem.read_table(instance, table)
    wanted = f"a result or solution in JSON{f', or CSV: {form}' * bool(form)}"
    content = parse_json(text, path, wanted)
    if "cotenant_proof" in content:
        return None
    if "solution" in content and "result" not in content:
        return solution_in(instance, content, path)
    return Result.read(path)


def judge_answer(
    instance: Instance, given: Result | Solution, time_limit: float | None = LIMIT
) -> tuple[Recheck, str]:
    """Verdict on an answer with its lines of text; "" for an infeasible solution. The time limit is
    that of `recheck`.
    """
    if isinstance(given, Solution):
        try:
            check(instance, given)
        except InfeasibleSolution as error:
            return Recheck((str(error),)), ""
        values = analysis_of(instance.problem).metrics(instance, given)
        worth = ", ".join(f"{name} {value:.6g}" for name, value in values.items())
        return Recheck(()), f"feasible; nothing else is claimed: {worth}"
    found = recheck(instance, given, time_limit=time_limit)
    said = "feasible; objective, metrics and levels are as claimed"
    if given.solution is None:
        said = f"claims {given.status.value}: there is no answer to check"
    return found, f"{said}\n{found.sentence}\nnot looked at: {', '.join(found.not_looked_at)}"


def solution_in(instance: Instance, content: Mapping[str, Any], where: str) -> Solution:
    """Read the solution in a document; raises InvalidFile if it does not fit the instance."""
    kind = problem_named(instance.problem).solution_named(content.get("answer"))
    try:
        return kind.from_document(dict(content["solution"]))
    except CotenantError as error:
        why = str(error)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        names = ", ".join(field.name for field in fields(kind))
        why = f"solution is {shortened(content['solution'])}; expected an object with {names}"
    raise InvalidFile(f"{where} holds no {instance.problem} answer: {why}")
