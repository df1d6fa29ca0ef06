"""Checks whether a training fits into the memory of this container."""

import logging

from qtj_contract.control_groups import memory_limit
from qtj_contract.memory import ReplicaMemory
from qtj_contract.quantities import in_words
from qtj_trainer.errors import UserError

__all__ = ["check_memory"]

log = logging.getLogger("qtj_trainer")


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
