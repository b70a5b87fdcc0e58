"""Today, inbox, conversations and one conversation: what they show, their forms, in both languages."""

import json
from typing import Any

import pytest_asyncio

from chatsvc.domain.captures import Captured
from chatsvc.domain.mails import ANSWERS_A_DAY
from chatsvc.engines import Evidence
from chatsvc.services.messages.trials import Trials
from chatsvc.store import conversations, exchanges, mails, unanswered
from chatsvc.store.operators import SetupLink
from chatsvc.store.webhooks import Event
from tests.dashboard.client import Client, text_of
from tests.dashboard.filled import fill
from tests.dashboard.site import Site
from tests.fakes import ADMIN
from tests.store.inspection import add_events, execute, insert
from tests.store.support import new_exchange

CALL = Captured("contact", "Call me", "Ömer Çelik", "omer@example.com", "05327654321")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def web(site: Site) -> str:
    """A conversation on the website, whose visitor writes German."""
    await site.do("channel.set", bot=site.mine.bot, channel="web", sites=["https://shop.example"])
    return await site.write("web-visitor", "Haben Sie geöffnet?", channel="web")


async def test_today_shows_what_waits_and_the_first_steps(site: Site, owner: Client, reader: Client, web: str) -> None:
    services, ids = site.app.services, site.mine.ids
    question = unanswered.AskedQuestion("do you sell helmets", "Do you sell helmets?", "en", ("api", "x"))
    await unanswered.note(services.db, site.mine.bot, question, site.clock.now)
    page = await owner.get("/")
    assert {ids["request"], ids["appointment"]} <= set(page.records())
    # A new request for an appointment is listed as the appointment alone.
    assert (await site.do("inbox.find", record=ids["appointment"])).request.id not in page.records()
    assert "27 November 2026 14:30" in page.row(ids["appointment"])
    (asked,) = await unanswered.most_frequent(services.db, site.mine.account)
    assert page.row(str(asked.id)) == "Do you sell helmets? asked once Answer"
    assert page.has("of 100,000", "No webhook has failed.")
    # Knowledge, a conversation, a key, a webhook and the widget are there.
    assert "First steps" not in page.text
    page = await reader.get("/")
    assert ("of 100,000" in page.text, ids["request"] in page.records()) == (False, True)
    turkish = await site.client("owner", "tr")
    assert "Yeni talepler" in (await turkish.get("/")).text
    assert web not in page.records()


async def test_today_leads_a_new_account_and_shows_failures(site: Site, administrator: Client) -> None:
    account = await site.do("account.create", name="New Ltd")
    page = await administrator.get(f"/?account={account.account.id}")
    assert page.has("First steps")
    assert "/bots" in page.links()
    bot = await site.do("bot.create", name="Helper", account=account.account.id)
    page = await administrator.get("/")
    assert {f"/bots/{bot.id}/knowledge", f"/bots/{bot.id}/try", "/keys", f"/bots/{bot.id}/webhook", f"/bots/{bot.id}/channels"} <= set(
        page.links()
    )
    assert ("Try it done" in page.text, "The bot tells them to every visitor" in page.text) == (False, True)
    await site.do("bot.set", bot=bot.id, opening_hours="mon 9-17")
    assert "contact details done" in (await administrator.get("/")).text
    await site.do("bot.try", bot=bot.id)
    assert "Try it done" not in (await administrator.get("/")).text
    await site.do("bot.try", bot=bot.id, text="Hello")
    # After a restart too.
    del site.app.services._parts[Trials]
    assert "Try it done" in (await administrator.get("/")).text
    await site.do("key.create", account=account.account.id)
    await site.do("webhook.set", bot=bot.id, events=["request.created"])
    assert "Create an API key done" in (await administrator.get("/")).text
    await add_events(site.app.services.db, (Event(0, bot.id, "request.created", "r", "{}", site.clock.now), None))
    columns = "id, event_number, bot_id, delivery_id, body, at, success, status_code, error"
    (number,) = (await execute(site.app, "SELECT number FROM webhook_events WHERE bot_id = :1", bot.id))[0]
    await insert(site.app, "webhook_attempts", columns, [("a", number, bot.id, "d", b"{}", site.clock.now, 0, 500, "http_status")])
    assert "New request Status 500" in (await administrator.get("/")).text
    lost = "UPDATE webhook_attempts SET status_code = NULL, error = 'connect_failed' WHERE id = 'a'"
    await execute(site.app, lost)
    page = await administrator.get("/")
    assert ("New request no connection" in page.text, "/webhooks/a" in page.links()) == (True, True)
    await administrator.get(f"/?account={site.mine.account}")


