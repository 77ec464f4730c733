"""Policies for VMs that arrive and leave: each is placed on arrival and never moved.

A server without VMs is switched on only where no other has room. VMs that end at a time are gone
when others come then. Of VMs that come at the same time the order decides much: `ties` says whether
it is drawn, as in the file, or by their true ends, which no scheduler knows. `lifetimes` says what
is known of ends: all; the mean life (of logarithms) of the VMs of the type that ended before; or
the instance's predicted_end.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..instances.lifetimes import Hosts, Integers, Lifetimes
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import validate_options

Rng = np.random.Generator | None
Ties = Literal["drawn", "file", "last-to-leave-first"]
Known = Literal["true", "by-type", "predicted"]


@validate_options
def first_fit(instance: Lifetimes, *, rng: Rng = None, ties: Ties = "drawn") -> Hosts:
    """Take the first server, in the order in which they were switched on, that has room.

    Parameters
    ----------
    ties : the order of VMs that come at the same time.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "first-fit", ties="file").objective
    20.0
    """
    return _placed(instance, "FIRST", rng, ties)


@validate_options
def best_fit(instance: Lifetimes, *, rng: Rng = None, ties: Ties = "drawn") -> Hosts:
    """Take the server with the least capacity left, summed over resources as shares of a server.

    Parameters
    ----------
    ties : the order of VMs that come at the same time.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "best-fit", ties="file").objective
    21.0
    """
    return _placed(instance, "BEST", rng, ties)


@validate_options
def least_extension(
    instance: Lifetimes, *, rng: Rng = None, ties: Ties = "drawn", lifetimes: Known = "true"
) -> Hosts:
    """Take the server whose last known end the VM postpones least; of several the one with the
    least free capacity left.

    Parameters
    ----------
    ties, lifetimes : the order of VMs that come at the same time, and what is known of ends.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "least-extension", ties="file").objective
    18.0
    """
    return _placed(instance, "EXTENSION", rng, ties, lifetimes)


@validate_options
def aligned_ends(
    instance: Lifetimes, *, rng: Rng = None, ties: Ties = "drawn", lifetimes: Known = "true"
) -> Hosts:
    """Take the server whose last known end is nearest to the end of the VM.

    Parameters
    ----------
    ties, lifetimes : the order of VMs that come at the same time, and what is known of ends.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "aligned-ends", ties="file").objective
    20.0
    """
    return _placed(instance, "ALIGNED", rng, ties, lifetimes)


@validate_options
def lifetime_classes(
    instance: Lifetimes, *, rng: Rng = None, ties: Ties = "drawn", lifetimes: Known = "true"
) -> Hosts:
    """Choose the fullest of the servers that were switched on for VMs of a similar lifetime.

    Lifetimes between the same two powers of two are similar.

    Parameters
    ----------
    ties, lifetimes : the order of VMs that come at the same time, and what is known of ends.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "lifetime-classes", ties="file").objective
    25.0
    """
    return _placed(instance, "CLASSES", rng, ties, lifetimes)


def _placed(
    instance: Lifetimes, policy: str, rng: Rng, ties: Ties, lifetimes: Known = "true"
) -> Hosts:
    """Place the VMs of a lifetimes instance by a policy, given by its name in the kernels."""
    from ..solvers.lifetimes import placing

    n, expected = len(instance.kind), instance.end
    drawn = (rng or np.random.default_rng(0)).permutation(n)
    second = {"drawn": drawn, "file": np.arange(n), "last-to-leave-first": -instance.end}[ties]
    if lifetimes == "by-type":
        expected = expected_by_type(instance)
    elif lifetimes == "predicted":
        if instance.predicted_end is None:
            words = "lifetimes is 'predicted', and the instance has no predicted_end"
            raise InvalidOption(f"{words}; add that column, or take 'by-type'")
        expected = instance.predicted_end
    return placing.placed_as_they_come(instance, getattr(placing, policy), second, expected)


def expected_by_type(instance: Lifetimes) -> Integers:
    """Expected end (n,) of each VM with the geometric mean life of VMs of its type that ended
    before its start; its start if there is none.
    """
    expected, life = instance.start.copy(), np.log(instance.end - instance.start)
    for kind in range(len(instance.demand)):
        own = np.flatnonzero(instance.kind == kind)
        ended = own[np.argsort(instance.end[own])]
        known = np.searchsorted(instance.end[ended], instance.start[own], "right")
        total = np.append(0.0, life[ended].cumsum())[known]
        expected[own] += np.exp(total / np.maximum(known, 1)).astype(np.int64) * (known > 0)
    return expected
