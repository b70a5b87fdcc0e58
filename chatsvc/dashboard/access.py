"""Levels of access to the pages of the dashboard."""

from enum import IntEnum

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
