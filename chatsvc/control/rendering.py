"""JSON of the command line: results of administrative operations as DECISIONS.md section 4 has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chatsvc.domain import profiles, shapes, times
from chatsvc.domain.shapes import Json

if TYPE_CHECKING:
    from chatsvc.domain.audit import AuditRecord
    from chatsvc.domain.captures import Appointment, Request
    from chatsvc.domain.channels import Channel, SetChannel
    from chatsvc.domain.knowledge_changes import ChangeContent, KnowledgeChange
    from chatsvc.domain.models import AccountUsage, ApiKey, Bot, Conversation, Entry, FirstRecords, ListedKey, NewKey
    from chatsvc.domain.operators import NewOperator, Operator, OperatorSession
    from chatsvc.domain.paging import ResultPage
    from chatsvc.domain.webhooks import Attempt, ResentPage, SignedEvent, WebhookSettings
    from chatsvc.store.conversations import Thread
    from chatsvc.store.handling import OperatorMessage
    from chatsvc.store.sqlite.backup import Backup
    from chatsvc.usecases.backups import BackupDraft, RestoredBackup, VerifiedBackup
    from chatsvc.usecases.conversations import TranscriptPage
    from chatsvc.usecases.erasure import ErasedVisitor
    from chatsvc.usecases.health import EgressReport
    from chatsvc.usecases.knowledge import Addition, QuestionResult, WholeKnowledge
    from chatsvc.usecases.knowledge_preview import KnowledgeContent
    from chatsvc.usecases.master_key import Rotation
    from chatsvc.usecases.transfer import ExportPage, ImportedWebhook
    from chatsvc.usecases.unanswered import Cleared, UnansweredGroup

Renderer = Callable[[Any], Any]
MASK = "***"
NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"


def _instant(value: int | None) -> str | None:
    return None if value is None else times.without_fraction(value)


def page_of(item: Renderer) -> Renderer:
    """Make the renderer of a page from that of its items."""

    def render_page(page: ResultPage[Any]) -> Json:
        return {"items": [item(one) for one in page.items], "next": page.next}

    return render_page


def list_of(item: Renderer) -> Renderer:
    """Make the renderer of a list from that of its items."""
    return lambda items: [item(one) for one in items]


def account(result: AccountUsage) -> Json:
    """Write an account with the messages of this month."""
    a, used = result
    return {
        "id": a.id,
        "name": a.name,
        "plan": a.plan,
        "subscription_status": a.subscription_status,
        "messages_used": used,
        "messages_limit": a.messages_limit,
        "message_credits": a.message_credits,
        "created_at": times.without_fraction(a.created_at),
        "updated_at": times.without_fraction(a.updated_at),
    }


def bot(result: Bot) -> Json:
    """Write a chatbot with its settings."""
    settings: tuple[str, ...] = (
        "account_id",
        "instructions",
        "timezone",
        "country",
        "language",
        "opening_hours",
        "ask_back",
        "greeting",
        "fallback",
    )
    settings += ("hand_off", "hand_off_wait", "hand_off_return")
    return {**shapes.chatbot(result), **{name: getattr(result, name) for name in settings}}


def bot_with_profile(result: Bot) -> Json:
    """Write a chatbot with its settings and the owner's words, as its file has them."""
    return {**bot(result), **profiles.values_of(profiles.load(result.profile))}


def _key(key: ApiKey, status: str) -> Json:
    return {
        "id": key.id,
        "account_id": key.account_id,
        "name": key.label,
        "prefix": key.prefix,
        "status": status,
        "created_at": times.without_fraction(key.created_at),
        "expires_at": _instant(key.expires_at),
        "revoked_at": _instant(key.revoked_at),
        "last_used_at": _instant(key.last_used_at),
    }


def key(result: ListedKey) -> Json:
    """Write a key as it may be shown after its creation."""
    return _key(*result)


def new_key(result: NewKey) -> Json:
    """Write a key at its creation, with its secret."""
    return {"id": result.key.id, "key": result.secret, **_key(result.key, result.status)}


