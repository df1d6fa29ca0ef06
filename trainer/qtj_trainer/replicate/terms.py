"""The terms that must be equal in all workers of a training, and the message that names their differences.

Each step averages the gradients of all workers. With other data or options in one worker, training would still finish,
but with weights that no record describes.
"""

import json
from collections.abc import Mapping

__all__ = ["Terms", "difference"]

Terms = Mapping[str, object]
"""JSON values, by the names that users know."""

_LONGEST = 60
"""Characters of a value that are shown, at most."""
_ABSENT = "the default"


def difference(leader: Terms, follower: Terms) -> str:
    """Returns how a follower's terms differ, as a text that follows its name; empty if they do not.

    Args:
        leader: The terms of the leader.
        follower: The terms of the follower.
    """
    names = [name for name in {**leader, **follower} if _shown(leader, name) != _shown(follower, name)]
    parts = [f"{name} {_shown(follower, name)} where the leader has {_shown(leader, name)}" for name in names]
    return f"has {', '.join(parts)}: give all workers the same arguments and the same data" if parts else ""


def _shown(terms: Terms, name: str) -> str:
    if name not in terms:
        return _ABSENT
    text = json.dumps(terms[name])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
