"""Student's t distribution: how far the mean of a few values may be from the true one."""

import math

__all__ = ["two_sided_quantile"]

_HALVINGS = 60
"""Until the angle has all digits of a float."""


def two_sided_quantile(confidence: float, freedom: int) -> float:
    """Returns the t that |T| exceeds with a probability of 1 - confidence.

    Args:
        confidence: For example 0.95.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        low, high = (angle, high) if _probability(angle, freedom) < confidence else (low, angle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _probability(angle: float, freedom: int) -> float:
    """Returns P(|T| <= sqrt(freedom) tan(angle)), by 26.7.3 and 26.7.4 of Abramowitz and Stegun."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (power - 1) / power
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
