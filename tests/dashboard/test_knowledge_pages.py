"""Pages of a bot's knowledge: list, editor, upload, preview, check, history, questions without an answer, trial."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio
from aiohttp import FormData

from chatsvc.domain.models import SendMessage
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import unanswered
from tests.dashboard.client import Client
from tests.dashboard.site import Site
from tests.fakes import ADMIN, ScriptedEngine

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def base(site: Site) -> str:
    """The pages of the bot of `site.mine`, which answers from its knowledge in English."""
    await site.do("bot.set", bot=site.mine.bot, model="offline", language="en")
    return f"/bots/{site.mine.bot}"


async def entry_of(site: Site, question: str) -> str:
    (found,) = [one.id for one in await site.do("knowledge.list", bot=site.mine.bot) if one.question == question]
    return str(found)


async def test_the_list_shows_entries_by_source_and_finds_them(site: Site, base: str, reader: Client, editor: Client) -> None:
    page = await reader.get(f"{base}/knowledge")
    assert page.has("faq.md")
    assert site.mine.ids["entry"] in page.records()
    assert page.forms("knowledge.add") == []
    assert (await editor.get(f"{base}/knowledge")).forms("knowledge.add")
    found = await reader.get(f"{base}/knowledge?q=BICYCLES")
    assert found.has("Do you rent bicycles?")
    assert "Are you open on Saturday?" not in found.text
    assert "No entry was found" in (await reader.get(f"{base}/knowledge?q=zeppelin")).text
    assert (await reader.get(f"{base}/knowledge?source=other.md&after=x")).records() == []


async def test_an_entry_is_written_previewed_changed_and_removed(site: Site, base: str, editor: Client) -> None:
    page = await editor.submit(
        f"{base}/knowledge/new", "knowledge.set", question="Do you sell helmets?", alt="helmets\n\n", answer="Yes, at the desk."
    )
    assert (page.status, page.alert) == (200, "")
    assert page.text.count("Saved.") == 1
    entry = await entry_of(site, "Do you sell helmets?")
    assert page.path == f"{base}/knowledge/{entry}?done=saved"
    assert (await editor.get(f"{base}/knowledge?source=-")).records() == [entry]
    assert (await editor.submit(f"{base}/knowledge/{entry}", "knowledge.set", question="", answer="x" * 8001, alt="y" * 501)).refuses(
        "The question is missing", kept="y" * 501
    )
    fields = {
        "bot": site.mine.bot,
        "entry": entry,
        "question": "Do you sell helmets?",
        "alt": "",
        "answer": "Only for children.",
        "language": "en",
    }
    preview = await editor.settled(await editor.post(f"{base}/knowledge/new/preview", fields))
    assert preview.has("Answers that change: 2. Questions that gain an answer: 0. Questions that lose theirs: 0.", "Only for children.")
    assert "Yes, at the desk." in (await editor.get(f"{preview.path}?kind=changed")).text
    page = await editor.submit(preview.path, "knowledge.set")
    assert "Saved." in page.text
    assert "Only for children." in page.body
    beside = await editor.post(f"{base}/knowledge/new/search", {**fields, "answer": "typed and kept", "q": "rent a bicycle"})
    assert "typed and kept" in beside.body
    assert "Do you rent bicycles?" in beside.text
    assert "Do you rent bicycles?" in (await editor.get(f"{base}/knowledge/search?q=rent+bicycles")).text
    removal = await editor.settled(await editor.submit(f"{base}/knowledge/{entry}", "knowledge.preview"))
    assert removal.has("lose theirs: 1")
    assert (
        await editor.settled(await editor.submit(f"{base}/knowledge/{entry}", "knowledge.preview", question="Helmets?", answer="No."))
    ).has("If you save “Helmets?”")
    assert (await editor.submit(removal.path, "knowledge.remove")).has("Removed.")
    assert (await editor.get(f"{base}/knowledge/{entry}")).status == 404


async def test_files_are_added_previewed_and_their_faults_shown_at_their_lines(site: Site, base: str, editor: Client) -> None:
    good = b"## Do you repair chains?\nalt: chain\n\nYes, while you wait.\n"
    page = await editor.submit(f"{base}/knowledge", "knowledge.add", file=[("repairs.md", good), ("more.csv", b"question,answer\na?,b\n")])
    assert (page.status, page.alert) == (200, "")
    assert "repairs.md" in page.text
    bad = b"## Do you repair chains?\nalt: chain\n\n## And brakes?\n\nYes.\n"
    page = await editor.submit(f"{base}/knowledge", "knowledge.add", file=[("repairs.md", bad), ("x.exe", b"MZ")])
    assert page.status == 422
    assert "repairs.md, line 1: this question has no answer" in page.alert
    assert "'.exe' files cannot be read" in page.alert
    assert "## Do you repair chains?" in page.text
    page = await editor.submit(f"{base}/knowledge", "knowledge.add", where={"name": ""}, text="## Who are you?\nalt: who", name="pasted")
    assert page.status == 422
    assert "pasted.md, line 1" in page.alert
    assert "## Who are you?" in page.text
    assert (await editor.submit(f"{base}/knowledge", "knowledge.add", where={"name": ""}, text=" ")).refuses(
        "Choose a file, or paste a text."
    )
    fields = {"bot": site.mine.bot, "text": "## Do you repair brakes?\n\nYes.", "name": "repairs.md"}
    preview = await editor.settled(await editor.post(f"{base}/knowledge/previews", fields))
    assert preview.has("repairs.md", "Do you repair chains?")
    page = await editor.submit(preview.path, "knowledge.add")
    assert page.has("Do you repair brakes?")
    assert "Do you repair chains?" not in page.text
    twice = FormData(default_to_multipart=True)
    for _ in range(2):
        twice.add_field("file", good, filename="twice.md")
    preview = await editor.settled(await editor.request("POST", f"{base}/knowledge/previews", data=twice))
    page = await editor.submit(preview.path, "knowledge.add")
    assert (page.status, "twice.md" in page.alert, page.path) == (422, True, preview.path)
    assert page.forms("knowledge.add")
    for form, begins in (("csv", "\ufeffquestion,alt"), ("jsonl", "{"), ("markdown", "## ")):
        export = await editor.get(f"{base}/knowledge/export?format={form}")
        assert export.body.startswith(begins)
        assert "attachment" in export.headers["Content-Disposition"]


async def test_a_change_is_shown_with_its_author_and_taken_back(site: Site, base: str, editor: Client, reader: Client) -> None:
    await editor.submit(f"{base}/knowledge/new", "knowledge.set", question="Where are you?", answer="At the pier.")
    page = await reader.get(f"{base}/knowledge/history")
    assert page.has("Written: Where are you?", "Editor (page)")
    change = f"{base}/knowledge/history/{page.records()[0]}"
    assert (await reader.get(change)).forms("knowledge.undo") == []
    assert (await editor.submit(change, "knowledge.undo")).has("Taken back: Where are you?")
    assert await site.do("knowledge.search", bot=site.mine.bot, questions=["x"])
    assert (await editor.post(change, {})).refuses("taken back already")
    assert (await editor.get(f"{base}/knowledge/history/{UNKNOWN}")).status == 404


async def test_weak_spots_are_listed_with_links(site: Site, base: str, editor: Client, reader: Client) -> None:
    await editor.submit(f"{base}/knowledge/new", "knowledge.set", question="do you rent bicycles", answer="Yes, for 15 euros a day.")
    page = await reader.settled(await reader.submit(f"{base}/knowledge", "knowledge.lint"))
    assert page.has("same phrasing")
    entry = await entry_of(site, "do you rent bicycles")
    assert f"{base}/knowledge/{entry}" in page.links()


async def ask(site: Site, *texts: str) -> None:
    bot = await bots.show(site.app.services, ADMIN, bot=site.mine.bot)
    for text in texts:
        await unanswered.note(site.app.services, bot, SendMessage(bot.id, text, "v"), "web")


async def test_unanswered_questions_become_entries_or_phrasings_in_two_clicks(
    site: Site, base: str, editor: Client, reader: Client
) -> None:
    await ask(site, "can I bring my dog", "can I bring my dogs", "is there a lift for wheelchairs", "do you sell gift vouchers")
    page = await reader.get(f"{base}/unanswered")
    assert page.has("asked 2 times")
    assert page.forms("unanswered.answer") == []
    group, *_ = page.records()
    draft = await editor.submit(f"{base}/unanswered", "unanswered.answer", where={"id": group})
    assert draft.path == f"{base}/knowledge/new?unanswered={group}"
    page = await editor.submit(draft.path, "knowledge.set", answer="Dogs are welcome.")
    assert page.path == f"{base}/unanswered?done=saved"
    assert group not in page.records()
    assert group in (await editor.get(f"{base}/unanswered?status=answered")).records()
    (entry,) = [one for one in await site.do("knowledge.list", bot=site.mine.bot) if one.answer == "Dogs are welcome."]
    assert {entry.question, *entry.alt} == {"can I bring my dog", "can I bring my dogs"}
    (lift,) = (await editor.get(f"{base}/unanswered?q=wheelchairs")).records()
    page = await editor.submit(f"{base}/unanswered?q=wheelchairs", "unanswered.add", entry=entry.id)
    assert page.has("phrasings of the entry")
    assert lift not in page.records()
    (voucher,) = page.records()
    # Any entry can be chosen, not the nearest ones alone.
    choice = f"{base}/unanswered?question={voucher}"
    assert choice in page.links()
    assert {one.id for one in await site.do("knowledge.list", bot=site.mine.bot)} == set((await editor.get(choice)).records())
    assert "do you sell gift vouchers" in (await editor.get(choice)).text
    assert "No entry matches." in (await editor.get(f"{choice}&q=zzzz")).text
    matching = (await editor.get(f"{choice}&q=BICYCLES+euros")).records()
    assert await entry_of(site, "Do you rent bicycles?") in matching
    assert entry.id not in matching
    assert [(await client.get(f"{base}/unanswered?question={number}")).status for client, number in
            ((reader, voucher), (editor, "99999"), (editor, "x"))] == [403, 404, 404]  # fmt: skip
    for fields in ({}, {"id": voucher}):
        refused = await editor.post(f"{base}/unanswered/forget", {"bot": site.mine.bot, **fields})
        assert refused.refuses("This cannot be undone. Please confirm it.")
        assert voucher in refused.records()
    page = await editor.submit(f"{base}/unanswered", "knowledge.forget_unanswered", where={"id": voucher}, yes="1")
    assert voucher not in page.records()
    for number in ("99999", "x"):
        assert (await editor.post(f"{base}/unanswered/answer", {"id": number})).status == 404
    await ask(site, "do you deliver to the airport")
    records = (await site.do("audit", limit=1000)).items
    for query in ("", "?status=all&q=airport", "?after=20"):
        assert (await reader.get(f"{base}/unanswered{query}")).status == 200
    assert (await reader.get(f"{base}/unanswered?after=-1")).status == 422
    assert (await site.do("audit", limit=1000)).items == records
    page = await editor.post(f"{base}/unanswered/forget", {"bot": site.mine.bot, "yes": "1"})
    assert page.records() == []


async def test_a_trial_shows_reply_decision_and_reasons(site: Site, base: str, reader: Client, editor: Client) -> None:
    page = await reader.submit(f"{base}/try", "bot.try", text="Do you rent bicycles?")
    assert page.has("15 euros a day", "answers", "because of:", "Hello, I'm Harbour Cycles bot.")
    assert "Improve this answer" not in page.text
    assert (await editor.submit(f"{base}/try", "bot.try", text="Do you rent bicycles?")).has("Improve this answer")
    assert (await reader.submit(page.path, "bot.try", text="how far is the moon")).has("The bot does not know", "15 euros a day")
    assert "15 euros a day" not in (await reader.get(f"{base}/try")).text
    assert (await reader.submit(f"{base}/try", "bot.try", text=" ")).refuses("Message: please fill in this field.")
    conversations = (await site.do("conversation.list", bot=site.mine.bot)).items
    assert all("moon" not in str(one) for one in conversations)


async def test_the_pages_are_turkish_for_operators_who_want_it(site: Site, base: str) -> None:
    await site.do("operator.set", email=site.email("owner"), language="tr")
    owner = await site.client("owner")
    await ask(site, "otoparkta yer ayırtabilir miyim")
    expected = {
        "/knowledge": "Yeni kayıt", "/knowledge/new": "Başka söylenişler", "/knowledge/history": "Her değişiklik",
        "/unanswered": "yanıt alamadığı", "/try": "ziyaretçi gibi", "": "Çalışma saatleri", "/texts": "Cümleler",
        "/forms/appointment": "Randevu",
    }  # fmt: skip
    for path, words in expected.items():
        page = await owner.get(base + path)
        assert (page.status, page.language, words in page.text) == (200, "tr", True), path
    page = await owner.submit(f"{base}/knowledge", "knowledge.add", where={"name": ""}, text="## Kim?\nalt: siz", name="a.md")
    assert "a.md, satır 1: bu sorunun yanıtı yok" in page.alert
    assert (await owner.post(f"{base}/closed", {"from": "yarın"})).refuses("2026-12-31 gibi bir gün")
    page = await owner.submit(base, "bot.set", hours_mon="asla", hours_fri="9-")
    assert "pazartesi, cuma için saatleri" in page.alert


async def test_phrasings_of_a_model_are_previewed_and_added(site: Site, base: str, editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    monkeypatch.setitem(site.app.services.engines, "anthropic", engine)
    engine.completion = lambda text: json.dumps([["two wheels for a day"]] * text.count("["))
    draft = await editor.settled(await editor.submit(f"{base}/knowledge", "knowledge.phrase"))
    assert draft.has("If you add what a model has written:", "two wheels for a day")
    assert (await editor.submit(draft.path, "knowledge.phrase_apply")).has("Added.")
    entries = await site.do("knowledge.list", bot=site.mine.bot)
    assert all("two wheels for a day" in entry.alt for entry in entries)
    engine.completion = lambda _: "nothing"
    assert (await editor.settled(await editor.submit(f"{base}/knowledge", "knowledge.phrase"))).has("The model wrote no new ways to ask.")
