"""The papers' tables and figures, each from one command: what is said beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar

from ..analysis.report.picture import Picture
from ..instances.problem.errors import UnknownName
from ..instances.problem.registry import resolve
from ..solvers.outcome import Clock
from . import variations as left_open

P = ParamSpec("P")
Part = TypeVar("Part")

Verdict = Literal["reproduced", "differs", "undecided", "not in the paper"]


@dataclass(frozen=True)
class Finding:
    """One row of an experiment.

    Attributes
    ----------
    what : the quantity or claim.
    paper : what the paper prints or says, "" when it says nothing.
    ours : what came out.
    verdict : "reproduced", "differs", "undecided" (what was drawn is too little to tell), or "not
        in the paper".
    note : how it was measured.
    cause : of a difference, why: found by working it out or by a run in which the cause was taken
        away, or what runs ruled out; "" where nothing was tested.
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    note: str = ""
    cause: str = ""

    @property
    def why(self) -> str:
        """The note, and of a difference its cause, or that none was tested."""
        cause = self.cause and f"cause: {self.cause}"
        return "; ".join(
            filter(None, (self.note, cause or (_NO_CAUSE if self.verdict == "differs" else "")))
        )


_NO_CAUSE = "no cause was tested"


def compare(
    what: str, paper: str, ours: str, holds: bool | Verdict | None, note: str = "", cause: str = ""
) -> Finding:
    """What the paper says beside what came out: reproduced when it holds, else it differs, for
    `cause` where one was found; `holds` is None for what the paper says of data that cannot judge
    it, see `addition` for what it does not say.
    """
    if holds is None:
        return Finding(what, paper, ours, "not in the paper", note)
    verdict = holds if isinstance(holds, str) else _judged(holds)
    return Finding(what, paper, ours, verdict, note, cause if verdict == "differs" else "")


def addition(what: str, ours: str, note: str = "") -> Finding:
    """A number of ours that the paper does not print."""
    return compare(what, "", ours, None, note)


def _judged(holds: bool) -> Verdict:
    return "reproduced" if holds else "differs"


def equal(what: str, paper: str, ours: object, note: str = "", cause: str = "") -> Finding:
    """A number of the paper, reproduced when ours reads the same."""
    return compare(what, paper, str(ours), str(ours) == paper, note, cause)


def decided(holds: bool, low: float, high: float) -> Verdict:
    """The verdict on a mean's sign: undecided while 0 lies from `low` to `high`."""
    return "undecided" if low <= 0 <= high else _judged(holds)


