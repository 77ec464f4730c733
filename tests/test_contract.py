"""What every method of the catalogue owes, whatever its problem: its answer is feasible and worth
what it says, its bound holds, also when it is interrupted or out of time, or without some of its
routes; the same seed gives the same answer, a start is not lost, and names do not matter; what is
exact equals enumeration, ends behind no policy, and no policy is better than its bound.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.measured import DATA, needs_data
from support.messages import refused
from support.oracles.optima import OPTIMA
from support.seeds import seeds
from support.small_cases import packing
from support.strategies import DRAWN, instances, renamed

import cotenant
from cotenant import catalog
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.tables import method_tables, result_tables
from cotenant.analysis.run.question import Question, outcome_of
from cotenant.analysis.run.result import Result, fingerprint
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.starts import Starts
from cotenant.analysis.run.verify_result import recheck
from cotenant.catalog import first_sentence
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.formats import gavel
from cotenant.instances.colocation.generators import population as agents
from cotenant.instances.colocation.generators import random_preferences
from cotenant.instances.groups.generators import table
from cotenant.instances.market.generators import population
from cotenant.instances.packing import Packing
from cotenant.instances.packing.generators import caprara_toth, cluster
from cotenant.instances.problem import Instance, check, scale
from cotenant.instances.problem.errors import (
    InfeasibleSolution,
    InvalidInstance,
    InvalidOption,
    NoSolution,
    TimeLimitTooShort,
    UnknownName,
)
from cotenant.instances.problem.options import accepts
from cotenant.instances.problem.registry import problem_named
from cotenant.solvers.admission.search import AdmissionLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.groups.core import CoreLimits
from cotenant.solvers.groups.optimal import GroupLimits
from cotenant.solvers.market.fisher import FisherLimits
from cotenant.solvers.outcome import AGREE, Clock, Outcome, Status, Stop
from cotenant.solvers.packing.cards import CardLimits
from cotenant.solvers.packing.game.play import PlayLimits
from cotenant.solvers.packing.minimum import cheap_starts
from cotenant.solvers.packing.moves_routes import MovesLimits
from cotenant.solvers.packing.portfolio_state import PortfolioLimits
from cotenant.solvers.routes import Routed

EXACT = [method for method in catalog.METHODS if method.kind == "exact"]

BUNDLED = (
    "colocation/tiny", "colocation/no-stable-4", "colocation/two-sides-6", "admission/tiny",
    "packing/tiny", "packing/cards", "packing/cluster-12-40", "packing/paper-example",
    "packing/vm-types-8", "market/tiny",
    "scheduling/tiny", "scheduling/figure-2", "groups/tiny", "accelerators/tiny", "quanta/tiny",
    "lifetimes/tiny",
    "elastic/tiny",
)  # fmt: skip
"""Bundled instances on which every exact method is quick."""

LARGER = (
    "colocation/error-100", "colocation/preferences-100", "colocation/cooper-1000",
    "admission/hines-romano-I", "packing/caprara-toth-1-40", "packing/few-types-6-300",
    "market/pool-100", "scheduling/lpc-like", "scheduling/figure-7", "groups/cooper-4-seats",
)  # fmt: skip

LIMIT = 5.0
"""Seconds for each run; what is proved by then is not what is tested."""


def pairs(names: Iterable[str]) -> list[Any]:
    """Parameters: each instance with each exact method of its problem."""
    return [
        pytest.param(name, method, id=f"{name}-{method.name}")
        for name in names
        for method in EXACT
        if method.problem == name.partition("/")[0]
    ]


def drawn(seed: int) -> Iterator[Instance]:
    """A small instance by chance of each problem, and a cluster."""
    rng = np.random.default_rng(seed)
    yield from (draw(rng) for problem, draw in DRAWN.items() if problem != "numa")
    yield packing(seed)
    yield packing(seed, limited=True)
    yield cluster(nodes=12, vms=30, types=6, rng=rng)


def policies(instance: Instance, options: dict[str, Any]) -> Iterator[tuple[str, Result]]:
    """The answers of all policies that suit an instance and have one, quick or not."""
    for policy in catalog.methods(instance.problem):
        if policy.kind == "heuristic" and policy.applies_to(instance):
            try:
                yield policy.name, cotenant.solve(instance, policy.name, time_limit=60, **options)
            except (NoSolution, InvalidInstance, InvalidOption):
                continue


def broken(instance: Instance, method: catalog.Method, **options: Any) -> Iterator[str]:
    """What a run of an exact method does not keep of what it owes."""
    try:
        result = cotenant.solve(instance, method.name, time_limit=LIMIT, **options)
    except (InvalidInstance, InvalidOption):  # it says that the instance is none of its own
        return
    assert "answer_by" not in result.certificate or method.name != "optimal"
    yield from recheck(instance, result, time_limit=0).broken
    compared = Question.of(instance, method.name, options)
    mine = None
    if result.solution is not None:
        mine = compared.worth(result.solution, result.metrics)
    sense, unit = compared.signs[0], scale(instance, compared.levels[0], **options)
    shown = {name: options[name] for name in options if name in ("alpha", "alpha_mode")}
    for name, policy in policies(instance, shown) if method.starts else ():
        theirs = compared.worth(policy.solution, policy.metrics)
        if theirs is None:
            continue
        if mine is None:
            yield f"no answer ({result.status}), but {name} has one"
        elif compared.before(theirs, mine):
            yield f"its answer is worth {mine}, that of {name} {theirs}"
        place = len(theirs) - len(compared.levels)
        if (
            result.bound is not None
            and (mine is None or theirs[:place] <= mine[:place])
            and sense * result.bound - theirs[place] > AGREE * unit
        ):
            yield f"its bound is {result.bound}, and {name} has {sense * theirs[place]}"


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "method"), pairs(BUNDLED))
def test_exact_methods_are_never_worse_than_policies(name: str, method: catalog.Method) -> None:
    instance = cotenant.read(name)
    assert not method.applies_to(instance) or list(broken(instance, method)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(40, 1))
def test_exact_methods_are_never_worse_than_policies_on_drawn_instances(seed: int) -> None:
    wrong = [
        f"{method.name} on {instance}: {what}"
        for instance in drawn(seed)
        for method in EXACT
        if method.problem == instance.problem and method.applies_to(instance)
        for what in broken(instance, method)
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), pairs(LARGER))
def test_exact_methods_are_never_worse_than_policies_on_larger_instances(
    name: str, method: catalog.Method
) -> None:
    test_exact_methods_are_never_worse_than_policies(name, method)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("method", ["optimal", "stable"])
@pytest.mark.parametrize("gpu", ["v100", "p100"])
@pytest.mark.parametrize("copies", [4, 20])
def test_exact_methods_are_never_worse_than_policies_on_measured_penalties(
    gpu: Any, copies: int, method: str
) -> None:
    instance = gavel(DATA / "interference" / "gavel_pairs.json", gpu=gpu, copies=copies)
    assert list(broken(instance, catalog.find("colocation", method))) == []


PER_METHOD = pytest.mark.parametrize(
    "method", catalog.METHODS, ids=lambda method: f"{method.problem}-{method.name}"
)
SUITED = (
    "colocation/no-stable-4", "colocation/two-sides-6", "packing/paper-example",
    "packing/cluster-12-40", "packing/cards", "scheduling/figure-2",
)  # fmt: skip
"""The first of these that suits a method, else the tiny one of its problem, is what it is asked."""

SLICED = ("fewest-moves",)
"""Searches in slices of seconds: of answers that are worth the same they may give another."""


@cache
def suited(method: catalog.Method) -> Instance:
    """An instance for a method."""
    names = [name for name in SUITED if name.startswith(method.problem)]
    for instance in map(cotenant.read, (*names, f"{method.problem}/tiny", "packing/vm-types-8")):
        if instance.problem == method.problem and method.applies_to(instance):
            return instance
    raise AssertionError(f"no instance for {method.name}")


def ask(method: catalog.Method, instance: Instance | None = None, **given: Any) -> Outcome:
    """What the function of a method says, without what `solve` does for it."""
    function, chosen = method.resolve(), suited(method) if instance is None else instance
    every = {"rng": np.random.default_rng(0), **given}
    call = {name: value for name, value in every.items() if accepts(function, name)}
    kinds = problem_named(method.problem).solutions
    return outcome_of(function(chosen, **call), kinds, method.name)


def worth(method: catalog.Method, solution: Any) -> float | None:
    """The value of an answer, the less the better; None for no answer."""
    if solution is None:
        return None
    check(suited(method), solution)
    metrics = analysis_of(method.problem).metrics(suited(method), solution)
    return sign(method) * metrics[method.objective] if method.objective in metrics else None


def sign(method: catalog.Method) -> int:
    """-1 where more is better."""
    table = analysis_of(method.problem).metric_table
    return -1 if next(m.sense for m in table if m.name == method.objective) == "max" else 1


@cache
def whole(method: catalog.Method) -> Outcome:
    """A method's answer with all the time it needs."""
    return ask(method)


