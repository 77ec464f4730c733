"""Requirements of a numa instance, one by one: the task rate of each class."""

from __future__ import annotations

from collections.abc import Callable

from ...instances.numa import Numa


def parts(instance: Numa) -> tuple[list[str], Callable[[list[int]], Numa | None]]:
    """Texts of the task rates of the classes, and a function that makes the instance with the tasks
    of some classes only; None without any tasks.
    """
    rates = instance.rate * instance.class_share
    labels = [
        f"{rate:g} tasks/s of {name}" for rate, name in zip(rates, instance.names, strict=True)
    ]

    def keep(kept: list[int]) -> Numa | None:
        if not (total := rates[kept].sum()):
            return None
        rows = ("service_mean", "ht1", "pcie", "bandwidth")
        chosen = {name: getattr(instance, name)[kept] for name in rows}
        names = tuple(instance.names[each] for each in kept)
        share = rates[kept] / total
        return instance.replace(rate=float(total), class_share=share, names=names, **chosen)

    return labels, keep
