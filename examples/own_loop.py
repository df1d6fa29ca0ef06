"""Your own training loop, with the standard library only: the whole contract in one file.

It fits a line. Each worker has its own examples. Worker 0 leads, and averages the gradients of all workers. The program
also runs without a job: python examples/own_loop.py
"""

import hashlib
import json
import os
import random
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NoReturn, TextIO
from urllib.parse import unquote, urlsplit

EPOCHS = 5
STEPS, BATCH, RATE = 20, 32, 0.1
FINAL, RETRY = 1, 75  # exit codes: the job fails; all workers start again from the last checkpoint

progress: dict[str, float] = {"epoch": 0, "epochs": EPOCHS, "step": 0, "steps": EPOCHS * STEPS}


def leave(code: int, **message: object) -> NoReturn:
    """Ends with a termination message, which `kubectl get qtj` and `qtj run` show."""
    if path := os.environ.get("QTJ_TERMINATION_LOG"):
        Path(path).write_text(json.dumps(message))
    if "error" in message:
        print(message["error"], file=sys.stderr)
    sys.exit(code)


def folder(uri: str) -> Path:
    """Returns the folder of a file:/// address. Another storage needs its own library: google-cloud-storage for gs://."""
    if not uri.startswith("file:///"):
        leave(FINAL, error=f"{uri} is no file:/// address: this program stores its weights in a folder")
    return Path(unquote(urlsplit(uri).path))


def examples(seed: str) -> list[tuple[float, float]]:
    """Draws points of the line y = 3 x + 1."""
    draw = random.Random(seed)
    return [(x, 3 * x + 1) for x in (draw.uniform(-1, 1) for _ in range(BATCH))]


def loss_and_gradient(line: list[float], points: list[tuple[float, float]]) -> list[float]:
    """Returns the mean squared error, and its derivatives by slope and constant."""
    errors = [(line[0] * x + line[1] - y, x) for x, y in points]
    sums = (sum(e * e for e, _ in errors), sum(2 * e * x for e, x in errors), sum(2 * e for e, _ in errors))
    return [each / len(points) for each in sums]


def connected(addresses: list[str], index: int) -> list[TextIO]:
    """Connects the followers with worker 0: one stream for each, or the stream to worker 0."""
    host, _, port = addresses[0].rpartition(":")
    if index:
        while True:
            try:
                return [socket.create_connection((host, int(port))).makefile("rw")]
            except OSError:  # it has not started yet
                threading.Event().wait(0.05)
    with socket.create_server(("", int(port))) as server:
        return [server.accept()[0].makefile("rw") for _ in addresses[1:]]


def average(mine: list[float], peers: list[TextIO], *, leads: bool) -> list[float]:
    """Averages numbers over all workers; if one of them is gone, exits so that another attempt starts."""
    try:
        if leads:
            rows = [mine, *(json.loads(peer.readline()) for peer in peers)]
            mine = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        for peer in peers:
            peer.write(json.dumps(mine) + "\n")
            peer.flush()
        return mine if leads else json.loads(peers[0].readline())
    except (OSError, ValueError):
        leave(RETRY, error="another worker has gone: this one starts again with it")


class Progress(BaseHTTPRequestHandler):
    """Answers GET /progress, from which the EPOCH and the LOSS of the job are read."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(progress).encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def infer(uri: str) -> NoReturn:
    """Evaluates the stored weights, in the Job of spec.inference."""
    weights = folder(uri).read_bytes()
    if hashlib.sha256(weights).hexdigest() != os.environ["QTJ_WEIGHTS_SHA256"]:
        leave(FINAL, error=f"{uri} is not what the training stored: its checksum differs")
    mse, *_ = loss_and_gradient(json.loads(weights), examples("held out"))
    leave(0, metrics={"mse": mse})


def train(artifacts: Path, addresses: list[str], index: int) -> NoReturn:
    """Trains from the last checkpoint, and stores the weights under a name that is their checksum."""
    checkpoints, leads = artifacts / "checkpoints" / os.environ.get("QTJ_JOB_UID", "alone"), index == 0
    checkpoints.mkdir(parents=True, exist_ok=True)
    done = max((int(path.name) for path in checkpoints.glob("[0-9]*")), default=0)
    line = json.loads((checkpoints / str(done)).read_text()) if done else [0.0, 0.0]
    peers = connected(addresses, index)
    for epoch in range(done + 1, EPOCHS + 1):
        for step in range(STEPS):
            loss, *gradient = average(loss_and_gradient(line, examples(f"{epoch} {step} {index}")), peers, leads=leads)
            line = [value - RATE * slope for value, slope in zip(line, gradient, strict=True)]
        progress.update(epoch=epoch, step=epoch * STEPS, loss=loss)
        if leads:
            unfinished = checkpoints / "unfinished"
            unfinished.write_text(json.dumps(line))
            unfinished.replace(checkpoints / str(epoch))
            print(f"epoch {epoch}/{EPOCHS}  loss {loss:.6f}  slope {line[0]:.4f}", flush=True)
    if not leads:
        leave(0)
    weights = json.dumps(line).encode()
    digest = hashlib.sha256(weights).hexdigest()
    path = artifacts / f"weights-{digest[:12]}.json"
    path.write_bytes(weights)
    leave(0, weights={"uri": path.as_uri(), "sha256": digest}, progress=progress)


def main() -> None:
    """Reads the environment variables that the operator has set; without a job, trains with one worker."""
    if uri := os.environ.get("QTJ_WEIGHTS_URI"):
        infer(uri)
    config = json.loads(os.environ.get("TF_CONFIG") or '{"cluster": {"worker": [":0"]}, "task": {"index": 0}}')
    if port := os.environ.get("QTJ_METRICS_PORT"):
        threading.Thread(target=HTTPServer(("", int(port)), Progress).serve_forever, daemon=True).start()
    artifacts = os.environ.get("QTJ_ARTIFACTS_URI") or Path("qtj-artifacts/loop").absolute().as_uri()
    train(folder(artifacts), config["cluster"]["worker"], config["task"]["index"])


if __name__ == "__main__":
    main()