async def test_today_offers_what_the_knowledge_says_for_settings_that_a_bot_lacks(
    site: Site, administrator: Client, reader: Client
) -> None:
    bot = await site.do("bot.create", name="Fırın", account=site.mine.account)
    answer = "Tel: 0212 555 01 02\nÇalışma saatleri: Pzt-Cum 9-18, Cmt 10-14"
    await site.do("knowledge.set", bot=bot.id, question="İletişim", answer=answer, alt=[])
    turkish = await site.client("owner", "tr")
    page = await turkish.get("/")
    assert page.has("Bilgi kayıtlarında: Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00", "Bilgi kayıtlarında: 0212 555 01 02")
    for setting, value in (("phone", "0212 555 01 02"), ("opening_hours", "mon-fri 09:00-18:00; sat 10:00-14:00")):
        done = await turkish.submit("/", "bot.set", where={"setting": setting})
        assert (done.path.partition("?")[0], done.has("Kaydedildi.")) == ("/", True)
        assert getattr(await site.do("bot.show", bot=bot.id), setting) in (value, "+902125550102")
    # Another page that is still open overwrites nothing.
    await site.do("bot.set", bot=bot.id, address="Kaya Sok. 5")
    form = {"account": site.mine.account, "bot": bot.id, "setting": "address", "value": "Other Street 1"}
    assert (await turkish.post("/adopt", form)).status == 200
    assert (await site.do("bot.show", bot=bot.id)).address == "Kaya Sok. 5"
    page = await turkish.get("/")
    assert ("Bilgi kayıtlarında" in page.text, f'data-bot="{bot.id}"' in page.body) == (False, False)
    assert (await reader.post("/adopt", form)).status == 403


async def test_the_inbox_filters_and_searches(site: Site, reader: Client) -> None:
    await site.say(site.mine, "Ömer Çelik, omer@example.com, 0532 765 43 21. Call me", "inbox-1", CALL)
    everything = await reader.get("/inbox")
    assert site.mine.ids["request"] in everything.records()
    assert everything.forms("request.set") == []
    results = await reader.get("/inbox?q=omer")
    assert set(results.records()) <= set(everything.records())
    assert (results.has("Ömer Çelik"), "tel:+905327654321" in results.links()) == (True, True)
    assert site.mine.ids["appointment"] in (await reader.get("/inbox?kind=appointment&status=pending")).records()
    for query, status, words in (
        ("q=nobody&status=done", 200, "Nothing matches"),
        ("status=lost", 422, ""),
        (f"bot={site.other.bot}", 404, ""),
    ):
        page = await reader.get(f"/inbox?{query}")
        assert (page.status, page.records(), words in page.text) == (status, [], True)
    assert (await (await site.client("reader", "tr")).get("/inbox")).has("Gelen kutusu")


