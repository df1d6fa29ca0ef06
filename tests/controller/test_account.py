"""The operator's own service account, by its token."""

import base64
import json

import pytest

from qtj_operator.cluster.operator import account_of


def token(subject: object) -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "RS256"}, {"sub": subject}, "signature"))
    return "Bearer " + ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def test_the_account_of_a_token_is_known() -> None:
    assert account_of(token("system:serviceaccount:quantum:qtj-operator")) == ("quantum", "qtj-operator")


@pytest.mark.parametrize(
    "other", ["", "Bearer secret", token("ada"), token("quantum:qtj-operator"), token(7), "a.b.c", "a.é.c"]
)
def test_another_token_is_of_no_account(other: str) -> None:
    assert account_of(other) is None
