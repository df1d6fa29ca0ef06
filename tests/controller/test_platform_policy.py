"""Jobs of a platform that gives defaults and ceilings: what bites says so, and what has started stays as it is."""

from dataclasses import replace
from typing import Any

from qtj_operator.api.platform_settings import PlatformSettings
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, Lab, complete, running


class Platform(Lab):
    """A lab whose operator has a configuration."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.configures(**settings)

    def configures(self, **settings: Any) -> None:
        """The operator starts again with another configuration."""
        platform = replace(self.reconciler.platform, settings=PlatformSettings.read(settings))
        self.reconciler = replace(self.reconciler, platform=platform)


async def test_a_deadline_of_the_platform_says_so_and_the_object_stays_as_it_is() -> None:
    lab = Platform(defaults={"pendingDeadlineSeconds": 60})
    await lab.applies()
    spec = (await lab.job())["spec"]
    await lab.settles()
    await lab.settles_after(minutes=2)

    message = (await lab.condition("Failed"))["message"]
    assert "after 60 s (the default of this platform for pendingDeadlineSeconds)" in message
    assert (await lab.job())["spec"] == spec


async def test_a_job_that_asks_for_more_gets_the_ceiling_of_its_namespace() -> None:
    lab = Platform(namespaces={"lab": {"ceilings": {"activeDeadlineSeconds": 60}}})
    await running(lab, runPolicy={"activeDeadlineSeconds": 3600})
    await lab.settles_after(minutes=2)

    message = (await lab.condition("Failed"))["message"]
    assert message == "the job was not complete within 60 s (the ceiling of this platform for activeDeadlineSeconds)"


async def test_restarts_end_with_the_limit_of_the_platform() -> None:
    lab = Platform(ceilings={"backoffLimit": 0})
    await running(lab)
    await lab.ends("qcnn-worker-1", 137)

    assert (
        "as often as the ceiling of this platform for backoffLimit allows" in (await lab.condition("Failed"))["message"]
    )


async def test_another_configuration_neither_ends_nor_restarts_what_runs() -> None:
    lab = Platform(defaults={"ttlSecondsAfterFinished": 3600})
    await running(lab, tensorboard={})
    lab.client.calls.clear()

    low: dict[str, Any] = {"activeDeadlineSeconds": 1, "backoffLimit": 0, "ttlSecondsAfterFinished": 0}
    lab.configures(ceilings={**low, "tensorboardResources": {"limits": {"memory": "1Mi"}}})
    await lab.settles_after(minutes=10)

    assert (await lab.phase(), lab.client.writes) == ("Running", [])


async def test_a_finished_job_goes_when_the_platform_said_at_its_start() -> None:
    lab = Platform(defaults={"ttlSecondsAfterFinished": 3600})
    await complete(lab)
    lab.configures(defaults={"ttlSecondsAfterFinished": 60})
    await lab.settles_after(minutes=10)
    assert lab.cluster.names(Resource.QUANTUM_TRAINING_JOBS) == ("qcnn",)

    lab.waits(hours=1)
    await lab.passes()

    assert await lab.cluster.get(Resource.QUANTUM_TRAINING_JOBS, *KEY) is None


async def test_a_job_that_started_without_a_configuration_is_never_deleted_by_one() -> None:
    lab = Platform()
    await complete(lab)
    lab.configures(defaults={"ttlSecondsAfterFinished": 1})
    await lab.settles_after(hours=10)

    assert lab.cluster.names(Resource.QUANTUM_TRAINING_JOBS) == ("qcnn",)
