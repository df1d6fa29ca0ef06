"""What a SHA-256 digest looks like."""

import re

__all__ = ["is_sha256"]

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def is_sha256(text: str) -> bool:
    """Tells whether a text is a SHA-256 digest in hex."""
    return _SHA256.fullmatch(text) is not None
