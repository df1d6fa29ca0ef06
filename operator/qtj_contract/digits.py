"""Numbers for people."""

__all__ = ["in_digits"]

_LONG, _TOO_LONG = 9999.5, 1e15


def in_digits(value: float) -> str:
    """Returns a number with four digits or all before the point: 0.2418, 24,180. Only the largest have an exponent."""
    return f"{value:,.0f}" if _LONG <= abs(value) < _TOO_LONG else f"{value:.4g}"
