"""`qtj report STUDY -n NAMESPACE`: the table of a study on a cluster is that of one on this machine."""

import json
from pathlib import Path

import pytest

from qtj.studies.content import study_content
from qtj.studies.words import study_text
from qtj_operator.api.study_status import StudyPhase, StudyStatus
from tests.cli.fake_api import FakeApi
from tests.cli.qtj import qtj
from tests.local.laptop import REPOSITORY
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
def api(api: FakeApi) -> FakeApi:
    spec = study().model_dump(mode="json", by_alias=True, exclude_none=True)
    api.objects[STUDIES, "rates"] = {"metadata": {"name": "rates"}, "spec": spec, "status": STATUS.to_dict()}
    return api


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


@pytest.mark.timeout(120)
def test_a_study_of_a_file_is_submitted_once_and_with_more_seeds_again(api: FakeApi, folder: Path) -> None:
    text = (REPOSITORY / "examples/studies/learning-rate.yaml").read_text()
    (folder / "study.yaml").write_text(text)

    first = qtj("submit", "study.yaml")
    more = qtj("submit", "study.yaml", "--set", "spec.seeds.count=6", "-n", "lab")

    assert (first.code, first.sentences) == (0, ["learning-rate has 15 trials"])
    assert first.output == (
        "learning-rate is submitted to namespace lab: `kubectl get qts learning-rate -n lab -w` follows it\n"
    )
    assert (more.code, more.sentences) == (0, ["learning-rate has 18 trials"])
    assert api.asked == [("PATCH", STUDIES, True), ("PATCH", STUDIES, False)] * 2
    assert api.objects[STUDIES, "learning-rate"]["spec"]["seeds"] == {"count": 6}


@pytest.mark.timeout(120)
def test_what_is_wrong_with_a_study_is_said_before_a_cluster_is_asked(api: FakeApi, folder: Path) -> None:
    text = (REPOSITORY / "examples/studies/learning-rate.yaml").read_text()
    (folder / "study.yaml").write_text(text.replace("count: 5", "count: 0"))
    (folder / "two.yaml").write_text(f"{text}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: data}}\n")

    wrong, two, followed = qtj("submit", "study.yaml"), qtj("submit", "two.yaml"), qtj("submit", "two.yaml", "--follow")

    assert (wrong.code, two.code, followed.code) == (2, 2, 2)
    assert "spec.seeds.count: 0 is too small" in wrong.errors
    what = "this has also ConfigMap data, and qtj submit sends jobs and studies alone"
    assert two.sentences == [f"two.yaml: {what}: use kubectl apply -f two.yaml"]
    assert api.asked == []
