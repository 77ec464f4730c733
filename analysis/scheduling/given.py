"""Windows made of an instance of this package and a given schedule, to be audited."""

from __future__ import annotations

import os

import numpy as np

from ...instances.problem.errors import InvalidFile
from ...instances.problem.files import read
from ...instances.problem.reading import parse_any_json, read_text
from ...instances.problem.tables import PathLike
from ...instances.scheduling import Schedule, check, schedule_of
from ...instances.scheduling.log import Window
from ..run.given_answer import read_answer
from ..run.result import Result, fingerprint


def given_window(path: PathLike, schedule: PathLike) -> Window:
    """Make a window to be audited from an instance and its schedule.

    Parameters
    ----------
    path : of an instance, or its bundled name.
    schedule : path of the answer: a result, a solution as a result has it, or {"start": [...]}, the
        start of each job, -1 for none.

    Raises
    ------
    InvalidFile
        One of the files is not what it should be, or they do not belong together.
    InfeasibleSolution
        The schedule breaks a rule of the instance.
    """
    instance, where = read(path, "scheduling"), os.fspath(schedule)
    title = f"the schedule of {where}"
    content = parse_any_json(read_text(schedule), schedule)
    if isinstance(content, dict) and "start" in content:
        start = content["start"]
        integers = isinstance(start, list) and all(type(entry) is int for entry in start)
        if not integers or len(start) != instance.jobs or max(map(abs, start)) >= 2**62:
            raise InvalidFile(
                f"{where}: start is not a list of {instance.jobs} integers, one for each job, -1 "
                "for none"
            )
        answer = schedule_of(instance, np.array(start, dtype=np.int64))
    else:
        found = read_answer(instance, where)
        if isinstance(found, Result):
            if found.problem != "scheduling" or found.fingerprint != fingerprint(instance):
                raise InvalidFile(
                    f"{where} is a result on {found.problem} {found.instance!r}, another instance "
                    f"than {instance.name!r}, or of other content; solve again with --out"
                )
            title = f"{title}, found by {found.method}"
            found = found.solution
        if not isinstance(found, Schedule):
            raise InvalidFile(f"{where} has no schedule; expected a result with one")
        answer = found
    check(instance, answer)
    return Window(instance, answer.start, 0, title=title)
