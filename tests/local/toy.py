"""A training program that keeps the contract and needs nothing but Python: an epoch is a tenth of a second.

python toy.py train EPOCHS|--epochs=EPOCHS [--deaf] [--exit CODE] [--grandchild] [--break-after EPOCH] [--hold]
python toy.py infer [--break-after 0]

Worker 0 leads: it waits for its peers at the address that TF_CONFIG gives it, stores a checkpoint after each epoch, and
tells its progress; with --hold it ends once the file `released` is there. A follower ends with its leader: with 0 after
its word, else with 75, as TensorFlow's workers do.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

EPOCH_SECONDS = 0.1
progress: dict[str, float] = {"epoch": 0, "epochs": 0, "step": 0}


class Telemetry(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(progress).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing: a poll is not news."""


def artifacts() -> Path:
    return Path(unquote(urlsplit(os.environ["QTJ_ARTIFACTS_URI"]).path))


def leave(**message: object) -> None:
    Path(os.environ["QTJ_TERMINATION_LOG"]).write_text(json.dumps(message))


def train(epochs: int, config: dict[str, Any]) -> None:
    index = config["task"]["index"]
    hosts = config["cluster"]["worker"]
    port = int(hosts[index].rpartition(":")[2])
    server = HTTPServer(("", int(os.environ["QTJ_METRICS_PORT"])), Telemetry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if index:
        follow(*hosts[0].split(":"))
    else:
        lead(epochs, port, len(hosts) - 1)


def lead(epochs: int, port: int, followers: int) -> None:
    folder = artifacts() / "checkpoints" / os.environ["QTJ_JOB_UID"]
    folder.mkdir(parents=True, exist_ok=True)
    first = max((int(path.name) for path in folder.iterdir()), default=0)
    with socket.create_server(("", port)) as server:
        peers = [server.accept()[0] for _ in range(followers)]
    print(f"begins after epoch {first}")
    for epoch in range(first + 1, epochs + 1):
        time.sleep(EPOCH_SECONDS)
        if any(is_gone(peer) for peer in peers):
            sys.exit(75)
        (folder / str(epoch)).write_text("")
        progress.update(epoch=epoch, epochs=epochs, step=7 * epoch, loss=1 / epoch)
        print(f"epoch {epoch}/{epochs}  loss {1 / epoch:.4f}  signAccuracy 0.9")
        break_after(epoch)
    while "--hold" in sys.argv and not Path("released").exists():
        time.sleep(EPOCH_SECONDS)
    weights = artifacts() / "weights.h5"
    weights.write_text("weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    leave(weights={"uri": weights.as_uri(), "sha256": digest}, progress=progress)
    for peer in peers:
        peer.sendall(b"done")


def break_after(epoch: int) -> None:
    """Breaks as a program with a bug does, until somebody mends it."""
    asked = sys.argv[sys.argv.index("--break-after") + 1] if "--break-after" in sys.argv else None
    if asked == str(epoch) and not Path("mended").exists():
        raise ZeroDivisionError("the toy has a bug")


def connected(host: str, port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection((host, port))
        except OSError:
            time.sleep(0.02)


def follow(host: str, port: str) -> None:
    if connected(host, int(port)).recv(4) != b"done":
        sys.exit(75)


def is_gone(peer: socket.socket) -> bool:
    peer.settimeout(0)
    try:
        return not peer.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True


def infer() -> None:
    break_after(0)
    weights = Path(unquote(urlsplit(os.environ["QTJ_WEIGHTS_URI"]).path)).read_bytes()
    assert hashlib.sha256(weights).hexdigest() == os.environ["QTJ_WEIGHTS_SHA256"]
    said = {
        "task": "classification",
        "classes": ["low", "high"],
        "labels": [1, 0],
        "predictions": [1, 1],
    }
    (artifacts() / "weights.predictions.json").write_text(json.dumps(said))
    print("2 held-out examples")
    leave(metrics={"mse": 0.5})


def main() -> None:
    what, *rest = sys.argv[1:]
    if "--deaf" in rest:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "--grandchild" in rest:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if "--exit" in rest:
        leave(error="the toy was told to break")
        sys.exit(int(rest[rest.index("--exit") + 1]))
    infer() if what == "infer" else train(int(rest[0].removeprefix("--epochs=")), json.loads(os.environ["TF_CONFIG"]))


if __name__ == "__main__":
    main()
