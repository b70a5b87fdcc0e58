"""Queries that export an account page by page and insert imported records.

Records refer to one another by identifiers, never by numbers, which differ between databases. store/accounts.py makes an imported account
visible.
"""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain.escaping import one_line
from chatsvc.domain.refusals import Refused
from chatsvc.domain.transfer import RECORDS, Record, checked
from chatsvc.store import facts, sealing
from chatsvc.store.database import Connection, ConstraintViolated, Database, reads
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sealing import row_name
from chatsvc.store.tables import ACCOUNT, BOT, CONVERSATION, TABLES

PAGE = 1_000_000  # characters, or a little more
WINDOW = 500  # numbers or rows read in one query
WINDOWS = 40  # in one unit
_EACH = 200

_OF = {table.record: table for table in TABLES if table.record}
_KINDS = tuple(RECORDS)
# Fields that hold a sealed secret in the store.
SECRETS = {kind: table.sealed.columns[0] for kind, table in _OF.items() if table.sealed}
# The columns by which records are walked. Of numbered rows those that are written after the walk began are left out.
_KEYS = {kind: tuple(column for column in table.key if column != ACCOUNT) for kind, table in _OF.items()} | {"key": ("id",)}
_NUMBERED = {kind for kind, key in _KEYS.items() if key == ("number",)}
_LAST = {kind: f"SELECT coalesce(max(number), 0) FROM {_OF[kind].name}" for kind in _NUMBERED}


def _records(kind: str, where: str) -> str:
    """Make the statement that reads records of a kind, key columns first. In `where`, `t` is the table and `p` the parent table."""
    table, reference = _OF[kind], _OF[kind].reference
    elsewhere = reference.fields if reference else {}
    fields = ", ".join(f"p.{elsewhere[name]}" if name in elsewhere else f"t.{name}" for name in RECORDS[kind])
    parent = f"JOIN {reference.table} p ON p.number = t.{reference.column}" if reference else ""
    return f"SELECT {_key(kind)}, {fields} FROM {table.name} t {parent} WHERE {where}"


def _key(kind: str) -> str:
    return ", ".join(f"t.{column}" for column in _KEYS[kind])


def _window(kind: str) -> str:
    """Make the query that reads a page of records of the account ?1.

    The page begins after the key in ?3 and the parameters behind it. ?2 is the last number of the page, or the limit of rows.
    """
    owner, key = _OF[kind].owner, _KEYS[kind]
    owned = "t.bot_id IN (SELECT id FROM bots WHERE account_id = ?1)" if owner == BOT else f"t.{owner} = ?1"
    if owner == CONVERSATION:
        owned = "p.account_id = ?1"
    if kind in _NUMBERED:
        # The plus sign keeps SQLite from the owner's index, by which a window would be searched among all rows of the account.
        return _records(kind, f"t.number > ?3 AND t.number <= ?2 AND +{owned} ORDER BY t.number")
    after = ", ".join(f"?{index}" for index, _ in enumerate(key, 3))
    # With the plus sign the rows come in the order of the key, and none has to be sorted.
    return _records(kind, f"{'+' * (len(key) > 1)}{owned} AND ({_key(kind)}) > ({after}) ORDER BY {_key(kind)} LIMIT ?2")


_WINDOW = {kind: _window(kind) for kind in RECORDS}
# Those of all accounts, without what a deletion has left: marks of accounts, digests of keys.
_ALL = {kind: _records(kind, "true") for kind in RECORDS} | {
    "account": _records("account", "t.deleted_at IS NULL"),
    "key": _records("key", "t.account_id IS NOT NULL"),
}


class ExportPosition(NamedTuple):
    """Position of an export: the kind of record, and the key that was read last. `until` has the last row number of each kind."""

    kind: str
    after: Sequence[int | str]
    until: dict[str, int]

    def is_possible(self) -> bool:
        """Return whether an export could have reached this position."""
        first = _start(self.kind, self.until).after if self.kind in _KEYS else []
        return self.until.keys() == _LAST.keys() and list(map(type, first)) == list(map(type, self.after))


def _start(kind: str, until: dict[str, int]) -> ExportPosition:
    return ExportPosition(kind, [0 if column in ("number", "day") else "" for column in _KEYS[kind]], until)


@reads
def begin(connection: Connection) -> ExportPosition:
    """Return the first position of an export."""
    return _start(_KINDS[0], {kind: connection.execute(_LAST[kind]).fetchone()[0] for kind in _LAST})


@reads
def walk(connection: Connection, account_id: str, position: ExportPosition) -> tuple[list[tuple[str, Record]], ExportPosition | None]:
    """Read an account's records after a position. Return them with the next position, or None at the end. Secrets are sealed, in base64."""
    records: list[tuple[str, Record]] = []
    room = PAGE
    for _ in range(WINDOWS):
        kind, after, until = position
        last = min(int(after[0]) + WINDOW, until[kind]) if kind in until else WINDOW
        rows = connection.execute(_WINDOW[kind], (account_id, last, *after)).fetchall()
        records += [(kind, _record(kind, row)) for row in rows]
        room -= sum(_EACH + sum(len(value) for value in row if isinstance(value, str | bytes)) for row in rows)
        if kind in until and last < until[kind]:
            position = ExportPosition(kind, [last], until)
        elif kind not in until and len(rows) == WINDOW:
            position = ExportPosition(kind, rows[-1][: len(after)], until)
        elif kind == _KINDS[-1]:
            return records, None
        else:
            position = _start(_KINDS[_KINDS.index(kind) + 1], until)
        if room <= 0:
            break
    return records, position


