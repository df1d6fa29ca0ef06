"""Velero's two requests to a real API server, while a real operator runs."""

import asyncio
from pathlib import Path

from qtj_operator.controller.client import Resource
from tests.controller.api_objects import connected
from tests.controller.operator_process import SOON, WORKERS, Cluster, running
from tests.controller.test_backup import RESTORED, backed_up
from tests.jobs import job_object
from tools.api_server import ApiServer
from tools.background import wait_until

JOBS = Resource.QUANTUM_TRAINING_JOBS
PAUSES = {"first": 0.0, "second": 0.02, "third": 2.0}
"""Seconds between the two requests for a job, which are what is tested."""


async def restore(server: ApiServer, namespace: str) -> None:
    status, client = await backed_up(), connected(server.url, server.token)
    try:
        for name, seconds in PAUSES.items():
            job = job_object(name=name, namespace=namespace, inference={})
            job["metadata"] = {"name": name, "namespace": namespace, "labels": RESTORED}
            created = await client.create(JOBS, job)
            await asyncio.sleep(seconds)
            await client.replace_status(JOBS, {**created, "status": status})
    finally:
        await client.close()


def test_finished_jobs_stay_finished(api_server: ApiServer, namespace: str, tmp_path: Path) -> None:
    cluster = Cluster(api_server, namespace)
    with running(api_server, namespace, tmp_path):
        asyncio.run(restore(api_server, namespace))
        cluster.apply_example()
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods of a job that was not restored, and no others")

    found = [api_server.get("qtj", name, "-n", namespace)["status"]["phase"] for name in PAUSES]
    assert found == ["Complete"] * 3
