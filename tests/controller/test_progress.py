"""Asking leading replicas for their progress: a program may answer anything, or not at all."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from qtj_contract import MOST_CAPTURES, PROGRESS_LIMIT, PROGRESS_PATH, CaptureRecord, Heartbeat, Progress, StepTimes
from qtj_operator.api.job import EVALUATOR, METRICS_PORT, ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.cluster.progress import ProgressPoller
from qtj_operator.controller.client import Key
from qtj_operator.core.heard import Heard
from tests.controller.waiting import soon

KEY: Key = ("lab", "qcnn")
CHIEF = ReplicaId(Role.CHIEF, 0)
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
LEADER = f"127.0.1.{_WORKER + 1}"
OTHER = f"127.0.2.{_WORKER + 1}"
"""Every address of 127.0.0.0/8 is this machine, so that no other server of it is in the way."""

Progressing = Callable[[], str | bytes]


@asynccontextmanager
async def leader(answers: Progressing, address: str = LEADER) -> AsyncIterator[None]:
    """A leading replica with a progress endpoint; it may send elsewhere."""

    async def handle(_: web.Request) -> web.Response:
        said = answers()
        if isinstance(said, str) and said.startswith("http"):
            raise web.HTTPFound(said)
        return web.Response(body=said if isinstance(said, bytes) else said.encode())

    async with answering(handle, address):
        yield


@asynccontextmanager
async def answering(
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]], address: str = LEADER
) -> AsyncIterator[None]:
    app = web.Application()
    app.router.add_get(PROGRESS_PATH, handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, address, METRICS_PORT).start()
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def polling(poller: ProgressPoller) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(poller.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_the_leader_says_is_known_and_its_job_is_looked_at() -> None:
    said = Progress(epoch=3, epochs=25, step=120, loss=0.25)
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    poller.ask(KEY, {CHIEF: LEADER}, {})
    assert poller.latest(KEY, CHIEF) is None

    async with leader(said.to_json), polling(poller):
        await soon(lambda: bool(hints))

    assert poller.latest(KEY, CHIEF) == said
    assert hints == [KEY]


async def test_the_step_alone_is_worth_a_look_only_now_and_then_and_an_epoch_or_a_checkpoint_always() -> None:
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    poller.period = 0.01
    said = [Progress(epoch=1, step=1)]
    poller.ask(KEY, {CHIEF: LEADER}, {})

    async def after(progress: Progress) -> int:
        """How many looks there were once this is known."""
        said.append(progress)
        await soon(lambda: poller.latest(KEY, CHIEF) == progress)
        return len(hints)

    def latest() -> str:
        return said[-1].to_json()

    async with leader(latest), polling(poller):
        assert await after(Progress(epoch=1, step=1)) == 1
        assert await after(Progress(epoch=1, step=2)) == 1
        assert await after(Progress(epoch=2, step=3)) == 2
        assert await after(Progress(epoch=2, step=4, checkpoint_step=4)) == 3
        assert await after(Progress(epoch=2, step=5, checkpoint_step=4)) == 3
        poller.patience = 0
        await soon(lambda: len(hints) == 4)


async def test_a_leader_cannot_send_the_operator_to_others() -> None:
    asked: list[str] = []
    poller = ProgressPoller(lambda _: None)
    poller.ask(KEY, {CHIEF: LEADER}, {})

    def elsewhere() -> str:
        asked.append("leader")
        return f"http://{OTHER}:{METRICS_PORT}{PROGRESS_PATH}"

    def secret() -> str:
        asked.append("other")
        return Progress(epoch=1, epochs=2, step=3).to_json()

    async with leader(elsewhere), leader(secret, OTHER):
        answer = await _fetched(poller)

    assert set(asked) == {"leader"}
    assert Progress.parse((answer or b"").decode()) is None


async def _fetched(poller: ProgressPoller) -> bytes | None:
    async with polling(poller):
        await asyncio.sleep(0)
        return await poller.fetch(KEY, CHIEF, LEADER)


async def test_a_leader_that_has_ended_is_forgotten() -> None:
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    poller.ask(KEY, {CHIEF: LEADER}, {})
    async with leader(Progress(epoch=1, epochs=2, step=3).to_json), polling(poller):
        await soon(lambda: bool(hints))

    poller.ask(KEY, {}, {})
    poller.ask(KEY, {CHIEF: LEADER}, {})

    assert poller.latest(KEY, CHIEF) is None, "what an earlier attempt said counts for nothing"


async def test_leader_and_evaluator_of_a_job_are_known_apart() -> None:
    told, measured = Progress(epoch=3, loss=0.5), Progress(epoch=2, validation_loss=0.25)
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    poller.ask(KEY, {CHIEF: LEADER, EVALUATOR: OTHER}, {})

    async with leader(told.to_json), leader(measured.to_json, OTHER), polling(poller):
        await soon(lambda: hints == [KEY, KEY])

    assert (poller.latest(KEY, CHIEF), poller.latest(KEY, EVALUATOR)) == (told, measured)
    poller.ask(KEY, {EVALUATOR: OTHER}, {})
    assert (poller.latest(KEY, CHIEF), poller.latest(KEY, EVALUATOR)) == (None, measured)


@asynccontextmanager
async def in_pieces(said: str) -> AsyncIterator[None]:
    """A leader whose answer comes in two pieces, the second a moment after the first."""

    async def handle(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (said[:10], said[10:]):
            await answer.write(piece.encode())
            await asyncio.sleep(0.05)
        return answer

    async with answering(handle):
        yield


async def test_progress_that_comes_in_pieces_is_read_to_its_end() -> None:
    said = Progress(epoch=3, epochs=25, step=120, loss=0.25).to_json()

    async with in_pieces(said):
        assert await _fetched(ProgressPoller(lambda _: None)) == said.encode()


async def test_many_long_captures_do_not_hide_the_progress() -> None:
    record = CaptureRecord(name="é" * 99, state="Failed", path="é" * 999, error="é" * 999)
    said = Progress(epoch=3, epochs=25, step=120, loss=0.25, captures=(record,) * MOST_CAPTURES).to_json()

    async with in_pieces(said):
        assert await _fetched(ProgressPoller(lambda _: None)) == said.encode()


async def test_no_more_than_the_limit_is_read_of_a_long_answer() -> None:
    async with in_pieces("x" * 100_000):
        assert await _fetched(ProgressPoller(lambda _: None)) == b"x" * PROGRESS_LIMIT


@pytest.mark.parametrize("said", ["", "not yet", "[" * 4000, '{"epoch": 1e999}', b"\xff\xfe", "x" * 100_000])
async def test_nonsense_is_no_progress_and_ends_nothing(said: str | bytes) -> None:
    asked: list[int] = []

    def nonsense() -> str | bytes:
        asked.append(1)
        return said

    poller = ProgressPoller(lambda _: None)
    poller.ask(KEY, {CHIEF: LEADER}, {})
    async with leader(nonsense), polling(poller) as task:
        await soon(lambda: bool(asked))
        await asyncio.sleep(0.1)

        assert not task.done()
    assert poller.latest(KEY, CHIEF) is None


async def test_a_leader_out_of_reach_has_no_progress_and_ends_nothing() -> None:
    poller = ProgressPoller(lambda _: None)
    poller.ask(KEY, {CHIEF: LEADER}, {})

    async with polling(poller) as task:
        await asyncio.sleep(0.2)

        assert not task.done()
    assert poller.latest(KEY, CHIEF) is None


async def test_a_leader_that_never_answers_holds_up_no_other() -> None:
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    silent = await asyncio.start_server(_never, "127.0.0.3", METRICS_PORT)
    poller.ask(("lab", "silent"), {CHIEF: "127.0.0.3"}, {})
    poller.ask(KEY, {CHIEF: LEADER}, {})

    async with leader(Progress(epoch=1, epochs=2, step=3).to_json), polling(poller):
        await soon(lambda: hints == [KEY])
    silent.close()


async def _never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await asyncio.sleep(60)
    finally:
        writer.close()


_SERVER = f"""
import http.server, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{{"epoch": 1, "step": 40, "stepAge": 0.5}}')
server = http.server.HTTPServer(("{LEADER}", {METRICS_PORT}), Answers)
print("serves", flush=True)
server.serve_forever()
"""


async def test_a_process_that_is_stopped_is_told_from_one_that_is_gone() -> None:
    """The kernel of a stopped process still takes its connections."""
    poller = ProgressPoller(lambda _: None)
    poller.period = 0.01
    poller.ask(KEY, {CHIEF: LEADER}, {})
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _SERVER, stdout=subprocess.PIPE)
    assert process.stdout
    await process.stdout.readline()

    def heard() -> Heard:
        return poller.heard(KEY, CHIEF) or Heard()

    try:
        async with polling(poller):
            await soon(lambda: heard() == Heard(Heartbeat(step=40, age=0.5)))
            process.send_signal(signal.SIGSTOP)
            await soon(lambda: heard().holds and (heard().age or 0) > 2)
            process.send_signal(signal.SIGCONT)
            await soon(lambda: not heard().silent)
            process.kill()
            await soon(lambda: heard().silent > 0)
            assert (heard().holds, heard().age) == (False, 0.5)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_whoever_is_not_asked_any_more_is_forgotten() -> None:
    poller = ProgressPoller(lambda _: None)
    poller.ask(KEY, {CHIEF: LEADER}, {})
    async with polling(poller):
        await soon(lambda: poller.heard(KEY, CHIEF) is not None)

        poller.ask(KEY, {}, {})

        assert poller.heard(KEY, CHIEF) is None


async def test_followers_are_asked_in_turn() -> None:
    poller = ProgressPoller(lambda _: None)
    followers = {ReplicaId(Role.WORKER, index): f"127.0.0.{10 + index}" for index in range(1, 21)}
    poller.ask(KEY, {CHIEF: LEADER}, followers)
    assert poller.turn(KEY, 0.0) == [], "their leader has told nothing yet"
    poller.ask(KEY, {CHIEF: LEADER}, {})
    async with leader(Progress(epoch=1).to_json), polling(poller):
        await soon(lambda: poller.latest(KEY, CHIEF) is not None)
    poller.ask(KEY, {CHIEF: LEADER}, followers)

    rounds = [{replica.index for replica, _ in poller.turn(KEY, now)} for now in (0.0, 5.0, 10.0, 15.0, 31.0)]

    assert [len(each) for each in rounds] == [8, 8, 4, 0, 8]
    assert rounds[0] | rounds[1] | rounds[2] == set(range(1, 21))
    assert rounds[4] == rounds[0]


async def test_what_a_follower_tells_is_no_reason_to_look_and_known_until_it_is_asked_no_more() -> None:
    hints: list[Key] = []
    poller = ProgressPoller(hints.append)
    follower = ReplicaId(Role.WORKER, 1)
    said = json.dumps({"epoch": 1, "step": 7, "stepTimes": {"seconds": 1, "own": 0.5, "steps": 9, "span": 9}})
    poller.period = 0.01
    poller.ask(KEY, {CHIEF: LEADER}, {follower: OTHER})

    async with leader(Progress(epoch=1).to_json), leader(lambda: said, OTHER), polling(poller):
        await soon(lambda: poller.heard(KEY, follower) is not None)
    heard = poller.heard(KEY, follower)
    poller.ask(KEY, {CHIEF: LEADER}, {})

    assert heard is not None
    assert heard.beat == Heartbeat(step=7, times=StepTimes(seconds=1, own=0.5, steps=9, span=9))
    assert (hints, poller.latest(KEY, follower), poller.heard(KEY, follower)) == ([KEY], None, None)
