"""A study of a cluster, as its status tells."""

import re
from functools import partial

from pydantic import ValidationError

from qtj.cluster.connection import on_cluster
from qtj.terminal.errors import InputError
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = ["study_on_cluster"]

_FORBIDDEN = 403


def study_on_cluster(name: str, namespace: str | None) -> tuple[StudySpec, StudyStatus] | None:
    """Returns the spec and the status of a study; None if the name is that of no study.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the current context.

    Raises:
        InputError: There is no cluster, it refuses, or the study can never run.
    """
    if not re.fullmatch(NAME_PATTERN, name) or (raw := on_cluster(partial(_read, name), namespace)) is None:
        return None
    try:
        spec = StudySpec.read(raw["spec"], extra="ignore")
        return spec, StudyStatus.read(raw.get("status") or {}, extra="ignore")
    except ValidationError:
        raise InputError(f"the study {name} cannot be read: `kubectl describe qts {name}` says why") from None


async def _read(name: str, client: ApiClient, namespace: str) -> Object | None:
    try:
        return await client.get(Resource.QUANTUM_TRAINING_STUDIES, namespace, name)
    except ApiError as error:
        if error.code != _FORBIDDEN:  # whoever may read no studies has none
            raise
        return None
