"""`spec.program.requirements`: packages that pods install before the program starts, because their image lacks them."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from qtj_operator.api.installer import INSTALLER
from qtj_operator.api.model import Model
from qtj_operator.api.rules import Rule, checked, enforce, matching, validations

__all__ = [
    "CACHE_FOLDER",
    "REQUIREMENTS_FOLDER",
    "REQUIREMENTS_NAME",
    "SITE",
    "Hashes",
    "Requirements",
    "with_requirements",
]

REQUIREMENTS_NAME = "qtj-requirements"
"""The name of the init container that installs, and of the volume that it installs into."""
REQUIREMENTS_FOLDER = "/opt/requirements"
"""Where both containers mount that volume."""
SITE = f"{REQUIREMENTS_FOLDER}/site"
"""The folder with the packages, which Python looks through."""
CACHE_FOLDER = "/opt/requirements-cache"
"""Where the init container mounts the volume with the cache."""

_FILE, _PACKAGE, _INDEX = "[A-Za-z0-9_][-._A-Za-z0-9]*", "[A-Za-z0-9][ -~]*", "(https?|file)://[!-~]+"

_NAMES_A_KEY = matching(
    f"^{_FILE}$",
    "must be a key of the ConfigMap, such as requirements.txt, without a folder",
)
_ARE_PACKAGES = Rule(
    f"self.all(each, each.matches('^{_PACKAGE}$'))",
    lambda packages: all(re.fullmatch(_PACKAGE, each) for each in packages),
    "must begin with the name of a package, such as pennylane==0.45.1",
)
_IS_AN_INDEX = matching(
    f"^{_INDEX}$",
    "must be an address that begins with https://, http:// or file://, such as https://pypi.org/simple",
)
_ONE_SOURCE = Rule(
    "has(self.packages) != has(self.file)",
    lambda each: (each.packages is None) != (each.file is None),
    "requirements are named by either packages or file",
)
_HAVE_HASHES = Rule(
    "!has(self.packages) || (has(self.hashes) && self.hashes == 'Optional') || "
    "self.packages.all(each, each.contains(' --hash='))",
    lambda each: not each.needs_hashes or all(" --hash=" in package for package in each.packages or ()),
    "each of packages needs a hash, as in `pennylane==0.45.1 --hash=sha256:...`: add it, or set hashes to Optional",
)


class Hashes(StrEnum):
    """Whether packages without a hash are installed."""

    REQUIRED = "Required"
    OPTIONAL = "Optional"


class Requirements(Model):
    """Packages to install."""

    model_config = ConfigDict(json_schema_extra=validations(_ONE_SOURCE, _HAVE_HASHES))

    file: Annotated[str, Field(min_length=1, max_length=253), checked(_NAMES_A_KEY)] | None = Field(
        None,
        description="A key of the ConfigMap with what to install, in the format of pip, such as requirements.txt.",
        json_schema_extra=validations(_NAMES_A_KEY),
    )
    packages: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=1024)]],
            Field(min_length=1, max_length=64),
            checked(_ARE_PACKAGES),
        ]
        | None
    ) = Field(
        None,
        description="The same without a file, one line of it each.",
        json_schema_extra=validations(_ARE_PACKAGES),
    )
    hashes: Hashes | None = Field(
        None,
        description="Required, also when left out: a package is installed only if the hash of its wheel is named, and "
        "so are those of all that it needs. Optional: a package without a hash is installed too, from its source as "
        "well.",
    )
    index: Annotated[str, Field(min_length=1, max_length=1024), checked(_IS_AN_INDEX)] | None = Field(
        None,
        description="The address of the index of packages. When left out, that of the image's pip, or of PIP_INDEX_URL "
        "among the variables of the main container. $(NAME) stands for one of these variables, such as a password.",
        json_schema_extra=validations(_IS_AN_INDEX),
    )
    cache: Annotated[str, Field(min_length=1, max_length=63)] | None = Field(
        None,
        description="A volume of the pod template, which keeps what was downloaded for other pods. All of them have to "
        "be able to write to it.",
    )

    @model_validator(mode="after")
    def _one_source_with_hashes(self) -> Self:
        enforce(self, _ONE_SOURCE, _HAVE_HASHES)
        return self

    @property
    def needs_hashes(self) -> bool:
        """Whether only packages with a hash are installed."""
        return self.hashes != Hashes.OPTIONAL


def with_requirements(pod: Mapping[str, Any], main: str, requirements: Requirements, folder: str) -> dict[str, Any]:
    """Returns the spec of a pod whose main container has the packages, and an init container that installs them.

    Args:
        pod: The spec of the pod, with the program.
        main: The name of its main container.
        requirements: The packages.
        folder: Where the files of the program are.
    """
    container = next(each for each in pod["containers"] if each.get("name") == main)
    initial = [*(pod.get("initContainers") or ()), _installing(container, requirements, folder)]
    containers = [_importing(each) if each is container else each for each in pod["containers"]]
    volumes = [*(pod.get("volumes") or ()), {"name": REQUIREMENTS_NAME, "emptyDir": {}}]
    return {**pod, "initContainers": initial, "containers": containers, "volumes": volumes}


_SHARED = ("image", "imagePullPolicy", "env", "envFrom", "resources", "securityContext")
"""What an installation has in common with the program: a proxy, a password, a user, and the share of the node."""


def _installing(container: Mapping[str, Any], requirements: Requirements, folder: str) -> dict[str, Any]:
    """Returns the init container; after its options come the packages."""
    shared = {field: container[field] for field in _SHARED if container.get(field) is not None}
    mounts = [*(container.get("volumeMounts") or ()), _mount(REQUIREMENTS_NAME, REQUIREMENTS_FOLDER)]
    options = ["--require-hashes", "--only-binary=:all:"] if requirements.needs_hashes else []
    options += [f"--index-url={requirements.index}"] if requirements.index else []
    if requirements.cache:
        options.append(f"--cache-dir={CACHE_FOLDER}")
        mounts.append(_mount(requirements.cache, CACHE_FOLDER))
    else:
        options.append("--no-cache-dir")
    options += [f"--requirement={folder}/{requirements.file}"] if requirements.file else []
    lines = (each.replace("$(", "$$(") for each in requirements.packages or ())
    return {
        **shared,
        "name": REQUIREMENTS_NAME,
        "command": ["python", "-c", INSTALLER.replace("$(", "$$(")],
        "args": [REQUIREMENTS_FOLDER, *options, "--", *lines],
        "volumeMounts": mounts,
    }


def _importing(container: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the main container, whose Python looks through the packages after folders that its author names."""
    env = {each.get("name"): each for each in container.get("env") or ()}
    own = env.get("PYTHONPATH", {"name": "PYTHONPATH"})
    env["PYTHONPATH"] = {**own, "value": ":".join(filter(None, (own.get("value"), SITE)))}
    return {
        **container,
        "env": [*env.values()],
        "volumeMounts": [
            *(container.get("volumeMounts") or ()),
            {**_mount(REQUIREMENTS_NAME, REQUIREMENTS_FOLDER), "readOnly": True},
        ],
    }


def _mount(volume: str, path: str) -> dict[str, Any]:
    return {"name": volume, "mountPath": path}
