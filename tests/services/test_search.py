"""Search of conversations through the service: fresh, and exact for a user_id."""

from chatsvc.domain.captures import Captured
from chatsvc.engines import Reply
from chatsvc.services.administration import perform
from tests import conftest
from tests.fakes import ADMIN, ScriptedEngine


async def listed(caller: conftest.Caller, **filters: object) -> list[str]:
    page = await perform(caller.app.services, ADMIN, "conversation.list", filters)
    return [conversation.user_id for conversation in page.items]


async def test_a_message_is_found_right_after_it_was_answered(caller: conftest.Caller, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("Noted.", captured=Captured("contact", "x", "Selin", None, "05321234567"))
    await caller.send("Selin, 0532 123 45 67", "v1")
    engine.script = lambda _: Reply("Yes.")
    await caller.send("Is Saturday possible?", "v2")
    for query, visitors in {"saturd": ["v2"], "selin": ["v1"], "5321234567": ["v1"], "nobody": [], "?!": [], "  ": ["v2", "v1"]}.items():
        assert await listed(caller, q=query, bot=caller.bot) == visitors, query
    assert await listed(caller, captured=True) == ["v1"]
    assert await listed(caller, captured=True, q="saturday") == await listed(caller, channel="web") == []


async def test_a_visitor_id_is_found_exactly_as_typed(caller: conftest.Caller) -> None:
    ids = ["first-7", "first-70", "first-000007", "first-0000070", "first-700", "42", "420", "0042"]
    for user_id in ids:
        await caller.send("hello", user_id)
    for query in ids:
        assert await listed(caller, q=f" {query} ") == [query]
    assert await listed(caller, q="first-00007") == await listed(caller, q="first-7", handling="waiting") == []
    assert len(await listed(caller, q="first")) == 5
