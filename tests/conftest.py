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
from support.messages import collected, pytest_addoption, pytest_runtest_call, pytest_sessionfinish
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
    """Exclude imported objects from garbage collection, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


QUICK_SEEDS = 2
"""Random tests run with so many seeds every time, and with the others among the slow tests."""

FIRST = (
    "test_verify_result", "test_engines", "test_interrupts", "test_cluster", "test_packaging", "test_workers",
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
        if sampled := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1
        call = getattr(item, "callspec", None)
        seed = None if call is None else call.params.get("seed")
        if isinstance(seed, int) and seed >= QUICK_SEEDS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _signals_are_given_back() -> Iterator[None]:
    """Restore the signal handlers that a command called in this process replaces."""
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
    """Run the cells of the `compare` command in this process, without starting another one."""
    from cotenant.analysis.run import compare
    from cotenant.analysis.run.workers import rows_here

    monkeypatch.setattr(compare, "rows_of", lambda _, cells: rows_here(cells))


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
    """Enumeration oracles of colocation (support/oracles/colocation.py)."""
    return brute_force


@pytest.fixture(scope="session")
def brute() -> ModuleType:
    """Enumeration oracles of packing (support/oracles/packing.py)."""
    module: ModuleType = packing_brute_force
    return module


@pytest.fixture(scope="session")
def packing_data(brute: ModuleType) -> Path:
    """The folder of packing data kept for development; the test is skipped where it is absent."""
    folder: Path | None = brute.data_folder("packing")
    if folder is None:
        pytest.skip("development data is absent")
    return folder
