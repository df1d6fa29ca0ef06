"""A training as a run of MLflow, by its REST API: the package of MLflow is not needed.

The server knows what it has got. So a run that is opened, also after a failure or by another attempt, asks for the last
step of each metric, and only what comes after it is sent.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from qtj_contract import TRACKING
from qtj_trainer.errors import UserError
from qtj_trainer.tracking.content import Description, Point, Study
from qtj_trainer.tracking.requests import API, NOT_MLFLOW, Api, RefusedError, UnreachableError

__all__ = ["MlflowRun", "experiment_of", "mlflow_of"]

_RUN = "qtj.run"
"""The tag by which a run is found again."""

_MOST_METRICS = 500
_MOST_PARAMETERS = 100
_LONGEST_NAME = 250
_LONGEST_VALUE = 500
"""What every version of MLflow takes in one request, and in one name or value."""

_MISSING = "RESOURCE_DOES_NOT_EXIST"
_TAKEN = "RESOURCE_ALREADY_EXISTS"


_PARENT = "mlflow.parentRunId"
"""The tag by which MLflow shows a run below another one."""

_STUDY = "qtj.study"
"""The tag by which the parent of a study is found again."""

_URI = "MLFLOW_TRACKING_URI"


class MlflowRun:
    """The run of one training. It is created at the first `send`, unless an earlier attempt has created it."""

    def __init__(self, api: Api, experiment: tuple[str, str], description: Description) -> None:
        """Names the run.

        Args:
            api: The server.
            experiment: The id of the experiment, which may be empty, and its name.
            description: The training.
        """
        self._api = api
        self._experiment = experiment
        self._description = description
        self._id = ""
        self._found = ""
        """The id of the experiment, once it is known."""
        self._steps: dict[str, int] = {}
        """The last step that the server has of each metric."""

    def send(self, points: Sequence[Point], result: Point | None, labels: Mapping[str, str]) -> None:
        """Sends what the server does not have yet.

        Args:
            points: Epochs in their order.
            result: The numbers of the result, which ends the run; None while it trains.
            labels: What is known since the run began, such as where its weights are.

        Raises:
            RefusedError: The server refuses it.
            UnreachableError: It does not answer.
        """
        try:
            if not self._id:
                self._open()
            self._log([*points, *([_prefixed(result)] if result else [])])
            if labels:
                self._post("runs/log-batch", run_id=self._id, tags=_pairs(_tags(labels)))
            if result:
                self._join(result.milliseconds, is_over=True)
                self._post("runs/update", run_id=self._id, status="FINISHED", end_time=result.milliseconds)
        except (RefusedError, UnreachableError):
            self._id = ""  # what the server has got of it is asked for again
            raise
        except (LookupError, TypeError, ValueError, AttributeError):
            raise RefusedError(NOT_MLFLOW) from None

    def _open(self) -> None:
        experiment = self._found = self._experiment_id()
        text = self._description.run.replace("'", "")
        wanted = {"experiment_ids": [experiment], "filter": f"tags.`{_RUN}` = '{text}'", "max_results": 1}
        found = self._post("runs/search", **wanted, order_by=["attributes.start_time ASC"]).get("runs")
        tags = _pairs({**_tags(self._description.labels), _RUN: text})
        if found:
            run = found[0]
        else:
            name, began = self._description.name, self._description.milliseconds
            run = self._post("runs/create", experiment_id=experiment, run_name=name, start_time=began, tags=tags)["run"]
        data = run.get("data") or {}
        self._steps = {each["key"]: int(each.get("step") or 0) for each in data.get("metrics") or ()}
        identity = run["info"]["run_id"]
        known = {each["key"] for each in data.get("params") or ()}
        parameters = {name: value for name, value in self._description.parameters.items() if _key(name) not in known}
        self._begin(identity, _pairs(parameters), tags if found else [])
        self._id = identity
        self._join(self._description.milliseconds)

    def _join(self, milliseconds: int, *, is_over: bool = False) -> None:
        """Puts the run below that of its study, if it is a trial."""
        if self._description.study is None:
            return
        parent = _parent_of(self._api, self._found, self._description.study, milliseconds)
        self._post("runs/set-tag", run_id=self._id, key=_PARENT, value=parent)
        if is_over:
            self._post("runs/update", run_id=parent, status="FINISHED", end_time=milliseconds)

    def _begin(self, identity: str, parameters: Sequence[Mapping[str, str]], tags: Sequence[Mapping[str, str]]) -> None:
        """Sends the parameters, which cannot be changed later, and the tags of this attempt."""
        for few in _chunks(parameters, _MOST_PARAMETERS):
            self._post("runs/log-batch", run_id=identity, params=few)
        if tags:
            self._post("runs/update", run_id=identity, status="RUNNING")
            self._post("runs/log-batch", run_id=identity, tags=tags)

    def _experiment_id(self) -> str:
        """Returns the id of the experiment; creates it if nobody has."""
        identity, name = self._experiment
        if not identity:
            try:
                identity = self._known_experiment(name)
            except RefusedError as problem:
                if problem.code != _MISSING:
                    raise
                identity = self._new_experiment(name)
        return identity

    def _known_experiment(self, name: str) -> str:
        return str(self._api.get("experiments/get-by-name", experiment_name=name)["experiment"]["experiment_id"])

    def _new_experiment(self, name: str) -> str:
        try:
            return str(self._post("experiments/create", name=name)["experiment_id"])
        except RefusedError as problem:
            if problem.code != _TAKEN:
                raise
        return self._known_experiment(name)  # another job has created it meanwhile

    def _log(self, points: Sequence[Point]) -> None:
        metrics = [each for point in points for each in self._news_of(point)]
        for few in _chunks(metrics, _MOST_METRICS):
            self._post("runs/log-batch", run_id=self._id, metrics=few)
            self._steps |= {each["key"]: each["step"] for each in few}

    def _news_of(self, point: Point) -> Iterator[dict[str, Any]]:
        for name, value in point.numbers.items():
            key = _key(name)
            if point.epoch > self._steps.get(key, -1):
                yield {"key": key, "value": value, "timestamp": point.milliseconds, "step": point.epoch}

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        return self._api.post(path, body)


def _prefixed(result: Point) -> Point:
    """Returns a result with names that no epoch uses."""
    return Point(result.epoch, result.milliseconds, {f"result/{name}": each for name, each in result.numbers.items()})


def _tags(labels: Mapping[str, str]) -> dict[str, str]:
    """Returns labels as tags, some of them also as those that MLflow shows in its lists."""
    own = {f"qtj.{name}": text for name, text in labels.items()}
    commit, _, _ = labels.get("commit", "").partition(" ")  # without what differs from it
    return {**own, "mlflow.source.name": labels.get("script", ""), "mlflow.source.git.commit": commit}


def _pairs(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Returns parameters or tags; a value that is empty is left out, and one that is too long is cut."""
    return [{"key": _key(name), "value": text[:_LONGEST_VALUE]} for name, text in texts.items() if text]


