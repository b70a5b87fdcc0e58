"""Network faults between the service and a receiver. Each attempt fails in time and frees its slot."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from time import monotonic

import pytest

from chatsvc.config import Config
from chatsvc.services.accounts import webhooks
from tests import proxy as broken
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine
from tests.faults.support import descriptors, soon
from tests.proxy import Fault, Link, Proxy
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import CALL_ME, SAID, captures, settled, states

TIMEOUT_S = 1.0
EVENTS = 3  # a silent receiver has one lane, so that they may have to go one after another

# What breaks before TLS stands, and what breaks once a delivery is under way. Garbled bytes do not get past TLS.
FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "accepts and hangs": (broken.hangs(), {"timeout"}),
    "resets": (broken.resets(), {"connection_lost", "connect_failed", "tls_failed"}),
    "cut within the handshake": (broken.cuts_after(100), {"connection_lost", "connect_failed", "tls_failed"}),
    "garbled": (broken.garbles(0.2), {"tls_failed", "connection_lost", "connect_failed", "timeout"}),
}


@pytest.fixture
def config(config: Config) -> Config:
    return replace(config, webhooks=replace(config.webhooks, timeout_s=TIMEOUT_S))


@pytest.fixture
async def proxy(receiver: Receiver) -> AsyncIterator[Proxy]:
    async with Proxy(receiver.port) as running:
        yield running


@pytest.fixture
async def caller(caller: Caller, engine: ScriptedEngine, proxy: Proxy) -> Caller:
    """A customer whose bot captures every message, with a receiver behind the proxy."""
    captures(engine, CALL_ME)
    await webhooks.put(
        caller.app.services,
        ADMIN,
        bot=await caller.chatbot(),
        url=f"https://127.0.0.1:{proxy.port}/hook",
        events=("request.created",),
    )
    return caller


async def capture(caller: Caller, name: str, count: int = EVENTS) -> None:
    answers = await asyncio.gather(*(caller.send(SAID, f"{name} {number}") for number in range(count)))
    assert {answer.status for answer in answers} == {200}


async def all_fail(caller: Caller, before: int, reasons: set[str]) -> None:
    """All events of a round are recorded as failed within the time of serial attempts."""
    started = monotonic()
    await capture(caller, f"visitor {before}")
    recorded = (await settled(caller, before + EVENTS))[before:]
    assert monotonic() - started < EVENTS * TIMEOUT_S + 20
    assert len(recorded) == EVENTS
    assert {attempt["success"] for attempt in recorded} == {False}
    assert {attempt["error"] for attempt in recorded} <= reasons
    assert max(attempt["duration_ms"] for attempt in recorded) < TIMEOUT_S * 1000 + 500


async def delivered(caller: Caller, receiver: Receiver, before: int) -> None:
    """One event more, with a healthy receiver: it arrives at once."""
    arrived = len(receiver.bodies)
    await capture(caller, f"visitor {before}", 1)
    recorded = await settled(caller, before + 1)
    assert [(attempt["success"], attempt["error"]) for attempt in recorded[before:]] == [(True, None)]
    assert len(receiver.bodies) == arrived + 1


async def test_every_attempt_is_recorded_as_failed_in_time_and_the_slots_come_free(
    caller: Caller, receiver: Receiver, proxy: Proxy, subtests: pytest.Subtests
) -> None:
    await asyncio.gather(*(caller.get("/chatbots") for _ in range(EVENTS)))  # the callers' own connections stay open
    await delivered(caller, receiver, 0)
    recorded = 1
    for name, (fault, reasons) in FAULTS.items():
        with subtests.test(name):
            # The next delivery has to begin with a handshake.
            assert await soon(lambda: receiver.open == 0)
            open_before, tasks_before = descriptors(), len(asyncio.all_tasks())
            with proxy.broken(fault):
                await all_fail(caller, recorded, reasons)
            await delivered(caller, receiver, recorded + EVENTS)
            recorded += EVENTS + 1
            assert {state for _, state in await states(caller)} == {1}
            assert await soon(lambda count=open_before: descriptors() <= count + 2)  # type: ignore[misc]  # bound at once
            assert await soon(lambda count=tasks_before: len(asyncio.all_tasks()) <= count + 2)  # type: ignore[misc]  # bound at once
    # One that is away is found again, too.
    await proxy.refuse()
    await all_fail(caller, recorded, {"connect_failed"})
    await proxy.listen()
    await delivered(caller, receiver, recorded + EVENTS)
    assert len(receiver.bodies) == 2 + len(FAULTS), "what failed may not have arrived as well"


async def test_the_answer_is_lost_after_the_delivery_has_arrived_and_it_is_not_sent_again(
    caller: Caller, receiver: Receiver, proxy: Proxy
) -> None:
    """The receiver has it, the service cannot know: recorded as failed, sent once."""

    async def answered(link: Link, data: bytes) -> None:
        if receiver.bodies:
            await link.hang_up()
        else:
            await link.give(data)

    with proxy.broken(Fault(answered=answered)):
        await capture(caller, "visitor", 1)
        (attempt,) = await settled(caller, 1)
        assert (attempt["success"], attempt["error"]) == (False, "connection_lost")
        await asyncio.sleep(0.3)
    assert len(receiver.bodies) == 1

    await delivered(caller, receiver, 1)
