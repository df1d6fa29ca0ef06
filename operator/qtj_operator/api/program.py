"""`spec.program`: the user's own program, which pods mount. It need not be part of their image."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from qtj_operator.api.model import Model
from qtj_operator.api.requirements import Requirements, with_requirements
from qtj_operator.api.rules import Rule, checked, validations
from qtj_operator.api.template import main_name

__all__ = ["PROGRAM_FOLDER", "PROGRAM_VOLUME", "Program", "with_program"]

PROGRAM_FOLDER = "/opt/program"
"""Where pods mount the program."""
PROGRAM_VOLUME = "qtj-program"
"""The name of the volume that has it."""

_OBJECT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SCRIPT = "[A-Za-z0-9_][-._A-Za-z0-9]*[.]py"

_NAMES_AN_OBJECT = Rule(
    f"self.matches('^{_OBJECT}$')",
    lambda name: re.fullmatch(_OBJECT, name) is not None,
    "must be the name of a ConfigMap: lowercase letters, digits, - and dots",
)
_NAMES_A_SCRIPT = Rule(
    f"self.matches('^{_SCRIPT}$')",
    lambda name: re.fullmatch(_SCRIPT, name) is not None,
    "must be a key of the ConfigMap that ends with .py, such as train.py, without a folder",
)


class Program(Model):
    """The program of a job."""

    config_map: Annotated[str, Field(min_length=1, max_length=253), checked(_NAMES_AN_OBJECT)] = Field(
        description=(
            "A ConfigMap in the namespace of the job, whose keys are the names of files. Every replica and inference "
            f"mount it read-only at {PROGRAM_FOLDER}. Make it immutable, and end its name with a digest of its content."
        ),
        json_schema_extra=validations(_NAMES_AN_OBJECT),
    )
    entry: Annotated[str, Field(min_length=1, max_length=253), checked(_NAMES_A_SCRIPT)] = Field(
        description="The file that Python runs, such as train.py, with the args of the main container. If that "
        "container has a command, the command runs instead.",
        json_schema_extra=validations(_NAMES_A_SCRIPT),
    )
    requirements: Requirements | None = Field(
        None,
        description="Packages that the image lacks. Each pod installs them before the program starts, with the pip of "
        "the image. Packages that the image has are never replaced.",
    )


def with_program(template: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """Returns a pod template whose main container has the program, and runs it unless the author wrote a command.

    Args:
        template: The template as its author wrote it, with at least one container.
        program: The program.
    """
    spec = template["spec"]
    main = main_name([each.get("name", "") for each in spec["containers"]])
    containers = [_running(each, program) if each.get("name") == main else each for each in spec["containers"]]
    volume = {"name": PROGRAM_VOLUME, "configMap": {"name": program.config_map}}
    pod = {**spec, "containers": containers, "volumes": [*(spec.get("volumes") or ()), volume]}
    if program.requirements:
        pod = with_requirements(pod, main, program.requirements, PROGRAM_FOLDER)
    return {**template, "spec": pod}


def _running(container: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """Returns a container with the program; in a working directory of its author's, Python needs the whole path."""
    folder = container.get("workingDir")
    entry = f"{PROGRAM_FOLDER}/{program.entry}" if folder else program.entry
    mount = {"name": PROGRAM_VOLUME, "mountPath": PROGRAM_FOLDER, "readOnly": True}
    return {
        **container,
        "command": container.get("command") or ["python", entry],
        "workingDir": folder or PROGRAM_FOLDER,
        "volumeMounts": [*(container.get("volumeMounts") or ()), mount],
    }
