"""Groupings in the core: least mean penalty at an alpha, and the least alpha with a nonempty
core.
"""

from __future__ import annotations

from ...instances.groups.instance import Groups
from ...instances.groups.penalties import groups_number
from ...instances.groups.stability import Alpha, whole_alpha
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...instances.problem.registry import feasible
from ...models.groups.columns import columns_of
from ..outcome import Clock, Outcome, Report, Status, Stop
from .common import dealt
from .core_routes import AT_ALPHA, LEAST_ALPHA, CoreLimits, CoreSearch
from .feasible import starting_grouping
from .optimal import Search, too_large

ROUTES = {"an alpha that is given": AT_ALPHA, "the least alpha": LEAST_ALPHA}
"""The routes of `core` and `least_alpha`, in the order in which they run."""

SORTED = "sorted by pressure, where no curve falls: no group blocks (baselines.groups.dealing)"


@validate_options
def core(
    instance: Groups,
    *,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """Minimize the mean penalty such that no jobs would all gain more than `alpha` on a full
    machine of their own.

    An integer program over kinds of groups says so exactly (`models.groups.core`). It is solved
    over the groups of least reduced cost first: an answer that costs less than the relaxation and
    the reduced cost of every group outside is the best of all. Where no grouping is without a
    blocking group, and that is proved, `certificate["least_alpha"]` says from which alpha on there
    is one. Where none without was found, the answer is the one at hand with the fewest.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    time_limit : seconds, more than 0. Without one the least penalty gets 30 seconds at most once
        there is such a grouping; whether there is one takes as long as it takes.
    alpha : least gain for which jobs break away, in points of penalty (0.05 is five percentage
        points).
    start : a grouping to begin with.
    report : called with (seconds, blocking groups, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        `bound` and `status` are those of the number of blocking groups: 0, or 1 where it is proved
        that there is always one (then "feasible", for how few there can be is not asked).
        `certificate["levels"]` holds both levels, the mean penalty's with its own bound;
        `certificate["blocking_groups"]` names those that block.

    Raises
    ------
    InvalidOption
        alpha below 0, or there are more kinds of groups than are listed.

    Notes
    -----
    Source: Cooper (HPCA 2017) section III.B, blocking pairs, for machines of any seats. That the
    core of such a game may be empty is Banerjee, Konishi and Sonmez (2001).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "core")
    >>> print(result.status, result.objective, round(result.metrics["penalty"], 4))
    optimal 0.0 0.075
    """
    clock = Clock(time_limit, report)
    return _solved(instance, clock, start, whole_alpha(alpha), alpha, limits or CoreLimits())


@validate_options
def least_alpha(
    instance: Groups,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """Find the least alpha at which some grouping has no blocking group, with proofs of both sides.

    A job leaves one group for another iff the difference of its losses is more than alpha, so the
    least alpha is 0 or one of these finitely many differences, in whole units of 1e-12. Bisection:
    an integer program over kinds of groups finds a grouping that no group blocks at an alpha, or
    says that there is none; at the difference before the least alpha there is none, and more alpha
    never adds a group that blocks. CP-SAT is asked to confirm what HiGHS ruled out.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    time_limit : seconds, more than 0. Without one the least penalty at the least alpha gets 30
        seconds at most.
    start : a grouping to begin with.
    report : called with (seconds, least alpha, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        Objective and bound are the least alpha of the grouping and that of all, in points of
        penalty; the mean penalty at it stands in `certificate["levels"]`, and
        `certificate["empty_at"]` is the largest alpha at which no grouping was found to be without
        a blocking group, null where none was asked.

    Raises
    ------
    InvalidOption
        There are more kinds of groups than are listed.

    Notes
    -----
    The least epsilon of an epsilon-core, which with many players of few types is small (Kovalenkov
    and Wooders, "Approximate cores of games and economies with clubs", 2003).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "least-alpha")
    >>> print(result.status, result.objective)
    optimal 0.0
    """
    return _solved(instance, Clock(time_limit, report), start, None, None, limits or CoreLimits())


def _solved(
    instance: Groups, clock: Clock, start: Solution | None, least: int | None,
    alpha: float | None, limits: CoreLimits,
) -> Outcome:  # fmt: skip
    """Outcome of `core` at an alpha, or of `least_alpha` without one."""
    seconds = limits.counts * limits.relaxation.group_seconds * groups_number(instance)
    if clock.left is not None and seconds > clock.left:
        found = dealt(instance, snake=False)
        if instance.model == "pressure" and feasible(instance, found):
            return Outcome(found, 0.0, Status.OPTIMAL, Stop.FINISHED, {"proof": SORTED})
        return too_large(instance, start, clock, bound=0.0)
    columns = columns_of(instance)
    begin = starting_grouping(instance, columns, start, clock)
    if isinstance(begin, Outcome):
        return begin
    # the relaxation reports penalties: its progress is not this method's
    relaxed = Search(instance, columns, begin, Clock(clock.time_slice(4)), limits.relaxation)
    search = CoreSearch(relaxed, clock, least, alpha, limits)
    with search.keeping_best():
        for route in LEAST_ALPHA if least is None else AT_ALPHA:
            route(search)
    return search.outcome()
