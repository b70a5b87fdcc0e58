"""Composes mails in Turkish and English: notices to operators, and answers to visitors."""

from datetime import date, time
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from chatsvc.config.model import Smtp
from chatsvc.domain import rich_text, times
from chatsvc.domain.mails import ANSWER, TEST, WEBHOOK
from chatsvc.domain.operators import LANGUAGES
from chatsvc.services.conversations.calendar import Invitation
from chatsvc.store.mails import NoticeDetail, OutgoingMail
from chatsvc.translations import template

_LANGUAGE = "tr"  # of an operator who has chosen none, in an account without bots
_MOST_NAME = 80
_MOST_WORDS = 1000


def _text(language: str, key: str, **values: object) -> str:
    return template(language, f"mail_texts.{key}", values.get("count")).format(**values)


def notice(mail: OutgoingMail, smtp: Smtp, public_url: str | None) -> bytes:
    """Write a notice or a test mail to an operator. `public_url` is None if the mail cannot link to a dashboard."""
    language = _language(mail)
    where = plain(mail.bot or mail.account or "")
    subject, text = (_text(language, f"{mail.kind}_{part}", where=where, count=mail.causes) for part in ("subject", "text"))
    parts = [text, *(_detail(detail, language) for detail in mail.details)]
    if mail.causes > len(mail.details) > 0:
        parts.append(_text(language, "more", count=mail.causes - len(mail.details)))
    if public_url is not None and mail.kind != TEST:
        page = f"/conversations/{mail.conversation_id}" if mail.conversation_id else f"/inbox?account={mail.account_id}"
        parts.append(f"{public_url}{f'/webhooks?account={mail.account_id}&status=failed' if mail.kind == WEBHOOK else page}")
        parts.append(f"-- \n{_text(language, 'footer', url=f'{public_url}/me')}")
    return compose(mail, smtp, subject, "\n\n".join(parts) + "\n", language)


def set_up(mail: OutgoingMail, smtp: Smtp, public_url: str, token: str) -> bytes:
    """Write a mail with the link by which an operator chooses a password."""
    language, where = _language(mail), public_url.partition("//")[2]
    subject = _text(language, f"{mail.kind}_subject", where=where)
    text = _text(language, f"{mail.kind}_text", where=where, url=f"{public_url}/setup/{token}")
    return compose(mail, smtp, subject, f"{text}\n", language)


def _language(mail: OutgoingMail) -> str:
    return mail.language if mail.language in LANGUAGES else _LANGUAGE if mail.language is None else "en"


def _detail(detail: NoticeDetail, language: str) -> str:
    """Return one event of a notice as text: visitor, requested time, bot, and the visitor's words as a quotation."""
    facts = [plain(detail.name or _text(language, "nameless"))]
    if detail.date and detail.time:
        facts.append(times.in_words(date.fromisoformat(detail.date), time.fromisoformat(detail.time), language))
    lines = (plain(line, len(line)) for line in detail.words.splitlines())
    words = "\n".join(f"> {line}" for line in lines if line)
    return f"{' · '.join([*facts, plain(detail.bot)])}\n{words[:_MOST_WORDS]}{'…' if len(words) > _MOST_WORDS else ''}"


def to_visitor(
    mail: OutgoingMail, smtp: Smtp, language: str, stop_url: str | None, when: str = "", invitation: Invitation | None = None
) -> bytes:
    """Write a mail to a visitor: an operator's answers, or the team's decision on an appointment with a calendar file.

    `when` is the time of the appointment in words. The language is that of the conversation. `stop_url` leads to the page that stops mails.
    """
    tongue = language if language in LANGUAGES else "en"
    where = plain(mail.bot or "")
    page = f" ({plain(mail.page_host)})" if mail.page_host else ""
    text = "\n\n".join(map(rich_text.plain, mail.texts))
    text = _text(tongue, "answer_text", where=where, said=text, page=page) if mail.kind == ANSWER else f"{text}\n\n{where}"
    text += f"\n\n-- \n{_text(tongue, f'{mail.kind}_reason', where=where, page=page)}"
    if stop_url is not None:
        text += f"\n\n{_text(tongue, 'answer_stop', url=stop_url)}"
    subject = _text(tongue, f"{mail.kind}_subject", where=where, when=when)
    return compose(mail, smtp, subject, f"{text}\n", language, stop_url, invitation)


def compose(
    mail: OutgoingMail, smtp: Smtp, subject: str, text: str, language: str, stop_url: str | None = None, file: Invitation | None = None
) -> bytes:
    """Return the mail as bytes. `plain` removes line breaks from names, so that names cannot add header fields."""
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(plain(smtp.sender_name), addr_spec=smtp.sender)
    message["To"] = Address(addr_spec=mail.recipient)
    message["Subject"] = plain(subject, 200)
    message["Date"] = formatdate(mail.created_at / 1000, usegmt=True)
    # The same for every attempt, so that a mail that was sent twice can be recognised.
    message["Message-ID"] = f"<chatsvc.{mail.number}.{mail.created_at}@{smtp.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte="quoted-printable")
    message["Content-Language"] = language  # set_content() deletes such fields
    if file is not None:
        message.add_attachment(file.file.decode(), subtype="calendar", filename="appointment.ics", params={"method": file.method})
    content = message.as_bytes()
    if stop_url is None or not stop_url.isascii():
        return content
    # RFC 8058's button of mail programs. The library would fold and encode so long an address, which they do not read.
    button = "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" if stop_url.startswith("https://") else ""
    return f"List-Unsubscribe: <{stop_url}>\r\n{button}".encode() + content


def plain(text: str, most: int = _MOST_NAME) -> str:
    """Return a text on one line without control characters, cut to `most` characters."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