def contents(outcome: Outcome) -> tuple[Any, ...]:
    """What an outcome says, without when it found it."""
    solution = None if outcome.solution is None else outcome.solution.document()
    return solution, outcome.bound, outcome.status, outcome.stop, repr(dict(outcome.certificate))


def holds(method: catalog.Method, outcome: Outcome) -> None:
    """An answer that was found in part of the time is feasible, its bound true, its status what
    both say.
    """
    value, best = worth(method, outcome.solution), worth(method, whole(method).solution)
    if outcome.solution is None:
        assert outcome.status in (Status.UNKNOWN, Status.INFEASIBLE)
    if outcome.bound is None or outcome.tolerance is not None or best is None:
        assert outcome.bound is None or method.kind in ("exact", "equilibrium")
        return
    near = 1e-6 * max(1.0, abs(best))
    assert sign(method) * outcome.bound <= best + near
    assert (outcome.status is Status.OPTIMAL) <= (value is not None and value <= best + near)


@pytest.mark.sampled(4)
@PER_METHOD
def test_result_is_consistent_and_survives_its_file(method: catalog.Method, tmp_path: Path) -> None:
    instance = suited(method)
    before = fingerprint(instance)
    result = cotenant.solve(instance, method.name)
    assert fingerprint(instance) == before
    assert result.status is not Status.UNKNOWN
    assert (result.bound is None) or method.kind in ("exact", "equilibrium")
    document = json.loads(json.dumps(result.document(), allow_nan=False))
    again = Result.from_document(document)
    assert json.loads(json.dumps(again.document())) == document
    assert Result.read(again.write(tmp_path / "result.json")) == again
    assert recheck(instance, again).broken == ()
    tables = list(result_tables(again, analysis_of(instance.problem).metric_table, None))
    assert all(form() for table in tables for form in (table.csv, table.latex, table.markdown))
    assert tables[0].rows[0][1].startswith(again.status.value)


