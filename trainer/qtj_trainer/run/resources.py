"""Whether the statevectors fit into this container."""

import logging
import os

from qtj_operator.api.quantities import in_words
from qtj_trainer.cpu import memory_limit
from qtj_trainer.errors import UserError

__all__ = ["check_memory"]

log = logging.getLogger("qtj_trainer")


def check_memory(needed: int) -> None:
    """Says how much memory the statevectors of one example take.

    Args:
        needed: In bytes; 0 says nothing.

    Raises:
        UserError: If it is more than the container or the machine has.
    """
    there = memory_limit() or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    sizes = f"{in_words(needed)} of memory, and {in_words(there)} are there"
    if needed > there:
        raise UserError(
            f"the statevectors of one example take {sizes}: raise resources.limits.memory or lower --qubits"
        )
    if needed:
        log.info("the statevectors of one example take %s", sizes)
