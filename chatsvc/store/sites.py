"""Queries of the websites that bots read: the sites, their pages, and the entries that were made from them."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain import websites
from chatsvc.domain.models import ChangeOrigin, Entry
from chatsvc.domain.websites import Site, SiteEntry, SitePage
from chatsvc.store import knowledge_changes
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.knowledge_changes import Rows, StoredEntry

MOST_SITES = 20  # of a bot
_SITE = "id, bot_id, url, include, exclude, max_pages, every_days, review, state, reason, started_at, read_at, done, pages, changes"
_PAGE = "url, state, reason, entries, read_at, etag, modified, digest"
_NUMBER = "(SELECT number FROM sites WHERE id = ?1)"


class SiteOutcome(NamedTuple):
    """Outcome of reading a site. `draft` has the packed entries, or is None if the knowledge need not change."""

    state: str
    reason: str | None
    changes: Mapping[str, int]
    draft: bytes | None = None


def _site(row: Sequence[Any]) -> Site:
    values = dict(zip(Site._fields, row, strict=True))
    lists = {name: json.loads(values[name]) for name in ("include", "exclude", "changes")}
    return Site(**{**values, **lists, "review": bool(values["review"])})


@writes
def create(connection: Connection, site: Site) -> bool:
    """Insert a site. Return False if the bot has this site already, or has MOST_SITES sites."""
    (others,) = connection.execute("SELECT count(*) FROM sites WHERE bot_id = ?", (site.bot_id,)).fetchone()
    if others >= MOST_SITES:
        return False
    inserted = connection.execute(
        f"INSERT INTO sites ({_SITE}) VALUES ({', '.join('?' * 15)}) ON CONFLICT (bot_id, url) DO NOTHING",
        (*site[:3], json.dumps(site.include), json.dumps(site.exclude), *site[5:7], int(site.review), *site[8:14], "{}"),
    )
    return bool(inserted.rowcount)


@reads
def of_bot(connection: Connection, bot_id: str) -> list[Site]:
    """List the sites of a bot in the order of their addition."""
    return [_site(row) for row in connection.execute(f"SELECT {_SITE} FROM sites WHERE bot_id = ? ORDER BY number", (bot_id,))]


@reads
def find(connection: Connection, site_id: str) -> Site | None:
    row = connection.execute(f"SELECT {_SITE} FROM sites WHERE id = ?", (site_id,)).fetchone()
    return _site(row) if row else None


@writes
def move(connection: Connection, site: Site, url: str) -> bool:
    """Change the address of a site. Return False if another site of the bot has this address."""
    other = connection.execute("SELECT 1 FROM sites WHERE bot_id = ? AND url = ?", (site.bot_id, url)).fetchone()
    return other is None and bool(connection.execute("UPDATE sites SET url = ? WHERE id = ?", (url, site.id)).rowcount)


@writes
def begin(connection: Connection, site_id: str, begun_at: int) -> None:
    """Begin a reading of a site, unless it is being read. A present draft is deleted, since the reading makes a new one."""
    connection.execute(
        """
        UPDATE sites SET state = 'reading', reason = NULL, started_at = ?2, done = 0, pages = 0, draft = NULL, due_at = NULL, attempts = 0
        WHERE id = ?1 AND state <> 'reading'
        """,
        (site_id, begun_at),
    )


@reads
def wanted(connection: Connection, now: int) -> list[tuple[str, str]]:
    """List id and state of each site to read. Its next reading is due, or its present reading has not ended."""
    return connection.execute(
        """
        SELECT s.id, s.state FROM sites s JOIN bots b ON b.id = s.bot_id JOIN accounts o ON o.id = b.account_id
        WHERE s.number IN (SELECT number FROM sites WHERE state = 'reading' UNION SELECT number FROM sites WHERE due_at <= ?)
            AND o.deleted_at IS NULL ORDER BY s.started_at
        """,
        (now,),
    ).fetchall()


@reads
def pages(connection: Connection, site_id: str) -> list[SitePage]:
    """List the pages of a site, without their contents."""
    rows = connection.execute(f"SELECT {_PAGE}, parsed IS NOT NULL FROM site_pages WHERE site = {_NUMBER} ORDER BY url", (site_id,))
    return [SitePage._make((*row[:-2], bytes(row[-2]), bool(row[-1]), None)) for row in rows]


@reads
def contents(connection: Connection, site_id: str, urls: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return the packed contents of pages with their addresses, in the order of the addresses."""
    sql = f"SELECT url, parsed FROM site_pages WHERE site = {_NUMBER} AND url IN (SELECT value FROM json_each(?2)) AND parsed IS NOT NULL"
    return sorted((url, bytes(packed)) for url, packed in connection.execute(sql, (site_id, json.dumps(list(urls)))))


@writes
def save_pages(connection: Connection, site: Site, site_pages: Sequence[SitePage], done: int, of: int) -> None:
    """Store pages of a site and the progress of its reading. `done` counts the finished pages, `of` all pages."""
    connection.execute("UPDATE sites SET done = ?2, pages = ?3 WHERE id = ?1", (site.id, done, of))
    connection.executemany(
        f"""
        INSERT INTO site_pages (site, bot_id, {_PAGE}, parsed)
        SELECT number, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM sites WHERE id = ?1
        ON CONFLICT (site, url) DO UPDATE SET state = excluded.state, reason = excluded.reason, read_at = excluded.read_at,
            etag = excluded.etag, modified = excluded.modified, digest = excluded.digest,
            parsed = CASE WHEN ?12 = 1 THEN coalesce(excluded.parsed, site_pages.parsed) END
        """,
        [(site.id, site.bot_id, *page[:8], page.content, int(page.has_content)) for page in site_pages],
    )