def experiment(function: Callable[P, Iterator[Part]]) -> Callable[P, list[Part]]:
    """An experiment written as a generator: a function that returns the list of what it yields."""

    @wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> list[Part]:
        return list(function(*arguments, **options))

    return run


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes
    ----------
    name : what `cotenant reproduce` calls it, such as "market-figure-3.12".
    problem : which problem it belongs to.
    source : paper and place.
    function : "module:function" inside the package, `function(*, seed=0, **options) -> list[Finding
        | Picture]`.
    what : one line for people.
    data : (option, file) of each measured file of others that it reads: the option that takes its
        path, and its place in a folder of users' copies (the layout of CONTRIBUTING.md).
    substitute : what it runs on without them; "" when it cannot.
    variations : what the paper leaves open, and other choices of it: where a finding differs
        without a cause of its own, they are tried (see `causes.explained`).
    """

    name: str
    problem: str
    source: str
    function: str
    what: str
    data: tuple[tuple[str, str], ...] = ()
    substitute: str = ""
    variations: left_open.Variations = field(default_factory=dict, hash=False)

    @property
    def paper(self) -> str:
        """Which paper, as one of the values of `PAPERS`; `BEYOND` when it is in none."""
        return paper_of(self.source)

    @property
    def seconds(self) -> float:
        """About how long it takes with the defaults on two cores."""
        return SECONDS.get(self.name, 3.0)

    @property
    def place(self) -> str:
        """Where in the paper; "" when it is in none."""
        mark = next((mark for mark in PAPERS if self.source.startswith(mark)), self.source)
        return self.source.removeprefix(mark).lstrip(", ")

    def resolve(self) -> Callable[..., Sequence[Finding | Picture]]:
        """The function itself."""
        function: Callable[..., Sequence[Finding | Picture]] = resolve(self.function)
        return function

    def files(self, folder: Path) -> dict[str, str]:
        """The path of each measured file in a folder of users' copies, by its option."""
        return {
            option: str(folder / file) for option, file in self.data if (folder / file).is_file()
        }

    @property
    def also_read(self) -> tuple[str, ...]:
        """The measured files that its variations read."""
        changes = [changes for runs in self.variations.values() for changes in runs.values()]
        return tuple(
            dict.fromkeys(
                value.file
                for one in changes
                for value in one.values()
                if isinstance(value, left_open.Copy)
            )
        )

    def run(self, *, seed: int = 0, data: Path | None = None, **options: Any) -> Reproduction:
        """Run it, with the measured files that `data`, a folder, holds."""
        found = (
            {}
            if data is None
            else {
                option: path for option, path in self.files(data).items() if option not in options
            }
        )
        clock = Clock()
        parts = list(self.resolve()(seed=seed, **found, **options))
        seconds = clock.seconds
        command = self.command(seed=seed, data=bool(found), **options)
        pictures = tuple(
            replace(part, command=part.command or command)
            for part in parts
            if not isinstance(part, Finding)
        )
        return Reproduction(
            self,
            command,
            seconds,
            tuple(part for part in parts if isinstance(part, Finding)),
            pictures,
        )

    def command(self, *, seed: int = 0, data: bool = False, **options: Any) -> str:
        """What a person types to run it; DATA stands for their folder of measured files."""
        drawn = [f"--seed {seed}"] if seed else []
        given = [f"-o {key}={'none' if value is None else value}" for key, value in options.items()]
        return " ".join(
            ["cotenant reproduce", self.name, *drawn, *given, *(["--data DATA"] if data else [])]
        )


def paper_of(source: str) -> str:
    """The paper of `PAPERS` that a source such as "Cooper fig. 8" names, or `BEYOND`."""
    return next((paper for mark, paper in PAPERS.items() if source.startswith(mark)), BEYOND)


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run.

    Attributes
    ----------
    experiment, command : what, and what a person types to get it again.
    seconds : wall time.
    findings : the paper's numbers beside ours.
    pictures : its figures redrawn.
    """

    experiment: Experiment
    command: str
    seconds: float
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...] = ()


class ExperimentRow(TypedDict, total=False):
    """An experiment that was run, as a JSONL file keeps it.

    Attributes
    ----------
    data : option -> file and sha256.
    status : "done", "failed" or "skipped"; `error` or `skipped` says why.
    findings : each with what, paper, ours, verdict, note.
    pictures : names.
    """

    problem: str
    experiment: str
    paper: str
    place: str
    what: str
    source: str
    seed: int
    options: dict[str, Any]
    data: dict[str, Any]
    command: str
    status: str
    seconds: float
    findings: list[dict[str, Any]]
    pictures: list[str]
    versions: dict[str, str]
    error: str
    skipped: str
    key: str


_THESIS = (
    "Llull, Microeconomic Models for Managing Shared Datacenters (thesis, Duke University, 2017)"
)

PAPERS: dict[str, str] = {
    "Cooper": "Cooper: Task Colocation with Cooperative Games (2017)",
    "Llull (thesis 2017)": _THESIS,
    "thesis": _THESIS,
    "Skowron and Rzadca": "Skowron and Rzadca, Non-monetary fair scheduling: a cooperative "
    "game theory approach",
    "Hines and Romano": "Hines and Romano, Matching Theory and Virtual Machines",
    "Xu and Yu (2014)": "Xu and Yu, A Game Theory Approach to Fair and Efficient Resource "
    "Allocation in Cloud Computing (2014)",
    "ParvaGPU": "ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud "
    "Environments (2024)",
    "Narayanan et al. (SOSP 2021)": "Narayanan et al., Solving Large-Scale Granular Resource "
    "Allocation Problems Efficiently with POP (2021)",
    "Narayanan et al. (OSDI 2020)": "Narayanan et al., Heterogeneity-Aware Cluster Scheduling "
    "Policies for Deep Learning Workloads (Gavel, 2020)",
    "Weng et al. (ATC 2023)": "Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing "
    "Workloads with Fragmentation Gradient Descent (2023)",
}
"""How an experiment's source begins -> the paper in full."""

