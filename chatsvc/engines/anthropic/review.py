"""Review of a model's reply: it must not have tool calls as text, invented figures, or claims of actions that were not done."""

import re
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from chatsvc.domain import times
from chatsvc.domain.captures import Captured, CapturedRecord
from chatsvc.domain.folding import fold
from chatsvc.engines import EngineError, Hit, Knowledge, Turn
from chatsvc.engines.anthropic import grounding, tools
from chatsvc.engines.anthropic.grounding import comparable
from chatsvc.engines.anthropic.prompt import described
from chatsvc.language.wordlists import LanguageWords

_NO_ANSWER = f"If you cannot answer without it, say only that by {tools.NO_ANSWER} or [NO_ANSWER]."
_HEAD = "[From the service, not the visitor] Your last message was not shown to the visitor."

_known: WeakKeyDictionary[Knowledge, grounding.Known] = WeakKeyDictionary()


def characters_read(turn: Turn, text: str) -> int:
    """Return how many characters the review of a reply reads. The knowledge counts until its figures are cached."""
    past = sum(len(message.content) for message in turn.history)
    return len(text) + past + (0 if turn.knowledge in _known else turn.knowledge.characters)


def complaint(text: str, hits: Sequence[Hit], captured: Captured | None, turn: Turn) -> str | None:
    """Return what is wrong with a reply, as a text for the model, or None for a good reply. Raises EngineError("no_answer").

    `hits` are entries found for the message, `captured` is what was captured from it.
    """
    if _CALL_MARKS.search(text):
        return f"{_HEAD} It held a tool call as text. Call the tool itself, or answer the visitor in plain words."
    if tools.NO_ANSWER in text:
        raise EngineError("no_answer", "its tool, written as text")
    bot, records = turn.bot, list[CapturedRecord | Captured](turn.captured)
    records += [captured] if captured else []
    settings = (bot.name, bot.description, bot.instructions, bot.opening_hours, bot.greeting, bot.phone, bot.email, bot.address)
    if (of_entries := _known.get(turn.knowledge)) is None:
        words = (text for entry in turn.knowledge.entries for text in (entry.question, *entry.alt, entry.answer))
        of_entries = _known[turn.knowledge] = grounding.Known("\n".join(words))
    known = of_entries, grounding.Known("\n".join(filter(None, settings)))
    claim = untrue_claim(text, known, turn.captured, noted=captured is not None)
    if claim is not None:
        return (
            f"{_HEAD} It says that something was done which no tool did: “{claim}” Answer again and say only what is true: what "
            f"tools noted, and that the business has yet to do it. {_NO_ANSWER}"
        )
    if beyond := more_than_noted(text, turn.spoken, map(described, records)):
        named = ", ".join(f"“{word}”" for word in beyond)
        return (
            f"{_HEAD} It says that more is noted than is: no record holds {named}. Note it with the visitor's words in the quotes, or "
            "say only what is noted."
        )
    if not grounding.FIGURES.search(text):
        return None
    # Earlier replies were reviewed, or came from the knowledge.
    near = [past.content for past in turn.history if past.role != "user"]
    near += [f"{hit.entry.question}\n{hit.entry.answer}" for hit in hits]
    near += [f"{record.time:%H:%M}" for record in records if record.time]
    near += [text for record in records for text in (record.visitor_phone, record.visitor_email) if text]
    near += [record.id for record in turn.captured]
    days = [record.date for record in records if record.date]
    now = times.local(turn.now_ms, bot.timezone)
    unknown = grounding.Sources(known, near, turn.spoken, now, days, bot.country).unknown(text)
    if not unknown:
        return None
    named = ", ".join(f"“{figure}”" for figure in unknown)
    return (
        f"{_HEAD} It holds what stands neither in the knowledge, the facts nor the visitor's messages: {named}. Answer again "
        f"without it. {_NO_ANSWER}"
    )


# --- claims of actions, and tool calls written as text


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(fold(pattern))


