"""A study of a file: its spec, and each of its trials as a job whose mistakes have the lines of the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml
from pydantic import ValidationError

from qtj.checks.job import SUSPENDED, check_job
from qtj.files.config_data import KINDS, read_config
from qtj.files.documents import Document, Documents
from qtj.files.settings import Setting
from qtj.terminal.errors import InputError, map_or_raise
from qtj_operator.api.names import API_VERSIONS
from qtj_operator.api.reading import MAPPING, faults
from qtj_operator.api.study import MAX_STUDY_NAME_LENGTH, STUDY_KIND, StudySpec
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.core.study.plan import plan_of, unplannable
from qtj_operator.manifests.trial import misspelt_reference, trial_job

__all__ = ["StudyDocument", "study_of"]

_NAMESPACE = "default"
_TEMPLATE = "jobTemplate"


@dataclass(frozen=True, slots=True)
class StudyDocument:
    """A study that can run here.

    Attributes:
        document: Where it is written.
        spec: Its spec.
    """

    document: Document
    spec: StudySpec

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document.manifest["metadata"]["name"])

    @property
    def size(self) -> int:
        """How many trials it has, without those of the final training."""
        return len(plan_of(self.spec))

    @property
    def size_text(self) -> str:
        """How many trials it has, for people."""
        final = len(self.spec.final_seeds)
        return f"{self.size} trials" + (f" and {final} of the final training" if final else "")

    def job(self, trial: TrialStatus) -> Document:
        """Returns the job of a trial; its fields are on the lines of the template."""
        meta = self.document.manifest["metadata"]
        study = {"name": meta["name"], "namespace": meta.get("namespace") or _NAMESPACE}
        manifest = trial_job(study, self.spec.job_template, trial.number, trial.parameters, trial.seed)
        node = _node_of_job(self.document.node)
        return Document(manifest, self.document.file, node, data=self.document.data)

    def first_job(self) -> Document:
        """Returns the job of the first trial. The others differ from it in values alone."""
        return self.job(plan_of(self.spec)[0].trial(1))


def study_of(read: Documents, settings: Sequence[str] = (), *, here: bool = False) -> StudyDocument | None:
    """Returns the study among the objects of a file, after it has been checked; None if there is none.

    Args:
        read: The objects.
        settings: Values of --set.
        here: Whether it is to run on this machine rather than on a cluster.

    Raises:
        InputError: It cannot run: all mistakes, in the order of the lines.
    """
    found = [each for each in read.objects if each.manifest.get("kind") == STUDY_KIND]
    if not found:
        return None
    if read.mistakes:
        raise InputError("\n".join(read.mistakes))
    configs = [each for each in read.objects if each.manifest.get("kind") in KINDS]
    if len(read.objects) > len(configs) + 1:
        only = "a file with a study has nothing else but ConfigMaps and Secrets"
        raise InputError(f"{read.name}: {only}: move the other objects into another file")
    [document] = found
    document.data = dict(map_or_raise(lambda each: read_config(each.manifest, each), configs))
    for text in settings:
        _set(document, Setting.parse(text))
    return _checked(document, here=here)


def _set(document: Document, setting: Setting) -> None:
    """Sets a field of the study, or an argument of the program in its template."""
    template = (document.manifest.get("spec") or {}).get(_TEMPLATE)
    setting.apply({"spec": template} if setting.path[0] not in document.manifest else document.manifest)


def _checked(document: Document, *, here: bool) -> StudyDocument:
    if wrong := list(_metadata_mistakes(document)):
        raise InputError("\n".join(wrong))
    spec = _spec_of(document)
    if why := unplannable(spec):
        raise InputError(document.error(["spec"], why))
    if misspelt := misspelt_reference(spec):
        name, near = misspelt
        what = f"there is no parameter {name}: write ${{{near}}}"
        raise InputError(document.error(["spec", _TEMPLATE], what))
    if here and spec.suspend:
        raise InputError(document.error(["spec", "suspend"], SUSPENDED))
    study = StudyDocument(document, spec)
    check_job(study.first_job(), here=here)
    return study


def _spec_of(document: Document) -> StudySpec:
    written = document.manifest.get("spec")
    if not isinstance(written, dict):
        raise InputError(document.error(["spec"], MAPPING))
    try:
        return StudySpec.read(written)
    except ValidationError as error:
        lines = [document.error(["spec", *path], what) for path, what in faults(error)]
        raise InputError("\n".join(lines)) from None


def _metadata_mistakes(document: Document) -> Iterator[str]:
    if document.manifest.get("apiVersion") not in API_VERSIONS:
        yield document.error(["apiVersion"], f"it must be {' or '.join(reversed(API_VERSIONS))}")
    meta = document.manifest.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(name, str):
        yield document.error(["metadata", "name"], "a study needs a name: write one, such as rates")
    elif len(name) > MAX_STUDY_NAME_LENGTH:
        what = f"the name of a study may have at most {MAX_STUDY_NAME_LENGTH} characters, this one has {len(name)}"
        yield document.error(["metadata", "name"], what)


def _node_of_job(study: yaml.Node) -> yaml.Node:
    """Returns positions for a job: those of the study, but for the spec that of its template."""
    parts = {key.value: (key, value) for key, value in study.value}
    key, spec = parts["spec"]
    template = next(value for name, value in spec.value if name.value == _TEMPLATE)
    pairs = [*(pair for name, pair in parts.items() if name != "spec"), (key, template)]
    return yaml.MappingNode(study.tag, pairs, study.start_mark, study.end_mark)
