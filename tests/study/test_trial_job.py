"""The job of a trial: how values and the seed reach the program."""

import json
from typing import Any

from qtj_operator.api.digest import spec_digest
from qtj_operator.api.names import API_VERSION
from qtj_operator.manifests.trial import misspelt_reference, trial_job
from tests.study.studies import study

STUDY = {"name": "rates", "namespace": "default"}


def template(*args: str, **container: Any) -> dict[str, Any]:
    main = {"name": "trainer", "image": "toy:1", "args": list(args), **container}
    return {"artifacts": {"uri": "gs://bucket/rates/"}, "template": {"spec": {"containers": [main]}}}


def container(job: dict[str, Any]) -> Any:
    return job["spec"]["template"]["spec"]["containers"][0]


def test_a_value_is_an_argument_and_replaces_the_one_of_the_template() -> None:
    job = trial_job(STUDY, template("train", "--learning-rate=1", "--seed", "7"), 3, {"learning_rate": 0.03}, 2)

    assert container(job)["args"] == ["train", "--learning-rate=0.03", "--seed", "2"]


def test_an_argument_that_the_template_lacks_is_added() -> None:
    job = trial_job(STUDY, template("train"), 3, {"rate": 1e-05, "exact": True, "kind": "a b"}, 0)

    assert container(job)["args"] == ["train", "--rate=1e-05", "--exact=true", "--kind=a b", "--seed=0"]


def test_a_value_takes_the_place_of_its_reference_and_is_no_argument_then() -> None:
    written = template("${depth}", env=[{"name": "RATE", "value": "r=${rate}"}])

    job = trial_job(STUDY, written, 3, {"rate": 0.1, "depth": 2}, None)

    assert container(job)["args"] == ["2"]
    assert container(job)["env"][0] == {"name": "RATE", "value": "r=0.1"}
    assert "${depth}" in str(written), "the template stays as it was"


def test_a_program_in_python_gets_all_values_with_their_types() -> None:
    job = trial_job(STUDY, template(), 3, {"rate": 0.1, "exact": False}, 4)

    variable, study = container(job)["env"]
    assert variable["name"] == "QTJ_PARAMETERS"
    assert json.loads(variable["value"]) == {"rate": 0.1, "exact": False, "seed": 4}
    assert study["name"] == "QTJ_STUDY"
    assert json.loads(study["value"])["name"] == "rates"


def test_a_study_that_is_applied_again_has_trials_of_the_same_spec() -> None:
    """`reusePolicy: SameSpec` finds their results by the digest of the spec."""
    first, again, other = (
        trial_job(study, template("train"), 3, {"rate": 0.1}, 0)
        for study in ({**STUDY, "uid": "1"}, {**STUDY, "uid": "2"}, {**STUDY, "name": "others"})
    )

    assert spec_digest(first["spec"]) == spec_digest(again["spec"]) != spec_digest(other["spec"])


def test_a_trial_is_named_by_study_and_number_and_has_a_folder_of_its_own() -> None:
    job = trial_job(STUDY, template(), 3, {"rate": 0.1}, None)

    assert job["apiVersion"] == API_VERSION
    assert job["metadata"]["name"] == "rates-3"
    assert job["metadata"]["labels"] == {"quantumtraining.dev/study": "rates", "quantumtraining.dev/trial": "3"}
    assert job["spec"]["artifacts"] == {"uri": "gs://bucket/rates/3"}


def test_a_variable_of_a_shell_stays_and_a_misspelt_parameter_is_found() -> None:
    job = trial_job(STUDY, template("echo ${HOME}"), 3, {"learning-rate": 0.1}, None)

    assert container(job)["args"][0] == "echo ${HOME}"
    assert misspelt_reference(study(jobTemplate=template("${HOME}"))) is None
    assert misspelt_reference(study(jobTemplate=template("${learning-rat}"))) == ("learning-rat", "learning-rate")
