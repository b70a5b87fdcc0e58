"""Queries that export an account page by page and insert imported records.

Records refer to one another by identifiers, never by numbers, which differ between databases. store/accounts.py lets an imported account be
seen.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from chatsvc.domain.refusals import Refused
from chatsvc.domain.terminal import one_line
from chatsvc.domain.transfer import RECORDS, Record, checked
from chatsvc.store import facts
from chatsvc.store.database import Connection, ConstraintViolated, Database, reads
from chatsvc.store.tables import ACCOUNT, BOT, BY_NAME, CONVERSATION, TABLES, Table

PAGE = 1_000_000  # characters, or a little more
WINDOW = 500  # numbers read in one query
WINDOWS = 40  # in one unit
_EACH = 200

_OF = {table.record: table for table in TABLES if table.record}
# Fields that hold a sealed secret in the store.
SECRETS = {"webhook": "signing_key", "channel": "secrets"}
# Tables walked by number. Rows that are written after the walk began are left out.
_BY_NUMBER = {kind: table.name for kind, table in _OF.items() if table.key == ("number",)}
_OF_BOTS = "IN (SELECT id FROM bots WHERE account_id = ?1)"


def _fields(kind: str) -> str:
    reference = _OF[kind].reference
    elsewhere = reference.fields if reference else {}
    return ", ".join(f"p.{elsewhere[name]}" if name in elsewhere else f"t.{name}" for name in RECORDS[kind])


def _parent(table: Table) -> str:
    return f"JOIN {table.reference.table} p ON p.number = t.{table.reference.column}" if table.reference else ""


def _select(kind: str) -> str:
    """Statement for some records of an account. ?1 is the account.

    ?2 is the last number and ?3 the one to stop at; of tables without numbers ?2 is how many, and the last key follows.
    """
    table = _OF[kind]
    if table.owner == CONVERSATION:
        owned = "p.account_id = ?1"
    else:
        owned = f"t.{table.owner} = ?1" if table.owner != BOT else f"t.bot_id {_OF_BOTS}"
    if kind not in _BY_NUMBER:
        key = ", ".join(f"t.{column}" for column in _KEYS[kind])
        after = ", ".join(f"?{start}" for start in range(3, 3 + len(_KEYS[kind])))
        # With the plus sign the rows come in the order of the key, and none has to be sorted.
        owned = f"+{owned}" if len(_KEYS[kind]) > 1 else owned
        return f"SELECT {key}, {_fields(kind)} FROM {table.name} t WHERE {owned} AND ({key}) > ({after}) ORDER BY {key} LIMIT ?2"
    # The plus sign keeps SQLite from the owner's index, by which a window would be searched among all rows of the account.
    return (
        f"SELECT t.number, {_fields(kind)} FROM {table.name} t {_parent(table)}"
        f" WHERE t.number > ?2 AND t.number <= ?3 AND +{owned} ORDER BY t.number"
    )


# The columns by which the others are walked, and the values before the first ones.
_KEYS = {"account": ("id",), "allowance": ("month",), "webhook": ("bot_id",), "channel": ("id",), "answer": ("key",), "key": ("id",)} | {
    "day_count": BY_NAME["day_counts"].key
}
_FIRST = {kind: tuple(0 if column == "day" else "" for column in key) for kind, key in _KEYS.items()}
_SELECT = {kind: _select(kind) for kind in RECORDS}
_LAST = {kind: f"SELECT coalesce(max(number), 0) FROM {name}" for kind, name in _BY_NUMBER.items()}
_KINDS = tuple(RECORDS)


class ExportPosition(NamedTuple):
    """Position of an export. The kind of record, the last number or key read (None at the first one), and the numbers at which it ends."""

    kind: str
    after: int | Sequence[int | str] | None
    until: dict[str, int]


@reads
def begin(connection: Connection) -> ExportPosition:
    """Return the first position of an export."""
    return ExportPosition(_KINDS[0], None, {kind: connection.execute(_LAST[kind]).fetchone()[0] for kind in _BY_NUMBER})


@reads
def walk(connection: Connection, account_id: str, start: ExportPosition) -> tuple[list[tuple[str, Record]], ExportPosition | None]:
    """Read the records after a position. Return them with the next position, None at the end. Secrets are sealed, in base64."""
    records: list[tuple[str, Record]] = []
    room, position = PAGE, start
    for _ in range(WINDOWS):
        rows, nearly = _window(connection, account_id, position)
        records += [(position.kind, _record(position.kind, row[-len(RECORDS[position.kind]) :])) for row in rows]
        room -= sum(_EACH + sum(len(value) for value in row if isinstance(value, str | bytes)) for row in rows)
        if nearly is None and position.kind == _KINDS[-1]:
            return records, None
        position = nearly or ExportPosition(_KINDS[_KINDS.index(position.kind) + 1], None, position.until)
        if room <= 0:
            break
    return records, position


def _window(connection: Connection, account_id: str, position: ExportPosition) -> tuple[list[tuple[Any, ...]], ExportPosition | None]:
    """Read some rows of one kind. Return them with the next position, None after the last of the kind."""
    if position.kind in _BY_NUMBER:
        start, end = position.after if isinstance(position.after, int) else 0, position.until[position.kind]
        stop = min(start + WINDOW, end)
        rows = connection.execute(_SELECT[position.kind], (account_id, start, stop)).fetchall()
        return rows, position._replace(after=stop) if stop < end else None
    after = position.after if isinstance(position.after, Sequence) else _FIRST[position.kind]
    rows = connection.execute(_SELECT[position.kind], (account_id, WINDOW, *after)).fetchall()
    return rows, position._replace(after=rows[-1][: len(after)]) if len(rows) == WINDOW else None


def _record(kind: str, values: Sequence[Any]) -> Record:
    record: Record = {}
    for (name, (form, _)), value in zip(RECORDS[kind].items(), values, strict=True):
        if isinstance(value, bytes):
            record[name] = b64encode(value).decode()
        else:
            record[name] = bool(value) if form == "flag" and value is not None else value
    return record


def _select_all(kind: str) -> str:
    """Make the statement for the records of all accounts, without what a deletion has left: marks of accounts, digests of keys."""
    table = _OF[kind]
    there = {"account": "t.deleted_at IS NULL", "key": "t.account_id IS NOT NULL"}.get(kind, "true")
    return f"SELECT {_fields(kind)} FROM {table.name} t {_parent(table)} WHERE {there}"


_ALL = {kind: _select_all(kind) for kind in RECORDS}


# A row of operators, whom no export has, that no form could have written.
_FAULTY_OPERATOR = """
    SELECT 'operator_role.role', operator_id FROM operator_roles WHERE role NOT IN ('reader', 'editor', 'owner')
    UNION ALL SELECT 'operator.email', id FROM operators WHERE length(email) > 254 OR instr(email, '@') = 0
    UNION ALL SELECT 'operator.name', id FROM operators WHERE length(name) > 200
    LIMIT 1
