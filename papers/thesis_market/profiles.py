"""Thesis figures 3.3 to 3.5 and 3.10: parallel fractions from run times, and vice versa.

The thesis prints none of its run times. Given a profile (CSV of measured run times,
`profile=PATH`), its sentences are judged on it; without one a synthetic profile shows the method at
work, and nothing is judged: there the sentences hold by construction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated

import numpy as np

from ...analysis.market.profiles import Holdout, prediction_errors
from ...analysis.report.picture import Chart, Series
from ...instances.market.profile import (
    Profile,
    fractions,
    karp_flatt,
    read_profile,
    synthetic_profile,
)
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...instances.problem.reading import read_text
from ..charts import chart
from ..experiment import Finding, Parts, Variations, compare, each
from . import PAPER

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

HOLDOUT: Holdout = "every-other-count"
MACHINES: Variations = {
    "the cores": each("most_cores", 8.0, 12.0, 16.0),
    "the machine": {
        name: {"where": f"platform={name},implementation=Pthreads", "most_cores": 24.0}
        for name in ("power8", "xeon_phi")
    },
}
on_profile = partial(
    PAPER.experiment,
    data=(("profile", "speedup/p3arsec_speedup.csv"),),
    substitute="a synthetic profile",
)


@validate_options
@dataclass(frozen=True)
class Times:
    """Run times of workloads over core counts, from a measured file or synthetic.

    Attributes
    ----------
    seed : of a synthetic profile.
    profile : path of a CSV of run times, see `instances.market.profile.read_profile`.
    where : rows to keep, as in "platform=xeon_server,implementation=Pthreads", which is also what
        is kept, up to 24 cores, of the speedups of P3ARSEC (De Sensi et al. 2017) when nothing is
        said.
    most_cores : leave out rows with more cores.
    """

    seed: int = 0
    profile: str | None = None
    where: str | None = None
    most_cores: Annotated[float, Above(1, "cores", infinite=True)] | None = None

    @cached_property
    def read(self) -> tuple[Profile, float | None, str]:
        """Profile of run times, the largest core count used, and a note on where it comes from."""
        if self.profile is None:
            if self.where is not None:
                raise InvalidOption("where chooses rows of a profile; give profile=PATH too")
            made = synthetic_profile(np.random.default_rng(self.seed))
            note = "a synthetic profile: the thesis's run times were never published"
            return made, self.most_cores, note
        where, most, known = self.where, self.most_cores, False
        if where is None and _is_p3arsec(self.profile):
            where, most, known = _P3ARSEC, _P3ARSEC_CORES if most is None else most, True
        found = read_profile(self.profile, where)
        limit = "" if most is None else f", up to {most:g} cores"
        rows = "" if where is None else f", {where}"
        note = f"measured run times: {Path(self.profile).name}{rows}{limit}"
        return _programs(found) if known else found, most, note

    def claim(self, what: str, paper: str, ours: str, holds: bool, note: str = "") -> Finding:
        """Finding on a claim that only a measured profile of run times can decide."""
        if self.profile is not None:
            return compare(what, paper, ours, bool(holds), note)
        beside = f"{note}; {_BY_CONSTRUCTION}" if note else _BY_CONSTRUCTION
        return compare(what, paper, ours, None, beside)

    def fractions(self, part: str) -> dict[str, float]:
        """Mean or variance of F_c of each workload, averaged over its data sizes."""
        found: dict[str, list[float]] = {}
        for entry in fractions(*self.read[:2]):
            found.setdefault(entry.workload, []).append(getattr(entry, part))
        return {name: float(np.mean(values)) for name, values in found.items()}

    def bars(self, number: str, title: str, label: str, values: dict[str, float]) -> Chart:
        """Bar chart of one value, such as the parallel fraction, of each workload."""
        return chart(f"market-figure-{number}", title, "workload", label, {"workloads": values},
            note=self.read[2])  # fmt: skip


TIMES = Times()


@on_profile(
    "figure-3.3",
    "fig. 3.3",
    what="parallel fraction by core count, from measured run times (-o profile=) or a synthetic "
    "profile",
)
def figure_3_3(*, given: Times = TIMES) -> Parts:
    """Parallel fraction of every workload by core count; every data size is a curve of its own.

    Parameters
    ----------
    given : see `Times`.
    """
    # 1. The sentences.
    curves = _curves(given)
    spread = {name: float(np.ptp(curve)) for name, (_, curve) in curves.items()}
    steady = [name for name, value in spread.items() if value < STEADY]
    falling = [n for n, (_, curve) in curves.items() if float(curve[0] - curve[-1]) > SHRINKING]
    some = (", ".join(falling[:6]) + (" and others" if len(falling) > 6 else "")) or "none"
    yield given.claim("F is consistent across core counts", "for many applications",
        f"{len(steady)} of {len(curves)} workloads", 2 * len(steady) >= len(curves),
        f"consistent is taken as varying by less than {STEADY:g}; many is taken as "
        "at least half")  # fmt: skip
    yield given.claim("F tends to shrink as the core count increases", "for some applications",
        f"{len(falling)} of {len(curves)}: {some}", 0 < len(falling) < len(curves),
        f"shrinking is taken as by more than {SHRINKING:g} from the fewest cores "
        "to the most")  # fmt: skip
    # 2. The curves that vary least and most.
    ordered = sorted(curves, key=spread.__getitem__)
    few = len(ordered) <= _DRAWN
    drawn = ordered if few else ordered[: _DRAWN // 2] + ordered[-_DRAWN // 2 :]
    which = "" if few else "the five that vary least and the five that vary most; "
    least, most = ordered[0], ordered[-1]
    series = tuple(
        Series(name, tuple(cores.tolist()), tuple(curve.tolist()), "line+points")
        for name, (cores, curve) in ((name, curves[name]) for name in drawn)
    )
    yield Chart("market-figure-3.3", "Parallel fraction calculated from each core count", "cores",
        "parallel fraction F", series,
        f"Curves of the parallel fraction of {len(drawn)} workloads over core counts. It varies "
        f"least for {least} ({spread[least]:.2f}) and most for {most} ({spread[most]:.2f}).",
        note=f"{which}{given.read[2]}")  # fmt: skip


@on_profile("figure-3.4", "fig. 3.4")
def figure_3_4(*, given: Times = TIMES) -> Parts:
    """Expected parallel fraction of every workload.

    Parameters
    ----------
    given : see `Times`.
    """
    mean = given.fractions("mean")
    low, high = min(mean, key=mean.__getitem__), max(mean, key=mean.__getitem__)
    yield given.claim("expected parallel fractions", f"{LEAST_FRACTION} to {MOST_FRACTION}",
        f"{mean[low]:.2f} ({low}) to {mean[high]:.2f} ({high})",
        round(mean[low], 2) >= LEAST_FRACTION and round(mean[high], 2) <= MOST_FRACTION,
        "the paper has 22 Spark and PARSEC workloads; reproduced if our range lies inside "
        "the printed one")  # fmt: skip
    title = "Expected parallel fraction by workload"
    yield given.bars("3.4", title, "mean of F over core counts", mean)


@on_profile("figure-3.5", "fig. 3.5")
def figure_3_5(*, given: Times = TIMES) -> Parts:
    """Variance of the parallel fraction: where Amdahl's law fits.

    Parameters
    ----------
    given : see `Times`.
    """
    variance = given.fractions("variance")
    fitting = [name for name, value in variance.items() if value < FITS]
    yield given.claim("Karp-Flatt models parallel performance accurately", "most applications",
        f"{len(fitting)} of {len(variance)} workloads", 2 * len(fitting) > len(variance),
        f"accurately is taken as a variance of F below {FITS:g}; most is taken as "
        "more than half")  # fmt: skip
    middle = float(np.median(list(variance.values())))
    for poor in POORLY_MODELLED:
        found = {n: v for n, v in variance.items() if n == poor or n.startswith(f"{poor}_")}
        if found:
            line = ", ".join(f"{name} {value:.2g}" for name, value in found.items())
            yield given.claim(f"less accurate: {poor}", "yes",
                f"{line}; median of all {middle:.2g}",
                all(value > middle for value in found.values()),
                "less accurate is taken as a variance of F above the median")  # fmt: skip
    title = "Variance of the parallel fraction by workload"
    yield given.bars("3.5", title, "variance of F over core counts", variance)


@on_profile("figure-3.10", "fig. 3.10", variations=MACHINES)
def figure_3_10(*, given: Times = TIMES) -> Parts:
    """Errors of predicted run times over core counts.

    Parameters
    ----------
    given : see `Times`.

    Notes
    -----
    Every other core count is predicted from the rest, see `profiles.prediction_errors`. The thesis
    predicts the full data set from sampled ones on all core counts.
    """
    # 1. The sentences.
    profile, most_cores, note = given.read
    table = prediction_errors(profile, holdout=HOLDOUT, most_cores=most_cores)
    errors = {
        str(name): 100 * rows["error"].to_numpy()
        for name, rows in table.groupby("workload", sort=False)
    }
    mean = {name: float(values.mean()) for name, values in errors.items()}
    largest = {name: float(values.max()) for name, values in errors.items()}
    least, most = min(mean, key=mean.__getitem__), max(mean, key=mean.__getitem__)
    every, (low, high) = float(np.mean(list(mean.values()))), (100 * end for end in MEAN_ERROR)
    yield given.claim("error of predicted run time, on average", f"{low:.0f} to {high:.0f} %",
        f"{every:.1f} %; by workload {mean[least]:.1f} % ({least}) to {mean[most]:.1f} % ({most})",
        low <= every <= high, f"the mean is over workloads; held out: {HOLDOUT}")  # fmt: skip
    worst = max(largest, key=largest.__getitem__)
    rest = max((value for name, value in largest.items() if name != worst), default=None)
    others = "the only workload" if rest is None else f"without {worst} it is {rest:.1f} %"
    yield given.claim("error in the worst case", f"{100 * WORST_ERROR:.0f} %",
        f"{largest[worst]:.1f} % ({worst})", largest[worst] <= 100 * WORST_ERROR,
        f"reproduced if our error is no larger; {others}")  # fmt: skip
    if "canneal" in mean:
        rank = 1 + sum(value > mean["canneal"] for value in mean.values())
        yield given.claim("canneal is poorly modeled", "yes",
            f"{mean['canneal']:.1f} %, place {rank} of {len(mean)}", 2 * rank <= len(mean),
            "poorly modeled is taken as among the worse half by mean error")  # fmt: skip
    # 2. Quartiles and the largest errors.
    below, middle, above = (
        [float(np.percentile(values, q)) for values in errors.values()] for q in (25, 50, 75)
    )
    drawn = {"median, quartiles": middle, "largest": [*largest.values()]}
    yield chart("market-figure-3.10", "Errors of predicted run times by workload", "workload",
        "relative error [%]", drawn, x=list(errors), ends={"median, quartiles": (below, above)},
        styles={"largest": "points"}, note=note)  # fmt: skip


def _programs(profile: Profile) -> Profile:
    """Profile with each program once; P3ARSEC has alternatives, as NAME_alt_1 and so on."""
    kept = [not re.search(r"_alt_(?!1$)\d+$", name) for name in profile.workload]
    once = profile.only(np.array(kept))
    return replace(once, workload=tuple(name.removesuffix("_alt_1") for name in once.workload))


def _is_p3arsec(path: str) -> bool:
    header = [cell.strip().lower() for cell in read_text(path).partition("\n")[0].split(",")]
    return {"benchmark", "platform", "implementation", "threads", "speedup"} <= set(header)


def _curves(given: Times) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Core counts above 1, ascending, and F_c of each workload (and size, if several)."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    profile, most_cores, _ = given.read
    for entry in fractions(profile, most_cores):
        rows = profile.rows(entry.workload, entry.size)
        cores, seconds = profile.cores[rows], profile.seconds[rows]
        kept = (cores > 1) & (cores <= (np.inf if most_cores is None else most_cores))
        order = np.argsort(cores[kept], kind="stable")
        count = cores[kept][order]
        several = len(np.unique(profile.size[profile.rows(entry.workload)])) > 1
        name = f"{entry.workload}, size {entry.size:g}" if several else entry.workload
        found[name] = (count, karp_flatt(count, seconds[cores == 1].mean() / seconds[kept][order]))
    return found
