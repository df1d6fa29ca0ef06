"""What an operator has requested, as the API server's audit log has it."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_CONFLICT = 409


@dataclass(frozen=True)
class Requests:
    """How many requests there were.

    Attributes:
        by_kind: As in `{"create pods": 400}`.
        conflicts: Writes that the server refused because somebody was faster.
    """

    by_kind: Counter[str]
    conflicts: int

    @property
    def writes(self) -> int:
        """Those that change something, Kubernetes events left out."""
        return sum(count for kind, count in self.by_kind.items() if _verb(kind) in _WRITES and "events" not in kind)

    @property
    def reads(self) -> int:
        """Gets and lists."""
        return sum(count for kind, count in self.by_kind.items() if _verb(kind) in {"get", "list"})


class Audit:
    """The log, from now on, as far as one user is concerned."""

    def __init__(self, path: Path, user: str) -> None:
        self._path = path
        self._user = user
        self._begin = self._size()

    async def quiet(self, seconds: float, limit: float) -> bool:
        """Waits until nothing was requested for so long; tells whether that was within the limit."""
        size, since, end = self._size(), time.monotonic(), time.monotonic() + limit
        while time.monotonic() < end:
            await asyncio.sleep(0.2)
            if self._size() != size:
                size, since = self._size(), time.monotonic()
            elif time.monotonic() - since >= seconds:
                return True
        return False

    def last_change(self) -> float:
        """Returns when something was last requested, by `time.monotonic`."""
        return time.monotonic() - (time.time() - self._path.stat().st_mtime)

    def requests(self) -> Requests:
        """Counts what was requested so far; the Lease and watches are left out."""
        counted: Counter[str] = Counter()
        conflicts = 0
        with self._path.open("rb") as log:
            log.seek(self._begin)
            for line in log:
                event = json.loads(line)
                if event["user"]["username"] != self._user or event["stage"] != "ResponseComplete":
                    continue
                kind = f"{event['verb']} {_resource(event)}"
                if event["verb"] != "watch" and "leases" not in kind:
                    counted[kind] += 1
                    conflicts += event.get("responseStatus", {}).get("code") == _CONFLICT
        return Requests(counted, conflicts)

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def _resource(event: dict[str, dict[str, str]]) -> str:
    reference = event.get("objectRef", {})
    return "/".join(filter(None, (reference.get("resource", "other"), reference.get("subresource"))))


def _verb(kind: str) -> str:
    return kind.partition(" ")[0]