def _key(name: str) -> str:
    """Returns a name that MLflow accepts: it refuses other signs, and what is no path below its folder."""
    parts = re.sub(r"[^\w./ -]", "_", name[:_LONGEST_NAME]).split("/")
    return "/".join(part for part in parts if part.strip(". ")) or "_"


def _chunks(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]


def _parent_of(api: Api, experiment: str, study: Study, milliseconds: int) -> str:
    """Returns the id of the run of a study, which has its trials below it; creates it if nobody has.

    MLflow has no names for runs that are given once, so two trials that start together may each create a parent. All
    trials choose the same one of them, the first by time and id, when they begin and again at their end, and delete the
    others. So in the end there is one, without anything that trials would have to agree on before.
    """
    if not (known := _known(api, experiment, study)):
        tags = [{"key": _STUDY, "value": study.identity}]
        fields = {"experiment_id": experiment, "run_name": study.name, "start_time": milliseconds, "tags": tags}
        created = api.post("runs/create", fields)["run"]["info"]["run_id"]
        known = _known(api, experiment, study) or [created]
    for other in known[1:]:
        with suppress(RefusedError):  # somebody else has deleted it
            api.post("runs/delete", {"run_id": other})
    return known[0]


def _known(api: Api, experiment: str, study: Study) -> Sequence[str]:
    """Returns the ids of the runs that were created for a study, the first one first."""
    text = study.identity.replace("'", "")
    wanted = {"experiment_ids": [experiment], "filter": f"tags.`{_STUDY}` = '{text}'"}
    infos: list[dict[str, Any]] = [each["info"] for each in api.post("runs/search", wanted).get("runs") or ()]
    return [each["run_id"] for each in sorted(infos, key=lambda each: (int(each["start_time"]), each["run_id"]))]


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
