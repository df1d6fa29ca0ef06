"""A PodGroup, as decisions use it."""

from dataclasses import dataclass

__all__ = ["PodGroup"]


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The group of a gang's pods, none of which is placed before as many of them can be.

    Attributes:
        version: Its resourceVersion.
        min_member: How many.
    """

    version: str
    min_member: int | None