_EN_DONE = (
    "canceled|cancelled|booked|reserved|confirmed|rescheduled|moved|changed|updated|ordered|refunded|processed|scheduled|registered|arranged"
    "|placed|completed|activated|approved|issued|shipped|charged|transferred"
)
_EN_NOTED = (
    "sent|emailed|e-mailed|forwarded|passed on|passed it on|passed this on|passed that on|notified|informed|noted|recorded|submitted|saved"
    "|added|logged|received"
)
_EN_SUBJECT = r"appointment|booking|reservation|order|request|refund|visit|payment|table|room|cancellation|complaint|message|details?"
_EN_HELP = r"(?:just |already |now |also |successfully |gone ahead and )*"

_EN_OBJECT = rf"(?:your|you|it|that|them|(?:a|an|the|this) (?:\w{{1,30}} ){{0,2}}(?:{_EN_SUBJECT})s?)"

_TR_DONE = (
    r"iptal et|iptal ettir|oluştur|ayarla|onayla|değiştir|güncelle|taşı|ertele|ayır|ayırt|rezerve et|iade et|tamamla"
    r"|sipariş\w{0,20} ver|planla"
)
_TR_NOTED = "ilet|kaydet|gönder|bildir|not al|not et|ekle|talebinizi al"
_TR_SUBJECT = "randevu|rezervasyon|sipariş|talep|talebi|kayd|kayıt|iade|ödeme|başvuru|şikayet|şikâyet|oda|masa"
_TR_PASSIVE = "iptal edil|oluşturul|onaylan|ertelen|değiştiril|güncellen|ayrıl|tamamlan|taşın|gerçekleştiril"
_TR_PASSIVE_NOTED = "iletil|gönderil|kaydedil|alın"
_TR_PAST = "(?:[dt][ıiuü]|m[ıiuü]ş(?:t[ıiuü]r)?)"


def _turkish(active: str, passive: str, subject: str) -> str:
    """Build a pattern for Turkish claims: "I have done", "we have done your ...", "your ... has been done"."""
    return (
        rf"\b(?:{active})[dt][ıiuü]m\b"
        rf"|\b\w{{1,30}}n[ıiuü]z\w{{0,20}}\b[^.!?\n]{{0,60}}\b(?:{active})[dt][ıiuü]k\b"
        rf"|{subject}[^.!?\n]{{0,60}}\b(?:{passive}){_TR_PAST}\b"
    )


