"""Check of the mail server: reachable, encrypted, takes the credentials. No mail is sent."""

import asyncio
from collections.abc import Iterator

from chatsvc.config import Config
from chatsvc.doctor import report
from chatsvc.doctor.report import Finding
from chatsvc.outbound.egress import Egress

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def server(config: Config, egress: Egress | None = None) -> Iterator[Finding]:
    """Connect to the mail server, encrypt and sign in. `egress` is the ledger that counts the connection."""
    smtp = config.notices.smtp
    if smtp is None:
        return

    # Imported here: most installations send no mail.
    from chatsvc.outbound.smtp import MailFault, SmtpSettings, client_name, open_smtp

    where = f"{smtp.host}:{smtp.port}"
    password = smtp.password.reveal() if smtp.password else None
    settings = SmtpSettings(
        smtp.host, smtp.port, smtp.security, smtp.username, password, smtp.ca_file, client_name(config.server.public_url)
    )

    async def connect() -> None:
        await (await open_smtp(settings, egress or Egress())).close()

    try:
        asyncio.run(connect())
    except MailFault as fault:
        yield _finding(where, fault.code, f" ({fault.status_code} {fault.answer})" if fault.status_code else "")
        return
    if smtp.security == "none" and smtp.host not in _LOOPBACK:
        yield report.mail_unencrypted(where=where)
    else:
        yield report.mail_good(where=where)


def _finding(where: str, code: str, answer: str) -> Finding:
    makers = {
        "no_password": report.mail_without_password,
        "auth_failed": report.mail_refuses_login,
        "auth_missing": report.mail_without_login,
        "starttls_missing": report.mail_without_starttls,
        "tls_failed": report.mail_untrusted,
        "dns_failed": report.mail_unknown,
        "greeting": report.mail_troubled,
    }.get(code, report.mail_unreachable)
    facts = {"where": where, "answer": answer, "reason": code}
    return makers(**{name: facts[name] for name in makers.facts})
