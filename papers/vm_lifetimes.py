"""Policies on Azure's list of 2017, compared with a proved bound."""

from __future__ import annotations

import numpy as np

from ..analysis.lifetimes.metrics import metrics
from ..catalog import methods
from ..instances.lifetimes import Hosts, Lifetimes
from ..instances.lifetimes.formats import azure_2017
from ..instances.problem.base import Solution
from ..instances.problem.errors import InvalidOption
from ..solvers.lifetimes import hindsight
from .experiment import Paper, Parts, addition, chart

PAPER = Paper(
    "beyond",
    "Beyond the papers",
    "not in a paper",
    "lifetimes",
    guide="Tables that no paper has. Guide: [lifetimes](../lifetimes.md).",
)

VMS = "packing/azure_v1_vm_requests_dev_20k.csv"

DRAWS = 10
"""Of the order of VMs that arrive together."""

WINDOW, WINDOWS = 500, 5
"""VMs of a window, one behind the other, and windows, at equal distances."""


@PAPER.experiment("azure", seconds=40, data=(("vms", VMS),))
def azure(*, seed: int = 0, vms: str = "") -> Parts:
    """Percentages by which policies' server-time on Azure's VMs of 2017 exceeds a proved bound.

    Ties, VMs that arrive together, come in several orders; policies know of lifetimes what their
    docstrings say.

    Parameters
    ----------
    vms : path of the list of VMs.
    """
    if not vms:
        raise InvalidOption("vms is missing; expected a path. Give --data DATA")
    for words, until in (("while VMs come", "last-arrival"), ("the whole list", None)):
        trace = azure_2017(vms, until=until)  # type: ignore[arg-type]
        # 1. what no answer is below, and what was found knowing all lifetimes
        best = hindsight(trace, rng=np.random.default_rng(seed))
        assert best.bound is not None
        yield addition(f"{words}: VMs", trace.left_out)
        yield addition(f"{words}: server-hours, at least", f"{best.bound / 3600:.2f}")
        above = {"hindsight": {"ends known": _above(trace, best.solution, best.bound)}}
        # 2. policies, with orders of ties that are drawn, that of the list, and the best to know
        for policy in (one for one in methods("lifetimes") if one.kind == "heuristic"):
            run = policy.resolve()
            drawn = [
                _above(trace, run(trace, rng=np.random.default_rng(seed + k)), best.bound)
                for k in range(DRAWS)
            ]
            row = above[policy.name] = {"order drawn": float(np.mean(drawn))}
            for ties in ("file", "last-to-leave-first"):
                row[ties] = _above(trace, run(trace, ties=ties), best.bound)
            spread = f"drawn {row['order drawn']:.2f} ({min(drawn):.2f} to {max(drawn):.2f})"
            others = ", ".join(f"{ties} {row[ties]:.2f}" for ties in list(row)[1:])
            yield addition(f"{words}: {policy.name}, % above the bound", f"{spread}, {others}")
        value = above["hindsight"]["ends known"]
        yield addition(f"{words}: hindsight, % above the bound", f"{value:.2f}")
        yield chart(
            f"lifetimes-azure-{words.split()[-1]}", f"Server-time above the bound, {words}",
            "policy", "percent above the bound", {
                column: {name: row.get(column) for name, row in above.items()}
                for column in ("order drawn", "file", "last-to-leave-first", "ends known")
            },
        )  # fmt: skip
    # 3. few VMs at a time: how far the answer and the bound are apart
    trace = azure_2017(vms, until="last-arrival")
    gaps = []
    for first in np.linspace(0, len(trace.kind) - WINDOW, WINDOWS).astype(int):
        one = slice(first, first + WINDOW)
        part = trace.replace(kind=trace.kind[one], start=trace.start[one], end=trace.end[one])
        found = hindsight(part, rng=np.random.default_rng(seed))
        gaps.append(_above(part, found.solution, found.bound or 0.0))
    yield addition(f"windows of {WINDOW} VMs: hindsight, % above the bound",
                   ", ".join(f"{gap:.2f}" for gap in gaps))  # fmt: skip


def _above(trace: Lifetimes, answer: Solution | None, bound: float) -> float:
    """Percent by which the server-time of an answer is above a bound."""
    assert isinstance(answer, Hosts)
    return 100 * (metrics(trace, answer)["server_time"] / bound - 1)
