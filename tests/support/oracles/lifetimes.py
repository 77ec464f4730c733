"""VMs on servers over time by definition: every way to put them on servers, instant by instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cotenant.instances.lifetimes import Lifetimes


def partitions(vms: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every way to divide things into sets."""
    if not vms:
        yield []
        return
    first, rest = vms[0], vms[1:]
    for sets in partitions(rest):
        yield [[first], *sets]
        for index, one in enumerate(sets):
            yield [*sets[:index], [first, *one], *sets[index + 1 :]]


def least(instance: Lifetimes) -> dict[str, float | None]:
    """Least server time and least peak over all assignments of VMs to servers, at integer instants."""
    start, end = instance.start.tolist(), instance.end.tolist()
    size = instance.demand[instance.kind].tolist()
    instants = range(min(start), max(end))
    runs = [[a <= t < b for t in instants] for a, b in zip(start, end, strict=True)]

    def feasible(server: list[int]) -> bool:
        return all(
            sum(size[i][j] for i in server if runs[i][t]) <= room
            for t in range(len(instants))
            for j, room in enumerate(instance.capacity.tolist())
        )

    times, peaks = [], []
    for servers in partitions(range(len(start))):
        if all(map(feasible, servers)):
            on = [[any(runs[i][t] for i in one) for one in servers] for t in range(len(instants))]
            times.append(sum(map(sum, on)))
            peaks.append(max(map(sum, on)))
    return {"server_time": float(min(times)), "peak": float(min(peaks))}
