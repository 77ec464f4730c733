"""Policies for elastic jobs: first come, equal split, utility per device, marginal gains."""

from __future__ import annotations

import numpy as np

from ..instances.elastic import Configured, Elastic, Floats, Integers
from ..instances.problem.option_types import validate_options


@validate_options
def fifo(instance: Elastic) -> Configured:
    """Give each job in turn the configuration of most utility for which devices are left.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "FIFO").objective
    9.5
    """
    return _in_order(instance, instance.utility)


@validate_options
def equal_split(instance: Elastic) -> Configured:
    """Give each job in turn the configuration of most utility that has no more devices than there
    are for a job on average, rounded down, but at least one.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "equal-split").objective
    9.0
    """
    share = max(1, int(instance.devices.sum()) // instance.jobs)
    return _in_order(instance, np.where(instance.workers <= share, instance.utility, 0.0))


@validate_options
def density(instance: Elastic) -> Configured:
    """Take jobs with configurations in the order of utility per device, the most first, each job
    once, as long as devices are left.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "density").objective
    9.0
    """
    rate = instance.utility / instance.workers
    order = np.argsort(-rate, axis=None, kind="stable")
    return _placed(instance, order[: np.count_nonzero(rate)])


@validate_options
def marginal(instance: Elastic) -> Configured:
    """Begin with all jobs idle and change, again and again, the job that gains most utility per
    further device, on the kind that it has begun on (as the greedy algorithm of Optimus, EuroSys
    2018, section 4.1).

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "marginal").objective
    12.0
    """
    from .elastic_kernels import by_gain

    return Configured.of(by_gain(instance.utility, *_state(instance)))


def _in_order(instance: Elastic, utility: Floats) -> Configured:
    """Assign jobs in turn to the configuration of most utility that the remaining devices allow."""
    order = np.argsort(-utility, axis=1, kind="stable")
    order += utility.shape[1] * np.arange(len(utility))[:, None]
    return _placed(instance, order[np.take(utility, order) > 0])


def _placed(instance: Elastic, order: Integers) -> Configured:
    """Give jobs configurations in an order of (type, configuration) while devices suffice."""
    from .elastic_kernels import in_order

    return Configured.of(in_order(order, *_state(instance)))


def _state(instance: Elastic) -> tuple[Integers, ...]:
    """Initial state of a policy for elastic jobs: configurations, idle jobs and free devices."""
    return instance.kind, instance.workers, instance.count.copy(), instance.devices.copy()