BOUNDED = pytest.mark.parametrize(
    "method",
    [method for method in catalog.METHODS if method.kind in ("exact", "equilibrium")],
    ids=lambda method: f"{method.problem}-{method.name}",
)


def unsourced(method: catalog.Method, instance: Instance, folder: Path) -> Iterator[str]:
    """What a method claims of an instance beyond the source of its bounds."""
    try:
        result = cotenant.solve(instance, method.name, time_limit=LIMIT)
    except (InvalidInstance, InvalidOption, NoSolution):
        return
    if result.bound is None and result.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return
    made = cotenant.prove(instance, result, folder)
    if not method.bound_source or made.refused:
        yield f"bound {result.bound} without a source: {made.says}"
    elif method.kind == "equilibrium":
        if result.tolerance is None or result.bound != 0:
            yield f"bound {result.bound} to within {result.tolerance}"
    elif not method.proof_producer:
        assert made.proof_status == "claimed"
        assert method.bound_source in made.says
    elif made.proof_status != "certified" and not method.unproved:
        yield f"{made.says} ({made.weaker})"


@pytest.mark.sampled(4)
@BOUNDED
def test_bound_source_equals_catalog_entry(method: catalog.Method, tmp_path: Path) -> None:
    assert method.bound_source
    if suited(method) != cotenant.read("scheduling/figure-2"):  # proved by a search of a solver's
        method = replace(method, unproved="")
    assert list(unsourced(method, suited(method), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 8))
