"""The pod of a replica: the user's template, completed where it is silent and never overruled."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_contract import Env
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.api.status import WeightsStatus
from qtj_operator.api.template import read_template
from qtj_operator.controller.parse import parse_pod
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import pod_template, replica_pod
from qtj_operator.manifests.probe import probe_pod
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from tests.jobs import JOB_UID, a_container, a_job, a_template

WEIGHTS = WeightsStatus(uri="gs://lab-bucket/w", sha256="ab" * 32)


def pod(*containers: dict[str, Any], attempt: int = 1, metadata: object = None, **spec: Any) -> dict[str, Any]:
    """The pod of worker 0 whose template has these containers and pod fields."""
    template = {**a_template(*containers, **spec), **({"metadata": metadata} if metadata else {})}
    job = a_job(template=template)
    return replica_pod(job, job.leader, attempt)


def main(**fields: Any) -> dict[str, Any]:
    """The only container of a pod whose template gives it these fields."""
    (container,) = pod(a_container(**fields))["spec"]["containers"]
    return dict(container)


def env(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def ports(container: dict[str, Any]) -> list[tuple[str | None, int]]:
    return [(port.get("name"), port["containerPort"]) for port in container["ports"]]


def test_a_program_gets_its_job_and_all_addresses() -> None:
    job = a_job(circuit={"qubits": 8}, profiler={"port": 6009})

    (container,) = replica_pod(job, job.leader, attempt=4)["spec"]["containers"]

    environment = env(container)
    assert (environment[Env.JOB], environment[Env.JOB_UID], environment[Env.ATTEMPT]) == ("qcnn", JOB_UID, "4")
    assert (environment[Env.ARTIFACTS_URI], environment[Env.QUBITS]) == ("gs://lab-bucket/qcnn", "8")
    assert (environment[Env.PROFILER_PORT], environment[Env.METRICS_PORT]) == ("6009", "2224")
    assert environment[Env.TERMINATION_LOG] == "/dev/termination-log"


def test_a_program_gets_everything_that_its_job_specifies_of_the_circuit() -> None:
    job = a_job(circuit={"qubits": 8, "filters": 3, "precision": "double", "engineDevice": "auto"})

    (container,) = replica_pod(job, job.leader, attempt=1)["spec"]["containers"]

    environment = env(container)
    assert (environment[Env.QUBITS], environment[Env.FILTERS], environment[Env.PRECISION]) == ("8", "3", "double")
    assert environment[Env.ENGINE_DEVICE] == "auto"


@pytest.mark.parametrize(
    ("circuit", "silent"),
    [
        (None, {Env.QUBITS, Env.FILTERS, Env.PRECISION, Env.ENGINE_DEVICE}),
        ({"qubits": 8}, {Env.FILTERS, Env.PRECISION, Env.ENGINE_DEVICE}),
    ],
)
def test_a_program_gets_nothing_that_its_job_leaves_out(circuit: dict[str, Any] | None, silent: set[Env]) -> None:
    job = a_job(circuit=circuit)

    (container,) = replica_pod(job, job.leader, attempt=1)["spec"]["containers"]

    assert not silent & env(container).keys()


def test_the_program_gets_the_path_of_its_termination_message() -> None:
    assert env(main(terminationMessagePath="/tmp/word"))[Env.TERMINATION_LOG] == "/tmp/word"


def test_a_users_variable_may_refer_to_ours_for_ours_come_first() -> None:
    mine = {"name": "RUN", "value": "$(QTJ_JOB)-$(QTJ_ATTEMPT)"}

    names = [variable["name"] for variable in main(env=[mine])["env"]]

    assert names.index("QTJ_JOB") < names.index("RUN")


@given(st.lists(st.sampled_from(["A", "B", "QTJ_JOB", "TF_CONFIG", "QTJ_TERMINATION_LOG"]), max_size=5))
def test_a_users_variables_all_stay_and_win(names: list[str]) -> None:
    theirs = [{"name": name, "value": f"mine-{at}"} for at, name in enumerate(names)]

    built = main(env=theirs)["env"]

    assert built[len(built) - len(theirs) :] == theirs
    assert len([v for v in built if v["name"] in names]) == len(names), "and no second value beside theirs"
    assert {"A", "B"} - set(names) == {"A", "B"} - {v["name"] for v in built}


def test_a_variable_from_a_secret_stays() -> None:
    secret = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}

    assert main(env=[secret])["env"][-1] == secret


def test_every_container_gets_the_environment_and_only_the_program_the_ports() -> None:
    built = pod(a_container(name="proxy"), a_container(), initContainers=[a_container(name="data")])["spec"]

    proxy, trainer = built["containers"]
    assert all(env(c)["QTJ_JOB"] == "qcnn" for c in (proxy, trainer, *built["initContainers"]))
    assert "ports" not in proxy
    assert ports(trainer) == [("grpc", 2222), ("profiler", 2223), ("metrics", 2224)]


def test_a_port_that_the_user_declares_is_not_declared_again() -> None:
    theirs = [{"name": "tf", "containerPort": 2222}, {"containerPort": 8888}]

    assert ports(main(ports=theirs)) == [("tf", 2222), (None, 8888), ("profiler", 2223), ("metrics", 2224)]


def test_a_port_name_that_the_user_has_taken_is_not_given_twice() -> None:
    theirs = [{"name": "metrics", "containerPort": 9090}]

    assert ports(main(ports=theirs)) == [("metrics", 9090), ("grpc", 2222), ("profiler", 2223), (None, 2224)]


def test_a_users_labels_and_annotations_stay() -> None:
    built = pod(metadata={"labels": {"team": "quantum"}, "annotations": {"note": "mine"}})["metadata"]

    assert built["labels"]["team"] == "quantum"
    assert built["annotations"] == {"note": "mine"}


def test_the_labels_by_which_the_pod_is_found_cannot_be_replaced() -> None:
    built = pod(metadata={"labels": {"quantumtraining.dev/job": "other"}}, attempt=2)["metadata"]

    assert built["labels"]["quantumtraining.dev/job"] == "qcnn"
    assert built["labels"]["quantumtraining.dev/attempt"] == "2"


def test_a_pod_belongs_to_its_job_so_that_it_is_deleted_with_it() -> None:
    (owner,) = pod()["metadata"]["ownerReferences"]

    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "QuantumTrainingJob",
        "qcnn",
        JOB_UID,
        True,
    )


def test_a_pod_is_called_the_same_in_every_attempt() -> None:
    assert pod(attempt=1)["metadata"]["name"] == pod(attempt=9)["metadata"]["name"] == "qcnn-worker-0"


def test_a_pod_meets_the_restricted_security_standard() -> None:
    spec = pod(initContainers=[a_container(name="data")])["spec"]

    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }


def test_what_the_user_says_of_security_stays() -> None:
    theirs = {"allowPrivilegeEscalation": True, "capabilities": {"add": ["IPC_LOCK"]}, "runAsUser": 1000}
    built = pod(a_container(securityContext=theirs), securityContext={"runAsNonRoot": False, "fsGroup": 7})["spec"]

    assert built["containers"][0]["securityContext"] == theirs
    assert built["securityContext"] == {
        "runAsNonRoot": False,
        "fsGroup": 7,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_no_api_token_enters_the_pod_unless_the_user_wants_it() -> None:
    assert pod()["spec"]["automountServiceAccountToken"] is False
    assert pod(automountServiceAccountToken=True)["spec"]["automountServiceAccountToken"] is True


def test_the_kubelet_restarts_nothing_for_the_operator_does() -> None:
    assert pod()["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("field", ["securityContext", "env", "ports", "volumeMounts", "terminationMessagePath"])
def test_a_container_field_without_a_value_counts_as_left_out(field: str) -> None:
    assert {**main(), **main(**{field: None}), field: main().get(field)} == {**main(), field: main().get(field)}
    assert env(main(**{field: None})) == env(main())


@pytest.mark.parametrize("field", ["securityContext", "initContainers"])
def test_a_pod_field_without_a_value_counts_as_left_out(field: str) -> None:
    empty: dict[str, Any] = {field: None}

    assert pod(**empty)["spec"]["containers"] == pod()["spec"]["containers"]
    assert pod(**empty)["spec"]["securityContext"] == pod()["spec"]["securityContext"]


@pytest.mark.parametrize("metadata", [{"labels": None, "annotations": None}, {"creationTimestamp": None}])
def test_metadata_without_a_value_counts_as_left_out(metadata: dict[str, None]) -> None:
    assert pod(metadata=metadata)["metadata"] == pod()["metadata"]


templates = st.fixed_dictionaries(
    {},
    optional={
        "env": st.lists(st.fixed_dictionaries({"name": st.sampled_from("ABC"), "value": st.text()})),
        "ports": st.lists(st.fixed_dictionaries({"containerPort": st.sampled_from([80, 2222, 2224])})),
        "securityContext": st.none() | st.fixed_dictionaries({}, optional={"runAsUser": st.integers(0, 9)}),
        "args": st.lists(st.text()),
    },
)


@given(container=templates, security=st.none() | st.just({"fsGroup": 1}), args=st.none() | st.lists(st.text()))
def test_the_users_template_is_never_touched(
    container: dict[str, Any], security: object, args: list[str] | None
) -> None:
    template = a_template(a_container(**container), securityContext=security, initContainers=[a_container(name="i")])
    job = a_job(template=template, inference={"args": args} if args is not None else {})
    before = deepcopy(job)
    assert job.inference is not None

    replica_pod(job, job.leader, 1)
    inference_job(job, job.inference, WEIGHTS)

    assert job == before


@given(container=templates)
def test_nothing_of_the_users_container_is_lost(container: dict[str, Any]) -> None:
    given_ = a_container(**container)

    (built,) = pod_template(read_template(a_template(given_)), {})["spec"]["containers"]

    assert built.keys() >= given_.keys()
    assert {key: built[key] for key in ("name", "image")} == {key: given_[key] for key in ("name", "image")}
    assert built.get("args") == given_.get("args")


SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}


def contexts(
    container: dict[str, Any], pod: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The security contexts of a pod, of its init container as its author wrote it, and of its main container."""
    init = a_container(name="chown", securityContext=container)
    built = pod_template(read_template(a_template(initContainers=[init], securityContext=pod or {})), {})["spec"]
    return (
        built["securityContext"],
        built["initContainers"][0]["securityContext"],
        built["containers"][0]["securityContext"],
    )


