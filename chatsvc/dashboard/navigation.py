"""Navigation of the dashboard: the main menu by role, and the tabs of a bot."""

from collections.abc import Callable, Container
from typing import NamedTuple

from chatsvc.dashboard.access import Access


class MenuEntry(NamedTuple):
    """An entry: the page's template, the key of its text, and the least access. A group begins where `group` differs."""

    template: str
    text: str
    access: Access
    group: str = ""


MENU = (
    MenuEntry("/", "navigation.today", Access.READER, "work"),
    MenuEntry("/inbox", "navigation.inbox", Access.READER, "work"),
    MenuEntry("/conversations", "navigation.conversations", Access.READER, "work"),
    MenuEntry("/people", "people.title", Access.READER, "work"),
    MenuEntry("/bots", "navigation.bots", Access.READER, "work"),
    MenuEntry("/usage", "navigation.usage", Access.READER, "work"),
    MenuEntry("/webhooks", "navigation.webhooks", Access.OWNER, "account"),
    MenuEntry("/keys", "navigation.keys", Access.OWNER, "account"),
    MenuEntry("/operators", "navigation.operators", Access.OWNER, "account"),
    MenuEntry("/account", "navigation.account", Access.OWNER, "account"),
    MenuEntry("/audit", "navigation.audit", Access.OWNER, "account"),
    MenuEntry("/accounts", "navigation.accounts", Access.ADMINISTRATOR, "installation"),
    MenuEntry("/system", "navigation.system", Access.ADMINISTRATOR, "installation"),
)
BOT_TABS = (
    MenuEntry("/bots/{bot}", "navigation.bot_settings", Access.READER),
    MenuEntry("/bots/{bot}/knowledge", "navigation.bot_knowledge", Access.READER),
    MenuEntry("/bots/{bot}/unanswered", "navigation.bot_unanswered", Access.READER),
    MenuEntry("/bots/{bot}/tests", "navigation.bot_tests", Access.READER),
    MenuEntry("/bots/{bot}/try", "navigation.bot_try", Access.READER),
    MenuEntry("/bots/{bot}/channels", "navigation.bot_channels", Access.OWNER),
    MenuEntry("/bots/{bot}/webhook", "navigation.bot_webhook", Access.OWNER),
)


class MenuLink(NamedTuple):
    """A link of the menu or of the tabs."""

    path: str
    text: str
    group: str
    is_current: bool


def links(
    entries: tuple[MenuEntry, ...], path: str, templates: Container[str], may_see: Callable[[Access], bool], **params: str
) -> list[MenuLink]:
    """Return the links to pages that exist and that the operator may see. The longest one that begins `path` is current."""
    found = [(one.template.format(**params), one) for one in entries if one.template in templates and may_see(one.access)]
    current = max((there for there, _ in found if _is_below(path, there)), key=len, default=None)
    return [MenuLink(there, one.text, one.group, there == current) for there, one in found]


def _is_below(path: str, place: str) -> bool:
    return path == place or (place != "/" and path.startswith(place + "/"))
