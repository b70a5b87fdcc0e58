"""Sessions of the HTTP client that no guard watches: name lookups, the ledger, closing."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import aiohttp
import pytest

from chatsvc.outbound import resolver
from chatsvc.outbound.client import cause_of, exchange, open_session
from chatsvc.outbound.egress import Egress, EgressRefused, client_context
from chatsvc.outbound.posting import NotConnected, PlatformPoster, SendingUncertain
from tests.webhooks.receiver import OK, Receiver, hang


@pytest.fixture
def dead_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A name server that answers for localhost alone."""
    release, known = threading.Event(), socket.getaddrinfo

    def look_up(host: str, *others: object, **options: object) -> object:
        return known(host, *others, **options) if host == "localhost" else release.wait(10) and []  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(resolver, "LOOKUP_S", 0.3)
    yield
    release.set()


@pytest.mark.usefixtures("dead_name_server")
async def test_a_dead_name_server_delays_nobody_else() -> None:
    async with Receiver(None) as receiver, open_session(Egress(), "acme", client_context()) as session:
        # More than the shared pool has threads.
        dead = [asyncio.create_task(exchange(session, "GET", f"http://{number}.example.net/", most_bytes=9)) for number in range(40)]
        await asyncio.sleep(0)
        answer = await exchange(session, "POST", f"http://localhost:{receiver.port}/", {}, b"x", most_bytes=1)
        assert (answer.status, answer.body, answer.whole) == (200, b"o", False)
        assert await asyncio.to_thread(lambda: "free") == "free"
        assert not any(task.done() for task in dead)
        faults = await asyncio.gather(*dead, return_exceptions=True)
        assert {type(fault) for fault in faults} == {aiohttp.ClientConnectorDNSError}


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "name.example.net"])
async def test_without_egress_no_name_is_looked_up_and_no_socket_opened(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "getaddrinfo")
    egress = Egress(allowed=False)
    async with open_session(egress, "acme", client_context()) as session:
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get(f"http://{host}:9/")
    assert isinstance(cause_of(caught.value), EgressRefused)
    assert (egress.refused["acme"], egress.opened["acme"]) == (1, 0)


async def test_a_closed_client_of_a_platform_sends_nothing_more() -> None:
    egress = Egress()
    async with Receiver(None) as receiver:
        poster = PlatformPoster(egress, "telegram", f"http://127.0.0.1:{receiver.port}", 100)
        receiver.answer = OK.replace(b"ok", b"{}")
        assert await poster.post("/a", {}, 1) == (200, {})
        assert await poster.post("/b", {}, 1) == (200, {})
        assert (receiver.accepted, egress.opened["telegram"]) == (1, 1)
        receiver.answer = hang
        under_way = asyncio.create_task(poster.post("/c", {}, 5))
        while len(receiver.bodies) < 3:  # noqa: ASYNC110  # the receiver's own books
            await asyncio.sleep(0.01)
        await poster.close()
        with pytest.raises(SendingUncertain, match="connection_broken"):
            await under_way
        with pytest.raises(NotConnected, match="closed"):
            await poster.post("/d", {}, 1)
        assert len(receiver.bodies) == 3
