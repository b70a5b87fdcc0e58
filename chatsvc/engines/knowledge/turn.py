"""The turn of a dialogue that is being answered: the analysed message, the state, and the parts of the reply."""

from collections.abc import Sequence
from functools import cached_property

from chatsvc.domain import folding, times
from chatsvc.domain.captures import Captured
from chatsvc.engines import Evidence, SearchResult, Turn
from chatsvc.engines.knowledge import acts, forms, state
from chatsvc.engines.knowledge.acts import SMALL_TALK, Act
from chatsvc.engines.knowledge.business import is_urgent
from chatsvc.engines.knowledge.forms import Field, RequestForm
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language import catalogue, language_detection
from chatsvc.language.folding import fold, words
from chatsvc.language.names import asks
from chatsvc.language.values import Values
from chatsvc.language.wordlists import LanguageWords

NO_DOUBT = 0.9  # probability of a refusal that stands before something else
FEW_WORDS = 3  # of a message that may lean on what was said before
PLAINLY = 0.6  # probability of a question beside a wish that has no question mark
_SURE_COMPLAINT = 0.95  # probability of a complaint that has the form of a question
_SURE_BOOKING, SURE_QUESTION = 0.85, 0.95  # probability of a wish to come that names neither a booking nor a day
_YES_NO = LanguageWords("business.txt").any_of("yes_no", r"^(?:{})")
WISHES = ("book", "call", "person", "complain", "cancel", "move", "status", "keep")
_NAME_WORDS = 6  # of a message that is a name and no more
_MOST_EARLIER, _LONGEST_EARLIER = 3, 500


