"""Registry of renderers: the operations whose results commands get, each with the function that writes a result as JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from chatsvc.domain import shapes
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.shapes import Json

Renderer = Callable[[Any], Any]
R = TypeVar("R", bound=Renderer)
RENDERERS: dict[str, Renderer] = {}


def renders(*operations: str, removes: str = "") -> Callable[[R], R]:
    """Register a writer of results, which gets each record of a list. removes: the operation whose record is gone."""

    def register(write: R) -> R:
        RENDERERS.update(dict.fromkeys(operations, write))
        if removes:
            RENDERERS[removes] = lambda result: {**write(result), "removed": True}
        return write

    return register


def rendered(operation: str, result: Any) -> tuple[Any, IO[bytes] | None]:
    """Return the result for JSON, and the file that the operation made: open, and removed from its folder."""
    write = RENDERERS[operation]
    if isinstance(result, ResultPage):
        return {"items": [write(item) for item in result.items], "next": result.next}, None
    if isinstance(result, list):
        return [write(item) for item in result], None
    shape = write(result)
    if not isinstance(shape, dict) or "draft" not in shape:
        return shape, None
    draft = Path(shape.pop("draft"))
    try:
        return shape, draft.open("rb")
    finally:
        draft.unlink(missing_ok=True)


@renders("account.export", "account.import_begin", "bot.compare", "channel.snippet", "knowledge.past_questions")
@renders("account.import_put", "webhook.events", "saved_reply.list", "saved_reply.set", removes="saved_reply.remove")
def plain(result: Any) -> Json:
    """Write all fields as they are."""
    fields: Json = result._asdict()
    return fields


renders("bot.export")(str)
renders("conversation.note")(shapes.note)
renders("usage")(shapes.analytics)