"""


def first_fault(connection: Connection, now: int) -> str | None:
    """Check the rows of all accounts as an import checks its records. Return kind, field and id of the first faulty one, None for none."""
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
    """Make the INSERT of one record. It inserts nothing unless its parent belongs to the account."""
    table = _OF[kind]
    reference, elsewhere = table.reference, table.reference.fields if table.reference else {}
    values = {name: f":{name}" for name in RECORDS[kind] if name not in elsewhere} | dict(table.local)
    if table.owner == ACCOUNT:
        values[ACCOUNT] = ":account_id"
    parent = ""
    if BOT in values and (reference is None or reference.table != "conversations"):
        parent = "FROM bots b"
        conditions = ["b.id = :bot_id", "b.account_id = :account_id"]
    else:
        conditions = ["true"]
    if kind == "answer":
        # An idempotency record names its bot in the exchange only.
        conditions.append(
            "EXISTS (SELECT 1 FROM bots b WHERE b.id = json_extract(:exchange, '$.chatbot_id') AND b.account_id = :account_id)"
        )
    if reference:
        values[reference.column] = "p.number"
        conditions += [f"p.{column} = :{field}" for field, column in reference.fields.items()]
        if reference.table == "conversations":
            parent = "FROM conversations p"
            conditions += ["p.account_id = :account_id"] + (["p.bot_id = :bot_id"] if BOT in values else [])
        else:
            parent += f" JOIN {reference.table} p ON p.bot_id = b.id"
    return (
        f"INSERT INTO {table.name} ({', '.join(values)}) SELECT {', '.join(values.values())} {parent}"
        f" WHERE {' AND '.join(conditions)} LIMIT 1"
    )


_INSERT = {kind: _insert(kind) for kind in RECORDS}
# The digests of a deleted account's keys are still there.
_INSERT["key"] += (
    " ON CONFLICT (digest) DO UPDATE SET account_id = excluded.account_id, label = excluded.label, prefix = excluded.prefix,"
    " last_used_at = excluded.last_used_at WHERE api_keys.account_id IS NULL"
)


class Unfitting(Exception):
    """A record exists already, or its parent does not; the text is its kind."""


async def put(
    db: Database, account_id: str, records: Sequence[tuple[str, Record]], seal: Callable[[bytes, str, Record], bytes | None]
) -> None:
    """Write records of an account during its import, all or none; raises Unfitting.

    `seal` seals the secret of a record (check value, kind, record); SECRETS names its field.
    """

    kind = ""

    def unit(connection: Connection) -> None:
        nonlocal kind
        counts: Counter[object] = Counter()
        for kind, record in records:
            values = {**record, "account_id": account_id}
            if kind in SECRETS:
                values[SECRETS[kind]] = seal(facts.check_in(connection), kind, record)
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
