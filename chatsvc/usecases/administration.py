"""Table of administrative operations with their least roles, and the function that performs them.

It authorises the caller, records the operation in the audit log, and calls the use-case. All front ends call it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller, Role, Scope
from chatsvc.domain.audit import AuditRecord, Unchanged
from chatsvc.domain.knowledge_changes import ChangeContent
from chatsvc.domain.models import AccountUsage, Bot, Entry, FirstRecords, NewKey
from chatsvc.domain.operators import NewOperator, Operator, OperatorSession, actor_of
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import Site
from chatsvc.store import audit, owners
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Effect(Enum):
    """Effect of an operation, by which the audit log records it."""

    LOOK = "look"  # not recorded: shows neither secrets nor visitors' words in bulk
    CHANGE = "change"  # recorded before it runs, completed after
    EXPORT = "export"  # recorded if it returned data
    PART = "part"  # not recorded: repeated between a first and a last operation that are
    ENTER = "enter"  # recorded with the operator whom it signs in: refused attempts of strangers would evict the other records


class Operation(NamedTuple):
    """An administrative operation.

    `use_case` is "module.function" in chatsvc.usecases, imported on use. `role` is the least role in the account concerned; None for
    an operation of the dashboard on the operator's own session and settings.
    `records` are the arguments that name records, the one that decides the account first. `editable` are the arguments that an
    editor may give although the operation needs a higher role, `own` those that each operator may give about himself or herself.
    """

    use_case: str
    effect: Effect
    role: Role | None
    records: tuple[str, ...] = ()
    editable: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def function(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Import the use-case."""
        module, name = self.use_case.split(".")
        found: Callable[..., Coroutine[Any, Any, Any]] = getattr(import_module(f"chatsvc.usecases.{module}"), name)
        return found


LOOK, CHANGE, EXPORT, PART, ENTER = Effect.LOOK, Effect.CHANGE, Effect.EXPORT, Effect.PART, Effect.ENTER
READER, EDITOR, OWNER, ADMINISTRATOR = Role.READER, Role.EDITOR, Role.OWNER, Role.ADMINISTRATOR
_EDITABLE = frozenset(
    {"greeting", "description", "instructions", "opening_hours", "hours", "closed", "address", "texts", "forms", "suggestions"}
)
_OWN = frozenset({"email", "name", "language", "timezone", "notices"})

