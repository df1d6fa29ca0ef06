"""Where a training is tracked, by the variables of its environment; those of MLflow have its own names for them."""

import base64
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from qtj_contract import TRACKING
from qtj_trainer.errors import UserError
from qtj_trainer.tracking.requests import API, Api

__all__ = ["experiment_of", "mlflow_of"]

_URI = "MLFLOW_TRACKING_URI"


def mlflow_of(environment: Mapping[str, str]) -> Api | None:
    """Returns MLflow, if the environment asks for it.

    Raises:
        UserError: It asks for something else, or does not say where MLflow is.
    """
    asked = environment.get(TRACKING, "").strip()
    if not asked:
        return None
    if asked.lower() != "mlflow":
        raise UserError(f"{TRACKING} is {asked!a}: it must be mlflow, or not set")
    parts = _parts(environment.get(_URI, "").strip())
    if parts is None:
        raise UserError(f"{TRACKING} is mlflow, and {_URI} names no server: set it to http://HOST:PORT or https://HOST")
    place = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    user = unquote(parts.username or environment.get("MLFLOW_TRACKING_USERNAME", ""))
    password = unquote(parts.password or environment.get("MLFLOW_TRACKING_PASSWORD", ""))
    authorization = _authorization(user, password, environment.get("MLFLOW_TRACKING_TOKEN", ""))
    return Api(f"{place}/{API}", authorization, environment.get("MLFLOW_TRACKING_SERVER_CERT_PATH", ""))


def experiment_of(environment: Mapping[str, str]) -> tuple[str, str]:
    """Returns the id of the experiment, which may be empty, and its name."""
    name = environment.get("MLFLOW_EXPERIMENT_NAME") or "Default"
    return environment.get("MLFLOW_EXPERIMENT_ID", ""), name


def _parts(uri: str) -> SplitResult | None:
    """Returns the parts of an address of HTTP; None for anything else."""
    with suppress(ValueError):
        parts = urlsplit(uri)
        return parts if parts.scheme in {"http", "https"} and parts.hostname else None
    return None


def _authorization(user: str, password: str, token: str) -> str:
    if user:
        return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
    return f"Bearer {token}" if token else ""
