"""Fixed parts of the cluster for every job, whatever its throughputs."""

from __future__ import annotations

from ...instances.accelerators.feasible import isolated_shares, proportional_shares
from ...instances.accelerators.instance import Accelerators, TimeShares
from ...instances.problem.option_types import validate_options


@validate_options
def isolated(instance: Accelerators) -> TimeShares:
    """Every job alone in its own 1/n of the cluster, n the number of jobs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "isolated")
    >>> round(result.objective, 6)
    0.5
    """
    return isolated_shares(instance)


@validate_options
def proportional(instance: Accelerators) -> TimeShares:
    """Every job alone for the same part of its time on each kind of device, in proportion to the
    devices of the kind.

    Where all jobs need one worker this is `isolated`; else who needs more workers has more of the
    devices.

    Notes
    -----
    Gavel (OSDI 2020), section 4.1, its equal allocation; the part is the largest that all jobs can
    have at once.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "proportional")
    >>> round(result.objective, 6)
    0.5
    """
    return proportional_shares(instance)
