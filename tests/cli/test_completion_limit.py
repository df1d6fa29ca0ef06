"""How long the TAB key waits for a cluster."""

import time

import pytest

from qtj.commands.names import namespaces

ASKED = "qtj.cluster.connection.on_cluster"
"""What asks the cluster."""


@pytest.mark.parametrize("written", ["soon", "nan", "inf", "-1", "0", "1e9", ""])
def test_a_limit_that_is_no_time_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("QTJ_COMPLETION_SECONDS", written)
    monkeypatch.setattr(ASKED, lambda _ask, _namespace: ["lab"])

    assert namespaces("") == ["lab"]


def test_a_cluster_that_does_not_answer_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_COMPLETION_SECONDS", "0.01")

    def ask(_ask: object, _namespace: object) -> list[str]:
        time.sleep(60)
        return ["lab"]

    monkeypatch.setattr(ASKED, ask)

    assert namespaces("") == []
