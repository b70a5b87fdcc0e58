"""Attempts to deliver: the exact request and the answer that are kept, filters over all bots, and sending again."""

import itertools
from typing import Any

import pytest

from chatsvc.domain import actors
from chatsvc.domain import webhooks as signing
from chatsvc.domain.actors import Actor, Role, Scope
from chatsvc.domain.refusals import Refused
from chatsvc.domain.webhooks import AttemptDetail
from chatsvc.outbound.webhook import KEPT_BYTES
from chatsvc.services.accounts import bots, webhooks
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, ScriptedEngine
from tests.webhooks.receiver import OK, Receiver, hang, trickle
from tests.webhooks.support import BOTH, CALL_ME, attempts, captures, headers, hook, settled, url

FAILS = b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nbusy"


async def detail(caller: Caller) -> AttemptDetail:
    """Send a test and show the attempt."""
    attempt = await webhooks.test(caller.app.services, ADMIN, bot=await caller.chatbot())
    return await webhooks.attempt(caller.app.services, ADMIN, attempt=attempt.id)


async def test_the_request_is_shown_as_it_was_sent(caller: Caller, receiver: Receiver) -> None:
    key = await hook(caller, receiver)
    shown = await detail(caller)
    assert list(shown.headers.items()) == list(headers(receiver.heads[0]).items())
    assert shown.body == receiver.bodies[0]
    assert signing.verify(key, shown.body, shown.headers["X-Service-Signature"])
    assert (shown.answer, shown.attempt.bot_id, shown.was_sent) == (b"ok", caller.bot, True)


@pytest.mark.parametrize("length", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
async def test_the_beginning_of_a_long_answer_is_kept(caller: Caller, receiver: Receiver, length: str) -> None:
    content = b"<script>" + b"x" * 99_992
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content) if "chunked" in length else content
    receiver.answer = b"HTTP/1.1 418 No\r\n%b\r\n\r\n%b" % (length.encode(), body)
    await hook(caller, receiver)
    shown = await detail(caller)
    assert shown.answer == content[:KEPT_BYTES]
    assert (shown.attempt.status_code, shown.attempt.error) == (418, "http_status")
    # The connection is of no more use: the next delivery has its own.
    receiver.answer = OK
    assert (await detail(caller)).answer == b"ok"


async def test_of_an_answer_that_does_not_end_is_kept_what_came_in_time(
    caller: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsvc.outbound.webhook.BODY_S", 0.2)
    receiver.answer = trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nbegins", every_s=0.05)
    await hook(caller, receiver)
    shown = await detail(caller)
    assert shown.attempt.success
    assert (shown.answer or b"").startswith(b"begins")


async def test_what_was_not_sent_is_told_apart(caller: Caller, receiver: Receiver) -> None:
    receiver.answer = hang
    await hook(caller, receiver)
    await webhooks.put(caller.app.services, ADMIN, bot=await caller.chatbot(), url="https://127.0.0.1:1025/", events=BOTH)
    shown = await detail(caller)
    assert (shown.attempt.error, shown.was_sent, shown.answer) == ("connect_failed", False, None)
    assert shown.headers["Host"] == "127.0.0.1:1025"


async def furnished(make_caller: MakeCaller, engine: ScriptedEngine, receiver: Receiver) -> tuple[Caller, Caller]:
    """Two bots of one account with three failed and three delivered attempts each."""
    first = await make_caller()
    services = first.app.services
    other = await bots.create(services, ADMIN, name="Other", account=first.account, model="scripted")
    second = Caller(first.app, first.session, first.account, other.id, first.key)
    captures(engine, CALL_ME)
    for caller in (first, second):
        await hook(caller, receiver)
        for number, answer in enumerate((FAILS, OK) * 3):
            receiver.answer = answer
            await caller.send("Ben Selin, selin@example.com", f"v{number}")
            await settled(caller, number + 1)
    return first, second


async def test_attempts_of_all_bots_are_filtered_and_paged(make_caller: MakeCaller, engine: ScriptedEngine, receiver: Receiver) -> None:
    first, second = await furnished(make_caller, engine, receiver)
    await webhooks.test(first.app.services, ADMIN, bot=await first.chatbot())
    everything = [(caller.bot, attempt) for caller in (first, second) for attempt in await attempts(caller)]
    owner = actors.Caller(Actor("operator", "7", "Ada"), Scope({first.account: Role.OWNER}), "web")
    outcomes: dict[str | None, tuple[bool | None, ...]] = {"delivered": (True,), "failed": (False,), "in_flight": (None,)}
    outcomes[None] = True, False, None

    async def ids(limit: int, **filters: Any) -> list[str]:
        collected, after = list[str](), None
        while True:
            page = await webhooks.attempts(first.app.services, owner, limit=limit, after=after, **filters)
            collected += [attempt.id for attempt in page.items]
            after = page.next
            if after is None:
                return collected

    chatbots = [await first.chatbot(), await second.chatbot()]
    for bot, status, event in itertools.product((None, *chatbots), outcomes, (None, "webhook.test")):
        filters = {name: value for name, value in (("bot", bot), ("status", status), ("event", event)) if value}
        expected = {
            attempt["id"]
            for bot_id, attempt in everything
            if (bot is None or bot.id == bot_id) and event in (None, attempt["event"]) and attempt["success"] in outcomes[status]
        }
        listed = await ids(4, **filters)
        assert (set(listed), len(listed)) == (expected, len(expected)), filters
        assert listed == await ids(100, **filters)
    stranger = actors.Caller(Actor("operator", "8", "Eve"), Scope({"another": Role.OWNER}), "web")
    assert (await webhooks.attempts(first.app.services, stranger)).items == []
    for wrong in ({"status": "odd"}, {"event": "odd"}):
        with pytest.raises(Refused, match="unknown"):
            await webhooks.attempts(first.app.services, owner, **wrong)  # type: ignore[arg-type]  # mypy matches all parameters


async def test_what_failed_is_sent_again_over_all_bots_of_the_scope(
    make_caller: MakeCaller, engine: ScriptedEngine, receiver: Receiver
) -> None:
    first, second = await furnished(make_caller, engine, receiver)
    stranger = await make_caller()
    receiver.answer = FAILS
    await hook(stranger, receiver)
    await stranger.send("Ben Selin, selin@example.com", "v")
    await settled(stranger, 1)
    receiver.answer = OK
    owner = actors.Caller(Actor("operator", "7", "Ada"), Scope({first.account: Role.OWNER}), "web")
    services = first.app.services
    page = await webhooks.resend_failed(services, owner, since="2026-01-01", limit=4)
    assert (len(page.attempts), page.left) == (4, 2)
    page = await webhooks.resend_failed(services, owner, since="2026-01-01", limit=4, after=page.next or 0)
    assert (len(page.attempts), page.left, page.next) == (2, 0, None)
    for caller in (first, second):
        sent = await attempts(caller)
        assert [attempt["success"] for attempt in sent] == [False, True] * 3 + [True] * 3
        assert {attempt["record_id"] for attempt in sent[-3:]} == {attempt["record_id"] for attempt in sent[:6:2]}
    assert len(await attempts(stranger)) == 1
    assert url(receiver)
