"""The page of a job of a cluster: ``<artifacts>/reports/<run>.html``.

training   the leader, after it has stored the weights: curves, attempts, options, versions, circuit
inference  writes the page again, with its metrics and predictions

The operator reads the address from the termination message, and `status.report` has it. What only the cluster knows,
such as the events that ended an attempt, is not on this page: `qtj report --cluster` shows it.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.report.stored_progress import has_report, report_path
from qtj_trainer.storage import Store

__all__ = ["store_report", "stored_report"]

log = logging.getLogger("qtj_trainer")


def store_report(
    environment: Mapping[str, str], store: Store, weights: contract.Weights, metrics: Mapping[str, float]
) -> str:
    """Stores the page of a job.

    Args:
        environment: The environment of the training or of the inference.
        store: The artifacts.
        weights: The weights of the job.
        metrics: What this process has measured, by name.

    Returns:
        The address of the page; empty if there is none. A failure is only logged: the training or inference is done.
    """
    if not has_report(environment):
        return ""
    from qtj_trainer.report.report_page import report_page

    name = report_path(environment, ".html")
    try:
        store.write(name, report_page(environment, store, weights, metrics, datetime.now(UTC)).encode())
    except Exception as problem:  # noqa: BLE001  artifacts may hold anything
        log.warning("the report is not stored: %s", " ".join(str(problem).split()) or type(problem).__name__)
        return ""
    log.debug("report %s", store.uri(name))  # the log of a program belongs to its author
    return store.uri(name)


def stored_report(environment: Mapping[str, str], store: Store) -> str:
    """Returns the address of the page that was stored before; empty if there is none."""
    name = report_path(environment, ".html")
    with suppress(TrainerError):
        if has_report(environment) and name in store.list(name.rpartition("/")[0]):
            return store.uri(name)
    return ""
