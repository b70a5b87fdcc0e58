"""One turn of a conversation: what the visitor's message does, and what the bot says to it."""

import re
from collections.abc import Sequence
from datetime import date, time
from typing import Any

from chatsvc.domain import times
from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.domain.models import Entry
from chatsvc.engines import EngineError, Evidence, Fact, Hit, Reply, SearchResult, Turn, language
from chatsvc.engines.knowledge import acts, business, forms, say, state
from chatsvc.engines.knowledge.acts import Act
from chatsvc.engines.knowledge.forms import Field, RequestForm
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.index import ANSWER
from chatsvc.engines.knowledge.search.tokens import stem
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language import catalogue
from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess
from chatsvc.language.values import Values

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_MOST_SENTENCES, _MOST_CHOICES, _MOST_EARLIER, _MOST_LEARNED = 8, 3, 3, 8
_MOST_TOLD = 1_200  # characters of a section told whole
_NAME_WORDS = 6  # of a message that is a name and no more
_FEW_WORDS = 3  # words of a message that may lean on the last subject alone
_PLAINLY = 0.6  # probability of a question beside a wish that has no question mark
_MOST_ASKED, _MOST_ASIDES = 2, 2  # questions of a message that are answered; in a row beside a form until it waits
_BESIDE = 0.5  # confidence of an answer beside a form
_AGAIN = 0.4  # confidence of what was offered before, and is asked for again in other words
_NEAR = 0.2  # confidence below which a message has nothing to do with the knowledge
SMALL_TALK = ("greet", "thank", "bye", "identity", "insult", "yes", "no", "skip", "stop")
_LEAVES = ("stop", "cancel", "thank", "bye")
_WISHES = ("book", "call", "person", "complain", "cancel", "move", "status", "keep")
_OPEN_STATUSES = ("pending", "confirmed", "new", "in_progress")
_KINDS = {"book": "appointment", "call": "contact", "person": "contact", "complain": "support"}
_OPENINGS = {"person": "open.person", "complain": "open.support"}


def reply(turn: Turn) -> Reply:
    """Answer one turn; raises EngineError("no_answer") where the bot does not know and the interface asks."""
    return Dialogue(turn).reply()


def nobody_came(turn: Turn) -> Reply:
    """Open the form of a note where a person was asked for and nobody came."""
    dialogue = Dialogue(turn)
    text = dialogue.begin("contact", "open.nobody") if turn.may_capture else dialogue.say("person.later")
    return dialogue.finished(text)


