"""API keys of the account: list, create, revoke."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.models import NewKey


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    values: dict[str, Any] = {"keys": [], "next": None, "name": typed.text("name"), "expires": typed.text("expires")}
    if page.account_id is None:
        return values
    listed = await page.perform("key.list", account=page.account_id, limit=50, after=page.query.get("after"))
    return {**values, "keys": listed.items, "next": listed.next}


async def _show_key(page: Page, made: NewKey) -> Response:
    return await page.show_once({made.key.label or made.key.prefix: made.secret}, "/keys", page.text("keys.once"))


show = View("keys.html", _values)
create = Action("key.create", show, "account name:optional expires:optional", then=_show_key)
revoke = Action("key.revoke", show, to="/keys", done="saved", confirm=True)
