"""A real MLflow, on a file store of its own, and what it knows."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.missing import skip_or_fail
from tests.trainer.processes import REPOSITORY
from tools.background import wait_until

__all__ = ["Mlflow", "Tracked", "serving"]

_PYTHON = REPOSITORY / ".venv-mlflow" / "bin" / "python"
_SERVE = """
import sys
from mlflow.server import app  # that of `mlflow server`, without its worker processes
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
"""


@dataclass(frozen=True)
class Tracked:
    """A run, as MLflow shows it."""

    identity: str
    status: str
    name: str
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    curves: Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Mlflow:
    """A running MLflow."""

    url: str

    def variables(self, experiment: str) -> dict[str, str]:
        """What a program needs in its environment."""
        return {
            "QTJ_TRACKING": "mlflow",
            "MLFLOW_TRACKING_URI": self.url,
            "MLFLOW_EXPERIMENT_NAME": experiment,
        }

    def runs(self, experiment: str) -> list[Tracked]:
        """The runs of an experiment. A step that has two values fails the test."""
        known = self._ask(f"experiments/get-by-name?experiment_name={experiment}")["experiment"]
        found = self._ask("runs/search", {"experiment_ids": [known["experiment_id"]]})
        return [self._tracked(run) for run in found.get("runs", [])]

    def only_run(self, experiment: str) -> Tracked:
        (run,) = self.runs(experiment)
        return run

    def _tracked(self, run: Mapping[str, Any]) -> Tracked:
        info, data = run["info"], run["data"]
        return Tracked(
            info["run_id"],
            info["status"],
            info["run_name"],
            {each["key"]: each["value"] for each in data.get("params", [])},
            {each["key"]: each["value"] for each in data.get("tags", [])},
            {each["key"]: self._curve(info["run_id"], each["key"]) for each in data.get("metrics", [])},
        )

    def _curve(self, run: str, metric: str) -> dict[int, float]:
        points = self._ask(f"metrics/get-history?run_id={run}&metric_key={quote(metric)}")["metrics"]
        curve = {each["step"]: each["value"] for each in points}
        assert len(curve) == len(points), f"{metric} has a step twice: {points}"
        return curve

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/2.0/mlflow/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())


@contextmanager
def serving(folder: Path, port: int) -> Iterator[Mlflow]:
    """Runs the server."""
    if not _PYTHON.exists():
        skip_or_fail(f"MLflow is not here: make {_PYTHON.relative_to(REPOSITORY).parents[1]}/installed")
    variables = {
        "_MLFLOW_SERVER_FILE_STORE": (folder / "runs").as_uri(),
        "_MLFLOW_SERVER_ARTIFACT_ROOT": (folder / "artifacts").as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [_PYTHON, "-c", _SERVE, str(port)], env={**os.environ, **variables}, stdout=log, stderr=log
        )
    mlflow = Mlflow(f"http://127.0.0.1:{port}")
    try:
        wait_until(lambda: _answers(mlflow.url) or server.poll() is not None)
        assert server.poll() is None, (folder / "log").read_text()
        yield mlflow
    finally:
        server.kill()
        server.wait()


def _answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=1):
        return True
    return False
