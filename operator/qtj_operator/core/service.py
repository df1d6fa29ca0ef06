"""A Service, as decisions use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The fields of a Service that others rely on.

    Attributes:
        version: Its resourceVersion.
        ports: As the API server returns them, with those that others added.
        type: From where it can be reached.
    """

    name: str
    version: str
    selector: Mapping[str, str] | None
    publish_not_ready_addresses: bool | None
    ports: tuple[Mapping[str, Any], ...]
    type: str | None = None
