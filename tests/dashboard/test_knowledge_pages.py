"""Pages of a bot's knowledge: list, editor, upload, preview, check, history, questions without an answer, trial."""

import json

import pytest
import pytest_asyncio
from aiohttp import FormData

from chatsvc.domain.models import SendMessage
from chatsvc.services.knowledge import unanswered
from tests.dashboard.client import Client
from tests.dashboard.site import Site
from tests.fakes import ScriptedEngine, bot_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def base(site: Site) -> str:
    """The pages of the bot of `site.mine`, which answers from its knowledge in English."""
    await site.do("bot.set", bot=site.mine.bot, model="offline", language="en")
    return f"/bots/{site.mine.bot}"


async def entry_of(site: Site, question: str) -> str:
    (key,) = [entry.id for entry in await site.do("knowledge.list", bot=site.mine.bot) if entry.question == question]
    return str(key)


async def test_the_list_shows_entries_by_source_and_finds_them(site: Site, base: str, reader: Client, editor: Client) -> None:
    page = await reader.get(f"{base}/knowledge")
    assert (page.has("faq.md"), site.mine.ids["entry"] in page.records(), page.forms("knowledge.add")) == (True, True, [])
    assert (await editor.get(f"{base}/knowledge")).forms("knowledge.add")
    page = await reader.get(f"{base}/knowledge?q=BICYCLES")
    assert (page.has("Do you rent bicycles?"), "Are you open on Saturday?" in page.text) == (True, False)
    assert (await reader.get(f"{base}/knowledge?q=zeppelin")).has("No entry was found")
    assert (await reader.get(f"{base}/knowledge?source=other.md&after=x")).records() == []
    await site.do(
        "knowledge.set", bot=site.mine.bot, question="Skips", answer="| Size | Price |\n|---|:--|\n| 4 yard | £205 |\n\nVAT included."
    )
    page = await reader.get(f"{base}/knowledge?q=skips")
    assert (page.has("Size · Price"), page.has("4 yard · £205"), "|" in page.text) == (True, True, False)
    await site.do("knowledge.remove", bot=site.mine.bot, entry=await entry_of(site, "Skips"))


async def test_an_entry_is_written_previewed_changed_and_removed(site: Site, base: str, editor: Client) -> None:
    question, new = "Do you sell helmets?", f"{base}/knowledge/new"
    page = await editor.submit(new, "knowledge.set", question=question, alt="helmets\n\n", answer="Yes, at the desk.")
    assert (page.status, page.alert, page.text.count("Saved.")) == (200, "", 1)
    entry = await entry_of(site, question)
    path = f"{base}/knowledge/{entry}"
    assert (page.path, (await editor.get(f"{base}/knowledge?source=-")).records()) == (f"{path}?done=saved", [entry])
    page = await editor.submit(path, "knowledge.set", question="", answer="x" * 8001, alt="y" * 501)
    assert page.refuses("The question is missing", kept="y" * 501)
    fields = {"bot": site.mine.bot, "entry": entry, "question": question, "alt": "", "answer": "Only for children.", "language": "en"}
    preview = await editor.settled(await editor.post(f"{new}/preview", fields))
    assert preview.has("Answers that change: 2. Questions that gain an answer: 0. Questions that lose theirs: 0.", "Only for children.")
    assert (await editor.get(f"{preview.path}?kind=changed")).has("Yes, at the desk.")
    page = await editor.submit(preview.path, "knowledge.set")
    assert (page.has("Saved."), "Only for children." in page.body) == (True, True)
    beside = await editor.post(f"{new}/search", {**fields, "answer": "typed and kept", "q": "rent a bicycle"})
    assert (beside.has("Do you rent bicycles?"), "typed and kept" in beside.body) == (True, True)
    assert (await editor.get(f"{base}/knowledge/search?q=rent+bicycles")).has("Do you rent bicycles?")
    removal = await editor.settled(await editor.submit(path, "knowledge.preview"))
    assert removal.has("lose theirs: 1")
    edited = await editor.settled(await editor.submit(path, "knowledge.preview", question="Helmets?", answer="No."))
    assert edited.has("If you save “Helmets?”")
    assert (await editor.submit(removal.path, "knowledge.remove")).has("Removed.")
    assert (await editor.get(path)).status == 404


