"""Colocation with penalty intervals: fields, blocking pairs, and what is solved with them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t
from support import interval_cases
from support.fakes import interrupted
from support.messages import approved, refused

import cotenant
from cotenant.analysis.colocation.metrics import expected_blocking_pairs
from cotenant.analysis.colocation.recommender import recommend
from cotenant.analysis.run.proving import prove_file
from cotenant.analysis.run.result import fingerprint
from cotenant.analysis.run.verify_result import recheck
from cotenant.baselines.colocation import greedy
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs
from cotenant.instances.colocation.generators import population
from cotenant.instances.colocation.objective import mean_penalty, worst_case
from cotenant.instances.colocation.pairs import pairs_csv
from cotenant.instances.colocation.stability import stable_alpha, undecided_pairs
from cotenant.instances.problem import InvalidInstance, InvalidOption
from cotenant.instances.problem.files import schema
from cotenant.models.program import LinearProgram
from cotenant.solvers.colocation import at_most_blocking, fewest_blocking
from cotenant.solvers.colocation.aggregate_relaxation import SHARE_LIMITS, ShareLimits
from cotenant.solvers.colocation.robust import RobustLimits, robust_alpha
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Status, Stop

TYPES = 8


def measured(seed: int = 0, types: int = TYPES) -> Colocation:
    """Jobs of some of the papers' types, five of one, six of the next, and so on, with synthetic
    errors.
    """
    full = population(error=0.01, rng=np.random.default_rng(seed))
    part = np.arange(0, full.types, 2)[:types]
    small = {name: getattr(full, name)[np.ix_(part, part)] for name in ("penalty", "low", "high")}
    return full.replace(
        **small,
        count=np.arange(5, 5 + types),
        bandwidth=full.bandwidth[part],
        names=tuple(full.names[place] for place in part),
    )


def hand_worked() -> tuple[Colocation, Pairing]:
    """Two jobs of a type and two of another, each beside one of the other: the two of type 0 would
    lose .10 beside each other where they lose .30 now, those of type 1 .30 where they lose .20.
    """
    middle = np.array([[0.10, 0.30], [0.20, 0.30]])
    given = Colocation(middle, [2, 2], low=middle - 0.0625, high=middle + 0.0625)
    return given, Pairing([0], [1], [2], [0, 0])


def test_possible_and_certain_blocking_counts_equal_hand_calculation() -> None:
    """Type 0 gains .20 as measured, from .075 to .325; type 1 loses .10, gains at most .025."""
    instance, pairing = hand_worked()
    read: list[tuple[float, tuple[int, int, int]]] = [
        (0.0, (1, 1, 2)),
        (0.025, (1, 1, 1)),
        (0.074, (1, 1, 1)),
        (0.075, (0, 1, 1)),
        (0.2, (0, 0, 1)),
        (0.325, (0, 0, 0)),
    ]
    for alpha, expected in read:
        kinds = ("certain", "none", "possible")
        found = [blocking_pairs(instance, pairing, alpha, uncertainty=u) for u in kinds]
        assert tuple(one.count for one in found) == expected
        assert [one.agents for one in found] == [2 * count for count in expected]
    assert stable_alpha(instance, pairing) == 0.2
    assert stable_alpha(instance, pairing, "possible") == 0.325
    assert stable_alpha(instance, pairing, "certain") == 0.075


def test_agent_never_blocks_with_type_of_its_partner() -> None:
    """However wide the interval: one entry is one number."""
    instance = Colocation([[0.5]], [4], low=[[0.0]], high=[[1.0]])
    assert blocking_pairs(instance, Pairing([0], [0], [2], [0]), uncertainty="possible").count == 0
    assert robust_alpha(instance).alpha == 0


SHARES = [ShareLimits(fewest=1, clear=clear) for clear in (1, 2)]
"""As with very many agents: shares first, then families of whole ones."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("seed", "number", "limits"),
    [
        *(([seed, 17], 8, SHARE_LIMITS) for seed in range(3)),
        *(([limits.clear, 19], 6, limits) for limits in SHARES),
        # ten thousand are looked at by `benchmarks/fuzz.py --family intervals`
        pytest.param(18, 400, SHARE_LIMITS, marks=pytest.mark.slow),
    ],
)
def test_robust_methods_equal_enumeration(seed: Any, number: int, limits: ShareLimits) -> None:
    rng = np.random.default_rng(seed)
    while number:
        if (case := interval_cases.draw(rng)) is not None:
            interval_cases.compare(case, limits)
            number -= 1


