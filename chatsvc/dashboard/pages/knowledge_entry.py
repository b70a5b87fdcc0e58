"""Editor of one knowledge entry, with a search, a preview and a history of changes that can be undone.

Questions without an answer can become new entries, or further phrasings of an existing entry.
"""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.dashboard.pages import knowledge
from chatsvc.domain import refusals
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.models import Entry
from chatsvc.services.conversations.conversation_view import last_question
from chatsvc.web.forms import NO_FIELDS, Fields, check_version, version_of

MOST_ENTRIES = 200  # of a change that are shown
KINDS = ("lost", "changed", "gained")
_EMPTY = {"question": "", "alt": "", "answer": "", "language": ""}


def values_of(entry: Entry) -> dict[str, str]:
    return {"question": entry.question, "alt": "\n".join(entry.alt), "answer": entry.answer, "language": entry.language}


@view("knowledge_entry.html")
async def editor(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the editor and its search result. The values are the typed ones, otherwise the entry's, otherwise empty."""
    bot, key = await page.bot(), page.params.get("entry") or typed.optional("entry")
    entry = await page.perform("knowledge.show", bot=bot.id, entry=key) if key else None
    stored = values_of(entry) if entry else _EMPTY
    values = {name: typed.raw(name) for name in _EMPTY} if typed else stored
    q = typed.text("q") or values["question"]
    version = version_of(stored) if entry else ""
    searched = {"q": q, "result": await _result(page, q)}
    return {"bot": bot, "entry": entry, "version": version, "values": values, "unanswered": typed.text("unanswered"), **searched}


async def _result(page: Page, q: str) -> Any:
    return (await page.perform("knowledge.search", bot=page.params["bot"], questions=[q]))[0].result if q.strip() else None


async def show(page: Page) -> Response:
    """Show the editor of an entry. If the URL has `conversation` and `message`, the question before that reply is added as a phrasing."""
    asked = (await _answered(page)).get("question") if page.query.get("message") and page.may("knowledge.set") else None
    if not asked:
        return await editor(page)
    entry = await page.perform("knowledge.show", bot=page.params["bot"], entry=page.params["entry"])
    alt = entry.alt if asked in (entry.question, *entry.alt) else [*entry.alt, asked]
    return await editor(page, Fields({**values_of(entry), "alt": "\n".join(alt), "q": asked}))


async def show_new(page: Page) -> Response:
    """Show the editor of a new entry, empty or filled in from the query parameters.

    `question` is used unchanged. `unanswered` is the number of an unanswered question, whose group is filled in. If `conversation` and
    `message` name a message, the visitor's last question before it, without personal data, becomes the question. If an operator wrote
    the message, it becomes the answer.
    """
    number, values = page.query.get("unanswered", ""), {"question": page.query.get("question", "")[:500]}
    if number:
        group = await page.perform("unanswered.answer", bot=page.params["bot"], question=question_number(number))
        values = {"question": group.question, "alt": "\n".join(group.asked[1:]), "language": group.language, "unanswered": number}
    elif page.query.get("message"):
        values = await _answered(page)
    return await editor(page, Fields(values))


async def _answered(page: Page) -> dict[str, str]:
    """Return the visitor's question before the message that the URL names. If an operator wrote that message, return it as the answer."""
    bot = await page.bot()
    shown, index = await records.reply_of(page, bot, "assistant", "operator")
    if index is None:
        return {}
    messages = [entry.message for entry in shown]
    question = await page.services.offload(lambda: last_question(messages[:index], bot.country, bot.language))
    return {"question": question, "answer": messages[index].content if messages[index].role == "operator" else ""}


def question_number(text: str) -> int:
    """Parse the number of an unanswered question. Raise `question_not_found` if the text is not a number."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise refusals.question_not_found(question=text)
    return int(text)


@form(editor)
async def submit(page: Page, fields: Fields) -> Response:
    """Save an entry, or preview how saving it would change the bot's answers."""
    operation = "knowledge.preview" if page.path.endswith("/preview") else "knowledge.set"
    bot, key = page.params["bot"], page.params.get("entry") or fields.optional("entry")
    unanswered, values = fields.text("unanswered"), {name: fields.raw(name) for name in _EMPTY}
    stored = values_of(await page.perform("knowledge.show", bot=bot, entry=key)) if key else {}
    check_version(fields.text("version"), stored, values)
    alt = [line for line in values["alt"].split("\n") if line.strip()]
    arguments = {**values, "alt": alt, "language": values["language"].strip() or None}
    saved = await page.perform(operation, bot=bot, entry=key, **arguments)
    if operation == "knowledge.preview":
        return page.redirect(page.url(f"/bots/{bot}/knowledge/previews/{saved.id}", unanswered=unanswered or None))
    if unanswered:
        return page.redirect(f"/bots/{bot}/unanswered", done="saved")
    return page.redirect(f"/bots/{bot}/knowledge/{'new' if fields.text('another') else saved.id}", done="saved")


async def search_beside(page: Page) -> Response:
    """Show the editor with the result of its search, for browsers without scripts. The typed values are kept."""
    return await editor(page, await page.form())


async def search(page: Page) -> Response:
    bot, q = await page.bot(), page.query.get("q", "")[:500]
    return page.render("knowledge_search.html", bot=bot, q=q, result=await _result(page, q))


async def preview_removal(page: Page) -> Response:
    """Preview the removal of the entry. If the form contains the entry's texts, preview saving them instead."""
    if "question" in await page.form():
        return await submit(page)
    preview = await page.perform("knowledge.preview", bot=page.params["bot"], entry=page.params["entry"])
    return page.redirect(f"/bots/{page.params['bot']}/knowledge/previews/{preview.id}")


remove = act("knowledge.remove", "bot", "entry", to="/bots/{bot}/knowledge", done="removed")


STATES = {"open": False, "answered": True, "all": None}


@view("unanswered.html")
async def groups(page: Page, _: Fields) -> dict[str, Any]:
    bot, state = await page.bot(), page.query.get("status", "open")
    q, after = page.query.get("q", "").strip(), page.query.get("after")
    listed = await page.perform("unanswered.list", bot=bot.id, q=q, answered=STATES.get(state, False), after=after)
    questions = [group.question for group in listed.items]
    results = await page.perform("knowledge.search", bot=bot.id, questions=questions) if questions else []
    nearest = [[hit.entry for hit in searched.result.hits] for searched in results]
    shown = list(zip(listed.items, nearest, strict=True))
    return {"bot": bot, "groups": shown, "next": listed.next, "state": state, "states": list(STATES), "q": q}


async def show_unanswered(page: Page) -> Response:
    """List the groups of unanswered questions, the most frequent first. With `question`, list entries that its group can be added to."""
    if not page.query.get("question"):
        return await groups(page)
    question, q = question_number(page.query["question"]), page.query.get("q", "").strip()
    if not page.may("unanswered.add"):
        return page.fail(403)
    bot = await page.bot()
    (group,) = (await page.perform("unanswered.list", bot=bot.id, question=question)).items
    entries = await page.perform("knowledge.list", bot=bot.id)
    part = page.part(await page.services.offload(lambda: knowledge.filtered(entries, q)), knowledge.SHOWN)
    return page.render("unanswered_entry.html", bot=bot, group=group, entries=part.items, q=q, next=part.next)


@form(groups)
async def add_phrasings(page: Page, fields: Fields) -> Response:
    question = question_number(fields.text("id"))
    await page.perform("unanswered.add", bot=page.params["bot"], question=question, entry=fields.text("entry"))
    return page.redirect(f"/bots/{page.params['bot']}/unanswered", done="phrasings_added")


@form(groups)
async def forget(page: Page, fields: Fields) -> Response:
    """Delete the unanswered questions of a group, or of all groups if none is given."""
    page.require_confirmation("knowledge.forget_unanswered", fields)
    question = question_number(fields.text("id")) if fields.text("id") else None
    await page.perform("knowledge.forget_unanswered", bot=page.params["bot"], question=question)
    return page.redirect(f"/bots/{page.params['bot']}/unanswered", done="removed")


@form()
async def begin_answer(page: Page, fields: Fields) -> Response:
    """Open the editor with a new entry that is filled in from a group of unanswered questions."""
    bot, number = page.params["bot"], question_number(fields.text("id"))
    await page.perform("unanswered.answer", bot=bot, question=number)
    return page.redirect(page.url(f"/bots/{bot}/knowledge/new", unanswered=number))


async def show_history(page: Page) -> Response:
    bot = await page.bot()
    listed = await page.perform("knowledge.history", bot=bot.id, limit=50, after=page.query.get("after"))
    return page.render("knowledge_history.html", bot=bot, changes=listed.items, next=listed.next)


@view("knowledge_change.html")
async def show_change(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.bot()
    shown = await page.perform("knowledge.show_change", bot=bot.id, change=page.params["change"])
    before, after = ({entry.id: entry for entry in entries} for entries in (shown.before, shown.after))
    pairs = [(before.get(entry_id), after.get(entry_id)) for entry_id in {**before, **after}]
    return {"bot": bot, "change": shown.change, "pairs": pairs[:MOST_ENTRIES], "others": max(0, len(pairs) - MOST_ENTRIES)}


undo = act("knowledge.undo", "bot", "change", to="/bots/{bot}/knowledge/history", done="undone", shown=show_change)


@view("knowledge_preview.html")
async def preview(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.bot()
    shown = await page.perform("knowledge.preview_show", bot=bot.id, preview=page.params["preview"])
    kind = page.query.get("kind", "")
    return {
        "bot": bot,
        "preview": shown,
        "changes": [change for change in shown.changes if kind not in KINDS or change.kind == kind],
        "kind": kind,
        "kinds": KINDS,
        "values": values_of(shown.entry) if shown.entry else {},
        "unanswered": page.query.get("unanswered", ""),
        "broken": [f"“{outcome.ask}”: {reasons(outcome, page.language)}" for outcome in shown.broken],
    }


async def show_preview(page: Page) -> Response:
    values = await preview.values(page, NO_FIELDS)
    return page.render("knowledge_check.html" if values["preview"].kind == "lint" else preview.template, **values)


@form(preview)
async def save_preview(page: Page, fields: Fields) -> Response:
    bot = page.params["bot"]
    shown = await page.perform("knowledge.preview_show", bot=bot, preview=fields.text("preview"))
    if shown.phrased:
        await page.perform("knowledge.phrase_apply", bot=bot, preview=shown.id)
    else:
        await page.perform("knowledge.add", bot=bot, files=shown.files)
    return page.redirect(f"/bots/{bot}/knowledge", done="files_added")


phrase = act("knowledge.phrase", "bot", to=knowledge.PREVIEW)
check = act("knowledge.lint", "bot", to=knowledge.PREVIEW)
