"""A program is read, and becomes the objects that a user would write."""

from pathlib import Path

import pytest
import yaml

from qtj.files.config_data import MOST_BYTES
from qtj.files.documents import Document
from qtj.files.yaml_reader import KubectlDumper, documents_of, value_of
from qtj.script.documents import document_of
from qtj.script.objects import Resources, Storage, cluster_job, config_map, local_job, metadata_of, mounted, with_owner
from qtj.script.program import Program, job_name, read_program
from qtj.submit.payload import payload_of
from qtj.submit.submit import storage_at
from qtj.terminal.errors import InputError
from qtj_contract.version import installed_version
from qtj_operator.api import program as api

TRAINS = """\
from qtj_trainer import Program
import layers
program = Program(epochs=2)
if program.inferring:
    program.report({})
data = open("iris.csv").read()
"""
GOLDEN = """\
apiVersion: quantumtraining.dev/v1beta1
kind: QuantumTrainingJob
metadata: {name: train, namespace: lab}
spec:
  program: {configMap: train-0123456789, entry: train.py}
  artifacts: {uri: file:///artifacts/train}
  inference: {}
  replicaSpecs:
    Worker: {replicas: 2}
  template:
    spec:
      containers:
        - name: trainer
          image: lab/trainer:1
          args: [--lr, "1e-3", $$(HOME)]
          resources:
            requests: {cpu: "1", memory: 4Gi}
            limits: {memory: 4Gi}
          volumeMounts:
            - {name: artifacts, mountPath: /artifacts}
      volumes:
        - name: artifacts
          persistentVolumeClaim: {claimName: results}
"""


def program(folder: Path, text: str = TRAINS, *arguments: str, **others: str) -> Program:
    """A program `train.py`, with other files beside it; `__` in their names is a dot."""
    (folder / "train.py").write_text(text)
    for name, content in others.items():
        (folder / name.replace("__", ".")).write_text(content)
    return read_program(folder / "train.py", arguments)


def test_a_job_of_a_cluster_is_what_a_user_would_write(tmp_path: Path) -> None:
    made = cluster_job(
        program(tmp_path, TRAINS, "--lr", "1e-3", "$(HOME)"),
        metadata_of("train", "lab"),
        workers=2,
        resources=Resources(image="lab/trainer:1", cpu="1", memory="4Gi"),
        storage=storage_at("pvc://results", "train"),
        source=mounted("train-0123456789", ["train.py"]),
    )

    assert made == yaml.safe_load(GOLDEN)


def test_a_job_of_this_machine_runs_the_program_where_it_is(tmp_path: Path) -> None:
    made = local_job(program(tmp_path, "print()", "--seed=1"), "train", 1, Storage(uri="file:///here"))

    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container == {
        "name": "trainer",
        "image": f"localhost/qtj-trainer:{installed_version()}",
        "args": ["--seed=1"],
        "command": ["python", "train.py"],
        "workingDir": str(tmp_path),
    }
    assert made["spec"]["artifacts"] == {"uri": "file:///here"}
    assert "inference" not in made["spec"]


def test_what_is_printed_is_read_as_the_same_by_kubectl(tmp_path: Path) -> None:
    given = program(tmp_path, TRAINS, "1e-3", "yes", "0o17", "a: b", "# x\ny", layers__py="A = 1\n")
    made = local_job(given, "train", 1, Storage(uri="file:///here"))

    text = yaml.dump(made, Dumper=KubectlDumper)

    assert value_of(next(documents_of("printed", text))) == made
    assert document_of(given, made, []).manifest == {**made, "metadata": {"name": "train", "namespace": "default"}}


