"""JSON of the command line: each administrative operation that commands call, with the function that writes its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain import bot_tests, profiles, shapes, times
from chatsvc.domain.analytics import Quality
from chatsvc.domain.models import NewKey
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.shapes import Json, fields
from chatsvc.domain.websites import SiteDifference
from chatsvc.platforms import PLATFORMS

if TYPE_CHECKING:
    from chatsvc.domain.actors import AuditRecord
    from chatsvc.domain.bot_tests import BotTestOutcome
    from chatsvc.domain.captures import InboxItem, Request
    from chatsvc.domain.channels import Channel
    from chatsvc.domain.mails import Mail
    from chatsvc.domain.models import AccountUsage, Bot, Conversation, Entry, KnowledgeChange, ListedKey
    from chatsvc.domain.operators import NewOperator, Operator
    from chatsvc.domain.webhooks import Attempt, Webhook
    from chatsvc.domain.websites import Site, SiteEntry
    from chatsvc.engines import Hit
    from chatsvc.services.accounts.analytics import QualityReport
    from chatsvc.services.accounts.bot_sync import SyncResult
    from chatsvc.services.conversations.conversations import TeamThread, TranscriptPage
    from chatsvc.services.knowledge.knowledge import QuestionResult
    from chatsvc.services.knowledge.previews import Computation
    from chatsvc.services.knowledge.sites import ShownSite
    from chatsvc.store.sqlite.backup import Backup
    from chatsvc.store.unanswered import UnansweredGroup

MASK = "***"
SHOWN = Quality._fields[:7]  # without tokens and cost, which `usage` has


def rendered(operation: str, result: Any) -> tuple[Any, IO[bytes] | None]:
    """Return an operation's result for JSON, and the opened file that the operation made, or None. This file is already deleted."""
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


def whole(result: Any, **changed: object) -> Json:
    """Return all fields of a record for JSON. Fields in `changed` get the values given there."""
    return {**result._asdict(), **changed}


def account(result: AccountUsage) -> Json:
    a, used = result
    own = fields(a, "id", "name", "plan", "subscription_status")
    return {**own, "messages_used": used, **fields(a, "messages_limit", "message_credits", "created_at", "updated_at")}


def bot(result: Bot) -> Json:
    settings = ("account_id", "instructions", "timezone", "country", "language", "opening_hours", "ask_back", "greeting", "fallback")
    hand_off = ("hand_off", "hand_off_wait", "hand_off_return")
    contact = ("phone", "email", "address", "appointment_minutes", "appointments_at_once")
    return {**shapes.chatbot(result), **fields(result, *settings, *hand_off, *contact)}


def bot_with_profile(result: Bot) -> Json:
    """Return a chatbot with its settings and its profile, in the form of the bot's file."""
    return {**bot(result), **profiles.values_of(profiles.load(result.profile))}


def key(result: ListedKey | NewKey) -> Json:
    """Return an API key for JSON, with its secret if the key was just made."""
    row = result.key
    secret = {"key": result.secret} if isinstance(result, NewKey) else {}
    about = {"account_id": row.account_id, "name": row.label, "prefix": row.prefix, "status": result.status}
    return {"id": row.id, **secret, **about, **fields(row, "created_at", "expires_at", "revoked_at", "last_used_at")}


def operator(result: Operator) -> Json:
    return {
        **fields(result, "id", "email", "name", "language", "timezone", "admin"),
        "roles": [{"account": account_id, "role": role.name.lower()} for account_id, role in result.roles.items()],
        "notices": result.notices,
        "set_up": result.is_set_up,
        **fields(result, "second_factor", "created_at", "updated_at"),
    }


def new_operator(result: NewOperator) -> Json:
    return {**operator(result.operator), **fields(result, "link", "expires_at")}


def backup(result: Backup) -> Json:
    """Return the data of a backup for JSON. Values that could not be read are null."""
    return {
        "made_at": times.with_millis(result.made_at) if result.made_at else None,
        "chatsvc_version": result.chatsvc_version or None,
        "schema_version": result.schema_version or None,
        "master_key": result.master_key is not None,
        "counts": result.counts,
    }


def audit_record(result: AuditRecord) -> Json:
    """Return a record of the audit log. `uid` is the user id of a local user, or null for other actors."""
    actor = result.actor
    return {
        "at": times.with_millis(result.recorded_at),
        "uid": int(actor.id) if actor.kind == "user" else None,
        "actor": actor._asdict(),
        **fields(result, "via", "operation"),
        "account": result.account_id,
        "ids": dict(result.ids),
        **fields(result, "outcome", "times"),
        "changes": [{"setting": change.path, "from": change.before, "to": change.after} for change in result.changes],
    }