def first_records(result: FirstRecords) -> Json:
    """Write the first account, bot and key."""
    return {
        "account": account(result.account) if result.account else None,
        "bot": bot(result.bot) if result.bot else None,
        "key": new_key(result.key) if result.key else None,
        "operator": new_operator(result.operator) if result.operator else None,
    }


def operator(result: Operator) -> Json:
    """Write an operator."""
    return {
        "id": result.id,
        "email": result.email,
        "name": result.name,
        "language": result.language,
        "admin": result.admin,
        "roles": [{"account": account_id, "role": role.name.lower()} for account_id, role in result.roles.items()],
        "notices": list(result.notices),
        "set_up": result.is_set_up,
        "second_factor": result.second_factor,
        "created_at": times.without_fraction(result.created_at),
        "updated_at": times.without_fraction(result.updated_at),
    }


def new_operator(result: NewOperator) -> Json:
    """Write an operator with a new set-up link."""
    return {**operator(result.operator), "link": result.link, "expires_at": _instant(result.expires_at)}


def operator_session(result: OperatorSession) -> Json:
    """Write a session of an operator."""
    return {
        "id": result.id,
        "browser": result.browser,
        "address": result.address,
        "verified": result.verified,
        "created_at": times.without_fraction(result.created_at),
        "last_seen_at": times.without_fraction(result.last_seen_at),
    }


def entry(result: Entry) -> Json:
    """Write an entry of a bot's knowledge."""
    return {**result._asdict(), "alt": list(result.alt)}


def addition(result: Addition) -> Json:
    """Write the files that were added."""
    files = [file._asdict() for file in result.files]
    return {"bot": result.bot, "entries": sum(file.entries for file in result.files), "files": files}


def knowledge(result: KnowledgeContent | WholeKnowledge) -> Json:
    """Write entries and synonyms."""
    return {"entries": [entry(one) for one in result.entries], "synonyms": [group._asdict() for group in result.synonyms]}


def whole_knowledge(result: WholeKnowledge) -> Json:
    """Write all entries and synonyms of a bot."""
    return {"language": result.language, **knowledge(result)}


def question_result(result: QuestionResult) -> Json:
    """Write the findings for a question."""
    finding = result.result
    return {
        "question": result.question,
        "language": finding.language,
        "decision": finding.decision,
        "hedged": finding.hedged,
        "confidence": round(finding.confidence, 4),
        "entries": [
            {"id": hit.entry.id, "question": hit.entry.question, "score": round(hit.score, 4), "why": list(hit.why)} for hit in finding.hits
        ],
    }


def knowledge_change(result: KnowledgeChange) -> Json:
    """Write a change to a bot's knowledge."""
    origin = result.origin
    return {
        "id": origin.id,
        "at": times.with_millis(origin.at),
        "actor": origin.actor._asdict(),
        "via": origin.via,
        "kind": result.kind,
        "title": result.title,
        "before": result.before,
        "after": result.after,
        "undone": result.undone,
        "undoes": result.undoes,
    }


def change_content(result: ChangeContent) -> Json:
    """Write a change with the entries before and after it."""
    entries = {"entries_before": [entry(one) for one in result.before], "entries_after": [entry(one) for one in result.after]}
    return {**knowledge_change(result.change), **entries}


def unanswered_group(result: UnansweredGroup) -> Json:
    """Write a group of unanswered questions."""
    nearest = result.nearest
    return {
        "question": result.question,
        "count": result.times,
        "asked": result.asked,
        "language": result.language,
        "last_asked_at": times.with_millis(result.last_asked_at),
        "nearest": {"id": nearest[0].id, "question": nearest[0].question, "score": round(nearest[1], 4)} if nearest else None,
    }


def cleared(result: Cleared) -> Json:
    """Write how many questions were deleted."""
    return {"bot": result.bot, "cleared": result.questions}


def webhook(result: WebhookSettings) -> Json:
    """Write a webhook; its signing key only where it is given."""
    shown: Json = {
        "bot": result.bot_id,
        "url": result.url,
        "pull": result.url is None,
        "events": list(result.events),
        "created_at": times.without_fraction(result.created_at),
        "updated_at": times.without_fraction(result.updated_at),
    }
    return shown if result.signing_key is None else {**shown, "signing_key": result.signing_key}


