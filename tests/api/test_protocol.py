"""HTTP itself, over raw sockets: what is broken gets the JSON of the interface and a closed connection, and nothing of it is logged."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable

import pytest

from chatsvc.api import bodies
from chatsvc.app import App
from chatsvc.domain import errors
from chatsvc.web import connection
from tests.api.conftest import Connect
from tests.api.support import MINUTE_END, Wire, assert_headers, envelope, names, request, standing, until
from tests.conftest import Answer, Caller
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
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_S", 0.3)


def _message(caller: Caller) -> bytes:
    return json.dumps({"chatbot_id": caller.bot, "message": "hello", "user_id": "v"}).encode()


NO_HTTP = {
    "no HTTP at all": "hello {key}\r\n\r\n",
    "a handshake of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 64,
    "SSH": "SSH-2.0-OpenSSH_9.2 {key}\r\n",
    "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a response": "HTTP/1.1 200 OK\r\n" + KEY + "\r\n",
    "a method in lower case": "get /api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "an unknown method": "FETCH /api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "a method with a digit": "G3T /{key} HTTP/1.1\r\n\r\n",
    "an unknown version": CHATBOTS.replace("1.1", "1.2") + KEY + "\r\n",
    "no version": "GET /api/v2/chatbots\r\n\r\n",
    "no version, yet headers": "GET /api/v2/chatbots\r\n" + KEY + "\r\n",
    "HTTP/0.9": CHATBOTS.replace("1.1", "0.9") + KEY + "\r\n",
    "HTTP/2.0 in words": CHATBOTS.replace("1.1", "2.0") + KEY + "\r\n",
    "a version in letters": CHATBOTS.replace("1.1", "one") + KEY + "\r\n",
    "a space in the target": "GET /api/v2/{key} x HTTP/1.1\r\nHost: x\r\n\r\n",
    "a control character in the target": "GET /api/v2/\x01{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the target": "GET /api/v2/\xff{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "UTF-8 in the target": "GET /api/v2/\xc5\x9f{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the query": "GET /api/v2/chatbots?{key}=\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target without a slash": "GET api/v2/chatbots HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "no target": "GET HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "a bad host in the target": "GET http://[::1/{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "a bad port in the target": "GET http://h:99999999/{key} HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET *": "GET * HTTP/1.1\r\nHost: x\r\n" + KEY + "\r\n",
    "no Host": "GET /api/v2/chatbots HTTP/1.1\r\n" + KEY + "\r\n",
    "two Hosts": CHATBOTS + "Host: y\r\n" + KEY + "\r\n",
    "a line without a colon": CHATBOTS + KEY + "{key}\r\n\r\n",
    "a line without a name": CHATBOTS + ": {key}\r\n\r\n",
    "a space before the colon": CHATBOTS + "Authorization : Bearer {key}\r\n\r\n",
    "a space in the name": CHATBOTS + "Author ization: Bearer {key}\r\n\r\n",
    "a folded line": CHATBOTS + "Authorization: Bearer\r\n {key}\r\n\r\n",
    "bytes in a name": CHATBOTS + KEY + "X-\xc3\xbc: {key}\r\n\r\n",
    "NUL in a value": CHATBOTS + "Authorization: Bearer {key}\x00\r\n\r\n",
    "a control character in a value": CHATBOTS + "Authorization: Bearer \x01{key}\r\n\r\n",
    "a carriage return in a value": CHATBOTS + KEY + "X: a\rb\r\n\r\n",
    "line feeds alone": (CHATBOTS + KEY + "\r\n").replace("\r", ""),
    "a target too long": "GET /api/v2/{key}" + "a" * 9000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
    "a name too long": CHATBOTS + KEY + "X" * 9000 + ": {key}\r\n\r\n",
    "a value too long": CHATBOTS + KEY + "X: {key}" + "a" * 9000 + "\r\n\r\n",
    "a value far too long": CHATBOTS + KEY + "X: {key}" + "a" * 200_000 + "\r\n\r\n",
    "a key too long": CHATBOTS + "Authorization: Bearer " + "{key}" * 200 + "\r\n\r\n",
    "too many headers": CHATBOTS + KEY + "".join(f"X-{n}: {{key}}\r\n" for n in range(200)) + "\r\n",
    "a head of more than 32 KiB": CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(9)) + "\r\n",
    "a head of more than 32 KiB that never ends": CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(9)),
    "a length and chunks": MESSAGES + KEY + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": MESSAGES + KEY + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": MESSAGES + KEY + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello{key}",
    "the same length twice": MESSAGES + KEY + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello{key}",
    "a list of lengths": MESSAGES + KEY + "Content-Length: 5, 5\r\n\r\nhello{key}",
    "a signed length": MESSAGES + KEY + "Content-Length: +5\r\n\r\nhello{key}",
    "a negative length": MESSAGES + KEY + "Content-Length: -5\r\n\r\nhello{key}",
    "a length in hexadecimal": MESSAGES + KEY + "Content-Length: 0x5\r\n\r\nhello{key}",
    "a length that is no number": MESSAGES + KEY + "Content-Length: {key}\r\n\r\nhello",
    "an empty length": MESSAGES + KEY + "Content-Length:\r\n\r\nhello{key}",
    "a length beyond all bounds": MESSAGES + KEY + "Content-Length: 99999999999999999999999\r\n\r\nhello{key}",
    "an unknown transfer coding": MESSAGES + KEY + "Transfer-Encoding: {key}\r\n\r\nhello",
    "a transfer coding that is not the last": MESSAGES + KEY + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "chunked, nearly": MESSAGES + KEY + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": MESSAGES + KEY + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
async def test_what_is_no_http_is_400_in_json_and_the_connection_is_closed(
    sent: str, caller: Caller, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wire = await connect()
    await wire.send(sent.replace("{key}", caller.key))
    answer = await wire.answer()
    assert answer.status == 400
    assert answer.json == envelope("invalid_json", errors.because("head"))
    assert_headers(answer, limit=100_000, remaining=100_000, also={"Connection": "close"})
    assert await wire.is_closed()
    assert caller.key not in caplog.text
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


@pytest.mark.parametrize(
    "sent",
    [
        CHATBOTS + KEY + "".join(f"X-{n}: a\r\n" for n in range(100)) + "\r\n",
        CHATBOTS + KEY + "X: " + "a" * 8000 + "\r\n\r\n",
        CHATBOTS + KEY + "".join(f"X-{n}: {'a' * 4000}\r\n" for n in range(7)) + "\r\n",
        CHATBOTS + KEY + "X-Empty:\r\nX-Bytes: \xfc\xff\r\n\r\n",
        CHATBOTS.replace("/chatbots", "/chatbots?x=" + "a" * 8000) + KEY + "\r\n",
        "\r\n\r\n" + CHATBOTS + KEY + "\r\n",
    ],
)
async def test_what_is_unusual_but_right_is_answered(sent: str, caller: Caller, connect: Connect) -> None:
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


async def test_a_body_that_comes_byte_by_byte_is_read_whole(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    for byte in request("POST", "/api/v2/messages", caller, body=_message(caller)):
        await wire.send(bytes([byte]))
    assert (await wire.answer()).status == 200


@pytest.mark.parametrize(
    "broken",
    ["zz\r\nhello\r\n", "2\r\nhello\r\n", "\r\n\r\n", "ffffffffffffffffff\r\n", "-1\r\n", "5;\x00\r\nhello\r\n", "0\r\n {key}\r\n\r\n"],
)
@pytest.mark.parametrize("in_pieces", [True, False])
async def test_a_body_whose_chunks_break_is_refused_and_closed(
    broken: str, in_pieces: bool, app: App, caller: Caller, connect: Connect, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await connect()
    begun = request("POST", "/api/v2/messages", caller, "Transfer-Encoding: chunked") + b"5\r\n{    \r\n"
    if in_pieces:
        await wire.send(begun)
        await until(lambda: bool(app.services.account_cache.key_uses))
    await wire.send(begun * (not in_pieces) + broken.replace("{key}", caller.key).encode() + caller.key.encode())
    answer = await wire.answer()
    assert answer.error == "invalid_json"
    assert answer.headers["Connection"] == "close"
    assert await wire.is_closed()
    assert engine.turns == []
    assert caller.key not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_body_that_does_not_arrive_in_time_is_400_and_closed(caller: Caller, connect: Connect) -> None:
    async def late(remaining: int, line: str, begun: bytes) -> None:
        wire = await connect()
        await wire.send(request("POST", "/api/v2/messages", caller, line) + begun)
        began = time.monotonic()
        answer = await wire.answer()
        assert 0.25 < time.monotonic() - began < 5
        assert answer.status == 400
        assert answer.json == envelope("invalid_json", LATE)
        assert_headers(answer, limit=100_000, remaining=remaining, also={"Connection": "close"})
        assert await wire.is_closed()

    closing: list[asyncio.Task[None]] = []
    for line in ("Content-Length: 500", "Transfer-Encoding: chunked"):
        for begun in (b"", b'5\r\n{"mes\r\n'):
            closing.append(asyncio.create_task(late(99_999 - len(closing), line, begun)))
            await asyncio.sleep(0.02)
    await asyncio.gather(*closing)


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


async def test_a_body_that_drips_does_not_get_more_time(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, "Content-Length: 500"))
    dripping = asyncio.create_task(_drip(wire))
    answer = await wire.answer()
    dripping.cancel()
    assert answer.json == envelope("invalid_json", LATE)


async def _drip(wire: Wire) -> None:
    while True:
        await wire.send(b" ")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
async def test_whoever_expects_100_continue_gets_it_once_the_gates_are_passed(expectation: str, caller: Caller, connect: Connect) -> None:
    wire, body = await connect(), _message(caller)
    await wire.send(request("POST", "/api/v2/messages", caller, f"Expect: {expectation}", f"Content-Length: {len(body)}"))
    assert (await wire.line(), await wire.line()) == (b"HTTP/1.1 100 Continue\r\n", b"\r\n")
    await wire.send(body)
    answer = await wire.answer()
    assert answer.json["data"]["message"] == "hello"
    assert_headers(answer, limit=100_000, remaining=99_999)
    await wire.send(request("GET", "/api/v2/chatbots", caller))
    assert (await wire.answer()).status == 200


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


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_expected_body_that_is_not_read_is_not_taken_for_the_next_request(method: str, caller: Caller, connect: Connect) -> None:
    wire, inner = await connect(), request("GET", "/api/v2/analytics", caller)
    await wire.send(request(method, "/api/v2/chatbots/x", caller, "Expect: 100-continue", f"Content-Length: {len(inner)}"))
    answer = await wire.answer()
    assert answer.status in {404, 405}
    assert answer.headers["Connection"] == "close"
    await wire.send(inner)
    assert await wire.is_closed()


async def test_an_http_1_0_client_never_gets_100_continue(caller: Caller, connect: Connect) -> None:
    wire, body = await connect(), _message(caller)
    await wire.send(request("POST", "/api/v2/messages", caller, "Expect: 100-continue", body=body, version="HTTP/1.0"))
    assert await wire.line() == b"HTTP/1.0 200 OK\r\n"


@pytest.mark.parametrize("expectation", ["x", "200-ok", "100-continue, x", ""])
async def test_any_other_expectation_is_ignored(expectation: str, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, f"Expect: {expectation}", body=_message(caller)))
    answer = await wire.answer()
    assert answer.status == 200
    assert_headers(answer, limit=100_000, remaining=99_999)


# -- heads that do not arrive -------------------------------------------------------------------------------------------


async def _is_told_late(wire: Wire) -> None:
    answer = await wire.answer()
    assert answer.status == 400
    assert answer.json == envelope("invalid_json", errors.because("head"))
    assert_headers(answer, limit=100_000, remaining=100_000, also={"Connection": "close"})
    assert await wire.is_closed()


@pytest.mark.parametrize("begun", ["G", "GET /api/v2/chatbots", CHATBOTS, CHATBOTS + "Authorization: Bearer csk_"])
async def test_a_head_that_does_not_arrive_in_time_is_400_and_closed(begun: str, app: App, connect: Connect) -> None:
    wire = await connect()
    began = time.monotonic()
    await wire.send(begun)
    await _is_told_late(wire)
    assert 0.25 < time.monotonic() - began < 5


async def test_a_head_that_drips_does_not_get_more_time(app: App, connect: Connect) -> None:
    wire = await connect()
    await wire.send(CHATBOTS + "X: ")
    dripping = asyncio.create_task(_drip(wire))
    await _is_told_late(wire)
    dripping.cancel()


async def test_the_second_head_must_arrive_in_time_too(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("GET", "/api/v2/chatbots", caller))
    assert (await wire.answer()).status == 200
    await wire.send("GET /api/v2/chat")
    await _is_told_late(wire)


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
    await _is_told_late(wire)


async def test_a_head_in_two_pieces_is_answered_and_its_time_is_over_with_it(caller: Caller, connect: Connect) -> None:
    wire, whole = await connect(), request("GET", "/api/v2/chatbots", caller)
    for _ in range(2):
        await wire.send(whole[:20])
        await asyncio.sleep(0.05)
        await wire.send(whole[20:])
        assert (await wire.answer()).status == 200
    await asyncio.sleep(0.4)
    await wire.send(whole)
    assert (await wire.answer()).status == 200


async def test_the_end_of_a_body_is_not_taken_for_another_head(caller: Caller, connect: Connect) -> None:
    wire, whole = await connect(), request("POST", "/api/v2/messages", caller, body=_message(caller))
    await wire.send(whole[:-20])
    await asyncio.sleep(0.1)
    await wire.send(whole[-20:])
    assert (await wire.answer()).status == 200
    await asyncio.sleep(0.5)
    await wire.send(whole)
    assert (await wire.answer()).status == 200


async def test_an_answer_may_take_longer_than_a_head(caller: Caller, connect: Connect, engine: ScriptedEngine) -> None:
    engine.delay_s = 0.5
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
        assert await wire.is_closed(within_s=5)


# -- unusual targets, versions and methods ------------------------------------------------------------------------------


async def test_an_http_1_0_request_is_answered_and_closed(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("GET", "/api/v2/chatbots", caller, version="HTTP/1.0"))
    answer = await wire.answer()
    assert answer.status == 200
    assert_headers(answer, limit=100_000, remaining=99_999, also={"Connection": "close"})
    assert await wire.is_closed()


async def test_a_connection_is_kept_or_closed_as_asked(caller: Caller, connect: Connect) -> None:
    for version, line, kept in (
        ("HTTP/1.1", "X: x", True),
        ("HTTP/1.1", "Connection: close", False),
        ("HTTP/1.0", "Connection: keep-alive", True),
    ):
        wire = await connect()
        await wire.send(request("GET", "/api/v2/chatbots", caller, line, version=version))
        assert (await wire.answer()).status == 200
        await wire.send(request("GET", "/api/v2/chatbots", caller, line, version=version))
        if kept:
            assert (await wire.answer()).status == 200
        else:
            assert await wire.is_closed()


@pytest.mark.parametrize("origin", ["http://chat.example", "https://chat.example:8443", "http://user@chat.example"])
async def test_a_target_in_absolute_form_is_the_same_as_its_path(origin: str, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("GET", f"{origin}/api/v2/conversations?limit=7", caller))
    answer = await wire.answer()
    assert answer.json["pagination"]["limit"] == 7
    await wire.send(request("GET", f"{origin}/api/v2/nowhere?x=1", caller))
    answer = await wire.answer()
    assert answer.error == "unknown_endpoint"
    assert answer.json["path"] == "/api/v2/nowhere"
    await wire.send(request("GET", f"{origin}/api/v2/chatbots"))
    assert (await wire.answer()).error == "missing_api_key"


@pytest.mark.parametrize(("method", "target"), [("OPTIONS", "*"), ("CONNECT", "chat.example:443")])
async def test_a_target_without_a_path_is_no_endpoint(method: str, target: str, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request(method, target, caller))
    answer = await wire.answer()
    assert answer.status == 404
    assert answer.error == "unknown_endpoint"
    assert answer.json["method"] == method


async def test_what_follows_connect_is_no_request(caller: Caller, connect: Connect) -> None:
    wire, inner = await connect(), request("GET", "/api/v2/chatbots", caller)
    await wire.send(request("CONNECT", "chat.example:443", caller, body=inner) + inner)
    assert (await wire.answer()).headers["Connection"] == "close"
    assert await wire.is_closed()


@pytest.mark.parametrize(
    ("path", "status"), [("/chatbots", 405), ("/chatbots/x", 405), ("/messages", 405), ("/nowhere", 404), ("/analytics", 405)]
)
async def test_head_is_refused_without_a_body(path: str, status: int, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    for _ in range(2):
        await wire.send(request("HEAD", f"/api/v2{path}", caller))
        answer = await wire.answer(bodiless=True)
        assert answer.status == status
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    await wire.send(request("GET", "/api/v2/conversations", caller))
    assert (await wire.answer()).json["pagination"]["total"] == 0


async def test_head_without_a_key_is_401_without_a_body(app: App, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("HEAD", "/api/v2/chatbots") + request("HEAD", "/api/v2/x"))
    for _ in range(2):
        answer = await wire.answer(bodiless=True)
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"


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


async def test_hundreds_of_pipelined_requests_are_all_answered(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    sending = asyncio.create_task(wire.send(request("GET", "/api/v2/chatbots/x", caller) * 500))
    remaining = [int((await wire.answer()).headers["X-RateLimit-Remaining"]) for _ in range(500)]
    await sending
    assert remaining == list(range(99_999, 99_499, -1))


@pytest.mark.parametrize("behind", ["junk\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\0", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])
async def test_a_request_is_answered_whatever_comes_behind_it(behind: str, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("GET", "/api/v2/chatbots", caller) * 2 + behind.encode())
    assert [(await wire.answer()).status for _ in range(3)] == [200, 200, 400]
    assert await wire.is_closed()


async def test_nothing_is_answered_behind_a_request_that_closes(caller: Caller, connect: Connect) -> None:
    wire, whole = await connect(), request("GET", "/api/v2/chatbots", caller)
    await wire.send(whole + request("GET", "/api/v2/chatbots", caller, "Connection: close") + whole)
    assert [(await wire.answer()).headers.get("Connection") for _ in range(2)] == [None, "close"]
    assert await wire.is_closed()


async def test_who_sends_many_requests_at_once_does_not_go_before_the_others(caller: Caller, connect: Connect) -> None:
    many, one, whole = await connect(), await connect(), request("GET", "/api/v2/chatbots", caller)
    await one.send(whole)
    await one.answer()
    sending = asyncio.create_task(many.send(whole * 3000))
    await many.answer()
    await one.send(whole)
    assert int((await one.answer()).headers["X-RateLimit-Remaining"]) > 99_500
    for _ in range(2999):
        await many.answer()
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
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_S", 60)
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=_message(caller))[:-1])
    wire.send_no_more()
    assert (await wire.answer()).json == envelope("invalid_json", BROKEN)
    assert await wire.is_closed()
    assert engine.turns == []


@pytest.mark.parametrize("begun", ["", "GET /api"])
async def test_who_sends_no_more_and_has_asked_for_nothing_is_let_go(
    begun: str, app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 60)
    wire = await connect()
    await wire.send(begun)
    wire.send_no_more()
    assert await wire.is_closed()


UPGRADES = {
    "websocket": (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
    ),
    "h2c": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    "TLS": ("Connection: upgrade", "Upgrade: TLS/1.0"),
}


@pytest.mark.parametrize("lines", UPGRADES.values(), ids=UPGRADES)
async def test_an_upgrade_is_declined_by_an_ordinary_answer_that_closes(lines: tuple[str, ...], caller: Caller, connect: Connect) -> None:
    for sent in (
        request("GET", "/api/v2/chatbots", caller, *lines),
        request("POST", "/api/v2/messages", caller, *lines, body=_message(caller)),
        request("GET", "/api/v2/chatbots", caller, *lines) + request("GET", "/api/v2/chatbots/x", caller),
    ):
        wire = await connect()
        await wire.send(sent)
        answer = await wire.answer()
        assert (answer.status, answer.headers["Connection"]) == (200, "close")
        assert await wire.is_closed()


# -- what is not said ---------------------------------------------------------------------------------------------------


async def test_no_response_names_any_software(caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight connections at once: each sends at once, but the first bytes may be seen late on a busy machine.
    monkeypatch.setattr(connection, "SILENT_TIMEOUT_S", 10.0)

    async def of(data: bytes | str) -> Answer:
        wire = await connect()
        await wire.send(data)
        return await wire.answer()

    asked: list[Awaitable[Answer]] = [
        of(request("GET", "/api/v2/chatbots", caller)),
        of(request("GET", "/api/v2/chatbots")),
        of(request("GET", "/api/v2/nowhere", caller)),
        of(request("POST", "/api/v2/messages", caller, "Content-Length: 10")),
        of(request("POST", "/api/v2/messages", caller, body=b"{")),
        of(request("GET", "/")),
        of("junk\r\n\r\n"),
        of("GET /api"),
    ]
    answers = await asyncio.gather(*asked)
    assert [answer.status for answer in answers] == [200, 401, 404, 400, 400, 404, 400, 400]
    for answer in answers:
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


async def test_nothing_of_a_broken_request_is_echoed(app: App, connect: Connect) -> None:
    for sent in NO_HTTP.values():
        wire = await connect()
        await wire.send(sent.replace("{key}", "s3cret-m4rker"))
        answer = await wire.answer()
        assert "s3cret" not in f"{dict(answer.headers)} {answer.body.decode()}"
        assert standing(answer) == (100_000, 100_000, MINUTE_END)
