"""Llull's thesis, chapter 3: the Fisher market, its incentives, profiles and rivals.

The thesis prints none of its run times (figs. 3.3 to 3.5 and 3.10). Given a profile (CSV of
measured run times, `profile=PATH`), its sentences are judged on it; without one a synthetic profile
shows the method at work, and nothing is judged: there the sentences hold by construction. Figures
3.11 to 3.13 are drawings without numbers, so what can be compared are the sentences about them. The
thesis draws applications from its measured pool and runs them; here fractions are drawn uniformly
from its range (.55, .99) and Amdahl's law is exact. Its populations are not printed; n users on n
servers with 10 jobs each are taken, n up to `largest`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated

import numpy as np

from ..analysis.manipulation import best_misreport
from ..analysis.market.audits import NASH_ENVY_FREENESS, EnvyAudit, envy_audit, work_conserving
from ..analysis.market.profiles import Holdout, prediction_errors
from ..analysis.report.picture import Chart, HeatMap, Series
from ..catalog import functions
from ..instances.market.envy import user_envy
from ..instances.market.generators import population
from ..instances.market.instance import Allocation, Market, total_by
from ..instances.market.profile import (
    Profile,
    fractions,
    karp_flatt,
    read_profile,
    synthetic_profile,
)
from ..instances.market.sharing import Share, sharing_index
from ..instances.market.utility import user_utilities
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import Above, AtLeast, validate_options
from ..instances.problem.options import accepted
from ..instances.problem.reading import read_text
from ..solvers.market import fisher, round_cores, utilitarian
from ..solvers.outcome import Outcome
from .experiment import (
    Finding,
    Paper,
    Parts,
    Variations,
    addition,
    chart,
    claim,
    compare,
    each,
    equal,
)
from .experiment import draws as other_draws

PAPER = Paper(
    "thesis",
    "Llull, Microeconomic Models for Managing Shared Datacenters (thesis, Duke University, 2017)",
    "thesis",
    "market",
    not_determined=(
        ("thesis fig. 2.8",
         "the measured 20 x 20 penalties are only a picture; a stated contention model stands in "
         "for them"),
        ("thesis figs. 3.1, 3.2 and 3.7",
         "drawings of the architecture; there is nothing to compute"),
        ("thesis figs. 3.3 to 3.5 and 3.10, their values",
         "measured run times of 22 workloads, of which the text prints none"),
        ("thesis fig. 3.6",
         "measured run times of svm and correlation on sampled data sets; the text says only that "
         "they grow linearly with size"),
        ("thesis figs. 3.8 and 3.9",
         "measured run times on sampled and full data sets, none of them printed; "
         "analysis.market.profiles.prediction_errors does it for any profile with several sizes"),
    ),
)  # fmt: skip

JOBS, DRAWS = 5, 5
"""Of section 3.3.2: jobs of each user, and servers where their number is fixed; populations."""

_SIZES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_NEGLIGIBLE = 1e-3


@PAPER.experiment(
    "section-3.1.2", "section 3.1.2", what="Alice and Bob under a work-conserving policy"
)
def section_3_1_2() -> Parts:
    """Cores that Alice and Bob get under a work-conserving policy, beside their entitlements."""
    cores = work_conserving(
        np.array([10.0, 10.0]), np.array([0, 1, 0, 1]), np.array([2.0, 8.0, 8.0, 8.0])
    )
    alice, bob = float(cores[:2].sum()), float(cores[2:].sum())
    yield equal("Alice's cores, entitled to 10", "7", f"{alice:g}")
    yield equal("Bob's cores, entitled to 10", "13", f"{bob:g}")
    yield equal("Alice's cores on the first server", "2", f"{cores[0]:g}")
    yield equal("Alice's cores on the second server", "5", f"{cores[1]:g}")
    rows = {"entitled to": {"Alice": 10.0, "Bob": 10.0}, "gets": {"Alice": alice, "Bob": bob}}
    yield chart("market-section-3.1.2", "Cores under a work-conserving policy", "user",
        "cores on both servers", rows)  # fmt: skip


@PAPER.experiment("section-3.3.2", "section 3.3.2", seconds=5)
def section_3_3_2(*, seed: int = 0, largest: Annotated[int, AtLeast(2)] = 100) -> Parts:
    """Gain of a user that misreports its fractions, by its share of the budgets.

    In the thesis users take prices as given.

    Parameters
    ----------
    largest : most users.
    """
    sizes = [n for n in _SIZES if n <= largest]
    kinds = {
        f"{JOBS} servers": [JOBS for _ in sizes],
        "as many servers as users": [max(n, JOBS) for n in sizes],
    }
    gains: dict[str, dict[float, float]] = {}
    for name, servers in kinds.items():
        gains[name] = {}
        for n, number in zip(sizes, servers, strict=True):
            ratios = []
            for draw in range(DRAWS):
                rng = np.random.default_rng((seed, n, draw))
                market = population(users=n, servers=number, jobs=JOBS, work="lognormal", rng=rng)
                ratios.append(best_misreport(market, "fisher", "0", None, kinds=("odds",)).ratio)
            gains[name][1 / n] = float(np.mean(ratios)) - 1
        line = (f"{n}: {gain:.2%}" for n, gain in zip(sizes, gains[name].values(), strict=True))
        yield addition(f"gain of the best misreport, {name}, by users", ", ".join(line))
    fixed, growing = ([*gains[name].values()] for name in kinds)
    last = f"at a share of {1 / sizes[-1]:g}"
    yield compare(f"the gain vanishes with a user's share of the budgets, {JOBS} servers",
        "users respond to prices as given; what one gains by not doing so is not said",
        f"{fixed[-1]:.2%} {last}, {fixed[0]:.2%} at {1 / sizes[0]:g}", None,
        f"{'below' if fixed[-1] < _NEGLIGIBLE else 'not below'} {_NEGLIGIBLE:.1%} at the last",
    )  # fmt: skip
    yield compare("the same where servers grow with users", "not said",
        f"{growing[-1]:.2%} {last}", None,
        "what counts is a user's share of the money on its own servers, which stays about "
        f"1/{JOBS}")  # fmt: skip
    yield chart("market-section-3.3.2", "What a user gains by reporting other fractions",
        "share of all budgets", "gain in utility", gains, style="line+points", x_scale="log",
        note=f"means over {DRAWS} populations of each size, {JOBS} jobs a user, work lognormal; "
        "the best of ten reports of all its fractions")  # fmt: skip


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
        """Mean or variance of each workload's parallel fractions, averaged over its data sizes."""
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
    """Profile with each program once: of P3ARSEC's alternatives only the first one (NAME_alt_1)."""
    kept = [not re.search(r"_alt_(?!1$)\d+$", name) for name in profile.workload]
    once = profile.only(np.array(kept))
    return replace(once, workload=tuple(name.removesuffix("_alt_1") for name in once.workload))


