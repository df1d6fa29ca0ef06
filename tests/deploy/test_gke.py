"""`deploy/gke/gke.sh` on a cloud that remembers: what it calls, again, and after an interruption."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.cloud import PARAMETERS, SCRIPT, Cloud, plain
from tests.missing import skip_or_fail
from tools.release.version import ROOT

GOLDEN = Path(__file__).parent / "golden" / "gke.yaml"
INTERRUPTIONS = (
    "service-accounts create qtj-trainer",
    "buckets update",
    "clusters create",
    "node-pools create",
    "docker push",
)


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud.of(tmp_path)


def planned(output: str) -> list[str]:
    """What `plan` says would run, as it is recorded when it runs."""
    return [plain(" ".join(shlex.split(line.removeprefix("+ ")))) for line in output.splitlines()]


def test_the_calls_of_up_and_down_are_those_that_were_reviewed(cloud: Cloud) -> None:
    calls = {}
    for name, words in {"up": ["up"], "up again": ["up"], "down": ["down", "--delete-bucket"]}.items():
        cloud.do(*words)
        calls[name] = cloud.changes()

    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(yaml.safe_dump(calls, sort_keys=False, width=1000))
    assert calls == yaml.safe_load(GOLDEN.read_text())


def test_a_plan_names_what_up_runs_and_changes_nothing(cloud: Cloud) -> None:
    plan = planned(cloud.do("plan"))
    assert cloud.changes() == []

    cloud.do("up")
    assert cloud.changes() == plan


def test_a_second_up_creates_nothing_twice(cloud: Cloud) -> None:
    cloud.do("up")
    before = cloud.exists()

    cloud.do("up")
    assert cloud.exists() == before
    assert [call for call in cloud.changes() if {"create", "enable", "build", "push"} & set(call.split())] == []
    repeated = cloud.changes()
    assert planned(cloud.do("plan")) == repeated


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What there is after an `up` that nothing interrupted."""
    cloud = Cloud.of(tmp_path_factory.mktemp("whole"))
    cloud.do("up")
    return cloud.exists()


@pytest.mark.parametrize("lost", INTERRUPTIONS)
def test_after_an_interruption_up_creates_the_rest_and_down_deletes_what_there_is(
    cloud: Cloud, whole: dict[str, list[str]], lost: str
) -> None:
    ended = cloud.run("up", fails=lost)
    assert ended.returncode != 0
    assert "the connection was lost" in ended.stderr
    half = cloud.memory.read_text()

    cloud.do("down")
    kinds = {kind for kind in cloud.exists() if not kind.startswith("policy")}
    assert kinds <= {"services", "storage buckets", "storage buckets with rules", "images"}
    assert not [kind for kind in cloud.exists() if kind.startswith(("policy projects", "policy storage"))]

    cloud.memory.write_text(half)
    cloud.do("up")
    assert cloud.exists() == whole


def test_down_keeps_the_artifacts_unless_it_is_asked_to_delete_them(cloud: Cloud) -> None:
    cloud.do("up")

    assert "gs://lab-qtj stays, with all artifacts" in cloud.do("down")
    assert cloud.exists()["storage buckets"] == ["lab-qtj"]
    cloud.do("down", "--delete-bucket")
    assert "storage buckets" not in cloud.exists()


def test_a_second_down_deletes_nothing(cloud: Cloud) -> None:
    cloud.do("up")
    cloud.do("down", "--delete-bucket")

    cloud.do("down", "--delete-bucket")
    assert cloud.changes() == []


def made(cloud: Cloud) -> set[tuple[str, str]]:
    """What there is beside the APIs of the project, which every cluster needs."""
    return {(kind, name) for kind, names in cloud.exists().items() if kind != "services" for name in names}


def test_two_clusters_of_a_project_share_nothing(cloud: Cloud) -> None:
    cloud.write(CLUSTER="first")
    cloud.do("up")
    of_first = made(cloud)
    cloud.write(CLUSTER="second")
    cloud.do("up")
    assert len(made(cloud)) == 2 * len(of_first)

    cloud.do("down", "--delete-bucket")
    assert of_first <= made(cloud)
    assert {kind for kind, _ in made(cloud) - of_first} <= {"images", *policies_of_deleted(cloud)}


def policies_of_deleted(cloud: Cloud) -> set[str]:
    """The stand-in keeps the policy of what it has deleted."""
    return {kind for kind in cloud.exists() if kind.startswith("policy") and "second" in kind}


@pytest.mark.parametrize("lost", ["services list", "clusters list", "projects get-iam-policy"])
def test_what_cannot_be_listed_is_not_taken_as_absent(cloud: Cloud, lost: str) -> None:
    cloud.do("up")

    ended = cloud.run("down", fails=lost)
    assert ended.returncode != 0
    assert "the connection was lost" in ended.stderr
    assert "gke.sh: " in ended.stderr