def attempt(result: Attempt) -> Json:
    """Write an attempt to deliver an event."""
    shown = {**result._asdict(), "at": times.with_millis(result.at)}
    del shown["bot_id"]
    return shown


def resent(result: ResentPage) -> Json:
    """Write the attempts that sent failed events again."""
    return {"attempts": [attempt(one) for one in result.attempts], "left": result.left, "next": result.next}


def signed_event(result: SignedEvent) -> Json:
    """Write a stored event as a signed delivery."""
    return result._asdict()


def _team(result: Request) -> Json:
    """Write note and assignee where the team has given them; SPEC.md 2.6 has neither."""
    return {name: value for name in ("note", "assignee") if (value := getattr(result, name)) is not None}


def request(result: Request) -> Json:
    """Write a request with the team's note and assignee."""
    return {**shapes.request(result), **_team(result)}


def appointment(result: Appointment) -> Json:
    """Write an appointment with the team's note and assignee."""
    return {**shapes.appointment(result), **_team(result.request)}


def conversation(result: Conversation) -> Json:
    """Write a conversation of a list."""
    return {**shapes.conversation(result), "message_count": result.message_count, **_handling(result)}


def _handling(conversation: Conversation) -> Json:
    return {
        "handling": conversation.handling,
        "handling_since": None if conversation.handling_since is None else times.with_millis(conversation.handling_since),
        "operator": conversation.operator_name,
        "source_page_host": conversation.source_page_host,
    }


def operator_message(result: OperatorMessage) -> Json:
    """Write a message of a person, with the conversation that it belongs to."""
    return {"conversation": conversation(result.conversation), "message": shapes.message_for_operator(result.message)}


def channel(result: Channel) -> Json:
    """Write a channel; each secret that it has is masked."""
    secrets = {"telegram": ["token"], "whatsapp": ["token", "app_secret", "verify_token"]}.get(result.channel, [])
    held = None if result.state == "needs_secret" else MASK
    return {"channel": result.channel, "state": result.state, **result.settings, **dict.fromkeys(secrets, held), **_channel_times(result)}


def _channel_times(result: Channel) -> Json:
    return {"created_at": times.without_fraction(result.created_at), "updated_at": times.without_fraction(result.updated_at)}


def set_channel(result: SetChannel) -> Json:
    """Write a channel that was just set, with a warning where its platform could not confirm it."""
    return {**channel(result.channel), "warning": result.warning}


def thread(result: Thread) -> Json:
    """Write a conversation with its newest messages."""
    detail = shapes.conversation_detail(result.conversation, result.messages)
    detail |= _handling(result.conversation)
    return {**detail, "messages": [shapes.message_for_operator(message) for message in result.messages]}


def transcripts(result: TranscriptPage) -> Json:
    """Write parts of whole conversations."""
    return {
        "parts": [
            {
                "conversation": shapes.conversation(part.conversation) if part.conversation else None,
                "message_count": part.conversation.message_count if part.conversation else 0,
                "messages": [shapes.message(message) for message in part.messages],
                "begins": part.begins,
                "ends": part.ends,
            }
            for part in result.parts
        ],
        "next": result.next,
    }


def erased(result: ErasedVisitor) -> Json:
    """Write the number of records deleted of a visitor."""
    return {"user_id": result.user_id, **result.erased._asdict()}


def export_page(result: ExportPage) -> Json:
    """Write records of an account."""
    return result._asdict()


def imported(result: list[ImportedWebhook]) -> Json:
    """Write the webhooks that got a new signing key."""
    return {"webhooks": [one._asdict() for one in result]}


def import_ended(result: Any) -> Json:
    """Write the imported account, or the id of one whose import was abandoned."""
    return result._asdict() if hasattr(result, "id") else account(result)


def rotation(result: Rotation) -> Json:
    """Write a change of the master key."""
    return {
        "rotated_at": times.without_fraction(result.rotated_at),
        "resealed": result.resealed,
        "unusable": result.unusable,
        "master_key": str(result.file) if result.file else None,
    }