async def test_an_editor_changes_status_note_and_person(site: Site, editor: Client, owner: Client, reader: Client) -> None:
    ids = site.mine.ids
    typed: dict[str, Any] = {"status": "confirmed", "assignee": "editor@example.com", "note": "Ring first"}
    done = await editor.submit("/inbox?kind=appointment", "appointment.set", where={"id": ids["appointment"]}, **typed)
    assert (done.status, done.path.startswith("/inbox?kind=appointment")) == (200, True)
    assert "Confirmed" in done.row(next(record for record in done.records() if ids["appointment"] not in record))
    shown = (await reader.get("/inbox?assignee=editor%40example.com")).text
    assert all(part in shown for part in ("Assigned to: editor@example.com", "Ring first", "Note by "))
    refused = await editor.submit("/inbox", "request.set", where={"id": ids["request"]}, status="done", note="x" * 4001)
    assert refused.refuses()
    assert refused.filled("request.set", id=ids["request"])["note"] == "x" * 4001
    await editor.submit("/inbox", "request.set", where={"id": ids["request"]}, status="done")
    assert ids["request"] in (await reader.get("/inbox?status=done")).records()
    # The fields of an appointment's form change nothing of a request.
    fields = {"kind": "request", "id": ids["request"], "status": "done", "date": "2026-12-01", "time": "10:00", "tell": "off"}
    assert (await owner.post("/inbox", fields)).path.startswith("/inbox?done=saved")
    # A confirmed appointment is no new request.
    assert ids["appointment"] in (await reader.get("/inbox?status=confirmed")).body
    assert ids["appointment"] not in (await reader.get("/inbox?status=new")).body


async def test_conversations_are_searched_and_paged(site: Site, reader: Client, web: str) -> None:
    page = await reader.get("/conversations")
    assert {site.mine.ids["conversation"], web} <= set(page.records())
    assert site.other.ids["conversation"] not in page.records()
    for query, records in (("channel=web", [web]), ("q=GEOFFNET", [web]), (f"q=geoffnet&bot={site.mine.bot}&captured=1", [])):
        assert (await reader.get(f"/conversations?{query}")).records() == records
    assert (await reader.get("/conversations?q=xylophone")).has("Nothing matches")
    for query, status in ((f"bot={site.other.bot}", 404), ("status=lost", 422), ("after=x", 422)):
        assert (await reader.get(f"/conversations?{query}")).status == status
    for number in range(60):
        await site.write(f"many-{number}", later_ms=number)
    page = await reader.get("/conversations")
    (following,) = page.links("next")
    older = await reader.get(following)
    assert (len(page.records()), set(page.records()) & set(older.records())) == (40, set())
    assert (await (await site.client("reader", "tr")).get("/conversations")).has("Görüşmeler")


async def test_a_conversation_shows_origins_requests_and_other_conversations(site: Site, reader: Client) -> None:
    await site.say(site.mine, "Ömer Çelik, omer@example.com. Call me", "first-device", CALL)
    await site.say(site.mine, "It is me again: omer@example.com", "second-device", CALL)
    evidence = Evidence(((site.mine.ids["entry"], 0.9123), ("gone", 0.2)), "answer", 0.9312).to_json()
    second, first = await site.write("second-device", evidence=evidence), await site.found("first-device")
    page = await reader.get(f"/conversations/{second}")
    assert f"/conversations/{first}" in page.links()
    assert page.has("93%", "The bot was sure enough to answer.")
    assert f"/bots/{site.mine.bot}/knowledge/{site.mine.ids['entry']}" in page.links()
    assert page.has("An entry that has been deleted", "It is me again: omer@example.com")
    thread = await conversations.find(site.app.services.db, None, second, 10)
    anchors = [message.id for message in thread.messages]
    assert set(anchors) <= {item.get("id") for item in page.tree.iter("li")}
    assert f"/conversations/{second}?message={anchors[0]}#{anchors[0]}" in page.links()


