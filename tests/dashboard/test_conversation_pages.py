"""Conversations as an inbox: unread, notes, assignment, saved replies, the visitor beside the thread; without a script."""

import json

import pytest_asyncio
from aiohttp import ClientSession

from chatsvc.domain.captures import Captured
from chatsvc.engines import Evidence
from chatsvc.services.conversations import conversation_team, handling
from tests.dashboard.client import Client, Shown, text_of
from tests.dashboard.site import Site
from tests.store.inspection import execute

VISITOR = "7d3f9a2c41b8e6d05f7a"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def web(site: Site) -> str:
    """A conversation on the website."""
    await site.do("channel.set", bot=site.mine.bot, channel="web", sites=["https://shop.example"])
    return await site.write(VISITOR, "Do you rent bicycles?", channel="web")


async def test_a_row_is_unread_until_its_operator_opens_it(site: Site, reader: Client, editor: Client, web: str) -> None:
    row = (await reader.get("/conversations")).element(web)
    assert (row.get("data-unread"), "Visitor 5F7A now Bot: reply to Do you rent bicycles?" in text_of(row)) == ("1", True)
    (time,) = row.iter("time")
    assert (time.get("datetime"), time.get("title")) == ("2026-11-20T12:14:28Z", "20 November 2026 15:14")
    assert (await reader.get(f"/conversations/{web}")).element(web).get("data-unread") == "0"
    assert (await editor.get("/conversations")).element(web).get("data-unread") == "1"
    assert web not in (await reader.get("/conversations?status=unread")).records()
    await site.write(VISITOR, "Are you there?", channel="web")
    for query in ("status=unread", "status=unread&q=bicycles"):
        assert web in (await reader.get(f"/conversations?{query}")).records()
    for language, words in (("en", ("Visitor 5F7A", "1 unread message")), ("tr", ("Ziyaretçi 5F7A", "okunmamış mesaj"))):
        row = (await (await site.client("reader", language)).get("/conversations")).element(web)
        assert (row.get("data-unread"), [part for part in words if part not in text_of(row)]) == ("1", [])


async def test_a_visitor_who_waits_stands_first(site: Site, reader: Client, web: str) -> None:
    await site.write("newer-visitor", "Newer than the other", channel="web")
    waits = "UPDATE conversations SET handling = :1, handling_since = :2 WHERE id = :3"
    await execute(site.app, waits, "waiting", site.clock.now, web)
    for path in (f"/conversations/{web}", "/conversations"):
        page = await reader.get(path)
        rows = [row.get("data-id") for row in page.tree.iter("li") if row.get("data-unread") is not None]
        assert (page.has("Waiting for a person"), rows[0], rows.count(web)) == (True, web, 1), path
    for path in ("/", "/inbox", "/waiting"):
        page = await reader.get(path)
        assert (web in page.records(), "<title>(1) " in page.body) == (True, True), path
    assert (await reader.get("/conversations?status=waiting")).records() == [web]
    await execute(site.app, waits, "bot", None, web)
    assert "Waiting for a person" not in (await reader.get("/conversations")).text


async def test_a_note_is_seen_by_the_team_alone(site: Site, editor: Client, reader: Client, owner: Client) -> None:
    conversation, secret = site.mine.ids["conversation"], "Pays late; ask for a deposit."
    path = f"/conversations/{conversation}"
    assert (await editor.submit(path, "conversation.note", text="x" * 4001)).refuses(kept="x" * 4001)
    assert secret in (await editor.submit(path, "conversation.note", text=secret)).part("messages")
    page = await reader.get(path)
    assert (page.has("Private note by Editor"), secret in page.part("messages"), page.forms("conversation.note")) == (True, True, [])
    exported = json.loads((await owner.submit(path, "conversation.export")).body)
    assert [note["text"] for note in exported["notes"]] == [secret]
    headers = {"Authorization": f"Bearer {site.mine.key}"}
    async with ClientSession(headers=headers) as session, session.get(f"{site.app.url}/api/v2/conversations/{conversation}") as answer:
        assert (answer.status, secret in await answer.text()) == (200, False)
    await site.say(site.mine, "Hello again", "visitor-2")
    assert secret not in repr(site.engine.turns[-1])


