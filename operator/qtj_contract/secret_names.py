"""What says that a value is secret: the name of a variable or an argument, and an address with a password in it."""

import re

__all__ = ["has_password", "is_secret"]

_SECRET = re.compile(r".*(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL).*|.*KEYS?(_ID)?|.*_PWD", re.IGNORECASE)
_ADDRESS = re.compile(r".*_(FILE|PATH|DIR|NAME|URI)|GOOGLE_APPLICATION_CREDENTIALS", re.IGNORECASE)
"""Variables that say where a secret is."""
_PASSWORD = re.compile(r"://[^\s/?#@:]*:[^\s/?#@]+@")


def has_password(text: str) -> bool:
    """Tells whether a text has an address with a password, such as `https://USER:PASSWORD@HOST`."""
    return _PASSWORD.search(text) is not None


def is_secret(variable: str) -> bool:
    """Tells whether the name of a variable says that its value is secret."""
    return _SECRET.fullmatch(variable) is not None and _ADDRESS.fullmatch(variable) is None
