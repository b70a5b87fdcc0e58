"""Faults of a bot's file (DECISIONS.md section 9). Codes with facts, and their sentences in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatsvc.domain import opening_hours
from chatsvc.domain.wording import Sentence, worded

SENTENCES: dict[str, Sentence] = {
    "file_too_long": Sentence(en="has more than {most} characters", tr="{most} karakterden uzun"),
    "no_yaml": Sentence(en="{fault}", tr="bu YAML olarak okunamıyor ({fault})"),
    "part_unknown": Sentence(
        en="{part!r} is no part of {whole}; there are {known}", tr="“{part}” {whole} içinde yer almaz; olabilecekler: {known}"
    ),
    "twice": Sentence(en="{part!r} is given twice", tr="“{part}” iki kez verilmiş"),
    "no_names": Sentence(en="expected names and values", tr="adlar ve değerler bekleniyordu"),
    "no_list": Sentence(en="expected a list", tr="bir liste bekleniyordu"),
    "no_text": Sentence(en="expected a text", tr="bir metin bekleniyordu"),
    "text_too_long": Sentence(en="expected at most {most} characters", tr="en çok {most} karakter olabilir"),
    "none_of": Sentence(en="{value!r} is none of {known}", tr="“{value}” şunlardan biri değil: {known}"),
    "setting_invalid": Sentence(en="{setting} cannot be this ({reason})", tr="{setting} böyle olamaz ({reason})"),
    "no_switch": Sentence(en="expected true or false", tr="true ya da false bekleniyordu"),
    "no_day": Sentence(
        en="expected a day such as 2026-12-31, or days such as 2027-01-01..2027-01-15, and a name if you like",
        tr="2026-12-31 gibi bir gün ya da 2027-01-01..2027-01-15 gibi günler, istenirse ardından bir ad bekleniyordu",
    ),
    "too_many_days": Sentence(en="expected at most {most} days", tr="en çok {most} gün olabilir"),
    "too_many_suggestions": Sentence(en="expected at most {most} questions", tr="en çok {most} soru olabilir"),
    "too_many_tests": Sentence(en="expected at most {most} tests", tr="en çok {most} test olabilir"),
    "test_without_question": Sentence(en="a test needs a question (ask)", tr="her testin bir sorusu olmalı (ask)"),
    "test_without_expectation": Sentence(
        en="a test needs an entry, a text that the reply contains or lacks, or a decision",
        tr="bir testte yanıtlayan kayıt, yanıtta geçecek ya da geçmeyecek bir metin veya karar bulunmalı",
    ),
    "pattern_outside": Sentence(en="{pattern!r} leads out of the folder", tr="“{pattern}” klasörün dışına çıkıyor"),
    "pattern_without_file": Sentence(en="no file fits {pattern!r}", tr="“{pattern}” hiçbir dosyaya uymuyor"),
    "pattern_link": Sentence(en="{path} is a symbolic link; none is followed", tr="{path} bir sembolik bağ; bağlar izlenmez"),
    "name_twice": Sentence(en="{file} has the same name {name!r}", tr="{file} dosyasında da “{name}” adı var"),
    "name_of_several": Sentence(en="the account has several bots named {name!r}", tr="hesapta “{name}” adlı birden çok bot var"),
    "unprintable": Sentence(en="holds characters that cannot be shown", tr="gösterilemeyen karakterler içeriyor"),
    "sentence_unknown": Sentence(en="the dialogue has no sentence {name!r}", tr="botun “{name}” diye bir cümlesi yok"),
    "placeholders": Sentence(en="the placeholders of this sentence are {known}", tr="bu cümlenin yer tutucuları: {known}"),
    "too_many_fields": Sentence(en="expected at most {most} fields", tr="en çok {most} alan olabilir"),
    "fields_same_name": Sentence(en="two fields have one name", tr="iki alanın adı aynı"),
    "field_without_name": Sentence(en="a field needs a name", tr="her alanın bir adı olmalı"),
    "choices": Sentence(
        en="choices belong to a field of kind choice, and to no other",
        tr="seçenekler yalnızca “choice” türündeki alana verilir ve orada gereklidir",
    ),
}
WORDS = {
    "a bot's file": Sentence(en="a bot's file", tr="bot dosyası"),
    "a form": Sentence(en="a form", tr="form"),
    "a test": Sentence(en="a test", tr="test"),
    "a field": Sentence(en="a field", tr="alan"),
    "none": Sentence(en="none", tr="yok"),
}


def sentence(code: str, facts: Mapping[str, Any], language: str = "en") -> str:
    """Word a fault in "en" or "tr"."""
    values = {name: WORDS[value].of(language) if isinstance(value, str) and value in WORDS else value for name, value in facts.items()}
    if code == "setting_invalid":
        refusal, its_facts = facts["refusal"], facts["facts"]
        if refusal == "opening_hours_invalid":
            reason = opening_hours.sentence(its_facts["fault"], its_facts["facts"], language)
        else:
            reason = ", ".join(f"{key}: {value}" for key, value in its_facts.items())
        values = {"setting": facts["setting"], "reason": reason}
    return worded(SENTENCES, code, values, language)
