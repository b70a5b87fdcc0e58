"""Sentences that stand for an answer the bot does not have. Channels show them, the interface answers 502 `no_answer`."""

from chatsvc.engines import EngineError
from chatsvc.engines.knowledge import say
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.language import catalogue
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

_FEW = 2  # words in which a language may be mistaken


def is_foreign(c: Context) -> bool:
    """Return whether neither the dialogue nor the bot's knowledge has the message's language.

    A word or two in the middle of a dialogue show none, and who leaves name or number is understood in any language.
    """
    shown, values = guess(c.turn.message), c.said.values
    if shown is None or shown in catalogue.languages() or shown in c.turn.knowledge.languages or c.state.has_open_form:
        return False
    if values.phone or values.email or (c.state.pending and values.name):
        return False
    return not (c.state.language or c.turn.history) or len(words(c.turn.message)) > _FEW or not c.turn.message.isascii()


def foreign(c: Context) -> ReplyStep | None:
    """Name the languages spoken, in English and in the bot's language; raises EngineError("no_answer")."""
    raise EngineError("no_answer", f"language {c.said.language}", fallback=sentence(c))


def sentence(c: Context) -> str:
    """Return the sentence for a turn without an answer."""
    if is_foreign(c):
        own = c.turn.bot.language if c.turn.bot.language in catalogue.languages() else catalogue.FALLBACK
        tongues = dict.fromkeys((catalogue.FALLBACK, own))
        return "\n".join(say.of(c.turn.bot, tongue)("foreign", languages=_spoken(c, tongue)) for tongue in tongues)
    return f"{c.say('unknown')} {c.say('unknown.person')}" if c.turn.bot.hand_off else c.say("unknown")


def _spoken(c: Context, tongue: str) -> str:
    """Return the names of the languages in which the knowledge answers, in another language."""
    known = [one for one in catalogue.languages() if one in c.turn.knowledge.languages] or list(catalogue.languages())
    return f" {catalogue.say('list.and', tongue)} ".join(catalogue.say(f"language.{one}", tongue) for one in known)


def speaks(c: Context) -> str:
    """Name the languages spoken."""
    return c.say("speaks", languages=_spoken(c, c.say.language))
