"""Request bodies for the Messages API: the system blocks and the messages of one call. Pure functions.

Stable text comes first, so that the prefix is the same from turn to turn. For Anthropic's own service two prefixes are marked for
its prompt cache: the rules with the knowledge, and the conversation until the new message. What changes with each message (the time,
the language, passages, records) follows the conversation there; on-prem it is the last system block. A visitor's words are in
messages alone, never in the system prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from chatsvc.domain import times
from chatsvc.domain.captures import CapturedRecord
from chatsvc.domain.models import HistoryMessage
from chatsvc.engines import Hit, Turn, language, site_of
from chatsvc.engines.anthropic import facts, marks, notes, stable, tools
from chatsvc.engines.anthropic.answer import clean, text_block

if TYPE_CHECKING:
    from anthropic.types import MessageParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

MAX_TOKENS = 2048
"""Most tokens of a reply, thinking included. Below 1,024 reasoning models end inside their thoughts."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a prompt in characters. The whole knowledge up to `knowledge`, else passages up to `passages`."""

    knowledge: int
    passages: int
    history: int


HOSTED = Budget(knowledge=40_000, passages=12_000, history=12_000)
# Ollama has room for 4k tokens unless told otherwise, cuts what does not fit without a word, and on a CPU reads some 100 a second.
ON_PREM = Budget(knowledge=6_000, passages=4_000, history=3_000)

PASSAGES = 8
"""Entries that are searched for the message; half as many for the question before it."""

MAX_RECORDS = 10
"""Records of the conversation that a prompt has."""

_FROM_SERVICE, _FROM_VISITOR = "[From the service, not the visitor]", "[The visitor's message follows]"

_LANGUAGES = {
    "ar": "Arabic",
    "az": "Azerbaijani",
    "bg": "Bulgarian",
    "bs": "Bosnian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "kk": "Kazakh",
    "ko": "Korean",
    "ku": "Kurdish",
    "nb": "Norwegian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sq": "Albanian",
    "sr": "Serbian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "uz": "Uzbek",
    "zh": "Chinese",
}
_TAG = re.compile(r"([a-z]{2,3})(?:-([a-z]{2}|[a-z]{4}|[0-9]{3}))?(?:-.*)?", re.IGNORECASE | re.ASCII)


def request(
    turn: Turn, hits: Sequence[Hit], *, hosted: bool, offered: tuple[str, ...] = (), shortened: bool = False
) -> MessageCreateParamsNonStreaming:
    """Build the body of POST /v1/messages, with only what every server knows. No temperature, no tool_choice.

    `hits` are the passages for a knowledge that does not fit, `offered` the names of the tools. `shortened` halves the history: the
    server refused it as too long.
    """
    budget = budget_of(hosted=hosted)
    whole = stable.knowledge(turn.knowledge, budget.knowledge, cached=hosted)
    rules = stable.rules(turn.bot, site_of(turn.knowledge), offered=offered, cached=hosted and whole is None)
    system = [rules, *([whole] if whole else [])]
    changing = _changing(turn, None if whole else hits)
    records = _records(turn.captured)
    said = messages(turn.history, turn.message, _half(turn.history, budget.history) if shortened else budget.history)
    if hosted:
        said = _with_context(said, [*changing[:-1], *records, changing[-1]])
    else:
        # A record has the visitor's words, which are in messages alone.
        said[-1] = {"role": "user", "content": _behind(records, str(said[-1]["content"]))}
        system += map(stable.block, changing)
    body: MessageCreateParamsNonStreaming = {"model": turn.model, "max_tokens": MAX_TOKENS, "system": system, "messages": said}
    return {**body, "tools": tools.definitions(offered)} if offered else body


def budget_of(*, hosted: bool) -> Budget:
    """Return the budget of Anthropic's own service or of an on-prem server."""
    return HOSTED if hosted else ON_PREM


def _changing(turn: Turn, hits: Sequence[Hit] | None) -> list[str]:
    """Write what changes with each message: passages, time and language."""
    found = [stable.entries_told([hit.entry for hit in hits], "What was found for this question")] if hits is not None else []
    return [*found, _moment(turn)]


def _with_context(said: list[MessageParam], changing: list[str]) -> list[MessageParam]:
    """Insert the changing parts before the new message. The prefix until there is marked for the prompt cache."""
    *past, last = said
    if past:
        past[-1] = {"role": "assistant", "content": [{"type": "text", "text": str(past[-1]["content"]), "cache_control": stable.EPHEMERAL}]}
    context = "\n\n".join((_FROM_SERVICE, *changing, _FROM_VISITOR))
    return [*past, {"role": "user", "content": [text_block(context), text_block(str(last["content"]))]}]


