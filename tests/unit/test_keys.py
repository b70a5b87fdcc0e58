"""API keys: their shape, their checksum, and what is kept of them. Tokens of the widget: one spelling each, of one key and kind."""

import hashlib
import re
import string
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatsvc.domain import keys
from chatsvc.domain.keys import MAIL, SITE, VISITOR

ALPHABET = string.digits + string.ascii_letters
# A key of the documented form, made here by hand: the format must not change under keys that are in use.
KNOWN = "csk_00000000000000000000000000000000"


def test_a_key_is_csk_with_32_random_and_6_checksum_characters() -> None:
    generated = {keys.generate() for _ in range(500)}
    assert len(generated) == 500
    for key in generated:
        assert re.fullmatch(r"csk_[0-9A-Za-z]{38}", key)
        assert keys.is_well_formed(key)
        assert keys.digest(key) == hashlib.sha256(key.encode()).digest()
    assert keys.SHOWN == 10


def test_the_random_characters_are_even() -> None:
    """A byte modulo 62 would give 8 of the characters a quarter more."""
    drawn = Counter("".join(keys.generate()[4:36] for _ in range(6_200)))  # 3,200 of each expected, with a deviation of 56
    assert len(drawn) == 62
    assert all(2_800 < count < 3_600 for count in drawn.values())


def test_the_checksum_is_the_crc_of_all_before_it_in_base_62() -> None:
    # CRC-32 bit by bit, then in base 62: digits first, capitals, small letters.
    crc = 0xFFFFFFFF
    for byte in KNOWN.encode():
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
    digits = "".join(alphabet[crc // 62**power % 62] for power in range(5, -1, -1))
    assert keys.is_well_formed(KNOWN + digits)


@settings(max_examples=25, deadline=None)
@given(st.builds(keys.generate))
def test_every_change_of_a_key_is_refused(key: str) -> None:
    for at in range(len(key)):
        for other in (*ALPHABET, "_", " ", "-", "ı", "٣", "\0"):
            if other != key[at]:
                assert not keys.is_well_formed(key[:at] + other + key[at + 1 :])
    for other in (key[:-1], key + "0", key + "\n", "\n" + key, " " + key, key + " ", key[4:], key.upper(), key * 2, ""):
        assert other == key or not keys.is_well_formed(other)


@given(st.text())
@example("\ud800")
def test_no_text_makes_the_check_fail(text: str) -> None:
    keys.digest(text)
    assert keys.is_well_formed(text) is False


@pytest.mark.parametrize("parts", [("a" * length,) for length in range(3)])
def test_a_token_has_one_spelling(parts: tuple[str, ...]) -> None:
    token = keys.sign_token("key", MAIL, *parts)
    assert keys.read_token("key", MAIL, token) == parts
    changed = {token[:at] + letter + token[at + 1 :] for at in range(len(token)) for letter in ("", ".", *ALPHABET, "-", "_")} - {token}
    longer = {token[:at] + letter + token[at:] for at in range(len(token) + 1) for letter in "=!. \n%A"}
    assert [text for text in changed | longer if keys.read_token("key", MAIL, text)] == []


def test_a_token_is_of_one_key_and_one_kind() -> None:
    token = keys.sign_token("key", MAIL, "a")
    for key, kind in (("other", MAIL), ("key", SITE), ("key", VISITOR)):
        assert keys.read_token(key, kind, token) is None
    for odd in ("", ".", "x", "\u00e4.b", f"{token}." * 99, token.upper()):
        assert keys.read_token("key", MAIL, odd) is None
