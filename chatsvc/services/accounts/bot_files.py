"""A bot as one YAML file: export, apply and compare it, or change single parts; the default sentences."""

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
from chatsvc.store import bots as stored


async def take_out(services: Services, caller: Caller, *, bot: str) -> str:
    """Return the bot as YAML, as `apply` reads it."""
    return "\n".join(_written(await bots.show(services, caller, bot=bot))) + "\n"


def _written(found: Bot) -> list[str]:
    profile = profiles.load(found.profile)
    settings: dict[str, object] = {name: getattr(found, name) or "" for name in SETTINGS}
    settings["fallback"] = found.fallback or "none"
    settings["ask_back"] = found.ask_back is not False
    settings |= {"hand_off": found.hand_off, **{name: getattr(found, name) for name in NUMBERS}}
    return list(_lines({**settings, **profiles.values_of(profile)}))


def _lines(value: object, indent: str = "") -> Iterable[str]:
    """Write a value in block style; scalars are JSON, which YAML reads."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(f"{indent}{key}:", item, indent + "  ")
    elif isinstance(value, list):
        for item in value:
            first, *others = _lines(item, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from others
    else:
        yield indent + json.dumps(value, ensure_ascii=False)


def _entry(head: str, item: object, indent: str) -> Iterable[str]:
    if isinstance(item, (dict, list)) and item:
        yield head
        yield from _lines(item, indent)
    else:
        yield f"{head} {json.dumps(item, ensure_ascii=False)}"


class DefaultSentence(NamedTuple):
    """A default sentence of the dialogue, by language, with the names of its placeholders."""

    name: str
    texts: Mapping[str, str]
    placeholders: Sequence[str]


def default_sentences() -> list[DefaultSentence]:
    """List the sentences of the dialogue, in the order of their file."""
    return [DefaultSentence(name, catalogue.sentences(name), sorted(catalogue.placeholders(name) or ())) for name in catalogue.names()]


class SampleQuestion(NamedTuple):
    """A sentence of the bot in a form, with the choices that it offers."""

    text: str
    choices: Sequence[str] = ()


def sample_questions(bot: Bot, kind: str, form: Form, language: str, now: datetime) -> list[SampleQuestion]:
    """Return what the bot says in a language until a form of a kind is filled in."""
    from chatsvc.engines.knowledge.forms import RequestForm
    from chatsvc.engines.knowledge.state import RequestDraft

    words = catalogue.of_bot(bot, language)
    shown = RequestForm(RequestDraft(kind), bot, words, now, own=form)
    asked = [SampleQuestion(shown.question(field), field.choices()) for field in shown.fields]
    done = words.first(f"done.{kind}", "done")
    return [SampleQuestion(words(f"open.{kind}")), *asked, SampleQuestion(done)]


async def apply(services: Services, caller: Caller, *, bot: str, file: str, text: str, test: bool = False) -> Bot:
    """Apply a file to a bot; what it does not name stays. Raises `bot_file_invalid` with all faults, each with line and column.

    With `test` the bot's tests run first, with its settings and tests as the file has them; raises `bot_tests_failed`.
    """
    state, found = await bots.resolve(services, caller, bot)
    differing = await _differing(services, found, file, text)
    if test:
        await _test(services, found._replace(**differing))
    if not differing:
        return found
    return state.update_bot(await stored.update(services.db, found, {**differing, "updated_at": services.clock()}))


async def _test(services: Services, bot: Bot) -> None:
    from chatsvc.services.knowledge import bot_tests

    index = await services.knowledge.of(bot)
    found = await services.offload(lambda: bot_tests.outcomes(bot, index, bot_tests.tests_of(bot), services.clock()))
    failed = [{"ask": one.ask, "why": reasons(one)} for one in found if not one.passed]
    if failed:
        raise refusals.bot_tests_failed(outcomes=failed)


class BotDifferences(NamedTuple):
    """Difference between a bot's file before and after. Lines begin with "-" (removed), "+" (added) or " " (beside these)."""

    lines: list[str]


async def compare(services: Services, caller: Caller, *, bot: str, file: str, text: str) -> BotDifferences:
    """Return what `apply` would change. Raises `bot_file_invalid` as it does."""
    _, found = await bots.resolve(services, caller, bot)
    after = found._replace(**await _differing(services, found, file, text))
    lines = await services.threads.run(lambda: list(unified_diff(_written(found), _written(after), n=2, lineterm="")), found.account_id)
    return BotDifferences([line for line in lines[2:] if not line.startswith("@@")])


