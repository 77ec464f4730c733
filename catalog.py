"""Every method of every problem in one table, and `solve`, which runs one.

Functions are named by text and resolved on first use: an eager catalogue would import every solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from .analysis.recheck import recheck
from .analysis.result import Result as Result
from .analysis.result import run
from .instances.problem.base import Instance, Solution
from .instances.problem.errors import CotenantError, InvalidOption, NoSolution, UnknownName
from .instances.problem.options import accepts, check_options, parse_options
from .instances.problem.registry import PROBLEM_NAMES, check, problem_named, resolve
from .solvers.outcome import Report, Stop, validate_time_limit

if TYPE_CHECKING:
    from .analysis.compare import Comparison
    from .analysis.metric import Metric

Kind = Literal["exact", "equilibrium", "heuristic", "simulation"]


@dataclass(frozen=True)
class Method:
    """One row of the catalogue.

    Attributes
    ----------
    name, problem : what it is called, and on which problem it works.
    function : "module:function" inside the package, `function(instance, *, rng, time_limit, **options)`.
    kind : "exact", "equilibrium", "heuristic" or "simulation".
    objective : the metric it optimises, or is judged by; its bound is in that metric's unit.
    source : paper and section.
    starts : heuristics whose best answer `solve` hands to an exact method as its start.
    aliases : other names it answers to.
    needs : "module:function" of an instance -> whether the method is meant for it; "" for all of its problem's. When no methods
        are named, `compare` leaves out those that are not.
    """

    name: str
    problem: str
    function: str
    kind: Kind
    objective: str
    source: str
    starts: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    needs: str = ""

    def suits(self, instance: Instance) -> bool:
        """Whether it is meant for this instance of its problem."""
        return not self.needs or bool(resolve(self.needs)(instance))

    def resolve(self) -> Callable[..., Any]:
        """The function itself."""
        function: Callable[..., Any] = resolve(self.function)
        return function

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return (self.resolve().__doc__ or "").strip().partition("\n")[0]


STARTS_UP_TO = 5000
"""Larger instances (by their `size`) go to exact methods without a start: the heuristics would take longer than the proof."""

_COOPER = "Cooper (HPCA 2017)"
_MARKET = "thesis (Duke 2017)"
_STARTS = ("SMR", "GR")
_ADMITTED = ("DA1", "DA2", "proposed")
_HINES = "Hines and Romano, Matching Theory and VMs"
_FUGA = "Xu and Yu (2014)"
_whole = partial(Method, needs="instances.packing.instance:serves_all")
_shared = partial(Method, needs="instances.packing.instance:fixed_servers")
_FAIR = "Skowron and Rzadca"
_NUMA = "Llull (thesis 2017)"

METHODS: tuple[Method, ...] = (
    Method("optimal", "colocation", "solvers.colocation:optimal", "exact", "penalty", f"{_COOPER} II, as a MIP", _STARTS),
    Method("stable", "colocation", "solvers.colocation.stable:stable", "exact", "blocking_pairs", f"{_COOPER} III.B", _STARTS),
    Method("fair", "colocation", "solvers.colocation:fair", "exact", "slack", f"{_COOPER} II, fair attribution", _STARTS),
    Method("SR", "colocation", "baselines.colocation:roommates", "heuristic", "blocking_pairs", f"{_COOPER} III.C, IV.C"),
    Method("SMR", "colocation", "baselines.colocation:marriage_random", "heuristic", "blocking_pairs", f"{_COOPER} III.C, IV.C"),
    Method(
        "SMP", "colocation", "baselines.colocation:marriage_partition", "heuristic", "blocking_pairs", f"{_COOPER} III.C, IV.C"
    ),
    Method("GR", "colocation", "baselines.colocation:greedy", "heuristic", "penalty", f"{_COOPER} IV.C"),
    Method("CO", "colocation", "baselines.colocation:complementary", "heuristic", "penalty", f"{_COOPER} IV.C"),
    Method("threshold", "colocation", "baselines.colocation:threshold", "heuristic", "penalty", f"{_COOPER} IV.C"),
    Method(
        "optimal",
        "admission",
        "solvers.admission.optimal:optimal",
        "exact",
        "total_speed",
        f"{_HINES} III.A, as a MIP",
        _ADMITTED,
    ),
    Method(
        "most-jobs",
        "admission",
        "solvers.admission.optimal:most_jobs",
        "exact",
        "assigned",
        f"{_HINES} III.A, as a MIP",
        _ADMITTED,
    ),
    Method(
        "local-search", "admission", "solvers.admission.local_search:local_search", "heuristic", "total_speed", "this package"
    ),
    Method("SM", "admission", "baselines.admission:simple_matching", "heuristic", "total_speed", f"{_HINES} IV"),
    Method("DA1", "admission", "baselines.admission:deferred_quotas", "heuristic", "total_speed", f"{_HINES} IV"),
    Method("DA2", "admission", "baselines.admission:deferred_rounds", "heuristic", "total_speed", f"{_HINES} IV"),
    Method("proposed", "admission", "baselines.admission:proposed", "heuristic", "blocking_pairs", f"{_HINES} III.B"),
    # packing
    _whole("min-servers", "packing", "solvers.packing.minimum:min_servers", "exact", "servers", "vector packing portfolio"),
    _whole("min-cost", "packing", "solvers.packing.minimum:min_cost", "exact", "cost", "vector packing portfolio"),
    _whole("cp-sat", "packing", "solvers.packing.assignment:cp_sat", "exact", "servers", "declarative model", ("FFD", "dot")),
    _whole(
        "arc-flow",
        "packing",
        "solvers.packing.arc_flow:arc_flow",
        "exact",
        "servers",
        "Brandão and Pedroso (2016)",
        ("FFD", "dot"),
    ),
    _shared("FUGA", "packing", "solvers.packing.game.play:fuga", "equilibrium", "disutility", f"{_FUGA} 4.3, played exactly"),
    _shared("FUGA-tree", "packing", "solvers.packing.game.tree:fuga_tree", "equilibrium", "disutility", f"{_FUGA} 4.3, fig. 3"),
    _shared(
        "FUGA-algorithm-1", "packing", "baselines.packing:fuga_algorithm_1", "heuristic", "disutility", f"{_FUGA} Algorithm 1"
    ),
    _shared(
        "joint-optimum", "packing", "solvers.packing.game.joint:joint_optimum", "exact", "disutility", f"{_FUGA} eq. 14, summed"
    ),
    _shared(
        "max-min-share", "packing", "solvers.packing.shares:max_min_share", "exact", "dominant_share_min", "leximin", ("DRF",)
    ),
    _shared(
        "max-utilization", "packing", "solvers.packing.shares:max_utilization", "exact", "utilization", f"{_FUGA} 4.2", ("DRF",)
    ),
    _whole("FF", "packing", "baselines.packing:first_fit_all", "heuristic", "servers", "first fit"),
    _whole("FFD", "packing", "baselines.packing:first_fit_decreasing", "heuristic", "servers", "first fit decreasing"),
    _whole("BFD", "packing", "baselines.packing:best_fit_decreasing", "heuristic", "servers", "best fit decreasing"),
    _whole("dot", "packing", "baselines.packing:dot_product", "heuristic", "servers", "Panigrahy et al. (2011)"),
    _whole("L2", "packing", "baselines.packing:square_norm", "heuristic", "servers", "Panigrahy et al. (2011)"),
    Method("random-fit", "packing", "baselines.packing:random_fit", "heuristic", "servers", f"{_FUGA} 4.2"),
    _shared("first-fit", "packing", "baselines.packing:first_fit", "heuristic", "disutility", f"{_FUGA} 5.3"),
    _shared("best-fit", "packing", "baselines.packing:best_fit", "heuristic", "disutility", f"{_FUGA} 4.2"),
    _shared("DRF", "packing", "baselines.packing:drf", "heuristic", "dominant_share_min", "Ghodsi et al. (NSDI 2011)"),
    _shared("fair-slots", "packing", "baselines.packing:fair_slots", "heuristic", "dominant_share_min", f"{_FUGA} 5.2"),
    Method("fisher", "market", "solvers.market:fisher", "equilibrium", "equilibrium_error", f"{_MARKET} 3.3.2"),
    Method("fisher-convex", "market", "solvers.market:fisher_convex", "equilibrium", "equilibrium_error", f"{_MARKET} 3.3.2"),
    Method("nash-welfare", "market", "solvers.market:nash_welfare", "exact", "nash_welfare", "Eisenberg and Gale (1959)"),
    Method("leximin", "market", "solvers.market:leximin", "exact", "sharing_index", f"{_MARKET} eq. 3.6, as MIPs"),
    Method("utilitarian", "market", "solvers.market:utilitarian", "exact", "total_utility", f"{_MARKET} 3.4.1, as a programme"),
    Method("PRD", "market", "baselines.market:proportional_response", "heuristic", "equilibrium_error", f"{_MARKET} 3.3.2"),
    Method("ES", "market", "baselines.market:equal_share", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("PF", "market", "baselines.market:proportional_share", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("G-I", "market", "baselines.market:greedy_filtered", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("G-II", "market", "baselines.market:greedy_oracle", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("XC", "market", "baselines.market:exchange", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("XC-M", "market", "baselines.market:exchange_modified", "heuristic", "total_utility", f"{_MARKET} 3.4.1"),
    Method("REF", "scheduling", "solvers.scheduling.shapley_schedule:ref", "exact", "unfairness", f"{_FAIR} 3, fig. 1 and 3"),
    Method("RAND", "scheduling", "baselines.scheduling:rand", "heuristic", "unfairness", f"{_FAIR} 5.1, fig. 6"),
    Method(
        "DIRECTCONTR", "scheduling", "baselines.scheduling:direct_contribution", "heuristic", "unfairness", f"{_FAIR} 7.1, fig. 9"
    ),
    Method("ROUNDROBIN", "scheduling", "baselines.scheduling:round_robin", "heuristic", "unfairness", f"{_FAIR} 7.1"),
    Method("FAIRSHARE", "scheduling", "baselines.scheduling:fair_share", "heuristic", "unfairness", f"{_FAIR} 7.1"),
    Method("UTFAIRSHARE", "scheduling", "baselines.scheduling:ut_fair_share", "heuristic", "unfairness", f"{_FAIR} 7.1"),
    Method("CURRFAIRSHARE", "scheduling", "baselines.scheduling:curr_fair_share", "heuristic", "unfairness", f"{_FAIR} 7.1"),
    Method("FIFO", "scheduling", "baselines.scheduling:fifo", "heuristic", "unfairness", "first in, first out over all"),
    Method("random", "scheduling", "baselines.scheduling:random_organization", "heuristic", "unfairness", "the floor"),
    Method(
        "max-utilization",
        "scheduling",
        "solvers.scheduling.optimum:max_utilization",
        "exact",
        "utilization",
        f"{_FAIR} 6",
    ),
    Method("max-utility", "scheduling", "solvers.scheduling.optimum:max_utility", "exact", "utility", f"{_FAIR} 6"),
    Method("fluid", "numa", "solvers.numa.fluid:fluid", "exact", "served_rate", f"{_NUMA} 4.5.1, as an LP"),
    Method("fluid-power", "numa", "solvers.numa.fluid:fluid_power", "exact", "link_power", f"{_NUMA} 4.5.4, as an LP"),
    Method("Local", "numa", "baselines.numa:local", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IP-1", "numa", "baselines.numa:one_hop", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IP-2", "numa", "baselines.numa:two_hop", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IB", "numa", "baselines.numa:any_blade", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("mix", "numa", "solvers.numa.mix:mix", "simulation", "p95", "this package: policies by the shares of the LP"),
)

ANALYSES: dict[str, dict[str, str]] = {
    "colocation": {
        "frontier": "cotenant.analysis.colocation.frontier maps an instance to many answers",
        "epochs": "cotenant.analysis.colocation.epochs runs a policy over many batches",
        "recommender": "cotenant.analysis.colocation.recommender judges a pairing",
        "shapley": "cotenant.analysis.colocation.shapley shares a penalty game",
    },
    "admission": {
        "frontier": "cotenant.analysis.admission.frontier maps an instance to many answers",
        "rounds": "cotenant.analysis.admission.rounds runs a scheme until every job has run",
        "best_completion": "cotenant.analysis.admission.completion enumerates small cases",
    },
    "packing": {
        "alpha-sweep": "cotenant.analysis.packing.sweeps.alpha_sweep runs policies at many alphas",
        "size-sweep": "cotenant.analysis.packing.sweeps.size_sweep runs policies on growing clusters",
        "audit": "cotenant.analysis.packing.audits.audit judges a placement",
        "simulation": "cotenant.analysis.packing.simulation.simulate runs a policy over a trace",
    },
    "market": {
        "phases": "cotenant.analysis.market.phases solves a market whose jobs change with time",
        "envy": "cotenant.analysis.market.audits judges an allocation",
        "rounding": "cotenant.analysis.market.audits compares the ways of rounding an allocation",
        "predictor": "cotenant.analysis.market.profiles learns fractions and run times from a profile",
        "least-envy": "an option of fisher: rounding=least-envy",
    },
    "scheduling": {
        "audit": "cotenant audit LOG judges a log's own schedule",
        "windows": "cotenant.analysis.scheduling.windows runs rules on many windows of a trace",
        "strategy": "cotenant.analysis.scheduling.strategy searches for what organizations gain by manipulating jobs",
    },
    "numa": {
        "sustained": "cotenant.analysis.numa.sustained finds the rates a policy sustains from empty and from saturated",
        "burst": "cotenant.analysis.numa.sustained.burst sends a burst through a policy",
        "technology": "cotenant.analysis.numa.technology recomputes the figures of the technology model",
    },
}
"""Names people may try as methods that are analyses: refused, with the place to look."""

_METRICS = {name: f"analysis.{name}.metrics" for name in PROBLEM_NAMES}


def methods(problem: str | None = None) -> list[Method]:
    """The catalogue, or one problem's part of it; raises UnknownName for a problem that is not known."""
    if problem is not None:
        problem_named(problem)
    return [method for method in METHODS if problem in (None, method.problem)]