def _record(kind: str, row: Sequence[Any]) -> Record:
    record: Record = {}
    for (name, (form, _)), value in zip(RECORDS[kind].items(), row[len(_KEYS[kind]) :], strict=True):
        if isinstance(value, bytes):
            record[name] = b64encode(value).decode()
        else:
            record[name] = bool(value) if form == "flag" and value is not None else value
    return record


def unseal(key: MasterKey, kind: str, record: Record) -> str | None:
    """Decrypt the secret of an exported record; raises Unsealable."""
    table, sealed = _OF[kind], record[SECRETS[kind]]
    if sealed is None or table.sealed is None:
        return None
    row = row_name(table.name, str(record[table.sealed.row]))
    return sealing.unseal(key, table.sealed.purpose, b64decode(str(sealed)), row)


# A row of operators, whom no export has, that no form could have written.
_FAULTY_OPERATOR = """
    SELECT 'operator_role.role', operator_id FROM operator_roles WHERE role NOT IN ('reader', 'editor', 'owner')
    UNION ALL SELECT 'operator.email', id FROM operators WHERE length(email) > 254 OR instr(email, '@') = 0
    UNION ALL SELECT 'operator.name', id FROM operators WHERE length(name) > 200
    LIMIT 1
"""


def first_fault(connection: Connection, now: int) -> str | None:
    """Check the rows of all accounts as an import checks its records.

    Return kind, field and id of the first faulty record as a text, or None if there is no fault.
    """
    if row := connection.execute(_FAULTY_OPERATOR).fetchone():
        return f"{row[0]} of {one_line(row[1])}"
    for kind in RECORDS:
        for row in connection.execute(_ALL[kind]):
            record = _record(kind, row)
            if kind in SECRETS:
                record[SECRETS[kind]] = None  # sealed, which authenticates it where it is opened
            try:
                checked(kind, record, now)
            except Refused as refusal:
                name = next((str(record[field]) for field in ("id", "bot_id") if record.get(field)), "")
                return f"{kind}.{refusal.facts['field']} of {one_line(name[:40])}"
    return None


def _insert(kind: str) -> str:
    """Make the INSERT of one record. It inserts nothing unless its bot `b` and its parent `p` belong to the account."""
    table, reference = _OF[kind], _OF[kind].reference
    elsewhere = reference.fields if reference else {}
    values = {name: f":{name}" for name in RECORDS[kind] if name not in elsewhere} | dict(table.local)
    if table.owner == ACCOUNT:
        values[ACCOUNT] = ":account_id"
    parents, conditions = [], ["true"]
    if BOT in values or kind == "answer":
        parents.append("bots b")
        # An idempotency record names its bot in the exchange only.
        bot_id = ":bot_id" if BOT in values else "json_extract(:exchange, '$.chatbot_id')"
        conditions += [f"b.id = {bot_id}", "b.account_id = :account_id"]
    if reference:
        values[reference.column] = "p.number"
        parents.append(f"{reference.table} p")
        conditions += [f"p.{column} = :{field}" for field, column in reference.fields.items()]
        conditions.append("p.bot_id = b.id" if BOT in values else "p.account_id = :account_id")
    source = f"FROM {', '.join(parents)}" if parents else ""
    return (
        f"INSERT INTO {table.name} ({', '.join(values)}) SELECT {', '.join(values.values())} {source}"
        f" WHERE {' AND '.join(conditions)} LIMIT 1"
    )


_INSERT = {kind: _insert(kind) for kind in RECORDS}
# The digests of a deleted account's keys are still there.
_INSERT["key"] += (
    " ON CONFLICT (digest) DO UPDATE SET account_id = excluded.account_id, label = excluded.label, prefix = excluded.prefix,"
    " last_used_at = excluded.last_used_at WHERE api_keys.account_id IS NULL"
)


class Unfitting(Exception):
    """An imported record exists already, or its parent does not exist. The exception's text is the kind of record."""


async def put(db: Database, account_id: str, records: Sequence[tuple[str, Record]], key: MasterKey) -> None:
    """Write records of an account during its import, all or none, and seal their secrets; raises Unfitting."""
    kind = ""

    def unit(connection: Connection) -> None:
        nonlocal kind
        counts: Counter[object] = Counter()
        for kind, record in records:
            values = {**record, "account_id": account_id}
            if (rule := _OF[kind].sealed) and (secret := record[SECRETS[kind]]) is not None:
                row = row_name(_OF[kind].name, str(record[rule.row]))
                values[SECRETS[kind]] = sealing.seal(key.of(facts.check_in(connection)), rule.purpose, str(secret), row)
            if connection.execute(_INSERT[kind], values).rowcount != 1:
                raise Unfitting(kind)
            if kind == "message":
                counts[record["conversation_id"]] += 1
            elif kind == "conversation":
                connection.execute(
                    """
                    INSERT INTO conversation_counts (account_id, bot_id, channel, conversations)
                    VALUES (:account_id, :bot_id, :channel, 1)
                    ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET conversations = conversation_counts.conversations + 1
                    """,
                    values,
                )
        connection.executemany(
            "UPDATE conversations SET message_count = message_count + ? WHERE id = ?",
            [(count, conversation_id) for conversation_id, count in counts.items()],
        )

    try:
        await db.write(unit)
    except ConstraintViolated:
        raise Unfitting(kind) from None