def test_the_script_its_modules_and_the_files_that_it_names_travel(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_bytes(b"\xff\x00")
    given = program(tmp_path, TRAINS, layers__py="import deeper", deeper__py="", other__py="")

    payload = payload_of(given)
    made = config_map(metadata_of("train"), payload.files)

    assert [*payload.files] == ["deeper.py", "iris.csv", "layers.py", "train.py"]
    assert made["metadata"]["name"].startswith("train-")
    assert made["immutable"] is True
    assert [*made["data"]] == ["deeper.py", "layers.py", "train.py"]
    assert made["binaryData"] == {"iris.csv": "/wA="}


def test_the_name_of_the_config_map_follows_its_content(tmp_path: Path) -> None:
    def name(**files: bytes) -> str:
        made = config_map(metadata_of("train"), files)
        return str(made["metadata"]["name"])

    assert name(a=b"1", b=b"2") == name(b=b"2", a=b"1")
    assert len({name(a=b"1"), name(a=b"2"), name(b=b"1"), name(a=b"1", b=b"")}) == 4


def test_hidden_files_and_files_of_other_folders_stay(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("1")
    (tmp_path / ".env").write_text("PASSWORD=x")
    (tmp_path.parent / "outside.csv").write_text("1")
    names = [".git/config", ".env", "/etc/passwd", "../outside.csv"]

    payload = payload_of(program(tmp_path, f"for name in {names}: open(name)"))

    assert [*payload.files] == ["train.py"]
    assert payload.notes == (
        "../outside.csv is not sent: only files beside train.py and in folders there are",
        ".env is not sent: only files beside train.py and in folders there are, and none that is hidden",
        ".git/config is not sent: only files beside train.py and in folders there are, and none that is hidden",
        "/etc/passwd is not sent: it is a file of this machine, and in a pod the image or a volume has to have it",
    )


def test_a_script_whose_name_no_config_map_takes_is_to_be_renamed(tmp_path: Path) -> None:
    script = tmp_path / "my train.py"
    script.write_text("print()")

    with pytest.raises(InputError, match=r"^my train.py cannot be sent: a ConfigMap takes names of letters, .* rename"):
        payload_of(read_program(script, ()))


def test_modules_and_data_in_folders_travel_with_the_path_of_each_key(tmp_path: Path) -> None:
    for name in ("lib/__init__.py", "lib/nets.py", "data/my rows.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    given = program(tmp_path, "from lib import nets\nopen('data/my rows.csv')")

    payload = payload_of(given)
    made = config_map(metadata_of("train"), payload.files)
    job = cluster_job(
        given,
        metadata_of("train"),
        workers=1,
        resources=None,
        storage=storage_at("pvc://results", "train"),
        source=mounted("train-1", payload.files),
    )

    assert {key: made["data"][key] for key in made["data"] if key != "train.py"} == {
        "data_my_rows.csv": "data/my rows.csv",
        "lib___init__.py": "lib/__init__.py",
        "lib_nets.py": "lib/nets.py",
    }
    read = api.Program.read(job["spec"]["program"])
    assert read.files(made["data"]) == {name: data.decode() for name, data in payload.files.items()}


def test_two_files_with_one_key_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("")

    with pytest.raises(InputError, match=r"^a/b.py and a_b.py have the same key in a ConfigMap, a_b.py: rename one"):
        payload_of(program(tmp_path, "import a.b, a_b", a_b__py=""))


def test_a_folder_that_is_a_link_takes_no_other_files_along(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    (there / "nets.py").write_text("SECRET = 1")
    (here := tmp_path / "here").mkdir()
    (here / "lib").symlink_to(there)

    with pytest.raises(InputError, match=r"^train.py needs lib/nets.py, which is a link to .*there/nets.py: copy that"):
        payload_of(program(here, "from lib import nets"))


def test_more_than_a_config_map_holds_is_refused_with_the_largest_file(tmp_path: Path) -> None:
    given = program(tmp_path, "open('iris.csv')", iris__csv="1" * MOST_BYTES)

    with pytest.raises(InputError, match=r"a ConfigMap holds 1 MiB: iris.csv alone has 1 MiB: read it from the bucket"):
        payload_of(given)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\nfor", "train.py:2: this is not Python (invalid syntax): correct it"),
        ("x = '\0'", "train.py:1: this is not Python (source code string cannot contain null bytes): correct it"),
    ],
)
def test_a_syntax_error_is_a_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as found:
        program(tmp_path, text)

    assert str(found.value).endswith(sentence)


def test_a_syntax_error_of_a_module_is_one_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"layers.py:1: this is not Python"):
        program(tmp_path, "import layers", layers__py="def")


@pytest.mark.parametrize(
    ("text", "uses", "evaluates"),
    [
        (TRAINS, True, True),
        ("import qtj_trainer\nqtj_trainer.Program(epochs=1)", True, False),
        ("from qtj_trainer import load", False, False),
        ("self.inferring", False, False),
    ],
)
def test_a_program_is_evaluated_if_it_can_tell(tmp_path: Path, text: str, uses: bool, evaluates: bool) -> None:
    given = program(tmp_path, text)

    assert (given.uses_program, given.evaluates, len(given.notes)) == (uses, evaluates, 0 if uses else 1)


@pytest.mark.parametrize(
    ("file", "name"), [("iris_program.py", "iris-program"), ("My Net.v2.py", "my-net-v2"), ("_x_.py", "x")]
)
def test_a_job_has_the_name_of_the_file(file: str, name: str) -> None:
    assert job_name(Path(file), None) == name


@pytest.mark.parametrize(("file", "name"), [("01.py", None), ("x.py", "A"), ("x.py", "a" * 52), ("x.py", "a/b")])
def test_a_name_that_no_job_can_have_is_refused(file: str, name: str | None) -> None:
    with pytest.raises(InputError, match=r"^--name: .*: it starts with a letter"):
        job_name(Path(file), name)


def test_a_bucket_is_taken_as_it_is_and_a_claim_is_mounted() -> None:
    assert storage_at("gs://lab/x", "train") == Storage(uri="gs://lab/x")
    assert storage_at("pvc://results/a/b", "train").uri == "file:///artifacts/a/b"


@pytest.mark.parametrize("address", [None, "gs://X", "file:///data", "results", "pvc://", "pvc://A"])
def test_an_address_that_pods_do_not_reach_is_refused(address: str | None) -> None:
    with pytest.raises(InputError, match="--artifacts"):
        storage_at(address, "train")


def test_an_owner_has_no_fields_that_need_more_rights(tmp_path: Path) -> None:
    job = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "uid": "u", "namespace": "lab"}}

    owned = with_owner({"metadata": {"name": "c"}}, job)

    assert owned["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]


def test_mistakes_of_the_made_job_name_its_program_and_no_line_of_a_file_that_nobody_has(tmp_path: Path) -> None:
    given = program(tmp_path)

    document = document_of(given, local_job(given, "train", 1, Storage(uri="file:///here")), [])

    assert isinstance(document, Document)
    assert document.error(["spec", "template"], "it is wrong") == "the job of train.py: spec.template: it is wrong"
