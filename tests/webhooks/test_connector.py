"""Deliveries on the wire to good, broken and hostile receivers."""

import asyncio
import errno
import gzip
import itertools
import logging
import os
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from chatsvc.domain.addresses import Networks, Own, TargetRefused
from chatsvc.domain.webhooks import PostResult, build_headers, build_request, sign
from chatsvc.outbound import egress
from chatsvc.outbound import webhook as sender
from chatsvc.outbound.client import AddressRefused, Guard, reason_of
from chatsvc.outbound.egress import Egress, client_context
from chatsvc.outbound.resolver import LookupFailed
from chatsvc.outbound.webhook import WebhookSender
from tests.cli.forked import SYSTEMS_PATHS
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import OK, Receiver, close_after, hang, reset_after, trickle
from tests.webhooks.test_targets import Names

LOOPBACK: Networks = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
NOBODY = Own()
BODY = build_request("request.created", "d-1", 1_795_176_868_123, "b-1", {"id": "r-1"})
HEADERS = build_headers("request.created", "d-1", sign("whsec_secret", BODY))
TIMEOUT_S = 0.5


@pytest.fixture(scope="session")
def server_tls(authority: Authority) -> ssl.SSLContext:
    return authority.server("hook.example.net", "127.0.0.1", "::1")


class Post:
    """Sends to a receiver."""

    def __init__(self, sender: WebhookSender) -> None:
        self.sender = sender

    async def __call__(
        self,
        receiver: Receiver | int,
        host: str = "hook.example.net",
        body: bytes = BODY,
        path: str = "/hook?x=1",
    ) -> PostResult:
        port = receiver if isinstance(receiver, int) else receiver.port
        outcome = await self.sender.post(f"https://{host}:{port}{path}", body, HEADERS)
        assert outcome.success == (outcome.error is None)
        return outcome


MakePost = Callable[..., Post]


@pytest.fixture
async def make_post(authority: Authority) -> AsyncIterator[MakePost]:
    """Makes a sender with rules for addresses, which it takes from a script of names."""
    senders = list[WebhookSender]()

    def make(names: Any = "127.0.0.1", allowed: Networks = LOOPBACK, own: Own = NOBODY, *, timeout_s: float = 5, ca: bool = True) -> Post:
        guard = Guard(own, allowed) if names is None else Guard(own, allowed, Names(names) if isinstance(names, str) else names)
        senders.append(WebhookSender(guard, Egress(), timeout_s=timeout_s, tls=client_context(authority.file if ca else None)))
        return Post(senders[-1])

    yield make
    for client in senders:
        await client.close()


@pytest.fixture
def post(make_post: MakePost) -> Post:
    """A sender that may reach loopback, where every name leads."""
    return make_post(timeout_s=30)


async def eventually(what: Callable[[], bool], within_s: float = 20.0) -> bool:
    until = time.monotonic() + within_s
    while not what() and time.monotonic() < until:  # noqa: ASYNC110  # it is outside this process or in a callback
        await asyncio.sleep(0.01)
    return what()


# What is sent


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("hook.example.net", "/hook?x=1"),
        ("127.0.0.1", "/a%2Fb/../%7e//c"),
        ("HOOK.example.net.", "/?q=%20+a%3Db&x"),
        ("[::1]", "/'(a);b,c'"),
    ],
)
async def test_the_receiver_gets_the_signed_bytes_at_the_path_that_was_checked_and_no_header_of_any_software(
    post: Post, server_tls: ssl.SSLContext, host: str, path: str
) -> None:
    async with Receiver(server_tls, address="::1" if host[0] == "[" else "127.0.0.1") as receiver:
        outcome = await post(receiver, host, path=path)
    assert (outcome.success, outcome.status_code, outcome.error) == (True, 200, None)
    assert outcome.duration_ms >= 0
    assert receiver.bodies == [BODY]
    first, *lines = receiver.heads[0].decode().rstrip().split("\r\n")
    assert first == f"POST {path} HTTP/1.1"
    assert dict(line.split(": ", 1) for line in lines) == {
        **HEADERS,
        "Host": f"{host.lower().rstrip('.')}:{receiver.port}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(BODY)),
        "Connection": "close",
    }


