"""Jobs that are refused, and the sentence that says why."""

from typing import Any

from tests.core.world import new_job
from tests.jobs import a_container, a_template


def sentence(**job: Any) -> str:
    """What the job's Failed condition says after the first look."""
    decision = new_job(**job).decide()
    assert (decision.status.phase, decision.status.reason) == ("Failed", "InvalidSpec")
    assert decision.actions == ()
    return next(c.message for c in decision.status.conditions or () if c.type == "Failed")


def template(**container: Any) -> dict[str, Any]:
    return a_template(a_container(**container))
