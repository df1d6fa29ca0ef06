"""`deploy/priority` on a real API server: which requests get the operator's share of it."""

import urllib.error
import urllib.request

import pytest

from tests.controller.conftest import api_server
from tests.controller.operator_process import SOON
from tests.deploy.chart import DEPLOY
from tools.api_server import ApiServer, unverified
from tools.background import wait_until

__all__ = ["api_server"]

OPERATOR = "system:serviceaccount:qtj-system:qtj-operator"
SCHEMA = "qtj-operator-requests"


def schema_of(server: ApiServer, user: str) -> str:
    """The name of the FlowSchema by which the API server has classified a request of a user."""
    sent = {"Authorization": f"Bearer {server.token}", "Impersonate-User": user}
    request = urllib.request.Request(f"{server.url}/api/v1/pods", headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=10, context=unverified()) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as refused:  # nobody has rights here, but requests are classified before
        headers = refused.headers
    uid = headers["X-Kubernetes-PF-FlowSchema-UID"]
    schemas = server.get("flowschemas")["items"]
    return next(str(each["metadata"]["name"]) for each in schemas if each["metadata"]["uid"] == uid)


@pytest.mark.parametrize(
    ("user", "schema"),
    [(OPERATOR, SCHEMA), ("system:serviceaccount:qtj-system:default", "service-accounts")],
)
def test_the_operator_and_nobody_else_gets_a_share_of_its_own(api_server: ApiServer, user: str, schema: str) -> None:
    api_server.kubectl("apply", "-k", str(DEPLOY / "priority"))
    try:
        wait_until(lambda: schema_of(api_server, OPERATOR) == SCHEMA, SOON, "the FlowSchema")

        assert schema_of(api_server, user) == schema
        level = api_server.get("flowschema", SCHEMA)["spec"]["priorityLevelConfiguration"]["name"]
        assert api_server.get("prioritylevelconfiguration", level)["spec"]["type"] == "Limited"
    finally:
        api_server.kubectl("delete", "-k", str(DEPLOY / "priority"))
