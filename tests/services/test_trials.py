"""Trials of a bot by the team: their limit, the account's subscription, and their cost; and changes to one bot at the same time."""

import asyncio

import pytest

from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, analytics, bot_files, bots
from chatsvc.services.administration import perform
from chatsvc.services.messages import trials
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine


async def test_what_a_model_costs_for_trials_is_counted_apart(make_caller: MakeCaller, engine: ScriptedEngine, clock: FakeClock) -> None:
    caller: Caller = await make_caller(model="scripted")
    services = caller.app.services
    await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")
    report = await analytics.show_quality(services, ADMIN, account=caller.account, days=1)
    (counts,) = report.rows.values()
    assert (counts.trial_tokens, counts.trial_cost_micro_usd, counts.answered, counts.tokens) == (12, 2, 0, 0)
    assert (await caller.get("/analytics")).json["data"]["usage"]["total_messages"] == 0


async def test_a_person_tries_bots_so_often_a_minute(make_caller: MakeCaller, clock: FakeClock) -> None:
    caller: Caller = await make_caller(model="scripted")
    services = caller.app.services
    for _ in range(trials.MOST_A_MINUTE):
        await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")
    with pytest.raises(Refused, match="trials_too_many"):
        await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")
    other = ADMIN._replace(actor=ADMIN.actor._replace(id="another"))
    await trials.say(services, other, bot=await caller.chatbot(), text="hello")
    clock.advance(60)
    await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")


async def test_a_bot_of_an_inactive_account_is_not_tried_with_a_model(make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller: Caller = await make_caller(model="scripted")
    services = caller.app.services
    await accounts.change(services, ADMIN, account=caller.account, status="canceled")
    with pytest.raises(Refused, match="trial_account_inactive"):
        await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")
    assert engine.turns == []
    await bots.change(services, ADMIN, bot=await caller.chatbot(), model="offline")
    assert (await trials.say(services, ADMIN, bot=await caller.chatbot(), text="hello")).turns


async def test_changes_to_the_lists_of_a_bot_at_the_same_time_are_all_kept(caller: Caller) -> None:
    services = caller.app.services
    days = [f"2027-03-{day:02}" for day in range(1, 9)]
    changes = [perform(services, ADMIN, "closed.add", {"bot": caller.bot, "first": day}) for day in days]
    changes += [perform(services, ADMIN, "test.add", {"bot": caller.bot, "ask": f"Open on {day}?", "contains": "Yes"}) for day in days]
    changes += [perform(services, ADMIN, "bot.set", {"bot": caller.bot, "hours": {day: "9-12"}}) for day in opening_hours.DAYS]
    texts = ("greeting: Hello.\n", "suggestions: [Open today?]\n")
    changes += [perform(services, ADMIN, "bot.apply", {"bot": caller.bot, "file": "bot.yaml", "text": text}) for text in texts]
    await asyncio.gather(*changes)
    bot = await caller.chatbot()
    profile = profiles.load(bot.profile)
    assert [str(closed) for closed in profile.closed] == days
    assert (bot.greeting, profile.suggestions) == ("Hello.", ("Open today?",))
    assert sorted(test.ask for test in profile.tests) == [f"Open on {day}?" for day in days]
    assert opening_hours.by_day(bot.opening_hours) == dict.fromkeys(opening_hours.DAYS, "09:00-12:00")
    await asyncio.gather(*(perform(services, ADMIN, "closed.remove", {"bot": caller.bot, "first": day}) for day in days[1:]))
    assert [str(closed) for closed in profiles.load((await caller.chatbot()).profile).closed] == days[:1]


async def test_a_file_that_was_applied_meanwhile_takes_no_later_change_back(caller: Caller) -> None:
    services, before = caller.app.services, await caller.chatbot()
    text = "suggestions: [Open today?]\n"
    await bot_files.apply(services, ADMIN, bot=before, file="bot.yaml", text=text)
    await perform(services, ADMIN, "closed.add", {"bot": caller.bot, "first": "2027-03-01"})
    await bot_files.apply(services, ADMIN, bot=before, file="bot.yaml", text=text)
    profile = profiles.load((await caller.chatbot()).profile)
    assert (profile.suggestions, list(map(str, profile.closed))) == (("Open today?",), ["2027-03-01"])
