"""Which of some sixty faults, put into the code one at a time, the tests notice.

    python benchmarks/faults.py [--only TEXT] [--list]

Each row of the table names a file and the test files that are most likely to see the fault, says
what goes wrong, and has the text before and after. The faults are made in a temporary copy of this
checkout. A fault counts as caught where a test fails with it and passes without it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]

PATIENCE = 900
"""Seconds of the tests of one fault, after which it counts as caught: an endless loop."""

FAULTS = r"""
@ instances/colocation/stability.py colocation_given colocation_stable
  who would lose nothing by a change gains by it
- return np.asarray(before > after)
+ return np.asarray(before >= after)

@ instances/colocation/stability.py colocation_given colocation_stable
  a gain of exactly alpha is enough
- return before - decimal(new) > least
+ return before - decimal(new) >= least

@ instances/colocation/objective.py colocation_given colocation_fair
  slack compares each level of bandwidth with itself
- float((below - least[1:]).max(initial=0.0))
+ float((below - least[:-1]).max(initial=0.0))

@ instances/problem/base.py files reading contract
  the penalty of who is left without a partner is not written
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or value is False or type(value) is float:

@ instances/market/equilibrium.py market_given market_equilibrium
  money left over counts as overspending
- overspending=_largest(spending),
+ overspending=_largest(-spending),

@ instances/market/envy.py market_given market_analysis market_rivals
  a larger budget entitles to less of another's cores
- (market.budget[where.user[looking]] / market.budget[where.user[seen]])
+ (market.budget[where.user[seen]] / market.budget[where.user[looking]])

@ instances/admission/rules.py admission_given admission_schemes
  machines rank the jobs of fewest threads first
- np.argsort(-threads, kind="stable")
+ np.argsort(threads, kind="stable")

@ instances/scheduling/feasibility.py scheduling_given scheduling_instance
  jobs may overlap on a machine by one unit of time
- schedule.start[second] < schedule.start[first] + length[first]
+ schedule.start[second] < schedule.start[first] + length[first] - 1

@ instances/scheduling/utility.py scheduling_given scheduling_instance
  the last unit of a job is worth nothing
- total += (end - start) * (2 * t - start - end + 1) // 2
+ total += (end - start) * (2 * t - start - end - 1) // 2

@ instances/numa/bounds.py numa_instance numa_fluid numa_analysis
  a megabyte has 2**20 bytes
- BITS_PER_MEGABYTE = 8e6
+ BITS_PER_MEGABYTE = 8.0 * 2**20

@ instances/numa/feasible.py numa_instance numa_extremes
  a processor may be given the work of all of them
- if (work > instance.cores * (1 + ROUNDING)).any():
+ if (work > instance.all_cores * (1 + ROUNDING)).any():

@ instances/problem/emitted.py text advice_reading plain_tables
  a cell that begins with @ is left as it is
- tuple("=+-@
+ tuple("=+-

@ instances/problem/emitted.py text advice
  a name of others is written into a shell's command as it is
- return shlex.quote(text)
+ return text

@ instances/problem/text.py text mistakes reading
  letters that are commands to a terminal pass
- "[\x00-\x1f\x7f-\x9f"
+ "[\x00-\x1f\x7f"

@ instances/packing/game.py packing_instance packing_game packing_analysis
  the largest utilization counts as the least
- np.nanmin(server_utilization
+ np.nanmax(server_utilization

@ instances/groups/stability.py groups_given groups_analysis
  jobs exchange seats without a gain of one of them
- both &= now - after[part][:, own] > least
+ both &= now - after[part][:, own] >= least

@ instances/problem/base.py files packing_instance contract
  that a request may be served in part is not written
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or isinstance(value, bool):

@ models/colocation/stable.py colocation_models colocation_stable
  both types of a pair may have agents who would leave
- shared.builder.at_most(1.0, (flag[a, c], 1.0), (flag[c, a], 1.0))
+ shared.builder.at_most(2.0, (flag[a, c], 1.0), (flag[c, a], 1.0))

@ models/colocation/stable.py colocation_models colocation_stable
  blocking pairs within a type are counted W (W + 1) / 2
- np.ones(len(own)), -np.ones(len(own))])
+ np.ones(len(own)), np.ones(len(own))])

