"""Objects beside stored weights."""

__all__ = ["beside"]


def beside(weights: str, suffix: str) -> str:
    """Returns the address of the object with the name of the weights and another suffix."""
    folder, slash, name = weights.rpartition("/")
    return f"{folder}{slash}{name.rpartition('.')[0] or name}{suffix}"
