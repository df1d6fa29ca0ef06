"""Sidecars beside the program of inference, and beside replicas whose machines it waits for."""

from qtj_contract import TerminationMessage
from qtj_operator.core.decision import Delete, Kind
from tests.core.inference import REMOVED
from tests.core.world import deleted_by, inferring_job, later


def test_an_inference_whose_program_was_done_is_done_although_a_sidecar_made_its_job_fail() -> None:
    says = TerminationMessage(metrics={"mse": 0.2})

    decision = inferring_job().with_inference(failed=True, exit_code=0, says=says).decide()

    assert (decision.status.phase, decision.status.reason) == ("Complete", "InferenceDone")
    assert decision.events[0].message == "inference is done: mse 0.2"


def test_an_inference_is_done_with_its_program_although_a_sidecar_keeps_its_job_from_its_end() -> None:
    says = TerminationMessage(metrics={"mse": 0.2})

    world = inferring_job().with_inference(exit_code=0, says=says, sidecar=True).recorded()

    assert (world.job.status.phase, world.job.status.reason) == ("Complete", "InferenceDone")
    assert (world.decide(later(seconds=29)).actions, world.decide().wake_at) == ((), later(seconds=30))
    assert world.decide(later(seconds=30)).actions == (REMOVED,)


def test_an_inference_whose_program_is_done_is_not_stopped_before_its_job_reports_it() -> None:
    """A Job says it a second after its pod, and a pod's phase a moment after its containers."""
    done = inferring_job().with_inference(exit_code=0, sidecar=True).recorded()

    after = done.with_inference(exit_code=0)

    assert (after.decide().actions, after.decide().status.phase) == ((), "Complete")


def test_a_final_exit_code_of_inference_is_final_although_a_sidecar_runs_on() -> None:
    world = inferring_job().with_inference(exit_code=3, sidecar=True).recorded()

    assert (world.job.status.phase, world.job.status.reason) == ("Failed", "InferenceFailed")
    assert (world.decide().actions, world.decide(later(seconds=30)).actions) == ((), (REMOVED,))


def test_a_sidecar_is_stopped_after_an_inference_that_may_run_again_so_that_its_job_can() -> None:
    world = inferring_job().without_pods().with_inference(exit_code=137, sidecar=True)

    (removed,) = world.decide().actions

    assert isinstance(removed, Delete)
    assert (removed.kind, removed.name) == (Kind.POD, "qcnn-inference-x7k2p")
    assert world.decide().status.phase == "Inferring"


def test_an_inference_that_ended_because_it_was_stopped_is_not_done() -> None:
    world = inferring_job().with_inference(exit_code=0, deadline=later(seconds=30))

    assert world.decide().status.phase == "Inferring"


def test_sidecars_of_replicas_do_not_hold_the_machines_that_inference_waits_for() -> None:
    for policy, gone in (("Running", ["qcnn-worker-0", "qcnn-worker-1"]), ("None", [])):
        world = inferring_job(runPolicy={"cleanPodPolicy": policy}).with_pods(exit_code=0, sidecar=True)

        assert deleted_by(world.decide()) == gone
