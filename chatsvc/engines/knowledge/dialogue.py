"""One turn of a conversation: how the bot reacts to a visitor's message.

These steps are tried in order until one gives a reply:

1. If the bot has asked for something (a field, a confirmation, a choice ...), the message is read as the answer (`_PENDING`).
2. A clear wish is granted: an appointment, a call back, a change of a record (`_grant`).
3. A question about the business itself is answered from its settings.
4. Data that the visitor gives without being asked is stored: contact data, a name, a day (`_take_volunteered`).
5. Anything else is a question to the knowledge: the reply is one fact, choices, or "I don't know" with an offer (`_answer`).

`turn` analyses the message and finds answers; `requests` handles forms and earlier requests.
"""

from collections.abc import Callable

from chatsvc.engines import EngineError, Evidence, Reply, Turn
from chatsvc.engines.knowledge import business, state
from chatsvc.engines.knowledge.acts import SMALL_TALK
from chatsvc.engines.knowledge.forms import AGREES, contact_of
from chatsvc.engines.knowledge.requests import KINDS, Requests
from chatsvc.engines.knowledge.turn import NO_DOUBT, SURE_QUESTION
from chatsvc.language import catalogue
from chatsvc.language.language_detection import guess
from chatsvc.language.names import asks

_NEAR = 0.2  # confidence below which a message has nothing to do with the knowledge
_LONGEST_ABOUT = 80  # characters of a visitor's words that name a form


def reply(turn: Turn) -> Reply:
    """Answer one turn. Raises EngineError("no_answer"), with a fallback text, if the bot does not know the answer."""
    dialogue = Dialogue(turn)
    text: str | None = None
    pending, question = dialogue.state.pending, dialogue.state.question
    if dialogue.is_stale and pending in ("form", "confirm", "change"):
        text = dialogue.resume()
    elif pending in _PENDING:
        text = _PENDING[pending](dialogue)
    if pending == "choices" and (text is None or dialogue.evidence is None):  # none of the choices was taken
        dialogue.missed = question
    return dialogue.finished(dialogue.say_to_message() if text is None else text)


def nobody_came(turn: Turn) -> Reply:
    """Return a reply that opens a contact form. It is used if a visitor asked for a person and nobody came."""
    dialogue = Dialogue(turn)
    return dialogue.finished(dialogue.begin("contact", "open.nobody") if turn.may_capture else dialogue.say("person.later"))


