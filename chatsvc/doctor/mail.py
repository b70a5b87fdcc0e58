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
        code = _FINDINGS.get(fault.code, "mail_unreachable")
        answer = f" ({fault.status_code} {fault.answer})" if fault.status_code else ""
        yield report.fault("mail", code, where=where, answer=answer, reason=fault.code)
        return
    if smtp.security == "none" and smtp.host not in _LOOPBACK:
        yield report.warning("mail", "mail_unencrypted", where=where)
    else:
        yield report.ok("mail", "mail_good", where=where)


# The codes of findings by those of the mail server's faults.
_FINDINGS = {
    "no_password": "mail_without_password",
    "auth_failed": "mail_refuses_login",
    "auth_missing": "mail_without_login",
    "starttls_missing": "mail_without_starttls",
    "tls_failed": "mail_untrusted",
    "dns_failed": "mail_unknown",
    "greeting": "mail_troubled",
}
