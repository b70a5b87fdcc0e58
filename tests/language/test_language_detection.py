"""Which language a line is in: seven languages in short lines, silence where nothing shows, and bounds on what it may cost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from chatsvc.language import language_detection as detection
from chatsvc.language.language_detection import guess
from tests.language.language_lines import LINES, SILENT
from tests.speed import within

HELD_OUT = Path(__file__).parents[1] / "answers" / "languages.tsv"
FLOORS = dict.fromkeys(LINES, 0.95) | {"tr-ascii": 0.9}


def share(language: str, lines: list[str]) -> float:
    """Share of the lines whose language is detected right."""
    return sum(guess(line) == language.partition("-")[0] for line in lines) / len(lines)


@pytest.mark.parametrize("language", LINES)
def test_short_lines_show_their_language(language: str) -> None:
    assert len(LINES[language]) >= 60
    missed = [(line, guess(line)) for line in LINES[language] if guess(line) != language.partition("-")[0]]
    assert share(language, LINES[language]) >= FLOORS[language], missed


@pytest.mark.parametrize("language", LINES)
def test_lines_that_nobody_tuned_for_show_it_too(language: str) -> None:
    pairs = (line.split("\t", 1) for line in HELD_OUT.read_text(encoding="utf-8").splitlines() if "\t" in line)
    lines = [line for tag, line in pairs if tag == language]
    assert len(lines) >= 50
    assert share(language, lines) >= FLOORS[language]


@pytest.mark.parametrize("text", ["", *SILENT])
def test_what_shows_no_language_is_not_guessed(text: str) -> None:
    assert guess(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "quanto costa la spedizione",
        "quanto custa a entrega",
        "hoeveel kost de levering",
        "ile kosztuje dostawa",
        "hur mycket kostar frakten på",
        "salam, çatdırılma necəyədir",
        "скільки коштує доставка",
        "قیمت ارسال چقدر است چه روزی",
    ],
)
def test_a_language_of_none_of_the_seven_is_not_guessed(text: str) -> None:
    assert guess(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("MERHABA YARIN AÇIK MISINIZ", "tr"),
        ("FİYATLAR NEDİR", "tr"),
        ("WIE VIEL KOSTET DAS", "de"),
        ("evet?", "tr"),
        ("slm fiyat alabilir miyim", "tr"),
        ("thx", "en"),
        ("https://example.com/the/way/you/want bu linkteki ürün var mı", "tr"),
        ("info@example.com adresine yazdım", "tr"),
        ("Hallo, ich heiße Ayşe Yılmaz", "de"),
        ("my name is Günter Weber", "en"),
        ("zürich'e kargo var mı", "tr"),
        ("где WhatsApp", "ru"),
        ("عندكم واي فاي", "ar"),
        ("¿wifi?", "es"),
    ],
)
def test_capitals_names_and_addresses_do_not_lead_astray(text: str, language: str) -> None:
    assert guess(text) == language


@pytest.mark.parametrize("unit", ["merhaba yarın açık mısınız ", "a ", "x", "🙂", "مرحبا ", "где ", "¿", "\u0130", "ﬃ", "\ud800", "a@"])
def test_a_message_of_any_length_costs_next_to_nothing(unit: str) -> None:
    detection.load()
    long = unit * (100_000 // len(unit))
    assert within(0.05, partial(guess, long))


def test_every_word_of_the_list_is_one_that_a_message_may_hold() -> None:
    models = detection.load()
    assert set(models) >= {"tr", "en", "de", "fr", "es"}
    for language, model in models.items():
        wrong = [word for word in model.words if word != word.lower() or not word.isalpha()]
        assert not wrong, language
