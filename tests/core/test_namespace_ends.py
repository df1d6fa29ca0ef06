"""A namespace that is being deleted takes its jobs with it: no disruption, and no next attempt."""

from dataclasses import replace

from tests.core.world import inferring_job, later, parameter_servers, running_job


def test_a_gang_whose_namespace_is_being_deleted_is_not_restarted() -> None:
    world = running_job().with_pod("worker-1", deleting=True)

    decision = replace(world, namespace_ends=True).decide(later(seconds=1))

    assert (decision.status.attempt, decision.status.disruptions) == (1, None)
    assert (decision.status.reason, decision.actions) == ("Terminating", ())
    running = next(each for each in decision.status.conditions if each.type == "Running")
    assert running.message == "namespace lab is being deleted, and this job with it"


def test_one_whose_pods_are_gone_already_is_not_either() -> None:
    world = running_job().without_pod("worker-1")

    assert replace(world, namespace_ends=True).decide().status.attempt == 1
    assert world.decide().status.attempt == 2, "the namespace makes the difference"


def test_an_inference_that_goes_with_it_does_not_run_again() -> None:
    world = inferring_job().without_inference()

    decision = replace(world, namespace_ends=True).decide()

    assert decision.actions == ()
    assert decision.status.inference == world.job.status.inference
    assert (decision.status.phase, decision.status.reason) == ("Inferring", "Terminating")
    assert world.decide().status.inference != world.job.status.inference, "the namespace makes the difference"


def test_a_worker_that_others_do_not_need_is_not_replaced_either() -> None:
    world = running_job(**parameter_servers()).without_pod("worker-1")

    assert replace(world, namespace_ends=True).decide().actions == ()
    assert world.decide().actions != ()
