"""Texts in pieces: shown before they are saved, edited, joined, left out, and compared with the earlier version of their source."""

from pathlib import Path

import pytest
import pytest_asyncio

from chatsvc.services.knowledge.knowledge import MOST_PIECES
from tests.dashboard.client import Client, Shown
from tests.dashboard.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="package")

TEXT = Path(__file__).with_name("shop.txt").read_text("utf-8")
NEWER = TEXT.replace("five euros", "six euros").replace("1. Returns\nBring the bicycle back before seven in the evening.\n", "")


@pytest_asyncio.fixture(loop_scope="package", scope="module")
async def base(site: Site) -> str:
    """The path of the bot's pages."""
    await site.do("bot.set", bot=site.mine.bot, model="offline", language="en")
    return f"/bots/{site.mine.bot}"


def pieces(page: Shown) -> list[tuple[str, str]]:
    """The state and the question of each piece that is shown."""
    (form,) = page.forms("knowledge.import")
    questions = [value for name, value in page.values(form) if name == "question"]
    states = [piece.get("data-state", "") for piece in form.iter("fieldset") if piece.get("data-state")]
    return list(zip(states, questions, strict=True))


async def entries_of(site: Site, source: str) -> dict[str, tuple[str, str]]:
    """The entries of a source: ids and answers by question."""
    listed = await site.do("knowledge.list", bot=site.mine.bot)
    return {entry.question: (entry.id, entry.answer) for entry in listed if entry.source == source}


async def send(client: Client, page: Shown, *, left_out: int | None = None, **changed: list[str]) -> Shown:
    """Save the pieces of a page. `left_out` is the place of one that is not kept."""
    (form,) = page.forms("knowledge.import")
    sent = [(name, value) for name, value in page.values(form) if name not in changed and (name, value) != ("keep", str(left_out))]
    sent += [(name, value) for name, values in changed.items() for value in values]
    return await client.post(str(form.get("action")), sent)


async def test_a_pasted_text_is_shown_in_pieces_and_the_kept_ones_are_saved(site: Site, base: str, editor: Client) -> None:
    page = await editor.submit(f"{base}/knowledge", "knowledge.split", text=TEXT, name="shop")
    assert page.status == 200
    assert pieces(page) == [
        ("new", "OPENING HOURS"),
        ("new", "Delivery"),
        ("new", "1. Returns"),
        ("new", "TOURING"),
        ("new", "REPAIR"),
    ]
    assert await entries_of(site, "shop.md") == {}
    saved = await send(editor, page, left_out=4)
    assert saved.path == f"{base}/knowledge?done=files_added"
    stored = await entries_of(site, "shop.md")
    assert list(stored) == ["OPENING HOURS", "Delivery", "1. Returns", "TOURING"]
    assert stored["TOURING"][1] == "A course for beginners, with Ayşe."


async def test_a_new_version_shows_its_differences_and_keeps_ids_and_wanted_entries(site: Site, base: str, editor: Client) -> None:
    before = await entries_of(site, "shop.md")
    page = await editor.submit(f"{base}/knowledge?source=shop.md", "knowledge.split", text=NEWER)
    assert pieces(page) == [("same", "OPENING HOURS"), ("changed", "Delivery"), ("same", "TOURING"), ("new", "REPAIR")]
    assert page.has("New: 1, changed: 1, the same: 2, no longer there: 1.", "for five euros", "for six euros")
    await send(editor, page, keep_entry=[before["1. Returns"][0]])
    after = await entries_of(site, "shop.md")
    assert after.keys() == before.keys() | {"REPAIR"}
    assert {question: after[question][0] for question in before} == {question: entry[0] for question, entry in before.items()}
    assert after["Delivery"][1].endswith("six euros.")
    page = await editor.submit(f"{base}/knowledge?source=shop.md", "knowledge.split", text=NEWER)
    await send(editor, page)
    assert (await entries_of(site, "shop.md")).keys() == before.keys() - {"1. Returns"} | {"REPAIR"}


async def test_pieces_are_joined_and_edited_before_they_are_saved(site: Site, base: str, editor: Client) -> None:
    page = await editor.submit(f"{base}/knowledge", "knowledge.split", file=("joined.md", TEXT.encode()))
    (form,) = page.forms("knowledge.import")
    fields = [*page.values(form), ("join", "2"), ("join", "4")]
    page = await editor.post(f"{base}/knowledge/pieces/join", [field for field in fields if field != ("keep", "1")])
    assert [question for _, question in pieces(page)] == ["OPENING HOURS", "Delivery", "TOURING"]
    (form,) = page.forms("knowledge.import")
    values = [value for name, value in page.values(form) if name == "keep"]
    assert values == ["0", "2"]
    refused = await send(editor, page, question=["Hours of the shop", "", "x" * 501], keep=["0", "1", "2"])
    assert refused.status == 422
    assert "joined.md, piece 2: the question is missing" in refused.text
    assert "Hours of the shop" in refused.body
    await send(editor, refused, question=["Hours", "Delivery and returns", "Which courses are there?"])
    stored = await entries_of(site, "joined.md")
    assert list(stored) == ["Hours", "Delivery and returns", "Which courses are there?"]
    assert "REPAIR\nA course for the advanced, with Can." in stored["Which courses are there?"][1]
    assert stored["Delivery and returns"][1].endswith("Returns\nBring the bicycle back before seven in the evening.")


async def test_nothing_and_too_much_are_refused_with_the_text_kept(base: str, editor: Client) -> None:
    assert (await editor.submit(f"{base}/knowledge", "knowledge.split", text=" ")).refuses("Choose a file, or paste a text.")
    many = "\n".join(f"## Question number {number}?\n\nAnswer.\n" for number in range(MOST_PIECES + 1))
    assert (await editor.submit(f"{base}/knowledge", "knowledge.split", text=many)).refuses(
        f"This text makes {MOST_PIECES + 1} pieces", kept="Question number 7?"
    )


async def test_all_of_a_source_is_removed_and_can_be_taken_back(site: Site, base: str, editor: Client, reader: Client) -> None:
    shown = await reader.get(f"{base}/knowledge?source=joined.md")
    assert shown.forms("knowledge.remove_source") == []
    path = f"{base}/knowledge?source=joined.md"
    assert (await editor.submit(path, "knowledge.remove_source")).status == 422
    before = await entries_of(site, "joined.md")
    removed = await editor.submit(path, "knowledge.remove_source", yes="1")
    assert removed.path == f"{base}/knowledge?done=removed"
    assert await entries_of(site, "joined.md") == {}
    again = await editor.post(f"{base}/knowledge/sources/remove", {"source": "joined.md", "yes": "1"})
    assert again.status == 404
    history = await editor.get(f"{base}/knowledge/history")
    await editor.submit(f"{base}/knowledge/history/{history.records()[0]}", "knowledge.undo")
    assert await entries_of(site, "joined.md") == before
