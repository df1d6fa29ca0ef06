"""Who owns an object."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["controllers_of"]


def controllers_of(metadata: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the references to owners that control the object; the API server allows one at most."""
    return [owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")]