@ models/colocation/fair.py colocation_fair colocation_models
  a mean is compared with the largest of its own bandwidth
- (several, highest[level[above_first] - 1], -each
+ (several, highest[level[above_first]], -each

@ models/admission/arrays.py admission_exact admission_analysis
  one job less than asked for is enough
- rows.row(x, lower=float(least_jobs))
+ rows.row(x, lower=float(least_jobs) - 1.0)

@ models/numa/arrays.py numa_fluid numa_analysis
  the energy of a second of work is that of a task
- (energy / instance.service_mean[:, None])[:, instance.distance]
+ energy[:, instance.distance]

@ models/packing/assignment.py packing_constrained packing_placing proofs_placing
  a spread over zones must be more even than is asked
- model.add(one - another <= skew)
+ model.add(one - another <= skew - 1)

@ models/scheduling/time_indexed.py scheduling_optimum scheduling_parallel
  the last part of a unit of time is no time on a fast machine
- np.minimum(-(-instance.processing[job] // speeds[kind]), horizon - time)
+ np.minimum(instance.processing[job] // speeds[kind], horizon - time)

@ models/groups/columns.py groups_solvers groups_given
  groups that are forbidden may be formed
- lost.max(axis=1) < FORBIDDEN]
+ lost.max(axis=1) <= FORBIDDEN]

@ models/program.py engines models_back
  a row of whole numbers may be missed by one
- unit = np.where(loose, 1 + np.abs(
+ unit = 1e9 * np.where(loose, 1 + np.abs(

@ solvers/outcome.py agreement result engines
  a value that is a millionth off the bound is optimal
- AGREE = 1e-9
+ AGREE = 1e-6

@ solvers/incumbent.py colocation_solvers contract
  an answer is optimal though its bound is below it
- status = Status.FEASIBLE
+ status = Status.OPTIMAL

@ solvers/colocation/stable.py colocation_bounds colocation_stable
  that some number of pairs is too few proves two more
- self.raise_bound(most + 1, f"
+ self.raise_bound(most + 2, f"

@ solvers/packing/bounds.py packing_minimum packing_exact
  a volume that is whole servers is rounded up to one more
- best = max(best, -(-cost.numerator // cost.denominator))
+ best = max(best, cost.numerator // cost.denominator + 1)

@ solvers/packing/bounds.py packing_minimum packing_exact
  two machines of half a server each do not fit together
- large = (2 * size > room) & ~huge
+ large = (2 * size >= room) & ~huge

@ solvers/packing/presolve.py packing_minimum packing_exact packing_instance
  types of equal demand are merged, and one of them forgotten
- request=np.array([wanted[group].sum() for group in members]
+ request=np.array([wanted[group].max() for group in members]

@ solvers/packing/fitting_kernels.py packing_exact packing_minimum packing_instance
  of equally full servers the last is taken
- slack[a] <= slack[b]
+ slack[a] < slack[b]

@ solvers/admission/search.py admission_columns admission_exact admission_analysis
  the bound on the jobs served is rounded past a whole number
- np.floor(-answer.bound + 1e-6)
+ np.floor(-answer.bound - 1e-6)

@ solvers/incumbent.py contract
  an interrupted search says that it was finished
- self.stop = Stop.INTERRUPTED
+ self.stop = Stop.FINISHED

@ solvers/deferred_acceptance.py deferred_acceptance admission_schemes
  of two that are liked alike the later one is taken
- (most == mine and holder[worst] > p)
+ (most == mine and holder[worst] < p)

@ solvers/roommates/kernels.py roommates_search roommates_ties roommates_compiled
  an agent takes whom it likes no better
- while r < length[agent] and back[agent, r] >= predecessor_rank[choice[agent, r]]:
+ while r < length[agent] and back[agent, r] > predecessor_rank[choice[agent, r]]:

@ solvers/scheduling/kernels.py scheduling_ref scheduling_rules
  ties of REF go to the last organization
- (best < 0 or key[u] - key[best] < 0):
+ (best < 0 or key[u] - key[best] <= 0):

@ solvers/scheduling/optimum.py scheduling_optimum
  the bound of the intervals is one too low
- int(np.floor(answer.bound * (1 + 1e-15) + 0.5))
+ int(np.floor(answer.bound * (1 + 1e-15) - 0.5))

@ solvers/numa/kernels.py numa_simulation numa_extremes
  a task declines once more than its limit
- if freed - state.base[oldest] >= rules.limit:
+ if freed - state.base[oldest] > rules.limit:

@ solvers/numa/confidence.py numa_confidence numa_simulation
  an interval of 95 percent holds 90
- _SIDE = 0.975
+ _SIDE = 0.95

@ solvers/market/utilitarian.py market_optimal market_bounds
  the bound on total utility leaves out what serial jobs gain
- gain[serial] = work[serial]
+ gain[serial] = 0.0

@ solvers/engines/cpsat.py engines
  a row of an exact program is widened by one
- most = _outward(np.floor(program.row_upper + noise)).tolist()
+ most = _outward(np.floor(program.row_upper + noise) + 1.0).tolist()

@ verify/colocation.py proofs_colocation proofs_injected proofs_oracle
  half as many pairs of two types may be formed
- - u - v + 2 * both) * most
+ - u - v + 2 * both) * (most // 2)

@ verify/colocation_stable.py proofs_colocation proofs_injected proofs_oracle
  a gain of exactly alpha blocks
- * base // self.alpha.denominator - 1
+ * base // self.alpha.denominator

@ verify/packing_prices.py proofs_packing proofs_injected proofs_oracle
  a filling that is worth just what matters is left out
- if reach < least:
+ if reach <= least:

@ verify/frame.py proofs_frame proofs_market proofs_audit proofs_numa
  a claimed number may be a thousandth off
- less > ROUNDING * abs(proved)
+ less > 10**6 * ROUNDING * abs(proved)

@ verify/numa.py proofs_numa proofs_injected proofs_oracle
  a task costs what it costs at the dearest processor
- cost += row[m] * min(paid)
+ cost += row[m] * max(paid)

@ verify/scheduling.py proofs_scheduling proofs_injected proofs_oracle
  a job is priced at its release only
- for s in starts if release < s < self.horizon
+ for s in starts if release < s < 0

@ analysis/run/verify_result.py verify_result result
  a result of another instance is taken for this one's
- if result.fingerprint and result.fingerprint != fingerprint(instance):
+ if result.fingerprint and not fingerprint(instance):

@ analysis/run/verify_result.py verify_result contract own_methods
  a heuristic may claim a bound
- if kind in ("heuristic", "simulation") and
+ if kind in ("simulation",) and

@ analysis/run/gaps.py compare table aggregate rows
  of several bounds the weakest counts
- (max if sense == "min" else min)(bounds[name], bound)
+ (min if sense == "min" else max)(bounds[name], bound)

@ analysis/frontier.py frontier numa_pictures packing_pictures scheduling_pictures
  a point that nothing is known of counts as proved
- done = all(point.status in (Status.OPTIMAL, Status.INFEASIBLE) for
+ done = all(point.status is not Status.FEASIBLE for

@ analysis/packing/metrics.py packing_analysis
  servers that are not used do not count in the utilization
- number = instance.server_count.astype(np.int64) if fixed else used
+ number = used

@ analysis/colocation/metrics.py colocation_analysis colocation_baselines
  a penalty of just ten percent is tolerated
- number[value < TOLERATED]
+ number[value <= TOLERATED]

@ advice/to_packing.py advice_reading advice
  pods of different host ports are merged
- "pod_affinity", "spread", "ports", "unsupported_constraints",
+ "pod_affinity", "spread", "unsupported_constraints",

@ advice/scheduler_filters.py advice_components advice
  a host port of all addresses clashes with that of none
- same = address == theirs or address == "0.0.0.0" or theirs == "0.0.0.0"
+ same = address == theirs

@ advice/scheduler_filters.py advice advice_reading
  a disruption budget allows one eviction more
- if evicted[key] > max(budget.allowed,
+ if evicted[key] > 1 + max(budget.allowed,

@ running/lab/statistics.py running_given running_measure
  a neighbor that was there for half of the time counts less, not more
- rate = 1 - (1 - alone / seconds) / covered
+ rate = 1 - (1 - alone / seconds) * covered

@ running/batch/queue_store.py running_queue running_faults running_groups
  it is not counted how often a job was begun
- state = 'running', attempts = attempts + 1,
+ state = 'running', attempts = attempts,

@ running/batch/coordinator.py running_faults running_queue running_processes
  a job whose machine was lost is never run again
- again = cut or self.jobs.attempts[number] < MOST_ATTEMPTS
+ again = cut

@ cli/proofs.py cli verify_result
  a broken claim ends with exit code 0
- if found.broken:
+ if found.broken and as_json:

@ baselines/market/division_rules.py market_rivals market_reproduction
  the most serial jobs get the largest shares
- np.where(instance.useful, instance.parallel_fraction, 0.0)
+ np.where(instance.useful, 1.0 - instance.parallel_fraction, 0.0)

@ baselines/admission/schemes.py admission_schemes
  machines admit fewer jobs than there are
- -(-instance.jobs // instance.machines)
+ instance.jobs // instance.machines
"""


@dataclass(frozen=True)
class Fault:
    """One fault: where, what it means, the text before and after, the test files likely to see it,
    and its number in the table.
    """

    number: int
    path: str
    tests: tuple[str, ...]
    meaning: str
    old: str
    new: str


def faults() -> list[Fault]:
    """The rows of the table."""
    found = []
    for number, row in enumerate(FAULTS.strip().split("\n\n"), 1):
        head, meaning, old, new = row.split("\n")
        path, *tests = head.removeprefix("@ ").split()
        found.append(Fault(number, path, tuple(tests), meaning.strip(), old[2:], new[2:]))
    return found


def failing(checkout: Path, tests: list[str]) -> str:
    """The first test that fails, "" where all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "--tb=no"]
    settings = {**os.environ, "PYTHONPATH": str(checkout.parent)}
    try:
        run = subprocess.run(
            [*command, "-p", "no:cacheprovider", *tests], cwd=checkout, env=settings,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "(no end)"
    if run.returncode in (0, 5):
        return ""
    first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", run.stdout, re.MULTILINE)
    return first[1] if first else f"(exit code {run.returncode})"


def tried(fault: Fault, checkout: Path, passing: set[str]) -> str:
    """The test that catches a fault, "" where none does.

    Parameters
    ----------
    passing : tests that are known to pass without any fault; those that are tried are added.
    """
    file = checkout / fault.path
    before, stamp = file.read_text(), file.stat()
    if before.count(fault.old) != 1:
        raise SystemExit(
            f"{fault.path} has not once, but {before.count(fault.old)} times: {fault.old}"
        )
    tests = [f"tests/test_{name}.py" for name in fault.tests]
    file.write_text(before.replace(fault.old, fault.new))
    try:
        caught = failing(checkout, [name for name in tests if (checkout / name).exists()])
    finally:
        file.write_text(before)
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # compiled kernels are kept by it
    if "::" in caught and caught not in passing:
        if failing(checkout, [caught]):
            return f"? {caught} fails without it, too"
        passing.add(caught)
    return caught


def copied(folder: Path) -> Path:
    """A copy of the files of this checkout, as a package of its name."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=HOME, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, names):
        if (HOME / name).is_file():
            target = folder / "cotenant" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(HOME / name, target)
    return folder / "cotenant"


def main() -> None:
    """Try the faults and print which are caught, by what."""
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--only", default="", metavar="TEXT", help="faults whose row has this text")
    reader.add_argument("--list", action="store_true", help="print the table alone")
    chosen = reader.parse_args()
    rows = [
        fault
        for fault in faults()
        if chosen.only in f"{fault.number} {fault.path} {fault.meaning} {fault.old}"
    ]
    caught = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        checkout = copied(Path(folder))
        passing = set[str]()
        for fault in rows:
            print(f"{fault.number:3} {fault.path}: {fault.meaning}", flush=True)
            if chosen.list:
                continue
            begin = time.perf_counter()
            by = tried(fault, checkout, passing)
            caught += bool(by) and not by.startswith("?")
            print(f"    {by or 'NOT CAUGHT'}, {time.perf_counter() - begin:.0f} s", flush=True)
    print(f"{len(rows)} faults" if chosen.list else f"{caught} of {len(rows)} faults caught")


if __name__ == "__main__":
    main()
