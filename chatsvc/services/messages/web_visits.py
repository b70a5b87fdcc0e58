"""Requests of the web widget: open it, send and read messages, wait for news, rate replies and stop mails. They are limited here."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from chatsvc import background
from chatsvc.domain import keys, profiles, times, websites
from chatsvc.domain.channels import ACTIVE, ANY_LINK, FEEDBACK, Channel, NewMessage, host_of
from chatsvc.domain.models import Bot, ConversationKey, Message, SendMessage
from chatsvc.services.accounts.channel_secrets import VISITORS
from chatsvc.services.conversations.conversation_events import TYPING_S
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages import channel_messages
from chatsvc.services.services import Services
from chatsvc.store import channel_messages as stored
from chatsvc.store import channels, knowledge, mail_notices

WEB = "web"
MOST_TEXT = 4000
MOST_MESSAGES = 200  # of an answer
LINK = "link"  # in place of a site: the page /chat/BOT
POLLS = 30  # polls a minute for each permitted message
HOLD_S = 25.0  # proxies end connections that are silent for longer
NOTED_S = 3600  # between two notes of the same site that is refused
HELD_OF_A_VISITOR = 8  # reads at a time: tabs share one, frames whose storage is blocked cannot


class Widget(NamedTuple):
    """Web widget of a bot, with its channel, signing key and account."""

    channel: Channel
    key: str
    account_id: str
    bot: Bot
    account_name: str

    def shown_name(self, name: str) -> str:
        """Return the first word of an operator's name for visitors. The account's name, which replaces a missing name, remains whole."""
        return name if name == self.account_name else name.split(maxsplit=1)[0] if name.split() else ""

    @property
    def is_away(self) -> bool:
        """Return whether the widget answers nothing at the moment."""
        return self.channel.state != ACTIVE or not self.bot.active

    def admits(self, site: str) -> bool:
        """Return whether the widget may be used on a site. `site` is "" if the page did not name itself, LINK for the page /chat/BOT."""
        if site == LINK:
            return ANY_LINK in self.channel.sites
        return bool(self.channel.origins) if site == "" else site in self.channel.origins

    def token(self, kind: str, name: str) -> str:
        """Sign a token that contains `name`: a visitor's user_id (kind VISITOR), or the site of the widget (kind SITE)."""
        return keys.sign_token(self.key, kind, self.bot.id, name)

    def name_of(self, kind: str, token: str) -> str | None:
        """Return the user_id or the site that a token contains, or None if the token is wrong."""
        parts = keys.read_token(self.key, kind, token)
        return parts[1] if parts and parts[0] == self.bot.id else None

    def conversation(self, user_id: str) -> ConversationKey:
        return self.channel.bot_id, WEB, user_id


async def find(services: Services, bot_id: str) -> Widget | None:
    """Find the widget of a bot. Return None if the bot, its account or the channel does not exist."""
    channel = (await services.channels.of_bot(bot_id)).get(WEB)
    state = await services.account_cache.account(channel.account_id) if channel else None
    bot = state.bots.get(bot_id) if state else None
    if channel is None or state is None or bot is None or VISITORS not in channel.secrets:
        return None
    return Widget(channel.channel, channel.secrets[VISITORS], channel.account_id, bot, state.account.name)


class Overloaded(Exception):
    """Error: too many messages are being answered, or the service stops."""


class Opening(NamedTuple):
    """Greeting, suggested questions and other choices that a widget shows first.

    `wishes` are choices that ask for a person or a call. `closed` says when the team is back, and is empty while the team is available.
    """

    greeting: str
    suggestions: list[str]
    wishes: list[str]
    closed: str


def opening(services: Services, bot: Bot, language: str) -> Opening:
    """Return what a bot's widget shows first, in a language."""
    from chatsvc.engines.knowledge import business
    from chatsvc.language import catalogue

    now, sentences, closed = times.local(services.clock(), bot.timezone), catalogue.of_bot(bot, language), ""
    if not profiles.is_open(bot, now):
        closed = business.next_opening(bot, now, sentences) or sentences("handoff.away", next="").strip()
    greeting = catalogue.own_greeting(bot, language) or sentences(catalogue.GREETING, name=bot.name)
    return Opening(greeting, list(profiles.load(bot.profile).suggestions), list(channel_messages.wishes(bot, sentences.language)), closed)


