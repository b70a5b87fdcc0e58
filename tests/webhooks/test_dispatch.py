"""From the visitor's sentence to the signed POST and its record, through the whole service."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.delivery import queue as delivery
from chatsvc.delivery.queue import Outcome
from chatsvc.delivery.webhooks import AT_ONCE, WebhookQueue
from chatsvc.domain import webhooks as signing
from chatsvc.domain.webhooks import PostResult
from chatsvc.services.accounts import accounts, webhooks
from chatsvc.store.deliveries import Sending
from chatsvc.store.webhooks import Event
from tests.api.support import UUID, execute, out_of_reach
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.postgres import store_of_test
from tests.store.inspection import add_events, insert, query
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import OK, Receiver, hang
from tests.webhooks.support import (
    BOTH,
    CALL_ME,
    SAID,
    attempts,
    captures,
    envelopes,
    eventually,
    headers,
    hook,
    settled,
    states,
    url,
)


async def test_both_events_arrive_in_order_byte_for_byte(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock, receiver: Receiver
) -> None:
    key = await hook(caller, receiver, *BOTH)
    captures(engine)
    assert (await caller.send(SAID, "v")).status == 200
    created_at = clock.now
    clock.advance(3600)
    first, second = await settled(caller, 2)
    assert [envelope["event"] for envelope in envelopes(receiver)] == list(BOTH)
    for head, body, attempt in zip(receiver.heads, receiver.bodies, (first, second), strict=True):
        sent = headers(head)
        assert head.startswith(b"POST /hook HTTP/1.1\r\n")
        assert signing.verify(key, body, sent["X-Service-Signature"])
        assert sent["Content-Type"] == "application/json"
        assert sent["User-Agent"] == "Service-Webhooks/1.0"
        assert (sent["X-Service-Event"], sent["X-Service-Delivery"]) == (attempt["event"], attempt["delivery_id"])
        envelope = json.loads(body)
        assert list(envelope) == ["event", "delivery_id", "created_at", "bot_id", "data"]
        assert (envelope["created_at"], envelope["bot_id"]) == ("2026-11-20T12:14:28.123Z", caller.bot)
        assert body == json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
        assert UUID.fullmatch(envelope["delivery_id"])
        assert (attempt["success"], attempt["status_code"], attempt["error"]) == (True, 200, None)
        assert attempt["record_id"] == envelope["data"]["id"]
    request, appointment = (envelope["data"] for envelope in envelopes(receiver))
    visitor = {"message": SAID, "visitor_name": "Selin", "visitor_email": "selin@example.com", "visitor_phone": "+905321234567"}
    ends = {"source_page_host": "", "created_at": "2026-11-20T12:14:28.123Z"}
    assert list(request.items()) == [*{"id": first["record_id"], "request_type": "appointment", "status": "new", **visitor, **ends}.items()]
    at = {"appointment_date": "2026-11-21", "appointment_time": "10:30"}
    assert {**appointment, "appointment_at": ""} == {
        "id": second["record_id"],
        "request_id": request["id"],
        "status": "pending",
        **visitor,
        **at,
        "appointment_at": "",
        **ends,
    }
    assert appointment["appointment_at"].startswith("2026-11-21T07:30:00")
    recorded = await execute(caller.app, "SELECT body FROM webhook_attempts ORDER BY number")
    assert [row[0] for row in recorded] == receiver.bodies
    assert created_at


async def test_only_what_is_wanted_is_told(caller: Caller, engine: ScriptedEngine, receiver: Receiver) -> None:
    await hook(caller, receiver, "appointment.created")
    captures(engine, CALL_ME)
    await caller.send(SAID, "v")
    captures(engine)
    await caller.send(SAID, "w")
    await settled(caller, 1)
    assert await states(caller) == [("appointment.created", 1)]


async def test_a_pull_webhook_keeps_events_and_sends_none(caller: Caller, engine: ScriptedEngine) -> None:
    key = await hook(caller, None, *BOTH)
    captures(engine)
    await caller.send(SAID, "v")
    assert await states(caller) == [(BOTH[0], 2), (BOTH[1], 2)]
    assert await attempts(caller) == []
    events = await webhooks.events(caller.app.services, ADMIN, bot=await caller.chatbot())
    assert [event.event for event in events] == list(BOTH)
    assert all(signing.verify(key, event.body.encode(), event.signature) for event in events)


async def test_without_webhook_or_plan_no_event_is_written(caller: Caller, engine: ScriptedEngine, receiver: Receiver) -> None:
    captures(engine)
    await caller.send(SAID, "v")
    await hook(caller, receiver)
    await execute(caller.app, "UPDATE accounts SET plan = NULL")
    held = await caller.app.services.account_cache.account(caller.account)
    assert held
    held.account = held.account._replace(plan=None)
    from chatsvc.domain.models import SendMessage
    from chatsvc.services.messages import messages

    await messages.send(caller.app.services, held, SendMessage(caller.bot, SAID, "v", None))
    assert await states(caller) == []


def has_answered(caller: Caller) -> None:
    """As if the bot's receiver had answered once: it may have all of its slots from the beginning."""
    caller.app.services.webhooks.answers[caller.bot] = True


