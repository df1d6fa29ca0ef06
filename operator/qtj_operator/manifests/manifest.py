"""The metadata of every child: its name, its labels and its owner."""

from collections.abc import Mapping
from typing import Any

from qtj_operator.api.job import Job
from qtj_operator.api.names import API_VERSION, KIND, child_labels

__all__ = ["Manifest", "metadata"]

Manifest = dict[str, Any]
"""A Kubernetes object as JSON."""


def metadata(job: Job, name: str, labels: Mapping[str, str]) -> Manifest:
    """Returns the metadata of a child, owned by the job so that `kubectl delete` works even if the operator is down."""
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": {**job.copied_labels, **child_labels(job.name), **labels},
        "ownerReferences": [
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "name": job.name,
                "uid": job.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
