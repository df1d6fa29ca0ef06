"""Reading an object: what its missing fields mean, and what is refused although the API server stored it."""

from typing import Any
from unittest.mock import Mock

import pytest

from qtj_operator.api import reading
from qtj_operator.api.digest import spec_digest
from qtj_operator.api.indexes import format_indexes, parse_indexes
from qtj_operator.api.job import Job, ReplicaId, is_managed_elsewhere, main_container
from qtj_operator.api.names import Role
from qtj_operator.api.reading import InvalidJob
from qtj_operator.api.spec import IMMUTABLE
from qtj_operator.api.status import Status
from tests.jobs import a_container, a_job, a_template, job_object, stored_job

NO_BUCKET = (
    "names no valid bucket: write gs://BUCKET/PATH, where BUCKET has 3 to 222 lowercase letters, digits, dots, - and "
    "_, and begins and ends with a letter or a digit, and PATH has no line break"
)
NO_WEIGHTS = "must begin with gs:// or file:///, or be a path below artifacts.uri: write for example weights.h5"
LEADS_OUT = "must not lead out of its folder with ..: write the whole address, which begins with gs:// or file:///"


def refusal(**spec: Any) -> str:
    with pytest.raises(InvalidJob) as refused:
        Job.parse(stored_job(**spec))
    return str(refused.value)


def template_refusal(**container: Any) -> str:
    return refusal(template=a_template(a_container(**container)))


def test_a_small_job_is_read_whole() -> None:
    job = Job.parse(stored_job(name="qcnn", namespace="lab"))

    assert (job.name, job.namespace, job.generation, job.deleting) == ("qcnn", "lab", 1, False)
    assert job.spec.artifacts.uri == "gs://lab-bucket/qcnn"
    assert job.status == Status()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"replicaSpecs": {"Worker": {"replicas": "2"}}},
            "spec.replicaSpecs.Worker.replicas: this has to be a whole number, without quotes",
        ),
        (
            {"replicaSpecs": {"Worker": {"replicas": 0}}},
            "spec.replicaSpecs.Worker.replicas: 0 is too small: this has to be at least 1",
        ),
        ({"replicaSpecs": {}}, "spec.replicaSpecs: name at least one role: Worker or Chief"),
        ({"replicaSpecs": {"Chief": {"replicas": 2}}}, "spec.replicaSpecs.Chief: a job has at most one Chief"),
        (
            {"artifacts": {"uri": "s3://bucket/run"}},
            "spec.artifacts.uri: must begin with gs:// (a bucket) or file:/// (a volume that every replica mounts)",
        ),
        (
            {"artifacts": {"uri": "file://relative"}},
            "spec.artifacts.uri: must begin with gs:// (a bucket) or file:/// (a volume that every replica mounts)",
        ),
        ({"artifacts": {"uri": "gs:///run"}}, f"spec.artifacts.uri: {NO_BUCKET}"),
        ({"artifacts": {"uri": "gs://b/run"}}, f"spec.artifacts.uri: {NO_BUCKET}"),
        ({"artifacts": {"uri": "gs://A_B/run"}}, f"spec.artifacts.uri: {NO_BUCKET}"),
        ({"artifacts": {"uri": "gs://bucket/run\n"}}, f"spec.artifacts.uri: {NO_BUCKET}"),
        ({"artifacts": None}, "spec.artifacts: this field is missing"),
        *(
            ({"artifacts": {"uri": "gs://bucket/run", "weights": weights}}, f"spec.artifacts.weights: {sentence}")
            for weights, sentence in (
                ("/mnt/w.h5", NO_WEIGHTS),
                ("s3://bucket/w.h5", NO_WEIGHTS),
                ("file://w.h5", NO_WEIGHTS),
                ("gs://b/w.h5", NO_BUCKET),
                ("../w.h5", LEADS_OUT),
                ("a/../../w.h5", LEADS_OUT),
                ("gs://bucket/run/..", LEADS_OUT),
                ("", "this is empty: write something here"),
            )
        ),
        (
            {"profiler": {"port": 2222}},
            "spec.profiler.port: port 2222 is taken by gRPC and 2224 by metrics: choose another",
        ),
        ({"profiler": {"port": 80}}, "spec.profiler.port: 80 is too small: this has to be at least 1024"),
        ({"circuit": {"qubits": 1}}, "spec.circuit.qubits: 1 is too small: this has to be at least 4"),
        ({"template": {}}, "spec.template.spec: this field is missing"),
        (
            {"template": {"spec": {"containers": []}}},
            "spec.template.spec.containers: this is empty: write something here",
        ),
        (
            {"template": a_template(restartPolicy="Always")},
            "spec.template.spec.restartPolicy: this has to be Never",
        ),
        (
            {"replicaSpecs": {"Worker": {"template": {"spec": {}}}}},
            "spec.replicaSpecs.Worker.template.spec.containers: this field is missing",
        ),
    ],
)
def test_a_spec_that_breaks_a_rule_is_refused_in_one_sentence(spec: dict[str, Any], sentence: str) -> None:
    assert refusal(**spec) == sentence


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"workers": 2}, "spec.workers"),
        ({"managed_by": "x"}, "spec.managed_by"),
        ({"runPolicy": {"backoff_limit": 1}}, "spec.runPolicy.backoff_limit"),
        ({"replicaSpecs": {"Worker": {"elastic": True}}}, "spec.replicaSpecs.Worker.elastic"),
    ],
)
def test_a_field_that_is_not_known_is_ignored_and_named(spec: dict[str, Any], path: str) -> None:
    assert Job.parse(stored_job(**spec)).ignored == (path,)