def webhook(result: Webhook) -> Json:
    """Return a webhook, with its signing key if the result has it."""
    about: Json = {"bot": result.bot_id, "url": result.url, "pull": result.url is None, "events": result.events}
    key = {} if result.signing_key is None else {"signing_key": result.signing_key}
    return {**about, **fields(result, "created_at", "updated_at"), **key}


def attempt(result: Attempt) -> Json:
    shown = whole(result, at=times.with_millis(result.at))
    del shown["bot_id"]
    return shown


def quality(result: QualityReport) -> Json:
    return {
        "by_day": [{"date": times.day(day), **dict(zip(SHOWN, result.of_day(day), strict=False))} for day in result.days],
        "first_response_s": {"median": result.responses.median, "p90": result.responses.p90},
        "most_used": [{"bot": row.bot_id, "id": row.entry_id, "question": row.question, "times": row.times} for row in result.entries],
        "most_missed": [{"bot": row.bot_id, "question": row.question, "times": row.times} for row in result.missed],
    }


def mail(result: Mail) -> Json:
    shown = whole(result, **fields(result, "created_at", "due_at", "settled_at", instant=times.with_millis))
    return {"id": shown.pop("number"), "account": shown.pop("account_id"), **shown}


def channel(result: Channel) -> Json:
    """Return a channel for JSON. Its secrets are masked, and its logo is replaced by the logo's media type."""
    platform = PLATFORMS.get(result.channel)
    secrets = dict.fromkeys(platform.secrets if platform else (), None if result.state == "needs_secret" else MASK)
    logo = result.text("logo")
    shown = {"logo": logo.removeprefix("data:").partition(";")[0]} if logo else {}
    # What the platform tells, or the site that asked for a widget and may not show it.
    state = ("fault", "fault_at", "seen_at", "verified_at") if platform else ("refused_site", "refused_at")
    dated = fields(result, *state, "created_at", "updated_at")
    return {**fields(result, "channel", "state"), **result.settings, **shown, **secrets, **dated}


def question_result(result: QuestionResult) -> Json:
    search = result.result
    hits = [
        {**fields(hit.entry, "id", "question"), "score": round(hit.score, 4), "why": hit.why, "tells": hit.fact.text if hit.fact else ""}
        for hit in search.hits
    ]
    about = fields(search, "language", "decision")
    return {"question": result.question, **about, "confidence": round(search.confidence, 4), "entries": hits}


def computation(result: Computation) -> Json:
    """Return the progress and result of a computation. The result is weak spots, or a draft's phrasings and the changes it would make."""
    progress = fields(result, "id", "state", "step", "done", "of", "questions")
    if result.kind == "lint":
        rows = [{**fields(finding, "kind", "entry", "other"), "text": finding.sentence()} for finding in result.findings]
        findings = [{name: value for name, value in row.items() if value is not None} for row in rows]
        return {**progress, "entries": result.entries, "findings": findings}
    return {
        **progress,
        "phrasings": [{"entry": entry.id, "question": entry.question, "alt": entry.alt} for entry in result.phrased],
        "counts": dict(result.counts),
        "changes": [change._asdict() for change in result.changes],
    }


def test_outcome(result: BotTestOutcome) -> Json:
    return whole(result, why=bot_tests.reasons(result))


def sync_result(result: SyncResult) -> Json:
    plan = []
    for step in result.plan:
        details = {"settings": step.settings, "files": [file._asdict() for file in step.files]}
        plan.append({"bot": step.bot, "change": step.change, "details": details})
    return {"plan": plan, "failed": [{"bot": bot, **test_outcome(outcome)} for bot, outcome in result.failed]}


def site(result: Site) -> Json:
    return {
        **fields(result, "id", "url", "state", "reason"),
        "read_at": times.with_millis(result.read_at) if result.read_at else None,
        "progress": {"done": result.done, "of": result.of},
        "changes": {kind: result.changes.get(kind, 0) for kind in SiteDifference._fields},
        **fields(result, "include", "exclude", "max_pages", "every_days", "review"),
    }


