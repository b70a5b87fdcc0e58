"""Tokens of the widget: one spelling each, and none of another key, kind or form."""

import string

import pytest

from chatsvc.domain import visitor_tokens
from chatsvc.domain.visitor_tokens import MAIL, SITE, VISITOR

LETTERS = string.ascii_letters + string.digits + "-_"


@pytest.mark.parametrize("parts", [("a" * length,) for length in range(3)])
def test_a_token_has_one_spelling(parts: tuple[str, ...]) -> None:
    token = visitor_tokens.sign("key", MAIL, *parts)
    assert visitor_tokens.read("key", MAIL, token) == parts
    changed = {token[:at] + letter + token[at + 1 :] for at in range(len(token)) for letter in ("", ".", *LETTERS)} - {token}
    longer = {token[:at] + letter + token[at:] for at in range(len(token) + 1) for letter in "=!. \n%A"}
    assert [text for text in changed | longer if visitor_tokens.read("key", MAIL, text)] == []


def test_a_token_is_of_one_key_and_one_kind() -> None:
    token = visitor_tokens.sign("key", MAIL, "a")
    for key, kind in (("other", MAIL), ("key", SITE), ("key", VISITOR)):
        assert visitor_tokens.read(key, kind, token) is None
    for odd in ("", ".", "x", "\u00e4.b", f"{token}." * 99, token.upper()):
        assert visitor_tokens.read("key", MAIL, odd) is None