OPERATIONS: Mapping[str, Operation] = {
    "init": Operation("setup.first", CHANGE, ADMINISTRATOR),
    "account.create": Operation("accounts.create", CHANGE, ADMINISTRATOR),
    "account.list": Operation("accounts.list_all", LOOK, OWNER),
    "account.show": Operation("accounts.show", LOOK, OWNER, ("account",)),
    "account.set": Operation("accounts.change", CHANGE, ADMINISTRATOR, ("account",)),
    "account.delete": Operation("accounts.delete", CHANGE, ADMINISTRATOR, ("account",)),
    "account.export": Operation("transfer.take_out", EXPORT, ADMINISTRATOR, ("account",)),
    "account.import_begin": Operation("transfer.begin", CHANGE, ADMINISTRATOR),
    "account.import_put": Operation("transfer.put", PART, ADMINISTRATOR, ("account",)),
    "account.import_end": Operation("transfer.end", CHANGE, ADMINISTRATOR, ("account",)),
    "bot.create": Operation("bots.create", CHANGE, OWNER, ("account",)),
    "bot.list": Operation("bots.list_all", LOOK, READER, ("account",)),
    "bot.show": Operation("bots.show", LOOK, READER, ("bot",)),
    "bot.set": Operation("bot_files.change", CHANGE, OWNER, ("bot",), _EDITABLE),
    "closed.add": Operation("bot_files.close", CHANGE, EDITOR, ("bot",)),
    "closed.remove": Operation("bot_files.reopen", CHANGE, EDITOR, ("bot",)),
    "bot.export": Operation("bot_files.take_out", EXPORT, READER, ("bot",)),
    "bot.apply": Operation("bot_files.apply", CHANGE, OWNER, ("bot",)),
    "bot.sync": Operation("bot_sync.sync", CHANGE, OWNER, ("account",)),
    "bot.compare": Operation("bot_files.compare", LOOK, OWNER, ("bot",)),
    "bot.try": Operation("trials.say", LOOK, READER, ("bot",)),
    "bot.activate": Operation("bots.activate", CHANGE, OWNER, ("bot",)),
    "bot.deactivate": Operation("bots.deactivate", CHANGE, OWNER, ("bot",)),
    "bot.delete": Operation("bots.delete", CHANGE, OWNER, ("bot",)),
    "channel.set": Operation("channels.put", CHANGE, OWNER, ("bot",)),
    "channel.list": Operation("channels.list_all", LOOK, READER, ("bot",)),
    "channel.pause": Operation("channels.pause", CHANGE, OWNER, ("bot",)),
    "channel.resume": Operation("channels.resume", CHANGE, OWNER, ("bot",)),
    "channel.remove": Operation("channels.remove", CHANGE, OWNER, ("bot",)),
    "channel.snippet": Operation("channels.snippet", LOOK, READER, ("bot",)),
    "key.create": Operation("keys.create", CHANGE, OWNER, ("account",)),
    "key.list": Operation("keys.list_all", LOOK, OWNER, ("account",)),
    "key.revoke": Operation("keys.revoke", CHANGE, OWNER, ("key",)),
    "knowledge.add": Operation("knowledge.add", CHANGE, EDITOR, ("bot",)),
    "knowledge.list": Operation("knowledge.list_all", LOOK, READER, ("bot",)),
    "knowledge.split": Operation("knowledge_pieces.split", LOOK, EDITOR, ("bot",)),
    "knowledge.compare": Operation("knowledge_pieces.compare", LOOK, EDITOR, ("bot",)),
    "knowledge.import": Operation("knowledge_pieces.put", CHANGE, EDITOR, ("bot",)),
    "knowledge.remove_source": Operation("knowledge_pieces.remove_source", CHANGE, EDITOR, ("bot",)),
    "knowledge.set": Operation("knowledge.put", CHANGE, EDITOR, ("bot", "entry")),
    "site.add": Operation("sites.add", CHANGE, EDITOR, ("bot",)),
    "site.list": Operation("sites.list_all", LOOK, READER, ("bot",)),
    "site.state": Operation("sites.state", LOOK, READER, ("site",)),
    "site.show": Operation("sites.show", LOOK, READER, ("site",)),
    "site.sync": Operation("sites.sync", CHANGE, EDITOR, ("site",)),
    "site.preview": Operation("sites.preview", EXPORT, EDITOR, ("site",)),
    "site.apply": Operation("sites.apply", CHANGE, EDITOR, ("site",)),
    "site.discard": Operation("sites.discard", CHANGE, EDITOR, ("site",)),
    "site.remove": Operation("sites.remove", CHANGE, EDITOR, ("site",)),
    "knowledge.preview": Operation("previews.begin", EXPORT, EDITOR, ("bot", "entry")),
    "knowledge.preview_show": Operation("previews.show", LOOK, READER, ("bot",)),
    "knowledge.lint": Operation("previews.lint", LOOK, READER, ("bot",)),
    "knowledge.history": Operation("knowledge.history", LOOK, READER, ("bot",)),
    "knowledge.show_change": Operation("knowledge.show_change", LOOK, READER, ("bot", "change")),
    "knowledge.undo": Operation("knowledge.undo", CHANGE, EDITOR, ("bot", "change")),
    "knowledge.show": Operation("knowledge.show", LOOK, READER, ("bot", "entry")),
    "knowledge.remove": Operation("knowledge.remove", CHANGE, EDITOR, ("bot", "entry")),
    "knowledge.search": Operation("knowledge.search", LOOK, READER, ("bot",)),
    "knowledge.export": Operation("knowledge.export", EXPORT, EDITOR, ("bot",)),
    "knowledge.kept": Operation("knowledge_preview.kept", LOOK, EDITOR, ("bot",)),
    "knowledge.past_questions": Operation("knowledge_preview.past_questions", EXPORT, EDITOR, ("bot",)),
    "test.run": Operation("bot_tests.run", LOOK, READER, ("bot",)),
    "test.show": Operation("bot_tests.show", LOOK, READER, ("bot",)),
    "test.add": Operation("bot_tests.add", CHANGE, EDITOR, ("bot",)),
    "test.remove": Operation("bot_tests.remove", CHANGE, EDITOR, ("bot",)),
    "knowledge.unanswered": Operation("unanswered.groups", EXPORT, READER, ("bot",)),
    "knowledge.forget_unanswered": Operation("unanswered.forget", CHANGE, EDITOR, ("bot",)),
    "unanswered.list": Operation("unanswered.page", LOOK, READER, ("bot",)),
    "unanswered.answer": Operation("unanswered.answer", EXPORT, EDITOR, ("bot",)),
    "unanswered.add": Operation("unanswered.add_to", CHANGE, EDITOR, ("bot", "entry")),
    "webhook.set": Operation("webhooks.put", CHANGE, OWNER, ("bot",)),
    "webhook.show": Operation("webhooks.show", LOOK, OWNER, ("bot",)),
    "webhook.rotate": Operation("webhooks.rotate", CHANGE, OWNER, ("bot",)),
    "webhook.remove": Operation("webhooks.remove", CHANGE, OWNER, ("bot",)),
    "webhook.test": Operation("webhooks.test", CHANGE, OWNER, ("bot",)),
    "webhook.attempts": Operation("webhooks.attempts", LOOK, OWNER, ("bot",)),
    "webhook.attempt": Operation("webhooks.attempt", LOOK, OWNER, ("attempt",)),
    "webhook.resend": Operation("webhooks.resend", CHANGE, OWNER, ("attempt",)),
    "webhook.resend_failed": Operation("webhooks.resend_failed", CHANGE, OWNER, ("bot",)),
    "webhook.events": Operation("webhooks.events", EXPORT, OWNER, ("bot",)),
    "master_key.rotate": Operation("master_key.rotate", CHANGE, ADMINISTRATOR),
    "backup.create": Operation("backups.create", CHANGE, ADMINISTRATOR),
    "backup.list": Operation("backups.list_all", LOOK, ADMINISTRATOR),
    "backup.read": Operation("backups.read", EXPORT, ADMINISTRATOR),
    "request.list": Operation("captures.list_requests", LOOK, READER, ("bot",)),
    "request.set": Operation("captures.set_request", CHANGE, EDITOR, ("request",)),
    "appointment.list": Operation("captures.list_appointments", LOOK, READER, ("bot",)),
    "appointment.set": Operation("captures.set_appointment", CHANGE, EDITOR, ("appointment",)),
    "inbox.list": Operation("inbox.list_all", LOOK, READER, ("bot",)),
    "inbox.appointments": Operation("inbox.appointments", LOOK, READER, ("account",)),
    "inbox.assignees": Operation("inbox.assignees", LOOK, READER, ("account",)),
    "today": Operation("today.show", LOOK, READER, ("account",)),
    "conversation.find": Operation("conversation_view.find", LOOK, READER, ("conversation",)),
    "conversation.view": Operation("conversation_view.show", LOOK, READER, ("conversation",)),
    "conversation.list": Operation("conversations.list_all", LOOK, READER, ("bot",)),
    "conversation.show": Operation("conversations.show", LOOK, READER, ("conversation",)),
    "conversation.rows": Operation("conversation_list.show", LOOK, READER, ("bot",)),
    "conversation.see": Operation("conversation_team.see", LOOK, READER, ("conversation",)),
    "conversation.note": Operation("conversation_team.note", CHANGE, EDITOR, ("conversation",)),
    "conversation.assign": Operation("conversation_team.assign", CHANGE, EDITOR, ("conversation",)),
    "conversation.take": Operation("handling.take", CHANGE, EDITOR, ("conversation",)),
    "conversation.reply": Operation("handling.reply", CHANGE, EDITOR, ("conversation",)),
    "conversation.release": Operation("handling.release", CHANGE, EDITOR, ("conversation",)),
    "conversation.type": Operation("handling.show_typing", LOOK, EDITOR, ("conversation",)),
    "conversation.export": Operation("conversations.export", EXPORT, OWNER, ("bot", "conversation")),
    "conversation.erase": Operation("erasure.erase", CHANGE, OWNER, ("bot", "account")),
    "saved_reply.list": Operation("saved_replies.list_all", LOOK, READER, ("account",)),
    "saved_reply.set": Operation("saved_replies.put", CHANGE, EDITOR, ("account",)),
    "saved_reply.remove": Operation("saved_replies.remove", CHANGE, EDITOR, ("account",)),
    "usage": Operation("analytics.show", LOOK, READER, ("account",)),
    "usage.quality": Operation("quality.show", LOOK, READER, ("bot", "account")),
    "usage.whatsapp": Operation("whatsapp_usage.show", LOOK, READER, ("account",)),
    "audit": Operation("audit.list_all", LOOK, OWNER, ("account",)),
    "operator.add": Operation("operators.add", CHANGE, OWNER, ("account",)),
    "operator.list": Operation("operators.list_all", LOOK, OWNER, ("account",)),
    "operator.set": Operation("operators.change", CHANGE, OWNER, ("account",), own=_OWN),
    "operator.link": Operation("operators.link", CHANGE, OWNER),
    "operator.sessions": Operation("operators.sessions", LOOK, OWNER),
    "operator.remove": Operation("operators.remove", CHANGE, OWNER),
    "operator.language": Operation("operators.set_language", CHANGE, None),
    "operator.timezone": Operation("operators.set_timezone", CHANGE, None),
    "session.create": Operation("sessions.create", ENTER, None),
    "session.list": Operation("sessions.list_all", LOOK, None),
    "session.verify": Operation("sessions.verify", ENTER, None),
    "session.remove": Operation("sessions.remove", CHANGE, None),
    "session.revoke": Operation("sessions.revoke", CHANGE, None),
    "password.set": Operation("sessions.set_password", ENTER, None),
    "totp.enable": Operation("second_factor.enable", CHANGE, None),
    "totp.confirm": Operation("second_factor.confirm", CHANGE, None),
    "totp.disable": Operation("second_factor.disable", CHANGE, None),
    "mail.list": Operation("mails.list_all", LOOK, ADMINISTRATOR),
    "mail.test": Operation("mails.test", CHANGE, ADMINISTRATOR),
    "doctor.run": Operation("doctor.run", LOOK, ADMINISTRATOR),
    "doctor.show": Operation("doctor.show", LOOK, ADMINISTRATOR),
    "system.show": Operation("system.show", LOOK, ADMINISTRATOR),
    "metrics.show": Operation("system.metrics", LOOK, ADMINISTRATOR),
    "node.list": Operation("nodes.list_all", LOOK, ADMINISTRATOR),
    "license.list": Operation("licenses.list_all", LOOK, ADMINISTRATOR),
    "egress.show": Operation("health.egress", LOOK, ADMINISTRATOR),
}
# Arguments that name records, for the audit log. Others may hold visitors' data.
RECORDS = frozenset(name for operation in OPERATIONS.values() for name in operation.records)


