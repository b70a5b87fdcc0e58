"""Saved replies of the account: list, save, remove."""

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    saved = await page.perform("saved_reply.list", account=page.account_id)
    is_new = "text" in typed
    return {"saved": saved, "name": typed.text("name") if is_new else "", "text": typed.raw("text")}


show = View("replies.html", _values)
save = Action("saved_reply.set", show, "account name text:raw", to="/replies", done="saved")
remove = Action("saved_reply.remove", show, "account name", to="/replies", done="removed")
