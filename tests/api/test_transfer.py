"""An account moves: what the new installation answers is what the old one did, and what does not fit leaves nothing."""

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.control.rendering import RENDERERS
from chatsvc.domain import profiles, websites
from chatsvc.domain.models import ChangeOrigin, Exchange
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import Site, SiteEntry
from chatsvc.services.accounts import accounts, transfer, webhooks
from chatsvc.services.conversations import appointments, captures, conversation_team
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.store import sites, unanswered
from chatsvc.store import transfer as stored
from chatsvc.store.unanswered import AskedQuestion
from tests.api.support import execute
from tests.conftest import Caller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine, bot_of
from tests.tables import rows
from tests.webhooks.support import BOTH, SAID, hook
from tests.webhooks.support import captures as capturing


async def taken_out(services: Any, account: str, **options: Any) -> list[Any]:
    """All records of an account, through JSON as a file has them."""
    records, after = [], None
    while True:
        package = json.loads(json.dumps((await transfer.take_out(services, ADMIN, account=account, after=after, **options))._asdict()))
        records += package["records"]
        after = package["next"]
        if after is None:
            return records


async def put_in(services: Any, records: list[Any]) -> dict[str, Any]:
    """An import, in batches."""
    account = (await transfer.begin(services, ADMIN, record=records[0][1])).id
    new: list[Any] = []
    for i in range(1, len(records), 7):
        new += [change._asdict() for change in await transfer.put(services, ADMIN, account=account, records=records[i : i + 7])]
    return {**RENDERERS["account.import_end"](await transfer.end(services, ADMIN, account=account, complete=True)), "webhooks": new}


@pytest.fixture
async def elsewhere(config: Config, clock: FakeClock, engine: ScriptedEngine, tmp_path: Path) -> AsyncIterator[App]:
    """Another installation, which has an account of its own already."""
    async with App(replace(config, data_dir=tmp_path / "elsewhere"), clock) as running:
        running.services.engines["anthropic"] = engine
        await accounts.create(running.services, ADMIN, name="here before")
        yield running


async def furnish(caller: Caller, engine: ScriptedEngine, clock: FakeClock) -> str:
    """A bit of everything; gives the webhook's signing key."""
    services = caller.app.services
    signing_key = await hook(caller, None, *BOTH)
    await knowledge.add(
        services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.md", b"## When?\nalt: at what time?\n\nAt nine.\n")], "tr")
    )
    await read_site(caller)
    for i in range(6):
        if i == 4:
            capturing(engine)
        clock.advance(1)
        assert (await caller.send(SAID, f"v{i % 3}", headers={"Idempotency-Key": f"k{i}"})).status == 200
    await appointments.set_request(
        services,
        ADMIN,
        request=(await captures.list_requests(services, ADMIN, bot=await caller.chatbot())).items[0].request.id,
        status="done",
    )
    for event in ("appointment.created", "request.created", "appointment.created"):
        await attempt(caller, 1, event)
    await services.account_cache.flush_key_uses()
    question = AskedQuestion("do you sell hats", "Do you sell hats?", "en", ("api", "v0"))
    await unanswered.note(services.db, caller.bot, question, clock())
    return signing_key


async def read_site(caller: Caller) -> None:
    """A website that was read, with an entry that a person has edited."""
    services = caller.app.services
    site = Site(str(uuid.uuid4()), caller.bot, "http://www.example.com/", ["/a*"], [], 50, 7, review=True)
    await sites.create(services.db, site)
    page = SiteEntry("http://www.example.com/a", "Hours#0", "Hours", "From nine to five.", "en")
    origin = ChangeOrigin(str(uuid.uuid4()), START, ADMIN.actor, "cli")
    await sites.apply(services.db, site, [page], origin)
    services.knowledge.invalidate(caller.bot)
    (entry,) = [item for item in await knowledge.list_all(services, ADMIN, bot=await caller.chatbot()) if item.source == page.page]
    await knowledge.put(services, ADMIN, bot=await caller.chatbot(), entry=entry.id, question="Hours", answer="From nine to six.")


@pytest.fixture
async def moving(caller: Caller, engine: ScriptedEngine, clock: FakeClock) -> Caller:
    """The customer of an account with a bit of everything."""
    await furnish(caller, engine, clock)
    return caller


