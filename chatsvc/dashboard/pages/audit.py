"""Audit log: who did what, from where, with what outcome. An administrator sees the installation's, an owner the account's."""

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.domain.actors import AuditRecord
from chatsvc.domain.folding import fold
from chatsvc.services.administration import OPERATIONS


async def show(page: Page) -> Response:
    """List records, newest first: an administrator's of the whole installation, an owner's of the account."""
    since = page.query.get("since") or None
    account = None if page.operator.admin else page.account_id
    after, actor, act = page.query.get("after"), page.query.get("actor") or None, page.query.get("act") or None
    listed = await page.listed("audit", everywhere=True, account=account, since=since, actor=actor, act=act, limit=50, after=after)
    names = {account.id: account.name for account in page.accounts}
    people = await _people(page)
    known = names | people | ({one.id: one.name for one in (await records.bots_of(page)).values()} if page.account_id else {})
    acts = [
        (name, page.text(f"acts.{name.replace('.', '_')}")) for name in OPERATIONS if translations.has(f"acts.{name.replace('.', '_')}")
    ]
    return page.render(
        "audit.html",
        records=listed.items,
        next=listed.next,
        since=since,
        actor=actor,
        act=act,
        people=sorted(people.items(), key=lambda one: one[1]),
        acts=sorted(acts, key=lambda one: fold(one[1])),
        names=names,
        act_of=lambda name: _named(page, f"acts.{name.replace('.', '_')}", name),
        setting_of=lambda path: _setting(page, path),
        value_of=lambda value: page.text(f"audit.{value}") if value in ("true", "false") else value,
        concerned=lambda record: [(_named(page, f"audit.kind_{kind}", kind), known.get(one), one) for kind, one in _ids(record)],
    )


async def _people(page: Page) -> dict[str, str]:
    """Return the e-mail addresses of the operators by id."""
    if page.account_id is None:
        return {}
    team = await page.perform("operator.list", account=None if page.operator.admin else page.account_id)
    return {one.id: one.email for one in team.items}


def _setting(page: Page, path: str) -> str:
    """Return the name of a setting, such as "Sentences: thanks.tr"."""
    name, _, rest = path.partition(".")
    title = next((page.text(key) for key in (f"audit.setting_{name}", f"fields.{name}") if translations.has(key)), name)
    return f"{title}: {rest}" if rest else title


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
