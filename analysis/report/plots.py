"""Pictures for notebooks and scripts: of an answer, and of the course of a search."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...instances.problem.base import Instance, Solution
from ...instances.problem.errors import InvalidOption, UnknownName
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import accepted, check_options
from ...instances.problem.registry import check
from ..registry import analysis_of
from ..run import result as run
from .drawing import FORMATS, figure, save, save_as, svg
from .picture import Chart, Picture, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """A picture that a notebook shows by itself.

    Attributes
    ----------
    picture : what is drawn, as data; `picture.table()` has its numbers.
    """

    picture: Picture

    @property
    def figure(self) -> Figure:
        """Matplotlib figure of the picture, which may be changed or saved."""
        return figure(self.picture)

    @validate_options
    def save(
        self, place: str | os.PathLike[str], formats: Sequence[str] = ("pdf", "png")
    ) -> list[Path]:
        """Write the picture into a file, `save("x.png")`, or into a folder, `save("figures")`.

        Parameters
        ----------
        place : a file whose name ends in .pdf, .png or .svg. Anything else is a folder, which is
            made when it is not there, and gets NAME.pdf and NAME.png.
        formats : what a folder gets, of pdf, png and svg.

        Returns
        -------
        The files written.

        Raises
        ------
        InvalidOption
            A format that is none, such as that of "x.jpg".
        InvalidFile
            It cannot be written.
        """
        path = Path(place)
        image = mimetypes.guess_type(path.name)[0] or ""
        if not path.is_dir() and (path.suffix[1:].lower() in FORMATS or image.startswith("image/")):
            return [save_as(self.picture, path)]
        return save([self.picture], path, formats)

    def __repr__(self) -> str:
        return f"<picture: {self.picture.title}>"

    def _repr_svg_(self) -> str:
        return svg(self.picture)


@validate_options
def plot(
    instance: Instance, answer: Solution | run.Result, name: str | None = None, **options: Any
) -> Plot:
    """Picture of a feasible answer, or of one of its statistics.

    Parameters
    ----------
    instance : what was given.
    answer : a feasible solution of it, or a result that has one.
    name : which picture: the answer itself ("answer") when None, or one of its statistics. One that
        is none lists them.
    options : of the problem's pictures, as of its metrics (`alpha`).

    Raises
    ------
    InfeasibleSolution
        The answer breaks a rule of the instance.
    UnknownName
        There is no such picture of this answer; the message lists those there are.
    InvalidOption
        The result holds no answer, or matplotlib is not installed.

    Examples
    --------
    >>> import cotenant
    >>> tiny = cotenant.read("packing/tiny")
    >>> shown = cotenant.plot(tiny, cotenant.solve(tiny, "min-servers"))
    >>> shown.picture.title
    'Which VMs run on which server'
    """
    found = {picture.name: picture for picture in pictures_of(instance, answer, **options)}
    if not found:
        raise InvalidOption(f"there is no picture of this {instance.problem} answer")
    if name is not None and name not in found:
        raise UnknownName("picture", name, found)
    return Plot(found[name or next(iter(found))])


def pictures_of(instance: Instance, answer: Solution | run.Result, **options: Any) -> list[Picture]:
    """All pictures of an answer; see `plot`."""
    solution = answer.solution if isinstance(answer, run.Result) else answer
    if solution is None:
        raise InvalidOption("the result holds no answer; expected one with a solution")
    check(instance, solution)
    analysis = analysis_of(instance.problem)
    record, statistics = analysis.record, analysis.pictures
    takers = {} if record is None else {"metrics": analysis.metrics, "record": record}
    check_options(tuple(takers.values()), options, "a picture")
    draw = analysis.answer_picture
    shown = [] if draw is None else [draw(instance, solution)]
    if statistics is None:
        return shown
    row: dict[str, Any] = {
        "problem": instance.problem,
        "instance": instance.name,
        "fingerprint": run.fingerprint(instance),
        "kind": "run",
        "method": answer.method if isinstance(answer, run.Result) else "answer",
        "seed": answer.seed if isinstance(answer, run.Result) else 0,
        "predict": None,
        "status": "feasible",
        "options": options,
    }
    for key, function in takers.items():
        own = accepted(function, options)
        row[key] = function(instance, solution, **own)
    return [*shown, *statistics([row])]


@validate_options
def plot_trace(result: run.Result) -> Plot:
    """Plot of value and bound of a search over time.

    Parameters
    ----------
    result : of an exact method; `result.trace` has the numbers.

    Raises
    ------
    InvalidOption
        The method kept no trace (heuristics keep none), or matplotlib is not installed.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "min-servers")
    >>> [series.name for series in cotenant.plot_trace(result).picture.series]
    ['best answer', 'proved bound']
    """
    if not result.trace:
        raise InvalidOption(
            f"{result.method} kept no trace; expected the result of an exact method"
        )
    end = max(result.seconds, result.trace[-1][0])
    series = [
        Series(name, *_steps(result, place, end), style="step", strong=strong)
        for name, place, strong in (("best answer", 1, False), ("proved bound", 2, True))
        if any(row[place] is not None for row in result.trace)
    ]
    value = "none" if result.objective is None else f"{result.objective:.6g}"
    bound = "none" if result.bound is None else f"{result.bound:.6g}"
    what = (result.objective_name or "objective").replace("_", " ")
    return Plot(
        Chart(
            "trace",
            f"{result.method} on {result.instance}: {what} over time",
            "seconds",
            what,
            tuple(series),
            f"After {end:.3g} s the best answer has {what} {value}, and the proved bound is "
            f"{bound}.",
        )
    )


def _steps(
    result: run.Result, place: int, end: float
) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """Seconds and values of one column of a run's trace, continued to the end of the run."""
    traced = [(row[0], row[place]) for row in result.trace]
    # no axis is made of rounding
    known = [(at, float(f"{value:.10g}")) for at, value in traced if value is not None]
    seconds, values = zip(*known, (end, known[-1][1]), strict=True)
    return seconds, values