def find(name: str) -> Operation:
    """Look up an operation; raises `operation_unknown`."""
    if name not in OPERATIONS:
        raise refusals.operation_unknown(operation=name)
    return OPERATIONS[name]


def is_owned(kind: str) -> bool:
    """Report whether records of a kind belong to one account each."""
    return kind in owners.KINDS


def missing(kind: str, record_id: str) -> Refused:
    """Make the refusal for a missing record, or one outside the caller's scope."""
    return refusals.CODES[f"{kind}_not_found"](**{kind: record_id})


def least_role(name: str, arguments: Mapping[str, Any]) -> Role | None:
    """Return the least role for an operation with these arguments. None where any operator may perform it."""
    return _needed(find(name), arguments)


async def perform(services: Services, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
    """Perform an operation and return the use-case's result.

    Raises Refused for a forbidden operation, a record outside the caller's scope and whatever the use-case refuses. An operation that
    cannot be recorded in the audit log is not performed. Its record is not in one transaction with it, since some take several and
    some send; written before, none is missing after a crash.
    """
    operation = find(name)
    if operation.role is None and operation.effect is not ENTER and caller.session is None:
        # Not recorded: strangers could evict the other records.
        raise refusals.session_needed()
    is_own = _needed(operation, arguments) is None
    act = AuditRecord(services.clock(), caller.actor, caller.via, None, name, _ids(arguments), own=is_own)
    try:
        account_id, scope = await _authorised(services, caller.scope, name, operation, arguments)
    except Refused as fault:
        if operation.effect in (CHANGE, EXPORT):
            # A missing record belongs to no account.
            within = _only(caller.scope) if fault.code == refusals.forbidden.code else None
            await audit.record(services.db, act._replace(account_id=within, outcome="refused"))
        raise
    act, narrowed = act._replace(account_id=account_id), caller._replace(scope=scope)
    use_case = operation.function()
    if operation.effect is CHANGE:
        return await _recorded(services, act, use_case(services, narrowed, **arguments))
    result = await use_case(services, narrowed, **arguments)
    if operation.effect is EXPORT and result:
        await audit.record(services.db, act._replace(outcome="done"))
    elif operation.effect is ENTER:
        await audit.record(services.db, act._replace(actor=actor_of(result.operator), outcome="done"))
    return result


async def _recorded(services: Services, act: AuditRecord, work: Coroutine[Any, Any, Any]) -> Any:
    number: int | None
    try:
        number = await audit.record(services.db, act)
    except BaseException:
        work.close()
        raise
    account_id, ids, outcome = act.account_id, act.ids, "failed"
    try:
        result = await work
        if isinstance(result, Unchanged):
            await audit.forget(services.db, number)
            number, result = None, result.result
        new_account_id, new_ids = _made(result)
        account_id, ids, outcome = account_id or new_account_id, {**ids, **new_ids}, "done"
    except Refused:
        outcome = "refused"
        raise
    finally:
        try:
            if number is not None:
                await audit.settle(services.db, number, account_id, ids, outcome)
        except StoreUnavailable as fault:
            # The caller gets the result of the operation itself.
            log.error("the outcome of an administrative operation is not recorded (%s): %s", outcome, fault)
    return result


async def _authorised(
    services: Services, scope: Scope, name: str, operation: Operation, arguments: Mapping[str, Any]
) -> tuple[str | None, Scope]:
    """Find the account concerned and the accounts where the caller may perform the operation. Raises Refused.

    A record outside the scope is refused as a missing one.
    """
    role = _needed(operation, arguments)
    if role is None:
        return None, scope
    permitted = scope.at_least(role)
    if permitted.roles is not None and (role is ADMINISTRATOR or not permitted.roles):
        raise refusals.forbidden(operation=name, role=role.name.lower())
    account_id: str | None = None
    for kind in operation.records:
        record_id = arguments.get(kind)
        if kind not in owners.KINDS or not isinstance(record_id, str):
            continue
        owner = await owners.account_of(services.db, kind, record_id, scope.accounts)
        if owner is None and scope.roles is not None:
            raise missing(kind, record_id)
        if owner is not None and not permitted.includes(owner):
            raise refusals.forbidden(operation=name, role=role.name.lower())
        account_id = account_id or owner
    return account_id or _only(permitted), permitted


def _only(scope: Scope) -> str | None:
    """Return the account of a scope that has one."""
    accounts = scope.accounts
    return accounts[0] if accounts is not None and len(accounts) == 1 else None


def _needed(operation: Operation, arguments: Mapping[str, Any]) -> Role | None:
    """Return the least role for these arguments. None where the use-case itself compares the record with the caller."""
    given = {name for name, value in arguments.items() if value is not None}
    if given and given <= operation.own:
        return None
    given -= set(operation.records)
    return EDITOR if given and given <= operation.editable else operation.role


def _ids(values: Mapping[str, Any]) -> dict[str, str]:
    """Pick the ids of records. Only what looks like one, since somebody may type a secret in its place."""
    return {name: value for name in RECORDS if isinstance(value := values.get(name), str) and _UUID.fullmatch(value)}


def _made(result: Any) -> tuple[str | None, dict[str, str]]:
    """Return the account and the ids of new records."""
    match result:
        case AccountUsage(account=account):
            return account.id, {"id": account.id}
        case Bot(id=bot_id, account_id=account_id):
            return account_id, {"id": bot_id}
        case NewKey(key=key):
            return key.account_id, {"id": key.id}
        case Operator(id=operator_id) | NewOperator(operator=Operator(id=operator_id)):
            return None, {"operator": operator_id}
        case OperatorSession(id=session_id):
            return None, {"session": session_id}
        case FirstRecords(account=AccountUsage(account=account), bot=Bot(id=bot_id), key=NewKey(key=key)):
            return account.id, {"account": account.id, "bot": bot_id, "key": key.id}
        case Site(id=site_id):
            return None, {"site": site_id}
        case Entry(id=entry_id):
            return None, {"entry": entry_id}
        case ChangeContent(change=change):
            return None, {"change": change.origin.id}
        case _:
            return None, {}
