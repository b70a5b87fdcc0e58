"""Composes mails in Turkish and English: notices to operators, and answers to visitors.

They are short and plain. Notices contain no words or contact data of visitors. usecases/mailer.py sends.
"""

from __future__ import annotations

from collections.abc import Callable
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import NamedTuple

from chatsvc.config.model import Smtp
from chatsvc.domain.mails import APPOINTMENT, REQUEST, TEST, WAITING, WEBHOOK
from chatsvc.store.mails import OutgoingMail

_LANGUAGE = "tr"  # of an operator who has chosen none
_MOST_NAME = 80


class _NoticeTexts(NamedTuple):
    """Subject and first sentence for one cause and for several. `where` is a bot, or the account of several bots."""

    one: str
    one_text: str
    many: str
    many_text: str


_NOTICES: dict[tuple[str, str], _NoticeTexts] = {
    (WAITING, "en"): _NoticeTexts(
        "A visitor is waiting: {where}",
        "A visitor of {where} asks for a person and is waiting for an answer.",
        "{count} visitors are waiting: {where}",
        "{count} visitors of {where} ask for a person and are waiting for an answer.",
    ),
    (WAITING, "tr"): _NoticeTexts(
        "Bir ziyaretçi bekliyor: {where}",
        "Bir ziyaretçi bir yetkiliyle görüşmek istiyor ve yanıt bekliyor ({where}).",
        "{count} ziyaretçi bekliyor: {where}",
        "{count} ziyaretçi bir yetkiliyle görüşmek istiyor ve yanıt bekliyor ({where}).",
    ),
    (REQUEST, "en"): _NoticeTexts(
        "New request: {where}",
        "There is a new request: {where}.",
        "{count} new requests: {where}",
        "There are {count} new requests: {where}.",
    ),
    (REQUEST, "tr"): _NoticeTexts(
        "Yeni talep: {where}", "Yeni bir talep var: {where}.", "{count} yeni talep: {where}", "{count} yeni talep var: {where}."
    ),
    (APPOINTMENT, "en"): _NoticeTexts(
        "New appointment: {where}",
        "There is a new appointment: {where}.",
        "{count} new appointments: {where}",
        "There are {count} new appointments: {where}.",
    ),
    (APPOINTMENT, "tr"): _NoticeTexts(
        "Yeni randevu: {where}", "Yeni bir randevu var: {where}.", "{count} yeni randevu: {where}", "{count} yeni randevu var: {where}."
    ),
    (WEBHOOK, "en"): _NoticeTexts(
        "Webhook delivery failed: {where}",
        "The delivery of a webhook failed: {where}. It can be sent again from the list of deliveries.",
        "{count} webhook deliveries failed: {where}",
        "{count} deliveries of webhooks failed: {where}. They can be sent again from the list of deliveries.",
    ),
    (WEBHOOK, "tr"): _NoticeTexts(
        "Webhook teslim edilemedi: {where}",
        "Bir webhook bildirimi teslim edilemedi: {where}. Teslimat listesinden yeniden gönderebilirsiniz.",
        "{count} webhook bildirimi teslim edilemedi: {where}",
        "{count} webhook bildirimi teslim edilemedi: {where}. Teslimat listesinden yeniden gönderebilirsiniz.",
    ),
    (TEST, "en"): _NoticeTexts("Test mail of chatsvc", "This is a test. Mail is set up correctly.", "", ""),
    (TEST, "tr"): _NoticeTexts("chatsvc deneme e-postası", "Bu bir denemedir. E-posta gönderimi doğru ayarlanmış.", "", ""),
}
_FOOTER = {
    "en": "You chose this notice under “My settings”, where you can also switch it off:\n{url}",
    "tr": "Bu bildirimi “Ayarlarım” sayfasında siz seçtiniz; oradan kapatabilirsiniz:\n{url}",
}


