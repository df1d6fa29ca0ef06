"""`spec.program`: the user's own program, which pods mount. It need not be part of their image."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from qtj_operator.api.model import Model
from qtj_operator.api.requirements import Requirements, with_requirements
from qtj_operator.api.rules import Rule, checked, enforce, matching, validations
from qtj_operator.api.template import main_name

__all__ = ["MOST_FILES", "PROGRAM_FOLDER", "PROGRAM_VOLUME", "KeyToPath", "Program", "with_program"]

PROGRAM_FOLDER = "/opt/program"
"""Where pods mount the program."""
PROGRAM_VOLUME = "qtj-program"
"""The name of the volume that has it."""
MOST_FILES = 200
"""That a program may list."""

_OBJECT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SCRIPT = "[A-Za-z0-9_][-._A-Za-z0-9]*[.]py"
_KEY, _PATH = "[-_A-Za-z0-9][-._A-Za-z0-9]*", "[^./][^/]*(/[^./][^/]*)*"

_NAMES_AN_OBJECT = matching(
    f"^{_OBJECT}$",
    "must be the name of a ConfigMap: lowercase letters, digits, - and dots",
)
_NAMES_A_SCRIPT = matching(
    f"^{_SCRIPT}$",
    "must be a key of the ConfigMap that ends with .py, such as train.py, without a folder",
)
_IS_A_KEY = matching(
    f"^{_KEY}$",
    "must be a key of the ConfigMap: letters, digits, -, _ and dots",
)
_IS_BELOW_THE_FOLDER = matching(
    f"^{_PATH}$",
    "must be the path of a file below the folder of the program, such as models/ansatz.py, and no part of it may begin "
    "with a dot",
)
_HAS_ITS_ENTRY = Rule(
    "!has(self.items) || self.items.exists(each, each.path == self.entry)",
    lambda program: not program.items or any(each.path == program.entry for each in program.items),
    "items must have the path of entry: list every file that the program needs",
)


class KeyToPath(Model):
    """A file of the program, as `items` of a ConfigMap volume name it."""

    key: Annotated[str, Field(min_length=1, max_length=253), checked(_IS_A_KEY)] = Field(
        description="A key of the ConfigMap.", json_schema_extra=validations(_IS_A_KEY)
    )
    path: Annotated[str, Field(min_length=1, max_length=253), checked(_IS_BELOW_THE_FOLDER)] = Field(
        description="The file, relative to the folder of the program.",
        json_schema_extra=validations(_IS_BELOW_THE_FOLDER),
    )


class Program(Model):
    """The program of a job."""

    model_config = ConfigDict(json_schema_extra=validations(_HAS_ITS_ENTRY))

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
    items: Annotated[list[KeyToPath], Field(min_length=1, max_length=MOST_FILES)] | None = Field(
        None,
        description="The files, for a program with folders, which the keys of a ConfigMap cannot name. When left out, "
        "each key is the name of a file.",
    )
    requirements: Requirements | None = Field(
        None,
        description="Packages that the image lacks. Each pod installs them before the program starts, with the pip of "
        "the image. Packages that the image has are never replaced.",
    )

    @model_validator(mode="after")
    def _has_its_entry(self) -> Self:
        enforce(self, _HAS_ITS_ENTRY)
        return self

    def files(self, data: Mapping[str, str]) -> dict[str, str]:
        """Returns the files of the program, by their paths, as far as the data of its ConfigMap have them."""
        if self.items is None:
            return dict(data)
        return {each.path: data[each.key] for each in self.items if each.key in data}


def with_program(template: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """Returns a pod template whose main container has the program, and runs it unless the author wrote a command.

    Args:
        template: The template as its author wrote it, with at least one container.
        program: The program.
    """
    spec = template["spec"]
    main = main_name([each.get("name", "") for each in spec["containers"]])
    containers = [_running(each, program) if each.get("name") == main else each for each in spec["containers"]]
    items = [{"key": each.key, "path": each.path} for each in program.items or ()]
    source = {"name": program.config_map} | ({"items": items} if items else {})
    volume = {"name": PROGRAM_VOLUME, "configMap": source}
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
