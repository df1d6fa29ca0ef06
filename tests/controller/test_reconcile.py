"""One pass: what is read, done, written and told, and in which order."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.events import emit
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.core.decision import Event
from tests.controller.lab import KEY, TRAINED, Lab, complete, running
from tests.controller.memory import RecordingClient
from tests.jobs import a_container, a_template

UNAVAILABLE = ApiError(503, "ServiceUnavailable", "try again")
CONFLICT = ApiError(409, "Conflict", "the object has been modified")
JOB_STATUS = "replace_status quantumtrainingjobs qcnn"


async def fails_at(lab: Lab, call: str, error: ApiError = UNAVAILABLE) -> None:
    """A pass in which the API server answers one request with an error."""
    lab.client.refuse = lambda made: error if made == call else None
    with pytest.raises(ApiError):
        await lab.settles()
    lab.client.refuse = lambda _: None


async def test_a_running_job_that_is_settled_costs_no_write() -> None:
    lab = Lab()
    await running(lab)
    lab.client.calls.clear()

    delay = await lab.passes()

    assert delay is None
    assert lab.client.writes == []
    assert len(lab.client.calls) == 4, "the job, its inference Job, its pods and its Services are read once each"


async def test_a_complete_job_costs_no_write() -> None:
    lab = Lab()
    await complete(lab)
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.client.writes == []


async def test_a_pass_that_wrote_the_status_is_followed_by_another_at_once() -> None:
    lab = Lab()
    await lab.applies()

    assert await lab.passes() == timedelta(0)


async def test_the_first_pass_only_records_and_the_second_acts_before_it_records() -> None:
    lab = Lab()
    await lab.applies(replicaSpecs={"Worker": {"replicas": 1}})

    await lab.passes()
    first, lab.client.calls = lab.client.writes, []
    await lab.passes()
    lab.kubelet.starts()
    second, lab.client.calls = lab.client.writes, []
    await lab.passes()

    assert first == [JOB_STATUS]
    assert second == ["create services qcnn-worker-0", "create pods qcnn-worker-0"]
    assert lab.client.writes[0] == JOB_STATUS
    assert lab.client.writes[1].startswith("create events ")


async def test_a_job_that_is_gone_is_left_alone_and_nobody_asks_for_its_progress() -> None:
    lab = Lab()
    lab.progress.follow(KEY, "10.0.0.7")
    lab.progress.follow(KEY, "10.0.0.8", evaluator=True)

    assert await lab.passes() is None
    assert lab.client.calls == ["get quantumtrainingjobs qcnn"]
    assert lab.progress.followed == {}


async def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    lab = Lab()
    await lab.applies()
    lab.cluster.edit(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, metadata={**(await lab.job())["metadata"], "finalizers": ["x/y"]}
    )
    lab.cluster.store.delete(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    lab.progress.follow(KEY, "10.0.0.7")

    assert await lab.passes() is None
    assert lab.client.writes == []
    assert lab.progress.followed == {}


async def test_an_object_that_cannot_be_read_fails_with_one_sentence_and_costs_nothing_more() -> None:
    lab = Lab()
    await lab.applies(profiler={"port": 80})

    await lab.settles()
    failed = await lab.condition("Failed")
    lab.client.calls.clear()
    await lab.settles()

    assert (failed["reason"], failed["message"]) == (
        "InvalidSpec",
        "spec.profiler.port: 80 is too small: this has to be at least 1024",
    )
    assert await lab.events() == ["InvalidSpec"]
    assert lab.client.writes == []
    assert lab.pods == ()


@pytest.mark.parametrize("unreadable", [{}, {"template": None}], ids=["readable", "unreadable"])
async def test_a_job_of_another_controller_is_not_touched(unreadable: dict[str, Any]) -> None:
    lab = Lab()
    await lab.applies(managedBy="kueue.x-k8s.io/multikueue", **unreadable)
    lab.progress.follow(KEY, "10.0.0.7")
    for status in ({}, {"phase": "Running", "attempt": 3, "ofALaterVersion": True}):
        written: dict[str, Any] = {"status": status} if status else {}
        lab.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, **written)

        assert await lab.passes() is None
        assert await lab.status() == status

    assert lab.client.writes == []
    assert lab.progress.followed == {}


async def test_a_job_that_runs_is_left_as_it_is_when_it_can_no_longer_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = Lab()
    await running(lab)
    before = await lab.status()
    template = (await lab.job())["spec"]["template"]
    await lab.edits(template={})  # stored under rules that were laxer
    lab.kubelet.ends("qcnn-worker-1", 137)

    assert await lab.settles() is None
    assert await lab.status() == before
    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")
    assert "lab/qcnn started earlier and is left as it is: spec.template" in caplog.text

    await lab.edits(template=template)
    await lab.settles()

    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Restarting", 2)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"workers": 2}, "spec.workers"),
        ({"runPolicy": {"elastic": True}}, "spec.runPolicy.elastic"),
        ({"runPolicy": {"cleanPodPolicy": "Archive"}}, "spec.runPolicy.cleanPodPolicy"),
        ({"strategy": "Pipelined"}, "spec.strategy"),
    ],
)
async def test_a_started_job_goes_on_with_what_this_operator_does_not_know(fields: dict[str, Any], path: str) -> None:
    """The CRD of a later version let it through, or an operator of a later version started it."""
    lab = Lab()
    await running(lab)
    await lab.edits(**fields)
    await lab.settles()
    ignored = await lab.condition("SpecIgnored")
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()

    assert (await lab.status())["attempt"] == 2
    if path != "spec.strategy":  # which cannot be changed either
        assert (ignored["status"], ignored["reason"]) == ("True", "UnknownField")
        assert ignored["message"] == f"this operator does not know {path}: upgrade it, or remove the field"


async def test_a_new_job_with_an_unknown_field_runs_and_says_what_is_ignored() -> None:
    lab = Lab()
    await running(lab, workers=2)

    assert await lab.phase() == "Running"
    assert (await lab.condition("SpecIgnored"))["reason"] == "UnknownField"
    assert "UnknownField" in await lab.events()

    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["spec"].pop("workers"))
    await lab.settles()
    assert (await lab.condition("SpecIgnored"))["status"] == "False"


async def test_a_job_that_failed_because_of_its_spec_is_checked_again_when_the_spec_changes() -> None:
    lab = Lab()
    await lab.applies(artifacts={"uri": "file:///nowhere"}, runPolicy={"backoffLimit": 7})
    await lab.settles()
    failed = await lab.status()
    await lab.edits(artifacts={"uri": "gs://lab-bucket/qcnn"})
    await running_again(lab)

    assert (failed["phase"], failed["reason"]) == ("Failed", "InvalidSpec")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 1)
    assert "completionTime" not in await lab.status()


async def test_a_template_that_was_refused_may_be_mended() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "spec.containers[0].resources.limits.memory: 8Gx is no quantity")
    lab.client.refuse = lambda call: malformed if call == "create pods qcnn-worker-1" else None
    await lab.applies()
    await lab.settles()
    failed = await lab.status()
    lab.client.refuse = lambda _: None
    assert await lab.settles() is not timedelta(0)
    assert await lab.phase() == "Failed", "nothing has changed that it could be judged by"

    await lab.edits(template={**(await lab.job())["spec"]["template"], "metadata": {"labels": {"mended": "yes"}}})
    await lab.settles()
    lab.kubelet.reaps()
    await running_again(lab)

    assert (failed["phase"], failed["reason"]) == ("Failed", "ChildRejected")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 2)
    assert (await lab.status())["specDigest"] != failed["specDigest"]


async def test_a_template_that_was_mended_wrongly_may_be_mended_again() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "limits.memory: must be greater than or equal to the request")
    lab.client.refuse = lambda call: malformed if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    template = (await lab.job())["spec"]["template"]
    for number in range(2):
        await lab.edits(template={**template, "metadata": {"labels": {"try": str(number)}}})
        await lab.settles()
        assert (await lab.phase(), (await lab.status())["reason"]) == ("Failed", "ChildRejected")

    lab.client.refuse = lambda _: None
    await lab.edits(template={**template, "metadata": {"labels": {"mended": "yes"}}})
    await lab.settles()
    await running_again(lab)

    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 4)
    assert not [
        each
        for each in (await lab.status())["conditions"]
        if each["type"] == "SpecIgnored" and each["status"] == "True"
    ]


async def test_a_job_that_a_policy_denies_from_the_start_takes_the_template_that_the_policy_wants() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    denied = await lab.status()

    lab.client.refuse = lambda _: None
    await lab.edits(template={**(await lab.job())["spec"]["template"], "metadata": {"labels": {"team": "quantum"}}})
    await running_again(lab)

    assert (denied["phase"], denied["reason"]) == ("Pending", "ChildRejected")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 1)
    assert len(await lab.cluster.list(Resource.PODS, "lab", {"team": "quantum"})) == 2


POLICY = ApiError(
    422, "Invalid", "pods \"qcnn-worker-0\" is forbidden: ValidatingAdmissionPolicy 'maintenance' denied request: no"
)


async def test_a_policy_that_denies_a_restart_puts_it_off_and_fails_nothing() -> None:
    lab = Lab()
    await running(lab)
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()
    lab.kubelet.reaps()
    await lab.settles()
    denied = await lab.condition("Running")
    for _ in range(60):
        lab.waits(seconds=60)
        await lab.settles()

    assert (await lab.phase(), denied["reason"]) == ("Pending", "ChildRejected")
    assert "refused by the ValidatingAdmissionPolicy maintenance" in denied["message"]

    lab.client.refuse = lambda _: None
    lab.waits(seconds=60)
    await running_again(lab)
    assert (await lab.phase(), (await lab.status())["restarts"]) == ("Running", 1)


@pytest.mark.parametrize("code", [400, 422])
async def test_once_an_attempt_has_run_no_answer_is_final(code: int) -> None:
    lab = Lab()
    await running(lab)
    lab.client.refuse = lambda call: ApiError(code, "Invalid", "no") if call.startswith("create pods") else None
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await lab.settles()
    lab.kubelet.reaps()
    await lab.settles()

    assert (await lab.status())["reason"] == "ChildRejected"
    assert await lab.phase() == "Pending"


async def test_a_denial_whose_words_change_costs_no_more_than_one_whose_words_stay() -> None:
    lab = Lab()
    numbers = iter(range(10_000))

    def refuse(call: str) -> ApiError | None:
        if not call.startswith("create pods"):
            return None
        return ApiError(400, "BadRequest", f'admission webhook "w" denied the request: request {next(numbers)}')

    lab.client.refuse = refuse
    await lab.applies()
    for _ in range(300):
        await lab.passes()
        lab.waits(seconds=1)

    creates = sum(call.startswith("create pods") for call in lab.client.calls)
    writes = sum(call.startswith("replace_status") for call in lab.client.calls)
    assert 5 <= creates <= 10
    assert writes <= 12


async def test_a_refused_child_is_tried_at_once_when_the_spec_changes() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    lab.client.refuse = lambda _: None

    await lab.edits(runPolicy={"backoffLimit": 5})
    await lab.settles()

    assert len(lab.pods) == 2


async def test_an_edit_moves_every_condition_of_ours_and_none_of_others() -> None:
    lab = Lab()
    await complete(lab)
    theirs = {
        "type": "Scanned",
        "status": "True",
        "reason": "Clean",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    lab.cluster.store.update(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"]["conditions"].append(theirs)
    )
    await lab.edits(runPolicy={"ttlSecondsAfterFinished": 600})
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["metadata"].update(generation=2))
    await lab.settles()

    conditions = (await lab.status())["conditions"]
    assert conditions[-1] == theirs
    assert {c["type"]: c["observedGeneration"] for c in conditions[:-1]} == {"Running": 2, "Trained": 2, "Complete": 2}


async def test_what_an_operator_of_a_later_version_wrote_stays_in_the_status() -> None:
    lab = Lab()
    await running(lab)
    lab.cluster.store.update(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(notebook={"url": "http://board"})
    )
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()

    assert (await lab.status())["attempt"] == 2
    assert (await lab.status())["notebook"] == {"url": "http://board"}


@pytest.mark.parametrize(
    "bypass",
    [
        lambda spec: spec["template"]["spec"]["containers"][0].update(args=["other"]),
        lambda spec: spec["template"]["spec"].update(serviceAccountName="other"),
    ],
)
async def test_a_template_that_was_changed_past_the_api_server_is_never_used(bypass: Callable[[Any], None]) -> None:
    lab = Lab()
    await running(lab, inference={})
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: bypass(job["spec"]))
    await lab.settles()
    changed = await lab.condition("SpecIgnored")
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()
    lab.kubelet.reaps()
    await lab.settles()

    assert (changed["status"], changed["reason"]) == ("True", "ImmutableFieldChanged")
    assert lab.pods == ()
    assert (await lab.status())["reason"] == "SpecChanged"


async def test_inference_never_takes_a_template_that_was_changed_after_the_start() -> None:
    lab = Lab()
    await running(lab, inference={})
    template = (await lab.job())["spec"]["template"]
    await lab.edits(template={**template, "metadata": {"labels": {"other": "yes"}}})
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    await lab.settles()

    assert (await lab.condition("Complete"))["reason"] == "SpecChanged"
    assert lab.cluster.names(Resource.JOBS) == ()

    await lab.edits(template=template)
    await lab.settles()
    assert lab.cluster.names(Resource.JOBS) == ("qcnn-inference",)


async def test_a_complete_job_does_not_fail_when_it_can_no_longer_be_read() -> None:
    lab = Lab()
    await complete(lab)
    await lab.edits(workers=2)

    await lab.settles()

    assert await lab.phase() == "Complete"


async def test_a_status_of_a_later_operator_trains_nothing_again() -> None:
    lab = Lab()
    await complete(lab)
    status = {**await lab.status(), "phase": "Archived"}
    lab.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, status=status)
    lab.client.calls.clear()

    await lab.settles()

    assert await lab.phase() == "Complete"
    assert lab.client.writes == [JOB_STATUS]


async def test_a_spec_that_can_never_run_fails_before_any_child_exists() -> None:
    lab = Lab()
    await lab.applies(template=a_template(a_container(env=[{"name": "TF_CONFIG"}])))

    await lab.settles()

    assert (await lab.condition("Failed"))["reason"] == "InvalidSpec"
    assert (lab.pods, lab.services) == ((), ())


async def test_a_status_on_stale_data_is_refused_and_nothing_is_told() -> None:
    lab = Lab()
    await lab.applies()
    await lab.settles()
    lab.kubelet.starts()

    await fails_at(lab, JOB_STATUS, CONFLICT)

    assert await lab.events() == []
    assert await lab.phase() == "Pending"


async def test_what_was_not_told_is_told_when_the_status_is_written() -> None:
    lab = Lab()
    await lab.applies()
    await lab.settles()
    lab.kubelet.starts()
    await fails_at(lab, JOB_STATUS, CONFLICT)

    await lab.settles()
    await lab.settles()

    assert await lab.events() == ["AllReplicasReady"]


async def test_an_event_that_cannot_be_written_is_not_worth_another_pass() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: UNAVAILABLE if "events" in call else None

    await running(lab)

    assert await lab.phase() == "Running"
    assert await lab.events() == []


async def test_an_event_says_who_what_and_when() -> None:
    lab = Lab()
    await running(lab)

    (event,) = await lab.cluster.list(Resource.EVENTS, "lab", {})
    job = await lab.job()
    assert event["involvedObject"]["uid"] == job["metadata"]["uid"]
    assert (event["type"], event["reason"]) == ("Normal", "AllReplicasReady")
    assert event["firstTimestamp"] == "2030-01-01T12:00:00Z"
    assert event["source"] == {"component": "qtj-operator"}


async def test_an_event_that_was_written_is_not_written_again() -> None:
    lab = Lab()
    await running(lab)
    said = Event("Warning", Reason.SERVICE_REPAIRED, "restored edited Services: qcnn-worker-0")

    for minute in range(3):
        await emit(lab.client, await lab.job(), said, lab.now + timedelta(minutes=minute))

    assert await lab.events() == ["AllReplicasReady", "ServiceRepaired"]


async def test_the_same_event_of_another_attempt_is_written() -> None:
    lab = Lab()
    await running(lab)
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()
    lab.kubelet.reaps()
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()

    assert await lab.events() == ["AllReplicasReady", "Restarting", "AllReplicasReady"]


@pytest.mark.parametrize(
    "call",
    [
        "get quantumtrainingjobs qcnn",
        "list pods *",
        "list services *",
        "get jobs qcnn-inference",
        "create services qcnn-worker-0",
        "create services qcnn-worker-1",
        "create pods qcnn-worker-0",
        "create pods qcnn-worker-1",
        JOB_STATUS,
        "create jobs qcnn-inference",
    ],
)
async def test_an_error_at_any_request_delays_the_job_and_changes_nothing_else(call: str) -> None:
    lab, undisturbed = Lab(), Lab()
    await complete(undisturbed)
    await lab.applies(inference={})
    if call != "create jobs qcnn-inference":
        await fails_at(lab, call)
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    if call == "create jobs qcnn-inference":
        await fails_at(lab, call)
    await lab.settles()

    await lab.kubelet.runs_inference("qcnn", 0, TRAINED)
    await lab.settles()

    assert await lab.phase() == "Complete"
    assert await lab.events() == await undisturbed.events()
    assert (lab.pods, lab.services) == (undisturbed.pods, undisturbed.services)


async def test_answers_that_get_lost_create_nothing_twice() -> None:
    class LossyClient(RecordingClient):
        """Every other creation is done, and nobody hears of it."""

        async def create(self, resource: Resource, manifest: Object) -> None:
            await super().create(resource, manifest)
            if len(self.writes) % 2:
                raise ApiError(0, "Unreachable", "connection reset")

    lab = Lab()
    lossy = Reconciler(LossyClient(lab.cluster), NoProgress(), lambda: lab.now)
    await lab.applies()
    for _ in range(10):
        with contextlib.suppress(ApiError):
            await lossy.reconcile(KEY)

    assert await lab.settles() is None
    assert lab.pods == lab.services == ("qcnn-worker-0", "qcnn-worker-1")


async def test_a_name_that_belongs_to_somebody_else_is_said_and_tried_again() -> None:
    lab = Lab()
    await lab.cluster.create(
        Resource.SERVICES, {"metadata": {"name": "qcnn-worker-1", "namespace": "lab"}, "spec": {"ports": []}}
    )
    await lab.applies()

    delay = await lab.settles()
    running_ = await lab.condition("Running")
    lab.client.calls.clear()
    again = await lab.settles()

    assert delay == again == timedelta(seconds=5)
    assert (running_["reason"], running_["message"]) == (
        "NameTaken",
        "Service qcnn-worker-1 exists and does not belong to this job: delete it, or give the job another name",
    )
    assert await lab.events() == ["NameTaken"]
    assert not any(call.startswith(("replace_status", "create events")) for call in lab.client.writes)
    assert lab.pods == (), "a pod would not find its peers"


async def test_a_job_goes_on_once_the_name_is_free() -> None:
    lab = Lab()
    await lab.cluster.create(Resource.PODS, {"metadata": {"name": "qcnn-worker-1", "namespace": "lab"}, "spec": {}})
    await lab.applies()
    await lab.settles()
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")

    await running_again(lab)

    assert await lab.phase() == "Running"


async def test_a_child_that_the_api_server_refuses_is_said_in_its_words() -> None:
    lab = Lab()
    forbidden = ApiError(403, "Forbidden", "exceeded quota: pods=1, used: pods=1")
    lab.client.refuse = lambda call: forbidden if call == "create pods qcnn-worker-1" else None
    await lab.applies()

    delay = await lab.settles()

    assert delay == timedelta(seconds=5)
    assert (await lab.condition("Running"))["message"] == (
        "Pod qcnn-worker-1 was refused by the API server: exceeded quota: pods=1, used: pods=1"
    )
    assert (await lab.status())["reason"] == "ChildRejected"
    assert lab.pods == ("qcnn-worker-0",)

    lab.client.refuse = lambda _: None
    await running_again(lab)

    assert await lab.phase() == "Running"


async def test_an_obstacle_postpones_no_deadline() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: ApiError(403, "Forbidden", "no") if call.startswith("create pods") else None
    await lab.applies(runPolicy={"activeDeadlineSeconds": 5})

    assert await lab.settles() == timedelta(seconds=5)
    lab.waits(seconds=5)
    await lab.settles()

    assert (await lab.condition("Failed"))["reason"] == "DeadlineExceeded"


async def running_again(lab: Lab) -> None:
    lab.waits(seconds=5)
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()


async def test_a_moment_to_look_again_is_never_a_busy_loop() -> None:
    lab = Lab()
    await running(lab)
    lab.kubelet.ends("qcnn-worker-1", 1)
    await lab.settles()
    lab.waits(seconds=29.9)

    assert await lab.passes() == timedelta(seconds=1)


async def test_the_users_object_gets_a_status_and_nothing_else() -> None:
    lab = Lab()
    await lab.applies(inference={})
    before = await lab.job()

    await lab.settles()
    after = await lab.job()

    same = {"spec", "apiVersion", "kind"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert {**after["metadata"], "resourceVersion": ""} == {**before["metadata"], "resourceVersion": ""}


@pytest.mark.parametrize("code", [400, 422])
async def test_a_child_that_no_api_server_takes_fails_the_job_until_its_template_is_changed(code: int) -> None:
    lab = Lab()
    malformed = ApiError(code, "Invalid", "spec.containers[0].resources.limits.memory: 8Gx is no quantity")
    lab.client.refuse = lambda call: malformed if call.startswith("create pods") else None
    await lab.applies()

    assert await lab.settles() is None

    assert (await lab.status())["reason"] == "ChildRejected"
    assert (await lab.condition("Failed"))["message"].endswith("8Gx is no quantity")
    assert await lab.events() == ["ChildRejected"]


async def test_an_inference_job_that_is_refused_waits_until_the_spec_is_edited() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "no")
    lab.client.refuse = lambda call: malformed if call.startswith("create jobs") else None
    await running(lab, inference={})
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    await lab.settles()
    waiting = await lab.status()

    lab.client.refuse = lambda _: None
    await lab.edits(inference={"args": ["infer", "--again"]})
    await lab.settles()

    assert (waiting["phase"], waiting["reason"], waiting["inference"]["phase"]) == (
        "Inferring",
        "ChildRejected",
        "Pending",
    )
    assert lab.cluster.names(Resource.JOBS) == ("qcnn-inference",)


async def test_the_time_from_submission_to_running_is_counted_once() -> None:
    lab = Lab()
    await lab.applies()
    await lab.settles()
    lab.waits(seconds=8)
    lab.kubelet.starts()
    await lab.settles()
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()

    samples = lab.reconciler.metrics.registry
    assert samples.get_sample_value("qtj_submit_to_running_seconds_count") == 1
    assert samples.get_sample_value("qtj_submit_to_running_seconds_sum") == 8


async def test_a_gang_has_its_group_and_a_stranger_of_that_name_stands_in_the_way() -> None:
    lab = Lab()
    await lab.applies(runPolicy={"schedulingPolicy": {"gang": True}})
    stranger = {"metadata": {"name": "qcnn", "namespace": "lab"}, "spec": {"minMember": 7}}
    await lab.cluster.create(Resource.POD_GROUPS, stranger)
    await lab.settles()
    blocked = await lab.status()

    lab.cluster.remove(Resource.POD_GROUPS, "lab", "qcnn")
    lab.waits(seconds=15)
    await lab.settles()

    assert blocked["reason"] == "NameTaken"
    (group,) = await lab.cluster.list(Resource.POD_GROUPS, "lab", {})
    assert group["spec"] == {"minMember": 2}
    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")