async def test_a_header_with_a_line_break_is_sent_nowhere(post: Post, server_tls: ssl.SSLContext) -> None:
    async with Receiver(server_tls) as receiver:
        url = f"https://hook.example.net:{receiver.port}/"
        assert (await post.sender.post(url, BODY, {"X-Service-Event": "a\r\nX-Other: b"})).error == "bad_response"
        assert receiver.heads == []


async def test_nothing_of_the_environment_is_used(
    post: Post, server_tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("default login someone password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with Receiver(None) as proxy, Receiver(server_tls) as receiver:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await post(receiver)).success
        assert proxy.accepted == 0
    assert b"authorization" not in receiver.heads[0].lower()


async def test_cookies_are_neither_kept_nor_talked_about(post: Post, server_tls: ssl.SSLContext, caplog: pytest.LogCaptureFixture) -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nSet-Cookie: se(cr)et=1\r\nContent-Length: 0\r\n\r\n"
    async with Receiver(server_tls, answer) as receiver:
        await post(receiver)
        await post(receiver)
    assert b"cookie" not in receiver.heads[1].lower()
    assert caplog.records == []


# Where it is sent


REBINDING = ["127.0.0.1", "::1", "93.184.215.14,127.0.0.1", "127.0.0.1,93.184.215.14", "::ffff:127.0.0.1", "::"]
REBINDING += ["10.0.0.1,127.0.0.1", "64:ff9b::7f00:1", "2606:4700::1111,::1", "127.0.0.1,127.0.0.1", "::127.0.0.1"]


async def test_rebinding_answers_open_no_connection(make_post: MakePost, server_tls: ssl.SSLContext) -> None:
    names = Names("|".join(REBINDING))
    sender = make_post(names, ()).sender
    async with Receiver(server_tls) as receiver:
        for _ in REBINDING:
            outcome = await sender.post(f"https://rebind.example.net:{receiver.port}/", BODY, HEADERS)
            assert (outcome.error, outcome.status_code) == ("refused_address", None)
        await asyncio.sleep(0.05)
        assert receiver.accepted == 0
    assert len(names.asked) == len(REBINDING)


async def test_what_is_dialled_is_what_was_checked_and_the_name_is_asked_once(make_post: MakePost, server_tls: ssl.SSLContext) -> None:
    names = Names("127.0.0.1|10.0.0.1")
    post = make_post(names)
    async with Receiver(server_tls) as receiver:
        assert (await post(receiver)).success
        assert len(names.asked) == 1
        assert (await post(receiver)).error == "refused_address"
        assert receiver.accepted == 1


class Later:
    """Addresses that become this machine's own between the look-up and the dialling."""

    def __init__(self, checks: int) -> None:
        self._checks = checks

    def __contains__(self, address: object) -> bool:
        self._checks -= 1
        return self._checks < 0


@pytest.mark.parametrize("addresses", ["93.184.215.14", "93.184.215.14,2606:4700::1111"])
async def test_the_last_word_is_had_at_the_socket(make_post: MakePost, addresses: str) -> None:
    own = Own(addresses=Later(addresses.count(",") + 1))
    assert (await make_post(addresses, (), own)(443)).error == "refused_address"


@pytest.mark.parametrize(
    ("names", "error"), [("TIMEOUT", "timeout"), ("NXDOMAIN", "dns_failed"), ("EMPTY", "dns_failed"), ("127.0.0.1", "connect_failed")]
)
async def test_a_name_without_an_answer_and_an_address_where_nobody_listens(make_post: MakePost, names: str, error: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert (await make_post(names, timeout_s=0.2 if error == "timeout" else 30)(closed.getsockname()[1])).error == error


async def test_a_sender_that_is_given_no_names_asks_the_system(
    make_post: MakePost, server_tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))])
    async with Receiver(server_tls) as receiver:
        assert (await make_post(None)(receiver)).success


# TLS


async def greet(connection: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, b"HTTP/1.1 400 Bad Request\r\n\r\n")


