"""Building our Dockerfiles without a Docker daemon and without an image registry.

The base image is Debian's own Python under the name that the Dockerfiles' FROM lines use, so the very files that a
normal `docker build` takes are built here, unchanged.

Each Dockerfile has a storage of its own, keyed by everything but our own code: while that key stands, a build reuses
every layer up to our code; when it changes, the old storage is deleted as a whole, with all its layers.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .oci import Layout
from .paths import REPO, cache, digest, write
from .shell import ClusterError, run, stage, succeeds

SUITE = "bookworm"  # its python3 is 3.11, as in the image whose name it takes
BASE_PACKAGES = "python3,python3-pip,ca-certificates"
# What no container of ours reads, and what tells about the machine of the build. Licences stay: the image distributes
# these packages.
LEFT_OUT = (
    *("var/cache/apt/*", "var/lib/apt/lists/*", "var/log/*", "usr/share/man/*", "usr/share/locale/*"),
    *("etc/resolv.conf", "etc/hostname", "etc/machine-id"),
    # What pip is packaged with and does not import; its bytecode, for it runs in the stages of a build alone.
    *(f"usr/lib/python3/dist-packages/{name}*" for name in ("setuptools", "pkg_resources", "wheel")),
    *("usr/lib/python3/dist-packages/*distutils*", "usr/lib/python3/dist-packages/pip/**/__pycache__"),
)
BASE_RECIPE = 'FROM scratch\nADD base.tar /\nENV LANG=C.UTF-8\nCMD ["python3"]\n'
BUILD_OPTIONS = ("--layers", "--pull-never", "--isolation=chroot", "--network=host", "--format=oci")
PIP_CONFIGS = (Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf")
APT_SOURCES = Path("/etc/apt/sources.list")
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
RUN_ROOT = Path("/run/qtj-buildah")
NOTES = Path("/var/lib/containers")  # where skopeo notes what it copied, whatever storage it is given


@dataclass(frozen=True)
class Recipe:
    """A Dockerfile of ours and the requirements that it installs.

    Attributes:
        name: of the image.
        time: the time of all files and layers, in seconds since 1970, with which two builds have one digest; None for
            that of the build.
    """

    name: str
    time: int | None = None

    @property
    def dockerfile(self) -> Path:
        return REPO / f"Dockerfile.{self.name}"

    @property
    def slow_inputs(self) -> list[Path]:
        """Everything but our own code."""
        requirements = (REPO / "requirements" / f"{name}.txt" for name in (self.name, "build"))
        return [self.dockerfile, REPO / "image" / "slim.py", *requirements]

    @property
    def storage(self) -> Path:
        use = "storage" if self.time is None else "release"
        return home() / f"{use}-{self.name}-{digest(self.slow_inputs, base_key())}"

    @property
    def clock(self) -> list[str]:
        """The option that sets the time."""
        return [] if self.time is None else [f"--timestamp={self.time}"]

    def buildah(self, *words: str | Path) -> list[str | Path]:
        """A buildah command line on this recipe's storage."""
        return ["buildah", "--storage-driver=overlay", f"--root={self.storage}", f"--runroot={RUN_ROOT}", *words]


def build(recipe: Recipe, image: str, into: Layout) -> None:
    """Builds a Dockerfile and puts the image into the layout; unchanged layers are taken as they are."""
    with storage(recipe):
        ensure_base(recipe, base_name(recipe.dockerfile.read_text()))
        options = (*BUILD_OPTIONS, *recipe.clock, *host_files())
        run(*recipe.buildah("bud", *options, f"--tag={image}", f"--file={recipe.dockerfile}", REPO))
        into.root.mkdir(parents=True, exist_ok=True)
        source = f"containers-storage:[overlay@{recipe.storage}+{RUN_ROOT}]{image}"
        # skopeo and not `buildah push`, which compresses every layer: minutes of work that containerd undoes.
        run("skopeo", "copy", "--dest-oci-accept-uncompressed-layers", source, f"oci:{into.root}:{image}")