async def test_a_conversation_is_assigned_and_mine(site: Site, editor: Client, owner: Client, web: str) -> None:
    path, mine = f"/conversations/{web}", "/conversations?status=mine"
    done = await owner.submit(path, "conversation.assign", email=site.email("editor"))
    assert ("Saved." in done.text, "assigned to Editor" in done.row(web)) == (True, True)
    assert ((await editor.get(mine)).records(), web in (await owner.get(mine)).records()) == ([web], False)
    await site.do("operator.add", email="stranger-of@example.com", account=site.other.account, role="editor")
    for email, status in (("nobody", 404), ("stranger-of", 404), ("reader", 422)):
        assert (await owner.submit(path, "conversation.assign", email=f"{email}@example.com")).status == status, email
    # The filter stays while one works through the list.
    (row,) = (await editor.get(mine)).element(web).iter("a")
    replied = await editor.submit(row.get("href", ""), "conversation.reply", text="On it.", yes="1")
    assert replied.path == f"{path}?status=mine"
    await owner.submit(path, "conversation.assign", email="")
    await site.do("conversation.release", conversation=web)
    assert (await editor.get(mine)).records() == []
    # Who takes over has it assigned, and only those who may act are offered.
    (form,) = (await editor.submit(path, "conversation.take")).forms("conversation.assign")
    offered = {option.get("value"): option.get("selected") is not None for option in form.iter("option")}
    assert ([email for email, chosen in offered.items() if chosen], site.email("reader") in offered) == ([site.email("editor")], False)
    assert site.email("owner") in offered
    await editor.submit(path, "conversation.release")
    await owner.submit(path, "conversation.assign", email="")


async def test_saved_replies_are_kept_and_inserted_without_a_script(site: Site, editor: Client, reader: Client, web: str) -> None:
    assert (await reader.get("/replies")).has("No saved replies yet.")
    text = "Hello {name}, this is Ada."
    assert (await editor.submit("/replies", "saved_reply.set", name="greeting", text=text)).has(text)
    assert (await editor.submit("/replies", "saved_reply.set", where={"name": ""}, name="", text="Kept")).refuses(kept="Kept")
    changed = await editor.submit("/replies", "saved_reply.set", where={"name": "greeting"}, text=f"{text} How can I help?")
    assert changed.records() == ["greeting"]
    for name, filled in ((None, "Hello, this is Ada. How can I help?"), ("Deniz", "Hello Deniz, this is Ada. How can I help?")):
        await execute(site.app, "UPDATE conversations SET visitor_name = :1 WHERE id = :2", name, web)
        (form,) = (await editor.get(f"/conversations/{web}")).forms("conversation.reply")
        (button,) = [button for button in form.iter("button") if button.get("value") == "saved"]
        inserted = await editor.post(button.get("formaction", ""), {"text": "So:", "saved": "greeting", "insert": "saved"})
        assert inserted.filled("conversation.reply")["text"] == f"So:\n\n{filled}"
    assert (await editor.submit("/replies", "saved_reply.remove", where={"name": "greeting"})).has("Removed.")
    assert (await editor.post("/replies/remove", {"name": "greeting"})).status == 404
    assert (await (await site.client("editor", "tr")).get("/replies")).has("Henüz hazır yanıt yok.")


def test_a_missing_name_leaves_no_gap() -> None:
    assert conversation_team.filled("Merhaba {name}, hoş geldiniz", None) == "Merhaba, hoş geldiniz"
    assert conversation_team.filled("{name}, hoş geldiniz", None) == "hoş geldiniz"
    assert conversation_team.filled("{name}, hoş geldiniz", "Ayşe") == "Ayşe, hoş geldiniz"


async def test_an_answer_is_improved_in_the_editor_of_its_entry(site: Site, editor: Client, reader: Client, web: str) -> None:
    entry, path = site.mine.ids["entry"], f"/conversations/{web}"
    for question, known, decision in (("Is Saturday fine?", entry, "answer"), ("And Sunday?", entry, "abstain"), ("?", "gone", "answer")):
        await site.write(VISITOR, question, channel="web", evidence=Evidence(((known, 0.9),), decision, 0.9).to_json())
    links = [link for link in (await editor.get(path)).links() if "&message=" in link and "/knowledge/" in link][-3:]
    assert [link.partition("?")[0].rpartition("/")[2] for link in links] == [entry, "new", "new"]
    filled = (await editor.get(links[0])).filled("knowledge.set")
    assert ("Is Saturday fine?" in filled["alt"].split("\n"), filled["question"] != "Is Saturday fine?") == (True, True)
    filled = (await editor.get(links[1])).filled("knowledge.set")
    assert (filled["question"], filled["answer"]) == ("And Sunday?", "")
    assert not [link for link in (await reader.get(path)).links() if "/knowledge/new" in link]