async def answers(caller: Caller) -> list[Any]:
    """The account as the interface and the administrator see it."""

    async def get(path: str) -> Any:
        answer = await caller.get(path)
        assert answer.status == 200, path
        return answer.json

    services = caller.app.services
    listed = await get(f"/conversations?limit=100&chatbot_id={caller.bot}")
    answers = [await get(f"/conversations/{conversation['id']}") for conversation in listed["data"]]
    answers += [listed, await get("/analytics"), await get("/chatbots"), (await get("/conversations?channel=web&limit=1"))]
    answers += [
        await accounts.show(services, ADMIN, account=caller.account),
        RENDERERS["knowledge.export"](await knowledge.export(services, ADMIN, bot=await caller.chatbot())),
    ]
    answers += [
        (await captures.list_requests(services, ADMIN, bot=await caller.chatbot())).items,
        (await captures.list_appointments(services, ADMIN, bot=await caller.chatbot())).items,
    ]
    answers += [
        await accounts.list_keys(services, ADMIN, account=caller.account),
        (await webhooks.show(services, ADMIN, bot=await caller.chatbot()))._replace(sealed_key=b""),  # each seals it anew
    ]
    answers += [(await webhooks.attempts(services, ADMIN, bot=await caller.chatbot(), limit=100)).items]
    again = await caller.send(SAID, "v0", headers={"Idempotency-Key": "k0"})
    assert again.status == 200
    return [*answers, again.json["data"]]


async def attempt(caller: Caller, success: int | None, event: str = "request.created") -> None:
    """An attempt for the latest event of a kind, as a delivery records it."""
    await execute(
        caller.app,
        """
        INSERT INTO webhook_attempts (id, event_number, bot_id, delivery_id, url, body, at, success, status_code, error, duration_ms)
        SELECT :3, number, bot_id, :4, 'https://example.com', x'7b7d', created_at, CAST(:2 AS BIGINT), 200, NULL, 5
        FROM webhook_events WHERE event = :1 ORDER BY number DESC LIMIT 1
        """,
        event,
        success,
        str(uuid.uuid4()),
        str(uuid.uuid4()),
    )


@pytest.mark.parametrize("page", [1, 1_000_000])
async def test_the_new_installation_answers_as_the_old_one_did(
    caller: Caller,
    elsewhere: App,
    engine: ScriptedEngine,
    clock: FakeClock,
    session: ClientSession,
    monkeypatch: pytest.MonkeyPatch,
    page: int,
) -> None:
    monkeypatch.setattr(stored, "PAGE", page)
    signing_key = await furnish(caller, engine, clock)
    records = await taken_out(caller.app.services, caller.account, with_secrets=True)
    moved = await put_in(elsewhere.services, records)
    assert moved["webhooks"] == []
    assert (moved["id"], moved["messages_used"]) == (caller.account, 6)
    # An account that exists is refused and stays as it is.
    with pytest.raises(Refused, match="import_exists"):
        await put_in(elsewhere.services, records)
    there = Caller(elsewhere, session, caller.account, caller.bot, caller.key)
    assert await answers(there) == await answers(caller)
    assert len((await webhooks.attempts(elsewhere.services, ADMIN, bot=await bot_of(elsewhere.services, caller.bot), limit=10)).items) == 3
    (site,) = await sites.of_bot(elsewhere.services.db, caller.bot)
    assert (site.url, site.include, site.state, site.max_pages) == ("http://www.example.com/", ["/a*"], "idle", 50)
    assert await sites.wanted(elsewhere.services.db, clock()) == [(site.id, "idle")]
    current = {
        entry.id: entry for entry in await knowledge.list_all(elsewhere.services, ADMIN, bot=await bot_of(elsewhere.services, caller.bot))
    }
    ((entry, text),) = websites.edited(await sites.applied(elsewhere.services.db, site.id), current)
    assert (entry.answer, text.answer) == ("From nine to six.", "From nine to five.")
    # The visitor goes on where it was.
    await there.send("and now?", "v1")
    assert engine.turns[-1].history[0].content == SAID
    again = await taken_out(elsewhere.services, caller.account, with_secrets=True)
    assert again[_at(again, "webhook")][1]["signing_key"] == signing_key