_DONE = _compile(
    rf"\b(?:i|we)(?:'ve|’ve| have)? {_EN_HELP}(?:{_EN_DONE})(?: {_EN_OBJECT}\b|[.!]*$)"
    rf"|\b(?:your|the|this|that) (?:\w{{1,30}} )?(?:{_EN_SUBJECT})s?\b[^.!?\n]{{0,40}} (?:has|have|is|was|were)(?: now| already)?(?: been)?"
    rf" (?:now |already |successfully )*(?:{_EN_DONE})\b|" + _turkish(_TR_DONE, _TR_PASSIVE, rf"\b(?:{_TR_SUBJECT})\w{{0,30}}\b")
)
_NOTED = _compile(
    rf"\b(?:i|we)(?:'ve|’ve| have)? {_EN_HELP}(?:{_EN_NOTED})(?: {_EN_OBJECT}\b|[.!]*$)"
    rf"|\byour (?:\w{{1,30}} )?(?:{_EN_SUBJECT})s? (?:has|have)(?: now| already)? been (?:{_EN_NOTED})\b|"
    + _turkish(_TR_NOTED, _TR_PASSIVE_NOTED, rf"\b(?:{_TR_SUBJECT})\w{{0,30}}n[ıiuü]z\w{{0,20}}\b")
)
# A sentence with one of these tells what happens in general, or asks.
_NOT_A_CLAIM = _compile(
    r"\b(?:if|once|when|whenever|after|until|unless|before|as soon as|eğer|takdirde|halinde|durumda|sonra|önce|kadar|olmadıkça)\b"
    r"|\b(?:have|has|had|did|do|does|is|was|were|am|are|can|could|will|would) not\b|n['’]t\b|\b(?:never|cannot|değil|yok)\b"
    r"|\w(?:ınca|ince|unca|ünce|dığında|diğinde|duğunda|düğünde|tığında|tiğinde)\b"
    r"|\b(?:mı|mi|mu|mü)(?:yım|yim|yız|yiz)?\b[^.!]*\?|\?\s*$"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_SETTLED = {
    "confirmed": _compile(r"confirm|book|reserv|schedul|onayla|rezerv|ayarla|ayrıl|oluştur"),
    "canceled": _compile(r"cancel|iptal"),
    "done": _compile(r"complet|process|tamamla|gerçekleş"),
}

MOST_WORDS = 5  # words of a reply that a complaint names
_SHORTEST, _STEM = 5, 5  # letters of a word that says something, and of its beginning
_WORD = re.compile(r"[^\W_]+")
_CALLED_NOTED = _compile(
    r"\b(?:noted|recorded|written down|passed on|on the list|made a note|have your|got your|in your (?:note|request))\b"
    r"|\bnot (?:et|al|edil)|\bkayded|\bkayitli|\bilet(?:il)?[dt]i|\bnotunuz|\bekled|\beklend"
)
# Words beside what is noted: contact data is checked by itself, days are said in many ways.
_COMMON = LanguageWords("figures.txt").words("common")

_CALL_MARKS = re.compile(
    r"</?\s*(?:tool_call|tool_use|tool_code|function_calls?|function|antml:\w+|invoke)\b|\[/?TOOL_CALLS?\]|<\|(?:tool|python_tag|/?call)"
    r"|\{\s*\"(?:name|function|tool|type|tool_name|action)\"\s*:\s*\"(?:function|tool_use|tool_call)?"
    rf"|{tools.SEARCH}|{tools.NOTE_REQUEST}|{tools.NOTE_APPOINTMENT}|{tools.CHANGE_RECORD}",
    re.IGNORECASE,
)


def untrue_claim(text: str, known: Sequence[grounding.Known], records: Sequence[CapturedRecord], *, noted: bool) -> str | None:
    """Return the first sentence that claims an action which no tool has done, or None.

    `known` are texts that the bot may quote. `noted` is whether a request was noted, so that a reply may say so.
    """
    for match in _SENTENCE.finditer(text):
        sentence = comparable(match[0]).strip()
        done, noting = _DONE.search(sentence), _NOTED.search(sentence)
        if not (done or noting) or _NOT_A_CLAIM.search(sentence) or any(sentence.rstrip(".! ") in source.text for source in known):
            continue
        # Whether a record has the status that the sentence claims.
        is_settled = done and any(record.status in _SETTLED and _SETTLED[record.status].search(done[0]) for record in records)
        if (done and not is_settled) or (noting and not (noted or records)):
            return match[0].strip()
    return None


def more_than_noted(text: str, spoken: Iterable[str], noted: Iterable[str]) -> list[str]:
    """Return the visitor's words that a reply calls noted although no record contains them, at most MOST_WORDS.

    `noted` are the records with their moments and contact data, `spoken` the visitor's messages.
    """
    sentences = [comparable(match[0]) for match in _SENTENCE.finditer(text)]
    claims = [sentence for sentence in sentences if _CALLED_NOTED.search(sentence) and not _NOT_A_CLAIM.search(sentence)]
    if not claims:
        return []
    # A word counts as recorded by its beginning: endings differ, in Turkish above all.
    stems = {word[:_STEM] for word in _words("\n".join(noted))}
    visitors = {word for word in _words("\n".join(spoken)) if word[:_STEM] not in stems and word not in _COMMON}
    words = dict.fromkeys(word for sentence in claims for word in _words(sentence))
    return [word for word in words if word in visitors][:MOST_WORDS]


def _words(text: str) -> list[str]:
    """Return the longer words of a text, and all numbers."""
    return [word for word in _WORD.findall(comparable(text)) if len(word) >= _SHORTEST or word.isdecimal()]
