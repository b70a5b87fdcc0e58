"""Conversations with a model that answers by a script, to see what is sent and what is noted.

The conversations stand in model_talks.yaml. The tests hold each to what it must note.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

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
    model: list[str | dict[str, dict[str, object]]]


@dataclass(frozen=True)
class Talk:
    """A conversation. `noted` are words that the last records must have, `never` words that no visitor may read."""

    name: str
    bot: Bot
    turns: list[Said]
    noted: Sequence[str] = ()
    never: Sequence[str] = ()


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
        for exchange in talk.turns:
            server.seen.clear()
            server.script.extend(says(step) if isinstance(step, str) else calls(*step.items()) for step in exchange.model)
            turn = Turn(talk.bot, "api", exchange.message, tuple(history), KNOWLEDGE, NOW_MS, None, "m", 10.0, None, True, tuple(records))
            try:
                reply = await engine.reply(turn)
            except EngineError as fault:
                text, captured = f"({fault.reason})", None
            else:
                text, captured = reply.text, reply.captured
            spoken = [*(past.content for past in history if past.role == "user"), exchange.message]
            if captured is not None:
                record = as_captured(*captures.records(talk.bot, captured, spoken, NOW_MS))
                sentences.append(record.message)
                if captured.change is None:
                    records.append(record._replace(id=f"record-{len(records) + 1}"))
                else:
                    _apply(records, formers, captured, captured.change)
            history += [HistoryMessage("user", exchange.message), HistoryMessage("assistant", text)]
            bodies = [seen.body for seen in server.seen]
            outcomes.append(Outcome(exchange.message, bodies, _results(bodies), text, tuple(records), tuple(sentences)))
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
TALKS = [
    Talk(
        talk["name"],
        SHOP if talk["language"] == "en" else SALON,
        [Said(turn["says"], turn["model"]) for turn in talk["turns"]],
        talk.get("noted", ()),
        talk.get("never", ()),
    )
    for talk in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
]


def with_thoughts(talk: Talk) -> Talk:
    """Return a conversation whose model leaves its thoughts and template marks in its texts."""
    marked = [
        [f"<think>hm</think>{step}<|im_end|>" if isinstance(step, str) else step for step in exchange.model] for exchange in talk.turns
    ]
    return replace(talk, turns=[exchange._replace(model=model) for exchange, model in zip(talk.turns, marked, strict=True)])