class DialogueTurn:
    """The message with its acts and values, the state that the turn changes, and the parts of its reply."""

    def __init__(self, turn: Turn) -> None:
        self.turn, self.bot = turn, turn.bot
        self.text = turn.message.strip()
        self.words = words(self.text)
        self.now = times.local(turn.now_ms, turn.bot.timezone)
        self.state, self.is_stale = state.load(turn.dialogue, turn.now_ms)
        self.offered = tuple(self.state.choices)  # by the bot's last message
        # A few words, which may be a name, do not change the language of the conversation.
        if turn.language or not self.state.language or len(self.words) >= FEW_WORDS:
            detected = language_detection.spoken(turn.message, turn.history)
            self.state.language = folding.among(catalogue.languages(), turn.language, detected, turn.bot.language)
        self.language = self.state.language
        self.say = catalogue.of_bot(turn.bot, self.language)
        self.acts = [act for sentence in acts.sentences_of(self.text) for act in self._acts_of(sentence)]
        self._act_names = {act.name for act in self.acts}
        self.questions = [act for act in self.acts if act.name == "ask"]  # or what may be one: a sentence counts as a question in doubt
        self.plain_questions = [act for act in self.questions if "?" in act.text or act.probability >= PLAINLY]
        replies = [index for index, message in enumerate(turn.history) if message.role != "user"]
        self.keep_earlier([message.content for message in turn.history[replies[-1] + 1 if replies else 0 :]])  # they got no reply
        self.choices: tuple[str, ...] = ()
        self.captured: Captured | None = None
        self.evidence: Evidence | None = None
        self.is_unknown = False
        self.missed = ""
        self.results: dict[tuple[str, str | None], SearchResult] = {}

    def _acts_of(self, sentence: str) -> list[Act]:
        """Return the act of a sentence, or two acts if it begins with a refusal: "no I just want to know how ..."."""
        parts, whole = sentence.split(), acts.classify(sentence, self.language)
        for length in (3, 2, 1) if forms.REFUSES.has_any(words(parts[0])) else ():
            if len(parts) >= length + FEW_WORDS:
                first = acts.classify(" ".join(parts[:length]), self.language)
                if first.name in acts.REFUSALS and first.probability >= NO_DOUBT:
                    rest = acts.classify(" ".join(parts[length:]), self.language)
                    if rest.name == "ask" and rest.probability >= PLAINLY:
                        return [first, rest]
                    return [first._replace(text=sentence) if first.name == "stop" and whole.name not in WISHES else whole]
        is_question = whole.name == "complain" and whole.probability < _SURE_COMPLAINT and _YES_NO.search(fold(sentence))
        is_pressing = whole.name in SMALL_TALK and is_urgent(sentence)
        return [whole._replace(name="ask" if is_question else "tell" if is_pressing else whole.name)]

    def does(self, *names: str) -> bool:
        return not self._act_names.isdisjoint(names)

    def only(self, *names: str) -> bool:
        return bool(self.acts) and self._act_names.issubset(names)

    @cached_property
    def wish(self) -> str:
        """Return the name of the act that is the wish in the message, or "" if there is none."""
        wishes = [act for act in self.acts if act.name in WISHES]
        name = max(wishes, key=lambda act: (act.name != "book", act.probability)).name if wishes else ""
        may_move = name in ("", "book") and not self.plain_questions and sum(word.isdigit() for word in self.words) > 1
        return "move" if may_move and self.values.moves else name

    @property
    def is_sure_booking(self) -> bool:
        is_named = forms.BOOKINGS.has_any(self.words) or self.has_moment or self.is_reachable
        least = SURE_QUESTION if asks(self.text) else _SURE_BOOKING
        return is_named or any(act.name == "book" and act.probability >= least for act in self.acts)

    def asked_in(self, text: str, least: int = FEW_WORDS) -> list[Act]:
        """Return the acts of sure questions in a part of the message. They have at least `least` words."""
        sentences = [acts.classify(sentence, self.language) for sentence in acts.sentences_of(text) if len(words(sentence)) >= least]
        return [act for act in sentences if act.name == "ask" and act.probability >= PLAINLY]

    @property
    def says_yes(self) -> bool:
        return forms.AGREES.has_any(self.words[:1])

    @property
    def names_part_of_day(self) -> bool:
        return forms.PARTS.has_any(self.words)

    @cached_property
    def values(self) -> Values:
        """Return the values of the message (day, time, name, contact data), read independently of any form."""
        return self.form(RequestDraft("appointment")).read(self.text, None)

    @property
    def is_reachable(self) -> bool:
        return bool(self.values.phone or self.values.email)

    @property
    def has_moment(self) -> bool:
        return bool(self.values.date or self.values.time)

    @cached_property
    def bare_name(self) -> str | None:
        if "?" in self.text or self.does(*SMALL_TALK):
            return None
        if name := forms.name_before_comma(self.text):
            return name
        if len(self.text.split()) > _NAME_WORDS:
            return None
        read = self.form(RequestDraft("contact")).read(self.text, Field("name", "name"))
        return read.name.value if read.name and not read.rest and (read.name.explicit or self.text.istitle()) else None

    @property
    def possible_name(self) -> str | None:
        """Return the message if it may be a name: a few words that consist of letters. Return None otherwise."""
        parts = self.text.strip(" .!,").split()
        is_name = 0 < len(parts) <= FEW_WORDS and all(part.replace("-", "").isalpha() for part in parts) and not self.does(*SMALL_TALK)
        return " ".join(parts) if is_name else None

    def form(self, draft: RequestDraft) -> RequestForm:
        return RequestForm(draft, self.bot, self.say, self.now)

    def draft(self, kind: str) -> RequestDraft:
        """Return a new draft with the visitor's known contact data and the earlier messages that belong to the wish."""
        draft = RequestDraft(kind, dict(self.state.contact))
        for text in self.state.earlier:
            draft.quote(text)
        return draft

    def offer(self, draft: RequestDraft, key: str = "offer") -> str:
        """Offer to fill in the form of a draft. Return the sentence with this key, or "" if nothing may be recorded."""
        if not self.turn.may_capture:
            return ""
        draft.quote(self.text)
        self.state.draft, self.state.pending = draft, "offer"
        self.choices = self.say.yes_no
        return self.say(key)

    def offer_appointment(self) -> str:
        draft = self.draft("appointment")
        _, remarks = self.form(draft).take(self.text, None, self.values)
        return " ".join([*remarks, self.offer(draft, "offer.appointment")])

    def keep_earlier(self, texts: Sequence[str]) -> None:
        """Store messages for the draft of a wish that may follow."""
        self.state.earlier = [*self.state.earlier, *(text[:_LONGEST_EARLIER] for text in texts)][-_MOST_EARLIER:]

    def keep_untold(self) -> None:
        """Store the message for a wish that may follow, if it has more than questions and small talk."""
        if any("?" not in act.text and act not in self.plain_questions and act.name not in SMALL_TALK for act in self.acts):
            self.keep_earlier([self.text])

    def keep_contact(self, contact: dict[str, str]) -> None:
        self.state.contact |= {key: contact[key] for key in ("name", "phone", "email") if key in contact}

    def line(self, key: str, **values: str) -> str:
        """Return the sentence with this key, or its other wording if it has been used before."""
        line = self.say.varied(key, again=key in self.state.lines, **values)
        self.state.lines = [known for known in self.state.lines if known != key]
        self.state.add_line(key)
        return line
