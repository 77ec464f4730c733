"""The routes of portfolios, one left out at a time: what is found stays feasible, and every bound
holds.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.report.tables import method_tables
from cotenant.catalog import find, first_sentence
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.generators import population as agents
from cotenant.instances.colocation.generators import random_preferences
from cotenant.instances.groups.generators import table
from cotenant.instances.market.generators import population
from cotenant.instances.packing.generators import caprara_toth, cluster
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.errors import UnknownName
from cotenant.instances.problem.registry import check
from cotenant.solvers.admission.search import AdmissionLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.groups.core import CoreLimits
from cotenant.solvers.groups.optimal import GroupLimits
from cotenant.solvers.market.fisher import FisherLimits
from cotenant.solvers.packing.cards import CardLimits
from cotenant.solvers.packing.game.play import PlayLimits
from cotenant.solvers.packing.moves_routes import MovesLimits
from cotenant.solvers.packing.portfolio_state import PortfolioLimits
from cotenant.solvers.routes import Routed

SENSE = {"optimal admission": -1, "max-gpus packing": -1, "nash-welfare market": -1}


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


CASES: dict[str, tuple[Instance, str, Any]] = {
    "stable": (Colocation(rng().random((5, 5)), [2, 3, 1, 2, 2]), "stable", StableLimits()),
    "roommates": (random_preferences(agents=20, rng=rng()), "stable", StableLimits()),
    "fair": (agents(agents=12, rng=rng()), "fair", FairLimits()),
    "matching": (random_preferences(agents=20, rng=rng()), "optimal", OptimalLimits()),
    "groups": (table(types=4, jobs=9, seats=3, rng=rng()), "optimal", GroupLimits()),
    "core": (table(types=4, jobs=9, seats=3, rng=rng()), "core", CoreLimits()),
    "servers": (caprara_toth(items=12, rng=rng()), "min-servers", PortfolioLimits()),
    "cluster": (cluster(nodes=12, vms=40, types=8, rng=rng()), "min-cost", PortfolioLimits()),
    "moves": (cotenant.read("packing/cluster-12-40"), "fewest-moves", MovesLimits()),
    "cards": (cotenant.read("packing/cards"), "max-gpus", CardLimits()),
    "play": (cotenant.read("packing/paper-example"), "FUGA", PlayLimits()),
    "fisher": (population(users=9, servers=9, jobs=3, rng=rng()), "fisher", FisherLimits()),
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
    function = find(instance.problem, method).resolve()
    bare = function(instance, time_limit=0.5, limits=without_routes(limits))
    if bare.solution is not None:
        check(instance, bare.solution)
    if bare.bound is not None and method != "fisher":
        best = cotenant.solve(instance, method, time_limit=5).objective
        sense = SENSE.get(f"{method} {instance.problem}", 1)
        assert best is not None
        assert sense * bare.bound <= sense * best + 1e-6 * max(1, abs(best))


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
    method = find(problem, name)
    _, _, *listed = method_tables(method)
    routes = sys.modules[method.resolve().__module__].ROUTES
    assert len(listed) == len(routes) >= 1
    for shown, functions in zip(listed, routes.values(), strict=True):
        words = [[step + 1, first_sentence(route)] for step, route in enumerate(functions)]
        assert [list(row) for row in shown.rows] == words
        assert all(words)
