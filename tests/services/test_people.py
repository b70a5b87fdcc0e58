"""People: one of them for all conversations with the same contact data, whatever the pages."""

from typing import Any

import pytest

from chatsvc.services.administration import perform
from tests import conftest
from tests.fakes import ADMIN, FakeClock

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("filters", [{}, {"bot": True}])
async def test_the_same_person_is_one_on_all_pages(caller: conftest.Caller, clock: FakeClock, filters: dict[str, Any]) -> None:
    services = caller.app.services
    for visitor, contact in (
        ("v1", {"email": "a@b.example"}),
        ("v2", {"name": "Ada"}),
        ("v3", {"email": "a@b.example", "phone": "05321234567"}),
    ):
        await caller.send("hello", visitor)
        clock.advance(1)
        (newest, *_) = (await perform(services, ADMIN, "conversation.list", {"bot": caller.bot})).items
        await perform(services, ADMIN, "visitor.set", {"conversation": newest.id, **contact})
    arguments, pages = {"limit": 1, **({"bot": caller.bot} if filters else {})}, list[list[list[str]]]()
    after: str | None = None
    while after or not pages:
        page = await perform(services, ADMIN, "visitor.list", {**arguments, "after": after})
        pages.append([[conversation.user_id for conversation in visitor.conversations] for visitor in page.items])
        after = page.next
    # The third page has the older conversation of one who is on the first.
    assert pages == [[["v3", "v1"]], [["v2"]], []]
