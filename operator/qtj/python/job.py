"""A job before it runs: from a program, a function or a file."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import yaml

from qtj.files.documents import Documents, documents_in, file_of, read_documents, with_settings
from qtj.files.settings import Setting
from qtj.local.history import History
from qtj.python.apart import apart
from qtj.python.function import program_of
from qtj.python.handle import Handle
from qtj.python.here import Command, Here
from qtj.script.documents import NO_OPTIONS, ProgramOptions, local_file
from qtj.script.objects import Resources, Storage, cluster_job, config_map, metadata_of, mounted
from qtj.script.program import is_program, job_name, read_program
from qtj.submit.payload import elsewhere, payload_of
from qtj.terminal.errors import InputError, extra_checked
from qtj_contract.program_source import read_source
from qtj_operator.api.names import KIND
from qtj_operator.api.study import STUDY_KIND

if TYPE_CHECKING:
    from qtj.submit.submit import Prepared

__all__ = ["Job", "submitted"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job that can run on this machine or on a cluster.

    Attributes:
        file: A program in Python, or a file in YAML.
        program: What is said about the program.
        resources: What each worker gets on a cluster; None for the defaults.
        settings: Fields to set, as `--set` does.
        text: The text of a program that was made of a function; empty if the program is a file.
    """

    file: Path
    program: ProgramOptions = NO_OPTIONS
    resources: Resources | None = None
    settings: Sequence[str] = ()
    text: str = ""

    @classmethod
    def from_file(cls, path: str | Path, *, settings: Sequence[str] = ()) -> Self:
        """Returns the job of a file in YAML.

        Args:
            path: The file, with one job.
            settings: Fields to set, such as `spec.runPolicy.backoffLimit=0`.

        Raises:
            InputError: This is a program.
        """
        if is_program(Path(path)):
            raise InputError(f"{path} is a program in Python: use Job.from_program")
        return cls(file=Path(path), settings=_words(settings, "settings"))

    @classmethod
    def from_program(
        cls,
        path: str | Path,
        args: Sequence[object] = (),
        *,
        workers: int | None = None,
        name: str | None = None,
        image: str | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        requirements: str | Path | None = None,
        settings: Sequence[str] = (),
    ) -> Self:
        """Returns the job that runs a program in Python.

        Args:
            path: Its script.
            args: Its arguments, such as `["--seed", 1]`.
            workers: How many workers train; None for one.
            name: The name of the job; None for that of the file.
            image: Its image on a cluster; None for that of the trainer.
            cpu: The CPU that each worker requests on a cluster; None for 250m.
            memory: The memory of each worker on a cluster; None for 2Gi.
            requirements: A file with packages that its pods install, with hashes; None for no other than the image has.
            settings: Fields to set, such as `spec.runPolicy.backoffLimit=0`.

        Raises:
            InputError: This is no program.
        """
        if not is_program(Path(path)):
            raise InputError(f"{path} is no program in Python, whose name ends with .py: use Job.from_file for YAML")
        options = ProgramOptions(
            arguments=_words(args, "args"), name=name, workers=workers, requirements=_path(requirements)
        )
        resources = _resources(image=image, cpu=cpu, memory=memory)
        return cls(file=Path(path), program=options, resources=resources, settings=_words(settings, "settings"))

    @classmethod
    def from_function(
        cls,
        function: Callable[..., object],
        arguments: Mapping[str, Any] | None = None,
        *,
        workers: int | None = None,
        name: str | None = None,
        image: str | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        requirements: str | Path | None = None,
        settings: Sequence[str] = (),
        parameters: Sequence[str] = (),
    ) -> Self:
        """Returns the job that calls a function, whose source is sent.

        What it uses travels with it: modules that are installed by their name, functions and classes of the same file
        or notebook by their source, and plain values, such as numbers, texts and lists of them, as they are now; so do
        files of the current folder that it names. What it returns is lost.

        Args:
            function: The function.
            arguments: What it is called with, by name: plain values.
            workers: As in `from_program`, like all others.
            name: The name of the job; None for that of the function.
            image: As in `from_program`.
            cpu: As in `from_program`.
            memory: As in `from_program`.
            requirements: As in `from_program`.
            settings: As in `from_program`.
            parameters: Names of arguments that each trial of a `Study` has, so that the job runs in a study alone.

        Raises:
            InputError: Something cannot travel; the message says what.
        """
        text = program_of(function, arguments or {}, parameters)
        resources = _resources(image=image, cpu=cpu, memory=memory)
        options = ProgramOptions(name=name, workers=workers, requirements=_path(requirements))
        file, words = Path(f"{function.__name__}.py"), _words(settings, "settings")
        return cls(file=file, program=options, resources=resources, settings=words, text=text)

    def run(self, *, fresh: bool = False) -> Handle:
        """Starts the job on this machine, in the background: it goes on when Python ends.

        Args:
            fresh: Whether to start over, also when the last run was interrupted.

        Raises:
            InputError: Something has to be corrected first: the sentences of `qtj run`.
        """
        command = apart(lambda _: self._command())
        return Handle(Here(command.start(*(("--fresh",) if fresh else ())), command))

    def submit(self, *, artifacts: str | None = None, namespace: str | None = None) -> Handle:
        """Sends the job to the cluster of kubectl's current context.

        Args:
            artifacts: Where a program's results are stored: `gs://BUCKET/PATH`, or `pvc://CLAIM/PATH`.
            namespace: The namespace; None for that of the file or of the context.

        Raises:
            InputError: Something has to be corrected first, or the API server refuses: the sentences of `qtj submit`.
        """
        return apart(lambda _: self._submitted(artifacts, namespace))

    def objects(self) -> Sequence[Mapping[str, Any]]:
        """Returns the ConfigMaps and Secrets that come with the job, and the job itself, as it is on this machine.

        Raises:
            InputError: Something has to be corrected first.
        """
        if self.text:
            with self._script() as script:
                return _objects_in(documents_in(str(self.file), _packed(script, self.program)), self.settings)
        if is_program(self.file):
            file, _ = local_file(self.file, self.program, [Setting.parse(each) for each in self.settings])
            return [each.manifest for each in file.jobs]
        _check_alone(self.file)
        return _objects_in(read_documents(self.file), self.settings)

    def _command(self) -> Command:
        words, folder = [f"--set={each}" for each in self.settings], Path.cwd()
        if self.text:
            with self._script() as script:
                return Command(("-", *words), folder, _packed(script, self.program))
        if not is_program(self.file):
            _check_alone(self.file)
        return Command((str(self.file), *words, *self.program.words), folder)

    def _submitted(self, artifacts: str | None, namespace: str | None) -> Handle:
        prepared = self._prepared(artifacts, namespace)
        if len(prepared.submissions) > 1:
            raise InputError(_several(self.file, len(prepared.submissions)))
        return Handle.on_cluster(*submitted(prepared, namespace))

    def _prepared(self, artifacts: str | None, namespace: str | None) -> "Prepared":
        with extra_checked("operator", "submit"):
            from qtj.submit.submit import Order, prepare

        with self._script() as script:
            return prepare(
                Order(
                    file=script,
                    program=self.program,
                    settings=self.settings,
                    resources=self.resources,
                    artifacts=artifacts,
                    namespace=namespace,
                )
            )

    @contextmanager
    def _script(self) -> Iterator[Path]:
        """Yields the file; one that was made of a function is there only for as long as it is read."""
        if not self.text:
            yield self.file
            return
        with TemporaryDirectory(prefix="qtj-") as folder:
            script = Path(folder) / self.file
            script.write_text(self.text, "utf-8")
            _bring_data(script)
            yield script


