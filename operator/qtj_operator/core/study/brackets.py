"""The brackets of Hyperband, and which trials are in each.

A bracket that compares early stops most of its trials early, so it gets more of them. In a round, bracket `b` of `B`
with the factor `f` has `B / (B - b) * f**(B - 1 - b)` trials, rounded up. So all brackets train for about as many
epochs, and nobody has to know which comparison suits the problem::

    3 brackets, factor 3     trials of a round     compared after
    0                        1 to 9                1, 3, 9 epochs and so on
    1                        10 to 14              3, 9
    2                        15 to 17              9

Trial 18 begins the next round. A bracket depends on nothing but the number of its trial, so every pass finds the same.
"""

from qtj_operator.api.study_stopping import Stopping

__all__ = ["bracket_of"]


def bracket_of(stopping: Stopping, number: int) -> int:
    """Returns the bracket of a trial; 0 for all of them with other rules.

    Args:
        stopping: What the study says.
        number: The number of the trial.
    """
    sizes = _sizes(stopping.bracket_count, stopping.kept_of)
    place = (number - 1) % sum(sizes)
    return next(bracket for bracket in range(len(sizes)) if place < sum(sizes[: bracket + 1]))


def _sizes(brackets: int, factor: int) -> list[int]:
    """Returns how many trials of a round are in each bracket."""
    left = range(brackets, 0, -1)
    return [-(-brackets * factor ** (each - 1) // each) for each in left]
