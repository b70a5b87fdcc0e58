"""JSON of a bot's knowledge: entries, searches, changes and unanswered questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsvc.control.rendering.registry import renders
from chatsvc.domain import bot_tests, times
from chatsvc.domain.shapes import Json, fields
from chatsvc.domain.websites import SiteDifference

if TYPE_CHECKING:
    from chatsvc.domain.bot_tests import BotTestOutcome
    from chatsvc.domain.knowledge_changes import ChangeContent, KnowledgeChange
    from chatsvc.domain.models import Entry
    from chatsvc.domain.websites import Site, SiteEntry
    from chatsvc.services.accounts.bot_sync import SyncResult
    from chatsvc.services.knowledge.knowledge import Addition, QuestionResult, WholeKnowledge
    from chatsvc.services.knowledge.phrasing import Phrased
    from chatsvc.services.knowledge.previews import Computation, KnowledgeContent
    from chatsvc.services.knowledge.sites import ShownSite
    from chatsvc.services.knowledge.unanswered import Cleared, UnansweredGroup


@renders("knowledge.list", "knowledge.remove")
def entry(result: Entry) -> Json:
    return {**result._asdict(), "alt": list(result.alt)}


@renders("knowledge.add")
def addition(result: Addition) -> Json:
    files = [file._asdict() for file in result.files]
    return {"bot": result.bot, "entries": sum(file.entries for file in result.files), "files": files}


@renders("knowledge.kept")
def knowledge(result: KnowledgeContent | WholeKnowledge) -> Json:
    return {"entries": [entry(item) for item in result.entries], "synonyms": [group._asdict() for group in result.synonyms]}


@renders("knowledge.export")
def whole_knowledge(result: WholeKnowledge) -> Json:
    return {"language": result.language, **knowledge(result)}


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


@renders("knowledge.phrase", "knowledge.preview_show")
def draft(result: Computation) -> Json:
    """Write the phrasings of a draft, and what it would change."""
    return {
        **fields(result, "id", "state", "step", "done", "of"),
        "phrasings": [{"entry": entry.id, "question": entry.question, "alt": list(entry.alt)} for entry in result.draft.phrased],
        "counts": dict(result.counts),
        "changes": [change._asdict() for change in result.changes],
    }


@renders("knowledge.phrase_apply")
def phrased(result: Phrased) -> Json:
    return result._asdict()


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
