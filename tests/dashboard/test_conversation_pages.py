"""Conversations as an inbox: unread, notes, assignment, saved replies, the visitor beside the thread; without a script."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from chatsvc.domain.captures import Captured
from chatsvc.domain.refusals import Refused
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
    opened = await reader.get(f"/conversations/{web}")
    assert opened.element(web).get("data-unread") == "0"
    assert (await editor.get("/conversations")).element(web).get("data-unread") == "1"
    assert web not in (await reader.get("/conversations?status=unread")).records()
    await site.write(VISITOR, "Are you there?", channel="web")
    assert web in (await reader.get("/conversations?status=unread")).records()
    assert web in (await reader.get("/conversations?status=unread&q=bicycles")).records()
    row = (await reader.get("/conversations")).element(web)
    assert (row.get("data-unread"), "1 unread message" in text_of(row)) == ("1", True)
    turkish = await site.client("reader", "tr")
    row = (await turkish.get("/conversations")).element(web)
    assert ("Ziyaretçi 5F7A" in text_of(row), "okunmamış mesaj" in text_of(row)) == (True, True)


async def test_a_visitor_who_waits_stands_first(site: Site, reader: Client, web: str) -> None:
    await site.write("newer-visitor", "Newer than the other", channel="web")
    waits = "UPDATE conversations SET handling = :1, handling_since = :2 WHERE id = :3"
    await execute(site.app, waits, "waiting", site.clock.now, web)
    for path in (f"/conversations/{web}", "/conversations"):
        page = await reader.get(path)
        assert page.has("Waiting for a person")
        rows = [one.get("data-id") for one in page.tree.iter("li") if one.get("data-unread") is not None]
        assert (rows[0], rows.count(web)) == (web, 1), path
    assert (await reader.get("/conversations?status=waiting")).records() == [web]
    await execute(site.app, waits, "bot", None, web)
    assert "Waiting for a person" not in (await reader.get("/conversations")).text


async def test_a_note_is_seen_by_the_team_alone(site: Site, editor: Client, reader: Client, owner: Client) -> None:
    conversation, secret = site.mine.ids["conversation"], "Pays late; ask for a deposit."
    path = f"/conversations/{conversation}"
    assert (await editor.submit(path, "conversation.note", text="x" * 4001)).refuses(kept="x" * 4001)
    assert secret in (await editor.submit(path, "conversation.note", text=secret)).part("messages")
    thread = (await reader.get(path)).part("messages")
    assert ("Private note by Editor" in thread, secret in thread) == (True, True)
    assert (await reader.get(path)).forms("conversation.note") == []
    assert (await reader.post(f"{path}/note", {"text": "x"})).status == 403
    assert (await editor.post(f"/conversations/{site.other.ids['conversation']}/note", {"text": "x"})).status == 404
    exported = json.loads((await owner.submit(path, "conversation.export")).body)
    assert [one["text"] for one in exported["notes"]] == [secret]
    headers = {"Authorization": f"Bearer {site.mine.key}"}
    async with ClientSession(headers=headers) as session, session.get(f"{site.app.url}/api/v2/conversations/{conversation}") as answer:
        assert (answer.status, secret in await answer.text()) == (200, False)
    (found,) = [one for one in (await site.do("conversation.list", bot=site.mine.bot)).items if one.id == conversation]
    await site.say(site.mine, "Hello again", found.user_id)
    assert secret not in repr(site.engine.turns[-1])


async def test_a_conversation_is_assigned_and_mine(site: Site, editor: Client, owner: Client, reader: Client, web: str) -> None:
    path = f"/conversations/{web}"
    done = await owner.submit(path, "conversation.assign", email=site.email("editor"))
    assert ("Saved." in done.text, "assigned to Editor" in done.row(web)) == (True, True)
    assert (await editor.get("/conversations?status=mine")).records() == [web]
    assert web not in (await owner.get("/conversations?status=mine")).records()
    refused = await owner.submit(path, "conversation.assign", email="nobody@example.com")
    assert refused.status == 404
    assert (await reader.post(f"{path}/assign", {"email": ""})).status == 403
    # The filter stays while one works through the list.
    (row,) = (await editor.get("/conversations?status=mine")).element(web).iter("a")
    replied = await editor.submit(row.get("href", ""), "conversation.reply", text="On it.", yes="1")
    assert replied.path == f"{path}?status=mine"
    await owner.submit(path, "conversation.assign", email="")
    await site.do("conversation.release", conversation=web)
    assert (await editor.get("/conversations?status=mine")).records() == []


async def test_saved_replies_are_kept_and_inserted_without_a_script(site: Site, editor: Client, reader: Client, web: str) -> None:
    assert "No saved replies yet." in (await reader.get("/replies")).text
    text = "Hello {name}, this is Ada."
    assert (await editor.submit("/replies", "saved_reply.set", name="greeting", text=text)).text.count(text) >= 1
    assert (await editor.submit("/replies", "saved_reply.set", where={"name": ""}, name="", text="Kept")).refuses(kept="Kept")
    changed = await editor.submit("/replies", "saved_reply.set", where={"name": "greeting"}, text=f"{text} How can I help?")
    assert changed.records() == ["greeting"]
    path = f"/conversations/{web}"
    for name, filled in ((None, "Hello, this is Ada. How can I help?"), ("Deniz", "Hello Deniz, this is Ada. How can I help?")):
        await execute(site.app, "UPDATE conversations SET visitor_name = :1 WHERE id = :2", name, web)
        page = await editor.get(path)
        (form,) = page.forms("conversation.reply")
        (button,) = [one for one in form.iter("button") if one.get("value") == "saved"]
        fields = {"text": "So:", "saved": "greeting", "insert": "saved"}
        inserted = await editor.post(button.get("formaction", ""), fields)
        assert inserted.filled("conversation.reply")["text"] == f"So:\n\n{filled}"
    assert (await reader.post("/replies", {"name": "x", "text": "x"})).status == 403
    assert (await editor.submit("/replies", "saved_reply.remove", where={"name": "greeting"})).has("Removed.")
    assert (await editor.post("/replies/remove", {"name": "greeting"})).status == 404
    turkish = await site.client("editor", "tr")
    assert "Henüz hazır yanıt yok." in (await turkish.get("/replies")).text


def test_a_missing_name_leaves_no_gap() -> None:
    assert conversation_team.filled("Merhaba {name}, hoş geldiniz", None) == "Merhaba, hoş geldiniz"
    assert conversation_team.filled("{name}, hoş geldiniz", None) == "hoş geldiniz"
    assert conversation_team.filled("{name}, hoş geldiniz", "Ayşe") == "Ayşe, hoş geldiniz"


async def test_an_answer_is_improved_in_the_editor_of_its_entry(site: Site, editor: Client, reader: Client, web: str) -> None:
    entry = site.mine.ids["entry"]
    for question, known, decision in (
        ("Is Saturday fine?", entry, "answer"),
        ("And Sunday?", entry, "abstain"),
        ("And Monday?", "gone", "answer"),
    ):
        await site.write(VISITOR, question, channel="web", evidence=Evidence(((known, 0.9),), decision, 0.9).to_json())
    links = [one for one in (await editor.get(f"/conversations/{web}")).links() if "&message=" in one and "/knowledge/" in one][-3:]
    assert [one.partition("?")[0].rpartition("/")[2] for one in links] == [entry, "new", "new"]
    (form,) = (await editor.get(links[0])).forms("knowledge.set")
    filled = dict((await editor.get(links[0])).values(form))
    assert ("Is Saturday fine?" in filled["alt"].split("\n"), filled["question"] != "Is Saturday fine?") == (True, True)
    page = await editor.get(links[1])
    filled = page.filled("knowledge.set")
    assert (filled["question"], filled["answer"]) == ("And Sunday?", "")
    assert not [one for one in (await reader.get(f"/conversations/{web}")).links() if "/knowledge/new" in one]


async def test_days_stand_between_messages_and_the_visitor_beside_them(site: Site, owner: Client) -> None:
    wish = Captured("contact", "Call me", "Ömer Çelik", "omer@example.com", "05327654321")
    await site.say(site.mine, "Merhaba, bisiklet kiralıyor musunuz?", "two-days")
    await site.say(site.mine, "Ömer Çelik, omer@example.com, 0532 765 43 21", "two-days", wish)
    path = f"/conversations/{await site.found('two-days')}"
    earlier = "UPDATE messages SET created_at = created_at - 86400000 * :1 WHERE content = :2"
    await execute(site.app, earlier, 1, "Merhaba, bisiklet kiralıyor musunuz?")
    page = await owner.get(path)
    days = [text_of(one) for one in page.tree.iter("li") if one.get("class") == "day"]
    assert days == ["Yesterday", "Today"]
    await execute(site.app, earlier, 9, "Merhaba, bisiklet kiralıyor musunuz?")
    page = await owner.get(path)
    assert [text_of(one) for one in page.tree.iter("li") if one.get("class") == "day"] == ["Tuesday, 10 November 2026", "Today"]
    beside = page.part("person")
    assert [one for one in ("Ömer Çelik", "omer@example.com", "+905327654321", "Turkish", "Contact") if one not in beside] == []
    assert "tel:+905327654321" in page.links()


async def test_an_operator_of_another_account_is_not_assigned(site: Site, web: str) -> None:
    await site.do("operator.add", email="stranger-of@example.com", account=site.other.account, role="editor")
    with pytest.raises(Refused, match="operator_not_found"):
        await site.do("conversation.assign", conversation=web, email="stranger-of@example.com")


async def test_a_conversation_is_resolved_snoozed_and_back(site: Site, editor: Client, reader: Client, web: str) -> None:
    path = f"/conversations/{web}"
    assert ((await reader.get(path)).forms("conversation.settle"), (await reader.post(f"{path}/settle", {})).status) == ([], 403)
    listed = await editor.submit(path, "conversation.settle")
    assert ("Resolved." in listed.text, web in listed.records()) == (True, False)
    assert web in (await editor.get("/conversations?status=resolved")).records()
    await editor.submit(path, "conversation.reopen")
    assert web in (await editor.get("/conversations")).records()
    for wrong in ("", "x", "2020-01-01T10:00", "2099-01-01T10:00"):
        assert (await editor.submit(path, "conversation.snooze", time=wrong)).status == 422, wrong
    for until, shown in (("hours", "18:14"), ("tomorrow", "21 November 2026 09:00"), ("monday", "23 November 2026 09:00")):
        await editor.submit(path, "conversation.snooze", until=until, time="")
        assert f"Snoozed until {shown}" in (await reader.get(path)).text or until == "hours", until
    listed = await editor.submit(path, "conversation.snooze", time="2026-11-20T15:20")
    assert ("Snoozed." in listed.text, web in listed.records()) == (True, False)
    site.clock.now += 6 * 60_000
    await handling.return_overdue(site.app.services)
    back = await editor.get("/conversations")
    assert ("Back from snooze" in back.text, back.records().count(web)) == (True, 1)
    await site.write(VISITOR, "Hello?", channel="web")
    assert "Back from snooze" not in (await editor.get("/conversations")).text


async def test_a_conversation_of_another_is_not_resolved(site: Site, editor: Client, owner: Client, web: str) -> None:
    await owner.submit(f"/conversations/{web}", "conversation.take")
    assert (await editor.submit(f"/conversations/{web}", "conversation.settle")).refuses("Owner")
    await owner.submit(f"/conversations/{web}", "conversation.settle")
    assert "handling this conversation" not in (await owner.get(f"/conversations/{web}")).text


async def test_labels_are_added_removed_and_listed(editor: Client, reader: Client, web: str) -> None:
    path = f"/conversations/{web}"
    assert (await editor.submit(path, "conversation.label", add="x" * 41)).status == 422
    await editor.submit(path, "conversation.label", add="VIP")
    assert "VIP" in (await reader.get("/conversations?label=VIP")).row(web)
    for number in range(9):
        await editor.submit(path, "conversation.label", add=f"label {number}")
    assert (await editor.submit(path, "conversation.label", add="eleventh")).status == 422
    await editor.post(f"{path}/label", {"remove": "VIP", "account": ""})
    assert web not in (await reader.get("/conversations?label=VIP")).records()


async def test_several_are_changed_at_once(site: Site, editor: Client, owner: Client, reader: Client) -> None:
    chosen = [await site.write(visitor, "A parcel of pinecones", channel="web") for visitor in ("several-1", "several-2")]
    assert (await reader.get("/conversations")).forms("conversation.settle") == []

    async def do(act: str, **fields: str) -> Shown:
        values = [("account", site.mine.account), ("act", act), *fields.items(), *(("conversation", one) for one in chosen)]
        return await editor.post("/conversations", values)

    assert (await do("label", label="parcel")).status == 200
    assert (await do("assign", email=site.email("owner"))).status == 200
    rows = await reader.get("/conversations?label=parcel&sort=oldest")
    assert (sorted(rows.records()), "assigned to Owner" in rows.text) == (sorted(chosen), True)
    await owner.submit(f"/conversations/{chosen[0]}", "conversation.take")
    assert (await do("settle")).refuses("Owner")
    assert (await reader.get("/conversations?status=resolved&label=parcel")).records() == [chosen[1]]


async def test_a_search_shows_the_words_that_it_found(reader: Client) -> None:
    page = await reader.get("/conversations?q=PINEcone")
    assert [text_of(one) for one in page.tree.iter("mark")] == ["pinecones"] * 2
    assert "reply to A parcel of pinecones" in page.text


async def test_a_confirmed_appointment_is_no_new_request(site: Site, reader: Client) -> None:
    appointment, request = site.mine.ids["appointment"], (await site.do("inbox.find", record=site.mine.ids["appointment"])).request.id
    assert request in (await reader.get("/inbox?status=new")).body
    await site.do("appointment.set", appointment=appointment, status="confirmed")
    assert request not in (await reader.get("/inbox?status=new")).body
    assert appointment in (await reader.get("/inbox?status=confirmed")).body


async def test_operators_see_who_else_reads_and_writes(site: Site, editor: Client, owner: Client, web: str) -> None:
    path = f"/conversations/{web}"
    await owner.get(path)
    assert "Owner is looking at this conversation too" in (await editor.get(path)).part("handling")
    await owner.post(f"{path}/typing", {})
    shown = await editor.get(path)
    assert ("Owner is writing a reply" in shown.part("handling"), "Editor is" in shown.part("handling")) == (True, False)


async def test_who_takes_over_has_it_assigned_and_only_those_who_may_act_are_offered(site: Site, editor: Client, web: str) -> None:
    path = f"/conversations/{web}"
    shown = await editor.submit(path, "conversation.take")
    (form,) = shown.forms("conversation.assign")
    assert [one.get("value") for one in form.iter("option") if one.get("selected") is not None] == [site.email("editor")]
    offered = [one.get("value") for one in form.iter("option")]
    assert (site.email("owner") in offered, site.email("reader") in offered) == (True, False)
    assert (await editor.submit(path, "conversation.assign", email=site.email("reader"))).refuses()
