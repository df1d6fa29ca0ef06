"""A cluster that does not answer is asked again; one that refuses is not."""

from collections.abc import Sequence

import pytest

from qtj.monitor import watch
from qtj.monitor.watch import until_answered
from qtj_operator.controller.client import ApiError

NO_ROUTE = ApiError(0, "Unreachable", "no route")
BUSY = ApiError(429, "TooManyRequests", "busy")
FORBIDDEN = ApiError(403, "Forbidden", "you may not list pods")


class Cluster:
    """Answers with errors first, in their order."""

    def __init__(self, errors: Sequence[ApiError]) -> None:
        self._errors = list(errors)
        self.complaints: list[str] = []

    async def ask(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "an answer"


async def test_each_reason_is_reported_once_until_there_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PERIOD_SECONDS", 0.0)
    cluster = Cluster([NO_ROUTE, NO_ROUTE, BUSY, NO_ROUTE])

    assert await until_answered(cluster.ask, cluster.complaints.append) == "an answer"
    assert [each.partition(";")[0] for each in cluster.complaints] == ["no route", "busy", "no route"]


async def test_a_refusal_ends_it() -> None:
    cluster = Cluster([FORBIDDEN])

    with pytest.raises(ApiError, match="you may not list pods"):
        await until_answered(cluster.ask, cluster.complaints.append)

    assert not cluster.complaints
