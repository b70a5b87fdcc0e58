"""JSON of conversations, and of the requests and appointments that they yield."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chatsvc.control.rendering.registry import renders
from chatsvc.domain import shapes, times
from chatsvc.domain.shapes import Json

if TYPE_CHECKING:
    from chatsvc.domain.captures import InboxItem, Request
    from chatsvc.domain.models import Conversation
    from chatsvc.services.conversations.calendar import CalendarAddress
    from chatsvc.services.conversations.conversation_team import AssignedConversation
    from chatsvc.services.conversations.conversations import TeamThread, TranscriptPage
    from chatsvc.services.conversations.erasure import ErasedVisitor
    from chatsvc.store.handling import OperatorMessage


def _team(result: Request) -> Json:
    """Write note and assignee where the team has given them."""
    return {name: value for name in ("note", "assignee") if (value := getattr(result, name)) is not None}


def _around(item: InboxItem) -> Json:
    """Write what belongs to a record beside its own fields: where it was noted, what it follows, and what became of it."""
    r = item.request
    return {
        "conversation_id": item.conversation_id,
        "user_id": item.user_id,
        "channel": item.channel,
        "urgent": bool(r.urgent),
        "item": r.item,
        "end_date": r.end_date,
        "end_time": r.end_time,
        "follows": r.follows,
        "open_change": r.open_change,
        "history": [{**change, "at": times.with_millis(change["at"])} for change in json.loads(r.history or '{"changes": []}')["changes"]],
    }


@renders("request.set")
def changed_request(result: Request) -> Json:
    return {**shapes.request(result), **_team(result)}


@renders("request.list")
def request(result: InboxItem) -> Json:
    return {**shapes.request(result.request), **_team(result.request), **_around(result)}


@renders("appointment.list", "appointment.set", "appointment.add")
def appointment(result: InboxItem) -> Json:
    if result.appointment is None:
        raise ValueError("the record is no appointment")
    return {**shapes.appointment(result.appointment), **_team(result.request), **_around(result)}


@renders("appointment.calendar")
def calendar(result: CalendarAddress) -> Json:
    return {"url": result.url}


@renders("conversation.list", "conversation.take", "conversation.release", "conversation.settle")
def conversation(result: Conversation) -> Json:
    return {**shapes.conversation(result), "message_count": result.message_count, **_handling(result)}


def _handling(conversation: Conversation) -> Json:
    return {
        "handling": conversation.handling,
        "handling_since": None if conversation.handling_since is None else times.with_millis(conversation.handling_since),
        "operator": conversation.operator_name,
        "missed": conversation.missed_at is not None,
        "source_page_host": conversation.source_page_host,
    }


@renders("conversation.reply")
def operator_message(result: OperatorMessage) -> Json:
    return {"conversation": conversation(result.conversation), "message": shapes.message_for_operator(result.message)}


@renders("conversation.show")
def thread(result: TeamThread) -> Json:
    detail = shapes.conversation_detail(result.conversation, result.messages)
    detail |= _handling(result.conversation)
    messages = [shapes.message_for_operator(message, result.mails.get(message.number)) for message in result.messages]
    team = {"assignee": result.team.assignee, "notes": [shapes.note(note) for note in result.team.notes]}
    return {**detail, "visitor_phone": result.phone, "messages": messages, **team}


@renders("conversation.assign")
def assigned(result: AssignedConversation) -> Json:
    return {**conversation(result.conversation), "assignee": result.assignee}


@renders("conversation.export")
def transcripts(result: TranscriptPage) -> Json:
    return {
        "parts": [
            {
                "conversation": _exported(part.conversation, result) if part.conversation else None,
                "message_count": part.conversation.message_count if part.conversation else 0,
                "messages": [shapes.message(message) for message in part.messages],
                "begins": part.begins,
                "ends": part.ends,
            }
            for part in result.parts
        ],
        "next": result.next,
    }


def _exported(conversation: Conversation, page: TranscriptPage) -> Json:
    """Write a conversation as the interface has it. With a number known from a platform, and the team's notes."""
    phone, notes = page.phones.get(conversation.id), page.notes.get(conversation.id)
    more: Json = {} if phone is None else {"visitor_phone": phone}
    return shapes.conversation(conversation) | more | ({"notes": [shapes.note(note) for note in notes]} if notes else {})


@renders("conversation.erase")
def erased(result: ErasedVisitor) -> Json:
    return {"user_id": result.user_id, **result.erased._asdict()}