async def test_a_long_conversation_is_paged_and_a_message_found_by_its_link(site: Site, reader: Client) -> None:
    (talker,) = {await site.write("talker", f"turn {number}.", later_ms=number) for number in range(120)}
    path = f"/conversations/{talker}"
    page = await reader.get(path)
    assert ("turn 119." in page.text, "turn 70." in page.text, "turn 69." in page.text) == (True, True, False)
    (link,) = [link for link in page.links() if "before=" in link]
    older = await reader.get(link)
    assert ("turn 69." in older.text, "turn 70." in older.text, "Newest messages" in older.text) == (True, False, True)
    message = next(item.get("id") for item in older.tree.iter("li") if "reply to turn 40." in text_of(item))
    around = await reader.get(f"{path}?message={message}")
    thread = around.part("messages")
    assert ("turn 40." in thread, "turn 119." in thread, message in around.records()) == (True, False, True)
    (link,) = [link for link in (await reader.get("/conversations?q=talker+turn+40")).links() if talker in link]
    hit = await reader.get(link)
    assert (hit.path, "turn 40." in hit.text) == (f"{path}?message={message}&q=talker+turn+40", True)
    for query in ("q=xylophone", "message=unknown&before=unknown"):
        assert (await reader.get(f"{path}?{query}")).has("turn 119.")


async def test_an_editor_takes_replies_and_gives_back(site: Site, editor: Client, owner: Client, reader: Client, web: str) -> None:
    path = f"/conversations/{web}"
    assert [form.get("data-action") for form in (await reader.get(path)).forms()] == ["session.remove"]
    assert (await editor.submit(path, "conversation.take")).has("You are handling this conversation")
    assert web in (await reader.get("/conversations?status=operator")).records()
    assert (await editor.submit(path, "conversation.reply", text="x" * 4001)).refuses(kept="x" * 4001)
    replied = await editor.submit(path, "conversation.reply", text="Guten Tag, ja, bis 18 Uhr.")
    assert ("Guten Tag, ja, bis 18 Uhr." in replied.text, replied.path) == (True, path)
    # Somebody else has to confirm.
    assert (await owner.submit(path, "conversation.take")).refuses("Editor already has this conversation.")
    assert "You are handling this conversation" in (await owner.submit(path, "conversation.take", yes="1")).text
    assert "Owner is handling this conversation" in (await editor.get(path)).text
    typed = {"text": "Half written", "find": "open on saturday"}
    hits = await owner.post(f"{path}/find", typed)
    (form,) = hits.forms("conversation.reply")
    assert {name: dict(hits.values(form))[name] for name in typed} == typed
    (button, *_) = [candidate for candidate in form.iter("button") if candidate.get("name") == "insert"]
    inserted = await owner.post(button.get("formaction", ""), {**typed, "insert": button.get("value")})
    assert inserted.filled("conversation.reply")["text"] == "Half written\n\nYes, from 10 to 14."
    assert "No entry matches." in (await owner.post(f"{path}/find", {"find": "zzzz qqqq"})).text
    assert (await reader.post(f"{path}/find", typed)).status == 403
    assert (await editor.submit(path, "conversation.release")).refuses("Owner already has this conversation.")
    back = await owner.submit(path, "conversation.release")
    assert ("The bot has the conversation again." in back.text, "handling this conversation" in back.text) == (True, False)
    assert (await reader.post(f"{path}/reply", {"text": "x"})).status == 403


async def test_an_operators_message_becomes_an_entry(site: Site, editor: Client, web: str) -> None:
    path = f"/conversations/{web}"
    for text in ("Can you write to gina@example.com?", "Thanks a lot"):
        await site.write("web-visitor", text, channel="web")
    await editor.submit(path, "conversation.reply", text="Ja, bis 18 Uhr.", yes="1")
    page = await editor.get(path)
    link = [address for address in page.links() if "/knowledge/new?" in address][-1]
    new = await editor.get(link)
    filled = new.filled("knowledge.set")
    assert (filled["question"], filled["answer"]) == ("Haben Sie geöffnet?", "Ja, bis 18 Uhr.")
    foreign = link.replace(web, site.other.ids["conversation"])
    assert (await editor.get(foreign)).status == 404


