"""Small talk: greetings, thanks, goodbyes, questions about the bot itself, insults."""

from dataclasses import replace
from unicodedata import category

from chatsvc.engines.knowledge.policy import answers, offers
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.say import own_greeting

_LINES = {
    "greet": "smalltalk.greeting",
    "thank": "smalltalk.thanks",
    "praise": "smalltalk.thanks",
    "part": "smalltalk.goodbye",
    "identity": "smalltalk.identity",
    "affirm": "smalltalk.noted",
    "skip": "smalltalk.noted",
    "deny": "offer.declined",
    "stop": "offer.declined",
    "refuse": "offer.declined",
}
ACTS = tuple(_LINES)
_WAVES, _THANKS = frozenset("👋🤚🖐✋"), frozenset("🙏❤♥💐🌹👏🤝💕🥰😍😘")
_ORDER = ("identity", "part", "deny", "stop", "refuse", "thank", "praise", "greet", "affirm", "skip")


def reply(c: Context) -> ReplyStep | None:
    """Reply to a message that is small talk and nothing else."""
    act = next((one for one in _ORDER if c.said.says(one)), None)
    if act is None:
        return None
    own = answers.find(c, c.turn.message, "") if act == "identity" else None
    if own is not None and own.decision == "answer":
        return c.step(own.text)
    if act == "identity" and c.turn.bot.hand_off:
        return c.line("smalltalk.identity", name=c.turn.bot.name).behind(c.say("unknown.person"))
    return greet(c) if act == "greet" else c.line(_LINES[act], name=c.turn.bot.name)


def greet(c: Context) -> ReplyStep:
    """Greet, the first time with the owner's own greeting where there is one."""
    step, own = c.line(_LINES["greet"], name=c.turn.bot.name), own_greeting(c.turn.bot, c.say.language)
    return replace(step, text=own) if own and _LINES["greet"] not in c.state.told else step


def is_wordless(c: Context) -> bool:
    """Return whether a message is made of pictures alone."""
    text = c.turn.message
    return not any(one.isalnum() for one in text) and any(category(one) in ("So", "Sk") for one in text) and not c.state.has_open_form


def wordless(c: Context) -> ReplyStep:
    """Reply to a wave, to thanks, or nod."""
    shown = set(c.turn.message)
    if shown & _WAVES:
        return greet(c)
    return c.line("smalltalk.thanks" if shown & _THANKS else "smalltalk.noted")


def insult(c: Context) -> ReplyStep:
    """Stay calm, and offer a note."""
    step = c.line("insult")
    if not c.turn.may_capture:
        return step
    state = offers.offer(c, "contact", "").state
    return replace(step, state=replace(state, told=step.state.told))


def nonsense(c: Context) -> ReplyStep:
    """Say a calm line to nonsense, tricks and code."""
    return c.line("nonsense")
