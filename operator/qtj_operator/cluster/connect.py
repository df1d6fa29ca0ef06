"""Where the API server is, and with which credentials: as kubectl finds it."""

import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml
from kubernetes.aio import client as kubernetes
from kubernetes.aio import config
from kubernetes.aio.config.kube_config import KubeConfigLoader

from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError
from qtj_operator.controller.fair_limit import REQUESTS
from qtj_operator.controller.metrics import Metrics

__all__ = ["connect", "transport"]

_PERIOD_SECONDS = 10.0
"""How often the loader is asked. It keeps a token until five minutes before its end."""


class _Renewal:
    """Looks before a request whether the credentials have expired; the `refresh_api_key_hook` of a configuration.

    kubectl renews those of a plugin and of an OpenID provider. A plugin of EKS, GKE or AKS gives a token for 15 minutes
    to an hour, and a training is followed for longer. kubernetes.aio (37.0) asks for a token once, and runs a plugin
    again only if it is told to.

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


async def connect(metrics: Metrics, context: str | None = None) -> ApiClient:
    """Connects with the pod's service account, or else with the kubeconfig that kubectl would use.

    Args:
        metrics: Count the requests.
        context: The context of the kubeconfig; None for the service account, or for the current context.

    Raises:
        ApiError: There is neither.
    """
    settings = kubernetes.Configuration()
    try:
        if context is None and "KUBECONFIG" not in os.environ and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=settings)
        else:
            loader = await config.load_kube_config(context=context, client_configuration=settings)
            settings.refresh_api_key_hook = _Renewal(loader)  # type: ignore[assignment]  # declared as None alone
    except (config.ConfigException, yaml.YAMLError, OSError) as error:
        raise ApiError(0, "NoCluster", f"no cluster can be reached: {_why_not(error)}") from None
    return ApiClient(transport(settings), metrics)


def transport(settings: kubernetes.Configuration) -> kubernetes.ApiClient:
    """Returns the connection that settings describe, with the proxy of the environment where they name none."""
    settings.retries = None
    # So many that no request of the operator waits for a connection while its time runs: some are for watches.
    settings.connection_pool_maxsize = REQUESTS + 20
    settings.proxy = settings.proxy or _environment_proxy(settings.host)
    # Otherwise aiohttp reads the environment for each request, in two threads that the request waits for: the proxies,
    # and the passwords in ~/.netrc, which kubectl does not use either.
    settings.client_session_kwargs = {"trust_env": False}
    return kubernetes.ApiClient(settings)


def _environment_proxy(url: str) -> str | None:
    """Returns the proxy that the environment names for a URL: `HTTPS_PROXY`, unless `NO_PROXY` has its host."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def _why_not(error: Exception) -> str:
    """Says what is wrong with the kubeconfig: the library calls one that is not there invalid."""
    where = os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(Path(each).expanduser().exists() for each in where.split(os.pathsep)):
        return f"there is no file {where}; set KUBECONFIG to your kubeconfig"
    return f"{where} is no usable kubeconfig ({' '.join(str(error).split())}); set KUBECONFIG"
