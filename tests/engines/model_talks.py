"""Conversations with a model that answers by a script, to see what is sent and what is noted.

The tests hold each conversation to what it must note; `scripts/bench/model.py` prints all of it for a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from chatsvc.domain.captures import Captured, CapturedRecord, Change, as_captured
from chatsvc.domain.models import Bot, HistoryMessage
from chatsvc.engines import EngineError, Turn
from chatsvc.engines.anthropic import AnthropicEngine, Provider
from chatsvc.services.conversations import captures
from tests.engines.model_server import ModelServer, calls, says
from tests.engines.test_anthropic import Shelf, entry

NOW_MS = int(datetime(2026, 11, 27, 16, tzinfo=UTC).timestamp() * 1000)  # a Friday


class Said(NamedTuple):
    """One message of a visitor and what the model does about it: tool calls, or a text."""

    message: str
    model: tuple[str | tuple[str, dict[str, object]], ...]


@dataclass(frozen=True)
class Talk:
    """A conversation. `noted` are words that the last records must have, `never` words that no visitor may read."""

    name: str
    bot: Bot
    turns: tuple[Said, ...]
    noted: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """Outcome of a message: requests to the model, results of its tools, reply, records, and the sentences of the team."""

    message: str
    bodies: list[Any]
    results: list[str]
    reply: str
    records: tuple[CapturedRecord, ...]
    sentences: tuple[str, ...]


async def replay(talk: Talk) -> list[Outcome]:
    """Play a conversation through the engine; the records live on as the service keeps them."""
    history, records, outcomes = list[HistoryMessage](), list[CapturedRecord](), list[Outcome]()
    formers, sentences = list[CapturedRecord](), list[str]()
    async with ModelServer() as server:
        engine = AnthropicEngine(Provider.of(server.url, ""), timeout_s=10.0, max_retries=0)
        for said in talk.turns:
            server.seen.clear()
            server.script.extend(says(step) if isinstance(step, str) else calls(step) for step in said.model)
            turn = Turn(talk.bot, "api", said.message, tuple(history), None, KNOWLEDGE, "m", 10.0, NOW_MS, None, True, tuple(records))
            try:
                reply = await engine.reply(turn)
            except EngineError as fault:
                text, captured = f"({fault.reason})", None
            else:
                text, captured = reply.text, reply.captured
            spoken = [*(past.content for past in history if past.role == "user"), said.message]
            if captured is not None:
                record = as_captured(*captures.records(talk.bot, captured, spoken, NOW_MS))
                sentences.append(record.message)
                if captured.change is None:
                    records.append(record._replace(id=f"record-{len(records) + 1}"))
                else:
                    _apply(records, formers, captured, captured.change)
            history += [HistoryMessage("user", said.message), HistoryMessage("assistant", text)]
            bodies = [seen.body for seen in server.seen]
            outcomes.append(Outcome(said.message, bodies, _results(bodies), text, tuple(records), tuple(sentences)))
            server.script.clear()
        await engine.close()
    return outcomes


def _apply(records: list[CapturedRecord], formers: list[CapturedRecord], captured: Captured, change: Change) -> None:
    """Change a record on which nobody has decided yet, in its place, as the store does."""
    number = next(number for number, record in enumerate(records) if record.id == change.appointment.id)
    record, kind = records[number], change.kind(captured.date, captured.time)
    if kind == "withdraw":
        records[number] = formers.pop()
        return
    formers.append(record)
    if kind == "move":
        records[number] = record._replace(date=captured.date, time=captured.time)
    elif kind == "cancel":
        records[number] = record._replace(status="canceled")
    else:
        contact = captured.visitor_name or record.visitor_name, captured.visitor_phone or record.visitor_phone
        records[number] = record._replace(
            message=f"{record.message}\n{captured.message}", visitor_name=contact[0], visitor_phone=contact[1]
        )


def _results(bodies: Sequence[Any]) -> list[str]:
    """Return the results of tools in the last request."""
    last = bodies[-1]["messages"] if bodies else []
    blocks = [block for message in last if isinstance(message["content"], list) for block in message["content"]]
    return [str(block["content"]) for block in blocks if block.get("type") == "tool_result"]


KNOWLEDGE = Shelf(
    (
        entry(1, "Services", "Bronze service 45 pounds, gold service 120 pounds. Brakes from 30 pounds."),
        entry(2, "Guarantee", "Our labour is guaranteed for three months."),
        entry(3, "Emergency", "Out of hours call the on-call vet at 01632 960999."),
    )
)
SHOP = Bot(
    *("b", "a", "Pedal & Paw", "Bikes and a vet under one roof", "m", True, 0, 0, 0),
    country="GB",
    language="en",
    timezone="Europe/London",
    opening_hours="mon-fri 09:00-17:30; sat 09:00-16:00",
    phone="01632 960417",
    address="1 Foss Street, York",
)
SALON = SHOP._replace(name="Oto Kaya", country="TR", language="tr", timezone="Europe/Istanbul", phone="0232 444 10 10")


def _request(quotes: list[str], **fields: object) -> tuple[str, dict[str, object]]:
    return "note_request", {"request_type": "contact", "quotes": quotes, **fields}


def _appointment(day: str, clock: str, quotes: list[str], **fields: object) -> tuple[str, dict[str, object]]:
    return "note_appointment", {"date": day, "time": clock, "quotes": quotes, **fields}


def _change(kind: str, quotes: list[str], **fields: object) -> tuple[str, dict[str, object]]:
    return "change_record", {"record_id": "record-1", "kind": kind, "quotes": quotes, **fields}


CARGO = Said(
    "Hi, my cargo ebike brakes squeal like mad, can I bring it in tuesday 9.30? Siobhan Kelly 07700 900118",
    (
        _appointment(
            "2026-12-01",
            "09:30",
            ["my cargo ebike brakes squeal like mad", "bring it in tuesday 9.30"],
            visitor_name="Siobhan Kelly",
            visitor_phone="07700 900118",
        ),
        "Your wish to bring the cargo ebike in on Tuesday 1 December at 9:30 is noted, Siobhan. The shop has yet to confirm it.",
    ),
)
TALKS = (
    Talk(
        "change of mind",
        SHOP,
        (
            CARGO,
            Said(
                "sorry change of plan, can u move it to friday 4 dec 9.30?",
                (
                    _change("move", ["move it to friday 4 dec 9.30"], date="2026-12-04", time="09:30"),
                    "I have passed on that you would like Friday 4 December at 9:30 instead. Tuesday stays until the shop changes it.",
                ),
            ),
        ),
        noted=("cargo ebike brakes squeal", "move it to friday 4 dec 9.30", "to Fri 4 December 2026, 09:30", "date(2026, 12, 4)"),
    ),
    Talk(
        "cancellation, taken back",
        SHOP,
        (
            CARGO,
            Said("cancel it please", (_change("cancel", ["cancel it please"]), "Your wish to cancel is passed on.")),
            Said("no wait, keep it", (_change("withdraw", ["no wait, keep it"]), "I have passed on that it stays as it is.")),
        ),
        noted=("cancel it please", "no wait, keep it", "Takes the last change back", "status='pending'"),
    ),
    Talk(
        "complaint and call-back",
        SHOP,
        (
            Said("Picked my bike up thursday and the gears STILL slip. I want my money back", ("I am sorry. How can they reach you?",)),
            Said(
                "get the manager to ring me tomorow between 10 and 11. Gareth Pugh 07700 900256",
                (
                    _request(["gears still slip", "i want my money back"], visitor_name="Gareth Pugh", visitor_phone="07700 900256"),
                    "Noted, Gareth: your wish that the manager rings between 10 and 11.",
                    _request(
                        ["gears still slip", "i want my money back", "get the manager to ring me tomorow between 10 and 11"],
                        visitor_name="Gareth Pugh",
                        visitor_phone="07700 900256",
                    ),
                    "Your complaint is noted, and that the manager should ring you between 10 and 11. The team will see it.",
                ),
            ),
            Said(
                "actually make it between 2 n 3",
                (_change("amend", ["make it between 2 n 3"]), "I have passed on that it should be between 2 and 3."),
            ),
        ),
        noted=("gears STILL slip", "I want my money back", "ring me tomorow between 10 and 11", "make it between 2 n 3"),
    ),
    Talk(
        "emergency",
        SHOP,
        (
            Said(
                "my dog ate rat poison he is shaking!!", ("Call the on-call vet at once: 01632 960999, or the practice at 01632 960417.",)
            ),
            Said(
                "nobody picks up, call me 07700 900300 Ann",
                (
                    _request(
                        ["my dog ate rat poison he is shaking", "nobody picks up, call me"],
                        visitor_name="Ann",
                        visitor_phone="07700 900300",
                        urgent=True,
                    ),
                    "I have noted it for the team. Please go to the nearest open vet now, or ring 01632 960999 again.",
                ),
            ),
        ),
        noted=("rat poison he is shaking", "nobody picks up, call me"),
    ),
    Talk(
        "a price that is nowhere",
        SHOP,
        (
            Said(
                "how much is a silver service?",
                ("The silver service is 80 pounds.", "I do not know of a silver service; bronze is 45 pounds."),
            ),
        ),
        never=("80 pounds",),
    ),
    Talk(
        "a call-back promised by nobody's number",
        SHOP,
        (Said("what is the number of the workshop?", ("Ring 01904 555 777.", "You reach the shop at 01632 960417.")),),
        never=("555 777",),
    ),
    Talk(
        "called booked",
        SHOP,
        (
            CARGO._replace(
                model=(CARGO.model[0], "Your appointment is booked for Tuesday.", "It is noted; the shop has yet to confirm it.")
            ),
        ),
        noted=("cargo ebike brakes squeal",),
        never=("is booked",),
    ),
    Talk(
        "somebody who wants a person",
        SALON,
        (
            Said("bi insanla görüşmek istiyorum", ("Elbette. Sizi aramaları için adınızı ve numaranızı yazar mısınız?",)),
            Said(
                "Nermin Aksoy 0505 233 14 68 bugün mutlaka arasınlar",
                (
                    _request(
                        ["bi insanla görüşmek istiyorum", "bugün mutlaka arasınlar"],
                        visitor_name="Nermin Aksoy",
                        visitor_phone="0505 233 14 68",
                    ),
                    "Bugün mutlaka aranmak istediğiniz not edildi; ekip görecek.",
                ),
            ),
        ),
        noted=("bi insanla görüşmek istiyorum", "bugün mutlaka arasınlar", "+905052331468"),
    ),
    Talk(
        "a new number",
        SALON,
        (
            Said(
                "corolla 12 aralık 10:00 olsun, Murat Kılıç 0533 712 45 80",
                (
                    _appointment(
                        "2026-12-12",
                        "10:00",
                        ["corolla 12 aralık 10:00 olsun"],
                        visitor_name="Murat Kılıç",
                        visitor_phone="0533 712 45 80",
                        end_date="2026-12-16",
                    ),
                    "12 Aralık 10:00 için Corolla isteğiniz not edildi, işletme onaylayınca kesinleşir.",
                ),
            ),
            Said(
                "numaram değişti 0544 712 45 80 yazın",
                (
                    _change("amend", ["numaram değişti 0544 712 45 80 yazın"], visitor_phone="0544 712 45 80"),
                    "Yeni numaranız ekibe iletildi.",
                ),
            ),
        ),
        noted=("corolla 12 aralık 10:00 olsun", "+905447124580"),
    ),
    Talk(
        "beside the business",
        SALON,
        (Said("bana şiir yaz", (("no_answer", {}),)), Said("tamam boşver", ("Tabii, arabayla ilgili bir sorunuz olursa buradayım.",))),
        never=("şiir",),
    ),
)


def with_thoughts(talk: Talk) -> Talk:
    """Return a conversation whose model leaves its thoughts and template marks in its texts."""
    marked = [
        said._replace(model=tuple(f"<think>hm</think>{step}<|im_end|>" if isinstance(step, str) else step for step in said.model))
        for said in talk.turns
    ]
    return replace(talk, turns=tuple(marked))
