"""`qtj report` of a study: its table, from its record on this machine, or from its status on a cluster."""

import re
from functools import partial

from pydantic import ValidationError

from qtj.cluster.connection import on_cluster
from qtj.studies.record import StudyRecord, shown_study
from qtj.studies.table import study_data, study_text
from qtj.terminal.errors import InputError
from qtj.terminal.output_format import OutputFormat, formatted
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = ["cluster_study_report", "study_report"]

_FORBIDDEN = 403


def study_report(name: str, output: OutputFormat | None) -> str:
    """Returns the table of a study that was run here; "" if the name is that of no study.

    Args:
        name: The name on the command line.
        output: The format for programs; None for people.

    Raises:
        InputError: Its record cannot be read.
    """
    if not re.fullmatch(NAME_PATTERN, name) or not StudyRecord(name).exists:
        return ""
    return _text(name, *StudyRecord(name).load(), output)


def cluster_study_report(name: str, namespace: str | None, output: OutputFormat | None) -> str:
    """Returns the table of a study on a cluster; "" if the name is that of no study.

    Args:
        name: The name on the command line.
        namespace: Its namespace; None for that of the current context.
        output: The format for programs; None for people.

    Raises:
        InputError: There is no cluster, it refuses, or the study can never run.
    """
    if not re.fullmatch(NAME_PATTERN, name) or (raw := on_cluster(partial(_read, name), namespace)) is None:
        return ""
    try:
        spec = StudySpec.read(raw["spec"], extra="ignore")
        status = StudyStatus.read(raw.get("status") or {}, extra="ignore")
    except ValidationError:
        raise InputError(f"the study {name} cannot be read: `kubectl describe qts {name}` says why") from None
    return _text(name, spec, status, output, separator="-")


async def _read(name: str, client: ApiClient, namespace: str) -> Object | None:
    try:
        return await client.get(Resource.QUANTUM_TRAINING_STUDIES, namespace, name)
    except ApiError as error:
        if error.code != _FORBIDDEN:  # whoever may read no studies has none
            raise
        return None


def _text(name: str, spec: StudySpec, status: StudyStatus, output: OutputFormat | None, *, separator: str = "/") -> str:
    if output is None:
        return study_text(name, spec, status, separator)
    return formatted([study_data(shown_study(name, spec, status), spec, status)], output)
