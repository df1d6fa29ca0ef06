"""Quantities as Kubernetes writes them, and byte counts for people."""

import re
from decimal import Decimal

__all__ = ["amount_of", "bytes_of", "in_words"]

_GRAMMAR = re.compile(r"(?P<number>[-+]?[0-9.]{1,100})(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3}|)")
"""The grammar of resource.Quantity of apimachinery, with a limit on the number of digits."""

_UNITS = {
    **{f"{prefix}i": Decimal(1024**power) for power, prefix in enumerate("KMGTPE", start=1)},
    **{prefix: Decimal(1000**power) for power, prefix in enumerate("kMGTPE", start=1)},
    **{prefix: Decimal(10) ** (-3 * power) for power, prefix in enumerate("mun", start=1)},
}


def amount_of(quantity: object) -> Decimal | None:
    """Returns the value of a Kubernetes quantity such as 500m, 2 or 16Gi, or None for something else.

    Args:
        quantity: As YAML has it: text or a number.
    """
    match = None if isinstance(quantity, bool) else _GRAMMAR.fullmatch(str(quantity))
    if match is None:
        return None
    unit = _UNITS.get(match["suffix"])
    try:
        return Decimal(match[0]) if unit is None else Decimal(match["number"]) * unit
    except ArithmeticError:  # 1.2.3
        return None


def bytes_of(quantity: object) -> int | None:
    """Returns the whole bytes of a Kubernetes quantity such as 16Gi, or None for something else."""
    amount = amount_of(quantity)
    return None if amount is None else int(amount)


def in_words(count: float) -> str:
    """Returns a number of bytes for people: 1536 is "1.5 KiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} PiB"