async def test_a_certificate_for_another_name_or_time_or_an_unknown_one_gets_nothing(
    post: Post, make_post: MakePost, authority: Authority, server_tls: ssl.SSLContext, tmp_path: Path
) -> None:
    old = authority.server("hook.example.net")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    cases = [
        (server_tls, "other.example.net", post),
        (server_tls, "hook.example.net", make_post(ca=False)),  # trusted only because of the ca_file
        (authority.server("hook.example.net", age=timedelta(days=10)), "hook.example.net", post),
        (authority.server("hook.example.net", age=timedelta(days=-1)), "hook.example.net", post),
        (Authority(tmp_path, "stranger").server("hook.example.net"), "hook.example.net", post),
        (authority.server("*.net"), "hook.example.net", post),
        (authority.server(), "hook.example.net", post),
        (None, "hook.example.net", post),
        (old, "hook.example.net", post),
    ]
    for context, host, sends in cases:
        async with Receiver(context, on_accept=greet if context is None else None) as receiver:
            outcome = await sends(receiver, host)
            assert outcome.error == "tls_failed" or (context is old and outcome.error == "connect_failed")
            assert (outcome.status_code, receiver.heads, receiver.accepted) == (None, [], 1)


def test_the_environment_cannot_have_keys_written_down_and_a_ca_file_that_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert client_context(None).keylog_filename is None
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(OSError, match=r".*"):
        client_context(tmp_path / "ca.pem")


def test_the_systems_certificates_are_trusted_beside_the_ca_file(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssl, "get_default_verify_paths", SYSTEMS_PATHS)
    alone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    alone.load_verify_locations(authority.file)
    context = client_context(authority.file)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    system = ssl.create_default_context()
    system.load_verify_locations(authority.file)
    assert context.cert_store_stats() == system.cert_store_stats()


def test_where_openssl_looks_in_vain_the_distributions_bundle_is_taken(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = ssl.DefaultVerifyPaths(None, None, "", "", "", "")  # type: ignore[arg-type]
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nowhere)
    monkeypatch.setattr(egress, "BUNDLES", ("/nonexistent", str(authority.file)))
    roots = [dict(pair[0] for pair in root["subject"]).get("commonName") for root in client_context(None).get_ca_certs()]  # type: ignore[misc]
    assert "root" in roots


# Answers


async def test_2xx_is_a_success_and_any_other_status_a_failure_that_is_not_sent_again(post: Post, server_tls: ssl.SSLContext) -> None:
    redirects = dict.fromkeys((300, 301, 302, 303, 304, 307, 308, 399), "redirect")
    failures = dict.fromkeys((400, 401, 410, 429, 500, 503, 599), "http_status")
    expected: dict[int, str | None] = {**dict.fromkeys((200, 201, 204, 299)), **redirects, **failures}
    async with Receiver(server_tls) as receiver:
        for number, (status, error) in enumerate(expected.items(), start=1):
            head = f"HTTP/1.1 {status} x\r\nRetry-After: 0\r\nLocation: https://127.0.0.1:{receiver.port}/\r\nContent-Length: 0\r\n\r\n"
            receiver.answer = head.encode()
            outcome = await post(receiver)
            assert (outcome.success, outcome.status_code, outcome.error) == (error is None, status, error)
            await asyncio.sleep(0.01)
            assert receiver.accepted == len(receiver.bodies) == number


async def test_provisional_answers_and_long_headers_fail_no_delivery(post: Post, server_tls: ssl.SSLContext) -> None:
    for answer in (b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + OK, OK.replace(b"200 OK", b"200 OK\r\nX: " + b"x" * 60_000)):
        async with Receiver(server_tls, answer) as receiver:
            assert (await post(receiver)).status_code == 200


async def test_what_is_not_http_is_a_bad_response(post: Post, server_tls: ssl.SSLContext, caplog: pytest.LogCaptureFixture) -> None:
    for answer in (
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\x01\x02\x03" * 100,
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
    ):
        async with Receiver(server_tls, close_after(answer)) as receiver:
            outcome = await post(receiver)
        assert (outcome.success, outcome.status_code, outcome.error) == (False, None, "bad_response"), answer[:50]
    assert caplog.records == []


