"""One training run: workload, options and replica."""

import hashlib
import json
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import qtj_contract as contract
from qtj_contract.control_groups import memory_limit
from qtj_contract.memory import ReplicaMemory
from qtj_contract.quantities import in_words
from qtj_trainer.errors import UserError
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replicate.rendezvous import Terms
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.extension import extension_of
from qtj_trainer.workloads import Workload
from qtj_trainer.workloads.options import Options

__all__ = ["Run", "check_memory"]

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True)
class Run:
    """Everything that is given before a run starts."""

    workload: Workload
    options: Options
    replica: Replica

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Its checkpoints."""
        replica = self.replica
        extension = extension_of(replica.environment)
        return Checkpoints(replica.store, replica.job_uid, self.workload, self.options, extension=extension)

    def completed(self) -> Self:
        """Returns the run with the options that the data decides."""
        return replace(self, options=self.options.completed())

    def terms(self) -> Terms:
        """Returns what must be equal in all workers: everything that affects the numbers, and when training ends."""
        options = {"epochs": self.options.epochs, **self.options.affecting_numbers()}
        named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
        return {"workload": self.workload.name, **named, "model": self.workload.fingerprint(self.options)}

    @property
    def settings(self) -> str:
        """Digest of the options and the data that decide the result, without the model, whose digest takes seconds."""
        decisive = [self.workload.name, self.options.epochs, self.options.affecting_numbers()]
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def known_settings(self) -> str:
        """Returns the settings with those that the data decides; empty if the data cannot be read.

        A job that has its result does not need the data any more.
        """
        with suppress(UserError):
            return self.completed().settings
        return ""

    def initial_progress(self) -> contract.Progress:
        """Returns the progress before the first step."""
        return contract.Progress(epoch=0, epochs=self.options.epochs, step=0)


def check_memory(needed: ReplicaMemory | None) -> None:
    """Logs how much memory the circuits need, and checks that the container has it.

    Args:
        needed: Memory that this replica needs; None checks nothing.

    Raises:
        UserError: If it is more than the container or the machine has.
    """
    if needed is None:
        return
    available = memory_limit()
    sizes = (
        f"{in_words(needed.least)} of memory ({in_words(needed.program)} for the program, {in_words(needed.states)} for"
        f" statevectors), and {in_words(available)} are available"
    )
    if needed.least > available:
        raise UserError(
            f"this training needs at least {sizes}: raise resources.limits.memory or lower --qubits, --filters or"
            " --batch-size"
        )
    more = f"; it uses up to {in_words(needed.most)} if they are available" if needed.keepable else ""
    log.info("this training needs at least %s%s", sizes, more)
