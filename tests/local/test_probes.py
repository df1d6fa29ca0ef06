"""Probes decide whether a replica is ready, and end one that has hung."""

from typing import Any

from tests.local.laptop import Laptop, toy_job

QUICK = {"periodSeconds": 1, "failureThreshold": 2}


def probed(epochs: int, **probes: Any) -> dict[str, Any]:
    job = toy_job(epochs, workers=1, runPolicy={"backoffLimit": 0})
    job["spec"]["template"]["spec"]["containers"][0] |= probes
    return job


def test_a_replica_is_ready_when_its_probe_says_so(laptop: Laptop) -> None:
    laptop.write(probed(40, readinessProbe={**QUICK, "httpGet": {"path": "/progress", "port": "metrics"}}))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert (
        ended.output.index("toy  starting") < ended.output.index("toy  running") < ended.output.index("toy  training")
    )


def test_a_replica_whose_probe_fails_is_never_ready(laptop: Laptop) -> None:
    laptop.write(probed(20, readinessProbe={**QUICK, "exec": {"command": ["false"]}}))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert "ready 1/1" not in ended.output


def test_a_replica_that_has_hung_is_ended(laptop: Laptop) -> None:
    laptop.write(probed(100_000, livenessProbe={**QUICK, "tcpSocket": {"port": 9}}))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 1
    assert ended.status["reason"] == "BackoffLimitExceeded"
    assert ended.status["failures"][0]["exitCode"] == 143
    assert ended.status["failures"][0]["message"] == "its liveness probe failed 2 times in a row, so it was killed"
    assert "its liveness probe failed 2 times in a row" in ended.errors
