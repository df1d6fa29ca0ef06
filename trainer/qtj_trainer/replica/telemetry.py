"""Serves the progress of training over HTTP: ``/progress`` for the operator and ``/metrics`` for Prometheus.

Requests for profiles arrive here too, at ``/profile``: see `qtj_trainer.replica.profile_requests`.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

import qtj_contract as contract
from qtj_trainer.errors import UserError, cause_of
from qtj_trainer.listening import listening
from qtj_trainer.replica.profile_requests import answer_profile
from qtj_trainer.step_clock import StepClock

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from qtj_trainer.replica.profile_requests import ProfileRequests

__all__ = ["GAUGES", "Telemetry", "check_free", "port_from"]

GAUGES = {
    "epoch": "Epochs finished.",
    "epochs": "Epochs asked for.",
    "step": "Optimizer steps finished.",
    "steps": "Optimizer steps of all epochs together.",
    "checkpoint_step": "Optimizer steps that the last stored checkpoint holds.",
    "devices": "Devices of all replicas that train.",
    "best_epoch": "With early stopping, the epoch with the lowest loss on the held-out set.",
    "loss": "Training loss of the last finished epoch.",
    "accuracy": "Accuracy on the held-out set after the last finished epoch, 0 to 1.",
    "validation_loss": "Loss on the held-out set after the last finished epoch.",
    "training_accuracy": "Accuracy on the training set over the last finished epoch, 0 to 1.",
    "examples_per_second": "Training examples of all replicas per second in the last finished epoch.",
    "gradient_variance": "Variance over the components of the circuits' gradient in the last finished epoch.",
}


class Telemetry(Collector):
    """Holds the progress of one run and serves it.

    Attributes:
        progress: The progress; assign a new object to change it.
        clock: Tells how old the last step is.
        captures: What became of the profiles that the training takes of itself; another thread may assign it.
        profile_requests: Takes requests for profiles, while this replica takes steps.
    """

    def __init__(self, progress: contract.Progress, activity: str = "") -> None:
        self.progress = progress
        self.clock = StepClock()
        self._activity = activity
        self.captures: tuple[contract.CaptureRecord, ...] = ()
        self.profile_requests: ProfileRequests | None = None
        registry = CollectorRegistry()
        registry.register(self)
        self._metrics = make_wsgi_app(registry)

    @property
    def activity(self) -> str:
        """What the program does when it is not training, in one or two words; empty while it trains."""
        return self._activity

    @activity.setter
    def activity(self, activity: str) -> None:
        self._activity = activity
        if activity:
            self.clock.stop()

    def show(self, progress: contract.Progress) -> None:
        """Shows the progress of a program that trains."""
        self.progress, self._activity = progress, ""

    def step(self, progress: contract.Progress) -> None:
        """Shows the progress after a step."""
        self.show(progress)
        self.clock.step()

    def report(self) -> contract.Progress:
        """Returns the progress with the captures."""
        return replace(self.progress, captures=self.captures)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yields the current numbers. The registry calls it for each scrape."""
        for name, help_text in GAUGES.items():
            value = getattr(self.progress, name)
            if value is not None:
                yield GaugeMetricFamily(f"qtj_training_{name}", help_text, value)
        age = self.clock.age()
        if age is not None:
            help_text = "Seconds since the last step of this replica, while it takes steps."
            yield GaugeMetricFamily("qtj_training_step_age_seconds", help_text, age)
        yield from self._step_times()
        if self.progress.scores:
            scores = GaugeMetricFamily(
                "qtj_training_score", "Other scores of the last finished epoch.", labels=["name"]
            )
            for name, value in self.progress.scores.items():
                scores.add_metric([name], value)
            yield scores

    def _step_times(self) -> Iterator[GaugeMetricFamily]:
        if times := self.clock.recent.times():
            help_text = "Seconds of a step of this replica: the median of the last minute."
            yield GaugeMetricFamily("qtj_training_step_seconds", help_text, times.seconds)
            help_text = "Seconds of a step in which this replica did not wait for its peers: the median."
            yield GaugeMetricFamily("qtj_training_own_step_seconds", help_text, times.own)

    def serve(self, port: int) -> int:
        """Answers requests on all addresses from now on, in a thread.

        Args:
            port: Port to listen on; 0 chooses a free one.

        Returns:
            The port.

        Raises:
            UserError: If the port is in use.
        """
        try:
            server = make_server("", port, self._answer, _Server, _QuietHandler)
        except OSError as problem:
            cause = f"cannot serve metrics on port {port} ({problem.strerror})"
            raise UserError(f"{cause}: set {contract.Env.METRICS_PORT} to a free one") from problem
        threading.Thread(target=server.serve_forever, name="telemetry", daemon=True).start()
        return int(server.server_port)

    def _answer(self, request: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        match request["PATH_INFO"]:
            case contract.PROGRESS_PATH:
                start("200 OK", [("Content-Type", "application/json")])
                activity = {"activity": self.activity} if self.activity else {}
                beat = self.clock.heartbeat(self.progress.step).to_dict()
                return [json.dumps({**self.report().to_dict(), **activity, **beat}).encode()]
            case contract.PROFILE_PATH:
                answer = answer_profile(request, self.profile_requests)
                start(f"{answer.status.value} {answer.status.phrase}", [("Content-Type", answer.content_type)])
                return [answer.body.encode()]
            case "/metrics":
                body: Iterable[bytes] = self._metrics(request, start)
                return body
        start("404 Not Found", [("Content-Type", "text/plain")])
        return [f"try {contract.PROGRESS_PATH} or /metrics\n".encode()]


def port_from(environment: Mapping[str, str], name: contract.Env) -> int | None:
    """Returns a port number from the environment; None if the variable is not set.

    Raises:
        UserError: If it is not a port number.
    """
    text = environment.get(name)
    if not text:
        return None
    if not text.isdecimal() or int(text) > 65535:
        raise UserError(f"{name} is {text!r}: it must be a port number")
    return int(text)


def check_free(port: int, name: contract.Env) -> None:
    """Raises UserError if a port is in use. A server that only logs this needs the check."""
    try:
        listening(port).close()
    except OSError as problem:
        raise UserError(f"cannot listen on port {port} ({cause_of(problem)}): set {name} to a free one") from problem


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 1024  # of a stopped process: who asks for progress tells it from one that is out of reach

    def server_bind(self) -> None:
        """Listens, and asks no name server for the name of this machine, which nobody needs here."""
        self.socket.close()
        self.socket = listening(int(self.server_address[1]))
        self.server_name, self.server_port = "", self.socket.getsockname()[1]
        self.setup_environ()


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Logs nothing: there is a request each second."""
