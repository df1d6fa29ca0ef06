"""From a pod's manifest to the process that replaces its main container on this machine.

The files of `spec.program` are unpacked into a folder of their own.

No image is pulled. The image of this repository's trainer is replaced by `python -m qtj_trainer` in this Python
environment, as in its Dockerfile; every other container has to name its command.

The ports of programs stay on the loopback interface, by a library of the trainer that each of them preloads: servers of
TensorFlow listen on all addresses of a machine and run what anybody who connects asks for. A network namespace would
keep them apart too, but would cut programs off from buckets and trackers.
"""

import errno
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qtj.local.extras import how_to_get_the_trainer
from qtj.local.variables import CannotStartError, Configs, as_text, expanded, variables_of
from qtj_contract import TRACKING, Env
from qtj_contract.quantities import amount_of
from qtj_contract.whole_file import write_whole
from qtj_operator.api.job import is_trainer, main_container
from qtj_operator.api.program import PROGRAM_FOLDER, PROGRAM_VOLUME, Program
from qtj_operator.api.requirements import REQUIREMENTS_NAME, SITE
from qtj_operator.api.template import TRAINER_IMAGE
from qtj_operator.controller.client import Object

__all__ = [
    "OPEN_PORTS",
    "TRAINER",
    "CannotStartError",
    "Configs",
    "ProcessSpec",
    "base_environment",
    "confined",
    "library",
    "moved_text",
    "not_started",
    "program_of",
    "unpack",
    "unpacked",
    "with_command",
]

OPEN_PORTS = (
    "ports that a program opens on all addresses can be reached from the network, because this Python environment "
    "lacks the library qtj_trainer/loopback/libqtj_loopback.so, or its path has a space or a colon"
)

_VARIABLE = "LD_PRELOAD"
_SEPARATORS = re.compile(r"[\s:]")
"""Of the libraries in the variable: see ld.so(8)."""


TRAINER = (str(Path(sys.executable).absolute()), "-m", "qtj_trainer")
"""ENTRYPOINT of Dockerfile.trainer, with this Python."""
_ENVIRONMENT = {"PYTHONUNBUFFERED": "1"}
_THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
"""The variables from which OpenMP and TensorFlow read the number of their threads."""
_LONGEST = 32 * os.sysconf("SC_PAGE_SIZE") - 1 if sys.platform == "linux" else None
"""Bytes of one argument, or of one variable with its name: MAX_ARG_STRLEN of execve(2), without the NUL at the end."""
_SHORT_OF = {errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}
"""Resources that may be available later."""
_ADVICE = {
    errno.E2BIG: "all variables and arguments together are longer than this machine allows: pass them in a file",
    errno.ENOEXEC: "it is neither a program of this machine nor a script: begin a script with a line like #!/bin/sh",
    errno.EACCES: "this user may not run it or enter workingDir: correct the permissions",
    errno.ENOENT: "it, workingDir or the program in its first line does not exist: correct the container's command",
}
_IN_A_POD = re.compile(rf"{re.escape(PROGRAM_FOLDER)}(?=/|$)")


@cache
def library() -> Path | None:
    """Returns the library; None where it was not built, and where a path like its own cannot be preloaded."""
    spec = importlib.util.find_spec("qtj_trainer") if sys.platform == "linux" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "loopback", "libqtj_loopback.so").absolute()
        if path.is_file() and not _SEPARATORS.search(str(path)):
            return path
    return None