BEYOND = "Beyond the papers"

P3ARSEC = "speedup/p3arsec_speedup.csv"
GAVEL = ("throughputs", "gpu/pop/simulation_throughputs.json.gz")
POP_JOBS = ("jobs", "gpu/pop/jobs_2048.json")
_OPENB = "gpu/fgd/openb_{}.csv.gz"
OPENB = (
    ("nodes", _OPENB.format("node_list_gpu_node")),
    ("published", "gpu/fgd/published_allocation.csv"),
    *(
        (workload, _OPENB.format(f"pod_list_{workload}"))
        for workload in "default cpu050 cpu200 gpushare40 gpushare100 gpuspec10 gpuspec33 "
        "multigpu20 multigpu50".split()
    ),
)
LPC = "traces/LPC-EGEE-2004-1.2-cln.swf.gz"


def _experiment(
    problem: str,
    paper: str,
    folder: str,
    name: str,
    place: str,
    function: str,
    what: str,
    **more: Any,
) -> Experiment:
    """An experiment of a paper whose functions are in a folder of this one."""
    source, module = f"{paper} {place}".strip(), f"papers.{folder}.{function}"
    return Experiment(f"{problem}-{name}", problem, source, module, what, **more)


_cooper = partial(_experiment, "colocation", "Cooper", "cooper")
_matching = partial(_experiment, "admission", "Hines and Romano,", "matching")
_fair = partial(_experiment, "scheduling", "Skowron and Rzadca", "fair_scheduling")
_numa = partial(_experiment, "numa", "Llull (thesis 2017)", "thesis_numa")
_beyond = partial(_experiment, "numa", "", "thesis_numa")
_fuga = partial(_experiment, "packing", "Xu and Yu (2014)", "fuga")
_parvagpu = partial(_experiment, "packing", "ParvaGPU", "parvagpu")
_pop = partial(_experiment, "accelerators", "Narayanan et al. (SOSP 2021)", "gavel")
_gavel = partial(_experiment, "accelerators", "Narayanan et al. (OSDI 2020)", "gavel")
_gpus = partial(_experiment, "packing", "Weng et al. (ATC 2023)", "fgd")
_market = partial(_experiment, "market", "thesis", "thesis_market")