def _behind(parts: list[str], message: str) -> str:
    """Write the visitor's message behind parts of the service."""
    return "\n\n".join((_FROM_SERVICE, *parts, _FROM_VISITOR, message)) if parts else message


def _records(captured: Sequence[CapturedRecord]) -> list[str]:
    """Write the records of the conversation as the team reads them."""
    if not captured:
        return []
    head = (
        "Already noted in this conversation, as the team reads it. It is not noted again, and nothing beside it is noted. Only a status "
        f"of confirmed means that the business has confirmed; changes go by {tools.CHANGE_RECORD}:"
    )
    return ["\n".join((head, *map(notes.record_line, captured[-MAX_RECORDS:])))]


def messages(history: Sequence[HistoryMessage], message: str, budget: int) -> list[MessageParam]:
    """Build the messages of a conversation within `budget` characters. Oldest first, beginning with the user, roles alternating.

    The message that crosses the budget still goes along: a short "and on Sundays?" means nothing without it.
    """
    kept = [("user", clean(marks.without_tokens(message)))]
    used = 0
    for past in reversed(history):
        if used >= budget:
            break
        cut = marks.without_thoughts if past.role == "assistant" else marks.without_tokens
        content = clean(cut(past.content)).strip()
        if content and past.role in ("user", "assistant"):
            kept.append((past.role, content))
            used += len(content)
    turns: list[tuple[str, str]] = []
    for role, content in reversed(kept):
        if turns and turns[-1][0] == role:
            # A question that never got its answer is followed by the next one.
            turns[-1] = (role, f"{turns[-1][1]}\n\n{content}")
        elif turns or role == "user":
            turns.append((role, content))
    return [
        {"role": "assistant", "content": content} if role == "assistant" else {"role": "user", "content": content}
        for role, content in turns
    ]


def _half(history: Sequence[HistoryMessage], budget: int) -> int:
    """Return the budget in characters that leaves out half of what was sent, at least its oldest message."""
    sent, used = list[int](), 0
    for past in reversed(history):
        if used >= budget:
            break
        sent.append(len(past.content))
        used += len(past.content)
    half = used // 2
    # The message that crosses the budget still goes along.
    return max(0, half - max(sent, default=0) + 1) if len(sent) < 3 else half


def language_name(tag: str) -> str | None:
    """Name the language of a BCP 47 tag ("English (en-GB)"); None if it is none. Little of the caller's text is let through."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return None
    primary, variant = match[1].lower(), match[2]
    name = _LANGUAGES.get(primary, f"the language with the code {primary}")
    return f"{name} ({primary}-{variant})" if variant else name


def passages(turn: Turn, budget: int) -> list[Hit]:
    """Search the entries nearest to the message, then to the question before it. Best first, within `budget` characters."""
    if not turn.knowledge.entries:
        return []
    spoken = language.detected(turn)
    hits = list(turn.knowledge.search(turn.message, turn.language, PASSAGES, spoken=spoken).hits)
    before = next((past.content for past in reversed(turn.history) if past.role == "user"), None)
    if before is not None:
        hits += turn.knowledge.search(before, turn.language, PASSAGES // 2, spoken=spoken).hits
    found: dict[str, Hit] = {}
    used = 0
    for hit in hits:
        size = len(hit.entry.question) + len(hit.entry.answer)
        # The best one always: an answer longer than the budget is better than none.
        if hit.entry.id not in found and (not found or used + size <= budget):
            found[hit.entry.id] = hit
            used += size
    return list(found.values())


def _moment(turn: Turn) -> str:
    """Write the bot's wall clock, to the minute, and the language to answer in."""
    wanted = language_name(turn.language) if turn.language else None
    unclear = language.of(turn) if wanted is None else ""
    now = times.local(turn.now_ms, turn.bot.timezone)
    lines = [("Now", facts.status(turn.bot, now)), ("Also closed on", facts.closed_days(turn.bot, now.date()))]
    opening = [f"{label}: {text}." for label, text in lines if text]
    return "\n".join((f"It is now {_clock(now, turn.bot.timezone)}.", *opening, _told(wanted, unclear)))


@lru_cache(maxsize=256)
def _told(wanted: str | None, unclear: str) -> str:
    if wanted is not None:
        return f"Answer in {wanted}, whatever language the visitor writes in."
    name = language_name(unclear) or "Turkish"
    return f"Answer in the language of the visitor's last message; where that is unclear, in {name}."


def _clock(now: datetime, zone: str) -> str:
    # A zone that this machine does not know must not cost the visitor the answer.
    name = zone if times.zone(zone) is not None else "UTC"
    return f"{facts.DAYS[now.weekday()]}, {now.day} {facts.MONTHS[now.month - 1]} {now.year}, {now:%H:%M} ({name})"
