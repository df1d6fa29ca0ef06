"""What a tracking server gets of the arguments of a program."""

from qtj_trainer.tracking.content import described


def test_secrets_are_not_sent_whether_by_name_or_as_an_address_with_a_password() -> None:
    settings = {"token": "t", "db": "https://me:pw@host/x", "url": "https://host/x", "rate": 0.1}

    assert described(settings) == {
        "token": "(not shown)",
        "db": "(not shown)",
        "url": "https://host/x",
        "rate": "0.1",
    }