def confined(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment in which a program preloads the library, after what it preloads already."""
    path = library()
    already = [name for name in _SEPARATORS.split(environment.get(_VARIABLE, "")) if name]
    if path is None or str(path) in already:
        return dict(environment)
    return {**environment, _VARIABLE: ":".join([*already, str(path)])}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """The process that runs instead of a container.

    Attributes:
        command: The program and its arguments.
        environment: All of its environment.
        folder: Its working directory.
        notes: Sentences about properties of the container that this process lacks.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    notes: Sequence[str] = field(default=())


def program_of(
    pod: Object,
    *,
    configs: Configs,
    replaced: Mapping[str, str],
    folder: Path = Path(PROGRAM_FOLDER),
    rewrite: Callable[[str], str] = lambda text: text,
) -> ProcessSpec:
    """Returns the program of a pod's main container.

    Args:
        pod: The pod.
        configs: The available ConfigMaps and Secrets.
        replaced: Variables of the container that have another value here.
        folder: Where the files of `spec.program` are here.
        rewrite: Replaces addresses of the cluster by those of this machine.

    Raises:
        CannotStartError: It cannot run here.
    """
    container = main_container(pod["spec"]["containers"])

    def local(text: str) -> str:
        return moved_text(rewrite(text), folder)

    own = _without_site(variables_of(pod, container, configs, replaced, local))
    environment = confined({**base_environment(container), **own})
    words = map(as_text, (*_entrypoint(container), *(container.get("args") or ())))
    command = [expanded(local(word), own) for word in words]
    place = _folder(container, local(as_text(container.get("workingDir"))))
    program = ProcessSpec(command=command, environment=environment, folder=place, notes=tuple(_notes(pod)))
    return with_command(program, command, container["name"])


def with_command(program: ProcessSpec, command: Sequence[object], container: str) -> ProcessSpec:
    """Returns the program with another command, in the same environment, for a probe.

    Args:
        program: The program.
        command: Another program and its arguments.
        container: The name of the container, for the error.

    Raises:
        CannotStartError: It cannot run here.
    """
    words = [as_text(word) for word in command]
    _refuse_unstartable(container, words, program.environment)
    return replace(program, command=(_located(program, words[0], container), *words[1:]))


def _located(program: ProcessSpec, name: str, container: str) -> str:
    """Returns the path of an executable: on the PATH, or below the working directory."""
    beside = program.folder / name
    path = str(beside) if "/" in name else shutil.which(name, path=program.environment["PATH"])
    if path is not None and os.access(path, os.X_OK) and not Path(path).is_dir():
        return str(Path(path).absolute())
    why = "not on this machine: install it, or correct the container's command"
    if "/" in name and beside.is_dir():
        why = "a folder: name a program in the container's command"
    elif "/" in name and beside.exists():
        why = f"not executable: chmod +x {beside}"
    raise CannotStartError("StartError", f'the program "{name}" of the container {container} is {why}')


def _entrypoint(container: Object) -> Sequence[str]:
    if is_trainer(container):
        if importlib.util.find_spec("tensorflow_quantum") is None:
            raise CannotStartError(
                "ErrImagePull",
                f'image "{container["image"]}" stands for the trainer, and this Python environment lacks TensorFlow '
                f"Quantum{how_to_get_the_trainer()}",
            )
        return TRAINER
    if container.get("command"):
        command: Sequence[str] = container["command"]
        return command
    raise CannotStartError(
        "ErrImagePull",
        f'image "{container["image"]}" is not pulled on this machine, and the container {container["name"]} names no '
        f"command: set it to the program to run here, or use an image called {TRAINER_IMAGE}",
    )


def base_environment(container: Object) -> dict[str, str]:
    """Returns the environment of a container without the variables that its pod sets."""
    return {**_inherited(), **_ENVIRONMENT, **_threads(container)}


def _without_site(variables: dict[str, str]) -> dict[str, str]:
    """Returns variables without the folder of `spec.program.requirements`: here, Python has what it has."""
    path = variables.get("PYTHONPATH", "").split(os.pathsep)
    if SITE not in path:
        return variables
    others = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    left = os.pathsep.join(each for each in path if each != SITE)
    return {**others, "PYTHONPATH": left} if left else others


def _inherited() -> dict[str, str]:
    """Returns this process' environment as that of an image, with the programs of this Python first on the PATH."""
    inherited = {name: value for name, value in os.environ.items() if not _is_ours(name)}
    path = [str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)]
    return {**inherited, "PATH": os.pathsep.join(path)}


def _is_ours(name: str) -> bool:
    """Tells whether a variable of the shell is not for programs. A tracking server may be asked for there."""
    return name == Env.TF_CONFIG or (name.startswith("QTJ_") and name != TRACKING)


