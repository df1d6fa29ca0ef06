"""`qtj report STUDY -n NAMESPACE`: the table of a study on a cluster is that of one on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from qtj.studies.content import study_content
from qtj.studies.text import study_text
from qtj_operator.api.study_status import StudyPhase, StudyStatus
from tests.cli.fake_api import FakeApi, fake_api, use_kubeconfig
from tests.cli.qtj import qtj
from tests.study.studies import study, trial

STUDIES = "quantumtrainingstudies"
STATUS = StudyStatus(
    phase=StudyPhase.COMPLETE,
    trials=[
        trial(1, 0.01, 0, mse=0.2),
        trial(2, 0.1, 0, mse=0.4),
        trial(3, 0.01, 1, mse=0.3),
        trial(4, 0.1, 1, failed="no memory"),
    ],
)


@pytest.fixture
def api(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    use_kubeconfig(monkeypatch, folder / "kubeconfig")
    with fake_api(folder / "kubeconfig") as api:
        spec = study().model_dump(mode="json", by_alias=True, exclude_none=True)
        api.objects[STUDIES, "rates"] = {"metadata": {"name": "rates"}, "spec": spec, "status": STATUS.to_dict()}
        yield api


@pytest.mark.usefixtures("api")
def test_the_table_is_that_of_this_machine_and_a_failed_trial_has_the_name_of_its_job() -> None:
    answer = qtj("report", "rates", "-n", "lab")

    here = study_text(study_content("rates", study(), STATUS))
    assert (answer.code, answer.output.strip()) == (0, here.replace("rates/4 failed", "rates-4 failed"))


@pytest.mark.usefixtures("api")
def test_programs_get_its_points() -> None:
    found = json.loads(qtj("report", "rates", "-n", "lab", "-o", "json").output)

    assert [each["mean"] for each in found["status"]["points"]] == [pytest.approx(0.25), pytest.approx(0.4)]


def test_a_name_that_is_no_study_is_looked_for_among_jobs_also_without_the_right_to_read_studies(api: FakeApi) -> None:
    api.refusals["GET", STUDIES, False] = (403, "forbidden")

    answer = qtj("report", "rates", "-n", "lab")

    assert answer.code == 2
    assert answer.sentences == ["there is no job rates in namespace lab: `kubectl get qtj -A` lists all"]


def test_a_study_that_can_never_run_is_a_sentence(api: FakeApi) -> None:
    api.objects[STUDIES, "rates"]["spec"]["parameters"] = []

    answer = qtj("report", "rates", "-n", "lab")

    assert (answer.code, answer.sentences) == (
        2,
        ["the study rates cannot be read: `kubectl describe qts rates` says why"],
    )
