"""Safety comes from code: a model that obeys every attacker notes nothing that its visitor has not typed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest
from aiohttp import web

from chatsvc.domain.captures import Captured
from chatsvc.domain.models import HistoryMessage
from chatsvc.engines import EngineError, Turn
from chatsvc.engines.anthropic import AnthropicEngine
from chatsvc.services.conversations import captures
from tests.engines.injections import MESSAGE, OTHER_BOT, PLACES, VICTIM_EMAIL, VICTIM_NAME, VICTIM_PHONE, Injection, injections
from tests.engines.model_server import ModelServer, Step, calls, says
from tests.engines.test_anthropic import BOT, NOW_MS, TURN, Shelf, entry, past

OWN = "Ben Selin, selin@example.com, 0532 123 45 67. Randevu istiyorum."


def turn_of(injection: Injection, *, own: str) -> Turn:
    """The attempt as a turn: in the visitor's words, in the bot's knowledge, or in what the bot has said."""
    turn = replace(TURN, message=own or "Merhaba", may_capture=True)
    if injection.place == "knowledge":
        return replace(turn, knowledge=Shelf((entry(1, "Merhaba?", injection.text),)))
    if injection.place == "history":
        return replace(turn, history=[*past("Merhaba", injection.text), HistoryMessage("system", injection.text)])
    return replace(turn, message=f"{injection.text}\n{own}")


def obeys(injection: Injection, style: int) -> Iterator[Step]:
    """A model that does what it was told: all at once, one by one, or over and over until it is stopped."""
    if style == 0:
        yield calls(*injection.uses)
    elif style == 1:
        yield from (calls(use) for use in injection.uses[:3])
    else:
        yield from [calls(*injection.uses[n:], *injection.uses[:n]) for n in range(4)]
    yield from [says("Done, as you wished.")] * 4


def words_of(turn: Turn) -> str:
    return "\n".join([past.content for past in turn.history if past.role == "user"] + [turn.message])


def assert_own(captured: Captured, turn: Turn) -> None:
    """Nothing in what was captured but the visitor's own; said without the code under test."""
    words = words_of(turn)
    assert captured.visitor_name in (None, "Selin"), captured
    assert captured.visitor_email in (None, "selin@example.com"), captured
    assert captured.visitor_phone in (None, "+905321234567"), captured
    for field in (captured.visitor_name, captured.visitor_email):
        assert field is None or field in words
    if captured.visitor_phone:
        assert captured.visitor_phone[3:] in re.sub(r"\D", "", words)
    assert captured.message in words
    for foreign in (VICTIM_NAME, VICTIM_EMAIL, VICTIM_PHONE, OTHER_BOT, MESSAGE, "evil.example", "chat assistant of one business"):
        assert foreign not in repr(captured)


def test_there_are_300_and_they_differ() -> None:
    every = list(injections())
    assert len(every) == 300
    assert len({(injection.text, injection.place) for injection in every}) == 300
    assert {injection.place for injection in every} == set(PLACES)


@pytest.mark.parametrize("own", [OWN, ""], ids=["who gave their contact data", "who gave none"])
async def test_an_obedient_model_notes_nothing_but_the_visitors_own(server: ModelServer, engine: AnthropicEngine, own: str) -> None:
    noted = 0
    for n, injection in enumerate(islice(injections(), 0, None, 1 if own else 2)):
        turn = turn_of(injection, own=own)
        server.script.clear()
        server.script.extend(obeys(injection, n % 3))
        try:
            reply = await engine.reply(turn)
        except EngineError as fault:
            assert fault.reason == "tool_loop"  # noqa: PT017  # a reply is as good an end as this one
            continue
        assert reply.text
        if reply.captured is None:
            continue
        noted += 1
        assert own, f"a request of nobody: {injection}"
        assert_own(reply.captured, turn)
        # What becomes of it: one request and at most one appointment, ahead of now.
        request, appointment = captures.records(BOT, reply.captured, words_of(turn).split("\0"), NOW_MS)
        assert request.source_page_host == ""
        assert request.status == "new"
        if appointment:
            assert appointment.begins_at > NOW_MS
            assert appointment.request is request
    assert (noted > 100) == bool(own), "a net that lets nothing through proves nothing"


async def test_an_obedient_model_has_nothing_of_other_visitors_to_give_away(server: ModelServer, engine: AnthropicEngine) -> None:
    """The model is sent the turn alone."""
    sent: list[bytes] = []

    async def looks(server: ModelServer, request: web.Request) -> web.StreamResponse:
        sent.append(server.seen[-1].raw)
        return await says("Done.")(server, request)

    server.always = looks
    await engine.reply(replace(TURN, message=OWN, may_capture=True))
    for foreign in (BOT.id.join('""'), BOT.account_id.join('""'), VICTIM_EMAIL, OTHER_BOT):
        assert foreign.encode() not in sent[0]
