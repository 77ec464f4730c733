"""A schedule that is given to be judged: an instance of this package, and who started when."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...instances.problem.emitted import file_word, quoted
from ...instances.problem.errors import CotenantError, InvalidFile
from ...instances.problem.files import bundled, instance_of, locate
from ...instances.problem.reading import parse_any_json, read_text
from ...instances.problem.tables import PathLike
from ...instances.scheduling import Schedule, Scheduling, check, schedule_of
from ...instances.scheduling.log import Window
from ..run.result import Result, fingerprint


def window_or_text(path: PathLike, schedule: PathLike | None = None) -> Window | str:
    """An instance with its schedule as a window to be judged; or the text of a file that is neither
    an instance nor a result of this package, a log.

    Parameters
    ----------
    path : of an instance (or its bundled name), a log, or a result on a bundled instance, which
        needs no second file.
    schedule : path of the answer: a result, or JSON with `start` and, optionally, `machine` and
        `others` as a `Schedule` has them.

    Raises
    ------
    InvalidFile
        One of the files is not what it should be, or they do not belong together.
    InfeasibleSolution
        The schedule breaks a rule of the instance.
    """
    where = os.fspath(path)
    file = locate(path) if schedule is not None or where in bundled() else path
    text = read_text(file)
    ours = text.lstrip()[:1] == "{" and '"cotenant"' in text
    content = parse_any_json(text, file) if ours else None
    if not isinstance(content, dict) or "cotenant" not in content:
        if schedule is None:
            return text
        raise InvalidFile(
            f"{where} is not an instance of this package. schedule is for an instance; leave it "
            "out for a log, which says itself who started when"
        )
    if "result" in content:
        result = _result(content, where)
        name = f"scheduling/{result.instance}"
        if schedule is not None or name not in bundled():
            raise InvalidFile(
                f"{where} is an answer to {result.instance!r}, without its jobs; give the instance "
                f"first: cotenant audit INSTANCE.json --schedule {quoted(where)}"
            )
        return _judged(_instance(None, name), result, where)
    if schedule is None:
        raise InvalidFile(
            f"{where} is an instance, which does not say who started when; add the answer to be "
            f"judged, such as `cotenant solve {file_word(where)} -m FAIRSHARE --out R.json` "
            "writes: --schedule R.json"
        )
    return _judged(_instance(content, where, text), *_answer(schedule))


def _answer(path: PathLike) -> tuple[Result | dict[str, Any], str]:
    """A result, or a bare schedule's fields; and where they stand."""
    where = os.fspath(path)
    content = parse_any_json(read_text(path), path)
    if isinstance(content, dict) and "result" in content:
        return _result(content, where), where
    if isinstance(content, dict) and "start" in content:
        return content, where
    instance = isinstance(content, dict) and "cotenant" in content
    kind = " is an instance, not an answer" if instance else " holds no schedule"
    raise InvalidFile(
        f"{where}{kind}; expected a result that cotenant solve --out wrote, or "
        '{"start": [...]}, one start a job, -1 for none'
    )


def _result(content: dict[str, Any], where: str) -> Result:
    try:
        return Result.from_document(content)
    except InvalidFile as error:
        raise InvalidFile(f"{where} is {error}") from None


def _instance(content: dict[str, Any] | None, where: str, text: str = "") -> Scheduling:
    file = locate(where)
    if content is None:
        text = read_text(file)
        content = parse_any_json(text, file)
    found = instance_of(content, text, file, "scheduling")
    assert isinstance(found, Scheduling)
    return found


def _judged(instance: Scheduling, answer: Result | dict[str, Any], where: str) -> Window:
    """The window of an instance and a schedule of it that `check` passes."""
    title = f"the schedule of {where}"
    if isinstance(answer, Result):
        if answer.problem != "scheduling" or answer.fingerprint != fingerprint(instance):
            raise InvalidFile(
                f"{where} is a result on {answer.problem} {answer.instance!r}, another instance "
                f"than {instance.name!r}, or of other content; solve again with --out"
            )
        schedule, title = answer.solution, f"{title}, found by {answer.method}"
        if not isinstance(schedule, Schedule):
            raise InvalidFile(f"{where} has no schedule: its status is {answer.status.value}")
    elif "machine" in answer or instance.speed is not None:
        try:
            schedule = Schedule.from_document({"machine": [], **answer})
        except (CotenantError, TypeError, ValueError) as error:
            raise InvalidFile(f"{where} is not a schedule: {error}") from None
    else:
        schedule = schedule_of(instance, _starts(instance, answer, where))
    check(instance, schedule)
    return Window(instance, schedule.start, 0, machine=schedule.machine, title=title)


def _starts(instance: Scheduling, answer: dict[str, Any], where: str) -> Any:
    start = answer["start"]
    whole = isinstance(start, list) and all(type(entry) is int for entry in start)
    if not whole or len(start) != instance.jobs or np.abs(np.array(start, object)).max() >= 2**62:
        raise InvalidFile(
            f"{where}: start is not a list of {instance.jobs} whole numbers, one for each job, -1 "
            "for none"
        )
    return start
