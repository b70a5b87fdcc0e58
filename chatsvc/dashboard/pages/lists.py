"""Lists as CSV files for spreadsheets: requests and appointments, and conversations, with the filters of their pages."""

from collections.abc import AsyncIterator

from aiohttp.web import Response

from chatsvc.dashboard import formats, records
from chatsvc.dashboard.page import Page
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import Bot
from chatsvc.domain.spreadsheets import BYTE_ORDER_MARK, row
from chatsvc.language.contacts import in_local_form
from chatsvc.services.conversations.conversations import ConversationRow

CSV = "text/csv; charset=utf-8"
_RECORDS = (
    *("noted_at", "kind", "status", "date", "time", "end_date", "end_time", "item", "name", "phone", "email", "message"),
    *("urgent", "assignee", "bot", "channel", "conversation_id", "id"),
)
_CONVERSATIONS = ("begun_at", "last_message_at", "name", "email", "messages", "status", "labels", "assignee", "bot", "channel", "id")


def _row(page: Page, *cells: str | int | None) -> str:
    """Format a row with the separator that spreadsheets expect where the language of the page is spoken."""
    return row(*cells, separator=";" if page.language == "tr" else ",")


def _begin(page: Page, columns: tuple[str, ...]) -> str:
    return BYTE_ORDER_MARK + _row(page, *(page.text(f"lists.{column}") for column in columns))


def _time(page: Page, instant: int) -> str:
    return f"{formats.moment(instant, page.timezone):%Y-%m-%d %H:%M}"


async def download_inbox(page: Page) -> Response:
    """Send the requests and appointments that the inbox lists."""
    filters = {name: page.query.get(name) or None for name in ("q", "bot", "status", "kind", "assignee")}
    pages: AsyncIterator[list[InboxItem]] = await page.perform("inbox.export", **filters)
    bots = await records.bots_of(page)

    async def lines() -> AsyncIterator[bytes]:
        yield _begin(page, _RECORDS).encode()
        async for items in pages:
            yield "".join(_record(page, item, bots.get(item.bot_id)) for item in items).encode()

    return page.download(lines(), CSV, "inbox.csv")


def _record(page: Page, item: InboxItem, bot: Bot | None) -> str:
    request, appointment = item.request, item.appointment
    phone = request.visitor_phone and in_local_form(request.visitor_phone, bot.country if bot else "")
    return _row(
        page,
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
    """Send the conversations that their page lists, a line each."""
    filters = {name: page.query.get(name) or None for name in ("q", "bot", "channel", "status", "label")}
    pages: AsyncIterator[list[ConversationRow]] = await page.perform(
        "conversation.export_rows", **filters, captured=bool(page.query.get("captured"))
    )
    bots = await records.bots_of(page)

    async def lines() -> AsyncIterator[bytes]:
        yield _begin(page, _CONVERSATIONS).encode()
        async for rows in pages:
            yield "".join(_conversation(page, entry, bots.get(entry.conversation.chatbot_id)) for entry in rows).encode()

    return page.download(lines(), CSV, "conversations.csv")


def _conversation(page: Page, entry: ConversationRow, bot: Bot | None) -> str:
    conversation, details = entry.conversation, entry.details
    status = details.aside or (None if conversation.handling == "bot" else conversation.handling)
    return _row(
        page,
        *(_time(page, conversation.created_at), _time(page, conversation.last_message_at)),
        *(conversation.visitor_name, conversation.visitor_email, conversation.message_count),
        page.text(f"conversations.{'aside' if details.aside else 'status'}_{status}") if status else "",
        *(", ".join(details.labels), details.assignee),
        *(bot.name if bot else conversation.chatbot_id, page.text(f"records.channel_{conversation.channel}"), conversation.id),
    )
