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
from support.proved import Document, content_of, judged

from cotenant.solvers.proofs import patience
from cotenant.verify import methods_of
from cotenant.verify.colocation import colocation_optimal
from cotenant.verify.frame import ProofCase
from cotenant.verify.program import Program
from cotenant.verify.reading import (
    MOST_DIGITS,
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


NEAR, FAR = 0.1, 0.9
ALIKE = pairs(
    [[None, NEAR, NEAR, FAR], [NEAR, None, NEAR, FAR], [NEAR, NEAR, None, FAR], [NEAR] * 3 + [None]]
)
CHEAP = pairs(
    [[None, 0.2, 0.1, 0.9], [0, None, 0.9, 0.9], [0.1, 0.9, None, 0.2], [0.9, 0.9, 0, None]]
)
BOTH = {"witness": paired((0, 1), (2, 3)), "then": [dual([1] * 4)]}
MEAN = ("1/10", "1/10", "optimal")
CORES = {"cores": {"over": 1, "numbers": [0]}, "price": {"over": 1, "numbers": [1]}}
EQUILIBRIUM: dict[str, Any] = {"steps": [{"kind": "equilibrium"}], "witness": CORES}
NO_GAIN = pairs([[None, 0.5, None], [0.1, None, 0.2], [None, 0.1, None]], unpaired=0.5)
STABLE = (0, 0, "optimal")
PAIR = pairs([[None, 0.1], [0.1, None]])
COST = {"kind": "prices", "prices": [1], "scale": 0, "rents": [1], "weights": [[1]]}
BELOW = {"target": 0, "sums": [], "tree": [-1], "leaves": [[0, 1, 2, 1]]}
TWO = servers([[4]], [[3], [2]], request=[1, 1])
TWO_PRICES = {"kind": "prices", "prices": [2, 1], "scale": 2, "rents": [0], "weights": [[1]]}
TWO_PRICES |= {"target": 2}
THREE = servers([[3]], [[1]], servers=[1])
SHARE = {"kind": "prices", "prices": [1], "scale": 0, "rents": [3], "weights": [[1]]}
EMPTY_CLASS = servers([[4], [1]], [[2]], servers=[1, 1])
EMPTY_PRICES = {"kind": "prices", "prices": [2], "over": 1, "rents": [4, 0], "weights": [[1], [1]]}
LATE = {"problem": "scheduling", "machines": [1], "horizon": 3}
LATE |= {"job": {"organization": [0], "release": [3], "processing": [1]}}

Case = tuple[Document, str, Sequence[Claim], dict[str, Any]]

TRUE: dict[str, Case] = {
    "the least mean is of the answer of the first level": (
        CHEAP, "stable", [(1, 0, "gap"), MEAN], BOTH
    ),
    "0 is at .5 alone as beside 1": (
        NO_GAIN, "stable", [STABLE, ("8/30", None, "gap")],
        {"witness": paired((1, 2), alone=[1, 0, 0])},
    ),
    "two VMs on one server": (
        servers([[1]], [[1]], request=[2], servers=[1]), "min-servers", [NOTHING],
        {"steps": [COST]},
    ),
    "a class into which nothing fits has no filling beyond its rent": (
        EMPTY_CLASS, "max-utilization", [("4/5", "4/5", "optimal")],
        {"witness": {"count": [[2]], "server_class": [0]}, "steps": [EMPTY_PRICES]},
    ),
    "no work before the horizon": (
        LATE, "max-utility", [STABLE],
        {"witness": {"start": [-1], "machine": [-1]}, "steps": [{"kind": "recompute"}]},
    ),
}  # fmt: skip

FALSE: dict[str, Case] = {
    "a ring of agents to whom neighbors are the same blocks": (
        ALIKE, "stable", [(None, 1, "gap")],
        {"steps": [{"kind": "deletions", "least": 1, "tree": [[0, 1, 1, 2, 2, 0, 3, 3], []]}]},
    ),
    "an equilibrium without regret": (
        ONE_USER, "fisher", [(None, None, "equilibrium")],
        EQUILIBRIUM | {"epsilon": {"clearing": 1, "overspending": 0, "regret": None}},
    ),
    "the least mean of answers that the first level does not name": (
        CHEAP, "stable", [(None, 0, "gap"), MEAN], BOTH
    ),
    **{
        f"a penalty {where}": (
            pairs([[penalty]], count=[3], machines=None), "optimal", [(None, None, "gap")],
            dict[str, Any](),
        )
        for where, penalty in (("far below", -(10**1500)), ("below", -1.5), ("above", 1.5))
    },
    "half of the tasks": (
        one_processor(class_share=[0.5]), "fluid", [(None, 4, "gap")], {"steps": [TASK_PRICES]}
    ),
    "a rate that is just sustained": (
        one_processor(rate=2), "fluid-power", [NOTHING], {"steps": [TASK_PRICES]}
    ),
    **{
        f"a set of the agents {members}": (
            PAIR, "optimal", [(None, "7/20", "gap")], {"steps": [dual([1, 1], [[5, *members]])]}
        )
        for members in ([0, 1], [0, 0, 0], [1, 0], [])
    },
    "an indifferent agent blocks": (
        NO_GAIN, "stable", [STABLE, ("11/30", "11/30", "optimal")],
        {"then": [{"kind": "propagation", "below": 11, "tree": []}],
         "witness": paired((0, 1), alone=[0, 0, 1])},
    ),
    "a target of the cost without a scale": (
        servers([[1]], [[1]], request=[2], servers=[2]), "min-servers", [NOTHING],
        {"steps": [COST | BELOW]},
    ),
    "slack by a flow to smaller bandwidths": (
        pairs([[None, 0.1], [0.5, None]], bandwidth=[1, 2]), "fair", [(None, "2/5", "gap")],
        {"steps": [dual([0, 4], flow={"over": 1, "numbers": [-1, 1]})]},
    ),
    **{
        f"three servers for two VMs: {why}": (
            TWO, "min-servers", [(None, 3, "gap")], {"steps": [TWO_PRICES | tree]}
        )
        for why, tree in {
            "the filling short by all of the reach": {"sums": [], "tree": []},
            "the target's row": {"sums": [], "tree": [-1], "leaves": [[0, 1, 3, 1]]},
            "who holds the first": {
                "sums": [[-1, 0, 1]], "tree": [2, 0, -1], "leaves": [[0, 1, 4, 1]]
            },
        }.items()
    },
    "a share that is exceeded": (
        THREE, "max-min-share", [(None, "2/3", "gap")],
        {"steps": [{"kind": "share", "above": "2/3", "prices": SHARE}]},
    ),
    "no price of VMs of which any number may come": (
        servers([[2]], [[1], [2]], servers=[1], request=[1, None], partial=True),
        "max-utilization", [(None, "1/2", "gap")],
        {"steps": [{"kind": "prices", "prices": [1, 0], "over": 1, "rents": [1],
                    "weights": [[1]]}]},
    ),
    "a number of agents with 32 digits": (
        pairs([[0]], count=[10**31]), "optimal", [(None, 0, "gap")], {}
    ),
}  # fmt: skip
"""Claims that are false by the definition, with the steps that once seemed to prove them."""


@pytest.mark.parametrize("name", TRUE)
def test_true_proof_of_each_audited_kind_is_accepted(name: str) -> None:
    document, method, claims, parts = TRUE[name]
    approved(judge(document, method, *claims, **parts))


@pytest.mark.parametrize("name", FALSE)
def test_forged_proof_of_false_claim_is_refused(name: str) -> None:
    document, method, claims, parts = FALSE[name]
    with refused(Refused):
        judge(document, method, *claims, **parts)


def test_program_with_more_terms_than_memory_holds_is_refused() -> None:
    program = Program()
    row = [(program.column(1), 1)]
    program.terms = MOST_TERMS - 2
    program.at_most(row, 1)
    with refused(Refused):
        program.at_most(row, 1)


def test_verifier_rounds_cuts_down_to_integers() -> None:
    """2 x <= 2 says x <= 1, and 1 is a point."""
    program = Program()
    column = program.column(1)
    program.at_most([(column, 2)], 2)
    program.at_most([(column, -1)], -1)
    with refused(Refused):
        program.impossible({"cuts": [[2, 0, 1]], "tree": []})


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
def test_proof_of_endless_work_is_refused_at_work_limit(name: str) -> None:
    """Each was judged for as long as the file asked, or filled the memory."""
    document, method, parts = ENDLESS[name]
    with refused(Refused):
        judge(document, method, (None, 0, "gap"), most_work=900, **parts)
    assert WorkLimit.left > 10**9  # who makes a proof is not counted


def test_sensitivity_curves_with_huge_common_multiple_of_steps_are_refused() -> None:
    """Their least common multiple has more digits than the file."""
    gaps = [10**900 + k for k in range(60)]
    knots = [0, *(sum(gaps[: k + 1]) for k in range(60))]
    document = groups([4], [2], pressure=[1], knots=knots, sensitivity=[[0.1] * 61])
    with refused(Refused):
        judge(document, "optimal", (None, 0, "gap"))


def test_file_whose_values_fill_the_memory_is_not_read() -> None:
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


def _prices(digits: int) -> None:
    """Prices of types, of which every pair is a column."""
    size, small = 150, Decimal(f"{10**-9:.300f}")
    document = {"penalty": [[small] * size] * size, "count": [2] * size}
    prices = {"prices": [10**digits - 1] * size, "rent": 0, "over": 10 ** (digits - 1), "sets": []}
    colocation_optimal(ProofCase(document, {}, None, [[{"kind": "dual", **prices}]]))


@pytest.mark.parametrize("judge", [_tree_over_cuts, _prices])
def test_verifier_work_limit_counts_length_of_numbers(judge: Callable[[int], None]) -> None:
    """Each took as few steps as with short numbers, and minutes."""
    with patience(10**6 / MOST_WORK):
        with contextlib.suppress(Refused):
            judge(8)
        assert WorkLimit.left > 5 * 10**5
    with patience(10**6 / MOST_WORK), refused(Refused):
        judge(MOST_DIGITS)
