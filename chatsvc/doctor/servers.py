"""Checks of connections: the service's listeners and certificates, model server, mail server, webhooks and messaging platforms.

No message is sent.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chatsvc.config import Config
from chatsvc.doctor import Finding, storage
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.channels import Platform
from chatsvc.domain.mails import MailFault
from chatsvc.domain.targets import check_url
from chatsvc.outbound.egress import Egress, client_context
from chatsvc.outbound.resolver import LookupFailed, own_addresses
from chatsvc.store.examination import Examined, PlatformChannel
from chatsvc.store.master_key import MasterKey
from chatsvc.tls.certificates import validity

if TYPE_CHECKING:
    from chatsvc.engines.anthropic.faults import ModelFault
    from chatsvc.engines.anthropic.provider import Provider

_WAIT_S = 5.0
_REFUSED_KEY = frozenset({401, 403})
_NO_SUCH_PATH = frozenset({404, 405})
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AT_ONCE = 10
# The codes of findings by those of the mail server's faults.
_MAIL_FINDINGS = {
    "no_password": "mail_without_password",
    "auth_failed": "mail_refuses_login",
    "auth_missing": "mail_without_login",
    "starttls_missing": "mail_without_starttls",
    "tls_failed": "mail_untrusted",
    "dns_failed": "mail_unknown",
    "greeting": "mail_troubled",
}

TokenOf = Callable[[MasterKey, str, bytes], str | None]


def model(config: Config, egress: Egress, *, with_models: bool = True) -> Iterator[Finding]:
    """Check the model server that the configured tiers use, by an empty request. This request costs nothing.

    If `with_models` is true, also check that the server lists the models of the tiers.
    """
    models = {tier.model for tier in config.models.values() if tier.engine == "anthropic"}
    if not models:
        return

    from chatsvc.engines.anthropic.provider import Provider

    settings = config.anthropic
    key = settings.api_key.reveal() if settings.api_key else None
    provider = Provider.of(settings.base_url, key, settings.platform, settings.region, settings.project)
    if provider.needs_key and key is None:
        yield Finding.warning("model server", "model_without_key")
    elif provider.missing:
        yield Finding.fault("model server", "model_lacks_packages", platform=provider.platform)
    elif provider.fault:
        yield Finding.fault("model server", "model_address_invalid", reason=provider.fault)
    else:
        yield asyncio.run(_examine_model(provider, egress, sorted(models), with_models=with_models))


async def _examine_model(provider: Provider, egress: Egress, models: list[str], *, with_models: bool) -> Finding:
    """Check the model server by a request, and return the finding. The request uses the same library as the service."""
    from chatsvc.engines.anthropic.client import Client
    from chatsvc.engines.anthropic.faults import ModelFault

    client = Client(provider, egress)
    url, where = client.url, urlsplit(client.url).netloc
    try:
        try:
            async with asyncio.timeout(_WAIT_S):
                await client.probe(models[0])
        except TimeoutError:
            return Finding.fault("model server", "model_unreachable", where=where, reason="timed out")
        except ModelFault as fault:
            judged = _judged(fault, where, url)
            if judged is not None:
                return judged
        offered: list[str] = []
        with suppress(ModelFault, TimeoutError):  # some local model servers have no list of models, or do not show it
            async with asyncio.timeout(_WAIT_S):
                offered = await client.models() if with_models else []
    finally:
        await client.close()
    missing = [model for model in models if model not in offered]
    if offered and missing:
        return Finding.warning("model server", "model_lacks", url=url, models=missing, offered=offered[:10])
    return Finding.ok("model server", "model_complete", url=url) if offered else Finding.ok("model server", "model_good", url=url)


def _judged(fault: ModelFault, where: str, url: str) -> Finding | None:
    """Return the finding for a failed request to the model server. Return None if the fault lies in the empty request alone."""
    cause, status = fault.cause, fault.status
    if isinstance(cause, socket.gaierror | LookupFailed):
        return Finding.fault("model server", "model_name_unknown", host=urlsplit(url).hostname, reason=cause.strerror or str(cause))
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Finding.fault("model server", "model_untrusted", where=where, reason=cause.verify_message)
    if status is None:
        why = (cause.strerror if isinstance(cause, OSError) else None) or fault.detail
        return Finding.fault("model server", "model_unreachable", where=where, reason=why)
    if status in _REFUSED_KEY:
        return Finding.fault("model server", "model_refuses_key", url=url, status=status)
    if status in _NO_SUCH_PATH:
        return Finding.fault("model server", "model_without_interface", url=url, status=status)
    return Finding.warning("model server", "model_troubled", url=url, status=status) if status >= 500 else None


def mail(config: Config, egress: Egress) -> Iterator[Finding]:
    """Check the mail server: connect, encrypt and sign in. `egress` is the ledger that counts the connection."""
    smtp = config.notices.smtp
    if smtp is None:
        return

    # Imported here: most installations send no mail.
    from chatsvc.outbound.smtp import SmtpSettings, client_name, open_smtp

    where = f"{smtp.host}:{smtp.port}"
    password = smtp.password.reveal() if smtp.password else None
    settings = SmtpSettings(
        smtp.host, smtp.port, smtp.security, smtp.username, password, smtp.ca_file, client_name(config.server.public_url)
    )

    async def connect() -> None:
        await (await open_smtp(settings, egress)).close()

    try:
        asyncio.run(connect())
    except MailFault as fault:
        code = _MAIL_FINDINGS.get(fault.code, "mail_unreachable")
        answer = f" ({fault.status_code} {fault.answer})" if fault.status_code else ""
        yield Finding.fault("mail", code, where=where, answer=answer, reason=fault.code)
        return
    if smtp.security == "none" and smtp.host not in _LOOPBACK:
        yield Finding.warning("mail", "mail_unencrypted", where=where)
    else:
        yield Finding.ok("mail", "mail_good", where=where)


def tokens(
    config: Config, examined: Examined | None, token_of: TokenOf, platforms: Mapping[str, Platform], egress: Egress
) -> Iterator[Finding]:
    """Check the token of each channel at its messaging platform. `token_of` decrypts a token, `egress` counts the connections."""
    key = storage.master_key_of(config)
    if key is None or examined is None or not examined.platform_channels:
        return
    # Imported here: most installations have no such channel, and an HTTP client takes long to import.
    from chatsvc.outbound.posting import PlatformRefused, check_token

    opened = [(channel, token_of(MasterKey(key), channel.id, channel.secrets)) for channel in examined.platform_channels]
    # Without a token: the check of the master key tells why, or the channel waits for its secrets.
    slots = asyncio.Semaphore(_AT_ONCE)

    async def ask(channel: PlatformChannel, token: str) -> Finding | None:
        async with slots:
            question = platforms[channel.channel].question(channel.identity or "", token)
            try:
                reason = await check_token(egress, channel.channel, config.channels[channel.channel], question)
            except PlatformRefused:
                return Finding.fault("channels", "channel_token_refused", bot=channel.bot, channel=channel.channel)
            return Finding.fault("channels", "channel_unreachable", channel=channel.channel, reason=reason) if reason else None

    async def ask_all() -> list[Finding | None]:
        return await asyncio.gather(*(ask(channel, token) for channel, token in opened if token is not None))

    # Several bots may tell of the same outage.
    findings = [finding for finding in asyncio.run(ask_all()) if finding is not None]
    yield from (finding for index, finding in enumerate(findings) if finding not in findings[:index])


SOON_S = 14 * 86400
_LISTENING = {errno.EADDRINUSE: "listener_taken", errno.EADDRNOTAVAIL: "listener_foreign", errno.EACCES: "listener_forbidden"}


def running(config: Config, *, may_connect: bool, connections: Mapping[str, int], store_fault: str | None) -> Iterator[Finding]:
    """Report that the service runs, the fault of its store (if any), and its outbound connections."""
    yield Finding.ok("service", "service_running", where=_where(config))
    if store_fault:
        yield Finding.fault("store", "store_fault", fault=store_fault)
    yield Finding.ok("egress", "egress_opened" if may_connect else "egress_refused", counts=dict(connections))


def stopped(config: Config) -> Iterator[Finding]:
    """Report that the service does not run, and whether it could listen on its address."""
    server, where = config.server, _where(config)
    yield Finding.warning("service", "service_stopped")
    if server.socket:
        yield from _socket(server.socket)
        return
    if not server.port:
        return
    try:
        with socket.create_server((server.host, server.port), family=socket.AF_INET6 if ":" in server.host else socket.AF_INET):
            yield Finding.ok("listener", "listener_free", where=where)
    except OSError as problem:
        listener_fault = _LISTENING.get(problem.errno or 0, "listener_unusable")
        yield Finding.fault("listener", listener_fault, where=where, reason=problem.strerror or str(problem))


def _where(config: Config) -> str:
    server = config.server
    return str(server.socket) if server.socket else f"{server.host or '*'}:{server.port}"


def _socket(path: Path) -> Iterator[Finding]:
    if not path.parent.is_dir():
        yield Finding.fault("listener", "listener_folder_missing", file=str(path), folder=str(path.parent))
    elif not storage.is_writable(path.parent):
        yield Finding.fault("listener", "listener_folder_closed", file=str(path), folder=str(path.parent))
    else:
        yield Finding.ok("listener", "listener_possible", file=str(path))


def public_url(config: Config) -> Iterator[Finding]:
    """Check the port and scheme of `public_url` if its host is this machine."""
    server, url = config.server, urlsplit(config.server.public_url)
    here = url.hostname in ("localhost", "127.0.0.1", "::1", server.host)
    if server.socket or not server.port or not here:
        return
    port = url.port or (443 if url.scheme == "https" else 80)
    if port != server.port:
        yield Finding.warning("public_url", "public_url_port", url=server.public_url, port=server.port)
    elif (url.scheme == "https") is not server.speaks_https:
        yield Finding.warning("public_url", "public_url_scheme", url=server.public_url, scheme="https" if server.speaks_https else "http")


def certificates(config: Config) -> Iterator[Finding]:
    """Check that the files of `server.tls` are readable, belong together, are valid now, and have the right name."""
    tls = config.server.tls
    if tls is None:
        return
    file = str(tls.cert_file)
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
        period = validity(Path(tls.cert_file).read_bytes())
    except (OSError, ValueError, IndexError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else type(problem).__name__
        yield Finding.fault("certificate", "certificate_unusable", file=file, key_file=str(tls.key_file), reason=why)
        return
    now, host = time.time(), urlsplit(config.server.public_url).hostname or ""
    day = time.strftime("%Y-%m-%d", time.gmtime(period.end))
    if now > period.end:
        yield Finding.fault("certificate", "certificate_expired", file=file, day=day)
    elif now < period.begin:
        yield Finding.fault("certificate", "certificate_early", file=file)
    elif period.names and period.names.isdisjoint({host, f"*.{host.partition('.')[2]}"}):
        yield Finding.fault("certificate", "certificate_for_others", file=file, host=host)
    elif period.end - now < SOON_S:
        yield Finding.warning("certificate", "certificate_ending", file=file, day=day)
    else:
        yield Finding.ok("certificate", "certificate_good", file=file, day=day)


def webhooks(config: Config, examined: Examined | None, *, resolve: bool = True) -> Iterator[Finding]:
    """Check the certificate authorities' files and the webhook addresses (help/webhooks.md 7). With `resolve`, look up their names."""
    for section, ca_file in (("webhooks", config.webhooks.ca_file), ("website", config.website.ca_file)):
        try:
            client_context(ca_file)
        except OSError as problem:
            yield Finding.fault(
                "webhooks", "authorities_unusable", section=section, file=str(ca_file), reason=problem.strerror or str(problem)
            )
    listeners = [] if config.server.socket else [(config.server.host, config.server.port)]
    ours = own_addresses(listeners, config.server.public_url)
    for bot, url in examined.webhooks if examined else ():
        try:
            target = check_url(url, ours, config.webhooks.allowed_networks)
            if target.address is None and resolve:
                socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except TargetRefused as refusal:
            yield Finding.fault("webhooks", "webhook_refused", bot=bot, reason=str(refusal))
        except OSError as problem:
            yield Finding.fault("webhooks", "webhook_unresolved", bot=bot, reason=problem.strerror or str(problem))
        else:
            yield Finding.ok("webhooks", "webhook_good", bot=bot, host=target.host)
