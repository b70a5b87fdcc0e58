"""Which language a line is in: seven languages in short lines, silence where nothing shows, and bounds on what it may cost."""

from functools import partial

import pytest

from chatsvc.language import language_detection as detection
from chatsvc.language.language_detection import guess
from tests.language.test_values import ANSWERS, HERE, table
from tests.speed import within

LINES = table(HERE / "lines.tsv")  # none is in the detector's word lists; "-" before those that show none of its languages
HELD_OUT = [row for row in table(ANSWERS / "languages.tsv") if len(row) == 2]
LANGUAGES = sorted({tag for tag, _ in LINES} - {"-"})


@pytest.mark.parametrize("lines", [LINES, HELD_OUT], ids=["own", "that nobody tuned for"])
@pytest.mark.parametrize("tag", LANGUAGES)
def test_short_lines_show_their_language(tag: str, lines: list[list[str]]) -> None:
    guessed = [guess(line) for language, line in lines if language == tag]
    assert len(guessed) >= 50
    assert guessed.count(tag[:2]) / len(guessed) >= (0.9 if tag == "tr-ascii" else 0.95)


@pytest.mark.parametrize("text", ["", *(line for tag, line in LINES if tag == "-")])
def test_what_shows_no_language_is_not_guessed(text: str) -> None:
    assert guess(text) is None


@pytest.mark.parametrize(("language", "text"), table(HERE / "misleading_lines.tsv"))
def test_capitals_names_and_addresses_do_not_lead_astray(language: str, text: str) -> None:
    assert guess(text) == language


@pytest.mark.parametrize("unit", ["merhaba yarın açık mısınız ", "a ", "x", "🙂", "مرحبا ", "где ", "¿", "\u0130", "ﬃ", "\ud800", "a@"])
def test_a_message_of_any_length_costs_next_to_nothing(unit: str) -> None:
    detection.load()
    long = unit * (100_000 // len(unit))
    assert within(0.05, partial(guess, long))


def test_every_word_of_the_list_is_one_that_a_message_may_hold() -> None:
    models = detection.load()
    assert set(models) >= {"tr", "en", "de", "fr", "es"}
    words = [word for model in models.values() for word in model.words]
    assert [word for word in words if word != word.lower() or not word.isalpha()] == []