# fmt: off
EXPERIMENTS: tuple[Experiment, ...] = (
    _cooper("figure-5", "fig. 5", "examples:figure_5",
        "stable marriage of three memory- and three compute-intensive jobs, round by round"),
    _cooper("figure-7", "figs. 1 and 7, thesis figs. 2.1, 2.9 and 2.10", "attribution:figure_7",
        "penalty of each job by policy, the jobs by increasing bandwidth, beside what is proved "
        "possible", variations={**left_open.populations(), **left_open.policies()}),
    _cooper("figure-8", "fig. 8, thesis fig. 2.11", "attribution:figure_8",
        "ranks of penalty against ranks of bandwidth by policy, and the fairest pairing possible",
        variations={**left_open.populations(slack_seconds=0.0),
                    **left_open.policies(slack_seconds=0.0)}),
    _cooper("figure-9", "fig. 9, thesis fig. 2.12", "stability:figure_9",
        "agents served better, worse and alike when stable policies replace greedy and "
        "complementary ones",
        variations={**left_open.populations(), **left_open.policies(), **left_open.COUPLING,
                    **left_open.MAJORITY}),
    _cooper("figure-10", "fig. 10, thesis fig. 2.13", "stability:figure_10",
        "blocking pairs against alpha by policy, and in how many populations none is proved "
        "possible", variations={**left_open.populations(draws=10), **left_open.policies(draws=10)}),
    _cooper("figure-11", "fig. 11, thesis figs. 2.14 and 2.15", "performance:figure_11",
        "penalties by policy under four mixes of jobs, beside the proved least",
        variations={**left_open.populations(), **left_open.policies(), **left_open.AS_WELL}),
    _cooper("figure-12", "fig. 12, thesis fig. 2.16", "prediction:figure_12",
        "preferences predicted from a sample, and stable policies run on the prediction",
        variations=left_open.populations()),
    _cooper("figure-13", "fig. 13, thesis fig. 2.17", "scaling:figure_13",
        "rank correlation of penalty with bandwidth as populations grow",
        variations={**left_open.populations(proved=0, draws=20), **left_open.POLICY}),
    _cooper("fair-co2", "figs. 7 to 13, on other penalties", "measured:fair_co2_claims",
        "the claims of figures 7 to 13 on the run times that Fair-CO2 measured (-o matrix=)",
        data=(("matrix", "interference/fairco2_runtime_colocation_matrix.csv"),),
        variations={**left_open.draws(draws=3), **left_open.policies(draws=3),
                    **left_open.MAJORITY, **left_open.AS_WELL}),
    _cooper("gavel", "figs. 7 to 13, on other penalties", "measured:gavel_claims",
        "the claims of figures 7 to 13 on the throughputs that Gavel measured of training jobs "
        "sharing a GPU (-o matrix=)", data=(("matrix", "interference/gavel_pairs.json"),),
        variations={**left_open.draws(draws=3), **left_open.policies(draws=3), **left_open.GPU,
                    **left_open.MAJORITY, **left_open.AS_WELL}),
    _cooper("figure-14", "fig. 14", "examples:figure_14",
        "Shapley shares of three users' interference"),
    _matching("table-ii", "Table II", "tables:table_ii",
        "comparison I: VMs and jobs evenly matched, with the optimum",
        variations=left_open.compared()),
    _matching("table-iii", "Table III", "tables:table_iii",
        "comparison II: many VM resources, with the optimum", variations=left_open.compared()),
    _matching("table-iv", "Table IV", "tables:table_iv",
        "comparison III: more jobs than resources, with the optimum",
        variations=left_open.compared()),
    _matching("claims", "section III.B.3-4", "claims:claims",
        "stability, utilization, completion time, proportional fairness"),
    _matching("frontier", "section III.B.3", "tables:frontier_table",
        "most total speed for every number of blocking pairs"),
    _fair("table-1", "table 1", "traces:table_1",
        "unfairness of the rules on windows of 5e4 seconds of a trace", data=(("log", LPC),)),
    _fair("table-2", "table 2", "traces:table_2",
        "unfairness of the rules on windows of 5e5 seconds of a trace", data=(("log", LPC),)),
    _fair("figure-10", "fig. 10", "traces:figure_10",
        "unfairness against the number of organizations", data=(("log", LPC),)),
    _fair("figure-2", "fig. 2", "claims:figure_2_numbers",
        "utility and flow time of a schedule, and what three changes do to them"),
    _fair("figure-7", "fig. 7", "claims:figure_7_numbers",
        "a greedy schedule that wastes a quarter of the machines"),
    _fair("proposition-5.5", "prop. 5.5", "claims:proposition_5_5",
        "a game of unit jobs that is not supermodular"),
    _fair("theorem-5.1", "thm. 5.1", "claims:theorem_5_1", "the reduction from SUBSETSUM, counted"),
    _fair("theorem-6.2", "thm. 6.2", "claims:theorem_6_2",
        "what greedy and fair schedules lose against proved optima"),
    _fair("strategy", "section 4", "claims:strategy",
        "what splitting, merging, delaying or padding a job gains under each rule"),
    _numa("figure-4.2", "fig. 4.2", "costs:figure_4_2",
        "the blade server: cores, links, bridges, and hops between its processors"),
    _numa("table-4.1", "Table 4.1, sections 4.2.1 to 4.2.3", "costs:table_4_1",
        "latency, bandwidth, power and energy of DRAM, HyperTransport and PCIe from their inputs"),
    _numa("figure-4.4", "fig. 4.4", "costs:figure_4_4",
        "what part of the power of data communication the links take"),
    _numa("table-4.2", "Table 4.2", "costs:table_4_2",
        "the benchmarks: demand for remote bandwidth against the penalties of distance"),
    _numa("table-4.3", "Table 4.3, section 4.5.1", "costs:table_4_3",
        "the simulation's parameters against the technology model, and tasks a second"),
    _numa("figure-4.7", "fig. 4.7", "throughput:figure_4_7",
        "throughput sustained by K-means, facesim and string match, and the metastable band"),
    _numa("figure-4.8", "fig. 4.8", "throughput:figure_4_8",
        "throughput sustained by every benchmark"),
    _numa("figure-4.9", "fig. 4.9", "throughput:figure_4_9",
        "95th percentile at high and low load, refusal limits 10, 100 and 1000",
        variations=left_open.HIGH_LOAD),
    _numa("figure-4.10", "fig. 4.10, section 4.5.3", "costs:figure_4_10",
        "energy of migrating pages over that of remote access, and where it breaks even"),
    _numa("figure-4.11", "fig. 4.11", "costs:figure_4_11",
        "power of migrating pages over that of remote access"),
    _numa("figure-4.12", "fig. 4.12", "costs:figure_4_12",
        "energy times squared delay of migrating pages over that of remote access",
        variations=left_open.REUSE),
    _numa("figure-4.13", "fig. 4.13", "power:figure_4_13",
        "link power by policy, the ranking and its reason, 13 W"),
    _numa("figure-4.14", "fig. 4.14", "power:figure_4_14",
        "where tasks run, by distance from their data", variations=left_open.NEAR_SATURATION),
    _numa("queues", "section 4.3.2", "studies:queues",
        "one queue against one per processor: mean and variance of the wait",
        variations=left_open.QUEUES),
    _beyond("policies", "not in the thesis", "studies:policies",
        "of any instance (-o file=): what policies sustain, their p95, and the most of any "
        "placement"),
    _beyond("hot-data", "not in the thesis", "studies:hot_data",
        "what policies sustain with a hot memory or blade, beside the most any placement could"),
    _fuga("figure-2", "fig. 2, section 4.3", "games:figure_2",
        "the worked example: fair share, combinations, strategy sets, utilities"),
    _fuga("figure-3", "fig. 3", "games:figure_3",
        "the game tree of the worked example: best replies and equilibrium"),
    _fuga("figure-5", "fig. 5", "cluster:figure_5",
        "dominant shares on the 8-node cluster: FUGA against the Hadoop fair scheduler",
        variations=left_open.GAME),
    _fuga("figure-6", "fig. 6", "cluster:figure_6",
        "allocated CPU and memory on 50 to 700 servers: FUGA against first fit",
        variations=left_open.GROWING),
    _fuga("figure-7", "fig. 7", "cluster:figure_7",
        "utilization over time slots of a trace (Azure or Alibaba list; the Google trace is not at "
        "hand)", data=(("trace", "packing/azure_v1_vm_requests_dev_20k.csv"),),
        substitute="a synthetic trace"),
    _fuga("theorems-8-10", "Theorems 7 to 10", "games:theorems",
        "random games: sharing incentive, envy, Pareto efficiency, Algorithm 1 against the "
        "equilibrium", variations=left_open.GAMES),
    _parvagpu("mig-deployments", "the six deployments of its repository", "deployments:deployments",
        "cards of the published deployments beside the fewest, and whether they give their rates",
        data=(("rates", "gpu/parva/SLO_req_rate.txt"),)),
    _gpus("fgd-allocation", "abstract, section 6, figs. 9 and 11 to 14", "allocation:allocation",
        "cards allocated on the Alibaba trace of 2023 by policy, beside the most that any "
        "placement could have", data=OPENB),
    _market("section-3.1.2", "section 3.1.2", "mechanisms:section_3_1_2",
        "Alice and Bob under a work-conserving policy"),
    _market("section-3.3.2", "section 3.3.2", "incentives:section_3_3_2",
        "what a user gains by reporting other fractions than its own, by its share of the budgets"),
    _market("figure-3.3", "fig. 3.3", "profiles:figure_3_3",
        "parallel fraction by core count, from measured run times (-o profile=) or a synthetic "
        "profile", data=(("profile", P3ARSEC),), substitute="a synthetic profile"),
    _market("figure-3.4", "fig. 3.4", "profiles:figure_3_4",
        "expected parallel fraction of every workload", data=(("profile", P3ARSEC),),
        substitute="a synthetic profile"),
    _market("figure-3.5", "fig. 3.5", "profiles:figure_3_5",
        "variance of the parallel fraction: where Amdahl's law fits", data=(("profile", P3ARSEC),),
        substitute="a synthetic profile"),
    _market("figure-3.10", "fig. 3.10", "profiles:figure_3_10",
        "errors of predicted run times over core counts", data=(("profile", P3ARSEC),),
        substitute="a synthetic profile", variations=left_open.MACHINES),
    _market("figure-3.11", "fig. 3.11", "mechanisms:figure_3_11",
        "total utility of seven mechanisms, by number of users"),
    _market("figure-3.12", "fig. 3.12", "mechanisms:figure_3_12",
        "envy among 100 users in 10 groups", variations=left_open.HILL_CLIMBING),
    _market("figure-3.13", "fig. 3.13", "mechanisms:figure_3_13",
        "sharing index of seven mechanisms, by number of users", variations=left_open.draws()),
    _pop("figure-2", "fig. 2", "figures:figure_2",
        "2,048 jobs on three kinds of GPU, two on a GPU: the exact optimum, POP and Gandiva beside "
        "the published log", data=(GAVEL, POP_JOBS,
                                   ("log", "gpu/pop/non_trace_num_jobs_2048.out.gz"))),
    _gavel("policies", "section 4", "figures:policies",
        "Gavel's policies as optima, and others, on the same jobs and GPUs",
        data=(GAVEL, POP_JOBS)),
)
"""Every experiment, by problem and place."""

