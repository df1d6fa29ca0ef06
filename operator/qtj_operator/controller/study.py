"""A study as it is read from the API server."""

import json
from dataclasses import dataclass
from typing import Self

from pydantic import ValidationError

from qtj_operator.api.digest import digest_of
from qtj_operator.api.limits import BEYOND
from qtj_operator.api.reading import dotted, faults
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.controller.client import Object
from qtj_operator.core.study.plan import plan_of, unplannable
from qtj_operator.manifests.trial import misspelt_reference

__all__ = ["InvalidStudy", "Study", "study_status"]

_MOST_BYTES = 192 * 1024
"""Of the values of all trials as JSON. With their results, and with the spec, which kubectl writes twice, a study then
has less than the 1 MiB up to which an object is read whole."""


class InvalidStudy(ValueError):
    """A study that can never run; the message is one sentence for its author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study that can run.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        uid: Its uid.
        generation: That of its spec.
        spec: Its spec.
        status: Its status.
        template_digest: A digest of the template of its jobs.
    """

    name: str
    namespace: str
    uid: str
    generation: int
    spec: StudySpec
    status: StudyStatus
    template_digest: str

    @classmethod
    def parse(cls, raw: Object) -> Self:
        """Reads a study.

        Raises:
            InvalidStudy: It can never run.
        """
        spec, meta = _spec(raw), raw["metadata"]
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            uid=meta["uid"],
            generation=meta.get("generation", 1),
            spec=spec,
            status=study_status(raw),
            template_digest=digest_of(spec.job_template),
        )


def study_status(raw: Object) -> StudyStatus:
    """Returns the status of a study.

    Raises:
        ValidationError: It is not one that this version understands: without it, trials would run again.
    """
    return StudyStatus.read(raw.get("status") or {}, extra="ignore")


def _spec(raw: Object) -> StudySpec:
    if BEYOND in raw:
        raise InvalidStudy(str(raw[BEYOND]))
    try:
        spec = StudySpec.read(raw["spec"], extra="ignore")
    except ValidationError as error:
        path, what = next(faults(error))
        raise InvalidStudy(f"{dotted(('spec', *path))}: {what}") from None
    if why := unplannable(spec):
        raise InvalidStudy(f"spec: {why}")
    if misspelt := misspelt_reference(spec):
        name, near = misspelt
        raise InvalidStudy(f"spec.jobTemplate: there is no parameter {name}: write ${{{near}}}")
    _check_size(spec)
    return spec


def _check_size(spec: StudySpec) -> None:
    sizes = [len(json.dumps(dict(setting.point))) for setting in plan_of(spec)]
    added = json.dumps(dict(spec.final.parameters or {})) if spec.final else ""
    size = sum(sizes) + (max(sizes) + len(added)) * len(spec.final_seeds)
    if size > _MOST_BYTES:
        raise InvalidStudy(
            f"spec: the values of all trials have {size:,} bytes, and at most {_MOST_BYTES:,} fit into a status: "
            "shorten them, or take fewer"
        )
