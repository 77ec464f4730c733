"""Which of some hundred and sixty faults, put into the code one at a time, the tests notice.

    python benchmarks/faults.py [--only TEXT] [--jobs N] [--seed N] [--list]

Each row of the table names a file and what goes wrong, the tests that are most likely to see it
(file::function, or a whole file), and has the text before and after. To these come faults that a
seed draws from the statements of some folders. The faults are made in temporary copies of this
checkout. A fault counts as caught where a test fails with it and passes without it; those that no
test notices are listed at the end. Some drawn ones change nothing that can be seen.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue

HOME = Path(__file__).resolve().parents[1]

PATIENCE = 300
"""Seconds of a test, or a file of tests, after which a fault counts as caught: an endless loop."""

DRAWN = {
    "cluster/[fjp]*/*.py cluster/report/*.py cluster/state/*.py": "advice advice_reading "
    "advice_kubernetes advice_inputs advice_fit advice_gpus advice_safe advice_page fairness",
    "cluster/measure/*.py cluster/run/*.py": "running_queue running_measure "
    "running_run_given running_given running_processes",
    "baselines/**/*.py": "contract accelerators_policies admission_schemes colocation_baselines "
    "groups_policies market_rivals numa_simulation packing_instance packing_services quanta "
    "scheduling_ref",
    "cli/*.py": "cli mistakes running_measure bounds measures "
    "proofs_frame advice advice_fit advice_page advice_safe",
    "instances/*/*formats.py instances/*/*reader.py instances/problem/[cdfrt]*.py "
    "instances/scheduling/[klsu]*.py": "reading files mistakes checks",
}
"""Files from which faults are drawn, and tests that are tried after those that name the module."""

DRAWN_EACH = 8
"""Faults that are drawn from each of these."""

FAULTS = r"""
@ instances/colocation/stability.py: who would lose nothing by a change gains by it
? colocation_stable::test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration
- return np.asarray(before > after)
+ return np.asarray(before >= after)

@ instances/colocation/stability.py: a gain of exactly alpha is enough
? colocation_given::test_penalties_are_compared_as_exact_decimals
- return before - as_written(new) > least
+ return before - as_written(new) >= least

@ instances/colocation/objective.py: slack compares each level of bandwidth with itself
? colocation_stable::test_integer_program_of_fair_pairing_equals_enumeration
- float((below - least[1:]).max(initial=0.0))
+ float((below - least[:-1]).max(initial=0.0))

@ instances/problem/base.py: the penalty of who is left without a partner is not written
? files::test_bundled_instances_round_trip_exactly
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or value is False or type(value) is float:

