"""Programs that hang, flood or cannot begin: the run reports it, and continues or ends."""

from typing import Any

import pytest

from tests.local.laptop import Ended, Laptop, Manifest, toy_job

WORD = "import os, sys\nword = os.environ['QTJ_TERMINATION_LOG']\n"


def job_of(*command: str, **container: Any) -> Manifest:
    job = toy_job(workers=1, runPolicy={"backoffLimit": 0}, inference=None)
    main = {"name": "trainer", "image": "toy:1", "command": list(command), **container}
    job["spec"]["template"]["spec"]["containers"] = [main]
    return job


def run(laptop: Laptop, *command: str, **container: Any) -> Ended:
    laptop.write(job_of(*command, **container))
    return laptop.start("run", "job.yaml", "-o", "json").end(seconds=60)


def python(laptop: Laptop, code: str, **container: Any) -> Ended:
    return run(laptop, "python", "-c", code, **container)


def test_what_is_no_file_is_no_termination_message(laptop: Laptop) -> None:
    ended = python(laptop, f"{WORD}os.mkfifo(word)\nsys.exit(3)")

    assert ended.code == 1
    assert ended.status["failures"][0]["message"] == "it left no message"
    assert not list(laptop.folder.glob("qtj-[!ap]*"))


def test_variables_that_are_too_long_together_fail_the_job(laptop: Laptop) -> None:
    data = {f"V{index}": "x" * 120_000 for index in range(8)}
    sources = [{"prefix": f"{letter}_", "configMapRef": {"name": "many"}} for letter in "abcdefgh"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "many"}, "data": data}
    laptop.write(job_of("python", "-c", "", envFrom=sources), config)

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 1
    assert ended.status["failures"][0]["exitCode"] == 126
    assert "all variables and arguments together are longer than this machine allows" in ended.errors
    assert "Traceback" not in ended.errors


def test_a_script_without_its_first_line_fails_the_job(laptop: Laptop) -> None:
    script = laptop.folder / "train"
    script.write_text("echo training\n")
    script.chmod(0o755)

    ended = run(laptop, "./train")

    assert ended.code == 1
    assert "train cannot be started: it is neither a program of this machine nor a script" in ended.errors


@pytest.mark.parametrize(
    ("container", "sentence"),
    [
        (
            {"command": ["python"], "env": [{"name": "DATA", "value": "x" * 200_000}]},
            "the job has more than the 131,072 bytes",
        ),
        ({"command": ["/tmp"]}, 'the program "/tmp" of the container trainer is a folder'),
    ],
)
def test_what_can_be_known_before_is_said_before(laptop: Laptop, container: dict[str, Any], sentence: str) -> None:
    ended = run(laptop, *container.pop("command"), **container)

    assert ended.code == 2
    assert sentence in ended.errors


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.close(1)\nos.close(2)",
        "import sys\nfor _ in range(64):\n    sys.stdout.buffer.write(b'x' * 2**20)",
        "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\x00' * 1000)",
    ],
    ids=["closes its output", "one endless line", "no text"],
)
def test_whatever_a_program_writes_its_job_is_complete(laptop: Laptop, code: str) -> None:
    ended = python(laptop, code)

    assert ended.code == 0, ended.errors
    assert ended.errors.count("Traceback") == 0


def test_a_probe_that_does_not_end_has_failed(laptop: Laptop) -> None:
    probe = {"exec": {"command": ["sh", "-c", "sleep 600"]}}
    hung = {**probe, "periodSeconds": 1, "failureThreshold": 1, "initialDelaySeconds": None}

    ended = python(laptop, "import time; time.sleep(600)", livenessProbe=hung)

    assert ended.code == 1
    assert ended.status["failures"][0]["exitCode"] == 143
    assert ended.status["failures"][0]["message"] == "its liveness probe failed 1 times in a row, so it was killed"
    assert laptop.processes() == {}
