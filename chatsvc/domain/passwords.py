"""Rules for operators' passwords (DECISIONS.md section 6, "passwords")."""

import re
import unicodedata
from collections.abc import Container
from itertools import pairwise

from chatsvc.domain import refusals

LEAST, MOST = 12, 256  # characters
_LEET = str.maketrans("@4310$57!", "aaeiossti")
_ENDS = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def normalised(password: str) -> str:
    """Return a password in the Unicode form in which it is hashed. Keyboards write one letter in several ways."""
    return unicodedata.normalize("NFKC", password)


def check(password: str, email: str, common: Container[str]) -> str:
    """Return the normalised password. Raises Refused for one that is too short or long, common, or the e-mail address.

    `common`: lower-case words and passwords that are easy to guess.
    """
    text = normalised(password)
    if len(text) < LEAST:
        raise refusals.password_too_short(least=LEAST)
    if len(text) > MOST:
        raise refusals.password_too_long(most=MOST)
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise refusals.text_invalid(field="password")
    if text.casefold() == email.casefold():
        raise refusals.password_is_email()
    if is_common(text, common):
        raise refusals.password_common()
    return text


def is_common(password: str, common: Container[str]) -> bool:
    """Report whether a password is common, decorated with digits and signs, or a plain pattern."""
    text = password.casefold()
    core = _ENDS.sub("", text)
    # Without a letter it is a date, a telephone number or the like.
    if not core or _is_pattern(text):
        return True
    units = [_unit(spelled) for spelled in (text, core, core.translate(_LEET))]
    return text in common or any(unit in common or _ENDS.sub("", unit) in common for unit in units)


def _unit(text: str) -> str:
    """Return the part that a text repeats, or the text."""
    for length in range(1, len(text) // 2 + 1):
        if text[:length] * (len(text) // length) + text[: len(text) % length] == text:
            return text[:length]
    return text


def _is_pattern(text: str) -> bool:
    """Report whether a text is monotonous: few different characters, repeats, or the alphabet."""
    steps = {ord(second) - ord(first) for first, second in pairwise(text)}
    return len(set(text)) < 4 or len(_unit(text)) < 5 or len(steps) == 1
