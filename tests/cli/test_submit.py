"""`qtj submit`, `qtj retry` and what else changes a job, with an API server that has one answer for each request."""

from pathlib import Path

import pytest
import yaml

from qtj.control import raise_retry
from qtj.terminal.errors import InputError
from qtj_operator.controller.client import Resource
from tests.cli.fake_api import JOBS, MAPS, FakeApi, use_kubeconfig
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj
from tests.controller.lab import KEY, TRAINED, Lab, running

STORE = "--artifacts=pvc://results"
FORBIDDEN = (
    'configmaps is forbidden: User "me" cannot create resource "configmaps" in API group "" in the namespace "lab"'
)


@pytest.fixture
def api(api: FakeApi, folder: Path) -> FakeApi:
    (folder / "train.py").write_text("from qtj_trainer import Program\nimport layers\nProgram(epochs=1)\n")
    (folder / "layers.py").write_text("")
    return api


def test_a_program_becomes_a_job_that_owns_its_config_map(api: FakeApi) -> None:
    answer = qtj("submit", "train.py", STORE, "--workers", "2", "--", "--seed", "1")

    (map_kind, map_name), (job_kind, job_name) = api.names
    job, config = api.objects[job_kind, job_name], api.objects[map_kind, map_name]
    assert (answer.code, answer.output) == (
        0,
        "train is submitted to namespace lab: `qtj status train -n lab -w` follows it\n",
    )
    assert answer.sentences == [f"the ConfigMap {map_name} has layers.py, train.py"]
    assert (map_kind, job_kind, job_name) == (MAPS, JOBS, "train")
    assert job["spec"]["program"] == {"configMap": map_name, "entry": "train.py"}
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["--seed", "1"]
    assert [each["uid"] for each in config["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]


def test_both_are_tried_before_anything_is_written(api: FakeApi) -> None:
    qtj("submit", "train.py", STORE)

    assert api.asked == [("PATCH", JOBS, True), ("POST", MAPS, True), ("PATCH", JOBS, False), ("POST", MAPS, False)]


def test_a_missing_right_is_a_sentence_and_nothing_was_created(api: FakeApi) -> None:
    api.refusals["POST", MAPS, True] = (403, FORBIDDEN)

    answer = qtj("submit", "train.py", STORE)

    assert (answer.code, answer.sentences[-1]) == (2, f"train cannot be submitted: {FORBIDDEN}")
    assert api.names == []
    assert api.asked == [("PATCH", JOBS, True), ("POST", MAPS, True)]


def test_a_job_whose_config_map_is_refused_at_last_is_deleted(api: FakeApi) -> None:
    api.refusals["POST", MAPS, False] = (403, "exceeded quota")

    answer = qtj("submit", "train.py", STORE)

    assert (answer.code, answer.sentences[-1]) == (2, "train cannot be submitted: exceeded quota")
    assert api.names == []


def test_the_same_program_again_completes_what_is_there(api: FakeApi) -> None:
    qtj("submit", "train.py", STORE)
    before = api.names
    del api.objects[before[0]]  # as if the first command had been killed

    assert qtj("submit", "train.py", STORE).code == 0
    assert api.names == before


def test_a_config_map_of_a_deleted_job_is_replaced(api: FakeApi) -> None:
    qtj("submit", "train.py", STORE)
    (config, job) = api.names
    earlier = api.objects.pop(job)["metadata"]["uid"]

    qtj("submit", "train.py", STORE)

    (owner,) = api.objects[config]["metadata"]["ownerReferences"]
    assert owner["uid"] == api.objects[job]["metadata"]["uid"] != earlier


@pytest.mark.parametrize(
    ("text", "words", "what"),
    [
        ("print()", [], "another program"),
        (None, ["--memory=3Gi"], "other arguments, other resources or another image"),
    ],
)
def test_a_job_of_the_same_name_is_not_changed(api: FakeApi, text: str | None, words: list[str], what: str) -> None:
    qtj("submit", "train.py", STORE)
    before = dict(api.objects)
    if text:
        Path("train.py").write_text(text)

    answer = qtj("submit", "train.py", STORE, *words)

    assert answer.code == 2
    assert answer.sentences[-1] == (
        f"there is a job train in namespace lab with {what}: choose another --name, or remove that job with "
        "`qtj delete train -n lab`"
    )
    assert api.objects == before


@pytest.mark.parametrize(
    ("phase", "way"), [("Complete", ""), ("Failed", "continue it with `qtj retry train -n lab`, ")]
)
def test_a_job_that_has_ended_is_not_sent_again(api: FakeApi, phase: str, way: str) -> None:
    qtj("submit", "train.py", STORE)
    [job] = [each for each in api.objects.values() if each["kind"] == "QuantumTrainingJob"]
    job["status"] = {"phase": phase}

    answer = qtj("submit", "train.py", STORE)

    assert answer.code == 2
    assert answer.sentences[-1] == (
        f"the job train in namespace lab is {phase}, and does not run again: {way}choose another --name, or remove it "
        "with `qtj delete train -n lab`"
    )


def test_a_dry_run_writes_nothing(api: FakeApi) -> None:
    answer = qtj("submit", "train.py", STORE, "--dry-run")

    assert answer.output == "train would be submitted to namespace lab (nothing was changed: --dry-run)\n"
    assert api.names == []


def test_a_dry_run_for_programs_prints_the_objects_without_a_cluster(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kubeconfig(monkeypatch, Path("/nonexistent"))

    answer = qtj("submit", "train.py", STORE, "--dry-run", "-o", "yaml", "--", "1e-3")

    config, job = yaml.safe_load_all(answer.output)
    assert (config["kind"], job["kind"]) == ("ConfigMap", "QuantumTrainingJob")
    assert "'1e-3'" in answer.output
    assert "namespace" not in job["metadata"]
    assert api.asked == []


PRIVATE = "[default]\naws_secret_access_key = 'private'\n"
"""It is Python too."""


@pytest.fixture
def private(folder: Path) -> Path:
    """A file of the user, and a hidden one beside the program, as a program knows them that somebody else wrote."""
    (folder / ".env").write_text(PRIVATE)
    path = folder.parent / "credentials"
    path.write_text(PRIVATE)
    return path


@pytest.mark.parametrize("target", ["../credentials", ".env", "first", ".git/config"])
def test_a_link_of_a_program_takes_no_other_file_along(api: FakeApi, folder: Path, private: Path, target: str) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text(PRIVATE)
    (folder / "first").symlink_to(private)
    (folder / "data.csv").symlink_to(target)
    (folder / "train.py").write_text("open('data.csv')\n")

    answer = qtj("submit", "train.py", STORE)

    assert answer.code == 0
    assert "private" not in str(api.objects)
    what = f"data.csv is not sent: it is a link to {(folder / target).resolve()}: "
    assert any(sentence.startswith(what) for sentence in answer.sentences), answer.sentences


def test_a_module_that_is_a_link_to_elsewhere_is_one_sentence(api: FakeApi, folder: Path, private: Path) -> None:
    (folder / "layers.py").unlink()
    (folder / "layers.py").symlink_to(private)

    answer = qtj("submit", "train.py", STORE)

    assert (answer.code, api.asked) == (2, [])
    [sentence] = answer.sentences
    assert sentence.startswith(f"train.py needs layers.py, which is a link to {private.resolve()}: copy that file ")


def test_requirements_that_are_a_link_to_elsewhere_are_one_sentence(api: FakeApi, folder: Path, private: Path) -> None:
    private.write_text("private==1\n")
    (folder / "requirements.txt").symlink_to(private)

    answer = qtj("submit", "train.py", STORE, "--requirements", "requirements.txt")

    assert (answer.code, api.asked) == (2, [])
    assert answer.sentences[0].startswith(f"requirements.txt is a link to {private.resolve()}: copy that file ")


def test_a_link_within_the_folder_of_the_program_is_followed(api: FakeApi, folder: Path) -> None:
    (folder / "runs").mkdir()
    (folder / "runs/1.csv").write_text("1,2")
    (folder / "data.csv").symlink_to("runs/1.csv")
    (folder / "train.py").write_text("open('data.csv')\n")

    assert qtj("submit", "train.py", STORE).code == 0
    [config] = [each for each in api.objects.values() if each["kind"] == "ConfigMap"]
    assert config["data"]["data.csv"] == "1,2"


def test_a_file_is_applied_as_it_is(api: FakeApi, folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD)

    answer = qtj("submit", "job.yaml", "-n", "lab")

    assert (answer.code, api.names) == (0, [(JOBS, "qcnn")])
    assert api.objects[JOBS, "qcnn"]["spec"] == yaml.safe_load(GOOD)["spec"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lost.py", STORE], "lost.py: there is no such file"),
        (["wrong.py", STORE], "wrong.py:1: this is not Python (invalid syntax): correct it"),
        (["train.py"], "--artifacts is missing: write gs://BUCKET/PATH, or pvc://CLAIM for a volume of all pods"),
        (["job.yaml", "--", "x"], "arguments after FILE are for a program in Python, and job.yaml names its own"),
        (["job.yaml", "--workers=2"], "--name and --workers are for a program in Python, and job.yaml has both"),
        (["job.yaml", "--image=x"], "--artifacts, --image, --cpu and --memory are for a program in Python, and job.y"),
        (["train.py", STORE, "--memory=much"], "--memory much: write a quantity of Kubernetes above 0, such as 512Mi"),
        (["train.py", STORE, "--cpu=0"], "--cpu 0: write a quantity of Kubernetes above 0, such as 500m or 2"),
        (["train.py", STORE, "--follow", "--dry-run"], "--follow and --dry-run contradict each other"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_asked(
    api: FakeApi, folder: Path, words: list[str], sentence: str
) -> None:
    (folder / "job.yaml").write_text(GOOD)
    (folder / "wrong.py").write_text("for")

    answer = qtj("submit", *words)

    assert (answer.code, answer.output) == (2, "")
    assert answer.sentences[0].startswith(sentence)
    assert api.asked == []


@pytest.mark.usefixtures("api")
def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    text = (folder / "kubeconfig").read_text()
    address = yaml.safe_load(text)["clusters"][0]["cluster"]["server"]
    (folder / "nobody").write_text(text.replace(address, "http://127.0.0.1:1"))
    use_kubeconfig(monkeypatch, folder / "nobody")

    answer = qtj("submit", "train.py", STORE)

    assert answer.code == 2
    assert answer.sentences[-1].startswith("train cannot be submitted: the API server cannot be reached: ")


def test_a_job_is_suspended_resumed_and_deleted(api: FakeApi) -> None:
    qtj("submit", "train.py", STORE)

    said = [qtj(verb, "train").output.rstrip("\n") for verb in ("suspend", "cancel", "resume", "delete")]

    assert said == [
        "train is suspended: its pods end, and `qtj resume train -n lab` continues it from its last checkpoint",
        "train is suspended: nothing was changed",
        "train is resumed: it continues from its last checkpoint",
        "train is deleted, with its pods: what it has stored stays in file:///artifacts/train",
    ]
    assert (JOBS, "train") not in api.objects


@pytest.mark.parametrize("verb", ["suspend", "resume", "cancel", "delete"])
def test_a_dry_run_of_a_change_changes_nothing(api: FakeApi, verb: str) -> None:
    qtj("submit", "train.py", STORE, "--set", f"spec.suspend={'true' if verb == 'resume' else 'false'}")
    before = dict(api.objects)

    assert qtj(verb, "train", "--dry-run").output.endswith(" (nothing was changed: --dry-run)\n")
    assert api.objects == before


@pytest.mark.parametrize(
    ("verb", "phase", "sentence"),
    [
        ("suspend", "Complete", "train is Complete, and has no pods any more: qtj delete removes it"),
        ("resume", "Failed", "train is Failed, and has no pods any more: qtj retry train continues it"),
    ],
)
def test_a_job_that_has_finished_is_not_changed(api: FakeApi, verb: str, phase: str, sentence: str) -> None:
    qtj("submit", "train.py", STORE)
    api.objects[JOBS, "train"]["status"] = {"phase": phase}

    answer = qtj(verb, "train")

    assert (answer.code, answer.sentences) == (2, [sentence])


def test_a_job_that_is_not_there_is_one_sentence(api: FakeApi) -> None:
    for verb in ("suspend", "resume", "cancel", "delete"):
        assert qtj(verb, "lost").sentences == ["there is no job lost in namespace lab: `kubectl get qtj -A` lists all"]
    assert api.asked == []


def test_a_missing_right_to_change_is_one_sentence(api: FakeApi) -> None:
    qtj("submit", "train.py", STORE)
    api.refusals["PATCH", JOBS, False] = (403, "cannot patch")
    api.refusals["DELETE", JOBS, False] = (403, "cannot delete")

    assert qtj("suspend", "train").sentences == ["train cannot be suspended: cannot patch"]
    assert qtj("delete", "train").sentences == ["train cannot be deleted: cannot delete"]


@pytest.fixture
async def failed() -> Lab:
    """A cluster with a job that has failed."""
    lab = Lab()
    await running(lab)
    lab.kubelet.ends("qcnn-worker-1", 1)
    await lab.settles()
    return lab


async def test_a_failed_job_goes_on_as_another_attempt(failed: Lab) -> None:
    said = await raise_retry(failed.cluster, KEY)
    await failed.settles()

    assert said.sentence == "spec.retry of qcnn is 1 now: attempt 2 starts, from the last checkpoint if there is one"
    assert ((await failed.status())["attempt"], await failed.phase()) == (2, "Restarting")


async def test_inference_that_failed_runs_again() -> None:
    lab = Lab()
    await running(lab, inference={})
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    await lab.settles()
    await lab.kubelet.runs_inference("qcnn", 1, None)
    await lab.settles()
    before = await lab.phase()

    said = await raise_retry(lab.cluster, KEY)
    await lab.settles()

    assert (before, await lab.phase()) == ("Failed", "Inferring")
    assert said.sentence == "spec.retry of qcnn is 1 now: inference runs again"


async def test_each_retry_is_a_new_number(failed: Lab) -> None:
    failed.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(retry=6))

    assert "is 7 now" in (await raise_retry(failed.cluster, KEY)).sentence


async def test_a_dry_run_says_what_would_follow_and_changes_nothing(failed: Lab) -> None:
    retried = await raise_retry(failed.cluster, KEY, dry_run=True)
    await failed.settles()

    assert retried.sentence.startswith("spec.retry of qcnn would be 1 (nothing was changed: --dry-run): attempt 2")
    assert retried.job["spec"]["retry"] == 1
    assert await failed.phase() == "Failed"


async def test_what_cannot_be_retried_is_said_in_a_sentence() -> None:
    lab = Lab()
    with pytest.raises(InputError, match="there is no job qcnn in namespace lab: `kubectl get qtj -A` lists all"):
        await raise_retry(lab.cluster, KEY)
    await running(lab)
    with pytest.raises(InputError, match="qcnn is Running: only a job that has failed can be retried"):
        await raise_retry(lab.cluster, KEY)


async def test_a_job_that_never_started_needs_another_spec() -> None:
    lab = Lab()
    await lab.applies(artifacts={"uri": "file:///nowhere"})
    await lab.settles()

    with pytest.raises(InputError, match="qcnn never started: correct its spec, and it starts by itself"):
        await raise_retry(lab.cluster, KEY)
