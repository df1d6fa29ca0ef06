"""Jobs as a user applies them with kubectl."""

from typing import Any

from tests.jobs import a_container, a_template
from tools.api_server import ApiServer


def applied(server: ApiServer, job: dict[str, Any]) -> str:
    """What kubectl says when the user applies the job."""
    meta = {key: value for key, value in job["metadata"].items() if key in {"name", "namespace"}}
    return server.kubectl("apply", "-f", "-", manifest={**job, "metadata": meta}, check=False)


def a_container_with(**fields: Any) -> dict[str, Any]:
    return a_template(a_container(**fields))
