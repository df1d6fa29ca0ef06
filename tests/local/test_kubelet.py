"""What a pod of this machine shows while its program cannot be started yet."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from qtj.local import kubelet as module
from qtj.local.addresses import Addresses, PortLease
from qtj.local.kubelet import Kubelet, Machine
from qtj.local.store import Change, ClusterStore
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Resource


class Loading:
    """A fork server that has not loaded TensorFlow yet."""

    mark = "unused"
    pid = 0

    def suits(self, program: object) -> bool:
        del program
        return True

    async def loaded(self) -> None:
        await asyncio.Event().wait()

    def fork(self, streams: object) -> None:
        """It forks nothing."""


def pod() -> dict[str, Any]:
    container = {"name": "trainer", "image": "toy:1", "command": ["true"]}
    meta = {"name": "toy-worker-0", "namespace": "lab", "labels": {LABEL_JOB: "toy"}}
    return {"metadata": meta, "spec": {"containers": [container]}}


def test_a_pod_that_waits_until_tensorflow_is_loaded_has_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PLACED_AFTER", 0.0)
    placed = asyncio.run(_placed(tmp_path))

    assert placed["spec"]["nodeName"] == "laptop"
    assert {"type": "PodScheduled", "status": "True"} in placed["status"]["conditions"]


async def _placed(folder: Path) -> dict[str, Any]:
    machine = Machine(
        name="laptop",
        addresses=Addresses(PortLease(), lambda *_: False),
        artifacts=lambda *_: folder.as_uri(),
        progress=lambda *_: folder / "progress.jsonl",
        program=lambda *_: folder,
        log=lambda _: lambda _: None,
    )
    is_placed = asyncio.Event()

    def notice(change: Change) -> None:
        kubelet.notice(change)
        if "nodeName" in change.object["spec"]:
            is_placed.set()

    store = ClusterStore(lambda: datetime.now(UTC), notice)
    kubelet = Kubelet(store, machine, cast("Any", Loading()))
    store.create(Resource.PODS, pod())
    await asyncio.wait_for(is_placed.wait(), 20)
    found = next(store.select(Resource.PODS, "lab", {}))
    await kubelet.close()
    return found
