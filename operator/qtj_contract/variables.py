"""The environment variables of a replica; only inference gets those of the weights."""

from enum import StrEnum

__all__ = ["SAME_SPEC_ID", "TRACKING", "Env"]

SAME_SPEC_ID = "spec-"
"""Begins a `QTJ_JOB_UID` that is not the uid of an object but a digest: that of a job with `reusePolicy: SameSpec`."""

TRACKING = "QTJ_TRACKING"
"""The variable by which an author of a job or of a program asks for a tracking server: `mlflow`."""


class Env(StrEnum):
    """Names of the environment variables of the contract."""

    TF_CONFIG = "TF_CONFIG"
    JOB = "QTJ_JOB"
    JOB_UID = "QTJ_JOB_UID"
    NAMESPACE = "QTJ_NAMESPACE"
    ATTEMPT = "QTJ_ATTEMPT"
    ARTIFACTS_URI = "QTJ_ARTIFACTS_URI"
    IMAGE = "QTJ_IMAGE"
    QUBITS = "QTJ_QUBITS"
    FILTERS = "QTJ_FILTERS"
    PRECISION = "QTJ_PRECISION"
    ENGINE_DEVICE = "QTJ_ENGINE_DEVICE"
    PROFILER_PORT = "QTJ_PROFILER_PORT"
    PROFILER_CAPTURES = "QTJ_PROFILER_CAPTURES"
    METRICS_PORT = "QTJ_METRICS_PORT"
    TERMINATION_LOG = "QTJ_TERMINATION_LOG"
    TERMINATION_LIMIT = "QTJ_TERMINATION_LIMIT"
    PROGRESS_DEADLINE = "QTJ_PROGRESS_DEADLINE"
    PROGRESS_LOG = "QTJ_PROGRESS_LOG"
    PARAMETERS = "QTJ_PARAMETERS"
    STUDY = "QTJ_STUDY"
    WEIGHTS_URI = "QTJ_WEIGHTS_URI"
    WEIGHTS_SHA256 = "QTJ_WEIGHTS_SHA256"
