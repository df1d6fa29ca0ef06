"""The profiles that a job took of itself, as the status lists them."""

from qtj_contract import MOST_CAPTURES
from qtj_operator.api.status import ProfileStatus
from qtj_operator.core.observed import Observed

__all__ = ["profiles_of"]


def profiles_of(seen: Observed) -> tuple[ProfileStatus, ...]:
    """Returns the last profiles, newest last: those that are known, and what the leader reports now.

    The leader's last report is in its termination message, because the last poll may have been before.
    """
    leader = seen.leader
    final = leader.message.progress if leader and leader.succeeded and leader.message else None
    progress = final or seen.progress
    reported = {
        each.name: ProfileStatus(name=each.name, state=each.state, path=each.path or None, error=each.error or None)
        for each in (progress.captures if progress else ())
    }
    earlier = [each for each in seen.job.status.profiles if each.name not in reported]
    known = (*earlier, *reported.values())[-MOST_CAPTURES:]
    return tuple(map(_ended, known)) if seen.job.is_over else known


def _ended(profile: ProfileStatus) -> ProfileStatus:
    """Returns a profile of a job that is over: nobody will finish it."""
    if profile.state != "Running":
        return profile
    return profile.changed(state="Failed", error="the training ended before the profile was stored")