@ instances/packing/cards.py: a share counts as a part of two cards in the bound
? packing_cards::test_packing_with_cards_equals_enumeration
- counted = np.where(parts % units == 0, k * share, parts // units * units)
+ counted = np.where(parts % units == 0, k * share, (parts // units + 1) * units)

@ solvers/packing/cards.py: a card is worth half of its dearest filling
? packing_cards::test_gpu_bound_at_any_dual_prices_of_card_program_is_valid
- card = np.maximum(parts[1], worth.max(axis=0, initial=0))
+ card = np.maximum(parts[1], worth.max(axis=0, initial=0) // 2)

@ verify/packing_cards.py: a filling holds each size of share once
? packing_cards::test_forged_card_price_in_proof_is_refused
- while taken + size <= units:
+ if taken + size <= units:

@ instances/market/equilibrium.py: money left over counts as overspending
? market_equilibrium::test_equilibrium_certificate_detects_violations
- given, asked, _largest(spending),
+ given, asked, _largest(-spending),

@ instances/market/envy.py: a larger budget entitles to less of another's cores
? market_rivals::test_envy_matrix_equals_plain_loops
- (market.budget[where.user[looking]] / market.budget[where.user[seen]])
+ (market.budget[where.user[seen]] / market.budget[where.user[looking]])

@ instances/admission/rules.py: machines rank the jobs of fewest threads first
? admission_schemes::test_each_admission_scheme_on_tiny_instance_equals_hand_calculation
- np.argsort(-threads, kind="stable")
+ np.argsort(threads, kind="stable")

@ solvers/accelerators/programs.py: prices stay below what a placement is worth
? proofs_accelerators::test_raised_accelerator_prices_are_accepted_and_rounded_to_no_smaller_bound
- np.where(short > 0, (short / (1 + same) + job[first]), 0.0)
+ np.where(short > 0, (short / 2 + job[first]), 0.0)

@ solvers/packing/arrivals.py: a VM that leaves counts as two moves
? advice_gpus::test_bundled_training_cluster_needs_three_moves_for_its_gang_of_pods
- cost = (self.running * (worth + SCALE))
+ cost = (self.running * (worth + 2 * SCALE))

@ cluster/state/kubernetes.py: no node of shared cards may have more of them than is said
? advice_gpus::test_pod_with_gpu_share_is_pinned_and_its_node_unused
- unsure=node.unsure | {CARD}
+ unsure=node.unsure

@ cluster/plan/search.py: a pod of a gang may wait
? advice_gpus::test_gang_is_admitted_with_all_its_pods_or_none
- return with_waiting(plan, number)
+ return with_waiting(plan, number + 1)

@ instances/accelerators/feasible.py: a pair is one job of its type
? checks::test_check_names_the_broken_rule_of_an_infeasible_answer
- share, share[pair], -limit
+ share, 0 * share[pair], -limit

@ solvers/accelerators/leximin.py: all stay where the first are at their most
? accelerators::test_leximin_levels_equal_those_of_one_program_a_level
- stopped = (weight > 0) & (weight >= MAIN * weight.sum() / rising.sum())
+ stopped = rising

@ solvers/accelerators/mixes.py: mixes that others beat at the prices of the program are kept
? accelerators::test_price_search_of_many_types_equals_linear_program
- self.again = bool((worse & ~self.free).any())
+ self.again = False

@ solvers/accelerators/max_min.py: a ratio is ruled out by half of what it asks for
? accelerators::test_optima_over_types_equal_programs_with_every_job
- math.fsum(each / left) >= worth
+ 2 * math.fsum(each / left) >= worth

@ instances/accelerators/measures.py: a job of two workers is due as much as one of one
? accelerators::test_optima_over_types_equal_programs_with_every_job
- return instance.proportional * instance.weight / instance.workers
+ return instance.proportional * instance.weight

@ verify/accelerators.py: a pair pays for the time of one job
? proofs_accelerators::test_infeasible_dual_prices_are_refused
- uses.append((rates[0] * worth[i] + rates[1] * worth[j], job[i] + job[j]))
+ uses.append((rates[0] * worth[i] + rates[1] * worth[j], 2 * job[i] + 2 * job[j]))

@ verify/accelerators.py: an answer may use twice the devices
? proofs_accelerators::test_proof_with_more_time_shares_than_devices_is_refused
- any(s > over * n for s, n in zip(spent, there, strict=True))
+ any(s > 2 * over * n for s, n in zip(spent, there, strict=True))

@ verify/quanta.py: an average is taken over one user more
? quanta::test_fairest_time_slices_over_horizon_equal_enumeration_of_user_sets
-- least = min(least, Fraction(used, k))
-+ least = min(least, Fraction(used, k + 1))

@ solvers/quanta.py: who is behind a cut leaves half of what it wants
? quanta::test_fairest_time_slices_over_horizon_equal_enumeration_of_user_sets
-- left = np.maximum(room - wanted[poor].sum(axis=0), 0)
-+ left = np.maximum(room - wanted[poor].sum(axis=0) // 2, 0)

@ baselines/quanta.py: the donor with most credits is paid first
? quanta::test_karma_equals_slice_by_slice_implementation
-- owned += raised(owned, donated, int(borrowed.sum())) - borrowed
-+ owned += raised(-owned, donated, int(borrowed.sum())) - borrowed

@ instances/scheduling/feasibility.py: jobs may overlap on a machine by one unit of time
? checks::test_check_names_the_broken_rule_of_an_infeasible_answer
- schedule.start[second] < schedule.start[first] + length[first]
+ schedule.start[second] < schedule.start[first] + length[first] - 1

@ instances/scheduling/utility.py: the last unit of a job is worth nothing
? scheduling_instance::test_psi_equals_sum_over_unit_parts
- total += (end - start) * (2 * t - start - end + 1) // 2
+ total += (end - start) * (2 * t - start - end - 1) // 2

@ instances/numa/bounds.py: a megabyte has 2**20 bytes
? numa_analysis::test_link_energy_follows_from_local_service_time
- BITS_PER_MEGABYTE = 8e6
+ BITS_PER_MEGABYTE = 8.0 * 2**20

@ instances/numa/feasible.py: a processor may be given the work of all of them
? numa_analysis::test_overloaded_flow_is_refused
- if (work > instance.cores * (1 + ROUNDING)).any():
+ if (work > instance.all_cores * (1 + ROUNDING)).any():

@ instances/problem/emitted.py: a cell that begins with @ is left as it is
? advice_inputs::test_plan_csv_cells_are_not_formulas
- tuple("=+-@
+ tuple("=+-

@ instances/problem/emitted.py: a name of others is written into a shell's command as it is
? text::test_quoted_text_is_one_shell_word
- return shlex.quote(text)
+ return text

@ instances/problem/text.py: letters that are commands to a terminal pass
? text::test_control_and_bidirectional_characters_are_escaped
- "[\x00-\x1f\x7f-\x9f"
+ "[\x00-\x1f\x7f"

@ instances/packing/game.py: the largest utilization counts as the least
? packing_game::test_strategies_of_paper_example_are_top_three_in_move_order
- np.nanmin(server_utilization
+ np.nanmax(server_utilization

@ instances/groups/stability.py: jobs exchange seats without a gain of one of them
? groups_policies::test_group_gain_must_exceed_alpha
- both &= now - after[part][:, own] > least
+ both &= now - after[part][:, own] >= least

@ instances/problem/base.py: that a request may be served in part is not written
? files::test_packing_with_requests_served_in_part_is_read_as_written
- if kind.json.hidden or value is None or value is False:
+ if kind.json.hidden or value is None or isinstance(value, bool):

@ models/colocation/stable.py: both types of a pair may have agents who would leave
? colocation_stable::test_programs_over_types_equal_enumeration
- 1.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (np.maximum(beside[a, c], 0), joins)
+ 2.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (np.maximum(beside[a, c], 0), joins)

@ models/colocation/stable.py: blocking pairs within a type are counted W (W + 1) / 2
? colocation_stable::test_programs_over_types_equal_enumeration
- np.ones(len(own)), -np.ones(len(own))])
+ np.ones(len(own)), np.ones(len(own))])

@ models/colocation/fair.py: a mean is compared with the largest of its own bandwidth
? colocation_stable::test_integer_program_of_fair_pairing_equals_enumeration
- (several, highest[level[above_first] - 1], -each[above_first]),
+ (several, highest[level[above_first]], -each[above_first]),

@ models/admission/arrays.py: one job less than asked for is enough
? admission_exact::test_admission_with_long_decimals_is_optimal_by_every_engine
- rows.row(x, lower=float(least_jobs))
+ rows.row(x, lower=float(least_jobs) - 1.0)

@ models/numa/arrays.py: the energy of a second of work is that of a task
? numa_fluid::test_fluid_optima_equal_second_formulation
- (energy / instance.service_mean[:, None])[:, instance.distance]
+ energy[:, instance.distance]

@ instances/packing/services.py: a mix whose first type gives all but the last VM is left out
? packing_services::test_service_mixes_are_minimal
- (*mix, n)) for n in range(enough)]
+ (*mix, n)) for n in range(enough - 1)]

@ verify/packing_servers.py: the same in the program of the verifier
? packing_services::test_services_program_of_verifier_is_feasible_iff_cost_may_reach_optimum
- {**mix, d: n}) for n in range(last)]
+ {**mix, d: n}) for n in range(last - 1)]

