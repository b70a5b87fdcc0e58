"""Certificates by ACME, from Debian's pebble: the first, its renewal under load, and what is told when there is none to be had."""

import asyncio
import logging
import ssl
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError

from chatsvc import acme
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Acme
from tests.listening.support import Pebble, is_installed, pebble, session, shown

pytestmark = pytest.mark.skipif(not is_installed(), reason="pebble is not on this machine (Debian's package pebble)")

NAME = "bots.example.com"
OTHER = "chat.example.org"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acme, "POLL_S", 0.05)
    monkeypatch.setattr(acme, "RETRY_S", 0.2)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    """Issues certificates for an hour, and refuses every third nonce for nothing."""
    with pebble(tmp_path_factory.mktemp("pebble"), PEBBLE_WFE_NONCEREJECT="33") as running:
        yield running


def served_by(authority: Pebble, config: Config, *domains: str, http: bool = False) -> Config:
    """A configuration that has its certificates from the authority."""
    server = replace(
        config.server,
        port=authority.https_port,
        public_url=f"https://{NAME}:{authority.https_port}",
        http=("127.0.0.1", authority.http_port) if http else None,
        acme=Acme(domains or (NAME,), "admin@example.com", authority.directory, authority.ca_file),
    )
    return replace(config, server=server)


async def issued(config: Config, trusting: ssl.SSLContext, name: str = NAME) -> bytes:
    """Wait for a certificate that the authority vouches for."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await shown(config.server.port, name, trusting)
            except ssl.SSLCertVerificationError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("http", [False, True], ids=["TLS-ALPN-01", "HTTP-01"])
async def test_the_first_certificate_takes_the_place_of_a_makeshift_one(
    authority: Pebble, config: Config, monkeypatch: pytest.MonkeyPatch, *, http: bool
) -> None:
    config = served_by(authority, config, NAME, OTHER, http=http)
    seen, certificate = asyncio.Event(), acme.AcmeClient.certificate

    async def later(*arguments: Any) -> bytes:
        await seen.wait()
        return await certificate(*arguments)

    monkeypatch.setattr(acme.AcmeClient, "certificate", later)
    async with App(config) as app:
        before = await shown(app.port, NAME)
        seen.set()
        trusting = authority.trusting()
        first = await issued(config, trusting)
        assert first != before
        async with session(trusting) as caller:
            for name in (NAME, OTHER):
                async with caller.get(f"https://{name}:{app.port}/healthz") as answer:
                    assert answer.status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            await shown(app.port, "elsewhere.example.com", trusting)
    for file in (config.data_dir / "acme").rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) == (0o700 if file.is_dir() else 0o600), file
    async with App(config) as app:
        # What is stored is shown at once, and no new one is asked for.
        assert await shown(app.port, NAME, trusting) == first
        await asyncio.sleep(0.5)
        assert await shown(app.port, NAME, trusting) == first


async def test_other_domains_get_another_certificate_and_the_one_before_serves_until_then(authority: Pebble, config: Config) -> None:
    trusting = authority.trusting()
    async with App(served_by(authority, config)):
        first = await issued(served_by(authority, config), trusting)
    config = served_by(authority, config, NAME, OTHER)
    async with App(config) as app:
        assert await shown(app.port, NAME, trusting) == first
        assert await issued(config, trusting, OTHER) != first


@pytest.mark.slow
async def test_renewal_drops_no_request(tmp_path: Path, config: Config) -> None:
    with pebble(tmp_path, validity_s=9, PEBBLE_AUTHZREUSE="0") as authority:
        config = served_by(authority, config)
        trusting = authority.trusting()
        seen, answers, faults = set[bytes](), 0, list[Exception]()

        async def calls(*, kept: bool) -> None:
            nonlocal answers
            async with session(trusting, kept=kept) as caller:
                while len(seen) < 2:
                    try:
                        async with caller.get(f"https://{NAME}:{config.server.port}/healthz") as answer:
                            assert await answer.json() == {"status": "ok"}
                            answers += 1
                        await asyncio.sleep(0.01)
                    except (ClientError, OSError) as fault:
                        faults.append(fault)
                        return

        async with App(config):
            seen.add(await issued(config, trusting))
            async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
                for kept in (True, False, False):
                    tasks.create_task(calls(kept=kept))
                while len(seen) < 2:
                    seen.add(await shown(config.server.port, NAME, trusting))
                    await asyncio.sleep(0.05)
        assert faults == []
        assert answers > 50


async def test_what_the_authority_refuses_is_told_with_its_reason_and_tried_again(
    authority: Pebble, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    # It asks on the port of https_port; nobody answers there.
    config = served_by(authority, config)
    config = replace(config, server=replace(config.server, port=0))
    async with App(config) as app:
        await told(caplog, "no certificate for", times=2)
        await shown(app.port, NAME)
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert f"no certificate for {NAME}: {NAME} is invalid: Failed to connect to 127.0.0.1:{authority.https_port}" in lines[0]


async def test_an_authority_that_nobody_can_reach_or_trust_is_no_reason_not_to_serve(
    authority: Pebble, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    config = served_by(authority, config)
    assert config.server.acme
    for changed in (replace(config.server.acme, ca_file=None), replace(config.server.acme, directory="https://127.0.0.1:1/dir")):
        async with App(replace(config, server=replace(config.server, acme=changed))) as app:
            await told(caplog, "the authority cannot be reached", times=1)
            await shown(app.port, NAME)
        caplog.clear()


async def told(caplog: pytest.LogCaptureFixture, what: str, *, times: int) -> None:
    """Wait until the log has said it so often."""
    async with asyncio.timeout(20):
        while sum(what in record.getMessage() for record in caplog.records) < times:  # noqa: ASYNC110  # said inside of the service
            await asyncio.sleep(0.02)
