"""A pod template is read once, and stays as its author wrote it."""

from copy import deepcopy
from typing import Any

import pytest

from qtj_operator.api.names import Role
from qtj_operator.api.template import PodTemplate, read_template
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_container, a_job, a_template

NULLS: dict[str, Any] = {
    "metadata": None,
    "spec": {
        "containers": [
            {
                "name": "trainer",
                "image": "qtj-trainer",
                "env": None,
                "ports": None,
                "volumeMounts": None,
                "resources": None,
                "securityContext": None,
                "ofALaterVersion": {"a": None},
            }
        ],
        "initContainers": None,
        "volumes": None,
        "securityContext": None,
        "restartPolicy": None,
    },
}


def test_what_is_null_reads_as_left_out_and_stays_null() -> None:
    before = deepcopy(NULLS)
    read = read_template(NULLS)
    main = read.spec.main

    assert (main.env, main.ports, main.volume_mounts, main.resources.limits, main.security_context) == (
        [],
        [],
        [],
        {},
        {},
    )
    assert (read.spec.init_containers, read.spec.volumes, read.metadata.labels) == ([], [], {})
    assert read.written == before


def test_a_spec_keeps_its_template_as_it_was_written() -> None:
    job = a_job(template=NULLS)

    assert job.template(Role.WORKER).written == NULLS
    assert job.spec.model_dump(by_alias=True)["template"] == NULLS


def test_a_pod_is_built_without_a_change_to_the_template() -> None:
    template = a_template(
        a_container(env=[{"name": "A", "valueFrom": {"fieldRef": {}}}], ports=[{"containerPort": 80}]), volumes=[]
    )
    before = deepcopy(template)
    job = a_job(template=template)

    built = replica_pod(job, job.leader, 1)
    built["spec"]["containers"][0]["env"][-1]["valueFrom"]["fieldRef"] = {"fieldPath": "spec.nodeName"}
    built["spec"]["containers"][0]["ports"][0]["containerPort"] = 81

    assert job.template(Role.WORKER).written == before


@pytest.mark.parametrize(
    ("volume", "kind"),
    [({}, "emptyDir"), ({"emptyDir": None}, "emptyDir"), ({"nfs": {"server": "a"}}, "nfs"), ({"later": {}}, "later")],
)
def test_a_volume_has_the_kind_of_its_source(volume: dict[str, Any], kind: str) -> None:
    read = read_template(a_template(volumes=[{"name": "data", **volume}]))

    assert read.spec.volumes[0].kind == kind


def test_a_template_that_was_read_is_not_read_again() -> None:
    read = read_template(NULLS)

    assert PodTemplate.model_validate(read) is read
    assert read.written == NULLS


@pytest.mark.parametrize(
    ("image", "command", "ours"),
    [
        ("registry:5000/a/qtj-trainer:0.2.0", None, True),
        ("qtj-trainer@sha256:00", None, True),
        ("qtj-trainer", ["python"], False),
        ("other/qtj-trainer-2", None, False),
    ],
)
def test_the_trainer_is_known_by_its_image_unless_a_command_replaces_it(
    image: str, command: list[str] | None, *, ours: bool
) -> None:
    container = a_container(image=image, **({"command": command} if command else {}))

    assert read_template(a_template(container)).spec.main.is_trainer == ours