def export(recipe: Recipe, image: str, into: Layout) -> None:
    """Builds a Dockerfile from nothing, puts the image into the layout, and keeps nothing else."""
    discard(recipe)  # a build that was killed has left its layers
    try:
        build(recipe, image, into)
    finally:
        discard(recipe)


def discard(recipe: Recipe) -> None:
    """Removes what builds for a release have stored."""
    for old in home().glob(f"release-{recipe.name}-*"):
        machine.unmount_below(old)
        shutil.rmtree(old)


def home() -> Path:
    return cache() / "images"


@contextmanager
def storage(recipe: Recipe) -> Iterator[None]:
    """Drops what an older recipe left, and leaves no mount: buildah binds its storage onto itself and keeps that."""
    for old in set(home().glob(f"storage-{recipe.name}-*")) - {recipe.storage}:
        machine.unmount_below(old)
        shutil.rmtree(old)
    try:
        yield
    finally:
        clean_up()


def clean_up() -> None:
    """Removes what a build leaves outside the cache, and its mounts; also after a build that was killed."""
    machine.unmount_below(home(), RUN_ROOT)
    machine.remove(RUN_ROOT)
    if [path.name for path in NOTES.glob("*")] == ["cache"]:  # nobody keeps images there: the notes are ours
        machine.remove(NOTES)


def host_files() -> list[str]:
    """How apt and pip reach their packages from this machine: mounted while building, never part of a layer."""
    config = next((path for path in PIP_CONFIGS if path.exists()), None)
    files = {APT_SOURCES: home() / f"base-{base_key()}" / APT_SOURCES.name, CA_BUNDLE: CA_BUNDLE}
    if config:
        files[Path("/etc/pip.conf")] = config
    return [f"--volume={here}:{there}:ro" for there, here in files.items() if here.exists()]


def base_name(dockerfile: str) -> str:
    """The image that a Dockerfile starts from.

    Raises:
        ClusterError: it starts from several; we make one.
    """
    names: list[str] = sorted(set(re.findall(r"^FROM (\S+/\S+)", dockerfile, re.MULTILINE)))
    if len(names) != 1:
        raise ClusterError(
            f"a Dockerfile starts from {names}: one full name such as docker.io/library/python:TAG, please"
        )
    return names[0]


def base_key() -> str:
    """What the base image is made of, as a name."""
    return digest((), SUITE, BASE_PACKAGES, BASE_RECIPE, *LEFT_OUT)


def ensure_base(recipe: Recipe, name: str) -> None:
    """Puts the base image into a recipe's storage, from the archive in the cache."""
    folder = home() / f"base-{base_key()}"
    if not folder.is_dir():
        make_base(folder)
    if not succeeds(*recipe.buildah("inspect", "--type=image", name)):
        run(*recipe.buildah("bud", *recipe.clock, f"--tag={name}", "--format=oci", folder))


def make_base(folder: Path) -> None:
    """A small Debian with Python, as a tar file and the recipe of an image that holds it."""
    draft = folder.with_suffix(".draft")
    root = draft / "root"
    machine.unmount_below(draft)
    shutil.rmtree(draft, ignore_errors=True)
    root.mkdir(parents=True)
    with stage("making the base image from Debian packages (a minute or two the first time)"):
        run("debootstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", SUITE, root)
        shutil.copy(root / APT_SOURCES.relative_to("/"), draft)  # for the stages of a build that install packages
        slim(root)
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")  # the name that python images promise
        run("tar", "--create", "--numeric-owner", f"--file={draft}/base.tar", f"--directory={root}", ".")
    write(draft / "Dockerfile", BASE_RECIPE)
    shutil.rmtree(root)
    for old in set(home().glob("base-*")) - {draft}:
        shutil.rmtree(old)
    draft.replace(folder)


def slim(root: Path) -> None:
    """Removes what no container needs, and where this machine got its packages from."""
    left_out = [path for pattern in LEFT_OUT for path in root.glob(pattern)]
    docs = [path for path in root.glob("usr/share/doc/*/*") if path.name != "copyright"]
    for path in (*left_out, *docs):
        machine.remove(path)
    write(root / APT_SOURCES.relative_to("/"), "")
