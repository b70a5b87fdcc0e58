"""List of visitors, with a form for contact data and a note. Also CSV files of requests, appointments and conversations."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import localization, records
from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.escaping import BYTE_ORDER_MARK, row
from chatsvc.domain.models import Bot
from chatsvc.language.contacts import in_local_form
from chatsvc.services.conversations.conversations import ConversationRow
from chatsvc.web.forms import Fields

CSV = "text/csv; charset=utf-8"
Cells = tuple[str | int | None, ...]
CellsOf = Callable[[Page, Any, Mapping[str, Bot]], Cells]
_CONTACT = ("name", "email", "phone", "note")
_RECORDS = (
    *("noted_at", "kind", "status", "date", "time", "end_date", "end_time", "item", "name", "phone", "email", "message"),
    *("urgent", "assignee", "bot", "channel", "conversation_id", "id"),
)
_CONVERSATIONS = ("begun_at", "last_message_at", "name", "email", "messages", "status", "labels", "assignee", "bot", "channel", "id")


@view("people.html")
async def show_people(page: Page, typed: Fields) -> dict[str, Any]:
    listed = await page.listed("visitor.list", q=page.query.get("q") or None, limit=40, after=page.query.get("after") or None)
    values = {name: typed.raw(name) for name in ("id", *_CONTACT)} if "id" in typed else {}
    return {"rows": listed.items, "next": listed.next, "bots": await records.bots_of(page), "typed": values}


@form(show_people)
async def change_person(page: Page, fields: Fields) -> Response:
    await page.perform("visitor.set", conversation=fields.text("id"), **{name: fields.raw(name) for name in _CONTACT})
    return page.redirect(page.url("/people", q=page.query.get("q")), done="saved")


async def _download(page: Page, file: str, columns: tuple[str, ...], cells_of: CellsOf, pages: AsyncIterator[list[Any]]) -> Response:
    """Send exported entries as a CSV file. Its separator is the character that spreadsheets expect in the page's language."""
    bots, separator = await records.bots_of(page), ";" if page.language == "tr" else ","

    async def lines() -> AsyncIterator[bytes]:
        yield (BYTE_ORDER_MARK + row(*(page.text(f"lists.{column}") for column in columns), separator=separator)).encode()
        async for entries in pages:
            yield "".join(row(*cells_of(page, entry, bots), separator=separator) for entry in entries).encode()

    return page.download(lines(), CSV, file)


def _time(page: Page, instant: int) -> str:
    return f"{localization.moment(instant, page.timezone):%Y-%m-%d %H:%M}"


async def download_inbox(page: Page) -> Response:
    """Send the requests and appointments of the inbox as a CSV file."""
    filters = {name: page.query.get(name) or None for name in ("q", "bot", "status", "kind", "assignee")}
    return await _download(page, "inbox.csv", _RECORDS, _record, await page.perform("inbox.export", **filters))


def _record(page: Page, item: InboxItem, bots: Mapping[str, Bot]) -> Cells:
    request, appointment, bot = item.request, item.appointment, bots.get(item.bot_id)
    phone = request.visitor_phone and in_local_form(request.visitor_phone, bot.country if bot else "")
    return (
        _time(page, request.created_at),
        page.text("lists.appointment" if appointment else "lists.request"),
        page.text(f"records.status_{(appointment or request).status}"),
        *((appointment.date, appointment.time) if appointment else ("", "")),
        *(request.end_date, request.end_time, request.item),
        *(request.visitor_name, phone, request.visitor_email, request.message),
        page.text("records.urgent") if request.urgent else "",
        *(request.assignee, bot.name if bot else item.bot_id, page.text(f"records.channel_{item.channel}")),
        *(item.conversation_id, request.id),
    )


async def download_conversations(page: Page) -> Response:
    """Send the list of conversations as a CSV file, with one conversation on each line."""
    filters: dict[str, Any] = {name: page.query.get(name) or None for name in ("q", "bot", "channel", "status", "label")}
    pages = await page.perform("conversation.export_rows", **filters, captured=bool(page.query.get("captured")))
    return await _download(page, "conversations.csv", _CONVERSATIONS, _conversation, pages)


def _conversation(page: Page, entry: ConversationRow, bots: Mapping[str, Bot]) -> Cells:
    conversation, details, bot = entry.conversation, entry.details, bots.get(entry.conversation.chatbot_id)
    status = details.aside or (None if conversation.handling == "bot" else conversation.handling)
    return (
        *(_time(page, conversation.created_at), _time(page, conversation.last_message_at)),
        *(conversation.visitor_name, conversation.visitor_email, conversation.message_count),
        page.text(f"conversations.{'aside' if details.aside else 'status'}_{status}") if status else "",
        *(", ".join(details.labels), details.assignee),
        *(bot.name if bot else conversation.chatbot_id, page.text(f"records.channel_{conversation.channel}"), conversation.id),
    )
