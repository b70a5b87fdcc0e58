"""Notices in the team's group: somebody waits. An answer to a notice goes to the visitor (DECISIONS.md section 8)."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from chatsvc.domain.actors import Actor, Caller, Role, Scope
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.store import handling, team_notices
from chatsvc.store.team_notices import TeamNotice
from chatsvc.usecases.administration import perform
from chatsvc.usecases.services import Services

VIA = "telegram"
_MOST_NOTICES = 20  # at a time
_MOST_SAID = 500


class TeamAnswer(NamedTuple):
    """An answer of the team. `notice` names the message in the group that it answers, `key` the answer itself."""

    notice: str
    key: str
    text: str
    person: str
    name: str


class WordedNotice(NamedTuple):
    """A notice in the language of its bot, with the address of the conversation's page."""

    notice: TeamNotice
    text: str
    button: str
    url: str


_TEXTS = {
    "tr": (
        "{bot}: Bir ziyaretçi ekibinizi bekliyor ({channel}).\n\n“{said}”\n\nBu mesajı yanıtlarsanız yazdıklarınız ziyaretçiye iletilir.",
        "Görüşmeyi aç",
    ),
    "en": (
        "{bot}: a visitor waits for your team ({channel}).\n\n“{said}”\n\nReply to this message, and the visitor gets your words.",
        "Open the conversation",
    ),
}
_REFUSALS = {
    "tr": {
        "": "Mesajınız ziyaretçiye iletilemedi.",
        "channel_paused": "İletilemedi: kanal duraklatılmış.",
        "conversation_not_found": "İletilemedi: bu görüşme artık yok.",
        "text_too_long": "İletilemedi: mesaj çok uzun.",
        "no_text": "Yalnızca yazılı mesajlar iletilebilir.",
    },
    "en": {
        "": "Your message could not be passed on to the visitor.",
        "channel_paused": "Not passed on: the channel is paused.",
        "conversation_not_found": "Not passed on: this conversation does not exist any more.",
        "text_too_long": "Not passed on: the message is too long.",
        "no_text": "Only written messages can be passed on.",
    },
}


def digest_of(message: str) -> bytes:
    """Return the digest of a message's name in the team's group."""
    return hashlib.sha256(f"team\n{message}".encode()).digest()


async def due(services: Services) -> list[WordedNotice]:
    """List the notices to send, in the languages of their bots."""
    made = []
    for notice in await team_notices.due(services.db, _MOST_NOTICES):
        state = await services.account_cache.account(notice.account_id)
        bot = state.bots.get(notice.bot_id) if state else None
        if bot is not None:
            made.append(_worded(services, notice, bot))
    return made


def _worded(services: Services, notice: TeamNotice, bot: Bot) -> WordedNotice:
    text, button = _TEXTS["tr" if bot.language == "tr" else "en"]
    said = notice.said if len(notice.said) <= _MOST_SAID else f"{notice.said[:_MOST_SAID]}…"
    url = f"{services.config.server.public_url.rstrip('/')}/conversations/{notice.conversation_id}?account={notice.account_id}"
    channel = {"web": "web", "whatsapp": "WhatsApp", "telegram": "Telegram"}.get(notice.channel, notice.channel)
    return WordedNotice(notice, text.format(bot=bot.name, channel=channel, said=said), button, url)


async def note(services: Services, notice: TeamNotice, message: str | None) -> None:
    """Keep that the team was told. `message` names the message in the group, None where nobody knows it."""
    await team_notices.note(services.db, notice, digest_of(message) if message is not None else None)


async def answer(services: Services, given: TeamAnswer) -> str | None:
    """Pass an answer on to the visitor, which takes the conversation. Return the sentence that refuses it, None where there is none.

    An answer that comes again is passed on once. One to anything but a notice is left alone.
    """
    found = await team_notices.find(services.db, digest_of(given.notice))
    if found is None:
        return None
    account_id, bot_id, conversation = found
    state = await services.account_cache.account(account_id)
    bot = state.bots.get(bot_id) if state else None
    sentences = _REFUSALS["tr" if bot is not None and bot.language == "tr" else "en"]
    if not given.text:
        return sentences["no_text"]
    caller = Caller(Actor("user", given.person, given.name), Scope({account_id: Role.EDITOR}), VIA)
    arguments = {"conversation": conversation, "text": given.text, "key": digest_of(given.key)}
    try:
        await perform(services, caller, "conversation.reply", arguments)
    except handling.AlreadyWritten:
        return None
    except Refused as refusal:
        return sentences.get(refusal.code, sentences[""])
    return None
