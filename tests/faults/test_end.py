"""The service is told to stop in the middle of everything: it ends in time, and nothing of what was under way is lost or done twice."""

import asyncio
import json
from pathlib import Path
from time import monotonic

from aiohttp import ClientSession

from chatsvc.app import GRACE_S, App
from chatsvc.config import Config
from chatsvc.services.accounts import webhooks
from tests.api.support import Wire, insert_history, request
from tests.conftest import new_caller
from tests.crash.books import disagreements
from tests.fakes import ADMIN, ScriptedEngine
from tests.faults.support import soon
from tests.store.inspection import query
from tests.webhooks.receiver import OK, Receiver, trickle
from tests.webhooks.support import CALL_ME, SAID, captures, url


def attempts(folder: Path) -> list[tuple[int | None, str | None]]:
    """Success and error of every attempt, as they stand on the disk."""
    return query(folder / "chatsvc.db", "SELECT success, error FROM webhook_attempts ORDER BY number")


async def test_a_slow_model_a_slow_receiver_and_a_caller_who_does_not_read_end_in_time(
    config: Config, session: ClientSession, engine: ScriptedEngine, receiver: Receiver
) -> None:
    captures(engine, CALL_ME)
    receiver.answer = trickle(b"", OK, every_s=0.03)  # more than a second
    async with App(config) as app:
        app.services.engines["anthropic"] = engine
        caller = await new_caller(app, session)
        await webhooks.put(app.services, ADMIN, bot=await caller.chatbot(), url=url(receiver), events=("request.created",))
        assert (await caller.send(SAID, "first")).status == 200
        assert await soon(lambda: len(receiver.bodies) == 1)
        conversation = await insert_history(app, caller, 500, 4000)
        stalled = Wire(*await asyncio.open_connection("127.0.0.1", app.port))
        stalled.stop_reading()
        await stalled.send(request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller) * 4)
        engine.delay_s = 0.7
        answering = asyncio.create_task(caller.send(SAID, "second"))
        assert await soon(lambda: len(engine.turns) == 2)
        began = monotonic()
    assert monotonic() - began < 2 * GRACE_S + 20  # aiohttp gives a handler the time twice: to end, and to be cancelled
    assert (await answering).status == 200
    await stalled.close()
    # What was under way has its outcome; what was captured last waits for the next start.
    assert await asyncio.to_thread(attempts, config.data_dir) == [(1, None)]
    receiver.answer = OK
    async with App(config):
        assert await soon(lambda: len(receiver.bodies) == 2)
    records = [json.loads(body)["data"]["id"] for body in receiver.bodies]
    assert len(set(records)) == 2
    assert await asyncio.to_thread(attempts, config.data_dir) == [(1, None), (1, None)]
    # The long history stands in no book: it was put there by the test.
    assert all("message" in line for line in await asyncio.to_thread(disagreements, config.data_dir / "chatsvc.db"))
