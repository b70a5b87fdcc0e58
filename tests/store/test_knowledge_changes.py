"""History of changes to knowledge: every change is recorded with its author and can be taken back, within bounds."""

import uuid
from collections.abc import Sequence

import pytest

from chatsvc.domain.models import Entry, KnowledgeChange, Synonyms
from chatsvc.store import knowledge, knowledge_changes
from chatsvc.store.database import Database
from chatsvc.store.knowledge_changes import NotUndoable
from tests.fakes import START
from tests.store.support import furnish, origin

pytestmark = pytest.mark.postgres

TOWELS = Synonyms(("havlu", "towel"), "faq.md")


def entry(question: str, answer: str = "answer") -> Entry:
    return Entry(str(uuid.uuid4()), question, ("other",), answer, "en", "faq.md")


async def add(db: Database, *questions: str, synonyms: Sequence[Synonyms] = ()) -> str:
    change = origin()
    await knowledge.replace(db, "bot", [knowledge.FromFile("faq.md", list(map(entry, questions)), synonyms)], change)
    return change.id


async def undo(db: Database, change: str) -> str:
    undoing = origin()
    assert await knowledge_changes.undo(db, "bot", change, undoing)
    return undoing.id


async def present(db: Database) -> list[str]:
    whole = await knowledge.whole(db, "bot")
    return [entry.question for entry in whole.entries] + [word for group in whole.synonyms for word in group.words]


async def history(db: Database) -> list[KnowledgeChange]:
    return [change for change, _ in await knowledge_changes.page(db, "bot", 100)]


async def test_each_kind_of_change_is_recorded_and_can_be_taken_back_and_done_again(db: Database) -> None:
    await furnish(db)
    first = await add(db, "a", "b", synonyms=[TOWELS])
    before = await present(db)
    second = await add(db, "c")
    assert await present(db) == ["question of bot", "c", "words of bot", "b"]
    undone = await undo(db, second)
    assert await present(db) == before
    await undo(db, undone)
    assert await present(db) == ["question of bot", "c", "words of bot", "b"]
    rows = await history(db)
    assert [(row.kind, row.title, row.before, row.after, row.undone) for row in rows] == [
        ("undo", "faq.md", 2, 1, False),
        ("undo", "faq.md", 1, 2, True),
        ("add", "faq.md", 2, 1, False),
        ("add", "faq.md", 0, 2, False),
        ("add", "bot.md", 0, 1, False),
    ]
    assert rows[1].undoes == second
    assert rows[0].origin.actor.name == "root"
    with pytest.raises(NotUndoable):  # the file was replaced since
        await undo(db, first)


async def test_one_entry_is_created_changed_and_removed_and_each_step_goes_back(db: Database) -> None:
    await furnish(db)
    item, created = entry("new")._replace(source=None), origin()
    await knowledge.create(db, "bot", item, created)
    changed = origin()
    assert await knowledge.update(db, "bot", item.id, lambda item: item._replace(answer="better"), changed)
    removed = origin()
    assert await knowledge.remove(db, "bot", item.id, removed)
    with pytest.raises(NotUndoable):
        await undo(db, changed.id)
    await undo(db, removed.id)
    content = await knowledge_changes.find(db, "bot", changed.id)
    assert content is not None
    assert (content.before[0].answer, content.after[0].answer) == ("answer", "better")
    await undo(db, changed.id)
    assert [entry.answer for entry in await knowledge.entries(db, "bot")] == ["answer of bot", "answer"]
    await undo(db, created.id)
    assert await present(db) == ["question of bot", "words of bot", "b"]
    with pytest.raises(NotUndoable):
        await undo(db, created.id)
    assert await knowledge.update(db, "bot", item.id, lambda entry: entry, origin()) is None


async def test_an_entry_keeps_its_place_and_an_equal_one_is_no_change(db: Database) -> None:
    await furnish(db)
    await add(db, "a", "b", "c")
    b = (await knowledge.entries(db, "bot"))[2]
    count = len(await history(db))
    await knowledge.update(db, "bot", b.id, lambda entry: entry, origin())
    assert len(await history(db)) == count
    await knowledge.update(db, "bot", b.id, lambda entry: entry._replace(question="b2"), origin())
    gone = origin()
    await knowledge.remove(db, "bot", b.id, gone)
    await undo(db, gone.id)
    assert (await present(db))[:4] == ["question of bot", "a", "b2", "c"]


async def test_an_entry_of_a_file_that_was_replaced_since_does_not_come_back(db: Database) -> None:
    await furnish(db)
    await add(db, "a", "b")
    gone = origin()
    await knowledge.remove(db, "bot", (await knowledge.entries(db, "bot"))[1].id, gone)
    again = await add(db, "a", "b")
    with pytest.raises(NotUndoable):
        await undo(db, gone.id)
    await undo(db, again)
    await undo(db, gone.id)
    assert (await present(db))[:3] == ["question of bot", "a", "b"]


async def test_the_history_is_the_bots_own_and_bounded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    (change, _), *_ = await knowledge_changes.page(db, "other", 10)
    assert await knowledge_changes.find(db, "bot", change.origin.id) is None
    assert not await knowledge_changes.undo(db, "bot", change.origin.id, origin())
    monkeypatch.setattr(knowledge_changes, "MOST_CHANGES", 3)
    for at in range(5):
        await knowledge.create(db, "bot", entry(str(at)), origin(START + at))
    assert [change.title for change in await history(db)] == ["4", "3", "2"]
    monkeypatch.setattr(knowledge_changes, "MOST_BYTES", 1)
    await knowledge.create(db, "bot", entry("5"), origin())
    assert [change.title for change in await history(db)] == ["5"]
    assert len(await knowledge_changes.page(db, "other", 10)) == 1