def notice(mail: OutgoingMail, smtp: Smtp, public_url: str | None) -> bytes:
    """Write a notice or a test mail to an operator. `public_url` is None where there is no dashboard to lead to."""
    language = mail.language or _LANGUAGE
    wording = _NOTICES[mail.kind, language]
    facts = {"where": plain(mail.bot or mail.account or ""), "count": mail.causes}
    subject, text = (wording.one, wording.one_text) if mail.causes == 1 else (wording.many, wording.many_text)
    parts = [text.format(**facts)]
    if public_url is not None and mail.kind != TEST:
        parts.append(f"{public_url}{_PATHS[mail.kind](mail)}")
        parts.append(f"-- \n{_FOOTER[language].format(url=f'{public_url}/me')}")
    return compose(mail, smtp, subject.format(**facts), "\n\n".join(parts) + "\n", language)


class _AnswerTexts(NamedTuple):
    """Subject and text of an operator's answer to a visitor who has gone. `reason` says why the address got it, `stop` how to get none."""

    subject: str
    text: str
    reason: str
    stop: str


_ANSWERS = {
    "en": _AnswerTexts(
        "{where}: answer to your message",
        "Hello,\n\nyou had left the chat of {where} when we answered:\n\n{said}\n\nYou can go on where you wrote to us{page}.",
        "This address was given in the chat of {where}{page}. If that was not you, you can ignore this mail.",
        "No more mails from this chat:\n{url}",
    ),
    "tr": _AnswerTexts(
        "{where}: mesajınıza yanıt",
        "Merhaba,\n\n{where} sohbetinden ayrıldıktan sonra mesajınıza yanıt verdik:\n\n{said}\n\n"
        "Görüşmeye, bize yazdığınız sayfadan devam edebilirsiniz{page}.",
        "Bu e-posta adresi {where} sohbetinde verildi{page}. Veren siz değilseniz bu e-postayı dikkate almayabilirsiniz.",
        "Bu sohbetten bir daha e-posta almamak için:\n{url}",
    ),
}


def answer(mail: OutgoingMail, smtp: Smtp, language: str, stop_url: str | None) -> bytes:
    """Write the answers of an operator to a visitor, in the language of the conversation. `stop_url` leads to the page that stops them."""
    wording = _ANSWERS[language if language in _ANSWERS else "en"]
    where = plain(mail.bot or "")
    page = f" ({plain(mail.page_host)})" if mail.page_host else ""
    text = wording.text.format(where=where, said="\n\n".join(mail.texts), page=page)
    text += f"\n\n-- \n{wording.reason.format(where=where, page=page)}"
    if stop_url is not None:
        text += f"\n\n{wording.stop.format(url=stop_url)}"
    return compose(mail, smtp, wording.subject.format(where=where), f"{text}\n", language, stop_url)


def _records(mail: OutgoingMail) -> str:
    return f"/conversations/{mail.conversation_id}" if mail.conversation_id else f"/inbox?account={mail.account_id}"


_PATHS: dict[str, Callable[[OutgoingMail], str]] = {
    WAITING: _records,
    REQUEST: _records,
    APPOINTMENT: _records,
    WEBHOOK: lambda mail: f"/webhooks?account={mail.account_id}&status=failed",
}


def compose(mail: OutgoingMail, smtp: Smtp, subject: str, text: str, language: str, stop_url: str | None = None) -> bytes:
    """Write a message with its header. `stop_url` is for the button of mail programs that stops such mails (RFC 8058).
    Line breaks in names cannot add fields: `plain` has removed them."""
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(plain(smtp.sender_name), addr_spec=smtp.sender)
    message["To"] = Address(addr_spec=mail.recipient)
    message["Subject"] = plain(subject, 200)
    message["Date"] = formatdate(mail.created_at / 1000, usegmt=True)
    # The same for every attempt, so that a mail that was sent twice can be recognised.
    message["Message-ID"] = f"<chatsvc.{mail.number}.{mail.created_at}@{smtp.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message["Content-Language"] = language
    message.set_content(text, cte="quoted-printable")
    return _stop_header(stop_url) + message.as_bytes()


def _stop_header(url: str | None) -> bytes:
    """Write the fields of RFC 8058. The library would fold and encode so long an address, which mail programs do not read."""
    if url is None or not url.isascii():
        return b""
    button = "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" if url.startswith("https://") else ""
    return f"List-Unsubscribe: <{url}>\r\n{button}".encode()


def plain(text: str, most: int = _MOST_NAME) -> str:
    """Return a text on one line without control characters, cut to a length."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(line.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
