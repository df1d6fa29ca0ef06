"""The values of fields that are left out of the spec, and ports that cannot be chosen."""

__all__ = [
    "BACKOFF_LIMIT",
    "GRPC_PORT",
    "INFERENCE_BACKOFF_LIMIT",
    "LONGEST",
    "METRICS_PORT",
    "PROFILER_PORT",
    "REPLICAS",
    "TENSORBOARD_IMAGE",
    "TENSORBOARD_PORT",
    "TENSORBOARD_RESOURCES",
]

REPLICAS = 1
BACKOFF_LIMIT = 3
INFERENCE_BACKOFF_LIMIT = 2

GRPC_PORT = 2222
PROFILER_PORT = 2223
METRICS_PORT = 2224

TENSORBOARD_IMAGE = "localhost/qtj-tensorboard:0.2.0"
TENSORBOARD_PORT = 6006
"""TensorBoard's own default."""

TENSORBOARD_RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}}

LONGEST = 2**31 - 1
"""Seconds of the longest deadline: 68 years, so that the resulting date can always be written."""
