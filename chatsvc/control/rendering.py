"""JSON of the command line: each administrative operation that commands call, with the function that writes its result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from chatsvc.domain import bot_tests, profiles, shapes, times
from chatsvc.domain.analytics import Quality
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.shapes import Json, fields
from chatsvc.domain.websites import SiteDifference
from chatsvc.platforms import PLATFORMS

if TYPE_CHECKING:
    from pathlib import Path

    from chatsvc.domain.actors import AuditRecord
    from chatsvc.domain.bot_tests import BotTestOutcome
    from chatsvc.domain.captures import InboxItem, Request
    from chatsvc.domain.channels import Channel, SetChannel
    from chatsvc.domain.mails import Mail
    from chatsvc.domain.models import (
        AccountUsage,
        Bot,
        ChangeContent,
        Conversation,
        Entry,
        FirstRecords,
        KnowledgeChange,
        ListedKey,
        NewKey,
        ServiceNode,
    )
    from chatsvc.domain.operators import NewOperator, Operator, OperatorSession
    from chatsvc.domain.webhooks import Attempt, ResentPage, WebhookSettings
    from chatsvc.domain.websites import Site, SiteEntry
    from chatsvc.services.accounts.analytics import QualityReport, SendUsage
    from chatsvc.services.accounts.bot_sync import SyncResult
    from chatsvc.services.conversations.conversations import TeamThread, TranscriptPage
    from chatsvc.services.knowledge.knowledge import Addition, QuestionResult
    from chatsvc.services.knowledge.previews import Computation
    from chatsvc.services.knowledge.sites import ShownSite
    from chatsvc.services.knowledge.unanswered import Cleared
    from chatsvc.services.operations.backups import BackupDraft, RestoredBackup
    from chatsvc.services.operations.master_key import Rotation
    from chatsvc.services.operations.system import EgressReport
    from chatsvc.store.handling import OperatorMessage
    from chatsvc.store.knowledge import Whole
    from chatsvc.store.sqlite.backup import Backup
    from chatsvc.store.unanswered import UnansweredGroup

R = TypeVar("R", bound=Callable[[Any], Any])
RENDERERS: dict[str, Callable[[Any], Any]] = {}
MASK = "***"
NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"


def renders(*operations: str, removes: str = "") -> Callable[[R], R]:
    """Register a writer of results, which gets each record of a list. removes: the operation whose record is gone."""

    def register(write: R) -> R:
        RENDERERS.update(dict.fromkeys(operations, write))
        if removes:
            RENDERERS[removes] = lambda result: {**write(result), "removed": True}
        return write

    return register


def rendered(operation: str, result: Any) -> tuple[Any, IO[bytes] | None]:
    """Return the result for JSON, and the file that the operation made: open, and removed from its folder."""
    write = RENDERERS[operation]
    if isinstance(result, ResultPage):
        return {"items": [write(item) for item in result.items], "next": result.next}, None
    if isinstance(result, list):
        return [write(item) for item in result], None
    shape = write(result)
    if not isinstance(shape, dict) or "draft" not in shape:
        return shape, None
    draft = Path(shape.pop("draft"))
    try:
        return shape, draft.open("rb")
    finally:
        draft.unlink(missing_ok=True)


@renders("account.export", "account.import_begin", "appointment.calendar", "bot.compare", "channel.snippet", "knowledge.phrase_apply")
@renders("account.import_put", "webhook.events", "saved_reply.list", "saved_reply.set", removes="saved_reply.remove")
def plain(result: Any) -> Json:
    """Write all fields as they are."""
    fields: Json = result._asdict()
    return fields


renders("bot.export")(str)
renders("conversation.note")(shapes.note)
renders("usage")(shapes.analytics)


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


@renders("key.list", "key.revoke")
def key(result: ListedKey | NewKey) -> Json:
    dated = fields(result.key, "created_at", "expires_at", "revoked_at", "last_used_at")
    about = {"name": result.key.label, "prefix": result.key.prefix, "status": result.status}
    return {**fields(result.key, "id", "account_id"), **about, **dated}


@renders("key.create")
def new_key(result: NewKey) -> Json:
    return {"id": result.key.id, "key": result.secret, **key(result)}


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


SHOWN = Quality._fields[:7]  # without tokens and cost, which `usage` has


@renders("webhook.set", "webhook.show", "webhook.rotate", removes="webhook.remove")
def webhook(result: WebhookSettings) -> Json:
    """Write a webhook; its signing key only where it is given."""
    about: Json = {"bot": result.bot_id, "url": result.url, "pull": result.url is None, "events": list(result.events)}
    shown = {**about, **fields(result, "created_at", "updated_at")}
    return shown if result.signing_key is None else {**shown, "signing_key": result.signing_key}


@renders("webhook.test", "webhook.attempts", "webhook.resend")
def attempt(result: Attempt) -> Json:
    shown = {**result._asdict(), "at": times.with_millis(result.at)}
    del shown["bot_id"]
    return shown


@renders("webhook.resend_failed")
def resent(result: ResentPage) -> Json:
    return {"attempts": [attempt(attempted) for attempted in result.attempts], "left": result.left, "next": result.next}


@renders("usage.quality")
def quality(result: QualityReport) -> Json:
    return {
        "by_day": [{"date": times.day(day), **dict(zip(SHOWN, result.of_day(day), strict=False))} for day in result.days],
        "first_response_s": {"median": result.responses.median, "p90": result.responses.p90},
        "most_used": [{"bot": row.bot_id, "id": row.entry_id, "question": row.question, "times": row.times} for row in result.entries],
        "most_missed": [{"bot": row.bot_id, "question": row.question, "times": row.times} for row in result.missed],
    }


@renders("usage.sends")
def sends(result: SendUsage) -> Json:
    about = {"bot": result.bot_id, "month": result.month, "sent": result.sent}
    return {**about, "beyond_free": result.beyond, "monthly_limit": result.limit}


@renders("mail.list", "mail.test")
def mail(result: Mail) -> Json:
    instants = ("created_at", "due_at", "settled_at")
    fields = result._asdict()
    shown = {name: times.with_millis(fields[name]) if fields[name] is not None else None for name in instants}
    return {"id": fields.pop("number"), "account": fields.pop("account_id"), **fields, **shown}


@renders("channel.list", "channel.pause", "channel.resume", removes="channel.remove")
def channel(result: Channel) -> Json:
    """Write a channel; each secret that it has is masked, and of a logo its media type is told."""
    platform = PLATFORMS.get(result.channel)
    secrets = dict.fromkeys(platform.secrets if platform else (), None if result.state == "needs_secret" else MASK)
    logo = result.text("logo")
    shown = {"logo": logo.removeprefix("data:").partition(";")[0]} if logo else {}
    # What the platform tells, or the site that asked for a widget and may not show it.
    state = ("fault", "fault_at", "seen_at", "verified_at") if platform else ("refused_site", "refused_at")
    return {
        **fields(result, "channel", "state"),
        **result.settings,
        **shown,
        **secrets,
        **fields(result, *state, "created_at", "updated_at"),
    }


@renders("channel.set")
def set_channel(result: SetChannel) -> Json:
    """Write a channel that was just set. It has a warning where its platform could not confirm it."""
    callback: Json = {} if result.callback_url is None else {"callback_url": result.callback_url}
    return {**channel(result.channel), **callback, "warning": result.warning}


@renders("knowledge.list", "knowledge.remove")
def entry(result: Entry) -> Json:
    return {**result._asdict(), "alt": list(result.alt)}


@renders("knowledge.add")
def addition(result: Addition) -> Json:
    files = [file._asdict() for file in result.files]
    return {"bot": result.bot, "entries": sum(file.entries for file in result.files), "files": files}


@renders("knowledge.export")
def whole_knowledge(result: Whole) -> Json:
    return {"entries": [entry(item) for item in result.entries], "synonyms": [group._asdict() for group in result.synonyms]}


@renders("knowledge.search")
def question_result(result: QuestionResult) -> Json:
    finding = result.result
    return {
        "question": result.question,
        "language": finding.language,
        "decision": finding.decision,
        "confidence": round(finding.confidence, 4),
        "entries": [
            {
                **fields(hit.entry, "id", "question"),
                "score": round(hit.score, 4),
                "why": list(hit.why),
                "tells": hit.fact.text if hit.fact else "",
            }
            for hit in finding.hits
        ],
    }


@renders("knowledge.phrase", "knowledge.preview", "knowledge.preview_show", "knowledge.lint")
def computation(result: Computation) -> Json:
    """Write the progress of a computation, and what it has found: weak spots, or the phrasings of a draft and what it would change."""
    progress = fields(result, "id", "state", "step", "done", "of", "questions")
    if result.kind == "lint":
        rows = [{**fields(finding, "kind", "entry", "other"), "text": finding.text} for finding in result.findings]
        findings = [{name: value for name, value in row.items() if value is not None} for row in rows]
        return {**progress, "entries": result.entries, "findings": findings}
    return {
        **progress,
        "phrasings": [{"entry": entry.id, "question": entry.question, "alt": list(entry.alt)} for entry in result.phrased],
        "counts": dict(result.counts),
        "changes": [change._asdict() for change in result.changes],
    }


@renders("test.run")
def test_outcome(result: BotTestOutcome) -> Json:
    return {**result._asdict(), "why": bot_tests.reasons(result)}


@renders("bot.sync")
def sync_result(result: SyncResult) -> Json:
    plan = [
        {
            "bot": step.bot,
            "change": step.change,
            "details": {"settings": list(step.settings), "files": [file._asdict() for file in step.files]},
        }
        for step in result.plan
    ]
    return {"plan": plan, "failed": [{"bot": bot, **test_outcome(outcome)} for bot, outcome in result.failed]}


@renders("site.add", "site.list", "site.state", "site.sync", "site.apply", "site.discard", removes="site.remove")
def site(result: Site) -> Json:
    return {
        **fields(result, "id", "url", "state", "reason"),
        "read_at": times.with_millis(result.read_at) if result.read_at else None,
        "progress": {"done": result.done, "of": result.of},
        "changes": {kind: result.changes.get(kind, 0) for kind in SiteDifference._fields},
        "include": list(result.include),
        "exclude": list(result.exclude),
        **fields(result, "max_pages", "every_days", "review"),
    }


@renders("site.show")
def shown_site(result: ShownSite) -> Json:
    """Write a website with its pages, its draft and the entries that a person has edited."""
    difference = result.difference and {
        "added": [{"source": item.page, "question": item.question, "answer": item.answer} for item in result.difference.added],
        "changed": [_both(entry, item) for entry, item in result.difference.changed],
        "removed": [_both(item, None) for item in result.difference.removed],
        "kept": [_both(entry, item) for entry, item in result.difference.kept],
    }
    pages = [{"url": item.url, "state": item.state, "reason": item.reason, "entries": item.entries} for item in result.pages]
    edited = [_both(entry, item) for entry, item in result.edited]
    return {**site(result.site), "pages": pages, "difference": difference, "edited": edited, "unanswered": list(result.unanswered)}


def _both(entry: Entry, read: SiteEntry | None) -> Json:
    texts = {"question": read.question, "answer": read.answer} if read else None
    return {"id": entry.id, "source": entry.source, "question": entry.question, "answer": entry.answer, "site": texts}


@renders("knowledge.history")
def knowledge_change(result: KnowledgeChange) -> Json:
    origin = result.origin
    origin_fields = {"id": origin.id, "at": times.with_millis(origin.at), "actor": origin.actor._asdict(), "via": origin.via}
    return {**origin_fields, **fields(result, "kind", "title", "before", "after", "undone", "undoes")}


@renders("knowledge.show_change", "knowledge.undo")
def change_content(result: ChangeContent) -> Json:
    entries = {"entries_before": [entry(item) for item in result.before], "entries_after": [entry(item) for item in result.after]}
    return {**knowledge_change(result.change), **entries}


@renders("knowledge.unanswered")
def unanswered_group(result: UnansweredGroup) -> Json:
    nearest = result.nearest
    return {
        "question": result.question,
        "count": result.times,
        "asked": result.asked,
        "language": result.language,
        "last_asked_at": times.with_millis(result.last_asked_at),
        "nearest": {"id": nearest[0].id, "question": nearest[0].question, "score": round(nearest[1], 4)} if nearest else None,
    }


@renders("knowledge.forget_unanswered")
def cleared(result: Cleared) -> Json:
    return {"bot": result.bot, "cleared": result.questions}


def _team(result: Request) -> Json:
    """Write note and assignee where the team has given them."""
    return {name: value for name in ("note", "assignee") if (value := getattr(result, name)) is not None}


def _around(item: InboxItem) -> Json:
    """Write what belongs to a record beside its own fields: where it was noted, what it follows, and what became of it."""
    r = item.request
    changes = json.loads(r.history)["changes"] if r.history else []
    return {
        **fields(item, "conversation_id", "user_id", "channel"),
        "urgent": bool(r.urgent),
        **fields(r, "item", "end_date", "end_time", "follows", "open_change"),
        "history": [{**change, "at": times.with_millis(change["at"])} for change in changes],
    }


renders("request.set")(lambda result: shapes.request(result) | _team(result))
renders("request.list")(lambda result: shapes.request(result.request) | _team(result.request) | _around(result))


@renders("appointment.list", "appointment.set", "appointment.add")
def appointment(result: InboxItem) -> Json:
    if result.appointment is None:
        raise ValueError("the record is no appointment")
    return {**shapes.appointment(result.appointment), **_team(result.request), **_around(result)}


@renders("conversation.list", "conversation.take", "conversation.release", "conversation.settle")
def conversation(result: Conversation) -> Json:
    return {**shapes.conversation(result), "message_count": result.message_count, **_handling(result)}


def _handling(conversation: Conversation) -> Json:
    return {
        "handling": conversation.handling,
        "handling_since": None if conversation.handling_since is None else times.with_millis(conversation.handling_since),
        "operator": conversation.operator_name,
        "missed": conversation.missed_at is not None,
        "source_page_host": conversation.source_page_host,
    }


@renders("conversation.reply")
def operator_message(result: OperatorMessage) -> Json:
    return {"conversation": conversation(result.conversation), "message": shapes.message_for_operator(result.message)}


@renders("conversation.show")
def thread(result: TeamThread) -> Json:
    detail = shapes.conversation_detail(result.conversation, result.messages)
    detail |= _handling(result.conversation)
    messages = [shapes.message_for_operator(message, result.mails.get(message.number)) for message in result.messages]
    team = {"assignee": result.team.assignee, "notes": [shapes.note(note) for note in result.team.notes]}
    return {**detail, "visitor_phone": result.phone, "messages": messages, **team}


renders("conversation.assign")(lambda result: {**conversation(result.conversation), "assignee": result.assignee})
renders("conversation.erase")(lambda result: {"user_id": result.user_id, **result.erased._asdict()})


@renders("conversation.export")
def transcripts(result: TranscriptPage) -> Json:
    return {
        "parts": [
            {
                "conversation": _exported(part.conversation, result) if part.conversation else None,
                "message_count": part.conversation.message_count if part.conversation else 0,
                "messages": [shapes.message(message) for message in part.messages],
                "begins": part.begins,
                "ends": part.ends,
            }
            for part in result.parts
        ],
        "next": result.next,
    }


def _exported(conversation: Conversation, page: TranscriptPage) -> Json:
    """Write a conversation as the interface has it. With a number known from a platform, and the team's notes."""
    phone, notes = page.phones.get(conversation.id), page.notes.get(conversation.id)
    more: Json = {} if phone is None else {"visitor_phone": phone}
    return shapes.conversation(conversation) | more | ({"notes": [shapes.note(note) for note in notes]} if notes else {})