@pytest.mark.parametrize(
    ("seed", "alpha", "least"), [(0, 0.021933, 0.038284254431), (1, 0.025307, 0.05196774583)]
)
def test_robust_pairing_of_million_agents_is_proved(seed: int, alpha: float, least: float) -> None:
    """The whole program in HiGHS calls .0382843984 optimal for the first, and takes a minute for
    the second; CP-SAT finds the first.
    """
    given = population(agents=10**6, error=0.01, rng=np.random.default_rng(seed))
    found = at_most_blocking(given, 0, alpha, uncertainty="possible", time_limit=60)
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(least, abs=1e-11)
    assert at_most_blocking(given, 0, 0.001, uncertainty="possible").status is Status.INFEASIBLE


@pytest.mark.slow
def test_robust_alpha_bisects_without_listing_all_differences() -> None:
    instance = measured(2)
    expected = robust_alpha(instance)
    found = robust_alpha(instance, limits=RobustLimits(differences=30))
    assert (found.alpha, found.status) == (expected.alpha, Status.OPTIMAL)
    assert found.penalty == pytest.approx(expected.penalty)


def test_robust_alpha_at_time_limit_returns_bounds(engines: Callable[..., None]) -> None:
    instance = measured(1)
    found = robust_alpha(instance, time_limit=1e-9)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert found.alpha == stable_alpha(instance, found.pairing, "possible")
    engines(solve_program=interrupted)
    found = robust_alpha(instance)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)


def test_robust_bound_contradicted_by_pairing_is_withdrawn(engines: Callable[..., None]) -> None:
    """HiGHS, made to say no where there is a pairing, is not believed against CP-SAT."""
    instance = measured(1)

    def lying(program: LinearProgram, *, engine: str = "highs", **how: Any) -> EngineAnswer:
        if engine == "highs" and not program.cost.any():
            return EngineAnswer(Status.INFEASIBLE, Stop.FINISHED)
        return solve_program(program, engine=engine, **how)

    engines(solve_program=lying)
    found = robust_alpha(instance)
    assert (found.status, found.confirmed, found.below) == (Status.FEASIBLE, False, None)
    assert found.alpha >= stable_alpha(instance, found.pairing, "possible")


def test_robust_alpha_of_instance_without_pairing_is_infeasible() -> None:
    penalty = np.where(np.eye(3, dtype=bool), np.inf, 0.1)
    penalty[1, 2] = penalty[2, 1] = np.inf
    instance = Colocation(penalty, [2, 3, 3], low=penalty, high=penalty)
    found = robust_alpha(instance)
    assert (found.status, found.alpha, found.pairing) == (Status.INFEASIBLE, None, None)


def test_worst_case_optimum_uses_upper_ends_of_penalty_intervals() -> None:
    instance = measured()
    found = cotenant.solve(instance, "optimal", worst=True)
    assert (found.objective_name, found.status) == ("worst_case_penalty", Status.OPTIMAL)
    assert found.objective == pytest.approx(mean_penalty(worst_case(instance), found.solution))
    assert found.bound == pytest.approx(cotenant.solve(worst_case(instance), "optimal").bound)
    drawn = instance.without_intervals(
        penalty=np.where(instance.allowed, instance.low, instance.penalty)
    )
    assert mean_penalty(drawn, found.solution) < found.objective


def test_interval_metrics_bracket_expected_blocking_pairs() -> None:
    instance = measured()
    found = cotenant.solve(instance, "GR").metrics
    certain, count, possible = (
        found[f"{kind}blocking_pairs"] for kind in ("certain_", "", "possible_")
    )
    assert certain <= count <= possible
    assert certain < found["expected_blocking_pairs"] < possible
    assert found["worst_case_penalty"] > found["penalty"]
    pairing = cotenant.solve(instance, "GR").solution
    assert expected_blocking_pairs(instance, pairing, draws=3) == expected_blocking_pairs(
        instance, pairing, draws=3
    )
    exact = instance.replace(low=instance.penalty, high=instance.penalty)
    assert expected_blocking_pairs(exact, pairing, draws=2) == count


@pytest.mark.slow
def test_robust_certificate_names_least_alpha_and_intervals_to_measure() -> None:
    instance = measured(types=4)
    least = robust_alpha(instance)
    found = cotenant.solve(
        instance, "stable", uncertainty="possible", alpha=least.alpha / 2, time_limit=3
    )
    assert found.objective_name == "possible_blocking_pairs"
    assert 1 <= found.bound <= found.objective
    certificate = found.certificate
    assert certificate["robust_alpha"]["alpha"] == least.alpha
    again = certificate["measure_again"]
    assert again == undecided_pairs(instance, found.solution, least.alpha / 2)
    first = again[0]
    names = instance.names
    a, c = (names.index(name) for name in first["types"])
    b, d = (names.index(name) for name in first["beside"])
    low, high = instance.low, instance.high
    assert first["now"] == [[low[a, b], high[a, b]], [low[c, d], high[c, d]]]
    assert first["then"] == [[low[a, c], high[a, c]], [low[c, a], high[c, a]]]
    assert certificate["intervals"] == instance.certainty
    verdict = recheck(instance, found)
    assert not verdict.broken, verdict
    assert not {"certificate.measure_again", "certificate.uncertainty"} & set(verdict.not_looked_at)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"uncertainty": "certain"}, {"uncertainty": "possible"}])
