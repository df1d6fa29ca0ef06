"""Probes of a container: startup first, then readiness and liveness, as a kubelet runs them.

Source: Kubernetes' documentation, "Configure Liveness, Readiness and Startup Probes", for defaults and order.
"""

import asyncio
from collections.abc import Callable, Sequence

from qtj.local.addresses import HOST
from qtj.local.container import CannotStartError, ProcessSpec, with_command
from qtj.local.http import get
from qtj.local.process import Process, Supervisors
from qtj_operator.controller.client import Object

__all__ = ["Prober"]

_OK = range(200, 400)


class Prober:
    """Runs the probes of one container as long as it runs.

    Args:
        container: The container in the pod's spec.
        program: The process that runs instead; exec probes run in its environment.
        supervisors: Start exec probes.
        port: Returns the local port of a port of the container.
        ready: Called whenever the container becomes ready or unready.
    """

    def __init__(
        self,
        container: Object,
        *,
        program: ProcessSpec,
        supervisors: Supervisors,
        port: Callable[[int], int],
        ready: Callable[[bool], None],
    ) -> None:
        self._container = container
        self._program = program
        self._supervisors = supervisors
        self._port = port
        self._ready = ready

    async def run(self) -> str:
        """Returns why the container has to be killed, once its startup or its liveness probe has failed too often."""
        startup = self._container.get("startupProbe")
        if startup and not await self._starts_up(startup):
            return _reason("startup", startup)
        if startup and not self._container.get("readinessProbe"):
            self._ready(True)
        liveness = self._container.get("livenessProbe")
        async with asyncio.TaskGroup() as tasks:
            readiness = tasks.create_task(self._follow(self._container.get("readinessProbe"), self._ready))
            await self._fail(liveness)
            readiness.cancel()
        return _reason("liveness", liveness)

    async def _starts_up(self, probe: Object) -> bool:
        for _ in range(_times(probe)):
            await asyncio.sleep(probe.get("initialDelaySeconds") or _period(probe))
            if await self._succeeds(probe):
                return True
        return False

    async def _follow(self, probe: Object | None, report: Callable[[bool], None]) -> None:
        """Reports every change of a probe's result."""
        if not probe:
            return
        row, state = 0, False
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            result = await self._succeeds(probe)
            row = 0 if result == state else row + 1
            if row >= ((probe.get("successThreshold") or 1) if result else _times(probe)):
                row, state = 0, result
                report(state)
            await asyncio.sleep(_period(probe))

    async def _fail(self, probe: Object | None) -> None:
        """Returns when the probe has failed too often in a row; never without one."""
        if not probe:
            await asyncio.Event().wait()
            return
        failures = 0
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while failures < _times(probe):
            failures = 0 if await self._succeeds(probe) else failures + 1
            await asyncio.sleep(_period(probe))

    async def _succeeds(self, probe: Object) -> bool:
        try:
            async with asyncio.timeout(_timeout(probe)):
                return await self._probe(probe)
        except (CannotStartError, OSError, ValueError):
            return False

    async def _probe(self, probe: Object) -> bool:
        if http := probe.get("httpGet"):
            headers = {each["name"]: each["value"] for each in http.get("httpHeaders") or ()}
            url = f"http://{HOST}:{self._number(http['port'])}/{(http.get('path') or '/').lstrip('/')}"
            return (await get(url, _timeout(probe), headers)).status in _OK
        if tcp := probe.get("tcpSocket"):
            _, writer = await asyncio.open_connection(HOST, self._number(tcp["port"]))
            writer.close()
            return True
        if command := (probe.get("exec") or {}).get("command"):
            return await self._run(command)
        return True  # gRPC health checks need another library: such a container counts as healthy here

    async def _run(self, command: Sequence[object]) -> bool:
        program = with_command(self._program, command, self._container["name"])
        process = await Process.start(program, lambda _: None, self._supervisors)
        end = asyncio.create_task(process.wait())
        try:
            return await asyncio.shield(end) == 0
        finally:
            process.kill()
            await end

    def _number(self, port: int | str) -> int:
        """Returns the port of this machine for a port of the container, by number or by name."""
        named = {each.get("name"): each["containerPort"] for each in self._container.get("ports") or ()}
        return self._port(named.get(port) or int(port))


def _reason(kind: str, probe: Object | None) -> str:
    return f"its {kind} probe failed {_times(probe or {})} times in a row, so it was killed"


def _period(probe: Object) -> float:
    return float(probe.get("periodSeconds") or 10)


def _timeout(probe: Object) -> float:
    return float(probe.get("timeoutSeconds") or 1)


def _times(probe: Object) -> int:
    return int(probe.get("failureThreshold") or 3)