def submitted(prepared: "Prepared", namespace: str | None) -> tuple[str, str]:
    """Logs what the user should know, and sends one job or study; returns its name and its namespace.

    Args:
        prepared: The job or the study.
        namespace: The namespace; None for that of the file or of the context.

    Raises:
        InputError: The API server refuses, or cannot be reached.
    """
    from qtj.submit.submit import submit

    for note in prepared.notes:
        _log.warning("%s", note)
    (stored,) = submit(prepared, namespace, dry_run=False)
    return stored["metadata"]["name"], stored["metadata"]["namespace"]


def _bring_data(script: Path) -> None:
    """Puts the files below the current folder that a function names beside its script, with which they travel.

    A link that leads out of the current folder stays a link, which does not travel.
    """
    for name in map(Path, read_source(script).data):
        if not name.is_absolute() and ".." not in name.parts:
            bring = os.symlink if elsewhere(Path.cwd(), name) else shutil.copyfile
            (script.parent / name).parent.mkdir(parents=True, exist_ok=True)
            bring(name.absolute(), script.parent / name)


def _resources(**given: str | None) -> Resources | None:
    named = {name: value for name, value in given.items() if value is not None}
    return Resources(**named) if named else None


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _words(given: Sequence[object], name: str) -> Sequence[str]:
    if isinstance(given, str):
        raise InputError(f'{name} is a list of words, and this is one text: write ["--seed", "1"], not "--seed 1"')
    if isinstance(given, Mapping):
        raise InputError(f'{name} is a list of words, and this is a dictionary: write ["--seed", 1], not {{"seed": 1}}')
    return [str(each) for each in given]


def _check_alone(file: Path) -> None:
    read = read_documents(file)
    if any(each.manifest.get("kind") == STUDY_KIND for each in read.objects):
        raise InputError(f"{file} has a study, and a Job is one job: qtj run {file} runs it")
    if (jobs := len(file_of(read).jobs)) > 1:
        raise InputError(_several(file, jobs))


def _several(file: Path, jobs: int) -> str:
    return f"{file} has {jobs} jobs, and a Job is one of them: put each into a file of its own"


def _objects_in(read: Documents, settings: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Returns the objects that were read, the job last.

    Raises:
        InputError: There is a mistake or no job, or a setting has no place.
    """
    if read.mistakes:
        raise InputError("\n".join(read.mistakes))
    jobs = [each for each in read.objects if each.manifest.get("kind") == KIND]
    if not jobs:
        raise InputError(f"{read.name} has no {KIND}: name a file with one")
    parsed = [Setting.parse(each) for each in settings]
    others = [each.manifest for each in read.objects if each.manifest.get("kind") != KIND]
    return [*others, *(with_settings(each, parsed).manifest for each in jobs)]


def _packed(script: Path, options: ProgramOptions) -> str:
    """Returns a job and the ConfigMap with its program as YAML, for `qtj run -`: it has no folder of its own.

    Raises:
        InputError: The program cannot be read, is too large, or names a file that is no text.
    """
    program = read_program(script, options.arguments, options.requirements)
    meta = metadata_of(job_name(script, options.name))
    payload = payload_of(program)
    for note in payload.notes:
        _log.warning("%s", note)
    data = config_map(meta, payload.files)
    if others := ", ".join(data.get("binaryData", ())):
        what = "and on this machine only text travels with a function"
        raise InputError(f"{script.stem} names {others}, {what}: name it by its whole path")
    storage = Storage(uri=(History().root.absolute() / meta["name"]).as_uri())
    source = mounted(data["metadata"]["name"], payload.files)
    job = cluster_job(program, meta, options.workers or 1, None, storage, source)
    return yaml.safe_dump_all([data, job], sort_keys=False)