def find(problem: str, name: str) -> Method:
    """The method called `name` on `problem`; raises UnknownName with the near ones."""
    known = methods(problem)
    for method in known:
        if name == method.name or name in method.aliases:
            return method
    if name in ANALYSES.get(problem, {}):
        raise InvalidOption(f"{name!r} is an analysis, not a method: {ANALYSES[problem][name]}")
    raise UnknownName(f"{problem} method", name, [method.name for method in known], f"cotenant methods {problem}")


def find_among(problems: Sequence[str], name: str) -> dict[str, Method]:
    """The methods called `name` on any of the problems, by problem.

    Raises
    ------
    UnknownName, InvalidOption
        None of them has a method of that name.
    """
    found: dict[str, Method] = {}
    refused: list[CotenantError] = []
    for problem in problems:
        try:
            found[problem] = find(problem, name)
        except (UnknownName, InvalidOption) as error:
            refused.append(error)
    if not found:  # an analysis says more of a name than a list of near ones
        raise next((error for error in refused if isinstance(error, InvalidOption)), refused[0])
    return found


def metric_table(problem: str) -> tuple[Metric, ...]:
    """The metrics of a problem, in the order of its tables."""
    problem_named(problem)
    table: tuple[Metric, ...] = resolve(f"{_METRICS[problem]}:METRICS")
    return table


