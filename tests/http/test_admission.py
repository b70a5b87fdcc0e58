"""Limits on connections without a valid key: waiting, shares of addresses, and what does not count."""

import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest
import uvloop
from aiohttp import web

from chatsvc.web import connection, limits
from chatsvc.web.client_address import ClientAddresses, share_of
from chatsvc.web.requests import INFO
from tests.api.support import Wire, until
from tests.http.support import Handler, serving

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
KEYED = b"GET /keyed HTTP/1.1\r\nHost: x\r\n\r\n"


async def _answer(request: web.Request) -> web.Response:
    if request.path == "/keyed":
        request[INFO].authenticated("key")
    return web.Response(body=b"{}", content_type="application/json")


@asynccontextmanager
async def connected(port: int, *sent: bytes) -> AsyncIterator[list[Wire]]:
    """Open a connection for each of `sent`."""
    wires = []
    for data in sent:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
        wires.append(wire)
        await wire.send(data)
    await asyncio.sleep(0.05)
    yield wires
    for wire in wires:
        wire.hang_up()


async def _is_waiting(wire: Wire) -> bool:
    return not await wire.is_closed(within_s=0.1)


@pytest.mark.parametrize("limits", [{"connections": 2}, {"per_address": 2}])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_connection_over_the_limit_waits_until_another_ends(run: Callable[[Any], None], limits: Any) -> None:
    async def check() -> None:
        async with serving(_answer, **limits) as port, connected(port, b"GET", b"GET", WHOLE, WHOLE) as wires:
            assert await _is_waiting(wires[2])
            assert await _is_waiting(wires[3])
            wires[0].hang_up()
            # Each of the two has the slot until the other needs it.
            assert (await wires[2].answer()).status == 200
            assert (await wires[3].answer()).status == 200
            assert await wires[2].is_closed()

    run(check())


async def test_a_connection_that_waits_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAIT_S", 0.2)
    async with serving(_answer, connections=1) as port, connected(port, b"GET", WHOLE) as (_, late):
        assert await late.is_closed(within_s=20)


async def test_a_connection_that_sends_nothing_needs_no_slot_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_TIMEOUT_S", 0.5)
    monkeypatch.setattr(limits, "WAIT_S", 1.0)
    async with serving(_answer, connections=1) as port, connected(port, b"", b"", WHOLE) as (silent, other, asking):
        assert (await asking.answer()).status == 200
        assert await silent.is_closed(within_s=20)
        assert await other.is_closed(within_s=20)


def _holds(go_on: Callable[[], Awaitable[object]]) -> Handler:
    """Answer requests with a key only after `go_on`."""

    async def answer(request: web.Request) -> web.Response:
        response = await _answer(request)
        if request.path == "/keyed":
            await go_on()
        return response

    return answer


async def test_a_connection_with_a_valid_key_counts_for_its_key_and_again_when_it_is_idle() -> None:
    all_are_here = asyncio.Barrier(20).wait
    async with serving(_holds(all_are_here), per_address=1, per_key=20) as port, connected(port, *[KEYED] * 20) as wires:
        answers = [await wire.answer() for wire in wires]
        assert {answer.status for answer in answers} == {200}
        # All were answered at once, and one of them is kept: the address has room for no more.
        assert [answer.headers.get("Connection") for answer in answers].count(None) == 1


async def test_a_key_has_no_more_connections_than_its_limit_beside_those_of_its_address() -> None:
    let_go = asyncio.Event()
    async with serving(_holds(let_go.wait), per_address=2, per_key=3) as port, connected(port, *[KEYED] * 6, WHOLE) as wires:
        # Three count for the key, two for the address; the others wait until one of them is answered.
        assert await _is_waiting(wires[-1])
        let_go.set()
        assert {(await wire.answer()).status for wire in wires} == {200}


async def test_of_too_many_that_wait_the_newest_of_the_most_crowded_address_is_closed() -> None:
    async with serving(_answer, connections=1) as port, connected(port, *[b""] * (limits.WAITING_FACTOR + 1), b"") as wires:
        assert await wires[-1].is_closed()
        assert await _is_waiting(wires[0])
        await wires[0].send(WHOLE)
        assert (await wires[0].answer()).status == 200


async def test_behind_a_proxy_the_requests_of_an_address_count_until_they_show_a_key() -> None:
    waiting, go_on = 0, asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        nonlocal waiting
        if request.path == "/keyed":
            request[INFO].authenticated("key")
        waiting += 1
        await go_on.wait()
        return web.Response()

    def asking(address: str, path: str = "/") -> bytes:
        return f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\n\r\n".encode()

    addresses = ClientAddresses((ip_network("127.0.0.0/8"),))
    sent = [asking("192.0.2.1", "/keyed"), asking("192.0.2.1"), asking("192.0.2.1"), asking("2001:db8::1"), asking("2001:db8::2")]
    async with serving(handler, per_address=1, addresses=addresses) as port, connected(port, *sent) as wires:
        assert [await _status(wires[number]) for number in (2, 4)] == [503, 503]
        await until(lambda: waiting == 3)
        go_on.set()
        assert [await _status(wires[number]) for number in (0, 1, 3)] == [200] * 3


async def _status(wire: Wire) -> int:
    return int((await wire.line()).split()[1])


def test_the_share_of_an_address_is_the_address_or_its_network_of_64_bits() -> None:
    assert share_of("192.0.2.1") == share_of("::ffff:192.0.2.1") != share_of("192.0.2.2")
    assert share_of("2001:db8::1") == share_of("2001:db8::ffff:1%eth0") != share_of("2001:db8:0:1::1")


async def test_without_file_descriptors_it_accepts_later_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(_answer) as port:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 8))
        async with connected(port, WHOLE, WHOLE) as wires:
            assert [await wire.is_closed() for wire in wires] == [True, True]
        monkeypatch.undo()
        async with connected(port, WHOLE) as (wire,):
            assert (await wire.answer()).status == 200
    assert [record.getMessage() for record in caplog.records] == ["cannot accept connections: too many files are open"]
