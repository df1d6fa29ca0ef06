"""`qtj tensorboard` of a job on a cluster, with a stand-in for kubectl that has one answer for each of its commands.

What a real kubectl does is tested by the end-to-end scenario `tensorboard`: forwarding a port needs a kubelet.
"""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.qtj import Answer, qtj
from tests.local.laptop import QTJ
from tools.background import free_port, wait_until

URL = "http://qcnn-tensorboard.lab.svc:6006"
READY = {"url": URL, "ready": True}
STARTING = {"url": URL, "ready": False}
NO_IMAGE = 'image "x:1" cannot be pulled'

KUBECTL = """#!{python}
import json, pathlib, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
folder = pathlib.Path({folder!r})
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "get":
    job = folder / "job.json"
    if (folder / "unreached").exists():
        sys.exit((folder / "unreached").read_text())
    if not job.exists():
        sys.exit('Error from server (NotFound): quantumtrainingjobs.quantumtraining.dev "qcnn" not found')
    print(job.read_text())
elif (folder / "refusal").exists():
    sys.exit((folder / "refusal").read_text())
else:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
        def log_message(self, *_):
            pass
    HTTPServer(("127.0.0.1", int(sys.argv[3].partition(":")[0])), Page).serve_forever()
"""


@pytest.fixture
def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds what kubectl answers, and what it was asked."""
    program = folder / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL.format(python=sys.executable, folder=str(folder)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return folder


def has_job(cluster: Path, asked: Any = None, board: Any = None, **status: Any) -> None:
    """The cluster has the job `qcnn`.

    Args:
        cluster: What kubectl answers.
        asked: Its spec.tensorboard.
        board: Its status.tensorboard.
        status: Other fields of its status.
    """
    spec = {} if asked is None else {"tensorboard": asked}
    seen = {"attempt": 1, **({"tensorboard": board} if board else {}), **status}
    job = {"metadata": {"name": "qcnn", "namespace": "lab"}, "spec": spec, "status": seen}
    (cluster / "job.json").write_text(json.dumps(job))


def calls(cluster: Path) -> list[list[str]]:
    return [json.loads(line) for line in (cluster / "calls").read_text().splitlines()]


@contextmanager
def started(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """Starts a command, which does not outlive the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def refused(answer: Answer) -> str:
    """The one sentence of a command that was not carried out."""
    (sentence,) = answer.sentences
    assert (answer.code, answer.output) == (2, "")
    return sentence


@pytest.mark.parametrize(
    ("where", "namespace"),
    [
        (["--cluster"], []),
        (["-n", "lab"], ["--namespace", "lab"]),
        (["-n", "lab", "--context", "far"], ["--namespace", "lab", "--context", "far"]),
    ],
    ids=["current", "named", "of a context"],
)
def test_it_forwards_a_port_until_ctrl_c(cluster: Path, where: list[str], namespace: list[str]) -> None:
    has_job(cluster, asked={"port": 80}, board=READY)
    port = free_port()

    command = [*QTJ, "tensorboard", "qcnn", *where, "--port", str(port)]
    with started(command) as board:
        assert board.stdout is not None
        sentence = board.stdout.readline()
        board.send_signal(signal.SIGINT)
        _, errors = board.communicate(timeout=60)

    assert sentence == f"the TensorBoard of qcnn is at http://127.0.0.1:{port}/ until you press Ctrl-C\n"
    assert (board.returncode, errors) == (0, "")
    forwarded = ["port-forward", "service/qcnn-tensorboard", f"{port}:80", "--address=127.0.0.1", *namespace]
    assert calls(cluster)[1] == forwarded


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no subreaper")
def test_kill_9_leaves_no_kubectl_behind(cluster: Path) -> None:
    has_job(cluster, asked={}, board=READY)
    port = free_port()
    command = [*QTJ, "tensorboard", "qcnn", "--cluster", "--port", str(port)]

    with started(command) as board:
        assert board.stdout is not None
        board.stdout.readline()
        assert is_served(port)
        board.kill()

    wait_until(lambda: not is_served(port))


def is_served(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("where", "place"), [(["--cluster"], "the current namespace"), (["-n", "lab"], "namespace lab")]
)
def test_a_job_that_does_not_exist_is_one_sentence(where: list[str], place: str) -> None:
    sentence = refused(qtj("tensorboard", "qcnn", *where))

    assert sentence == f"there is no job qcnn in {place}: `kubectl get qtj -A` lists all"


@pytest.mark.parametrize(
    "answer",
    [
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
        "Unable to connect to the server: dial tcp: lookup nowhere: no such host",
        "error: invalid configuration: no configuration has been provided",
    ],
)
def test_a_cluster_that_kubectl_does_not_reach_is_one_sentence_of_ours(cluster: Path, answer: str) -> None:
    (cluster / "unreached").write_text(f"E1123 memcache.go:265 Unhandled Error\n{answer}")

    assert refused(qtj("tensorboard", "qcnn", "--cluster")) == (
        "kubectl reaches no cluster: set KUBECONFIG to your kubeconfig, or correct its current context, which `kubectl "
        "cluster-info` tries"
    )


def test_a_job_without_tensorboard_gets_the_command_that_adds_it(cluster: Path) -> None:
    has_job(cluster)

    sentence = refused(qtj("tensorboard", "qcnn", "-n", "lab"))

    patch = """'--patch={"spec": {"tensorboard": {}}}'"""
    command = f"kubectl --namespace lab patch qtj qcnn --type=merge {patch}"
    assert sentence == f"qcnn has no spec.tensorboard, which this command adds: {command}"


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"attempt": None}, "it starts with the job, which has not started"),
        ({"board": STARTING}, "it is starting, so try again in a moment"),
        (
            {"board": {"url": URL, "ready": False, "message": 'image "x" cannot be pulled'}},
            'image "x" cannot be pulled',
        ),
        (
            {"phase": "Suspended", "board": {"url": URL, "ready": False}},
            "the job is suspended, and TensorBoard with it",
        ),
    ],
)
def test_a_tensorboard_that_is_not_ready_is_explained(cluster: Path, status: dict[str, Any], why: str) -> None:
    has_job(cluster, asked={}, **status)

    assert refused(qtj("tensorboard", "qcnn", "--cluster")) == f"the TensorBoard of qcnn is not ready: {why}"


def test_what_kubectl_cannot_forward_is_one_sentence(cluster: Path) -> None:
    has_job(cluster, asked={}, board=READY)
    (cluster / "refusal").write_text("error: unable to forward port because pod is not running")

    ended = subprocess.run(
        [*QTJ, "tensorboard", "qcnn", "--cluster", "--port=0"], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "qtj: kubectl port-forward cannot start: error: unable to forward port because pod is not running\n"
    )


def test_without_kubectl_it_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))

    assert refused(qtj("tensorboard", "qcnn", "--cluster")).startswith("kubectl is not installed on this machine")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cluster"], "no job is named: `qtj top --cluster` shows the jobs of the namespace"),
        (
            ["qcnn", "--cluster", "--artifacts", "x"],
            "--artifacts is a folder of this machine, and the job is on a cluster: leave one of them out",
        ),
        (["job.yaml"], "job.yaml: there is no such file"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_sentence(words: list[str], sentence: str) -> None:
    assert refused(qtj("tensorboard", *words)).startswith(sentence)
