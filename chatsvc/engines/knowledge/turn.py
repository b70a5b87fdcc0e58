"""The turn of a dialogue that is being answered: the analysed message, the state, and answers to questions.

Answers come from the bot's settings or from its knowledge. The knowledge gives one fact, or choices to pick from.
"""

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter

from chatsvc.domain import folding, times
from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Entry
from chatsvc.engines import Evidence, Fact, Hit, SearchResult, Turn, site_of
from chatsvc.engines.knowledge import acts, business, forms, state
from chatsvc.engines.knowledge.acts import SMALL_TALK, SURE, Act
from chatsvc.engines.knowledge.forms import Field, RequestForm
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.index import ANSWER
from chatsvc.engines.knowledge.search.tokens import stem
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language import catalogue, language_detection
from chatsvc.language.catalogue import GREETING
from chatsvc.language.folding import fold, words
from chatsvc.language.names import asks
from chatsvc.language.values import Values
from chatsvc.language.wordlists import LanguageWords

NO_DOUBT = 0.9  # probability of a refusal that stands before something else
FEW_WORDS = 3  # of a message that may lean on what was said before
_PLAINLY = 0.6  # probability of a question beside a wish that has no question mark
_SURE_COMPLAINT = 0.95  # probability of a complaint that has the form of a question
_SURE_BOOKING, SURE_QUESTION = 0.85, 0.95  # probability of a wish to come that names neither a booking nor a day
_YES_NO = LanguageWords("business.txt").any_of("yes_no", r"^(?:{})")
_WISHES = ("book", "call", "person", "complain", "cancel", "move", "status", "keep")
_NAME_WORDS = 6  # of a message that is a name and no more
_MOST_EARLIER, _LONGEST_EARLIER = 3, 500
_TALK = {
    "identity": "smalltalk.identity",
    "insult": "insult",
    "bye": "smalltalk.goodbye",
    "stop": "offer.declined",
    "thank": "smalltalk.thanks",
    "greet": GREETING,
    "yes": "smalltalk.noted",
    "no": "offer.declined",
    "skip": "offer.declined",
}
"""Acts of small talk in their order of precedence, each with the key of the sentence that answers it."""
_MOST_ASKED, _MOST_CHOICES, _MOST_LEARNED = 2, 3, 8
_MOST_TOLD = 1_200  # characters of a section told whole
BESIDE, _ALONE = 0.5, 0.65  # confidence of an answer beside a form, and of one without a rival (of which foreign questions have many)
_HOURS = "?hours"  # in the place of the last question
_AGAIN = 0.4  # confidence of what was offered before, and is asked for again in other words


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
        self._act_names = set(map(attrgetter("name"), self.acts))
        self.questions = [act for act in self.acts if act.name == "ask"]  # or what may be one: a sentence counts as a question in doubt
        self.plain_questions = [act for act in self.questions if "?" in act.text or act.probability >= _PLAINLY]
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
                    if rest.name == "ask" and rest.probability >= _PLAINLY:
                        return [first, rest]
                    return [first._replace(text=sentence) if first.name == "stop" and whole.name not in _WISHES else whole]
        is_question = whole.name == "complain" and whole.probability < _SURE_COMPLAINT and _YES_NO.search(fold(sentence))
        is_pressing = whole.name in SMALL_TALK and business.is_urgent(sentence)
        return [whole._replace(name="ask" if is_question else "tell" if is_pressing else whole.name)]

    def does(self, *names: str) -> bool:
        return not self._act_names.isdisjoint(names)

    def only(self, *names: str) -> bool:
        return bool(self.acts) and self._act_names.issubset(names)

    @cached_property
    def wish(self) -> str:
        """Return the name of the act that the visitor wants done, such as "book". Return "" if the message wants none."""
        wishes = [act for act in self.acts if act.name in _WISHES]
        name = max(wishes, key=lambda act: (act.name != "book", act.probability)).name if wishes else ""
        may_move = name in ("", "book") and not self.plain_questions and sum(word.isdigit() for word in self.words) > 1
        return "move" if may_move and self.values.moves else name

    @property
    def is_sure_booking(self) -> bool:
        is_named = forms.BOOKINGS.has_any(self.words) or self.has_moment or self.is_reachable
        least = SURE_QUESTION if asks(self.text) else _SURE_BOOKING
        return is_named or any(act.name == "book" and act.probability >= least for act in self.acts)

    def asked_in(self, text: str, least: int = FEW_WORDS) -> list[Act]:
        """Return the acts of the sentences that are surely questions. Sentences of fewer than `least` words are left out."""
        sentences = [acts.classify(sentence, self.language) for sentence in acts.sentences_of(text) if len(words(sentence)) >= least]
        return [act for act in sentences if act.name == "ask" and act.probability >= _PLAINLY]

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
        """Return a new draft of a request of this kind. It has the visitor's known contact data and their earlier messages about it."""
        draft = RequestDraft(kind, dict(self.state.contact))
        for text in self.state.earlier:
            draft.quote(text)
        return draft

    def offer(self, draft: RequestDraft, key: str = "offer") -> str:
        """Offer to fill in the form of a draft. Return the offer (the sentence with this key), or "" if nothing may be recorded."""
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
        """Store messages of the visitor for a form that may be opened later."""
        self.state.earlier = [*self.state.earlier, *(text[:_LONGEST_EARLIER] for text in texts)][-_MOST_EARLIER:]

    def keep_untold(self) -> None:
        """Store the message for a form that may be opened later, if it has more than questions and small talk."""
        if any("?" not in act.text and act not in self.plain_questions and act.name not in SMALL_TALK for act in self.acts):
            self.keep_earlier([self.text])

    def keep_contact(self, contact: dict[str, str]) -> None:
        self.state.contact |= {key: contact[key] for key in ("name", "phone", "email") if key in contact}

    def line(self, key: str, **values: str) -> str:
        """Return the bot's sentence with this key, or its other wording if one of the last replies used it."""
        line = self.say.varied(key, again=key in self.state.lines, **values)
        self.state.lines = [known for known in self.state.lines if known != key]
        self.state.add_line(key)
        return line

    def small_talk(self) -> str:
        act = next((name for name in _TALK if self.does(name)), "yes")
        if act == "greet":
            return self.greeting()
        if act == "insult":
            self.offer(RequestDraft("contact"))
        line = self.line(_TALK[act], name=self.bot.name)
        return f"{line} {self.say('unknown.person')}" if act == "identity" and self.bot.hand_off else line

    def greeting(self) -> str:
        """Return the full greeting the first time, and a shorter one later. The widget shows the full one by itself."""
        first = catalogue.own_greeting(self.bot, self.language) or self.say(GREETING, name=self.bot.name)
        is_first = GREETING not in self.state.lines and self.turn.channel != "web"
        is_first = is_first and first not in [past.content for past in self.turn.history[:1]]
        self.line(GREETING)
        return first if is_first else self.say.varied(GREETING, again=True)

    def business_answer(self, text: str) -> str | None:
        """Answer a question about the business itself from the settings, or else the knowledge. Return None if neither answers it."""
        kinds, knowledge, lines = business.kinds_of(text, self.bot.name), self.turn.knowledge, list[str]()
        for kind in kinds:
            if kind == "hours":
                lines.append(business.hours_answer(self.bot, self.say, text, self.now, knowledge))
            elif value := site_of(knowledge) if kind == "site" else getattr(self.bot, kind):
                lines.append(self.say(f"business.{kind}", **{kind: value}))
            else:
                lines.append(business.stated(knowledge).get(kind, ("",))[0])
        answer = "\n".join(dict.fromkeys(filter(None, lines)))
        if answer:
            self.state.last_answer, self.evidence = "", Evidence((), "answer", 1.0)
            self.state.last_question = _HOURS if "hours" in kinds else ""
        return answer or None

    def hours_again(self) -> str | None:
        """Answer a follow-up such as "and on Sunday?" after a question for the opening hours. Return None for other messages."""
        is_asked = self.state.last_question == _HOURS and self.values.date and not self.values.time and not _naming(self.text)
        answer = business.hours_answer(self.bot, self.say, self.text, self.now, self.turn.knowledge) if is_asked else ""
        self.evidence = Evidence((), "answer", 1.0) if answer else self.evidence
        return answer or None

    def each_answer(self, known: Sequence[Act]) -> str | None:
        """Answer the questions of a message one by one. Return None if none of them has a sure answer."""
        asked = [question for act in self.plain_questions for question in self._questions_in(act)][:_MOST_ASKED]
        if not asked or asked == [self.text]:
            return self.about_business(self.text)
        whole, answers, left = self._find(" ".join(act.text for act in known)), list[str](), list[SearchResult]()
        for text in asked:
            if answer := self.about_business(text):
                answers.append(answer)
            elif (result := self._find(text)).decision == "answer" or (len(asked) > 1 and self._is_alone(result)):
                if len(asked) > 1 or whole.decision == "ask":
                    answers.append(self._told(result))
                    self.evidence = Evidence.of(result.hits, "answer", result.confidence)
            elif result.decision == "ask" and len(result.facts) > 1:
                left.append(result)
        is_half = len(answers) < len(asked) and whole.decision == ("answer" if left else "ask")  # the whole says more
        if not answers or is_half:
            return None
        for result in left[:1]:  # what the other question may be about
            answers.append(self._ask_back(self.text, [fact.title for fact in result.facts][:_MOST_CHOICES]))
        self.keep_untold()
        return "\n\n".join(dict.fromkeys(answers))

    def about_business(self, text: str) -> str | None:
        """Answer a question about the business. If that fails, answer a clause of the question that explicitly names such a fact."""
        strong = [clause for clause in business.clauses(text) if clause != text and business.names_fact(clause)]
        return next(filter(None, map(self.business_answer, [text, *(strong if strong and not self.is_reachable else ())])), None)

    def _questions_in(self, act: Act) -> list[str]:
        """Return the questions in a sentence: its clauses if several of them are questions, or else the whole sentence."""
        parts, open_part, clauses = list[str](), "", business.clauses(act.text)
        for clause in clauses if len(clauses) > 1 else ():
            open_part = f"{open_part} {clause}".strip()
            if self.asked_in(open_part, least=2):
                parts.append(open_part)
                open_part = ""
        if open_part and parts:
            parts[-1] = f"{parts[-1]} {open_part}"
        return parts if len(parts) > 1 else [act.text]

    def _is_alone(self, result: SearchResult) -> bool:
        """Return whether exactly one fact is likely. It is the reply then, since a choice with one button would be useless."""
        return len(result.facts) == 1 and result.confidence >= _ALONE

    def answer_beside(self, asked: Sequence[Act]) -> str | None:
        """Return sure or likely answers to questions while a form is open, or None if there are none. The form stays open."""
        answers: list[str] = []
        for text in (question for act in asked for question in self._questions_in(act)):
            if answer := self.business_answer(text):
                answers.append(answer)
                continue
            result = self._find(text)
            if result.hits and (result.decision == "answer" or (result.decision == "ask" and result.confidence >= BESIDE)):
                answers.append(self._told(result))
        return "\n\n".join(dict.fromkeys(answers)) or None

    def search(self, text: str) -> str | None:
        """Answer from the knowledge with one fact or with choices. Return None if no fact is likely."""
        result = self._find(text)
        self.evidence = Evidence.of(result.hits, result.decision, result.confidence)
        titles = [fact.title for fact in result.facts][:_MOST_CHOICES]  # of which a visitor may choose
        is_repeated = result.confidence >= _AGAIN and bool(titles) and titles[0] in self.offered  # in other words, rather than chosen
        if result.decision == "answer" or is_repeated:
            return self._answered(text, result, titles)
        if result.decision != "ask" or self.bot.ask_back is False or not titles:
            return None
        if (learned := self.state.learned.get(" ".join(words(text)))) in titles:
            return self._tell_choice(text, str(learned))
        if self.values.date and self.turn.may_capture:
            if self.values.time:
                return None
            if not _naming(text):  # "can you do Saturday?"
                return self.offer(self.draft("appointment"), "offer.appointment")
        is_short = len(words(text)) <= FEW_WORDS and result.confidence >= _AGAIN
        if not (is_short or "?" in text or any(act.probability >= SURE for act in self.questions) or self.wish == "book"):
            return None
        return self._answered(text, result, titles) if self._is_alone(result) else self._ask_back(text, titles)

    def _answered(self, text: str, result: SearchResult, titles: Sequence[str]) -> str:
        """Return the fact of the first hit, or its whole section if `text` names it. If this repeats the last answer, offer a form."""
        entry, asked = result.hits[0].entry, " ".join(words(text))
        is_named = not entry.alt and _naming(text) == _naming(entry.question)
        if is_named and len(entry.answer) <= _MOST_TOLD and len(facts.parts_of(entry)) > 1:
            answer = self._framed(facts.whole(entry).text, entry)
        else:
            answer = self._told(result)
        self.missed = self.missed or ("" if result.confidence >= ANSWER else text)
        evidence = self.evidence = Evidence.of(result.hits, "answer", result.confidence)
        is_same_question, self.state.last_question = asked == self.state.last_question, asked
        if answer == self.state.last_answer and is_same_question:
            return f"{answer}\n\n{self.offer(self.draft('contact'), 'offer.again')}"
        is_own_question = words(text) in [words(phrasing) for phrasing in (entry.question, *entry.alt)]
        if answer == self.state.last_answer and not is_own_question:
            if len(titles) > 1 and self.bot.ask_back is not False:  # what else may be meant
                self.evidence = Evidence(evidence.entries, "ask", result.confidence)
                return self._ask_back(self.text, titles[1:])
            self.evidence = None
            return self.offer(self.draft("contact"), "offer.again")
        self.state.last_answer = answer
        self.keep_untold()
        return answer

    def _ask_back(self, text: str, titles: Sequence[str]) -> str:
        self.state.pending, self.state.choices, self.state.question = "choices", list(titles), text
        self.choices = tuple(titles)
        self.keep_untold()
        listed = "\n".join(f"- {title}" for title in titles)
        return f"{self.say('back.several' if len(titles) > 1 else 'back.one')}\n{listed}"

    def chosen(self) -> str | None:
        """Answer with the choice that the message picks from the offered ones. Return None if the message is about something else."""
        choices, question = self.state.choices, self.state.question
        title = next((choice for choice in choices if choice.casefold() == self.text.casefold()), None)
        if title is None and len(choices) == 1 and self.does("yes"):
            title = choices[0]
        is_wish = bool(self.wish) and len(self.words) > FEW_WORDS
        if title is None and not (is_wish or (self.questions and "?" in self.text)):
            title = forms.chosen(choices, self.text)
        if title is not None:
            return self._tell_choice(question, title)
        if forms.is_none(self.text) or self.only("no"):
            self.state.settle()
            return self.say("back.none") if self.only("no") or len(self.words) <= FEW_WORDS else None
        return None

    def _tell_choice(self, question: str, title: str) -> str | None:
        """Return the fact that the visitor chose by this title, and store the choice. Return None if the knowledge has lost the fact."""
        result = self.turn.knowledge.search(question, self.language, limit=10, subject=self.state.subject or None)
        fact = next((fact for fact in result.facts if fact.title == title), None)
        if fact is None:
            result = self.turn.knowledge.search(title, self.language, limit=10)
            fact = next((fact for fact in result.facts if fact.title == title), _fact(result.hits[0]) if result.hits else None)
        self.state.settle()
        if fact is None:
            return None
        learned = {**self.state.learned, " ".join(words(question)): title}
        self.state.learned = dict(list(learned.items())[-_MOST_LEARNED:])
        self.state.subject, self.state.last_answer = fact.subject, fact.text
        confidence = round(result.confidence, 4)
        self.evidence = Evidence(((fact.entry.id, confidence),), "answer", confidence)
        return self._framed(fact.text, fact.entry)

    def _find(self, text: str) -> SearchResult:
        """Search the knowledge. The search for a question of few content words also uses the last subject."""
        named = sum(word not in business.LIGHT for word in words(text))
        asked = text, self.state.subject if named < FEW_WORDS else None
        if asked not in self.results:
            self.results[asked] = self.turn.knowledge.search(text, self.language, subject=asked[1])
        return self.results[asked]

    def _told(self, result: SearchResult) -> str:
        fact = _fact(result.hits[0])
        self.state.subject = fact.subject
        return self._framed(fact.text, fact.entry)

    def _framed(self, text: str, entry: Entry) -> str:
        tongue = entry.language.partition("-")[0]
        if tongue == self.language or "facts.language" in self.state.lines or tongue not in catalogue.languages():
            return text
        self.state.add_line("facts.language")
        return f"{self.say('facts.language', name=self.say(f'language.{tongue}'))}\n{text}"


def _fact(hit: Hit) -> Fact:
    return hit.fact or Fact(hit.entry, hit.entry.question, hit.entry.answer)


def _naming(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in business.LIGHT}
