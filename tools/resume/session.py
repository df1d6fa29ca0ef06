"""A program's session in this process: real checkpoints and a real replica, and mistakes that are raised."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from qtj_trainer.program.session import Session
from qtj_trainer.program.source_record import SourceRecord
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop


class InProcess(Session):
    """A session whose mistakes are raised: the real one ends the process."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.replica = Replica.join(environment, Stop(), str(folder))
        self.record = SourceRecord(self.replica.store, None, environment, is_script=False)

    @contextmanager
    def mistakes_reported(self) -> Iterator[None]:
        yield
