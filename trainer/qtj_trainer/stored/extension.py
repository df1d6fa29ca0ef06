"""Whether a finished training can be continued with more epochs: on the user's own machine, and not on a cluster."""

from collections.abc import Mapping
from enum import Enum

from qtj_contract import Env

__all__ = ["RESUME", "Extension", "extension_of"]

RESUME = "QTJ_RESUME"
"""The variable that continues the last training of a program without a job, whatever has changed since."""


class Extension(Enum):
    """What becomes of the last checkpoint of a training."""

    NONE = "it is deleted like the others"
    POSSIBLE = "it is kept"
    CONTINUED = "it is kept, and this process continues after the one that was kept before"


def extension_of(environment: Mapping[str, str]) -> Extension:
    """Returns it for a process: the spec of a job on a cluster cannot get more epochs."""
    if not environment.get(Env.JOB_UID):
        return Extension.CONTINUED if environment.get(RESUME) else Extension.POSSIBLE
    return Extension.CONTINUED if environment.get(Env.PROGRESS_LOG) else Extension.NONE
