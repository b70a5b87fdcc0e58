"""WhatsApp over real HTTP: callbacks are stored once, answered in order, and their delivery statuses kept."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from chatsvc.cli import conversation
from chatsvc.config import Config
from chatsvc.control.rendering import RENDERERS, thread, transcripts
from chatsvc.domain.refusals import Refused
from chatsvc.domain.transfer import checked
from chatsvc.engines import Reply, Turn
from chatsvc.platforms.whatsapp import callbacks as received
from chatsvc.platforms.whatsapp import sender
from chatsvc.services.accounts.channel_secrets import OpenChannels
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations, handling
from chatsvc.store import platforms
from chatsvc.store.database import StoreUnavailable
from chatsvc.web import limits
from tests import tables
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.platforms.graph_api import NUMBER, PHONE, SCOPED, VERIFY_TOKEN, GraphApi, GraphFault
from tests.platforms.whatsapp import Phone
from tests.postgres import RUNNING
from tests.store.inspection import execute

DAY = 86_400


@pytest.fixture
async def api() -> AsyncIterator[GraphApi]:
    """A running Graph interface, which got no broken request by the end of the test."""
    async with GraphApi() as running:
        yield running
        assert running.refused == []


@pytest.fixture
def config(config: Config, api: GraphApi) -> Config:
    return replace(config, channels={"telegram": api.url, "whatsapp": api.url})


@pytest.fixture
async def phone(caller: Caller, api: GraphApi) -> Phone:
    phone = Phone(caller, api)
    await phone.set()
    return phone


async def unavailable(*_: Any) -> None:
    raise StoreUnavailable("the disk is full")


async def rows(caller: Caller, statement: str) -> int:
    (row,) = await execute(caller.app, statement)
    return int(row[0])


async def test_a_text_is_stored_once_answered_once_and_its_way_is_followed(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    await phone.say("hello", times=3)
    assert await phone.until("sent") == [("echo: hello", "sent", None)]
    (sent,) = api.sent
    assert (sent.to, sent.text, len(engine.turns)) == (PHONE, "echo: hello", 1)
    for status, shown in (("delivered", "delivered"), ("sent", "delivered"), ("read", "read"), ("delivered", "read"), ("failed", "read")):
        await api.deliver(api.status(sent, status, code=131026 if status == "failed" else 0), times=2)
        await phone.until(shown)
    (conversation,) = await phone.conversations()
    assert (conversation.channel, conversation.message_count, PHONE in conversation.user_id) == ("whatsapp", 2, False)
    assert phone.services.egress.opened["whatsapp"] >= 1


async def test_the_handshake_answers_the_challenge(phone: Phone, caller: Caller, api: GraphApi) -> None:
    async def ask(**query: str) -> tuple[int, str, str]:
        async with caller.session.get(api.callback, params=query) as answer:
            return answer.status, await answer.text(), answer.headers["Content-Type"]

    names = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "1158201444"}
    for wrong in (
        {"hub.mode": "x"},
        {"hub.verify_token": "x"},
        {"hub.challenge": ""},
        {"hub.challenge": "a\nb"},
        {"hub.verify_token": "ş"},
    ):
        assert (await ask(**{**names, **wrong}))[0] == 403
    assert (await ask())[0] == 403
    (before,) = await phone.act("channel.list")
    assert await ask(**names) == (200, "1158201444", "text/plain; charset=utf-8")
    assert await ask(**{**names, "hub.challenge": "çağrı 挑戦"}) == (200, "çağrı 挑戦", "text/plain; charset=utf-8")
    (after,) = await phone.act("channel.list")
    assert (before.verified_at, after.verified_at) == (None, phone.services.clock())
    api.callback += "x"
    assert (await ask(**names))[0] == 404


# Changes of a message or a value which is signed and well-formed, and is nothing for this bot, or nothing that can be understood.
BROKEN: list[dict[str, Any]] = [
    *({"id": key} for key in ("", 5, "x" * 513, "a\nb")),
    *({"timestamp": time} for time in (None, 1_795_176_868, "soon", "0", "-1795176868")),
    *({"from": sender} for sender in (None, "905 55", {"x": 1})),
    *({"type": kind} for kind in (None, ["text"])),
    *({"text": text} for text in (None, {"body": "   "}, {"body": 5}, {"body": "\0"})),
    {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "👍"}},
    {"type": "edit", "edit": {"message": {"type": "text", "text": {"body": "other words"}}}},
    {"group_id": "a-group"},
]


def _forged(api: GraphApi, at: int) -> list[tuple[bytes, list[tuple[str, str]] | None, int]]:
    """Callbacks that must store nothing: body, headers (None: signed well) and the status of the answer."""
    good = api.message(at=at)
    body, message = api.body(good), good["messages"][0]
    signature = api.signature(body)
    digest = signature.removeprefix("sha256=")
    api.app_secret = "another-secret"
    signatures = [
        "",
        api.signature(body),
        digest,
        f"sha1={digest}",
        f"SHA256={digest}",
        f"sha256={digest.upper()}",
        f"sha256={digest[:-1]}",
    ]
    api.app_secret = "secret-of-the-app"
    signatures += [f"sha256={digest}0", f"sha256= {digest}", f"sha256={'0' * 64}", f"sha256={'Å' * 64}", f"{signature}, {signature}"]
    named = "X-Hub-Signature-256"
    headers = [[], [("X-Hub-Signature", signature)], *([(named, text)] for text in signatures)]
    changed = (body + b" ", body[:-1], body.replace(b"hello", b"hallo"), b"")
    account = "whatsapp_business_account"
    objects: list[Any] = [
        *({}, {"object": "page", "entry": json.loads(body)["entry"]}, {"object": account}, {"object": account, "entry": {}}),
        {"object": account, "entry": [None, 1, {"changes": 1}, {"changes": [None, {}, {"field": "messages"}]}]},
        {"object": account, "entry": [{"changes": [{"field": "account_alerts", "value": good}]}]},
        {"object": account, "entry": [{"changes": [{"field": "messages", "value": [good]}]}]},
    ]
    values = [
        {**good, **change} for change in ({"metadata": {"phone_number_id": f"{NUMBER}0"}}, {"metadata": NUMBER}, {"messages": message})
    ]
    values += [{**good, "messages": ["x", None, []]}, *({**good, "contacts": [], "messages": [{**message, **change}]} for change in BROKEN)]
    return [
        *((body, given, 403) for given in headers),
        *((payload, [(named, signature)], 403) for payload in changed),
        *((payload, None, 400) for payload in (b"", b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b"{'a': 1}", b"[" * 100_000)),
        (b'{"a": "' + b"x" * (3 * 1024 * 1024) + b'"}', None, 413),
        *((json.dumps(value).encode(), None, 200) for value in objects),
        *((api.body(value), None, 200) for value in values),
    ]


async def test_forged_and_broken_callbacks_store_nothing(phone: Phone, api: GraphApi, caller: Caller) -> None:
    forged = _forged(api, phone.now)
    assert len(forged) >= 60
    answers = [
        (await api.post(body, dict(headers) if headers is not None else None), wanted, body[:300]) for body, headers, wanted in forged
    ]
    assert [answer for answer in answers if answer[0] != answer[1]] == []
    for table in ("messages", "conversations", "incoming_keys", "whatsapp_addresses"):
        assert await rows(caller, f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # a table of this test
    # The same is taken with nothing forged, once the store can answer.
    body = api.body(api.message(at=phone.now))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(platforms, "receive", unavailable)
        assert await api.post(body) == 503
    assert await api.post(body) == 200
    await phone.until("sent")


async def test_a_crowd_of_long_callbacks_is_refused_and_short_ones_are_taken(
    phone: Phone, api: GraphApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_BODIES", 100_000)
    long, forged = b"x" * 200_000, {"X-Hub-Signature-256": f"sha256={'0' * 64}"}
    assert await asyncio.gather(*(api.post(long, forged) for _ in range(5))) == [503] * 5
    await phone.say("hello")
    await phone.until("sent")
    assert await api.post(long[:100_000], forged) == 403


async def test_other_methods_and_unknown_or_removed_channels_are_refused(phone: Phone, api: GraphApi, caller: Caller) -> None:
    async with caller.session.put(api.callback, data=b"{}") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST")
    body = api.body(api.message(at=phone.now))
    good = api.callback
    for path in (f"{good}/x", good.replace(caller.bot, "x"), good.replace(caller.bot, "")):
        api.callback = path
        assert await api.post(body) == 404
    api.callback = good
    await phone.act("channel.remove", channel="whatsapp")
    assert await api.post(body) == 404
    assert await phone.conversations() == []


async def test_a_channel_without_its_secrets_takes_nothing(phone: Phone, api: GraphApi, caller: Caller) -> None:
    await execute(caller.app, "UPDATE channels SET secrets = NULL, state = 'needs_secret'")
    phone.services.channels.changed(caller.bot)
    assert await api.post(api.body(api.message(at=phone.now))) == 403
    async with caller.session.get(api.callback, params={"hub.mode": "subscribe", "hub.verify_token": "", "hub.challenge": "1"}) as answer:
        assert answer.status == 403


async def test_batches_repeats_and_disorder_are_answered_once_and_in_order(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    values = [api.message(f"{person} {n}", at=phone.now - 60 + n, phone=f"90555000000{person}") for person in range(3) for n in range(8)]
    await api.deliver_shuffled(values, 3)
    await api.until(lambda: len(api.sent) == 24)
    assert len({turn.message for turn in engine.turns}) == len(engine.turns) == 24
    for person in range(3):
        asked = [turn.message for turn in engine.turns if turn.message.startswith(f"{person} ")]
        assert api.texts(f"90555000000{person}") == [f"echo: {text}" for text in asked]
    # A batch is answered by the platform's times, in whatever order it holds its messages.
    await api.deliver(*[api.message(f"late {n}", at=phone.now - 5 + n, phone="905550000009") for n in (2, 0, 1)])
    await api.until(lambda: len(api.texts("905550000009")) == 3)
    assert api.texts("905550000009") == [f"echo: late {n}" for n in range(3)]


async def test_an_old_message_is_stored_and_not_answered(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    await phone.say("of last week", ago=DAY + 10)
    await phone.say("of now", phone="905550000001")
    await api.until(lambda: len(api.sent) == 1)
    assert [turn.message for turn in engine.turns] == ["of now"]
    assert len(await phone.conversations()) == 2
    times = [message.created_at for index in range(2) for message in (await phone.thread(index)).messages if message.role == "user"]
    assert min(times) == (phone.now - DAY - 10) * 1000


async def test_while_paused_messages_are_stored_and_not_answered(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    await phone.act("channel.pause", channel="whatsapp")
    await phone.say("anybody?")
    async with asyncio.timeout(30):
        while await rows(phone.caller, "SELECT count(*) FROM messages WHERE pending = 1"):  # noqa: ASYNC110  # of the store
            await asyncio.sleep(0.01)
    assert [(message.role, message.content) for message in await phone.messages()] == [("user", "anybody?")]
    await phone.act("channel.resume", channel="whatsapp")
    await phone.say("again")
    await api.until(lambda: len(api.sent) == 1)
    assert (api.texts(), [turn.message for turn in engine.turns]) == (["echo: again"], ["again"])


CONTENTS = tables.rows("platforms/whatsapp_contents")[1:]
NESTED = {"type": "interactive", "interactive": {"type": "nfm_reply", "nfm_reply": {"response_json": "[" * 2000, "body": "Sent"}}}


async def test_each_kind_of_message_gets_a_sensible_answer(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    for number, (content, escaped, kind) in enumerate([*CONTENTS, [json.dumps(NESTED), "Sent", "text"]]):
        of, stored, before = f"9055512{number:05d}", escaped.replace("\\n", "\n"), len(engine.turns)
        await phone.say(phone=of, **json.loads(content))
        await api.until(lambda: len(api.texts(of)) == 1)  # noqa: B023  # called in this round alone
        assert [message.content for message in await phone.messages() if message.role == "user"] == [stored]
        (reply,) = api.texts(of)
        assert reply == f"echo: {stored}" if kind == "text" else "yazılı mesajları" in reply, stored
        # What is no text gets its sentence once.
        await phone.say(phone=of, type="sticker", sticker={"id": "2"})
        await phone.say("and now?", phone=of)
        await api.until(lambda: "echo: and now?" in api.texts(of))  # noqa: B023
        assert (len(engine.turns) - before, len(api.texts(of))) == ((2, 3) if kind == "text" else (1, 2))


async def test_a_text_that_cannot_be_stored_is_mended(phone: Phone, api: GraphApi) -> None:
    body = api.body(api.message("X", at=phone.now)).replace(b'"X"', b'"a\\ud800b\\u0000c' + b"x" * 5000 + b'"')
    assert await api.post(body) == 200
    await phone.until("sent")
    content = (await phone.messages())[0].content
    assert content.startswith("a?b cxxx")
    assert len(content) == 4096
    assert [len(text) for text in api.texts()] == [4096, 6]


async def test_a_visitor_who_opens_the_chat_is_greeted(phone: Phone, api: GraphApi) -> None:
    await phone.say(type="request_welcome")
    ((greeting, _, _),) = await phone.until("sent")
    assert "Desk" in greeting
    assert [button["reply"]["title"] for button in api.sent[0].body["interactive"]["action"]["buttons"]] in (
        ["Beni arayın"],
        ["Call me back"],
    )


def _asking(choices: tuple[str, ...], _: Turn) -> Reply:
    return Reply("Which one?", choices=choices)


async def test_questions_back_become_buttons_or_a_list(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    short, long = ("Opening hours?", "Breakfast?"), ("What does a double room with a view of the sea cost?", "Breakfast?")
    offers = [short, long, tuple(f"Question {n}?" for n in range(10)), tuple(f"Question {n}?" for n in range(11)), ("x" * 300, "Yes"), ()]
    for index, offered in enumerate(offers):
        engine.script = partial(_asking, offered)
        await phone.say("hello")
        await phone.until(*["sent"] * (index + 1))
    bodies = [message.body["interactive"] if message.body["type"] == "interactive" else None for message in api.sent]
    assert [body and body["type"] for body in bodies] == ["button", "list", "list", None, None, None]
    assert bodies[1] is not None
    row = bodies[1]["action"]["sections"][0]["rows"][0]
    assert (row["title"], row["description"]) == ("What does a double room…", long[0])
    assert bodies[2] is not None
    assert len(bodies[2]["action"]["sections"][0]["rows"]) == 10
    # The answer by a row is the whole question.
    reply = {"type": "list_reply", "list_reply": {"id": row["id"], "title": row["title"], "description": row["description"]}}
    await phone.say(type="interactive", interactive=reply)
    await api.until(lambda: len(engine.turns) == 7)
    assert engine.turns[-1].message == long[0]


async def test_rows_that_begin_alike_are_numbered_and_each_is_its_whole_choice(phone: Phone, api: GraphApi, engine: ScriptedEngine) -> None:
    choices = ("Çift kişilik standart oda, deniz", "Çift kişilik standart oda, bahçe", "Süit")
    engine.script = lambda _: Reply("Hangisini sormak istediniz?", choices=choices)
    await phone.say("merhaba")
    await phone.until("sent")
    offered = api.sent[0].body["interactive"]["action"]
    assert offered["button"] == "Seçenekler"
    shown = offered["sections"][0]["rows"]
    assert [row["title"] for row in shown] == ["1. Çift kişilik standar…", "2. Çift kişilik standar…", "3. Süit"]
    assert [row.get("description") for row in shown] == [*choices[:2], None]
    for row in shown:
        await phone.say(type="interactive", interactive={"type": "list_reply", "list_reply": {"id": row["id"], "title": row["title"]}})
    await phone.until(*["sent"] * 4)
    assert [turn.message for turn in engine.turns[1:]] == list(choices)


async def test_a_message_is_marked_as_read_with_typing_where_the_reply_takes_a_while(
    phone: Phone, api: GraphApi, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "TYPING_AFTER_S", 60)
    await phone.say("quick")
    await api.until(lambda: len(api.receipts) == 1)
    monkeypatch.setattr(sender, "TYPING_AFTER_S", 0.05)
    engine.gate = asyncio.Event()
    await phone.say("slow")
    await api.until(lambda: len(api.receipts) == 2)
    engine.gate.set()
    await phone.until("sent", "sent")
    assert ["typing_indicator" in receipt for receipt in api.receipts] == [False, True]
    # Nothing is marked as read that a person is to read.
    await phone.act("bot.set", hand_off=True)
    await phone.say("Can I talk to a real person please?")
    await api.until(lambda: len(api.receipts) == 3)
    await phone.until("sent", "sent", "sent")
    await phone.say("hello?")
    await phone.say(type="sticker", sticker={"id": "1"})
    await asyncio.sleep(1)
    assert len(api.receipts) == 3


@pytest.mark.parametrize(
    ("fault", "delivery", "error"),
    [
        (GraphFault(400, 131026), "failed", "whatsapp_131026"),
        (GraphFault(503, 131016, before=False), "unknown", "whatsapp_status_503"),
        (GraphFault(breaks=True), "unknown", "connection_broken"),
        ("x" * 300_000, "unknown", "whatsapp_answer_too_long"),
        ('{"messages": [{"id": 5}]}', "unknown", "whatsapp_bad_answer"),
        ('{"error": {"code": true}}', "unknown", "whatsapp_status_200"),
    ],
)
async def test_a_refusal_fails_and_an_unclear_outcome_is_unknown(
    phone: Phone, api: GraphApi, monkeypatch: pytest.MonkeyPatch, fault: GraphFault | str, delivery: str, error: str
) -> None:
    async def odd(*_: Any) -> web.Response:
        return web.Response(text=str(fault))

    with monkeypatch.context() as patched:
        if isinstance(fault, str):
            patched.setattr(api, "_send", odd)
        else:
            api.faults.append(fault)
        await phone.say("one")
        assert await phone.until(delivery) == [("echo: one", delivery, error)]
    await phone.say("two")
    await phone.until(delivery, "sent")
    assert api.texts()[-1] == "echo: two"


async def test_a_later_status_resolves_an_unknown_message(phone: Phone, api: GraphApi) -> None:
    api.faults.append(GraphFault(breaks=True, before=False))
    await phone.say("one")
    await phone.until("unknown")
    (sent,) = api.sent
    # Another bot's or a visitor's message is not touched, whatever name a status bears.
    conversation, message = sent.body["biz_opaque_callback_data"].split(" ")
    theirs = (await phone.messages())[0].id
    for name in (f"{conversation} {theirs}", f"x {message}", message, " ", "a b c d"):
        await api.deliver(api.status("wamid.other", "read", opaque=name))
    await phone.until("unknown")
    await api.deliver(api.status(sent, "delivered"))
    assert await phone.until("delivered") == [("echo: one", "delivered", None)]
    # From then on the platform's id alone is enough.
    await api.deliver(api.status(sent.id, "read"))
    await phone.until("read")


async def test_a_status_before_the_answer_stays(phone: Phone, api: GraphApi) -> None:
    send = api._send

    async def status_first(request: Any, body: Any) -> Any:
        answer = await send(request, body)
        await api.deliver(api.status(api.sent[-1], "delivered"))
        return answer

    api._send = status_first  # type: ignore[method-assign]
    await phone.say("one")
    await phone.until("delivered")
    await phone.say("two")
    await phone.until("delivered", "delivered")
    assert api.texts() == ["echo: one", "echo: two"]


async def test_a_failed_status_shows_its_code_until_the_message_arrives(phone: Phone, api: GraphApi) -> None:
    await phone.say("one")
    await phone.until("sent")
    await api.deliver(api.status(api.sent[0], "failed", code=131049))
    assert await phone.until("failed") == [("echo: one", "failed", "whatsapp_131049")]
    await api.deliver(api.status(api.sent[0], "delivered"))
    assert await phone.until("delivered") == [("echo: one", "delivered", None)]
    await phone.say("two")
    await phone.until("delivered", "sent")
    await api.deliver(api.status(api.sent[1], "failed"))
    assert (await phone.until("delivered", "failed"))[1][2] == "whatsapp_unknown"


async def test_a_part_that_fails_fails_the_message_and_one_that_arrives_says_nothing(
    phone: Phone, api: GraphApi, engine: ScriptedEngine
) -> None:
    engine.script = lambda _: Reply("word " * 1000)
    await phone.say("one")
    await phone.until("sent")
    first, last = api.sent
    assert (len(first.text) + len(last.text), len(first.text) <= 4096) == (4999 - 1, True)
    await api.deliver(api.status(first, "read"))
    await phone.until("sent")
    await api.deliver(api.status(last, "delivered"))
    await phone.until("delivered")
    await api.deliver(api.status(first, "failed", code=131026))
    await phone.until("delivered")
    await phone.say("two")
    await phone.until("delivered", "sent")
    await api.deliver(api.status(api.sent[2], "failed", code=131026))
    await phone.until("delivered", "failed")


@pytest.mark.parametrize("fault", [GraphFault(400, 131056), GraphFault(429, 130429), GraphFault(400, 80007), GraphFault(429, 0)])
async def test_a_limit_of_the_platform_is_waited_for(
    phone: Phone, api: GraphApi, fault: GraphFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_WAIT_ALL", "_WAIT_ONE"):
        monkeypatch.setattr(sender, name, dict.fromkeys(getattr(sender, name), 0.05))
    monkeypatch.setattr("chatsvc.outbound.posting._RETRY_S", 0.05)
    api.faults += [fault, fault]
    await phone.say("one")
    await phone.until("sent")
    assert (api.texts(), api.faults) == (["echo: one"], [])
    assert await rows(phone.caller, "SELECT sent FROM whatsapp_sends") == 1


async def test_the_monthly_limit_holds_and_begins_anew(phone: Phone, api: GraphApi, clock: FakeClock) -> None:
    await phone.set(monthly_limit=2)
    for text in ("one", "two", "three"):
        await phone.say(text)
    assert [message[1:] for message in await phone.until("sent", "sent", "failed")][2] == ("failed", "monthly_limit")
    clock.advance(20 * DAY)
    await phone.say("four")
    await phone.until("sent", "sent", "failed", "sent")
    assert await rows(phone.caller, "SELECT count(*) FROM whatsapp_sends") == 2


async def test_a_refused_token_is_noted_until_it_works_again(phone: Phone, api: GraphApi) -> None:
    api.token = "another"
    await phone.say("one")
    assert (await phone.until("failed"))[0][2] == "whatsapp_190"
    (channel,) = await phone.act("channel.list")
    assert (channel.fault, channel.fault_at) == ("token_refused", phone.services.clock())
    api.token = "token-of-the-number"
    await phone.say("two")
    await phone.until("failed", "sent")
    (channel,) = await phone.act("channel.list")
    assert (channel.fault, channel.fault_at) == (None, None)


async def test_the_time_of_the_last_update_is_kept(phone: Phone, api: GraphApi, clock: FakeClock) -> None:
    assert (await phone.act("channel.list"))[0].seen_at is None
    await api.deliver()
    first = clock()
    for seconds, shown in ((20, first), (11, first + 31_000), (-3600, first + 31_000 - 3_600_000)):
        clock.advance(seconds)
        await api.deliver(api.value())
        assert (await phone.act("channel.list"))[0].seen_at == shown


# One person, one conversation.


@pytest.mark.parametrize(
    ("senders", "addressed"),
    [
        # The number is preferred, as the platform recommends.
        ([{"phone": PHONE}, {"phone": PHONE, "scoped": SCOPED}, {"phone": None, "scoped": SCOPED}], PHONE),
        ([{"phone": PHONE}, {"phone": f"+{PHONE}"}, {"phone": PHONE}], PHONE),
        ([{"phone": None, "scoped": SCOPED}], SCOPED),
    ],
)
async def test_number_and_business_scoped_id_lead_to_one_conversation(
    phone: Phone, api: GraphApi, senders: list[dict[str, Any]], addressed: str
) -> None:
    for addresses in senders:
        await phone.say("hello", **addresses)
    await phone.until(*["sent"] * len(senders))
    assert len(await phone.conversations()) == 1
    assert {(message.to, "to" in message.body) for message in api.sent} == {(addressed, addressed == PHONE)}


async def test_the_contacts_add_the_address_that_the_message_leaves_out(phone: Phone, api: GraphApi) -> None:
    value = api.message("hello", at=phone.now, phone=PHONE, scoped=SCOPED)
    del value["messages"][0]["from_user_id"]
    value["contacts"].insert(0, {"wa_id": "905559999999", "user_id": "TR.9"})
    await api.deliver(value)
    await phone.say("again", phone=None, scoped=SCOPED)
    await phone.until("sent", "sent")
    assert len(await phone.conversations()) == 1


async def test_a_callback_costs_no_more_steps_than_it_has_elements(phone: Phone) -> None:
    looked_up = 0

    class Contact(dict[str, Any]):
        def get(self, *name: Any) -> Any:
            nonlocal looked_up
            looked_up += 1
            return super().get(*name)

    count = 2 * received.MOST_ELEMENTS
    value = {
        "metadata": {"phone_number_id": NUMBER},
        "contacts": [Contact(wa_id=f"9055500{number:05d}") for number in range(count)],
        "messages": [
            {"id": f"m{number}", "from": f"9055500{number:05d}", "timestamp": "1795176868", "type": "text", "text": {"body": "x"}}
            for number in range(count)
        ],
    }
    body = {"object": "whatsapp_business_account", "entry": [{"changes": [{"field": "messages", "value": value}]}]}
    channel = (await phone.services.channels.of_bot(phone.caller.bot))["whatsapp"]
    assert len(received.parse(body, channel, 1_795_176_868_000).messages) == received.MOST_ELEMENTS
    assert looked_up == 2 * received.MOST_ELEMENTS


@pytest.mark.parametrize("asked", ["older", "younger"])
async def test_two_conversations_of_one_person_go_on_in_the_older_one_and_are_erased_together(
    phone: Phone, api: GraphApi, caller: Caller, clock: FakeClock, asked: str
) -> None:
    await phone.say("a stranger", phone="905550000001")
    await phone.say("by number", phone=PHONE)
    clock.advance(60)
    await phone.say("by id", phone=None, scoped=SCOPED)
    await api.until(lambda: len(api.sent) == 3)
    clock.advance(60)
    older = (await phone.conversations())[1]
    await phone.say("by both", phone=PHONE, scoped=SCOPED)
    clock.advance(60)
    await phone.say("by id again", phone=None, scoped=SCOPED)
    await api.until(lambda: len(api.sent) == 5)
    latest, younger, _ = await phone.conversations()
    assert latest.id == older.id
    assert [message.content for message in (await phone.thread()).messages if message.role == "user"] == [
        "by number",
        "by both",
        "by id again",
    ]
    # The younger one keeps its words, and an operator still reaches its visitor.
    await perform(phone.services, ADMIN, "conversation.reply", {"conversation": younger.id, "text": "Selin here."})
    await api.until(lambda: len(api.sent) == 6)
    assert api.sent[-1].to == SCOPED
    done = await conversations.erase(
        phone.services, ADMIN, user_id=(older if asked == "older" else younger).user_id, bot=await caller.chatbot()
    )
    assert (done.erased.conversations, done.erased.messages) == (2, 9)
    assert await rows(caller, "SELECT value FROM whatsapp_addresses") == 905550000001
    assert [conversation.message_count for conversation in await phone.conversations()] == [2]


async def test_a_changed_number_leads_to_the_same_conversation(phone: Phone, api: GraphApi) -> None:
    await phone.say("before")
    await phone.until("sent")
    system = {"body": "Selin changed", "wa_id": "905557778899", "type": "user_changed_number"}
    await phone.say(type="system", system=system, phone="905550000000")  # of somebody unknown
    await phone.say(type="system", system=system)
    await phone.say("after", phone="905557778899")
    await api.until(lambda: len(api.sent) == 2)
    assert [message.to for message in api.sent] == [PHONE, "905557778899"]
    assert len(await phone.conversations()) == 1
    # The old number may be somebody else's by now.
    await phone.say("a stranger")
    await api.until(lambda: len(api.sent) == 3)
    assert len(await phone.conversations()) == 2


async def test_an_erased_visitor_is_forgotten_and_a_repeat_stores_nothing(phone: Phone, api: GraphApi, caller: Caller) -> None:
    value = api.message("hello", at=phone.now, scoped=SCOPED)
    await api.deliver(value)
    await phone.until("sent")
    (conversation,) = await phone.conversations()
    done = await conversations.erase(phone.services, ADMIN, user_id=conversation.user_id, bot=await caller.chatbot())
    assert (done.erased.conversations, done.erased.messages) == (1, 2)
    await api.deliver(value)
    await api.deliver(api.status(api.sent[0], "read"))
    for table in ("messages", "conversations", "whatsapp_addresses"):
        assert await rows(caller, f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # a table of this test
    await phone.say("new words")
    await phone.until("sent")
    assert (await phone.conversations())[0].user_id != conversation.user_id


async def test_erasing_a_visitor_leaves_the_next_owner_of_the_number(phone: Phone, api: GraphApi, caller: Caller) -> None:
    await phone.say("before")
    await phone.until("sent")
    await phone.say(type="system", system={"body": "changed", "wa_id": "905557778899", "type": "user_changed_number"})
    await phone.say("a stranger")
    await api.until(lambda: len(api.sent) == 2)
    stranger, first = await phone.conversations()
    done = await conversations.erase(phone.services, ADMIN, user_id=first.user_id, bot=await caller.chatbot())
    assert done.erased.conversations == 1
    assert [conversation.id for conversation in await phone.conversations()] == [stranger.id]


# The owner's own phone.


async def test_the_owners_own_phone_takes_the_conversation(phone: Phone, api: GraphApi, engine: ScriptedEngine, clock: FakeClock) -> None:
    await phone.say("hello")
    await phone.until("sent")
    echo = api.echo("Good morning, this is Ada.", at=phone.now)
    await api.deliver(echo, times=3)
    await phone.say("Thank you")
    thread = await phone.thread()
    assert (thread.conversation.handling, thread.conversation.operator_name) == ("operator", "phone")
    assert [(message.role, message.content, message.author) for message in thread.messages] == [
        ("user", "hello", None),
        ("assistant", "echo: hello", None),
        ("operator", "Good morning, this is Ada.", "phone"),
        ("user", "Thank you", None),
    ]
    assert (len(engine.turns), len(api.sent)) == (1, 1)
    clock.advance(31 * 60)
    assert await handling.return_overdue(phone.services) == 1


async def test_an_old_echo_and_the_services_own_messages_take_nothing(phone: Phone, api: GraphApi) -> None:
    await phone.say("hello")
    await phone.until("sent")
    await api.deliver(api.echo("echo: hello", at=phone.now, key=api.sent[0].id))
    await api.deliver(api.echo("of an hour ago", at=phone.now - 3600))
    thread = await phone.thread()
    assert (thread.conversation.handling, [message.role for message in thread.messages]) == ("bot", ["user", "assistant", "operator"])


async def test_an_echo_begins_a_conversation_and_an_operator_keeps_theirs(phone: Phone, api: GraphApi) -> None:
    await api.deliver(api.echo("We have a room for you.", at=phone.now))
    await phone.say("Great")
    (conversation,) = await phone.conversations()
    assert (conversation.handling, conversation.message_count) == ("operator", 2)
    await perform(phone.services, ADMIN, "conversation.release", {"conversation": conversation.id})
    await perform(phone.services, ADMIN, "conversation.take", {"conversation": conversation.id})
    await api.deliver(api.echo("By phone", at=phone.now))
    (conversation,) = await phone.conversations()
    assert conversation.operator_name == "root"


# The team.


async def test_outside_of_the_24_hours_an_operator_is_told_before_writing(phone: Phone, api: GraphApi, clock: FakeClock) -> None:
    await phone.say("hello")
    await phone.until("sent")
    (conversation,) = await phone.conversations()
    written_at = phone.now * 1000
    clock.advance(DAY - 1)
    await perform(phone.services, ADMIN, "conversation.reply", {"conversation": conversation.id, "text": "Selin here."})
    await phone.until("sent", "sent")
    clock.advance(1)
    shown = await perform(phone.services, ADMIN, "conversation.view", {"conversation": conversation.id})
    assert shown.writable_until == written_at + DAY * 1000
    with pytest.raises(Refused, match="channel_window_closed"):
        await perform(phone.services, ADMIN, "conversation.reply", {"conversation": conversation.id, "text": "Still there?"})
    # The bot takes the conversation back without a word that could not be sent.
    await perform(phone.services, ADMIN, "conversation.release", {"conversation": conversation.id})
    assert ((await phone.thread()).conversation.handling, len(await phone.messages())) == ("bot", 3)
    assert shown.address == ("phone", PHONE)
    await phone.say("I am back")
    await perform(phone.services, ADMIN, "conversation.reply", {"conversation": conversation.id, "text": "So am I."})
    await api.until(lambda: "So am I." in api.texts())


async def test_usage_shows_what_was_sent_this_month(phone: Phone, caller: Caller) -> None:
    async def usage() -> list[tuple[int, int, int | None]]:
        entries = await perform(phone.services, ADMIN, "usage.sends", {"account": caller.account})
        shown = [RENDERERS["usage.sends"](entry) for entry in entries]
        assert [(entry["bot"], entry["beyond_free"]) for entry in shown] == [(entry.bot_id, entry.beyond) for entry in entries]
        return [(entry.sent, entry.beyond, entry.limit) for entry in entries]

    assert await usage() == [(0, 0, None)]
    await phone.say("hello")
    await phone.until("sent")
    await phone.set(monthly_limit=1500)
    await execute(caller.app, "UPDATE whatsapp_sends SET sent = sent + 1200")
    assert await usage() == [(1201, 201, 1500)]
    await phone.set(monthly_limit="")
    await phone.act("channel.remove", channel="whatsapp")
    assert await usage() == [(1201, 201, None)]


@pytest.mark.sqlite  # doctor reads the file
async def test_doctor_names_a_callback_that_is_not_called(phone: Phone, api: GraphApi, caller: Caller) -> None:
    async def codes() -> list[tuple[str, Any]]:
        examined = await perform(phone.services, ADMIN, "doctor.run", {})
        return [(finding.code, finding.facts.get("days")) for finding in examined.findings if finding.name == "channels"]

    assert await codes() == [("channel_unverified", None)]
    now = int(time.time() * 1000)
    await execute(caller.app, f"UPDATE channels SET verified_at = {now}")  # noqa: S608  # a number
    assert await codes() == []
    await execute(caller.app, f"UPDATE channels SET verified_at = {now - 9 * DAY * 1000}")  # noqa: S608  # a number
    assert await codes() == [("channel_silent", 9)]
    await execute(caller.app, f"UPDATE channels SET seen_at = {now - 6 * DAY * 1000}")  # noqa: S608  # a number
    assert await codes() == []
    api.token = "another token: this one was revoked"
    assert await codes() == [("channel_token_refused", None)]


# Faults.


async def test_a_broken_request_is_refused_and_not_echoed(phone: Phone, caller: Caller) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", caller.app.port)
    head = f"POST /channels/whatsapp/{caller.bot} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"
    writer.write(head.encode())
    answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert caller.bot.encode() not in answer
    writer.close()


async def test_the_store_may_fail_around_a_message_that_is_not_lost(phone: Phone, api: GraphApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_RETRY_S", 0.05)
    with monkeypatch.context() as patched:
        patched.setattr(platforms, "address", unavailable)
        await phone.say("one")
        async with asyncio.timeout(30):
            while [message.error for message in await phone.messages()] != [None, "store_unavailable"]:  # noqa: ASYNC110  # of the store
                await asyncio.sleep(0.01)
    await phone.until("sent")
    with monkeypatch.context() as patched:
        patched.setattr(platforms, "release_send", unavailable)
        patched.setattr(OpenChannels, "note_fault", unavailable)
        api.token = "another"
        await phone.say("two")
        assert (await phone.until("sent", "failed"))[1][2] == "whatsapp_190"
    assert api.texts() == ["echo: one"]


async def test_a_message_to_a_visitor_without_an_address_fails(phone: Phone, api: GraphApi, caller: Caller) -> None:
    await phone.say("one")
    await phone.until("sent")
    await execute(caller.app, "DELETE FROM whatsapp_addresses")
    (conversation,) = await phone.conversations()
    await perform(phone.services, ADMIN, "conversation.reply", {"conversation": conversation.id, "text": "Hello?"})
    assert (await phone.until("sent", "failed"))[1][2] == "visitor_unknown"
    assert await rows(caller, "SELECT sent FROM whatsapp_sends") == 1


async def test_an_erased_account_takes_nothing(phone: Phone, api: GraphApi, caller: Caller) -> None:
    await execute(caller.app, "UPDATE accounts SET deleted_at = 5")
    # The caches of a process that works alone still know the account; several read it anew and know the bot no more.
    status = await api.post(api.body(api.message(at=phone.now), api.echo("Hello", at=phone.now)))
    assert status == (404 if RUNNING else 200)
    for table in ("messages", "whatsapp_addresses", "incoming_keys"):
        assert await rows(caller, f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # a table of this test


@pytest.mark.parametrize("broken", [{"value": "x"}, {"kind": "e-mail"}, {"kind": "scoped"}])
def test_an_address_that_cannot_be_is_not_imported(broken: dict[str, str]) -> None:
    ids, now = dict.fromkeys(("bot_id", "conversation_id"), str(uuid4())), int(time.time() * 1000)
    record = {**ids, "kind": "phone", "value": PHONE, "is_current": True, "created_at": now}
    assert checked("whatsapp_address", record, now) == record
    with pytest.raises(Refused):
        checked("whatsapp_address", {**record, **broken}, now)


async def test_a_visitor_is_found_and_exported_with_the_phone_number(phone: Phone, api: GraphApi, caller: Caller) -> None:
    await phone.say("hello", scoped=SCOPED)
    await phone.say("good day", phone="905559998877")
    await phone.until("sent")
    listed = await phone.conversations()
    (sought,) = [conversation for conversation in listed if (await whatsapp_phone(phone, conversation.id)) == f"+{PHONE}"]
    for q in ("0555 111 22 33", "+90 555 111 22 33", PHONE, "5551112233", SCOPED):
        page = await perform(phone.services, ADMIN, "conversation.list", {"q": q})
        assert [conversation.id for conversation in page.items] == [sought.id], q
    exported = transcripts(await perform(phone.services, ADMIN, "conversation.export", {"bot": caller.bot}))["parts"]
    single = transcripts(await perform(phone.services, ADMIN, "conversation.export", {"conversation": sought.id}))["parts"]
    assert isinstance(exported, list)
    assert isinstance(single, list)
    assert sorted(line["conversation"]["visitor_phone"] for line in exported) == [f"+{PHONE}", "+905559998877"]
    assert [line["conversation"]["visitor_phone"] for line in single] == [f"+{PHONE}"]
    assert f",+{PHONE}" in "".join(conversation.write("csv", [single])).replace("'", "")
    assert api.texts()


async def whatsapp_phone(phone: Phone, conversation: str) -> object:
    """The visitor's number as `conversation show` has it."""
    return thread(await perform(phone.services, ADMIN, "conversation.show", {"conversation": conversation}))["visitor_phone"]
