"""Editor of one entry, with a search beside it; preview, save, remove."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.versions import changed_since, version_of
from chatsvc.dashboard.views import Action
from chatsvc.domain import refusals
from chatsvc.domain.models import Bot, Entry
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations.conversation_view import last_question

TEXTS = ("question", "alt", "answer", "language")


def values_of(entry: Entry) -> dict[str, str]:
    return {"question": entry.question, "alt": "\n".join(entry.alt), "answer": entry.answer, "language": entry.language}


async def _entry(page: Page, entry_id: str | None) -> Entry | None:
    """Read the entry that is edited; None for a new one."""
    return await page.perform("knowledge.show", bot=page.params["bot"], entry=entry_id) if entry_id else None


async def _context(page: Page, bot: Bot, entry: Entry | None, values: dict[str, str], unanswered: str = "", q: str = "") -> dict[str, Any]:
    q = q or values["question"]
    found = (await page.perform("knowledge.search", bot=bot.id, questions=[q]))[0].result if q.strip() else None
    version = version_of(values_of(entry)) if entry else ""
    return {"bot": bot, "entry": entry, "version": version, "values": values, "unanswered": unanswered, "q": q, "result": found}


async def show(page: Page) -> Response:
    """Show the editor of an entry. `conversation` and `message` name a reply whose question is filled in as a phrasing."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    entry = await page.perform("knowledge.show", bot=bot.id, entry=page.params["entry"])
    values, asked = values_of(entry), ""
    if page.query.get("message") and page.may("knowledge.set"):
        asked = (await _answered(page, bot)).get("question", "")
        if asked and asked not in (entry.question, *entry.alt):
            values["alt"] = "\n".join([*entry.alt, asked])
    return page.render("knowledge_entry.html", **await _context(page, bot, entry, values, q=asked))


async def show_new(page: Page) -> Response:
    """Show the editor of a new entry, empty or filled in.

    `unanswered` is the number of a question whose group it begins with. `conversation` and `message` name a message: the visitor's last
    question before it is the question, without personal data, and an operator's message is the answer.
    """
    bot = await page.perform("bot.show", bot=page.params["bot"])
    values, number = {"question": "", "alt": "", "answer": "", "language": ""}, page.query.get("unanswered", "")
    if number:
        draft = await page.perform("unanswered.answer", bot=bot.id, question=question_number(number))
        values |= {"question": draft.question, "alt": "\n".join(draft.alt), "language": draft.language}
    elif page.query.get("message"):
        values |= await _answered(page, bot)
    return page.render("knowledge_entry.html", **await _context(page, bot, None, values, number))


async def _answered(page: Page, bot: Bot) -> dict[str, str]:
    """Return the question of a message and an operator's answer."""
    shown, at = await records.reply_of(page, bot, "assistant", "operator")
    if at is None:
        return {}
    messages = [one.message for one in shown]
    question = await page.services.offload(lambda: last_question(messages[:at], bot.country, bot.language))
    return {"question": question, "answer": messages[at].content if messages[at].role == "operator" else ""}


def question_number(text: str) -> int:
    """Read the number of an unanswered question; raises `question_not_found`."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise refusals.question_not_found(question=text)
    return int(text)


def typed(fields: Fields) -> dict[str, str]:
    return {name: fields.raw(name) for name in TEXTS}


def arguments(values: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of the operations that write an entry."""
    alt = [line for line in values["alt"].split("\n") if line.strip()]
    return {"question": values["question"], "alt": alt, "answer": values["answer"], "language": values["language"].strip() or None}


async def submit(page: Page) -> Response:
    """Save an entry, or preview what saving it would change."""
    operation = "knowledge.preview" if page.path.endswith("/preview") else "knowledge.set"
    bot_id, fields = page.params["bot"], await page.form()
    entry_id = page.params.get("entry") or fields.optional("entry")
    unanswered, values = fields.text("unanswered"), typed(fields)
    entry = await _entry(page, entry_id)
    changed = changed_since(fields.text("version"), values_of(entry) if entry else {}, values)
    if changed:
        bot = await page.perform("bot.show", bot=bot_id)
        return page.conflict("knowledge_entry.html", changed, **await _context(page, bot, entry, values, unanswered))
    try:
        made = await page.perform(operation, bot=bot_id, entry=entry_id, **arguments(values))
    except Refused as fault:
        bot = await page.perform("bot.show", bot=bot_id)
        context = await _context(page, bot, entry, values, unanswered)
        return page.refused("knowledge_entry.html", fault, **context)
    if operation == "knowledge.preview":
        return page.redirect(page.url(f"/bots/{bot_id}/knowledge/previews/{made.id}", unanswered=unanswered or None))
    if unanswered:
        return page.redirect(f"/bots/{bot_id}/unanswered", done="saved")
    return page.redirect(f"/bots/{bot_id}/knowledge/{'new' if fields.text('another') else made.id}", done="saved")


async def search_beside(page: Page) -> Response:
    """Search beside the editor without a script: what was typed is kept."""
    bot, fields = await page.perform("bot.show", bot=page.params["bot"]), await page.form()
    entry = await _entry(page, fields.optional("entry"))
    shown = await _context(page, bot, entry, typed(fields), fields.text("unanswered"), fields.text("q"))
    return page.render("knowledge_entry.html", **shown)


async def search(page: Page) -> Response:
    bot, q = await page.perform("bot.show", bot=page.params["bot"]), page.query.get("q", "")[:500]
    found = (await page.perform("knowledge.search", bot=bot.id, questions=[q]))[0].result if q.strip() else None
    return page.render("knowledge_search.html", bot=bot, q=q, result=found)


async def preview_removal(page: Page) -> Response:
    """Preview the removal of the entry. Where the form has its texts, preview saving it."""
    if "question" in await page.form():
        return await submit(page)
    made = await page.perform("knowledge.preview", bot=page.params["bot"], entry=page.params["entry"])
    return page.redirect(f"/bots/{page.params['bot']}/knowledge/previews/{made.id}")


remove = Action("knowledge.remove", to="/bots/{bot}/knowledge", done="removed")
