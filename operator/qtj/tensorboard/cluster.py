"""TensorBoard of a job on a cluster, by `kubectl port-forward`."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from qtj.cluster.choice import CHOICE
from qtj.local.addresses import HOST
from qtj.tensorboard.child import answers, serve, usable_port
from qtj.terminal.errors import InputError
from qtj_operator.api.defaults import TENSORBOARD_PORT
from qtj_operator.api.names import GROUP, PLURAL, tensorboard_name
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase, Status

__all__ = ["forward"]

_UNREACHED = re.compile("connection to the server .* was refused|[Uu]nable to connect to the server|no configuration")
"""What kubectl prints where there is no kubeconfig, or no answer. Its question about host and port misleads then."""


def forward(name: str, namespace: str | None, port: int) -> None:
    """Makes the TensorBoard of a job reachable on this machine until Ctrl-C.

    Args:
        name: The job's name.
        namespace: Where it is; None for the namespace of the current context.
        port: The port of this machine; 0 for any.

    Raises:
        InputError: There is no kubectl, no such job, no TensorBoard that is ready, or the port is in use.
    """
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise InputError("kubectl is not installed on this machine, and a TensorBoard on a cluster is reached by it")
    where = (*(() if namespace is None else ("--namespace", namespace)), *CHOICE.options)
    job = _job(kubectl, name, namespace, where)
    _check_ready(job, where)
    port = usable_port(port)
    served = (job["spec"]["tensorboard"] or {}).get("port") or TENSORBOARD_PORT
    target = f"service/{tensorboard_name(name)}"
    command = [kubectl, "port-forward", target, f"{port}:{served}", f"--address={HOST}", *where]
    address = f"http://{HOST}:{port}/"
    sentence = f"the TensorBoard of {name} is at {address} until you press Ctrl-C"
    serve(command, "kubectl port-forward", lambda: answers(address), sentence)


def _job(kubectl: str, name: str, namespace: str | None, where: Sequence[str]) -> Mapping[str, Any]:
    command = [kubectl, "get", f"{PLURAL}.{GROUP}", name, "--output=json", *where]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        why = lines[-1] if lines else "it printed nothing"
        if _UNREACHED.search(why):
            raise InputError(
                "kubectl reaches no cluster: set KUBECONFIG to your kubeconfig, or correct its current context, which "
                "`kubectl cluster-info` tries"
            )
        if "(NotFound)" in why:
            place = f"namespace {namespace}" if namespace else "the current namespace"
            raise InputError(f"there is no job {name} in {place}: `kubectl get qtj -A` lists all")
        raise InputError(f"{name} cannot be read by kubectl: {why}")
    job: Mapping[str, Any] = json.loads(ended.stdout)
    return job


def _check_ready(job: Mapping[str, Any], where: Sequence[str]) -> None:
    """Checks that there is a TensorBoard to connect to.

    Raises:
        InputError: There is none.
    """
    name, status = job["metadata"]["name"], read_status(job)
    if job["spec"].get("tensorboard") is None:
        patch = json.dumps({"spec": {"tensorboard": {}}})
        command = shlex.join(["kubectl", *where, "patch", "qtj", name, "--type=merge", f"--patch={patch}"])
        raise InputError(f"{name} has no spec.tensorboard, which this command adds: {command}")
    if why := _why_not_ready(status):
        raise InputError(f"the TensorBoard of {name} is not ready: {why}")


def _why_not_ready(status: Status) -> str | None:
    board = status.tensorboard
    if board is not None and board.ready:
        return None
    if status.phase == Phase.SUSPENDED:
        return "the job is suspended, and TensorBoard with it"
    if not status.attempt:
        return "it starts with the job, which has not started"
    return (board and board.message) or "it is starting, so try again in a moment"
