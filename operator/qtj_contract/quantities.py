"""Numbers of bytes, as Kubernetes and as people write them. The trainer imports this too: standard library only."""

from decimal import Decimal

__all__ = ["bytes_of", "in_words"]

_UNITS = {
    **{f"{prefix}i": 1024**power for power, prefix in enumerate("KMGTPE", start=1)},
    **{prefix: 1000**power for power, prefix in enumerate("kMGTPE", start=1)},
    "m": Decimal("0.001"),
    "": 1,
}


def bytes_of(quantity: object) -> int | None:
    """Returns the bytes that a Kubernetes quantity such as 16Gi means, or None for what is not one.

    The grammar is that of apimachinery's resource.Quantity.
    """
    text = str(quantity).strip()
    number = text.rstrip("KMGTPEikm")
    unit = text[len(number) :]
    try:
        return int(Decimal(number) * _UNITS[unit])
    except (ArithmeticError, ValueError, KeyError):  # neither a number, nor a finite one, nor a unit
        return None


def in_words(count: float) -> str:
    """Returns a number of bytes for people: 1536 is "1.5 KiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:  # noqa: PLR2004  then a larger unit is due
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} PiB"