async def test_switching_protocols_is_a_failure(post: Post, server_tls: ssl.SSLContext) -> None:
    async with Receiver(server_tls, b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n") as receiver:
        outcome = await post(receiver)
        assert (outcome.status_code, outcome.error) == (101, "http_status")
        assert await eventually(lambda: receiver.open == 0)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-"])
@pytest.mark.parametrize("end", [close_after, reset_after])
async def test_a_connection_that_ends_before_the_answer_is_lost_and_not_tried_again(
    post: Post, server_tls: ssl.SSLContext, answer: bytes, end: Callable[[bytes], Callable[[asyncio.StreamWriter], Awaitable[None]]]
) -> None:
    async with Receiver(server_tls, end(answer)) as receiver:
        assert (await post(receiver)).error == "connection_lost"
        await asyncio.sleep(0.05)
        assert len(receiver.bodies) == receiver.accepted == 1


def connector_fault(fault: OSError, kind: type[aiohttp.ClientConnectorError] = aiohttp.ClientConnectorError) -> Exception:
    return kind(None, fault)  # type: ignore[arg-type]  # the key is for its text


def caused(fault: Exception, cause: Exception) -> Exception:
    fault.__cause__ = cause
    return fault


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (TargetRefused("inside"), "refused_address"),
        (connector_fault(AddressRefused()), "refused_address"),
        (connector_fault(LookupFailed("unknown"), aiohttp.ClientConnectorDNSError), "dns_failed"),
        (connector_fault(ssl.SSLError("broken"), aiohttp.ClientConnectorSSLError), "tls_failed"),
        (connector_fault(ssl.SSLCertVerificationError("expired"), aiohttp.ClientConnectorCertificateError), "tls_failed"),
        (caused(aiohttp.ClientOSError("closed"), ssl.SSLError("wrong version")), "tls_failed"),
        (TimeoutError(), "timeout"),
        (aiohttp.ConnectionTimeoutError(), "timeout"),
        (connector_fault(ConnectionRefusedError()), "connect_failed"),
        (connector_fault(OSError(errno.EHOSTUNREACH, "no route to host")), "connect_failed"),
        (aiohttp.ServerDisconnectedError(), "connection_lost"),
        (aiohttp.ClientOSError(errno.ECONNRESET, "reset"), "connection_lost"),
        (RuntimeError("the transport is closed"), "connection_lost"),
        (aiohttp.ClientResponseError(None, ()), "bad_response"),  # type: ignore[arg-type]
        (aiohttp.ClientPayloadError(), "bad_response"),
        (ValueError("not a number"), "bad_response"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_every_fault_has_its_word(fault: Exception, error: str) -> None:
    assert reason_of(fault) == error


# Time and size


async def handshake_never(_: object) -> None:
    """Take the connection and say nothing, not even in TLS."""
    await asyncio.sleep(3600)


async def test_who_does_not_come_to_a_status_is_left_when_the_time_is_up(make_post: MakePost, server_tls: ssl.SSLContext) -> None:
    post = make_post(timeout_s=TIMEOUT_S)

    async def attempt(answer: Any, on_accept: Any = None) -> None:
        async with Receiver(server_tls, answer, on_accept=on_accept) as receiver:
            started = time.monotonic()
            outcome = await post(receiver)
            assert outcome.error == "timeout"
            assert TIMEOUT_S - 0.01 <= time.monotonic() - started < TIMEOUT_S + 10
            assert outcome.duration_ms >= TIMEOUT_S * 1000 - 10
            assert receiver.accepted == 1

    await asyncio.gather(
        attempt(OK, handshake_never),
        attempt(hang),
        attempt(trickle(b"HTTP/1.1 200 OK\r\nX: ", every_s=0.02)),
        attempt(trickle(b"HTTP/1.1 100 Continue\r\nX: ", every_s=0.02)),
        attempt(trickle(b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + b"HTTP/1.1 2", b"00 OK" + b" " * 1000, every_s=0.02)),
    )


async def test_a_trickling_body_changes_nothing_about_the_status_and_is_waited_for_within_the_same_time(
    post: Post, server_tls: ssl.SSLContext
) -> None:
    async with Receiver(server_tls, trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", every_s=0.02)) as receiver:
        started = time.monotonic()
        outcome = await post(receiver)
        assert outcome.success
        assert outcome.duration_ms < (time.monotonic() - started) * 1000
        assert await eventually(lambda: receiver.open == 0)


async def test_a_delivery_is_timed_in_milliseconds(post: Post, server_tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(1000.0, 2.0)
    monkeypatch.setattr(sender, "perf_counter", lambda: next(clock))
    async with Receiver(server_tls) as receiver:
        assert (await post(receiver)).duration_ms == 2000
    assert (await post(receiver)).duration_ms == 2000


@pytest.mark.parametrize(
    "head", [b"Content-Length: 1000000000", b"Transfer-Encoding: chunked", b"Connection: close", b"Content-Encoding: gzip"]
)
async def test_of_a_huge_answer_little_is_read_and_nothing_is_unpacked(post: Post, server_tls: ssl.SSLContext, head: bytes) -> None:
    sent, block = 0, gzip.compress(bytes(40 * 2**20), 9) if b"gzip" in head else b"x" * 65536

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
        while True:
            writer.write(b"%x\r\n%b\r\n" % (len(block), block) if b"chunked" in head else block)
            await writer.drain()
            sent += len(block)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with Receiver(server_tls, flood) as receiver:
        assert (await post(receiver)).success
        assert await eventually(lambda: receiver.open == 0)
    # Buffers of the kernel and of TLS on both sides are in it.
    assert sent < 16 * 2**20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024


# Connections


async def test_each_delivery_has_a_connection_of_its_own_so_that_a_silent_close_loses_none(post: Post, server_tls: ssl.SSLContext) -> None:
    async with Receiver(server_tls, close_after(OK)) as receiver:
        for number in range(10):
            assert (await post(receiver, body=b"%d" % number)).success
        receiver.answer = OK
        assert (await post(receiver, body=b"10")).success
        assert receiver.bodies == [b"%d" % number for number in range(11)]
        assert receiver.accepted == 11
        assert await eventually(lambda: receiver.open == 0)


@pytest.mark.parametrize(
    ("answer", "error"), [(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", None), (b"", "timeout")]
)
async def test_a_receiver_that_does_not_say_goodbye_holds_no_socket(
    make_post: MakePost, server_tls: ssl.SSLContext, answer: bytes, error: str | None
) -> None:
    def sockets() -> int:
        with os.scandir("/proc/self/fd") as opened:
            return sum(Path(entry.path).is_socket() for entry in opened)

    async def answer_and_freeze(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(3600)

    post = make_post(timeout_s=TIMEOUT_S if error else 30)
    async with Receiver(server_tls, answer_and_freeze) as receiver:
        before = sockets()
        outcomes = await asyncio.gather(*(post(receiver) for _ in range(20)))
        assert {outcome.error for outcome in outcomes} == {error}
        # The receiver's own ends are still open; ours are not.
        assert await eventually(lambda: sockets() - before <= 20 + 1)


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_a_delivery_under_way_that_is_cancelled_or_whose_sender_is_closed_leaves_no_connection(
    make_post: MakePost, server_tls: ssl.SSLContext, how: str
) -> None:
    post = make_post()
    async with Receiver(server_tls, hang) as receiver:
        under_way = asyncio.create_task(post(receiver))
        assert await eventually(lambda: len(receiver.bodies) == 1)
        if how == "cancelled":
            under_way.cancel()
            with pytest.raises(asyncio.CancelledError):
                await under_way
        else:
            await post.sender.close()
            assert (await under_way).error == (await post(receiver)).error == "connection_lost"
        assert await eventually(lambda: receiver.open == 0)
        assert receiver.accepted == 1


async def test_no_log_tells_a_secret_a_body_or_an_answer(post: Post, server_tls: ssl.SSLContext, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answers: list[bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]] = [
        OK,
        close_after(b"secret nonsense\r\n\r\n"),
        reset_after(b""),
        b"HTTP/1.1 500 secret\r\nX-secret: secret\r\nContent-Length: 6\r\n\r\nsecret",
    ]
    for answer in answers:
        async with Receiver(server_tls, answer) as receiver:
            assert "secret" not in repr(await post(receiver, body=b'{"secret":1}'))
    assert "secret" not in caplog.text
    assert HEADERS["X-Service-Signature"] not in caplog.text