async def test_days_stand_between_messages_and_the_visitor_beside_them(site: Site, owner: Client) -> None:
    wish = Captured("contact", "Call me", "Ömer Çelik", "omer@example.com", "05327654321")
    await site.say(site.mine, "Merhaba, bisiklet kiralıyor musunuz?", "two-days")
    await site.say(site.mine, "Ömer Çelik, omer@example.com, 0532 765 43 21", "two-days", wish)
    path = f"/conversations/{await site.found('two-days')}"
    earlier = "UPDATE messages SET created_at = created_at - 86400000 * :1 WHERE content LIKE 'Merhaba, bisiklet%'"
    for days, name in ((1, "Yesterday"), (9, "Tuesday, 10 November 2026")):
        await execute(site.app, earlier, days)
        items = (await owner.get(path)).tree.iter("li")
        assert [text_of(item) for item in items if item.get("class") == "day"] == [name, "Today"]
    page = await owner.get(path)
    beside = page.part("person")
    assert [part for part in ("Ömer Çelik", "omer@example.com", "+905327654321", "Turkish", "Contact") if part not in beside] == []
    assert "tel:+905327654321" in page.links()


async def test_a_conversation_is_resolved_snoozed_and_back(site: Site, editor: Client, owner: Client, web: str) -> None:
    path = f"/conversations/{web}"
    listed = await editor.submit(path, "conversation.settle")
    assert ("Resolved." in listed.text, web in listed.records()) == (True, False)
    assert web in (await editor.get("/conversations?status=resolved")).records()
    await editor.submit(path, "conversation.reopen")
    assert web in (await editor.get("/conversations")).records()
    for wrong in ("", "x", "2020-01-01T10:00", "2099-01-01T10:00"):
        assert (await editor.submit(path, "conversation.snooze", time=wrong)).status == 422, wrong
    for until, shown in (("hours", ""), ("tomorrow", "21 November 2026 09:00"), ("monday", "23 November 2026 09:00")):
        await editor.submit(path, "conversation.snooze", until=until, time="")
        assert (await editor.get(path)).has(f"Snoozed until {shown}".strip()), until
    listed = await editor.submit(path, "conversation.snooze", time="2026-11-20T15:20")
    assert ("Snoozed." in listed.text, web in listed.records()) == (True, False)
    site.clock.now += 6 * 60_000
    await handling.return_overdue(site.app.services)
    back = await editor.get("/conversations")
    assert ("Back from snooze" in back.text, back.records().count(web)) == (True, 1)
    await site.write(VISITOR, "Hello?", channel="web")
    assert "Back from snooze" not in (await editor.get("/conversations")).text
    # Another's conversation is not resolved.
    await owner.submit(path, "conversation.take")
    assert (await editor.submit(path, "conversation.settle")).refuses("Owner")
    await owner.submit(path, "conversation.settle")
    assert "handling this conversation" not in (await owner.get(path)).text


async def test_labels_are_added_removed_and_listed(editor: Client, reader: Client, web: str) -> None:
    path = f"/conversations/{web}"
    for name in ("VIP", *(f"label {number}" for number in range(9))):
        await editor.submit(path, "conversation.label", add=name)
    assert "VIP" in (await reader.get("/conversations?label=VIP")).row(web)
    for wrong in ("x" * 41, "eleventh"):
        assert (await editor.submit(path, "conversation.label", add=wrong)).status == 422
    await editor.post(f"{path}/label", {"remove": "VIP", "account": ""})
    assert web not in (await reader.get("/conversations?label=VIP")).records()


async def test_several_are_changed_at_once_and_found_by_their_words(site: Site, editor: Client, owner: Client, reader: Client) -> None:
    chosen = [await site.write(visitor, "A parcel of pinecones", channel="web") for visitor in ("several-1", "several-2")]
    page = await reader.get("/conversations?q=PINEcone")
    assert ([text_of(mark) for mark in page.tree.iter("mark")], page.forms("conversation.settle")) == (["pinecones"] * 2, [])
    assert page.has("reply to A parcel of pinecones")

    async def do(act: str, **fields: str) -> Shown:
        values = [("account", site.mine.account), ("act", act), *fields.items(), *(("conversation", key) for key in chosen)]
        return await editor.post("/conversations", values)

    assert [(await do("label", label="parcel")).status, (await do("assign", email=site.email("owner"))).status] == [200, 200]
    rows = await reader.get("/conversations?label=parcel&sort=oldest")
    assert (sorted(rows.records()), "assigned to Owner" in rows.text) == (sorted(chosen), True)
    await owner.submit(f"/conversations/{chosen[0]}", "conversation.take")
    assert (await do("settle")).refuses("Owner")
    assert (await reader.get("/conversations?status=resolved&label=parcel")).records() == [chosen[1]]


async def test_operators_see_who_else_reads_and_writes(editor: Client, owner: Client, web: str) -> None:
    path = f"/conversations/{web}"
    await owner.get(path)
    assert "Owner is looking at this conversation too" in (await editor.get(path)).part("handling")
    await owner.post(f"{path}/typing", {})
    handled = (await editor.get(path)).part("handling")
    assert ("Owner is writing a reply" in handled, "Editor is" in handled) == (True, False)
