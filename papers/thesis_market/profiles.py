"""Thesis figs. 3.3 to 3.5 and 3.10: parallel fractions from run times, and the other way.

The thesis prints none of its run times. Given a profile (CSV of measured run times,
`profile=PATH`), its sentences are judged on it; without one a synthetic profile shows the method at
work, and nothing is judged: there the sentences hold by construction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from ...analysis.market.profiles import Holdout, prediction_errors
from ...analysis.report.picture import Chart, Picture, Series
from ...instances.market.profile import Profile, fractions, karp_flatt, read_profile
from ...instances.market.workloads import synthetic_profile
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...instances.problem.reading import read_text
from ..charts import chart
from ..given import given_by
from ..registry import Finding, addition, compare

STEADY = 0.1
"""F is consistent where it varies by less than this over core counts."""
SHRINKING = 0.05
"""F shrinks where it is lower by more than this on the most cores than on the fewest."""
FITS = 0.05**2
"""Karp-Flatt fits where the variance of F is below this (a deviation of five points)."""
LEAST_FRACTION, MOST_FRACTION = 0.55, 0.99
MEAN_ERROR, WORST_ERROR = (0.05, 0.15), 0.30
POORLY_MODELLED = ("page-rank", "connected", "triangle-counting", "kmeans", "dedup")
"""Thesis section 3.2.2, limitations."""

_P3ARSEC, _P3ARSEC_CORES = "platform=xeon_server,implementation=Pthreads", 24.0
"""The original programs on the machine that is most like the thesis's, up to its cores."""

_DRAWN = 10
_BY_CONSTRUCTION = "a synthetic profile is made so; -o profile=FILE judges it on measured run times"


@dataclass(frozen=True)
class _Given:
    """A profile, whether it was measured, and the most cores looked at."""

    profile: Profile
    measured: bool
    most_cores: float | None
    note: str

    def claim(self, what: str, paper: str, ours: str, holds: bool, note: str = "") -> Finding:
        """Judged on a measured profile only."""
        if self.measured:
            return compare(what, paper, ours, bool(holds), note)
        return compare(
            what, paper, ours, None, f"{note}; {_BY_CONSTRUCTION}" if note else _BY_CONSTRUCTION
        )


@validate_options
def _given(
    seed: int = 0,
    profile: str | None = None,
    where: str | None = None,
    most_cores: Annotated[float, Above(1, "cores", infinite=True)] | None = None,
) -> _Given:
    if profile is None:
        if where is not None:
            raise InvalidOption("where chooses rows of a profile; give profile=PATH too")
        made = synthetic_profile(np.random.default_rng(seed))
        return _Given(
            made,
            False,
            most_cores,
            "a synthetic profile: the thesis's run times were never published",
        )
    known = where is None and _is_p3arsec(profile)
    if known:
        where, most_cores = _P3ARSEC, _P3ARSEC_CORES if most_cores is None else most_cores
    read = read_profile(profile, where)
    limit = "" if most_cores is None else f", up to {most_cores:g} cores"
    rows = "" if where is None else f", {where}"
    note = f"measured run times: {Path(profile).name}{rows}{limit}"
    return _Given(_programs(read) if known else read, True, most_cores, note)


on_profile = given_by(_given, {})


@on_profile
def figure_3_3(given: _Given) -> list[Finding | Picture]:
    """F_c of every workload over core counts.

    Parameters
    ----------
    profile : path of a CSV of run times, see `instances.market.profile.read_profile`; every data
        size is a curve of its own.
    where : rows to keep, as in "platform=xeon_server,implementation=Pthreads", which is also what
        is kept, up to 24 cores, of the speedups of P3ARSEC (De Sensi et al. 2017) when nothing is
        said.
    most_cores : leave out rows with more cores.
    """
    curves = _curves(given)
    spread = {name: float(np.ptp(curve)) for name, (_, curve) in curves.items()}
    fall = {name: float(curve[0] - curve[-1]) for name, (_, curve) in curves.items()}
    steady = [name for name, value in spread.items() if value < STEADY]
    falling = [name for name, value in fall.items() if value > SHRINKING]
    findings = [
        given.claim("F is consistent across core counts", "for many applications",
            f"{len(steady)} of {len(curves)} workloads", 2 * len(steady) >= len(curves),
            f"consistent: varies by less than {STEADY:g}; many: at least half"),
        given.claim("F tends to shrink as the core count increases", "for some applications",
            f"{len(falling)} of {len(curves)}: {_some(falling)}", 0 < len(falling) < len(curves),
            f"from the fewest cores to the most, by more than {SHRINKING:g}"),
        addition("what this ran on", given.note),
    ]  # fmt: skip
    return [*findings, _curves_chart(curves, spread, given)]


