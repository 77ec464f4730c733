"""The command `solve`: one method on one instance."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import (
    Form,
    print_json,
    print_tables,
    progress,
    require_writable,
    say,
)
from ..instances.problem.option_types import AtLeast
from ..solvers.interrupts import deferred
from .arguments import (
    As,
    From,
    InstanceFile,
    Json,
    MethodName,
    Options,
    Rules,
    TimeLimit,
    Width,
    require_latex,
)
from .codes import NO_ANSWER, leave_interrupted
from .functions import broken_of, failing_in, given_method, given_rules, read_one

CONFLICT_SECONDS = 10.0
"""How long it is looked for what makes an instance infeasible, without a time limit."""


def solve(
    file: InstanceFile,
    *,
    method: MethodName,
    option: Options = None,
    source: From = None,
    seed: Annotated[int, AtLeast(0)] = 0,
    time_limit: TimeLimit = None,
    out: Annotated[Path | None, "RESULT.json"] = None,
    log: Annotated[Path | None, "FILE"] = None,
    rule: Rules = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Run one method on an instance and print its answer.

    Its value, bound, gap and metrics are printed too.

    Parameters
    ----------
    seed : seed of the method's random generator
    out : write the whole result here
    log : write progress lines here
    """
    from .. import catalog
    from ..analysis.registry import analysis_of
    from ..analysis.run.conflict import conflict
    from ..analysis.run.solve import solve as run
    from ..instances.problem.answer_table import SHOWN
    from ..instances.problem.options import parse_options

    # 1. What is asked for, refused before the run.
    require_latex(width, form)
    rules = given_rules(rule)
    instance, texts = read_one(file, source, option)
    require_writable(out, file)
    require_writable(log, file)
    chosen = given_method(method)
    if isinstance(chosen, str):
        entry = catalog.find(instance.problem, chosen)
        function, name = entry.resolve(), entry.name
    else:
        function, name = chosen, getattr(chosen, "__name__", method)
    takers = (function, analysis_of(instance.problem).metrics)
    options = parse_options(takers, texts, f"method {name!r}")
    # 2. The run, and its answer written and printed.
    with ExitStack() as whole:
        with progress(f"{name} on {instance.name}", log) as report, failing_in(chosen, name):
            result = run(
                instance, chosen, seed=seed, time_limit=time_limit, report=report, **options
            )
            # what is known now is written and printed, whatever comes
            put_off = whole.enter_context(deferred())
            if out is not None:  # before the log, which may not find room
                result.write(out)
        interrupted = result.stop.value == "interrupted"
        if as_json:
            print_json(result.document())
        elif result.solution is not None or not interrupted:
            from ..analysis.report.tables import result_tables

            most = SHOWN if form is Form.TABLE else None
            metrics = analysis_of(instance.problem).metric_table
            print_tables(result_tables(result, metrics, most), form, width=width)
        interrupted |= put_off.interrupted
        broken = broken_of(instance, result.solution, rules)
        for each in broken:
            say(f"broken: {each}")
        if rules and result.bound is not None:
            say("status and bound: without your rules, which only exclude answers: the bound holds")
    # 3. The exit code, and why there is no answer.
    if interrupted:
        leave_interrupted(
            "no answer was known yet"
            if result.solution is None
            else "the best answer so far is kept"
        )
    if result.solution is None or broken:
        if result.status.value == "infeasible":
            say(f"{conflict(instance, result, time_limit=time_limit or CONFLICT_SECONDS)}")
            if instance.source:
                say(f"the instance: {instance.source}")
        raise typer.Exit(NO_ANSWER)
