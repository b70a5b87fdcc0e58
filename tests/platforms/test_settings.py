"""Settings of channels: checked, confirmed at the platform, sealed, exported and imported."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts.channel_secrets import opened
from chatsvc.services.administration import perform
from chatsvc.store import channels as stored
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN
from tests.platforms.conftest import Platform
from tests.tables import rows

TOKEN = "123:token-of-a-bot"
WHATSAPP = {"phone_number_id": "1055", "token": "token", "app_secret": "app", "verify_token": "verify"}


async def put(caller: Caller, channel: str, **settings: Any) -> Any:
    return await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": channel, **settings})


async def act(caller: Caller, operation: str, channel: str) -> Any:
    return await perform(caller.app.services, ADMIN, f"channel.{operation}", {"bot": caller.bot, "channel": channel})


async def secrets(caller: Caller) -> dict[str, dict[str, str]]:
    services = caller.app.services
    return {row[0].channel: dict(opened(services.secret, *row).secrets) for row in await stored.of_bot(services.db, caller.bot)}


async def test_the_sites_of_a_widget_are_replaced_emptied_or_left(caller: Caller) -> None:
    result = await put(caller, "web", sites=["https://Shop.example.com", "http://localhost:8000/"], title="Help", color="#336699")
    assert (result.channel.state, result.warning) == ("active", None)
    assert result.channel.settings == {"sites": ["https://shop.example.com", "http://localhost:8000"], "title": "Help", "color": "#336699"}
    second = await put(caller, "web", title="")
    assert second.channel.settings == {"sites": result.channel.sites, "color": "#336699"}
    assert (await put(caller, "web", sites=[""])).channel.sites == []
    assert (await put(caller, "web", sites=["any-link"])).channel.sites == ["any-link"]
    before = await secrets(caller)
    await put(caller, "web", privacy_url="https://example.com/privacy")
    assert await secrets(caller) == before


@pytest.mark.parametrize(
    ("channel", "settings", "code"),
    [
        *((channel, json.loads(settings), code) for channel, settings, code in rows("platforms/impossible_settings")),
        ("web", {"sites": [f"https://{n}.example" for n in range(101)]}, "too_many_sites"),
        ("web", {"title": "x" * 81}, "text_too_long"),
        ("web", {"logo": b64encode(b"\x89PNG\r\n\x1a\n".ljust(65_537)).decode()}, "logo_invalid"),
    ],
)
async def test_an_impossible_setting_is_refused(caller: Caller, channel: str, settings: dict[str, Any], code: str) -> None:
    with pytest.raises(Refused) as refused:
        await put(caller, channel, **settings)
    assert refused.value.code == code
    assert "token-of" not in str(refused.value)


async def test_a_token_is_confirmed_by_a_call_and_a_refused_one_is_not_kept(caller: Caller, platform: Platform) -> None:
    result = await put(caller, "telegram", token=TOKEN)
    # The poller asks too, from then on.
    assert (result.channel.identity, result.warning, platform.seen[0]) == ("123", None, f"/bot{TOKEN}/getMe -")
    platform.status, platform.body = 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
    with pytest.raises(Refused, match="Unauthorized") as refused:
        await put(caller, "telegram", token="456:another")
    assert refused.value.code == "token_refused"
    assert await secrets(caller) == {"telegram": {"token": TOKEN}}
    assert caller.app.services.egress.opened["telegram"] >= 2


async def test_whatsapp_is_confirmed_by_its_phone_number(caller: Caller, platform: Platform) -> None:
    platform.body = {"id": "1055", "display_phone_number": "+90 555 000 00 00"}
    result = await put(caller, "whatsapp", **WHATSAPP, monthly_limit=100)
    assert result.channel.settings == {"phone_number_id": "1055", "monthly_limit": 100}
    assert platform.seen == ["/v26.0/1055?fields=display_phone_number,verified_name Bearer token"]
    # What is not given stays.
    assert (await put(caller, "whatsapp", monthly_limit=5)).channel.settings == {"phone_number_id": "1055", "monthly_limit": 5}
    assert caller.app.services.egress.opened["whatsapp"] == 2


@pytest.mark.parametrize(("status", "body"), [(500, {}), (429, {}), (302, {}), (200, "no object"), (200, {"ok": False})])
async def test_a_platform_that_cannot_answer_sets_the_channel_with_a_warning(
    caller: Caller, platform: Platform, status: int, body: object
) -> None:
    platform.status, platform.body = status, body
    result = await put(caller, "telegram", token=TOKEN)
    assert result.channel.state == "active"
    assert result.warning.startswith("telegram could not confirm the token: it answered")
    assert TOKEN not in result.warning


async def test_a_platform_that_is_not_there_or_not_permitted_sets_the_channel_with_a_warning(caller: Caller, platform: Platform) -> None:
    caller.app.services.egress.allowed = False
    assert "egress: none" in (await put(caller, "telegram", token=TOKEN)).warning
    assert platform.seen == []


async def test_a_token_or_number_that_another_bot_has_is_refused(make_caller: MakeCaller, platform: Platform) -> None:
    first, second = await make_caller(), await make_caller()
    await put(first, "telegram", token=TOKEN)
    with pytest.raises(Refused, match="channel_taken"):
        await put(second, "telegram", token="123:the-same-bots-new-token")
    assert not any("the-same-bots-new-token" in path for path in platform.seen)
    await act(first, "remove", "telegram")
    assert (await put(second, "telegram", token=TOKEN)).warning is None


async def test_a_channel_is_paused_resumed_and_removed(caller: Caller) -> None:
    for operation in ("pause", "resume", "remove"):
        with pytest.raises(Refused, match="channel_not_found"):
            await act(caller, operation, "web")
    await put(caller, "web")
    assert (await act(caller, "pause", "web")).state == "paused"
    # Other settings do not resume it.
    assert (await put(caller, "web", title="Help")).channel.state == "paused"
    assert (await act(caller, "resume", "web")).state == "active"
    await act(caller, "remove", "web")
    assert await perform(caller.app.services, ADMIN, "channel.list", {"bot": caller.bot}) == []


async def test_the_snippet_names_the_bot_and_its_colour(caller: Caller) -> None:
    await put(caller, "web", color="#336699")
    public_url = caller.app.config.server.public_url
    result = await perform(caller.app.services, ADMIN, "channel.snippet", {"bot": caller.bot})
    assert result.snippet == f'<script src="{public_url}/widget.js" data-bot="{caller.bot}" data-color="#336699" async></script>'


async def moved(caller: Caller, *, with_secrets: bool) -> list[tuple[str, Any]]:
    """Export the account, delete it, and import it again; its records."""
    services = caller.app.services
    records, after = [], None
    while True:
        page = await perform(services, ADMIN, "account.export", {"account": caller.account, "after": after, "with_secrets": with_secrets})
        records += page.records
        after = page.next
        if after is None:
            break
    await perform(services, ADMIN, "account.delete", {"account": caller.account})
    own, *others = records
    await perform(services, ADMIN, "account.import_begin", {"record": own[1]})
    await perform(services, ADMIN, "account.import_put", {"account": caller.account, "records": others})
    await perform(services, ADMIN, "account.import_end", {"account": caller.account, "complete": True})
    return records


@pytest.mark.parametrize(("with_secrets", "state"), [(True, "paused"), (False, "needs_secret")])
async def test_an_import_pauses_channels_with_secrets_and_gives_the_widget_a_new_key_without(
    caller: Caller, platform: Platform, *, with_secrets: bool, state: str
) -> None:
    await put(caller, "telegram", token=TOKEN)
    await put(caller, "web", sites=["https://shop.example.com"])
    before = await secrets(caller)
    records = await moved(caller, with_secrets=with_secrets)
    assert (TOKEN in repr(records)) is with_secrets
    listed = {entry.channel: entry for entry in await perform(caller.app.services, ADMIN, "channel.list", {"bot": caller.bot})}
    assert (listed["telegram"].state, listed["web"].sites) == (state, ["https://shop.example.com"])
    assert listed["web"].state == ("paused" if with_secrets else "active")
    after = await secrets(caller)
    assert (after["telegram"] == before["telegram"]) is with_secrets
    assert (after["web"] == before["web"]) is with_secrets
    assert after["web"]
    if not with_secrets:
        with pytest.raises(Refused, match="channel_secret_missing"):
            await act(caller, "resume", "telegram")
    assert (await put(caller, "telegram", token=TOKEN)).channel.state == ("paused" if with_secrets else "active")


async def test_a_new_master_key_seals_the_tokens_again(caller: Caller, platform: Platform, tmp_path: Path) -> None:
    await put(caller, "telegram", token=TOKEN)
    rotation = await perform(caller.app.services, ADMIN, "master_key.rotate", {})
    assert (rotation.resealed, rotation.unusable) == (1, 0)
    assert await secrets(caller) == {"telegram": {"token": TOKEN}}
    assert TOKEN.encode() not in b"".join(file.read_bytes() for file in (tmp_path / "data").glob("chatsvc.db*"))


@pytest.mark.postgres
async def test_of_two_who_remove_a_channel_one_hears_that_it_is_gone(caller: Caller) -> None:
    await put(caller, "web", sites=["https://shop.example.com"])
    results = await asyncio.gather(act(caller, "remove", "web"), act(caller, "remove", "web"), return_exceptions=True)
    assert sorted(getattr(result, "code", "removed") for result in results) == ["channel_not_found", "removed"]