async def test_visitor_and_operator_see_each_other_typing(site: Site, editor: Client, reader: Client, web: str) -> None:
    events, key = site.app.services.events, (site.mine.bot, "web", "web-visitor")
    path = f"/conversations/{web}"
    assert "is typing" not in (await reader.get(path)).text
    events.type(key, "visitor")
    assert "The visitor is typing" in (await reader.get(path)).text
    foreign = f"/conversations/{site.other.ids['conversation']}/typing"
    for client, target, site_header, status in (
        (reader, f"{path}/typing", "same-origin", 403),
        (editor, f"{path}/typing", "cross-site", 403),
        (editor, foreign, "same-origin", 404),
    ):
        assert (await client.post(target, headers={"Sec-Fetch-Site": site_header})).status == status
    assert not events.typing.has(key, "operator")
    assert (await editor.post(f"{path}/typing")).status == 204
    assert events.typing.has(key, "operator")


async def test_a_reply_is_kept_where_the_channel_was_removed(site: Site, editor: Client) -> None:
    path = f"/conversations/{await site.write('no-channel', channel='telegram')}"
    assert (await editor.submit(path, "conversation.reply", text="Half an answer")).refuses(kept="Half an answer")


async def test_a_conversation_of_the_interface_taken_by_the_command_line_is_given_back(site: Site, editor: Client) -> None:
    conversation = await site.write("of-the-interface")
    path = f"/conversations/{conversation}"
    acts = {form.get("data-action") for form in (await editor.get(path)).forms()}
    assert acts.isdisjoint({"conversation.take", "conversation.reply", "conversation.release"})
    await site.do("conversation.take", conversation=conversation)
    taken = await editor.get(path)
    assert (taken.forms("conversation.take"), taken.forms("conversation.reply")) == ([], [])
    assert (await editor.submit(path, "conversation.release")).status == 422
    assert (await editor.submit(path, "conversation.release", yes="1")).has("The bot has the conversation again.")


async def test_an_owner_exports_and_erases_a_conversation(site: Site, owner: Client, editor: Client) -> None:
    conversation = await site.write("forgettable", "Forget me")
    path = f"/conversations/{conversation}"
    exported = await owner.submit(path, "conversation.export")
    assert "attachment" in exported.headers["Content-Disposition"]
    detail = json.loads(exported.body)
    assert (detail["id"], detail["messages"][0]["content"]) == (conversation, "Forget me")
    assert (await editor.get(path)).forms("conversation.export") == []
    assert (await owner.submit(path, "conversation.erase")).refuses("This cannot be undone. Please confirm it.")
    done = await owner.submit(path, "conversation.erase", yes="1")
    assert (done.path.startswith("/conversations"), "Removed." in done.text) == (True, True)
    assert (await owner.get(path)).status == 404
    acts = (await site.do("audit", account=site.mine.account)).items
    assert {"conversation.export", "conversation.erase"} <= {act.operation for act in acts}
    assert ADMIN.actor not in {act.actor for act in acts if act.operation == "conversation.export"}


async def test_a_failed_message_is_explained_and_a_closed_window_told_before_writing(site: Site, editor: Client) -> None:
    conversation = await site.write("on-whatsapp", channel="whatsapp")
    unit = """
        UPDATE messages SET delivery = 'failed', error = :1, role = :2, author = :3
        WHERE role <> 'user' AND conversation = (SELECT number FROM conversations WHERE id = :4)
    """
    path = f"/conversations/{conversation}"
    for error, role, author, shown in (
        ("whatsapp_131026", "assistant", None, "not delivered (the visitor cannot be reached on WhatsApp)"),
        ("whatsapp_7", "operator", "phone", "not delivered (whatsapp_7)"),
    ):
        await execute(site.app, unit, error, role, author, conversation)
        assert shown in (await editor.get(path)).text
    for kind, value, where in (("scoped", "TR.134", "TR.134"), ("phone", "905551112233", "tel:+905551112233")):
        insert = "INSERT INTO whatsapp_addresses (bot_id, conversation, kind, value, is_current, created_at) SELECT"
        await execute(site.app, f"{insert} bot_id, number, :1, :2, 1, 5 FROM conversations WHERE id = :3", kind, value, conversation)
        assert where in (await editor.get(path)).body
    assert (await editor.get(path)).has("Your own phone", "takes messages to this visitor until")
    older = "UPDATE messages SET created_at = created_at - 86400000 WHERE conversation = (SELECT number FROM conversations WHERE id = :1)"
    await execute(site.app, older, conversation)
    page = await editor.get(path)
    assert ("older than 24 hours" in page.text, page.forms("conversation.reply")) == (True, [])


