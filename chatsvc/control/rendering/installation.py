"""JSON of accounts, bots, keys, operators, and of what concerns the installation: transfers, backups, audit log, egress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatsvc.control.rendering.registry import renders
from chatsvc.domain import profiles, shapes, times
from chatsvc.domain.shapes import Json, fields

if TYPE_CHECKING:
    from pathlib import Path

    from chatsvc.domain.actors import AuditRecord
    from chatsvc.domain.models import AccountUsage, ApiKey, Bot, FirstRecords, ListedKey, NewKey, ServiceNode
    from chatsvc.domain.operators import NewOperator, Operator, OperatorSession
    from chatsvc.services.operations.backups import BackupDraft, RestoredBackup
    from chatsvc.services.operations.master_key import Rotation
    from chatsvc.services.operations.system import EgressReport
    from chatsvc.store.copying import TableDigest
    from chatsvc.store.sqlite.backup import Backup

NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"


@renders("account.create", "account.list", "account.show", "account.set")
def account(result: AccountUsage) -> Json:
    a, used = result
    own = fields(a, "id", "name", "plan", "subscription_status")
    return {**own, "messages_used": used, **fields(a, "messages_limit", "message_credits", "created_at", "updated_at")}


@renders("bot.list")
def bot(result: Bot) -> Json:
    settings = ("account_id", "instructions", "timezone", "country", "language", "opening_hours", "ask_back", "greeting", "fallback")
    hand_off = ("hand_off", "hand_off_wait", "hand_off_return")
    contact = ("phone", "email", "address", "appointment_minutes", "appointments_at_once")
    return {**shapes.chatbot(result), **fields(result, *settings, *hand_off, *contact)}


@renders("bot.create", "bot.show", "bot.set", "bot.apply", "bot.activate", "bot.deactivate")
def bot_with_profile(result: Bot) -> Json:
    """Write a chatbot with its settings and the owner's words, as its file has them."""
    return {**bot(result), **profiles.values_of(profiles.load(result.profile))}


def _key(key: ApiKey, status: str) -> Json:
    dated = fields(key, "created_at", "expires_at", "revoked_at", "last_used_at")
    return {**fields(key, "id", "account_id"), "name": key.label, "prefix": key.prefix, "status": status, **dated}


@renders("key.list", "key.revoke")
def key(result: ListedKey) -> Json:
    return _key(*result)


@renders("key.create")
def new_key(result: NewKey) -> Json:
    return {"id": result.key.id, "key": result.secret, **_key(result.key, result.status)}


@renders("init")
def first_records(result: FirstRecords) -> Json:
    return {
        "account": account(result.account) if result.account else None,
        "bot": bot(result.bot) if result.bot else None,
        "key": new_key(result.key) if result.key else None,
        "operator": new_operator(result.operator) if result.operator else None,
    }


@renders("operator.list", "operator.set", removes="operator.remove")
def operator(result: Operator) -> Json:
    return {
        **fields(result, "id", "email", "name", "language", "timezone", "admin"),
        "roles": [{"account": account_id, "role": role.name.lower()} for account_id, role in result.roles.items()],
        "notices": list(result.notices),
        "set_up": result.is_set_up,
        **fields(result, "second_factor", "created_at", "updated_at"),
    }


@renders("operator.add", "operator.link")
def new_operator(result: NewOperator) -> Json:
    return {**operator(result.operator), **fields(result, "link", "expires_at")}


@renders("operator.sessions")
def operator_session(result: OperatorSession) -> Json:
    return fields(result, "id", "browser", "address", "verified", "created_at", "last_seen_at")


@renders("account.delete", "bot.delete")
def deleted(result: Any) -> Json:
    return {"id": result.id, "deleted": True}


@renders("node.list")
def node(result: ServiceNode) -> Json:
    return {**result._asdict(), "since": times.without_fraction(result.since)}


@renders("account.import_end")
def import_ended(result: Any) -> Json:
    return result._asdict() if hasattr(result, "id") else account(result)


@renders("master_key.rotate")
def rotation(result: Rotation) -> Json:
    return {**fields(result, "rotated_at", "resealed", "unusable"), "master_key": str(result.file) if result.file else None}


def _backup(backup: Backup) -> Json:
    return {
        # null for what could not be read.
        "made_at": times.with_millis(backup.made_at) if backup.made_at else None,
        "chatsvc_version": backup.chatsvc_version or None,
        "schema_version": backup.schema_version or None,
        "master_key": backup.master_key is not None,
        "counts": backup.counts,
    }


@renders("backup.create")
def backup_draft(result: BackupDraft) -> Json:
    return {**_backup(result.backup), "bytes": result.size, "draft": str(result.draft)}


def backup_verified(backup: Backup, file: Path) -> Json:
    notes = [] if backup.authenticated else [NOT_AUTHENTICATED]
    authenticated = {"authenticated": backup.authenticated, "faults": backup.faults, "notes": notes}
    return {"valid": not backup.faults, "file": str(file), **_backup(backup), **authenticated}


def backup_restored(result: RestoredBackup) -> Json:
    replaced = str(result.replaced) if result.replaced else None
    return {**_backup(result.backup), "data_dir": str(result.data_dir), "replaced": replaced}


def store_copied(result: list[TableDigest]) -> list[Json]:
    return [table._asdict() for table in result]


@renders("audit")
def audit_record(result: AuditRecord) -> Json:
    """Write a record of the audit log. `uid` is that of a local user, else null."""
    actor = result.actor
    who = {"uid": int(actor.id) if actor.kind == "user" else None, "actor": actor._asdict(), **fields(result, "via", "operation")}
    concerned = {"account": result.account_id, "ids": dict(result.ids)}
    changes = [{"setting": change.path, "from": change.before, "to": change.after} for change in result.changes]
    return {"at": times.with_millis(result.at), **who, **concerned, **fields(result, "outcome", "times"), "changes": changes}


@renders("egress.show")
def egress(result: EgressReport) -> Json:
    counts = {"opened": dict(result.egress.opened), "refused": dict(result.egress.refused)}
    return {"allowed": result.egress.allowed, **counts, "store_fault": result.store_fault}
