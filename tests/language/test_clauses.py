"""Clauses of a message."""

from __future__ import annotations

from itertools import pairwise

import pytest

from chatsvc.language import clauses


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
        ("en", "hi, how much is a double room and is breakfast included?", ["hi", "how much is a double room", "is breakfast included?"]),
        ("en", "cancel my appointment on friday and book me for monday", ["cancel my appointment on friday", "book me for monday"]),
        ("en", "my boiler is leaking, can someone come today?", ["my boiler is leaking", "can someone come today?"]),
        ("en", "the soup was cold, nobody came and the waiter was rude", ["the soup was cold, nobody came and the waiter was rude"]),
        ("en", "thanks! bye", ["thanks!", "bye"]),
        ("en", "do you have rooms with a bath and a balcony", ["do you have rooms with a bath and a balcony"]),
        ("en", "how much is cleaning for a dog, a cat and a rabbit", ["how much is cleaning for a dog, a cat and a rabbit"]),
        ("en", "from 4 to 6 December, two of us, Ann Lee, 07700 900123", ["from 4 to 6 December, two of us, Ann Lee, 07700 900123"]),
        ("tr", "merhaba, fiyat ne kadar", ["merhaba", "fiyat ne kadar"]),
        ("tr", "kaça kadar açıksınız bir de otopark var mı", ["kaça kadar açıksınız", "otopark var mı"]),
        ("tr", "kaca kadar aciksiniz ayrica otopark var mi", ["kaca kadar aciksiniz", "otopark var mi"]),
        ("tr", "köpeğim, kedim ve kuşum için fiyat ne kadar", ["köpeğim, kedim ve kuşum için fiyat ne kadar"]),
        ("tr", "bugün açık mısınız otopark var mı", ["bugün açık mısınız", "otopark var mı"]),
        ("tr", "randevu alabilir miyim yarın için", ["randevu alabilir miyim yarın için"]),
        ("tr", "2,5 saat sürer mi", ["2,5 saat sürer mi"]),
        ("tr", "Dr. Ayşe 12.30 da müsait mi", ["Dr. Ayşe 12.30 da müsait mi"]),
        ("tr", "fiyat ne kadar\nadres neresi", ["fiyat ne kadar", "adres neresi"]),
        ("", "hi, how much? ok 🙂 !", ["hi, how much?", "ok 🙂 !"]),
        ("en", "", []),
        ("en", "  \n ", []),
        ("en", "...", ["..."]),
        ("en", " - ", ["-"]),
    ],
)
def test_a_message_is_cut_where_parts_stand_for_themselves(language: str, text: str, parts: list[str]) -> None:
    told = clauses.split(text, language)
    assert [one.text for one in told] == parts
    assert [text[one.start : one.end] for one in told] == parts


@pytest.mark.parametrize("text", ["what is it? " * 500, "how much is it and " * 500, "a. " * 5_000, "a\n" * 5_000])
def test_a_message_has_at_most_eight_clauses(text: str) -> None:
    told = clauses.split(text, "en")
    assert len(told) <= clauses.MOST
    assert told[-1].end == len(text.rstrip())
    assert all(one.end <= next_.start for one, next_ in pairwise(told))
