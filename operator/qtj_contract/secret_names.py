"""Names that say that a value is secret: of variables, and of arguments."""

import re

__all__ = ["is_secret"]

_SECRET = re.compile(r".*(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL).*|.*KEYS?(_ID)?|.*_PWD", re.IGNORECASE)
_ADDRESS = re.compile(r".*_(FILE|PATH|DIR|NAME|URI)|GOOGLE_APPLICATION_CREDENTIALS", re.IGNORECASE)
"""Variables that say where a secret is."""


def is_secret(variable: str) -> bool:
    """Tells whether the name of a variable says that its value is secret."""
    return _SECRET.fullmatch(variable) is not None and _ADDRESS.fullmatch(variable) is None
