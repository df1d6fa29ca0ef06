"""Whatever a training program answers to the operator, the next good answer is taken."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from qtj_contract import Progress
from qtj_operator.api.job import METRICS_PORT
from qtj_operator.cluster.progress import ProgressPoller
from qtj_operator.controller.client import Key
from qtj_operator.controller.progress import Poller
from tests.controller.test_progress import CHIEF, KEY, LEADER, polling
from tests.controller.waiting import soon
from tests.fuzz.corpus import mutants, new_seed

pytestmark = pytest.mark.slow
COUNT = 3000
GOOD = Progress(epoch=7, epochs=25, step=120, loss=0.25)
BODY = GOOD.to_json().encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
CORPUS = [
    HEAD % len(BODY) + BODY,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n\x1f\x8b\x08" + bytes(17),
    b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
    HEAD % 400_000 + b'{"epoch":' * 40_000,
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000 + b"\r\n" + BODY,
]


class EagerPoller(ProgressPoller):
    """A poller without pauses."""

    def __init__(self, hint: Callable[[Key], None]) -> None:
        Poller.__init__(self, hint, 0.0)


async def test_no_answer_ends_the_polling() -> None:
    seed = new_seed()
    answers: Iterator[bytes] = mutants(CORPUS, COUNT, seed)
    served = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(next(answers, CORPUS[0]))
        writer.close()

    poller = EagerPoller(lambda _: None)
    poller.ask(KEY, {CHIEF: LEADER}, {})
    async with await asyncio.start_server(answer, LEADER, METRICS_PORT), polling(poller) as task:
        await soon(lambda: served > COUNT or task.done(), seconds=240)
        assert not task.done(), f"seed {seed}, answer {served}: {task.exception()!r}"
        await soon(lambda: poller.latest(KEY, CHIEF) == GOOD)