NOT_DETERMINED: tuple[tuple[str, str], ...] = (
    ("Cooper figs. 2 and 3, thesis figs. 2.3 and 2.4",
     "the penalties of four users beside each other are only a picture; the text prints two "
     "numbers of them"),
    ("Cooper figs. 4 and 6, thesis figs. 2.5 and 2.7",
     "drawings of the architecture; there is nothing to compute"),
    ("thesis fig. 2.8",
     "the measured 20 x 20 penalties are only a picture; a stated contention model stands in for "
     "them"),
    ("Cooper figs. 7 to 13, the values of bars, boxes and points",
     "they come from those penalties; what is tested are the sentences about them"),
    ("thesis figs. 3.1, 3.2 and 3.7", "drawings of the architecture; there is nothing to compute"),
    ("thesis figs. 3.3 to 3.5 and 3.10, their values",
     "measured run times of 22 workloads, of which the text prints none"),
    ("thesis fig. 3.6",
     "measured run times of svm and correlation on sampled data sets; the text says only that they "
     "grow linearly with size"),
    ("thesis figs. 3.8 and 3.9",
     "measured run times on sampled and full data sets, none of them printed; "
     "analysis.market.profiles.prediction_errors does it for any profile with several sizes"),
    ("Llull (thesis 2017) fig. 4.1",
     "a sketch of another paper's architecture (scale-out NUMA); there is nothing to compute"),
    ("Llull (thesis 2017) fig. 4.3",
     "bars read off Micron's data sheets; the text prints one of them, 2 W per GB "
     "(numa-table-4.1)"),
    ("Llull (thesis 2017) fig. 4.5",
     "a sketch of the queues; its policies are what numa-figure-4.7 to numa-figure-4.9 run"),
    ("Llull (thesis 2017) fig. 4.6",
     "shares of local and remote accesses of each benchmark, from processor simulation; none is "
     "printed"),
    ("Llull (thesis 2017) figs. 4.10 to 4.12, the bars of each benchmark",
     "they need the data accessed for each byte of a page (D_access / D_page), printed for no "
     "benchmark; drawn instead is the whole curve over that number"),
    ("Skowron and Rzadca figs. 4, 5 and 8",
     "sketches of schedules inside proofs, of no particular instance"),
    ("Skowron and Rzadca tables 1 and 2, columns PIK-IPLEX, SHARCNET-Whale and RICC",
     "the traces have to be fetched by hand from the Parallel Workloads Archive: -o trace=RICC -o "
     "log=FILE"),
    ("Skowron and Rzadca fig. 10, its values",
     "only a picture; that the ratio grows is what scheduling-figure-10 tests"),
    ("Xu and Yu (2014) fig. 4", "what the three services consume over ten minutes: only a picture"),
    ("Xu and Yu (2014) fig. 5, over time",
     "it follows the consumption of fig. 4, which is not printed; packing-figure-5 has elastic "
     "users"),
    ("Xu and Yu (2014) figs. 6 and 7, their values",
     "driven by the Google trace of 2011, in a form the text does not determine"),
    ("Weng et al. (ATC 2023) fig. 7",
     "fragments by cause while pods arrive; packing-fgd-allocation has the allocation at the end"),
    ("Weng et al. (ATC 2023), the clustering policy",
     "it needs the affinity of pods, which the lists do not have"),
)
# fmt: on
"""Figures and tables that their papers' text does not determine: (place, reason)."""

