"""Certificates from files: taken up again when they change, without a word lost; and what is spoken at the server_tls."""

import asyncio
import logging
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Tls
from chatsvc.domain.errors import CommandError
from chatsvc.tls import server_tls
from chatsvc.tls.certificates import self_signed
from chatsvc.tls.server_tls import CertificateFiles, ServerTls
from chatsvc.web import connection, listeners
from tests.api.support import Wire, request, until
from tests.listening.support import session, shown

NAME = "bots.example.com"


def put(folder: Path, *, name: str = NAME) -> Tls:
    """A new certificate and its key in the same two files."""
    tls = Tls(folder / "cert.pem", folder / "key.pem")
    for file, pem in zip((tls.cert_file, tls.key_file), self_signed([name], days=1), strict=True):
        file.write_bytes(pem)
    return tls


def der(tls: Tls) -> bytes:
    return ssl.PEM_cert_to_DER_cert(tls.cert_file.read_text())


@pytest.fixture
def secured(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """With a certificate of its own that is looked at often."""
    monkeypatch.setattr(server_tls, "LOOK_EVERY_S", 0.05)
    return replace(config, server=replace(config.server, tls=put(tmp_path), public_url=f"https://{NAME}"))


async def becomes(app: App, wanted: bytes) -> None:
    """Wait until new callers see this certificate."""
    async with asyncio.timeout(20):
        while await shown(app.port, NAME) != wanted:  # noqa: ASYNC110  # what is waited for happens inside of the service
            await asyncio.sleep(0.02)


async def test_a_new_certificate_is_for_new_connections_and_those_that_are_open_go_on(secured: Config, tmp_path: Path) -> None:
    tls = secured.server.tls
    assert tls
    first = ssl.create_default_context(cafile=str(tls.cert_file))
    async with App(secured) as app, session(first) as caller:
        url = f"https://{NAME}:{app.port}/healthz"
        async with caller.get(url) as answer:
            assert answer.status == 200
        before = await shown(app.port, NAME)
        assert before == der(tls)
        put(tmp_path)
        await becomes(app, der(tls))
        async with caller.get(url) as answer:
            # The same connection still: a new one would not be trusted.
            assert answer.status == 200
        async with session(ssl.create_default_context(cafile=str(tls.cert_file))) as other, other.get(url) as answer:
            assert answer.status == 200


async def test_a_caller_who_does_not_answer_the_end_of_tls_is_closed_soon(secured: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "LINGER_S", 0.2)
    assert secured.server.tls
    async with App(secured) as app:
        context = ssl.create_default_context(cafile=str(secured.server.tls.cert_file))
        plain = socket.create_connection(("127.0.0.1", app.port))
        with await asyncio.to_thread(context.wrap_socket, plain, server_hostname=NAME) as caller:
            await asyncio.to_thread(caller.sendall, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await asyncio.to_thread(caller.recv, 100)).startswith(b"HTTP/1.1 200 ")
            await until(lambda: not app.listeners._servers[0].connections)


async def test_links_that_are_turned_to_new_files_count_as_a_change(secured: Config, tmp_path: Path) -> None:
    for live in ("1", "2"):
        (tmp_path / live).mkdir()
        put(tmp_path / live)
    tls = Tls(tmp_path / "live" / "cert.pem", tmp_path / "live" / "key.pem")
    (tmp_path / "live").symlink_to("1")
    async with App(replace(secured, server=replace(secured.server, tls=tls))) as app:
        before = await shown(app.port, NAME)
        (tmp_path / "next").symlink_to("2")
        (tmp_path / "next").rename(tmp_path / "live")
        await becomes(app, der(tls))
        assert before != der(tls)


@pytest.mark.parametrize("broken", ["half", "other key", "gone"])
async def test_a_new_pair_that_cannot_be_used_leaves_the_old_one_and_is_told_once(
    secured: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    tls = secured.server.tls
    assert tls
    (tmp_path / "other").mkdir()
    other = put(tmp_path / "other")
    async with App(secured) as app:
        before = await shown(app.port, NAME)
        match broken:
            case "half":
                tls.cert_file.write_bytes(tls.cert_file.read_bytes()[:200])
            case "other key":
                tls.key_file.write_bytes(other.key_file.read_bytes())
            case _:
                tls.cert_file.unlink()
        await until(lambda: any(record.levelno == logging.ERROR for record in caplog.records))
        await asyncio.sleep(0.3)
        assert await shown(app.port, NAME) == before
        (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert "changed and cannot be used, the one before stays in force" in line
        assert str(tls.cert_file) in line
        put(tmp_path)
        await becomes(app, der(tls))


def test_a_pair_that_cannot_be_used_from_the_start_is_refused(tmp_path: Path) -> None:
    tls = put(tmp_path)
    tls.key_file.write_text("no key")
    with pytest.raises(CommandError, match="cannot be used") as refused:
        CertificateFiles(ServerTls(), tls.cert_file, tls.key_file).open()
    assert "no key" not in str(refused.value).replace(str(tls.key_file), "")


async def test_nothing_older_than_tls_1_2_is_spoken(secured: Config) -> None:
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    async with App(secured) as app:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(app.port, NAME, old)


async def test_requests_that_come_in_one_go_are_answered_over_tls_and_whoever_hangs_up_leaves_no_trace(
    secured: Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "READER_TIMEOUT_S", 0.2)
    assert secured.server.tls
    trusted, asked = ssl.create_default_context(cafile=str(secured.server.tls.cert_file)), request("GET", "/healthz")
    async with App(secured) as app:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", app.port, ssl=trusted, server_hostname=NAME))
        for _ in range(2):
            await wire.send(asked * 100)
            for _ in range(100):
                assert (await wire.answer()).status == 200
            await asyncio.sleep(0.4)
        for _ in range(20):
            other = Wire(*await asyncio.open_connection("127.0.0.1", app.port, ssl=trusted, server_hostname=NAME))
            await other.send(asked * 100)
            other.hang_up()
        await wire.close()
        await until(lambda: not app.listeners._servers[0].connections)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_the_proof_for_an_authority_is_shown_to_the_authority_alone(tmp_path: Path) -> None:
    holder = ServerTls()
    holder.use_files(*vars(put(tmp_path)).values())
    listener = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=holder.context)
    port = listener.sockets[0].getsockname()[1]
    asking = ssl.create_default_context()
    asking.check_hostname, asking.verify_mode = False, ssl.CERT_NONE
    asking.set_alpn_protocols(["acme-tls/1"])
    common = await shown(port, NAME)
    proof = self_signed([NAME], days=1, proof=b"x" * 32)
    holder.set_challenges({NAME: b"".join(proof)})
    wanted = ssl.PEM_cert_to_DER_cert(proof[0].decode())
    assert await shown(port, NAME, asking) == wanted
    assert await shown(port, NAME) == common
    assert await shown(port, "elsewhere.example.com", asking) == common
    assert await asyncio.gather(*(shown(port, NAME, tls) for tls in [asking, None] * 10)) == [wanted, common] * 10
    holder.set_challenges({})
    assert await shown(port, NAME, asking) == common
    listener.close()


async def test_browsers_are_told_to_speak_https_alone_in_every_answer(secured: Config) -> None:
    trusting = ssl.create_default_context(cafile=str(secured.server.tls and secured.server.tls.cert_file))
    for seconds in (31_536_000, 60, 0):
        config = replace(secured, server=replace(secured.server, hsts_s=seconds))
        async with App(config) as app, session(trusting) as caller:
            for path in ("/healthz", "/api/v2/chatbots", "/nowhere"):
                async with caller.get(f"https://{NAME}:{app.port}{path}") as answer:
                    headers: list[Any] = answer.headers.getall("Strict-Transport-Security", [])
                    assert headers == ([f"max-age={seconds}"] if seconds else [])
            reader, writer = await asyncio.open_connection("127.0.0.1", app.port, ssl=trusting, server_hostname=NAME)
            writer.write(b"broken\r\n\r\n")
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert head.startswith("HTTP/1.1 400 ")
            assert ("Strict-Transport-Security: max-age=" in head) == bool(seconds)
            writer.close()
