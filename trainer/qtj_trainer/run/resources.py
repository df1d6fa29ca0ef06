"""Whether a training fits into this container."""

import logging

from qtj_contract.control_groups import memory_limit
from qtj_contract.memory import ReplicaMemory
from qtj_contract.quantities import in_words
from qtj_trainer.errors import UserError

__all__ = ["check_memory"]

log = logging.getLogger("qtj_trainer")


def check_memory(needed: ReplicaMemory | None) -> None:
    """Says how much memory the circuits take.

    Args:
        needed: By this replica; None says nothing.

    Raises:
        UserError: If it is more than the container or the machine has.
    """
    if needed is None:
        return
    there = memory_limit()
    sizes = (
        f"{in_words(needed.least)} of memory ({in_words(needed.program)} for the program, {in_words(needed.states)} for"
        f" statevectors), and {in_words(there)} are there"
    )
    if needed.least > there:
        raise UserError(
            f"this training takes at least {sizes}: raise resources.limits.memory or lower --qubits, --filters or"
            " --batch-size"
        )
    more = f"; it takes up to {in_words(needed.most)} where there is room" if needed.keepable else ""
    log.info("this training takes at least %s%s", sizes, more)
