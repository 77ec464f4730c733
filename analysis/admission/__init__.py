"""What is measured of an assignment of jobs to VMs, its frontiers, rounds and completion times."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("admission", reports_at="analysis.admission.metrics:REPORTS")
