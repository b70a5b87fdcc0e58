"""GET /analytics (help/interface.md 5.6), to the last record."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from chatsvc.app import App
from chatsvc.domain.analytics import sums
from chatsvc.domain.models import Usage
from chatsvc.engines import Reply
from chatsvc.services.accounts import accounts, analytics, bots
from tests.api.support import assert_headers, insert_usage
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine, bot_of
from tests.store.inspection import insert

DAY = 86_400_000


def each(*bots: str) -> Iterator[tuple[int, str, str]]:
    """Each day, bot and channel."""
    return itertools.product(range(4), bots, ("api", "web", "telegram"))


TODAY = START - START % DAY


async def _data(caller: Caller, query: str = "") -> dict[str, Any]:
    answer = await caller.get(f"/analytics?{query}")
    assert answer.status == 200
    data: dict[str, Any] = answer.json["data"]
    return data


def _day(days_ago: int) -> str:
    return ["2026-11-20", "2026-11-19", "2026-11-18", "2026-11-17", "2026-11-16", "2026-11-15", "2026-11-14"][days_ago]


async def test_the_summary_of_a_new_account_is_whole_and_zero(caller: Caller) -> None:
    answer = await caller.get("/analytics?days=3")
    assert answer.status == 200
    assert answer.json == {
        "success": True,
        "data": {
            "account": {
                "plan": "enterprise",
                "plan_version": 1,
                "subscription_status": "active",
                "messages_used": 0,
                "messages_limit": 100_000,
                "plan_message_limit": 100_000,
                "plan_bot_limit": 100,
                "message_credits": 0,
            },
            "chatbots": [{"id": caller.bot, "name": "Desk", "active": True, "messages_used_total": 0, "messages_in_window": 0}],
            "usage": {
                "window_days": 3,
                "from": "2026-11-18T00:00:00.000Z",
                "to": "2026-11-20T12:14:28.123Z",
                "covers_from": "2026-11-18T00:00:00.000Z",
                "truncated": False,
                "row_cap": 5000,
                "total_messages": 0,
                "total_tokens": 0,
                "total_cost_usd": 0,
                "by_day": [{"day": _day(2), "messages": 0}, {"day": _day(1), "messages": 0}, {"day": _day(0), "messages": 0}],
            },
        },
    }
    assert b'"total_cost_usd":0.000000' in answer.body
    assert_headers(answer, limit=100_000, remaining=99_999)


async def test_each_exchange_counts_in_every_block(app: App, caller: Caller, clock: FakeClock, engine: ScriptedEngine) -> None:
    other = (await bots.create(app.services, ADMIN, name="Other", account=caller.account, model="scripted")).id
    await bots.deactivate(app.services, ADMIN, bot=await bot_of(app.services, other))
    engine.script = lambda _: Reply("reply", Usage(1000, 100, 20, 3))
    for _ in range(3):
        await caller.send()
    data = await _data(caller, "days=1")
    assert data["account"]["messages_used"] == 3
    assert data["chatbots"] == [
        {"id": other, "name": "Other", "active": False, "messages_used_total": 0, "messages_in_window": 0},
        {"id": caller.bot, "name": "Desk", "active": True, "messages_used_total": 3, "messages_in_window": 3},
    ]
    assert data["usage"]["total_messages"] == 3
    assert data["usage"]["total_tokens"] == 3 * 1123
    # 1000 * 0.1 + 100 * 0.5 + 20 * 0.125 + 3 * 0.01 = 152.53 micro-dollars, rounded for each message
    assert data["usage"]["total_cost_usd"] == 0.000459
    assert data["usage"]["by_day"] == [{"day": _day(0), "messages": 3}]


async def test_money_is_exact_and_shown_with_six_fractional_digits(app: App, caller: Caller) -> None:
    for more, shown in (
        ([], "0.000000"),
        ([1], "0.000001"),
        ([99], "0.000100"),
        ([999_899, 1], "1.000000"),
        ([100_000] * 3, "1.300000"),
        ([9_007_199_254_740_993], "9007199256.040993"),
    ):
        await insert_usage(app, caller, [(START, 1, amount) for amount in more])
        assert f'"total_cost_usd":{shown},'.encode() in (await caller.get("/analytics")).body


async def test_the_window_is_whole_days_and_ends_now_to_the_millisecond(app: App, caller: Caller) -> None:
    start = TODAY - 6 * DAY
    inside = [start, start + DAY - 1, start + DAY, TODAY - 1, TODAY, START]
    outside = [start - 1, START + 1]
    await insert_usage(app, caller, [(at, 10, 5) for at in inside])
    await insert_usage(app, caller, [(at, 1000, 1000) for at in outside])
    data = await _data(caller, "days=7")
    usage = data["usage"]
    assert (usage["total_messages"], usage["total_tokens"], usage["total_cost_usd"]) == (6, 60, 0.00003)
    assert usage["by_day"] == [
        {"day": _day(ago), "messages": count} for ago, count in ((6, 2), (5, 1), (4, 0), (3, 0), (2, 0), (1, 1), (0, 2))
    ]
    assert data["chatbots"][0]["messages_in_window"] == 6
    assert (await _data(caller, "days=8"))["usage"]["total_messages"] == 7


async def test_a_window_at_midnight_and_across_the_end_of_february_and_of_a_year(caller: Caller, clock: FakeClock) -> None:
    clock.now = TODAY + DAY
    usage = (await _data(caller, "days=1"))["usage"]
    assert usage["from"] == usage["to"] == usage["covers_from"] == "2026-11-21T00:00:00.000Z"
    assert usage["by_day"] == [{"day": "2026-11-21", "messages": 0}]
    clock.now = 1_835_432_999_999  # 2028-02-29T10:29:59.999Z
    usage = (await _data(caller, "days=90"))["usage"]
    days = [item["day"] for item in usage["by_day"]]
    assert days == sorted(set(days))
    assert (days[0], days[30], days[31], days[-1]) == ("2027-12-02", "2028-01-01", "2028-01-02", "2028-02-29")
    assert usage["to"] == "2028-02-29T10:29:59.999Z"


async def test_exactly_5000_records_are_not_truncated(app: App, caller: Caller) -> None:
    await insert_usage(app, caller, [(TODAY - n, 1, 1) for n in range(5000)])
    usage = (await _data(caller, "days=2"))["usage"]
    assert usage["truncated"] is False
    assert usage["covers_from"] == usage["from"] == "2026-11-19T00:00:00.000Z"
    assert (usage["total_messages"], usage["total_tokens"], usage["total_cost_usd"]) == (5000, 5000, 0.005)
    assert usage["by_day"] == [{"day": _day(1), "messages": 4999}, {"day": _day(0), "messages": 1}]


async def test_of_more_than_5000_records_the_newest_count_and_the_rest_is_not_covered(app: App, caller: Caller) -> None:
    other = (await bots.create(app.services, ADMIN, name="Other", account=caller.account)).id
    newest = [(TODAY - 3 * DAY + n, 2, 3) for n in range(2000)] + [(TODAY - DAY + n, 2, 3) for n in range(3000)]
    oldest = [(TODAY - 3 * DAY - 1 - n, 1000, 1000) for n in range(700)]
    await insert_usage(app, caller, newest[:2500] + oldest[:300])
    await insert_usage(app, caller, newest[2500:] + oldest[300:], bot=other)
    data = await _data(caller, "days=7")
    assert data["usage"] == {
        "window_days": 7,
        "from": "2026-11-14T00:00:00.000Z",
        "to": "2026-11-20T12:14:28.123Z",
        "covers_from": "2026-11-17T00:00:00.000Z",
        "truncated": True,
        "row_cap": 5000,
        "total_messages": 5000,
        "total_tokens": 10_000,
        "total_cost_usd": 0.015,
        "by_day": [{"day": _day(ago), "messages": count} for ago, count in ((3, 2000), (2, 0), (1, 3000), (0, 0))],
    }
    assert {bot["id"]: bot["messages_in_window"] for bot in data["chatbots"]} == {caller.bot: 2500, other: 2500}
    within = (await _data(caller, "days=4"))["usage"]
    assert (within["truncated"], within["total_messages"], within["covers_from"]) == (False, 5000, within["from"])


async def test_the_first_record_of_a_day_may_be_cut_off_in_its_middle(app: App, caller: Caller, make_caller: MakeCaller) -> None:
    at = TODAY - DAY + 43_200_000
    await insert_usage(app, caller, [(at + n, 1, 1) for n in range(5001)])
    usage = (await _data(caller, "days=3"))["usage"]
    assert usage["truncated"] is True
    assert usage["covers_from"] == "2026-11-19T12:00:00.001Z"
    assert usage["by_day"] == [{"day": _day(1), "messages": 5000}, {"day": _day(0), "messages": 0}]
    # To another account they count nowhere.
    stranger = await _data(await make_caller())
    assert (stranger["usage"]["truncated"], stranger["usage"]["total_tokens"], len(stranger["chatbots"])) == (False, 0, 1)


async def test_the_account_shows_what_was_set_by_hand_beside_what_the_plan_sells(app: App, caller: Caller) -> None:
    app.services.config = replace(
        app.config, plans={**app.config.plans, "enterprise": app.config.plans["enterprise"]._replace(version=7, messages=50, bots=9)}
    )
    await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=12_345, credits=67, status="trialing")
    assert (await _data(caller))["account"] == {
        "plan": "enterprise",
        "plan_version": 7,
        "subscription_status": "trialing",
        "messages_used": 0,
        "messages_limit": 12_345,
        "plan_message_limit": 50,
        "plan_bot_limit": 9,
        "message_credits": 67,
    }


async def test_messages_used_starts_again_with_the_month_and_the_totals_do_not(caller: Caller, clock: FakeClock) -> None:
    await caller.send()
    clock.now = 1_796_083_199_999  # 2026-11-30T23:59:59.999Z
    await caller.send()
    assert (await _data(caller))["account"]["messages_used"] == 2
    clock.now += 1
    data = await _data(caller)
    assert data["account"]["messages_used"] == 0
    assert data["chatbots"][0]["messages_used_total"] == 2
    await caller.send()
    data = await _data(caller)
    assert (data["account"]["messages_used"], data["chatbots"][0]["messages_used_total"]) == (1, 3)
    assert data["usage"]["total_messages"] == 3
    assert [item for item in data["usage"]["by_day"] if item["messages"]] == [
        {"day": day, "messages": 1} for day in ("2026-11-20", "2026-11-30", "2026-12-01")
    ]


async def test_the_rows_by_day_bot_and_channel_add_up_to_the_totals(
    app: App, caller: Caller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    other = (await bots.create(app.services, ADMIN, name="Other", account=caller.account, model="scripted")).id
    engine.script = lambda _: Reply("reply", Usage(1000, 100, 20, 3))
    rows = [(caller.account, bot, TODAY - day * DAY + 5, 10 + day, 7, channel) for day, bot, channel in each(caller.bot, other)]
    await insert(app, "usage_records", "account_id, bot_id, created_at, tokens, cost_micro_usd, channel", rows)
    await caller.send()
    summary = await analytics.show(app.services, ADMIN, account=caller.account, days=5)
    usage = (await _data(caller, "days=5"))["usage"]
    assert {(row.day, row.bot_id, row.channel) for row in summary.rows} == {
        (TODAY - day * DAY, bot, channel) for day, bot, channel in each(caller.bot, other)
    }
    for key in (lambda row: row.day, lambda row: row.bot_id, lambda row: row.channel):
        totals = sums(summary.rows, key).values()
        assert sum(total.messages for total in totals) == usage["total_messages"] == 25
        assert sum(total.tokens for total in totals) == usage["total_tokens"]
        assert sum(total.cost_micro_usd for total in totals) == round(usage["total_cost_usd"] * 1_000_000)
    assert [(total.messages, total.tokens) for _, total in summary.by_day] == [(0, 0), (6, 78), (6, 72), (6, 66), (7, 60 + 1123)]