@on_profile
def figure_3_4(given: _Given) -> list[Finding | Picture]:
    """The mean of F_c over core counts, by workload. Parameters are those of `figure_3_3`."""
    mean = _by_workload(given, lambda entry: entry[0])
    low, high = min(mean, key=mean.__getitem__), max(mean, key=mean.__getitem__)
    ours = f"{mean[low]:.2f} ({low}) to {mean[high]:.2f} ({high})"
    inside = round(mean[low], 2) >= LEAST_FRACTION and round(mean[high], 2) <= MOST_FRACTION
    found = given.claim("expected parallel fractions", f"{LEAST_FRACTION} to {MOST_FRACTION}", ours,
        inside, "of 22 Spark and PARSEC workloads; judged: ours lie inside")  # fmt: skip
    picture = _bars(
        "market-figure-3.4",
        "Expected parallel fraction by workload",
        "mean of F over core counts",
        mean,
        given,
    )
    return [found, addition("what this ran on", given.note), picture]


@on_profile
def figure_3_5(given: _Given) -> Iterator[Finding | Picture]:
    """The variance of F_c over core counts, by workload. Parameters are those of `figure_3_3`."""
    variance = _by_workload(given, lambda entry: entry[1])
    fitting = [name for name, value in variance.items() if value < FITS]
    yield given.claim("Karp-Flatt models parallel performance accurately", "most applications",
        f"{len(fitting)} of {len(variance)} workloads", 2 * len(fitting) > len(variance),
        f"accurately: variance of F below {FITS:g}; most: more than half")  # fmt: skip
    middle = float(np.median(list(variance.values())))
    for poor in POORLY_MODELLED:
        found = {
            name: value
            for name, value in variance.items()
            if name == poor or name.startswith(f"{poor}_")
        }
        if found:
            ours = (
                ", ".join(f"{name} {value:.2g}" for name, value in found.items())
                + f"; median of all {middle:.2g}"
            )
            holds = all(value > middle for value in found.values())
            yield given.claim(
                f"less accurate: {poor}", "yes", ours, holds, "variance above the median"
            )
    title = "Variance of the parallel fraction by workload"
    picture = _bars("market-figure-3.5", title, "variance of F over core counts", variance, given)
    yield addition("what this ran on", given.note)
    yield picture


@on_profile
def figure_3_10(
    given: _Given, *, holdout: Holdout = "every-other-count"
) -> Iterator[Finding | Picture]:
    """Errors of predicted run times over core counts, by workload.

    Parameters
    ----------
    profile, where, most_cores : see `figure_3_3`.
    holdout : what is predicted from the rest, see `profiles.prediction_errors`. The thesis predicts
        the full data set from sampled ones ("largest-size", which needs a profile with several
        sizes) on all core counts.
    """
    table = prediction_errors(given.profile, holdout=holdout, most_cores=given.most_cores)
    errors = {
        str(name): rows["error"].to_numpy() for name, rows in table.groupby("workload", sort=False)
    }
    mean = {name: float(values.mean()) for name, values in errors.items()}
    worst = max(errors, key=lambda name: float(errors[name].max()))
    least, most = min(mean, key=mean.__getitem__), max(mean, key=mean.__getitem__)
    every = float(np.mean(list(mean.values())))
    low, high = MEAN_ERROR
    yield given.claim(
        "error of predicted run time, on average",
        f"{100 * low:.0f} to {100 * high:.0f} %",
        f"{100 * every:.1f} %; by workload {100 * mean[least]:.1f} % ({least}) to "
        f"{100 * mean[most]:.1f} % ({most})",
        low <= every <= high,
        f"mean over workloads; held out: {holdout}",
    )
    yield given.claim("error in the worst case", f"{100 * WORST_ERROR:.0f} %",
        f"{100 * errors[worst].max():.1f} % ({worst})", float(errors[worst].max()) <= WORST_ERROR,
        f"judged: no more; {_without(errors, worst)}")  # fmt: skip
    if "canneal" in mean:
        place = 1 + sum(value > mean["canneal"] for value in mean.values())
        ours = f"{100 * mean['canneal']:.1f} %, place {place} of {len(mean)}"
        holds = 2 * place <= len(mean)
        yield given.claim("canneal is poorly modeled", "yes", ours, holds,
            "among the worse half by mean error")  # fmt: skip
    yield addition("what this ran on", given.note)
    yield _errors_chart(errors, given)


