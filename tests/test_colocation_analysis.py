"""Colocation studies: advice, shares, predictions, queues, and Cooper's figures redone."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.interval_cases import advised_agents_and_pairs
from support.messages import refused
from support.oracles import colocation as brute
from support.oracles.epochs import run_epochs
from support.seeds import numbers

import cotenant
from cotenant.analysis.colocation.batches import most_pairs, pair_oldest
from cotenant.analysis.colocation.metrics import could_block, metrics
from cotenant.analysis.colocation.prediction import predicted_instance
from cotenant.analysis.colocation.recommender import recommend
from cotenant.analysis.colocation.satisfaction import satisfaction
from cotenant.analysis.report.picture import Chart
from cotenant.baselines.colocation import complementary, greedy, marriage_random, roommates
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.generators import population
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution
from cotenant.papers.cooper import populations
from cotenant.papers.cooper.attribution import figure_7, figure_8
from cotenant.papers.cooper.populations import POLICIES, Setting
from cotenant.papers.cooper.stability import figure_9, figure_10, figure_11
from cotenant.papers.experiment import Finding

made: Any = Colocation  # lists serve as arrays here
paired: Any = Pairing


def random_case(seed: int) -> tuple[Colocation, Pairing] | None:
    """A small instance of any kind, and a feasible pairing that no policy would choose."""
    rng = np.random.default_rng(seed)
    types = int(rng.integers(1, 6))
    penalty = rng.integers(-1, 8, (types, types)) / 20
    if seed % 2:
        penalty = np.where(rng.random((types, types)) < 0.15, np.inf, penalty)
    count = rng.integers(0, 5, types)
    extra: list[dict[str, Any]] = [{}, {"machines": np.inf}, {"unpaired": 0.5}]
    try:
        instance = made(penalty, count, **extra[seed % 3])
    except InvalidInstance:
        return None
    kinds = instance.agent_types()
    order, partner = rng.permutation(len(kinds)), np.full(len(kinds), -1)
    for i, j in zip(order[::2], order[1::2], strict=False):
        if instance.allowed[kinds[i], kinds[j]]:
            partner[i], partner[j] = j, i
    pairing = Pairing.from_partners(kinds, partner, types)
    return (instance, pairing) if pairing.single.sum() <= instance.singles_allowed else None


def random_cases(number: int) -> Iterator[tuple[Colocation, Pairing]]:
    cases = (random_case(seed) for seed in itertools.count())
    return itertools.islice((case for case in cases if case is not None), number)


# --- recommender ----------------------------------------------------------------------------------


def test_threshold_policy_rejects_penalty_equal_to_tolerance() -> None:
    instance = made([[0.1, 0.1], [0.09, 0.0]], [1, 1])
    assert metrics(instance, paired([0], [1], [1], [0, 0]))["within_tolerance"] == 0.5


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", numbers(250, 40))
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.1])
def test_recommender_advises_breaking_away_iff_in_blocking_pair(alpha: float, number: int) -> None:
    advised = 0
    for instance, pairing in random_cases(number):
        found = recommend(instance, pairing, alpha=alpha)
        blocking = blocking_pairs(instance, pairing, alpha)
        assert advised_agents_and_pairs(found) == (blocking.agents, blocking.count)
        assert sum(entry.agents for entry in found) == instance.agents
        advised += blocking.agents
        check_advice_by_agents(instance, pairing, alpha)
    assert advised


def check_advice_by_agents(instance: Colocation, pairing: Pairing, alpha: float) -> None:
    """Expand to agents; for each, everyone with whom it forms a blocking pair."""
    kinds = instance.agent_types().tolist()
    partner, borne = brute.partners_of(instance, pairing), instance.penalty
    willing = [Counter[int]() for _ in kinds]
    for i, j in brute.blocks(instance, partner, alpha):
        willing[i][kinds[j]] += 1
        willing[j][kinds[i]] += 1
    advice = {(each.kind, each.beside): each for each in recommend(instance, pairing, alpha=alpha)}
    for i, penalty in enumerate(brute.penalties(instance, partner)):
        entry = advice[kinds[i], None if partner[i] < 0 else kinds[partner[i]]]
        assert (entry.action == "break away") == bool(willing[i])
        assert {choice.kind: choice.willing for choice in entry.alternatives} == willing[i]
        gains = [choice.gain for choice in entry.alternatives]
        assert gains == pytest.approx(
            [penalty - borne[kinds[i], c.kind] for c in entry.alternatives]
        )
        assert gains == sorted(gains, reverse=True)


# --- preference satisfaction ----------------------------------------------------------------------


def test_satisfaction_compares_agents_of_one_type_by_rank() -> None:
    penalty = np.array([[0.0, 0.1, 0.2, 0.3], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    instance = made(penalty, [2, 2, 2, 2], machines=8)
    good = paired([0, 0], [1, 2], [1, 1], [0, 1, 1, 2])  # type 0 bears .1 and .2
    bad = paired([0, 0], [2, 3], [1, 1], [0, 2, 1, 1])  # .2 and .3
    better = paired([0], [1], [2], [0, 0, 2, 2])  # .1 and .1

    def of_the_first(old: Pairing, new: Pairing, **options: Any) -> tuple[Any, ...]:
        found = satisfaction(instance, old, new, **options)
        return tuple(part[0] for part in (found.improved, found.degraded, found.unchanged))

    assert of_the_first(bad, good) == (2, 0, 0)
    assert of_the_first(good, bad) == (0, 2, 0)
    assert of_the_first(good, better) == (1, 0, 1)
    assert of_the_first(bad, good, coupling="random") == (1.5, 0.0, 0.5)  # .2 to .2 in 1 of 4
    assert satisfaction(instance, bad, good, alpha=0.15).totals["improved"] == 0


# --- predicted penalties --------------------------------------------------------------------------


@pytest.mark.slow
def test_predictions_keep_known_entries_and_are_valid() -> None:
    for instance, pairing in random_cases(120):
        if not (instance.allowed & np.outer(instance.count, instance.count).astype(bool)).any():
            continue
        predicted = predicted_instance(instance, 0.3, np.random.default_rng(1))
        assert (predicted.allowed == instance.allowed).all()
        assert (predicted.count == instance.count).all()
        assert (predicted.machines, predicted.unpaired) == (instance.machines, instance.unpaired)
        check(predicted, pairing)
        whole = predicted_instance(instance, 1.0)
        assert (whole.penalty == instance.penalty).all()


@pytest.mark.parametrize("highest", [0.95, 1.0])
def test_predictions_are_clipped_to_valid_penalties(highest: float) -> None:
    level = np.repeat([0.4, 1.0], 6)
    noise = 0.8 + 0.2 * np.random.default_rng(0).random((12, 12))
    penalty = highest * np.outer(level, level) * noise
    unpaired = highest if highest < 1 else None
    instance = made(penalty, np.full(12, 2), unpaired=unpaired)
    cut = [
        predicted_instance(instance, 0.3, np.random.default_rng(seed)).penalty.max()
        for seed in range(20)
    ]
    assert max(cut) == highest


def test_prediction_keeps_sampled_entries_and_depends_on_seed() -> None:
    instance = population(agents=1000, rng=np.random.default_rng(0))
    one, same, other = (
        predicted_instance(instance, 0.25, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    assert 100 <= (one.penalty == instance.penalty).sum() < 130
    assert "25%" in one.source
    assert one.name == "cooper-uniform-1000-predicted-0.25"


# --- epochs ---------------------------------------------------------------------------------------


def test_incompatible_jobs_wait_or_run_alone() -> None:
    never = made(np.full((2, 2), np.inf), [1, 1], machines=2)
    run = run_epochs(never, greedy, processors=3, arrivals=[[4, 1]])
    assert [entry.placed for entry in run] == [3, 2, 0]
    assert [entry.penalty for entry in run] == [0, 0, None]


@pytest.mark.parametrize("seed", range(8))
def test_pair_oldest_leaves_fewest_and_youngest_jobs_in_queue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalty = rng.uniform(0, 0.3, (4, 4))
    penalty[rng.random((4, 4)) < 0.5] = np.inf
    penalty[0] = penalty[:, 0] = np.inf
    instance = made(penalty, [2] * 4, machines=8)
    kinds, free, asked = rng.integers(0, 4, 40).tolist(), 12, 0

    def policy(batch: Colocation, *, rng: np.random.Generator) -> Pairing:
        nonlocal asked
        asked += 1
        return greedy(batch, rng=rng)

    found = pair_oldest(instance, policy, kinds, free, rng)
    assert found is not None
    placed = found[0].agents
    assert found[0].count.tolist() == np.bincount(kinds[:placed], minlength=4).tolist()
    assert asked <= 2 * (2 + 2 * int(np.ceil(np.log2(2 * free))))
    if placed < 2 * free:  # one more has no place
        count = np.bincount(kinds[: placed + 1], minlength=4)
        with pytest.raises((NoSolution, InvalidInstance)):
            greedy(instance.replace(count=count, machines=float(free)), rng=rng)


@pytest.mark.parametrize("seed", range(10))
def test_bound_on_pairs_is_valid_and_exact_for_bipartite(seed: int) -> None:
    from networkx import Graph, max_weight_matching

    rng = np.random.default_rng(seed)
    count, beside = rng.integers(0, 5, 4), rng.random((4, 4)) < 0.4
    if seed % 2:  # of two sides: no odd circles
        beside[:2, :2] = beside[2:, 2:] = False
    beside |= beside.T
    kinds = np.repeat(np.arange(4), count)
    ones, others = np.nonzero(np.triu(beside[np.ix_(kinds, kinds)], 1))
    graph = Graph(zip(ones.tolist(), others.tolist(), strict=True))
    most = len(max_weight_matching(graph, maxcardinality=True))
    bound = most_pairs(count, beside)
    assert most <= bound <= len(kinds) // 2
    assert bound == most or not seed % 2


@pytest.mark.parametrize("seed", range(30))
def test_colocation_blocking_share_counts_allowed_unpaired_pairs(seed: int) -> None:
    case = random_case(seed)
    if case is None:
        return
    instance, pairing = case
    pairs = itertools.combinations(instance.agent_types(), 2)
    apart = sum(bool(instance.allowed[a, b]) for a, b in pairs) - int(pairing.pairs.sum())
    assert could_block(instance, pairing) == apart
    found = metrics(instance, pairing)
    assert found["blocking_share"] * max(1, apart) == pytest.approx(found["blocking_pairs"])
    assert 0 <= found["blocking_share"] <= 1


def found(parts: Any) -> dict[str, Finding]:
    return {part.what: part for part in parts if isinstance(part, Finding)}


def chart(parts: Any, name: str) -> Chart:
    [picture] = [part for part in parts if isinstance(part, Chart) and part.name == name]
    return picture


def agents_of(pairing: Pairing) -> list[tuple[int, int]]:
    """(type, co-runner's type) of every agent; pairs of agents stand side by side."""
    agents = []
    for a, b, number in zip(
        pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True
    ):
        agents += [(a, b), (b, a)] * number
    return agents


def test_cooper_figure_8_rank_correlation_equals_spearman_formula() -> None:
    parts = figure_8(agents=400, draws=1)
    given = Setting(agents=400, draws=1)
    people = given.population(0)
    drawn = chart(parts, "colocation-figure-8-correlation").series[0]
    for name in POLICIES:
        agents = agents_of(given.paired(name, people, 0))
        total = [
            sum(people.penalty[a, b] for a, b in agents if a == kind)
            for kind in range(people.types)
        ]
        mean = [value / number for value, number in zip(total, people.count.tolist(), strict=True)]
        rank, demand = ranked(mean), ranked(given.demands.tolist())
        assert drawn.y[drawn.x.index(name)] == pytest.approx(statistics.correlation(rank, demand))


def ranked(values: list[float]) -> list[float]:
    """Average ranks."""
    below = [sum(other < value - 1e-12 for other in values) for value in values]
    upto = [sum(other <= value + 1e-12 for other in values) for value in values]
    return [(low + 1 + high) / 2 for low, high in zip(below, upto, strict=True)]


def test_cooper_figure_9_improved_shares_equal_expectation_over_random_assignment() -> None:
    parts = figure_9(agents=60, draws=1)
    given = Setting(agents=60, draws=1)
    people = given.population(0)
    before, after = (agents_of(given.paired(name, people, 0)) for name in ("CO", "SMR"))
    improved = 0.0
    for kind, beside in before:
        now = [people.penalty[kind, other] for a, other in after if a == kind]
        was = people.penalty[kind, beside]
        improved += sum(was - value > 1e-9 for value in now) / len(now)
    [series] = [
        series for series in chart(parts, "colocation-figure-9").series if series.name == "improved"
    ]
    assert series.y[series.x.index("SMR/CO")] == pytest.approx(100 * improved / 60)


SECRETLY = {"SMR": complementary, "CO": marriage_random}
OWN = partial(roommates, ties="own")
FLIPS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Any], dict[str, tuple[str, str]]]] = [
    (figure_7, {}, SECRETLY, {
        "SMR, penalty rises with contentiousness": ("reproduced", "differs"),
        "CO, penalty rises with contentiousness": ("reproduced", "differs"),
    }),
    (figure_10, {"draws": 3}, SECRETLY | {"SMP": marriage_random}, {
        "SMP is less stable than SMR": ("reproduced", "differs"),
        "CO produces fewer blocking pairs than GR": ("differs", "reproduced"),
    }),
    (figure_9, {}, SECRETLY, {
        "SMR/CO: those who lose are the more contentious": ("reproduced", "differs"),
    }),
    (figure_9, {"coupling": "sorted"}, {"SR": OWN, "GR": OWN}, {
        "SR/GR improves performance": ("differs", "differs"),
    }),
    (figure_11, {}, {"SMP": complementary}, {
        "SMP performs best under beta-high": ("reproduced", "differs"),
    }),
]  # fmt: skip
"""Which claims are reproduced, and which are when policies answer what others would."""


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "options", "others", "claims"), FLIPS)
def test_verdicts_on_cooper_claims_change_with_policy_results(
    figure: Callable[..., Any], options: dict[str, Any], others: dict[str, Callable[..., Pairing]],
    claims: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = {"agents": 200, "draws": 2, **options}
    before, original = found(figure(**options)), populations.policies
    monkeypatch.setattr(populations, "policies", lambda *given: original(*given) | others)
    after = found(figure(**options))
    assert {what: (before[what].verdict, after[what].verdict) for what in claims} == claims


def written(folder: Path, instance: Colocation) -> str:
    """The path of an instance's file."""
    cotenant.write(instance, folder / "matrix.json")
    return str(folder / "matrix.json")


def test_cooper_figure_7_without_stable_pairing_draws_only_policies(tmp_path: Path) -> None:
    penalty = np.random.default_rng(2).random((5, 5)).round(2)
    matrix = written(tmp_path, Colocation(penalty, np.full(5, 2), bandwidth=np.arange(1, 6)))
    parts = figure_7(agents=30, draws=2, seed=15, matrix=matrix)
    assert len(chart(parts, "colocation-figure-7-stable").series) == 3


def test_odd_population_and_matrix_format_without_matrix_are_refused() -> None:
    with refused(InvalidOption):
        figure_7(agents=7)
    with refused(InvalidOption):
        figure_7(form="gavel")


def test_user_penalty_matrix_is_read_without_unpairable_types(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("job,a,b,c,d\na,.1,.2,.3,.1\nb,.3,.1,.2,inf\nc,.2,.3,.1,.2\nd,.1,.1,.1,inf\n")
    given = Setting(agents=20, draws=1, matrix=str(path), form="penalty-csv")
    assert given.types.base.names == ("a", "b", "c")
    assert not given.synthetic
    assert given.types.demand.startswith("penalty inflicted")
    assert given.demands.tolist() == pytest.approx([20.0, 20.0, 20.0])
    assert "without 1 types" in given.types.note
