"""Audit log: who did what, from where, with what outcome. An administrator sees the installation's, an owner the account's."""

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.domain.actors import AuditRecord


async def show(page: Page) -> Response:
    """List records, newest first: an administrator's of the whole installation, an owner's of the account."""
    since = page.query.get("since") or None
    account = None if page.operator.admin else page.account_id
    after = page.query.get("after")
    listed = await page.listed("audit", everywhere=True, account=account, since=since, limit=50, after=after)
    names = {account.id: account.name for account in page.accounts}
    known = names | await _names(page)
    return page.render(
        "audit.html",
        records=listed.items,
        next=listed.next,
        since=since,
        names=names,
        act_of=lambda name: _named(page, f"acts.{name.replace('.', '_')}", name),
        concerned=lambda record: [(_named(page, f"audit.kind_{kind}", kind), known.get(one), one) for kind, one in _ids(record)],
    )


async def _names(page: Page) -> dict[str, str]:
    """Return the names of the operators and of the page's bots by id."""
    if page.account_id is None:
        return {}
    team = await page.perform("operator.list", account=None if page.operator.admin else page.account_id)
    return {bot.id: bot.name for bot in (await records.bots_of(page)).values()} | {one.id: one.email for one in team.items}


def _ids(record: AuditRecord) -> list[tuple[str, str]]:
    """Return kinds and ids of the records concerned, each once. The account stands by itself.

    A new one has the kind of its operation, such as `key.create`.
    """
    named = {one: kind for kind, one in record.ids.items() if kind != "id"}
    made = [(record.operation.partition(".")[0], one) for kind, one in record.ids.items() if kind == "id" and one not in named]
    return [(kind, one) for one, kind in named.items() if kind != "account"] + made


def _named(page: Page, key: str, name: str) -> str:
    """Word a name; one of an earlier version stays."""
    return page.text(key) if translations.has(key) else name
