"""A study from Python: many runs of one job on this machine, and the table that compares them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from qtj.checks.study import study_of
from qtj.files.documents import documents_in, read_documents
from qtj.python.apart import apart
from qtj.python.job import Job, submitted
from qtj.python.study_handle import StudyHandle, StudyResults
from qtj.python.study_run import Order, run_order
from qtj.report.files import write_chosen
from qtj.script.documents import NO_OPTIONS
from qtj.studies.compare import baseline_of
from qtj.studies.content import study_content
from qtj.studies.record import StudyRecord
from qtj.studies.report import linked_content
from qtj.studies.words import study_text
from qtj.terminal.errors import InputError, extra_checked
from qtj_contract.printable import visible
from qtj_operator.api.names import NEWEST_API_VERSION
from qtj_operator.api.study import STUDY_KIND, StudySpec
from qtj_operator.api.study_parameters import SEED
from qtj_operator.api.study_status import StudyStatus
from qtj_report.study_page import study_page

if TYPE_CHECKING:
    from qtj.submit.send import Submission
    from qtj.submit.submit import Prepared

__all__ = ["Study"]


class Study(StudyResults):
    """One job, run with several settings and seeds.

    Args:
        job: The job.
        parameters: What differs between its runs, by name: listed values, or a range such as
            `{"min": 1e-4, "max": 0.1, "scale": "Log", "points": 4}`.
        seeds: With how many seeds each combination is run; None for once, with the program's own seed.
        metric: What is compared: a metric of the job, or a number of its last epoch, such as `loss`.
        goal: `Minimize` or `Maximize`.
        name: Its name; None for that of the job with `-study`.
        spec: Further fields of the spec, such as `{"search": {"algorithm": "Random"}, "maxTrials": 20}`.

    Raises:
        InputError: Something has to be corrected first.
    """

    def __init__(
        self,
        job: Job,
        parameters: Mapping[str, Iterable[Any] | Mapping[str, Any]],
        *,
        seeds: int | None = None,
        metric: str = "loss",
        goal: str = "Minimize",
        name: str | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> None:
        *others, made = apart(lambda _: job.objects())
        title = name or f"{_name_of(job, made)}-study"
        fields = {
            "parameters": [_parameter(each, values) for each, values in parameters.items()],
            **({} if seeds is None else {"seeds": {"count": seeds}}),
            "objective": {"metric": metric, "goal": goal},
            **(spec or {}),
        }
        study = _study(title, fields, made.get("spec"))
        order = Order(yaml.safe_dump_all([*others, study], sort_keys=False), Path.cwd())
        self._begin(title, order, (job, fields))

    def _begin(self, name: str, order: Order, made: tuple[Job, Mapping[str, Any]] | None = None) -> None:
        self._order = order
        self._record = StudyRecord(name)
        self._made = made

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Returns the study of a file in YAML.

        Raises:
            InputError: It has none, or has a mistake.
        """
        found = study_of(read_documents(Path(path)), here=True)
        if found is None:
            raise InputError(f"{path} has no study: use Job.from_file for a job")
        study = cls.__new__(cls)
        order = Order(Path(path).read_text("utf-8"), Path.cwd(), str(path))
        study._begin(found.name, order)  # noqa: SLF001  it is one of these
        return study

    @classmethod
    def from_function(
        cls,
        function: Callable[..., object],
        parameters: Mapping[str, Iterable[Any] | Mapping[str, Any]],
        arguments: Mapping[str, Any] | None = None,
        *,
        seeds: int | None = None,
        metric: str = "loss",
        goal: str = "Minimize",
        name: str | None = None,
        spec: Mapping[str, Any] | None = None,
        requirements: str | Path | None = None,
    ) -> Self:
        """Returns the study that calls a function with several values; `Job.from_function` says what travels with it.

        Args:
            function: The function. It gets each parameter by name, and `seed` where there are seeds.
            parameters: What differs between the calls, as of `Study`.
            arguments: What is the same in all of them.
            seeds: As of `Study`, like all others.
            metric: As of `Study`.
            goal: As of `Study`.
            name: As of `Study`; None for that of the function with `-study`.
            spec: As of `Study`.
            requirements: A file with packages that it needs, with hashes.

        Raises:
            InputError: Something cannot travel, or the function takes other arguments.
        """
        given = [*parameters, *([] if seeds is None else [SEED])]
        job = Job.from_function(function, arguments, requirements=requirements, parameters=given)
        return cls(job, parameters, seeds=seeds, metric=metric, goal=goal, name=name, spec=spec)

    @property
    def name(self) -> str:
        """Its name: `qtj report NAME` shows it, and its runs are NAME/1, NAME/2 and so on."""
        return self._record.name

    def run(self, *, parallel: int | None = None, fresh: bool = False, resume: bool = False) -> Self:
        """Runs what has not run yet, and shows the table meanwhile; returns this study at its end.

        Ctrl-C, or the stop button of a notebook, stops the runs; the same call continues them.

        Args:
            parallel: How many run side by side; None for as many as there are processors and memory for.
            fresh: Whether to start over.
            resume: Whether to run failed ones again, and to keep the results of an earlier program.

        Raises:
            InputError: Something has to be corrected first: the sentences of `qtj run`.
            StudyFailedError: Too many runs have failed, or none reports the metric.
            NotFinishedError: It was stopped.
        """
        flags = [*(["--fresh"] if fresh else []), *(["--resume"] if resume else [])]
        options = [*(["--parallel", str(parallel)] if parallel is not None else []), *flags]
        run_order(self._order, options, self._repr_html_, lambda: study_text(study_content(self.name, *self._load())))
        return self

    def submit(self, *, artifacts: str | None = None, namespace: str | None = None) -> StudyHandle:
        """Sends the study to the cluster of kubectl's current context; this Python may end then.

        Args:
            artifacts: Where the results of a program are stored: `gs://BUCKET/PATH`, or `pvc://CLAIM/PATH`. Each trial
                has a folder there.
            namespace: The namespace; None for that of the file or of the context.

        Raises:
            InputError: Something has to be corrected first, or the API server refuses: the sentences of `qtj submit`.
        """
        return apart(lambda _: self._submitted(artifacts, namespace))

    def _submitted(self, artifacts: str | None, namespace: str | None) -> StudyHandle:
        return StudyHandle(*submitted(self._prepared(artifacts, namespace), namespace))

    def _prepared(self, artifacts: str | None, namespace: str | None) -> "Prepared":
        with extra_checked("operator", "submit"):
            from qtj.submit.submit import Order as Submitted
            from qtj.submit.submit import Prepared, prepare

        if self._made is None:
            file = self._order.folder / self._order.file
            return prepare(Submitted(file=file, program=NO_OPTIONS, artifacts=artifacts, namespace=namespace))
        job, fields = self._made
        prepared = job._prepared(artifacts, namespace)  # noqa: SLF001  what Job.submit sends
        (sent,) = prepared.submissions
        template, data = self._with_own_program(sent)
        study = _study(self.name, fields, template, sent.job["metadata"].get("namespace"))
        made = [each for each in (data, study) if each]
        study_of(documents_in(self.name, yaml.safe_dump_all(made, sort_keys=False)))
        return Prepared([replace(sent, job=study, config_map=data)], prepared.notes)

    def _with_own_program(self, sent: "Submission") -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """Returns the template and the ConfigMap, with a name that no job has: each is deleted with its owner."""
        template, data = sent.job["spec"], sent.config_map
        if data is None:
            return template, None
        name = f"{self.name}-study-{data['metadata']['name'].rpartition('-')[2]}"
        program = {**template["program"], "configMap": name}
        return {**template, "program": program}, {**data, "metadata": {**data["metadata"], "name": name}}

    def save(self, path: str | Path, baseline: Mapping[str, Any] | None = None) -> Path:
        """Writes the page that `qtj report` writes, into another file; returns its path.

        Args:
            path: The file.
            baseline: The values of the point that the best one is compared with; None for the first point.

        Raises:
            InputError: There is no such point, or nothing has run yet.
            OSError: The file cannot be written.
        """
        spec, status = self._load()
        written = ",".join(f"{key}={value}" for key, value in (baseline or {}).items())
        compared = baseline_of(written, spec, status) if baseline else None
        found = linked_content(self._record, spec, status, compared, Path(path))
        write_chosen(study_page(found, datetime.now(UTC)), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        """Shows what `qtj report` prints, once something has run."""
        if not self._record.exists:
            return f"<qtj.Study {self.name}>"
        return visible(study_text(study_content(self.name, *self._load())))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _load(self) -> tuple[StudySpec, StudyStatus]:
        if not self._record.exists:
            raise InputError(f"{self.name} has not run yet: call run()")
        return self._record.load()


def _study(name: str, fields: Mapping[str, Any], template: Any, namespace: str | None = None) -> dict[str, Any]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    head = {"apiVersion": NEWEST_API_VERSION, "kind": STUDY_KIND, "metadata": meta}
    return {**head, "spec": {**fields, "jobTemplate": template}}


def _name_of(job: Job, manifest: Mapping[str, Any]) -> str:
    meta = manifest.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise InputError(f"{job.file}: metadata.name: a job needs a name: write one, such as net")
    return str(meta["name"])


def _parameter(name: str, values: Iterable[Any] | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(values, Mapping):
        return {"name": name, "range": dict(values)}
    if isinstance(values, str):
        raise InputError(f'parameters: {name} is one text: write a list of values, such as ["{values}"]')
    if not isinstance(values, Iterable):
        raise InputError(f"parameters: {name} is one value: write a list of values, such as [{values}]")
    return {"name": name, "values": [_plain(each) for each in values]}


def _plain(value: Any) -> Any:
    """Returns a number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value
