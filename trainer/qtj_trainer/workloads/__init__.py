"""What can be trained: one file each, listed here."""

from qtj_trainer.workloads.qcnn import Qcnn
from qtj_trainer.workloads.workload import Arrays, Examples, Split, Workload

__all__ = ["WORKLOADS", "Arrays", "Examples", "Split", "Workload"]

WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in (Qcnn(),)}
"""Workloads by the name they have on the command line and in records."""