async def test_what_was_still_to_be_sent_is_kept_and_what_was_under_way_is_interrupted(moving: Caller, elsewhere: App) -> None:
    await attempt(moving, None)
    await execute(moving.app, "UPDATE webhook_events SET state = 0 WHERE event = 'appointment.created'")
    await put_in(elsewhere.services, await taken_out(moving.app.services, moving.account))
    assert await execute(elsewhere, "SELECT DISTINCT state FROM webhook_events") == [(2,)]
    newest = (await webhooks.attempts(elsewhere.services, ADMIN, bot=await bot_of(elsewhere.services, moving.bot), limit=10)).items[0]
    assert (newest.success, newest.error) == (False, "interrupted")


def _at(records: list[Any], kind: str) -> int:
    return [name for name, _ in records].index(kind)


async def test_without_secrets_a_webhook_gets_a_new_signing_key_that_is_shown_once(
    caller: Caller, elsewhere: App, engine: ScriptedEngine, clock: FakeClock
) -> None:
    signing_key = await furnish(caller, engine, clock)
    records = await taken_out(caller.app.services, caller.account)
    assert signing_key not in json.dumps(records)
    ((shown),) = (await put_in(elsewhere.services, records))["webhooks"]
    assert shown["bot"] == caller.bot
    assert shown["signing_key"].startswith("whsec_")
    assert shown["signing_key"] != signing_key
    assert await webhooks.events(elsewhere.services, ADMIN, bot=await bot_of(elsewhere.services, caller.bot))


