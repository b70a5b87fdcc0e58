"""JSON of the command line: results of administrative operations as DECISIONS.md section 4 has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chatsvc.control.rendering import accounts, conversations, delivery, installation, knowledge
from chatsvc.domain import shapes
from chatsvc.domain.shapes import Json

if TYPE_CHECKING:
    from chatsvc.domain.paging import ResultPage

Renderer = Callable[[Any], Any]


def page_of(item: Renderer) -> Renderer:

    def render_page(page: ResultPage[Any]) -> Json:
        return {"items": [item(one) for one in page.items], "next": page.next}

    return render_page


def list_of(item: Renderer) -> Renderer:
    return lambda items: [item(one) for one in items]


def plain(result: Any) -> Json:
    """Write all fields as they are."""
    fields: Json = result._asdict()
    return fields


def removed(item: Renderer) -> Renderer:
    """Make the renderer of a removed record."""
    return lambda result: {**item(result), "removed": True}


RENDERERS: dict[str, Renderer] = {
    "init": accounts.first_records,
    "account.create": accounts.account,
    "account.list": page_of(accounts.account),
    "account.show": accounts.account,
    "account.set": accounts.account,
    "account.delete": accounts.deleted,
    "account.export": plain,
    "account.import_begin": plain,
    "account.import_put": installation.imported,
    "account.import_end": installation.import_ended,
    "bot.create": accounts.bot_with_profile,
    "bot.list": page_of(accounts.bot),
    "bot.show": accounts.bot_with_profile,
    "bot.set": accounts.bot_with_profile,
    "bot.apply": accounts.bot_with_profile,
    "bot.sync": knowledge.sync_result,
    "bot.compare": plain,
    "bot.export": str,
    "bot.activate": accounts.bot_with_profile,
    "bot.deactivate": accounts.bot_with_profile,
    "bot.delete": accounts.deleted,
    "channel.set": delivery.set_channel,
    "channel.list": list_of(delivery.channel),
    "channel.pause": delivery.channel,
    "channel.resume": delivery.channel,
    "channel.remove": removed(delivery.channel),
    "channel.snippet": plain,
    "key.create": accounts.new_key,
    "key.list": page_of(accounts.key),
    "key.revoke": accounts.key,
    "knowledge.add": knowledge.addition,
    "knowledge.list": list_of(knowledge.entry),
    "knowledge.history": page_of(knowledge.knowledge_change),
    "knowledge.show_change": knowledge.change_content,
    "knowledge.undo": knowledge.change_content,
    "knowledge.remove": knowledge.entry,
    "knowledge.search": list_of(knowledge.question_result),
    "test.run": list_of(knowledge.test_outcome),
    "knowledge.export": knowledge.whole_knowledge,
    "knowledge.kept": knowledge.knowledge,
    "knowledge.past_questions": list_of(plain),
    "knowledge.unanswered": list_of(knowledge.unanswered_group),
    "knowledge.forget_unanswered": knowledge.cleared,
    "site.add": knowledge.site,
    "site.list": list_of(knowledge.site),
    "site.state": knowledge.site,
    "site.show": knowledge.shown_site,
    "site.sync": knowledge.site,
    "site.apply": knowledge.site,
    "site.discard": knowledge.site,
    "site.remove": removed(knowledge.site),
    "webhook.set": delivery.webhook,
    "webhook.show": delivery.webhook,
    "webhook.rotate": delivery.webhook,
    "webhook.remove": removed(delivery.webhook),
    "webhook.test": delivery.attempt,
    "webhook.attempts": page_of(delivery.attempt),
    "webhook.resend": delivery.attempt,
    "webhook.resend_failed": delivery.resent,
    "webhook.events": list_of(plain),
    "master_key.rotate": installation.rotation,
    "backup.create": installation.backup_draft,
    "request.list": page_of(conversations.request),
    "request.set": conversations.request,
    "appointment.list": page_of(conversations.appointment),
    "appointment.set": conversations.appointment,
    "conversation.list": page_of(conversations.conversation),
    "conversation.show": conversations.thread,
    "conversation.note": shapes.note,
    "conversation.assign": conversations.assigned,
    "conversation.take": conversations.conversation,
    "conversation.reply": conversations.operator_message,
    "conversation.release": conversations.conversation,
    "conversation.export": conversations.transcripts,
    "conversation.erase": conversations.erased,
    "saved_reply.list": list_of(plain),
    "saved_reply.set": plain,
    "saved_reply.remove": removed(plain),
    "usage": shapes.analytics,
    "usage.quality": delivery.quality,
    "usage.whatsapp": list_of(delivery.whatsapp_usage),
    "audit": page_of(installation.audit_record),
    "operator.add": accounts.new_operator,
    "operator.list": page_of(accounts.operator),
    "operator.set": accounts.operator,
    "operator.link": accounts.new_operator,
    "operator.sessions": list_of(accounts.operator_session),
    "operator.remove": removed(accounts.operator),
    "mail.list": page_of(delivery.mail),
    "mail.test": delivery.mail,
    "egress.show": installation.egress,
    "node.list": list_of(installation.node),
}
