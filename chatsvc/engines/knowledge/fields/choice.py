"""Choice among values that the owner lists."""

from collections.abc import Sequence
from dataclasses import dataclass

from chatsvc.engines.knowledge.fields.base import Place
from chatsvc.engines.knowledge.fields.owned import Owned
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import Understanding
from chatsvc.language import ordinals
from chatsvc.language.folding import folded, words

_STEM = 4  # letters of a last word from which on it may have a suffix


@dataclass(frozen=True, slots=True)
class Choice(Owned):
    """One of the owner's values, kept as offered."""

    @property
    def asks_as(self) -> str:
        """A choice."""
        return "choice"

    def read(self, said: Understanding) -> str | None:
        """Return the choice that a message names. Where it was not asked for, its words must stand there whole."""
        if said.asked == self.key:
            return chosen(self.choices(), said.text, said.language)
        named = [choice for choice in self.choices() if names_whole(said.text, choice)]
        return named[0] if len(named) == 1 else None

    def ask(self, draft: RequestDraft, place: Place) -> str:
        """Return the question with the choices."""
        return f"{super(Choice, self).ask(draft, place)} ({' / '.join(self.choices())})"

    def choices(self) -> tuple[str, ...]:
        """Return the choices as they can be shown: each once and in one line, without blank ones."""
        return tuple(choice for choice in dict.fromkeys(" ".join(choice.split()) for choice in self.own.choices) if choice)


def as_offered(choices: Sequence[str], text: str) -> str | None:
    """Return the choice that a message is letter for letter, as a button sends it; None for other messages."""
    return next((choice for choice in choices if choice == " ".join(text.split())), None)


def names_whole(text: str, choice: str) -> bool:
    """Return whether a text holds the words of a choice. The last one may have a suffix, if it is no short one such as "C"."""
    line, said = f" {' '.join(words(text))} ", words(choice)
    return bool(said) and f" {' '.join(said)}{'' if len(said[-1]) >= _STEM else ' '}" in line


def chosen(choices: Sequence[str], text: str, language: str) -> str | None:
    """Return the choice that a message names whole, in part or by its place. None if it names none, or several alike."""
    line = f" {' '.join(words(text))} "
    whole = [choice for choice in choices if f" {' '.join(words(choice))} " in line]
    if whole:
        longest = max(whole, key=len)
        return longest if all(folded(choice) in folded(longest) for choice in whole) else None
    said = set(words(text))
    shared = [sum(_is_said(word, said) for word in set(words(choice))) for choice in choices]
    if max(shared, default=0) and shared.count(max(shared)) == 1:
        return choices[shared.index(max(shared))]
    place = ordinals.place_of(words(text), len(choices), language)
    return choices[place] if place is not None else None


def _is_said(word: str, said: set[str]) -> bool:
    """Return whether a word of a choice was said, maybe with a suffix or without its ending."""
    return word in said or (len(word) > _STEM and any(len(one) >= _STEM and (one.startswith(word) or word.startswith(one)) for one in said))