class WebVisits:
    """Requests of all widgets. Their limits use two counters in memory: for requests, and for requests that wait for news."""

    def __init__(self, services: Services) -> None:
        limits = services.config.limits
        self.services = services
        self._messages = services.new_limiter("web", limits.web_per_minute)
        self._polls = services.new_limiter("polls", limits.web_per_minute * POLLS)
        # Held reads of each conversation and each address.
        self._held: Counter[object] = Counter()

    async def take_slot(self, widget: Widget, address: str, *, sends: bool) -> int | None:
        """Count a message (`sends`) or another request of an IP address. Return the seconds to wait, or None if the limit permits it."""
        now, limiter = self.services.clock(), self._messages if sends else self._polls
        slot = await limiter.take(f"{widget.bot.id} {address}", now)
        return None if slot.taken else max(1, slot.reset - now // 1000)

    async def send(self, widget: Widget, user_id: str, text: str, key: str, site: str) -> bool:
        """Store a visitor's message and answer it. Return False if the same message came before and its visitor was erased since then.

        Raises Overloaded above `max_in_flight` messages, or half as many of one account, and TooManyConversations above `web_daily`.
        """
        services = self.services
        if not services.tallies.has_room(widget.account_id):
            raise Overloaded
        page_host, most_new = "" if site == LINK else host_of(site), services.config.limits.web_daily
        arrived = NewMessage(
            widget.account_id, *widget.conversation(user_id), text, f"{user_id} {key}", services.clock(), page_host, most_new=most_new
        )
        with services.tallies.in_flight_of(widget.account_id):
            (message,) = await channel_messages.receive(services, arrived)
            if message is not None:
                await channel_messages.answer(services, message)
            return message is not None

    async def read(self, widget: Widget, user_id: str, after: str, *, before: str = "", types: bool = False) -> WidgetNews | None:
        """Read the newest messages of a conversation between the ids `after` and `before`. Return None if there is no conversation.

        An operator's message counts as delivered when `after` of a later call is this message or a newer one: only then has the page shown
        it. `types` is true while the visitor types.
        """
        services, key = self.services, widget.conversation(user_id)
        news = await stored.news(services.db, key, after, MOST_MESSAGES, before)
        if news is None:
            return None
        if news.confirmed:
            await stored.deliver(services.db, news.confirmed, "delivered")
        if types:
            services.events.type(key, "visitor")
        typing = services.events.typing.has(key, "operator")
        pages = await self._pages(widget.bot.id, news.messages)
        return WidgetNews(news.messages, news.conversation.handling, news.conversation.operator_name, typing, pages)

    async def _pages(self, bot_id: str, messages: Sequence[Message]) -> dict[str, str]:
        """Return the web page from which each answer comes. The keys are the ids of the messages."""
        entries = {}
        for message in messages:
            evidence = json.loads(message.evidence or "{}")
            if evidence.get("decision") == "answer" and evidence.get("entries"):
                entries[message.id] = evidence["entries"][0]["id"]
        known = await knowledge.some(self.services.db, bot_id, sorted(set(entries.values()))) if entries else {}
        pages = {message_id: websites.page_of(known[entry]) for message_id, entry in entries.items() if entry in known}
        return {message_id: page for message_id, page in pages.items() if page}

    def may_hold(self, widget: Widget, user_id: str, address: str) -> bool:
        """Return whether one more request of a visitor at an IP address may wait for news."""
        held, most = self._held, self.services.config.limits.connections_per_address
        return held[widget.conversation(user_id)] < HELD_OF_A_VISITOR and held[address] < most

    async def wait(
        self,
        widget: Widget,
        user_id: str,
        address: str,
        after: str,
        known: str,
        wake_when_ended: Callable[[asyncio.Event], None],
        *,
        types: bool,
    ) -> WidgetNews | None:
        """Read the messages after the id `after`. If there is no news, wait some seconds for it, unless too many requests wait.

        News is a message, or another state than `known`, which the widget shows. `wake_when_ended` sets an event when the visitor closes
        the page, so that the request stops waiting.
        """
        holders = key, _ = widget.conversation(user_id), address
        if types:
            # Before the waiter stands: the mark is news for the team, not for this visitor.
            await self.read(widget, user_id, after, types=True)
        # The waiter stands before the read, so that nothing is missed in between.
        async with self.services.events.waiting_for(key) as news:
            now = await self.read(widget, user_id, after)
            if now is None or now.messages or now.state != known or not self.may_hold(widget, user_id, address):
                return now
            wake_when_ended(news)
            self._held.update(holders)
            try:
                # A typing mark ends without a word.
                await background.wait(news, min(HOLD_S, TYPING_S) if now.typing else HOLD_S)
            finally:
                self._held.subtract(holders)
                for holder in holders:
                    if not self._held[holder]:
                        del self._held[holder]
        return await self.read(widget, user_id, after)

    async def stop_mails(self, widget: Widget, digest: bytes) -> None:
        """Store that an e-mail address gets no more mails with answers. `digest` is the digest of the address."""
        await mail_notices.add_stop(self.services.db, widget.account_id, digest, self.services.clock())

    async def note_refused(self, widget: Widget, site: str) -> None:
        """Store a site that asked for the widget but is not permitted. Strangers cause at most one write a minute."""
        channel, now = widget.channel, self.services.clock()
        pause_s = NOTED_S if channel.refused_site == site else 60
        if site and now - (channel.refused_at or 0) >= pause_s * 1000:
            await channels.update(self.services.db, channel.id, {"refused_site": site, "refused_at": now})

    async def rate(self, widget: Widget, user_id: str, message: str, feedback: str | None) -> bool:
        """Store a visitor's rating of a reply ("up" or "down"), or remove it if it is None. Return False if the message cannot be rated."""
        if feedback not in (None, *FEEDBACK):
            return False
        visitor = widget.conversation(user_id)
        if not await stored.rate(self.services.db, visitor, message, feedback):
            return False
        if feedback == "down" and (asked := await stored.asked_before(self.services.db, visitor, message)):
            await unanswered.note(self.services, widget.bot, SendMessage(widget.bot.id, asked, user_id), WEB)
        return True


class WidgetNews(NamedTuple):
    """New messages for a widget, with the state of the conversation. `pages` are the web pages behind answers, by message id."""

    messages: list[Message]
    handling: str
    operator: str | None
    typing: bool
    pages: Mapping[str, str] = {}

    @property
    def state(self) -> str:
        """State that a widget shows beside the messages. The widget sends this state with its next request."""
        return f"{self.handling}-{int(self.typing)}"
