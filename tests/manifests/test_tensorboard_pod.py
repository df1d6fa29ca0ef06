"""What `spec.tensorboard` says of the pod of TensorBoard, for policies and nodes of a cluster."""

from typing import Any

import pytest
from pydantic import ValidationError

from qtj_operator.api.names import LABEL_JOB, LABEL_TENSORBOARD
from qtj_operator.api.tensorboard import TensorBoard
from qtj_operator.manifests.tensorboard import BUILT, deployment_spec, tensorboard_service
from tests.jobs import a_job, a_template


def template(**fields: Any) -> dict[str, Any]:
    board = TensorBoard.model_validate(fields)
    built: dict[str, Any] = deployment_spec(a_job(), board, "board:1")["template"]
    return built


def test_its_pod_gets_labels_and_annotations_but_none_of_ours_is_replaced() -> None:
    labels = {"cost-center": "4711", LABEL_TENSORBOARD: "other", LABEL_JOB: "other", "app.kubernetes.io/part-of": "x"}
    meta = template(labels=labels, annotations={"team": "vision", BUILT: "none"})["metadata"]

    assert meta["labels"]["cost-center"] == "4711"
    assert meta["labels"][LABEL_TENSORBOARD] == meta["labels"]["app.kubernetes.io/part-of"] == "qcnn"
    assert LABEL_JOB not in meta["labels"]
    assert meta["annotations"]["team"] == "vision"
    assert meta["annotations"][BUILT] != "none"


def test_its_pod_is_placed_as_written() -> None:
    placed = {
        "nodeSelector": {"pool": "cheap"},
        "tolerations": [{"key": "team", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        "priorityClassName": "low",
    }

    assert placed.items() <= template(**placed)["spec"].items()
    assert not placed.keys() & template()["spec"].keys()


def test_its_service_account_is_its_own_or_that_of_the_leading_replica() -> None:
    theirs = a_job(template=a_template(serviceAccountName="trainer"))

    def account(**fields: Any) -> Any:
        spec = deployment_spec(theirs, TensorBoard.model_validate(fields), "board:1")["template"]["spec"]
        assert spec["automountServiceAccountToken"] is False
        return spec["serviceAccountName"]

    assert account() == "trainer"
    assert account(serviceAccountName="reader") == "reader"
    assert "serviceAccountName" not in template()["spec"]


def test_its_service_gets_its_annotations_alone() -> None:
    board = TensorBoard.model_validate({"serviceAnnotations": {"lb/internal": "true"}, "annotations": {"a": "b"}})

    assert tensorboard_service(a_job(), board)["metadata"]["annotations"] == {"lb/internal": "true"}


def test_each_field_changes_the_digest() -> None:
    fields: list[dict[str, Any]] = [{}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"tolerations": [{}]}]

    assert len({template(**each)["metadata"]["annotations"][BUILT] for each in fields}) == len(fields)


def test_a_mistake_in_a_toleration_is_refused() -> None:
    with pytest.raises(ValidationError):
        TensorBoard.model_validate({"tolerations": [{"effect": "Never"}]})
