"""A study on a cluster, from Python, with an API server that has one answer for each request."""

import re
from pathlib import Path
from typing import Any

import pytest

import qtj
from qtj.studies import on_cluster as study_on_cluster
from qtj_operator.api.study_status import StudyPhase, StudyStatus
from tests.cli.fake_api import JOBS, MAPS, FakeApi
from tests.study.studies import trial

STUDIES = "quantumtrainingstudies"
ENDED = [trial(1, 0.1, 0, mse=0.2), trial(2, 0.2, 0, mse=0.4), trial(3, 0.1, 1, mse=0.3), trial(4, 0.2, 1, mse=0.5)]


def submitted(namespace: str | None = None) -> qtj.StudyHandle:
    job = qtj.Job.from_program("train.py")
    study = qtj.Study(job, {"learning-rate": [0.1, 0.2]}, seeds=2, metric="mse", name="rates")
    return study.submit(artifacts="pvc://results", namespace=namespace)


def report(api: FakeApi, phase: StudyPhase) -> None:
    status = StudyStatus(phase=phase, trials=ENDED, message="too many" if phase == StudyPhase.FAILED else None)
    api.objects[STUDIES, "rates"]["status"] = status.to_dict()


def test_a_study_of_a_program_is_sent_with_its_config_map_which_it_owns(api: FakeApi) -> None:
    found = submitted("research")

    (config, name), key = api.names
    study = api.objects[key]
    assert (config, key, found.name) == (MAPS, (STUDIES, "rates"), "rates")
    assert re.fullmatch("rates-study-[0-9a-f]{10}", name), "a job of the same program has its own"
    assert api.asked[:2] == [("PATCH", STUDIES, True), ("POST", MAPS, True)]
    assert study["metadata"]["namespace"] == "research"
    assert study["spec"]["jobTemplate"]["program"] == {"configMap": name, "entry": "train.py"}
    assert study["spec"]["seeds"] == {"count": 2}
    [owner] = api.objects[config, name]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("QuantumTrainingStudy", study["metadata"]["uid"])
    assert JOBS not in {kind for kind, _ in api.names}


def test_another_program_under_the_same_name_is_refused_and_the_same_one_is_sent_again(api: FakeApi) -> None:
    submitted()
    submitted()
    Path("train.py").write_text("print(2)\n")

    with pytest.raises(qtj.InputError, match=r"there is a study rates in namespace lab with another program: choose"):
        submitted()


def test_the_handle_has_table_and_best_and_waits(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    found = submitted()
    report(api, StudyPhase.RUNNING)
    with pytest.raises(qtj.NotFinishedError, match=r"rates has not finished within 0 s: it goes on"):
        found.wait(timeout=0)

    monkeypatch.setattr("qtj.python.study_handle.Event.wait", lambda *_: report(api, StudyPhase.COMPLETE))
    assert found.wait() is found

    assert [(row["learning-rate"], row["runs"], row["mean"]) for row in found.table()] == [
        (0.1, 2, pytest.approx(0.25)),
        (0.2, 2, pytest.approx(0.45)),
    ]
    assert found.phase == "Complete"
    assert len(found.trials()) == 4
    assert repr(found) == "<qtj.StudyHandle rates>"
    assert "rates is Complete" in found._repr_html_()


def test_waiting_outlasts_an_api_server_that_does_not_answer(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    found = submitted()
    report(api, StudyPhase.RUNNING)
    asked = study_on_cluster.study_on_cluster
    answers = iter([True, False, True])

    def sometimes(name: str, namespace: str | None) -> Any:
        if next(answers):
            return asked(name, namespace)
        report(api, StudyPhase.COMPLETE)
        raise qtj.InputError("the API server cannot be reached")

    monkeypatch.setattr(study_on_cluster, "study_on_cluster", sometimes)
    monkeypatch.setattr("qtj.python.study_handle.PERIOD_SECONDS", 0.01)
    assert found.wait() is found
    assert next(answers, None) is None


def test_a_study_that_fails_or_is_not_there_is_said(api: FakeApi) -> None:
    found = submitted()
    report(api, StudyPhase.FAILED)

    with pytest.raises(qtj.StudyFailedError, match="rates is Failed"):
        found.wait()
    with pytest.raises(
        qtj.InputError, match=r"there is no study others in namespace lab, or you may not read it: `kubectl get qts -A`"
    ):
        print(qtj.StudyHandle("others", "lab").best)


def test_a_study_with_a_mistake_is_not_sent(api: FakeApi) -> None:
    study = qtj.Study(qtj.Job.from_program("train.py"), {"rate": [1]}, spec={"search": {"algorithm": "TPE"}})

    with pytest.raises(qtj.InputError, match=r"write spec\.maxTrials"):
        study.submit(artifacts="pvc://results")

    assert api.asked == []
