"""The page of a bot's tests, and the tests that a preview names."""

import pytest_asyncio

from chatsvc.engines import Evidence
from chatsvc.store import exchanges
from tests.dashboard.client import Client
from tests.dashboard.site import Site
from tests.store.support import new_exchange

RENTAL = "Do you rent bicycles?"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def path(site: Site) -> str:
    """The page of the bot of `site.mine`, in English."""
    await site.do("bot.set", bot=site.mine.bot, language="en")
    return f"/bots/{site.mine.bot}/tests"


async def cleared(site: Site) -> None:
    for test in (await site.do("test.show", bot=site.mine.bot)).tests:
        await site.do("test.remove", bot=site.mine.bot, test=test.id)


async def test_tests_are_added_run_and_removed(site: Site, path: str, editor: Client, reader: Client) -> None:
    page = await editor.get(path)
    assert page.has("There are no tests yet.")
    assert page.forms("test.run") == []
    page = await editor.submit(path, "test.add", ask="can I rent bicycles?", entry=RENTAL, contains="15 EUROS\n\nday\n", lacks="free")
    assert (page.path, page.alert) == (f"{path}?done=saved", "")
    page = await editor.submit(path, "test.add", ask="are you open on saturday?", contains="from 11")
    assert len(page.records()) == 2
    assert "The answer comes from “Do you rent bicycles?”" in page.text
    usage = await site.do("usage", account=site.mine.account)
    page = await reader.submit(path, "test.run")
    assert page.has("1 test failed", "the reply lacks 'from 11'", "Yes, from 10 to 14.")
    assert (page.body.count('data-passed="yes"'), page.body.count('data-passed="no"')) == (1, 1)
    assert await site.do("usage", account=site.mine.account) == usage
    assert (await (await site.client("reader", "tr")).submit(path, "test.run")).has("1 test başarısız", "yanıtta “from 11” geçmiyor")
    page = await reader.get(path)
    assert page.text.count("Reader 1 test failed") == 2
    assert (page.forms("test.add"), page.forms("test.remove")) == ([], [])
    first = (await editor.get(path)).records()[0]
    page = await editor.submit(path, "test.remove", where={"id": first})
    assert page.has("Removed.")
    assert first not in page.records()
    assert (await editor.post(f"{path}/remove", {"bot": site.mine.bot, "id": first})).status == 404
    await cleared(site)


async def test_a_test_with_faults_is_refused_and_kept(path: str, editor: Client) -> None:
    assert (await editor.submit(path, "test.add", ask="open?", lacks="")).refuses(
        "Tests › 1: a test needs an entry, a text that the reply contains or lacks, or a decision", kept='value="open?"'
    )
    assert (await editor.submit(path, "test.add", ask="open?", contains="yes", language="!")).refuses("language")


async def test_an_answer_in_a_conversation_becomes_a_test(site: Site, path: str, editor: Client, reader: Client) -> None:
    evidence = Evidence(((site.mine.ids["entry"], 0.9),), "answer", 0.9).to_json()
    exchange = new_exchange(site.mine.bot, site.mine.account, "asker", at=site.clock.now, text="Open on Saturday? I am a@example.com")
    await exchanges.record(site.app.services.db, exchange._replace(evidence=evidence))
    (conversation,) = (await site.do("conversation.list", bot=site.mine.bot, q="asker")).items
    page = await editor.get(f"/conversations/{conversation.id}")
    (link,) = [address for address in page.links() if "/tests?" in address]
    assert "This answer is right" in page.text
    assert not [address for address in (await reader.get(f"/conversations/{conversation.id}")).links() if "/tests?" in address]
    filled = await editor.get(link.partition("#")[0])
    assert "Open on Saturday?" in filled.body
    assert "a@example.com" not in filled.body
    page = await editor.submit(link.partition("#")[0], "test.add")
    assert page.alert == ""
    (test,) = (await site.do("test.show", bot=site.mine.bot)).tests
    assert (test.entry, test.decision) == ("Are you open on Saturday?", "answer")
    other = f"/bots/{site.mine.bot}/tests?conversation={site.other.ids['conversation']}&message=x"
    assert (await editor.get(other)).status == 404
    await cleared(site)


async def test_a_preview_names_the_tests_that_a_change_would_let_fail(site: Site, path: str, editor: Client) -> None:
    await site.do("test.add", bot=site.mine.bot, ask="can I rent bicycles?", contains="15 euros")
    await site.do("test.add", bot=site.mine.bot, ask="are you open on saturday?", contains="never")
    (entry,) = [item for item in await site.do("knowledge.list", bot=site.mine.bot) if item.question == RENTAL]
    editing = path.replace("/tests", f"/knowledge/{entry.id}")
    page = await editor.settled(await editor.submit(editing, "knowledge.preview", question=RENTAL, answer="Yes, for 20 euros a day."))
    assert "1 test of the bot would fail:" in page.text
    assert "can I rent bicycles?" in page.alert
    assert "the reply lacks '15 euros'" in page.alert
    assert "never" not in page.alert
    assert (await site.do("knowledge.show", bot=site.mine.bot, entry=entry.id)).answer == entry.answer
    page = await editor.settled(await editor.submit(editing, "knowledge.preview", question=RENTAL, answer="Yes, for 15 euros an hour."))
    assert "would fail" not in page.text
    await cleared(site)
