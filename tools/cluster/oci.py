"""Container images as files: a folder in the OCI layout, and what a containerd lacks of it.

The layout holds uncompressed blobs. A node is sent only the blobs that it does not have: after a change of our own code
that is some kilobytes and not the gigabytes of TensorFlow below it.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
REF_NAME = "org.opencontainers.image.ref.name"
IMAGE_NAME = "io.containerd.image.name"  # where containerd looks for a full name; the other one is only a tag
# What the Go compiler and image tools call this machine.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())

Descriptor = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """A folder of images."""

    root: Path

    def find(self, image: str) -> Descriptor | None:
        """The manifest descriptor of an image; None if it is not here."""
        return next((entry for entry in self.index() if named(entry) == image), None)

    def index(self) -> list[Descriptor]:
        path = self.root / "index.json"
        return list(json.loads(path.read_text())["manifests"]) if path.exists() else []

    def blob(self, digest: str) -> Path:
        return self.root / "blobs" / digest.replace(":", "/")

    def blobs_of(self, manifest: Descriptor) -> list[str]:
        """The digests of everything an image consists of: manifest, configuration, layers."""
        parts = json.loads(self.blob(manifest["digest"]).read_text())
        return [manifest["digest"], parts["config"]["digest"], *(layer["digest"] for layer in parts["layers"])]

    def add(self, image: str, layer: bytes, config: Mapping[str, Any]) -> None:
        """Adds an image of one layer, made here: for images that are one static program."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        layer_part = self._store(LAYER, layer)
        rootfs = {"type": "layers", "diff_ids": [layer_part["digest"]]}
        document = {"architecture": ARCHITECTURE, "os": "linux", "config": dict(config), "rootfs": rootfs}
        config_part = self._store(CONFIG, json.dumps(document).encode())
        parts = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config_part, "layers": [layer_part]}
        manifest = self._store(MANIFEST, json.dumps(parts).encode())
        others = [entry for entry in self.index() if named(entry) != image]
        self._write_index([*others, {**manifest, "annotations": {REF_NAME: image}}])

    def prune(self) -> None:
        """Removes what no image needs any more: a rebuild leaves its predecessor behind, without a name."""
        self._write_index([entry for entry in self.index() if named(entry)])
        needed = {digest for entry in self.index() for digest in self.blobs_of(entry)}
        for path in (self.root / "blobs" / "sha256").glob("*"):
            if f"sha256:{path.name}" not in needed:
                path.unlink()

    def _store(self, media_type: str, data: bytes) -> Descriptor:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        path = self.blob(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def _write_index(self, entries: list[Descriptor]) -> None:
        (self.root / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": entries}))


def named(entry: Descriptor) -> str:
    return str(entry.get("annotations", {}).get(REF_NAME, ""))


def missing_blobs(layout: Layout, images: Iterable[Descriptor], present: Collection[str]) -> list[str]:
    """What a node must be sent so that it has these images; small things first, each once."""
    needed = dict.fromkeys(digest for image in images for digest in layout.blobs_of(image))
    return sorted(needed.keys() - set(present), key=lambda digest: (layout.blob(digest).stat().st_size, digest))


def write_bundle(layout: Layout, images: list[Descriptor], present: Collection[str], out: IO[bytes]) -> None:
    """Writes the archive that `ctr image import` reads: an index of these images and the blobs that are not present."""
    entries = [{**image, "annotations": {IMAGE_NAME: named(image)}} for image in images]
    index = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
    with tarfile.open(fileobj=out, mode="w|", bufsize=2**20) as archive:
        archive.addfile(*_member("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'))
        for digest in missing_blobs(layout, images, present):
            archive.add(layout.blob(digest), f"blobs/{digest.replace(':', '/')}")
        archive.addfile(*_member("index.json", index))


def layer_of(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """A layer with these files and modes, the same bytes every time; a name that ends in / is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, (data, mode) in files.items():
            info, content = _member(name.rstrip("/"), data, mode)
            if name.endswith("/"):
                info.type = tarfile.DIRTYPE
            archive.addfile(info, content)
    return out.getvalue()


def _member(name: str, data: bytes, mode: int = 0o644) -> tuple[tarfile.TarInfo, io.BytesIO]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    return info, io.BytesIO(data)
