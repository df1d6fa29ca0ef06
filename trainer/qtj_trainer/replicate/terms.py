"""What all workers of a training must have alike, and the sentence that says where one of them has not.

Each step averages the gradients of all workers. With other data or another option in one of them it would still end,
with weights that no record describes.
"""

import json
from collections.abc import Mapping

__all__ = ["Terms", "difference"]

Terms = Mapping[str, object]
"""Values that JSON has, by the names a user knows them by."""

_LONGEST = 60
"""Characters of a value that are shown."""
_ABSENT = "the default"


def difference(leader: Terms, follower: Terms) -> str:
    """Says in which of its terms a follower differs, to be read after its name; nothing where it does not.

    Args:
        leader: The terms of the leader.
        follower: Those of the follower.
    """
    names = [name for name in {**leader, **follower} if _said(leader, name) != _said(follower, name)]
    parts = [f"{name} {_said(follower, name)} where the leader has {_said(leader, name)}" for name in names]
    return f"has {', '.join(parts)}: give all workers the same arguments and the same data" if parts else ""


def _said(terms: Terms, name: str) -> str:
    if name not in terms:
        return _ABSENT
    text = json.dumps(terms[name])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
