"""What a replica has told of its last step, and for how long it has told nothing."""

from dataclasses import dataclass

from qtj_contract import Heartbeat

__all__ = ["Heard", "is_late"]


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of one replica that is asked again and again.

    Attributes:
        beat: Its last answer; None if it has never given one that can be read.
        silent: Seconds since the first request that it has not answered; 0 if it has answered the last one.
        holds: Whether it takes requests and answers none, as a stopped process does. Otherwise a silent replica may be
            out of reach, and train.
    """

    beat: Heartbeat | None = None
    silent: float = 0.0
    holds: bool = False

    @property
    def step(self) -> int | None:
        """The last step that it has told of."""
        return self.beat.step if self.beat else None

    @property
    def age(self) -> float | None:
        """Seconds since its last step, as far as that is certain; None outside of steps."""
        if self.beat is None or self.beat.age is None:
            return None
        return self.beat.age + (self.silent if self.holds else 0.0)

    @property
    def tells_nothing(self) -> bool:
        """Whether it answers, but never anything about steps, as a program without that endpoint."""
        return self.beat is None and not self.silent


def is_late(heard: Heard, seconds: float) -> bool:
    """Tells whether a replica has taken no step for so long, or has told nothing for so long."""
    return (heard.age or 0.0) >= seconds or heard.silent >= seconds
