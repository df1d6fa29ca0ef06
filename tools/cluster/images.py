"""Our container images: built only if their inputs changed, imported only into nodes that lack them."""

import contextlib
import json
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from . import buildah, tools
from .node import PAUSE_IMAGE, Node
from .oci import Descriptor, Layout, layer_of, missing_blobs, named, write_bundle
from .paths import REPO, cache, digest, write
from .shell import ClusterError, run, say, stage, tail

USER = "65532:65532"  # nobody in particular: images name a user so that `runAsNonRoot` holds
SOURCES = (
    *(
        "LICENSE",
        ".dockerignore",
        "operator/qtj/tensorboard/server.py",
        "operator/qtj_contract",
        "operator/qtj_operator",
    ),
    *("operator/qtj_report", "trainer", "examples"),
)


@dataclass(frozen=True)
class Image:
    """An image of ours.

    Attributes:
        name: its full name, with the tag.
        inputs: the files it is made of; nothing is built while they stay the same.
        build: puts the image into the layout.
    """

    name: str
    inputs: Callable[[], Iterable[Path]]
    build: Callable[[Layout, str], None]


def project_version(pyproject: str | None = None) -> str:
    """The version of our own images."""
    text = pyproject if pyproject is not None else (REPO / "pyproject.toml").read_text()
    return str(tomllib.loads(text)["project"]["version"])


def emulator_version(go_mod: str | None = None) -> str:
    """The version of the GCS emulator that the pins name."""
    text = go_mod if go_mod is not None else (tools.ADDONS.folder / "go.mod").read_text()
    return tools.pinned(text, "github.com/fsouza/fake-gcs-server")


def layout() -> Layout:
    return Layout(cache() / "images" / "layout")


def from_dockerfile(name: str) -> Image:
    """One of our own images, from Dockerfile.NAME."""
    recipe = buildah.Recipe(name)
    return Image(
        name=f"localhost/qtj-{name}:{project_version()}",
        inputs=lambda: (*recipe.slow_inputs, *source_files()),
        build=lambda into, image: buildah.build(recipe, image, into),
    )


def from_program(image: str, group: tools.Group, name: str, arguments: Sequence[str] = ()) -> Image:
    """An image that holds one static program and nothing else."""

    def build(into: Layout, image: str) -> None:
        program = Path(tools.program(group, name)).read_bytes()
        files = {name: (program, 0o755), "tmp/": (b"", 0o1777)}
        into.add(image, layer_of(files), {"User": USER, "Entrypoint": [f"/{name}"], "Cmd": list(arguments)})

    return Image(image, lambda: (*group.inputs, Path(__file__)), build)


def gcs_emulator() -> Image:
    """A Google Cloud Storage that forgets everything when it stops."""
    arguments = ("-scheme", "http", "-port", "4443", "-backend", "memory")
    return from_program(f"localhost/gcs-emulator:{emulator_version()}", tools.ADDONS, "fake-gcs-server", arguments)


CATALOGUE: Mapping[str, Callable[[], Image]] = {
    "gcs-emulator": gcs_emulator,
    "operator": partial(from_dockerfile, "operator"),
    "tensorboard": partial(from_dockerfile, "tensorboard"),
    "trainer": partial(from_dockerfile, "trainer"),
}


def source_files() -> list[Path]:
    """The files of the checkout that our images copy."""
    roots = (REPO / name for name in SOURCES)
    files = (path for root in roots for path in ([root] if root.is_file() else root.rglob("*")))
    ignored = {".pyc", ".so"}  # as .dockerignore has it
    return sorted(path for path in files if path.is_file() and path.suffix not in ignored)


def provide(names: Sequence[str], nodes: Sequence[Node]) -> None:
    """Builds the named images where they changed and brings them to every node."""
    chosen = [CATALOGUE[name]() for name in names]
    for image in chosen:
        ensure_built(image)
    with ThreadPoolExecutor() as pool:  # an import uses one processor
        list(pool.map(partial(ensure_imported, chosen), nodes))
    if not nodes:
        say("no cluster runs: the images are built and will be imported by `images` after `up`")


def export(names: Sequence[str], folder: Path, time: int) -> None:
    """Builds images of ours for a release, in an OCI layout: at the same time of all files, the same digests.

    Args:
        names: Of the Dockerfiles.
        folder: The layout.
        time: The time of all files and layers, in seconds since 1970.
    """
    for name in names:
        image = f"localhost/qtj-{name}:{project_version()}"
        with stage(f"building {image} for a release"):
            buildah.export(buildah.Recipe(name, time), image, Layout(folder))


def ensure_pause(node: Node) -> None:
    """The image that every pod's sandbox runs."""
    pause = from_program(PAUSE_IMAGE, tools.PAUSE, "pause")
    ensure_built(pause)
    ensure_imported([pause], node)


def ensure_built(image: Image) -> None:
    """Builds an image if its inputs changed since it was last put into the layout."""
    into = layout()
    stamp = cache() / "images" / f"{image.name.replace('/', '_')}.json"
    inputs = digest(image.inputs(), *(str(path) for path in image.inputs() if path.is_relative_to(REPO)))
    entry = into.find(image.name)
    made = {"inputs": inputs, "manifest": entry["digest"] if entry else ""}
    if entry and stamp.exists() and json.loads(stamp.read_text()) == made:
        return
    with stage(f"building {image.name}"):
        image.build(into, image.name)
    entry = into.find(image.name)
    if not entry:
        raise ClusterError(f"the build of {image.name} left no image in {into.root}: delete that folder and try again")
    write(stamp, json.dumps({"inputs": inputs, "manifest": entry["digest"]}))
    into.prune()


def ensure_imported(images: Iterable[Image], node: Node) -> None:
    """Sends a node what it lacks of these images, and nothing that it has."""
    into = layout()
    there = on_node(node)
    built = [entry for image in images if (entry := into.find(image.name))]
    entries = [entry for entry in built if there.get(named(entry)) != entry["digest"]]
    if not entries:
        return
    present = run(*node.ctr("content", "ls", "--quiet")).split()
    size = sum(into.blob(digest).stat().st_size for digest in missing_blobs(into, entries, present))
    names = ", ".join(map(named, entries))
    with stage(f"importing {names} into {node.name} ({size / 2**20:.1f} MiB)"):
        send(into, entries, present, node)


def send(into: Layout, entries: list[Descriptor], present: Collection[str], node: Node) -> None:
    """Streams images into a node's containerd: no archive of gigabytes lies around in between."""
    with tempfile.TemporaryFile() as output:
        ctr = subprocess.Popen(node.ctr("image", "import", "-"), stdin=subprocess.PIPE, stdout=output, stderr=output)
        with ctr, contextlib.suppress(BrokenPipeError):  # it ended early: its output tells why
            write_bundle(into, entries, present, cast("IO[bytes]", ctr.stdin))
        output.seek(0)
        if ctr.returncode:
            raise ClusterError(f"importing into {node.name} failed:\n{tail(output.read().decode(errors='replace'))}")


def on_node(node: Node) -> dict[str, str]:
    """The images of a node: name -> manifest digest."""
    lines = run(*node.ctr("image", "ls")).splitlines()[1:]
    return {words[0]: words[2] for line in lines if (words := line.split()) and words[0].startswith("localhost/")}
