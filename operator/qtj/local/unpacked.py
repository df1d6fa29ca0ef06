"""`spec.program` on this machine: its files in a folder, as a pod mounts them."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qtj.local.variables import Configs
from qtj_contract.whole_file import write_whole
from qtj_operator.api.program import PROGRAM_FOLDER, Program

__all__ = ["moved_text", "unpack", "unpacked"]

_IN_A_POD = re.compile(rf"{re.escape(PROGRAM_FOLDER)}(?=/|$)")


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
