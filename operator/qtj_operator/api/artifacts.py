"""`spec.artifacts`: where results are stored."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from qtj_operator.api.model import Model
from qtj_operator.api.rules import Rule, checked, validations

__all__ = ["Artifacts", "ReusePolicy", "unusable_bucket"]

_BUCKET_PATTERN = "^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/.*)?$"

_KNOWN_STORE = Rule(
    "self.startsWith('gs://') || self.startsWith('file:///')",
    lambda uri: uri.startswith(("gs://", "file:///")),
    "must begin with gs:// (a bucket) or file:/// (a volume that every replica mounts)",
)
_VALID_BUCKET = Rule(
    f"!self.startsWith('gs://') || self.matches('{_BUCKET_PATTERN}')",
    lambda uri: not uri.startswith("gs://") or re.fullmatch(_BUCKET_PATTERN, uri) is not None,
    "names no valid bucket: write gs://BUCKET/PATH, where BUCKET has 3 to 222 lowercase letters, digits, dots, - and "
    "_, and begins and ends with a letter or a digit, and PATH has no line break",
)


def unusable_bucket(address: str) -> str | None:
    """Returns what is wrong with an address that starts with gs://, to be appended to it; None for a valid one."""
    return None if _VALID_BUCKET.holds(address) else _VALID_BUCKET.message


_ADDRESS = Field(min_length=1, max_length=1024)
_STORE_OR_RELATIVE = Rule(
    "self.startsWith('gs://') || self.startsWith('file:///') || !(self.startsWith('/') || self.contains('://'))",
    lambda uri: uri.startswith(("gs://", "file:///")) or not (uri.startswith("/") or "://" in uri),
    "must begin with gs:// or file:///, or be a path below artifacts.uri: write for example weights.h5",
)
_STAYS_BELOW = Rule(
    "!('/' + self + '/').contains('/../')",
    lambda uri: "/../" not in f"/{uri}/",
    "must not lead out of its folder with ..: write the whole address, which begins with gs:// or file:///",
)


_NAMES_A_FILE = Rule(
    "!(self == '.' || self.endsWith('/') || self.endsWith('/.')) && (!self.startsWith('gs://') || "
    "self.matches('^gs://[^/]+/.'))",
    lambda uri: not (uri == "." or uri.endswith(("/", "/."))) and re.match("gs://[^/]+$", uri) is None,
    "names a folder: write the address of the file, for example weights.h5",
)


_WEIGHTS = (_STORE_OR_RELATIVE, _VALID_BUCKET, _STAYS_BELOW, _NAMES_A_FILE)


class ReusePolicy(StrEnum):
    """Whose checkpoints and result a job uses."""

    NEVER = "Never"
    SAME_SPEC = "SameSpec"


class Artifacts(Model):
    """Where results are stored."""

    uri: Annotated[str, _ADDRESS, checked(_KNOWN_STORE, _VALID_BUCKET)] = Field(
        description=(
            "Folder for weights, held-out data and results: gs://BUCKET/PATH, or file:///PATH on a volume that every "
            "replica mounts."
        ),
        json_schema_extra=validations(_KNOWN_STORE, _VALID_BUCKET),
    )
    weights: Annotated[str, _ADDRESS, checked(*_WEIGHTS)] | None = Field(
        None,
        description=(
            "The weights that the program stores, for a program that does not name them itself in its termination "
            "message: a path below `uri`, gs://BUCKET/PATH or file:///PATH. Their checksum is then not known."
        ),
        json_schema_extra=validations(*_WEIGHTS),
    )
    reuse_policy: ReusePolicy | None = Field(
        None,
        description=(
            "Whether a job that is created again uses what an earlier one stored. Never (the default): it trains from "
            "the start. SameSpec: it continues from the checkpoints of a job with the same namespace, name and spec, "
            "or uses its weights if that job had trained. Fields that can be edited at any time are not compared."
        ),
    )
