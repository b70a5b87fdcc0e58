"""A bot as one YAML file: export, apply and compare the file, or change single settings. Also lists the default sentences."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from functools import partial
from typing import Any, NamedTuple

from chatsvc.domain import opening_hours, profiles, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import Form, Profile, values_of_form
from chatsvc.language import catalogue
from chatsvc.services.accounts import bots
from chatsvc.services.accounts.bot_file_reader import NUMBERS, SETTINGS, BotFileReader, values_of
from chatsvc.services.services import Services


async def take_out(_: Services, __: Caller, *, bot: Bot) -> str:
    """Return the bot as YAML in the form that `apply` reads."""
    return "\n".join(_written(bot)) + "\n"


def _written(bot: Bot) -> list[str]:
    settings: dict[str, object] = {name: getattr(bot, name) or "" for name in SETTINGS}
    settings |= {"fallback": bot.fallback or "none", "ask_back": bot.ask_back is not False, "hand_off": bot.hand_off}
    settings |= {name: getattr(bot, name) for name in NUMBERS}
    return list(_lines({**settings, **profiles.values_of(profiles.load(bot.profile))}))


def _lines(value: object, indent: str = "") -> Iterable[str]:
    """Yield the lines of a value in block style. Scalars are JSON, which YAML reads."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                yield f"{indent}{key}:"
                yield from _lines(item, indent + "  ")
            else:
                yield f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}"
    elif isinstance(value, list):
        for item in value:
            first, *others = _lines(item, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from others
    else:
        yield indent + json.dumps(value, ensure_ascii=False)


class DefaultSentence(NamedTuple):
    """A default sentence of bots, with its text in each language and the names of its placeholders."""

    name: str
    texts: Mapping[str, str]
    placeholders: Sequence[str]


def default_sentences() -> list[DefaultSentence]:
    """List the default sentences of bots, in the order of the file that contains the sentences."""
    return [DefaultSentence(name, catalogue.sentences(name), sorted(catalogue.placeholders(name) or ())) for name in catalogue.names()]


class SampleQuestion(NamedTuple):
    """A sentence that the bot says while a visitor fills in a form, with the choices that it offers."""

    text: str
    choices: Sequence[str] = ()


def sample_questions(bot: Bot, kind: str, form: Form, language: str, now: datetime) -> list[SampleQuestion]:
    """Return the sentences that the bot says from the opening to the end of `form`. `kind` is the kind of request."""
    from chatsvc.engines.knowledge.forms import RequestForm
    from chatsvc.engines.knowledge.state import RequestDraft

    words = catalogue.of_bot(bot, language)
    shown = RequestForm(RequestDraft(kind), bot, words, now, own=form)
    asked = [SampleQuestion(shown.question(field), field.choices()) for field in shown.fields]
    done = words.first(f"done.{kind}", "done")
    return [SampleQuestion(words(f"open.{kind}")), *asked, SampleQuestion(done)]


async def apply(services: Services, _: Caller, *, bot: Bot, file: str, text: str, test: bool = False) -> Bot:
    """Apply a file to a bot. Parts that the file does not contain are not changed.

    Raises `bot_file_invalid` with line and column of all faults. If `test` is true, the bot's tests are run first, with the settings and
    tests of the file; raises `bot_tests_failed`.
    """
    parts, differing = await _read(services, bot, file, text)
    if test:
        from chatsvc.services.knowledge import bot_tests

        changed = bot._replace(**differing)
        index = await services.knowledge.of(changed)
        outcomes = await services.offload(lambda: bot_tests.outcomes(changed, index, services.clock()))
        if failed := [{"ask": outcome.ask, "why": reasons(outcome)} for outcome in outcomes if not outcome.passed]:
            raise refusals.bot_tests_failed(outcomes=failed)
    if not differing:
        return bot

    def changes(current: Bot) -> dict[str, Any]:
        # If the same file was applied meanwhile, write the present values once more.
        return differing_of(current, parts) or {name: getattr(current, name) for name in differing}

    return await bots.update(services, bot, changes)


class BotDifferences(NamedTuple):
    """Changes to a bot's file, as lines. A line begins with "-" (removed), "+" (added) or " " (unchanged, for context)."""

    lines: list[str]


async def compare(services: Services, _: Caller, *, bot: Bot, file: str, text: str) -> BotDifferences:
    """Return the changes that `apply` would make, without making them. Raises `bot_file_invalid`."""
    after = bot._replace(**(await _read(services, bot, file, text))[1])
    lines = await services.threads.run(lambda: list(unified_diff(_written(bot), _written(after), n=2, lineterm="")), bot.account_id)
    return BotDifferences([line for line in lines[2:] if not line.startswith("@@")])


async def _read(services: Services, bot: Bot, file: str, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of a file, and the columns of the bot that these parts would change. Raises `bot_file_invalid`."""
    reader = BotFileReader(services.config.models)

    def read() -> tuple[dict[str, Any], dict[str, Any]]:
        parts = reader.read_text(text)
        return parts, {} if reader.faults else differing_of(bot, parts)

    # In a thread: a long file with many faults takes a second.
    both = await services.threads.run(read, bot.account_id)
    if reader.faults:
        raise refusals.bot_file_invalid(file=file, faults=[fault._asdict() for fault in reader.in_order()])
    return both


def differing_of(bot: Bot, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a bot that the parts of a file would change, with the new values."""
    owned = {name: part for name, part in parts.items() if name in Profile._fields}
    columns = {name: part for name, part in parts.items() if name not in owned}
    if owned:
        columns["profile"] = profiles.load(bot.profile)._replace(**owned).dump()
    differing = {name: value for name, value in columns.items() if getattr(bot, name) != value}
    if bot.ask_back is None and differing.get("ask_back"):
        del differing["ask_back"]  # on is the default
    return differing


async def change(services: Services, _: Caller, *, bot: Bot, hours: dict[str, str] | None = None, **settings: Any) -> Bot:
    """Change the given settings of a bot.

    `closed`, `form_of_address`, `texts`, `forms`, `suggestions` and `tests` have the form of the bot's file. `hours` has opening hours of
    single days ("mon": "9-12, 13-18:30"), instead of `opening_hours`; other days do not change. A given form or sentence replaces the form
    or sentence with its name; an empty form or sentence restores the default. Raises `bot_settings_invalid` with the path of each wrong
    value, or `several` if other settings have faults too.
    """
    return await bots.update(services, bot, partial(changes_of, services, hours=hours, **settings))


def changes_of(services: Services, bot: Bot, hours: dict[str, str] | None = None, **settings: object) -> dict[str, Any]:
    """Return the columns that `change` writes. This function runs in the transaction, so that no concurrent change is lost."""
    faults, changes, given = refusals.Faults(), dict[str, Any](), dict[str, Any]()
    for part in Profile._fields:
        value = settings.pop(part, None)
        if value is not None:
            given[part] = value
    with faults:
        changes = bots.checked(services.config.models, settings)
    if hours is not None:
        with faults:
            try:
                week = opening_hours.of_days({**opening_hours.by_day(bot.opening_hours), **hours})
            except opening_hours.OpeningHoursError as fault:
                raise refusals.opening_hours_invalid(fault=fault.code, facts=fault.facts) from None
            changes |= bots.checked(services.config.models, {"opening_hours": week})
    if given:
        with faults:
            changes["profile"] = _profile(services, bot, given)
    faults.refuse()
    return changes


def _profile(services: Services, bot: Bot, given: dict[str, Any]) -> str | None:
    """Return a bot's profile in its stored form, with the `given` parts replaced; raises `bot_settings_invalid`."""
    before = profiles.load(bot.profile)
    texts, forms = given.get("texts"), given.get("forms")
    if texts is not None:
        given["texts"] = _merged(before.texts, texts)
    if forms is not None:
        current = {kind: values_of_form(kind, form) for kind, form in before.forms.items()}
        given["forms"] = {kind: form for kind, form in {**current, **forms}.items() if form}
    node, paths = values_of(given)
    reader = BotFileReader(services.config.models)
    parts = reader.read(node)
    if reader.faults:
        faults = [{"field": paths[fault.line], "code": fault.code, "facts": fault.facts} for fault in reader.in_order()]
        raise refusals.bot_settings_invalid(faults=faults)
    return before._replace(**parts).dump()


async def close(services: Services, _: Caller, *, bot: Bot, first: str, last: str = "", note: str = "") -> Bot:
    """Close the business from the day `first` to `last`, or for one day without `last`. Replace closed days that begin on `first`."""
    days = f"{first}..{last or first} {note}"
    return await bots.update(
        services, bot, lambda current: changes_of(services, current, closed=[days, *_closed_otherwise(current, first)])
    )


async def reopen(services: Services, _: Caller, *, bot: Bot, first: str) -> Bot:
    """Remove the closed days that begin on the day `first`."""
    return await bots.update(services, bot, lambda current: changes_of(services, current, closed=_closed_otherwise(current, first)))


def _closed_otherwise(bot: Bot, first: str) -> list[str]:
    """Return the closed days, except those that begin on the day `first`."""
    return [str(days) for days in profiles.load(bot.profile).closed if str(days.first) != first.strip()]


def _merged(before: Mapping[str, Mapping[str, str]], texts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the sentences `before`, with those of `texts` added or replaced. Empty sentences are left out."""
    merged = {name: {**before.get(name, {}), **texts.get(name, {})} for name in {**before, **texts}}
    written = {name: {language: text for language, text in sentences.items() if text.strip()} for name, sentences in merged.items()}
    return {name: sentences for name, sentences in written.items() if sentences}
