"""The fluid linear program of refusal scheduling: long-run flows from the memory of the data to a
processor.

y[k, l, p] >= 0, the work (seconds of local service a second) of class k with data at l done on p,
and T, the throughput:

    sum over p of y[k, l, p] = T share_k service_k share_l,      sum over k, l of slowdown[k, d(l,
    p)] y[k, l, p] <= cores.

Most T; or, at a given T or at the most, least link power. Every policy under which the queue does
not grow without end has such flows, whatever the laws of arrivals and service, as long as a task's
service is independent of where it runs but for the slowdown. `arrays` builds the programs for the
solvers, `readable` states them in Pyomo.
"""

from .arrays import (
    ON_FACE,
    FluidProgram,
    most_power_program,
    off_face,
    power_program,
    throughput_program,
)

__all__ = [
    "ON_FACE",
    "FluidProgram",
    "most_power_program",
    "off_face",
    "power_program",
    "throughput_program",
]
