"""What an inference measured: a file beside the weights that it used, which outlives its pod.

{"job": "qcnn", "jobUid": "0b5f8f4e-...", "weightsSha256": "1f3c0a9b...", "metrics": {"mse": 0.18}}
"""

import json
from collections.abc import Mapping

from qtj_contract.beside import beside
from qtj_contract.variables import Env

__all__ = ["result_json", "result_uri"]


def result_uri(weights: str) -> str:
    """Returns the address of the result of an inference with stored weights."""
    return beside(weights, ".inference.json")


def result_json(environment: Mapping[str, str], sha256: str, metrics: Mapping[str, float]) -> str:
    """Encodes the result.

    Args:
        environment: The environment of the inference.
        sha256: Hex digest of the weights; empty if it is not known.
        metrics: Finite numbers by name.
    """
    fields = {
        "job": environment.get(Env.JOB, ""),
        "jobUid": environment.get(Env.JOB_UID, ""),
        "weightsSha256": sha256,
        "metrics": dict(metrics),
    }
    return json.dumps(fields, indent=1)