async def all_slots_taken(caller: Caller, engine: ScriptedEngine, receiver: Receiver, waiting: int) -> asyncio.Event:
    """Take all slots of the bot with `waiting` events queued. The receiver answers after the event."""
    gate = asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.write(OK)

    receiver.answer = slow
    await hook(caller, receiver)
    captures(engine, CALL_ME)
    has_answered(caller)
    for visitor in range(AT_ONCE + waiting):
        await caller.send(SAID, f"v{visitor}")

    await eventually(lambda: len(receiver.bodies) == AT_ONCE)
    return gate


async def hold_back(app: App) -> WebhookQueue:
    """Nothing is sent until the dispatcher is let go again."""
    app.services.webhooks.is_running = False
    return app.services.webhooks


def let_go(dispatcher: WebhookQueue, caller: Caller) -> None:
    dispatcher.is_running = True
    dispatcher.wake(caller.bot)


async def test_plan_lost_or_webhook_removed_before_sending_is_recorded(caller: Caller, engine: ScriptedEngine, receiver: Receiver) -> None:
    await hook(caller, receiver, *BOTH)
    captures(engine)
    held = await hold_back(caller.app)
    await caller.send(SAID, "v")
    await accounts.change(caller.app.services, ADMIN, account=caller.account, plan="none")
    let_go(held, caller)
    assert [attempt["error"] for attempt in await settled(caller, 2)] == ["plan_lost"] * 2
    await accounts.change(caller.app.services, ADMIN, account=caller.account, plan="business")
    await hold_back(caller.app)
    await accounts.change(caller.app.services, ADMIN, account=caller.account, plan="enterprise")
    await caller.send(SAID, "v")
    await webhooks.remove(caller.app.services, ADMIN, bot=await caller.chatbot())
    let_go(held, caller)
    records = (await settled(caller, 4))[2:]
    assert [(attempt["error"], attempt["success"], attempt["url"]) for attempt in records] == [("webhook_removed", False, None)] * 2
    assert receiver.accepted == 0


async def test_address_key_and_kind_are_those_of_the_moment_of_sending(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver, authority: Authority
) -> None:
    services = caller.app.services
    old = await hook(caller, receiver)
    captures(engine)
    held = await hold_back(caller.app)
    await caller.send(SAID, "v")
    async with Receiver(authority.server("127.0.0.1")) as other:
        await webhooks.put(services, ADMIN, bot=await caller.chatbot(), url=url(other), events=BOTH)
        new = str((await webhooks.rotate(services, ADMIN, bot=await caller.chatbot())).signing_key)
        let_go(held, caller)
        (attempt,) = await settled(caller, 1)
        signature = headers(other.heads[0])["X-Service-Signature"]
        assert signing.verify(new, other.bodies[0], signature)
        assert not signing.verify(old, other.bodies[0], signature)
    assert attempt["url"] == url(other)
    await hold_back(caller.app)
    await caller.send(SAID, "w")
    await webhooks.put(services, ADMIN, bot=await caller.chatbot(), events=BOTH)
    let_go(held, caller)

    async def are_kept() -> bool:
        return [state for _, state in await states(caller)] == [1, 2, 2]

    await eventually(are_kept)
    assert (await attempts(caller), receiver.accepted) == ([attempt], 0)