@ models/packing/assignment.py: a spread over zones must be more even than is asked
? packing_constrained::test_assignment_model_decides_zone_spread_rule_exactly
- model.add(total <= fewest + skew)
+ model.add(total <= fewest + skew - 1)

@ models/scheduling/intervals.py: the last part of a unit of time is no time on a fast machine
? scheduling_parallel::test_optima_of_parallel_jobs_equal_enumeration
- whole, width = -(-int(instance.processing[job]) // speed), int(instance.width[job])
+ whole, width = max(1, int(instance.processing[job]) // speed), int(instance.width[job])

@ models/groups/columns.py: groups that are forbidden may be formed
? groups_solvers::test_groups_of_two_seats_equal_colocation
- lost.max(axis=1) < FORBIDDEN]
+ lost.max(axis=1) <= FORBIDDEN]

@ models/program.py: a row of whole numbers may be missed by one
? engines::test_bound_of_program_translated_for_cp_sat_is_valid
- unit = np.where(loose, 1 + np.abs(
+ unit = 1e9 * np.where(loose, 1 + np.abs(

@ solvers/outcome.py: a value that is a millionth off the bound is optimal
? agreement::test_value_and_bound_agree_only_within_relative_tolerance
- AGREE = 1e-9
+ AGREE = 1e-6

@ solvers/incumbent.py: an answer is optimal though its bound is below it
? contract::test_interrupt_keeps_incumbent_and_valid_bound
- status = Status.FEASIBLE
+ status = Status.OPTIMAL

@ solvers/colocation/first_phase.py: of its own type an agent leaves for there is none
? colocation_stable::test_usable_pairs_include_all_pairs_of_pairings_with_few_blocking_pairs
- np.minimum(each, most + 1)
+ np.minimum(each, most)

@ solvers/blossom.py: a path is taken over although enough agents are paired
? colocation_blossom::test_optimal_pairing_keeps_limit_on_single_jobs_at_ties
- if many <= most or seen[end] or len(path) % 2:
+ if seen[end] or len(path) % 2:

@ verify/groups.py: a pair costs what it does on the last class of machines
? groups_solvers::test_cost_bound_of_groups_of_two_uses_cheapest_machine_class
- each if known is None else min(known, each)
+ each

@ solvers/colocation/stable_routes.py: that some number of pairs is too few proves two more
? colocation_stable::test_infeasibility_of_two_blocking_pairs_proves_at_least_three
- search.raise_bound(most + 1, f"
+ search.raise_bound(most + 2, f"

@ solvers/packing/bounds.py: a volume that is whole servers is rounded up to one more
? packing_minimum::test_volume_bound_of_exactly_filled_servers_is_their_number
- best = max(best, -(-cost.numerator // cost.denominator))
+ best = max(best, cost.numerator // cost.denominator + 1)

@ solvers/packing/bounds.py: two machines of half a server each do not fit together
? packing_minimum::test_packing_bounds_and_greedy_bracket_optimum
- large = (2 * size > room) & ~huge
+ large = (2 * size >= room) & ~huge

@ solvers/packing/presolve.py: types of equal demand are merged, and one of them forgotten
? packing_minimum::test_presolve_merges_types_of_equal_demand
- request = np.array([wanted[list(group)].sum() for group in members]
+ request = np.array([wanted[list(group)].max() for group in members]

@ solvers/heap_kernels.py: of equally full servers the last is taken
? packing_instance::test_best_fit_takes_the_first_of_equally_full_servers
- heap[parent] == entry and mark[parent] < tag
+ heap[parent] == entry and mark[parent] > tag

@ solvers/admission/search.py: the bound on the jobs served is rounded past a whole number
? admission_exact::test_second_level_at_time_limit_has_engine_bound
- np.floor(-answer.bound + 1e-6)
+ np.floor(-answer.bound - 1e-6)

@ solvers/incumbent.py: an interrupted search says that it was finished
? contract::test_interrupt_keeps_incumbent_and_valid_bound
- self.stop = Stop.INTERRUPTED
+ self.stop = Stop.FINISHED

@ solvers/deferred_acceptance.py: of two that are liked alike the later one is taken
? admission_schemes::test_each_admission_scheme_on_tiny_instance_equals_hand_calculation
- (most == mine and holder[worst] > p)
+ (most == mine and holder[worst] < p)

@ solvers/roommates/kernels.py: an agent takes whom it likes no better
? roommates_search::test_fewest_blocking_pairs_equal_enumeration
- while r < length[agent] and back[agent, r] >= predecessor_rank[choice[agent, r]]:
+ while r < length[agent] and back[agent, r] > predecessor_rank[choice[agent, r]]:

@ solvers/scheduling/kernels.py: ties of REF go to the last organization
? scheduling_ref::test_compiled_ref_equals_plain_ref_on_random_instances
- best = u if key[u] - key[best] < 0 else best
+ best = u if key[u] - key[best] <= 0 else best

@ solvers/scheduling/optimum.py: the bound of the intervals is one too low
? scheduling_parallel::test_optima_of_parallel_jobs_equal_enumeration
- int(np.floor(answer.bound * (1 + 1e-15) + 0.5))
+ int(np.floor(answer.bound * (1 + 1e-15) - 0.5))

@ solvers/numa/kernels.py: a task declines once more than its limit
? numa_simulation::test_refusal_simulation_equals_hand_calculation
- if freed - state.base[oldest] >= rules.limit:
+ if freed - state.base[oldest] > rules.limit:

@ solvers/numa/confidence.py: an interval of 95 percent holds 90
? numa_simulation::test_short_run_intervals_have_stated_coverage
- _SIDE = 0.975
+ _SIDE = 0.95

@ solvers/market/guaranteed.py: only an allocation twice as fair replaces the fairest one
? market_rivals::test_market_search_finds_allocation_with_sharing_index_above_1
- if one.index > self.fairest.index:
+ if one.index > 2 * self.fairest.index:

@ solvers/market/utilitarian.py: the bound on total utility leaves out what serial jobs gain
? market_optimal::test_small_markets_are_solved_without_gap
- gain[serial] = work[serial]
+ gain[serial] = 0.0

@ solvers/engines/cpsat.py: a row of an exact program is widened by one
? engines::test_solver_libraries_load_in_one_process_in_any_order
- most = _outward(np.floor(program.row_upper + noise)).tolist()
+ most = _outward(np.floor(program.row_upper + noise) + 1.0).tolist()

@ verify/pairing.py: half as many pairs of two types may be formed
? proofs_colocation::test_colocation_proof_of_any_multipliers_gives_valid_bound
- - u - v + 2 * both) * most
+ - u - v + 2 * both) * (most // 2)

@ verify/colocation_stable.py: a gain of exactly alpha blocks
? proofs_colocation::test_verifier_recomputes_answer_by_agents
- * base // self.alpha.denominator - 1
+ * base // self.alpha.denominator

@ verify/packing_prices.py: a filling that is worth just what matters is left out
? proofs_packing::test_verifier_server_patterns_equal_enumeration
- if line and dantzig(at, worth, left) < least:
+ if line and dantzig(at, worth, left) <= least:

@ verify/packing_prices.py: what may still be added is worth less than it is
? proofs_packing::test_verifier_server_patterns_equal_enumeration
- min(kept, before - value)
+ min(kept, before)

@ verify/frame.py: a claimed number may be a thousandth off
? proofs_market::test_claim_beyond_verified_value_is_refused
- less > ROUNDING * abs(proved)
+ less > 10**6 * ROUNDING * abs(proved)

@ verify/numa.py: a task costs what it costs at the dearest processor
? numa_fluid::test_bundled_flows_are_certified_exactly
- cost += row[m] * min(paid)
+ cost += row[m] * max(paid)

@ verify/scheduling.py: a job is priced at its release only
? scheduling_ref::test_schedule_bound_at_prices_of_machine_time_adds_best_start_of_each_job
- for s in starts if release < s < self.horizon
+ for s in starts if release < s < 0

@ analysis/run/verify_result.py: a result of another instance is taken for this one's
? verify_result::test_check_detects_sampled_changes_of_a_result
- if result.fingerprint and result.fingerprint != fingerprint(instance):
+ if result.fingerprint and not fingerprint(instance):

@ analysis/run/verify_result.py: a heuristic may claim a bound
? contract::test_bound_claimed_by_a_policy_is_detected
- if kind in ("heuristic", "simulation") and
+ if kind in ("simulation",) and

@ analysis/run/verify_result.py: a bound that no proof shows passes as proved
? verify_result::test_optimal_result_without_objective_is_proved_by_recheck_or_claimed
- return Proved("claimed", "no proof was made")
+ return Proved("certified", "", covered=(True,) * 999)

@ analysis/run/verify_result.py: a proof about fewer answers shows a bound on all
? verify_result::test_check_proves_fewest_moves_at_requested_servers
- more = [name for name in options if self.options.get(name) is None]
+ more = [name for name in options if name not in self.options]

@ analysis/run/verify_result.py: what a certificate repeats is not compared with it
? verify_result::test_check_recomputes_every_certificate_entry
- self.broken += [] if value is ... else _differences(name, value, document[name])
+ self.broken += []

@ analysis/run/gaps.py: of several bounds the weakest counts
? measures::test_gaps_use_best_of_several_bounds
- (max if sense == "min" else min)(bounds[name], bound)
+ (min if sense == "min" else max)(bounds[name], bound)

@ analysis/frontier.py: a point that nothing is known of counts as proved
? agreement::test_interrupted_frontier_status_is_not_optimal
- done = all(point.status in (Status.OPTIMAL, Status.INFEASIBLE) for
+ done = all(point.status is not Status.FEASIBLE for

@ analysis/packing/metrics.py: servers that are not used do not count in the utilization
? packing_analysis::test_packing_metrics_count_unused_servers_of_fixed_clusters
- number = instance.server_count.astype(np.int64) if fixed else used
+ number = used

@ analysis/colocation/metrics.py: a penalty of just ten percent is tolerated
? colocation_analysis::test_threshold_policy_rejects_penalty_equal_to_tolerance
- number[value < TOLERATED]
+ number[value <= TOLERATED]

@ cluster/state/state.py: pods of different host ports are merged
? advice_inputs advice
- "name": "it tells pods apart, not kinds",
+ "ports": "", "name": "it tells pods apart, not kinds",

@ cluster/judge/scheduler_filters.py: a host port of all addresses clashes with that of none
? advice::test_host_port_is_used_once_per_node
- same = address == theirs or address == "0.0.0.0" or theirs == "0.0.0.0"
+ same = address == theirs

@ cluster/judge/scheduler_filters.py: a disruption budget allows one eviction more
? advice::test_plan_check_refuses_every_kind_of_wrong_plan
- if evicted[key] > max(budget.allowed,
+ if evicted[key] > 1 + max(budget.allowed,

@ cluster/measure/statistics.py: a neighbor of half of the time counts less, not more
? running_measure::test_measured_loss_is_divided_by_share_of_time_beside_other_job
- rate = 1 - (1 - alone / seconds) / covered
+ rate = 1 - (1 - alone / seconds) * covered

@ cluster/run/queue_store.py: it is not counted how often a job was begun
? running_queue::test_queue_runs_oldest_jobs_first_each_once
- state = 'running', attempts = attempts + 1,
+ state = 'running', attempts = attempts,

@ cluster/run/coordinator.py: a job whose machine was lost is never run again
? running_queue::test_jobs_of_killed_supervisor_are_lost_or_rerun
- again = self.jobs.attempts[number] < MOST_ATTEMPTS
+ again = False

@ cli/proofs.py: a broken claim ends with the exit code of an unproved one
? cli::test_check_accepts_written_result_and_names_changed_parts
- raise typer.Exit(NO_ANSWER if found.broken else NOT_KNOWN)
+ raise typer.Exit(NO_ANSWER if found.broken and as_json else NOT_KNOWN)

@ baselines/market/division_rules.py: the most serial jobs get the largest shares
? market_rivals::test_equal_and_proportional_core_shares_equal_hand_calculation
- np.where(instance.useful, instance.parallel_fraction, 0.0)
+ np.where(instance.useful, 1.0 - instance.parallel_fraction, 0.0)

@ baselines/admission/schemes.py: machines admit fewer jobs than there are
? admission_schemes::test_deferred_acceptance_1_rounds_quota_up
- -(-instance.jobs // instance.machines)
+ instance.jobs // instance.machines

@ cluster/state/constraints.py: NotIn asks for the label to be there
? advice::test_requirements_on_absent_labels_match_kubernetes_semantics
- return value is None or value not in expression.values
+ return value is not None and value not in expression.values

@ cluster/state/selectors.py: a toleration without an effect tolerates none
? advice::test_plan_places_no_pod_on_node_that_excludes_it
- (not each.effect or each.effect == taint.effect)
+ (each.effect == taint.effect)

@ cluster/judge/scheduler_filters.py: a spread of just its maximum is refused
? advice_gpus::test_advice_for_pods_spread_over_nodes_equals_enumeration
- found = total.high[domain] + own - total.least(spread.domains) <= spread.most
+ found = total.high[domain] + own - total.least(spread.domains) < spread.most

@ cluster/judge/order.py: no pod moves aside for another
? advice::test_swap_of_pods_uses_temporary_move
- while order.left and (order.direct() or order.aside()):
+ while order.left and order.direct():

@ cluster/judge/order.py: a wave evicts one pod of a budget more
? advice::test_waves_of_pod_moves_respect_disruption_budgets_and_pod_owners
- if any(self.taken[group] >= most for group in groups):
+ if any(self.taken[group] > most for group in groups):

@ cluster/plan/gpus.py: cards of nodes that take no pods count as free
? advice_gpus::test_gpus_on_cordoned_nodes_are_not_free
- closed += free
+ pieces[free] += 1

@ cluster/plan/safe.py: all pods that are lost are taken to have a place
? advice_gpus::test_safe_command_finds_node_whose_pods_fit_elsewhere_and_zone_whose_do_not
- status=len(arrivals) == len(pods) or None
+ status=len(arrivals) <= len(pods) or None

@ cluster/judge/order.py: small pods go first
? advice::test_largest_of_conflicting_pending_pods_is_placed_first
- sorted(targets, key=lambda n: (-size[n], n))
+ sorted(targets, key=lambda n: (size[n], n))

@ cluster/run/queue_store.py: a group whose end is not known is written down as ended
? running_queue::test_lost_machine_loses_only_jobs_of_its_group running_queue
- "lost" if reason else "ended"
+ "ended"

@ cluster/measure/statistics.py: a t-interval is that of one look fewer
? running_measure::test_penalty_intervals_and_number_of_rounds_follow_students_t
- reach = stdtrit(samples - 1, 1 - level / 2) * deviation / np.sqrt(samples)
+ reach = stdtrit(samples - 1, 1 - level / 2) * deviation / np.sqrt(samples - 1)

@ cluster/measure/statistics.py: a deviation is that of a whole population
? running_measure::test_penalty_intervals_and_number_of_rounds_follow_students_t
- logs.std(ddof=1)
+ logs.std()

@ cluster/run/coordinator.py: a job that cannot be started is begun again
? running_queue::test_job_that_always_fails_ends_unfinished
- never = member.error.startswith("cannot ")
+ never = False

@ cluster/run/coordinator.py: a spare machine gives no job a run alone
? running_queue::test_production_runs_update_penalty_estimates
- if len(one) == 2 and spare > 0:
+ if len(one) == 2 and spare > len(groups):

@ cluster/measure/statistics.py: a lone job is measured beside itself
? running_measure::test_sampled_pairs_include_every_job running_measure
- if a != c or counts[a] >= 2 or jobs == 1
+ if a != c or counts[a] >= 1 or jobs == 1

@ cluster/measure/statistics.py: two looks that agree are enough
? running_measure
- half <= half_width and samples >= LEAST_LOOKS
+ half <= half_width

@ cluster/measure/statistics.py: a run of production is compared with one alone of another day
? running_queue::test_production_runs_update_penalty_estimates
- abs(near[0] - begin) > FRESH
+ abs(near[0] - begin) > 48 * FRESH

@ baselines/quanta.py: a user gets a slice more than its fair share
? quanta::test_quanta_read_from_csv_get_strict_shares
- np.minimum(instance.demand, instance.share)
+ np.minimum(instance.demand, instance.share + 1)

@ baselines/quanta.py: two thirds of three slices are one
? quanta
- guaranteed = int(round(alpha * instance.share, 6))
+ guaranteed = int(alpha * instance.share - 1e-9)

@ baselines/accelerators/queues.py: a job takes one device, whatever its workers
? accelerators_analysis::test_fifo_job_of_two_workers_takes_two_devices
- room[kind] -= instance.workers[job]
+ room[kind] -= 1

@ baselines/accelerators/queues.py: the job submitted last is the first of the queue
? accelerators_analysis::test_fifo_gives_free_devices_to_earliest_jobs
- np.argsort(-instance.elapsed[order], kind="stable")
+ np.argsort(instance.elapsed[order], kind="stable")

@ baselines/accelerators/shares.py: pairs have all of their time though devices are left
? accelerators_analysis::test_gandiva_pair_time_is_capped_by_its_jobs
- part /= np.maximum(part.sum(axis=1, keepdims=True), 1.0)
+ part /= part.sum(axis=1, keepdims=True)

@ baselines/admission/schemes.py: the pair of the least preferred job is fixed
? admission_schemes::test_proposed_admission_routes_serial_and_rounds_give_equal_assignments
- pairs = pairs[job_ranking(instance.threads[waiting[pairs]])[:1]]
+ pairs = pairs[job_ranking(instance.threads[waiting[pairs]])[-1:]]

@ baselines/packing/elastic.py: the dominant share is the sum of all shares
? packing_analysis::test_drf_treats_exactly_equal_dominant_shares_as_ties
- share[i] = (total[i] * demand[i] / pool[i]).max()
+ share[i] = (total[i] * demand[i] / pool[i]).sum()

@ baselines/colocation/partial_pairing.py: the last agent of a type is its own partner
? colocation_baselines
- free[a] &= self.remaining[a] >= 2
+ free[a] &= self.remaining[a] >= 1

@ cli/bounds.py: --open shows what is closed
? bounds::test_bounds_commands_add_show_and_check
- if not only_open or row["status"] == "open"
+ if not only_open or row["status"] != "open"

@ cli/proofs.py: a bound that is only claimed ends with exit code 0
? cli::test_bound_stronger_than_proof_is_reported_with_both
- if found.broken or found.claimed:
+ if found.broken or (found.claimed and as_json):

@ cli/proofs.py: a result of another instance is proved for this one
? proofs_frame::test_prove_and_verify_commands_agree
- if (result.method, result.fingerprint) != (entry.name, fingerprint(instance)):
+ if result.method != entry.name:

@ cli/solving.py: an answer that breaks a rule ends with exit code 0
? measures::test_solve_and_check_exit_with_one_if_user_rule_is_broken
- if result.solution is None or broken:
+ if result.solution is None:

@ cli/instances.py: --seeds begins at 0, whatever --seed says
? cli::test_generate_with_seeds_makes_a_folder_for_compare
- for each in range(seed, seed + seeds):
+ for each in range(seeds):

@ cli/arguments.py: the width of LaTeX tables is taken for other forms too
? table::test_compare_shows_selected_columns_and_refuses_unknown_headers
- if width is not None and form is not Form.LATEX:
+ if width is not None and form is Form.LATEX:

@ cli/advice.py: a command fails where fewer nodes can go than may
? advice::test_advise_output_fits_80_columns
- answer.waste > rare.fail_above
+ answer.waste < rare.fail_above

@ cli/commands.py: no solution is told as bad input
? cli::test_solve_of_infeasible_instance_exits_with_one
- return _fail(error, NO_ANSWER)
+ return _fail(error, BAD_INPUT)

@ cli/solving.py: a result may be written over its instance
? cli::test_output_equal_to_input_is_refused
- require_writable(out, file)
+ require_writable(out)

@ instances/scheduling/formats.py: fractions of seconds are cut off
? scheduling_parallel::test_swf_with_fractions_of_seconds_rounds_submissions_starts_and_ends
- math.floor(clock + Fraction(1, 2))
+ math.floor(clock)

@ instances/scheduling/formats.py: processors used that are 0 count, whatever was asked for
? scheduling_instance::test_swf_job_without_used_processors_has_requested_processors
- used = np.where(table[:, _USED] > 0,
+ used = np.where(table[:, _USED] >= 0,

@ instances/scheduling/slurm.py: job steps count as jobs
? fairness::test_sacct_lines_of_every_kind_are_counted
- if "." in job or "." in cell("jobidraw"):
+ if ".." in job:

@ instances/packing/formats.py: a VM is alive at its end
? packing_instance::test_azure_vm_list_is_read_at_time_of_most_demand_or_given_time
- (at < self.end)
+ (at <= self.end)

@ instances/packing/formats.py: a bin costs as many as there are of it
? packing_instance::test_vbp_reads_bpplib_and_vpsolver_files
- "cost": [row[n] for row in classes],
+ "cost": [row[-1] for row in classes],

@ instances/packing/csv_reader.py: a VM of whose hosts nothing is said may run on none
? packing_constrained::test_vms_csv_reads_rules_and_current_placement
- [not row or c in row for c in range(len(places))]
+ [c in row for c in range(len(places))]

@ instances/admission/formats.py: speeds are taken in the order of their own table
? plain_tables
- speed=speeds[np.ix_(places(names, rows, "jobs"), places(types, speed_types, "types"))],
+ speed=speeds,

@ instances/packing/formats.py: a GPU of a node is a thousandth of one
? packing_instance::test_alibaba_nodes_are_grouped_into_classes
- 1000 * row.whole("gpu")
+ row.whole("gpu")
"""


@dataclass(frozen=True)
class Fault:
    """Fault of the table: file, meaning, text before and after, test files that may notice it, and
    its number.
    """

    number: int
    path: str
    tests: tuple[str, ...]
    meaning: str
    old: str
    new: str


def faults(seed: int = 0) -> list[Fault]:
    """The rows of the table, and the faults that a seed draws."""
    found = []
    for number, row in enumerate(FAULTS.strip().split("\n\n"), 1):
        head, tests, old, new = (line[2:] for line in row.split("\n"))
        path, _, meaning = head.partition(": ")
        found.append(Fault(number, path, tuple(tests.split()), meaning, old, new))
    for patterns, tests in DRAWN.items():
        for path, old, new, meaning in drawn(patterns, seed):
            parts = path.split("/")
            others = sorted(tests.split(), key=lambda test: test.partition("_")[0] not in parts)
            named = tuple(dict.fromkeys([*naming(path), *others]))
            found.append(Fault(len(found) + 1, path, named, meaning, old, new))
    return found


Change = tuple[str, str, str, str]
"""File, line before, line after, what was changed."""


def drawn(patterns: str, seed: int) -> list[Change]:
    """Changes of single lines of some files; one of a file at most.

    Each is drawn by the hash of its own text: a change of the code elsewhere moves none of them.
    """
    files = {file for pattern in patterns.split() for file in HOME.glob(pattern)}
    every = [change for file in files for change in changes(file)]
    every.sort(key=lambda change: sha256(f"{seed} {change[:3]}".encode()).digest())
    first: dict[str, Change] = {}
    for change in every:
        first.setdefault(change[0], change)
    return list(first.values())[:DRAWN_EACH]


COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "), ast.Is: (" is ", " is not "), ast.IsNot: (" is not ", " is "),
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.And: (" and ", " or "), ast.Or: (" or ", " and "),
}  # fmt: skip


def changes(file: Path) -> Iterator[Change]:
    """The mutations of one line each whose text occurs once in a file."""
    text = file.read_text()
    lines = text.encode().split(b"\n")
    for node, first, last, what in places(ast.parse(text)):
        line, start, end = lines[first[0] - 1], first[1], last[1]
        if first[0] != last[0] or text.count(old := line.decode().strip()) != 1:
            continue
        part = line[start:end].decode()
        if isinstance(what, tuple):
            new = part.replace(*what)
        elif what == "not":
            new = part.removeprefix("not ")
        else:
            new = str(node.value + 1) if isinstance(node, ast.Constant) else what
        if new != part:
            meaning = f"drawn: {part.strip()} becomes {new.strip()} in {old}"
            changed = (line[:start] + new.encode() + line[end:]).decode().strip()
            yield str(file.relative_to(HOME)), old, changed, meaning


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, tuple[int, int], tuple[int, int], object]]:
    """Nodes that can be mutated, where what changes begins and ends, and what is done: a text and
    what replaces it, "not", or what the whole becomes.
    """

    def begin(node: ast.expr) -> tuple[int, int]:
        return node.lineno, node.col_offset

    def end(node: ast.expr) -> tuple[int, int]:
        return node.end_lineno or 0, node.end_col_offset or 0

    left_to_see = [tree]
    while left_to_see:
        node = left_to_see.pop()
        if not isinstance(node, ast.JoinedStr):  # Python 3.11 does not know where its parts are
            left_to_see += ast.iter_child_nodes(node)
        match node:
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARED:
                yield node, end(left), begin(right), COMPARED[type(sign)]
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in COMPARED:
                yield node, end(left), begin(right), COMPARED[type(sign)]
            case ast.BoolOp(op=sign, values=[left, right]):
                yield node, end(left), begin(right), COMPARED[type(sign)]
            case ast.UnaryOp(op=ast.Not()):
                yield node, begin(node), end(node), "not"
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield node, begin(node), end(node), ""
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield node, begin(value), end(value), "None"
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if ast.unparse(test) != "TYPE_CHECKING":
                    yield node, begin(test), end(test), "True"


def naming(path: str) -> list[str]:
    """The files of tests that import a module by its name."""
    module = path.removesuffix(".py").replace("/", ".")
    package, _, name = f"cotenant.{module}".rpartition(".")
    written = re.compile(
        rf"{re.escape(package)}\.{name}\b|from {re.escape(package)} import .*\b{name}\b"
    )
    tests = sorted((HOME / "tests").glob("test_*.py"))
    return [file.stem.removeprefix("test_") for file in tests if written.search(file.read_text())]


def failing(checkout: Path, test: str, cases: str = "") -> str:
    """The first test that fails, of one or of a file, "" where all pass.

    Parameters
    ----------
    cases : "not slow", "slow", or all; slow ones that do not end say nothing.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", cases, "--tb=no"]
    settings = {**os.environ, "PYTHONPATH": str(checkout.parent)}
    try:
        run = subprocess.run(
            [*command, "-p", "no:cacheprovider", test], cwd=checkout, env=settings,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "(no end)" if cases == "not slow" else ""
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
        runs = [(test, "not slow") for test in tests]
        runs += [(test, "slow") for test in tests if "::" in test]
        caught = next(filter(None, (failing(checkout, *run) for run in runs)), "")
    finally:
        file.write_text(before)
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # compiled kernels are kept by it
    if "::" in caught and caught not in passing:
        if failing(checkout, caught):
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
    reader.add_argument("--jobs", type=int, default=os.cpu_count(), help="faults at the same time")
    reader.add_argument("--seed", type=int, default=0, help="by which faults are drawn")
    reader.add_argument("--list", action="store_true", help="print the table alone")
    chosen = reader.parse_args()
    rows = {
        f"{fault.number:3} {fault.path}: {fault.meaning}": fault
        for fault in faults(chosen.seed)
        if chosen.only in f"{fault.number} {fault.path}: {fault.meaning} {fault.old}"
    }
    if chosen.list:
        print(*rows, f"{len(rows)} faults", sep="\n")
        return
    missed = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        checkouts = SimpleQueue[Path]()
        for number in range(chosen.jobs):
            checkouts.put(copied(Path(folder, str(number))))
        passing = set[str]()

        def tried_anywhere(fault: Fault) -> tuple[str, float]:
            checkout, begin = checkouts.get(), time.perf_counter()
            try:
                return tried(fault, checkout, passing), time.perf_counter() - begin
            finally:
                checkouts.put(checkout)

        with ThreadPoolExecutor(chosen.jobs) as pool:
            outcomes = pool.map(tried_anywhere, rows.values())
            for row, (by, seconds) in zip(rows, outcomes, strict=True):
                print(f"{row}\n    {by or 'NOT CAUGHT'}, {seconds:.0f} s", flush=True)
                if not by or by.startswith("?"):
                    missed.append(row)
    print(f"{len(rows) - len(missed)} of {len(rows)} faults caught; not caught:", *missed, sep="\n")


if __name__ == "__main__":
    main()
