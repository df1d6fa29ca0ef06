"""The profiles that a job took of itself, in its status."""

from qtj_contract import MOST_CAPTURES, CaptureRecord, Progress, TerminationMessage
from qtj_operator.api.status import ProfileStatus
from qtj_operator.core.status import differ_in_numbers_alone
from tests.core.world import World, complete_job, running_job

STORED = CaptureRecord("epoch-3", "Stored", "logs/qcnn/plugins/profile/epoch-3", "worker-1 has stored no profile")
RUNNING = CaptureRecord("epoch-3", "Running")


def names(world: World) -> list[str]:
    return [each.name for each in world.decide().status.profiles]


def test_what_the_leader_reports_is_in_the_status() -> None:
    world = running_job().with_progress(captures=(STORED,))

    assert world.decide().status.profiles == (
        ProfileStatus(name="epoch-3", state="Stored", path=STORED.path, error=STORED.error),
    )


def test_a_job_without_captures_has_no_such_field() -> None:
    assert "profiles" not in running_job().with_progress().decide().status.to_dict()


def test_what_an_earlier_attempt_took_stays() -> None:
    first = running_job().with_progress(captures=(STORED,))
    status = first.decide().status

    again = first.with_status(profiles=status.profiles).with_progress(captures=(CaptureRecord("step-90", "Running"),))

    assert names(again) == ["epoch-3", "step-90"]


def test_the_last_report_of_a_leader_that_has_ended_counts() -> None:
    message = TerminationMessage(progress=Progress(epoch=25, captures=(STORED,)))
    world = running_job().with_progress(captures=(RUNNING,)).with_pod("worker-0", exit_code=0, says=message)

    [profile] = world.decide().status.profiles
    assert profile.state == "Stored"


def test_the_status_has_the_last_profiles_only() -> None:
    earlier = tuple(ProfileStatus(name=f"step-{number}", state="Stored") for number in range(MOST_CAPTURES))

    world = running_job().with_status(profiles=earlier).with_progress(captures=(STORED,))

    assert names(world) == [*(each.name for each in earlier[1:]), "epoch-3"]


def test_a_change_of_a_profile_is_written_at_once() -> None:
    before, after = (running_job().with_progress(captures=(record,)).decide().status for record in (RUNNING, STORED))

    assert not differ_in_numbers_alone(before, after)


def test_a_profile_of_a_job_that_has_ended_is_not_running() -> None:
    running, stored = ProfileStatus(name="step-9", state="Running"), ProfileStatus(name="epoch-1", state="Stored")

    profiles = complete_job().with_status(profiles=(stored, running)).decide().status.profiles

    assert profiles == (
        stored,
        ProfileStatus(name="step-9", state="Failed", error="the training ended before the profile was stored"),
    )


def test_a_profile_that_an_attempt_has_left_unfinished_is_not_running_in_the_next() -> None:
    running = ProfileStatus(name="step-9-0123abcd", state="Running")

    world = running_job().with_status(profiles=(running,))

    assert world.decide().status.profiles == (running,), "its leader may still store it"
    assert world.with_progress(captures=()).decide().status.profiles == (
        ProfileStatus(name="step-9-0123abcd", state="Failed", error="the attempt ended before the profile was stored"),
    )