async def _differing(services: Services, found: Bot, file: str, text: str) -> dict[str, Any]:
    reader = BotFileReader(services.config.models)
    # In a thread: a long file with many faults takes a second.
    changes = await services.threads.run(partial(reader.read_text, text, profiles.load(found.profile)), found.account_id)
    if reader.faults:
        raise refusals.bot_file_invalid(file=file, faults=[fault._asdict() for fault in reader.in_order()])
    return differing_of(found, changes)


def differing_of(found: Bot, changes: Mapping[str, object]) -> dict[str, Any]:
    """Return the columns of a file that a bot does not have yet."""
    differing = {name: value for name, value in changes.items() if getattr(found, name) != value}
    if found.ask_back is None and differing.get("ask_back"):
        del differing["ask_back"]  # on is the default
    return differing


async def change(
    services: Services,
    caller: Caller,
    *,
    bot: str,
    closed: list[str] | None = None,
    form_of_address: str | None = None,
    texts: dict[str, dict[str, str]] | None = None,
    forms: dict[str, object] | None = None,
    suggestions: list[str] | None = None,
    hours: dict[str, str] | None = None,
    tests: list[dict[str, object]] | None = None,
    **settings: object,
) -> Bot:
    """Change the given settings of a bot. Closed days, texts, forms, suggestions and tests as its file has them.

    `hours` are those of single days ("mon": "9-12, 13-18:30") in place of `opening_hours`; days that are not given stay as they are.
    Each form and each sentence given replaces the one of its name; an empty sentence or form restores the default. Raises
    `bot_settings_invalid` with the path of each value, and `several` where other settings have faults too.
    """
    owned = {
        "closed": closed,
        "form_of_address": form_of_address,
        "texts": texts,
        "forms": forms,
        "suggestions": suggestions,
        "tests": tests,
    }
    given = {name: value for name, value in owned.items() if value is not None}
    _, found = await bots.resolve(services, caller, bot)
    faults, profile = refusals.Faults(), None
    with faults:
        bots.checked(services.config.models, settings)
    if hours is not None:
        with faults:
            settings["opening_hours"] = _week(found, hours)
    if given:
        with faults:
            profile = _profile(services, found, given)
    faults.refuse()
    return await bots.change(services, caller, bot=bot, profile=profile, **settings)


def _profile(services: Services, found: Bot, given: dict[str, Any]) -> Profile:
    """Return a bot's profile with the given parts; raises `bot_settings_invalid`."""
    before = profiles.load(found.profile)
    texts, forms = given.get("texts"), given.get("forms")
    if texts is not None:
        given["texts"] = _merged(before.texts, texts)
    if forms is not None:
        kept = {kind: values_of_form(kind, form) for kind, form in before.forms.items()}
        given["forms"] = {kind: form for kind, form in {**kept, **forms}.items() if form}
    node, paths = values_of(given)
    reader = BotFileReader(services.config.models)
    changes = reader.read(node, before)
    if reader.faults:
        faults = [{"field": paths[one.line], "code": one.code, "facts": one.facts} for one in reader.in_order()]
        raise refusals.bot_settings_invalid(faults=faults)
    return profiles.load(changes["profile"])


def _week(bot: Bot, hours: Mapping[str, str]) -> str:
    """Return the opening hours with those of single days replaced."""
    try:
        return opening_hours.of_days({**opening_hours.by_day(bot.opening_hours or ""), **hours})
    except opening_hours.OpeningHoursError as fault:
        raise refusals.opening_hours_invalid(fault=fault.code, facts=fault.facts) from None


async def close(services: Services, caller: Caller, *, bot: str, first: str, last: str = "", note: str = "") -> Bot:
    """Add days on which the business is closed, in place of those that begin on the same day. Without `last` it is one day."""
    _, found = await bots.resolve(services, caller, bot)
    kept = [str(one) for one in profiles.load(found.profile).closed if str(one.first) != first.strip()]
    return await change(services, caller, bot=bot, closed=[f"{first}..{last or first} {note}", *kept])


async def reopen(services: Services, caller: Caller, *, bot: str, first: str) -> Bot:
    """Remove the closed days that begin on a day."""
    _, found = await bots.resolve(services, caller, bot)
    kept = [str(one) for one in profiles.load(found.profile).closed if str(one.first) != first.strip()]
    return await change(services, caller, bot=bot, closed=kept)


def _merged(before: Mapping[str, Mapping[str, str]], texts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Replace the given sentences; an empty one is left out."""
    merged = {name: {**before.get(name, {}), **texts.get(name, {})} for name in {**before, **texts}}
    written = {name: {language: text for language, text in sentences.items() if text.strip()} for name, sentences in merged.items()}
    return {name: sentences for name, sentences in written.items() if sentences}