def _threads(container: Object) -> dict[str, str]:
    """Returns variables that limit the threads of libraries to the processors of a CPU limit."""
    limit = amount_of(((container.get("resources") or {}).get("limits") or {}).get("cpu"))
    return {} if limit is None else dict.fromkeys(_THREADS, str(max(ceil(limit), 1)))


def _folder(container: Object, written: str) -> Path:
    folder = Path(written or ".").absolute()
    if "\0" in str(folder) or not folder.is_dir():
        raise CannotStartError(
            "CreateContainerError",
            f"workingDir {str(folder)!a} of the container {container['name']} is not a folder of this machine: make "
            "it, or leave workingDir out to run in the current one",
        )
    return folder


def _notes(pod: Object) -> list[str]:
    spec = pod["spec"]
    main = main_container(spec["containers"])
    names = (each["name"] for each in (*(spec.get("initContainers") or ()), *spec["containers"]))
    others = [name for name in names if name not in (main["name"], REQUIREMENTS_NAME)]
    notes = [f"the container {name} is not run on this machine: only the main one is" for name in others]
    ours = (PROGRAM_VOLUME, REQUIREMENTS_NAME)
    mounts = (mount for mount in main.get("volumeMounts") or () if mount["name"] not in ours)
    missing = (mount for mount in mounts if not Path(mount["mountPath"]).exists())
    notes += (f"the volume {each['name']} is not mounted at {each['mountPath']} on this machine" for each in missing)
    return notes if library() else [*notes, OPEN_PORTS]


def _refuse_unstartable(container: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuses arguments and variables that no program can get.

    Args:
        container: Its name.
        command: The program and its arguments.
        environment: All of its environment.

    Raises:
        CannotStartError: An argument or a variable is not possible.
    """
    owner = f"of the container {container}"
    for name in environment:
        if not name or "=" in name:
            raise _refused(f'the name of the variable "{name}" {owner}', "is empty or has a =")
    texts = {f"argument {index} {owner}": word for index, word in enumerate(command)}
    texts |= {f"the variable {name!a} {owner}": f"{name}={value}" for name, value in environment.items()}
    for what, text in texts.items():
        if "\0" in text:
            raise _refused(what, "has a NUL character, which no program can be given")
        if _LONGEST is not None and _length(what, text) > _LONGEST:
            raise CannotStartError(
                "CreateContainerError",
                f"{what} has {_length(what, text)} bytes, and Linux allows {_LONGEST}: pass it in a file",
            )


def not_started(program: str, number: int) -> Exception:
    """Returns the exception for a program that the system did not start.

    Args:
        program: The program.
        number: The system's error number.
    """
    if number in _SHORT_OF:
        return OSError(number, os.strerror(number))
    advice = _ADVICE.get(number, f"{os.strerror(number)}: correct the container's command")
    return CannotStartError("StartError", f"{program} cannot be started: {advice}")


def _length(what: str, text: str) -> int:
    try:
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        raise _refused(what, "has a character that cannot be encoded") from None


def _refused(what: str, why: str) -> CannotStartError:
    return CannotStartError("CreateContainerError", f"{what} {why}: correct it")


def unpack(spec: Mapping[str, Any], configs: Configs, folder: Path) -> None:
    """Writes the files of a job's program, if it has one, into a new folder, in place of an earlier one.

    Args:
        spec: The job's spec.
        configs: The available ConfigMaps.
        folder: The folder.

    Raises:
        OSError: It cannot be written to.
    """
    if not (written := spec.get("program")):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    program = Program.read(written)
    for name, text in program.files(configs.get(("ConfigMap", program.config_map), {})).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, text.encode())


@contextmanager
def unpacked(spec: Mapping[str, Any], configs: Configs) -> Iterator[Path]:
    """Gives a folder with the files of a job's program, which is removed at the end."""
    with TemporaryDirectory(prefix="qtj-") as scratch:
        folder = Path(scratch).resolve() / "program"
        unpack(spec, configs, folder)
        yield folder


def moved_text(text: str, folder: Path) -> str:
    """Returns a text with the folder of the program on this machine, in place of that in a pod."""
    return _IN_A_POD.sub(lambda _: str(folder), text)