class Dialogue:
    """The turn being answered, with the state that it changes."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.text = turn.message.strip()
        self.now = times.local(turn.now_ms, turn.bot.timezone)
        self.state, self.is_stale = state.load(turn.dialogue, turn.now_ms)
        self.language = self._spoken()
        self.say = say.of(turn.bot, self.language)
        self.acts = [acts.classify(part, self.language) for part in sentences_of(self.text)]
        self.choices: tuple[str, ...] = ()
        self.captured: Captured | None = None
        self.evidence: Evidence | None = None
        self.is_unknown = False
        self.missed = ""
        self.offered = list(self.state.choices)  # by the bot's last message
        self._read: Values | None = None

    def _spoken(self) -> str:
        """Return the language to answer in. A few words, which may be a name, do not change that of the conversation."""
        shown = language.among(self.turn, catalogue.languages())
        if not self.turn.language and self.state.language and len(words(self.text)) < _FEW_WORDS:
            shown = self.state.language
        self.state.language = shown
        return shown

    # What was said

    def does(self, *names: str) -> bool:
        """Return whether a sentence of the message does one of these."""
        return any(act.name in names for act in self.acts)

    def only(self, *names: str) -> bool:
        """Return whether all sentences do one of these."""
        return bool(self.acts) and all(act.name in names for act in self.acts)

    def questions(self) -> list[Act]:
        return [act for act in self.acts if act.name == "ask"]

    def bare_name(self) -> str | None:
        """Return the name that is all of a message."""
        if "?" in self.text or self.does(*SMALL_TALK):
            return None
        if name := forms.name_before_comma(self.text):
            return name
        if len(self.text.split()) > _NAME_WORDS:
            return None
        read = RequestForm(RequestDraft("contact"), self.turn.bot, self.say, self.now).read(self.text, Field("name", "name"))
        named = read.name is not None and not read.rest and (read.name.explicit or self.text.istitle())
        return read.name.value if named and read.name else None

    def says_yes(self) -> bool:
        """Return whether the message begins with a yes."""
        return any(word in forms.AGREES for word in words(self.text)[:1])

    def says_no(self) -> bool:
        """Return whether the message begins with a no."""
        return any(word in forms.DECLINES for word in words(self.text)[:1])

    def _plain_questions(self) -> list[Act]:
        """Return the questions that are not only taken for one in doubt."""
        return [act for act in self.questions() if "?" in act.text or act.probability >= _PLAINLY]

    def values(self) -> Values:
        """Return the values of the message, as they are without a form."""
        if self._read is None:
            self._read = RequestForm(RequestDraft("appointment"), self.turn.bot, self.say, self.now).read(self.text, None)
        return self._read

    # The turn

    def reply(self) -> Reply:
        """Answer the turn."""
        pending = self.state.pending
        if self.is_stale and pending in ("form", "confirm", "change"):
            return self.finished(self._resume())
        handler = {"form": self._in_form, "confirm": self._confirmed, "change": self._in_form, "offer": self._offered}.get(pending)
        if pending == "resume":
            handler = self._offered
        elif pending == "choices":
            handler = self._chosen
        elif pending in ("cancel", "move"):
            handler = self._change_answered
        elif pending == "name":
            handler = self._named_after
        question = self.state.question
        text = handler() if handler else None
        if pending == "choices" and (text is None or self.evidence is None):  # none of the choices was taken
            self.missed = question
        return self.finished(self._idle() if text is None else text)

    def finished(self, text: str) -> Reply:
        """Return the reply with the state that it leaves."""
        if self.evidence is None or self.evidence.decision != "answer":
            self.state.last_answer = text if self.captured is None else ""
        dialogue = state.dump(self.state, self.turn.now_ms)
        if self.is_unknown and self._must_refuse():
            raise EngineError("no_answer", "decision abstain", fallback=text, dialogue=dialogue, choices=self.choices)
        return Reply(text, captured=self.captured, dialogue=dialogue, evidence=self.evidence, choices=self.choices, missed=self.missed)

    def _must_refuse(self) -> bool:
        """Return whether a turn without an answer is a fallback: always on a channel, on the interface where nothing is near."""
        if self.turn.channel != "api":
            return True
        near = self.evidence is not None and (self.evidence.confidence or 0.0) >= _NEAR
        return not near or self.turn.bot.ask_back is False or not self.turn.may_capture

    def _resume(self) -> str:
        """Ask whether to go on with a form of hours ago, beside what is said to the message."""
        draft = self.state.draft
        self.state.settle()
        if self.only("greet"):
            lead = self._greeting()
        else:
            lead = self._idle()
            if self.state.pending or self.captured or self.is_unknown:
                return lead
        about = " / ".join(draft.quotes)[:80] if draft and draft.quotes else self.say(f"kind.{draft.kind if draft else 'other'}")
        self.state.draft, self.state.pending = draft, "resume"
        self.choices = self.say.yes_no
        return f"{lead}\n\n{self.say('resume', about=about)}"

    def _idle(self) -> str:
        """Answer a message that no form and no offer waits for."""
        self.state.settle()
        read, given = self.values(), self._wish()
        if given:
            return self._added_yes(given) or self._wished(given)
        if told := self._business(self.text):
            return told
        reachable = read.phone or read.email
        if reachable and not self._plain_questions():
            if changed := self._amended():
                return changed
            self._remember(read)
            return self.begin("appointment" if read.date and read.time else "contact", "open.volunteered")
        if "noted" in self.state.lines and self.only("tell", "give") and (read.date or read.time) and (record := self._current()):
            return self._added(record) if record.kind != "appointment" else self._moved(record)
        if (self.only(*SMALL_TALK) and not business.kinds_of(self.text, self.turn.bot.name)) or not words(self.text):
            return self._small_talk()
        if read.name and read.name.explicit and (changed := self._amended()):
            return changed
        if name := self.bare_name():
            self.state.contact["name"] = name
            return self._amended() or self.say("smalltalk.opening")
        if (read.date or read.time) and self.only("tell", "give", "yes", "bye") and self.turn.may_capture:
            draft = self._draft("appointment")
            RequestForm(draft, self.turn.bot, self.say, self.now).take(self.text, None, read)
            return self._offer(draft, "offer.appointment")
        return self._answer()

    def _named_after(self) -> str | None:
        """Take the name that was asked for after a note; None if the message is about something else."""
        self.state.settle()
        name = self.bare_name() or (_possible_name(self.text) if not self.does(*SMALL_TALK) and "?" not in self.text else None)
        if name is None and self.only("no", "skip"):
            return self.say("no.name")
        if name is None or (record := self._current()) is None:
            return None
        self.state.contact["name"] = name
        self._change(record, corrects=True, visitor_name=name)
        return self.say("change.done.contact", data=name)

    def _added_yes(self, wish: str) -> str | None:
        """Add to what was noted just now: "yes, but put it on Friday"."""
        record = self._current() if wish == "book" and "noted" in self.state.lines and self.says_yes() else None
        return self._added(record) if record and record.kind == "request" else None

    def _remember(self, read: Values) -> None:
        """Keep name and contact data for the records to come."""
        name = read.name.value if read.name else forms.leading_name(self.text, read)
        told = {"name": name, "phone": read.phone and read.phone.value, "email": read.email and read.email.value}
        self.state.contact |= {key: value for key, value in told.items() if value}

    def _earlier(self, *, whole: bool = False) -> None:
        """Keep what the message tells, or the whole of it, for a wish that may follow."""
        asks = {act.text for act in self.acts if "?" in act.text or (act.name == "ask" and act.probability >= _PLAINLY)}
        told = self.text if whole else " ".join(act.text for act in self.acts if act.text not in asks and act.name not in SMALL_TALK)
        if told:
            self.state.earlier = [*self.state.earlier, told[:500]][-_MOST_EARLIER:]

    # Small talk

    def _small_talk(self) -> str:
        act = next(
            (name for name in ("identity", "insult", "bye", "stop", "thank", "greet", "yes", "no", "skip") if self.does(name)), "yes"
        )
        if act == "greet":
            return self._greeting()
        if act == "insult":
            self._offer(RequestDraft("contact"))
        keys = {"identity": "smalltalk.identity", "insult": "insult", "bye": "smalltalk.goodbye", "thank": "smalltalk.thanks"}
        key = keys.get(act, "offer.declined" if act in ("no", "stop", "skip") else "smalltalk.noted")
        line = self._line(key, name=self.turn.bot.name)
        return f"{line} {self.say('unknown.person')}" if act == "identity" and self.turn.bot.hand_off else line

    def _greeting(self) -> str:
        """Return the greeting once: the widget shows it first, and a platform's visitor is greeted at the start."""
        first = say.own_greeting(self.turn.bot, self.language) or self.say(say.GREETING, name=self.turn.bot.name)
        shown = say.GREETING in self.state.lines or self.turn.channel == "web" or first in [past.content for past in self.turn.history[:1]]
        self._line(say.GREETING)
        return self.say.varied(say.GREETING, int(shown)) if shown else first

    def _line(self, key: str, **values: str) -> str:
        """Return a sentence, or its other wording where it has been said before."""
        line = self.say.varied(key, int(key in self.state.lines), **values)
        self.state.lines = [*[known for known in self.state.lines if known != key], key][-6:]
        return line

    # Wishes

    def _wish(self) -> str:
        """Return the act of a clear wish of the message, "" without one."""
        wishes = [act for act in self.acts if act.name in _WISHES]
        return max(wishes, key=lambda act: (_WISHES.index(act.name) > 0, act.probability)).name if wishes else ""

    def _wished(self, wish: str) -> str:
        """Begin what the visitor wishes. A question beside it is answered first, and the form is offered."""
        if wish in ("cancel", "move", "status", "keep"):
            return self._of_record(wish)
        if not self.turn.may_capture:
            return self.say("person.later")
        asked = self._plain_questions()
        kind = _KINDS[wish]
        if asked and wish in ("book", "complain") and not (self.values().phone or self.values().email):
            answer = self._business(" ".join(act.text for act in asked)) or self._search(" ".join(act.text for act in asked))
            if self.state.pending == "choices" and answer:
                return answer
            offer = self._offer(self._draft(kind), "offer.appointment" if kind == "appointment" else "offer")
            return f"{answer or self.say('unknown')}\n\n{offer}"
        if wish == "complain" and not (self.values().phone or self.values().email) and self.state.lines[-1:] != ["complain"]:
            self.state.lines = [*self.state.lines, "complain"][-6:]
            offer = self._offer(self._draft(kind), "offer.upset")
            self.choices = ()
            return offer
        return self.begin(kind, _OPENINGS.get(wish, f"open.{kind}"))

    def _draft(self, kind: str) -> RequestDraft:
        """Return the draft of a kind with what is known: contact data, and messages that belong to the wish."""
        draft = RequestDraft(kind, dict(self.state.contact))
        for text in self.state.earlier:
            draft.quote(text)
        return draft

    def begin(self, kind: str, opening: str, draft: RequestDraft | None = None) -> str:
        """Open a form with the values of the message, and ask for the first that is missing."""
        draft = draft or self._draft(kind)
        form = RequestForm(draft, self.turn.bot, self.say, self.now)
        read = form.read(self.text, None)
        given, remarks = form.take(self.text, None, read)
        if name := self.bare_name():
            draft.values["name"] = name
        elif _says_something(self.text, read, given, self.acts):
            draft.quote(self.text)
        if kind == "contact" and {"phone", "email"} & draft.values.keys() and "name" not in draft.values and draft.quotes:
            draft.skipped.append("name")  # it is noted at once, and the name asked for after it
        self.state.settle()
        self.state.draft, self.state.earlier = draft, []
        lead = [self.say(opening)]
        if kind != "appointment" and read.date and (closed := self._closed_day(read)):
            lead.append(closed)
        return self._next(form, [*lead, *remarks])

    def _closed_day(self, read: Values) -> str:
        """Return the hours of a day on which a call back is wanted although the business is closed."""
        day = read.date.value if read.date else self.now.date()
        told = business.hours_answer(self.turn.bot, self.say, self.text[read.date.start : read.date.end] if read.date else "", self.now)
        is_closed = not business.is_open_on(self.turn.bot, day)
        return told or "" if is_closed else ""

    # Offers

    def _offer(self, draft: RequestDraft, key: str = "offer") -> str:
        """Offer to take a note or a request."""
        if not self.turn.may_capture:
            return ""
        draft.quote(self.text)
        self.state.draft, self.state.pending = draft, "offer"
        self.choices = self.say.yes_no
        return self.say(key)

    def _offered(self) -> str | None:
        """Take the answer to an offer; None if the message is about something else."""
        draft = self.state.draft
        read = self.values()
        if draft is None:
            return None
        resumes = self.state.pending == "resume"
        if not resumes and draft.kind == "contact" and (read.name or read.phone or read.email) and (changed := self._amended()):
            return changed
        asks = any(act.probability >= acts.SURE for act in self.questions())
        declines = self.says_no() and not asks and not (read.phone or read.email)
        if declines or (self.does("no", "stop", "bye", "thank", "skip") and not asks and not self.does("yes", "book", "call", "person")):
            self.state.settle()
            self.state.earlier = []
            return self._small_talk() if self.does("bye", "thank") else self.say("offer.declined")
        wish = self._wish()
        gives = bool(
            (read.phone or read.email or read.name or self.bare_name()) and ("?" not in self.text or self.does("give", "call", "yes"))
        )
        is_when = bool(read.date or read.time) and not self.questions()
        is_part = "?" not in self.text and len(words(self.text)) <= _FEW_WORDS and any(word in forms.PARTS for word in words(self.text))
        books = draft.kind == "appointment" and (is_when or is_part)
        wishes = wish in _KINDS and (gives or (wish != "complain" and not (wish == "book" and self._plain_questions())))
        if wishes or self.does("yes") or gives or books:
            if wish in ("book", "call", "person") and draft.kind not in ("support", "quote"):
                draft.kind = _KINDS[wish]
            opening = "open.volunteered" if gives and not wish else f"open.{draft.kind}"
            if resumes:
                form = RequestForm(draft, self.turn.bot, self.say, self.now)
                self.state.pending = "form"
                return self._next(form, [self.say("noted")])
            asked = [act for act in self.questions() if not gives]
            text = self.begin(draft.kind, opening, draft)
            if asked and self.does("yes") and (answer := self._beside(asked)):
                return f"{answer}\n\n{text}"
            return text
        self.state.earlier = [*self.state.earlier, *draft.quotes][-_MOST_EARLIER:]
        return None

    # Forms

    def _next(self, form: RequestForm, lead: Sequence[str], *, short: bool = False, repeats: bool = False) -> str:
        """Ask for the next field, or for the confirmation, or note what is complete."""
        field = form.missing()
        parts = [part for part in lead if part]
        self.choices = ()
        if field is not None:
            if not repeats and self.state.asked:
                short = True
            self.state.pending, self.state.asked = "form", field.key
            self.choices = field.choices()
            if field.key == "contact" and not repeats:
                parts.append(self.say("privacy"))
            parts = [part for part in parts if part]
            return " ".join([*parts, form.question(field, short=short)])
        if form.draft.kind in ("contact", "support"):
            return self._noted(form, parts)
        return self._summary(form, parts)

    def _summary(self, form: RequestForm, lead: Sequence[str]) -> str:
        self.state.pending, self.state.asked = "confirm", ""
        self.choices = self.say.yes_no
        shown = [" ".join(lead), f"{self.say('summary')}\n\n{form.summary()}", self.say("ask.confirm")]
        return "\n\n".join(part for part in shown if part)

    def _noted(self, form: RequestForm, lead: Sequence[str] = ()) -> str:
        """Propose the record, and say so."""
        self.captured, self.choices = form.record(), ()
        self._keep(form.draft)
        self.state.settle()
        self.state.lines = [*self.state.lines, "noted"][-6:]
        done = self.say.first(f"done.{form.draft.kind}", "done")
        outside = [part for part in lead if part not in (self.say("open.contact"), self.say("open.person"), self.say("open.volunteered"))]
        if form.draft.kind != "appointment" and "name" not in form.draft.values and "name" not in form.draft.missed:
            self.state.pending = "name"
            return "\n\n".join((" ".join([*outside, done]), form.summary(), self.say("ask.name")))
        return (
            " ".join([*outside, done])
            if form.draft.kind == "appointment"
            else "\n\n".join(part for part in (" ".join([*outside, done]), form.summary()) if part)
        )

    def _keep(self, draft: RequestDraft) -> None:
        self.state.contact |= {key: draft.values[key] for key in ("name", "phone", "email") if key in draft.values}
        self.state.earlier = []

    def _form(self) -> RequestForm | None:
        draft = self.state.draft
        return RequestForm(draft, self.turn.bot, self.say, self.now) if draft else None

    def _in_form(self) -> str | None:
        """Take the answer to a field, answer a question in between, or end the form."""
        form = self._form()
        if form is None or not self.turn.may_capture:
            return None
        asked = form.field(self.state.asked)
        about = [act for act in self.questions() if business.kinds_of(act.text, self.turn.bot.name) and self._business(act.text)]
        taken = " ".join(act.text for act in self.acts if act not in about)
        given, remarks = self._take(form, asked, taken) if taken else (set[str](), list[str]())
        wanted = asked is not None and (asked.key in given or (asked.key == "contact" and bool({"phone", "email"} & given)))
        leaves = self.does("stop") or (not wanted and self.does(*_LEAVES) and (self.does("bye") or not self._asks()))
        if leaves and not {"phone", "email"} & given:
            left, questions = self._left(form), self._asks()
            answer = self._beside(questions) if questions else None
            return f"{left}\n\n{answer}" if answer else left
        if asked and asked.key == "contact" and not {"phone", "email"} & given and (self.does("skip") or forms.refuses_contact(self.text)):
            form.draft.skipped.append("contact")
            return self._next(form, [self.say("no.contact")])
        answers = wanted or bool(remarks)
        questions = about or ([] if answers and len(words(self.values().rest)) <= _FEW_WORDS + 2 else self._asks(beside=bool(given)))
        answer = self._beside(questions) if questions else None
        if questions and not answer and (given or "?" in self.text):
            answer = self.say("unknown.noted")
        lead = [answer] if answer else []
        form.draft.asides = form.draft.asides + 1 if lead and not given else 0
        if form.draft.asides >= _MOST_ASIDES:  # who goes on asking is not asked again
            self.choices = ()
            return lead[0]
        if asked and asked.key in ("date", "time") and given and not wanted and not remarks:  # who gives other values has none of these
            form.draft.missed[asked.key] = form.draft.missed.get(asked.key, 0) + 1
            if form.draft.missed[asked.key] > 1:
                form.draft.skipped.append(asked.key)
                remarks = [self.say(f"without.{'when' if asked.key == 'date' else 'time'}")]
        if asked is None or lead or remarks or (given and "phone.wrong" not in given):
            return self._joined(lead, self._next(form, remarks, short=True))
        return self._not_given(form, asked)

    def _take(self, form: RequestForm, asked: Field | None, text: str = "") -> tuple[set[str], list[str]]:
        """Put the values and the words of the message, or of a part of it, into the form."""
        text = text or self.text
        read = form.read(text, asked)
        if asked and asked.key == "message" and not self.does(*_LEAVES):
            form.draft.quote(self.text)
            form.draft.asks_when, wanted = False, {"message"}
        else:
            wanted = set[str]()
        plain = self.only("yes", "no", "skip", *_LEAVES) or "?" in self.text
        given, remarks = set[str](), list[str]()
        if not (asked and asked.own and asked.kind == "text" and plain):
            given, remarks = form.take(text, asked, read)
        if _says_something(self.text, read, given, self.acts):
            form.draft.quote(self.text)
        return given | wanted, remarks

    def _joined(self, lead: Sequence[str], text: str) -> str:
        return "\n\n".join([*lead, text])

    def _asks(self, *, beside: bool = False) -> list[Act]:
        """Return the questions of a message in a form: what asks clearly, and what may ask where no value was given."""
        return [act for act in self.questions() if "?" in act.text or (not beside and act.probability >= acts.SURE)]

    def _not_given(self, form: RequestForm, asked: Field) -> str:
        """Ask once more for what was not understood; then take the words as they are and go on."""
        draft = form.draft
        refuses = self.does("skip", "no") or any(word in forms.WITHOUT for word in words(self.text))
        missed = draft.missed.get(asked.key, 0)
        if asked.key == "contact" and refuses:
            draft.skipped.append("contact")
            return self._next(form, [self.say("no.contact")])
        if asked.key == "time" and any(word in forms.PARTS for word in words(self.text)):  # "in the afternoon" is for the team to read
            draft.skipped.append("time")
            return self._next(form, [self.say("noted")])
        if refuses or missed or (asked.own and not asked.own.required and self.does("skip", "no")):
            if asked.key == "name" and missed and not refuses and not self.does(*SMALL_TALK) and (name := _possible_name(self.text)):
                draft.values["name"] = name
            elif asked.key in ("date", "time") and not missed and not self.does("skip"):
                draft.missed[asked.key] = 1
                return self._asked_again(form, f"any.{asked.key}")
            else:
                draft.skipped.append(asked.key)
            lead = {"name": "no.name", "date": "without.when", "time": "without.time"}.get(asked.key, "noted")
            if asked.key == "date" and "time" not in draft.values:
                draft.skipped.append("time")
            return self._next(form, [self.say(lead if refuses else "noted")])
        draft.missed[asked.key] = 1
        return self._asked_again(form, f"hint.{asked.key}")

    def _asked_again(self, form: RequestForm, hint: str) -> str:
        if self.does("complain", "insult"):
            hint = "sorry"
        return self._next(form, [self.say.first(hint, "hint.field")], short=True, repeats=True)

    def _left(self, form: RequestForm) -> str:
        """End the form, and say that nothing is passed on."""
        self.choices = ()
        draft = form.draft
        self.state.contact |= {key: draft.values[key] for key in ("name", "phone", "email") if key in draft.values}
        self.state.settle()
        self.state.earlier = []
        if self.does("bye") and not self.does("stop", "cancel"):
            return self.say("smalltalk.goodbye.open")
        return f"{self.say('kind')} {self.say('cancelled')}" if self.does("thank") else self.say("cancelled")

    def _confirmed(self) -> str | None:
        """Take the answer to the summary."""
        form = self._form()
        if form is None or not self.turn.may_capture:
            return None
        draft = form.draft
        values, quotes = dict(draft.values), list(draft.quotes)
        _, remarks = self._take(form, None)
        changed = draft.values != values
        questions = [] if changed else self._asks()
        answer = self._beside(questions) if questions else None
        if questions and (self.does("yes") or self.says_yes()):
            return self._joined([answer or self.say("unknown.noted")], self._noted(form))
        if questions and (answer or "?" in self.text):
            self.choices = self.say.yes_no
            return self._joined([answer or self.say("unknown.noted")], self.say("ask.confirm"))
        if remarks or changed:
            return self._summary(form, remarks or [self.say("noted")])
        return self._agreed(form, added=draft.quotes != quotes)

    def _agreed(self, form: RequestForm, *, added: bool) -> str:
        """Take a yes or a no to the summary; `added` tells that the message has words for the team."""
        self.choices = self.say.yes_no
        if (self.does("yes") or self.says_yes()) and not self.does("no", "stop", "cancel"):
            return self._noted(form)
        if self.does("stop", "cancel") or (self.does("thank", "bye") and "confirm" in form.draft.missed):
            return self._left(form)
        if self.does("thank", "bye"):
            form.draft.missed["confirm"] = 1
            return f"{self.say('not_sent')} {self.say('ask.confirm')}"
        if self.only("no"):
            self.state.pending, self.choices = "change", ()
            return self.say("ask.change")
        return self._summary(form, [self.say("noted")]) if added else self.say("hint.confirm")

    # Records that are noted already

    def _current(self) -> CapturedRecord | None:
        """Return the record that a change is about: the open appointment of the day named, else the newest open record."""
        open_records = [record for record in self.turn.captured if record.status in _OPEN_STATUSES]
        appointments = [record for record in open_records if record.kind == "appointment"]
        day = self.values().date
        of_day = [record for record in appointments if day and record.date == day.value]
        candidates = of_day or appointments or open_records
        return candidates[-1] if candidates else None

    def _when(self, day: date | None, clock: time | None) -> str:
        return ", ".join(filter(None, (self.say.date(day) if day else "", f"{clock:%H:%M}" if clock else "")))

    def _named(self, record: CapturedRecord) -> str:
        return self._when(record.date, record.time) or self.say(f"kind.{record.request_type}")

    def _of_record(self, wish: str) -> str:
        """Change, cancel or tell of what is noted; what is not known here becomes a note."""
        record = self._current()
        if record is None:
            if wish == "status" and self.turn.captured:
                return self._status(self.turn.captured[-1])
            if wish in ("status", "keep"):
                answer = self._search(self.text)
                if answer:
                    return answer
            if not self.turn.may_capture:
                return self.say("person.later")
            draft = self._draft("contact")
            draft.asks_when = wish == "move" and not (self.values().date or self.values().time)
            return self.begin("contact", "open.other", draft)
        if wish == "status":
            is_known = self._find(self.text).decision == "answer"
            return (self._search(self.text) if is_known else None) or self._status(record)
        if wish == "keep":
            self._change(record, date=record.date, time=record.time)
            return self.say("change.done.keep", appointment=self._named(record))
        day = self.values().date
        if record.kind != "appointment":
            return self._added(record)
        self.state.record = record.id
        if wish == "cancel" and not (day and day.value != record.date):
            self.state.pending = "cancel"
            self.choices = self.say.yes_no
            return self.say("change.cancel?", appointment=self._named(record))
        return self._moved(record)

    def _change(self, record: CapturedRecord, words: str = "", *, cancels: bool = False, corrects: bool = False, **values: Any) -> None:
        """Propose a change of what is noted."""
        change, urgent = Change(record, cancels, corrects), business.is_urgent(self.text)
        self.captured = Captured("appointment", words or self.text, change=change, urgent=urgent, **values)

    def _added(self, record: CapturedRecord) -> str:
        """Add the visitor's words to what is noted."""
        self._change(record, corrects=True)
        return self.say("change.done.detail")

    def _status(self, record: CapturedRecord) -> str:
        if record.kind == "appointment":
            lines = [self.say(f"status.{record.status}", appointment=self._named(record))]
            if record.change and record.change.kind in ("move", "cancel"):
                wanted = self._when(record.change.date, record.change.time)
                lines.append(self.say(f"status.change.{record.change.kind}", wanted=wanted))
            return " ".join(lines)
        return self.say("status.request.open" if record.status in _OPEN_STATUSES else "status.request.done")

    def _moved(self, record: CapturedRecord) -> str:
        """Propose a move to the day and hour of the message, or ask for them."""
        draft = RequestDraft("appointment")
        form = RequestForm(draft, self.turn.bot, self.say, self.now)
        read = form.read(self.text, None)
        if self.state.pending == "move" or not (read.date or read.time):  # "could we make it 11 instead"
            read = form.read(self.text, Field("time", "time"))
        day = record.date
        if read.time and not read.date and day:
            draft.values["date"] = day.isoformat()
        given, remarks = form.take(self.text, None, read)
        if record.time and "date" in given and "time" not in given and not read.time:
            draft.values["time"] = f"{record.time:%H:%M}"
        is_refused = (read.date and "date" not in given) or (read.time and "time" not in given)
        if is_refused or not given & {"date", "time"} or (day and draft.values.get("date") == day.isoformat() and "time" not in given):
            self.state.pending, self.state.record = "move", record.id
            asked = self.say("change.other") if remarks else self.say("change.when", appointment=self._named(record))
            return " ".join([*remarks, asked])
        wanted_day = date.fromisoformat(draft.values["date"]) if "date" in draft.values else None
        wanted_time = time.fromisoformat(draft.values["time"]) if "time" in draft.values else None
        self._change(record, date=wanted_day, time=wanted_time)
        named = self._named(record)
        self.state.settle()
        wanted = self._when(wanted_day, wanted_time)
        return " ".join([*remarks, self.say("change.moved" if record.is_pending else "change.done.move", wanted=wanted, appointment=named)])

    def _change_answered(self) -> str | None:
        """Take the answer to the question whether to cancel, or when instead."""
        record = next((record for record in self.turn.captured if record.id == self.state.record), None)
        if record is None:
            return None
        if self.state.pending == "move":
            if self.does("cancel") and not self.does("move", "keep"):
                self.state.pending, self.choices = "cancel", self.say.yes_no
                return self.say("change.cancel?", appointment=self._named(record))
            if self.only("no", "stop", "thank", "bye", "keep", "skip"):
                self.state.settle()
                return self.say("change.dropped")
            read = self.values()
            if self.questions() and not (read.date or read.time):
                return None
            return self._moved(record) if read.date or read.time or not self.only("ask", "tell") else None
        if self.does("yes", "cancel") and not self.does("no", "keep"):
            # The wish was said before the question; a bare "yes" tells the team nothing.
            wish = self.turn.spoken[-2:] if not self.does("cancel") else [self.text]
            self._change(record, wish[0], cancels=True)
            self.state.settle()
            key = "change.canceled" if record.is_pending else "change.done.cancel"
            return self.say(key, appointment=self._named(record))
        if self.does("no", "keep", "stop", "thank", "bye"):
            self.state.settle()
            return self.say("change.dropped")
        return self._moved(record) if self.does("move") else None

    def _amended(self) -> str | None:
        """Correct the contact data of what was noted just now."""
        record, read = self._current(), self.values()
        if record is None or "noted" not in self.state.lines or self.does("call", "book"):
            return None
        name = read.name.value if read.name else self.bare_name()
        phone, email = read.phone.value if read.phone else None, read.email.value if read.email else None
        self._remember(read)
        self.state.settle()
        pairs = (name, record.visitor_name), (phone, record.visitor_phone), (email, record.visitor_email)
        if all(given in (None, noted) for given, noted in pairs):
            return self._line("smalltalk.noted")
        self._change(record, corrects=True, visitor_name=name, visitor_email=email, visitor_phone=phone)
        return self.say(
            "change.done.contact", data=", ".join(filter(None, (name, phone and in_local_form(phone, self.turn.bot.country), email)))
        )

    # Answers

    def _answer(self, asked: Sequence[Act] = ()) -> str:
        """Answer the message from the settings or the knowledge, offer choices, or say that the bot does not know."""
        text = " ".join(act.text for act in asked) if asked else self.text
        if told := self._business(text):
            return told
        known = [act for act in self.acts if act.name not in SMALL_TALK]
        if not asked and 0 < len(known) < len(self.acts):
            text = " ".join(act.text for act in known)
            if told := self._business(text):
                return told
        if len(known) > 1 and (told := self._each(known)):
            return told
        return self._search(text) or self._unknown(text)

    def _each(self, known: Sequence[Act]) -> str | None:
        """Answer the questions of a message one by one, if one is about the business or several have an answer."""
        told: dict[str, str] = {}
        asked = [act for act in known if act.name == "ask"]
        about = {act.text: answer for act in asked if (answer := self._business(act.text))}
        if not about and len(asked) < 2:
            return None
        for act in asked[:_MOST_ASKED]:
            if act.text in about:
                told[act.text] = about[act.text]
            elif (result := self._find(act.text)).decision == "answer" or (about and result.hits and result.confidence >= _BESIDE):
                told[act.text] = self._told(result)
                self.evidence = Evidence.of(result)
        return "\n\n".join(dict.fromkeys(told.values())) if about or len(told) > 1 else None

    def _business(self, text: str) -> str | None:
        """Answer a question about the business itself from the bot's settings, else from what the knowledge says of it."""
        told = business.answer(self.turn.bot, self.say, text, self.now, self.turn.knowledge)
        if told is None and len(self.questions()) < 2 and not (self.values().phone or self.values().email):
            told = business.answer_clause(self.turn.bot, self.say, text, self.now, self.turn.knowledge)
        if told:
            self.state.last_answer, self.evidence = "", Evidence((), "answer", 1.0)
        return told

    def _beside(self, asked: Sequence[Act]) -> str | None:
        """Return the answer to questions beside a form, or what may be meant; None without either. The form stays as it is."""
        told = list[str]()
        for act in asked:
            if answer := self._business(act.text):
                told.append(answer)
                continue
            result = self._find(act.text)
            if (result.decision == "answer" and result.hits) or (result.decision == "ask" and result.hits and result.confidence >= _BESIDE):
                told.append(self._told(result))
        return "\n\n".join(dict.fromkeys(told)) or None

    def _find(self, text: str) -> SearchResult:
        own = sum(word not in business.LIGHT for word in words(text))  # words that name something
        return self.turn.knowledge.search(text, self.language, subject=self.state.subject if own <= _FEW_WORDS - 1 else None)

    def _search(self, text: str) -> str | None:
        """Answer from the knowledge: one fact or choices. None where nothing is likely."""
        result = self._find(text)
        self.evidence = Evidence.of(result)
        learned = self.state.learned.get(" ".join(words(text)))
        titles = _titles(result)
        again = result.confidence >= _AGAIN and bool(titles) and titles[0] in self.offered  # put in other words rather than chosen
        if result.decision == "answer" or again:
            first = result.hits[0].entry
            is_named = (
                not first.alt
                and _naming(text) == _naming(first.question)
                and len(first.answer) <= _MOST_TOLD
                and len(facts.parts_of(first)) > 1
            )
            told = self._framed(facts.whole(first).text, first) if is_named else self._told(result)
            self.missed = self.missed or ("" if result.confidence >= ANSWER else text)
            self.evidence = self.evidence._replace(decision="answer")
            repeated, self.state.last_question = " ".join(words(text)) == self.state.last_question, " ".join(words(text))
            if told == self.state.last_answer and repeated:
                return f"{told}\n\n{self._offer(self._draft('contact'), 'offer.again')}"
            if told == self.state.last_answer and not _is_own_question(result.hits[0].entry, text):
                if (other := self._second(result)) and len(titles) > 1:
                    return other
                self.evidence = None
                return self._offer(self._draft("contact"), "offer.again")
            self.state.last_answer = told
            self._earlier()
            return told
        if result.decision != "ask" or self.turn.bot.ask_back is False or not titles:
            return None
        if learned and learned in titles:
            return self._tell_choice(text, learned)
        if (read := self.values()).date and read.time and self.turn.may_capture:
            return None
        if read.date and self.turn.may_capture and not _naming(text):  # "can you do Saturday?"
            return self._offer(self._draft("appointment"), "offer.appointment")
        is_short = len(words(text)) <= _FEW_WORDS and result.confidence >= _AGAIN
        asks = is_short or "?" in text or any(act.probability >= acts.SURE for act in self.questions())
        return self._ask_back(text, titles) if asks else None

    def _second(self, result: SearchResult) -> str | None:
        """Offer what else may be meant where the same answer would be told twice."""
        others = _titles(result)[1:]
        if not others or self.turn.bot.ask_back is False:
            return None
        self.evidence = Evidence(self.evidence.entries if self.evidence else (), "ask", result.confidence)
        return self._ask_back(self.text, others)

    def _ask_back(self, text: str, titles: list[str]) -> str:
        self.state.pending, self.state.choices, self.state.question = "choices", titles, text
        self.choices = tuple(titles)
        self._earlier()
        listed = "\n".join(f"- {title}" for title in titles)
        return f"{self.say('back.several' if len(titles) > 1 else 'back.one')}\n{listed}"

    def _told(self, result: SearchResult) -> str:
        """Return the fact of the first hit, once with a word about its language."""
        fact = _fact(result.hits[0])
        self.state.subject = fact.subject
        return self._framed(fact.text, fact.entry)

    def _framed(self, text: str, entry: Entry) -> str:
        tongue = entry.language.partition("-")[0]
        if tongue == self.language or "facts.language" in self.state.lines or tongue not in catalogue.languages():
            return text
        self.state.lines = [*self.state.lines, "facts.language"][-6:]
        return f"{self.say('facts.language', name=self.say(f'language.{tongue}'))}\n{text}"

    def _chosen(self) -> str | None:
        """Tell what was chosen of what was offered; None if the message is about something else."""
        offered, question = self.state.choices, self.state.question
        title = next((choice for choice in offered if choice.casefold() == self.text.casefold()), None)
        if title is None and len(offered) == 1 and self.does("yes"):
            title = offered[0]
        if title is None and not (self.questions() and "?" in self.text):
            title = forms.chosen(offered, self.text)
        if title is not None:
            return self._tell_choice(question, title)
        if forms.is_none(self.text) or self.only("no"):
            self.state.settle()
            self.state.question = ""
            return self.say("back.none") if self.only("no") or len(words(self.text)) <= _FEW_WORDS else None
        return None

    def _tell_choice(self, question: str, title: str) -> str:
        """Tell the fact of a title, and remember the choice for the question."""
        result = self.turn.knowledge.search(question, self.language, limit=10, subject=self.state.subject or None)
        fact = next((fact for fact in result.facts if fact.title == title), None)
        if fact is None:
            result = self.turn.knowledge.search(title, self.language, limit=10)
            fact = next((fact for fact in result.facts if fact.title == title), _fact(result.hits[0]) if result.hits else None)
        self.state.settle()
        if fact is None:
            return self._unknown(question)
        learned = {**self.state.learned, " ".join(words(question)): title}
        self.state.learned = dict(list(learned.items())[-_MOST_LEARNED:])
        self.state.subject = fact.subject
        told = fact.text
        self.evidence = Evidence(((fact.entry.id, round(result.confidence, 4)),), "answer", round(result.confidence, 4))
        self.state.last_answer = told
        return self._framed(told, fact.entry)

    def _unknown(self, text: str) -> str:
        """Say that the bot does not know, and offer to pass the question on."""
        self.is_unknown = True
        self._earlier(whole=True)
        if self.evidence is None:
            self.evidence = Evidence((), "abstain", 0.0)
        else:
            self.evidence = Evidence(self.evidence.entries, "abstain", self.evidence.confidence)
        if added := self._added_unknown():
            return added
        read = self.values()
        if self.turn.may_capture and (read.phone or read.email):
            self._remember(read)
            self.is_unknown = False
            return self.begin("contact", "open.volunteered")
        if self.turn.may_capture and business.is_urgent(text) and not self.questions():
            self.is_unknown = False
            return self.begin("contact", "open.other")
        shown = guess(text)
        if shown is not None and shown not in catalogue.languages() and shown not in self.turn.knowledge.languages:
            return self._foreign()
        if self.turn.bot.hand_off:
            return f"{self.say('unknown')} {self.say('unknown.person')}"
        if not self.turn.may_capture or self.turn.bot.ask_back is False:
            return self.say("unknown")
        if read.date and (read.time or not self._plain_questions()):
            draft = self._draft("appointment")
            RequestForm(draft, self.turn.bot, self.say, self.now).take(self.text, None, read)
            return self._offer(draft, "offer.appointment")
        if not self.questions():
            return self._offer(self._draft("contact"), "offer.contact")
        times_unknown = self.state.lines.count("unknown")
        self.state.lines = [*self.state.lines, "unknown"][-6:]
        offer = self._offer(self._draft("contact"), ("offer", "offer.situation", "offer.contact")[min(times_unknown, 2)])
        return offer if times_unknown else f"{self.say('unknown')} {offer}"

    def _added_unknown(self) -> str | None:
        """Add a message without an answer to what was noted before; None if nothing was."""
        record = self._current() if "noted" in self.state.lines else None
        if record is None:
            return None
        self.is_unknown = False
        self._change(record, corrects=True)
        is_question = bool(self._plain_questions()) and not (self.values().date or self.values().time)
        return self.say("unknown.noted" if is_question else "change.done.detail")

    def _foreign(self) -> str:
        """Name the languages spoken, in English and in the bot's language."""
        own = self.turn.bot.language if self.turn.bot.language in catalogue.languages() else catalogue.FALLBACK
        known = [tongue for tongue in catalogue.languages() if tongue in self.turn.knowledge.languages] or list(catalogue.languages())
        return "\n".join(
            say.of(self.turn.bot, tongue)(
                "foreign",
                languages=f" {catalogue.say('list.and', tongue)} ".join(catalogue.say(f"language.{one}", tongue) for one in known),
            )
            for tongue in dict.fromkeys((catalogue.FALLBACK, own))
        )