async def test_a_conversation_says_why_an_answer_was_not_mailed(site: Site, reader: Client, editor: Client) -> None:
    await fill(site)
    db, now = site.app.services.db, site.clock()
    waiting = await site.found("waiting-visitor")
    sent = [(site.mine.account, "answer", "gone@example.com", 1, "sent", now, now, 1)] * ANSWERS_A_DAY
    await insert(site.app, "mails", "account_id, kind, recipient, causes, state, created_at, due_at, attempts", sent)
    assert "five e-mails with answers have gone to gone@example.com" in (await editor.get(f"/conversations/{waiting}")).text
    await site.do("conversation.reply", conversation=waiting, text="Are you there?")
    (mail,) = [mail for mail in await mails.page(db, 100, state="queued") if mail.recipient == "gone@example.com"]
    assert await mails.begin(db, mail.number, now, SetupLink(b"", 0, 0), None) is None
    for client, expected in (
        (reader, "not seen by the visitor yet · the e-mail failed (The address got five answers by mail within a day)"),
        (
            await site.client("reader", "tr"),
            "ziyaretçi henüz görmedi · e-posta gönderilemedi (Bu adrese bir gün içinde beş yanıt e-postası gönderildi)",
        ),
    ):
        assert expected in (await client.get(f"/conversations/{waiting}")).text


async def test_a_page_names_the_zones_of_its_times(site: Site, owner: Client) -> None:
    site.clock.advance(1)  # the pages have the zone of the account's first bot
    bot = await site.do("bot.create", name="Overseas", account=site.mine.account, timezone="America/New_York")
    exchange = new_exchange(bot.id, site.mine.account, "overseas-visitor", at=site.clock.now, text="hello")
    await exchanges.record(site.app.services.db, exchange)
    (far,) = (await site.do("conversation.list", bot=bot.id)).items
    near = site.mine.ids["conversation"]
    for path, is_far in (("/conversations", False), (f"/conversations/{far.id}", True), (f"/conversations/{near}", False)):
        page = await owner.get(path)
        parts = [part for part in page.tree.iter() if part.get("id") in ("messages", "person")] or [page.tree]
        times = [time.get("title") or text_of(time) for part in parts for time in part.iter("time")]
        assert times, path
        assert page.text.count("Times are in Europe/Istanbul.") == 1, path
        # Of a thread the zone stands at each time, but not at the names of days.
        assert any("(America/New_York)" in time for time in times) is is_far, path
    turkish = await site.client("owner", "tr")
    assert "Saatler Europe/Istanbul saatine göredir." in (await turkish.get("/conversations")).text


