"""How the commands of `advise` read a state: the options, and the state with what is missing from
it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from ..analysis.report.console import say, waiting
from ..instances.problem.option_types import Between, validate_options
from .arguments import SettingsFile
from .settings_file import read_settings

if TYPE_CHECKING:
    from ..cluster.state.state import ClusterState

States = Annotated[list[str], "STATE..."]


@validate_options
@dataclass(frozen=True)
class AdviceSettings:
    """What every question about a cluster is asked with, from the file of `--settings`.

    Attributes
    ----------
    strict : answer nothing and exit 1 when a warning says that a file is not whole
    accept : codes of warnings that are left out, such as no-pdb
    pending : of `nodes`: whether nodes are kept for pending pods
    fail_above : of `nodes`: exit 1 when more than this share of the nodes can go
    """

    strict: bool = False
    accept: tuple[str, ...] = ()
    pending: bool = True
    fail_above: Annotated[float | None, Between(0, 1, "a share")] = None


@dataclass(frozen=True)
class StateOptions:
    """Which constraints of a state are let go, how long an answer may take, and the rarer settings.

    Attributes
    ----------
    release : let pods move that are held in place for this reason (check that they can): volumes,
        budget, scheduler, owner, 'resource claims'; repeat for more
    time_limit : seconds for all after reading
    """

    release: Annotated[list[str] | None, "KIND"] = None
    time_limit: Annotated[float, "S"] = 60.0
    settings: SettingsFile = None

    @cached_property
    def rare(self) -> AdviceSettings:
        """The settings of the file."""
        return read_settings(AdviceSettings, self.settings)

    @property
    def released(self) -> tuple[str, ...]:
        """The kinds of constraints that hold no pod in place."""
        return tuple(self.release or ())

    @property
    def limits(self) -> dict[str, Any]:
        """What every question is asked with: kinds that hold nothing in place, and seconds."""
        return {"released": self.released, "time_limit": self.time_limit}

    @property
    def additions(self) -> dict[str, Any]:
        """What else is read into the state."""
        return {}

    def read(self, states: list[str]) -> ClusterState:
        """The state in some files; with the setting `strict`, one without warnings.

        Raises
        ------
        NoSolution
            There are warnings, and the reading is strict.
        """
        from ..cluster.report.text_report import warning_lines
        from ..cluster.state.completeness import accepted
        from ..cluster.state.reading import read_state
        from ..instances.problem.errors import NoSolution

        rare = self.rare
        with waiting("reading"):
            state = read_state(states, **self.additions)
        state = replace(state, warnings=accepted(state, rare.accept))
        if rare.strict and state.warnings:
            for line in warning_lines(state):
                say(line)
            codes = [each.code for each in state.warnings]
            raise NoSolution(
                "not answered, as the file is not whole (strict = true); or set accept = "
                f"{json.dumps(list(dict.fromkeys(codes)))}"
            )
        return state