async def test_files_are_added_previewed_and_their_faults_shown_at_their_lines(base: str, editor: Client, site: Site) -> None:
    path, good = f"{base}/knowledge", b"## Do you repair chains?\nalt: chain\n\nYes, while you wait.\n"
    page = await editor.submit(path, "knowledge.add", file=[("repairs.md", good), ("more.csv", b"question,answer\na?,b\n")])
    assert (page.alert, page.has("repairs.md")) == ("", True)
    bad = b"## Do you repair chains?\nalt: chain\n\n## And brakes?\n\nYes.\n"
    page = await editor.submit(path, "knowledge.add", file=[("repairs.md", bad), ("x.exe", b"MZ")])
    assert page.refuses("repairs.md, line 1: this question has no answer", "'.exe' files cannot be read", kept="## Do you repair chains?")
    for text, words in (("## Who are you?\nalt: who", "pasted.md, line 1"), (" ", "Choose a file, or paste a text.")):
        page = await editor.submit(path, "knowledge.add", where={"name": ""}, text=text, name="pasted")
        assert page.refuses(words, kept=text.partition("\n")[0])
    fields = {"bot": site.mine.bot, "text": "## Do you repair brakes?\n\nYes.", "name": "repairs.md"}
    preview = await editor.settled(await editor.post(f"{path}/previews", fields))
    assert preview.has("repairs.md", "Do you repair chains?")
    page = await editor.submit(preview.path, "knowledge.add")
    assert (page.has("Do you repair brakes?"), "Do you repair chains?" in page.text) == (True, False)
    twice = FormData(default_to_multipart=True)
    for _ in range(2):
        twice.add_field("file", good, filename="twice.md")
    preview = await editor.settled(await editor.request("POST", f"{path}/previews", data=twice))
    page = await editor.submit(preview.path, "knowledge.add")
    assert (page.refuses("twice.md"), page.path, len(page.forms("knowledge.add"))) == (True, preview.path, 1)
    for form, begins in (("csv", "\ufeffquestion,alt"), ("jsonl", "{"), ("markdown", "## ")):
        export = await editor.get(f"{path}/export?format={form}")
        assert (export.body.startswith(begins), "attachment" in export.headers["Content-Disposition"]) == (True, True)


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
    bot = await bot_of(site.app.services, site.mine.bot)
    for text in texts:
        await unanswered.note(site.app.services, bot, SendMessage(bot.id, text, "v"), "web")


async def test_unanswered_questions_become_entries_or_phrasings_in_two_clicks(
    site: Site, base: str, editor: Client, reader: Client
) -> None:
    await ask(site, "can I bring my dog", "can I bring my dogs", "is there a lift for wheelchairs", "do you sell gift vouchers")
    path = f"{base}/unanswered"
    page = await reader.get(path)
    assert (page.has("asked 2 times"), page.forms("unanswered.answer")) == (True, [])
    group, *_ = page.records()
    draft = await editor.submit(path, "unanswered.answer", where={"id": group})
    assert draft.path == f"{base}/knowledge/new?unanswered={group}"
    page = await editor.submit(draft.path, "knowledge.set", answer="Dogs are welcome.")
    assert (page.path, group in page.records()) == (f"{path}?done=saved", False)
    assert group in (await editor.get(f"{path}?status=answered")).records()
    (entry,) = [entry for entry in await site.do("knowledge.list", bot=site.mine.bot) if entry.answer == "Dogs are welcome."]
    assert {entry.question, *entry.alt} == {"can I bring my dog", "can I bring my dogs"}
    (lift,) = (await editor.get(f"{path}?q=wheelchairs")).records()
    page = await editor.submit(f"{path}?q=wheelchairs", "unanswered.add", entry=entry.id)
    assert (page.has("phrasings of the entry"), lift in page.records()) == (True, False)
    (voucher,) = page.records()
    # Any entry can be chosen, not the nearest ones alone.
    choice = f"{path}?question={voucher}"
    shown = await editor.get(choice)
    assert {entry.id for entry in await site.do("knowledge.list", bot=site.mine.bot)} == set(shown.records())
    assert (choice in page.links(), shown.has("do you sell gift vouchers")) == (True, True)
    assert (await editor.get(f"{choice}&q=zzzz")).has("No entry matches.")
    matching = (await editor.get(f"{choice}&q=BICYCLES+euros")).records()
    assert (await entry_of(site, "Do you rent bicycles?") in matching, entry.id in matching) == (True, False)
    for client, number, status in ((reader, voucher, 403), (editor, "99999", 404), (editor, "x", 404)):
        assert (await client.get(f"{path}?question={number}")).status == status
    for number in ("99999", "x"):
        assert (await editor.post(f"{path}/answer", {"id": number})).status == 404
    for fields in ({}, {"id": voucher}):
        refused = await editor.post(f"{path}/forget", {"bot": site.mine.bot, **fields})
        assert (refused.refuses("This cannot be undone. Please confirm it."), voucher in refused.records()) == (True, True)
    page = await editor.submit(path, "knowledge.forget_unanswered", where={"id": voucher}, yes="1")
    assert voucher not in page.records()
    await ask(site, "do you deliver to the airport")
    records = (await site.do("audit", limit=1000)).items
    for query, status in (("", 200), ("?status=all&q=airport", 200), ("?after=20", 200), ("?after=-1", 422)):
        assert (await reader.get(path + query)).status == status
    assert (await site.do("audit", limit=1000)).items == records
    assert (await editor.post(f"{path}/forget", {"bot": site.mine.bot, "yes": "1"})).records() == []


async def test_a_trial_shows_reply_decision_and_reasons(site: Site, base: str, reader: Client, editor: Client) -> None:
    page = await reader.submit(f"{base}/try", "bot.try", text="Do you rent bicycles?")
    assert page.has("15 euros a day", "answers", "because of:", "Hello, I'm Harbour Cycles bot.")
    assert "Improve this answer" not in page.text
    assert (await editor.submit(f"{base}/try", "bot.try", text="Do you rent bicycles?")).has("Improve this answer")
    assert (await reader.submit(page.path, "bot.try", text="how far is the moon")).has("The bot does not know", "15 euros a day")
    assert "15 euros a day" not in (await reader.get(f"{base}/try")).text
    assert (await reader.submit(f"{base}/try", "bot.try", text=" ")).refuses("Message: please fill in this field.")
    conversations = (await site.do("conversation.list", bot=site.mine.bot)).items
    assert all("moon" not in str(conversation) for conversation in conversations)


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