def _is_p3arsec(path: str) -> bool:
    header = [cell.strip().lower() for cell in read_text(path).partition("\n")[0].split(",")]
    return {"benchmark", "platform", "implementation", "threads", "speedup"} <= set(header)


def _curves(given: Times) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Core counts above 1, ascending, and parallel fractions by workload (and size, if several)."""
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


Mechanisms = Mapping[str, Callable[..., Allocation | Outcome]]

MECHANISMS: dict[str, Callable[..., Allocation | Outcome]] = {
    "FM": fisher,
    **functions("market", "G-I", "G-II", "ES", "PF", "XC", "XC-M"),
}
MOST_WORK = "most work, proved"
"""The fractional optimum of total utility."""

HILL_CLIMBING: Variations = {
    **other_draws(), "XC's first step": each("step", 0.01, 0.5),
    "XC's rounds": each("rounds", 1, 3),
}  # fmt: skip
_DRAWN_FROM = "fractions uniform on (.55, .99), 10 jobs a user"
_POPULATIONS = (10, 20, 50, 100, 200, 500, 1000)
_EQUAL = 1e-9
_ENVY_FREE = 1 - 1e-6

Largest = Annotated[int, AtLeast(_POPULATIONS[0], "users")]
Draws = Annotated[int, AtLeast(1)]
Table = Mapping[int, Mapping[str, float]]
"""Number of users -> mechanism -> value."""


@PAPER.experiment("figure-3.11", "fig. 3.11")
def figure_3_11(*, seed: int = 0, largest: Largest = 200, draws: Draws = 3) -> Parts:
    """Total utility of seven mechanisms, by number of users.

    Parameters
    ----------
    largest : most users (and servers).
    draws : populations of each size; means are compared.
    """
    everyone = MECHANISMS | {MOST_WORK: utilitarian}
    table: dict[int, dict[str, float]] = {}
    for n, markets in _markets(seed, largest, draws):
        table[n] = {
            name: float(np.mean([
                float(user_utilities(market, _answer(name, market, seed, everyone).cores).sum())
                for market in markets
            ]))
            for name in everyone
        }  # fmt: skip
    relative = {n: {name: row[name] / row["G-I"] for name in everyone} for n, row in table.items()}
    rows = table.values()
    worst = min(row["FM"] / row["G-II"] for row in rows)
    yield compare("FM against G-II", "FM performs comparably to G-II",
        f"at least {worst:.3f} of it", worst > 0.95)  # fmt: skip
    above = {n for row in rows for n in MECHANISMS if row[n] > row["G-II"] * (1 + _EQUAL)}
    yield compare("G-II is an upper bound of total utility", "yes",
        f"above it: {', '.join(sorted(above)) or 'none'}", not above,
        "it is exact for integer numbers of cores, which G-II gives; allocations in fractions of "
        "cores do more work",
    )  # fmt: skip
    others = MECHANISMS.keys() - {"FM", "G-II"}
    beaten = {name for row in rows for name in others if row[name] > row["FM"]}
    yield compare("FM outperforms all others, every population", "yes",
        f"not {', '.join(sorted(beaten))}" if beaten else "yes", not beaten,
        "G-I knows exact profiles here")  # fmt: skip
    yield claim("ES and PF below FM", all(row["ES"] < row["PF"] < row["FM"] for row in rows))
    yield claim("XC below XC-M (hill climbing ends early)",
        all(row["XC"] <= row["XC-M"] * (1 + _EQUAL) for row in rows))  # fmt: skip
    yield _users_chart("11", "Total utility over that of G-I", "total utility / G-I's", relative,
        MOST_WORK, note=f"means over {draws} populations of each size; {_DRAWN_FROM}",
    )  # fmt: skip


@PAPER.experiment("figure-3.12", "fig. 3.12", seconds=5, variations=HILL_CLIMBING)
def figure_3_12(
    *, seed: int = 0, users: int = 100, groups: int = 10, step: float = 0.1, rounds: int = 50
) -> Parts:
    """Indices and maps of the envy among 100 users in 10 groups, by mechanism.

    Parameters
    ----------
    users, groups : as many servers as users.
    step, rounds : XC's first step, a share of the budget, and its most rounds; the thesis prints
        neither.
    """
    if not 1 <= groups <= users:
        raise InvalidOption(f"groups is {groups}; expected 1 to users = {users}")
    # 1. The worst pair of every mechanism.
    market = population(users=users, servers=users, groups=groups, rng=np.random.default_rng(seed))
    mechanisms = MECHANISMS | {"XC": partial(MECHANISMS["XC"], step=step, rounds=rounds)}
    audits = {
        name: envy_audit(market, _answer(name, market, seed, mechanisms)) for name in mechanisms
    }
    index = {name: audit.index for name, audit in audits.items()}
    # 2. The equilibrium in whole cores.
    equilibrium = _answer("FM", market, seed)
    for rule in ("largest-remainder", "user-deficit"):
        envy, _ = user_envy(market, round_cores(market, equilibrium, rule)[0])
        envious = total_by(np.arange(users) * groups // users, envy < _ENVY_FREE, groups)
        yield compare(f"FM in whole cores, {rule}: envious users",
            "occasionally one or two users in a group with slight envy",
            f"{envious.sum():g} of {users}, up to {envious.max():g} in a group, worst index "
            f"{envy.min():.3f}", bool(envious.max() <= 2 and envy.min() > 0.9),
            "the thesis does not say how cores are rounded")  # fmt: skip
    # 3. The sentences.
    rest = min(value for name, value in index.items() if name not in ("G-I", "G-II"))
    ranked = sorted(index.items(), key=lambda entry: entry[1])
    xc, xc_m = index["XC"], index["XC-M"]
    climb = "XChange's first step and its end are not in the text; our XC climbs nearly to a "
    for what, holds, ours, note in (
        ("ES is envy-free", index["ES"] > _ENVY_FREE, f"{index['ES']:.6f}", ""),
        ("FM is envy-free (in fractions)", index["FM"] > _ENVY_FREE, f"{index['FM']:.9f}", ""),
        ("G-I and G-II have the most envy", max(index["G-I"], index["G-II"]) <= rest,
         ", ".join(f"{name} {value:.3f}" for name, value in ranked), ""),
        ("XC reports significant envy", xc < 0.9, f"{xc:.3f}", f"{climb}best reply"),
        ("XC has more envy than XC-M", xc < xc_m, f"{xc:.3f} against {xc_m:.3f}", ""),
        ("XC-M is 0.828-approximately envy-free", xc_m >= NASH_ENVY_FREENESS, f"{xc_m:.3f}", ""),
    ):  # fmt: skip
        yield compare(what, "yes", ours, bool(holds), note)
    yield chart("market-figure-3.12-worst", "Envy index of the worst pair by mechanism",
        "mechanism", "envy index, 1 is no envy", {"worst pair": index},
        levels={f"{NASH_ENVY_FREENESS:g}": NASH_ENVY_FREENESS})  # fmt: skip
    yield from (_envy_map(name, audit) for name, audit in audits.items())


@PAPER.experiment("figure-3.13", "fig. 3.13", seconds=10, variations=other_draws())
def figure_3_13(*, seed: int = 0, largest: Largest = 200, draws: Draws = 3) -> Parts:
    """Sharing index of seven mechanisms, by number of users.

    Parameters
    ----------
    largest : most users (and servers).
    draws : populations of each size; the least index over them counts.
    """
    # 1. The least index over the draws against three static shares.
    notes: dict[Share, str] = {
        "endowment": "proved, since at equilibrium prices a user can buy its endowment",
        "tenants": "an equal split of the servers in use is worth more than an equal part of all",
        "jobs": "the index is relative to the equal share (ES) of the text",
    }
    tables: dict[Share, dict[int, dict[str, float]]] = {share: {} for share in notes}
    for n, markets in _markets(seed, largest, draws):
        answers = {
            name: [(market, _answer(name, market, seed)) for market in markets]
            for name in MECHANISMS
        }
        for share, table in tables.items():
            table[n] = {
                name: float(min(sharing_index(*pair, share) for pair in pairs))
                for name, pairs in answers.items()
            }
    # 2. The sentences.
    least_of = {share: min(row["FM"] for row in table.values()) for share, table in tables.items()}
    sound = f"the static share: against the endowment it is {least_of['endowment']:.4f}"
    for share, least in least_of.items():
        yield compare(f"FM above 1, against {share}", "always", f"least {least:.4f}",
            least >= _ENVY_FREE, notes[share],
            sound if least_of["endowment"] >= _ENVY_FREE else "")  # fmt: skip
    yield from _sharing_claims(tables["endowment"])
    against: dict[Share, str] = {
        "endowment": "an equal part of every server",
        "jobs": "the equal split among a server's jobs (ES)",
    }
    for share, words in against.items():
        yield _users_chart(f"13-{share}", f"Sharing index against {words}", "sharing index",
            tables[share], "FM", levels={"1": 1.0},
            note=f"least over {draws} populations of each size; {_DRAWN_FROM}")  # fmt: skip


def _sharing_claims(table: Table) -> Iterator[Finding]:
    """Findings on the thesis's sentences that compare mechanisms by their sharing index against
    endowment.
    """
    leaders = {n: max(row, key=row.__getitem__) for n, row in table.items()}
    yield compare("FM's index is the largest, every population", "yes",
        ", ".join(f"{n}: {name}" for n, name in leaders.items()),
        set(leaders.values()) == {"FM"}, "against endowment")  # fmt: skip
    smallest, first = next(iter(leaders.items()))
    yield compare(f"FM's index is the largest at {smallest} users", "yes", first, first == "FM")
    for name in ("G-I", "G-II"):
        below = [str(n) for n, row in table.items() if row[name] < 1]
        yield compare(f"{name} does not satisfy sharing incentives", "yes",
            f"below 1 at {', '.join(below) or 'no size'} users, against endowment", bool(below),
            "in a sparse market sharing pays for everybody")  # fmt: skip
    last, row = max(table), table[max(table)]
    rivals = ("XC", "XC-M", "PF", "ES")
    yield compare("XC, XC-M, PF and ES incentivize sharing in big systems", "yes",
        f"at {last} users: " + ", ".join(f"{name} {row[name]:.2f}" for name in rivals),
        all(row[name] > 1 for name in rivals))  # fmt: skip
    growing = [name for name in MECHANISMS if len(table) < 2 or row[name] > table[min(table)][name]]
    yield compare("the index rises with the number of servers", "XC, XC-M, PF, ES",
        ", ".join(growing), set(rivals) <= set(growing))  # fmt: skip


def _markets(seed: int, largest: int, draws: int) -> Iterator[tuple[int, list[Market]]]:
    """Random markets by number of users, each with as many servers."""
    for n in (n for n in _POPULATIONS if n <= largest):
        generators = [np.random.default_rng([seed, n, draw]) for draw in range(draws)]
        yield n, [population(users=n, servers=n, rng=rng) for rng in generators]


def _answer(
    name: str, market: Market, seed: int, mechanisms: Mechanisms = MECHANISMS
) -> Allocation:
    method, draws = mechanisms[name], {"rng": np.random.default_rng(seed)}
    answer = method(market, **accepted(method, draws))
    found = answer.solution if isinstance(answer, Outcome) else answer
    assert isinstance(found, Allocation)
    return found


def _users_chart(
    number: str, title: str, label: str, table: Table, strong: str, **more: object
) -> Chart:
    """Chart of a value of every mechanism over the number of users, the series `strong` thick."""
    rows = {name: {n: row[name] for n, row in table.items()} for name in next(iter(table.values()))}
    return chart(f"market-figure-3.{number}", title, "users (and servers)", label, rows,
        style="line+points", strong=[strong], x_scale="log", **more)  # type: ignore[arg-type]  # fmt: skip


def _envy_map(mechanism: str, audit: EnvyAudit) -> HeatMap:
    """Heat map of the pairwise envy index in the group of the worst pair."""
    matrix, users = audit.matrix, tuple(str(user) for user in audit.group.tolist())
    envious, envied = np.unravel_index(int(np.argmin(matrix)), matrix.shape)
    words = "Nobody envies anybody"
    if audit.index < _ENVY_FREE:
        words = f"User {users[envious]} envies user {users[envied]} most, with an index of "
        words += f"{matrix.min():.3f}"
    slug = "".join(letter if letter.isalnum() else "-" for letter in mechanism.lower())
    return HeatMap(
        f"market-figure-3.12-{slug}",
        f"Envy index under {mechanism}, in the group with the most envy", "envied", "envious",
        users, users, tuple(tuple(row) for row in matrix.tolist()), "envy index, 1 is no envy",
        f"Matrix of the pairwise envy index among {len(users)} users. {words}; "
        f"{int((matrix < _ENVY_FREE).sum())} of {matrix.size} entries are below 1.", worse="low",
    )  # fmt: skip
