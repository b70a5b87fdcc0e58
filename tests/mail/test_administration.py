"""Mail for its administrator: the pages, doctor's findings, metrics, the settings of operators."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Notices, Smtp
from chatsvc.config.values import Secret
from chatsvc.doctor import servers
from chatsvc.domain.actors import ANONYMOUS
from chatsvc.metrics import Exposition
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.smtp import client_name
from chatsvc.services.administration import perform
from tests.api.support import execute
from tests.conftest import Caller
from tests.dashboard.client import Client
from tests.fakes import ADMIN
from tests.mail.conftest import Post, add_operator
from tests.mail.smtp_server import Mailbox, smtp_server
from tests.webhooks.certificates import Authority

PASSWORD = "violet staple harbour"


@pytest.fixture
async def administrator(app: App) -> AsyncIterator[Client]:
    invitation = await perform(app.services, ADMIN, "operator.add", {"email": "boss@example.com", "admin": True, "language": "en"})
    given = {"token": invitation.link.rpartition("/")[2], "name": "Nil Kaya", "password": PASSWORD}
    await perform(app.services, ANONYMOUS, "password.set", given)
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        await execute(app, "DELETE FROM mails")  # the invitation
        client = Client(app, session)
        await client.post("/login", {"email": "boss@example.com", "password": PASSWORD, "next": "/"})
        yield client


async def test_the_page_shows_mails_with_their_faults_and_sends_a_test(administrator: Client, mailbox: Mailbox, post: Post) -> None:
    shown = await administrator.get("/system/mails")
    assert "No mails yet" in shown.text
    assert f"127.0.0.1:{mailbox.port}" in shown.text
    assert "/system/mails" in (await administrator.get("/system")).body
    shown = await administrator.submit("/system/mails", "mail.test", email="ada@example.com")
    assert shown.status == 200
    assert mailbox.recipients == ["ada@example.com"]
    mailbox.replies["RCPT"] = "550 5.1.1 <nobody> is unknown"
    shown = await administrator.submit("/system/mails", "mail.test", email="nobody@example.com")
    assert shown.alert == "The test mail was not sent: Refused. 550 5.1.1 <nobody> is unknown"
    shown = await administrator.submit("/system/mails", "mail.test", email="no address")
    assert shown.status == 422
    shown = await administrator.get("/system/mails?status=failed")
    assert len(shown.records()) == 1
    assert "No mails in this state" in (await administrator.get("/system/mails?status=unknown")).text
    assert [mail.state for mail in await post.mails()] == ["sent", "failed"]
    # The page of an operator's own settings says where notices go.
    assert "By e-mail to boss@example.com" in (await administrator.get("/me")).text


async def test_metrics_count_outcomes_and_what_waits(app: App, caller: Caller, mailbox: Mailbox) -> None:
    exposition = Exposition(app.services)
    await perform(app.services, ADMIN, "mail.test", {"email": "ada@example.com"})
    mailbox.replies["RCPT"] = "550 no"
    await perform(app.services, ADMIN, "mail.test", {"email": "ada@example.com"})
    await add_operator(caller, "ada@example.com", "request")
    text = (await exposition.text()).decode()
    assert 'chatsvc_mails_total{outcome="sent"} 1.0' in text
    assert 'chatsvc_mails_total{outcome="refused"} 1.0' in text
    assert "chatsvc_mails_queued 0.0" in text


async def codes(config: Config, smtp: Smtp | None, egress: Egress | None = None) -> list[str]:
    """Examine as doctor does, in a thread."""
    examined = replace(config, notices=Notices(smtp))
    findings = await asyncio.to_thread(lambda: list(servers.mail(examined, egress or Egress())))
    assert all("secret" not in str(finding.facts) for finding in findings)
    return [finding.code for finding in findings]


async def test_doctor_names_what_is_wrong_with_the_server(config: Config, mailbox: Mailbox, tmp_path: Path) -> None:
    smtp = config.notices.smtp
    assert smtp
    egress = Egress()
    assert await codes(config, None) == []
    assert await codes(config, smtp, egress) == ["mail_good"]
    assert egress.opened["mail"] == 1
    assert mailbox.messages == []
    assert await codes(config, replace(smtp, security="starttls")) == ["mail_without_starttls"]
    assert await codes(config, replace(smtp, security="tls")) == ["mail_untrusted"]
    signed_in = replace(smtp, username="desk", password=Secret("secret"))
    assert await codes(config, signed_in) == ["mail_without_login"]
    assert await codes(config, replace(signed_in, password=None)) == ["mail_without_password"]
    assert await codes(config, replace(smtp, host="mail.invalid")) == ["mail_unknown"]
    assert await codes(config, replace(smtp, port=1)) == ["mail_unreachable"]
    mailbox.replies["EHLO"] = "554 no service"
    assert await codes(config, smtp) == ["mail_troubled"]
    authority = Authority(tmp_path)
    async with smtp_server(Mailbox(logins={"desk": "other"}), starttls=authority.server("127.0.0.1")) as strict:
        right = replace(signed_in, security="starttls", ca_file=authority.file, port=strict.port)
        assert await codes(config, right) == ["mail_refuses_login"]
        assert await codes(config, replace(right, password=Secret("other"))) == ["mail_good"]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://bots.example.com", "bots.example.com"),
        ("http://127.0.0.1:8080", "[127.0.0.1]"),
        ("http://[::1]:8080", "[IPv6:::1]"),
        ("unix:", "localhost"),
    ],
)
def test_the_service_greets_with_its_public_name(url: str, name: str) -> None:
    assert client_name(url) == name
