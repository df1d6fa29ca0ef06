"""What kstatus, and with it Flux and Helm 4, says of a job in each state of its life."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.gitops.states import STATES, state
from tests.jobs import job_object
from tests.missing import find_program
from tools.api_server import ApiServer
from tools.cluster.tools import KSTATUS

EXPECTED = {
    "unseen": "InProgress",
    "starting": "InProgress",
    "running": "InProgress",
    "restarting": "InProgress",
    "inferring": "InProgress",
    "complete": "Current",
    "suspended": "Current",
    "resumed": "InProgress",
    "failed": "Failed",
    "invalid": "Failed",
    "retried": "InProgress",
    "edited": "Failed",
    "stale": "InProgress",
    "deleted": "Terminating",
}


def verdicts(*objects: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
    """What kstatus says of objects."""
    kstatus, given = find_program(KSTATUS, "kstatus"), json.dumps(objects)
    answer = subprocess.run([kstatus], input=given, capture_output=True, text=True, check=True, timeout=60)
    said: list[dict[str, str]] = json.loads(answer.stdout)
    return said


def test_kstatus_reads_every_state_rightly() -> None:
    said = verdicts(*STATES.values())

    assert dict(zip(STATES, (each["status"] for each in said), strict=True)) == EXPECTED


def test_kstatus_says_why_a_job_failed() -> None:
    (said,) = verdicts(state("failed"))

    assert said["message"] == next(
        c["message"] for c in state("failed")["status"]["conditions"] if c["type"] == "Failed"
    )


@pytest.mark.parametrize("name", ["running", "failed"])
def test_without_our_conditions_kstatus_takes_every_job_for_done(name: str) -> None:
    """Why the conditions exist: a kind of which kstatus knows nothing is current."""
    job = state(name)
    others = [c for c in job["status"]["conditions"] if c["type"] not in {"Reconciling", "Stalled"}]

    (said,) = verdicts({**job, "status": {**job["status"], "conditions": others}})

    assert said["status"] == "Current"


def test_without_the_default_of_the_crd_kstatus_takes_a_new_job_for_done() -> None:
    assert [said["status"] for said in verdicts(job_object(), state("unseen"))] == ["Current", "InProgress"]


def test_a_job_is_not_done_before_the_operator_has_seen_it(api_server: ApiServer, namespace: str) -> None:
    job = job_object(namespace=namespace)
    written = {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": {"name": "new"}, "spec": job["spec"]}
    api_server.kubectl("apply", "-n", namespace, "-f", "-", manifest=written)

    new = api_server.get("qtj", "new", "-n", namespace)

    assert [said["status"] for said in verdicts(new)] == ["InProgress"]
    assert (new["spec"], new["status"]) == (job["spec"], {"observedGeneration": -1})
