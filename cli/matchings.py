"""The command `matchings`: all stable pairings of preference lists."""

from __future__ import annotations

from typing import Annotated

from ..analysis.report.console import Form, print_json, print_tables
from ..instances.problem.option_types import AtLeast
from .arguments import As, Json, TimeLimit, Width, require_latex
from .completion import instances


def matchings(
    file: Annotated[str, "FILE", instances],
    *,
    limit: Annotated[int, "N", AtLeast(0)] = 20,
    time_limit: TimeLimit = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Count all stable pairings of lists, and list some.

    They are those of strict preference lists. The time limit is one for the counting.

    Parameters
    ----------
    file : an instance of colocation with preference lists, or a bundled one
    limit : how many to list
    """
    from ..analysis.colocation.stable_pairings import stable_pairings
    from ..instances.colocation import Colocation
    from ..instances.problem import InvalidOption, read

    require_latex(width, form)
    instance = read(file)
    if not isinstance(instance, Colocation):
        raise InvalidOption(
            f"{file} is an instance of {instance.problem}; expected one of colocation. `cotenant "
            "convert LISTS.json --from preferences` makes it of preference lists"
        )
    found = stable_pairings(instance, limit, time_limit=time_limit)
    if as_json:
        print_json(found.document())
    else:
        print_tables([found.table], form, width=width)
