"""Digests of what the operator compares with later: specs, templates, and what was made of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from qtj_contract import SAME_SPEC_ID
from qtj_operator.api.spec import IMMUTABLE

__all__ = ["digest_of", "spec_digest", "training_id"]

_ID_DIGITS = 32


def digest_of(value: Any) -> str:
    """Returns the digest of a value that JSON can hold. Objects have it: it must stay the same in later versions."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def spec_digest(written: Mapping[str, Any]) -> str:
    """Returns the digest of the fields that cannot be changed; null counts as left out, as for the API server."""
    return digest_of(_without_nulls({field: written[field] for field in IMMUTABLE if field in written}))


def training_id(namespace: str, name: str, digest: str) -> str:
    """Returns what checkpoints and the result of jobs with `reusePolicy: SameSpec` belong to.

    Stored results are found by it: it must stay the same in later versions.
    """
    same = f"{namespace}/{name}/{digest}"
    return f"{SAME_SPEC_ID}{hashlib.sha256(same.encode()).hexdigest()[:_ID_DIGITS]}"


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_nulls(item) for item in value]
    return value
