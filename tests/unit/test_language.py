"""Language tags, as the interface takes them."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.folding import is_tag, primary
from tests.speed import within


@pytest.mark.parametrize(
    "tag",
    [
        "tr", "en", "en-GB", "EN-gb", "zh-Hant-TW", "sr-Latn", "es-419", "de-CH-1901", "sl-rozaj-biske", "hy-Latn-IT-arevela", "fil",
        "zh-cmn-Hans-CN", "de-1996-u-co-phonebk", "en-a-bbb-x-a-ccc", "ar-u-nu-latn", "en-x-own", "tlhingan",
        "en-x" + "-abcdefgh" * 13 + "-abcdef",
    ],
)  # fmt: skip
def test_a_well_formed_tag_is_taken(tag: str) -> None:
    assert is_tag(tag)
    assert primary(tag) == tag.lower().split("-")[0]


@pytest.mark.parametrize(
    "text",
    [
        "", "t", "turkish language", "tr_TR", "tr-", "-tr", "tr--TR", "en-GB ", " en", "en\n", "en-GB\n", "١٢", "tü", "en-ı", "123", "en-é",
        "en-a", "en-x", "a-DE", "de-419-DE-FR", "abcdefghi", "en-toolongsubtag", "en,de", "*", "en;q=1", "\0\0", "e" * 200,
        "en-x" + "-abcdefgh" * 13 + "-abcdefg",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    assert not is_tag(text)


@given(st.text())
def test_what_is_taken_is_ascii_without_white_space(text: str) -> None:
    if is_tag(text):
        assert text.isascii()
        assert not any(character.isspace() for character in text)


def test_no_text_keeps_the_check_busy() -> None:
    for text in ("a-" * 64, "en-" + "a-" * 62, "en" + "-abc" * 31, "en" + "-1abc" * 25 + "!", "en-x" + "-a" * 62 + "!", "a" * 1_000_000):
        assert within(0.05, partial(is_tag, text))
