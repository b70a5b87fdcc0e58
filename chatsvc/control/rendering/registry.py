"""Registry of renderers: the operations whose results commands get, each with the function that writes a result as JSON."""

from collections.abc import Callable
from typing import Any, TypeVar

from chatsvc.domain import shapes
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.shapes import Json

Renderer = Callable[[Any], Any]
R = TypeVar("R", bound=Renderer)
RENDERERS: dict[str, Renderer] = {}


def renders(*operations: str, removes: str = "", whole: bool = False) -> Callable[[R], R]:
    """Register a writer of results, of lists for each record unless it writes the `whole`. removes: the operation whose record is gone."""

    def register(write: R) -> R:
        for operation in operations:
            RENDERERS[operation] = write if whole else _of_each(write)
        if removes:
            RENDERERS[removes] = lambda result: {**write(result), "removed": True}
        return write

    return register


def _of_each(write: Renderer) -> Renderer:
    def render(result: Any) -> Any:
        if isinstance(result, ResultPage):
            return {"items": [write(item) for item in result.items], "next": result.next}
        return [write(item) for item in result] if isinstance(result, list) else write(result)

    return render


@renders("account.export", "account.import_begin", "bot.compare", "channel.snippet", "knowledge.past_questions")
@renders("webhook.events", "saved_reply.list", "saved_reply.set", removes="saved_reply.remove")
def plain(result: Any) -> Json:
    """Write all fields as they are."""
    fields: Json = result._asdict()
    return fields


renders("bot.export")(str)
renders("conversation.note")(shapes.note)
renders("usage")(shapes.analytics)