def test_a_job_that_has_started_is_read_without_the_values_that_are_not_known() -> None:
    policy = {"cleanPodPolicy": "Archive", "backoffLimit": 7, "elastic": True}
    job = Job.parse({**stored_job(runPolicy=policy), "status": {"attempt": 1}})

    assert (job.policy.clean_pod_policy, job.policy.backoff_limit) == (None, 7)
    assert set(job.ignored) == {"spec.runPolicy.cleanPodPolicy", "spec.runPolicy.elastic"}
    assert "cleanPodPolicy" in refusal(runPolicy=policy), "a new one is not started on a guess"


@pytest.mark.parametrize("weights", [".", "weights/", "a/.", "gs://bucket", "gs://bucket/"])
def test_weights_that_are_no_file_are_refused(weights: str) -> None:
    message = refusal(artifacts={"uri": "gs://bucket/run", "weights": weights})

    assert message == "spec.artifacts.weights: names a folder: write the address of the file, for example weights.h5"


def test_a_started_job_whose_template_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidJob, match=r"spec\.template"):
        Job.parse({**stored_job(template={"spec": {"containers": []}}), "status": {"attempt": 1}})


@pytest.mark.parametrize("field", IMMUTABLE)
def test_the_digest_is_of_what_cannot_be_changed(field: str) -> None:
    job = stored_job()
    other = {**job, "spec": {**job["spec"], field: {"another": "value"}}}

    assert spec_digest(other["spec"]) != spec_digest(job["spec"])
    assert spec_digest({**job["spec"], "runPolicy": {}, "inference": {}}) == spec_digest(job["spec"])


def test_a_null_in_a_template_is_as_good_as_nothing() -> None:
    """Client-side apply drops it, and server-side apply keeps it."""
    spec = stored_job()["spec"]
    container = {**a_container(), "args": None}

    assert spec_digest({**spec, "circuit": None, "template": a_template(container)}) == spec_digest(spec)


@pytest.mark.parametrize(
    ("container", "where"),
    [
        ({"env": [{"value": "x"}]}, "env[0].name"),
        ({"env": {"A": "x"}}, "env"),
        ({"ports": [8080]}, "ports[0]"),
        ({"volumeMounts": [{"name": "data"}]}, "volumeMounts[0].mountPath"),
        ({"securityContext": True}, "securityContext"),
        ({"resources": "16Gi"}, "resources"),
        ({"resources": {"limits": ["16Gi"]}}, "resources.limits"),
    ],
)
def test_a_slip_in_a_template_is_named_by_its_place(container: dict[str, Any], where: str) -> None:
    assert template_refusal(**container).startswith(f"spec.template.spec.containers[0].{where}: ")


def test_a_template_field_of_the_future_is_passed_on() -> None:
    job = a_job(template=a_template(a_container(resizePolicy=[{"resourceName": "cpu"}]), hostUsers=False))

    assert job.template(Role.WORKER).written["spec"]["hostUsers"] is False
    assert job.template(Role.WORKER).written["spec"]["containers"][0]["resizePolicy"] == [{"resourceName": "cpu"}]


@pytest.mark.parametrize("uri", ["gs://bucket", "gs://bucket/", "gs://my.bucket_1/a b/ü", "file:///mnt/runs"])
def test_an_artifacts_uri_may_be(uri: str) -> None:
    assert a_job(artifacts={"uri": uri}).spec.artifacts.uri == uri


@pytest.mark.parametrize(
    ("uri", "weights", "address"),
    [
        ("gs://bucket/run", "w.h5", "gs://bucket/run/w.h5"),
        ("gs://bucket/run/", "a..b/..w.h5", "gs://bucket/run/a..b/..w.h5"),
        ("file:///mnt/runs", "w.h5", "file:///mnt/runs/w.h5"),
        ("gs://bucket/run", "gs://other/w.h5", "gs://other/w.h5"),
        ("gs://bucket/run", "file:///mnt/w.h5", "file:///mnt/w.h5"),
        ("gs://bucket/run", None, None),
    ],
)
def test_weights_that_the_spec_names_lie_below_the_artifacts_or_where_their_whole_address_says(
    uri: str, weights: str | None, address: str | None
) -> None:
    artifacts = {"uri": uri} if weights is None else {"uri": uri, "weights": weights}

    assert a_job(artifacts=artifacts).named_weights == address


