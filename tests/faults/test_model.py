"""Network faults between the service and the model. Each message ends in time, uncharged, and the next is answered."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.values import Secret
from tests.conftest import Caller
from tests.engines.model_server import ModelServer
from tests.fakes import FakeClock
from tests.faults.support import descriptors, soon, told, written
from tests.proxy import Fault, Link, Proxy, cuts_after, delays, garbles, hangs, hangs_up, resets, says

DEADLINE_S = 10.0  # a slow machine still answers a healthy request within it
AT_ONCE = 5

WAIT = Link.wait_until_healed
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
REPLY = b'{"type": "message", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}'

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BAD, LATE, GONE = {"bad_response"}, {"timeout"}, {"bad_response", "unreachable"}

FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "accepts and hangs": (hangs(), LATE),
    "resets": (resets(), {"unreachable"}),
    "hangs up": (hangs_up(), {"unreachable"}),
    "answers too late": (delays(2 * DEADLINE_S), LATE),
    "cut before the status line ends": (cuts_after(7), GONE),
    "cut within the headers": (cuts_after(60), GONE),
    "cut within the body": (cuts_after(260), BAD),
    "reset within the headers": (cuts_after(60, Link.reset), GONE),
    "garbled all over": (garbles(0.3), GONE | LATE),
    "another protocol": (says(b"SSH-2.0-OpenSSH_9.2\r\n"), GONE),
    "a page of a proxy": (says(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>Hi</html>"), BAD),
    "no body at all": (says(b"HTTP/1.1 204 No Content\r\n\r\n"), BAD),
    "a shorter length than the body": (says(HEAD + b"Content-Length: 20\r\n\r\n" + REPLY), BAD),
    "chunks that are none": (says(CHUNKED + b"zz\r\n" + REPLY), BAD),
    "chunks without an end": (says(CHUNKED + b"5f\r\n" + REPLY + b"\r\n"), BAD),
    "a chunk longer than it said": (says(CHUNKED, b"5e\r\n" + REPLY + b"\r\n"), BAD),
    "a header of a megabyte": (says(HEAD + b"X-Pad: " + b"x" * 1_000_000 + b"\r\n\r\n"), GONE),
    "a body of 32 MB": (says(HEAD + b"Content-Length: 33554432\r\n\r\n", *[b" " * 65536] * 512), BAD),
    "interim answers without an end": (says(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 500, end=WAIT), BAD | LATE),
    "an upgrade nobody asked for": (says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), BAD),
}


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def proxy(model: ModelServer) -> AsyncIterator[Proxy]:
    async with Proxy(urlsplit(model.url).port or 0) as running:
        yield running


@pytest.fixture
def config(config: Config, proxy: Proxy) -> Config:
    settings = replace(
        config.anthropic,
        base_url=f"http://127.0.0.1:{proxy.port}",
        api_key=Secret("none-needed"),
        timeout_s=DEADLINE_S,
        max_retries=0,
    )
    return replace(config, anthropic=settings)


@pytest.fixture
async def app(config: Config, clock: FakeClock) -> AsyncIterator[App]:
    """A running chatsvc with its own engine."""
    async with App(config, clock) as running:
        yield running


async def ask_many(caller: Caller, reasons: set[str]) -> None:
    """Some messages at once, each refused in time for one of the reasons."""
    answers = await asyncio.gather(*(caller.send("hello", f"visitor {number}") for number in range(AT_ONCE)))
    assert {(answer.status, answer.error) for answer in answers} == {(502, "assistant_unavailable")}
    assert {answer.json["reason"] for answer in answers} <= reasons


async def healthy(caller: Caller, proxy: Proxy) -> None:
    """As many messages at once as the fault was given, all answered."""
    answers = await asyncio.gather(*(caller.send("hello", f"visitor {number}") for number in range(AT_ONCE)))
    assert [answer.status for answer in answers] == [200] * AT_ONCE, answers[0].json


async def test_a_message_ends_in_time_and_costs_nothing_and_the_next_is_answered(
    caller: Caller, proxy: Proxy, subtests: pytest.Subtests
) -> None:
    await healthy(caller, proxy)  # from here on there are connections to break, too
    open_before, tasks_before = descriptors(), len(asyncio.all_tasks())
    for name, (fault, reasons) in FAULTS.items():
        with subtests.test(name):
            before, (used, _, _) = await written(caller.app), await told(caller)
            with proxy.broken(fault):
                await ask_many(caller, reasons)
            assert await written(caller.app) == before
            assert await caller.reserved() == {}
            await healthy(caller, proxy)
            assert await told(caller) == (used + AT_ONCE, 0, used + AT_ONCE)
    # Kept connections are a few; what leaked would grow with the messages that failed.
    assert await soon(lambda: descriptors() <= open_before + AT_ONCE, within_s=30)
    assert await soon(lambda: len(asyncio.all_tasks()) <= tasks_before + 3 * AT_ONCE)


async def test_a_server_that_is_away_is_unreachable_at_once_and_needs_no_restart_of_ours(caller: Caller, proxy: Proxy) -> None:
    await healthy(caller, proxy)
    before = await written(caller.app), await told(caller)
    await proxy.refuse()
    await ask_many(caller, {"unreachable"})
    assert (await written(caller.app), await told(caller)) == before
    await proxy.listen()
    await healthy(caller, proxy)
