"""HTTP itself, over raw sockets: what is broken gets the JSON of the interface and a closed connection, and nothing of it is logged."""

import asyncio
import json
import logging
import time
from collections.abc import Callable

import pytest

from chatsvc.api import interface
from chatsvc.app import App
from chatsvc.domain import errors
from chatsvc.web import connection
from tests.api.conftest import Connect
from tests.api.support import Wire, assert_headers, envelope, names, request, standing, until
from tests.conftest import Caller
from tests.fakes import ScriptedEngine

LATE = ("Gövde zamanında gelmedi.", "The body did not arrive in time.")
BROKEN = ("Gövde eksik ya da bozuk geldi.", "The body arrived incomplete or broken.")
CHATBOTS = "GET /api/v2/chatbots HTTP/1.1\r\nHost: x\r\n"
MESSAGES = "POST /api/v2/messages HTTP/1.1\r\nHost: x\r\n"
KEY = "Authorization: Bearer {key}\r\n"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that waits for nobody for long."""
    monkeypatch.setattr(connection, "SILENT_TIMEOUT_S", 0.3)
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 0.3)
    monkeypatch.setattr(connection, "KEEPALIVE_S", 1.0)
    monkeypatch.setattr(connection, "LINGER_S", 0.3)
    monkeypatch.setattr(interface, "BODY_TIMEOUT_S", 0.3)


def _message(caller: Caller) -> bytes:
    return json.dumps({"chatbot_id": caller.bot, "message": "hello", "user_id": "v"}).encode()


NO_HTTP = {
    "no HTTP at all": "hello {key}\r\n\r\n",
    "a handshake of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 64,
    "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a response": "HTTP/1.1 200 OK\r\n" + KEY + "\r\n",
    "a method in lower case": "get /api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "an unknown method": "FETCH /api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "no version": "GET /api/v2/chatbots\r\n\r\n",
    "HTTP/0.9": CHATBOTS.replace("1.1", "0.9") + KEY + "\r\n",
    "HTTP/2.0 in words": CHATBOTS.replace("1.1", "2.0") + KEY + "\r\n",
    "a space in the target": "GET /api/v2/{key} x HTTP/1.1\r\nHost: x\r\n\r\n",
    "a control character in the target": "GET /api/v2/\x01{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the target": "GET /api/v2/\xff{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "UTF-8 in the target": "GET /api/v2/\xc5\x9f{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target without a slash": "GET api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "no target": "GET HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "a bad host in the target": "GET http://[::1/{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET *": "GET * HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "no Host": "GET /api/v2/chatbots HTTP/1.1\r\n" + KEY + "\r\n",
    "a line without a colon": CHATBOTS + KEY + "{key}\r\n\r\n",
    "a space before the colon": CHATBOTS + "Authorization : Bearer {key}\r\n\r\n",
    "a folded line": CHATBOTS + "Authorization: Bearer\r\n {key}\r\n\r\n",
    "bytes in a name": CHATBOTS + KEY + "X-\xc3\xbc: {key}\r\n\r\n",
    "NUL in a value": CHATBOTS + "Authorization: Bearer {key}\x00\r\n\r\n",
    "a control character in a value": CHATBOTS + "Authorization: Bearer \x01{key}\r\n\r\n",
    "line feeds alone": (CHATBOTS + KEY + "\r\n").replace("\r", ""),
    "a target too long": "GET /api/v2/{key}" + "a" * 9000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
    "a name too long": CHATBOTS + KEY + "X" * 9000 + ": {key}\r\n\r\n",
    "a value far too long": CHATBOTS + KEY + "X: {key}" + "a" * 200_000 + "\r\n\r\n",
    "too many headers": CHATBOTS + KEY + "".join(f"X-{n}: {{key}}\r\n" for n in range(200)) + "\r\n",
    "a head of more than 32 KiB": CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(9)) + "\r\n",
    "a head of more than 32 KiB that never ends": CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(9)),
    "a length and chunks": MESSAGES + KEY + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": MESSAGES + KEY + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello{key}",
    "the same length twice": MESSAGES + KEY + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello{key}",
    "a signed length": MESSAGES + KEY + "Content-Length: +5\r\n\r\nhello{key}",
    "a length that is no number": MESSAGES + KEY + "Content-Length: {key}\r\n\r\nhello",
    "a length beyond all bounds": MESSAGES + KEY + "Content-Length: 99999999999999999999999\r\n\r\nhello{key}",
    "an unknown transfer coding": MESSAGES + KEY + "Transfer-Encoding: {key}\r\n\r\nhello",
    "a transfer coding that is not the last": MESSAGES + KEY + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "chunked twice": MESSAGES + KEY + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


async def test_what_is_no_http_is_400_in_json_and_the_connection_is_closed_and_nothing_of_it_is_echoed_or_logged(
    caller: Caller, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name, sent in NO_HTTP.items():
        caplog.clear()
        wire = await connect()
        await wire.send(sent.replace("{key}", caller.key))
        answer = await wire.answer()
        assert (answer.status, answer.json) == (400, envelope("invalid_json", errors.because("head"))), name
        assert_headers(answer, limit=100_000, remaining=100_000, also={"Connection": "close"})
        assert await wire.is_closed()
        assert caller.key not in f"{caplog.text} {dict(answer.headers)}"
        assert caller.key[10:] not in repr([vars(record) for record in caplog.records])
        (record,) = [record for record in caplog.records if record.name.startswith("chatsvc")]
        assert record.levelno == logging.INFO
        assert answer.headers["X-Request-Id"] in record.getMessage()
        assert not [record for record in caplog.records if record.name.startswith("aiohttp")]


async def test_the_request_behind_broken_http_is_never_looked_at(caller: Caller, connect: Connect, engine: ScriptedEngine) -> None:
    for broken in ("junk\r\n\r\n", "", "0\r\n\r\n"):
        wire = await connect()
        head = MESSAGES + f"Authorization: Bearer {caller.key}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        await wire.send(broken.encode() + head.encode() + request("POST", "/api/v2/messages", caller, body=_message(caller)))
        assert (await wire.answer()).error == "invalid_json"
        assert await wire.is_closed()
    assert engine.turns == []


async def test_what_is_unusual_but_right_is_answered(caller: Caller, connect: Connect) -> None:
    for sent in (
        CHATBOTS + KEY + "".join(f"X-{n}: a\r\n" for n in range(100)) + "\r\n",
        CHATBOTS + KEY + "X: " + "a" * 8000 + "\r\n\r\n",
        CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(7)) + "\r\n",
        CHATBOTS + KEY + "X-Empty:\r\nX-Bytes: \xfc\xff\r\n\r\n",
        CHATBOTS.replace("/chatbots", "/chatbots?x=" + "a" * 8000) + KEY + "\r\n",
        "\r\n\r\n" + CHATBOTS + KEY + "\r\n",
        *(CHATBOTS + KEY + f"Expect: {expectation}\r\n\r\n" for expectation in ("x", "200-ok", "100-continue, x", "")),
    ):
        wire = await connect()
        await wire.send(sent.replace("{key}", caller.key))
        assert (await wire.answer()).status == 200


# -- bodies -------------------------------------------------------------------------------------------------------------


async def test_a_chunked_body_is_read_whole(caller: Caller, connect: Connect) -> None:
    body = _message(caller)
    pieces = [body[:1], body[1:7], body[7:]]
    chunks = b"".join(b"%x;name=value\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nX-Trailer: x\r\n\r\n"
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, "Transfer-Encoding: chunked") + chunks)
    assert (await wire.answer()).json["data"]["message"] == "hello"


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
async def test_what_stands_in_a_trailer_is_no_header_of_another_request(version: str, caller: Caller, connect: Connect) -> None:
    wire, chunked = await connect(), ("Transfer-Encoding: chunked", "Connection: keep-alive")
    body = b"0\r\nX-Trailer: x\r\n" + f"Authorization: Bearer {caller.key}\r\n\r\n".encode()
    await wire.send(request("GET", "/api/v2/chatbots", caller, *chunked, version=version) + body + request("GET", "/api/v2/chatbots"))
    answer = await wire.answer()
    assert (answer.status, answer.headers["Connection"]) == (200, "close")
    assert await wire.is_closed()


@pytest.mark.parametrize("in_pieces", [True, False])
async def test_a_body_whose_chunks_break_is_refused_and_closed(
    in_pieces: bool, app: App, caller: Caller, connect: Connect, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    for broken in ("zz\r\nhello\r\n", "2\r\nhello\r\n", "\r\n\r\n", "f" * 18 + "\r\n", "5;\x00\r\nhello\r\n", "0\r\n {key}\r\n\r\n"):
        wire = await connect()
        begun = request("POST", "/api/v2/messages", caller, "Transfer-Encoding: chunked") + b"5\r\n{    \r\n"
        if in_pieces:
            app.services.account_cache.key_uses.clear()
            await wire.send(begun)
            await until(lambda: bool(app.services.account_cache.key_uses))
        await wire.send(begun * (not in_pieces) + broken.replace("{key}", caller.key).encode() + caller.key.encode())
        answer = await wire.answer()
        assert (answer.error, answer.headers["Connection"]) == ("invalid_json", "close")
        assert await wire.is_closed()
    assert engine.turns == []
    assert caller.key not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_body_that_does_not_arrive_in_time_is_400_and_closed(caller: Caller, connect: Connect) -> None:
    async def late(line: str, begun: bytes, *, drips: bool = False) -> int:
        wire = await connect()
        await wire.send(request("POST", "/api/v2/messages", caller, line) + begun)
        began = time.monotonic()
        dripping = asyncio.create_task(_drip(wire)) if drips else None
        answer = await wire.answer()
        if dripping:
            dripping.cancel()
        assert 0.25 < time.monotonic() - began < 20
        assert answer.status == 400
        assert answer.json == envelope("invalid_json", LATE)
        remaining = standing(answer)[1]
        assert_headers(answer, limit=100_000, remaining=remaining, also={"Connection": "close"})
        assert await wire.is_closed()
        return remaining

    lines = ("Content-Length: 500", "Transfer-Encoding: chunked")
    several = [late(line, begun) for line in lines for begun in (b"", b'5\r\n{"mes\r\n')]
    assert sorted(await asyncio.gather(*several, late(lines[0], b"", drips=True))) == list(range(99_995, 100_000))


async def test_a_body_behind_a_slow_answer_is_read_when_it_is_its_turn(caller: Caller, connect: Connect, engine: ScriptedEngine) -> None:
    wire, body = await connect(), _message(caller)
    engine.delay_s = 0.1
    expecting = request("POST", "/api/v2/messages", caller, "Expect: 100-continue", f"Content-Length: {len(body)}")
    await wire.send(request("POST", "/api/v2/messages", caller, body=body) + expecting)
    assert (await wire.answer()).status == 200
    assert (await wire.answer()).status == 100
    await wire.send(body)
    assert (await wire.answer()).status == 200


async def test_a_body_that_breaks_behind_a_slow_answer_is_refused(caller: Caller, connect: Connect, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller)))
    await until(lambda: bool(engine.turns))
    await wire.send(request("POST", "/api/v2/messages", caller, "Transfer-Encoding: chunked") + b"5\r\n{    \r\n")
    await asyncio.sleep(0.05)
    await wire.send("zz\r\n")
    engine.gate.set()
    assert (await wire.answer()).status == 200
    assert (await wire.answer()).error == "invalid_json"
    assert await wire.is_closed()


async def test_a_large_body_that_nobody_reads_is_skipped_even_behind_a_slow_answer(
    caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    engine.delay_s = 0.1
    wire = await connect()
    large = request("GET", "/api/v2/chatbots", caller, body=b"x" * 300_000)
    sending = asyncio.create_task(wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller)) + large * 5))
    assert [(await wire.answer()).status for _ in range(6)] == [200] * 6
    await sending


async def _drip(wire: Wire) -> None:
    while True:
        await wire.send(b" ")
        await asyncio.sleep(0.05)


async def test_whoever_expects_100_continue_gets_it_once_the_gates_are_passed(caller: Caller, connect: Connect) -> None:
    wire, body = await connect(), _message(caller)
    await wire.send(request("POST", "/api/v2/messages", caller, "Expect: 100-Continue", f"Content-Length: {len(body)}"))
    assert (await wire.line(), await wire.line()) == (b"HTTP/1.1 100 Continue\r\n", b"\r\n")
    await wire.send(body)
    answer = await wire.answer()
    assert answer.json["data"]["message"] == "hello"
    assert_headers(answer, limit=100_000, remaining=99_999)
    await wire.send(request("GET", "/api/v2/chatbots", caller))
    assert (await wire.answer()).status == 200
    # A client of HTTP/1.0 does not know it.
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, "Expect: 100-continue", body=body, version="HTTP/1.0"))
    assert await wire.line() == b"HTTP/1.0 200 OK\r\n"


async def test_whoever_expects_100_continue_and_is_refused_is_told_at_once(caller: Caller, connect: Connect) -> None:
    async def refused(head: bytes, error: str) -> None:
        wire = await connect()
        await wire.send(head)
        assert (await wire.answer()).error == error
        assert await wire.is_closed()

    expects = ("Expect: 100-continue", "Content-Length: 100")
    too_large = ("Expect: 100-continue", "Content-Length: 65537")
    await asyncio.gather(
        refused(request("POST", "/api/v2/messages", None, *expects), "missing_api_key"),
        refused(request("POST", "/api/v2/nowhere", caller, *expects), "unknown_endpoint"),
        refused(request("PUT", "/api/v2/messages", caller, *expects), "method_not_allowed"),
        refused(request("POST", "/api/v2/messages", caller, *too_large), "message_too_long"),
    )


async def test_an_expected_body_that_is_not_read_is_not_taken_for_the_next_request(caller: Caller, connect: Connect) -> None:
    inner = request("GET", "/api/v2/analytics", caller)
    for method in ("GET", "DELETE"):
        wire = await connect()
        await wire.send(request(method, "/api/v2/chatbots/x", caller, "Expect: 100-continue", f"Content-Length: {len(inner)}"))
        answer = await wire.answer()
        assert answer.status in {404, 405}
        assert answer.headers["Connection"] == "close"
        await wire.send(inner)
        assert await wire.is_closed()


# -- heads that do not arrive -------------------------------------------------------------------------------------------


async def test_a_head_that_does_not_arrive_in_time_is_400_and_closed(caller: Caller, connect: Connect) -> None:
    async def late(begun: str, *, drips: bool = False, is_second: bool = False) -> None:
        wire = await connect()
        if is_second:
            await wire.send(request("GET", "/api/v2/chatbots", caller))
            assert (await wire.answer()).status == 200
        began = time.monotonic()
        await wire.send(begun)
        dripping = asyncio.create_task(_drip(wire)) if drips else None
        answer = await wire.answer()
        assert (answer.status, answer.json) == (400, envelope("invalid_json", errors.because("head")))
        assert answer.headers["Connection"] == "close"
        assert await wire.is_closed()
        assert 0.25 < time.monotonic() - began < 20
        if dripping:
            dripping.cancel()

    parts = ("G", "GET /api/v2/chatbots", CHATBOTS + "Authorization: Bearer csk_")
    await asyncio.gather(*map(late, parts), late("GET /api", is_second=True), late(f"{CHATBOTS}X: ", drips=True))


async def test_the_second_head_must_arrive_in_time_even_when_it_began_while_the_first_was_answered(
    caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    engine.gate = asyncio.Event()
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller)))
    await until(lambda: bool(engine.turns))
    await wire.send("GET /api/v2/chat")
    await asyncio.sleep(0.4)
    engine.gate.set()
    assert (await wire.answer()).status == 200
    assert (await wire.answer()).json == envelope("invalid_json", errors.because("head"))
    assert await wire.is_closed()


async def test_a_head_that_begins_in_the_packet_of_a_whole_request_must_arrive_in_time(
    caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "KEEPALIVE_S", 60)
    message = request("POST", "/api/v2/messages", caller, body=_message(caller))
    get = request("GET", "/api/v2/chatbots", caller)
    for whole, count in ((get, 1), (get + get, 2), (message, 1)):
        wire = await connect()
        await wire.send(whole + b"GET /api/v2/chat")
        for _ in range(count):
            assert (await wire.answer()).status == 200
        assert (await wire.answer()).json == envelope("invalid_json", errors.because("head"))
        assert await wire.is_closed()
        wire = await connect()
        await wire.send(whole + b"\r\n")  # a blank line begins no head
        for _ in range(count):
            assert (await wire.answer()).status == 200
        await asyncio.sleep(0.4)
        await wire.send(get)
        assert (await wire.answer()).status == 200


async def test_the_time_of_a_head_is_over_with_it_and_the_end_of_a_body_is_no_head(
    caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 1.0)
    monkeypatch.setattr(connection, "KEEPALIVE_S", 60)
    monkeypatch.setattr(interface, "BODY_TIMEOUT_S", 60)

    async def in_two_pieces(whole: bytes, cut: int) -> None:
        wire = await connect()
        for _ in range(2):
            await wire.send(whole[:cut])
            await asyncio.sleep(0.05)
            await wire.send(whole[cut:])
            assert (await wire.answer()).status == 200
        await asyncio.sleep(1.1)
        await wire.send(whole)
        assert (await wire.answer()).status == 200

    message = request("POST", "/api/v2/messages", caller, body=_message(caller))
    await asyncio.gather(in_two_pieces(request("GET", "/api/v2/chatbots", caller), 20), in_two_pieces(message, -20))


async def test_an_answer_may_take_longer_than_a_head(
    caller: Caller, connect: Connect, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 1.0)
    engine.delay_s = 1.1
    wire, whole = await connect(), request("POST", "/api/v2/messages", caller, body=_message(caller))
    await wire.send(whole[:30])
    await asyncio.sleep(0.05)
    await wire.send(whole[30:])
    assert (await wire.answer()).status == 200


async def test_a_connection_that_says_nothing_is_closed_without_a_word(app: App, caller: Caller, connect: Connect) -> None:
    silent, idle, blank = await connect(), await connect(), await connect()
    await idle.send(request("GET", "/api/v2/chatbots", caller))
    assert (await idle.answer()).status == 200
    await blank.send("\r\n")
    for wire in (silent, idle, blank):
        assert await wire.is_closed()


# -- unusual targets, versions and methods ------------------------------------------------------------------------------


async def test_a_connection_is_kept_or_closed_as_asked(caller: Caller, connect: Connect) -> None:
    for version, line, is_kept in (
        ("HTTP/1.1", "X: x", True),
        ("HTTP/1.1", "Connection: close", False),
        ("HTTP/1.0", "Connection: keep-alive", True),
        ("HTTP/1.0", "X: x", False),
    ):
        wire, whole = await connect(), request("GET", "/api/v2/chatbots", caller, line, version=version)
        await wire.send(whole)
        answer = await wire.answer()
        assert (answer.status, answer.headers.get("Connection") == "close") == (200, not is_kept)
        await wire.send(whole)
        assert (await wire.answer()).status == 200 if is_kept else await wire.is_closed()


async def test_a_target_may_have_the_absolute_form_and_one_without_a_path_is_no_endpoint(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    for origin in ("http://chat.example", "https://chat.example:8443", "http://user@chat.example"):
        await wire.send(request("GET", f"{origin}/api/v2/conversations?limit=7", caller))
        assert (await wire.answer()).json["pagination"]["limit"] == 7
        await wire.send(request("GET", f"{origin}/api/v2/nowhere?x=1", caller))
        assert (await wire.answer()).json["path"] == "/api/v2/nowhere"
    for method, target in (("OPTIONS", "*"), ("CONNECT", "chat.example:443")):
        await wire.send(request(method, target, caller))
        answer = await wire.answer()
        assert (answer.status, answer.error, answer.json["method"]) == (404, "unknown_endpoint", method)


async def test_what_follows_connect_is_no_request(caller: Caller, connect: Connect) -> None:
    wire, inner = await connect(), request("GET", "/api/v2/chatbots", caller)
    await wire.send(request("CONNECT", "chat.example:443", caller, body=inner) + inner)
    assert (await wire.answer()).headers["Connection"] == "close"
    assert await wire.is_closed()


async def test_head_is_refused_without_a_body(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    for path, sender, status in (
        ("/chatbots", caller, 405),
        ("/messages", caller, 405),
        ("/nowhere", caller, 404),
        ("/chatbots", None, 401),
    ):
        await wire.send(request("HEAD", f"/api/v2{path}", sender) + request("GET", "/api/v2/conversations", caller))
        answer = await wire.answer(bodiless=True)
        assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json; charset=utf-8")
        assert (await wire.answer()).json["pagination"]["total"] == 0


async def test_pipelined_requests_are_answered_in_their_order(caller: Caller, connect: Connect, engine: ScriptedEngine) -> None:
    engine.delay_s = 0.1
    wire = await connect()
    await wire.send(
        request("POST", "/api/v2/messages", caller, body=_message(caller))
        + request("GET", "/api/v2/conversations", caller)
        + request("GET", "/api/v2/nowhere", caller)
        + request("GET", "/api/v2/chatbots")
    )
    answers = [await wire.answer() for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 404, 401]
    assert answers[1].json["pagination"]["total"] == 1
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["99999", "99998", "99997", "100000"]


async def test_nothing_is_answered_behind_a_request_that_closes(caller: Caller, connect: Connect) -> None:
    wire, whole = await connect(), request("GET", "/api/v2/chatbots", caller)
    await wire.send(whole + request("GET", "/api/v2/chatbots", caller, "Connection: close") + whole)
    assert [(await wire.answer()).headers.get("Connection") for _ in range(2)] == [None, "close"]
    assert await wire.is_closed()


async def test_who_sends_many_requests_at_once_is_answered_and_does_not_go_before_the_others(
    caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEAD_TIMEOUT_S", "KEEPALIVE_S"):
        monkeypatch.setattr(connection, name, 60)
    many, other, whole = await connect(), await connect(), request("GET", "/api/v2/chatbots/x", caller)
    await other.send(whole)
    await other.answer()
    sending = asyncio.create_task(many.send(whole * 1000))
    await many.answer()
    await other.send(whole)
    remaining = [int((await wire.answer()).headers["X-RateLimit-Remaining"]) for wire in (other, *[many] * 999)]
    assert remaining.pop(0) > 99_500
    assert remaining == sorted(remaining, reverse=True)
    await sending


# -- callers who send no more -------------------------------------------------------------------------------------------


async def test_who_sends_no_more_is_answered_all_the_same(
    caller: Caller, connect: Connect, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "KEEPALIVE_S", 60)
    engine.delay_s = 0.1
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller)) + request("GET", "/api/v2/chatbots", caller) * 5)
    wire.send_no_more()
    assert [(await wire.answer()).status for _ in range(6)] == [200] * 6
    assert await wire.is_closed()


async def test_who_sends_no_more_within_a_body_is_told_at_once(
    caller: Caller, connect: Connect, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interface, "BODY_TIMEOUT_S", 60)
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller))[:-1])
    wire.send_no_more()
    assert (await wire.answer()).json == envelope("invalid_json", BROKEN)
    assert await wire.is_closed()
    assert engine.turns == []


async def test_who_sends_no_more_and_has_asked_for_nothing_is_let_go(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 60)
    for begun in ("", "GET /api"):
        wire = await connect()
        await wire.send(begun)
        wire.send_no_more()
        assert await wire.is_closed()


UPGRADES = (
    ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"),
    ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    ("Connection: upgrade", "Upgrade: TLS/1.0"),
)


async def test_an_upgrade_is_declined_by_an_ordinary_answer_that_closes(caller: Caller, connect: Connect) -> None:
    for lines in UPGRADES:
        for sent in (
            request("GET", "/api/v2/chatbots", caller, *lines) + request("GET", "/api/v2/chatbots/x", caller),
            request("POST", "/api/v2/messages", caller, *lines, body=_message(caller)),
        ):
            wire = await connect()
            await wire.send(sent)
            answer = await wire.answer()
            assert (answer.status, answer.headers["Connection"]) == (200, "close")
            assert await wire.is_closed()


# -- what is not said ---------------------------------------------------------------------------------------------------


async def test_no_response_names_any_software(caller: Caller, connect: Connect) -> None:
    for status, sent in (
        (200, request("GET", "/api/v2/chatbots", caller)),
        (401, request("GET", "/api/v2/chatbots")),
        (404, request("GET", "/api/v2/nowhere", caller)),
        (400, request("POST", "/api/v2/messages", caller, "Content-Length: 10")),
        (404, request("GET", "/")),
        (400, b"junk\r\n\r\n"),
        (400, b"GET /api"),
    ):
        wire = await connect()
        await wire.send(sent)
        answer = await wire.answer()
        assert answer.status == status
        assert not {"server", "via", "x-powered-by"} & set(names(answer))
        text = f"{dict(answer.headers)} {answer.body.decode()}".lower()
        assert not [word for word in ("aiohttp", "python", "chatsvc", "uvloop", "llhttp", "traceback") if word in text]


async def test_a_key_reaches_no_log_whatever_happens_to_its_request(
    caller: Caller, connect: Connect, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    unknown: Callable[[str], str] = lambda key: key[:-1] + ("0" if key[-1] != "0" else "1")  # noqa: E731  # said once
    engine.script = None  # type: ignore[assignment]  # a bug
    for lines in ((f"Authorization: Bearer {unknown(caller.key)}",), (f"Authorization: {caller.key}",), (f"X-{caller.key}: x",)):
        wire = await connect()
        await wire.send(request("GET", f"/api/v2/{caller.key}?{caller.key}", caller, *lines))
        assert (await wire.answer()).status in {401, 404}
    assert (await caller.send(caller.key, caller.key)).status == 500
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, "Content-Length: 100"))
    assert (await wire.answer()).status == 400
    assert caller.key not in caplog.text
    assert caller.key[4:-1] not in caplog.text