@writes
def attempt(connection: Connection, site_id: str) -> int:
    """Count one more attempt at the present reading of a site. Return the number of attempts; the earlier ones were cut off."""
    row = connection.execute("UPDATE sites SET attempts = attempts + 1 WHERE id = ? RETURNING attempts", (site_id,)).fetchone()
    return row[0] if row else 0


@writes
def forget_attempts(connection: Connection, site_ids: Sequence[str]) -> None:
    """Set the attempts of sites' readings to 0, because an orderly shutdown has interrupted them."""
    connection.executemany("UPDATE sites SET attempts = 0 WHERE id = ?", [(site_id,) for site_id in site_ids])


@writes
def finish(
    connection: Connection, site: Site, outcome: SiteOutcome, finished_at: int, due_at: int | None, counts: Mapping[str, int] | None
) -> None:
    """Store the outcome of reading a site. `counts` has the number of entries of each present page, or is None if reading failed."""
    connection.execute(
        """
        UPDATE sites SET state = ?2, reason = ?3, changes = ?4, draft = ?5, due_at = ?6, read_at = coalesce(?7, read_at), attempts = 0
        WHERE id = ?1
        """,
        (
            *(site.id, outcome.state, outcome.reason, json.dumps(dict(outcome.changes)), outcome.draft),
            *(due_at, None if outcome.reason else finished_at),
        ),
    )
    if counts is not None:
        gone = f"DELETE FROM site_pages WHERE site = {_NUMBER} AND url NOT IN (SELECT value FROM json_each(?2))"
        connection.execute(gone, (site.id, json.dumps(list(counts))))
        entries = f"UPDATE site_pages SET entries = ?2 WHERE site = {_NUMBER} AND url = ?3"
        connection.executemany(entries, [(site.id, count, url) for url, count in counts.items()])


@reads
def draft(connection: Connection, site_id: str) -> list[SiteEntry] | None:
    """Read the draft of a site, or return None if it has none."""
    row = connection.execute("SELECT draft FROM sites WHERE id = ?", (site_id,)).fetchone()
    return [SiteEntry(*values) for values in websites.unpack(row[0])] if row and row[0] else None


def _applied(connection: Connection, site_id: str) -> list[SiteEntry]:
    """List the entries of a site as the last applied draft contained them."""
    sql = f"SELECT page, key, question, answer, language, entry_id FROM site_entries WHERE site = {_NUMBER} ORDER BY number"
    return [SiteEntry._make((*row[:5], (), row[5])) for row in connection.execute(sql, (site_id,))]


applied = reads(_applied)


def _stored(connection: Connection, bot_id: str) -> dict[str, StoredEntry]:
    return {row.entry.id: row for row in knowledge_changes.read_rows(connection, bot_id, knowledge_changes.ALL).entries}


@writes
def apply(connection: Connection, site: Site, new: Sequence[SiteEntry], origin: ChangeOrigin) -> None:
    """Apply a draft to the knowledge, except to entries that a person has edited, and record the change."""
    stored = _stored(connection, site.bot_id)
    current = {entry_id: row.entry for entry_id, row in stored.items()}
    rows = websites.adopted(new, _applied(connection, site.id), current)
    difference = websites.difference(new, rows, current)
    ids = {(item.page, item.key): item.entry_id for item in rows}
    added = [Entry(str(uuid.uuid4()), item.question, tuple(item.alt), item.answer, item.language, item.page) for item in difference.added]
    ids |= {(item.page, item.key): entry.id for item, entry in zip(difference.added, added, strict=True)}
    before = Rows([stored[item.id] for item in (*(entry for entry, _ in difference.changed), *difference.removed)])
    edited = [stored[e.id]._replace(entry=e._replace(question=item.question, answer=item.answer)) for e, item in difference.changed]
    after = Rows([*edited, *(StoredEntry(0, entry, None, origin.changed_at) for entry in added)])
    if before.entries or after.entries:
        knowledge_changes.change(connection, site.bot_id, origin, "add", before, after, files=[site.url])
    connection.execute(f"DELETE FROM site_entries WHERE site = {_NUMBER}", (site.id,))
    connection.executemany(
        f"""
        INSERT INTO site_entries (site, bot_id, page, key, question, answer, language, entry_id)
        VALUES ({_NUMBER}, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """,
        [(site.id, site.bot_id, *item[:5], ids[item.page, item.key]) for item in new],
    )
    settle = "UPDATE sites SET state = 'idle', draft = NULL, changes = ?2 WHERE id = ?1"
    connection.execute(settle, (site.id, json.dumps(difference.counts)))


@writes
def discard(connection: Connection, site_id: str) -> None:
    """Delete the draft of a site."""
    connection.execute("UPDATE sites SET state = 'idle', draft = NULL, changes = '{}' WHERE id = ? AND state = 'review'", (site_id,))


@writes
def remove(connection: Connection, site: Site, origin: ChangeOrigin) -> None:
    """Delete a site with its pages and its entries, and record the change of the knowledge."""
    stored, ids = _stored(connection, site.bot_id), {item.entry_id for item in _applied(connection, site.id)}
    before = Rows([row for entry_id, row in stored.items() if entry_id in ids])
    if before.entries:
        knowledge_changes.change(connection, site.bot_id, origin, "remove", before, Rows(), files=[site.url])
    for table in ("site_entries", "site_pages"):
        connection.execute(f"DELETE FROM {table} WHERE site = {_NUMBER}", (site.id,))
    connection.execute("DELETE FROM sites WHERE id = ?", (site.id,))
