"""Texts: both languages, the same placeholders, each used and each there; refusals have all their codes."""

import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import chatsvc.dashboard
from chatsvc import translations
from chatsvc.dashboard import localization
from chatsvc.dashboard.wording import faults_of, sentence
from chatsvc.domain import refusals
from chatsvc.domain.operators import LANGUAGES
from chatsvc.domain.refusals import CODES, Refused
from chatsvc.services.administration import OPERATIONS, Effect

ROOT = Path(chatsvc.dashboard.__file__).parent
SOURCES = {path: path.read_text("utf-8") for pattern in ("**/*.py", "**/*.html") for path in ROOT.glob(pattern)}
# Keys that code makes of codes and names: refusals, names of fields, notices.
HOLLOW = {"field": "forms.quote.fields.1.name", "code": "field_without_name", "facts": {}}
MADE = ("acts.", "countries.", "languages.", "targets.", "refusals.", "fields.", "roles.", "errors.title_", "errors.text_", "file_words.")
# Sections of other parts than pages.
ELSEWHERE = (
    *("changes", "causes", "commands", "bot_file_faults", "bot_file_words", "file_faults", "mail_texts", "opening_hours"),
    *("problems", "site_facts", "team_notices", "test_reasons", "weak_spots"),
)


def templates(key: str, language: str) -> list[str]:
    """The templates of a text: one, or singular and plural."""
    entry = translations.texts()[key][language]
    return [entry] if isinstance(entry, str) else list(entry.values())


def placeholders(template: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def literals() -> Iterator[str]:
    """Yield string literals of code and templates that look like translation keys or their prefixes."""
    sections = {key.partition(".")[0] for key in translations.texts()}
    for text in SOURCES.values():
        for name in re.findall(r"""["']([a-z_]+\.[A-Za-z0-9_]*)["'{]""", text):
            if name.partition(".")[0] in sections:
                yield name


LITERALS = set(literals())


def is_complete(key: str) -> bool:
    """Whether a text is there in both languages with the same placeholders."""
    if key.startswith("commands."):
        return translations.texts()[key].keys() == {"cli"}
    if translations.texts()[key].keys() - {"cli", "remedy"} != set(LANGUAGES):
        return False
    written = [template for language in LANGUAGES for template in templates(key, language)]
    # A sentence about a single thing need not say the number ("asked once").
    left_out = {"count"} if any(isinstance(translations.texts()[key][language], dict) for language in LANGUAGES) else set()
    return (
        all(template.strip() for template in written) and len({frozenset(placeholders(template) - left_out) for template in written}) == 1
    )


def test_a_text_is_there_in_both_languages_with_the_same_placeholders() -> None:
    assert [key for key in translations.texts() if not is_complete(key)] == []


def test_every_text_is_used_and_every_text_that_is_used_is_there() -> None:
    known, beginnings = translations.texts().keys(), tuple(literal for literal in LITERALS if literal.endswith(("_", ".")))
    notices = {f"done.{name}" for text in SOURCES.values() for name in re.findall(r'done="(\w+)"', text)}
    general = {"done.saved", "done.created", "done.removed", "done.sent"}
    pages = [key for key in known if key.partition(".")[0] not in ELSEWHERE]
    assert [key for key in pages if key not in LITERALS | notices | general and not key.startswith((*MADE, *beginnings))] == []
    used = {key for text in SOURCES.values() for key in re.findall(r"""\b(?:t|text)\(["']([a-z_]+\.[a-z0-9_]+)["'][,)]""", text)}
    assert used
    assert (used | notices) - known == set()


def test_every_refusal_has_its_sentence_and_its_facts() -> None:
    written = {key.removeprefix("refusals.") for key in translations.texts() if key.startswith("refusals.")} - {"none"}
    assert written == CODES.keys()
    for code, row in CODES.items():
        for language in LANGUAGES:
            assert all(placeholders(template) <= set(row.facts) for template in templates(f"refusals.{code}", language)), code


@pytest.mark.parametrize("value", ["x", 7, None, ["a", "b"]])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_is_worded_with_any_facts(language: str, value: object) -> None:
    for code in CODES:
        assert sentence(language, Refused(code, **dict.fromkeys(CODES[code].facts, value))), code


def test_refusals_name_fields_and_roles_in_the_readers_language() -> None:
    assert sentence("tr", refusals.text_empty(field="bot.name")) == "Bot adı: bu alanı doldurun."
    assert sentence("en", refusals.forbidden(operation="key.create", role="owner")).endswith("It takes the role owner.")
    assert sentence("tr", refusals.role_missing(roles=["reader", "owner"])) == "Bir rol seçin: izleyici, sahip."
    several = refusals.Faults()
    for wrong in (refusals.text_empty(field="bot.name"), refusals.bot_settings_invalid(faults=[HOLLOW])):
        with several:
            raise wrong
    with pytest.raises(Refused) as refused:
        several.refuse()
    hollow = "Formlar › quote › fields › 2 › name: her alanın bir adı olmalı"
    assert faults_of("tr", refused.value) == {"name": "Bot adı: bu alanı doldurun.", "name_1": hollow}
    assert sentence("tr", refused.value) == f"Bot adı: bu alanı doldurun.\nBazı alanlar doğru değil:\n{hollow}"
    assert sentence("en", Refused("of_a_newer_version")) == localization.text("en", "refusals.unexpected_fault")


def test_every_recorded_operation_has_its_name() -> None:
    recorded = {
        name.replace(".", "_") for name, operation in OPERATIONS.items() if operation.effect in (Effect.CHANGE, Effect.EXPORT, Effect.ENTER)
    }
    assert {key.removeprefix("acts.") for key in translations.texts() if key.startswith("acts.")} == recorded


@pytest.mark.parametrize(("language", "key"), [("de", "login.title"), ("en", "login.nothing")])
def test_an_unknown_language_or_key_is_an_error(language: str, key: str) -> None:
    with pytest.raises(KeyError):
        localization.text(language, key)


INSTANT = 1_795_176_868_123  # 2026-11-20T12:14:28.123Z


def test_numbers_amounts_and_dates_are_those_of_the_language() -> None:
    assert [localization.number(1234.5, language, 2) for language in LANGUAGES] == ["1.234,50", "1,234.50"]
    assert [localization.percent(0.456, language, 1) for language in LANGUAGES] == ["%45,6", "45.6%"]
    assert [localization.money(amount, "en") for amount in (0, 12_300_000, 4_200, 7)] == ["$0.00", "$12.30", "$0.0042", "$0.000007"]
    assert [localization.size(size, "en") for size in (5, 1500, 1_500_000, 250_000_000)] == ["5 B", "1.5 KB", "1.5 MB", "250 MB"]
    assert localization.size(3 * 10**15, "tr") == "3.000 TB"
    assert [localization.date_and_time(INSTANT, language, "Europe/Istanbul") for language in LANGUAGES] == [
        "20 Kasım 2026 15:14",
        "20 November 2026 15:14",
    ]
    assert [localization.weekday(INSTANT, language) for language in LANGUAGES] == ["Cuma", "Friday"]
