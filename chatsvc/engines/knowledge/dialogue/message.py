"""One message of a visitor, read once: its words, values, intents and language."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from chatsvc.domain import times
from chatsvc.engines import SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import hearing, intents, lookup, matter, smalltalk, stories, wishes
from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.engines.knowledge.dialogue.hearing import Utterance
from chatsvc.engines.knowledge.dialogue.wishes import Wish
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.language.folding import words

_CLAUSES = re.compile(r"(?<![.!?;\n])[.!?;\n]+(?=\s|$)|,\s")
_MOST_CLAUSES = 8
_NOW = re.compile(r" (?:now|today|tonight|currently|right now|bugun|su an|simdi|su anda|bu aksam|atm|hala|still|at the moment) ")


@dataclass(frozen=True)
class VisitorMessage:
    """The readings of a turn's message, each made when it is first asked for."""

    turn: Turn

    @property
    def text(self) -> str:
        """The message as typed."""
        return self.turn.message

    @cached_property
    def now(self) -> datetime:
        """The wall time of the turn in the bot's time zone."""
        return times.local(self.turn.now_ms, self.turn.bot.timezone)

    @cached_property
    def said(self) -> list[str]:
        """The folded words."""
        return words(self.text)

    @cached_property
    def line(self) -> str:
        """The folded words with a blank around each."""
        return line_of(self.text)

    @cached_property
    def heard(self) -> Utterance:
        """The values of the message, read with no open question."""
        return hearing.interpret(self.text, "", self.now, self.turn.bot.country)

    @cached_property
    def wish(self) -> Wish | None:
        """The wish of the message, whole or in one of its sentences."""
        wish = wishes.of(self.text, self.heard)
        if wish is not None and wish.clear and stories.ends_asking(self.text) and not wishes.is_outright(self.text):
            return replace(wish, clear=False)  # the question at the end of a story goes first
        return wish

    @cached_property
    def intents(self) -> frozenset[str]:
        """The names of its intents."""
        return intents.of(self.text)

    @cached_property
    def finding(self) -> SearchResult:
        """The result of the search for it."""
        return lookup.find(matter.without_forms(self.turn))

    @cached_property
    def clauses(self) -> list[str]:
        """The clauses that hold words."""
        return [clause for clause in _CLAUSES.split(self.text[:1_000]) if words(clause)][:_MOST_CLAUSES]

    @cached_property
    def small_talk(self) -> str | None:
        """The kind of small talk that the message is; None if it is anything else."""
        found = smalltalk.kind_of(self.turn)
        return found[0] if found else None

    @property
    def says_now(self) -> bool:
        """True if the message names the present day or moment."""
        return bool(_NOW.search(self.line))

    @cached_property
    def tongue(self) -> str:
        """The language of the bot's own sentences in reply."""
        return language.among(self.turn, LANGUAGES)

    @property
    def has_contact(self) -> bool:
        """True if the visitor gives a telephone number or an e-mail address."""
        return self.heard.phone is not None or self.heard.email is not None
