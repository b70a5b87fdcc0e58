"""The client of websites against good, broken and hostile servers."""

import asyncio
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest
from aiohttp.web import Request, Response, StreamResponse

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.addresses import IPAddress, Own, TargetRefused
from chatsvc.domain.errors import CommandError
from chatsvc.outbound import website
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress, client_context
from chatsvc.outbound.website import FetchFailed, WebsiteClient
from tests.websites.server import WebsiteServer

HERE = (ip_network("127.0.0.0/8"),)


class Names:
    """A resolver that gives one answer after the other."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    async def __call__(self, _: str) -> Sequence[str | IPAddress]:
        return self.answers.pop(0)


def client_of(guard: Guard, *, allowed: bool = True) -> WebsiteClient:
    return WebsiteClient(guard, Egress(allowed=allowed), client_context(None))


@pytest.fixture
def client() -> WebsiteClient:
    """A client that may read this machine."""
    return client_of(Guard(Own(), HERE, plain=True))


async def fault(client: WebsiteClient, url: str) -> str:
    with pytest.raises(FetchFailed) as caught:
        await client.fetch(url)
    return caught.value.code


async def test_pages_come_with_validators_and_encodings(server: WebsiteServer, client: WebsiteClient) -> None:
    text = "<p>ğ</p>".encode("cp1254")
    server.pages = {
        "/": "hello",
        "/wide": lambda _: Response(headers={"X-Long": "x" * 60_000}),
        "/on": lambda _: Response(status=301, headers={"Location": "/#top"}),
    }
    for name, packed in (("gzip", gzip.compress(text)), ("deflate", zlib.compress(text)), ("deflate", zlib.compress(text)[2:-4])):
        server.pages[f"/{name}{len(packed)}"] = lambda _, name=name, packed=packed: Response(  # type: ignore[misc]
            body=packed, headers={"Content-Encoding": name, "Content-Type": "text/html; charset=windows-1254"}
        )
    response = await client.fetch(server.url)
    assert (response.status, response.body, response.kind) == (200, b"hello", "text/html")
    assert (await client.fetch(server.url, response.etag)).status == 304
    assert (await client.fetch(server.url + "on")).url == server.url
    assert (await client.fetch(server.url + "wide")).status == 200
    for path in [path for path in server.pages if path[1:3] in {"gz", "de"}]:
        response = await client.fetch(server.url + path[1:])
        assert (response.body, response.charset) == (text, "windows-1254")


async def test_bombs_and_odd_answers_end_with_a_reason(
    server: WebsiteServer, client: WebsiteClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(request: Request) -> StreamResponse:
        answer = StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b"x" * 65536)

    def packed(_: Request) -> Response:
        return Response(body=gzip.compress(bytes(30_000_000)), headers={"Content-Encoding": "gzip"})

    server.pages = {
        "/endless": endless,
        "/bomb": packed,
        "/brotli": lambda _: Response(body=b"x", headers={"Content-Encoding": "br"}),
        "/torn": lambda _: Response(body=b"x", headers={"Content-Encoding": "gzip"}),
        "/loop": lambda _: Response(status=302, headers={"Location": "/loop"}),
        "/away": lambda _: Response(status=302, headers={"Location": "http://127.0.0.2/"}),
        "/secret": lambda _: Response(status=302, headers={"Location": "http://10.0.0.1/"}),
        "/odd": lambda _: Response(status=302, headers={"Location": "ftp://127.0.0.1/"}),
        "/line": lambda _: Response(headers={"X-Long": "x" * 100_000}),
    }
    expected = {
        "endless": "too_large", "bomb": "too_large", "brotli": "unknown_encoding", "torn": "unknown_encoding",
        "loop": "too_many_redirects", "away": "other_host", "secret": "refused_address", "odd": "refused_address", "line": "bad_response",
    }  # fmt: skip
    assert {path: await fault(client, server.url + path) for path in expected} == expected
    monkeypatch.setattr(website, "TIMEOUT_S", 0.2)

    async def slow(_: Request) -> StreamResponse:
        await asyncio.sleep(30)
        return Response()

    server.pages["/slow"] = slow
    assert await fault(client, server.url + "slow") == "timeout"


async def test_only_public_addresses_are_dialled_whatever_a_name_says(server: WebsiteServer) -> None:
    refused = client_of(Guard(Own(), (), plain=True))
    for url in (server.url, "http://10.1.2.3/", "http://localhost/", "http://[::1]/", "http://example.com:81/"):
        assert await fault(refused, url) == "refused_address"
        with pytest.raises(TargetRefused):
            await refused.check(url)

    names = Names(["192.88.98.1"], ["127.0.0.1"], ["127.0.0.1", "192.88.98.1"])
    turning = client_of(Guard(Own(), (), names, plain=True))
    assert await turning.check("HTTP://Example.COM:8080") == "http://example.com:8080/"
    assert await fault(turning, "http://example.com:8080/") == "refused_address"
    assert await fault(turning, "http://example.com/") == "refused_address"

    offline = client_of(Guard(Own(), HERE, names, plain=True), allowed=False)
    assert await offline.check("https://example.com") == "https://example.com/"
    assert await fault(offline, server.url) == "egress_refused"
    assert server.asked == []


async def test_a_file_of_authorities_that_cannot_be_used_ends_the_start(config: Config, tmp_path: Path) -> None:
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    with pytest.raises(CommandError, match=r"website\.ca_file .*ca\.pem cannot be used"):
        async with App(replace(config, website=replace(config.website, ca_file=broken))):
            pass
