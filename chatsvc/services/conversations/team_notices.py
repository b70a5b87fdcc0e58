"""Notices to the team's group about waiting visitors, and answers to them, which go to the visitors."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from chatsvc import translations
from chatsvc.domain.actors import Actor, Caller, Role, Scope
from chatsvc.domain.models import Bot
from chatsvc.domain.platforms import Platform
from chatsvc.domain.refusals import Refused
from chatsvc.services.administration import perform
from chatsvc.services.services import Services
from chatsvc.store import handling
from chatsvc.store.handling import TeamNotice

# In one message, which has at most 4,096 characters: visitors, and characters of what they said and of a bot's name.
MOST_VISITORS = 10
_MOST_SAID, _MOST_SAID_OF_SEVERAL, _MOST_NAME = 500, 100, 60


class TeamAnswer(NamedTuple):
    """An answer of the team. `notice` names the message in the group that it answers, `key` the answer itself, `via` the platform."""

    notice: str
    key: str
    text: str
    via: str
    person: int | None
    name: str


class WaitingVisitor(NamedTuple):
    notice: TeamNotice
    bot: Bot
    url: str


class WordedNotice(NamedTuple):
    """A notice in the language of its bot. `buttons` are texts with the addresses of conversations' pages."""

    text: str
    buttons: list[tuple[str, str]]


def digest_of(message: str) -> bytes:
    """Return the digest of the name of a message in the team's group."""
    return hashlib.sha256(f"team\n{message}".encode()).digest()


async def due(services: Services) -> list[WaitingVisitor]:
    visitors = []
    for notice in await handling.untold(services.db, MOST_VISITORS):
        bot = await services.account_cache.bot(notice.account_id, notice.bot_id)
        if bot is not None:
            page = f"/conversations/{notice.conversation_id}?account={notice.account_id}"
            visitors.append(WaitingVisitor(notice, bot, f"{services.config.server.public_url.rstrip('/')}{page}"))
    return visitors


def worded(visitors: Sequence[WaitingVisitor], platforms: Mapping[str, Platform]) -> WordedNotice:
    """Word the notice of one visitor or several, in the language of the first bot."""
    text = partial(_text, visitors[0].bot.language)
    channels = [platforms[notice.channel].label if notice.channel in platforms else notice.channel for notice, _, _ in visitors]
    if len(visitors) == 1:
        ((notice, bot, url),) = visitors
        words = _shortened(notice.words, _MOST_SAID)
        return WordedNotice(text("waiting").format(bot=bot.name, channel=channels[0], said=words), [(text("open"), url)])
    lines, buttons = [text("several_begin").format(count=len(visitors)), ""], []
    for number, ((notice, bot, url), channel) in enumerate(zip(visitors, channels, strict=True), start=1):
        name = f"{number}. {_shortened(bot.name, _MOST_NAME)}"
        lines.append(f"{name} ({channel}): “{_shortened(' '.join(notice.words.split()), _MOST_SAID_OF_SEVERAL)}”")
        buttons.append((name, url))
    return WordedNotice("\n".join([*lines, "", text("several_end")]), buttons)


def _text(language: str | None, key: str) -> str:
    return translations.template("tr" if language == "tr" else "en", f"team_notices.{key}")


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


async def note(services: Services, visitors: Sequence[WaitingVisitor], message: str | None) -> None:
    """Store that the team was notified. `message` names the message in the group, or is None if its name is unknown."""
    digest = digest_of(message) if message is not None else None
    await handling.note_told(services.db, [visitor.notice for visitor in visitors], digest)


async def answer(services: Services, given: TeamAnswer) -> str | None:
    """Pass an answer to a notice on to the visitor, once, which takes the conversation. Return the sentence that refuses it, if any."""
    noticed = await handling.of_notice(services.db, digest_of(given.notice))
    if not noticed:
        return None
    account_id, bot_id, conversation = noticed[0]
    bot = await services.account_cache.bot(account_id, bot_id)
    language = bot.language if bot is not None else None
    if len(noticed) > 1:
        return _text(language, "refused_several")
    if not given.text:
        return _text(language, "refused_no_text")
    caller = Caller(Actor("user", f"{given.via} {given.person}", given.name), Scope({account_id: Role.EDITOR}), given.via)
    arguments = {"conversation": conversation, "text": given.text, "key": digest_of(given.key)}
    try:
        await perform(services, caller, "conversation.reply", arguments)
    except handling.AlreadyWritten:
        return None
    except Refused as refusal:
        known = f"refused_{refusal.code}"
        return _text(language, known if translations.has(f"team_notices.{known}") else "refused")
    return None
