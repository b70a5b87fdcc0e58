"""The rate limit over several processes, counted by a real Valkey or Redis."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from chatsvc.coordination import connection
from chatsvc.coordination.connection import CoordinationUnavailable, Valkey, ValkeyTarget
from chatsvc.coordination.limiter import MAX_BATCH, SharedLimiter
from tests.valkey import ValkeyServer, require_program

Open = Callable[..., Awaitable[SharedLimiter]]


@pytest.fixture
async def limiter(valkey: ValkeyServer) -> AsyncIterator[Open]:
    """Make the limiters of one installation, each with a connection of its own."""
    prefix = uuid.uuid4().hex
    async with AsyncExitStack() as stack:

        async def open_one(limit: int, *, of: str = prefix, server: ValkeyServer = valkey) -> SharedLimiter:
            made = await Valkey.open(server.target(of))
            stack.push_async_callback(made.close)
            return SharedLimiter(made, "api", limit)

        yield open_one


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    """A server that tests may stop, freeze and empty."""
    require_program()
    with ValkeyServer() as made:
        yield made


async def steady(limiter: SharedLimiter) -> int:
    """Return the end of the window; one with few seconds left is waited out."""
    left = (await limiter.peek(None, 0)).reset - await now(limiter)
    if left < 5:
        await asyncio.sleep(left + 0.1)
    return (await limiter.peek(None, 0)).reset


async def now(limiter: SharedLimiter) -> int:
    """Ask for the server's time."""
    answer = await limiter._script._valkey.execute("TIME")
    assert isinstance(answer, tuple)
    return int(answer[0])


async def test_three_processes_hand_out_exactly_the_limit(limiter: Open) -> None:
    processes = [await limiter(120) for _ in range(3)]
    reset = await steady(processes[0])
    slots = await asyncio.gather(*(processes[place % 3].take("key", 0) for place in range(400)))
    assert Counter(slot.taken for slot in slots) == {True: 120, False: 280}
    assert sorted(slot.remaining for slot in slots if slot.taken) == list(range(120))
    assert {(slot.limit, slot.reset) for slot in slots} == {(120, reset)}
    assert reset % 60 == 0


async def test_keys_and_installations_do_not_share_a_window(limiter: Open) -> None:
    here, elsewhere = await limiter(1), await limiter(1, of=uuid.uuid4().hex)
    await steady(here)
    assert (await here.take("one", 0)).taken
    assert (await here.take("other", 0)).taken
    assert (await elsewhere.take("one", 0)).taken
    assert not (await here.take("one", 0)).taken


async def test_a_look_takes_no_slot_and_an_unknown_caller_sees_the_whole_limit(limiter: Open) -> None:
    one = await limiter(5)
    await steady(one)
    await one.take("key", 0)
    assert [(await one.peek(key, 0))[:3] for key in ("key", "key", None, "another")] == [(False, 5, 4)] * 2 + [(False, 5, 5)] * 2


async def test_more_requests_than_a_call_takes_are_answered_in_their_order(limiter: Open) -> None:
    one = await limiter(2 * MAX_BATCH)
    await steady(one)
    slots = await asyncio.gather(*(one.take("key", 0) for _ in range(2 * MAX_BATCH + 10)))
    assert [slot.remaining for slot in slots] == [*range(2 * MAX_BATCH - 1, -1, -1), *[0] * 10]


async def test_a_caller_that_has_gone_holds_nobody_up(limiter: Open) -> None:
    one = await limiter(5)
    await steady(one)
    gone, stays = asyncio.create_task(one.take("key", 0)), asyncio.create_task(one.take("key", 0))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays).remaining == 3


async def test_the_window_is_that_of_the_servers_clock_and_goes_when_the_next_begins(limiter: Open) -> None:
    one = await limiter(1)
    await steady(one)
    valkey = one._script._valkey
    assert (await one.take("key", 0)).taken
    window = await now(one) // 60
    # As if the minute before this one, then a clock that was set back, and one that was a day ahead.
    for stored, taken in ((window - 1, True), (window + 1, False), (window + 1440, True)):
        await valkey.execute("HSET", valkey.key("limit:api"), "window", stored, "key key", 1)
        slot = await one.take("key", 0)
        assert (slot.taken, slot.reset) == (taken, (window + (2 if stored == window + 1 else 1)) * 60)
    ttl = await valkey.execute("TTL", valkey.key("limit:api"))
    assert isinstance(ttl, int)
    assert 0 < ttl <= 180


async def test_a_server_that_is_gone_refuses_and_is_used_again_once_it_is_back(limiter: Open, server: ValkeyServer) -> None:
    one = await limiter(2, server=server)
    await steady(one)
    assert (await one.take("key", 0)).taken
    server.end()
    for _ in range(2):
        with pytest.raises(CoordinationUnavailable, match=f"Valkey at 127.0.0.1:{server.port}"):
            await one.take("key", 0)
    server.start()
    # Emptied: one more window.
    assert (await one.take("key", 0)).remaining == 1


async def test_a_server_that_does_not_answer_refuses_within_the_deadline(
    limiter: Open, server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ANSWER_S", 0.2)
    one = await limiter(2, server=server)
    server.freeze()
    try:
        answers = await asyncio.gather(*(one.take("key", 0) for _ in range(3)), return_exceptions=True)
    finally:
        server.thaw()
    assert [type(answer) for answer in answers] == [CoordinationUnavailable] * 3
    assert (await one.peek("other", 0)).remaining == 2


async def test_a_server_that_is_not_there_at_the_start_is_refused() -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(CoordinationUnavailable):
            await Valkey.open(ValkeyTarget(f"redis://127.0.0.1:{silent.getsockname()[1]}", "x"))


async def test_a_password_is_needed_where_the_server_has_one_and_stands_in_no_message() -> None:
    require_program()
    with ValkeyServer(password="a secret") as made:
        valkey = await Valkey.open(made.target("x"))
        await valkey.close()
        for password in (None, "another secret"):
            with pytest.raises(CoordinationUnavailable) as refused:
                await Valkey.open(made.target("x")._replace(password=password))
            assert "secret" not in str(refused.value)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """The certificate of a server at 127.0.0.1, with its key beside it."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        [*command, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    return certificate


async def test_rediss_verifies_the_servers_certificate(certificate: Path) -> None:
    require_program()
    with ValkeyServer() as plain:
        options = [
            "--tls-port",
            str(plain.port + 1),
            "--tls-cert-file",
            str(certificate),
            "--tls-key-file",
            str(certificate.with_name("key.pem")),
        ]
        with ValkeyServer(*options, "--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no"):
            place = ValkeyTarget(f"rediss://127.0.0.1:{plain.port + 1}", "x", ca_file=certificate)
            valkey = await Valkey.open(place)
            await valkey.close()
            with pytest.raises(CoordinationUnavailable, match="certificate"):
                await Valkey.open(place._replace(ca_file=None))
