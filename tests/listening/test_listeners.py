"""The listeners beside the main one: plain http that leads to https, and a socket in the file system."""

import asyncio
import json
import logging
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from aiohttp import ClientSession, UnixConnector

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.errors import CommandError
from chatsvc.services.services import Services
from chatsvc.store.master_key import MasterKey
from chatsvc.web.listeners import CHALLENGES
from tests.listening.test_tls import put

URL = "https://bots.example.com"


@pytest.fixture
def plain(config: Config, tmp_path: Path) -> Config:
    """With https, and a port for plain http beside it."""
    return replace(config, server=replace(config.server, tls=put(tmp_path), public_url=URL, http=("127.0.0.1", 0)))


async def test_whatever_is_no_challenge_over_plain_http_is_led_to_https(plain: Config) -> None:
    async with App(plain) as app:
        for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
            for path in ("/", "/api/v2/messages?a=b%20c&d", "//evil.example/x", f"{CHALLENGES}unknown"):
                head = await ask(app.listeners.http_port, f"{method} {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
                assert head.startswith("HTTP/1.1 308 Permanent Redirect\r\n")
                assert f"\r\nLocation: {URL}{path}\r\n" in head
                assert ("\r\nContent-Length: 0\r\n" in head) == (method != "HEAD")
                assert "Strict-Transport-Security" not in head
        # A target that is no path is led to the beginning, or refused.
        for target in ("*", "http://evil.example/x", "/ü"):
            head = await ask(app.listeners.http_port, f"OPTIONS {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert f"\r\nLocation: {URL}/\r\n" in head or head.startswith("HTTP/1.1 400 ")
        # A body that is not read is not taken for the next request.
        head = await ask(app.listeners.http_port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        assert head.count("HTTP/1.1") == 1


async def ask(port: int, request: str) -> str:
    """Return all that the peer sends until it closes or pauses."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            answer += await reader.read()
    writer.close()
    return answer.decode()


async def test_a_port_that_is_taken_is_told_and_leaves_nothing_open(plain: Config) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"cannot listen on 127.0.0.1:{port}"):
            async with App(replace(plain, server=replace(plain.server, http=("127.0.0.1", port)))):
                pass


def services_of(config: Config, port: int) -> Services:
    nothing = cast("Any", None)
    return Services(config, nothing, MasterKey(bytes(32)), nothing, own_port=lambda: port)


async def test_no_webhook_may_go_to_either_port_and_a_socket_has_none(plain: Config, path: Path) -> None:
    allowing = replace(plain.webhooks, allowed_networks=(ip_network("127.0.0.0/8"),))
    settings = replace(plain.server, port=8443, http=("127.0.0.1", 8080))
    webhooks = services_of(replace(plain, server=settings, webhooks=allowing), 8443).webhooks
    for port in (8443, 8080):
        with pytest.raises(TargetRefused):
            await webhooks.sender.check(f"https://127.0.0.1:{port}/")
    await webhooks.sender.check("https://127.0.0.1:8444/")
    await webhooks.close()
    on_path = on_socket(replace(plain, webhooks=allowing), path)
    webhooks = services_of(on_path, 0).webhooks
    await webhooks.sender.check("https://127.0.0.1:8443/")
    with pytest.raises(TargetRefused):
        await webhooks.sender.check(f"{URL}/")
    await webhooks.close()


@pytest.fixture
def path() -> Iterator[Path]:
    """A short path for a socket, whose name is limited."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / "chatsvc.sock"


def mode(path: Path) -> int | None:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def on_socket(config: Config, path: Path) -> Config:
    return replace(config, server=replace(config.server, host="", port=0, socket=path, public_url=URL))


async def test_a_socket_is_for_user_and_group_and_gone_when_the_service_is(config: Config, path: Path) -> None:
    async with App(on_socket(config, path)) as app:
        assert app.url == f"unix:{path}"
        assert mode(path) == 0o660
        async with ClientSession(connector=UnixConnector(str(path))) as caller, caller.get("http://localhost/readyz") as answer:
            assert (answer.status, await answer.json()) == (200, {"status": "ready"})
    assert mode(path) is None


async def test_a_socket_that_was_left_behind_is_replaced(config: Config, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert mode(path)
    async with App(on_socket(config, path)):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.close()


@pytest.mark.parametrize("kind", ["a socket on which somebody listens", "no socket", "no folder"])
async def test_what_cannot_be_replaced_is_told_and_left_alone(config: Config, path: Path, kind: str) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        if kind == "no socket":
            path.touch(mode=0o600)  # noqa: ASYNC240  # one file, before anything runs
        elif kind != "no folder":
            other.bind(str(path))
            other.listen()
        before, wanted = mode(path), path / "deeper" if kind == "no folder" else path
        with pytest.raises(CommandError, match="No such file or directory" if kind == "no folder" else "cannot listen on unix:"):
            async with App(on_socket(config, wanted)):
                pass
        assert mode(path) == before


async def test_a_refused_key_is_logged_with_the_address_for_which_the_proxy_asks(
    config: Config, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"X-Forwarded-For": "192.0.2.1, 203.0.113.7"}
    caplog.set_level(logging.INFO, "chatsvc")
    async with (
        App(on_socket(config, path)),
        ClientSession(connector=UnixConnector(str(path))) as proxy,
        proxy.get("http://x/api/v2/chatbots", headers=headers) as answer,
    ):
        assert json.loads(await answer.read())["error"] == "missing_api_key"
    assert "missing_api_key: 203.0.113.7" in [record.getMessage() for record in caplog.records]
