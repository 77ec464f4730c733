"""A log's jobs as sequential copies, as parallel jobs, and with backfilling: what it changes.

    python benchmarks/parallel_reading.py LOG.swf.gz [--windows 20] [--length 50000] [--machines N]

For windows drawn uniformly (warm start, five organizations, machines by Zipf): how many are
contended, the mean unfairness of rules against REF of the same reading, the share of the machines'
time that REF uses, and in how many windows the log's own schedule owes another organization most
than by the sequential reading. Windows without work are drawn again.
"""

from __future__ import annotations

import argparse

import numpy as np

from cotenant.analysis.scheduling.metrics import unfairness
from cotenant.analysis.scheduling.windows import rule_schedule
from cotenant.instances.problem.errors import InvalidInstance
from cotenant.instances.scheduling import psi, utilities
from cotenant.instances.scheduling.formats import read_swf
from cotenant.instances.scheduling.log import Settings, window
from cotenant.instances.scheduling.utility import per_organization
from cotenant.solvers.scheduling.shapley_schedule import play_ref, reference_of

RULES = ("FAIRSHARE", "UTFAIRSHARE", "CURRFAIRSHARE", "DIRECTCONTR", "ROUNDROBIN", "FIFO")
READINGS = {
    "sequential": {},
    "parallel": {"jobs": "parallel"},
    "backfilling": {"jobs": "parallel", "backfilling": True},
}


def main() -> None:
    """Print a line for each reading."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--length", type=int, default=50_000)
    parser.add_argument("--machines", type=int)
    options = parser.parse_args()
    log = read_swf(options.log)
    most = max(options.machines or log.machines or 0, int(log.processors.max()))
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in READINGS}
    drawn = 0
    while len(found["sequential"]) < options.windows:
        drawn += 1
        begin = int(np.random.default_rng([0, drawn]).integers(log.begin, log.end - options.length))
        rows = {}
        for name, how in READINGS.items():
            settings = Settings(begin, options.length, machines=most, initial="warm", **how)
            try:
                judged = window(log, settings, np.random.default_rng([1, drawn]))
            except InvalidInstance:
                break
            instance = judged.instance
            fair = reference_of(play_ref(instance))
            if not fair.units:
                break
            distances = [
                unfairness(fair, utilities(instance, rule_schedule(instance, rule, rng))) or 0.0
                for rule, rng in ((rule, np.random.default_rng(0)) for rule in RULES)
            ]
            own = per_organization(
                instance, psi(judged.start, instance.work, instance.horizon, instance.processors)
            )
            owed = [share - mine for share, mine in zip(fair.phi(own), own.tolist(), strict=True)]
            used = fair.units / (instance.capacity * instance.horizon)
            rows[name] = (
                instance.jobs,
                fair.contended > 0,
                used,
                owed.index(max(owed)),
                *distances,
            )
        if len(rows) == len(READINGS):
            for name, row in rows.items():
                found[name].append(row)
    print(f"{log.name}, {most} machines, {options.windows} windows of {options.length} s")
    print("reading, jobs, contended, REF uses, most owed another,", ", ".join(RULES))
    first = np.array(found["sequential"])
    for name, rows in found.items():
        table = np.array(rows)
        mean = table.mean(axis=0)
        print(
            f"{name}, {mean[0]:.0f}, {table[:, 1].sum():.0f}, {100 * mean[2]:.1f} %, "
            f"{(table[:, 3] != first[:, 3]).sum()},",
            ", ".join(f"{value:.3g}" for value in mean[4:]),
        )


if __name__ == "__main__":
    main()
