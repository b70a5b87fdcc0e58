"""Bodies whose senders are unknown: together they hold no more than the service allows."""

import asyncio

import pytest
from aiohttp import ClientSession, web

from chatsvc.web import limits
from chatsvc.web.requests import INFO, UNCOUNTED, read_body
from tests.api.support import Wire
from tests.http.support import serving

WHOLE = 300_000
HEAD = f"POST {{}} HTTP/1.1\r\nHost: x\r\nContent-Length: {WHOLE}\r\n\r\n"


@pytest.fixture(autouse=True)
def _budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for the counted part of three bodies."""
    monkeypatch.setattr(limits, "MOST_BODIES", 3 * (WHOLE - UNCOUNTED))


async def _read(request: web.Request) -> web.Response:
    if request.path == "/known":
        request[INFO].authenticated()
    return web.Response(text=str(len(await read_body(request, 1_000_000))))


async def _begin(port: int, path: str, sent: int = WHOLE - 1) -> Wire:
    wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
    await wire.send(HEAD.format(path).encode() + b"x" * sent)
    return wire


async def _status(wire: Wire, rest: bytes = b"x") -> bytes:
    await wire.send(rest)
    return (await wire.line()).split()[1]


async def test_bodies_of_unknown_senders_over_the_budget_are_refused_until_others_have_ended() -> None:
    async with serving(_read) as port:
        wires = [await _begin(port, "/") for _ in range(3)]
        await asyncio.sleep(0.1)
        late = await _begin(port, "/", UNCOUNTED)
        # What fits into a head is read all the same: callbacks of one message, sign-ins.
        small = Wire(*await asyncio.open_connection("127.0.0.1", port))
        await small.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % UNCOUNTED + b"x" * UNCOUNTED)
        assert (await small.line()).split()[1] == b"200"
        known = await _begin(port, "/known")
        assert await _status(known) == b"200"
        assert await _status(late, b"x" * (WHOLE - UNCOUNTED)) == b"503"
        # A caller that breaks off and those that were answered make room.
        wires.pop().hang_up()
        assert [await _status(wire) for wire in wires] == [b"200"] * 2
        again = [await _begin(port, "/") for _ in range(3)]
        assert [await _status(wire) for wire in again] == [b"200"] * 3
        for wire in (*wires, *again, late, small, known):
            wire.hang_up()


async def test_an_earlier_request_of_the_connection_makes_no_later_one_known(session: ClientSession) -> None:
    async with serving(_read) as port:
        wires = [await _begin(port, "/known") for _ in range(4)]
        assert [await _status(wire) for wire in wires] == [b"200"] * 4
        url = f"http://127.0.0.1:{port}"
        async with session.post(url, data=b"x" * 900_000) as answer:
            assert answer.status == 503
        async with session.post(url + "/known", data=b"x" * 900_000) as answer:
            assert answer.status == 200
        async with session.post(url, data=b"x" * 900_000) as answer:
            assert answer.status == 503
        for wire in wires:
            wire.hang_up()
