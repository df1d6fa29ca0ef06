"""Runs the pods of a cluster in memory as local processes.

One task per pod, from its creation to its end::

    Pending ── the program cannot be started ──▶ Failed, with the kubelet's reason
       │
       ▼
    Running ── ready: at once, or when its probes succeed ──▶ the program ends ──▶ Succeeded or Failed
       │                                                            ▲
       └── deleted, or its probes have failed: SIGTERM, and ────────┘
           SIGKILL after the grace period

A kubelet lets some pods wait until the problem that prevents their start is solved. Here nothing can solve it, so they
fail: for good, or with an exit code that asks for a retry if the machine lacked resources.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qtj.local.addresses import Addresses, NoFreePortError
from qtj.local.container import CannotStartError, Configs, ProcessSpec, program_of
from qtj.local.fork_server import ForkServer
from qtj.local.objects import grace_of
from qtj.local.podstatus import conditions, ended, running, termination_message
from qtj.local.probes import Prober
from qtj.local.process import Process, Supervisors
from qtj.local.store import Change, ClusterStore
from qtj.local.variables import group_address
from qtj_contract import Env
from qtj_operator.api.job import METRICS_PORT, main_container
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import ApiError, Key, Object, Resource

__all__ = ["PLACED_AFTER", "Kubelet", "Machine"]

PLACED_AFTER = 5.0
"""Seconds after which a pod that waits for TensorFlow to be loaded is shown to have a node."""

_CANNOT_RUN = 126
"""The exit code of a shell for a program that it cannot run. Like every code below 128 it is final."""
_NO_ROOM = 128
"""The exit code of containerd for a container that it could not start; it is retryable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What this machine offers to pods.

    Attributes:
        name: Its name, as a node.
        addresses: The local addresses of Services.
        artifacts: Returns the local address of a job's artifacts, by its namespace and name.
        progress: Returns the file to which the replicas of a job may append their progress, likewise.
        program: Returns the folder with the files of a job's `spec.program`, likewise.
        log: Opens the log of a pod: returns a function that writes to it.
        configs: ConfigMaps and Secrets.
    """

    name: str
    addresses: Addresses
    artifacts: Callable[[str, str], str]
    progress: Callable[[str, str], Path]
    program: Callable[[str, str], Path]
    log: Callable[[Object], Callable[[bytes], None]]
    configs: Configs = field(default_factory=dict)


class Kubelet:
    """The kubelet of the only node.

    Args:
        store: The cluster.
        machine: What this machine offers.
        server: Forks trainers, if there is one.
    """

    def __init__(self, store: ClusterStore, machine: Machine, server: ForkServer | None = None) -> None:
        self._store = store
        self._machine = machine
        self._pods: dict[str, _PodTask] = {}
        self._defects: list[BaseException] = []
        self._supervisors = Supervisors(server)

    def notice(self, change: Change) -> None:
        """Handles a change; has to be called for every change, within the event loop."""
        if change.resource is not Resource.PODS:
            return
        uid = change.object["metadata"]["uid"]
        if change.type == "ADDED":
            self._pods[uid] = _PodTask(self, change.object, self._defects.append)
        elif uid in self._pods and change.type == "DELETED":
            self._pods[uid].kill()
        elif uid in self._pods and "deletionTimestamp" in change.object["metadata"]:
            self._pods[uid].stop()

    @property
    def running(self) -> int:
        """How many programs run."""
        return len(self._pods)

    def runs(self, job: Key) -> bool:
        """Tells whether a program of a job runs."""
        return any(task.job == job for task in self._pods.values())

    def pid(self, pod: str) -> int | None:
        """Returns the process of the running pod of that name."""
        return next((task.pid for task in self._pods.values() if task.name == pod), None)

    def ports(self, pod: Object) -> Mapping[int, int]:
        """Returns the port of this machine at which a running pod serves its progress."""
        is_running = (pod.get("status") or {}).get("phase") == "Running"  # before, there may be no Service yet
        return {METRICS_PORT: self._local_port(pod, METRICS_PORT)} if is_running else {}

    def check(self) -> None:
        """Raises the first unexpected exception of a pod's task, so that a defect is not hidden."""
        if self._defects:
            raise self._defects[0]

    def kill(self, job: Key) -> None:
        """Kills every program of a job at once."""
        for task in self._pods.values():
            if task.job == job:
                task.kill()

    async def close(self) -> None:
        """Stops every program with SIGTERM, and waits for their end."""
        for task in self._pods.values():
            task.stop()
        await asyncio.gather(*(task.ended() for task in list(self._pods.values())))

    async def run(self, pod: Object, stopping: asyncio.Event, started: Callable[[Process], None]) -> None:
        """Runs one pod to its end."""
        try:
            with TemporaryDirectory(prefix="qtj-", ignore_cleanup_errors=True) as scratch:
                status = await self._run(pod, Path(scratch), stopping, started)
        except CannotStartError as problem:
            status = ended(pod, _CANNOT_RUN, str(problem), problem.reason)
        except (OSError, NoFreePortError) as problem:
            status = ended(pod, _NO_ROOM, str(problem), "StartError")
        finally:
            self._pods.pop(pod["metadata"]["uid"], None)
        self._set_status(pod, status, node=self._machine.name)

    async def _run(
        self, pod: Object, scratch: Path, stopping: asyncio.Event, started: Callable[[Process], None]
    ) -> Mapping[str, Any]:
        """Runs the program of a pod, and returns the final status of the pod."""
        message_file = scratch / "termination-log"
        program = self._program(pod, message_file)
        await self._prepare(pod, program, stopping)
        process = await Process.start(program, self._machine.log(pod), self._supervisors, scratch)
        started(process)
        self._set_status(pod, running(pod), node=self._machine.name)
        code, unhealthy = await self._supervise(pod, program, process, stopping)
        return ended(pod, code, termination_message(pod, code, message_file, process.tail, unhealthy))

    async def _prepare(self, pod: Object, program: ProcessSpec, stopping: asyncio.Event) -> None:
        """Waits until a program can be forked, or has to end: then it is started alone, which is sooner.

        A pod that waits for long has its node: otherwise the operator would ask for a scheduler.
        """
        waiting = [asyncio.create_task(each) for each in (self._supervisors.prepare(program), stopping.wait())]
        done, _ = await asyncio.wait(waiting, timeout=PLACED_AFTER, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self._set_status(pod, {"conditions": conditions(ready=False)}, node=self._machine.name)
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()

    async def _supervise(
        self, pod: Object, program: ProcessSpec, process: Process, stopping: asyncio.Event
    ) -> tuple[int, str | None]:
        """Runs the probes of a program and stops it if needed; returns its exit code, and which probe failed."""
        end = asyncio.create_task(process.wait())
        stop = asyncio.create_task(stopping.wait())
        probing = asyncio.create_task(self._prober(pod, program).run())
        await asyncio.wait({end, stop, probing}, return_when=asyncio.FIRST_COMPLETED)
        is_unhealthy = probing.done() and not end.done()
        for task in (stop, probing):
            task.cancel()
        if not end.done():
            process.terminate()
            await asyncio.wait({end}, timeout=grace_of(pod).total_seconds())
            process.kill()
        await asyncio.gather(stop, probing, return_exceptions=True)
        return await end, probing.result() if is_unhealthy else None

    def _prober(self, pod: Object, program: ProcessSpec) -> Prober:
        return Prober(
            main_container(pod["spec"]["containers"]),
            program=program,
            supervisors=self._supervisors,
            port=lambda port: self._local_port(pod, port),
            ready=lambda ready: self._set_status(pod, running(pod, ready=ready)),
        )

    def _program(self, pod: Object, message_file: Path) -> ProcessSpec:
        meta = pod["metadata"]
        namespace, job = meta["namespace"], meta["labels"][LABEL_JOB]
        replaced = {
            str(Env.ARTIFACTS_URI): self._machine.artifacts(namespace, job),
            str(Env.TERMINATION_LOG): str(message_file),
            **{
                str(variable): str(self._local_port(pod, port))
                for variable, port in _own_ports(pod).items()
                if self._has_service(pod)
            },
            **group_address(_written(pod), lambda text: self._machine.addresses.rewrite(text, namespace)),
        }
        program = program_of(
            pod,
            configs=self._machine.configs,
            replaced=replaced,
            folder=self._machine.program(namespace, job),
            rewrite=lambda text: self._machine.addresses.rewrite(text, namespace),
        )
        progress = {str(Env.PROGRESS_LOG): str(self._machine.progress(namespace, job))}
        return replace(program, environment={**program.environment, **progress})

    def _local_port(self, pod: Object, port: int) -> int:
        """Returns the local port of a pod's port: another number only if a Service has it."""
        meta = pod["metadata"]
        ports = {p["containerPort"] for p in main_container(pod["spec"]["containers"]).get("ports") or ()}
        if port in ports and self._has_service(pod):
            return self._machine.addresses.port(meta["namespace"], meta["name"], port)
        return port

    def _has_service(self, pod: Object) -> bool:
        """Whether others reach the pod by the name of a Service: its own, or that of its subdomain."""
        meta = pod["metadata"]
        return self._store.has(Resource.SERVICES, meta["namespace"], pod["spec"].get("subdomain") or meta["name"])

    def _set_status(self, pod: Object, status: Mapping[str, Any], node: str | None = None) -> None:
        """Writes the pod's status, unless the pod was removed meanwhile."""
        meta = pod["metadata"]

        def change(obj: dict[str, Any]) -> None:
            if obj["metadata"]["uid"] == meta["uid"]:
                obj["status"] = {**obj.get("status", {}), **status}
                obj["spec"] |= {"nodeName": node} if node else {}

        try:
            self._store.update(Resource.PODS, meta["namespace"], meta["name"], change)
        except ApiError:
            return


class _PodTask:
    """The task that runs one pod."""

    def __init__(self, kubelet: Kubelet, pod: Object, defect: Callable[[BaseException], None]) -> None:
        meta = pod["metadata"]
        self.name = meta["name"]
        self.job = (meta["namespace"], meta["labels"][LABEL_JOB])
        self._process: Process | None = None
        self._killed = False
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(kubelet.run(pod, self._stopping, self._started))
        self._task.add_done_callback(lambda task: _report(task, defect))

    @property
    def pid(self) -> int | None:
        """Its process, once it has one."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        self._stopping.set()

    def kill(self) -> None:
        self._killed = True
        self._stopping.set()
        if self._process:
            self._process.kill()

    async def ended(self) -> None:
        await asyncio.gather(self._task, return_exceptions=True)

    def _started(self, process: Process) -> None:
        self._process = process
        if self._killed:
            process.kill()


def _report(task: asyncio.Task[None], defect: Callable[[BaseException], None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        defect(problem)


def _own_ports(pod: Object) -> Mapping[Env, int]:
    """Returns the ports on which the program listens by the contract."""
    ports = {Env.METRICS_PORT: METRICS_PORT}
    if profiler := _written(pod).get(Env.PROFILER_PORT):
        ports[Env.PROFILER_PORT] = int(profiler)
    return ports


def _written(pod: Object) -> Mapping[str, Any]:
    """Returns the variables of the main container that the pod has as text."""
    return {each["name"]: each.get("value") for each in main_container(pod["spec"]["containers"]).get("env") or ()}
