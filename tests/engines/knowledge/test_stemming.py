"""Folding, tokenising, stems, spelling, the lexicon and the guess of the language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.language.edits import distance
from chatsvc.language.folding import MAX_WORDS, fold, words
from chatsvc.language.language_detection import guess
from tests.engines.knowledge.questions import ENGLISH, FOREIGN_ENGLISH, FOREIGN_TURKISH, TURKISH

# any text at all, lone surrogates included
ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("İstanbul'da IŞIK ılık", ["istanbul", "isik", "ilik"]),
        ("Ankara’ya nasıl giderim?", ["ankara", "nasil", "giderim"]),
        ("çöğüşı ÇÖĞÜŞİ", ["cogusi", "cogusi"]),
        ("I don't know what's up, I'm lost", ["i", "dont", "know", "what", "up", "i", "lost"]),
        ("e-mail@example.com", ["e", "mail", "example", "com"]),
        ("i\u0307ptal I\u0307PTAL", ["iptal", "iptal"]),
        ("café ﬁyat Straße", ["cafe", "fiyat", "strasse"]),
        ("🙂👍🏽 ... ---", []),
        ("saat 09:30", ["saat", "09", "30"]),
        ("", []),
    ],
)
def test_words_are_folded_and_cut(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_every_way_to_write_i_is_one_letter() -> None:
    assert {fold(letter) for letter in ("i", "I", "ı", "İ", "í", "î")} == {"i"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("saatleri", "saatleriniz"),
        ("fiyatlar", "fiyati"),
        ("rezervasyonumu", "rezervasyonunu"),
        ("booking", "booked"),
        ("deliveries", "delivery"),
        ("shipping", "ship"),
        ("otelimizde", "otelinizden"),
    ],
)
def test_inflected_forms_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_short_words_and_numbers_keep_their_form() -> None:
    assert [stem(word) for word in ("iade", "acik", "2026", "100000")] == ["iade", "acik", "2026", "100000"]


@given(ANY_TEXT)
def test_any_text_gives_words_without_case_marks_or_blanks(text: str) -> None:
    found = words(text)
    assert all(word and word.isalnum() and len(word) <= 40 for word in found)
    assert words(" ".join(found)) == found[:MAX_WORDS]
    assert all(stem(word) for word in found)


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text("abcçdeğıişü", min_size=1, max_size=20))
def test_a_word_typed_without_turkish_letters_is_the_same_word(word: str) -> None:
    plain = word.translate(str.maketrans("çğışü", "cgisu"))
    assert words(word) == words(plain) == words(word.upper().replace("I", "ı"))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("delievry", "delivery"), ("rezarvasyon", "rezervasyon"), ("kapanis", None), ("wfi", None), ("randevulasmak", "randevu")],
)
def test_the_speller_reads_a_slip_and_leaves_the_rest(typed: str, meant: str | None) -> None:
    assert Speller(["delivery", "rezervasyon", "randevu", "wifi", "1234"]).nearest(typed) == meant


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_distance_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert distance(one, other, 9) == distance(other, one, 9)
    assert (distance(one, other, 9) == 0) == (one == other)
    assert distance(one, other, 9) <= max(len(one), len(other))


def test_a_swap_of_neighbours_is_one_slip() -> None:
    assert distance("kargo", "kagro", 2) == 1


def test_the_lexicon_has_many_concepts_each_named_once() -> None:
    names = lexicon.names()
    assert len(names) >= 400
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("turkish", "english", "concept"),
    [
        ("kaça kadar açıksınız", "what are your opening hours", "hours"),
        ("kredi kartı geçiyor mu", "do you take credit cards", "card"),
        ("iade edebilir miyim", "can I return it", "return"),
        ("köpeğimi getirebilir miyim köpek", "are dogs allowed", "pets"),
        ("tekerlekli sandalye", "is it wheelchair accessible", "wheelchair"),
        ("randevumu iptal etmek istiyorum", "I have to cancel my appointment", "cancel"),
        ("arabamı nereye park edebilirim", "where can I park", "parking"),
        ("glütensiz ürün var mı", "is it gluten free", "allergy"),
        ("siparişim nerede kaldı", "track my order", "order_status"),
        ("hediye kartı", "gift cards", "gift_card"),
        ("bu iş bana kaça patlar", "what would that set me back", "price"),
        ("bölerek ödeyebilir miyim", "can I spread the cost", "instalment"),
        ("kartımdan iki kez çekilmiş", "you charged me twice", "overcharged"),
        ("arabasız nasıl gelirim", "is there a tube stop near you", "transport"),
        ("biri beni geri arasın", "could someone call me back", "call_me"),
        ("evde yokken gelirse", "what if nobody's home", "delivery_missed"),
        ("içinden bir parça çıkmadı", "there is a part missing", "missing_item"),
        ("doğrulama kodu gelmiyor", "I never got the verification code", "two_factor"),
        ("üyeliğimi dondurmak istiyorum", "can I put it on hold", "freeze"),
        ("randevusuz gelsem olur mu", "can I just turn up", "walk_in"),
        ("kendi pastamızı getirebilir miyiz", "may we bring our own cake", "bring_own"),
        ("kırarsam kim öder", "what if I break it, who pays", "liability"),
    ],
)
def test_both_languages_lead_to_the_same_concept(turkish: str, english: str, concept: str) -> None:
    for text in (turkish, english):
        assert concept in {match.concept for match in lexicon.find(words(text))}


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("kolay gelsin", "easy"),
        ("geçen hafta", "evening"),
        ("insan", "build"),
        ("teklif", "alone"),
        ("akşam", "spare_parts"),
        ("açıldı", "urgent"),
        ("I have even more", "evening"),
        ("the plan of the police", "insurance"),
        ("career", "solution"),
    ],
)
def test_a_word_that_only_begins_like_another_is_not_taken_for_it(text: str, concept: str) -> None:
    assert concept not in {match.concept for match in lexicon.find(words(text))}


def test_the_language_of_a_question_is_guessed() -> None:
    turkish = [question for question, _ in TURKISH] + FOREIGN_TURKISH
    english = [question for question, _ in ENGLISH] + FOREIGN_ENGLISH
    assert [guess(question) for question in turkish] == ["tr"] * len(turkish)
    assert [guess(question) for question in english] == ["en"] * len(english)


def test_turkish_typed_without_its_letters_is_turkish() -> None:
    guesses = [guess(fold(question)) for question, _ in TURKISH]
    assert guesses.count("tr") >= 0.95 * len(guesses)
    assert "en" not in guesses
