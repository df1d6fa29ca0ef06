"""A run whose ConfigMap or Secret has changed is another run, and says so."""

from tests.local.laptop import ENDLESS, Laptop, Manifest, toy_job


def secret(rate: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "settings"}, "stringData": {"RATE": rate}}


def test_a_run_whose_variables_changed_starts_over_and_says_why(laptop: Laptop) -> None:
    job = toy_job(ENDLESS, workers=1, inference=None)
    job["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "settings"}}]
    laptop.write(job, secret("0.1"))
    running = laptop.training()
    running.interrupt()
    assert running.end().code == 130
    laptop.write(job, secret("0.2"))

    planned = laptop.qtj("run", "job.yaml", "--dry-run")
    resumed = laptop.qtj("run", "job.yaml", "--dry-run", "--resume")

    assert (
        "toy  starts over, because Secret settings changed; toy/1 was interrupted, and --resume would" in planned.output
    )
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/2'}" in planned.output
    assert "toy  Secret settings changed since toy/1, and its programs get the new values" in resumed.output
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/1'}" in resumed.output
    assert "0.1" not in (laptop.artifacts() / ".qtj-run").read_text()