def shown_site(result: ShownSite) -> Json:
    """Return a website with its pages, its draft and the entries that a person has edited."""
    difference = result.difference and {
        "added": [{"source": item.page, "question": item.question, "answer": item.answer} for item in result.difference.added],
        "changed": [_both(entry, item) for entry, item in result.difference.changed],
        "removed": [_both(item, None) for item in result.difference.removed],
        "kept": [_both(entry, item) for entry, item in result.difference.kept],
    }
    pages = [fields(page, "url", "state", "reason", "entries") for page in result.pages]
    edited = [_both(entry, item) for entry, item in result.edited]
    return {**site(result.site), "pages": pages, "difference": difference, "edited": edited, "unanswered": result.unanswered}


def _both(entry: Entry, read: SiteEntry | None) -> Json:
    return {**fields(entry, "id", "source", "question", "answer"), "site": read and fields(read, "question", "answer")}


def knowledge_change(result: KnowledgeChange) -> Json:
    origin = result.origin
    about = {"id": origin.id, "at": times.with_millis(origin.changed_at), "actor": origin.actor._asdict(), "via": origin.via}
    return {**about, **fields(result, "kind", "title", "before", "after", "undone", "undoes")}


def unanswered_group(result: tuple[UnansweredGroup, Hit | None]) -> Json:
    group, nearest = result
    return {
        "question": group.question,
        "count": group.times,
        **fields(group, "asked", "language", "last_asked_at", instant=times.with_millis),
        "nearest": {**fields(nearest.entry, "id", "question"), "score": round(nearest.score, 4)} if nearest else None,
    }


def request(result: Request) -> Json:
    """Return a visitor's request for JSON. Its note and assignee are included if the team has set them."""
    return {**shapes.request(result), **_team(result)}


def _team(result: Request) -> Json:
    return {name: value for name in ("note", "assignee") if (value := getattr(result, name)) is not None}


def appointment(result: InboxItem) -> Json:
    if result.appointment is None:
        raise ValueError("the record is no appointment")
    return {**shapes.appointment(result.appointment), **_team(result.request), **_around(result)}


def _around(item: InboxItem) -> Json:
    """Return additional fields of a request or appointment: its conversation, the earlier request that it changes, and its history."""
    r = item.request
    return {
        **fields(item, "conversation_id", "user_id", "channel"),
        "urgent": bool(r.urgent),
        **fields(r, "item", "end_date", "end_time", "follows", "open_change"),
        "history": [{**change, "at": times.with_millis(change["at"])} for change in r.entries],
    }


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


def thread(result: TeamThread) -> Json:
    detail = {**shapes.conversation_detail(result.conversation, result.messages), **_handling(result.conversation)}
    messages = [shapes.message_for_operator(message, result.mails.get(message.number)) for message in result.messages]
    team = {"assignee": result.team.assignee, "notes": [shapes.note(note) for note in result.team.notes]}
    return {**detail, "visitor_phone": result.phone, "messages": messages, **team}


def transcripts(result: TranscriptPage) -> Json:
    """Return conversations in the form of the REST interface. Phone numbers on a platform and the team's notes are added."""
    parts = []
    for part in result.parts:
        conversation, shown = part.conversation, None
        if conversation:
            phone, notes = result.phones.get(conversation.id), result.notes.get(conversation.id)
            shown = shapes.conversation(conversation) | ({} if phone is None else {"visitor_phone": phone})
            shown |= {"notes": [shapes.note(note) for note in notes]} if notes else {}
        count = conversation.message_count if conversation else 0
        messages = [shapes.message(message) for message in part.messages]
        parts.append({"conversation": shown, "message_count": count, "messages": messages, **fields(part, "begins", "ends")})
    return {"parts": parts, "next": result.next}


def _removed(write: Callable[[Any], Json]) -> Callable[[Any], Json]:
    return lambda result: {**write(result), "removed": True}


def _deleted(result: Any) -> Json:
    return {"id": result.id, "deleted": True}