def test_check_detects_changed_robust_claim(options: dict[str, Any]) -> None:
    instance = measured()
    found = cotenant.solve(instance, "stable", alpha=0.05, **options)
    assert not recheck(instance, found).broken
    for claim in ({"uncertainty": "none"}, {"intervals": "intervals that hold together with 50 %"}):
        changed = replace(found, certificate={**found.certificate, **claim})
        assert recheck(instance, changed).broken
    assert recheck(instance, replace(found, objective_name="blocking_pairs")).broken


@pytest.mark.slow
def test_colocation_optima_over_penalty_intervals_have_no_proof_file(tmp_path: Path) -> None:
    instance = measured()
    path = cotenant.write(instance, tmp_path / "measured.json")
    for method, options in (("stable", {"uncertainty": "possible"}), ("optimal", {"worst": True})):
        result = cotenant.solve(instance, method, alpha=0.1, **options)
        found = prove_file(instance, path, result, tmp_path / "proof.json")
        assert found.proof_status == "claimed"
        assert "intervals" in found.says
        assert not (tmp_path / "proof.json").exists()
    plain = cotenant.solve(instance, "optimal")
    assert prove_file(instance, path, plain, tmp_path / "proof.json").proof_status == "certified"


def test_robust_options_without_intervals_are_refused() -> None:
    plain = cotenant.read("colocation/tiny")
    calls: list[Callable[[], object]] = [
        lambda: cotenant.solve(plain, "stable", uncertainty="possible"),
        lambda: cotenant.solve(plain, "optimal", worst=True),
        lambda: robust_alpha(plain),
        lambda: recommend(plain, greedy(plain), uncertainty="certain"),
        lambda: fewest_blocking(plain, uncertainty="possible"),
    ]
    for call in calls:
        with refused(InvalidOption) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_recommendation_counts_only_gains_certain_within_penalty_intervals() -> None:
    instance, pairing = hand_worked()
    plain = instance.without_intervals()
    assert interval_cases.advised_agents_and_pairs(recommend(instance, pairing, alpha=0.1)) == (
        0,
        0,
    )
    assert interval_cases.advised_agents_and_pairs(recommend(plain, pairing, alpha=0.1)) == (2, 1)
    best = next(e for e in recommend(instance, pairing) if e.alternatives).alternatives[0]
    assert best.gain == pytest.approx(0.075)


def test_generated_intervals_contain_true_penalties() -> None:
    for error in (0.005, 0.5):
        given = population(agents=20, error=error, rng=np.random.default_rng(5))
        truth = population(agents=20, rng=np.random.default_rng(5))
        assert (given.count == truth.count).all()
        assert ((given.low <= truth.penalty) & (truth.penalty <= given.high)).all()
        half = (given.high - given.low) / 2
        assert half.max() <= 1.5 * error + 1e-9
    assert given.confidence == 1


def test_repeated_measurements_become_intervals(tmp_path: Path) -> None:
    rng, names = np.random.default_rng(0), "abc"
    rows = [
        f"{x},{y},{1.2 + 0.01 * rng.standard_normal():.4f}"
        for x in names
        for y in names
        for _ in range(4)
    ]
    path = tmp_path / "pairs.csv"
    path.write_text("service,beside,slowdown\n" + "\n".join(rows) + "\n")
    widths = {}
    for which in ("each", "pooled", "together", "none"):
        given = pairs_csv(path, copies=2, intervals=which)
        assert (given.looks == 4).all()
        widths[which] = 0.0 if given.low is None else float((given.high - given.low).max())
    assert 0 == widths["none"] < widths["each"] < widths["together"]
    assert widths["pooled"] < widths["together"]
    assert pairs_csv(path, copies=2).confidence == 0.95
    approved(pairs_csv(path, copies=2).certainty)
    assert pairs_csv(path, copies=2, intervals="each").confidence is None
    # by hand: the mean of a beside a, and t of three degrees of freedom at 1 - .05 / 18
    runs = np.array([float(row.split(",")[2]) for row in rows[:4]])
    half = t.ppf(1 - 0.05 / 18, 3) * runs.std(ddof=1) / 2
    given = pairs_csv(path, copies=2)
    assert given.low[0, 0] == pytest.approx(1 - 1 / (runs.mean() - half), abs=1e-9)
    path.write_text("service,beside,slowdown\n" + "\n".join(rows[:-3]) + "\n")
    once = pairs_csv(path, copies=2)
    assert once.low is None
    assert once.looks is not None
    approved(once.source)
    assert pairs_csv(path, copies=2, intervals="pooled").low is not None
    path.write_text("service,beside,slowdown\na,a,1.1\n")
    with refused(InvalidOption):
        pairs_csv(path, copies=2, intervals="pooled")


