"""Fixtures that several test modules share."""

from __future__ import annotations

import dataclasses
import gc
import os
import pkgutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.browser import shared_browser, without_scripts
from support.messages import (
    collected,
    pytest_addoption,
    pytest_runtest_call,
    pytest_sessionfinish,
)
from support.oracles import colocation as brute_force
from support.oracles import packing as packing_brute_force

from cotenant.analysis.run import own_functions
from cotenant.solvers.outcome import Stop

__all__ = [
    "pytest_addoption",
    "pytest_runtest_call",
    "pytest_sessionfinish",
    "shared_browser",
    "without_scripts",
]

# No timing in tests: a loaded machine draws and runs slowly, and that is no failure.
settings.register_profile("cotenant", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cotenant")


def pytest_configure(config: pytest.Config) -> None:
    """Background jobs of a plain shell, nohup and some CI ignore Ctrl-C, and whatever a test starts
    would inherit that; and files are run in the order below.

    Every second worker imports the files from the last to the first: where no bytecode is there
    yet, each of two workers then makes half of it, and reads the other half.
    """
    if hasattr(config.option, "loadscopereorder"):  # of pytest-xdist: by numbers of tests
        config.option.loadscopereorder = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["COLUMNS"] = "80"  # what commands print is approved at one width
    gc.disable()  # until all is collected
    backwards = os.environ.get("PYTEST_XDIST_WORKER", "")[2:] in ("1", "3", "5", "7")
    if backwards and config.args == config.getini("testpaths"):
        files = Path(__file__).parent.glob("test_*.py")
        config.args[:] = sorted(map(str, files), reverse=True)


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the garbage collector never looks at it, and seldom at
    the rest.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


QUICK_SEEDS = 2
"""Random tests run with so many seeds every time, and with the others among the slow tests."""

SAMPLED = {
    "test_the_published_family_of_linear_markets_is_recovered": 2,
    "test_the_page_is_filtered_by_set_and_size_and_sorted": 2,
    "test_a_start_is_not_lost_and_one_that_is_none_does_no_harm": 3,
    "test_every_problem_has_a_picture_of_an_answer": 4,
    "test_a_forgery_is_refused": 2,
    "test_an_answer_is_what_it_says_and_survives_its_file": 4,
    "test_the_examples_of_a_page_run_and_print_what_it_says": 9,
    "test_what_is_exact_equals_enumeration_whatever_things_are_called": 4,
    "test_changes_to_a_result_are_seen_or_listed": 12,
    "test_no_exact_method_ends_behind_a_policy": 8,
    "test_a_time_that_is_over_at_once_is_told_and_no_claim_is_wrong": 4,
    "test_sharing_one_vm_and_its_best_sets_of_jobs_equal_enumeration": 3,
    "test_pictures_are_written_to_files": 4,
    "test_every_method_of_the_catalogue_leaves_a_record_on_a_small_instance": 4,
    "test_servers_of_any_cost_above_the_bound_are_found": 3,
    "test_the_fewest_moves_at_a_cost_agree_with_enumeration": 3,
    "test_no_equilibrium_of_homogeneous_utilities_is_left_with_a_gap": 4,
    "test_the_most_near_given_utilities_is_that_of_every_schedule": 2,
    "test_the_trace_of_every_exact_method_ends_with_its_answer_and_bound": 4,
    "test_instances_in_other_units_have_the_same_optima": 2,
    "test_the_cheapest_servers_are_never_dearer_than_the_fewest": 2,
    "test_different_agents_by_pricing_and_by_blossoms": 4,
    "test_the_searches_over_agents_and_the_programs_agree": 3,
    "test_the_optimum_by_enumeration_is_certified": 2,
    "test_an_edited_method_is_run_again_and_says_how_many_rows_were_taken": 2,
    "test_a_reader_that_leaves_early_is_no_error": 2,
    "test_before_there_is_an_answer_nothing_is_printed_and_the_code_is_the_signals": 2,
    "test_a_search_cut_short_keeps_valid_answers_and_bounds": 2,
    "test_the_search_for_the_core_agrees_with_the_program": 3,
    "test_compiled_loops_give_the_bits_of_numpy": 3,
    "test_a_worse_answer_called_optimal_is_never_confirmed": 18,
    "test_the_size_of_penalties_decides_nothing": 8,
    "test_everything_equals_enumeration_over_boxes_and_pairings": 4,
    "test_every_key_of_a_certificate_is_confirmed_or_listed": 8,
    "test_the_same_seed_gives_the_same_answer": 6,
    "test_every_program_of_a_large_instance_is_ended_with_the_time": 2,
    "test_no_small_market_is_left_with_a_gap": 8,
    "test_an_interrupt_keeps_the_best_answer_and_a_bound_that_holds": 8,
    "test_it_is_what_trying_everything_gives": 4,
    "test_every_method_answers_the_market_with_everything_at_once": 2,
    "test_a_policy_in_a_process_of_its_own_has_the_same_answer_and_can_be_given_up": 2,
    "test_every_policy_is_feasible_wherever_a_pairing_exists": 4,
    "test_every_figure_gives_claims_with_verdicts_and_pictures_in_words": 2,
    "test_claims_follow_what_policies_do": 2,
    "test_zero_blocking_decides_as_enumeration_does": 2,
    "test_a_child_does_not_run_the_code_of_the_users_site": 2,
    "test_quick_experiments_give_the_stored_findings_again": 2,
    "test_streams_that_are_closed_or_full_are_a_sentence_and_an_exit_code": 2,
    "test_gains_and_gain_sets_are_exact_in_every_reading_of_alpha": 3,
    "test_a_witness_is_worth_what_is_said_and_changes_one_agent_s_report": 3,
    "test_what_is_proved_in_one_unit_is_proved_in_another": 3,
    "test_the_best_policy_is_the_start_and_the_answer_of_a_method_that_has_none": 3,
    "test_the_search_finds_the_minimum_over_all_matchings": 3,
    "test_irving_and_the_partition_agree_with_all_matchings": 3,
    "test_heat_maps_of_nothing_are_drawn": 2,
    "test_zeros_holes_and_nothing_at_all_are_drawn_on_every_scale": 2,
    "test_compiled_ref_equals_plain_ref_on_random_instances": 2,
    "test_control_c_keeps_the_best_point": 2,
    "test_the_program_of_few_blocking_pairs_has_exactly_the_answers_with_so_few": 4,
    "test_pictures_of_all_methods_and_seeds_are_valid": 4,
    "test_pictures_of_many_seeds_are_valid": 4,
    "test_a_pattern_priced_to_some_accuracy_or_cut_off_is_bounded_all_the_same": 3,
    "test_exact_routes_agree_on_middle_instances": 3,
    "test_proofs_are_accepted_and_claims_that_are_a_little_better_refused": 2,
    "test_a_forged_level_is_seen": 2,
    "test_without_floats_the_play_is_the_same": 3,
    "test_any_instance_survives_a_round_trip": 3,
    "test_the_matching_is_stable_and_best_for_every_proposer": 2,
    "test_small_logs_are_judged_as_by_the_clock": 4,
    "test_what_value_and_bound_prove_is_optimal_whatever_the_method_says": 3,
    "test_middle_sizes_are_paired_as_by_networkx": 3,
    "test_deleting_a_pair_keeps_the_partition_stable_and_its_counts_true": 3,
    "test_a_bound_that_a_policy_claims_is_seen": 3,
    "test_an_instance_is_generated_shown_solved_and_its_answer_checked": 2,
    "test_bundled_flows_are_certified_exactly": 2,
    "test_the_same_seed_gives_the_same_findings_and_another_seed_others": 2,
    "test_optima_are_those_of_every_schedule": 3,
    "test_no_leaves_prove_less_nash_welfare_than_there_is": 3,
    "test_random_allocations_never_pass_the_bound_at_their_own_index": 3,
    "test_two_engines_and_two_formulations_agree_on_middle_instances": 3,
    "test_exchanges_count_what_the_counter_counts_and_reach_the_fewest": 3,
    "test_policies_place_as_their_plain_form_does": 2,
    "test_values_agree_with_the_convex_program": 3,
    "test_the_search_agrees_with_an_integer_program": 2,
    "test_no_answer_is_worth_more_than_the_scale": 3,
    "test_blossoms_prove_the_optimum_of_the_whole_program": 2,
    "test_the_fewest_moves_proved_at_a_cost_are_those_of_all_placements": 2,
    "test_leximin_with_nearly_equal_vms_is_that_of_everything_that_fits": 3,
    "test_the_long_way_gives_what_enumeration_gives": 2,
    "test_check_sees_a_changed_claim": 2,
    "test_agents_are_advised_to_break_away_iff_they_are_in_a_blocking_pair": 3,
    "test_debts_at_a_time_are_those_of_an_instance_that_ends_then": 2,
    "test_fair_equals_enumeration_on_both_levels": 2,
    "test_the_readable_model_and_the_arrays_have_one_optimum": 2,
    "test_no_stable_run_serves_more_or_takes_less_power_than_the_programs_say": 3,
    "test_one_processor_is_m_m_k": 3,
    "test_the_least_disutility_of_all_plays_is_certified": 2,
    "test_a_wrong_bound_in_a_producer_is_refused": 2,
    "test_a_comparison_breaks_no_number_and_no_word_on_a_narrow_terminal": 2,
    "test_an_svg_is_whole_titled_described_and_in_the_ink_of_its_page": 2,
    "test_numbers_at_the_ends_of_their_ranges_give_finite_metrics": 3,
}
"""Of the cases of these tests every n-th runs every time, and the others among the slow tests."""

FIRST = (
    "test_verify_result", "test_engines", "test_interrupts", "test_cluster", "test_isolation", "test_workers",
    "test_architecture", "test_report_browser", "test_running_processes", "test_reproduction", "test_docs",
    "test_cli", "test_proofs_packing", "test_colocation_solvers", "test_packing_constrained",
    "test_admission_exact",
)  # fmt: skip
"""Files that are begun first. Where nothing is compiled yet, one worker compiles nearly every kernel
in the first, while another, which would compile the same, runs those after it, which need few; and
long files at the end would leave a worker without work.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files, those of many tests first, and mark what is drawn from a further seed as
    slow.
    """
    collected.update((item.path.name, item.nodeid) for item in items)
    tests = Counter(item.path for item in items)
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(
        key=lambda item: (place.get(item.path.stem, len(FIRST)), -tests[item.path], item.path)
    )
    cases = Counter[str]()
    for item in items:
        name = getattr(item, "originalname", "")
        if cases[name] % SAMPLED.get(name, 1):
            item.add_marker(pytest.mark.slow)
        cases[name] += 1
        call = getattr(item, "callspec", None)
        seed = None if call is None else call.params.get("seed")
        if isinstance(seed, int) and seed >= QUICK_SEEDS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _signals_are_given_back() -> Iterator[None]:
    """A test may call the command's entry in this process, which takes the signals over for
    good.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    sys.unraisablehook = hook


@pytest.fixture
def files_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a test count as if they had been there before this process began."""
    monkeypatch.setattr(own_functions, "LOADED", time.time() + 1e6)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's comparisons run their cells here: a process of its own takes a second to load
    what is loaded here already.
    """
    from cotenant.analysis.run import compare
    from cotenant.analysis.run.runners import InProcess

    monkeypatch.setattr(compare, "runner_of", lambda *_: InProcess())


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Replace engines wherever the package calls them, also in modules that are not loaded yet:
    `engines(solve_program=answer)`.
    """
    from cotenant.solvers import engines as seam

    first: dict[str, object] = {}

    def holders(name: str, engine: object) -> list[ModuleType]:
        modules = [module for key, module in sys.modules.items() if key.startswith("cotenant.")]
        return [module for module in modules if vars(module).get(name) is engine]

    def replace(**answers: Callable[..., object]) -> None:
        for name, answer in answers.items():
            first.setdefault(name, getattr(seam, name))
            for module in holders(name, getattr(seam, name)):
                monkeypatch.setattr(module, name, answer)

    yield replace
    for name, engine in first.items():
        for module in holders(name, getattr(seam, name)):
            setattr(module, name, engine)


@pytest.fixture
def interrupt_at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Press Ctrl-C at a call of a function, the first or that of a number:
    `interrupt_at("cotenant.module.function", 3)`; the list that is returned gets what every call is
    given.

    With `keeps`, the function kept its best answer: what it returns says that it was interrupted.
    """

    def replace(place: str, number: int = 1, *, keeps: bool = False) -> list[Any]:
        real, calls = pkgutil.resolve_name(place), []

        def function(*given: Any, **options: Any) -> Any:
            calls.append((given, options))
            if len(calls) != number:
                return real(*given, **options)
            if keeps:
                return dataclasses.replace(real(*given, **options), stop=Stop.INTERRUPTED)
            signal.raise_signal(signal.SIGINT)
            return real(*given, **options)

        monkeypatch.setattr(place, function)
        return calls

    return replace


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have a library be missing: `not_installed("distributed")`."""
    return lambda library: monkeypatch.setitem(sys.modules, library, None)


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """Brute force over agents (support/oracles/colocation.py)."""
    return brute_force


@pytest.fixture(scope="session")
def brute() -> ModuleType:
    """Brute force for packing (support/oracles/packing.py)."""
    module: ModuleType = packing_brute_force
    return module


@pytest.fixture(scope="session")
def packing_data(brute: ModuleType) -> Path:
    """The folder of packing data kept for development; the test is skipped where it is absent."""
    folder: Path | None = brute.data_folder("packing")
    if folder is None:
        pytest.skip("development data is absent")
    return folder
