"""Which of some sixty faults, put into the code one at a time, the tests notice.

    python benchmarks/faults.py [--only TEXT] [--list]

Each row of the table names a file and what goes wrong, the tests that are most likely to see it
(file::function, or a whole file), and has the text before and after. The faults are made in a
temporary copy of this checkout. A fault counts as caught where a test fails with it and passes
without it.
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
@ instances/colocation/stability.py: who would lose nothing by a change gains by it
? colocation_stable::test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration
- return np.asarray(before > after)
+ return np.asarray(before >= after)

@ instances/colocation/stability.py: a gain of exactly alpha is enough
? colocation_stable::test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration
- return before - decimal(new) > least
+ return before - decimal(new) >= least

@ instances/colocation/objective.py: slack compares each level of bandwidth with itself
? colocation_fair::test_the_long_way_gives_what_enumeration_gives
- float((below - least[1:]).max(initial=0.0))
+ float((below - least[:-1]).max(initial=0.0))

@ instances/problem/base.py: the penalty of who is left without a partner is not written
? files::test_bundled_instances_are_read_and_written_as_exact_inverses
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or value is False or type(value) is float:

@ instances/packing/cards.py: a share counts as a part of two cards in the bound
? packing_cards::test_servers_cost_and_moves_with_cards_are_those_of_all_placements
- counted = np.where(parts % units == 0, k * share, parts // units * units)
+ counted = np.where(parts % units == 0, k * share, (parts // units + 1) * units)

@ solvers/packing/cards.py: a card is worth half of its dearest filling
? packing_cards::test_prices_of_any_multipliers_bound_every_answer
- cards = [max(int(g), int(top)) for g, top in zip(card, tops, strict=True)]
+ cards = [max(int(g), int(top) // 2) for g, top in zip(card, tops, strict=True)]

@ verify/packing_cards.py: a filling holds each size of share once
? packing_cards::test_a_forged_price_of_a_card_proves_nothing
- while taken + size <= units:
+ if taken + size <= units:

@ instances/market/equilibrium.py: money left over counts as overspending
? market_equilibrium::test_the_certificate_sees_cores_withheld_money_overspent_and_wrong_prices
- overspending=_largest(spending),
+ overspending=_largest(-spending),

@ instances/market/envy.py: a larger budget entitles to less of another's cores
? market_rivals::test_the_envy_matrix_is_that_of_loops
- (market.budget[where.user[looking]] / market.budget[where.user[seen]])
+ (market.budget[where.user[seen]] / market.budget[where.user[looking]])

@ instances/admission/rules.py: machines rank the jobs of fewest threads first
? admission_schemes::test_each_scheme_on_the_tiny_instance_worked_by_hand
- np.argsort(-threads, kind="stable")
+ np.argsort(threads, kind="stable")

@ solvers/accelerators/prices.py: prices stay below what a placement is worth
? proofs_accelerators::test_covering_prices_are_accepted_exactly_and_round_to_no_smaller_bound
- np.where(short > 0, (short / (1 + same) + job[first]), 0.0)
+ np.where(short > 0, (short / 2 + job[first]), 0.0)

@ solvers/packing/arrivals.py: a VM that leaves counts as two moves
? advice_gpus::test_the_bundled_state_needs_three_moves_for_its_gang
- cost = (self.running * (worth + SCALE))
+ cost = (self.running * (worth + 2 * SCALE))

@ advice/kinds.py: a share of a card takes a whole one in the bound
? advice_gpus::test_a_share_stays_in_a_plan_and_is_free_in_the_bound
- SHARES if resource in (CARD, CARDS) else ""
+ ""

@ advice/gang_admission.py: a pod of a gang may wait
? advice_gpus::test_a_gang_is_admitted_whole_or_not_at_all
- return with_waiting(plan, 0)
+ return with_waiting(plan, 1)

@ instances/accelerators/feasible.py: a pair is one job of its type
? accelerators::test_what_does_not_fit_is_refused
- jobs[second] += exact
+ jobs[second] += 0 * exact

@ solvers/accelerators/leximin.py: all stay where the first are at their most
? accelerators::test_leximin_raises_every_job_as_far_as_the_program_of_every_job
- stopped = rising & most & (weight > 0)
+ stopped = rising

@ solvers/accelerators/max_min.py: a ratio is ruled out by half of what it asks for
? accelerators::test_the_optima_equal_the_programs_of_every_job
- math.fsum(each / left) >= worth
+ 2 * math.fsum(each / left) >= worth

@ instances/accelerators/measures.py: a job of two workers is due as much as one of one
? accelerators::test_the_optima_equal_the_programs_of_every_job
- return proportional_throughputs(instance) * instance.weight / instance.workers
+ return proportional_throughputs(instance) * instance.weight

@ verify/accelerators.py: a pair pays for the time of one job
? proofs_accelerators::test_prices_are_refused_where_a_placement_is_worth_more_and_nowhere_else
- uses.append((rates[0] * worth[i] + rates[1] * worth[j], job[i] + job[j]))
+ uses.append((rates[0] * worth[i] + rates[1] * worth[j], 2 * job[i] + 2 * job[j]))

@ verify/accelerators.py: an answer may use twice the devices
? proofs_accelerators::test_answers_that_do_not_fit_are_refused
- any(s > over * n for s, n in zip(spent, there, strict=True))
+ any(s > 2 * over * n for s, n in zip(spent, there, strict=True))

@ verify/quanta.py: an average is taken over one user more
? quanta::test_the_optimum_is_that_of_all_sets_of_users_and_proves_itself
-- least = min(least, Fraction(used, k))
-+ least = min(least, Fraction(used, k + 1))

@ solvers/quanta.py: who is behind a cut leaves half of what it wants
? quanta::test_the_optimum_is_that_of_all_sets_of_users_and_proves_itself
-- left = np.maximum(room - wanted[poor].sum(axis=0), 0)
-+ left = np.maximum(room - wanted[poor].sum(axis=0) // 2, 0)

@ baselines/quanta.py: the donor with most credits is paid first
? quanta::test_karma_gives_what_it_gives_slice_by_slice
-- owned += raised(owned, donated, int(borrowed.sum())) - borrowed
-+ owned += raised(-owned, donated, int(borrowed.sum())) - borrowed

@ instances/scheduling/feasibility.py: jobs may overlap on a machine by one unit of time
? scheduling_instance::test_a_broken_rule_is_named
- schedule.start[second] < schedule.start[first] + length[first]
+ schedule.start[second] < schedule.start[first] + length[first] - 1

@ instances/scheduling/utility.py: the last unit of a job is worth nothing
? scheduling_instance::test_psi_is_the_sum_over_unit_parts
- total += (end - start) * (2 * t - start - end + 1) // 2
+ total += (end - start) * (2 * t - start - end - 1) // 2

@ instances/numa/bounds.py: a megabyte has 2**20 bytes
? numa_instance::test_the_energy_of_a_task_follows_from_its_local_service_time
- BITS_PER_MEGABYTE = 8e6
+ BITS_PER_MEGABYTE = 8.0 * 2**20

@ instances/numa/feasible.py: a processor may be given the work of all of them
? numa_extremes::test_a_flow_that_gives_a_processor_a_thousandth_too_much_work_is_refused
- if (work > instance.cores * (1 + ROUNDING)).any():
+ if (work > instance.all_cores * (1 + ROUNDING)).any():

@ instances/problem/emitted.py: a cell that begins with @ is left as it is
? advice_reading::test_no_cell_of_a_plan_is_a_formula
- tuple("=+-@
+ tuple("=+-

@ instances/problem/emitted.py: a name of others is written into a shell's command as it is
? text::test_a_text_of_others_is_one_word_of_a_command
- return shlex.quote(text)
+ return text

@ instances/problem/text.py: letters that are commands to a terminal pass
? text::test_every_control_and_turn_of_direction_is_written_as_its_escape
- "[\x00-\x1f\x7f-\x9f"
+ "[\x00-\x1f\x7f"

@ instances/packing/game.py: the largest utilization counts as the least
? packing_game::test_the_true_top_three_and_the_order_of_moves
- np.nanmin(server_utilization
+ np.nanmax(server_utilization

@ instances/groups/stability.py: jobs exchange seats without a gain of one of them
? groups_analysis::test_a_gain_has_to_be_more_than_alpha
- both &= now - after[part][:, own] > least
+ both &= now - after[part][:, own] >= least

@ instances/problem/base.py: that a request may be served in part is not written
? files::test_any_instance_survives_a_round_trip
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or isinstance(value, bool):

@ models/colocation/stable.py: both types of a pair may have agents who would leave
? colocation_stable::test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration
- 1.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (np.maximum(beside[a, c], 0), joins)
+ 2.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (np.maximum(beside[a, c], 0), joins)

@ models/colocation/single_agents.py: one partner counts as two that an agent would not leave
? colocation_single_agents::test_the_best_pairing_is_that_of_enumeration
- (joins, both, -1.0), lower=0.0, upper=0.0,
+ (joins, both, -2.0), lower=0.0, upper=0.0,

@ models/colocation/stable.py: blocking pairs within a type are counted W (W + 1) / 2
? colocation_models::test_fewest_and_at_most_so_many_blocking_pairs_equal_enumeration
- np.ones(len(own)), -np.ones(len(own))])
+ np.ones(len(own)), np.ones(len(own))])

@ models/colocation/fair.py: a mean is compared with the largest of its own bandwidth
? colocation_fair::test_the_long_way_gives_what_enumeration_gives
- (several, highest[level[above_first] - 1], -each[above_first]),
+ (several, highest[level[above_first]], -each[above_first]),

@ models/admission/arrays.py: one job less than asked for is enough
? admission_exact::test_speeds_of_many_digits_are_proved_by_every_engine
- rows.row(x, lower=float(least_jobs))
+ rows.row(x, lower=float(least_jobs) - 1.0)

@ models/numa/arrays.py: the energy of a second of work is that of a task
? numa_fluid::test_a_second_formulation_finds_the_same_optima
- (energy / instance.service_mean[:, None])[:, instance.distance]
+ energy[:, instance.distance]

@ instances/packing/services.py: a mix whose first type gives all but the last VM is left out
? packing_services::test_covers_are_the_mixes_that_do_without_no_vm
- (*mix, n)) for n in range(enough)]
+ (*mix, n)) for n in range(enough - 1)]

@ verify/packing_servers.py: the same in the program of the verifier
? packing_services::test_the_program_of_the_verifier_has_a_point_from_the_optimum_on
- {**mix, d: n}) for n in range(last)]
+ {**mix, d: n}) for n in range(last - 1)]

@ models/packing/assignment.py: a spread over zones must be more even than is asked
? packing_constrained::test_the_model_of_every_server_keeps_a_spread_and_asks_no_more
- model.add(total <= fewest + skew)
+ model.add(total <= fewest + skew - 1)

@ models/scheduling/time_indexed.py: the last part of a unit of time is no time on a fast machine
? scheduling_parallel::test_optima_are_those_of_every_schedule
- np.minimum(-(-instance.processing[job] // speeds[kind]), horizon - time)
+ np.minimum(instance.processing[job] // speeds[kind], horizon - time)

@ models/groups/columns.py: groups that are forbidden may be formed
? groups_solvers::test_two_seats_are_a_colocation
- lost.max(axis=1) < FORBIDDEN]
+ lost.max(axis=1) <= FORBIDDEN]

@ models/program.py: a row of whole numbers may be missed by one
? engines::test_the_translated_bound_never_passes_the_true_optimum
- unit = np.where(loose, 1 + np.abs(
+ unit = 1e9 * np.where(loose, 1 + np.abs(

@ solvers/outcome.py: a value that is a millionth off the bound is optimal
? agreement::test_no_scale_makes_a_gap_of_the_value_itself_agree
- AGREE = 1e-9
+ AGREE = 1e-6

@ solvers/incumbent.py: an answer is optimal though its bound is below it
? contract::test_an_interrupt_keeps_the_best_answer_and_a_bound_that_holds
- status = Status.FEASIBLE
+ status = Status.OPTIMAL

@ solvers/colocation/first_phase.py: of its own type an agent leaves for there is none
? colocation_first_phase::test_no_pair_of_a_pairing_with_few_blocking_pairs_is_struck_out
- np.minimum(each, most + 1)
+ np.minimum(each, most)

@ solvers/blossom.py: a path is taken over although enough agents are paired
? colocation_blossom::test_a_pairing_with_few_enough_alone_is_taken_of_those_equal_at_a_rent
- if many <= most or seen[end] or len(path) % 2:
+ if seen[end] or len(path) % 2:

@ verify/groups.py: a pair costs what it does on the last class of machines
? groups_pairs::test_pairs_cost_what_they_do_where_they_cost_least_and_so_do_jobs_alone
- each if known is None else min(known, each)
+ each

@ solvers/colocation/stable.py: that some number of pairs is too few proves two more
? colocation_bounds::test_a_decision_about_two_blocking_pairs_proves_three_and_only_when_it_is_no
- self.raise_bound(most + 1, f"
+ self.raise_bound(most + 2, f"

@ solvers/packing/bounds.py: a volume that is whole servers is rounded up to one more
? packing_minimum::test_exact_routes_agree_on_middle_instances
- best = max(best, -(-cost.numerator // cost.denominator))
+ best = max(best, cost.numerator // cost.denominator + 1)

@ solvers/packing/bounds.py: two machines of half a server each do not fit together
? packing_minimum::test_every_bound_is_at_most_the_optimum_and_every_greedy_answer_at_least
- large = (2 * size > room) & ~huge
+ large = (2 * size >= room) & ~huge

@ solvers/packing/presolve.py: types of equal demand are merged, and one of them forgotten
? packing_minimum::test_it_is_what_trying_everything_gives
- request=np.array([wanted[group].sum() for group in members]
+ request=np.array([wanted[group].max() for group in members]

@ solvers/packing/fitting_kernels.py: of equally full servers the last is taken
? packing_instance::test_servers_are_sorted_as_by_a_stable_sort
- slack[a] <= slack[b]
+ slack[a] < slack[b]

@ solvers/admission/search.py: the bound on the jobs served is rounded past a whole number
? admission_columns::test_a_second_level_cut_short_is_bounded_by_what_the_engine_proved
- np.floor(-answer.bound + 1e-6)
+ np.floor(-answer.bound - 1e-6)

@ solvers/incumbent.py: an interrupted search says that it was finished
? contract::test_an_interrupt_keeps_the_best_answer_and_a_bound_that_holds
- self.stop = Stop.INTERRUPTED
+ self.stop = Stop.FINISHED

@ solvers/deferred_acceptance.py: of two that are liked alike the later one is taken
? admission_schemes::test_each_scheme_on_the_tiny_instance_worked_by_hand
- (most == mine and holder[worst] > p)
+ (most == mine and holder[worst] < p)

@ solvers/roommates/kernels.py: an agent takes whom it likes no better
? roommates_search::test_the_search_finds_the_minimum_over_all_matchings
- while r < length[agent] and back[agent, r] >= predecessor_rank[choice[agent, r]]:
+ while r < length[agent] and back[agent, r] > predecessor_rank[choice[agent, r]]:

@ solvers/scheduling/kernels.py: ties of REF go to the last organization
? scheduling_ref::test_compiled_ref_equals_plain_ref_on_random_instances
- (best < 0 or key[u] - key[best] < 0):
+ (best < 0 or key[u] - key[best] <= 0):

@ solvers/scheduling/optimum.py: the bound of the intervals is one too low
? scheduling_optimum::test_both_engines_agree_on_middle_instances
- int(np.floor(answer.bound * (1 + 1e-15) + 0.5))
+ int(np.floor(answer.bound * (1 + 1e-15) - 0.5))

@ solvers/numa/kernels.py: a task declines once more than its limit
? numa_simulation::test_a_story_of_refusals_worked_by_hand
- if freed - state.base[oldest] >= rules.limit:
+ if freed - state.base[oldest] > rules.limit:

@ solvers/numa/confidence.py: an interval of 95 percent holds 90
? numa_confidence::test_intervals_of_short_runs_at_a_high_load_hold_the_truth_as_often_as_they_say
- _SIDE = 0.975
+ _SIDE = 0.95

@ solvers/market/utilitarian.py: the bound on total utility leaves out what serial jobs gain
? market_optimal::test_no_small_market_is_left_with_a_gap
- gain[serial] = work[serial]
+ gain[serial] = 0.0

@ solvers/engines/cpsat.py: a row of an exact program is widened by one
? engines::test_all_libraries_share_a_process_in_either_order
- most = _outward(np.floor(program.row_upper + noise)).tolist()
+ most = _outward(np.floor(program.row_upper + noise) + 1.0).tolist()

@ verify/pairing.py: half as many pairs of two types may be formed
? proofs_colocation::test_no_multipliers_prove_more_than_the_least_mean_penalty
- - u - v + 2 * both) * most
+ - u - v + 2 * both) * (most // 2)

@ verify/colocation_stable.py: a gain of exactly alpha blocks
? proofs_colocation::test_an_answer_is_worth_what_its_agents_say
- * base // self.alpha.denominator - 1
+ * base // self.alpha.denominator

@ verify/packing_prices.py: a filling that is worth just what matters is left out
? proofs_packing::test_the_fillings_of_a_server_are_those_of_enumeration
- if line and dantzig(at, worth, left) < least:
+ if line and dantzig(at, worth, left) <= least:

@ verify/packing_prices.py: what may still be added is worth less than it is
? proofs_packing::test_the_fillings_of_a_server_are_those_of_enumeration
- min(kept, before - value)
+ min(kept, before)

@ verify/frame.py: a claimed number may be a thousandth off
? proofs_market::test_a_claim_that_says_more_than_was_found_is_refused
- less > ROUNDING * abs(proved)
+ less > 10**6 * ROUNDING * abs(proved)

@ verify/numa.py: a task costs what it costs at the dearest processor
? proofs_numa::test_bundled_flows_are_certified_exactly
- cost += row[m] * min(paid)
+ cost += row[m] * max(paid)

@ verify/scheduling.py: a job is priced at its release only
? proofs_scheduling::test_no_prices_of_time_prove_less_than_the_optimum
- for s in starts if release < s < self.horizon
+ for s in starts if release < s < 0

@ analysis/run/verify_result.py: a result of another instance is taken for this one's
? verify_result::test_changes_to_a_result_are_seen_or_listed
- if result.fingerprint and result.fingerprint != fingerprint(instance):
+ if result.fingerprint and not fingerprint(instance):

@ analysis/run/verify_result.py: a heuristic may claim a bound
? contract::test_a_bound_that_a_policy_claims_is_seen
- if kind in ("heuristic", "simulation") and
+ if kind in ("simulation",) and

@ analysis/run/gaps.py: of several bounds the weakest counts
? compare::test_the_best_of_several_bounds_is_the_one_gaps_are_measured_against
- (max if sense == "min" else min)(bounds[name], bound)
+ (min if sense == "min" else max)(bounds[name], bound)

@ analysis/frontier.py: a point that nothing is known of counts as proved
? frontier::test_an_interrupted_frontier_is_not_called_proved
- done = all(point.status in (Status.OPTIMAL, Status.INFEASIBLE) for
+ done = all(point.status is not Status.FEASIBLE for

@ analysis/packing/metrics.py: servers that are not used do not count in the utilization
? packing_analysis::test_unused_servers_count_where_their_number_is_fixed
- number = instance.server_count.astype(np.int64) if fixed else used
+ number = used

@ analysis/colocation/metrics.py: a penalty of just ten percent is tolerated
? colocation_analysis::test_a_penalty_of_just_ten_percent_is_not_tolerated
- number[value < TOLERATED]
+ number[value <= TOLERATED]

@ advice/state.py: pods of different host ports are merged
? advice_reading advice
- "pod_affinity", "spread", "ports", "unsupported_constraints",
+ "pod_affinity", "spread", "unsupported_constraints",

@ advice/scheduler_filters.py: a host port of all addresses clashes with that of none
? advice::test_host_ports_are_one_to_a_node
- same = address == theirs or address == "0.0.0.0" or theirs == "0.0.0.0"
+ same = address == theirs

@ advice/scheduler_filters.py: a disruption budget allows one eviction more
? advice::test_the_judge_refuses_every_kind_of_wrong_plan
- if evicted[key] > max(budget.allowed,
+ if evicted[key] > 1 + max(budget.allowed,

@ running/lab/statistics.py: a neighbor that was there for half of the time counts less, not more
? running_measure::test_a_loss_seen_for_a_part_of_the_time_is_divided_by_that_part
- rate = 1 - (1 - alone / seconds) / covered
+ rate = 1 - (1 - alone / seconds) * covered

@ running/batch/queue_store.py: it is not counted how often a job was begun
? running_queue::test_it_is_counted_how_often_a_job_was_begun
- state = 'running', attempts = attempts + 1,
+ state = 'running', attempts = attempts,

@ running/batch/coordinator.py: a job whose machine was lost is never run again
? running_queue::test_a_killed_supervisor_says_nothing_of_how_its_jobs_ended
- again = self.jobs.attempts[number] < MOST_ATTEMPTS
+ again = False

@ cli/proofs.py: a broken claim ends with exit code 0
? cli::test_check_accepts_what_solve_wrote_and_names_what_was_tampered_with
- if found.broken:
+ if found.broken and as_json:

@ baselines/market/division_rules.py: the most serial jobs get the largest shares
? market_rivals::test_equal_and_proportional_shares_by_hand
- np.where(instance.useful, instance.parallel_fraction, 0.0)
+ np.where(instance.useful, 1.0 - instance.parallel_fraction, 0.0)

@ baselines/admission/schemes.py: machines admit fewer jobs than there are
? admission_schemes::test_the_quota_is_rounded_up
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
        head, tests, old, new = (line[2:] for line in row.split("\n"))
        path, _, meaning = head.partition(": ")
        found.append(Fault(number, path, tuple(tests.split()), meaning, old, new))
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


def place_of(name: str, checkout: Path) -> str:
    """A test of the table, "file::function", as pytest takes it; its file where it has gone."""
    file, _, function = name.partition("::")
    path = f"tests/test_{file}.py"
    there = function and f"def {function}(" in (checkout / path).read_text()
    return f"{path}::{function}" if there else path


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
    tests = [place_of(name, checkout) for name in fault.tests]
    file.write_text(before.replace(fault.old, fault.new))
    try:
        caught = failing(checkout, tests)
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
