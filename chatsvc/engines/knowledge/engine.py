"""One turn answered from the bot's knowledge: small talk, a request taken down, the answer, a question back, or honestly nothing."""

from __future__ import annotations

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import EngineError, Finding, Hit, Reply, Turn
from chatsvc.engines.knowledge import features, flow, smalltalk
from chatsvc.engines.knowledge.stopwords import STOPWORDS
from chatsvc.engines.knowledge.text import words

_ASKED_BACK = 3  # questions in one "did you mean"
_WORTH = 0.5  # of the first one's score: a question that is less likely than that is not worth the visitor's eyes
_FOLLOW_UP_WORDS = 4  # a message of at most so many words may lean on the one before
_A_HINT = 0.1  # confidence below which such a message points nowhere by itself
_NO_API_ASKING = "api"  # its callers get an error they can act on instead (SPEC.md 1.8)

_DID_YOU_MEAN = {
    "tr": ("Şunu mu demek istediniz?", "Bunlardan birini mi demek istediniz?"),
    "en": ("Did you mean this?", "Did you mean one of these?"),
}


class KnowledgeEngine:
    """Fulfils `engines.Engine`; no I/O, a few milliseconds a turn."""

    async def start(self) -> None:
        """Nothing to load."""

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn; raises EngineError("no_answer") where the knowledge has nothing that fits."""
        draft = flow.opened(turn)
        if draft is not None:
            return flow.proceed(turn, draft)
        small = smalltalk.answer(turn.bot, turn.message, turn.language)
        if small is not None:
            return Reply(small)
        wish = flow.wish_of(turn)
        if wish is not None and wish.clear:
            return flow.begin(turn, wish)
        finding = self._find(turn)
        if finding.decision == "answer":
            return Reply(finding.hits[0].entry.answer)
        if wish is not None:
            return flow.begin(turn, wish)
        if finding.decision == "ask" and _may_ask(turn):
            return Reply(_ask_back(finding, turn.bot.language))
        raise EngineError("no_answer", f"decision {finding.decision}, confidence {finding.confidence:.2f}")

    async def close(self) -> None:
        """Nothing to let go of."""

    def _find(self, turn: Turn) -> Finding:
        """Search for the message; where it says too little by itself, together with the question before it."""
        finding = turn.knowledge.search(turn.message, turn.language)
        if finding.decision == "answer" or finding.confidence < _A_HINT or len(words(turn.message)) > _FOLLOW_UP_WORDS:
            return finding
        before = next((message.content for message in reversed(turn.history) if message.role == "user"), None)
        if before is None or smalltalk.kind(words(before)) is not None:
            return finding
        together = turn.knowledge.search(f"{before} {turn.message}", turn.language)
        # the new words must point there too: an answer that only the question before asked for is no answer to this one
        if together.decision == "answer" and _same_first(together, finding) and _speaks_of(turn.message, together.hits[0].entry):
            return together
        return finding


def _speaks_of(message: str, entry: Entry) -> bool:
    """Whether the entry knows one of the message's own words: "and bananas?" behind a question about opening hours asks for bananas."""
    held = features.of(words("\n".join((entry.question, *entry.alt, entry.answer))))
    own = (word for word in words(message) if word not in STOPWORDS)
    return any(feature in held for word in own for feature, _ in (*features.of_word(word), *features.concepts_of(word)))


def _same_first(one: Finding, other: Finding) -> bool:
    return bool(one.hits and other.hits) and one.hits[0].entry.id == other.hits[0].entry.id


def _may_ask(turn: Turn) -> bool:
    return turn.channel != _NO_API_ASKING if turn.bot.ask_back is None else turn.bot.ask_back


def _ask_back(finding: Finding, fallback: str) -> str:
    """The question back, in the visitor's language, else the bot's, else English."""
    spoken = next((tag for tag in (finding.language, primary(fallback)) if tag in _DID_YOU_MEAN), "en")
    one, several = _DID_YOU_MEAN[spoken]
    likely = _likely(finding)
    if len(likely) == 1:
        return f"{one}\n\n- {likely[0].entry.question}"
    return "\n".join([several, "", *(f"- {hit.entry.question}" for hit in likely)])


def _likely(finding: Finding) -> list[Hit]:
    """The hits worth showing: those in the language of the first one, near it in score."""
    first = finding.hits[0]
    near = [hit for hit in finding.hits if hit.score >= _WORTH * first.score]
    return [hit for hit in near if primary(hit.entry.language) == primary(first.entry.language)][:_ASKED_BACK]
