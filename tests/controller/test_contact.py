"""What is known of a replica that is asked again and again."""

import json

from qtj_contract import Heartbeat
from qtj_operator.controller.progress import Contact
from qtj_operator.core.heard import Heard

ANSWER = json.dumps({"epoch": 1, "step": 40, "stepAge": 2.0})
BEAT = Heartbeat(step=40, age=2.0)


def test_an_answer_ends_the_silence() -> None:
    contact = Contact(100)
    contact.missed(100, holds=True)
    silent = contact.heard(104)
    contact.answered(ANSWER, 105)

    assert silent == Heard(None, 4, holds=True)
    assert contact.heard(107) == Heard(BEAT)


def test_a_step_grows_older_while_a_process_holds_its_requests() -> None:
    contact = Contact(100)
    contact.answered(ANSWER, 105)
    contact.missed(105, holds=True)

    assert contact.heard(165).age == 62
    contact.missed(165, holds=False)  # the queue of a stopped process is full
    assert contact.heard(175).age == 72


def test_the_time_in_which_nobody_asked_is_no_silence() -> None:
    contact = Contact(100)
    contact.answered(ANSWER, 105)
    contact.missed(170, holds=True)  # a thousand programs of others have held their requests

    assert contact.heard(172) == Heard(BEAT, 2, holds=True)


def test_it_does_not_while_the_replica_is_out_of_reach() -> None:
    contact = Contact(100)
    contact.answered(ANSWER, 105)
    contact.missed(105, holds=False)

    assert (contact.heard(165).age, contact.heard(165).silent) == (2, 60)


def test_a_program_without_the_endpoint_tells_nothing() -> None:
    contact = Contact(100)
    contact.answered("404: Not Found", 105)

    assert contact.heard(165).tells_nothing
