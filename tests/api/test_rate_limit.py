"""The rate limit (help/interface.md 7): 120 requests a minute for each key, counted exactly and told in every response."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import ClientSession, TCPConnector

from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.limiter import Slot
from chatsvc.services.accounts import accounts, bots
from tests.api.support import LIMIT, MINUTE_END, REMAINING, RESET, envelope, fetch, names, out_of_reach, standing
from tests.conftest import Answer, Caller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine, failing

RATE = [LIMIT.lower(), REMAINING.lower(), RESET.lower()]


@pytest.fixture
def config(config: Config) -> Config:
    """The limit of the specification."""
    return replace(config, limits=configuration.load(None, {}).limits)


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    """A client that opens as many connections as it has requests."""
    async with ClientSession(connector=TCPConnector(limit=0)) as opened:
        yield opened


async def _at_once(caller: Caller, count: int, path: str = "/chatbots") -> list[Answer]:
    return await asyncio.gather(*(caller.get(path) for _ in range(count)))


def _spread(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


async def test_of_150_requests_at_once_exactly_120_pass(caller: Caller, clock: FakeClock) -> None:
    answers = await _at_once(caller, 150)
    assert _spread(answers) == {200: 120, 429: 30}
    passed = sorted(int(answer.headers[REMAINING]) for answer in answers if answer.status == 200)
    assert passed == list(range(120))
    retry_after = str(60 - START // 1000 % 60)
    for answer in answers:
        assert (answer.headers[LIMIT], answer.headers[RESET]) == ("120", str(MINUTE_END))
        if answer.status == 429:
            assert answer.json == envelope("rate_limit_exceeded", limit=120, window_seconds=60)
            assert answer.headers[REMAINING] == "0"
            assert answer.headers["Retry-After"] == retry_after
    # A refused request takes no slot of the next window.
    clock.advance(60)
    assert _spread(await _at_once(caller, 150)) == {200: 120, 429: 30}


async def test_the_window_ends_on_the_minute_of_the_clock(caller: Caller, clock: FakeClock) -> None:
    await _at_once(caller, 120)
    clock.now = MINUTE_END * 1000 - 1
    last = await caller.get("/chatbots")
    assert last.status == 429
    assert last.headers["Retry-After"] == "1"
    assert standing(last) == (120, 0, MINUTE_END)
    clock.now += 1
    first = await caller.get("/chatbots")
    assert first.status == 200
    assert standing(first) == (120, 119, MINUTE_END + 60)


async def test_whoever_waits_as_long_as_told_gets_through(app: App, caller: Caller, clock: FakeClock) -> None:
    app._limiter.limit = 2
    for minute, before_end_ms in enumerate((1, 999, 1000, 1001, 31_877, 59_999, 60_000)):
        clock.now = (MINUTE_END + 60 * minute) * 1000 - before_end_ms
        await _at_once(caller, 3)
        refused = await caller.get("/chatbots")
        assert refused.status == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        clock.advance(int(refused.headers["Retry-After"]))
        assert (await caller.get("/chatbots")).status == 200


async def test_two_keys_of_one_account_count_separately(app: App, caller: Caller) -> None:
    secret = (await accounts.create_key(app.services, ADMIN, account=caller.account)).secret
    second = Caller(app, caller.session, caller.account, caller.bot, secret)
    mine, theirs = await asyncio.gather(_at_once(caller, 130), _at_once(second, 125))
    assert _spread(mine) == {200: 120, 429: 10}
    assert _spread(theirs) == {200: 120, 429: 5}


async def test_invalid_keys_take_nothing_from_anyone(caller: Caller, session: ClientSession) -> None:
    url = f"{caller.base_url}/chatbots"
    answers = await asyncio.gather(*(fetch(session, "GET", url, headers={"Authorization": "Bearer x"}) for _ in range(130)))
    assert _spread(answers) == {401: 130}
    assert {standing(answer) for answer in answers} == {(120, 120, MINUTE_END)}
    assert standing(await caller.get("/chatbots")) == (120, 119, MINUTE_END)


async def test_every_response_behind_the_limiter_has_its_three_headers_and_no_retry_after(
    app: App, caller: Caller, engine: ScriptedEngine
) -> None:
    """Of every status but 429, whatever the method."""
    left = 120

    async def counted(status: int, answer: Answer) -> None:
        nonlocal left
        left -= 1
        assert (answer.status, standing(answer)) == (status, (120, left, MINUTE_END))
        assert [name for name in names(answer) if name in RATE] == RATE
        assert "retry-after" not in names(answer)

    await counted(200, await caller.get("/analytics"))
    await counted(400, await caller.request("POST", "/messages", data=b""))
    await counted(404, await caller.get("/chatbots/x"))
    for method in ("PUT", "HEAD", "OPTIONS"):
        await counted(405, await caller.request(method, "/chatbots"))
    engine.script = failing("timeout")
    await counted(502, await caller.send())
    engine.script = None  # type: ignore[assignment]  # a bug
    await counted(500, await caller.send())
    await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=0)
    await counted(402, await caller.send())
    await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
    await counted(409, await caller.send())
    async with out_of_reach(app, "conversations"):
        await counted(503, await caller.get("/conversations"))


async def test_responses_before_the_limiter_have_them_too_and_take_nothing(
    app: App, caller: Caller, session: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.get("/chatbots")
    seen = [await fetch(session, "GET", f"{caller.base_url}/chatbots"), await caller.get("/x", headers={"Authorization": "Bearer x"})]
    await accounts.change(app.services, ADMIN, account=caller.account, plan="free")
    seen.append(await caller.get("/chatbots"))
    await accounts.change(app.services, ADMIN, account=caller.account, plan="enterprise")
    take = app._limiter.take
    with monkeypatch.context() as broken:

        async def down(key: str, now: int, account: str, slots: int = 1) -> Slot:
            if slots:
                raise OSError
            slot: Slot = await take(key, now, account, slots)
            return slot

        broken.setattr(app._limiter, "take", down)
        seen.append(await caller.get("/chatbots"))
    app.services.account_cache.invalidate_keys()
    async with out_of_reach(app, "api_keys"):
        seen.append(await caller.get("/chatbots"))
    assert [(answer.error, *standing(answer)) for answer in seen] == [
        ("missing_api_key", 120, 120, MINUTE_END),
        ("invalid_api_key", 120, 120, MINUTE_END),
        ("plan_upgrade_required", 120, 119, MINUTE_END),
        ("rate_limit_unavailable", 120, 119, MINUTE_END),
        ("auth_backend_unavailable", 120, 120, MINUTE_END),
    ]
    assert not [answer for answer in seen if "retry-after" in names(answer)]
    assert standing(await caller.get("/chatbots")) == (120, 118, MINUTE_END)


async def test_the_headers_tell_of_the_window_in_which_the_request_came(caller: Caller, clock: FakeClock, engine: ScriptedEngine) -> None:
    under_way = await engine.hold(caller.send())
    clock.advance(60)
    engine.release()
    assert standing(await under_way) == (120, 119, MINUTE_END)
