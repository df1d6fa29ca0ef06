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
    if progress:  # a leader does not know what an attempt before it has begun
        earlier = [_ended(each, "the attempt") for each in earlier]
    known = (*earlier, *reported.values())[-MOST_CAPTURES:]
    return tuple(_ended(each, "the training") for each in known) if seen.job.is_over else known


def _ended(profile: ProfileStatus, ended: str) -> ProfileStatus:
    """Returns a profile that nobody will finish."""
    if profile.state != "Running":
        return profile
    return profile.changed(state="Failed", error=f"{ended} ended before the profile was stored")
