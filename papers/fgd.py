"""Cards allocated by policies on the Alibaba trace of 2023, compared with a proved bound."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from ..analysis.packing.metrics import metrics
from ..baselines.packing import (
    best_fit_cards,
    card_packing,
    dot_product_cards,
    fragmentation_gradient,
    random_card,
)
from ..instances.packing.formats import alibaba_openb
from ..instances.packing.instance import Packing, Placement
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import AtLeast
from ..instances.problem.tables import CsvTable
from ..solvers.packing.cards import max_gpus
from .experiment import Paper, Parts, addition, chart, compare

PAPER = Paper(
    "fgd",
    "Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
    "Gradient Descent (2023)",
    "Weng et al. (ATC 2023)",
    "packing",
    guide="Guide: [packing](../packing.md#vms-that-arrive-on-servers-with-cards).",
    not_determined=(
        ("Weng et al. (ATC 2023) fig. 7",
         "fragments by cause while pods arrive; packing-fgd-allocation has the allocation at the "
         "end"),
        ("Weng et al. (ATC 2023), the clustering policy",
         "it needs the affinity of pods, which the lists do not have"),
    ),
)  # fmt: skip

_OPENB = "gpu/fgd/openb_{}.csv.gz"
_LISTS = "default cpu050 cpu200 gpushare40 gpushare100 gpuspec10 gpuspec33 multigpu20 multigpu50"
OPENB = (
    ("nodes", _OPENB.format("node_list_gpu_node")),
    ("published", "gpu/fgd/published_allocation.csv"),
    *((workload, _OPENB.format(f"pod_list_{workload}")) for workload in _LISTS.split()),
)

POLICIES = {
    "random": (random_card, "01-Random"),
    "dot product": (dot_product_cards, "02-DotProd"),
    "packing": (card_packing, "04-GpuPacking"),
    "best fit": (best_fit_cards, "05-BestFit"),
    "FGD": (fragmentation_gradient, "06-FGD"),
}
"""Each policy, and its name in the published results."""

FIRST_SEED = 42
"""The draws of the publication are of seeds 42 to 51."""

NEAR = 0.5
"""Percent of all cards by which two means of ten draws may differ and are called the same."""


SECONDS = 10.0
"""For the bound of each draw and a placement that comes near it."""


class Allocated(NamedTuple):
    """Percentages of a cluster's cards that each policy allocates in a workload, means over draws.
    `bound` is a percentage that no placement exceeds, and `reached` the best that was found.
    """

    cards: int
    means: dict[str, float]
    bound: float
    reached: float


@PAPER.experiment("fgd-allocation", "abstract, section 6, figs. 9 and 11 to 14", data=OPENB)
def allocation(
    *,
    seed: int = 0,
    nodes: str = "",
    published: str = "",
    draws: Annotated[int, AtLeast(1)] = 10,
    **lists: str,
) -> Parts:
    """Cards allocated on the Alibaba trace of 2023 by policy, beside the most that any placement
    could have.

    Parameters
    ----------
    nodes : path of the list of nodes.
    published : path of the mean percent allocated in the publication's own results, by workload and
        policy, once all pods have come (its figures 11 to 14 show when pods of 100 % have come).
    draws : of the arrivals, with seeds 42, 43, ...
    **lists : path of the list of pods of each workload.
    """
    if not (nodes and published and lists):
        raise InvalidOption(
            "nodes, published or every list of pods is missing; expected paths of the trace's "
            "files. Give --data DATA, where DATA/gpu/fgd holds them"
        )
    # 1. The policies' means of each workload beside the publication's.
    theirs = {
        (row.word("workload"), row.word("policy")): row.number("mean_allocated_percent")
        for row in CsvTable(published, "workload", "policy", "mean_allocated_percent")
    }
    found: dict[str, Allocated] = {}
    for workload, path in lists.items():
        one = found[workload] = _allocated(path, nodes, seed, draws)
        for name, (_, label) in POLICIES.items():
            mean, what = one.means[name], f"{workload}, {name}: cards allocated"
            if (printed := theirs.get((workload, label))) is None:
                yield addition(what, f"{mean:.2f} %", f"mean of {draws} draws")
            else:
                yield compare(what, f"{printed:.2f} %", f"{mean:.2f} %",
                    abs(mean - printed) <= NEAR,
                    f"means over {draws} draws, whose random numbers are "
                    "not the paper's")  # fmt: skip
    # 2. What the abstract and section 6 say in words.
    first = sum(max(one.means, key=one.means.__getitem__) == "FGD" for one in found.values())
    yield compare("FGD allocates more than the other policies", "yes",
        f"on {first} of {len(found)} workloads", first == len(found))  # fmt: skip
    if (default := found.get("default")) is not None:
        mine, other = 100 - default.means["FGD"], 100 - default.means["dot product"]
        fewer, more = 100 * (1 - mine / other), (other - mine) / 100 * default.cards
        yield compare("FGD leaves fewer cards unallocated than packing policies, at best",
            "49 % fewer, 290 cards", f"{fewer:.0f} % fewer, {more:.0f} cards",
            abs(fewer - 49) <= 5,
            "taken as the comparison with the dot product on the default workload: the "
            "paper does not say which")  # fmt: skip
    # 3. What part of the cards that FGD leaves no policy could have won.
    for workload, one in found.items():
        mine, cards = one.means["FGD"], one.cards / 100
        won, could = one.reached - mine, one.bound - mine
        yield addition(f"{workload}: of the cards that FGD leaves, what no policy could have won",
            f"{100 - mine:.2f} % left: {100 - one.bound:.2f} points no policy could have won; "
            f"{won:.2f} to {could:.2f} points, {cards * won:.0f} to {cards * could:.0f} cards, "
            "lost to deciding one by one",
            f"at most {one.bound:.3f} % by proved bounds, {one.reached:.3f} % placed; both know "
            "all pods at once, FGD sees one at a time and never moves any")  # fmt: skip
    shown = ("random", "best fit", "FGD")
    values = {name: {w: round(one.means[name], 3) for w, one in found.items()} for name in shown}
    values["no policy beyond"] = {w: round(one.bound, 3) for w, one in found.items()}
    yield chart("packing-fgd-allocation", "Cards allocated by policy, and the most possible",
        "workload", "cards allocated [%]", values, style="points", strong=("FGD",),
        words="The bound knows all pods at once; policies decide one by one.")  # fmt: skip


def _allocated(path: str, nodes: str, seed: int, draws: int) -> Allocated:
    """Cards that each policy allocates in the draws of a workload, and the most possible."""
    percent: dict[str, list[float]] = {name: [] for name in (*POLICIES, "bound", "reached")}
    cards = 0
    for draw in range(draws):
        number = FIRST_SEED + seed * draws + draw
        given = alibaba_openb(path, nodes=nodes, cards=True, demand=1.3, seed=number)
        assert given.cards is not None
        cards = int(given.cards @ given.server_count)
        answer = None
        for index, (name, (policy, _)) in enumerate(POLICIES.items()):
            answer = policy(given, rng=np.random.default_rng([number, index]))
            percent[name].append(_percent(given, answer))
        most = max_gpus(given, time_limit=SECONDS, start=answer, rng=np.random.default_rng(number))
        percent["bound"].append(100.0 if most.bound is None else most.bound)
        percent["reached"].append(_percent(given, most.solution))
    means = {name: float(np.mean(values)) for name, values in percent.items()}
    return Allocated(cards, means, means.pop("bound"), means.pop("reached"))


def _percent(instance: Packing, answer: object) -> float:
    assert isinstance(answer, Placement)
    return metrics(instance, answer)["cards_allocated"]
