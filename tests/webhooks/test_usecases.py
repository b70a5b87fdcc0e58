"""Commands that come at the same moment: no signing key that was shown is lost to another command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatsvc.config import Config
from chatsvc.domain import signing
from chatsvc.domain.errors import Refused
from chatsvc.usecases import accounts, webhooks
from tests.conftest import Caller
from tests.fakes import ScriptedEngine
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import BOTH, captures, headers, hook, may_send_here, settled, states, url


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def config(config: Config, authority: Authority) -> Config:
    return may_send_here(config, authority.file)


@pytest.fixture
async def receiver(authority: Authority) -> AsyncIterator[Receiver]:
    async with Receiver(authority.server("127.0.0.1")) as running:
        yield running


async def test_set_twice_at_once_shows_the_one_key_that_holds(caller: Caller, receiver: Receiver) -> None:
    services = caller.app.services
    made = await asyncio.gather(*(webhooks.put(services, bot=caller.bot, url=url(receiver), events=BOTH) for _ in range(8)))
    (key,) = [str(shown["signing_key"]) for shown in made if "signing_key" in shown]
    assert (await webhooks.test(services, bot=caller.bot))["success"]
    assert signing.verify(key, receiver.bodies[0], headers(receiver.heads[0])["X-Service-Signature"])


async def test_a_key_rotated_while_the_address_is_set_holds(caller: Caller, receiver: Receiver) -> None:
    services = caller.app.services
    await hook(caller, receiver)
    for number in range(10):
        changed = (webhooks.put(services, bot=caller.bot, url=url(receiver), events=BOTH) for _ in range(4))
        rotated, *_ = await asyncio.gather(webhooks.rotate(services, bot=caller.bot), *changed)
        assert (await webhooks.test(services, bot=caller.bot))["success"]
        signature = headers(receiver.heads[number])["X-Service-Signature"]
        assert signing.verify(str(rotated["signing_key"]), receiver.bodies[number], signature)


async def test_a_webhook_removed_while_it_is_rotated_stays_removed(caller: Caller, receiver: Receiver) -> None:
    await hook(caller, receiver)
    services = caller.app.services
    await asyncio.gather(webhooks.remove(services, bot=caller.bot), webhooks.rotate(services, bot=caller.bot), return_exceptions=True)
    with pytest.raises(Refused, match="no webhook"):
        await webhooks.show(services, bot=caller.bot)


async def test_two_that_resend_what_failed_send_each_event_once(caller: Caller, engine: ScriptedEngine, receiver: Receiver) -> None:
    receiver.answer = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"
    await hook(caller, receiver, *BOTH)
    captures(engine)
    await caller.send("Ben Selin, selin@example.com", "v")
    await settled(caller, len(await states(caller)))
    receiver.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    before = len(receiver.bodies)
    sent = await asyncio.gather(*(webhooks.resend_failed(caller.app.services, bot=caller.bot, since="2026-01-01") for _ in range(3)))
    assert sum(map(len, sent)) == before == len(receiver.bodies) - before


async def test_a_test_without_the_plan_is_recorded_and_not_sent(caller: Caller, receiver: Receiver) -> None:
    await hook(caller, receiver)
    await accounts.change(caller.app.services, account=caller.account, plan="none")
    assert (await webhooks.test(caller.app.services, bot=caller.bot))["error"] == "plan_lost"
    assert receiver.accepted == 0