def test_what_is_left_out_has_a_meaning() -> None:
    job = a_job()

    assert job.profiler_port == 2223
    assert job.backoff_limit == 3
    assert job.inference is None


def test_a_field_counts_even_if_it_is_zero() -> None:
    job = a_job(profiler={"port": 6009}, runPolicy={"backoffLimit": 0})

    assert job.profiler_port == 6009
    assert job.backoff_limit == 0


@pytest.mark.parametrize(
    ("spec", "elsewhere"),
    [
        ({}, False),
        ({"managedBy": "quantumtraining.dev/qtj-operator"}, False),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, True),
        ({"managedBy": "kueue.x-k8s.io/multikueue", "workers": 2}, True),
    ],
    ids=str,
)
def test_another_controllers_job_is_recognised_whether_it_can_be_read_or_not(
    spec: dict[str, Any], *, elsewhere: bool
) -> None:
    assert is_managed_elsewhere(job_object(**spec)) is elsewhere


def test_thousands_of_wrong_values_of_a_job_that_has_started_are_passed_over_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading the job once for each of them would keep the operator busy for hours."""
    read = Mock(side_effect=reading.read_spec)
    monkeypatch.setattr(reading, "read_spec", read)
    template = a_template(
        a_container(env=[*({"value": "no name"} for _ in range(1000)), {"name": "KEPT", "value": "1"}])
    )

    job = Job.parse(
        {**stored_job(template=template, runPolicy={"cleanPodPolicy": "Archive"}), "status": {"attempt": 1}}
    )

    assert [variable.name for variable in job.template(Role.WORKER).spec.main.env] == ["KEPT"]
    assert len(job.ignored) == 1001
    assert read.call_count == 2


@pytest.mark.parametrize(
    ("indexes", "text"), [((), None), ((3,), "3"), ((5, 0, 4, 2, 3), "0,2-5"), ((1, 1, 2), "1-2"), ((7, 9), "7,9")]
)
def test_neighbours_are_written_as_one_range(indexes: tuple[int, ...], text: str | None) -> None:
    assert format_indexes(indexes) == text


@pytest.mark.parametrize("indexes", [set(), {0}, {0, 2, 3, 4, 5}, set(range(99))], ids=len)
def test_what_is_written_is_read_back(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes), 100) == indexes


def test_indexes_from_the_size_on_are_left_out() -> None:
    assert parse_indexes("0-1000000000,2", 2) == {0, 1}


@pytest.mark.parametrize("text", ["", ",", "a", "-1", "2-x", "5-3"])
def test_what_is_no_index_is_left_out(text: str) -> None:
    assert parse_indexes(f"{text},0", 9) == {0}


def test_inference_runs_in_the_leaders_template_unless_it_has_its_own() -> None:
    own, leaders = a_template(a_container(image="small")), a_template(a_container(image="gpu"))
    roles = {"Chief": {"template": leaders}, "Worker": {}}

    assert a_job(replicaSpecs=roles, inference={}).inference_template.written == leaders
    assert a_job(replicaSpecs=roles, inference={"template": own}).inference_template.written == own


def test_worker_0_leads_without_a_chief() -> None:
    assert a_job(workers=2).leader == ReplicaId(Role.WORKER, 0)


def test_the_chief_leads_and_counts() -> None:
    job = a_job(chief=True, workers=2)

    assert job.leader == ReplicaId(Role.CHIEF, 0)
    assert job.size == 3
    assert list(job.replicas())[1:] == [ReplicaId(Role.WORKER, 0), ReplicaId(Role.WORKER, 1)]


def test_a_role_without_a_number_has_one_replica() -> None:
    assert a_job(replicaSpecs={"Worker": {}}).size == 1


def test_a_roles_own_template_replaces_the_jobs() -> None:
    own = a_template(a_container(image="gpu"))
    job = a_job(replicaSpecs={"Chief": {}, "Worker": {"template": own}})

    assert job.template(Role.WORKER).written == own
    assert job.template(Role.CHIEF).written == a_template()


def test_the_program_runs_in_the_container_called_trainer_or_else_the_first() -> None:
    assert main_container([{"name": "proxy"}, {"name": "trainer"}]) == {"name": "trainer"}
    assert main_container([{"name": "main"}, {"name": "proxy"}]) == {"name": "main"}
