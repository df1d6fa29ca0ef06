"""Probes of a container: startup first, then readiness and liveness, as a kubelet asks them.

Source: Kubernetes' documentation, "Configure Liveness, Readiness and Startup Probes", for defaults and order.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress

from qtj_operator.controller.client import Object
from qtj_operator.local.addresses import HOST
from qtj_operator.local.http import get

__all__ = ["Prober"]

_OK = range(200, 400)


class Prober:
    """Asks the probes of one container for as long as it runs.

    Args:
        container: What the pod says of it.
        port: Returns where a port of the container is on this machine.
        environment: What probes that are programs run in.
        ready: Called whenever the container becomes ready, or no longer is.
    """

    def __init__(
        self,
        container: Object,
        *,
        port: Callable[[int], int],
        environment: Mapping[str, str],
        ready: Callable[[bool], None],
    ) -> None:
        self._container = container
        self._port = port
        self._environment = environment
        self._ready = ready

    async def run(self) -> None:
        """Returns when the container is to be killed: its startup or its liveness probe has failed too often."""
        startup = self._container.get("startupProbe")
        if startup and not await self._comes_up(startup):
            return
        if startup and not self._container.get("readinessProbe"):
            self._ready(True)  # noqa: FBT003
        readiness = asyncio.create_task(self._follow(self._container.get("readinessProbe"), self._ready))
        try:
            await self._outlive(self._container.get("livenessProbe"))
        finally:
            readiness.cancel()

    async def _comes_up(self, probe: Object) -> bool:
        for _ in range(probe.get("failureThreshold", 3)):
            await asyncio.sleep(_delay(probe))
            if await self._succeeds(probe):
                return True
        return False

    async def _follow(self, probe: Object | None, tell: Callable[[bool], None]) -> None:
        """Tells of every change that a probe finds."""
        if not probe:
            return
        row, state = 0, False
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        while True:
            found = await self._succeeds(probe)
            row = 0 if found == state else row + 1
            if row >= probe.get("successThreshold" if found else "failureThreshold", 1 if found else 3):
                row, state = 0, found
                tell(state)
            await asyncio.sleep(probe.get("periodSeconds", 10))

    async def _outlive(self, probe: Object | None) -> None:
        """Returns when the probe has failed too often in a row; never without one."""
        if not probe:
            await asyncio.Event().wait()
            return
        failures = 0
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        while failures < probe.get("failureThreshold", 3):
            failures = 0 if await self._succeeds(probe) else failures + 1
            await asyncio.sleep(probe.get("periodSeconds", 10))

    async def _succeeds(self, probe: Object) -> bool:
        try:
            async with asyncio.timeout(probe.get("timeoutSeconds", 1)):
                return await self._ask(probe)
        except (TimeoutError, OSError, ValueError):
            return False

    async def _ask(self, probe: Object) -> bool:
        if http := probe.get("httpGet"):
            headers = {each["name"]: each["value"] for each in http.get("httpHeaders") or ()}
            url = f"http://{HOST}:{self._number(http['port'])}/{(http.get('path') or '/').lstrip('/')}"
            return (await get(url, probe.get("timeoutSeconds", 1), headers)).status in _OK
        if tcp := probe.get("tcpSocket"):
            _, writer = await asyncio.open_connection(HOST, self._number(tcp["port"]))
            writer.close()
            return True
        if command := probe.get("exec", {}).get("command"):
            return await self._run(command)
        return True  # gRPC health checks need a library of their own: such a container counts as healthy here

    async def _run(self, command: list[str]) -> bool:
        program = shutil.which(command[0], path=self._environment.get("PATH")) or command[0]
        process = await asyncio.create_subprocess_exec(
            program, *command[1:], env=dict(self._environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            return await process.wait() == 0
        finally:
            with suppress(ProcessLookupError):
                process.kill()

    def _number(self, port: int | str) -> int:
        """Returns the port of this machine for a port of the container, by number or by name."""
        named = {each.get("name"): each["containerPort"] for each in self._container.get("ports") or ()}
        return self._port(named.get(port) or int(port))


def _delay(probe: Object) -> float:
    return float(probe.get("initialDelaySeconds", 0) or probe.get("periodSeconds", 10))
