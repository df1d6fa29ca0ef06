"""What derived pods inherit of the metadata of their template: labels and annotations, and never anything else.

==============  ============  ==========================================================
pod             labels        annotations
==============  ============  ==========================================================
of a replica    all but ours  all
of inference    all but ours  all
of TensorBoard  none          those by which a webhook mounts its volumes
==============  ============  ==========================================================

Labels of the job that are copied to everything made for it stand behind those of a template, which is more specific.

Finalizers and owners of a template stay there: nobody would take the finalizers off the pods, and their namespace could
never be deleted. Labels by which the operator finds its own objects are left out. The others would put TensorBoard into
the queue of the training, or let replicas avoid its node.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from qtj_operator.api.names import without_reserved
from qtj_operator.api.template import Metadata, Volume
from qtj_operator.manifests.manifest import Manifest

__all__ = ["inherited", "inherited_by_volumes"]

_DRIVERS = {"gke-gcsfuse", "gke-parallelstore"}
"""Prefixes of annotations by which GKE adds the container that mounts a volume: also one behind a claim."""


def inherited(theirs: Metadata, own: Manifest, copied: Mapping[str, str]) -> Manifest:
    """Returns the metadata of a pod: what the template has, and ours, which it cannot replace.

    Args:
        theirs: The metadata of the template.
        own: Ours.
        copied: Labels of the job in ours, which the template may replace.
    """
    ours = {label: value for label, value in own.get("labels", {}).items() if label not in copied}
    labels = {**copied, **without_reserved(theirs.labels), **ours}
    annotations = {**theirs.annotations, **own.get("annotations", {})}
    merged = {**own, "labels": labels, "annotations": annotations}
    return {name: value for name, value in merged.items() if value}


def inherited_by_volumes(theirs: Metadata, volumes: Iterable[Volume]) -> Mapping[str, Any]:
    """Returns the annotations that a pod with these volumes of the template needs."""
    prefixes = {prefix for volume in volumes for prefix in _prefixes(volume)}
    return {key: value for key, value in theirs.annotations.items() if key.partition("/")[0] in prefixes}


def _prefixes(volume: Volume) -> set[str]:
    if volume.kind == "csi":
        source = volume.written["csi"]
        driver = source.get("driver") if isinstance(source, Mapping) else None
        return _DRIVERS | ({driver} if isinstance(driver, str) else set())
    return _DRIVERS if volume.kind == "persistentVolumeClaim" else set()
