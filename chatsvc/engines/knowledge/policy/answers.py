"""Answers from the knowledge and the opening hours, outside of forms and beside them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from chatsvc.domain.language import primary
from chatsvc.engines import Evidence
from chatsvc.engines.knowledge.fields.choice import chosen
from chatsvc.engines.knowledge.policy import fallbacks, opening_hours
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.state import Subject
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.answering import ANSWER, Answer
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.question import Question
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.knowledge.understand import ReadClause
from chatsvc.language import ordinals
from chatsvc.language.folding import words

_OF_KIND = 0.5  # probability from which a kind of question counts
_TALK = ("greet", "thank", "part", "praise", "affirm", "deny", "identity")
_CERTAIN = 0.85  # confidence of a fact that goes before the computed hours
_ELSE = 2  # words of a question about hours that make it one about something else than the business
_MOST_ASKED = 4  # questions in one message
_PART = 3  # words of a part of a question that is looked for alone
_SHOWN = 60  # characters of a question that is named as unanswered
_CHOICE_WORDS = 6  # a longer message is a new question


def find(c: Context, text: str, kind: str) -> Answer:
    """Look for the answer to a question. A follow-up is about the things talked about before."""
    told = (one for one in c.state.subjects if one.entry != states.HOURS)
    subjects = tuple((one.words, "" if one.entry == states.REQUEST else one.entry) for one in told)
    before = c.spoken[-2] if len(c.spoken) > 1 else ""
    question = Question(text, kind, primary(c.turn.language or c.said.language), subjects, bool(c.turn.language), before)
    return cast(KnowledgeIndex, c.turn.knowledge).facts.answer(question, c.told)


def answer(c: Context) -> ReplyStep | None:
    """Answer the questions of a message, hedge, or ask back. None without an answer."""
    asked = c.said.questions
    several = [one for one in c.said.clauses if one.asks or (one.matter and one.is_one_of("state", "give", "book"))]
    if asked and 1 < len(several) <= _MOST_ASKED and (step := _several(c, several)):
        return step
    clauses = [one for one in c.said.clauses if one.act not in _TALK] or list(c.said.clauses)
    main = asked[0] if asked else clauses[0] if clauses else None
    if main is None or not (asked or c.said.says("state") or any(one.matter for one in clauses)):
        return None
    telling = [one.text for one in asked if one.matter]  # the question of a story
    text = " ".join(telling or [one.text for one in clauses])
    if main.kind == "open" and not c.place.week and (step := _told(c, find(c, text, "open"), "open")):
        return step
    if said := _computed(c, main):
        return c.step(said, c.state.about(Subject(main.text, states.HOURS)) if main.kind == "open" else None)
    return _told(c, _found(c, text, _kind(main)), _kind(main))


def _found(c: Context, text: str, kind: str) -> Answer:
    """Look for the answer to a question, or to the part of a long one that has an answer: "we moved here, do you take cats, mine is 3"."""
    found = find(c, text, kind)
    parts = [part for part in text.split(",") if len(words(part)) >= _PART][-_MOST_ASKED:]
    if found.decision in ("answer", "hedge") or not parts or parts == [text]:
        return found
    best = max((find(c, part, kind) for part in parts), key=lambda one: one.confidence)
    return best if best.decision == "answer" else found


def _kind(asked: ReadClause) -> str:
    """Return the kind of a question, "" where it is not likely enough."""
    return asked.kind if asked.kinds.get(asked.kind, 0.0) >= _OF_KIND else ""


def _computed(c: Context, asked: ReadClause) -> str | None:
    """Return what is known of opening hours and languages without an entry."""
    if asked.kind == "tongue":
        found = find(c, asked.text, asked.kind)
        return found.text if found.decision == "answer" else fallbacks.speaks(c)
    return _hours(c, asked) if _kind(asked) == "open" else None


def _hours(c: Context, asked: ReadClause) -> str | None:
    """Return the answer to a question about opening hours. What the knowledge says of the thing named goes first."""
    things = opening_hours.things(c, asked.text) if asked.matter else 0
    if things or not c.place.week:
        found = find(c, asked.text, "when" if things else "open")
        if found.decision == "answer" and (not c.place.week or found.confidence >= _CERTAIN):
            return found.text
        if things >= _ELSE:
            return None
    return opening_hours.answer(c, asked.text)


def other_day(c: Context) -> ReplyStep | None:
    """Answer for another day after a question about opening hours."""
    said = opening_hours.answer(c, c.turn.message)
    return c.step(said) if said else None


def _told(c: Context, found: Answer, kind: str) -> ReplyStep | None:
    """Return the step that tells what was found."""
    plain = c.turn.bot.ask_back is False
    if found.decision == "abstain" or (plain and found.decision != "answer" and not (found.near and found.confidence >= ANSWER)):
        return None
    state = replace(c.state.about(Subject(found.subject, found.entry or "")), turns=0)
    if found.decision == "ask" or (len(found.options) > 1 and not plain):  # several at a low confidence: the right one is likely among them
        remark = not c.said.questions and (c.said.surely_says("state") or len(words(c.turn.message)) > _CHOICE_WORDS)
        return None if remark else _asked_back(c, found, kind)
    text = found.text
    if found.decision == "hedge" and not plain:
        key = "back.near" if found.near else "back.hedged"
        text = f"{c.say(key, question=found.question.rstrip(' ?!.:'))}\n\n{text}"
    return c.step(text, state, evidence=_evidence(found))


def _evidence(found: Answer) -> Evidence:
    return Evidence(tuple(found.entries), "answer" if found.decision == "answer" else "ask", round(found.confidence, 4))


def _asked_back(c: Context, found: Answer, kind: str) -> ReplyStep | None:
    """Ask which of the near things is meant."""
    if not found.options:
        return None
    key = "back.one" if len(found.options) == 1 else "back.prices" if kind == "price" else "back.several"
    lines = [c.say(key), "", *(f"- {option}" for option in found.options)]
    state = replace(c.state, pending=states.OPTIONS, options=tuple((kind, option) for option in found.options))
    return c.step("\n".join(lines), state, evidence=_evidence(found), choices=found.options)


def _several(c: Context, asked: Sequence[ReadClause]) -> ReplyStep | None:
    """Answer several questions in their order, and say which have no answer. None where fewer than two have a reading of their own."""
    said, missed, state, evidence = [], [], c.state, None
    for one in asked:
        if computed := _computed(c, one):
            said.append(computed)
            continue
        found = find(replace(c, state=state), one.text, _kind(one))
        if found.decision == "answer" or (found.decision == "hedge" and one.asks):
            said.append(found.text)
            state, evidence = state.about(Subject(found.subject, found.entry or "")), _evidence(found)
        elif one.asks:
            missed.append(one.text)
    said = _each_once(said)
    if not said or (len(said) == 1 and not missed):
        return None
    if missed:
        named = ", ".join(f"“{' '.join(text.split()).rstrip('?!. ')[:_SHOWN]}”" for text in missed)
        person = f" {c.say('unknown.person')}" if c.turn.bot.hand_off else ""
        said.append(f"{c.say('back.missed', questions=named)}{person}")
    return c.step("\n\n".join(said), state, evidence=evidence)


def _each_once(told: Sequence[str]) -> list[str]:
    """Return the texts without those whose sentences another one has."""
    held = [frozenset(facts.sentences(text)) for text in told]
    return [
        text
        for at, text in enumerate(told)
        if not any(held[at] < other or (held[at] == other and number < at) for number, other in enumerate(held) if number != at)
    ]


class Beside(NamedTuple):
    """Answers to questions that stand beside something else, each once, their origin, and the things they are about."""

    said: tuple[str, ...]
    evidence: Evidence | None = None
    subjects: tuple[Subject, ...] = ()


def beside(c: Context, asked: Sequence[ReadClause]) -> Beside:
    """Answer questions that stand beside something else."""
    told: list[tuple[str, Answer | None]] = []
    for one in asked[:_MOST_ASKED]:
        if computed := _computed(c, one):
            told.append((computed, None))
            continue
        found = _found(c, one.text, _kind(one))
        if found.decision in ("answer", "hedge"):
            told.append((found.text, found))
        elif len(found.options) == 1 and c.turn.bot.ask_back is not False:  # no question back beside another one
            told.append((f"{c.say('back.near', question=found.question.rstrip(' ?!.:'))}\n\n{found.text}", found))
    known = [found for _, found in told if found]
    subjects = tuple(Subject(found.subject, found.entry or "") for found in known)
    return Beside(tuple(_each_once([text for text, _ in told])), _evidence(known[0]) if known else None, subjects)


def choice(c: Context) -> ReplyStep | None:
    """Answer for the thing that the visitor chooses among those offered; None for a message of its own."""
    said, shown = words(c.turn.message), [option for _, option in c.state.options]
    if not said or len(said) > _CHOICE_WORDS + max((len(words(one)) for one in shown), default=0):
        return None
    offered = words(" ".join(shown))
    asks = bool(c.said.questions) and any(word not in STOPWORDS and word not in offered for word in said)
    able = c.turn.message in shown or (len(said) <= _CHOICE_WORDS and not asks)
    picked = chosen(shown, c.turn.message, c.said.language) if able else None
    nods = c.said.says_only("affirm") and not any(one.matter for one in c.said.clauses)
    if picked is None and len(shown) == 1 and nods:
        picked = shown[0]
    if picked is not None:
        kind = next(kind for kind, option in c.state.options if option == picked)
        found = find(c, picked, kind)
        if found.decision != "abstain" and found.text:
            return c.step(found.text, c.state.settled().about(Subject(found.subject, found.entry or "")), evidence=_evidence(found))
    if ordinals.names_none(said, c.said.language) or c.said.says_only("deny", "stop"):
        return c.step(c.say("back.none"), c.state.settled())
    if len(shown) > 1 and nods:
        lines = [c.say("back.which"), "", *(f"- {option}" for option in shown)]
        return c.step("\n".join(lines), replace(c.state, turns=0), choices=tuple(shown))
    return None
