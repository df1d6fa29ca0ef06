"""How a real API server refuses a request, and what the client makes of it."""

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.api_objects import SERVICES, connected, refusal, service
from tools.api_server import ApiServer
from tools.background import free_port


async def test_an_object_that_breaks_a_rule_is_refused_for_good(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, api_server.token)
    bad = service(namespace)
    bad["spec"]["ports"] = [{"port": 0}]

    with pytest.raises(ApiError, match=r"spec.ports\[0\].port: Invalid value: 0") as refused:
        await client.create(SERVICES, bad)
    await client.close()

    assert refused.value.final


async def test_a_misspelt_field_is_refused_and_not_dropped(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, api_server.token)
    bad = service(namespace)
    bad["spec"]["selecter"] = {}

    with pytest.raises(ApiError, match=r'unknown field "spec.selecter"') as refused:
        await client.create(SERVICES, bad)
    await client.close()

    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


async def test_a_server_out_of_reach_is_an_error_that_may_pass() -> None:
    client = connected(f"https://127.0.0.1:{free_port()}", "any")

    with pytest.raises(ApiError, match="the API server cannot be reached") as refused:
        await client.get(SERVICES, "lab", "a")
    await client.close()

    assert refused.value.code == 0
    assert not refused.value.final


async def test_a_server_that_does_not_know_us_says_so(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, "a stranger's")

    code, _ = await refusal(client.get(SERVICES, namespace, "a"))
    await client.close()

    assert code == 401
