"""What is known of one replica that is asked for its progress again and again."""

from qtj_contract import Heartbeat
from qtj_operator.core.heard import Heard

__all__ = ["Contact"]


class Contact:
    """The answers of a replica, and its silence.

    A silence counts from the first request without an answer, and not from the last answer: replicas take turns to be
    asked, and the programs of others, which hold every request for two seconds, may make a turn take minutes.

    Args:
        now: When it is asked first, in seconds of any clock that only goes forward.
    """

    def __init__(self, now: float) -> None:
        self._since = now
        self._beat: Heartbeat | None = None
        self._misses = False
        self._holds = False

    def answered(self, answer: str, now: float) -> None:
        """It has answered."""
        self._beat = Heartbeat.parse(answer)
        self._since, self._misses, self._holds = now, False, False

    def missed(self, asked: float, *, holds: bool) -> None:
        """It has not answered.

        Args:
            asked: When it was asked.
            holds: Whether it has taken the request. Once it has, it is not taken for one that is out of reach: the
                requests that wait for a stopped process fill its queue, and then others are refused.
        """
        if not self._misses:
            self._since = asked
        self._misses, self._holds = True, self._holds or holds

    def heard(self, now: float) -> Heard:
        """Returns what is known now."""
        return Heard(self._beat, now - self._since if self._misses else 0.0, self._holds)
