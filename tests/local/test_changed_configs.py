"""A run whose ConfigMap or Secret has changed is another run, and says so."""

from typing import Any

import pytest

from tests.local.laptop import Laptop, Manifest, toy_job
from tools.background import wait_until

ENDLESS = 100_000


def config(kind: str, rate: str, name: str = "settings") -> Manifest:
    data: dict[str, Any] = {"data" if kind == "ConfigMap" else "stringData": {"RATE": rate}}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **data}


def configured(kind: str, epochs: int) -> Manifest:
    job = toy_job(epochs, workers=1, inference=None)
    source = {"configMapRef" if kind == "ConfigMap" else "secretRef": {"name": "settings"}}
    job["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [source]
    return job


def interrupted(laptop: Laptop, kind: str, epochs: int) -> Manifest:
    job = configured(kind, epochs)
    laptop.write(job, config(kind, "0.1"), config(kind, "1", name="other"))
    running = laptop.start("run", "job.yaml")
    wait_until(laptop.trains)
    running.interrupt()
    assert running.end().code == 130
    return job


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_run_whose_variables_changed_starts_over_and_says_why(laptop: Laptop, kind: str) -> None:
    job = interrupted(laptop, kind, ENDLESS)
    laptop.write(job, config(kind, "0.2"))

    planned = laptop.qtj("run", "job.yaml", "--dry-run")
    resumed = laptop.qtj("run", "job.yaml", "--dry-run", "--resume")

    assert (
        f"toy  starts over, because {kind} settings changed; toy/1 was interrupted, and --resume would"
        in planned.output
    )
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/2'}" in planned.output
    assert f"toy  {kind} settings changed since toy/1, and its programs get the new values" in resumed.output
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/1'}" in resumed.output
    assert "0.1" not in (laptop.artifacts() / ".qtj-run").read_text()


def test_a_run_whose_variables_are_the_same_goes_on(laptop: Laptop) -> None:
    job = interrupted(laptop, "ConfigMap", ENDLESS)
    laptop.write(config("ConfigMap", "2", name="other"), config("ConfigMap", "0.1"), job)  # of another, and moved

    planned = laptop.qtj("run", "job.yaml", "--dry-run")

    assert "toy  continues toy/1, which was interrupted: --fresh starts over" in planned.output
