"""A program that travels with its job on this machine too: it has no folder of its own."""

import logging
from pathlib import Path

import yaml

from qtj.local.history import History
from qtj.script.documents import ProgramOptions
from qtj.script.objects import Identity, Mounted, Storage, cluster_job, config_map
from qtj.script.program import job_name, read_program
from qtj.submit.payload import payload_of
from qtj.terminal.errors import InputError

__all__ = ["packed"]

_log = logging.getLogger(__name__)


def packed(script: Path, options: ProgramOptions) -> str:
    """Returns a job and the ConfigMap with its program as YAML, for `qtj run -`.

    Raises:
        InputError: The program cannot be read, is too large, or names a file that is no text.
    """
    program = read_program(script, options.arguments, options.requirements)
    identity = Identity(name=job_name(script, options.name))
    payload = payload_of(program)
    for note in payload.notes:
        _log.warning("%s", note)
    data = config_map(identity, payload.files)
    if others := ", ".join(data.get("binaryData", ())):
        what = "and on this machine only text travels with a function"
        raise InputError(f"{script.stem} names {others}, {what}: name it by its whole path")
    storage = Storage(uri=(History().root.absolute() / identity.name).as_uri())
    mounted = Mounted(config_name=data["metadata"]["name"], paths=[*payload.files])
    job = cluster_job(program, identity, options.workers or 1, None, storage, mounted)
    return yaml.safe_dump_all([data, job], sort_keys=False)