def test_bound_source_on_drawn_instances_equals_catalog_entry(seed: int, tmp_path: Path) -> None:
    wrong = [
        f"{method.name} on {instance}: {what}"
        for instance in drawn(seed)
        for method in catalog.methods(instance.problem)
        if method.kind in ("exact", "equilibrium") and method.applies_to(instance)
        for what in unsourced(method, instance, tmp_path)
    ]
    assert wrong == []


@pytest.mark.sampled(6)
@PER_METHOD
def test_equal_seeds_give_equal_answers(method: catalog.Method) -> None:
    first, second = contents(whole(method)), contents(ask(method))
    assert first == second or (method.name in SLICED and first[1:4] == second[1:4])


@pytest.mark.sampled(4)
@PER_METHOD
def test_time_limit_near_zero_is_reported_with_valid_claims(method: catalog.Method) -> None:
    if not accepts(method.resolve(), "time_limit"):
        return
    try:
        outcome = ask(method, time_limit=1e-9)
    except TimeLimitTooShort:
        assert method.kind == "heuristic"
        return
    holds(method, outcome)
    assert outcome.status is not Status.INFEASIBLE


@pytest.mark.sampled(8)
@PER_METHOD
@pytest.mark.parametrize("at", [1, 2, 4])
def test_interrupt_keeps_incumbent_and_valid_bound(method: catalog.Method, at: int) -> None:
    if not accepts(method.resolve(), "report"):
        return
    reports = []

    def report(*seen: Any) -> None:
        reports.append(seen)
        if len(reports) == at:
            raise KeyboardInterrupt

    try:
        outcome = ask(method, report=report)
    except KeyboardInterrupt:  # nothing to hand in: a report of an answer was not yet over
        assert len(reports) == at
        return
    holds(method, outcome)
    stopped = outcome.stop is Stop.INTERRUPTED
    assert stopped <= (len(reports) >= at)
    assert stopped or len(reports) < at or contents(outcome)[1:4] == contents(whole(method))[1:4]


@pytest.mark.sampled(3)
@PER_METHOD
def test_exact_method_keeps_valid_first_answer_and_ignores_invalid(method: catalog.Method) -> None:
    best = whole(method)
    if not accepts(method.resolve(), "start") or method.name in ("joint-optimum", "fisher"):
        return  # those take prices, or only what is in their strategy sets
    assert best.solution is not None
    value = worth(method, best.solution)
    kept = ask(method, start=best.solution, time_limit=1e-9)
    assert value is not None
    assert worth(method, kept.solution) == pytest.approx(value, rel=1e-9)
    holds(method, kept)
    for strange in strangers(method):
        try:
            assert contents(ask(method, start=strange))[1] == best.bound
        except (InvalidOption, InfeasibleSolution):
            continue


def strangers(method: catalog.Method) -> Iterator[Any]:
    """Answers to another instance of the problem, and to one of another problem."""
    for problem in (method.problem, "groups" if method.problem == "market" else "market"):
        instance = cotenant.read(f"{problem}/tiny")
        policy = next(m for m in catalog.methods(problem) if m.kind == "heuristic" and
                      m.applies_to(instance))  # fmt: skip
        if instance != suited(method):
            yield cotenant.solve(instance, policy.name).solution


