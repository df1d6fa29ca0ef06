"""`--artifacts` of `qtj submit`: a bucket, or a volume of the cluster."""

import re

from qtj.script.objects import Storage
from qtj.terminal.errors import InputError
from qtj_operator.api.artifacts import unusable_bucket

__all__ = ["storage_at"]

_FOLDER = "/artifacts"
_CLAIM = re.compile(r"pvc://(?P<claim>[a-z0-9]([-.a-z0-9]*[a-z0-9])?)(/(?P<path>.*))?")


def storage_at(address: str | None, job: str) -> Storage:
    """Returns where a job stores its results.

    Args:
        address: `gs://BUCKET/PATH`, or `pvc://CLAIM/PATH`, where a missing path is the name of the job.
        job: The name of the job.

    Raises:
        InputError: It is missing, or something else.
    """
    if address is None:
        raise InputError("--artifacts is missing: write gs://BUCKET/PATH, or pvc://CLAIM for a volume of all pods")
    if address.startswith("gs://"):
        if why := unusable_bucket(address):
            raise InputError(f"--artifacts {address}: it {why}")
        return Storage(uri=address)
    if found := _CLAIM.fullmatch(address):
        volume = {"name": "artifacts", "persistentVolumeClaim": {"claimName": found["claim"]}}
        mount = {"name": "artifacts", "mountPath": _FOLDER}
        return Storage(uri=f"file://{_FOLDER}/{found['path'] or job}", volumes=[volume], mounts=[mount])
    raise InputError(f"--artifacts {address}: pods reach gs://BUCKET/PATH, and a volume as pvc://CLAIM/PATH")