async def test_appointments_stand_in_a_week_and_each_line_of_today_ends_in_the_act(site: Site, editor: Client, reader: Client) -> None:
    ids = site.mine.ids
    await site.do("appointment.set", appointment=ids["appointment"], status="pending")
    await site.do("request.set", request=ids["request"], status="new")
    week = await editor.get("/inbox?view=week&day=2026-11-24")
    assert ids["appointment"] in week.records()
    assert "Friday 27 November" in week.text
    assert all(part in week.row(ids["appointment"]) for part in ("14:30", "15:00", "To be confirmed"))
    assert ids["appointment"] not in (await editor.get("/inbox?view=week")).records()
    assert [(await editor.get(f"/inbox?view=week&day={wrong}")).status for wrong in ("soon", "0001-01-01", "9999-12-31")] == [404] * 3
    assert (await reader.get("/inbox?view=day&day=2026-11-27")).forms("appointment.add") == []
    turkish = await site.client("editor", "tr")
    assert "Cuma 27 Kasım" in (await turkish.get("/inbox?view=week&day=2026-11-24")).text
    page = await editor.submit("/", "appointment.set", where={"id": ids["appointment"]})
    assert (page.path, "Confirmed" in page.row(ids["appointment"])) == ("/?done=saved", True)
    page = await editor.submit("/", "request.set", where={"id": ids["request"]})
    assert ids["request"] not in page.records()
    assert (await site.do("inbox.list", bot=site.mine.bot, status="in_progress")).items[0].request.id == ids["request"]


async def test_an_appointment_is_added_moved_and_assigned_in_the_calendar(site: Site, editor: Client, owner: Client) -> None:
    day = "/inbox?view=day&day=2026-12-03"
    typed: dict[str, Any] = {"date": "2026-12-03", "time": "10:00", "name": "Ada", "phone": "nobody", "email": "", "message": "Colour"}
    assert (await editor.submit(day, "appointment.add", **typed)).refuses(kept="Colour")
    # A browser shows none of these in the fields themselves.
    typed["phone"] = ""
    assert "99:99" in (await editor.submit(day, "appointment.add", **{**typed, "time": "99:99"})).faults()["time"]
    assert "tomorrow" in (await editor.submit(day, "appointment.add", **{**typed, "date": "tomorrow"})).faults()["date"]
    answer = await editor.submit(day, "appointment.add", **{**typed, "phone": "0212 000 11 22"})
    assert (answer.path, answer.text.count("Ada")) == (f"{day}&done=saved", 1)
    again = await editor.submit(day, "appointment.add", **{**typed, "name": "Mert", "time": "10:15"})
    assert again.text.count("Overlap") == 2
    assert "More appointments than can be served at once: Thursday 10:00, Thursday 10:15" in again.text
    appointments = (await site.do("appointment.list", bot=site.mine.bot)).items
    record = "/inbox/" + next(row.request.id for row in appointments if row.request.visitor_name == "Ada")
    change: dict[str, Any] = {"date": "2026-12-03", "time": "11:00", "assignee": "editor@example.com", "text": "Now at {when}."}
    moved = await editor.submit(record, "appointment.set", **change)
    assert moved.path == f"{record}?done=saved"
    assert moved.has("Told on", "Now at 3 Aralık 2026 Perşembe, 11.00.")
    columns = await editor.get(day)
    assert "Overlap" not in columns.text
    assert all(name in columns.text for name in ("Editor", "Nobody"))
    assert (await editor.submit(record, "appointment.set", date="2020-01-01")).status == 422
    assert "99:99" in (await editor.submit(record, "appointment.set", time="99:99")).faults()["time"]
    assert (await editor.get("/inbox/nothing")).status == 404
    shown = await owner.submit(day, "appointment.calendar")
    assert "/calendar/" in shown.secrets()[0]


async def test_who_waited_in_vain_is_on_today_until_it_is_settled(site: Site, editor: Client, reader: Client) -> None:
    held = await site.found("visitor-1")
    await execute(site.app, "UPDATE conversations SET missed_at = :1 WHERE id = :2", site.clock.now, held)
    page = await editor.get("/")
    assert all(part in page.row(held) for part in ("since ", "Settled"))
    assert held in (await editor.get("/conversations?status=missed")).records()
    assert (await reader.get("/")).forms("conversation.settle") == []
    page = await editor.submit("/", "conversation.settle", where={"id": held})
    assert (page.path, held in page.records()) == ("/?done=saved", False)
    assert held not in (await editor.get("/conversations?status=missed")).records()