def test_what_reaches_the_cluster_has_the_images_and_accounts_of_the_project(tmp_path: Path) -> None:
    cloud = Cloud.of(tmp_path, TAG="mine", NAMESPACE="research", REGION="europe-west4")
    cloud.do("up")

    operator = yaml.safe_load((tmp_path / "operator.yaml").read_text())
    namespace, account = yaml.safe_load_all((tmp_path / "namespace.yaml").read_text())
    image = operator["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "europe-west4-docker.pkg.dev/lab/qtj/qtj-operator:mine"
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    assert account["metadata"]["namespace"] == namespace["metadata"]["name"] == "research"
    workload = "serviceAccount:lab.svc.id.goog[research/qtj-trainer]"
    trainer = account["metadata"]["annotations"]["iam.gke.io/gcp-service-account"]
    assert cloud.exists()[f"policy iam service-accounts {trainer}"] == [f"roles/iam.workloadIdentityUser\t{workload}"]


@pytest.mark.parametrize(("days", "deleted_after"), [("", []), ("90", [90])])
def test_artifacts_are_deleted_only_where_the_parameters_say_so(
    tmp_path: Path, days: str, deleted_after: list[int]
) -> None:
    Cloud.of(tmp_path, DELETE_ARTIFACTS_AFTER=days).do("up")

    rules = json.loads((tmp_path / "lifecycle.json").read_text())["rule"]
    assert rules[0] == {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}}
    assert [each["condition"]["age"] for each in rules if each["action"]["type"] == "Delete"] == deleted_after


def test_a_bucket_of_the_user_keeps_its_rules(cloud: Cloud) -> None:
    cloud.memory.write_text(json.dumps({"storage buckets": ["lab-qtj"], "storage buckets with rules": ["lab-qtj"]}))

    cloud.do("up")
    assert not [call for call in cloud.changes() if "buckets create" in call or "buckets update" in call]


def test_the_kubeconfig_of_the_user_and_the_parameters_stay_as_they_are(cloud: Cloud, tmp_path: Path) -> None:
    before = (tmp_path / "lab.env").read_text()
    (tmp_path / ".kube").mkdir()
    cloud.do("up")

    assert (tmp_path / "lab.env").read_text() == before
    assert list((tmp_path / ".kube").iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "words", "sentence"),
    [
        ({"PROJECT": ""}, ["plan"], "PROJECT is empty"),
        ({"TRAINING_NODES": "many"}, ["plan"], 'TRAINING_NODES is "many"'),
        ({"DELETE_ARTIFACTS_AFTER": "0"}, ["plan"], 'DELETE_ARTIFACTS_AFTER is "0"'),
        ({"CLUSTER": "quantum-machine-learning"}, ["plan"], 'SERVICE_ACCOUNT is "quantum-machine-learning-trainer"'),
        ({"NODE_ACCOUNT": "nodes"}, ["down"], 'NODE_ACCOUNT is "nodes"'),
        ({"CLUSTER": "Lab"}, ["plan"], 'CLUSTER is "Lab"'),
        ({"CLUSTER": ""}, ["down"], 'CLUSTER is ""'),
        ({}, ["apply"], "apply is unknown"),
        ({}, [], "name what to do: plan, up or down"),
        ({}, ["up", "--delete-bucket"], "--delete-bucket is for down"),
        ({}, ["--parameters"], "name a file after --parameters"),
        ({}, ["--parameters", "/nonexistent", "up"], "there is no file /nonexistent"),
    ],
)
def test_a_mistake_is_refused_with_a_sentence_before_anything_is_called(
    tmp_path: Path, parameters: dict[str, str], words: list[str], sentence: str
) -> None:
    cloud = Cloud.of(tmp_path, **parameters)

    ended = cloud.run(*words)
    assert ended.returncode == 2
    assert f"gke.sh: {sentence}" in ended.stderr
    assert cloud.calls() == []


def test_the_parameters_of_this_checkout_name_no_project() -> None:
    assert "\nPROJECT= " in PARAMETERS.read_text()


def test_shellcheck_finds_nothing() -> None:
    if not shutil.which("shellcheck"):
        skip_or_fail("shellcheck is not installed: apt-get install shellcheck")
    ended = subprocess.run(
        ["shellcheck", "--external-sources", SCRIPT, SCRIPT.with_name("steps.sh")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcloud"), reason="gcloud is not installed")
def test_gcloud_knows_every_command_and_option(cloud: Cloud, tmp_path: Path) -> None:
    called = []
    for words in (["up"], ["down", "--delete-bucket"]):
        cloud.do(*words)
        called += [shlex.join(call) for call in cloud.calls() if call[0] == "gcloud"]
    commands = tmp_path / "commands.json"
    commands.write_text(json.dumps([{"command_string": each} for each in dict.fromkeys(called)]))

    linted = subprocess.run(
        ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={commands}"],
        capture_output=True,
        text=True,
        check=True,
    )
    verdicts = json.loads(linted.stdout)
    assert len(verdicts) > 20
    assert [(each["command_string"], each["error_message"]) for each in verdicts if not each["success"]] == []
