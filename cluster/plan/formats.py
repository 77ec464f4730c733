"""Formats of `cotenant convert` that are states of clusters, read into packing instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...instances.packing.instance import Packing
from ...instances.problem.errors import InvalidFile
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import accepts
from ...instances.problem.registry import PROBLEM_NAMES, problem_named, resolve
from ..state.reading import CPU_RATIO, Ratio, read_state
from .answer import Question
from .to_packing import translate


@validate_options
def kubernetes(path: str) -> Packing:
    """The instance of a Kubernetes state, for the plan: pods with constraints that are not modelled
    stay where they are.

    Parameters
    ----------
    path : what `kubectl get nodes,pods,pdb -A -o json` prints.
    """
    return _instance([path], "kubernetes")


@validate_options
def proxmox(path: str, *, cpu_ratio: Ratio = CPU_RATIO) -> Packing:
    """The instance of Proxmox's cluster resources.

    Parameters
    ----------
    path : what `pvesh get /cluster/resources --output-format json` prints.
    cpu_ratio : virtual CPUs that count as a core.
    """
    return _instance([path], "proxmox", cpu_ratio)


@validate_options
def openstack(
    path: str, *, hypervisors: str, flavors: str, cpu_ratio: Ratio = CPU_RATIO
) -> Packing:
    """The instance of OpenStack's lists.

    Parameters
    ----------
    path : the list of servers.
    hypervisors, flavors : paths of the other lists.
    cpu_ratio : virtual CPUs that count as a core.
    """
    return _instance([path, hypervisors, flavors], "openstack", cpu_ratio)


def _instance(paths: Sequence[str], platform: str, cpu_ratio: float = CPU_RATIO) -> Packing:
    state = read_state(paths, cpu_ratio=cpu_ratio)
    if state.platform != platform:
        raise InvalidFile(f"{paths[0]} is a state of {state.platform}; expected {platform}")
    return translate(Question(state)).instance


FORMATS = {
    "kubernetes": "cluster.plan.formats:kubernetes",
    "proxmox": "cluster.plan.formats:proxmox",
    "openstack": "cluster.plan.formats:openstack",
}
"""Formats of `cotenant convert` that are states of clusters, and their readers."""


def known_formats(options: Iterable[str] = ()) -> dict[str, str]:
    """Every format of `cotenant convert`, the problems' and these, and the function that reads it.

    Parameters
    ----------
    options : names of those that will be given. Of two problems with a format of one name it is the
        first of those whose readers take most of them.
    """
    given = list(options)
    found: dict[str, str] = {}
    for problem in PROBLEM_NAMES:
        for name, path in problem_named(problem).formats.items():
            if name not in found or _taken(path, given) > _taken(found[name], given):
                found[name] = path
    return found | FORMATS


def _taken(path: str, options: Iterable[str]) -> int:
    return sum(accepts(resolve(path), name) for name in options)
