"""Administrative operations with their least roles; `perform` authorises, audits and calls the use-case, for all front ends."""

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple

from chatsvc import background
from chatsvc.domain import refusals
from chatsvc.domain.actors import AuditRecord, Caller, Role, Scope, Unchanged
from chatsvc.domain.models import AccountUsage, Bot, ChangeContent, Entry, FirstRecords, NewKey
from chatsvc.domain.operators import NewOperator, Operator, OperatorSession, actor_of
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import Site
from chatsvc.services.services import Services
from chatsvc.store import audit, owners
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Effect(Enum):
    """Effect of an operation. It decides whether and when the audit log records the operation."""

    LOOK = "look"  # not recorded: shows neither secrets nor visitors' words in bulk
    CHANGE = "change"  # recorded before it runs, completed after
    EXPORT = "export"  # recorded if it returned data
    PART = "part"  # not recorded: repeated between a first and a last operation that are
    ENTER = "enter"  # recorded with the operator whom it signs in: refused attempts of strangers would evict the other records


class Operation(NamedTuple):
    """An administrative operation.

    `use_case` is "group.module.function" in chatsvc.services, imported on use. `role` is the least role in the account concerned. It is
    None for an operation of the dashboard on the operator's own session and settings.
    `records` are the names of arguments that contain a record's id; the first one decides the account. `editable` are the arguments that an
    editor may give although the operation needs a higher role, `own` those that each operator may give about himself or herself.
    `compares` is true if the audit log gets the settings before and after (see audit_changes.py).
    """

    use_case: str
    effect: Effect
    role: Role | None
    records: tuple[str, ...] = ()
    editable: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    compares: bool = False

    def function(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        module, _, name = self.use_case.rpartition(".")
        function: Callable[..., Coroutine[Any, Any, Any]] = getattr(import_module(f"chatsvc.services.{module}"), name)
        return function

    def least_role(self, arguments: Mapping[str, Any]) -> Role | None:
        """Return the least role that these arguments require, or None if the use-case itself checks the caller's rights."""
        if not self.own and not self.editable:
            return self.role
        given = {name for name, value in arguments.items() if value is not None}
        if given and given <= self.own:
            return None
        given -= set(self.records)
        return EDITOR if given and given <= self.editable else self.role


LOOK, CHANGE, EXPORT, PART, ENTER = Effect.LOOK, Effect.CHANGE, Effect.EXPORT, Effect.PART, Effect.ENTER
READER, EDITOR, OWNER, ADMINISTRATOR = Role.READER, Role.EDITOR, Role.OWNER, Role.ADMINISTRATOR
_EDITABLE = frozenset(
    {"greeting", "description", "instructions", "opening_hours", "hours", "closed", "form_of_address", "texts", "forms", "suggestions"}
)
_OWN = frozenset({"email", "name", "language", "timezone", "notices"})

OPERATIONS: Mapping[str, Operation] = {
    "init": Operation("team.operators.create_first", CHANGE, ADMINISTRATOR),
    "account.create": Operation("accounts.accounts.create", CHANGE, ADMINISTRATOR),
    "account.list": Operation("accounts.accounts.list_all", LOOK, OWNER),
    "account.show": Operation("accounts.accounts.show", LOOK, OWNER, ("account",)),
    "account.set": Operation("accounts.accounts.change", CHANGE, ADMINISTRATOR, ("account",), compares=True),
    "account.delete": Operation("accounts.accounts.delete", CHANGE, ADMINISTRATOR, ("account",)),
    "account.export": Operation("accounts.transfer.take_out", EXPORT, ADMINISTRATOR, ("account",)),
    "account.import_begin": Operation("accounts.transfer.begin", CHANGE, ADMINISTRATOR),
    "account.import_put": Operation("accounts.transfer.put", PART, ADMINISTRATOR, ("account",)),
    "account.import_end": Operation("accounts.transfer.end", CHANGE, ADMINISTRATOR, ("account",)),
    "bot.create": Operation("accounts.bots.create", CHANGE, OWNER, ("account",)),
    "bot.list": Operation("accounts.bots.list_all", LOOK, READER, ("account",)),
    "bot.show": Operation("accounts.bots.show", LOOK, READER, ("bot",)),
    "bot.set": Operation("accounts.bot_files.change", CHANGE, OWNER, ("bot",), _EDITABLE, compares=True),
    "closed.add": Operation("accounts.bot_files.close", CHANGE, EDITOR, ("bot",), compares=True),
    "closed.remove": Operation("accounts.bot_files.reopen", CHANGE, EDITOR, ("bot",), compares=True),
    "bot.export": Operation("accounts.bot_files.take_out", EXPORT, READER, ("bot",)),
    "bot.apply": Operation("accounts.bot_files.apply", CHANGE, OWNER, ("bot",), compares=True),
    "bot.sync": Operation("accounts.bot_sync.sync", CHANGE, OWNER, ("account",)),
    "bot.compare": Operation("accounts.bot_files.compare", LOOK, OWNER, ("bot",)),
    "bot.try": Operation("messages.trials.say", LOOK, READER, ("bot",)),
    "bot.activate": Operation("accounts.bots.activate", CHANGE, OWNER, ("bot",)),
    "bot.deactivate": Operation("accounts.bots.deactivate", CHANGE, OWNER, ("bot",)),
    "bot.delete": Operation("accounts.bots.delete", CHANGE, OWNER, ("bot",)),
    "channel.set": Operation("accounts.channels.put", CHANGE, OWNER, ("bot",), compares=True),
    "channel.list": Operation("accounts.channels.list_all", LOOK, READER, ("bot",)),
    "channel.pause": Operation("accounts.channels.pause", CHANGE, OWNER, ("bot",)),
    "channel.resume": Operation("accounts.channels.resume", CHANGE, OWNER, ("bot",)),
    "channel.remove": Operation("accounts.channels.remove", CHANGE, OWNER, ("bot",)),
    "channel.snippet": Operation("accounts.channels.snippet", LOOK, READER, ("bot",)),
    "key.create": Operation("accounts.accounts.create_key", CHANGE, OWNER, ("account",)),
    "key.list": Operation("accounts.accounts.list_keys", LOOK, OWNER, ("account",)),
    "key.revoke": Operation("accounts.accounts.revoke_key", CHANGE, OWNER, ("key",)),
    "knowledge.add": Operation("knowledge.knowledge.add", CHANGE, EDITOR, ("bot",)),
    "knowledge.list": Operation("knowledge.knowledge.list_all", LOOK, READER, ("bot",)),
    "knowledge.split": Operation("knowledge.knowledge.split", LOOK, EDITOR, ("bot",)),
    "knowledge.compare": Operation("knowledge.knowledge.compare_pieces", LOOK, EDITOR, ("bot",)),
    "knowledge.import": Operation("knowledge.knowledge.import_pieces", CHANGE, EDITOR, ("bot",)),
    "knowledge.remove_source": Operation("knowledge.knowledge.remove_source", CHANGE, EDITOR, ("bot",)),
    "knowledge.set": Operation("knowledge.knowledge.put", CHANGE, EDITOR, ("bot", "entry")),
    "site.add": Operation("knowledge.sites.add", CHANGE, EDITOR, ("bot",)),
    "site.list": Operation("knowledge.sites.list_all", LOOK, READER, ("bot",)),
    "site.state": Operation("knowledge.sites.state", LOOK, READER, ("site",)),
    "site.show": Operation("knowledge.sites.show", LOOK, READER, ("site",)),
    "site.sync": Operation("knowledge.sites.sync", CHANGE, EDITOR, ("site",)),
    "site.preview": Operation("knowledge.sites.preview", EXPORT, EDITOR, ("site",)),
    "site.apply": Operation("knowledge.sites.apply", CHANGE, EDITOR, ("site",)),
    "site.discard": Operation("knowledge.sites.discard", CHANGE, EDITOR, ("site",)),
    "site.remove": Operation("knowledge.sites.remove", CHANGE, EDITOR, ("site",)),
    "knowledge.preview": Operation("knowledge.previews.begin", EXPORT, EDITOR, ("bot", "entry")),
    "knowledge.preview_show": Operation("knowledge.previews.show", LOOK, READER, ("bot",)),
    "knowledge.phrase": Operation("knowledge.previews.phrase", EXPORT, EDITOR, ("bot",)),
    "knowledge.phrase_apply": Operation("knowledge.previews.apply_phrasings", CHANGE, EDITOR, ("bot",)),
    "knowledge.lint": Operation("knowledge.previews.lint", LOOK, READER, ("bot",)),
    "knowledge.history": Operation("knowledge.knowledge.history", LOOK, READER, ("bot",)),
    "knowledge.show_change": Operation("knowledge.knowledge.show_change", LOOK, READER, ("bot", "change")),
    "knowledge.undo": Operation("knowledge.knowledge.undo", CHANGE, EDITOR, ("bot", "change")),
    "knowledge.show": Operation("knowledge.knowledge.show", LOOK, READER, ("bot", "entry")),
    "knowledge.remove": Operation("knowledge.knowledge.remove", CHANGE, EDITOR, ("bot", "entry")),
    "knowledge.search": Operation("knowledge.knowledge.search", LOOK, READER, ("bot",)),
    "knowledge.export": Operation("knowledge.knowledge.export", EXPORT, EDITOR, ("bot",)),
    "test.run": Operation("knowledge.bot_tests.run", LOOK, READER, ("bot",)),
    "test.show": Operation("knowledge.bot_tests.show", LOOK, READER, ("bot",)),
    "test.add": Operation("knowledge.bot_tests.add", CHANGE, EDITOR, ("bot",)),
    "test.remove": Operation("knowledge.bot_tests.remove", CHANGE, EDITOR, ("bot",)),
    "knowledge.unanswered": Operation("knowledge.unanswered.groups", EXPORT, READER, ("bot",)),
    "knowledge.forget_unanswered": Operation("knowledge.unanswered.forget", CHANGE, EDITOR, ("bot",)),
    "unanswered.list": Operation("knowledge.unanswered.page", LOOK, READER, ("bot",)),
    "unanswered.answer": Operation("knowledge.unanswered.answer", EXPORT, EDITOR, ("bot",)),
    "unanswered.add": Operation("knowledge.unanswered.add_to", CHANGE, EDITOR, ("bot", "entry")),
    "webhook.set": Operation("accounts.webhooks.put", CHANGE, OWNER, ("bot",), compares=True),
    "webhook.show": Operation("accounts.webhooks.show", LOOK, OWNER, ("bot",)),
    "webhook.rotate": Operation("accounts.webhooks.rotate", CHANGE, OWNER, ("bot",)),
    "webhook.remove": Operation("accounts.webhooks.remove", CHANGE, OWNER, ("bot",)),
    "webhook.test": Operation("accounts.webhooks.test", CHANGE, OWNER, ("bot",)),
    "webhook.attempts": Operation("accounts.webhooks.attempts", LOOK, OWNER, ("bot",)),
    "webhook.attempt": Operation("accounts.webhooks.attempt", LOOK, OWNER, ("attempt",)),
    "webhook.resend": Operation("accounts.webhooks.resend", CHANGE, OWNER, ("attempt",)),
    "webhook.resend_failed": Operation("accounts.webhooks.resend_failed", CHANGE, OWNER, ("bot",)),
    "webhook.events": Operation("accounts.webhooks.events", EXPORT, OWNER, ("bot",)),
    "master_key.rotate": Operation("operations.system.rotate_master_key", CHANGE, ADMINISTRATOR),
    "backup.create": Operation("operations.backups.create", CHANGE, ADMINISTRATOR),
    "backup.list": Operation("operations.backups.list_all", LOOK, ADMINISTRATOR),
    "backup.read": Operation("operations.backups.read", EXPORT, ADMINISTRATOR),
    "request.list": Operation("conversations.captures.list_requests", LOOK, READER, ("bot",)),
    "request.set": Operation("conversations.appointments.set_request", CHANGE, EDITOR, ("request",), compares=True),
    "appointment.list": Operation("conversations.captures.list_appointments", LOOK, READER, ("bot",)),
    "appointment.set": Operation("conversations.appointments.set_appointment", CHANGE, EDITOR, ("appointment",), compares=True),
    "appointment.add": Operation("conversations.appointments.add", CHANGE, EDITOR, ("bot",)),
    "appointment.calendar": Operation("conversations.calendar.show", CHANGE, OWNER, ("bot",)),
    "inbox.find": Operation("conversations.appointments.find", LOOK, READER),
    "request.decide": Operation("conversations.appointments.decide", CHANGE, EDITOR, ("request",)),
    "inbox.drafts": Operation("conversations.appointments.drafts", LOOK, READER),
    "inbox.list": Operation("conversations.captures.list_inbox", LOOK, READER, ("bot",)),
    "inbox.export": Operation("conversations.captures.export_inbox", EXPORT, OWNER, ("bot",)),
    "inbox.appointments": Operation("conversations.captures.appointments", LOOK, READER, ("account",)),
    "inbox.assignees": Operation("conversations.captures.assignees", LOOK, READER, ("account",)),
    "today": Operation("team.today.show", LOOK, READER, ("account",)),
    "conversation.find": Operation("conversations.conversation_view.find", LOOK, READER, ("conversation",)),
    "conversation.view": Operation("conversations.conversation_view.show", LOOK, READER, ("conversation",)),
    "conversation.list": Operation("conversations.conversations.list_all", LOOK, READER, ("bot",)),
    "conversation.show": Operation("conversations.conversations.show", LOOK, READER, ("conversation",)),
    "conversation.rows": Operation("conversations.conversations.list_rows", LOOK, READER, ("bot",)),
    "conversation.export_rows": Operation("conversations.conversations.export_rows", EXPORT, OWNER, ("bot",)),
    "conversation.see": Operation("conversations.conversation_team.see", LOOK, READER, ("conversation",)),
    "conversation.note": Operation("conversations.conversation_team.note", CHANGE, EDITOR, ("conversation",)),
    "conversation.assign": Operation("conversations.conversation_team.assign", CHANGE, EDITOR, ("conversation",)),
    "conversation.take": Operation("conversations.handling.take", CHANGE, EDITOR, ("conversation",)),
    "conversation.reply": Operation("conversations.handling.reply", CHANGE, EDITOR, ("conversation",)),
    "conversation.settle": Operation("conversations.handling.settle", CHANGE, EDITOR, ("conversation",)),
    "visitor.list": Operation("conversations.conversation_team.list_people", LOOK, READER, ("bot",)),
    "visitor.set": Operation("conversations.conversation_team.put_person", CHANGE, EDITOR, ("conversation",)),
    "conversation.snooze": Operation("conversations.conversation_team.snooze", CHANGE, EDITOR, ("conversation",)),
    "conversation.reopen": Operation("conversations.conversation_team.reopen", CHANGE, EDITOR, ("conversation",)),
    "conversation.label": Operation("conversations.conversation_team.label", CHANGE, EDITOR, ("conversation",)),
    "conversation.labels": Operation("conversations.conversation_team.list_labels", LOOK, READER, ("account",)),
    "conversation.release": Operation("conversations.handling.release", CHANGE, EDITOR, ("conversation",)),
    "conversation.type": Operation("conversations.handling.show_typing", LOOK, EDITOR, ("conversation",)),
    "conversation.export": Operation("conversations.conversations.export", EXPORT, OWNER, ("bot", "conversation")),
    "conversation.erase": Operation("conversations.conversations.erase", CHANGE, OWNER, ("bot", "account")),
    "saved_reply.list": Operation("conversations.conversation_team.list_saved_replies", LOOK, READER, ("account",)),
    "saved_reply.set": Operation("conversations.conversation_team.put_saved_reply", CHANGE, EDITOR, ("account",)),
    "saved_reply.remove": Operation("conversations.conversation_team.remove_saved_reply", CHANGE, EDITOR, ("account",)),
    "usage": Operation("accounts.analytics.show", LOOK, READER, ("account",)),
    "usage.quality": Operation("accounts.analytics.show_quality", LOOK, READER, ("bot", "account")),
    "usage.sends": Operation("accounts.analytics.show_sends", LOOK, READER, ("account",)),
    "audit": Operation("operations.system.list_acts", LOOK, OWNER, ("account",)),
    "operator.add": Operation("team.operators.add", CHANGE, OWNER, ("account",)),
    "operator.list": Operation("team.operators.list_all", LOOK, OWNER, ("account",)),
    "operator.set": Operation("team.operators.change", CHANGE, OWNER, ("account",), own=_OWN, compares=True),
    "operator.link": Operation("team.operators.link", CHANGE, OWNER),
    "operator.sessions": Operation("team.operators.sessions", LOOK, OWNER),
    "operator.remove": Operation("team.operators.remove", CHANGE, OWNER),
    "operator.language": Operation("team.operators.set_own", CHANGE, None),
    "operator.timezone": Operation("team.operators.set_own", CHANGE, None),
    "session.create": Operation("team.sessions.create", ENTER, None),
    "session.list": Operation("team.sessions.list_all", LOOK, None),
    "session.verify": Operation("team.sessions.verify", ENTER, None),
    "session.remove": Operation("team.sessions.remove", CHANGE, None),
    "session.revoke": Operation("team.sessions.revoke", CHANGE, None),
    "password.set": Operation("team.sessions.set_password", ENTER, None),
    "totp.enable": Operation("team.credentials.enable_totp", CHANGE, None),
    "totp.confirm": Operation("team.credentials.confirm_totp", CHANGE, None),
    "totp.disable": Operation("team.credentials.disable_totp", CHANGE, None),
    "mail.list": Operation("operations.mailer.list_all", LOOK, ADMINISTRATOR),
    "mail.test": Operation("operations.mailer.test", CHANGE, ADMINISTRATOR),
    "doctor.run": Operation("operations.doctor.run", LOOK, ADMINISTRATOR),
    "doctor.show": Operation("operations.doctor.show", LOOK, ADMINISTRATOR),
    "system.show": Operation("operations.system.show", LOOK, ADMINISTRATOR),
    "metrics.show": Operation("operations.system.metrics", LOOK, ADMINISTRATOR),
    "node.list": Operation("operations.nodes.list_all", LOOK, ADMINISTRATOR),
    "license.list": Operation("operations.system.list_licenses", LOOK, ADMINISTRATOR),
    "egress.show": Operation("operations.system.egress", LOOK, ADMINISTRATOR),
}
# Arguments that name records, for the audit log. Others may hold visitors' data.
RECORDS = sorted({name for operation in OPERATIONS.values() for name in operation.records})
OWNED = owners.KINDS  # kinds of records that belong to one account each


def missing(kind: str, record_id: str) -> Refused:
    """Return the refusal for a record that is missing or outside the caller's scope."""
    return refusals.CODES[f"{kind}_not_found"](**{kind: record_id})


async def perform(services: Services, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
    """Perform an operation, and return the result of its use-case. The use-case gets the bot itself in place of the bot's id.

    Raises Refused for a forbidden operation, for a record outside the caller's scope, and if the use-case raises it.
    """
    operation = OPERATIONS[name]
    if operation.role is None and operation.effect is not ENTER and caller.session is None:
        # Not recorded: strangers could evict the other records.
        raise refusals.session_needed()

    role = operation.least_role(arguments)
    # Only what looks like an id, since somebody may type a secret in its place.
    ids = {kind: value for kind in RECORDS if isinstance(value := arguments.get(kind), str) and _UUID.fullmatch(value)}
    act = AuditRecord(services.clock(), caller.actor, caller.via, None, name, ids, own=role is None)
    try:
        account_id, permitted, bot = await _authorised(services, caller.scope, name, role, arguments)
    except Refused as fault:
        if operation.effect in (CHANGE, EXPORT):
            # A missing record belongs to no account.
            within = caller.scope.only_account if fault.code == refusals.forbidden.code else None
            await audit.record(services.db, act._replace(account_id=within, outcome="refused"))
        raise
    background.ACCOUNT.set(account_id or caller.actor.id)
    act, caller = act._replace(account_id=account_id), caller._replace(scope=permitted)
    if bot is not None:
        arguments = {**arguments, "bot": bot}

    if operation.effect is CHANGE:
        # A caller who goes meanwhile leaves no half of a change behind.
        return await asyncio.shield(_change(services, caller, operation, act, arguments))
    result = await operation.function()(services, caller, **arguments)
    if operation.effect is EXPORT and result:
        await audit.record(services.db, act._replace(outcome="done"))
    elif operation.effect is ENTER:
        await audit.record(services.db, act._replace(actor=actor_of(result.operator), outcome="done"))
    return result


async def _change(services: Services, caller: Caller, operation: Operation, act: AuditRecord, arguments: Mapping[str, Any]) -> Any:
    """Record an operation, run it, and complete the record with its outcome.

    The record is written before the operation, in a transaction of its own, since an operation may need several transactions or send
    something. So no record is missing after a crash. An operation that cannot be recorded is not performed.
    """
    # Imported on use, as use-cases are: the command line reads OPERATIONS alone.
    from chatsvc.services import audit_changes

    act = act._replace(number=await audit.record(services.db, act), outcome="failed")
    before: Mapping[str, str] = {}
    try:
        if operation.compares:
            before = await audit_changes.settings_of(services, caller, act.operation, arguments)
        result = await operation.function()(services, caller, **arguments)
        if isinstance(result, Unchanged):
            await audit.forget(services.db, act.number)
            act, result = act._replace(outcome=None), result.result
        else:
            account_id, ids = _new_records(result)
            act = act._replace(account_id=act.account_id or account_id, ids={**act.ids, **ids}, outcome="done")
            if isinstance(result, Bot):
                arguments = {**arguments, "bot": result}  # the changed one, for the comparison below
    except Refused:
        act = act._replace(outcome="refused")
        raise
    finally:
        try:
            if act.outcome == "done" and before:
                after = await audit_changes.settings_of(services, caller, act.operation, arguments)
                act = act._replace(changes=tuple(audit_changes.compare(before, after)))
            if act.outcome is not None:
                await audit.record(services.db, act)
        except StoreUnavailable as fault:
            # The caller gets the result of the operation itself.
            log.error("the outcome of an administrative operation is not recorded (%s): %s", act.outcome, fault)
    return result


async def _authorised(
    services: Services, scope: Scope, name: str, role: Role | None, arguments: Mapping[str, Any]
) -> tuple[str | None, Scope, Bot | None]:
    """Return the account concerned, the scope in which the caller may perform the operation, and the bot in the arguments.

    Raises Refused; a record outside the caller's scope counts as missing.
    """
    if role is None:
        return None, scope, None
    permitted, account_id, bot = scope.at_least(role), None, None
    if permitted.roles is not None and (role is ADMINISTRATOR or not permitted.roles):
        raise refusals.forbidden(operation=name, role=role.name.lower())
    for kind in OPERATIONS[name].records:
        record_id = arguments.get(kind)
        if kind not in OWNED or not isinstance(record_id, str):
            continue
        owner = await owners.account_of(services.db, kind, record_id, scope.accounts)
        if owner is None and scope.roles is not None:
            raise missing(kind, record_id)
        if owner is not None and not permitted.includes(owner):
            raise refusals.forbidden(operation=name, role=role.name.lower())
        if kind == "bot":
            bot = await services.account_cache.bot(owner, record_id)
            if bot is None:
                raise missing(kind, record_id)
        account_id = account_id or owner
    return account_id or permitted.only_account, permitted, bot


def _new_records(result: Any) -> tuple[str | None, dict[str, str]]:
    """Return the account and the ids of the records that a result has created."""
    match result:
        case AccountUsage(account=account):
            return account.id, {"id": account.id}
        case Bot(id=bot_id, account_id=account_id):
            return account_id, {"id": bot_id}
        case NewKey(key=key):
            return key.account_id, {"id": key.id}
        case NewOperator(operator=operator):
            return None, {"operator": operator.id}
        case FirstRecords(account=AccountUsage(account=account), bot=Bot(id=bot_id), key=NewKey(key=key)):
            return account.id, {"account": account.id, "bot": bot_id, "key": key.id}
        case ChangeContent(change=change):
            return None, {"change": change.origin.id}
        case Operator() | OperatorSession() | Site() | Entry():
            return None, {_KINDS[type(result)]: result.id}
        case _:
            return None, {}


_KINDS = {Operator: "operator", OperatorSession: "session", Site: "site", Entry: "entry"}
