"""The lives that faults are put into."""

from datetime import timedelta

from qtj_operator.controller.client import Resource
from tests.faults.actors import STOPS, Deed, Script
from tests.faults.admission import Denial
from tests.faults.hanging import Hang
from tests.faults.mishaps import Setting
from tests.faults.scenario import Scenario, Spec
from tests.faults.scenario_steps import (
    ENDLESS,
    ENDLESS_AT_FIRST,
    admit_again,
    always,
    ask_for_less,
    delete,
    drain,
    edit,
    evict,
    has_restarted,
    in_phase,
    is_refused,
    kill_while_denied,
    looks_for_a_cause,
    lose_inference,
    miss_worker_1,
    open_queue,
    preempt_and_lose_peer,
    release,
    spoil_service,
    was_replaced,
)


def _maintenance(denial: Denial) -> Scenario:
    return Scenario(
        f"{denial} denies pods at a restart",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), kill_while_denied(denial)),
            Deed(always, admit_again, after=timedelta(seconds=400)),
        ],
        attempts=2,
        faults=denial in {Denial.POLICY, Denial.WEBHOOK_WITH_CODE},  # the others are answered by the same code
    )


def _hanging(how: Hang, pod: str = "qcnn-worker-1") -> Script:
    return Script(hangs={f"{pod}#1": how}, endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1"}))


def _denied_at_first(denial: Denial) -> Scenario:
    return Scenario(
        f"{denial} denies pods at the start",
        "Complete",
        setting=Setting(denial=denial),
        deeds=lambda: [Deed(always, admit_again, after=timedelta(seconds=400))],
        attempts=1,
        faults=denial is Denial.WEBHOOK,
    )


_WORKER_1_FAILS = Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-worker-0#1"}))
_WATCHED: Spec = {"runPolicy": {"progressDeadlineSeconds": 60}}
_QUEUED: Spec = {"runPolicy": {"schedulingPolicy": {"queueName": "team"}}}
_HOUR = timedelta(hours=1)
_STOPPED = 2
"""Runs of inference whose Job is removed, for a sidecar keeps it from its end: a pass that reads late sees none."""

_PARAMETER_SERVER: Spec = {
    "strategy": "ParameterServer",
    "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}, "Evaluator": {}},
}

SCENARIOS = (
    Scenario("happy path", "Complete"),
    Scenario("no inference", "Complete", {"inference": None}),
    Scenario("a sidecar that runs on", "Complete", script=Script(sidecar=True), inferences=_STOPPED),
    Scenario("gang restart behind one Service", "Complete", {"replicaService": "Shared"}, script=_WORKER_1_FAILS),
    Scenario("gang restart", "Complete", script=_WORKER_1_FAILS),
    Scenario("a worker in a dead lock", "Complete", _WATCHED, _hanging(Hang.DEAD_LOCK), attempts=2, faults=False),
    Scenario("a stopped worker", "Complete", _WATCHED, _hanging(Hang.STOPPED), attempts=2, faults=False),
    Scenario("a stopped leader", "Complete", _WATCHED, _hanging(Hang.STOPPED, "qcnn-worker-0"), attempts=2),
    Scenario("a hang that nobody looks for", "Running", script=_hanging(Hang.DEAD_LOCK), attempts=1, faults=False),
    Scenario(
        "two restarts, one too many",
        "Failed",
        {"runPolicy": {"backoffLimit": 1}},
        Script(ends={"qcnn-worker-1#1": 137, "qcnn-worker-0#2": 75}, endless=ENDLESS.endless),
    ),
    Scenario("a final exit code", "Failed", script=Script(ends={"qcnn-worker-1#1": 1}, endless=ENDLESS.endless)),
    Scenario(
        "a pod deleted by hand",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), delete(Resource.PODS, "qcnn-worker-1"))],
    ),
    Scenario(
        "a lost node",
        "Failed",
        {"runPolicy": {"activeDeadlineSeconds": 600}},
        Script(endless=ENDLESS.endless, dead=frozenset({"qcnn-worker-1"})),
        deeds=lambda: [Deed(in_phase("Running"), delete(Resource.PODS, "qcnn-worker-1"))],
    ),
    Scenario(
        "suspend and resume",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), edit(suspend=True)),
            Deed(in_phase("Suspended"), edit(suspend=False)),
        ],
    ),
    Scenario("active deadline", "Failed", {"runPolicy": {"activeDeadlineSeconds": 60}}, ENDLESS),
    Scenario("inference fails", "Failed", script=Script(inference={"infer": 1})),
    Scenario(
        "inference is repaired",
        "Complete",
        script=Script(inference={"infer": 1}),
        deeds=lambda: [Deed(in_phase("Failed"), edit(inference={"args": ["infer", "--again"]}))],
    ),
    Scenario(
        "the inference Job is deleted",
        "Complete",
        deeds=lambda: [Deed(in_phase("Inferring"), delete(Resource.JOBS, "qcnn-inference"))],
        inferences=2,
    ),
    Scenario(
        "another inference after the end",
        "Complete",
        deeds=lambda: [Deed(in_phase("Complete"), edit(inference={"args": ["infer", "--again"]}))],
    ),
    Scenario(
        "deleted in the middle",
        None,
        script=ENDLESS,
        deeds=lambda: [Deed(in_phase("Running"), delete(Resource.QUANTUM_TRAINING_JOBS, "qcnn"))],
    ),
    Scenario("gone after its time to live", None, {"runPolicy": {"ttlSecondsAfterFinished": 5}}),
    Scenario("all pods cleaned up", "Complete", {"runPolicy": {"cleanPodPolicy": "All"}}),
    Scenario(
        "an edited Service",
        "Failed",
        {"runPolicy": {"activeDeadlineSeconds": 600}},
        ENDLESS,
        deeds=lambda: [Deed(in_phase("Running"), spoil_service)],
    ),
    Scenario(
        "a worker of a parameter server",
        "Complete",
        _PARAMETER_SERVER,
        Script(
            ends={"qcnn-worker-1#1": 137},
            endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#2", "qcnn-chief-0#1"}),  # until the chief is deleted
        ),
        deeds=lambda: [Deed(has_restarted, delete(Resource.PODS, "qcnn-chief-0"))],
    ),
    # Foreign finalizers
    Scenario("queued", "Complete", _QUEUED),
    Scenario("queued, gang restart", "Complete", _QUEUED, _WORKER_1_FAILS),
    Scenario(
        "queued, a worker of a parameter server",
        "Complete",
        {**_PARAMETER_SERVER, **_QUEUED},
        Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-chief-0#1"})),
        deeds=lambda: [Deed(has_restarted, release("qcnn-chief-0#1"))],
    ),
    Scenario(
        "queued, Kueue evicts it",
        "Complete",
        _QUEUED,
        ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), lambda cluster: cluster.kueue.evict())],
    ),
    Scenario(
        "queued, its workload is deleted",
        "Complete",
        _QUEUED,
        ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), lambda cluster: cluster.kueue.delete_workloads())],
    ),
    Scenario(
        "queued, suspend and resume",
        "Complete",
        _QUEUED,
        ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), edit(suspend=True)),
            Deed(in_phase("Suspended"), edit(suspend=False)),
        ],
    ),
    Scenario(
        "queued, deleted after it has failed",
        None,
        _QUEUED,
        Script(ends={"qcnn-worker-1#1": 1}, endless=ENDLESS.endless),
        deeds=lambda: [
            Deed(in_phase("Failed"), delete(Resource.QUANTUM_TRAINING_JOBS, "qcnn"), after=timedelta(seconds=60))
        ],
    ),
    # Admission
    *map(_maintenance, Denial),
    *map(_denied_at_first, Denial),
    Scenario(
        "a quota has room for half a gang, which asks for less",
        "Complete",
        script=Script(endless=frozenset({"qcnn-worker-0"})),
        setting=Setting(denial=Denial.QUOTA, spared=frozenset({"qcnn-worker-0"})),
        deeds=lambda: [
            Deed(is_refused, ask_for_less, after=timedelta(seconds=30)),
            Deed(in_phase("Running"), release("qcnn-worker-0")),
        ],
        attempts=2,
    ),
    Scenario("a webhook adds to what it admits", "Complete", setting=Setting(mesh=True)),
    # Clocks
    Scenario(
        "a node's clock is ahead, and a peer's node is lost",
        "Complete",
        script=Script(
            ends={"qcnn-worker-0#1": 75},
            endless=frozenset({"qcnn-worker-1#1"}),
            dead=frozenset({"qcnn-worker-1#1"}),
            node_clock=_HOUR,
        ),
        attempts=2,
    ),
    Scenario("nodes' clocks are ahead", "Complete", script=Script(sidecar=True, node_clock=_HOUR), inferences=_STOPPED),
    Scenario(
        "nodes' clocks are behind", "Complete", script=Script(sidecar=True, node_clock=-_HOUR), inferences=_STOPPED
    ),
    *(
        Scenario(
            f"the operator's clock is {seconds} s ahead",
            "Complete",
            script=ENDLESS_AT_FIRST,
            deeds=lambda: [Deed(in_phase("Running"), delete(Resource.PODS, "qcnn-worker-1"))],
            setting=Setting(operator_clock=timedelta(seconds=seconds)),
            faults=False,
        )
        for seconds in (90, -90)
    ),
    # Finished pods that vanish
    Scenario(
        "a finished worker is drained",
        "Complete",
        script=Script(endless=frozenset({"qcnn-worker-0#1"})),
        deeds=lambda: [
            Deed(in_phase("Running"), drain("qcnn-worker-1")),
            Deed(always, release("qcnn-worker-0#1"), after=timedelta(seconds=60)),
        ],
        drained=frozenset({"qcnn-worker-1"}),
        attempts=1,
    ),
    Scenario(
        "the finished leader is drained",
        "Complete",
        {"runPolicy": {"successPolicy": "AllWorkers"}},
        Script(endless=frozenset({"qcnn-worker-1#1"})),
        deeds=lambda: [
            Deed(in_phase("Running"), drain("qcnn-worker-0")),
            Deed(always, release("qcnn-worker-1#1"), after=timedelta(seconds=60)),
        ],
        drained=frozenset({"qcnn-worker-0"}),
        attempts=1,
    ),
    # Disruptions
    Scenario(
        "a worker is preempted, and its peer ends with 1",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), preempt_and_lose_peer)],
        attempts=2,
    ),
    # Who ended the pod
    *(
        Scenario(
            f"the leader is stopped by its kubelet ({how})",
            "Complete",
            script=Script(stops={"qcnn-worker-0#1": STOPS[how]}, endless=frozenset({"qcnn-worker-1#1"})),
            attempts=2,
            faults=how == "shut down, 0",  # the others differ in what is read of the pod
        )
        for how in ("shut down, 0", "shut down, 143", "shut down, all with 0", "under pressure, 0", "own deadline, 0")
    ),
    Scenario(
        "a worker of a parameter server is stopped by its kubelet",
        "Complete",
        _PARAMETER_SERVER,
        Script(
            stops={"qcnn-worker-1#1": STOPS["shut down, 0"]},
            endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#2", "qcnn-chief-0#1"}),
        ),
        deeds=lambda: [Deed(was_replaced, release("qcnn-chief-0#1"))],
        attempts=1,
        faults=False,
    ),
    Scenario(
        "a node reboots, and its peer ends with 1",
        "Complete",
        script=Script(stops={"qcnn-worker-1#1": STOPS["rebooted"], "qcnn-worker-0#1": STOPS["plain, 1"]}),
        attempts=2,
        faults=False,
    ),
    Scenario(
        "a program ends with 1, and then its peer's node is missed",
        "Complete",
        script=Script(
            stops={"qcnn-worker-0#1": STOPS["plain, 1"]},
            endless=frozenset({"qcnn-worker-1#1"}),
            dead=frozenset({"qcnn-worker-1#1"}),
        ),
        deeds=lambda: [Deed(looks_for_a_cause, miss_worker_1)],
        attempts=2,
        faults=False,
    ),
    # Containers beside the trainer, and gates
    Scenario(
        "a helper container that is done",
        "Complete",
        {"runPolicy": {"pendingDeadlineSeconds": 60}},
        Script(helper=True, endless=ENDLESS_AT_FIRST.endless),
        deeds=lambda: [Deed(always, release(*ENDLESS_AT_FIRST.endless), after=timedelta(seconds=100))],
        attempts=1,
        faults=False,
    ),
    Scenario(
        "a readiness gate that is closed, and a final exit code",
        "Failed",
        script=Script(
            gate=True, ends={"qcnn-worker-1#1": 1}, endless=ENDLESS.endless, dead=frozenset({"qcnn-worker-0"})
        ),
        attempts=1,
        faults=False,
    ),
    Scenario(
        "queued for hours",
        "Complete",
        {"runPolicy": {**_QUEUED["runPolicy"], "pendingDeadlineSeconds": 60, "activeDeadlineSeconds": 600}},
        deeds=lambda: [Deed(always, open_queue, after=3 * _HOUR)],
        setting=Setting(held=True),
        attempts=1,
    ),
    Scenario(
        "a worker is evicted after the leader's end, and all have to succeed",
        "Complete",
        {"runPolicy": {"successPolicy": "AllWorkers"}},
        Script(stops={"qcnn-worker-1#1": STOPS["shut down, 143"]}),
        attempts=2,
    ),
    Scenario(
        "the node of inference is lost",
        "Complete",
        script=Script(endless=frozenset({"inference#1"}), dead=frozenset({"inference#1"})),
        deeds=lambda: [Deed(in_phase("Inferring"), lose_inference)],
        inferences=2,
    ),
    Scenario(
        "30 evictions in a row",
        "Complete",
        script=Script(endless=frozenset(f"qcnn-worker-{index}#{run}" for index in (0, 1) for run in range(1, 31))),
        deeds=lambda: [Deed(in_phase("Running"), evict) for _ in range(30)],
        attempts=31,
        faults=False,
    ),
)
