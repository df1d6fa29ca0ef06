"""What records and pages leave out: values of variables that are secret by their name, and addresses with a password.

That of an index of packages or of a proxy often has one. A record is for the next run, which has the file with the job.
So the record needs no such value, only whether it is still the same: it has a digest that is made with the key of this
user: who has the folder of a run cannot try values without it. A page has neither.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from qtj.local.records import without_digest
from qtj_contract.secret_names import has_password, is_secret

__all__ = ["keyed_digest", "recorded", "recorded_spec", "restored", "shown", "shown_spec"]

_COPY = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which `kubectl apply` keeps a copy of the whole object."""

Hide = Callable[[str, str], str]


_BYTES = 32
_LENGTH = 16


def shown(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a job for other eyes: a page, or a program that reads `-o json`."""
    return _job_without(job, _not_shown)


def shown_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a spec for other eyes, such as the template of a study."""
    found: dict[str, Any] = _without(spec, _not_shown)
    return found


def recorded(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a job as it is recorded: with keyed digests of what is secret, and without a digest of all of it."""
    kept = _job_without(job, _digest)
    return kept if kept == job else without_digest(kept)


def recorded_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a spec as it is recorded, to compare it with that of a record."""
    found: dict[str, Any] = _without(spec, _digest)
    return found


def restored(record: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record with the values of its secret variables again, as far as a spec has the same fields."""
    known = recorded_spec(spec)
    before = {name: spec[name] if known.get(name) == value else value for name, value in record["spec"].items()}
    return {**record, "spec": before}


def _not_shown(_name: str, _value: str) -> str:
    return "(not shown)"


def _digest(name: str, value: str) -> str:
    return f"(not recorded: {keyed_digest([name, value])})"


def _job_without(job: Mapping[str, Any], hide: Hide) -> dict[str, Any]:
    meta = dict(job["metadata"])
    if _COPY in (written := meta.get("annotations") or {}):
        meta["annotations"] = {name: each for name, each in written.items() if name != _COPY}
    return {**job, "metadata": meta, "spec": _without(job["spec"], hide)}


def _without(value: Any, hide: Hide) -> Any:
    """Returns a value with other texts in place of secret ones, wherever it has them."""
    if isinstance(value, str):
        return hide("", value) if has_password(value) else value
    if isinstance(value, list):
        return [_without(each, hide) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: [_variable(one, hide) for one in each] if key == "env" and isinstance(each, list) else _without(each, hide)
        for key, each in value.items()
    }


def _variable(one: Any, hide: Hide) -> Any:
    if not isinstance(one, Mapping) or not one.get("value") or not is_secret(str(one.get("name"))):
        return _without(one, hide)
    return {**one, "value": hide(str(one["name"]), str(one["value"]))}


def keyed_digest(value: object) -> str:
    """Returns a digest of what JSON can express, which is the same in each process of this user.

    Where the key cannot be stored, it is another one in each process: what is compared with it then counts as changed.
    """
    text = json.dumps(value, sort_keys=True).encode()
    return hmac.new(_key(_place()), text, hashlib.sha256).hexdigest()[:_LENGTH]


def _place() -> Path | None:
    """Returns the file of the key (XDG Base Directory Specification: state of a user); None without a home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "qtj" / "key"
    return None


@cache
def _key(path: Path | None) -> bytes:
    new = os.urandom(_BYTES)
    if path is None:
        return new
    try:
        _make(path, new)
        key = path.read_bytes()
    except OSError:
        return new
    return key if len(key) == _BYTES else new


def _make(path: Path, key: bytes) -> None:
    """Makes the file, whole, unless it exists: of several processes, one wins.

    Raises:
        OSError: It cannot be made.
    """
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileExistsError):
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(key)
        os.link(unfinished, path)
    unfinished.unlink(missing_ok=True)
