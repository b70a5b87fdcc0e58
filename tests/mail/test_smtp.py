"""The connection to the mail server: TLS, STARTTLS, signing in, refusals, silence and breaks."""

import socket
from pathlib import Path
from unittest.mock import patch

import pytest

from chatsvc.domain.mails import MailFault
from chatsvc.outbound import smtp
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.smtp import SmtpSettings, open_smtp
from tests.mail.smtp_server import Mailbox, smtp_server
from tests.tables import json_rows
from tests.webhooks.certificates import Authority

MESSAGE = b"Subject: x\r\n\r\n.hello\r\n"


def settings(port: int, security: str = "none", **changes: object) -> SmtpSettings:
    return SmtpSettings("127.0.0.1", port, security, None, None, None, "bots.example.com")._replace(**changes)  # type: ignore[arg-type]


async def sent(settings: SmtpSettings, egress: Egress | None = None) -> str:
    connection = await open_smtp(settings, egress or Egress())
    try:
        await connection.address("desk@example.com", "ada@example.com")
        return await connection.send(MESSAGE)
    finally:
        await connection.close()


async def fault(settings: SmtpSettings, egress: Egress | None = None) -> tuple[str, int | None, bool, bool]:
    with pytest.raises(MailFault) as raised:
        await sent(settings, egress)
    error = raised.value
    assert "secret" not in repr(error) + str(error) + str(error.answer)
    return error.code, error.status_code, error.of_server, error.is_permanent


async def test_a_mail_arrives_and_the_ledger_counts_the_connection(mailbox: Mailbox) -> None:
    egress = Egress()
    assert await sent(settings(mailbox.port), egress) == "2.0.0 kept as 4711"
    assert (mailbox.recipients, mailbox.senders, mailbox.greeted) == (["ada@example.com"], ["desk@example.com"], ["bots.example.com"])
    assert mailbox.texts == [".hello\r\n"]
    assert egress.opened["mail"] == 1


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_encrypted_with_a_certificate_that_is_checked(tmp_path: Path, security: str) -> None:
    authority = Authority(tmp_path)
    context = authority.server("127.0.0.1")
    async with smtp_server(Mailbox(logins={"desk": "secret"}), **{security: context}) as mailbox:
        right = settings(mailbox.port, security, username="desk", password="secret", ca_file=authority.file)
        assert await sent(right) == "2.0.0 kept as 4711"
        assert (mailbox.encrypted, mailbox.signed_in) == ([True], ["desk"])
        # An unknown authority, a wrong password, none at all.
        assert (await fault(right._replace(ca_file=None)))[:3] == ("tls_failed", None, True)
        assert await fault(right._replace(password="secret2")) == ("auth_failed", 535, True, False)
        assert await fault(right._replace(password=None)) == ("no_password", None, True, False)
        assert await fault(right._replace(username=None)) == ("refused", 530, False, True)
        assert await fault(right._replace(ca_file=tmp_path / "missing.pem")) == ("tls_failed", None, True, False)
        assert len(mailbox.messages) == 1


async def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with smtp_server(Mailbox(), tls=authority.server("mail.example.com")) as mailbox:
        assert (await fault(settings(mailbox.port, "tls", ca_file=authority.file)))[0] == "tls_failed"


async def test_without_starttls_nothing_is_sent_in_the_clear(mailbox: Mailbox) -> None:
    mailbox.logins["desk"] = "secret"
    with_starttls = settings(mailbox.port, "starttls", username="desk", password="secret")
    assert await fault(with_starttls) == ("starttls_missing", None, True, False)
    assert (mailbox.signed_in, mailbox.messages) == ([], [])


async def test_a_server_that_offers_no_way_to_sign_in(mailbox: Mailbox) -> None:
    assert await fault(settings(mailbox.port, username="desk", password="secret")) == ("auth_missing", None, True, False)


@pytest.mark.parametrize(("command", "reply", "code", "status", "of_server", "permanent"), json_rows("mail/refusals"))
async def test_refusals_say_whether_to_try_again(
    mailbox: Mailbox, command: str, reply: str, code: str, status: int | None, of_server: bool, permanent: bool
) -> None:
    mailbox.replies[command] = reply
    assert await fault(settings(mailbox.port)) == (code, status, of_server, permanent)
    assert mailbox.messages == []


async def test_a_break_after_the_message_is_uncertain(mailbox: Mailbox) -> None:
    mailbox.replies["AFTER"] = "break"
    with pytest.raises(MailFault) as raised:
        await sent(settings(mailbox.port))
    assert raised.value.is_uncertain


async def test_silence_ends_after_a_while(mailbox: Mailbox) -> None:
    with patch.object(smtp, "COMMAND_S", 0.05), patch.object(smtp, "DATA_S", 0.05):
        mailbox.replies["EHLO"] = "silence"
        assert (await fault(settings(mailbox.port)))[:3] == ("timeout", None, True)
        mailbox.replies = {"RCPT": "silence"}
        assert (await fault(settings(mailbox.port)))[:3] == ("timeout", None, True)
        mailbox.replies = {"AFTER": "silence"}
        assert (await fault(settings(mailbox.port)))[:3] == ("connection_lost", None, True)


async def test_servers_that_cannot_be_reached() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert await fault(settings(closed.getsockname()[1])) == ("connect_failed", None, True, False)
    assert await fault(settings(25, host="mail.invalid")) == ("dns_failed", None, True, False)
    refused = Egress(allowed=False)
    assert await fault(settings(25, host="mail.invalid"), refused) == ("egress_refused", None, True, False)
    assert (refused.opened["mail"], refused.refused["mail"]) == (0, 1)

    with socket.create_server(("127.0.0.1", 0)) as silent, patch.object(smtp, "COMMAND_S", 0.05):
        assert await fault(settings(silent.getsockname()[1])) == ("timeout", None, True, False)


async def test_a_name_is_looked_up_and_its_addresses_are_tried(mailbox: Mailbox) -> None:
    assert await sent(settings(mailbox.port, host="localhost")) == "2.0.0 kept as 4711"


def test_answers_are_kept_short_and_printable() -> None:
    assert smtp.shortened("a\r\n b\x07" + "c" * 300) == f"a b?{'c' * 196}"
