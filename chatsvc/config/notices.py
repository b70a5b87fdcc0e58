"""Reader of the section `notices`: how operators are told of visitors who wait, new requests and faults."""

from chatsvc.config import values
from chatsvc.config.model import Notices, Smtp, TeamNotices
from chatsvc.config.section import Section, settings

TEAM = "telegram"  # the platform of the team's group
KEYS = ("smtp", TEAM)
SMTP_KEYS = ("host", "port", "username", "password", "password_file", "from", "security", "ca_file")
TLS, STARTTLS, NONE = "tls", "starttls", "none"
SMTP_PORTS = {TLS: 465, STARTTLS: 587, NONE: 25}


def read(smtp: Section, team: Section) -> Notices:
    return Notices(_smtp(smtp), _team(team))


def _team(section: Section) -> TeamNotices | None:
    """Read the group of the team; without a chat there is none."""
    team = settings(TeamNotices, section)
    section.need("chat_id", ["token", "token_file"], "expected token_file beside it: the file with the bot's token")
    key = "token_file" if section.gives("token_file") else "token"
    section.need(key, ["chat_id"], "expected chat_id beside it: the number of the team's group")
    return team if section.gives("chat_id") and team.chat_id is not None else None


def _smtp(section: Section) -> Smtp | None:
    """Read how mails are sent; without a host none are."""
    host = section.optional("host", values.host)
    security = section.text("security", values.one_of(TLS, STARTTLS, NONE), STARTTLS)
    port = section.plain("port", values.whole(1, 65535), 0) if section.gives("port") else 0
    username = section.optional("username", values.login)
    password = section.secret("password", values.login)
    sender = section.optional("from", values.mailbox)
    ca_file = section.file("ca_file")
    if not section.gives("host"):
        for key in ("username", "password", "password_file", "from"):
            if section.gives(key):
                section.refuse("expected host beside it: the server that takes the mails", key)
                break
        return None
    if not section.gives("from"):
        section.refuse("expected from beside it: the sender's address, such as Support <support@example.com>", "host")
    for key, others in (("username", ("password", "password_file")), ("password", ("username",)), ("password_file", ("username",))):
        section.need(key, others, f"expected {' or '.join(others)} beside it")
    if host is None or sender is None:
        return None
    return Smtp(host, port or SMTP_PORTS[security], username, password, *sender, security, ca_file)
