"""The files of captures in the artifacts, where TensorBoard finds profiles.

<artifacts>/logs/<run>/plugins/profile/<capture>/worker-0.xplane.pb     the profile of a replica
<artifacts>/logs/<run>/plugins/profile/<capture>/worker-1.error.txt     why there is none

Replicas store their own files. The leader reports what it finds of its peers.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import Store

__all__ = ["CaptureFiles"]

_PROFILE, _ERROR = ".xplane.pb", ".error.txt"
_POLL = 0.5
"""Seconds between two searches for the files of peers."""


class CaptureFiles:
    """The files of one capture.

    Attributes:
        name: Name of the capture.
        path: Their folder, relative to the artifacts.
    """

    def __init__(self, store: Store, run: str, name: str, earlier: Mapping[str, str] | None = None) -> None:
        """Names the files.

        Args:
            store: The artifacts.
            run: The name of the job in TensorBoard.
            name: The name of the capture.
            earlier: What `versions` returned when the attempt began: files that are unchanged since then do not count.
        """
        self._store = store
        self._earlier = dict(earlier or {})
        self.name = name
        self.path = f"logs/{run}/plugins/profile/{name}"

    def store_profile(self, replica: str, profile: bytes) -> None:
        """Stores the profile of a replica.

        Raises:
            TrainerError: If the store refuses it, or does not answer.
        """
        self._store.delete(f"{self.path}/{replica}{_ERROR}")
        self._store.write(f"{self.path}/{replica}{_PROFILE}", profile)

    def store_error(self, replica: str, sentence: str) -> None:
        """Stores why there is no profile of a replica.

        Raises:
            TrainerError: If the store refuses it, or does not answer.
        """
        self._store.delete(f"{self.path}/{replica}{_PROFILE}")
        self._store.write(f"{self.path}/{replica}{_ERROR}", sentence.encode())

    def versions(self) -> Mapping[str, str]:
        """Returns a version for each file that is there; none if they cannot be listed."""
        with suppress(TrainerError):
            return self._store.versions(self.path)
        return {}

    def record(self, replicas: Sequence[str], patience: float = 0.0) -> contract.CaptureRecord:
        """Returns what became of the capture.

        Args:
            replicas: All that should have stored a file.
            patience: Seconds to wait for all files.
        """
        try:
            names = self._awaited(replicas, patience)
            errors = [self._error(each, names) for each in replicas if f"{each}{_PROFILE}" not in names]
        except TrainerError as problem:
            return contract.CaptureRecord(self.name, "Failed", error=str(problem))
        if len(errors) == len(replicas):
            return contract.CaptureRecord(self.name, "Failed", error="; ".join(errors))
        return contract.CaptureRecord(self.name, "Stored", self.path, "; ".join(errors))

    def _awaited(self, replicas: Sequence[str], patience: float) -> set[str]:
        """Returns the names of the files, as soon as each replica has one."""
        deadline = time.monotonic() + patience
        while True:
            found = self._store.versions(self.path).items()
            names = {each.rpartition("/")[2] for each, version in found if self._earlier.get(each) != version}
            if all(names & {f"{each}{_PROFILE}", f"{each}{_ERROR}"} for each in replicas):
                return names
            if time.monotonic() > deadline:
                return names
            time.sleep(_POLL)

    def _error(self, replica: str, names: set[str]) -> str:
        if f"{replica}{_ERROR}" not in names:
            return f"{replica} has stored no profile"
        return f"{replica}: {self._store.read(f'{self.path}/{replica}{_ERROR}').decode(errors='replace')}"