@pytest.mark.sampled(3)
@PER_METHOD
def test_bound_claimed_by_a_policy_is_detected(method: catalog.Method) -> None:
    if method.kind != "heuristic":
        return
    result = cotenant.solve(suited(method), method.name)
    assert result.objective is not None
    claims = [replace(result, bound=result.objective - sign(method)),
              replace(result, status=Status.OPTIMAL)]  # fmt: skip
    for claim in claims:
        assert recheck(suited(method), claim).broken


COUNTED: dict[str, dict[str, Any]] = {"utilitarian": {"whole": True}}
"""Options with which a method's question can be enumerated, and does not hang on names."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("problem", DRAWN)
@settings(max_examples=4)
@given(data=st.data())
def test_exact_methods_equal_enumeration_after_renaming(problem: str, data: st.DataObject) -> None:
    instance = data.draw(instances(problem))
    other = renamed(instance, np.random.default_rng(0))
    best = OPTIMA[problem](instance)
    for method in EXACT:
        if method.problem != problem or not method.applies_to(instance):
            continue
        options = COUNTED.get(method.name, {})
        found, again = (cotenant.solve(one, method.name, **options) for one in (instance, other))
        assert found.status == again.status
        value = best.get(method.objective, again.objective)
        if value is None:
            assert found.objective is None, (method.name, instance)
        elif found.objective is not None or method.name != "REF":  # nobody to be unfair to
            assert found.status is Status.OPTIMAL, (method.name, instance)
            assert found.objective == pytest.approx(again.objective, rel=1e-6, abs=1e-9)
            assert found.objective == pytest.approx(value, rel=1e-9, abs=1e-12), method.name


STABLE = catalog.find("colocation", "stable")
STARTED = [method for method in EXACT if method.starts]
OF = {
    "colocation": "colocation/tiny", "admission": "admission/hines-romano-I",
    "packing": "packing/cluster-12-40", "market": "market/tiny", "scheduling": "scheduling/lpc-like",
    "groups": "groups/tiny", "accelerators": "accelerators/tiny",
    "lifetimes": "lifetimes/tiny",
    "elastic": "elastic/tiny",
}  # fmt: skip
SHARED = ("max-min-share", "max-utilization")


@cache
def asked(method: catalog.Method) -> tuple[Instance, Starts]:
    """An instance that suits a method, and what its policies have of it."""
    instance = cotenant.read(OF[method.problem])
    if not method.applies_to(instance):
        others = {"max-gpus": "packing/cards"} | dict.fromkeys(SHARED, "packing/vm-types-8")
        instance = cotenant.read(others.get(method.name, "packing/tiny"))
    starts = Starts(Question.of(instance, method.name, {}), seed=0)
    starts.look(Clock())
    return instance, starts


def run_as(method: catalog.Method, function: Callable[..., Outcome], instance: Instance) -> Result:
    """A function run as a method that gets its starts from policies."""
    question = replace(Question.of(instance, method.name, {}), function=function)
    return run(question, Starts(question, seed=0), time_limit=LIMIT)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", STARTED, ids=lambda method: f"{method.problem}-{method.name}")
def test_policy_answer_replaces_missing_answer_of_method(method: catalog.Method) -> None:
    instance, starts = asked(method)
    assert starts.best is not None
    every = [
        starts.question.worth(found.solution, found.metrics) for _, found in policies(instance, {})
    ]
    assert starts.best.worth == min(worth for worth in every if worth is not None)
    seen = []

    def nothing(instance: Instance, *, start: Any = None) -> Outcome:
        seen.append(start)
        return Outcome(None, None, Status.UNKNOWN)

    result = run_as(method, nothing, instance)
    assert starts.question.worth(seen[0], result.metrics) == starts.best.worth
    assert starts.question.worth(result.solution, result.metrics) == starts.best.worth
    assert (result.status, result.bound) == (Status.FEASIBLE, None)
    assert result.certificate["answer_by"] == starts.best.policy


@pytest.mark.parametrize("claim", ["worse", "infeasible", "bound"])
def test_claim_contradicted_by_a_policy_is_withdrawn(claim: str) -> None:
    """A worse answer keeps its bound; that there is none, or none so good, is not accepted."""
    instance, starts = asked(STABLE)
    worst = max(
        (found for _, found in policies(instance, {})),
        key=lambda found: starts.question.worth(found.solution, found.metrics) or (),
    )
    value = worst.metrics["blocking_pairs"]
    assert starts.best is not None
    assert starts.best.worth[0] < value
    made = {
        "worse": Outcome(worst.solution, 0.0, Status.FEASIBLE, certificate={"proof": "a claim"}),
        "infeasible": Outcome(None, None, Status.INFEASIBLE),
        "bound": Outcome(worst.solution, value, Status.OPTIMAL),
    }[claim]
    result = run_as(STABLE, lambda instance: made, instance)
    assert result.metrics["blocking_pairs"] == starts.best.worth[0]
    if claim == "worse":
        assert (result.bound, result.certificate["search"]) == (0.0, {"proof": "a claim"})
    else:
        assert (result.bound, result.status) == (None, Status.FEASIBLE)
        assert starts.best.policy in result.certificate["withdrawn"]


@pytest.mark.slow
def test_policy_in_child_process_has_same_answer_or_is_killed() -> None:
    instance = cotenant.read("colocation/no-stable-4")
    starts, apart = (Starts(Question.of(instance, "stable", {}), seed=0) for _ in range(2))
    policies = [catalog.find("colocation", name) for name in ("SR", "GR")]
    for policy in policies:
        assert starts._ask(policy, 1.0)
    apart._ask_apart(policies, Clock(), last=60.0)
    assert apart.best is not None
    assert apart.best == starts.best
    late = Starts(Question.of(instance, "stable", {}), seed=0)
    late._ask_apart(policies, Clock(), last=1e-6)
    assert late.best is None


def priced(seed: int) -> Iterator[Packing]:
    """Clusters and other packings whose server classes differ in cost."""
    rng = np.random.default_rng(seed)
    vms = cluster(nodes=12, vms=40, types=8, rng=rng)
    for instance in (vms, packing(seed), packing(seed, limited=True)):
        yield instance.replace(cost=rng.integers(1, 9, size=instance.classes))


def costs_of(instance: Packing, limit: float) -> dict[str, float]:
    """What the servers of each method's answer cost; infinite without one."""
    found = {}
    for name in ("min-servers", "fewest-moves", "min-cost"):
        if catalog.find("packing", name).applies_to(instance):
            result = cotenant.solve(instance, name, time_limit=limit)
            found[name] = result.metrics.get("cost", np.inf)
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", seeds(20, 2))
def test_min_cost_never_exceeds_cost_of_min_servers(
    seed: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor than those of the fewest moves; also where the time is over before anything begins."""
    if late:
        monkeypatch.setattr(Clock, "expired", property(lambda self: True))
    for instance in priced(seed):
        found = costs_of(instance, 0.01 if late else LIMIT)
        assert found["min-cost"] == min(found.values())


def test_methods_start_from_answers_of_other_methods() -> None:
    instance = next(priced(1))
    others = costs_of(instance, LIMIT)
    unanswered = Outcome(None, None, Status.UNKNOWN)
    result = run_as(catalog.find("packing", "min-cost"), lambda instance: unanswered, instance)
    assert result.objective <= min(others["min-servers"], others["fewest-moves"])
    assert result.certificate["answer_by"] in ("min-servers", "fewest-moves")
    assert cheap_starts(instance.replace(cost=np.full(instance.classes, 3))) == ()


def test_only_requested_metrics_are_computed_with_equal_values() -> None:
    for method in STARTED:
        instance, starts = asked(method)
        metrics = analysis_of(method.problem).metrics
        assert starts.best is not None
        few = metrics(instance, starts.best.solution, only=starts.question.levels)
        every = metrics(instance, starts.best.solution)
        assert {level: few[level] for level in starts.question.levels} == {
            level: every[level] for level in starts.question.levels
        }
        assert few.items() <= every.items()


def seeded() -> np.random.Generator:
    return np.random.default_rng(11)


CASES: dict[str, tuple[Instance, str, Any]] = {
    "stable": (Colocation(seeded().random((5, 5)), [2, 3, 1, 2, 2]), "stable", StableLimits()),
    "roommates": (random_preferences(agents=20, rng=seeded()), "stable", StableLimits()),
    "fair": (agents(agents=12, rng=seeded()), "fair", FairLimits()),
    "matching": (random_preferences(agents=20, rng=seeded()), "optimal", OptimalLimits()),
    "groups": (table(types=4, jobs=9, seats=3, rng=seeded()), "optimal", GroupLimits()),
    "core": (table(types=4, jobs=9, seats=3, rng=seeded()), "core", CoreLimits()),
    "servers": (caprara_toth(items=12, rng=seeded()), "min-servers", PortfolioLimits()),
    "cluster": (cluster(nodes=12, vms=40, types=8, rng=seeded()), "min-cost", PortfolioLimits()),
    "moves": (cotenant.read("packing/cluster-12-40"), "fewest-moves", MovesLimits()),
    "cards": (cotenant.read("packing/cards"), "max-gpus", CardLimits()),
    "play": (cotenant.read("packing/paper-example"), "FUGA", PlayLimits()),
    "fisher": (population(users=9, servers=9, jobs=3, rng=seeded()), "fisher", FisherLimits()),
    "admission": (cotenant.read("admission/tiny"), "optimal", AdmissionLimits()),
}


def without_routes(limits: Any) -> Any:
    """The limits, and those inside them, with no route that can be left out."""
    inner = {part.name: getattr(limits, part.name) for part in fields(limits)}
    new = {name: without_routes(part) for name, part in inner.items() if is_dataclass(part)}
    if isinstance(limits, Routed):
        new["routes"] = frozenset()
    return replace(limits, **new)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_exact_method_without_optional_steps_has_feasible_answer_and_valid_bound(name: str) -> None:
    instance, method, limits = CASES[name]
    entry = catalog.find(instance.problem, method)
    bare = entry.resolve()(instance, time_limit=0.5, limits=without_routes(limits))
    if bare.solution is not None:
        check(instance, bare.solution)
    if bare.bound is not None and method != "fisher":
        best = cotenant.solve(instance, method, time_limit=5).objective
        assert best is not None
        assert sign(entry) * bare.bound <= sign(entry) * best + 1e-6 * max(1, abs(best))


def test_route_of_another_portfolio_is_refused() -> None:
    with refused(UnknownName):
        StableLimits(routes=frozenset({"annealing"}))


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("colocation", "stable"), ("colocation", "fair"), ("groups", "core"),
        ("packing", "min-cost"), ("packing", "fewest-moves"), ("packing", "max-gpus"),
    ],
)  # fmt: skip
def test_routes_of_a_portfolio_are_listed_in_the_order_in_which_they_run(
    problem: str, name: str
) -> None:
    method = catalog.find(problem, name)
    _, _, *listed = method_tables(method)
    routes = sys.modules[method.resolve().__module__].ROUTES
    assert len(listed) == len(routes) >= 1
    for shown, functions in zip(listed, routes.values(), strict=True):
        words = [[step + 1, first_sentence(route)] for step, route in enumerate(functions)]
        assert [list(row) for row in shown.rows] == words
        assert all(words)