PENALTY = [[0.10, 0.30, np.inf], [0.20, 0.40, 0.05], [np.inf, 0.15, 0.25]]


def boxed(**changes: Any) -> Colocation:
    """Three types, a forbidden pair, half widths of two points."""
    middle = np.array(PENALTY)
    fields: dict[str, Any] = {
        "penalty": middle,
        "count": [2, 2, 2],
        "low": np.round(middle - 0.02, 12),
        "high": np.round(middle + 0.02, 12),
        "looks": np.where(np.isfinite(middle), 3, 0),
        "confidence": 0.95,
        "intervals": "by hand",
    }
    return Colocation(**{**fields, **changes})


def where_allowed(value: float) -> Any:
    """The same for every pair that is not forbidden."""
    return np.where(np.isfinite(PENALTY), value, np.inf)


def test_intervals_survive_their_file_and_pickling(tmp_path: Path) -> None:
    given = boxed(machines=np.inf)
    path = cotenant.write(given, tmp_path / "boxed.json")
    document = json.loads(path.read_text())
    assert document["low"][0] == [0.08, 0.28, None]
    assert document["looks"][0] == [3, 3, 0]
    read = cotenant.read(path)
    assert read == given
    assert fingerprint(read) == fingerprint(given)
    assert pickle.loads(pickle.dumps(given)) == given
    assert {"low", "high", "looks", "confidence", "intervals"} <= set(
        schema("colocation")["properties"]
    )


def test_instance_without_intervals_has_unchanged_fingerprint() -> None:
    """Stored results know it by this fingerprint."""
    tiny = cotenant.read("colocation/tiny")
    assert fingerprint(tiny) == "dc6abcb38e590f67"
    assert not {"low", "high", "looks", "confidence", "intervals"} & set(tiny.document())
    plain = boxed().without_intervals()
    prints = {
        fingerprint(plain),
        fingerprint(boxed()),
        fingerprint(boxed(confidence=0.9)),
        fingerprint(boxed(intervals="")),
        fingerprint(boxed(looks=None)),
        fingerprint(plain.replace(looks=np.ones((3, 3), dtype=int))),
    }
    assert len(prints) == 6


def test_repr_of_colocation_mentions_penalty_intervals() -> None:
    approved(repr(boxed()))
    approved(boxed().certainty)
    approved(boxed(confidence=None, intervals="").certainty)
    assert "intervals" not in repr(boxed().without_intervals())
    assert boxed().without_intervals().certainty == ""


def test_intervals_of_unused_pairs_may_be_missing() -> None:
    """The diagonal of a lone agent, and pairs that are forbidden."""
    middle = np.array([[np.nan, 0.3], [0.2, 0.1]])
    given = Colocation(middle, [1, 1], low=middle, high=middle)
    assert given.document()["low"][0] == [None, 0.3]


@pytest.mark.parametrize(
    "changes",
    [
        {"low": None},
        {"high": None},
        {"low": np.zeros((2, 2))},
        {"low": where_allowed(0.4)},
        {"high": where_allowed(0.3)},
        {"penalty": np.array(PENALTY) + 0.03},
        {"high": np.full((3, 3), np.inf)},
        {"high": np.full((3, 3), 1.1)},
        {"low": np.full((3, 3), np.nan)},
        {"low": np.full((3, 3), -2)},
        {"low": np.full((3, 3), -0.5)},
        {"looks": np.full((3, 3), -1)},
        {"looks": np.full((3, 3), 0.5)},
        {"looks": [3]},
        {"confidence": 95},
        {"confidence": 0},
        {"confidence": "high"},
        {"intervals": 3},
        {"low": None, "high": None},
        {"low": None, "high": None, "confidence": None},
        {"unpaired": 0.41, "confidence": None},
    ],
)
def test_wrong_intervals_are_refused_in_one_line(changes: dict[str, Any]) -> None:
    with refused(InvalidInstance) as caught:
        boxed(**changes)
    assert "\n" not in str(caught.value)
