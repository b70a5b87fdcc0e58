"""Review of a model's replies: invented figures, claims of actions that no tool did, and tool calls as text never reach a visitor."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, time

import pytest

from chatsvc.domain.captures import CapturedRecord, Change
from chatsvc.domain.models import Entry, Usage
from chatsvc.engines import EngineError, Reply
from chatsvc.engines.anthropic import AnthropicEngine, review, tools
from chatsvc.engines.anthropic.grounding import Known, Sources
from tests.engines.model_server import ModelServer, Step, calls, says
from tests.engines.test_anthropic import BOT, TURN, Shelf, entry, past
from tests.engines.test_anthropic_tools import ASKED, BOOKED, appointment, request, results
from tests.tables import rows

NOON_MS = int(datetime(2026, 11, 20, 10, 14, tzinfo=UTC).timestamp() * 1000)  # 13:14 in Istanbul
BUSINESSES = {
    "hotel": BOT._replace(name="Mavi Köy", description="A hotel", instructions=None, opening_hours="mon-sun 08:00-22:00"),
    "garage": BOT._replace(name="Usta Oto", description=None, instructions=None, opening_hours="mon-fri 08:30-18:00; sat 09:00-13:00"),
}


KNOWLEDGE, LINES = rows("engines/reply_knowledge")[1:], rows("engines/reply_cases")[1:]
HAIRCUT = CapturedRecord("appointment", "a-7", "appointment", "pending", "saç kesimi", 0, date(2026, 11, 25), time(14))
KEPT = replace(ASKED, captured=(HAIRCUT,))


@pytest.mark.parametrize(("business", "verdict", "language", "message", "reply"), LINES, ids=lambda given: given[:40])
def test_a_reply_gets_the_verdict_that_a_person_gave(business: str, verdict: str, language: str, message: str, reply: str) -> None:
    known = [row[1:] for row in KNOWLEDGE if row[0] == business]
    shelf = Shelf(tuple(Entry(f"k{n}", question, (), answer, "en") for n, (question, answer) in enumerate(known)))
    turn = replace(TURN, bot=BUSINESSES[business], knowledge=shelf, message=message, now_ms=NOON_MS)
    # What a search would find at its worst: everything, so that a wrong price has the most to be computed from.
    hits = [hit for entry in shelf.entries for hit in shelf.search(entry.question.lower()).hits]
    complaint = review.complaint(reply, hits, None, turn)
    outcome = "good" if complaint is None else "claim" if "was done" in complaint else "invented"
    assert outcome == verdict, complaint


def test_both_languages_have_replies_of_every_verdict() -> None:
    counted = Counter((verdict, language) for _, verdict, language, _, _ in LINES)
    assert len(counted) == 6
    assert min(counted.values()) >= 15


# --- asking once more ------------------------------------------------------------------------------------------------


async def test_a_reply_with_an_unknown_figure_is_asked_for_once_more(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([says("Parking is 99 EUR."), says("Parking is free of charge.")])
    assert await engine.reply(TURN) == Reply("Parking is free of charge.", Usage(20, 10))
    asked, correction = server.body["messages"][-2:]
    assert asked == {"role": "assistant", "content": [{"type": "text", "text": "Parking is 99 EUR."}]}
    assert "“99”" in correction["content"][0]["text"]
    assert "not shown to the visitor" in correction["content"][0]["text"]


BAD = ["Parking is 99 EUR.", "I have cancelled your appointment.", '<tool_call>{"name": "note_request"}</tool_call>', "note_request()"]


@pytest.mark.parametrize("turn", [TURN, ASKED], ids=["without tools", "with tools"])
@pytest.mark.parametrize("text", BAD)
async def test_a_reply_that_is_bad_twice_is_no_answer(server: ModelServer, engine: AnthropicEngine, text: str, turn: object) -> None:
    server.always = says(text)
    with pytest.raises(EngineError) as caught:
        await engine.reply(turn)  # type: ignore[arg-type]
    assert (caught.value.reason, len(server.seen)) == ("no_answer", 2)
    assert "99" not in str(caught.value)


@pytest.mark.parametrize("text", ["no_answer", "no_answer()", '{"name": "no_answer", "input": {}}'])
async def test_the_tool_for_no_answer_may_be_written_as_text(server: ModelServer, engine: AnthropicEngine, text: str) -> None:
    server.script.extend([says(text), says(text)])
    with pytest.raises(EngineError) as caught:
        await engine.reply(ASKED)
    assert caught.value.reason == "no_answer"


async def test_what_was_captured_stays_where_the_words_about_it_are_bad(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.append(calls(appointment()))
    server.always = says("Randevunuzu onayladım.")
    reply = await engine.reply(ASKED)
    assert reply.captured == BOOKED
    assert "not aldım" in reply.text
    assert "onayladım" not in reply.text


@pytest.mark.parametrize("step", [says("Talebinizi not aldım, ekip sizi arayacak."), says("Talebinizi ekibe ilettim.")])
async def test_saying_that_a_request_is_noted_is_true_once_it_is(server: ModelServer, engine: AnthropicEngine, step: Step) -> None:
    server.script.extend([calls(request()), step])
    reply = await engine.reply(ASKED)
    assert reply.captured is not None
    assert len(server.seen) == 2


@pytest.mark.parametrize(("status", "calls_made"), [("pending", 2), ("confirmed", 1)])
async def test_only_the_team_confirms(server: ModelServer, engine: AnthropicEngine, status: str, calls_made: int) -> None:
    server.script.extend([says("Your appointment on 25 November at 14:00 is confirmed."), says("The team has yet to confirm it.")])
    await engine.reply(replace(KEPT, captured=(HAIRCUT._replace(status=status),)))
    assert len(server.seen) == calls_made


# --- what is noted already -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosted", [True, False])
async def test_the_model_reads_each_record_as_the_team_does(server: ModelServer, engine: AnthropicEngine, *, hosted: bool) -> None:
    engine._hosted = hosted
    await engine.reply(KEPT)
    line = "- appointment a-7, status pending: appointment on Wednesday 2026-11-25 at 14:00; words: “saç kesimi”."
    assert line in str(server.body["messages"][-1])
    assert "saç kesimi" not in str(server.body["system"])
    assert tools.CHANGE_RECORD in [tool["name"] for tool in server.body["tools"]]


def change_of(**fields: object) -> tuple[str, object]:
    given = {"record_id": "a-7", "kind": "move", "quotes": ["cumaya alın"], "date": "2026-11-27"}
    return tools.CHANGE_RECORD, {**given, **fields}


MOVING = replace(KEPT, message="Randevumu cumaya alın")


async def test_moving_an_appointment_is_a_request_that_names_it(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(change_of()), says("Randevunuz ekip değiştirene kadar 25 Kasım 14:00'te kalır.")])
    reply = await engine.reply(MOVING)
    assert reply.captured is not None
    assert (reply.captured.change, reply.captured.date, reply.captured.time) == (
        Change(HAIRCUT, cancels=False),
        date(2026, 11, 27),
        time(14),
    )
    assert "what stands now" in results_before(server)


def results_before(server: ModelServer) -> str:
    return str(results(server)[0]["content"])


async def test_cancelling_an_appointment_is_a_request_and_the_fixed_sentence_says_so(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.append(calls(change_of(kind="cancel", date=None)))
    server.always = says("Randevunuzu iptal ettim.")
    reply = await engine.reply(replace(MOVING, message="Randevumu iptal edin"))
    assert reply.captured is not None
    assert reply.captured.change == Change(HAIRCUT, cancels=True)
    assert reply.text == "Bunu da not aldım; ekibimiz görecek."
    server.script.append(calls(change_of(quotes=["move it"])))
    english = await engine.reply(replace(MOVING, message="please move it to friday", language="en"))
    assert english.text == "I have noted that as well; the team will see it."


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"record_id": "a-8"}, "no such record that can be changed; the noted ones are: a-7"),
        ({"kind": "burn"}, "kind is one of move, cancel, amend, withdraw"),
        ({"date": "2020-01-01"}, "in the past"),
    ],
)
async def test_a_change_that_cannot_be_is_refused(
    server: ModelServer, engine: AnthropicEngine, fields: dict[str, object], sentence: str
) -> None:
    server.script.extend([calls(change_of(**fields)), says("Hangi gün?")])
    assert (await engine.reply(MOVING)).captured is None
    assert sentence in results_before(server)


async def test_one_message_changes_one_appointment_and_notes_no_second(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(change_of(), appointment(), change_of(kind="cancel")), says("Tamam.")])
    assert (await engine.reply(MOVING)).captured is not None
    assert [result.get("is_error", False) for result in results(server)] == [False, True, False]
    server.script.extend([calls(request(), change_of()), says("Tamam.")])
    await engine.reply(KEPT)
    assert [result.get("is_error", False) for result in results(server)] == [False, True]


CALL = CapturedRecord("request", "r-3", "contact", "new", "beni arayın", 0, visitor_name="Selin", visitor_phone="+905321234567")


@pytest.mark.parametrize(
    ("fields", "change", "text"),
    [
        ({"kind": "withdraw", "date": None}, Change(HAIRCUT, cancels=False), "olarak kalsın"),
        (
            {"kind": "amend", "date": None, "visitor_phone": "0544 712 45 80"},
            Change(HAIRCUT, cancels=False, corrects=True),
            "+905447124580",
        ),
        ({"record_id": "r-3", "kind": "amend", "date": None}, Change(CALL, cancels=False, corrects=True), "cumaya alın"),
        ({"record_id": "r-3", "kind": "cancel", "date": None}, Change(CALL, cancels=True, corrects=True), "cumaya alın"),
    ],
)
async def test_a_change_is_the_one_that_the_visitor_wants(
    server: ModelServer, engine: AnthropicEngine, fields: dict[str, object], change: Change, text: str
) -> None:
    turn = replace(MOVING, captured=(HAIRCUT, CALL), message="Randevumu cumaya alın, numaram 0544 712 45 80", may_capture=False)
    server.script.extend([calls(change_of(**fields)), says("Tamam.")])
    reply = await engine.reply(turn)
    assert reply.captured is not None
    assert reply.captured.change == change
    assert text in results_before(server)


async def test_only_an_appointment_is_moved(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(change_of(record_id="r-3")), says("Tamam.")])
    assert (await engine.reply(replace(MOVING, captured=(CALL,)))).captured is None
    assert "Only an appointment is moved." in results_before(server)


# --- no more is called noted than is ---------------------------------------------------------------------------------

GUITAR = CapturedRecord(
    "appointment",
    "a-9",
    "appointment",
    "pending",
    "try a guitar lesson",
    0,
    date(2026, 12, 3),
    time(18),
    "Tom Okafor",
    None,
    "+447700900431",
)
TOLD = past("Hello, I'd like to try a guitar lesson, acoustic, my shoulder is stiff", "Gladly.")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("Your trial of an acoustic lesson is noted.", ["acoustic"]),
        ("Your guitar lesson on 3 December at 18:00 is noted, Tom.", []),
        ("I have noted that your shoulder is stiff.", ["shoulder", "stiff"]),
        ("An acoustic guitar is fine.", []),
        ("If you like, your shoulder can be noted, too.", []),
        ("Noted: your guitar lesson. The school still has to confirm it.", []),
    ],
)
def test_a_reply_that_calls_more_noted_than_is_gets_no_further(reply: str, words: list[str]) -> None:
    complaint = review.complaint(reply, (), None, replace(TURN, history=TOLD, captured=(GUITAR,)))
    assert (complaint is not None) == bool(words)
    assert all(f"“{word}”" in str(complaint) for word in words)


async def test_what_was_called_noted_too_early_can_be_noted_in_the_same_message(server: ModelServer, engine: AnthropicEngine) -> None:
    turn = replace(ASKED, message="Fren tamiri için fiyat istiyorum, jantlar da eğri. selin@example.com")
    more = request(quotes=["fren tamiri için fiyat istiyorum", "jantlar da eğri"])
    server.script.extend(
        [calls(request()), says("Fren tamiri ve jantlar not edildi."), calls(more), says("Fren tamiri ve jantlar not edildi.")]
    )
    reply = await engine.reply(turn)
    assert reply.text == "Fren tamiri ve jantlar not edildi."
    assert reply.captured is not None
    assert reply.captured.message == "Fren tamiri için fiyat istiyorum, jantlar da eğri."


async def test_a_cancellation_can_be_taken_back(server: ModelServer, engine: AnthropicEngine) -> None:
    turn = replace(MOVING, captured=(HAIRCUT._replace(status="canceled"),), message="Randevum kalsın")
    server.script.extend([calls(change_of(quotes=["randevum kalsın"]), change_of(kind="withdraw", date=None)), says("Tamam.")])
    reply = await engine.reply(turn)
    assert [result.get("is_error", False) for result in results(server)] == [True, False]
    assert reply.captured is not None
    assert reply.captured.change is not None
    assert reply.captured.change.kind(reply.captured.date, reply.captured.time) == "withdraw"


async def test_what_is_over_cannot_be_changed(server: ModelServer, engine: AnthropicEngine) -> None:
    await engine.reply(replace(KEPT, captured=(HAIRCUT._replace(status="done"),)))
    assert tools.CHANGE_RECORD not in [tool["name"] for tool in server.body["tools"]]


# --- searching -------------------------------------------------------------------------------------------------------

LIBRARY = Shelf((*(entry(n, f"question {n}", "x" * 1000) for n in range(60)), entry(99, "sauna prices", "The sauna is 33 EUR.")))


async def test_knowledge_that_does_not_fit_can_be_searched(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls((tools.SEARCH, {"query": "sauna prices"})), says("The sauna is 33 EUR.")])
    reply = await engine.reply(replace(TURN, message="how much to sweat", knowledge=LIBRARY))
    assert reply.text == "The sauna is 33 EUR."
    assert "The sauna is 33 EUR." in results_before(server)
    assert [tool["name"] for tool in server.body["tools"]] == [tools.SEARCH, tools.NO_ANSWER]
    assert f"look for more with {tools.SEARCH}" in server.body["system"][0]["text"]
    assert reply.evidence is not None
    assert reply.evidence.entries == (("k99", 0.2),)


async def test_searches_are_bounded_and_bring_nothing_twice(server: ModelServer, engine: AnthropicEngine) -> None:
    search = (tools.SEARCH, {"query": "sauna"})
    server.script.extend([calls(search), calls(search, search, search, (tools.SEARCH, {})), says("33 EUR.")])
    await engine.reply(replace(TURN, message="how much to sweat", knowledge=LIBRARY))
    contents = [result["content"] for result in results(server)]
    assert contents[0] == "Nothing beyond what stands above was found: see “sauna prices” there."
    assert "searched too often" in contents[2]
    assert contents[3].startswith("Nothing was found.")


async def test_nothing_is_searched_where_all_is_in_the_prompt(server: ModelServer, engine: AnthropicEngine) -> None:
    await engine.reply(ASKED)
    assert tools.SEARCH not in [tool["name"] for tool in server.body["tools"]]


async def test_the_entries_nearest_to_the_message_are_kept_with_the_reply(server: ModelServer, engine: AnthropicEngine) -> None:
    shelf = Shelf((entry(1, "is there parking", "Yes, free of charge."), entry(2, "wifi", "Free.")))
    reply = await engine.reply(replace(TURN, message="is there parking", knowledge=shelf, history=past("wifi", "Free.")))
    assert reply.evidence is not None
    assert (reply.evidence.entries, reply.evidence.decision) == ((("k1", 0.3), ("k2", 0.1)), None)


# --- a test for each kind of figure ----------------------------------------------------------------------------------

FACTS = (
    "Peugeot 208 2.400 TL, Peugeot 3008 3.100 TL a day. 10% off from 7 days on. Call (0212) 444 10 10 / 0532 123 45 67, "
    "mail rent@example.com, see https://www.example.com/cars. We are at Kaya Sokak 5, open 09:00 to 18:30, closed on 29 October and 24.12."
)
# The kind, a reply with a figure that is known, the same with an unknown one.
FIGURES = rows("engines/reply_figures")


@pytest.mark.parametrize(("kind", "known", "unknown"), FIGURES, ids=[f"{kind}: {known}" for kind, known, _ in FIGURES])
def test_a_figure_of_each_kind_is_let_through_only_where_something_has_it(kind: str, known: str, unknown: str) -> None:
    del kind
    sources = Sources((Known(FACTS),), (), (), datetime(2026, 11, 27, 12, tzinfo=UTC))
    assert sources.unknown(known) == []
    assert len(sources.unknown(unknown)) == 1


def test_prices_beside_a_model_number_can_be_added_up() -> None:
    sources = Sources((Known(FACTS),), (FACTS,), ("for 3 days",), datetime(2026, 11, 27, 12, tzinfo=UTC))
    assert sources.unknown("Peugeot 3008: 3 x 3.100 = 9.300 TL.") == []
