"""Six published deployments of ParvaGPU (SC 2024), compared with the fewest cards."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

from ..instances.packing import Placement
from ..instances.packing.mig import card_named, layout, mig
from ..instances.problem.tables import CsvRow, CsvTable
from ..solvers.outcome import Outcome
from ..solvers.packing.minimum import min_servers
from .experiment import Paper, Parts, addition, compare

PAPER = Paper(
    "parvagpu",
    "ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud Environments "
    "(2024)",
    "ParvaGPU",
    "packing",
    guide="Guide: [GPUs](../howto/cards.md#mig-slices).",
)

CARD, LOADS = "a100-80gb", 6

MOST_PROCESSES = 5
"""In one slice of the deployments of loads 3 and 5; the text allows three."""


@PAPER.experiment(
    "mig-deployments",
    "the six deployments of its repository",
    data=(("rates", "gpu/parva/SLO_req_rate.txt"),),
)
def deployments(*, seed: int = 0, rates: str = "SLO_req_rate.txt") -> Parts:
    """Number of cards of each published deployment beside the fewest that suffice, and whether its
    services get their rates.

    Parameters
    ----------
    rates : the file of the loads; the profiles, latencies and deployments are beside it.
    """
    folder, overlapping, cards = Path(rates).parent, 0, 0
    for load in range(1, LOADS + 1):
        instance = mig(folder, load=load, card=CARD)
        slices = list(CsvTable(folder / f"deploy{load}.txt"))
        by_card: dict[tuple[str, str], list[CsvRow]] = defaultdict(list)
        for row in slices:
            by_card[row["Num instance"], row["Num GPU"]].append(row)
        found = min_servers(instance)
        more = min_servers(mig(folder, load=load, card=CARD, processes=MOST_PROCESSES))
        yield compare(f"load {load}: cards", str(len(by_card)), _shown(found),
            _cards(found) == len(by_card),
            f"{len(instance.services)} services; with up to {MOST_PROCESSES} processes in a slice "
            f"{_shown(more)}",
            "there is a deployment within the same rules that takes fewer cards")  # fmt: skip
        given = dict.fromkeys((service.name for service in instance.services), Fraction(0))
        for row in slices:
            given[row["Model"]] += _throughput(folder, row)
        over = {
            service.name: float(given[service.name] * 1000 / service.rate)
            for service in instance.services
        }
        least = min(over, key=over.__getitem__)
        yield compare(
            f"load {load}: the deployment gives every service its rate", "yes",
            f"{least} least: {over[least]:.4f} of its rate", over[least] >= 1,
        )  # fmt: skip
        for rows in by_card.values():
            cards += 1
            overlapping += not _apart(rows)
            assert layout(CARD, [_profile(row) for row in rows]) is not None
    yield addition(
        "cards whose slices overlap in memory at the starts of the column Placement",
        f"{overlapping} of {cards}", "all of these slices fit at other starts, and the scripts "
        "hand their sizes alone to the driver, which finds some",
    )  # fmt: skip


def _shown(found: Outcome) -> str:
    proved = "proved" if found.status == "optimal" else f"at least {found.bound}"
    return f"{_cards(found)}, {proved}"


def _cards(found: Outcome) -> int:
    assert isinstance(found.solution, Placement)
    return found.solution.servers


def _profile(row: CsvRow) -> str:
    """MIG profile of a slice of a deployment: the first profile of its size."""
    profiles = card_named(CARD).profiles
    size = row.whole("Instance size")
    return next(name for name, profile in profiles.items() if profile.compute == size)


def _throughput(folder: Path, row: CsvRow) -> Fraction:
    """Throughput of a slice of a deployment, by the measured profile of its service."""
    for measured in CsvTable(folder / f"{row['Model']}.csv"):
        same = (
            ("Mig instance", "Instance size"),
            ("Batch size",) * 2,
            ("Workload Number", "Num proc"),
        )
        if all(measured[one] == row[other] for one, other in same):
            return measured.fraction("Throughput") * row.whole("Num proc")
    raise row.error(f": {row['Model']} was not measured like this")


def _apart(rows: list[CsvRow]) -> bool:
    """Return whether no two slices of a card share a memory slice."""
    profiles = card_named(CARD).profiles
    taken = [
        row.whole("Placement") + k for row in rows for k in range(profiles[_profile(row)].memory)
    ]
    return len(set(taken)) == len(taken)
