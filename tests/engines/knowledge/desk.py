"""A visitor at the engine without a model: a bot, a small knowledge whose search is plain, and the state between two messages."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from chatsvc.domain.captures import Captured, CapturedRecord
from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.domain.profiles import Profile
from chatsvc.engines import EngineError, Fact, Hit, Reply, SearchResult, Turn
from chatsvc.engines.knowledge import dialogue
from chatsvc.language.folding import words

NOW = int(datetime(2026, 11, 20, 8, 30, tzinfo=UTC).timestamp() * 1000)  # a Friday morning

FACTS = {
    "tr": [
        ("gul buket", "Gül buketi", "Gül buketi 600 TL."),
        ("lale buket", "Lale buketi", "Lale buketi 450 TL."),
        ("teslim kargo", "Teslimat", "Teslimat aynı gün, 80 TL."),
        ("otopark park", "Otopark", "Otoparkımız yok."),
    ],
    "en": [
        ("oak frame", "Oak frame", "Oak frame: £45."),
        ("walnut frame", "Walnut frame", "Walnut frame: £60."),
        ("glass museum", "Museum glass", "Museum glass is £30 extra."),
        ("parking park", "Parking", "There is no parking outside."),
    ],
}
BOTS = {
    "tr": Bot(
        "b", "a", "Defne Çiçek", None, "offline", True, 0, 0, 0, opening_hours="mon-fri 09:00-18:00; sat 10:00-14:00"
    ),
    "en": Bot(
        "b", "a", "Pine Street Framing", None, "offline", True, 0, 0, 0,
        timezone="Europe/London", country="GB", language="en", opening_hours="tue-fri 09:00-17:30; sat 09:00-16:00",
    ),
}  # fmt: skip


class Knowledge:
    """Facts by their key words. One that is named answers, several are to be chosen from."""

    def __init__(self, language: str) -> None:
        entries = [Entry(str(number), title, (), text, language) for number, (_, title, text) in enumerate(FACTS[language])]
        self.entries: Sequence[Entry] = entries
        self.languages = frozenset({language})
        self.characters = sum(len(entry.question + entry.answer) for entry in entries)
        self._facts = [
            (keys.split(), Fact(entry, title, text, title)) for entry, (keys, title, text) in zip(entries, FACTS[language], strict=True)
        ]

    def search(
        self,
        text: str,
        language: str | None = None,
        limit: int = 5,
        *,
        spoken: str | None = None,  # noqa: ARG002 - the protocol has it
        subject: str | None = None,
        explain: bool = False,  # noqa: ARG002 - the protocol has it
    ) -> SearchResult:
        typed = words(text)
        scores = [sum(any(word.startswith(key) for word in typed) for key in keys) for keys, _ in self._facts]
        if not any(scores) and subject and re.search("much|kadar", text):
            return self.search(subject, language, limit)
        best = max(scores)
        hits = tuple(Hit(fact.entry, 1.0, (), fact) for score, (_, fact) in zip(scores, self._facts, strict=True) if score == best and best)
        decision = "abstain" if not hits else "answer" if len(hits) == 1 else "ask"
        return SearchResult(
            language or "",
            decision,
            {"abstain": 0.0, "ask": 0.5, "answer": 0.95}[decision],
            hits[:limit],
            tuple(hit.fact for hit in hits if hit.fact),
        )


class Desk:
    """One visitor of one bot."""

    def __init__(self, language: str, *, profile: Profile | None = None, channel: str = "api", **settings: object) -> None:
        bot = BOTS[language]
        known = {name: value for name, value in settings.items() if name in Bot._fields}
        self.bot = bot._replace(profile=profile.dump() if profile else None, **known)  # type: ignore[arg-type]
        self.turn = Turn(self.bot, channel, "", (), Knowledge(language), NOW, may_capture=True)
        self.choices: tuple[str, ...] = ()
        self.captured: Captured | None = None
        self.failure = ""
        self.reply = Reply("")

    def say(self, message: str) -> str:
        """Return the reply, or the fallback of a turn without one."""
        self.captured, self.failure = None, ""
        turn = replace(self.turn, message=message)
        try:
            reply = self.reply = dialogue.reply(turn)
            text, state, self.choices, self.captured = reply.text, reply.dialogue, reply.choices, reply.captured
        except EngineError as fault:
            text, state, self.choices, self.failure = fault.fallback, fault.dialogue, fault.choices, fault.reason
        history = [*turn.history, HistoryMessage("user", message), HistoryMessage("assistant", text)]
        self.turn = replace(turn, history=history, dialogue=state, now_ms=turn.now_ms + 20_000)
        if self.captured and not self.captured.change:
            self._note(self.captured)
        return text

    def _note(self, captured: Captured) -> None:
        timed = captured.date is not None and captured.time is not None
        record = CapturedRecord(
            "appointment" if timed else "request",
            f"r{len(self.turn.captured)}",
            captured.request_type,
            "pending" if timed else "new",
            captured.message,
            self.turn.now_ms,
            captured.date if timed else None,
            captured.time if timed else None,
            captured.visitor_name,
            captured.visitor_email,
            captured.visitor_phone,
        )
        self.turn = replace(self.turn, captured=[*self.turn.captured, record])