def starts(pod: dict[str, Any], container: dict[str, Any]) -> bool:
    """Whether an API server accepts the container, and a kubelet starts it, by their own rules (Kubernetes 1.34)."""
    user = container.get("runAsUser", pod.get("runAsUser"))
    non_root = container.get("runAsNonRoot", pod.get("runAsNonRoot"))
    confined = container.get("allowPrivilegeEscalation") is False
    added = container.get("capabilities", {}).get("add", ())
    refused = confined and (container.get("privileged") or "CAP_SYS_ADMIN" in added)
    return not refused and not (user == 0 and non_root)


def test_an_author_who_writes_nothing_gets_all_defaults() -> None:
    pod, init, main = contexts({})

    assert (pod, init, main) == ({"runAsNonRoot": True, **SECCOMP}, SAFE, SAFE)


@pytest.mark.parametrize("pod", [{}, {"runAsUser": 0}, {"runAsUser": 1000}, {"runAsNonRoot": False}])
@pytest.mark.parametrize(
    "container",
    [
        {},
        {"runAsUser": 0},
        {"runAsUser": 1000},
        {"privileged": True},
        {"privileged": True, "runAsUser": 0},
        {"capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        {"runAsUser": 0, "runAsNonRoot": False},
    ],
)
def test_whatever_an_author_asks_for_the_container_starts(pod: dict[str, Any], container: dict[str, Any]) -> None:
    of_pod, init, main = contexts(container, pod)

    assert starts(of_pod, init)
    assert starts(of_pod, main)
    assert {**init, **container} == init, "what the author wrote stays"
    assert {**of_pod, **pod} == of_pod


def test_root_in_one_container_takes_nothing_from_the_others() -> None:
    pod, init, main = contexts({"runAsUser": 0})

    assert pod == {"runAsNonRoot": True, **SECCOMP}
    assert init == {"runAsUser": 0, "runAsNonRoot": False, "allowPrivilegeEscalation": False}, "it may change owners"
    assert main == SAFE


def test_a_privileged_container_may_run_as_the_root_of_its_image() -> None:
    _, init, main = contexts({"privileged": True})

    assert (init, main) == ({"privileged": True, "runAsNonRoot": False}, SAFE)


def test_a_pod_that_runs_as_root_is_not_forbidden_to() -> None:
    pod, init, main = contexts({"runAsUser": 1000}, {"runAsUser": 0})

    assert pod == {"runAsUser": 0, **SECCOMP}
    assert init == {"runAsUser": 1000, **SAFE}
    assert main == {"allowPrivilegeEscalation": False, "runAsNonRoot": False}


REQUESTS = {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}
HOOK = {"postStart": {"exec": {"command": ["notify"]}}}
WORKER = ReplicaId(Role.WORKER, 2)


def job() -> Any:
    program = a_container(command=["python", "train.py"], args=["--lr=1"], lifecycle=HOOK, resources=REQUESTS)
    first = {"name": "fetch", "image": "registry.example/fetch:1", "command": ["fetch"], "resources": REQUESTS}
    spec: dict[str, Any] = {"initContainers": [first], "nodeSelector": {"pool": "spot"}, "priorityClassName": "low"}
    return a_job(workers=2, template=a_template(program, **spec))


def test_it_fits_where_the_replica_would() -> None:
    probe, replica = probe_pod(job(), WORKER, 3)["spec"], replica_pod(job(), WORKER, 3)["spec"]

    apart = {"containers", "initContainers", "terminationGracePeriodSeconds"}
    assert {k: v for k, v in probe.items() if k not in apart} == {k: v for k, v in replica.items() if k not in apart}
    assert [each["resources"] for each in (*probe["containers"], *probe["initContainers"])] == [REQUESTS, REQUESTS]


def test_it_runs_nothing_of_the_user() -> None:
    spec = probe_pod(job(), WORKER, 3)["spec"]

    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["command"] == ["true"]
        assert container.keys().isdisjoint({"args", "env", "lifecycle", "ports"})


def test_it_is_known_by_its_label() -> None:
    built = probe_pod(job(), WORKER, 3)

    pod = parse_pod({**built, "metadata": {**built["metadata"], "uid": "u", "resourceVersion": "1"}, "status": {}})

    assert (pod.name, pod.replica, pod.attempt, pod.probe) == ("qcnn-worker-2", WORKER, 3, True)


@pytest.mark.parametrize(("policy", "seconds"), [({"progressDeadlineSeconds": 60}, 60), ({}, None)])
def test_a_replica_is_told_its_deadline(policy: dict[str, int], seconds: int | None, tmp_path: Path) -> None:
    job = a_job(workers=2, runPolicy=policy)
    [container] = replica_pod(job, ReplicaId(Role.WORKER, 1), 1)["spec"]["containers"]
    told = {each["name"]: each["value"] for each in container["env"]}

    name = Env.PROGRESS_DEADLINE
    replica = Replica.join({name: told[name]} if name in told else {}, Stop(), str(tmp_path))

    assert replica.telemetry.clock.deadline == seconds