def _backup(made: Backup) -> Json:
    return {
        # null for what could not be read.
        "made_at": times.with_millis(made.made_at) if made.made_at else None,
        "chatsvc_version": made.chatsvc_version or None,
        "schema_version": made.schema_version or None,
        "master_key": made.master_key is not None,
        "counts": made.counts,
    }


def backup_draft(result: BackupDraft) -> Json:
    """Write a backup that lies in the data folder as a draft."""
    return {**_backup(result.backup), "bytes": result.size, "draft": str(result.draft)}


def backup_verified(result: VerifiedBackup) -> Json:
    """Write what a verification has found."""
    made = result.backup
    notes = [] if made.authenticated else [NOT_AUTHENTICATED]
    authenticated = {"authenticated": made.authenticated, "faults": made.faults, "notes": notes}
    return {"valid": not made.faults, "file": str(result.file), **_backup(made), **authenticated}


def backup_restored(result: RestoredBackup) -> Json:
    """Write where a backup was restored to."""
    replaced = str(result.replaced) if result.replaced else None
    return {**_backup(result.backup), "data_dir": str(result.data_dir), "replaced": replaced}


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
    }


def egress(result: EgressReport) -> Json:
    """Write the outbound connections by purpose."""
    counts = {"opened": dict(result.egress.opened), "refused": dict(result.egress.refused)}
    return {"allowed": result.egress.allowed, **counts, "store_fault": result.store_fault}


def deleted(result: Any) -> Json:
    """Write the id of a deleted account."""
    return {"id": result.id, "deleted": True}


RENDERERS: dict[str, Renderer] = {
    "init": first_records,
    "account.create": account,
    "account.list": page_of(account),
    "account.show": account,
    "account.set": account,
    "account.delete": deleted,
    "account.export": export_page,
    "account.import_begin": lambda result: result._asdict(),
    "account.import_put": imported,
    "account.import_end": import_ended,
    "bot.create": bot_with_profile,
    "bot.list": page_of(bot),
    "bot.show": bot_with_profile,
    "bot.set": bot_with_profile,
    "bot.apply": bot_with_profile,
    "bot.export": str,
    "bot.activate": bot_with_profile,
    "bot.deactivate": bot_with_profile,
    "channel.set": set_channel,
    "channel.list": list_of(channel),
    "channel.pause": channel,
    "channel.resume": channel,
    "channel.remove": lambda result: {**channel(result), "removed": True},
    "channel.snippet": lambda result: result._asdict(),
    "key.create": new_key,
    "key.list": page_of(key),
    "key.revoke": key,
    "knowledge.add": addition,
    "knowledge.list": list_of(entry),
    "knowledge.history": page_of(knowledge_change),
    "knowledge.show_change": change_content,
    "knowledge.undo": change_content,
    "knowledge.remove": entry,
    "knowledge.search": list_of(question_result),
    "knowledge.export": whole_knowledge,
    "knowledge.kept": knowledge,
    "knowledge.past_questions": list_of(lambda result: result._asdict()),
    "knowledge.unanswered": list_of(unanswered_group),
    "knowledge.forget_unanswered": cleared,
    "webhook.set": webhook,
    "webhook.show": webhook,
    "webhook.rotate": webhook,
    "webhook.remove": lambda result: {**webhook(result), "removed": True},
    "webhook.test": attempt,
    "webhook.attempts": page_of(attempt),
    "webhook.resend": attempt,
    "webhook.resend_failed": resent,
    "webhook.events": list_of(signed_event),
    "master_key.rotate": rotation,
    "backup.create": backup_draft,
    "request.list": page_of(request),
    "request.set": request,
    "appointment.list": page_of(appointment),
    "appointment.set": appointment,
    "conversation.list": page_of(conversation),
    "conversation.show": thread,
    "conversation.take": conversation,
    "conversation.reply": operator_message,
    "conversation.release": conversation,
    "conversation.export": transcripts,
    "conversation.erase": erased,
    "usage": shapes.analytics,
    "audit": page_of(audit_record),
    "operator.add": new_operator,
    "operator.list": page_of(operator),
    "operator.set": operator,
    "operator.link": new_operator,
    "operator.sessions": list_of(operator_session),
    "operator.remove": lambda result: {**operator(result), "removed": True},
    "egress.show": egress,
}
