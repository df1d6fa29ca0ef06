"""A Service, as decisions use it, and its ports: those that the operator sets, beside those that others add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Service", "are_present", "merged"]


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


Port = Mapping[str, Any]


def are_present(built: Sequence[Port], live: Sequence[Port]) -> bool:
    """Whether each built port exists under its name with every value it was built with; other ports do not matter."""
    if list(live) == list(built):  # nearly always
        return True
    named = _by_name(live)
    return all(port.items() <= named.get(port["name"], {}).items() for port in built)


def merged(built: Sequence[Port], live: Sequence[Port]) -> list[Port]:
    """Returns the ports as built, each with what others added to it, and then the ports of others.

    A port that was renamed is recognised by its number. Ports of others with a name or number of ours are removed: a
    Service has each only once.
    """
    named, ours = _by_name(live), _by_name(built)
    renamed = {_number(port): port for port in live if port.get("name") not in ours}
    restored = [{**(named.get(port["name"]) or renamed.get(_number(port)) or {}), **port} for port in built]
    taken = {_number(port) for port in built}
    return [*restored, *(port for port in live if port.get("name") not in ours and _number(port) not in taken)]


def _by_name(ports: Sequence[Port]) -> dict[str | None, Port]:
    return {port.get("name"): port for port in ports}


def _number(port: Port) -> tuple[int, str]:
    """What must be unique in a Service: a port's number and protocol."""
    return port["port"], port.get("protocol", "TCP")