async def test_the_attempt_is_in_the_file_before_the_connection_is_opened(
    caller: Caller, engine: ScriptedEngine, authority: Authority
) -> None:
    seen: list[tuple[Any, ...]] = []

    async def look(_: object) -> None:
        file = caller.app.config.data_dir / "chatsvc.db"
        seen.extend(query(file, "SELECT success, length(body) > 100 FROM webhook_attempts"))

    async with Receiver(authority.server("127.0.0.1"), on_accept=look) as receiver:
        await hook(caller, receiver)
        captures(engine)
        await caller.send(SAID, "v")
        await settled(caller, 1)
    assert seen == [(None, 1)]


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"]
)
async def test_a_failure_is_recorded_not_repeated_and_not_felt(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver, answer: bytes
) -> None:
    receiver.answer = answer
    await hook(caller, receiver)
    captures(engine)
    assert (await caller.send(SAID, "v")).status == 200
    (attempt,) = await settled(caller, 1)
    assert (attempt["success"], attempt["status_code"]) == (False, int(answer[9:12]))
    await asyncio.sleep(0.1)
    assert (receiver.accepted, len(receiver.bodies)) == (1, 1)
    assert await states(caller) == [("request.created", 1)]


async def test_a_receiver_that_never_answers_delays_no_other(
    make_caller: MakeCaller, engine: ScriptedEngine, receiver: Receiver, authority: Authority
) -> None:
    caller, other = await make_caller(), await make_caller()
    async with Receiver(authority.server("127.0.0.1"), hang) as dead:
        await hook(caller, dead)
        await hook(other, receiver)
        captures(engine, CALL_ME)
        has_answered(caller)
        for visitor in range(2 * AT_ONCE):
            assert (await caller.send(SAID, f"v{visitor}")).status == 200
        await other.send(SAID, "v")
        await settled(other, 1)
        assert dead.accepted <= AT_ONCE
        assert [state for _, state in await states(caller)].count(0) >= AT_ONCE
        await caller.app.services.webhooks.sender.close()


async def more_bots(caller: Caller, count: int) -> list[str]:
    """Further bots of the account with a webhook and a pending event, by id."""

    def columns(connection: Any) -> set[str]:
        # An open cursor that is returned would keep its reader on this snapshot, also for the reads of the queue.
        return {column[0] for column in connection.execute("SELECT * FROM bots LIMIT 1").description}

    rest = ", ".join(await caller.app.services.db.read(columns) - {"id", "number"})
    ids = [f"bot {number}" for number in range(count)]

    for bot in ids:
        copied = f"INSERT INTO bots (id, {rest}) SELECT :1, {rest} FROM bots WHERE id = :2"  # noqa: S608
        await execute(caller.app, copied, bot, caller.bot)
    webhooks_of = [(bot, "https://x.example", "[]", b"\0", 0, 0) for bot in ids]
    await insert(caller.app, "webhooks", "bot_id, url, events, signing_key, created_at, updated_at", webhooks_of)
    return ids


async def events(caller: Caller, *bots: str) -> None:
    """An event for each of these bots."""

    await add_events(caller.app.services.db, *((Event(0, bot, "request.created", "r", "{}", 0), None) for bot in bots))


Post = Callable[[str, str], Awaitable[PostResult]]
DELIVERED = PostResult(True, 200, None, 1)


class Queue(WebhookQueue):
    """A queue that calls `post` with the bot and the event in place of its sender."""

    def __init__(self, caller: Caller, post: Post) -> None:
        services = caller.app.services
        services.webhooks.is_running = False  # the service looks for due deliveries every few seconds, and would send these
        super().__init__(services.db, services.webhooks.sender, services.secret, frozenset({"enterprise"}), lambda: 0)
        self._post = post

    async def send(self, item: Sending) -> Outcome:
        return self._outcome(item, await self._post(item.bot_id, item.event))

    def sign(self, event: Event, *_: object) -> tuple[bytes, str]:
        return event.data.encode(), ""