SECONDS = {
    "colocation-figure-7": 45,
    "colocation-figure-8": 45,
    "colocation-figure-9": 45,
    "colocation-figure-10": 120,
    "colocation-figure-11": 120,
    "colocation-figure-12": 30,
    "colocation-figure-13": 90,
    "colocation-fair-co2": 120,
    "colocation-gavel": 240,
    "admission-table-ii": 120,
    "admission-table-iii": 90,
    "admission-table-iv": 90,
    "scheduling-table-1": 20,
    "scheduling-table-2": 180,
    "scheduling-figure-10": 60,
    "scheduling-strategy": 30,
    "numa-figure-4.7": 360,
    "numa-figure-4.8": 30,
    "numa-figure-4.9": 240,
    "numa-figure-4.13": 5,
    "numa-figure-4.14": 10,
    "numa-queues": 60,
    "numa-policies": 10,
    "numa-hot-data": 30,
    "market-figure-3.12": 5,
    "market-figure-3.13": 10,
    "packing-figure-5": 5,
    "packing-figure-6": 440,
    "packing-figure-7": 10,
    "packing-theorems-8-10": 90,
    "market-section-3.3.2": 5,
}
"""About how long an experiment takes, where it is more than a few seconds."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; raises UnknownName with the near ones."""
    return experiments_named([name], {})[0]


def experiments_named(names: Sequence[str], papers: Mapping[str, str]) -> list[Experiment]:
    """The experiments of these names, each once; raises UnknownName with the near ones.

    Parameters
    ----------
    names : of experiments, or of papers, or "all".
    papers : a paper's short name -> the paper in full.
    """
    chosen: list[Experiment] = []
    for name in names:
        if name == "all" or name in papers:
            chosen += [one for one in EXPERIMENTS if name == "all" or one.paper == papers[name]]
            continue
        known = {one.name: one for one in EXPERIMENTS}
        if name not in known:
            raise UnknownName("experiment", name, [*known, *papers], "cotenant reproduce --list")
        chosen.append(known[name])
    return list(dict.fromkeys(chosen))
