"""Forgeries that readers of the verifier wrote, each compared with the definition: none is
accepted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import pytest
from support.messages import approved, refused
from support.proved import Document, case_of, content_of, judged

from cotenant.solvers.proofs import patience
from cotenant.verify import methods_of
from cotenant.verify.colocation import colocation_optimal
from cotenant.verify.frame import ProofCase
from cotenant.verify.market import market_leximin
from cotenant.verify.numa import numa_fluid
from cotenant.verify.packing import Packing
from cotenant.verify.program import Program
from cotenant.verify.reading import (
    MOST_DIGITS,
    MOST_EXPONENT,
    MOST_TERMS,
    MOST_WORK,
    Decimal,
    Refused,
    Unreadable,
    WorkLimit,
    parse,
    scaled,
)  # fmt: skip

Claim = tuple[Any, Any, str]
"""Value, bound, and what they amount to."""


def judge(
    document: Document, method: str, *claims: Claim, steps: Sequence[Any] = (), then: Any = (),
    epsilon: Any = None, most_work: int = MOST_WORK, **parts: Any,
) -> str:  # fmt: skip
    """What the verifier says of a proof of a document, with the steps of a first level and `then`
    of a second one.
    """
    file = {"cotenant": 1, "name": "forged", **document}
    goals = [goal.split() for goal in methods_of(file["problem"])[method][1].split(",")]
    levels = []
    for (value, bound, kind), (objective, sense), own in zip(
        claims, goals, (steps, then), strict=False
    ):
        claim = {"objective": objective, "sense": sense, "value": value, "bound": bound}
        claim |= {"claim_kind": kind} | ({} if epsilon is None else {"epsilon": epsilon})
        levels.append({"claim": claim, "steps": list(own)})
    proof = {
        "cotenant_proof": 2,
        "problem": file["problem"],
        "method": method,
        "options": {},
        "instance": {"sha256": sha256(content_of(file)).hexdigest(), "name": "forged"},
        "witness": None,
        "levels": levels[1:],
        **levels[0],
        **parts,
    }
    return judged(content_of(file), proof, most_work)


def pairs(rows: list[list[Any]], **fields: Any) -> Document:
    """An instance of colocation, of agents who all differ unless it counts them."""
    return {"problem": "colocation", "penalty": rows, "count": [1] * len(rows), **fields}


def paired(*both: tuple[int, int], alone: Sequence[int] = (0, 0, 0, 0)) -> Document:
    """An answer of pairs of types."""
    first, second = ([pair[side] for pair in both] for side in (0, 1))
    return {"first": first, "second": second, "pairs": [1] * len(both), "single": [*alone]}


def servers(capacity: list[Any], demand: list[Any], **fields: Any) -> Document:
    """An instance of packing."""
    return {"problem": "packing", "capacity": capacity, "demand": demand, **fields}


def one_processor(**fields: Any) -> Document:
    """An instance of two cores whose tasks take a second each."""
    shape = {"blades": 1, "rows": 1, "columns": 1, "cores": 2, "rate": 1, "refusal_limit": None}
    times = {"service_mean": [1], "ht1": [1], "pcie": [1], "bandwidth": [0]}
    shares = {"class_share": [1], "location_share": [1]}
    return {"problem": "numa", **shape, **times, **shares, **fields}


def dual(prices: list[int], sets: Any = (), **fields: Any) -> Document:
    """A step of prices of types."""
    return {"kind": "dual", "over": 1, "prices": prices, "rent": 0, "sets": [*sets], **fields}


ONE_JOB = {"user": [0], "server": [0], "parallel_fraction": [1], "work": [1]}
ONE_USER = {"problem": "market", "capacity": [2], "budget": [1], "job": ONE_JOB}
TASK_PRICES = {"kind": "dual", "prices": {"over": 1, "numbers": [1]}}
NOTHING = (None, None, "infeasible")


def test_a_party_of_agents_to_whom_neighbors_are_the_same_proves_no_blocking_pair() -> None:
    """Three agents like each other equally, and a fourth is liked by nobody: 0-1, 2-3 is stable, as
    neither 0 nor 1 gains by 2.
    """
    near, far = 0.1, 0.9
    rows = [[None, near, near, far], [near, None, near, far], [near, near, None, far]]
    document = pairs([*rows, [near, near, near, None]])
    stable = paired((0, 1), (2, 3))
    assert "optimal" in judge(document, "stable", (0, 0, "optimal"), witness=stable)
    ring = {"kind": "deletions", "least": 1, "tree": [[0, 1, 1, 2, 2, 0, 3, 3], []]}
    with refused(Refused):
        judge(document, "stable", (None, 1, "gap"), steps=[ring])


def test_equilibrium_proof_states_tolerances() -> None:
    """A null was no number to compare, and "regret nothing" was read as none."""
    answer = {"cores": {"over": 1, "numbers": [0]}, "price": {"over": 1, "numbers": [1]}}

    def said(regret: int | None) -> str:
        off = {"clearing": 1, "overspending": 0, "regret": regret}
        claim, step = (None, None, "equilibrium"), {"kind": "equilibrium"}
        return judge(ONE_USER, "fisher", claim, steps=[step], witness=answer, epsilon=off)

    assert "regret 1" in said(1)
    with refused(Refused):
        said(None)


def test_second_level_proof_names_first_level() -> None:
    """0-1, 2-3 costs least of all, and 0 and 2 block it; 0-2, 1-3 has no blocking pair."""
    rows = [[None, 0.2, 0.1, 0.9], [0, None, 0.9, 0.9], [0.1, 0.9, None, 0.2], [0.9, 0.9, 0, None]]
    parts: dict[str, Any] = {"witness": paired((0, 1), (2, 3)), "then": [dual([1] * 4)]}
    mean = ("1/10", "1/10", "optimal")
    sentence = judge(pairs(rows), "stable", (1, 0, "gap"), mean, **parts)
    approved(sentence)
    with refused(Refused):
        judge(pairs(rows), "stable", (None, 0, "gap"), mean, **parts)


def test_proofs_ignore_names() -> None:
    """Files that name users, servers, jobs and VMs are proved like any other."""
    named, optimal = {"names": ["one"], "server_names": ["one"]}, (2, 2, "optimal")
    all_cores = {"cores": {"over": 1, "numbers": [2]}}
    tangent = [{"kind": "tangent"}]
    sentence = judge(ONE_USER | named, "utilitarian", optimal, steps=tangent, witness=all_cores)
    assert "optimal" in sentence
    jobs = {"problem": "admission", "cores": [[1]], "threads": [1], "speed": [[1]]}
    jobs |= {"names": ["job"], "machine_names": ["vm"]}
    answer = {"machine": [0], "cores": [[1]]}
    assert "optimal" in judge(jobs, "most-jobs", (1, 1, "optimal"), witness=answer)
    vms = servers([[2]], [[1]], request=[2], names=["vm"], class_names=["a"], resources=["core"])
    full = {"count": [[2]], "server_class": [0]}
    assert "worth 1" in judge(vms, "min-servers", (1, None, "gap"), witness=full)


@pytest.mark.parametrize("penalty", [-(10**1500), -1.5, 1.5])
def test_penalties_are_those_an_instance_may_have(penalty: float) -> None:
    """Who is content alone gains by no penalty: the program took one below -10^999 for a gain."""
    with refused(Refused):
        judge(pairs([[penalty]], count=[3], machines=None), "optimal", (None, None, "gap"))


def test_shares_of_tasks_sum_to_one() -> None:
    """Half of the tasks would be served twice as fast as all of them."""
    assert "above 2" in judge(one_processor(), "fluid", (None, 2, "gap"), steps=[TASK_PRICES])
    with refused(Refused):
        half = one_processor(class_share=[0.5])
        judge(half, "fluid", (None, 4, "gap"), steps=[TASK_PRICES])


def test_a_program_that_would_fill_the_memory_is_refused() -> None:
    """A small proof may ask for more rows than any memory holds: of flags of many types."""
    program = Program()
    row = [(program.column(1), 1)]
    program.terms = MOST_TERMS - 2
    program.at_most(row, 1)
    with refused(Refused):
        program.at_most(row, 1)


@pytest.mark.parametrize("members", [[0, 1], [0, 0, 0], [1, 0], []])
def test_a_set_with_an_even_number_of_agents_proves_nothing(members: list[int]) -> None:
    """Two agents who share at .1 each: nobody has to leave a set of both."""
    pair = pairs([[None, 0.1], [0.1, None]])
    assert "below 0.1" in judge(pair, "optimal", (None, "1/10", "gap"), steps=[dual([1, 1])])
    with refused(Refused):
        step = dual([1, 1], [[5, *members]])
        judge(pair, "optimal", (None, "7/20", "gap"), steps=[step])


def test_indifferent_agent_proves_no_blocking_pair() -> None:
    """0 is at .5 alone as beside 1, so 1-2 is stable, and costs .8 in all; 0-1 costs 1.1."""
    document = pairs([[None, 0.5, None], [0.1, None, 0.2], [None, 0.1, None]], unpaired=0.5)
    stable = (0, 0, "optimal")
    alone = paired((1, 2), alone=[1, 0, 0])
    assert "worth 0.266" in judge(document, "stable", stable, ("8/30", None, "gap"), witness=alone)
    answer = paired((0, 1), alone=[0, 0, 1])
    step = {"kind": "propagation", "below": 11, "tree": []}
    mean = ("11/30", "11/30", "optimal")
    with refused(Refused):
        judge(document, "stable", stable, mean, then=[step], witness=answer)


def test_without_a_scale_no_target_bounds_the_cost() -> None:
    """Two VMs on two servers: without a scale there is no row of the cost, so none of at most 0."""
    step = {"kind": "prices", "prices": [1], "scale": 0, "rents": [1], "weights": [[1]]}
    tree = {"target": 0, "sums": [], "tree": [-1], "leaves": [[0, 1, 2, 1]]}
    two, one = (servers([[1]], [[1]], request=[2], servers=[number]) for number in (2, 1))
    with refused(Refused):
        judge(two, "min-servers", NOTHING, steps=[step | tree])
    approved(judge(one, "min-servers", NOTHING, steps=[step]))


def test_a_flow_to_smaller_bandwidths_proves_no_slack() -> None:
    """The type of larger bandwidth loses more, as it should: the slack is 0, not .4."""
    document = pairs([[None, 0.1], [0.5, None]], bandwidth=[1, 2])
    step = dual([0, 4], flow={"over": 1, "numbers": [-1, 1]})
    with refused(Refused):
        judge(document, "fair", (None, "2/5", "gap"), steps=[step])


def test_a_cut_rounds_down_and_no_further() -> None:
    """2 x <= 2 says x <= 1, and 1 is a point."""
    program = Program()
    column = program.column(1)
    program.at_most([(column, 2)], 2)
    program.at_most([(column, -1)], -1)
    with refused(Refused):
        program.impossible({"cuts": [[2, 0, 1]], "tree": []})


TWO = servers([[4]], [[3], [2]], request=[1, 1])


@pytest.mark.parametrize(
    "tree",
    [
        # as if the filling that falls short by all of the reach were none
        {"sums": [], "tree": []},
        {"sums": [], "tree": [-1], "leaves": [[0, 1, 3, 1]]},  # row 3 is the target
        {"sums": [[-1, 0, 1]], "tree": [2, 0, -1], "leaves": [[0, 1, 4, 1]]},  # who holds the first
    ],
)
def test_two_vms_that_need_two_servers_do_not_need_three(tree: dict[str, object]) -> None:
    """A target that can be met is refused, whatever the tree."""
    step = {"kind": "prices", "prices": [2, 1], "scale": 2, "rents": [0], "weights": [[1]]}
    with refused(Refused):
        judge(TWO, "min-servers", (None, 3, "gap"), steps=[step | {"target": 2} | tree])


def test_exceedable_share_is_not_a_bound() -> None:
    """Three VMs fit, a share of 1: that more than 2/3 is impossible would take a fourth."""
    document = servers([[3]], [[1]], servers=[1])
    prices = {"kind": "prices", "prices": [1], "scale": 0, "rents": [3], "weights": [[1]]}

    def said(above: str) -> str:
        step = {"kind": "share", "above": above, "prices": prices}
        return judge(document, "max-min-share", (None, above, "gap"), steps=[step])

    assert "above 1" in said("1")
    with refused(Refused):
        said("2/3")


def test_vms_of_which_any_number_may_come_need_a_price() -> None:
    """One VM of the second type fills the server; the first alone would fill half of it."""
    document = servers([[2]], [[1], [2]], servers=[1], request=[1, None], partial=True)
    step = {"kind": "prices", "prices": [1, 0], "over": 1, "rents": [1], "weights": [[1]]}
    with refused(Refused):
        judge(document, "max-utilization", (None, "1/2", "gap"), steps=[step])


SPEED = {"problem": "admission", "cores": [[2], [1]], "threads": [1, 2], "speed": [[1], [1]]}
QUEUE = {"problem": "scheduling", "machines": [1], "horizon": 4}
FIRST = QUEUE | {"job": {"organization": [0, 0], "release": [0, 1], "processing": [2, 1]}}
LATER = QUEUE | {"job": {"organization": [0, 0], "release": [1, 1], "processing": [2, 1]}}
SHARED = pairs([[0, None], [0, 0]], count=[2, 2], machines=3)
NO_ANSWERS = {
    "two cores of one thread": (SPEED, "optimal", 2, {"machine": [0, -1], "cores": [[2], [0]]}),
    "two jobs on one core": (SPEED, "optimal", 2, {"machine": [1, 1], "cores": [[1], [1]]}),
    "cores on no VM": (SPEED, "optimal", 2, {"machine": [0, -1], "cores": [[1], [1]]}),
    "both at 1": (FIRST, "max-utilization", "3/4", {"start": [0, 1], "machine": [0, 0]}),
    "out of order": (FIRST, "max-utilization", "3/4", {"start": [2, 1], "machine": [0, 0]}),
    "a second machine": (FIRST, "max-utilization", "3/4", {"start": [0, 2], "machine": [0, 1]}),
    "too early": (LATER, "max-utilization", "3/4", {"start": [0, 2], "machine": [0, 0]}),
    "5 of 4": (TWO, "min-servers", 1, {"count": [[1, 1]], "server_class": [0]}),
    "one VM of two": (TWO, "min-servers", 1, {"count": [[1, 0]], "server_class": [0]}),
    "who may not share": (SHARED, "optimal", 0, paired((0, 1), (0, 1), alone=[0, 0])),
    "too many alone": (SHARED, "optimal", 0, paired(alone=[2, 2])),
    "an agent left out": (SHARED, "optimal", 0, paired((0, 0), alone=[0, 1])),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_invalid_answers_are_refused_by_verifier(name: str) -> None:
    """Each breaks one rule of its problem, and would be worth what is claimed."""
    document, method, value, answer = NO_ANSWERS[name]
    with refused(Refused):
        judge(document, method, (value, None, "gap"), witness=answer)


def test_a_rate_that_is_just_sustained_is_possible() -> None:
    """Two cores serve two tasks a second, of a second each."""
    with refused(Refused):
        judge(one_processor(rate=2), "fluid-power", NOTHING, steps=[TASK_PRICES])
    sentence = judge(one_processor(rate=2.1), "fluid-power", NOTHING, steps=[TASK_PRICES])
    approved(sentence)


def groups(count: list[int], seats: list[int], **fields: Any) -> Document:
    """An instance of groups."""
    return {"problem": "groups", "count": count, "seats": seats, **fields}


HALVES = pairs([[0.5, 0.5], [0.5, 0.5]], count=[2, 2])
JOBS = {"user": [0, 1], "server": [0, 1], "parallel_fraction": [1, 1], "work": [1, 1]}
MARKET = {"problem": "market", "capacity": [9, 9], "budget": [1, 1], "job": JOBS}
ONE_SLOT = {"problem": "admission", "cores": [[1]], "threads": [1], "speed": [[1]]}
LINE = {"problem": "scheduling", "machines": [1], "horizon": 1}
LINE |= {"job": {"organization": [0] * 400, "release": [0] * 400, "processing": [1] * 400}}
ALONE = {"problem": "scheduling", "machines": [1], "horizon": 9}
ALONE |= {"job": {"organization": [0], "release": [0], "processing": [1]}}
FREE = {"kind": "prices", "prices": [1], "scale": 0, "rents": [0], "weights": [[0]]}
NO_GROUPS = {"kind": "propagation", "prices": {"over": 1, "numbers": [0]}, "below": 0, "tree": []}


def empty(**fields: Any) -> Document:
    """A step of a tree without cases."""
    return {"kind": "propagation", "tree": [], **fields}


def cores(number: int) -> Document:
    """An answer of one core a job."""
    return {"cores": {"over": 1, "numbers": [1] * number}}


ENDLESS: dict[str, tuple[Document, str, dict[str, Any]]] = {
    "the same prices again": (HALVES, "optimal", {"steps": [dual([0, 0])] * 500}),
    "a case split for ever": (
        {**HALVES, "count": [2 * 10**9, 2 * 10**9]}, "stable",
        {"options": {"alpha": 2},
         "steps": [empty() | {"tree": [n for k in range(2, 999) for n in (1, 10**9 - 999 * k)]}]},
    ),
    "boxes within boxes": (
        MARKET, "nash-welfare",
        {"options": {"whole": True}, "witness": cores(2),
         "steps": [{"kind": "tree", "nodes": [[0, 99]] * 999}]},
    ),
    "fillings copied without end": (
        servers([[9**6]], [[1]], request=[9**6]), "min-servers", {"steps": [FREE]}
    ),
    "trees of rents": (
        ONE_SLOT, "optimal",
        {"steps": [{"kind": "prices", "jobs": [0], "over": 1, "kinds": [[0]]}] * 999},
    ),
    "prices of groups again": (
        groups([4], [2], penalty=[[0.1]]), "optimal", {"steps": [NO_GROUPS] * 999}
    ),
    "groups of many jobs": (groups([99] * 4, [40], penalty=[[0.1] * 4] * 4), "optimal", {}),
    "many classes of machines": (
        groups([9] * 9, [1] * 99, machines=[None] * 99, penalty=[[0.1] * 9] * 9), "optimal", {}
    ),
    "a curve of many knots": (
        groups([9], [3], pressure=[1], knots=[*range(999)], sensitivity=[[0.1] * 999]),
        "optimal", {},
    ),
    "a zone's rule over many servers": (
        servers([[4]], [[1]], request=[99], servers=[99], zone=["a"], skew=[1]),
        "min-servers", {"steps": [empty(below=1, each=True)] * 99},
    ),
    "conflicts that a server never has": (
        servers([[4]], [[1], [9]], request=[3, 0], apart=[[0, 1]] * 200),
        "min-servers", {"steps": [empty(below=2, each=True)]},
    ),
    "limits on VMs that no server holds": (
        servers([[4]], [[1], *[[9]] * 10], request=[1, *[0] * 10],
                limits=[{"types": [*range(1, 11)], "most": 1}] * 8),
        "min-servers", {"steps": [empty(below=2)]},
    ),
    "answers of many resources": (
        servers([[9] * 99], [[1] * 99], request=[9]),
        "min-servers", {"witness": {"count": [[1]] * 9, "server_class": [0] * 9}},
    ),
    "moves again": (
        servers([[4]], [[1]], request=[9], servers=[2], placed=[[0, 0, 1]]),
        "fewest-moves", {"options": {"servers": 2}, "steps": [empty()] * 99},
    ),
    "jobs that wait in every coalition": (LINE, "REF", {"steps": [{"kind": "recompute"}] * 99}),
    "logarithms of many users": (
        {**MARKET, "budget": [1] * 9, "job": {k: v * 9 for k, v in JOBS.items()}}, "nash-welfare",
        {"witness": cores(18), "steps": [{"kind": "tangent"}]},
    ),
    "the game of coalitions again": (ALONE, "REF", {"steps": [{"kind": "recompute"}] * 999}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_repeated_verifier_work_is_counted(name: str) -> None:
    """Each was judged for as long as the file asked, or filled the memory."""
    document, method, parts = ENDLESS[name]
    with refused(Refused):
        judge(document, method, (None, 0, "gap"), most_work=900, **parts)
    assert WorkLimit.left > 10**9  # who makes a proof is not counted


def test_verifier_skips_unrestricted_entries() -> None:
    """A file of 200 kB kept the verifier busy for a minute."""
    size = 20_000
    case = ProofCase({"capacity": [[1]] * size, "demand": [[1]] * size}, {}, None, [])
    assert Packing(case).allowed[size - 1][size - 1] is True


@pytest.mark.slow
def test_verifier_sums_many_flow_parts_once() -> None:
    """The sum of all parts was made anew for each of them."""
    case = case_of(one_processor(), {"split": [[0, 0, 0, 1]] * 20_000}, {}, [])
    assert numa_fluid(case)[0].value == 2


def test_curves_whose_steps_have_no_common_part_are_refused() -> None:
    """Their least common multiple has more digits than the file."""
    gaps = [10**900 + k for k in range(60)]
    knots = [0, *(sum(gaps[: k + 1]) for k in range(60))]
    document = groups([4], [2], pressure=[1], knots=knots, sensitivity=[[0.1] * 61])
    with refused(Refused):
        judge(document, "optimal", (None, 0, "gap"))


def test_a_class_into_which_nothing_fits_has_no_filling_beyond_its_rent() -> None:
    """The empty filling was taken for one, and a true bound was refused."""
    document = servers([[4], [1]], [[2]], servers=[1, 1])
    prices = {"kind": "prices", "prices": [2], "over": 1, "rents": [4, 0], "weights": [[1], [1]]}
    answer = {"count": [[2]], "server_class": [0]}
    claim = ("4/5", "4/5", "optimal")
    sentence = judge(document, "max-utilization", claim, witness=answer, steps=[prices])
    assert "optimal" in sentence


def test_no_work_before_the_horizon_is_a_bound_of_nothing() -> None:
    job = {"organization": [0], "release": [3], "processing": [1]}
    document = {"problem": "scheduling", "machines": [1], "horizon": 3, "job": job}
    nothing, step = {"start": [-1], "machine": [-1]}, {"kind": "recompute"}
    sentence = judge(document, "max-utility", (0, 0, "optimal"), witness=nothing, steps=[step])
    assert "optimal" in sentence


def test_values_that_fill_the_memory_are_not_read() -> None:
    """Four million objects of one key are a gigabyte; so are few letters as long numbers."""
    for data in (b'{"a": [%s0]}' % (b'{"a":1},' * 1_000_001), b"[%s0]" % (b"0," * 8_000_001)):
        with refused(Unreadable):
            parse(data, decimals=True)
    with refused(Refused):
        scaled([Decimal("1e-400"), *[1] * 400_000], "a")


def _tree_over_cuts(digits: int) -> None:
    """A tree of a thousand cases, in each of which the rows of a chain of cuts are looked at."""
    program = Program()
    program.at_most([(program.column(5000), 1)], 9999)
    cuts = [[1, row, 10 ** (digits - 1)] for row in range(12)]
    program.impossible(
        {"cuts": cuts, "tree": [hint for at in range(999, 0, -1) for hint in (0, at)]}
    )


def _utility(digits: int) -> None:
    """Utilities that are sums of fractions without a common denominator."""
    size = 400
    job = {"user": [0] * size, "server": [*range(size)], "work": [1] * size}
    fractions = [Decimal("0." + str(10 ** (digits - 1) + k)) for k in range(size)]
    document = {
        "capacity": [2] * size,
        "budget": [1],
        "job": job | {"parallel_fraction": fractions},
    }
    witness = {"cores": {"over": 1, "numbers": [2] * size}}
    market_leximin(ProofCase(document, {}, witness, [[{"kind": "tree", "nodes": [[]]}]]))


def _prices(digits: int) -> None:
    """Prices of types, of which every pair is a column."""
    size, small = 150, Decimal(f"{10**-9:.300f}")
    document = {"penalty": [[small] * size] * size, "count": [2] * size}
    prices = {"prices": [10**digits - 1] * size, "rent": 0, "over": 10 ** (digits - 1), "sets": []}
    colocation_optimal(ProofCase(document, {}, None, [[{"kind": "dual", **prices}]]))


def _split(digits: int) -> None:
    """Parts of tasks with denominators of their own."""
    size, shape = 8, {"blades": 1, "rows": 1, "columns": 8, "cores": 1}
    document = shape | {"class_share": [1], "location_share": [Decimal(".125")] * size}
    document |= {name: [1] for name in ("service_mean", "ht1", "pcie", "bandwidth")}
    numbers = [10 ** (digits - 1) + 2 * k + 1 for k in range(size)]
    split = [[0, m, p, number] for m, number in enumerate(numbers) for p in range(size)]
    split = [[0, m, p, n + (p == 0)] for _, m, p, n in split]
    numa_fluid(ProofCase(document, {}, {"split": split}, [[]]))


@pytest.mark.parametrize(
    ("judge", "work"),
    [(_tree_over_cuts, 10**6), (_utility, 10**6), (_prices, 10**6), (_split, 10**5)],
)
def test_work_of_long_numbers_is_counted(judge: Callable[[int], None], work: int) -> None:
    """Each took as few steps as with short numbers, and minutes."""
    with patience(work / MOST_WORK):
        with contextlib.suppress(Refused):
            judge(8)
        assert WorkLimit.left > work / 2
    with patience(work / MOST_WORK), refused(Refused):
        judge(MOST_DIGITS if judge is not _utility else MOST_EXPONENT - 2)


def test_numbers_of_agents_and_of_machines_have_thirty_digits_at_most() -> None:
    """Their products were formed for all pairs of types, whatever their length."""
    with refused(Refused):
        judge(pairs([[0]], count=[10**31]), "optimal", (None, 0, "gap"))
