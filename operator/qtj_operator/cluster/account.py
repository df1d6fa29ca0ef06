"""The service account of the operator, by its own token."""

import base64
import json

__all__ = ["account_of"]

_PREFIX = "system:serviceaccount:"


def account_of(token: str) -> tuple[str, str] | None:
    """Returns namespace and name of the service account that a token is of; None where it is another kind of token.

    Args:
        token: A token of this process, as it is sent. It is not verified: it is not somebody's claim.
    """
    try:
        _, body, _ = token.removeprefix("Bearer ").split(".")
        subject = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"]
        namespace, name = subject.removeprefix(_PREFIX).split(":")
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return (namespace, name) if subject.startswith(_PREFIX) else None
