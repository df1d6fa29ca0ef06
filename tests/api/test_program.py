"""`spec.program`: what is a valid one, and what a pod template becomes with it."""

from copy import deepcopy
from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.api.names import Role
from qtj_operator.api.program import Program, with_program
from qtj_operator.api.reading import InvalidJob
from tests.jobs import a_container, a_job, a_template, stored_job

IRIS = Program(config_map="iris-1a2b", entry="iris.py")


def main(template: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = with_program(template, IRIS)["spec"]["containers"][0]
    return container


@pytest.mark.parametrize("entry", ["train.py", "_a-b.c.py", "7.py", "x" * 250 + ".py"])
def test_an_entry_is_the_name_of_a_python_file(entry: str) -> None:
    assert Program(config_map="iris", entry=entry).entry == entry


@pytest.mark.parametrize(
    "entry", ["", "train", "src/train.py", "../train.py", "-c.py", ".py", "..py", "train.py\n", "train.pyc", "ü.py"]
)
def test_anything_else_is_refused(entry: str) -> None:
    with pytest.raises(InvalidJob, match=r"spec\.program\.entry"):
        Job.parse(stored_job(program={"configMap": "iris", "entry": entry}))


@pytest.mark.parametrize("name", ["", "Iris", "iris_1", "-iris", "a..b", "x" * 254])
def test_a_config_map_has_a_name_that_an_api_server_accepts(name: str) -> None:
    with pytest.raises(InvalidJob, match=r"spec\.program\.configMap"):
        Job.parse(stored_job(program={"configMap": name, "entry": "train.py"}))


def test_python_runs_the_program_in_its_folder_with_the_arguments_of_the_author() -> None:
    container = main(a_template(a_container(args=["--seed", "1"])))

    assert container["command"] == ["python", "iris.py"]
    assert container["args"] == ["--seed", "1"]
    assert container["workingDir"] == "/opt/program"
    assert container["volumeMounts"] == [{"name": "qtj-program", "mountPath": "/opt/program", "readOnly": True}]


def test_from_another_working_directory_python_gets_the_whole_path() -> None:
    container = main(a_template(a_container(workingDir="/data", command=[])))

    assert (container["command"], container["workingDir"]) == (["python", "/opt/program/iris.py"], "/data")


def test_a_command_of_the_author_stays() -> None:
    container = main(a_template(a_container(command=["torchrun", "iris.py"])))

    assert container["command"] == ["torchrun", "iris.py"]
    assert container["workingDir"] == "/opt/program"


def test_what_the_template_has_stays_and_is_not_changed() -> None:
    mount, volume = {"name": "data", "mountPath": "/data"}, {"name": "data", "emptyDir": {}}
    template = a_template(a_container(name="log"), a_container(volumeMounts=[mount]), volumes=[volume])
    before = deepcopy(template)

    log, trainer = with_program(template, IRIS)["spec"]["containers"]

    assert template == before
    assert log == a_container(name="log"), "the trainer alone has the program"
    assert trainer["volumeMounts"][0] == mount
    assert with_program(template, IRIS)["spec"]["volumes"] == [
        volume,
        {"name": "qtj-program", "configMap": {"name": "iris-1a2b"}},
    ]


def test_the_volume_has_the_paths_of_its_items() -> None:
    items = [{"key": "iris.py", "path": "iris.py"}, {"key": "lib_nets.py", "path": "lib/nets.py"}]
    program = Program.read({"configMap": "iris-1a2b", "entry": "iris.py", "items": items})

    (volume,) = with_program(a_template(), program)["spec"]["volumes"]

    assert volume["configMap"] == {"name": "iris-1a2b", "items": items}


def test_null_is_as_left_out() -> None:
    template = a_template(a_container(command=None, workingDir=None, volumeMounts=None), volumes=None)

    assert main(template)["command"] == ["python", "iris.py"]


def test_every_role_and_inference_have_the_program_and_are_no_trainer_of_ours() -> None:
    own = a_template(a_container(image="localhost/qtj-trainer:1"))
    job = a_job(
        chief=True,
        program={"configMap": "iris-1a2b", "entry": "iris.py"},
        inference={"template": own},
        replicaSpecs={"Chief": {"template": own}, "Worker": {}},
    )

    templates = [job.template(Role.CHIEF), job.template(Role.WORKER), job.inference_template]

    assert [each.spec.main.command for each in templates] == [["python", "iris.py"]] * 3
    assert not any(each.spec.main.is_trainer for each in templates)