def _programs(profile: Profile) -> Profile:
    """Each program once: P3ARSEC has alternatives of an original, as NAME_alt_1 and so on."""
    once = profile.only(
        np.array([not re.search(r"_alt_(?!1$)\d+$", name) for name in profile.workload])
    )
    return replace(once, workload=tuple(name.removesuffix("_alt_1") for name in once.workload))


def _is_p3arsec(path: str) -> bool:
    header = [cell.strip().lower() for cell in read_text(path).partition("\n")[0].split(",")]
    return {"benchmark", "platform", "implementation", "threads", "speedup"} <= set(header)


def _curves(given: _Given) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Workload (and size, if several) -> core counts above 1, ascending, and F_c."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for entry in fractions(given.profile, given.most_cores):
        rows = given.profile.rows(entry.workload, entry.size)
        cores, seconds = given.profile.cores[rows], given.profile.seconds[rows]
        kept = (cores > 1) & (cores <= (np.inf if given.most_cores is None else given.most_cores))
        order = np.argsort(cores[kept], kind="stable")
        count = cores[kept][order]
        several = len(np.unique(given.profile.size[given.profile.rows(entry.workload)])) > 1
        name = f"{entry.workload}, size {entry.size:g}" if several else entry.workload
        found[name] = (count, karp_flatt(count, seconds[cores == 1].mean() / seconds[kept][order]))
    return found


def _by_workload(given: _Given, part: Callable[[tuple[float, float]], float]) -> dict[str, float]:
    """Workload -> mean (0) or variance (1) of F_c, averaged over its data sizes."""
    found: dict[str, list[float]] = {}
    for entry in fractions(given.profile, given.most_cores):
        found.setdefault(entry.workload, []).append(part((entry.mean, entry.variance)))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _without(errors: dict[str, np.ndarray], worst: str) -> str:
    rest = {name: float(values.max()) for name, values in errors.items() if name != worst}
    return f"of all but {worst} {100 * max(rest.values()):.1f} %" if rest else "the only workload"


def _some(names: list[str]) -> str:
    return (", ".join(names[:6]) + (" and others" if len(names) > 6 else "")) or "none"


def _curves_chart(
    curves: dict[str, tuple[np.ndarray, np.ndarray]], spread: dict[str, float], given: _Given
) -> Chart:
    ordered = sorted(curves, key=spread.__getitem__)
    drawn = ordered if len(ordered) <= _DRAWN else ordered[: _DRAWN // 2] + ordered[-_DRAWN // 2 :]
    series = tuple(
        Series(
            name, tuple(curves[name][0].tolist()), tuple(curves[name][1].tolist()), "line+points"
        )
        for name in drawn
    )
    words = (
        f"It varies least for {ordered[0]} ({spread[ordered[0]]:.2f}) and most for "
        f"{ordered[-1]} ({spread[ordered[-1]]:.2f})."
    )
    note = (
        given.note
        if len(drawn) == len(ordered)
        else f"the five that vary least and the five that vary most; {given.note}"
    )
    return Chart("market-figure-3.3", "Parallel fraction calculated from each core count", "cores",
        "parallel fraction F", series,
        f"Curves of the parallel fraction of {len(drawn)} workloads over core counts. {words}",
        note=note)  # fmt: skip


def _bars(name: str, title: str, label: str, values: dict[str, float], given: _Given) -> Chart:
    return chart(name, title, "workload", label, {"workloads": values}, note=given.note)


def _errors_chart(errors: dict[str, np.ndarray], given: _Given) -> Chart:
    low, middle, high = (
        [float(100 * np.percentile(values, q)) for values in errors.values()] for q in (25, 50, 75)
    )
    rows = {
        "median, quartiles": middle,
        "largest": [float(100 * values.max()) for values in errors.values()],
    }
    return chart("market-figure-3.10", "Errors of predicted run times by workload", "workload",
        "relative error [%]", rows, x=list(errors), ends={"median, quartiles": (low, high)},
        styles={"largest": "points"}, note=given.note)  # fmt: skip
