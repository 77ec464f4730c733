"""Stand-ins for engines, for the fixture `engines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def interrupted(*given: object, **options: object) -> Any:
    """Engine or function that raises KeyboardInterrupt."""
    raise KeyboardInterrupt


def call_here(function: Callable[..., Any], *given: Any, hard_limit: float, **options: Any) -> Any:
    """Call a function in this process in place of a child process."""
    assert hard_limit > 0
    return function(*given, **options)
