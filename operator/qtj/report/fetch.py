"""`qtj fetch`: what a job of a cluster has stored, copied to this machine by the rights of the user, or of the job."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from qtj.report.cluster import cluster_content, read_cluster_job
from qtj.report.stored import read_any, recorded_weights, stored_if_any, stored_weights
from qtj.report.through_pod import reading_through_pod
from qtj.runs.folders import PAGE
from qtj.terminal.errors import InputError
from qtj_contract.beside import beside
from qtj_contract.predictions import predictions_uri
from qtj_contract.whole_file import write_whole
from qtj_operator.api.reading import read_status
from qtj_operator.controller.client import Object
from qtj_report.artifacts import Read
from qtj_report.page import run_page

__all__ = ["fetch_cluster_job"]


def fetch_cluster_job(job: str, namespace: str | None, to: Path | None, *, through_pod: bool = False) -> Sequence[str]:
    """Copies weights, what is beside them, and the report; nothing is written unless all of it could be read.

    Args:
        job: Its name.
        namespace: Its namespace; None for that of the current context.
        to: The folder; None for JOB-results in the current one.
        through_pod: Whether a pod of the job reads it, and not the user.

    Returns:
        A line for each file: what it is, and its path.

    Raises:
        InputError: There is no such job or no cluster, it has no weights, or something cannot be read or written.
    """
    raw, events, now = read_cluster_job(job, namespace)
    recorded = recorded_weights(job, read_status(raw).weights)
    with _reading(raw, through_pod=through_pod) as read:
        weights = stored_weights(job, recorded, read)
        files = {("weights", weights.name): weights.data, **dict(_beside(weights.uri, read))}
        page = run_page(cluster_content(raw, events, now, read), now)
    return list(_written({**files, ("report", PAGE): page.encode()}, to or Path(f"{job}-results")))


def _reading(job: Object, *, through_pod: bool) -> AbstractContextManager[Read]:
    return reading_through_pod(job) if through_pod else nullcontext(read_any)


def _beside(weights: str, read: Read) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Yields what is stored beside weights: its kind and the name of its file, and its bytes."""
    known = {
        "predictions": predictions_uri(weights),
        "record": beside(weights, ".json"),
        "circuit": beside(weights, ".txt"),
    }
    for kind, uri in known.items():
        data = stored_if_any(uri, read)
        if data is not None:
            yield (kind, uri.rpartition("/")[2]), data


def _written(files: Mapping[tuple[str, str], bytes], folder: Path) -> Iterator[str]:
    for (kind, name), data in files.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, data)
        except OSError as problem:
            what = f"cannot write {folder / name} ({problem.strerror})"
            raise InputError(f"{what}: make room, or name another folder with --to") from None
        yield f"{kind}: {folder / name}"
