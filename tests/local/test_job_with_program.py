"""`qtj run` of a job whose program is a ConfigMap of the same file."""

import json
from typing import Any

import pytest

from tests.local.laptop import Laptop, Manifest, toy_job

PROGRAM = """\
import json, os, pathlib, sys, urllib.parse
import helper
path = pathlib.Path(urllib.parse.urlsplit(os.environ["QTJ_ARTIFACTS_URI"]).path)
leads = json.loads(os.environ.get("TF_CONFIG") or '{"task": {"index": 0}}')["task"]["index"] == 0
name = "infer.json" if "QTJ_WEIGHTS_URI" in os.environ else "train.json" if leads else "other.json"
seen = {"args": sys.argv, "folder": os.getcwd(), "rate": helper.RATE, "rows": open("rows.csv").read()}
(path / name).write_text(json.dumps(seen))
if leads and "QTJ_WEIGHTS_URI" not in os.environ:
    (path / "w.bin").write_bytes(b"w")
"""
MISSING = (
    "job.yaml:11: spec.program.configMap: this ConfigMap is not in the file, and on this machine there is no other: "
    "add it, as the output of `kubectl create configmap iris --from-file=iris.py --dry-run=client -o yaml`, after a "
    "line with ---"
)
FILES = {"iris.py": PROGRAM, "helper.py": "RATE = 0.1\n", "rows.csv": "5.1,3.5\n"}


def config_map(name: str = "iris", **changed: str) -> Manifest:
    data = {**FILES, **{f"{file}.py": text for file, text in changed.items()}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "immutable": True, "data": data}


def job(**container: Any) -> Manifest:
    manifest = toy_job(
        program={"configMap": "iris", "entry": "iris.py"},
        artifacts={"uri": "gs://bucket/toy", "weights": "w.bin"},
        inference={},
    )
    manifest["spec"]["template"]["spec"]["containers"] = [
        {"name": "trainer", "image": "localhost/qtj-trainer:1", **container}
    ]
    return manifest


def saw(laptop: Laptop, name: str) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads((laptop.artifacts() / name).read_text())
    return seen


def test_replicas_and_inference_run_it_beside_its_modules_and_data(laptop: Laptop) -> None:
    laptop.write(config_map(), job(args=["train", "--seed", "1"]))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    folder = laptop.artifacts() / "program"
    expected = {
        "args": ["iris.py", "train", "--seed", "1"],
        "folder": str(folder),
        "rate": 0.1,
        "rows": "5.1,3.5\n",
    }
    assert {name: saw(laptop, name) for name in ("train.json", "other.json", "infer.json")} == dict.fromkeys(
        ("train.json", "other.json", "infer.json"), expected
    )
    assert ended.job["spec"]["program"] == {"configMap": "iris", "entry": "iris.py"}, "as its author wrote it"
    assert "command" not in ended.job["spec"]["template"]["spec"]["containers"][0]
    source = json.loads((laptop.artifacts() / "source/1/source.json").read_text())["iris.py"]
    assert source["code"] == {name: FILES[name] for name in ("iris.py", "helper.py")}
    assert list(source["data"]) == ["rows.csv"]


def test_a_program_with_folders_runs_as_its_items_say(laptop: Laptop) -> None:
    text = PROGRAM.replace("import helper", "from lib import helper").replace("rows.csv", "data/rows.csv")
    files = {"iris.py": text, "lib/helper.py": "RATE = 0.3\n", "data/rows.csv": "1,2\n"}
    written = job()
    items = [{"key": path.replace("/", "_"), "path": path} for path in files]
    written["spec"]["program"]["items"] = items
    data = {path.replace("/", "_"): text for path, text in files.items()}
    laptop.write({**config_map(), "data": {**data, "not-listed.py": ""}}, written)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    seen = {name: saw(laptop, name) for name in ("train.json", "other.json", "infer.json")}
    assert {(each["rate"], each["rows"]) for each in seen.values()} == {(0.3, "1,2\n")}
    assert not (laptop.artifacts() / "program/not-listed.py").exists()
    source = json.loads((laptop.artifacts() / "source/1/source.json").read_text())["iris.py"]
    assert source["code"] == {name: files[name] for name in ("iris.py", "lib/helper.py")}


