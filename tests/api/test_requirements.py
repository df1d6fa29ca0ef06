"""`spec.program.requirements`: what is valid, and what a pod becomes with it."""

from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.api.program import Program, with_program
from qtj_operator.api.reading import InvalidJob
from tests.jobs import a_container, a_template, stored_job

HASHED = "pennylane==0.45.1 --hash=sha256:00"


def program(**requirements: Any) -> dict[str, Any]:
    return {"configMap": "iris", "entry": "train.py", "requirements": requirements}


def pod(template: dict[str, Any], **requirements: Any) -> dict[str, Any]:
    spec: dict[str, Any] = with_program(template, Program.read(program(**requirements)))["spec"]
    return spec


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in container["env"]}


@pytest.mark.parametrize(
    "requirements",
    [
        {"packages": [HASHED]},
        {"packages": ["a", "b[x]>=1,<2; python_version < '4'"], "hashes": "Optional"},
        {"file": "requirements.txt", "hashes": "Required", "index": "https://me:$(TOKEN)@pypi.example/simple"},
        {"file": "requirements.txt", "index": "file:///opt/wheels", "cache": "wheels"},
    ],
)
def test_packages_or_a_file_are_accepted(requirements: dict[str, Any]) -> None:
    assert Job.parse(stored_job(program=program(**requirements))).spec.program is not None


@pytest.mark.parametrize(
    ("requirements", "sentence"),
    [
        ({}, "requirements are named by either packages or file"),
        ({"packages": [HASHED], "file": "r.txt"}, "requirements are named by either packages or file"),
        ({"packages": []}, "packages: "),
        ({"packages": ["a==1"]}, "each of packages needs a hash, as in "),
        ({"packages": [HASHED, "b==1"], "hashes": "Required"}, "each of packages needs a hash, as in "),
        ({"packages": ["--index-url=http://x"], "hashes": "Optional"}, "must begin with the name of a package"),
        ({"packages": ["a\n-r b"], "hashes": "Optional"}, "must begin with the name of a package"),
        ({"file": "../requirements.txt"}, "must be a key of the ConfigMap, such as requirements.txt"),
        ({"file": "r.txt", "index": "pypi.example"}, "must be an address that begins with https://"),
        ({"file": "r.txt", "index": "https://a b"}, "must be an address that begins with https://"),
        ({"file": "r.txt", "hashes": "No"}, "hashes: "),
    ],
)
def test_anything_else_is_refused(requirements: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidJob) as found:
        Job.parse(stored_job(program=program(**requirements)))

    assert sentence in str(found.value)


def test_an_init_container_has_image_variables_resources_and_volumes_of_the_main_one() -> None:
    secret = {"name": "PIP_INDEX_URL", "valueFrom": {"secretKeyRef": {"name": "index", "key": "url"}}}
    mount = {"name": "scratch", "mountPath": "/tmp"}
    own = a_container(
        env=[secret], resources={"limits": {"memory": "1Gi"}}, volumeMounts=[mount], args=["--seed=1"], workingDir="/x"
    )
    first = a_container(name="first")

    made = pod(a_template(own, initContainers=[first]), packages=[HASHED])

    earlier, init = made["initContainers"]
    assert earlier == first
    assert {field: init[field] for field in ("name", "image", "env", "resources")} == {
        "name": "qtj-requirements",
        "image": own["image"],
        "env": [secret],
        "resources": own["resources"],
    }
    assert "workingDir" not in init, "a module of the program would hide one of Python's"
    assert [each["name"] for each in init["volumeMounts"]] == ["scratch", "qtj-program", "qtj-requirements"]
    assert init["command"][:2] == ["python", "-c"]
    assert init["args"] == [
        "/opt/requirements",
        "--require-hashes",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--",
        HASHED,
    ]


def test_options_follow_the_fields() -> None:
    made = pod(a_template(), file="r.txt", hashes="Optional", index="https://pypi.example/simple", cache="wheels")

    (init,) = made["initContainers"]
    assert init["args"] == [
        "/opt/requirements",
        "--index-url=https://pypi.example/simple",
        "--cache-dir=/opt/requirements-cache",
        "--requirement=/opt/program/r.txt",
        "--",
    ]
    assert {"name": "wheels", "mountPath": "/opt/requirements-cache"} in init["volumeMounts"]


def test_a_package_is_no_reference_to_a_variable() -> None:
    (init,) = pod(a_template(), packages=["a; x == '$(HOME)'"], hashes="Optional")["initContainers"]

    assert init["args"][-1] == "a; x == '$$(HOME)'"


def test_the_program_imports_the_packages_and_cannot_change_them() -> None:
    made = pod(a_template(a_container(name="log"), a_container()), packages=[HASHED])

    log, main = made["containers"]
    assert log == a_container(name="log")
    assert variables(main) == {"PYTHONPATH": "/opt/requirements/site"}
    assert main["volumeMounts"][-1] == {"name": "qtj-requirements", "mountPath": "/opt/requirements", "readOnly": True}
    assert made["volumes"][-1] == {"name": "qtj-requirements", "emptyDir": {}}


def test_folders_of_the_author_come_first() -> None:
    env = [{"name": "PYTHONPATH", "value": "/mine"}, {"name": "OTHER", "value": "$(PYTHONPATH)"}]

    main = pod(a_template(a_container(env=env)), packages=[HASHED])["containers"][0]

    assert main["env"] == [{"name": "PYTHONPATH", "value": "/mine:/opt/requirements/site"}, env[1]]


def test_without_requirements_nothing_is_installed() -> None:
    made = with_program(a_template(), Program(config_map="iris", entry="train.py"))["spec"]

    assert "initContainers" not in made
    assert "env" not in made["containers"][0]
