"""`qtj tensorboard JOB` of a job on the cluster."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.kubectl import KubectlError
from tools.background import free_port

_QTJ = (sys.executable, "-m", "qtj")


@contextmanager
def forwarded(job: str, namespace: str) -> Iterator[str]:
    """Makes the TensorBoard of a job reachable; yields its address, with a slash at its end.

    Raises:
        KubectlError: The command has ended.
    """
    port = free_port()
    command = [*_QTJ, "tensorboard", job, "-n", namespace, f"--port={port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stdout.readline():
            raise KubectlError(f"qtj tensorboard has ended: {process.stderr.read()}")
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()  # not SIGINT, which is ignored if these tests run in the background of a shell