class Dialogue(Requests):
    """A turn that is being answered, with all steps that may reply to it."""

    def finished(self, text: str) -> Reply:
        """Return the reply with a text and the new state. Raises EngineError("no_answer") if the bot does not know the answer."""
        if self.evidence is None or self.evidence.decision != "answer":
            self.state.last_answer = text if self.captured is None else ""
        dialogue = state.dump(self.state, self.turn.now_ms)
        is_near = self.evidence is not None and (self.evidence.confidence or 0.0) >= _NEAR
        is_offered = self.turn.channel == "api" and is_near and self.bot.ask_back is not False and self.turn.may_capture
        if self.is_unknown and not is_offered:
            raise EngineError("no_answer", "decision abstain", fallback=text, dialogue=dialogue, choices=self.choices)
        return Reply(text, captured=self.captured, dialogue=dialogue, evidence=self.evidence, choices=self.choices, missed=self.missed)

    def resume(self) -> str:
        """Answer the message, and ask whether to continue with a form that was opened hours ago."""
        draft = self.state.draft
        self.state.settle()
        lead = self.greeting() if self.only("greet") else self.say_to_message()
        if not self.only("greet") and (self.state.pending or self.captured or self.is_unknown):
            return lead
        quoted = " / ".join(draft.quotes)[:_LONGEST_ABOUT] if draft else ""
        about = quoted or self.say(f"kind.{draft.kind if draft else 'other'}")
        self.state.draft, self.state.pending, self.choices = draft, "resume", self.say.yes_no
        return f"{lead}\n\n{self.say('resume', about=about)}"

    def say_to_message(self) -> str:
        """Answer a message that is no answer to what the bot has asked for."""
        self.state.settle()
        sure = (act.name == self.wish and act.probability >= SURE_QUESTION for act in self.acts)
        # An unsure wish in the form of a question is a question: "can I drop it off tomorrow".
        if self.wish and (self.wish in KINDS or any(sure) or not asks(self.text) or self.is_reachable or self.current_record):
            return self._grant(self.wish)
        if answer := self.business_answer(self.text) or self.hours_again():
            return answer
        return self._take_volunteered() or self._answer()

    def _grant(self, wish: str) -> str:
        """Begin what the visitor wants, such as a form. If the message also asks a question, answer it first and only offer the form."""
        record = self.just_noted
        if wish == "book" and AGREES.has_any(self.words[:1]) and record and record.kind == "request":  # "yes, but put it on Friday"
            return self.add_to(record)
        if wish == "call" and record:  # of what was noted just now
            return self.amended() or self.add_to(record)
        if wish in ("cancel", "move", "status", "keep") and (text := self.about_record(wish)):
            return text
        if not self.turn.may_capture:
            return self.say("person.later")
        if wish not in KINDS:  # what is not known here becomes a note
            draft = self.draft("contact")
            draft.asks_when = wish == "move" and not self.has_moment
            return self.begin("contact", "open.other", draft)
        kind, asked = KINDS[wish], " ".join(act.text for act in self.plain_questions)
        is_unsure = not asked and wish == "book" and not self.is_sure_booking
        asked = self.text if is_unsure and asks(self.text) else asked
        if (asked or is_unsure) and wish in ("book", "complain") and not self.is_reachable:
            answer = self.business_answer(asked or self.text) or self.search(asked or self.text)
            if self.state.pending == "choices" and answer:
                return answer
            if answer or asked:
                offer = self.offer(self.draft(kind), "offer.appointment" if kind == "appointment" else "offer")
                return self._joined(answer or ("" if is_unsure else self.say("unknown")), offer)
        if wish == "complain" and not self.is_reachable and self.state.lines[-1:] != ["complain"]:
            self.state.add_line("complain")
            offer, self.choices = self.offer(self.draft(kind), "offer.upset"), ()
            return offer
        answer = self.answer_beside(self.plain_questions) if wish == "book" else None
        return self._joined(answer, self.begin(kind, f"open.{'person' if wish == 'person' else kind}"))

    def _take_volunteered(self) -> str | None:
        """Handle contact data, a name or a day that nobody asked for, and small talk. Return None if the message has none of them."""
        if not self.plain_questions and self.is_reachable:
            if changed := self.amended():
                return changed
            self.keep_contact(contact_of(self.text, self.values))
            return self.begin("appointment" if self.values.date and self.values.time else "contact", "open.volunteered")
        if (record := self.just_noted) and self.has_moment and not self.questions:
            is_farewell = all(act.name in SMALL_TALK and act.probability >= NO_DOUBT for act in self.acts)  # "see you on Saturday"
            if not is_farewell:
                return self.move(record) if record.kind == "appointment" and self.only("tell", "give") else self.add_to(record)
        if not self.words or (self.only(*SMALL_TALK) and not business.kinds_of(self.text, self.bot.name)):
            return self.small_talk()
        if self.just_noted and self.values.name and self.values.name.explicit and (changed := self.amended()):
            return changed
        if self.bare_name:
            self.state.contact["name"] = self.bare_name
            return self.amended() or self.say("smalltalk.opening")
        if self.turn.may_capture and self.only("tell", "give", "yes", "bye") and self.has_moment:
            return self.offer_appointment()
        return None

    def _answer(self) -> str:
        """Answer the message from the settings or the knowledge, offer choices, or say that the bot does not know."""
        text, known = self.text, [act for act in self.acts if act.name not in SMALL_TALK]
        if 0 < len(known) < len(self.acts):
            text = " ".join(act.text for act in known)
            if answer := self.business_answer(text):
                return answer
        if answer := self.each_answer(known):
            return answer
        return self.search(text) or self._unknown(text)

    def _unknown(self, text: str) -> str:
        self.keep_earlier([self.text] if self.text else [])
        evidence = self.evidence or Evidence((), None, 0.0)
        self.evidence = Evidence(evidence.entries, "abstain", evidence.confidence)
        if record := self.just_noted:
            is_question = bool(self.plain_questions) and not self.has_moment
            return self.add_to(record, "unknown.noted" if is_question else "change.done.detail")
        if self.turn.may_capture and self.is_reachable:
            self.keep_contact(contact_of(self.text, self.values))
            return self.begin("contact", "open.volunteered")
        if self.turn.may_capture and business.is_urgent(text) and not self.questions:
            return self.begin("contact", "open.other")
        self.is_unknown = True
        tongue = guess(text)
        if tongue is not None and tongue not in catalogue.languages() and tongue not in self.turn.knowledge.languages:
            # Name the languages that the bot speaks, in English and its own.
            spoken = [tongue for tongue in catalogue.languages() if tongue in self.turn.knowledge.languages] or catalogue.languages()
            own, lines = self.bot.language if self.bot.language in catalogue.languages() else catalogue.FALLBACK, []
            for language in dict.fromkeys((catalogue.FALLBACK, own)):
                names = (catalogue.say(f"language.{tongue}", language) for tongue in spoken)
                listed = f" {catalogue.say('list.and', language)} ".join(names)
                lines.append(catalogue.of_bot(self.bot, language)("foreign", languages=listed))
            return "\n".join(lines)
        if self.bot.hand_off:
            return f"{self.say('unknown')} {self.say('unknown.person')}"
        if not self.turn.may_capture or self.bot.ask_back is False:
            return self.say("unknown")
        if self.values.date and (self.values.time or not self.plain_questions):
            return self.offer_appointment()
        if not self.questions:
            return self.offer(self.draft("contact"), "offer.contact")
        times_unknown = self.state.lines.count("unknown")
        self.state.add_line("unknown")
        offer = self.offer(self.draft("contact"), ("offer", "offer.situation", "offer.contact")[min(times_unknown, 2)])
        return offer if times_unknown else f"{self.say('unknown')} {offer}"


_PENDING: dict[str, Callable[[Dialogue], str | None]] = {
    "form": Dialogue.field_answered,
    "change": Dialogue.field_answered,
    "confirm": Dialogue.confirmation_answered,
    "offer": Dialogue.offer_answered,
    "resume": Dialogue.offer_answered,
    "choices": Dialogue.chosen,
    "name": Dialogue.name_given,
    "cancel": Dialogue.cancel_answered,
    "move": Dialogue.move_answered,
}
