"""Catalogue of all methods of all problems.

Functions are named by text and resolved on first use: an eager catalogue would import every solver.
To run one: `cotenant.solve`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from .instances.problem.base import Instance
from .instances.problem.errors import UnknownName
from .instances.problem.option_types import validate_options
from .instances.problem.registry import problem_named, resolve

ANY = "any"
"""In `Method.objective_overrides`: whatever value an option has."""

Kind = Literal["exact", "equilibrium", "heuristic", "simulation"]


@dataclass(frozen=True)
class Method:
    """Method of the catalogue: name, problem, function, and what it proves.

    Attributes
    ----------
    name, problem : what it is called, and on which problem it works.
    function : "module:function" inside the package, `function(instance, *, rng, time_limit,
        **options)`.
    kind : "exact", "equilibrium", "heuristic" or "simulation".
    objective : the metric it optimizes, or is judged by; its bound is in that metric's unit.
    source : paper and section.
    levels : of an exact method, the metrics of the further levels of its objective, in order.
    asks : "module:function" of (instance, answer, **options): None for an answer that is none to an
        exact method's question, else what is compared before its objective, each the less the
        better; "" where every feasible answer is one, and nothing comes before.
    no_starts : why no policy's answer is one to an exact method's question; "" where the quick
        policies of the problem are its starts.
    begins : "module:function" of an instance: the names of exact methods whose answers are starts
        too, each in a part of the time; "" for none.
    alone : "module:function" of an instance: whether no policy is asked before, since the method
        itself has a good answer sooner; "" for never.
    quick : of a policy, the `Instance.size` that it takes about a second for; 0 for one that is
        nobody's start.
    settles : of an exact method, the `Instance.size` up to which it usually ends by itself; a
        comparison that names no methods goes without it above. 0 for any.
    precondition : "module:function" of an instance -> whether the method is meant for it; "" for
        all of its problem's. When no methods are named, `compare` leaves out those that are not.
    precondition_text : what such an instance has, in words.
    proof_producer : "module:function" that writes a proof of its answer for `verify` (see
        `solvers.proofs`); "" where a bound is what a solver or our own code claims.
    unproved : of a method with a prover, what stays a claim, and why.
    replayed : what the verifier works out again for a proof of one step, "recompute", in words.
    objective_overrides : triples of an option, a value (`ANY` but None) and the metric that it
        optimizes with that value.
    """

    name: str
    problem: str
    function: str
    kind: Kind
    objective: str
    source: str
    levels: tuple[str, ...] = ()
    asks: str = ""
    no_starts: str = ""
    begins: str = ""
    alone: str = ""
    quick: int = 20_000_000
    settles: int = 0
    precondition: str = ""
    precondition_text: str = ""
    proof_producer: str = ""
    unproved: str = ""
    replayed: str = ""
    objective_overrides: tuple[tuple[str, object, str], ...] = ()

    def objective_of(self, options: Mapping[str, Any]) -> str:
        """Name of the metric that the method optimizes with these options."""
        for option, value, metric in self.objective_overrides:
            given = options.get(option)
            if given == value or (value == ANY and given is not None):
                return metric
        return self.objective

    def applies_to(self, instance: Instance) -> bool:
        """Return whether the method is meant for this instance of its problem."""
        return not self.precondition or bool(resolve(self.precondition)(instance))

    @property
    def starts(self) -> tuple[Method, ...]:
        """Policies whose answers are start solutions of an exact method, the fastest first."""
        if self.kind != "exact" or self.no_starts:
            return ()
        policies = [one for one in methods(self.problem) if one.kind == "heuristic" and one.quick]
        return tuple(sorted(policies, key=lambda one: -one.quick))

    @property
    def bound_source(self) -> str:
        """Description of how the method proves its bounds; "" if it claims none."""
        if self.kind in ("heuristic", "simulation"):
            return ""
        if self.kind == "equilibrium":
            return "0, to within the tolerance that its certificate names"
        if self.proof_producer:
            return "proved by a file that the verifier judges"
        return CLAIMED_BOUNDS.get((self.problem, self.name), "")

    def resolve(self) -> Callable[..., Any]:
        """Import and return the function of the method."""
        function: Callable[..., Any] = resolve(self.function)
        return function

    @property
    def summary(self) -> str:
        """First sentence of the function's docstring."""
        return first_sentence(self.resolve())


