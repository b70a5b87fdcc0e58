"""Preview of a change to a bot's knowledge: exact, for past questions, phrasings and questions without an answer."""

from chatsvc.domain.models import Bot, Entry, Synonyms
from chatsvc.services.knowledge.previews import AnswerChange, PastQuestion, changes
from chatsvc.store.knowledge import Whole

BOT = Bot("b", "a", "Quay Inn", None, "offline", True, 0, 0, 0, language="en")
PARKING = Entry("1", "Parking", (), "Behind the house, £5 a night.", "en", "a.md")
BREAKFAST = Entry("2", "Breakfast", (), "From 8:00 to 10:00.", "en", "a.md")
DOGS = Entry("3", "Dogs", (), "One dog per room, £10 a night.", "en", "a.md")


def silent(*_: object) -> None:
    return None


def preview(
    before: list[Entry], after: list[Entry], *asked: tuple[str, str, int], groups: list[Synonyms] | None = None
) -> list[AnswerChange]:
    questions = [PastQuestion(*question) for question in asked]
    return changes(BOT, Whole(before, []), Whole(after, groups or []), questions, silent)[0]


def test_the_same_knowledge_changes_nothing_though_its_entries_have_new_ids() -> None:
    again = [entry._replace(id=f"new {entry.id}") for entry in (PARKING, BREAKFAST)]
    assert preview([PARKING, BREAKFAST], again, ("where can I park", "asked", 3), ("any breakfast", "unanswered", 1)) == []


def test_questions_that_lose_change_or_gain_an_answer_are_listed_worst_first() -> None:
    dearer = PARKING._replace(id="9", answer="Behind the house, £7 a night.")
    differences = preview(
        [PARKING, BREAKFAST],
        [dearer, DOGS],
        ("dogs allowed?", "unanswered", 4),
        ("parking", "asked", 2),
        ("Breakfast!", "asked", 7),
        ("hello", "asked", 9),
    )
    assert [(change.kind, change.question, change.origin, change.times, change.before, change.after) for change in differences] == [
        ("lost", "Breakfast!", "asked", 7, "Breakfast", None),
        ("changed", "parking", "asked", 2, "Parking", "Parking"),
        ("gained", "dogs allowed?", "unanswered", 4, None, "Dogs"),
        ("gained", "Dogs", "phrasing", 1, None, "Dogs"),
    ]


def test_synonyms_count_and_progress_is_reported() -> None:
    steps: list[tuple[str, int, int]] = []
    differences, _ = changes(
        BOT,
        Whole([PARKING, BREAKFAST], []),
        Whole([PARKING, BREAKFAST], [Synonyms(("brekkie", "breakfast"), "a.md")]),
        [PastQuestion("when is brekkie", "unanswered", 2)],
        lambda *step: steps.append(step),
    )
    assert [(change.kind, change.question, change.after) for change in differences] == [("gained", "when is brekkie", "Breakfast")]
    assert steps[-1] == ("searching for past questions", 3, 3)
