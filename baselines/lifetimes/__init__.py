"""Policies for VMs that come and go: each goes on a server as it comes, and stays there.

A server without VMs is switched on only where no other has room. VMs that end at a time are gone
when others come then. Of VMs that come at the same time the order decides much: `ties` says which
it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options

Ties = Literal["drawn", "file", "last-to-leave-first"]
Known = Literal["true", "by-type", "predicted"]


@validate_options
def first_fit(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn"
) -> Hosts:
    """Take the first server, in the order in which they were switched on, that has room.

    Parameters
    ----------
    ties : the order of VMs that come at the same time: drawn, as in the file, or by their true
        ends, which no scheduler knows.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "first-fit", ties="file").objective
    18.0
    """
    return _placed(instance, "FIRST", rng, ties)


@validate_options
def best_fit(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn"
) -> Hosts:
    """Take the server with least left over, added up over resources as shares of a server.

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "best-fit", ties="file").objective
    18.0
    """
    return _placed(instance, "BEST", rng, ties)


@validate_options
def dot_product(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn"
) -> Hosts:
    """Take the server where the product of what the VM takes and what is free is largest, added up
    over resources as shares of a server (Panigrahy and others, 2011).

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "dot-product", ties="file").objective
    18.0
    """
    return _placed(instance, "DOT", rng, ties)


@validate_options
def random_fit(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn"
) -> Hosts:
    """Take any server that has room, drawn.

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "random-fit").metrics["peak"]
    3.0
    """
    return _placed(instance, "RANDOM", rng, ties)


@validate_options
def least_extension(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn",
    lifetimes: Known = "true",
) -> Hosts:  # fmt: skip
    """Take the server whose last end, as far as is known, the VM puts off least; of these the one
    with least left over (NILAS, Barbalho and others, MLSys 2023).

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.
    lifetimes : what is known of ends: all; the mean life (of logarithms) of the VMs of the type
        that ended before; or the instance's predicted_end.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "least-extension", ties="file").objective
    18.0
    """
    return _placed(instance, "EXTENSION", rng, ties, lifetimes)


@validate_options
def aligned_ends(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn",
    lifetimes: Known = "true",
) -> Hosts:  # fmt: skip
    """Take the server whose last end, as far as is known, is nearest to that of the VM.

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.
    lifetimes : what is known of ends, as of least-extension.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "aligned-ends", ties="file").objective
    18.0
    """
    return _placed(instance, "ALIGNED", rng, ties, lifetimes)


@validate_options
def lifetime_classes(
    instance: Lifetimes, *, rng: np.random.Generator | None = None, ties: Ties = "drawn",
    lifetimes: Known = "true",
) -> Hosts:  # fmt: skip
    """Take, of the servers that were switched on for a VM whose life was of the same power of two,
    the one with least left over.

    Parameters
    ----------
    ties : the order of VMs that come at the same time, as of first-fit.
    lifetimes : what is known of lives, as of least-extension.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("lifetimes/tiny"), "lifetime-classes").metrics["peak"]
    3.0
    """
    return _placed(instance, "CLASSES", rng, ties, lifetimes)


def _placed(
    instance: Lifetimes, policy: str, rng: np.random.Generator | None, ties: Ties,
    lifetimes: Known = "true",
) -> Hosts:  # fmt: skip
    """The answer of a policy of the kernels."""
    from . import kernels

    n, rng = len(instance.kind), rng or np.random.default_rng(0)
    second = {
        "drawn": rng.permutation(n),
        "file": np.arange(n),
        "last-to-leave-first": -instance.end,
    }
    order = np.lexsort((second[ties], instance.start))
    expected = instance.end
    if lifetimes == "by-type":
        expected = expected_by_type(instance)
    elif lifetimes == "predicted":
        if instance.predicted_end is None:
            raise InvalidOption(
                "lifetimes is 'predicted', and the instance has no predicted_end; add that column, "
                "or take 'by-type'"
            )
        expected = instance.predicted_end
    host = np.zeros(n, dtype=np.int64)
    kernels.run_policy(
        getattr(kernels, policy), order, np.argsort(instance.end, kind="stable"), instance.demand,
        instance.capacity, instance.kind, instance.start, instance.end, expected, rng.random(n),
        host,
    )  # fmt: skip
    return Hosts(host)


def expected_by_type(instance: Lifetimes) -> Integers:
    """(n,) each VM's end, were its life the mean (of logarithms) of those of its type that ended by
    its start; its start, where none has.
    """
    expected, life = instance.start.copy(), np.log(instance.end - instance.start)
    for kind in range(len(instance.demand)):
        own = np.flatnonzero(instance.kind == kind)
        ended = own[np.argsort(instance.end[own])]
        known = np.searchsorted(instance.end[ended], instance.start[own], "right")
        total = np.append(0.0, life[ended].cumsum())[known]
        mean = np.exp(total / np.maximum(known, 1)).astype(np.int64)
        expected[own] += np.where(known > 0, mean, 0)
    return expected