async def test_200_bots_with_dead_receivers_delay_no_living_one_not_even_right_after_a_start(caller: Caller) -> None:
    *dead, living, new = await more_bots(caller, 202)
    bots, gate = list[str](), asyncio.Event()

    async def post(bot: str, _: str) -> PostResult:
        if bot in dead:
            await gate.wait()
            return PostResult(False, None, "timeout", 10_000)
        bots.append(bot)
        return DELIVERED

    sender = Queue(caller, post)
    await events(caller, *dead * 3, *[living] * 100)
    await sender.start()
    await sender.look()

    await eventually(lambda: len(bots) == 100)
    # The second time it is known who does not answer.
    gate.set()
    await asyncio.sleep(0.3)
    gate.clear()
    await events(caller, new, *[living] * 100)
    sender.wake(new)
    sender.wake(living)
    await eventually(lambda: len(bots) == 201)
    gate.set()
    await sender.close()


async def test_a_bot_has_the_slots_that_its_receiver_earns_and_silent_ones_share_their_own(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "slots", 3)
    monkeypatch.setattr(Queue, "further_slots", 5)
    monkeypatch.setattr(Queue, "silent_slots", 2)
    *silent, living = await more_bots(caller, 4)
    in_flight, begun, gate = Counter[str](), Counter[str](), asyncio.Event()

    async def post(bot: str, _: str) -> PostResult:
        in_flight[bot] += 1
        await gate.wait()
        in_flight[bot] -= 1
        begun[bot] += 1
        return DELIVERED

    def are_in_flight(count: int, of: int) -> bool:
        return (in_flight[living], in_flight.total()) == (count, of)

    sender = Queue(caller, post)
    sender.answers = dict.fromkeys(silent, False)
    await events(caller, *silent * 3)
    await sender.start()
    await sender.look()
    await eventually(lambda: are_in_flight(0, of=2))
    await events(caller, *[living] * 40)
    sender.wake(living)
    await eventually(lambda: are_in_flight(1, of=3))
    await asyncio.sleep(0.05)
    assert are_in_flight(1, of=3), "untried, it has one slot"
    sender.answers[living] = True
    sender.wake(living)
    await eventually(lambda: are_in_flight(6, of=8))
    gate.set()
    await eventually(lambda: begun.total() == 49)
    await sender.close()
    for slots, count in ((sender._slots, 3), (sender._further_slots, 5), (sender._silent_slots, 2)):
        for _ in range(count):
            assert not slots.locked(), "every slot is free again"
            await slots.acquire()
        assert slots.locked()


async def test_where_nothing_is_heard_the_lane_rests_but_the_outcome_is_recorded_at_once(caller: Caller) -> None:
    (bot,), tried = await more_bots(caller, 1), 0

    async def post(*_: str) -> PostResult:
        nonlocal tried
        tried += 1
        return PostResult(False, None, "connect_failed", 1)

    async def is_recorded() -> bool:
        return await execute(caller.app, "SELECT success, error FROM webhook_attempts") == [(0, "connect_failed")]

    sender = Queue(caller, post)
    sender.pause_s = sender.longest_pause_s = 60.0
    await events(caller, bot, bot, bot)
    await sender.start()
    await sender.look()
    await eventually(is_recorded)
    await asyncio.sleep(0.1)
    assert tried == 1
    # The third is tried by itself, after a pause.
    sender.pause_s = 0.1
    sender.forget_pauses(bot)
    sender.wake(bot)
    await eventually(lambda: tried == 3)
    await sender.close()


