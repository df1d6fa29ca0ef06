"""Renews credentials of a kubeconfig that expire, as kubectl does: those of a plugin and of an OpenID provider.

A plugin of EKS, GKE or AKS gives a token for 15 minutes to an hour, and a training is followed for longer.
kubernetes.aio (37.0) asks for a token once, and runs a plugin again only if it is told to.
"""

import time
from collections.abc import Coroutine
from contextlib import suppress

from kubernetes.aio import client as kubernetes
from kubernetes.aio.config.kube_config import KubeConfigLoader

__all__ = ["Renewal"]

_PERIOD_SECONDS = 10.0
"""How often the loader is asked. It keeps a token until five minutes before its end."""


class Renewal:
    """Looks before a request whether the credentials have expired; the `refresh_api_key_hook` of a configuration.

    Args:
        loader: What has read the kubeconfig.
    """

    def __init__(self, loader: KubeConfigLoader) -> None:
        self._loader = loader
        self._expires = hasattr(loader, "exec_plugin_expiry") or loader.provider is not None
        self._asked = time.time()

    def __call__(self, settings: kubernetes.Configuration) -> Coroutine[None, None, None] | None:
        """Returns what the request waits for; None if nothing is to be done."""
        now = time.time()  # it goes on while a laptop sleeps, and may jump back
        if not self._expires or abs(now - self._asked) < _PERIOD_SECONDS:
            return None
        self._asked = now
        return self._renew(settings)

    async def _renew(self, settings: kubernetes.Configuration) -> None:
        proxy = settings.proxy
        with suppress(Exception):  # of any program or provider; the API server says whether the old token is good
            await self._loader.load_and_set(settings)
        settings.proxy = proxy  # the environment may name it
