"""What an answer of a tracking server means, and who asks it."""

import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.tracking.content import Description
from qtj_trainer.tracking.mlflow import MlflowRun, experiment_of, mlflow_of
from qtj_trainer.tracking.requests import RefusedError, UnreachableError
from tests.trainer.odd_servers import answering
from tools.background import free_ports


def send(uri: str, **variables: str) -> None:
    """Opens a run at a server."""
    environment = {"QTJ_TRACKING": "mlflow", "MLFLOW_TRACKING_URI": uri, **variables}
    api = mlflow_of(environment)
    assert api
    MlflowRun(api, experiment_of(environment), Description("1", "toy", 0)).send((), None, {})


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (500, "", "500 Internal Server Error"),
        (503, "<p>busy", "503 Service Unavailable"),
        (429, "[3]", "429 Too Many Requests"),
        (500, '{"message": "Out of\\ndisk"}', "500 Out of disk"),
    ],
)
def test_what_time_may_cure_is_tried_again(status: int, body: str, why: str) -> None:
    with answering(status, body) as server, pytest.raises(UnreachableError) as problem:
        send(server.url)

    assert str(problem.value) == why


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (401, '{"message": "Not\\nyou"}', "401 Not you"),
        (403, "", "403 Forbidden"),
        (404, "<html>", "404 Not Found"),
        (200, "<html>", "its answer is not that of MLflow"),
        (200, "[1]", "its answer is not that of MLflow"),
        (200, "[" * 100_000, "its answer is not that of MLflow"),
        (200, '{"experiment": 3}', "its answer is not that of MLflow"),
        (200, '{"experiment": {"experiment_id": "0"}, "run": {}}', "its answer is not that of MLflow"),
    ],
)
def test_what_would_be_refused_again_is_not(status: int, body: str, why: str) -> None:
    with answering(status, body) as server, pytest.raises(RefusedError) as problem:
        send(server.url)

    assert str(problem.value) == why


def test_a_redirection_is_not_followed_because_the_token_would_go_along() -> None:
    with answering(200, "{}") as other, answering(302, Location=other.url) as server:
        with pytest.raises(RefusedError, match=f"it redirects to {other.url}"):
            send(server.url, MLFLOW_TRACKING_TOKEN="hunter2")

        assert other.asked == []
        assert server.tokens == {"Bearer hunter2"}


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": "hunter2"}, "Basic YWRhOmh1bnRlcjI="),
        ({"MLFLOW_TRACKING_TOKEN": "hunter2"}, "Bearer hunter2"),
        ({}, ""),
    ],
)
def test_the_variables_of_mlflow_say_who_asks(given: dict[str, str], header: str) -> None:
    with answering(401) as server, pytest.raises(RefusedError):
        send(server.url, **given)

    assert server.tokens == {header}


def test_a_password_in_the_address_is_used_and_not_shown() -> None:
    api = mlflow_of({"QTJ_TRACKING": "MLflow", "MLFLOW_TRACKING_URI": "https://ada:hunter2@lab.example:81/m/?x=1#y"})

    assert api
    assert (api.server, api.authorization) == ("https://lab.example:81/m", "Basic YWRhOmh1bnRlcjI=")
    assert "YWRh" not in repr(api)


def test_certificates_that_are_not_there_are_no_crash() -> None:
    (port,) = free_ports(1)

    with pytest.raises(UnreachableError, match="No such file"):
        send(f"https://127.0.0.1:{port}", MLFLOW_TRACKING_SERVER_CERT_PATH="/nowhere.pem")


@pytest.mark.parametrize("uri", ["", "sqlite:///mlflow.db", "databricks", "http://", "http://[", "file:///x"])
def test_an_address_that_is_no_server_is_refused(uri: str) -> None:
    with pytest.raises(UserError, match="MLFLOW_TRACKING_URI names no server"):
        mlflow_of({"QTJ_TRACKING": "mlflow", "MLFLOW_TRACKING_URI": uri})


def test_another_tracker_is_refused() -> None:
    with pytest.raises(UserError, match="QTJ_TRACKING is 'wandb': it must be mlflow, or not set"):
        mlflow_of({"QTJ_TRACKING": "wandb"})


def test_nothing_is_tracked_unless_the_variable_says_so() -> None:
    assert mlflow_of({"MLFLOW_TRACKING_URI": "http://127.0.0.1:1"}) is None
