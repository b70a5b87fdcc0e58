"""The words of the trades: what customers say in a fix and what a business calls it lead to the same concept."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from chatsvc.engines.knowledge.search import lexicon
from chatsvc.language.folding import fold, words

FILES = sorted(
    resources.files("chatsvc.engines.knowledge.search").joinpath("vocabulary").iterdir(),
    key=lambda file: file.name,
)
LINES = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def concepts(text: str) -> set[str]:
    return {match.concept for match in lexicon.find(words(text))}


def test_every_line_names_a_concept_and_every_word_of_it_can_be_met() -> None:
    assert {line.partition(":")[0] for line in LINES} == set(lexicon.names())
    for line in LINES:
        name, _, members = line.partition(":")
        found = [member for member in fold(members).split() if member != "|"]
        assert re.fullmatch("[a-z][a-z0-9_]*", name), line
        assert found, line
        for member in found:
            *before, last = member.split("_")
            assert all(re.fullmatch("[a-z0-9-]+", part) for part in before), (name, member)
            assert re.fullmatch(r"[a-z0-9-]+\*?", last), (name, member)
            assert before or not last.endswith("*") or len(last) > 3, (name, member)


@pytest.mark.parametrize(
    ("said", "called", "concept"),
    [
        ("my tooth is wobbling", "sallanan diş", "tooth_loose"),
        ("dişçiden çok korkuyorum", "are you good with nervous patients", "dentist_fear"),
        ("tahlile aç karnına mı geleceğim", "fasting before a blood test", "fasting"),
        ("gözlüğümün sapı kırıldı", "frame repair", "glasses_repair"),
        ("köpeğim yemek yemiyor", "loss of appetite", "pet_not_eating"),
        ("kedim kaşınıp duruyor", "fleas and ticks", "parasites"),
        ("water is dripping from the ceiling", "su kaçağı tespiti", "water_leak"),
        ("lavabo tıkandı", "drain cleaning", "blocked_drain"),
        ("sigorta sürekli atıyor", "the breaker keeps tripping", "power_cut"),
        ("anahtarı içeride unuttum kapıda kaldım", "I am locked out", "locksmith"),
        ("arabam çalışmıyor", "my car won't start", "wont_start"),
        ("panelde sarı bir ışık yandı", "the check engine light", "warning_light"),
        ("yolda kaldık", "roadside assistance", "breakdown"),
        ("pantolonun paçası uzun", "hemming", "alterations"),
        ("gömleğime şarap döküldü lekesi çıkar mı", "stain removal", "stain"),
        ("yüzüğüm dar geliyor parmağımdan çıkmıyor", "ring resizing", "ring_size"),
        ("telefonumu denize düşürdüm", "water damage", "water_damage_device"),
        ("şarjı hemen bitiyor", "battery replacement", "phone_battery"),
        ("eşimden ayrılmak istiyorum", "divorce", "divorce"),
        ("patronum beni işten çıkardı", "unfair dismissal", "employment_law"),
        ("internet sürekli kopuyor", "the connection drops", "internet_down"),
        ("yağmur yağarsa ne olur", "what if it rains", "rain_plan"),
        ("derse gelemezsem ne olur", "a missed lesson", "make_up_lesson"),
        ("gece yarısı varacağız", "we arrive at midnight", "late_arrival"),
        ("içinde fıstık var mı", "contains nuts", "allergy"),
        ("saçımı açtırmak istiyorum röfle", "highlights", "hair_colour"),
        ("hepsini bir kerede veremem, aya bölsek", "taksit yapıyor musunuz", "instalment"),
        ("hafta içi çalışıyorum, cmt olur mu", "hafta sonu açık mısınız", "weekend"),
        ("elemanım da girebilsin", "kullanıcı sayısı", "seats"),
        ("yeni eve taşınıyoruz nakliyat", "removals", "removals"),
        ("I finish work at six, is anybody still around", "opening hours", "hours"),
        ("could I spread it out over a few months", "payment in instalments", "instalment"),
        ("somewhere to put our car", "is there a car park", "parking"),
        ("I have two left feet", "classes for beginners", "beginner"),
        ("can you mind our dog while we're gone", "dog boarding", "pet_boarding"),
        ("what if my laptop dies", "are there backups", "backup"),
        ("somewhere for our bags until our flight", "luggage storage", "luggage_room"),
    ],
)
def test_what_customers_say_meets_what_the_trade_calls_it(said: str, called: str, concept: str) -> None:
    assert concept in concepts(said)
    assert concept in concepts(called)


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("18 yaş altında olanlar", "jewellery"),
        ("dışarıda bekliyorum", "teeth"),
        ("dışında", "teeth"),
        ("para", "parasites"),
        ("what do I need", "anaesthetic"),
        ("you should come", "joint_pain"),
        ("a small village", "bungalow"),
        ("no smoking", "evening_dress"),
        ("Beşiktaş", "bed"),
        ("kalorifer", "sugar_free"),
        ("ud çalınan bir akşam", "stolen"),
        ("eşim de gelecek", "mobile_plan"),
        ("siparişim gelmedi", "children"),
        ("yumurtalıklarını aldırmak", "cheese"),
        ("sınırsız kullanım", "complaint"),
        ("a suitable day", "room"),
        ("nisan", "wedding"),
        ("is the damage covered", "dentures"),
        ("my customer number", "customs"),
        ("saatiniz", "watch"),
        ("how do I get a slot", "directions"),
        ("my kid is ill", "pet_ill"),
        ("what can be done", "ready"),
        ("yardım", "outdoor"),
        ("I would like to talk to a person", "integration"),
    ],
)
def test_words_that_only_begin_alike_stay_apart(text: str, concept: str) -> None:
    assert concept in lexicon.names()
    assert concept not in concepts(text)