async def test_an_export_of_few_rows_a_query_has_all_records_once(moving: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    await accounts.create_key(moving.app.services, ADMIN, account=moving.account)
    whole = await taken_out(moving.app.services, moving.account)
    assert len([kind for kind, _ in whole if kind == "day_count"]) > 2
    monkeypatch.setattr(stored, "WINDOW", 1)
    assert await taken_out(moving.app.services, moving.account) == whole


async def test_an_account_that_was_deleted_comes_back_with_its_keys(moving: Caller) -> None:
    records, before = await taken_out(moving.app.services, moving.account, with_secrets=True), await answers(moving)
    await accounts.delete(moving.app.services, ADMIN, account=moving.account)
    assert (await moving.get("/chatbots")).error == "account_not_found"
    await put_in(moving.app.services, records)
    assert await answers(moving) == before


def _changed(records: list[Any], kind: str, **changes: object) -> list[Any]:
    at = _at(records, kind)
    return [*records[:at], [kind, {**records[at][1], **changes}], *records[at + 1 :]]


FOREIGN = Exchange("00000000-0000-4000-8000-000000000000", "v", "api", "hello", "hi", 1_700_000_000_000)

WRONG: list[tuple[str, dict[str, object]]] = [
    *((kind, json.loads(changes)) for kind, changes in rows("api/impossible_records")),
    ("bot", {"created_at": 10**18}),
    ("bot", {"instructions": "x" * 20_001}),
    ("conversation", {"user_id": "x" * 129}),
    ("answer", {"exchange": json.dumps(FOREIGN._asdict())}),
    ("answer", {"exchange": json.dumps({**FOREIGN._asdict(), "message": 1})}),
    ("unanswered", {"first_asked_at": START + 3_600_000}),
]


async def test_an_impossible_record_is_refused_and_nothing_of_the_account_is_seen(
    moving: Caller, elsewhere: App, subtests: pytest.Subtests
) -> None:
    good = await taken_out(moving.app.services, moving.account)
    services = elsewhere.services
    for kind, changes in WRONG:
        with subtests.test(kind=kind, changes=changes), pytest.raises(Refused):
            await put_in(services, _changed(good, kind, **changes))
        assert [item.account.name for item in (await accounts.list_all(services, ADMIN)).items] == ["here before"]
    # What was brought in before a fault stands in the way of nobody.
    await put_in(services, good)
    assert await execute(elsewhere, "SELECT conversations FROM conversation_counts") == [(3,)]


async def test_the_owners_words_of_a_bot_are_imported_with_it(moving: Caller, elsewhere: App) -> None:
    words = '{"closed": ["2026-12-31"], "texts": {"done": {"en": "Noted."}}}'
    await put_in(elsewhere.services, _changed(await taken_out(moving.app.services, moving.account), "bot", profile=words))
    bot = await bot_of(elsewhere.services, moving.bot)
    assert profiles.load(bot.profile).texts == {"done": {"en": "Noted."}}


async def test_what_a_broken_off_import_has_brought_is_removed_at_the_start(
    moving: Caller, elsewhere: App, config: Config, clock: FakeClock, tmp_path: Path
) -> None:
    records = await taken_out(moving.app.services, moving.account)
    await transfer.begin(elsewhere.services, ADMIN, record=records[0][1])
    await transfer.put(elsewhere.services, ADMIN, account=moving.account, records=records[1:10])
    assert [row.account.name for row in (await accounts.list_all(elsewhere.services, ADMIN)).items] == ["here before"]
    await elsewhere.stop()
    async with App(replace(config, data_dir=tmp_path / "elsewhere"), clock) as again:
        await accounts.delete(
            again.services, ADMIN, account=(await accounts.create(again.services, ADMIN, name="to have all swept")).account.id
        )
        assert await execute(again, "SELECT count(*) FROM bots") == [(0,)]


async def moved(caller: Caller, elsewhere: App, statement: str) -> bool:
    """Report whether a statement finds something, the same in both installations."""
    there, here = await execute(elsewhere, statement), await execute(caller.app, statement)
    return bool(there) and sorted(there) == sorted(here)


async def test_whatsapp_goes_on_with_the_same_visitors_and_nobody_gets_unwanted_mails(
    moving: Caller, elsewhere: App, clock: FakeClock
) -> None:
    address = """
        INSERT INTO whatsapp_addresses (bot_id, conversation, kind, value, is_current, created_at)
        SELECT bot_id, number, :1, :2, :3, :4 FROM conversations WHERE user_id = 'v1'
    """
    for kind, value, is_current in (("phone", "905551112233", 1), ("scoped", "TR.134", 1), ("phone", "905550000000", 0)):
        await execute(moving.app, address, kind, value, is_current, clock())
    await execute(moving.app, "INSERT INTO whatsapp_sends (bot_id, month, sent) VALUES (:1, '2026-11', 812)", moving.bot)
    stop = "INSERT INTO mail_stops (account_id, digest, created_at) VALUES (:1, :2, :3)"
    await execute(moving.app, stop, moving.account, b"d" * 32, clock())
    await put_in(elsewhere.services, await taken_out(moving.app.services, moving.account))
    for statement in (
        "SELECT account_id, digest, created_at FROM mail_stops",
        "SELECT c.id, kind, value, is_current, a.created_at FROM whatsapp_addresses a JOIN conversations c ON c.number = a.conversation",
        "SELECT bot_id, month, sent FROM whatsapp_sends",
    ):
        assert await moved(moving, elsewhere, statement)


async def test_notes_and_saved_replies_move_and_assignees_do_not(moving: Caller, elsewhere: App, clock: FakeClock) -> None:
    services = moving.app.services
    note = """
        INSERT INTO conversation_notes (conversation, id, author, text, created_at)
        SELECT number, :1, 'Ada', 'Call back', :2 FROM conversations WHERE user_id = 'v1'
    """
    await execute(moving.app, note, str(uuid.uuid4()), clock())
    await execute(moving.app, "UPDATE conversations SET assignee = 'an operator of this installation'")
    await conversation_team.put_saved_reply(services, ADMIN, account=moving.account, name="greeting", text="Hello {name}")
    records = await taken_out(services, moving.account)
    for kind, changes in (("note", {"text": " "}), ("note", {"text": "x" * 4001}), ("saved_reply", {"name": "two\nlines"})):
        with pytest.raises(Refused, match="import_value_wrong"):
            await put_in(elsewhere.services, _changed(records, kind, **changes))
    await put_in(elsewhere.services, records)
    for statement in (
        "SELECT c.id, n.id, author, text, n.created_at FROM conversation_notes n JOIN conversations c ON c.number = n.conversation",
        "SELECT account_id, name, text, created_at, updated_at FROM saved_replies",
    ):
        assert await moved(moving, elsewhere, statement)
    assert await execute(elsewhere, "SELECT DISTINCT assignee FROM conversations") == [(None,)]