def sentences_of(text: str) -> list[str]:
    """Split a message into sentences; of a long one the last are left out."""
    return [part for part in map(str.strip, _SENTENCE_END.split(text)) if part][:_MOST_SENTENCES]


def _fact(hit: Hit) -> Fact:
    """Return what is told of a hit: its fact, else the whole entry."""
    return hit.fact or Fact(hit.entry, hit.entry.question, hit.entry.answer)


def _naming(text: str) -> set[str]:
    """Return the stems of the words that name something."""
    return {stem(word) for word in words(text) if word not in business.LIGHT}


def _titles(result: SearchResult) -> list[str]:
    """Return the names of the facts of which a visitor may choose."""
    return [fact.title for fact in result.facts][:_MOST_CHOICES]


def _says_something(text: str, read: Values, given: set[str], said: Sequence[Act]) -> bool:
    """Return whether a message has words for the team beside its values and a bare yes or no."""
    if len(words(text)) <= _FEW_WORDS + 1 and all(act.name in ("yes", "no", "greet", "thank", "bye") for act in said):
        return False
    values = {"name", "phone", "email", "date", "time", "nights"}
    if given and given <= values:
        return bool(words(read.rest))
    return not (len(given) == 1 and next(iter(given)).startswith("x.") and len(words(text)) <= _FEW_WORDS)


def _possible_name(text: str) -> str | None:
    """Return a message that may be a name: few words of letters alone."""
    parts = text.strip(" .!,").split()
    return " ".join(parts) if 0 < len(parts) <= _FEW_WORDS and all(part.replace("-", "").isalpha() for part in parts) else None


def _is_own_question(entry: Entry, text: str) -> bool:
    """Return whether the owner has written the entry for this very question."""
    return words(text) in [words(phrasing) for phrasing in (entry.question, *entry.alt)]
