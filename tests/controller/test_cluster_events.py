"""`qtj events` of jobs on a real API server."""

import json
from typing import Any

from qtj.monitor.show import new_events
from tests.controller.cluster_jobs import Place, rest_of

LATER = "2100-01-01T12:00:00Z"


def rows(output: str) -> list[list[str]]:
    return [line.split(maxsplit=4)[1:4] for line in output.splitlines()[1:]]


def test_events_of_a_job_its_pods_and_its_inference_are_shown_in_their_order(place: Place) -> None:
    uid = place.job()
    times = {name: {"lastTimestamp": f"2100-01-01T12:00:0{second}Z"} for second, name in enumerate("abcd")}
    place.event("Job", "qcnn-inference", reason="Created", **times["d"])
    place.event("Pod", "qcnn-worker-0", reason="Pulled", **times["b"])
    place.event("QuantumTrainingJob", "qcnn", uid, **times["a"])
    place.event("Pod", "qcnn-inference-x7k2p", reason="Scheduled", type="Warning", **times["c"])
    place.event("Pod", "qcnn-worker-00", reason="OfAnother", **times["c"])
    place.event("Pod", "other-worker-0", reason="OfAnother", **times["c"])

    shown = place.qtj("events", "qcnn")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert rows(shown.stdout) == [
        ["Normal", "Restarting", "quantumtrainingjob/qcnn"],
        ["Normal", "Pulled", "pod/qcnn-worker-0"],
        ["Warning", "Scheduled", "pod/qcnn-inference-x7k2p"],
        ["Normal", "Created", "job/qcnn-inference"],
    ]


def test_a_long_name_leaves_the_columns_in_line(place: Place) -> None:
    name = f"{'q' * 40}-worker-0"
    uid = place.job("q" * 40)
    place.event("Pod", name, lastTimestamp=LATER, message="the message")
    place.event("QuantumTrainingJob", "q" * 40, uid, lastTimestamp=LATER, message="the message")

    heading, *lines = place.qtj("events", "q" * 40).stdout.splitlines()

    assert [line.index("the message") for line in lines] == [heading.index("MESSAGE")] * 2


def test_events_of_an_earlier_job_of_the_name_are_left_out(place: Place) -> None:
    place.event("Pod", "qcnn-worker-0", reason="Killing", lastTimestamp="2020-01-01T12:00:00Z")
    place.event("QuantumTrainingJob", "qcnn", "uid-of-an-earlier-job", lastTimestamp=LATER)
    place.job()

    assert place.qtj("events", "qcnn").stdout.startswith("qcnn has no events: the API server keeps them for one hour")


def test_an_event_of_the_newer_api_has_a_time_and_a_count(place: Place) -> None:
    series = {"count": 7, "lastObservedTime": "2100-01-01T12:00:00.000000Z"}
    newer: dict[str, Any] = {"eventTime": "2100-01-01T11:00:00.000000Z", "series": series, "action": "Binding"}
    uid = place.job()
    place.event("QuantumTrainingJob", "qcnn", uid, reportingInstance="one", **newer)

    assert place.qtj("events", "qcnn").stdout.splitlines()[1].startswith("0s (x7)      Normal   Restarting")


def test_an_event_of_the_newer_api_that_happens_again_is_followed() -> None:
    """The scheduler writes such ones for a pod that finds no node."""
    known: set[str] = set()
    looks = [{"metadata": {"name": "a"}, "series": {"count": count}} for count in (2, 2, 3)]

    assert [list(new_events([event], known)) for event in looks] == [[looks[0]], [], [looks[2]]]


def test_programs_read_a_list_of_events(place: Place) -> None:
    place.event("QuantumTrainingJob", "qcnn", place.job(), lastTimestamp=LATER)

    (found,) = json.loads(place.qtj("events", "qcnn", "-o", "json").stdout)["items"]

    assert (found["kind"], found["reason"]) == ("Event", "Restarting")
    assert place.qtj("events", "qcnn", "-o", "name").stdout == f"{found['metadata']['name']}\n"


def test_events_are_followed_until_the_job_has_finished(place: Place) -> None:
    uid = place.job(status={"phase": "Running"})
    following = place.start("events", "qcnn", "-w")
    assert following.stdout is not None
    headings = following.stdout.readline()

    place.event("QuantumTrainingJob", "qcnn", uid, reason="WeightsStored", lastTimestamp=LATER)
    stored = following.stdout.readline()
    place.event("QuantumTrainingJob", "qcnn", uid, reason="InferenceDone", lastTimestamp=LATER)
    place.sets(phase="Complete")
    rest, errors = rest_of(following)

    assert headings.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "WeightsStored" in stored
    assert (following.returncode, errors) == (0, "")
    assert rest.splitlines()[0].split()[2] == "InferenceDone"
