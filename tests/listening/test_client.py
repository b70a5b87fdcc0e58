"""Answers of an authority. Every fault is one line, and the certificate before stays."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatsvc import acme
from chatsvc.acme import CERTIFICATE, AcmeClient, AcmeError, CertificateManager, Proof
from chatsvc.config.model import Acme
from chatsvc.tls.certificates import new_key, self_signed, validity
from chatsvc.tls.server_tls import ServerTls
from tests.listening.support import free_port, shown
from tests.tables import rows
from tests.webhooks.certificates import Authority

NAME = "bots.example.com"
ORDER = {"status": "valid", "authorizations": ["/authorization"], "finalize": "/finalize", "certificate": "/certificate"}


class Forged:
    """An authority that answers as a test has it: under each path a status, a body and headers."""

    def __init__(self, url: str, ca_file: Path) -> None:
        self.url, self.ca_file, self.asked = url, ca_file, list[str]()
        self.answers: dict[str, tuple[int, Any, dict[str, str]]] = {}
        self.put("/directory", {name: f"{url}/{name}" for name in ("newNonce", "newAccount", "newOrder")})
        self.put("/newNonce", {})
        self.put("/newAccount", {"status": "valid"}, Location=f"{url}/account")
        order = {key: f"{url}{value}" if isinstance(value, str) and value.startswith("/") else value for key, value in ORDER.items()}
        self.order = {**order, "authorizations": [f"{url}/authorization"]}
        self.put("/newOrder", self.order, Location=f"{url}/order")
        self.put("/order", self.order)
        self.put("/finalize", self.order)
        self.put("/authorization", {"status": "valid"})

    def put(self, path: str, body: Any, status: int = 200, **headers: str) -> None:
        self.answers[path] = status, body, {name.replace("_", "-"): value for name, value in headers.items()}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path)
        status, body, headers = self.answers[request.path]
        headers = {"Replay-Nonce": "nonce", **headers}
        if body is None:
            await asyncio.sleep(60)
        if isinstance(body, bytes | str):
            return web.Response(status=status, body=BytesIO(body if isinstance(body, bytes) else body.encode()), headers=headers)
        return web.json_response(body, status=status, headers=headers)


@pytest.fixture
async def forged(tmp_path: Path) -> AsyncIterator[Forged]:
    authority = Authority(tmp_path)
    port = free_port()
    running = Forged(f"https://127.0.0.1:{port}", authority.file)
    runner = web.ServerRunner(web.Server(running.handle), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=authority.server("127.0.0.1")).start()
    yield running
    await runner.cleanup()


@asynccontextmanager
async def proving(_: Sequence[Proof]) -> AsyncIterator[None]:
    yield


async def order(forged: Forged) -> bytes:
    trusting = ssl.create_default_context(cafile=str(forged.ca_file))
    client = AcmeClient(f"{forged.url}/directory", new_key(), "tls-alpn-01", trusting)
    return await client.certificate([NAME], None, b"request", proving)


async def refusal(forged: Forged) -> AcmeError:
    """The error of a missing control socket, which is one line."""
    with pytest.raises(AcmeError) as raised:
        await order(forged)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500
    return raised.value


async def test_the_chain_comes_back_as_it_was_issued(forged: Forged) -> None:
    forged.put("/certificate", "the chain")
    assert await order(forged) == b"the chain"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        *((path, json.loads(body), said) for path, body, said in rows("listening/senseless_answers")),
        ("/directory", "x" * (acme.MAX_ANSWER + 1), "has no end"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_told(forged: Forged, path: str, body: Any, said: str) -> None:
    forged.put(path, body, Location=f"{forged.url}/order")
    assert said in str(await refusal(forged))


async def test_a_redirect_is_not_followed(forged: Forged) -> None:
    forged.put("/directory", "", 302, Location=f"{forged.url}/newNonce")
    assert "answered 302 when asked for its directory" in str(await refusal(forged))
    assert forged.asked == ["/directory"]


async def test_a_nonce_is_taken_from_the_refusal_and_tried_again_but_not_for_ever(forged: Forged) -> None:
    forged.put("/newOrder", {"type": "urn:ietf:params:acme:error:badNonce"}, 400)
    assert "refuses every nonce" in str(await refusal(forged))
    assert forged.asked.count("/newOrder") == acme.NONCE_TRIES
    assert forged.asked.count("/newNonce") == 1


async def test_how_long_it_wants_to_be_left_alone_is_heard(forged: Forged) -> None:
    problem = {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many certificates\n\x1b[31m already"}
    for header, meant in (("3600", 3600.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), ("-5", 0.0)):
        forged.put("/newOrder", problem, 429, Retry_After=header)
        refused = await refusal(forged)
        assert refused.retry_after_s == meant
        assert "answered 429: too many certificates" in str(refused)


async def test_an_authority_that_does_not_answer_is_not_waited_for(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acme, "REQUEST_TIMEOUT_S", 0.2)
    forged.put("/newOrder", None)
    assert "cannot be reached" in str(await refusal(forged))
    monkeypatch.setattr(acme, "ORDER_TIMEOUT_S", 0.3)
    forged.put("/newOrder", {**forged.order, "status": "processing"}, Location=f"{forged.url}/order")
    forged.put("/order", {**forged.order, "status": "processing"})
    assert "took too long" in str(await refusal(forged))


@pytest.mark.parametrize("issued", ["for another key", "no certificate", "nothing"])
async def test_what_was_issued_and_cannot_be_used_changes_nothing(forged: Forged, tmp_path: Path, issued: str) -> None:
    stranger, _ = self_signed([NAME], days=90)
    forged.put("/certificate", {"for another key": stranger, "no certificate": b"-----BEGIN", "nothing": b""}[issued])
    server_tls = ServerTls()
    trusting = ssl.create_default_context(cafile=str(forged.ca_file))
    manager = CertificateManager(Acme((NAME,), None, f"{forged.url}/directory", None), tmp_path / "acme", server_tls, trusting)
    manager.open()
    listener = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=server_tls.context)
    before = await shown(listener.sockets[0].getsockname()[1], NAME)
    with pytest.raises(AcmeError, match="no certificate for the key"):
        await manager.renew()
    assert await shown(listener.sockets[0].getsockname()[1], NAME) == before
    assert not list((tmp_path / "acme").rglob(CERTIFICATE))
    listener.close()


def manager_over(folder: Path, now: float) -> CertificateManager:
    """A manager with a clock that stands still."""
    return CertificateManager(
        Acme((NAME,), None, "https://ca.example/directory", None), folder, ServerTls(), ssl.create_default_context(), clock=lambda: now
    )


def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(tmp_path: Path) -> None:
    pem = b"".join(self_signed([NAME], days=90))
    manager = manager_over(tmp_path, 0)
    manager.open()
    assert manager.due == 0
    (folder,) = tmp_path.iterdir()
    (folder / CERTIFICATE).write_bytes(pem)
    manager.open()
    _, begin, end = validity(pem)
    assert manager.due == pytest.approx(begin + (end - begin) * 2 / 3, abs=1)


def test_what_is_stored_and_broken_is_replaced_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manager = manager_over(tmp_path, 0)
    manager.open()
    (folder,) = tmp_path.iterdir()
    (folder / CERTIFICATE).write_bytes(b"half a certif")
    manager.open()
    assert manager.due == 0
    assert "cannot be used, another is asked for" in caplog.text
