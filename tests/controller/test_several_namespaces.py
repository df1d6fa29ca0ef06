"""One operator for several namespaces, with a Role in each, against a real API server."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.controller.operator_process import EXAMPLE, SOON, WORKERS, Operator, running
from tools.api_server import KUBECONFIG, OPERATOR_TOKEN, ApiServer
from tools.background import wait_until

TEAMS = ("several-a", "several-b")
LATE, OTHER = "several-late", "several-other"
ACCOUNT = "quantum:qtj-operator"
RIGHTS = ("--clusterrole=cluster-admin", f"--serviceaccount={ACCOUNT}")


@pytest.fixture
def server(api_server: ApiServer) -> Iterator[ApiServer]:
    """An API server with a right of the operator in each namespace of a team, and in no other."""
    api_server.ensure_namespaces(*TEAMS, OTHER)
    for name in TEAMS:
        api_server.kubectl("create", "rolebinding", "operator", *RIGHTS, "-n", name)
    yield api_server
    for name in (*TEAMS, LATE, OTHER):
        api_server.kubectl("delete", "qtj", "--all", "-n", name, check=False)
        api_server.kubectl("delete", "rolebinding", "operator", "-n", name, "--ignore-not-found")


@pytest.fixture
def operator(server: ApiServer, tmp_path: Path) -> Iterator[Operator]:
    """An operator for the namespaces of both teams and for one that does not exist yet."""
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=server.url, token=OPERATOR_TOKEN))
    others = (f"--namespace={name}" for name in (*TEAMS[1:], LATE))
    with running(replace(server, kubeconfig=kubeconfig), TEAMS[0], tmp_path, *others) as one:
        yield one


def apply_example(server: ApiServer, namespace: str) -> None:
    server.kubectl("apply", "-n", namespace, "-f", str(EXAMPLE))


def has_pods(server: ApiServer, namespace: str) -> bool:
    return server.names("pods", namespace) == list(WORKERS)


def test_jobs_of_each_namespace_start_though_one_namespace_is_missing_and_those_of_others_do_not(
    server: ApiServer, operator: Operator
) -> None:
    for name in (*TEAMS, OTHER):
        apply_example(server, name)

    for name in TEAMS:
        wait_until(partial(has_pods, server, name), SOON, f"the pods in {name}")
    assert server.names("pods", OTHER) == []
    assert "for namespaces several-a, several-b, several-late" in operator.log.read_text()
    assert f"jobs in namespace {LATE} are left alone until they may be listed: " in operator.log.read_text()
    metrics = operator.answers("/metrics") or ""
    assert all(f'job_namespace="{name}"' in metrics for name in TEAMS)

    operator.process.terminate()
    assert operator.process.wait(SOON) == 0


@pytest.mark.slow
def test_a_namespace_that_comes_later_is_looked_after_without_a_restart(server: ApiServer, operator: Operator) -> None:
    server.kubectl("create", "namespace", LATE)
    server.kubectl("create", "rolebinding", "operator", *RIGHTS, "-n", LATE)
    apply_example(server, LATE)

    wait_until(lambda: has_pods(server, LATE), 60, "the pods in the namespace that came later")
    assert f"jobs in namespace {LATE} may be listed now" in operator.log.read_text()
