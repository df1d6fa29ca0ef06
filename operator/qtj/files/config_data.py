"""ConfigMaps and Secrets in the file of a job: their data, if an API server would accept them, and its digests.

A digest shows whether one has changed since the job ran. That of a Secret is made with a key, so that who reads the
folder of a run cannot find its values by trying.

Source: `ValidateConfigMap` and `ValidateSecret` in pkg/apis/core/validation of Kubernetes 1.34.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from qtj.local.hidden import keyed_digest
from qtj.local.variables import Configs
from qtj.rules.mistakes import Locator, Mistake, mistake_line
from qtj.rules.names import config_key, dns_subdomain
from qtj.terminal.errors import InputError
from qtj_operator.api.digest import digest_of
from qtj_operator.api.reading import MAPPING, TEXT

__all__ = ["KINDS", "MOST_BYTES", "changed_configs", "digests_of", "read_config"]

KINDS = ("ConfigMap", "Secret")

MOST_BYTES = 1024 * 1024
"""`MaxSecretSize` of Kubernetes' core API, for both kinds."""


_KINDS = {
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
}


def read_config(manifest: Mapping[str, Any], place: Locator) -> tuple[tuple[str, str], Mapping[str, str]]:
    """Returns kind, name and data of a ConfigMap or Secret.

    Args:
        manifest: The object.
        place: Locates its fields in the file.

    Raises:
        InputError: An API server would refuse it.
    """
    kind = str(manifest["kind"])
    wrong = [mistake_line(place, path, what) for path, what in _mistakes(manifest, kind)]
    if wrong:
        raise InputError("\n".join(wrong))
    data = dict(manifest.get("data") or {})
    if kind == "Secret":
        data = {key: _decoded(value) or "" for key, value in data.items()} | (manifest.get("stringData") or {})
    return (kind, manifest["metadata"]["name"]), {key: value or "" for key, value in data.items()}


def _mistakes(manifest: Mapping[str, Any], kind: str) -> Iterator[Mistake]:
    meta = manifest.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    if not name:
        yield ("metadata", "name"), f"give the {kind} a name"
    elif not isinstance(name, str):
        yield ("metadata", "name"), TEXT
    elif wrong := dns_subdomain(name):
        yield ("metadata", "name"), wrong
    size = 0
    for bag in ("data", "stringData") if kind == "Secret" else ("data",):
        entries = manifest.get(bag) or {}
        if not isinstance(entries, dict):
            yield (bag,), MAPPING
            continue
        for key, value in entries.items():
            size += len(str(value or "").encode(errors="replace"))
            if what := config_key(key) or _wrong_value(value, encoded=bag == "data" and kind == "Secret"):
                yield (bag, key), what
    if size > MOST_BYTES:
        yield ("data",), f"this is {size:,} bytes, and a {kind} may hold {MOST_BYTES:,}: leave something out"


def _wrong_value(value: object, *, encoded: bool) -> str | None:
    if value is None:  # as empty text
        return None
    if not isinstance(value, str):
        return TEXT
    if encoded and _decoded(value) is None:
        return "values here are base64: write plain text in stringData"
    return None


def _decoded(value: str | None) -> str | None:
    try:
        return base64.b64decode((value or "").replace("\n", ""), validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        return None


def digests_of(manifest: Mapping[str, Any], configs: Configs) -> Mapping[str, str]:
    """Returns a digest of the data of each ConfigMap and Secret, by kind and name, such as "ConfigMap settings".

    Args:
        manifest: The job, which may have mistakes.
        configs: The ConfigMaps and Secrets of the file; others are left out.
    """
    named = {each for each in (*_references(manifest.get("spec")), *_of_program(manifest)) if each in configs}
    return {f"{kind} {name}": _digest(kind, configs[kind, name]) for kind, name in sorted(named)}


def changed_configs(before: Mapping[str, str] | None, now: Mapping[str, str]) -> list[str]:
    """Returns the names in digests that differ, in order; nothing where the earlier digests are not known."""
    return [] if before is None else sorted(name for name in {*now, *before} if now.get(name) != before.get(name))


def _of_program(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = manifest.get("spec")
    program = spec.get("program") if isinstance(spec, dict) else None
    if isinstance(program, dict) and isinstance(name := program.get("configMap"), str):
        yield "ConfigMap", name


def _references(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            name = each.get("name") if key in _KINDS and isinstance(each, dict) else None
            if isinstance(name, str):
                yield _KINDS[key], name
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _digest(kind: str, data: Mapping[str, str]) -> str:
    if kind == "Secret":
        return keyed_digest(data)
    return digest_of(data)