def test_a_command_and_a_working_directory_of_the_author_stay(laptop: Laptop) -> None:
    program = PROGRAM.replace("import helper", "class helper: RATE = 1").replace("rows.csv", "/opt/program/rows.csv")
    wrapper = "import runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0])"
    written = job(workingDir=str(laptop.folder), command=["python", "-c", wrapper], args=["/opt/program/iris.py"])
    written["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "P", "value": "/opt/program/helper.py"}]
    read = program.replace('open("/opt/program/rows.csv")', 'open(os.environ["P"])')
    laptop.write(config_map(iris=read), written)

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert saw(laptop, "train.json")["folder"] == str(laptop.folder)
    assert saw(laptop, "train.json")["rows"] == "RATE = 0.1\n", "a path of the pod is one of this machine"


def test_another_program_is_another_run_and_is_named(laptop: Laptop) -> None:
    laptop.write(config_map(helper="1 / 0\n"), job())
    assert laptop.qtj("run", "job.yaml").code == 1
    laptop.write(config_map(), job())

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert "starts over, because helper.py changed: 1 line; ConfigMap iris changed; toy/1 failed" in ended.output


def test_a_resumed_run_has_the_present_files_and_keeps_the_earlier_text(laptop: Laptop) -> None:
    laptop.write(config_map(helper="1 / 0\n"), job())
    laptop.qtj("run", "job.yaml")
    laptop.write(config_map(), job())

    ended = laptop.qtj("run", "job.yaml", "--resume", "-o", "json")

    assert ended.code == 0, ended.errors
    kept = [(laptop.artifacts(run=1) / f"source/{number}/helper.py").read_text() for number in (1, 2)]
    assert kept == ["1 / 0\n", "RATE = 0.1\n"]


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (
            (),
            MISSING,
        ),
        (
            (config_map() | {"data": {"train.py": "", "a.py": ""}},),
            "spec.program.entry: there is no iris.py in the ConfigMap iris, which has a.py, train.py",
        ),
        (
            (config_map() | {"data": {}},),
            "spec.program.entry: there is no iris.py in the ConfigMap iris, which is empty",
        ),
    ],
)
def test_a_program_that_is_not_there_is_one_sentence(
    laptop: Laptop, others: tuple[Manifest, ...], sentence: str
) -> None:
    laptop.write(job(), *others)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 2
    assert sentence in ended.errors
    assert len(ended.errors.splitlines()) == 1
    assert not (laptop.folder / "qtj-artifacts").exists()


def test_a_listed_file_that_is_no_text_is_on_a_cluster_only(laptop: Laptop) -> None:
    written = job()
    written["spec"]["program"]["items"] = [
        {"key": "iris.py", "path": "iris.py"},
        {"key": "x.npy", "path": "data/x.npy"},
    ]
    laptop.write({**config_map(), "data": {"iris.py": ""}, "binaryData": {"x.npy": "/wA="}}, written)

    ended = laptop.qtj("run", "job.yaml")

    assert laptop.qtj("validate", "job.yaml").code == 0
    assert ended.code == 2
    assert "spec.program.items[1].key: there is no x.npy in the ConfigMap iris, which has iris.py" in ended.errors
    assert not (laptop.folder / "qtj-artifacts").exists()


def test_for_a_cluster_the_config_map_may_be_elsewhere(laptop: Laptop) -> None:
    laptop.write(job())

    assert laptop.qtj("validate", "job.yaml").code == 0
    rendered = laptop.qtj("render", "job.yaml")
    assert rendered.output.count("configMap:\n      name: iris") == 2, rendered.output


def test_requirements_are_not_installed_here_and_what_lacks_is_said_before_the_start(laptop: Laptop) -> None:
    written = job(env=[{"name": "PYTHONPATH", "value": "/mine"}])
    text = "pyyaml\nno-such-package==1.0 --hash=sha256:00\n"
    written["spec"]["program"]["requirements"] = {"file": "r.txt", "hashes": "Optional"}
    config = config_map(iris=PROGRAM.replace('"rate"', '"path": os.environ["PYTHONPATH"], "rate"'))
    laptop.write({**config, "data": {**config["data"], "r.txt": text}}, written)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors + ended.output
    said = "nothing is installed on this machine, and its Python lacks no-such-package==1.0"
    assert [line for line in ended.output.splitlines() if "not run on this machine" in line] == []
    assert ended.output.count(said) == 1, ended.output
    assert saw(laptop, "train.json")["path"] == "/mine", "the folder of a pod is not on this machine"


def test_requirements_of_a_program_are_looked_for_too(laptop: Laptop) -> None:
    (laptop.folder / "train.py").write_text("print('ran')\n")
    (laptop.folder / "r.txt").write_text("no-such-package\n")

    ended = laptop.qtj("run", "train.py", "--requirements", "r.txt", "--dry-run")

    assert ended.code == 0, ended.errors
    assert "nothing is installed on this machine, and its Python lacks no-such-package" in ended.output
