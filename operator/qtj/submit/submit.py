"""What `qtj submit` does: makes the objects, checks them here, and sends them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from qtj.checks.job import check_file, job_mistakes
from qtj.checks.program import program_mistakes
from qtj.checks.study import study_of
from qtj.cluster.choice import CHOICE
from qtj.cluster.connection import on_cluster
from qtj.files.documents import Document, file_of, read_documents
from qtj.files.settings import Setting
from qtj.files.yaml_reader import KubectlDumper
from qtj.script.documents import ProgramOptions, document_of
from qtj.script.objects import Resources, Storage, cluster_job, config_map, key_of, metadata_of, mounted
from qtj.script.program import is_program, job_name, read_program
from qtj.submit.payload import payload_of
from qtj.submit.send import Submission, send
from qtj.terminal.errors import InputError
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.text import shell_word
from qtj_operator.api.artifacts import unusable_bucket
from qtj_operator.api.study import STUDY_KIND
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Object

__all__ = ["Order", "Prepared", "follow_command", "prepare", "printed", "storage_at", "submit"]


_FOLDER = "/artifacts"
_CLAIM = re.compile(r"pvc://(?P<claim>[a-z0-9]([-.a-z0-9]*[a-z0-9])?)(/(?P<path>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a command line asks for.

    Attributes:
        file: A program, or YAML.
        program: What is said about the program.
        settings: Fields to set.
        resources: What each worker gets; None for the defaults.
        artifacts: Where results are stored; None if that is not said.
        namespace: The namespace; None for that of the file or of the context.
    """

    file: Path
    program: ProgramOptions
    settings: Sequence[str] = ()
    resources: Resources | None = None
    artifacts: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What can be sent.

    Attributes:
        submissions: The jobs, or the study.
        notes: What the user should know.
    """

    submissions: Sequence[Submission]
    notes: Sequence[str] = ()

    @property
    def objects(self) -> list[Object]:
        """All objects."""
        return [each for one in self.submissions for each in (one.config_map, one.job) if each]

    @property
    def is_study(self) -> bool:
        """Whether it is a study."""
        return any(each.job["kind"] == STUDY_KIND for each in self.submissions)

    @property
    def names(self) -> str:
        """The names of the jobs."""
        return ", ".join(each.job["metadata"]["name"] for each in self.submissions)


def prepare(order: Order) -> Prepared:
    """Returns the objects of a command line, which are checked as far as this machine can.

    Raises:
        InputError: Something has to be corrected first.
    """
    order.program.check_unused(order.file)
    settings = [Setting.parse(text) for text in order.settings]
    return _of_program(order, settings) if is_program(order.file) else _of_file(order, settings)


def submit(prepared: Prepared, namespace: str | None, *, dry_run: bool) -> Sequence[Object]:
    """Sends all jobs, after the API server has accepted each of them in a dry run.

    Returns:
        The jobs as they are stored.

    Raises:
        InputError: The API server refuses, or cannot be reached.
    """

    async def ask(client: ApiClient, where: str) -> Sequence[Object]:
        placed = [each.placed(where) for each in prepared.submissions]
        if len(placed) > 1:
            for each in placed:
                await send(client, each, dry_run=True)
        return [await send(client, each, dry_run=dry_run) for each in placed]

    return on_cluster(ask, namespace, f"{prepared.names} cannot be submitted")


def printed(objects: Sequence[Object], form: OutputFormat) -> str:
    """Returns objects for a program, or for `kubectl apply`: several as documents of one YAML file."""
    if form != OutputFormat.YAML:
        return formatted(objects, form)
    return "---\n".join(yaml.dump(each, Dumper=KubectlDumper, sort_keys=False, width=120) for each in objects).rstrip()


def follow_command(job: Object) -> str:
    """Returns the command that follows a job or a study."""
    meta = job["metadata"]
    command = ["kubectl", "get", "qts"] if job["kind"] == STUDY_KIND else ["qtj", "status"]
    words = [*command, meta["name"], "-n", meta["namespace"], *CHOICE.options, "-w"]
    return " ".join(map(shell_word, words))


def _of_program(order: Order, settings: Sequence[Setting]) -> Prepared:
    program = read_program(order.file, order.program.arguments, order.program.requirements)
    meta = metadata_of(job_name(order.file, order.program.name), order.namespace)
    storage = storage_at(order.artifacts, meta["name"])
    payload = payload_of(program)
    data = config_map(meta, payload.files)
    job = cluster_job(
        program,
        meta,
        order.program.workers or 1,
        order.resources or Resources(),
        storage,
        mounted(data["metadata"]["name"], payload.files),
    )
    document = document_of(program, job, settings)
    texts = {key_of(name): content.decode(errors="replace") for name, content in payload.files.items()}
    document.data = {("ConfigMap", data["metadata"]["name"]): texts}
    _check(document)
    if order.namespace is None:
        del document.manifest["metadata"]["namespace"]  # it is that of the context
    sent = f"the ConfigMap {data['metadata']['name']} has {', '.join(payload.files)}"
    return Prepared([Submission(document.manifest, data)], [*program.notes, *payload.notes, sent])


def _check(document: Document) -> None:
    if wrong := list(job_mistakes(document)) or list(program_mistakes(document, here=False)):
        raise InputError("\n".join(wrong))


def _of_file(order: Order, settings: Sequence[Setting]) -> Prepared:
    if order.artifacts is not None or order.resources is not None:
        given = "--artifacts, --image, --cpu and --memory"
        raise InputError(f"{given} are for a program in Python, and {order.file} has these fields: use --set")
    read = read_documents(order.file)
    if study := study_of(read, order.settings):
        _check_alone(order, read.name, study.document.data)
        return Prepared([_placed(study.document, order.namespace)], [f"{study.name} has {study.size_text}"])
    file = file_of(read, settings)
    check_file(file)
    _check_alone(order, file.name, file.configs, file.others)
    return Prepared([_placed(each, order.namespace) for each in file.jobs])


def _check_alone(order: Order, file: str, configs: Iterable[tuple[str, str]], others: Sequence[str] = ()) -> None:
    if also := [*others, *(f"{kind} {name}" for kind, name in configs)]:
        what = f"this has also {', '.join(also)}, and qtj submit sends jobs and studies alone"
        raise InputError(f"{file}: {what}: use kubectl apply -f {order.file}")


def _placed(document: Document, namespace: str | None) -> Submission:
    """Returns a job or a study of a file in the namespace that it names; if it names none, that is decided later."""
    path = ("metadata", "namespace")
    written = document.written(path)
    if written and namespace and written != namespace:
        raise InputError(document.error(path, f"this is {written}, and -n says {namespace}: make them the same"))
    meta = {key: value for key, value in document.manifest["metadata"].items() if key != "namespace" or written}
    return Submission({**document.manifest, "metadata": meta})


def storage_at(address: str | None, job: str) -> Storage:
    """Returns where a job stores its results.

    Args:
        address: `gs://BUCKET/PATH`, or `pvc://CLAIM/PATH`, where a missing path is the name of the job.
        job: The name of the job.

    Raises:
        InputError: It is missing, or something else.
    """
    if address is None:
        raise InputError("--artifacts is missing: write gs://BUCKET/PATH, or pvc://CLAIM for a volume of all pods")
    if address.startswith("gs://"):
        if why := unusable_bucket(address):
            raise InputError(f"--artifacts {address}: it {why}")
        return Storage(uri=address)
    if found := _CLAIM.fullmatch(address):
        volume = {"name": "artifacts", "persistentVolumeClaim": {"claimName": found["claim"]}}
        mount = {"name": "artifacts", "mountPath": _FOLDER}
        return Storage(uri=f"file://{_FOLDER}/{found['path'] or job}", volumes=[volume], mounts=[mount])
    raise InputError(f"--artifacts {address}: pods reach gs://BUCKET/PATH, and a volume as pvc://CLAIM/PATH")