async def test_a_stop_ends_what_is_under_way_and_the_next_start_sends_the_rest(
    config: Config, clock: FakeClock, engine: ScriptedEngine, receiver: Receiver, make_caller: MakeCaller, app: App, authority: Authority
) -> None:
    caller = await make_caller()
    gate = await all_slots_taken(caller, engine, receiver, waiting=5)
    stopping = asyncio.create_task(app.stop())
    await eventually(lambda: app.services.webhooks.stopping)
    await asyncio.sleep(0.1)
    assert not stopping.done()
    gate.set()
    await stopping
    database = config.data_dir / "chatsvc.db"
    assert query(database, "SELECT success, count(*) FROM webhook_attempts GROUP BY 1") == [(1, AT_ONCE)]
    assert query(database, "SELECT count(*) FROM webhook_events WHERE state = 0") == [(5,)]
    ((number,),) = query(database, "SELECT event_number FROM webhook_attempts LIMIT 1")
    query(database, "UPDATE webhook_attempts SET success = NULL, status_code = NULL WHERE event_number = :1", number)
    async with App(config, clock, store=store_of_test()) as again:
        caller.app = again
        ended = await settled(caller, AT_ONCE + 5)
    assert sorted(str(attempt["error"]) for attempt in ended) == ["None"] * (AT_ONCE + 4) + ["interrupted"]
    assert len({envelope["data"]["id"] for envelope in envelopes(receiver)}) == len(receiver.bodies) == AT_ONCE + 5


async def test_the_store_may_be_away_while_deliveries_are_under_way(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "STORE_PAUSE_S", 0.02)
    gate = await all_slots_taken(caller, engine, receiver, waiting=3)
    async with out_of_reach(caller.app, "webhook_attempts"):
        gate.set()
        await asyncio.sleep(0.2)
    assert all(attempt["success"] for attempt in await settled(caller, AT_ONCE + 3))
    assert len({envelope["data"]["id"] for envelope in envelopes(receiver)}) == len(receiver.bodies) == AT_ONCE + 3


async def test_of_a_deleted_account_nothing_more_is_sent_and_nothing_is_left(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver
) -> None:
    gate = await all_slots_taken(caller, engine, receiver, waiting=3)
    await execute(caller.app, "UPDATE accounts SET deleted_at = 1")
    gate.set()
    await asyncio.sleep(0.1)
    assert len(receiver.bodies) == AT_ONCE
    await execute(caller.app, "UPDATE accounts SET deleted_at = NULL")
    await accounts.delete(caller.app.services, ADMIN, account=caller.account)
    for table in ("webhook_attempts", "webhook_events", "webhooks", "requests", "bots"):
        assert await execute(caller.app, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608


async def test_no_wake_up_is_lost_while_queues_end(caller: Caller) -> None:
    """Deliveries end at once and queues restart constantly. Every event is sent once, in order."""
    db, events, bot = caller.app.services.db, [], caller.bot
    await execute(caller.app, "INSERT INTO webhooks VALUES (:1, 'https://x.example', '[]', x'00', 0, 0)", bot)

    async def post(_: str, event: str) -> PostResult:
        events.append(event)
        await asyncio.sleep(random.choice((0, 0, 0.001)))
        return DELIVERED

    sender = Queue(caller, post)
    await sender.start()
    await sender.look()

    async def capture(number: int) -> None:
        await asyncio.sleep(random.uniform(0, 0.5))

        first, second = (Event(0, bot, f"{number}{letter}", "r", "{}", 0) for letter in "ab")
        await add_events(db, (first, None), (second, first.event))
        sender.wake(bot)

    await asyncio.gather(*map(capture, range(600)))

    await eventually(lambda: not sender._tasks)
    assert sorted(events) == sorted(f"{number}{letter}" for number in range(600) for letter in "ab")
    assert all(events.index(f"{number}a") < events.index(f"{number}b") for number in range(600))
    assert {state for _, state in await states(caller)} == {1}
    assert await execute(caller.app, "SELECT count(*) FROM webhook_attempts WHERE coalesce(success, 0) <> 1") == [(0,)]


async def test_a_key_that_cannot_be_opened_is_recorded_and_holds_up_nothing(
    caller: Caller, engine: ScriptedEngine, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    await hook(caller, receiver)
    await execute(caller.app, "UPDATE webhooks SET signing_key = x'0102'")
    captures(engine)
    await caller.send(SAID, "v")
    assert [attempt["error"] for attempt in await settled(caller, 1)] == ["unusable_key"]
    await webhooks.rotate(caller.app.services, ADMIN, bot=await caller.chatbot())
    await caller.send(SAID, "v")
    assert [attempt["success"] for attempt in await settled(caller, 2)] == [False, True]
    assert "selin" not in caplog.text.casefold()
