"""A training as a run of MLflow, by its REST API: the package of MLflow is not needed.

The server knows what it has got. So a run that is opened, also after a failure or by another attempt, asks for the last
step of each metric, and only what comes after it is sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qtj_trainer.tracking.content import Description, Point
from qtj_trainer.tracking.parent import PARENT, finish_parent, parent_of
from qtj_trainer.tracking.requests import NOT_MLFLOW, Api, RefusedError, UnreachableError

__all__ = ["MlflowRun"]

_RUN = "qtj.run"
"""The tag by which a run is found again."""

_MOST_METRICS = 500
_MOST_PARAMETERS = 100
_LONGEST_NAME = 250
_LONGEST_VALUE = 500
"""What every version of MLflow takes in one request, and in one name or value."""

_MISSING = "RESOURCE_DOES_NOT_EXIST"
_TAKEN = "RESOURCE_ALREADY_EXISTS"


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
        parent = parent_of(self._api, self._found, self._description.study, milliseconds)
        self._post("runs/set-tag", run_id=self._id, key=PARENT, value=parent)
        if is_over:
            finish_parent(self._api, parent, milliseconds)

    def _begin(self, identity: str, parameters: Sequence[Mapping[str, str]], tags: Sequence[Mapping[str, str]]) -> None:
        """Sends the parameters, which cannot be changed later, and the tags of this attempt."""
        for few in _parts(parameters, _MOST_PARAMETERS):
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
        for few in _parts(metrics, _MOST_METRICS):
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


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]
