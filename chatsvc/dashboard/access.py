"""Levels of access to pages, the main menu by role, and the tabs of a bot."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple

from chatsvc.domain.actors import Role


class Access(IntEnum):
    """Least access to a page. From READER on it is the role in the account concerned; see Role.

    WAITING is a session that waits for the second factor, SIGNED_IN any complete session.
    """

    PUBLIC = -2
    WAITING = -1
    SIGNED_IN = 0
    READER = Role.READER
    EDITOR = Role.EDITOR
    OWNER = Role.OWNER
    ADMINISTRATOR = Role.ADMINISTRATOR


# The access levels of pages about one account.
ACCOUNT_ACCESS = (Access.READER, Access.EDITOR, Access.OWNER)

# Path template of a page, the key of its text, the least access, and for the menu the group.
MENU = (
    ("/", "navigation.today", Access.READER, "work"),
    ("/inbox", "navigation.inbox", Access.READER, "work"),
    ("/conversations", "navigation.conversations", Access.READER, "work"),
    ("/people", "people.title", Access.READER, "work"),
    ("/bots", "navigation.bots", Access.READER, "work"),
    ("/usage", "navigation.usage", Access.READER, "work"),
    ("/webhooks", "navigation.webhooks", Access.OWNER, "account"),
    ("/keys", "navigation.keys", Access.OWNER, "account"),
    ("/operators", "navigation.operators", Access.OWNER, "account"),
    ("/account", "navigation.account", Access.OWNER, "account"),
    ("/audit", "navigation.audit", Access.OWNER, "account"),
    ("/accounts", "navigation.accounts", Access.ADMINISTRATOR, "installation"),
    ("/system", "navigation.system", Access.ADMINISTRATOR, "installation"),
)
BOT_TABS = (
    ("/bots/{bot}", "navigation.bot_settings", Access.READER, ""),
    ("/bots/{bot}/knowledge", "navigation.bot_knowledge", Access.READER, ""),
    ("/bots/{bot}/unanswered", "navigation.bot_unanswered", Access.READER, ""),
    ("/bots/{bot}/tests", "navigation.bot_tests", Access.READER, ""),
    ("/bots/{bot}/try", "navigation.bot_try", Access.READER, ""),
    ("/bots/{bot}/channels", "navigation.bot_channels", Access.OWNER, ""),
    ("/bots/{bot}/webhook", "navigation.bot_webhook", Access.OWNER, ""),
)


class MenuLink(NamedTuple):
    """A link of the menu or of the tabs. A group begins where `group` differs."""

    path: str
    text: str
    group: str
    is_current: bool


def links(entries: Iterable[tuple[str, str, Access, str]], path: str, may_see: Callable[[Access], bool], **params: str) -> list[MenuLink]:
    """Return the links to pages that the operator may see. The longest one that begins `path` is current."""
    visible = [(template.format(**params), text, group) for template, text, least, group in entries if may_see(least)]
    above = [target for target, _, _ in visible if path == target or (target != "/" and path.startswith(target + "/"))]
    current = max(above, key=len, default=None)
    return [MenuLink(target, text, group, target == current) for target, text, group in visible]
