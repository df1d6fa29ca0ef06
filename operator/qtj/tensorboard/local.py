"""TensorBoard of a run on this machine."""

import importlib.util
import sys
from pathlib import Path

from qtj.local.addresses import HOST
from qtj.runs.folders import job_and_folder
from qtj.tensorboard.child import answers, serve, usable_port
from qtj.terminal.errors import InputError

__all__ = ["serve_run"]

_NEEDED = ("tensorboard", "xprof")


def serve_run(run: str | None, artifacts: str | None, port: int) -> None:
    """Serves the curves of a run until Ctrl-C.

    Args:
        run: Its name; None for the last run of all.
        artifacts: The value of --artifacts.
        port: The port of this machine; 0 for any.

    Raises:
        InputError: There is no such run, it has no curves, they cannot be read, or the port is in use.
        ModuleNotFoundError: TensorBoard is not installed.
    """
    job, folder = job_and_folder(run, artifacts)
    logs = f"{folder.bucket.rstrip('/')}/logs" if folder.bucket else _with_curves(folder.path / "logs", job)
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(name=name)
    port = usable_port(port)
    command = [
        sys.executable,
        "-P",
        "-m",
        "qtj.tensorboard.server",
        f"--logdir={logs}",
        "--host",
        HOST,
        "--port",
        str(port),
    ]
    address = f"http://{HOST}:{port}/"
    sentence = f"TensorBoard shows {logs} at {address} until you press Ctrl-C"
    serve([*command, "--window_title", job, "--load_fast", "false"], "TensorBoard", lambda: answers(address), sentence)


def _with_curves(logs: Path, job: str) -> str:
    """Returns the folder with the curves.

    Raises:
        InputError: There is none yet.
    """
    if not any(logs.rglob("*tfevents*")):
        raise InputError(
            f"{logs} has no curves of {job}: the trainer and qtj_trainer.Program store the first ones after an epoch, "
            "and another program has to write them (docs/reference/contract.md)"
        )
    return str(logs)
