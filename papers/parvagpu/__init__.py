"""ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud Environments
(2024).
"""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "parvagpu",
    "ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud Environments "
    "(2024)",
    "ParvaGPU",
    "packing",
    guide="Guide: [GPUs](../howto/cards.md#mig-slices).",
)