# The writer of an operation's result. For a list it is called with each item.
RENDERERS: Mapping[str, Callable[[Any], Any]] = {
    "init": lambda first: {
        "account": first.account and account(first.account),
        "bot": first.bot and bot(first.bot),
        "key": first.key and key(first.key),
        "operator": first.operator and new_operator(first.operator),
    },
    **dict.fromkeys(("account.create", "account.list", "account.show", "account.set"), account),
    "account.delete": _deleted,
    **dict.fromkeys(("account.export", "account.import_begin", "account.import_put"), whole),
    "account.import_end": lambda result: whole(result) if hasattr(result, "id") else account(result),
    "bot.list": bot,
    **dict.fromkeys(("bot.create", "bot.show", "bot.set", "bot.apply", "bot.activate", "bot.deactivate"), bot_with_profile),
    "bot.compare": whole,
    "bot.export": str,
    "bot.sync": sync_result,
    "bot.delete": _deleted,
    **dict.fromkeys(("channel.list", "channel.pause", "channel.resume"), channel),
    # A channel that was just set has a warning where its platform could not confirm it.
    "channel.set": lambda result: {
        **channel(result.channel),
        **({} if result.callback_url is None else {"callback_url": result.callback_url}),
        "warning": result.warning,
    },
    "channel.remove": _removed(channel),
    "channel.snippet": whole,
    **dict.fromkeys(("key.create", "key.list", "key.revoke"), key),
    **dict.fromkeys(("operator.list", "operator.set"), operator),
    **dict.fromkeys(("operator.add", "operator.link"), new_operator),
    "operator.sessions": lambda session: fields(session, "id", "browser", "address", "verified", "created_at", "last_seen_at"),
    "operator.remove": _removed(operator),
    "knowledge.add": lambda added: {
        "bot": added.bot,
        "entries": sum(file.entries for file in added.files),
        "files": [file._asdict() for file in added.files],
    },
    **dict.fromkeys(("knowledge.list", "knowledge.remove"), whole),
    "knowledge.search": question_result,
    "knowledge.export": lambda result: {
        "entries": [entry._asdict() for entry in result.entries],
        "synonyms": [group._asdict() for group in result.synonyms],
    },
    **dict.fromkeys(("knowledge.phrase", "knowledge.preview", "knowledge.preview_show", "knowledge.lint"), computation),
    **dict.fromkeys(("knowledge.phrase_apply", "knowledge.forget_unanswered"), whole),
    "knowledge.history": knowledge_change,
    **dict.fromkeys(
        ("knowledge.show_change", "knowledge.undo"),
        lambda content: {
            **knowledge_change(content.change),
            "entries_before": [entry._asdict() for entry in content.before],
            "entries_after": [entry._asdict() for entry in content.after],
        },
    ),
    "knowledge.unanswered": unanswered_group,
    "test.run": test_outcome,
    **dict.fromkeys(("site.add", "site.list", "site.state", "site.sync", "site.apply", "site.discard"), site),
    "site.show": shown_site,
    "site.remove": _removed(site),
    **dict.fromkeys(("webhook.set", "webhook.show", "webhook.rotate"), webhook),
    "webhook.remove": _removed(webhook),
    **dict.fromkeys(("webhook.test", "webhook.attempts", "webhook.resend"), attempt),
    "webhook.resend_failed": lambda page: {"attempts": [attempt(item) for item in page.attempts], **fields(page, "left", "next")},
    "webhook.events": whole,
    **dict.fromkeys(("mail.list", "mail.test"), mail),
    "request.list": lambda item: {**request(item.request), **_around(item)},
    "request.set": request,
    **dict.fromkeys(("appointment.list", "appointment.set", "appointment.add"), appointment),
    "appointment.calendar": whole,
    **dict.fromkeys(("conversation.list", "conversation.take", "conversation.release", "conversation.settle"), conversation),
    "conversation.show": thread,
    "conversation.note": shapes.note,
    "conversation.assign": lambda result: {**conversation(result.conversation), "assignee": result.assignee},
    "conversation.reply": lambda result: {
        "conversation": conversation(result.conversation),
        "message": shapes.message_for_operator(result.message),
    },
    "conversation.export": transcripts,
    "conversation.erase": lambda result: {"user_id": result.user_id, **result.erased._asdict()},
    **dict.fromkeys(("saved_reply.list", "saved_reply.set"), whole),
    "saved_reply.remove": _removed(whole),
    "usage": shapes.analytics,
    "usage.quality": quality,
    "usage.sends": lambda usage: {
        "bot": usage.bot_id,
        **fields(usage, "month", "sent"),
        "beyond_free": usage.beyond,
        "monthly_limit": usage.limit,
    },
    "audit": audit_record,
    "backup.create": lambda result: {**backup(result.backup), "bytes": result.size, "draft": str(result.draft)},
    "master_key.rotate": lambda rotation: {
        **fields(rotation, "rotated_at", "resealed", "unusable"),
        "master_key": str(rotation.file) if rotation.file else None,
    },
    "node.list": lambda node: whole(node, since=times.without_fraction(node.since)),
    "egress.show": lambda report: {
        "allowed": report.egress.allowed,
        "opened": dict(report.egress.opened),
        "refused": dict(report.egress.refused),
        "store_fault": report.store_fault,
    },
}
