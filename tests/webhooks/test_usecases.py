"""Commands that come at the same moment: no signing key that was shown is lost to another command."""

import asyncio
from typing import Any

import pytest

from chatsvc.domain import webhooks as signing
from chatsvc.domain.refusals import Refused
from chatsvc.domain.webhooks import Attempt, Webhook
from chatsvc.services.accounts import accounts, webhooks
from chatsvc.services.operations import system
from chatsvc.services.operations.system import Rotation
from chatsvc.store import webhooks as stored
from chatsvc.store.database import StoreUnavailable
from tests.api.support import execute, out_of_reach
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, ScriptedEngine
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import BOTH, CALL_ME, attempts, captures, headers, hook, settled, states, url


async def test_set_twice_at_once_shows_the_one_key_that_holds(caller: Caller, receiver: Receiver) -> None:
    services = caller.app.services
    bot = await caller.chatbot()
    results = await asyncio.gather(*(webhooks.put(services, ADMIN, bot=bot, url=url(receiver), events=BOTH) for _ in range(8)))
    (key,) = [shown.signing_key for shown in results if shown.signing_key]
    assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success
    assert signing.verify(key, receiver.bodies[0], headers(receiver.heads[0])["X-Service-Signature"])


async def test_a_key_rotated_while_the_address_is_set_holds(caller: Caller, receiver: Receiver) -> None:
    services = caller.app.services
    await hook(caller, receiver)
    bot = await caller.chatbot()
    for number in range(10):
        changed = (webhooks.put(services, ADMIN, bot=bot, url=url(receiver), events=BOTH) for _ in range(4))
        rotated, *_ = await asyncio.gather(webhooks.rotate(services, ADMIN, bot=bot), *changed)
        assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success
        signature = headers(receiver.heads[number])["X-Service-Signature"]
        assert signing.verify(str(rotated.signing_key), receiver.bodies[number], signature)


async def test_a_webhook_removed_while_it_is_rotated_stays_removed(caller: Caller, receiver: Receiver) -> None:
    await hook(caller, receiver)
    services = caller.app.services
    await asyncio.gather(
        webhooks.remove(services, ADMIN, bot=await caller.chatbot()),
        webhooks.rotate(services, ADMIN, bot=await caller.chatbot()),
        return_exceptions=True,
    )
    with pytest.raises(Refused, match="webhook_not_found"):
        await webhooks.show(services, ADMIN, bot=await caller.chatbot())


async def test_two_that_resend_what_failed_send_each_event_once(caller: Caller, engine: ScriptedEngine, receiver: Receiver) -> None:
    receiver.answer = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"
    await hook(caller, receiver, *BOTH)
    captures(engine)
    await caller.send("Ben Selin, selin@example.com", "v")
    await settled(caller, len(await states(caller)))
    receiver.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    before, bot = len(receiver.bodies), await caller.chatbot()
    sent = await asyncio.gather(*(webhooks.resend_failed(caller.app.services, ADMIN, bot=bot, since="2026-01-01") for _ in range(3)))
    assert sum(len(page.attempts) for page in sent) == before == len(receiver.bodies) - before


async def test_a_test_without_the_plan_is_recorded_and_not_sent(caller: Caller, receiver: Receiver) -> None:
    await hook(caller, receiver)
    await accounts.change(caller.app.services, ADMIN, account=caller.account, plan="none")
    assert (await webhooks.test(caller.app.services, ADMIN, bot=await caller.chatbot())).error == "plan_lost"
    assert receiver.accepted == 0


async def test_keys_made_and_deliveries_signed_while_the_master_key_changes_hold(make_caller: MakeCaller, receiver: Receiver) -> None:
    callers = [await make_caller() for _ in range(4)]
    services = callers[0].app.services
    chatbots = [await caller.chatbot() for caller in callers]
    for _ in range(5):
        *shown, changed = await asyncio.gather(
            *(webhooks.put(services, ADMIN, bot=bot, url=url(receiver), events=BOTH) for bot in chatbots),
            *(webhooks.rotate(services, ADMIN, bot=bot) for bot in chatbots),
            *(webhooks.test(services, ADMIN, bot=bot) for bot in chatbots),
            system.rotate_master_key(services, ADMIN),
            return_exceptions=True,
        )
        assert isinstance(changed, Rotation)
        assert changed.unusable == 0
        assert all(isinstance(result, Webhook | Attempt) or "webhook_not_found" in str(result) for result in shown)
        assert {result.error for result in shown if isinstance(result, Attempt)} <= {None}
    for caller in callers:
        assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success


async def test_two_that_change_the_master_key_at_once_change_it_once(caller: Caller) -> None:
    services = caller.app.services
    results = await asyncio.gather(*(system.rotate_master_key(services, ADMIN) for _ in range(3)), return_exceptions=True)
    assert [isinstance(result, Rotation) for result in results] == [True, False, False]
    assert str(results[1]) == "master_key_changing"
    assert (await system.rotate_master_key(services, ADMIN)).resealed == 0


async def test_a_change_that_the_store_could_not_write_leaves_the_old_key_in_force(caller: Caller, receiver: Receiver) -> None:
    await hook(caller, receiver)
    services = caller.app.services
    before = services.secret("cursors")
    async with out_of_reach(caller.app, "webhooks"):
        with pytest.raises(StoreUnavailable):
            await system.rotate_master_key(services, ADMIN)
    assert services.secret("cursors") == before
    assert not (services.config.data_dir / "master.key.next").exists()
    assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success
    assert (await system.rotate_master_key(services, ADMIN)).resealed == 1
    assert services.secret("cursors") != before
    assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success


async def test_a_cursor_from_before_a_change_of_the_master_key_is_invalid(caller: Caller) -> None:
    for number in range(3):
        await caller.send("hello", f"visitor {number}")
    page = await caller.get("/conversations?limit=1")
    cursor = page.json["pagination"]["next_cursor"]
    await system.rotate_master_key(caller.app.services, ADMIN)
    answer = await caller.get(f"/conversations?limit=1&cursor={cursor}")
    assert (answer.status, answer.json["error"]) == (400, "invalid_cursor")


async def test_what_was_pending_for_a_removed_webhook_is_not_told_to_the_next_one(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, fail_pending = list[int](), stored.fail_pending

    def count(*given: Any) -> int:
        batches.append(fail_pending(*given))
        return batches[-1]

    monkeypatch.setattr(stored, "BATCH", 2)
    monkeypatch.setattr(stored, "fail_pending", count)
    services = caller.app.services
    await hook(caller, None)
    services.webhooks.stopping = True
    captures(engine, CALL_ME)
    for visitor in range(5):
        await caller.send("Ben Selin, selin@example.com", f"v{visitor}")
    await execute(caller.app, "UPDATE webhook_events SET state = 0")
    await webhooks.remove(services, ADMIN, bot=await caller.chatbot())
    assert batches[-3:] == [2, 2, 1]  # each in a transaction of its own
    listed = await attempts(caller)
    assert [(attempt["error"], attempt["success"], attempt["url"]) for attempt in listed] == [("webhook_removed", False, None)] * 5
    assert {state for _, state in await states(caller)} == {1}
    # As after a crash in the midst of it.
    await execute(caller.app, "UPDATE webhook_events SET state = 0 WHERE number > 2")
    services.webhooks.stopping = False
    await hook(caller, receiver)
    services.webhooks.wake(caller.bot)
    await asyncio.sleep(0.1)
    assert (receiver.accepted, {state for _, state in await states(caller)}) == (0, {1})
    assert (await webhooks.test(services, ADMIN, bot=await caller.chatbot())).success