def first_sentence(function: Callable[..., Any]) -> str:
    """Join the first paragraph of a function's docstring into one line."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


_COOPER = "Cooper (HPCA 2017)"
_MARKET = "thesis (Duke 2017)"
_TOLD_APART = (
    "rules on where VMs may run, if the bound needs many servers to be told apart, or "
    "cards and which shares fill them, beyond functions of their sizes"
)
_HINES = "Hines and Romano, Matching Theory and VMs"
_FUGA = "Xu and Yu (2014)"
_FGD = "Weng et al. (ATC 2023)"
# fmt: off
_whole = partial(Method, precondition="instances.packing.instance:serves_all",
                 precondition_text="requests that are numbers, to be served whole")
_arriving = partial(Method, problem="packing", kind="heuristic", objective="cards_allocated",
                    precondition="instances.packing.instance:takes_arrivals",
                    precondition_text="cards, numbers of servers and of VMs, and no rules but the "
                    "classes that are allowed")
_covered = partial(Method, precondition="instances.packing.instance:asks_enough",
                   precondition_text="requests that are numbers, to be served whole, or services")
_shared = partial(Method, precondition="instances.packing.instance:shared_servers",
                  precondition_text="a number of servers, requests that may be served in part "
                                    "(elastic, or "
                  "partial: true), and no rules on where VMs may run")
_bandwidth = partial(Method, precondition="instances.colocation.instance:has_bandwidth",
                     precondition_text="bandwidth, the demand of each type")
_ending = partial(Method, precondition="instances.accelerators.instance:has_steps",
                  precondition_text="steps, those that jobs have left")
_owned = partial(Method, precondition="instances.accelerators.instance:has_entities",
                 precondition_text="entity, the owners of jobs")
_over_time = partial(Method, problem="lifetimes", kind="exact",
                     proof_producer="solvers.proofs.recompute:stored_steps")
_online = partial(Method, problem="lifetimes", kind="heuristic", objective="server_time",
                  quick=300_000_000)
_WIDE = "parallel jobs, and machines of different speeds"
_BEYOND_PRICES = "what a search shows beyond prices of jobs"
_SEARCHED = f"what a solver shows beyond prices of machines' time; {_WIDE}"
_FAIR = "Skowron and Rzadca"
_NUMA = "Llull (thesis 2017)"
_KARMA = "Karma (OSDI 2023)"
_GAVEL = "Gavel (OSDI 2020)"
_GAME = "the whole game, every move from all total counts that can be reached"
_FLUID = "the most that work which flows through all machines at once could reach"
_PLAYS = "plays of the game only, of which its search begins with FUGA-algorithm-1's"
_STABLE = "pairings without blocking pair only, all of which its search knows"
_SOONER = "a linear program over types, solved before policies have answered job by job"
_CUTS = "cuts give the optimum itself, in less time than a policy takes"
_FLOWS = "rates in the long run: a policy's answer is a simulation, which is none"

# fmt: off
METHODS: tuple[Method, ...] = (
    Method("optimal", "colocation", "solvers.colocation:optimal", "exact", "penalty",
           f"{_COOPER} II, as a MIP", proof_producer="solvers.proofs.colocation:optimal",
           unproved="answers with the option worst, which are about intervals",
           objective_overrides=(("worst", True, "worst_case_penalty"),)),
    Method("stable", "colocation", "solvers.colocation.stable:stable", "exact", "blocking_pairs",
           f"{_COOPER} III.B", ("penalty",), proof_producer="solvers.proofs.colocation:stable",
           unproved="over types, or with an alpha: bounds of more than 30 blocking pairs, and the "
           "penalty then; bounds of agents that do not follow from those of pairs; answers with "
           "the option uncertainty, which are about intervals",
           objective_overrides=(("objective", "agents", "blocking_agents"),
                    ("objective", "minimax", "most_blocking"),
                    ("uncertainty", "certain", "certain_blocking_pairs"),
                    ("uncertainty", "possible", "possible_blocking_pairs"))),
    _bandwidth("fair", "colocation", "solvers.colocation:fair", "exact", "slack",
               f"{_COOPER} II, fair attribution", ("penalty",), settles=500,
               asks="solvers.colocation.fair:fair_enough",
               proof_producer="solvers.proofs.colocation:fair",
               objective_overrides=(("slack", ANY, "penalty"),)),
    Method("egalitarian", "colocation", "solvers.colocation.stable_choices:egalitarian", "exact",
           "blocking_pairs", "Gusfield and Irving (1989) 3.6", ("penalty",), no_starts=_STABLE,
           proof_producer="solvers.proofs.colocation:egalitarian",
           unproved="that no pairing is stable, which a proof of stable shows",
           precondition="solvers.colocation.stable_choices:may_be_stable",
           precondition_text="preference lists with a stable pairing"),
    Method("minimum-regret", "colocation", "solvers.colocation.stable_choices:least_regret",
           "exact", "blocking_pairs", "Gusfield and Irving (1989) 4.4.3", ("worst_penalty",),
           no_starts=_STABLE, precondition="solvers.colocation.stable_choices:has_stable",
           proof_producer="solvers.proofs.colocation:minimum_regret",
           unproved="the worst penalty where an agent is without partner",
           precondition_text="preference lists without ties, with a stable pairing"),
    Method("SR", "colocation", "baselines.colocation:roommates", "heuristic", "blocking_pairs",
           f"{_COOPER} III.C, IV.C", quick=12_000_000),
    Method("SMR", "colocation", "baselines.colocation:marriage_random", "heuristic",
           "blocking_pairs", f"{_COOPER} III.C, IV.C", quick=40_000_000),
    _bandwidth("SMP", "colocation", "baselines.colocation:marriage_partition", "heuristic",
               "blocking_pairs", f"{_COOPER} III.C, IV.C", quick=40_000_000),
    Method("GR", "colocation", "baselines.colocation:greedy", "heuristic", "penalty",
           f"{_COOPER} IV.C", quick=100_000_000),
    _bandwidth("CO", "colocation", "baselines.colocation:complementary", "heuristic", "penalty",
               f"{_COOPER} IV.C", quick=100_000_000),
    Method("threshold", "colocation", "baselines.colocation:threshold", "heuristic", "penalty",
           f"{_COOPER} IV.C", quick=100_000_000),
    Method("optimal", "admission", "solvers.admission.optimal:optimal", "exact", "total_speed",
           f"{_HINES} III.A, as a MIP", ("assigned",),
           proof_producer="solvers.proofs.job_prices:optimal",
           unproved=f"the second objective, which the option then asks for, and {_BEYOND_PRICES}"),
    Method("most-jobs", "admission", "solvers.admission.optimal:most_jobs", "exact", "assigned",
           f"{_HINES} III.A, as a MIP", ("total_speed",),
           proof_producer="solvers.proofs.job_prices:most_jobs", unproved=_BEYOND_PRICES),
    Method("local-search", "admission", "solvers.admission.local_search:local_search", "heuristic",
           "total_speed", "this package", quick=19_000_000),
    Method("SM", "admission", "baselines.admission:simple_matching", "heuristic", "total_speed",
           f"{_HINES} IV"),
    Method("DA1", "admission", "baselines.admission:deferred_quotas", "heuristic", "total_speed",
           f"{_HINES} IV"),
    Method("DA2", "admission", "baselines.admission:deferred_rounds", "heuristic", "total_speed",
           f"{_HINES} IV"),
    Method("proposed", "admission", "baselines.admission:proposed", "heuristic", "blocking_pairs",
           f"{_HINES} III.B"),
    _covered("min-servers", "packing", "solvers.packing.minimum:min_servers", "exact", "servers",
           "vector packing portfolio", alone="solvers.packing.minimum:many_vms",
           proof_producer="solvers.proofs.packing:cheapest", unproved=_TOLD_APART),
    _covered("min-cost", "packing", "solvers.packing.minimum:min_cost", "exact", "cost",
           "vector packing portfolio", begins="solvers.packing.minimum:cheap_starts",
           alone="solvers.packing.minimum:many_vms",
           proof_producer="solvers.proofs.packing:cheapest", unproved=_TOLD_APART),
    _whole("cp-sat", "packing", "solvers.packing.assignment:cp_sat", "exact", "servers",
           "declarative model", proof_producer="solvers.proofs.packing:cheapest"),
    Method("fewest-moves", "packing", "solvers.packing.moves:fewest_moves", "exact", "moves",
           "this package", asks="solvers.packing.moves_routes:within",
           proof_producer="solvers.proofs.packing:fewest_moves",
           precondition="instances.packing.instance:placed_now", unproved=_TOLD_APART,
           precondition_text="requests to be served whole, and what runs now (placed)"),
    Method("max-gpus", "packing", "solvers.packing.cards:max_gpus", "exact", "cards_allocated",
           "this package", precondition="instances.packing.instance:capped_cards",
           precondition_text="cards of a number of servers, and requests that are caps",
           proof_producer="solvers.proofs.packing:max_gpus"),
    _shared("FUGA", "packing", "solvers.packing.game.play:fuga", "equilibrium", "disutility",
            f"{_FUGA} 4.3, played exactly", proof_producer="solvers.proofs.recompute:play",
            replayed=_GAME,
            unproved="an alpha that is not a fraction of numbers up to 64; too large games"),
    _shared("FUGA-tree", "packing", "solvers.packing.game.tree:fuga_tree", "equilibrium",
            "disutility", f"{_FUGA} 4.3, fig. 3",
            proof_producer="solvers.proofs.recompute:play", replayed=_GAME,
            unproved="the same cases as FUGA"),
    _shared("FUGA-algorithm-1", "packing", "baselines.packing:fuga_algorithm_1", "heuristic",
            "disutility", f"{_FUGA} Algorithm 1"),
    _shared("joint-optimum", "packing", "solvers.packing.game.joint:joint_optimum", "exact",
            "disutility", f"{_FUGA} eq. 14, summed", no_starts=_PLAYS,
            proof_producer="solvers.proofs.recompute:joint_optimum", replayed=_GAME,
            unproved="the same cases as FUGA"),
    _shared("max-min-share", "packing", "solvers.packing.dominant_shares:max_min_share", "exact",
            "dominant_share_min", "leximin", asks="solvers.packing.dominant_shares:least_first",
            proof_producer="solvers.proofs.packing:max_min_share"),
    _shared("max-utilization", "packing", "solvers.packing.dominant_shares:max_utilization",
    "exact",
            "utilization", f"{_FUGA} 4.2", asks="solvers.packing.dominant_shares:sharing_enough",
            proof_producer="solvers.proofs.packing:max_utilization",
            unproved="answers with a least_share, which the prices do not contain"),
    _whole("FF", "packing", "baselines.packing:first_fit_all", "heuristic", "servers", "first fit"),
    _whole("FFD", "packing", "baselines.packing:first_fit_decreasing", "heuristic", "servers",
           "first fit decreasing"),
    _whole("BFD", "packing", "baselines.packing:best_fit_decreasing", "heuristic", "servers",
           "best fit decreasing"),
    _whole("dot", "packing", "baselines.packing:dot_product", "heuristic", "servers",
           "Panigrahy et al. (2011)"),
    _whole("L2", "packing", "baselines.packing:square_norm", "heuristic", "servers",
           "Panigrahy et al. (2011)"),
    Method("random-fit", "packing", "baselines.packing:random_fit", "heuristic", "servers",
           f"{_FUGA} 4.2", precondition="instances.packing.instance:ends",
           precondition_text="a number of servers, or of VMs"),
    _shared("first-fit", "packing", "baselines.packing:first_fit", "heuristic", "disutility",
            f"{_FUGA} 5.3"),
    _shared("best-fit", "packing", "baselines.packing:best_fit", "heuristic", "disutility",
            f"{_FUGA} 4.2"),
    _shared("DRF", "packing", "baselines.packing:drf", "heuristic", "dominant_share_min",
            "Ghodsi et al. (NSDI 2011)"),
    _shared("fair-slots", "packing", "baselines.packing:fair_slots", "heuristic",
            "dominant_share_min", f"{_FUGA} 5.2"),
    _arriving("random-card", function="baselines.packing:random_card", source=f"{_FGD} 6"),
    _arriving("best-fit-cards", function="baselines.packing:best_fit_cards", source=f"{_FGD} 6"),
    _arriving("dot-cards", function="baselines.packing:dot_product_cards",
              source=f"{_FGD} 6, after Tetris"),
    _arriving("card-packing", function="baselines.packing:card_packing", source=f"{_FGD} 6"),
    _arriving("FGD", function="baselines.packing:fragmentation_gradient", source=f"{_FGD} 4"),
    Method("fisher", "market", "solvers.market:fisher", "equilibrium", "equilibrium_error",
           f"{_MARKET} 3.3.2", proof_producer="solvers.proofs.market:equilibrium",
           unproved="answers in whole cores, which are not an equilibrium"),
    Method("nash-welfare", "market", "solvers.market:nash_welfare", "exact", "nash_welfare",
           "Eisenberg and Gale (1959)", asks="solvers.market.integer_cores:in_whole_cores",
           proof_producer="solvers.proofs.market:nash_welfare",
           unproved="utilities ces, cobb-douglas, leontief and quasi-linear"),
    Method("leximin", "market", "solvers.market:leximin", "exact", "sharing_index",
           f"{_MARKET} eq. 3.6, as MIPs", asks="solvers.market.integer_cores:least_first",
           proof_producer="solvers.proofs.leximin:leximin",
           unproved="users with several jobs on a server, whose share is not worth a fraction"),
    Method("utilitarian", "market", "solvers.market:utilitarian", "exact", "total_utility",
           f"{_MARKET} 3.4.1, as a program", asks="solvers.market.integer_cores:in_whole_cores",
           proof_producer="solvers.proofs.market:utilitarian"),
    Method("PRD", "market", "baselines.market:proportional_response", "heuristic",
           "equilibrium_error", f"{_MARKET} 3.3.2"),
    Method("ES", "market", "baselines.market:equal_share", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1"),
    Method("PF", "market", "baselines.market:proportional_share", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1"),
    Method("G-I", "market", "baselines.market:greedy_filtered", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1", quick=5_000_000),
    Method("G-II", "market", "baselines.market:greedy_oracle", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1"),
    Method("XC", "market", "baselines.market:exchange", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1"),
    Method("XC-M", "market", "baselines.market:exchange_modified", "heuristic", "total_utility",
           f"{_MARKET} 3.4.1", quick=2_000_000),
    Method("REF", "scheduling", "solvers.scheduling.shapley_schedule:ref", "exact", "unfairness",
           f"{_FAIR} 3, fig. 1 and 3",
           no_starts="a rule that says each start: its schedule is what others are measured by",
           proof_producer="solvers.proofs.recompute:ref",
           replayed="the schedules of all coalitions, moment by moment",
           unproved=f"{_WIDE}, other utilities than throughput, and more than 16 organizations"),
    Method("RAND", "scheduling", "baselines.scheduling:rand", "heuristic", "unfairness",
           f"{_FAIR} 5.1, fig. 6", quick=4_000_000),
    Method("DIRECTCONTR", "scheduling", "baselines.scheduling:direct_contribution", "heuristic",
           "unfairness", f"{_FAIR} 7.1, fig. 9"),
    Method("ROUNDROBIN", "scheduling", "baselines.scheduling:round_robin", "heuristic",
           "unfairness", f"{_FAIR} 7.1"),
    Method("FAIRSHARE", "scheduling", "baselines.scheduling:fair_share", "heuristic", "unfairness",
           f"{_FAIR} 7.1"),
    Method("UTFAIRSHARE", "scheduling", "baselines.scheduling:ut_fair_share", "heuristic",
           "unfairness", f"{_FAIR} 7.1"),
    Method("CURRFAIRSHARE", "scheduling", "baselines.scheduling:curr_fair_share", "heuristic",
           "unfairness", f"{_FAIR} 7.1"),
    Method("FIFO", "scheduling", "baselines.scheduling:fifo", "heuristic", "unfairness",
           "first in, first out over all"),
    Method("random", "scheduling", "baselines.scheduling:random_organization", "heuristic",
           "unfairness", "the floor"),
    Method("max-utilization", "scheduling", "solvers.scheduling.optimum:max_utilization", "exact",
           "utilization", f"{_FAIR} 6", proof_producer="solvers.proofs.recompute:most",
           replayed=_FLUID, unproved=_SEARCHED),
    Method("max-utility", "scheduling", "solvers.scheduling.optimum:max_utility", "exact",
           "utility", f"{_FAIR} 6", proof_producer="solvers.proofs.recompute:most",
           replayed=_FLUID, unproved=_SEARCHED),
    Method("fluid", "numa", "solvers.numa.fluid:fluid", "exact", "served_rate",
           f"{_NUMA} 4.5.1, as an LP", no_starts=_FLOWS,
           proof_producer="solvers.proofs.processor_prices:fluid"),
    Method("fluid-power", "numa", "solvers.numa.fluid:fluid_power", "exact", "link_power",
           f"{_NUMA} 4.5.4, as an LP", no_starts=_FLOWS,
           proof_producer="solvers.proofs.processor_prices:fluid_power"),
    Method("Local", "numa", "baselines.numa:local", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IP-1", "numa", "baselines.numa:one_hop", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IP-2", "numa", "baselines.numa:two_hop", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("IB", "numa", "baselines.numa:any_blade", "simulation", "p95", f"{_NUMA} 4.3.2"),
    Method("mix", "numa", "solvers.numa.mix:mix", "simulation", "p95",
           "this package: policies by the shares of the LP"),
    Method("optimal", "groups", "solvers.groups.optimal:optimal", "exact", "penalty",
           f"{_COOPER} VII, by column generation",
           proof_producer="solvers.proofs.groups:optimal",
           unproved="instances with so many kinds of groups that they take too long to judge"),
    Method("core", "groups", "solvers.groups.core:core", "exact", "blocking_groups",
           f"{_COOPER} III.B, for groups", ("penalty",)),
    Method("least-alpha", "groups", "solvers.groups.core:least_alpha", "exact", "least_alpha",
           "this package: the least epsilon-core", ("penalty",)),
    Method("hierarchical", "groups", "baselines.groups:hierarchical", "heuristic", "penalty",
           f"{_MARKET} 6, pairs of pairs", quick=1_000_000),
    Method("serpentine", "groups", "baselines.groups:serpentine", "heuristic", "penalty",
           f"{_COOPER} IV.C (CO), for groups"),
    Method("GR", "groups", "baselines.groups:greedy", "heuristic", "penalty", f"{_COOPER} IV.C"),
    Method("threshold", "groups", "baselines.groups:threshold", "heuristic", "penalty",
           f"{_COOPER} IV.C"),
    Method("local-search", "groups", "baselines.groups:local_search", "heuristic", "penalty",
           "this package", quick=1_000_000),
    Method("sorted", "groups", "baselines.groups:sorted_by_pressure", "heuristic",
           "blocking_groups", "Banerjee, Konishi and Sonmez (2001)"),
    Method("random", "groups", "baselines.groups:random_grouping", "heuristic", "penalty",
           "the floor"),
    Method("max-min", "accelerators", "solvers.accelerators.max_min:max_min", "exact",
           "worst_throughput", f"{_GAVEL} 4.1, by types",
           no_starts=_SOONER, proof_producer="solvers.proofs.time_shares:time_shares"),
    Method("leximin", "accelerators", "solvers.accelerators.leximin:leximin", "exact",
           "worst_throughput", f"{_GAVEL} 4.3, water filling",
           no_starts=_SOONER, proof_producer="solvers.proofs.time_shares:levels"),
    _owned("hierarchical", "accelerators", "solvers.accelerators.leximin:hierarchical", "exact",
           "worst_entity_throughput", f"{_GAVEL} 4.3, by entities",
           no_starts=_SOONER, proof_producer="solvers.proofs.time_shares:levels"),
    Method("max-throughput", "accelerators", "solvers.accelerators.totals:max_throughput",
           "exact", "mean_throughput", f"{_GAVEL} 4.2",
           no_starts=_SOONER, asks="solvers.accelerators.totals:enough",
           proof_producer="solvers.proofs.time_shares:time_shares"),
    Method("min-cost", "accelerators", "solvers.accelerators.totals:min_cost", "exact", "cost",
           f"{_GAVEL} 4.2, with deadlines",
           no_starts=_SOONER, asks="solvers.accelerators.totals:owed",
           proof_producer="solvers.proofs.time_shares:time_shares"),
    _ending("makespan", "accelerators", "solvers.accelerators.max_min:makespan", "exact",
            "makespan", f"{_GAVEL} 4.2",
           no_starts=_SOONER, proof_producer="solvers.proofs.time_shares:time_shares"),
    _ending("finish-time", "accelerators", "solvers.accelerators.max_min:finish_time", "exact",
            "finish_time_ratio", f"Themis (NSDI 2020); {_GAVEL} 4.2",
            no_starts=_SOONER, proof_producer="solvers.proofs.time_shares:time_shares"),
    Method("isolated", "accelerators", "baselines.accelerators:isolated", "heuristic",
           "worst_throughput", f"{_GAVEL} 4.2, 1/n of the cluster"),
    Method("proportional", "accelerators", "baselines.accelerators:proportional", "heuristic",
           "worst_throughput", f"{_GAVEL} 4.1, equal allocation"),
    Method("FIFO", "accelerators", "baselines.accelerators:fifo", "heuristic",
           "worst_throughput", f"{_GAVEL} 4.2"),
    _ending("AlloX", "accelerators", "baselines.accelerators:allox", "heuristic",
            "mean_throughput", "Le et al. (EuroSys 2020) 4", quick=20_000),
    Method("Gandiva", "accelerators", "baselines.accelerators:gandiva", "heuristic",
           "worst_throughput", "Xiao et al. (OSDI 2018), packing"),
    Method("POP", "accelerators", "baselines.accelerators:partitioned", "heuristic",
           "worst_throughput", "Narayanan et al. (SOSP 2021) 3", quick=0),
    Method("horizon", "quanta", "solvers.quanta:horizon", "exact", "nash_welfare",
           "Eisenberg and Gale (1959)", no_starts=_CUTS,
           proof_producer="solvers.proofs.recompute:greedy_slices"),
    Method("leximin", "quanta", "solvers.quanta:leximin", "exact", "least_total",
           "Fujishige (1980)", no_starts=_CUTS,
           proof_producer="solvers.proofs.recompute:greedy_slices"),
    Method("Karma", "quanta", "baselines.quanta:karma", "heuristic", "nash_welfare",
           f"{_KARMA} Algorithm 1"),
    Method("max-min", "quanta", "baselines.quanta:max_min", "heuristic", "nash_welfare",
           f"{_KARMA} 2"),
    Method("strict", "quanta", "baselines.quanta:strict", "heuristic", "nash_welfare",
           f"{_KARMA} 2"),
    _over_time("min-peak", function="solvers.lifetimes:min_peak", objective="peak",
               source="static bounds of all instants"),
    _over_time("hindsight", function="solvers.lifetimes:hindsight", objective="server_time",
               source="static bounds of all instants"),
    _online("first-fit", function="baselines.lifetimes:first_fit",
            source="Johnson et al. (1974)"),
    _online("best-fit", function="baselines.lifetimes:best_fit",
            source="Johnson et al. (1974)"),
    _online("least-extension", function="baselines.lifetimes:least_extension",
            source="Ling et al. (MLSys 2025), NILAS"),
    _online("aligned-ends", function="baselines.lifetimes:aligned_ends",
            source="Barbalho et al. (MLSys 2023)"),
    _online("lifetime-classes", function="baselines.lifetimes:lifetime_classes",
            source="Ren and Tang (SPAA 2016)"),
    Method("optimal", "elastic", "solvers.elastic:optimal", "exact", "total_utility",
           "Sia (SOSP 2023) 3.3",
           proof_producer="solvers.proofs.elastic_prices:elastic_prices"),
    Method("max-min", "elastic", "solvers.elastic:max_min", "exact", "least_utility",
           "prices of devices",
           proof_producer="solvers.proofs.elastic_prices:elastic_prices"),
    Method("FIFO", "elastic", "baselines.elastic:fifo", "heuristic", "total_utility",
           "first come, first served"),
    Method("equal-split", "elastic", "baselines.elastic:equal_split", "heuristic",
           "total_utility", "equal shares"),
    Method("density", "elastic", "baselines.elastic:density", "heuristic", "total_utility",
           "utility per device"),
    Method("marginal", "elastic", "baselines.elastic:marginal", "heuristic", "total_utility",
           "Optimus (EuroSys 2018) 4.1"),
)
# fmt: on

_BY_ENGINE = "what a solver says, in floats"
CLAIMED_BOUNDS = {("groups", "core"): _BY_ENGINE, ("groups", "least-alpha"): _BY_ENGINE}
"""Where bounds come from of exact methods that have no `proof_producer`."""


def usual_methods(instance: Instance) -> list[Method]:
    """Methods that a comparison runs by default: those meant for the instance and, if exact,
    expected to finish at its size.
    """
    fitting = [each for each in methods(instance.problem) if each.applies_to(instance)]
    return [each for each in fitting if not 0 < each.settles < instance.size]


def left_out(instance: Instance) -> list[str]:
    """Names of the methods of the problem that `usual_methods` omits."""
    usual = usual_methods(instance)
    return [each.name for each in methods(instance.problem) if each not in usual]


@validate_options
def methods(problem: str | None = None) -> list[Method]:
    """Methods of all problems, or of one; raises UnknownName for an unknown problem."""
    if problem is not None:
        problem_named(problem)
    return [method for method in METHODS if problem in (None, method.problem)]


def find(problem: str, name: str) -> Method:
    """Method called `name` of `problem`; raises UnknownName with similar names."""
    known = methods(problem)
    for method in known:
        if name == method.name:
            return method
    raise UnknownName(
        f"{problem} method",
        name,
        [method.name for method in known],
        f"cotenant methods {problem}",
        [method.problem for method in METHODS if method.name == name],
    )


def functions(problem: str, *names: str) -> dict[str, Callable[..., Any]]:
    """Functions of the named methods of a problem; raises UnknownName."""
    return {name: find(problem, name).resolve() for name in names}


def find_among(problems: Sequence[str], name: str) -> dict[str, Method]:
    """Methods called `name` of any of the problems, by problem.

    Raises
    ------
    UnknownName
        None of them has a method of that name.
    """
    found = {
        problem: method
        for problem in problems
        for method in methods(problem)
        if method.name == name
    }
    return found or {problems[0]: find(problems[0], name)}
