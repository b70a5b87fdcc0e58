"""JSON of what concerns the installation: transfers, master key, backups, audit log, egress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatsvc.control.rendering.accounts import account
from chatsvc.control.rendering.registry import renders
from chatsvc.domain import times
from chatsvc.domain.shapes import Json, fields

if TYPE_CHECKING:
    from chatsvc.domain.audit import AuditRecord
    from chatsvc.domain.nodes import ServiceNode
    from chatsvc.store.copying import TableDigest
    from chatsvc.store.sqlite.backup import Backup
    from chatsvc.usecases.backups import BackupDraft, RestoredBackup, VerifiedBackup
    from chatsvc.usecases.health import EgressReport
    from chatsvc.usecases.master_key import Rotation
    from chatsvc.usecases.transfer import ImportedWebhook

NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"


@renders("node.list")
def node(result: ServiceNode) -> Json:
    return {**result._asdict(), "since": times.without_fraction(result.since)}


@renders("account.import_put", whole=True)
def imported(result: list[ImportedWebhook]) -> Json:
    return {"webhooks": [one._asdict() for one in result]}


@renders("account.import_end")
def import_ended(result: Any) -> Json:
    """Write the imported account, or the id of one whose import was abandoned."""
    return result._asdict() if hasattr(result, "id") else account(result)


@renders("master_key.rotate")
def rotation(result: Rotation) -> Json:
    return {**fields(result, "rotated_at", "resealed", "unusable"), "master_key": str(result.file) if result.file else None}


def _backup(made: Backup) -> Json:
    return {
        # null for what could not be read.
        "made_at": times.with_millis(made.made_at) if made.made_at else None,
        "chatsvc_version": made.chatsvc_version or None,
        "schema_version": made.schema_version or None,
        "master_key": made.master_key is not None,
        "counts": made.counts,
    }


@renders("backup.create")
def backup_draft(result: BackupDraft) -> Json:
    return {**_backup(result.backup), "bytes": result.size, "draft": str(result.draft)}


def backup_verified(result: VerifiedBackup) -> Json:
    made = result.backup
    notes = [] if made.authenticated else [NOT_AUTHENTICATED]
    authenticated = {"authenticated": made.authenticated, "faults": made.faults, "notes": notes}
    return {"valid": not made.faults, "file": str(result.file), **_backup(made), **authenticated}


def backup_restored(result: RestoredBackup) -> Json:
    replaced = str(result.replaced) if result.replaced else None
    return {**_backup(result.backup), "data_dir": str(result.data_dir), "replaced": replaced}


def store_copied(result: list[TableDigest]) -> list[Json]:
    return [one._asdict() for one in result]


@renders("audit")
def audit_record(result: AuditRecord) -> Json:
    """Write a record of the audit log. `uid` is that of a local user, else null."""
    actor = result.actor
    return {
        "at": times.with_millis(result.at),
        "uid": int(actor.id) if actor.kind == "user" else None,
        "actor": actor._asdict(),
        "via": result.via,
        "operation": result.operation,
        "account": result.account_id,
        "ids": dict(result.ids),
        "outcome": result.outcome,
        "times": result.times,
    }


@renders("egress.show")
def egress(result: EgressReport) -> Json:
    counts = {"opened": dict(result.egress.opened), "refused": dict(result.egress.refused)}
    return {"allowed": result.egress.allowed, **counts, "store_fault": result.store_fault}