def metrics_of(problem: str) -> Callable[..., dict[str, float]]:
    """The function that measures a problem's solutions: metrics(instance, solution, **options) -> name: value."""
    problem_named(problem)
    function: Callable[..., dict[str, float]] = resolve(f"{_METRICS[problem]}:metrics")
    return function


def recheck_stored(instance: Instance, result: Result) -> list[str]:
    """What of a stored result is not borne out by its instance; see `analysis.recheck`."""
    problem = instance.problem
    senses = {metric.name: str(metric.sense) for metric in metric_table(problem)}
    try:
        certificate = resolve(f"{_METRICS[problem]}:certificate_claims")
    except AttributeError:  # the problem has nothing more to check
        certificate = None
    return recheck(instance, result, metrics_of(problem), senses, certificate)


def solve(
    instance: Instance,
    method: str | Callable[..., Any],
    *,
    seed: int = 0,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    **options: Any,
) -> Result:
    """Run a method on an instance; the answer is checked and its objective recomputed by this package.

    Parameters
    ----------
    instance : as `cotenant.read` returns it.
    method : a name of the catalogue, or a function `f(instance, *, rng, time_limit, **options)` that returns a Solution
        or an Outcome.
    seed : of the random generator handed to the method.
    time_limit : seconds, above 0; the best answer so far is returned when they are up.
    start : an answer to begin from; exact methods get the best of their catalogue's heuristics when none is given.
    report : called with (seconds, objective, bound, text) as the method goes on.
    **options : the method's own, and those of the problem's metrics (`alpha` counts blocking pairs for every method).

    Raises
    ------
    UnknownName, InvalidOption
        Before any work starts.
    NoSolution
        A heuristic found the instance to have no feasible answer; exact methods say so in their status.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "optimal")
    >>> result.status.value, round(result.objective, 4), result.gap
    ('optimal', 0.0425, 0.0)
    """
    if not isinstance(instance, Instance):
        raise CotenantError(f"solve needs an instance, got {type(instance).__name__}; read one with cotenant.read")
    validate_time_limit(time_limit)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InvalidOption(f"seed is {seed!r}; expected a whole number, 0 or more")
    if not isinstance(method, str) and not callable(method):
        raise InvalidOption(f"method is {method!r}; expected a name of the catalogue or a function")
    if isinstance(method, str):
        entry = find(instance.problem, method)
        function, name, objective = entry.resolve(), entry.name, entry.objective
    else:
        entry, function, objective = None, method, None
        name = getattr(method, "__name__", type(method).__name__)
    metrics = metrics_of(instance.problem)
    check_options((function, metrics), options, f"method {name!r}")
    if start is not None:
        check(instance, start)
        if not accepts(function, "start"):
            raise InvalidOption(f"method {name!r} does not take a start")
    return run(
        instance,
        function,
        method=name,
        objective_name=objective,
        metrics=metrics,
        seed=seed,
        time_limit=time_limit,
        start=partial(_best_start, instance, entry, seed) if start is None and entry is not None else start,
        report=report,
        options=options,
    )


