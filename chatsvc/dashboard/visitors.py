"""Names of visitors on pages: the name or address that they gave, else a short label."""

from __future__ import annotations

from chatsvc.dashboard import catalogue
from chatsvc.domain.models import Conversation

_SHORT = 16  # characters of a user_id that is shown whole
_LAST = 4  # characters shown of a longer one


def label(language: str, conversation: Conversation) -> str:
    """Return a visitor's name, else the e-mail address, else a short label. It has the end of the user_id."""
    user_id = conversation.user_id
    shown = user_id if len(user_id) <= _SHORT else user_id[-_LAST:].upper()
    named = conversation.visitor_name or conversation.visitor_email
    return named or catalogue.text(language, "conversations.visitor_id", id=shown)
