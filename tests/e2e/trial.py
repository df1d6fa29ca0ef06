"""The example under another name, with more epochs, to be put into trouble, and what must be true of it afterwards."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, Sight, exists, get, kubectl, wait_until
from tests.e2e.machine import processes
from tests.e2e.progress import progress
from tests.e2e.world import JOB_LABEL, World, first, is_running, log_moment

BUCKET = "quantum-training"
MAX_MSE = 0.29
MIN_SIGN_ACCURACY = 0.92
_EPOCHS = 60
"""Enough epochs for training to outlast the fault, with a pause after each, and to end in the acceptance band."""
_START_SECONDS = 600
_COMPLETE_SECONDS = 900
"""Ten times what an idle machine needs: they only end what has come to a standstill."""

Manifest = dict[str, Any]


def example(name: str, uri: str = "", *, file: str = "qcnn") -> Manifest:
    """Returns a job of the examples under another name, with its artifacts in a folder of their own each time.

    Args:
        name: Its name.
        uri: Where its artifacts are, if that is to be a certain place.
        file: The example.
    """
    job: Manifest = yaml.safe_load((ROOT / f"examples/{file}.yaml").read_text())
    job["metadata"]["name"] = name
    job["spec"]["artifacts"] = {**job["spec"]["artifacts"], "uri": uri or f"gs://{BUCKET}/{name}-{time.time_ns()}"}
    return job


@dataclass(frozen=True)
class Trial:
    """One job of two workers.

    Attributes:
        checks: Where its checks are counted.
        world: Where it is watched.
        name: Its name.
        folder: Its artifacts in the bucket; another one each time, for a bucket remembers.
        applied: When it was applied, by `time.monotonic`.
    """

    checks: Checks
    world: World
    name: str
    folder: str
    applied: float

    @classmethod
    def begin(
        cls,
        checks: Checks,
        world: World,
        name: str,
        *,
        affinity: Manifest | None = None,
        epochs: int = _EPOCHS,
        elastic: Manifest | None = None,
    ) -> "Trial":
        """Applies the example under another name."""
        job = example(name)
        pod = job["spec"]["template"]["spec"]
        pod["containers"][0]["command"] = ["python", "-uc", (ROOT / "tests/e2e/paced.py").read_text()]
        pod["containers"][0]["args"] = ["train", "qcnn", f"--epochs={epochs}"]
        if affinity:
            pod["affinity"] = affinity
        if elastic:
            job["spec"]["runPolicy"] = {**job["spec"].get("runPolicy", {}), "elastic": elastic}
        return cls.apply(checks, world, job)

    @classmethod
    def apply(cls, checks: Checks, world: World, job: Manifest) -> "Trial":
        """Applies any job of two workers."""
        applied = time.monotonic()
        kubectl("-n", world.namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
        folder = job["spec"]["artifacts"]["uri"].removeprefix(f"gs://{BUCKET}/")
        return cls(checks, world, job["metadata"]["name"], folder, applied)

    @property
    def workers(self) -> tuple[str, str]:
        """The names of its pods; the first leads."""
        return f"{self.name}-worker-0", f"{self.name}-worker-1"

    @property
    def sights(self) -> list[Sight]:
        """What was seen of it."""
        return [sight for sight in self.world.trainings.of(self.name) if sight.at >= self.applied]

    @property
    def status(self) -> Manifest:
        """Its status as last seen."""
        return self.sights[-1].status if self.sights else {}

    def wait(self, what: str, holds: Any, seconds: float = _START_SECONDS) -> None:
        """Waits for something that shows in its status.

        Raises:
            AssertionError: It failed before that was seen.
        """

        def so() -> bool:
            status = self.status
            if holds(status):
                return True
            assert status.get("phase") != "Failed", f"{self.name} failed before it {what}: {_message('', status)}"
            return False

        wait_until(f"{self.name} {what}", so, seconds, pause=0.05)

    def reaches(self, phase: str) -> None:
        """Waits until it has been in a phase."""
        seen = partial(first, holds=lambda sight: sight.status.get("phase") == phase)
        wait_until(f"{self.name} is {phase}", lambda: seen(self.sights), _START_SECONDS, pause=0.02)

    def trains(self, epochs: int = 1) -> None:
        """Waits until it has finished so many epochs.

        Raises:
            AssertionError: It ended before that was seen.
        """

        self.meanwhile("trains", lambda: self.epoch() >= epochs, _START_SECONDS)

    def meanwhile(self, what: str, holds: Callable[[], bool], seconds: float) -> None:
        """Waits for what must happen before the end of training: after it, nothing is repaired.

        Raises:
            AssertionError: Training ended before that was seen.
        """

        def so() -> bool:
            true = holds()
            ended = self.status.get("phase") in {"Failed", "Complete"} or any(_since(s, "Trained") for s in self.sights)
            assert true or not ended, f"{self.name} ended its training before this was seen: {what}"
            return true

        wait_until(f"{self.name} {what}", so, seconds, pause=0.1)

    def epoch(self) -> int:
        """Epochs finished, as its leader says."""
        latest = progress(self.world.namespace, self.workers[0])
        return int(latest["epoch"]) if latest else 0

    def pods(self) -> list[Manifest]:
        """Its pods, those of inference included."""
        found: list[Manifest] = get("-n", self.world.namespace, "pods", "-l", f"{JOB_LABEL}={self.name}")["items"]
        return found

    def nodes(self) -> list[str]:
        """The nodes of its workers."""
        return [get("-n", self.world.namespace, "pod", worker)["spec"].get("nodeName", "") for worker in self.workers]

    def uids(self) -> set[str]:
        """The uids of its workers' pods."""
        return {get("-n", self.world.namespace, "pod", worker)["metadata"]["uid"] for worker in self.workers}

    def process(self, worker: str) -> int:
        """The pid of a worker's program on this machine."""
        return processes(self.world.namespace, worker)[0]

    def since_trouble(self, old: set[str], since: float) -> list[tuple[str, float | None]]:
        """Returns the parts of a restart: when it was noticed, when the old pods were gone, and so on."""
        pods = self.world.pods_of(self.name, since)
        new = [sight for sight in pods if sight.state["metadata"]["uid"] not in old]
        gone = [first(pods, partial(_is_gone, uid)) for uid in old]
        attempts = {sight.status.get("attempt", 0) for sight in self.sights if sight.at < since}
        return [
            ("noticed", first(self.sights, lambda sight: sight.status.get("attempt", 0) > max(attempts), since)),
            ("old pods gone", max((at for at in gone if at), default=None)),
            *self.start(new),
        ]

    def start(self, pods: list[Sight]) -> list[tuple[str, float | None]]:
        """Returns the parts of a start, given what was seen of its pods."""
        running = [first((sight for sight in pods if sight.name == worker), is_running) for worker in self.workers]
        logged = partial(log_moment, self.world.namespace, self.workers[0])
        return [
            ("pods running", max((at for at in running if at), default=None)),
            ("TensorFlow imported", logged("is ready")),
            ("workers met", logged("processes have met")),
        ]

    def says(self, text: str, seconds: float = _START_SECONDS) -> str:
        """Waits until one of its conditions says this; returns the whole sentence."""
        message = partial(_message, text)
        self.wait(f"says {text!r}", message, seconds)
        return message(self.status)

    def completes(
        self,
        *,
        restarts: int = 0,
        disruptions: int = 0,
        resumes: int = 0,
        inferences: int = 1,
        workers: Sequence[str] | None = None,
    ) -> Manifest:
        """Waits for its end and checks that the trouble has left no trace; deletes it.

        Args:
            restarts: How many it must have cost of the budget.
            disruptions: How many must be on record beside those.
            resumes: How often it was resumed.
            inferences: How many inference Jobs there must have been.
            workers: Those whose pods must be left; both when left out.
        """
        status = self.ends(restarts=restarts, disruptions=disruptions, resumes=resumes)
        self._within_band(status["inference"]["metrics"])
        self._once(inferences)
        self._left(self.workers if workers is None else workers)
        self.deleted()
        return status

    def ends(self, *, restarts: int = 0, disruptions: int = 0, resumes: int = 0) -> Manifest:
        """Waits for its end and checks that it is complete, and what that has cost."""
        self.wait("ends", lambda status: status.get("phase") in {"Complete", "Failed"}, _COMPLETE_SECONDS)
        self.checks.equal("phase", self.status.get("phase"), "Complete")
        status = self.status
        on_record = f"on record: {json.dumps(status.get('failures', []))}"
        self.checks.note(on_record)
        self.checks.equal(
            "attempt, restarts and disruptions",
            (status["attempt"], status["restarts"], status.get("disruptions", 0)),
            (1 + restarts + disruptions + resumes, restarts, disruptions),
            on_record,
        )
        return status

    def deleted(self) -> None:
        """Deletes it, and checks that nothing is left of it."""
        where = ("-n", self.world.namespace)
        kubectl(*where, "delete", "qtj", self.name, "--wait=false")
        children = (*where, "pods,services,jobs", "-l", f"{JOB_LABEL}={self.name}")
        wait_until(f"the children of {self.name} are gone", lambda: not exists(*children), 90)
        self.checks.that("kubectl delete leaves nothing", holds=True)

    def _within_band(self, metrics: dict[str, float]) -> None:
        good = metrics["mse"] <= MAX_MSE and metrics["signAccuracy"] >= MIN_SIGN_ACCURACY
        self.checks.that(f"within the acceptance band: {json.dumps(metrics)}", good)

    def _once(self, inferences: int) -> None:
        """One training, one set of weights, one result of inference."""
        prefix = f"{self.folder}/"
        raw = f"/api/v1/namespaces/{self.world.namespace}/services/gcs:http/proxy/storage/v1/b/{BUCKET}/o"
        listing = json.loads(kubectl("get", "--raw", f"{raw}?prefix={prefix}"))
        names = [item["name"].removeprefix(prefix) for item in listing.get("items", ())]
        self.checks.equal("sets of weights stored", sum(name.endswith(".h5") for name in names), 1)
        self.checks.that("no checkpoint is left", not any(name.startswith("checkpoints") for name in names), names)
        trained = {_since(sight, "Trained") for sight in self.sights} - {None}
        self.checks.equal("times that training ended", len(trained), 1)
        runs = self.world.jobs_of(self.name, self.applied)
        done = {sight.state["metadata"]["uid"] for sight in runs if _since(sight, "Complete")}
        seen = {sight.state["metadata"]["uid"] for sight in runs}
        self.checks.equal("inference Jobs that were done, and that there were", (len(done), len(seen)), (1, inferences))

    def _left(self, workers: Sequence[str]) -> None:
        """No pod but the last of each of these and the one of inference."""
        pods = (*workers, f"{self.name}-inference")

        def settled() -> bool:
            left = self.pods()
            named = sorted(pod["metadata"]["name"] for pod in left)
            ended = all(pod["status"]["phase"] == "Succeeded" for pod in left)
            return ended and len(named) == len(pods) and all(map(str.startswith, named, sorted(pods)))

        wait_until(f"{len(workers)} workers and one inference pod of {self.name} are left, all ended", settled, 90)
        self.checks.that("no pod is left over", holds=True)


def spread(name: str, *, strictly: bool) -> Manifest:
    """An affinity that keeps the replicas of a job on different nodes, or prefers to."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {JOB_LABEL: name}}}
    if strictly:
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    weighted = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def _is_gone(uid: str, sight: Sight) -> bool:
    return sight.event == "DELETED" and sight.state["metadata"]["uid"] == uid


def _message(text: str, status: Manifest) -> str:
    """Returns the sentence of a condition that has this text in it; none while there is none."""
    return next((c["message"] for c in status.get("conditions", ()) if text in c["message"]), "")


def _since(sight: Sight, condition: str) -> str | None:
    """Returns since when a condition is true; None while it is not."""
    conditions = sight.status.get("conditions", ())
    return next((c["lastTransitionTime"] for c in conditions if c["type"] == condition and c["status"] == "True"), None)
