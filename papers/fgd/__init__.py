"""Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent (2023).
"""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "fgd",
    "Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
    "Gradient Descent (2023)",
    "Weng et al. (ATC 2023)",
    "packing",
    guide="Guide: [packing](../packing.md#vms-that-arrive-on-servers-with-cards).",
    not_determined=(
        ("Weng et al. (ATC 2023) fig. 7",
         "fragments by cause while pods arrive; packing-fgd-allocation has the allocation at the "
         "end"),
        ("Weng et al. (ATC 2023), the clustering policy",
         "it needs the affinity of pods, which the lists do not have"),
    ),
)  # fmt: skip
