"""Every administrative operation by its name, one literal table; a module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, NamedTuple

from chatsvc.domain.errors import Refused

OPERATIONS = {
    "init": "setup.first",
    "account.create": "accounts.create",
    "account.list": "accounts.list_all",
    "account.show": "accounts.show",
    "account.set": "accounts.change",
    "account.delete": "accounts.delete",
    "account.export": "transfer.take_out",
    "account.import_begin": "transfer.begin",
    "account.import_put": "transfer.put",
    "account.import_end": "transfer.end",
    "bot.create": "bots.create",
    "bot.list": "bots.list_all",
    "bot.show": "bots.show",
    "bot.set": "bots.change",
    "bot.activate": "bots.activate",
    "bot.deactivate": "bots.deactivate",
    "key.create": "keys.create",
    "key.list": "keys.list_all",
    "key.revoke": "keys.revoke",
    "knowledge.add": "knowledge.add",
    "knowledge.list": "knowledge.list_all",
    "knowledge.remove": "knowledge.remove",
    "knowledge.search": "knowledge.search",
    "knowledge.export": "knowledge.export",
    "knowledge.unanswered": "unanswered.groups",
    "knowledge.forget_unanswered": "unanswered.forget",
    "webhook.set": "webhooks.put",
    "webhook.show": "webhooks.show",
    "webhook.rotate": "webhooks.rotate",
    "webhook.remove": "webhooks.remove",
    "webhook.test": "webhooks.test",
    "webhook.attempts": "webhooks.attempts",
    "webhook.resend": "webhooks.resend",
    "webhook.resend_failed": "webhooks.resend_failed",
    "webhook.events": "webhooks.events",
    "master_key.rotate": "master_key.rotate",
    "backup.create": "backups.create",
    "request.list": "captures.list_requests",
    "request.set": "captures.set_request",
    "appointment.list": "captures.list_appointments",
    "appointment.set": "captures.set_appointment",
    "conversation.list": "conversations.list_all",
    "conversation.show": "conversations.show",
    "conversation.export": "conversations.export",
    "conversation.erase": "erasure.erase",
    "usage": "analytics.show",
    "audit": "audit.list_all",
    "egress.show": "health.egress",
}


class Call(NamedTuple):
    """An operation that was asked for, and its arguments."""

    operation: str
    arguments: dict[str, Any]


# These look names up or send something, for which they need an event loop.
SENDING = frozenset({"webhook.set", "webhook.test", "webhook.resend", "webhook.resend_failed"})

# These only look, and tell neither secrets nor what visitors wrote in bulk: no record is made of them. Of any other there is one.
LOOKING = frozenset(
    {
        *("account.list", "account.show", "bot.list", "bot.show", "key.list", "knowledge.list", "knowledge.search"),
        *("webhook.show", "webhook.attempts", "request.list", "appointment.list", "conversation.list", "conversation.show"),
        *("usage", "audit", "egress.show"),
    }
)
# These give data away but change nothing: there is a record where they gave some.
EXPORTING = frozenset({"webhook.events", "knowledge.export", "knowledge.unanswered", "account.export", "conversation.export"})
# These come many times between a beginning and an end that have their records.
PARTS = frozenset({"account.import_put"})


def find(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The use-case behind an operation; raises Refused where this version has none of that name."""
    if name not in OPERATIONS:
        raise Refused(f"the running chatsvc does not know {name!r}: is it of another version?")
    module, function = OPERATIONS[name].split(".")
    found: Callable[..., Coroutine[Any, Any, Any]] = getattr(import_module(f"chatsvc.usecases.{module}"), function)
    return found
