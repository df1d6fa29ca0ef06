"""The workloads that can be trained: one file each, listed here."""

from qtj_trainer.workloads.fashion_mnist import FashionMnist
from qtj_trainer.workloads.images import Images
from qtj_trainer.workloads.linear_regression import LinearRegression
from qtj_trainer.workloads.qcnn import Qcnn
from qtj_trainer.workloads.workload import Answers, Arrays, Examples, Split, Workload

__all__ = ["WORKLOADS", "Answers", "Arrays", "Examples", "Split", "Workload"]

_ALL: tuple[Workload, ...] = (Qcnn(), LinearRegression(), FashionMnist(), Images())

WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in _ALL}
"""Workloads by their names on the command line and in records."""