def compare(
    instances: Iterable[Instance],
    methods: Sequence[str | Callable[..., Any]] | None = None,
    *,
    seeds: Iterable[int] = (0,),
    **settings: Any,
) -> Comparison:
    """Run methods on instances over seeds and measure every gap; see `analysis.compare.compare` for the settings.

    `methods` defaults to all of the problem's.
    """
    from .analysis.compare import compare as run_all

    if isinstance(instances, Instance):
        raise InvalidOption("instances is a single instance; expected a list of them")
    return run_all(list(instances), methods, seeds=list(seeds), solve=solve, catalogue=_methods_of, find=find_among, **settings)


def parse_comparison_options(
    instances: Sequence[Instance], names: Sequence[str] | None, texts: Sequence[str], *, frontier: bool = False
) -> dict[str, Any]:
    """The options of a comparison from `key=value` texts; a key need only be known to one of its problems.

    Raises
    ------
    UnknownName, InvalidOption
        A method is not known to any problem; a key is not known to any method that is compared, or its value is of no type
        that one of them takes.
    """
    from .analysis.cells import frontier_function

    problems = list(dict.fromkeys(instance.problem for instance in instances))
    chosen = [method for name in names or () for method in find_among(problems, name).values()]
    takers: list[Callable[..., Any]] = []
    for problem in problems:
        entries = methods(problem) if names is None else [method for method in chosen if method.problem == problem]
        takers += [method.resolve() for method in entries]
        takers += [metrics_of(problem)] if entries else []
        found = frontier_function(problem) if frontier else None
        takers += [] if found is None else [found]
    return parse_options(tuple(takers), texts, "this comparison")


def _methods_of(problem: str) -> list[Method]:
    return methods(problem)


def _best_start(instance: Instance, method: Method, seed: int) -> Solution | None:
    """The best answer of the method's start heuristics by the method's objective, not by theirs; None when none finds one."""
    if instance.size > STARTS_UP_TO:
        return None
    sign = {metric.name: -1.0 if metric.sense == "max" else 1.0 for metric in metric_table(instance.problem)}[method.objective]
    best: tuple[float, Solution] | None = None
    for name in method.starts:
        try:
            result = solve(instance, name, seed=seed)
        except (NoSolution, InvalidOption):
            continue
        if result.stop is Stop.INTERRUPTED:  # it kept its answer, but what it was to begin is not begun
            raise KeyboardInterrupt
        value = result.metrics.get(method.objective)
        if value is not None and (best is None or sign * value < best[0]):
            best = (sign * value, result.solution)
    return None if best is None else best[1]


__all__ = ["METHODS", "Method", "Result", "compare", "find", "find_among", "methods", "metric_table", "metrics_of", "solve"]
